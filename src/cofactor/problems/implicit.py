"""Least squares in which every cell counts: those that were taken draw to 1, all others a little to 0."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cofactor.kernels.axes import gram
from cofactor.kernels.takes import ridge_of_takes, ridge_of_takes_cg
from cofactor.kernels.threads import parallel_for
from cofactor.losses import Squared
from cofactor.penalties import RowL2
from cofactor.problems.observed import Entries, ObservedProblem, masses

CG_STEPS = 3


class ImplicitProblem(ObservedProblem):
    r"""Weighted least squares over all cells, solvable exactly in rows or in columns.

    .. math:: J = \sum_{(i,j) \in \Omega} w_{ij} (1 - U_i \cdot V_j)^2 + \alpha_0 \sum_{i,j} (U_i \cdot V_j)^2
        + \alpha \Big(\sum_i (n_i + \alpha_0 m) \|U_i\|^2 + \sum_j (m_j + \alpha_0 n) \|V_j\|^2\Big)

    with n_i and m_j the sums of the weights w in row i and column j, of n rows and m columns.

    Parameters
    ----------
    entries : Entries
        Ω.
    weights : ndarray of shape (n_entries,)
        w in row order.
    n_factors : int
        d.
    alpha : float
        Weight of the penalty.
    unobserved : float
        α₀.
    row_solver : {"exact", "cg"}
        Normal equations, or three conjugate gradient steps from where a row stands.
    """

    def __init__(
        self,
        entries: Entries,
        weights: np.ndarray,
        n_factors: int,
        alpha: float,
        unobserved: float,
        row_solver: Literal["exact", "cg"],
    ) -> None:
        n, m = entries.shape
        n_row, n_column = masses(entries, weights)
        shares = {"U": n_row + unobserved * m, "V": n_column + unobserved * n}
        shapes: dict[str, tuple[int, ...]] = {"U": (n, n_factors), "V": (m, n_factors)}
        penalties = {name: RowL2(2 * alpha, share) for name, share in shares.items()}  # which carry a factor ½
        super().__init__(entries, np.ones(len(entries.indices)), Squared(), shapes, penalties, None, weights=weights)
        self.unobserved, self.row_solver = unobserved, row_solver
        self._ridge = {name: alpha * share for name, share in shares.items()}
        self._by_row = np.asarray(weights, dtype=self.dtype)
        self._by_column = self._by_row[entries.to_csr]

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        value = super().value_gradient(x, gradient)
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        U, V = arrays["U"], arrays["V"]
        rows, columns = _full(gram((U,))), _full(gram((V,)))
        out["U"] += (2 * self.unobserved * (U @ columns)).astype(self.dtype)
        out["V"] += (2 * self.unobserved * (V @ rows)).astype(self.dtype)
        return value + self.unobserved * float(np.sum(rows * columns))

    def update_rows(self, x: np.ndarray) -> None:
        """Minimise J over U, in place."""
        e, arrays = self.entries, self.layout.views(x)
        self._update(arrays["U"], arrays["V"], e.indptr, e.indices, self._by_row, self._ridge["U"], self._row_cuts)

    def update_columns(self, x: np.ndarray) -> None:
        """Minimise J over V, in place."""
        e, arrays = self.entries, self.layout.views(x)
        values, ridge = self._by_column, self._ridge["V"]
        self._update(arrays["V"], arrays["U"], e.col_indptr, e.col_indices, values, ridge, self._col_cuts)

    def _update(
        self,
        own: np.ndarray,
        other: np.ndarray,
        indptr: np.ndarray,
        indices: np.ndarray,
        values: np.ndarray,
        ridge: np.ndarray,
        cuts: np.ndarray,
    ) -> None:
        base = self.unobserved * _full(gram((other,)))
        start = (indptr, indices, values, other, base, ridge)

        def block(k: int) -> None:
            if self.row_solver == "exact":
                ridge_of_takes(cuts[k], cuts[k + 1], *start, own)
            else:
                ridge_of_takes_cg(cuts[k], cuts[k + 1], *start, CG_STEPS, own)

        parallel_for(block, len(cuts) - 1)


def _full(lower: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix of its lower triangle."""
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)
