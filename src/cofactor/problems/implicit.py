"""Least squares in which every cell counts: those with an interaction draw to 1, all others a little to 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy import linalg

from cofactor.kernels.axes import gram
from cofactor.kernels.conjugate import gradient_of_interactions, padded, ridge_of_interactions_cg
from cofactor.kernels.normal_equations import lined_up, ridge_of_interactions
from cofactor.kernels.observed import weighted_squares
from cofactor.kernels.threads import cut_rows, library_limit, parallel_for
from cofactor.penalties import RowL2
from cofactor.problems.observed import Entries, masses
from cofactor.problems.penalized import PenalizedProblem

CG_STEPS = 3
_ENTRIES_PER_BLOCK = 8_000


@dataclass(frozen=True)
class _Side:
    """What is the same in all rounds for rows, or for columns."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    ridge: np.ndarray
    cuts: np.ndarray

    @cached_property
    def roots(self) -> np.ndarray:
        """Of the weights."""
        return np.sqrt(self.values)


class ImplicitProblem(PenalizedProblem):
    r"""Weighted least squares over all cells, solvable exactly in rows or in columns.

    .. math:: J = \sum_{(i,j) \in \Omega} w_{ij} (1 - U_i \cdot V_j)^2 + \alpha_0 \sum_{i,j} (U_i \cdot V_j)^2
        + \alpha \Big(\sum_i (n_i + \alpha_0 m) \|U_i\|^2 + \sum_j (m_j + \alpha_0 n) \|V_j\|^2\Big)

    with n_i and m_j the sums of the weights w in row i and column j, of n rows and m columns.

    Parameters
    ----------
    entries : Entries
        Ω.
    weights : ndarray of shape (n_entries,) or None
        w in row order; None if all are 1.
    n_factors : int
        d.
    alpha : float
        Weight of the penalty.
    unobserved : float
        α₀.
    row_solver : {"exact", "normal", "cg"}
        Normal equations, in the number of entries where these are few; in that of factors for all rows, which is
        quicker for a few rows; or three conjugate gradient steps from where a row stands.

    Notes
    -----
    A row's part of J, uᵀAu - 2u·b with residual r = b - Au, is -u·(b + r): so a step over all rows tells J itself.
    """

    def __init__(
        self,
        entries: Entries,
        weights: np.ndarray | None,
        n_factors: int,
        alpha: float,
        unobserved: float,
        row_solver: Literal["exact", "normal", "cg"],
    ) -> None:
        n, m = entries.shape
        n_row, n_column = masses(entries, weights)
        shares = {"U": n_row + unobserved * m, "V": n_column + unobserved * n}
        shapes: dict[str, tuple[int, ...]] = {"U": (n, n_factors), "V": (m, n_factors)}
        penalties = {name: RowL2(2 * alpha, share) for name, share in shares.items()}  # which carry a factor ½
        super().__init__(shapes, penalties, True, np.float32)
        self.unobserved, self.row_solver = unobserved, row_solver
        self._total = float(n_row.sum(dtype=np.float64))
        e = entries
        given = np.ones(1) if weights is None else weights
        by_row = np.asarray(given, dtype=self.dtype)
        by_column = by_row if weights is None else by_row[e.to_csr]
        self._sides = {
            name: _Side(indptr, indices, values, alpha * shares[name], cut_rows(indptr, _ENTRIES_PER_BLOCK))
            for name, indptr, indices, values in (
                ("U", e.indptr, e.indices, by_row),
                ("V", e.col_indptr, e.col_indices, by_column),
            )
        }

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        value = 0.0
        for name, other in (("U", "V"), ("V", "U")):
            side, least = self._sides[name], np.empty(len(arrays[name]))
            start = (side.indptr, side.indices, side.values, arrays[other], padded(self._base(arrays[other])))
            self._each(side, gradient_of_interactions, *start, side.ridge, arrays[name], out[name], least)
            value = self._total + float(np.add.reduce(least)) + self._penalty(other, arrays[other])
        gradient *= 2
        return value

    def update_rows(self, x: np.ndarray) -> float:
        """Minimise J over U, in place, and return it."""
        return self._update(x, "U", "V")

    def update_columns(self, x: np.ndarray) -> float:
        """Minimise J over V, in place, and return it."""
        return self._update(x, "V", "U")

    def _update(self, x: np.ndarray, name: str, other: str) -> float:
        arrays, side = self.layout.views(x), self._sides[name]
        least, base = np.empty(len(arrays[name])), self._base(arrays[other])
        rows = (side.indptr, side.indices)
        if self.row_solver != "cg":
            V, d = arrays[other], arrays[other].shape[1]
            features = side.roots, lined_up(V, d, dtype=self.dtype)
            for_few = self._for_few(V, base)
            self._each(side, ridge_of_interactions, *rows, *features, base, *for_few, side.ridge, arrays[name], least)
        else:
            features = side.values, arrays[other]
            start = (*rows, *features, padded(base), side.ridge, CG_STEPS)
            self._each(side, ridge_of_interactions_cg, *start, arrays[name], least)
        return self._total + float(np.add.reduce(least)) + self._penalty(other, arrays[other])

    @staticmethod
    def _each(side: _Side, kernel: Callable[..., None], *arguments: Any) -> None:
        cuts = side.cuts
        parallel_for(lambda k: kernel(cuts[k], cuts[k + 1], *arguments), len(cuts) - 1)

    def _base(self, other: np.ndarray) -> np.ndarray:
        """Return what all cells say to a row, with an interaction or without."""
        lower = gram((other,))
        return np.asarray(self.unobserved * (np.tril(lower) + np.tril(lower, -1).T))

    def _for_few(self, other: np.ndarray, base: np.ndarray) -> tuple[Any, ...]:
        """Return up to how many entries a row is solved in their number, and what `ridge_of_interactions` needs."""
        d = len(base)
        if self.row_solver == "normal":
            return 0, lined_up(other[:0], d, dtype=self.dtype), np.empty(0), lined_up(base[:0], d)
        with library_limit(1, "blas"):
            lengths, Q = linalg.eigh(base)
            turned = other @ Q.astype(other.dtype)
        return d // 2, lined_up(turned, d, dtype=self.dtype), np.maximum(lengths, 0), lined_up(Q.T, d)

    def _penalty(self, name: str, array: np.ndarray) -> float:
        return float(weighted_squares(self._sides[name].ridge, array).sum())
