"""Logistic factorization in which every cell counts as taken or not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cofactor.kernels.logistic_cells import logistic_cells
from cofactor.kernels.threads import parallel_for
from cofactor.penalties import L2
from cofactor.problems.observed import Entries
from cofactor.problems.penalized import PenalizedProblem

_ROWS = 128  # rows of a block, at least: blocks do not depend on the number of threads
_MOST_BLOCKS = 64


class ImplicitLogisticProblem(PenalizedProblem):
    r"""Logistic loss of all cells, with ridge penalties.

    .. math:: J = \sum_{(i,j) \in \Omega} w_{ij} \log(1 + e^{-x_{ij}}) + \sum_{(i,j) \notin \Omega} \log(1 + e^{x_{ij}})
        + \tfrac{\alpha}{2} (\|U\|^2 + \|V\|^2 + \|b\|^2), \qquad x_{ij} = U_i \cdot V_j + b_i + c_j

    Parameters
    ----------
    entries : Entries
        Ω.
    weights : ndarray of shape (n_entries,)
        w in row order.
    n_factors : int
        d.
    alpha : float
    """

    def __init__(self, entries: Entries, weights: np.ndarray, n_factors: int, alpha: float) -> None:
        n, m = entries.shape
        shapes: dict[str, tuple[int, ...]] = {"U": (n, n_factors), "b": (n,), "V": (m, n_factors), "c": (m,)}
        super().__init__(shapes, {name: L2(alpha) for name in shapes if name != "c"}, True, np.float32)
        self.entries = entries
        self._weights = np.asarray(weights, dtype=np.float32)
        size = max(_ROWS, -(-n // _MOST_BLOCKS))
        self._cuts = [*range(0, n, size), n]

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arrays as views of `x`."""
        return self.layout.views(x)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient. BLAS is to have one thread."""
        arrays, out = self.arrays(x), self.layout.views(gradient)
        parts: list[tuple[float, np.ndarray, np.ndarray]] = [(0.0, x, x)] * (len(self._cuts) - 1)

        def block(k: int) -> None:
            parts[k] = self._block(self._cuts[k], self._cuts[k + 1], arrays, out)

        parallel_for(block, len(parts))
        value = 0.0
        for name in ("V", "c"):
            out[name][...] = 0
        for loss, of_items, of_biases in parts:  # in this order, whichever thread was first
            value += loss
            out["V"] += of_items
            out["c"] += of_biases
        return value + self.add_penalties(x, gradient)

    def _block(
        self, lo: int, hi: int, arrays: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss of some rows and what they add to the gradients of V and c; write those of their own."""
        e, U = self.entries, arrays["U"][lo:hi]
        scores = U @ arrays["V"].T
        value = logistic_cells(lo, hi, scores, arrays["b"], arrays["c"], e.indptr, e.indices, self._weights, out["b"])
        out["U"][lo:hi] = scores @ arrays["V"]
        return value, scores.T @ U, scores.sum(axis=0)

    def inverse_curvatures(self, x: np.ndarray) -> np.ndarray:
        """Return a rough guess of 1 / (second derivative of J): takes add about 1."""
        arrays = self.arrays(x)
        counts = {"U": np.diff(self.entries.indptr), "V": np.diff(self.entries.col_indptr)}
        counts |= {"b": counts["U"], "c": counts["V"]}
        squares = {"U": np.mean(arrays["V"] ** 2), "V": np.mean(arrays["U"] ** 2), "b": 1.0, "c": 1.0}
        scale = np.empty(self.size, self.dtype)
        for name, view in self.layout.views(scale).items():
            own = counts[name].reshape(-1, *[1] * (view.ndim - 1))
            view[...] = 1 / (own * squares[name] + getattr(self.penalties.get(name), "alpha", 0.0) + 1e-3)
        return scale
