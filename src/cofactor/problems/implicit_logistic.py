"""Logistic factorization in which every cell counts as taken or not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cofactor.kernels.lanes import padded_zeros
from cofactor.kernels.logistic_cells import logistic_cells
from cofactor.kernels.logistic_sample import draw_cells, sampled_losses
from cofactor.kernels.random import fold
from cofactor.kernels.threads import cut_rows, parallel_for
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


class SampledLogisticProblem(ImplicitLogisticProblem):
    def __init__(self, entries, weights, n_factors, alpha, seed, each=64):
        super().__init__(entries, weights, n_factors, alpha)
        n, m = entries.shape
        counts = np.diff(entries.col_indptr)
        self._order = np.argsort(-counts, kind="stable")
        rank = np.empty(m, np.int32)
        rank[self._order] = np.arange(m)
        by = rank[entries.indices]
        rows = np.repeat(np.arange(n), np.diff(entries.indptr))
        o = np.lexsort((by, rows))
        self._weights = self._weights[o]
        self._masses = each * np.maximum(np.diff(entries.indptr), 1).astype(np.float64)
        self._of_columns = len(by) / np.maximum(counts[self._order], 1)
        self._takes = entries.indptr, by[o]
        starts, cells, key = np.zeros(n + 1, np.int64), np.empty(0, np.int32), fold(seed)
        cuts = cut_rows(entries.indptr, max(len(by) // 16, 1))

        def draw(k):
            draw_cells(cuts[k], cuts[k + 1], key, self._masses, self._of_columns, *self._takes, starts, cells)

        parallel_for(draw, len(cuts) - 1)
        np.cumsum(starts, out=starts)
        cells = np.empty(starts[-1], np.int32)
        parallel_for(draw, len(cuts) - 1)
        self._cells = starts, cells
        self._cuts = cut_rows(starts, max(len(cells) // 16, 1))

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        arrays, out = self.arrays(x), self.layout.views(gradient)
        (n, d), m = arrays["U"].shape, len(arrays["V"])
        A, B = padded_zeros(n, d + 2, self.dtype), padded_zeros(m, d + 2, self.dtype)
        A[:, :d], A[:, d], A[:, d + 1] = arrays["U"], arrays["b"], 1
        B[:, :d], B[:, d], B[:, d + 1] = arrays["V"][self._order], 1, arrays["c"][self._order]
        of_rows = padded_zeros(n, d + 2, self.dtype)
        parts = [(0.0, B)] * (len(self._cuts) - 1)

        def part(k):
            of_columns = padded_zeros(m, d + 2, self.dtype)
            lo, hi = self._cuts[k], self._cuts[k + 1]
            parts[k] = (
                sampled_losses(
                    lo, hi, self._masses, self._of_columns, *self._takes, self._weights, *self._cells, A, B,
                    of_rows, of_columns,
                ),
                of_columns,
            )

        parallel_for(part, len(parts))
        value, columns = parts[0]
        for loss, of_columns in parts[1:]:
            value += loss
            columns += of_columns
        out["U"][...], out["b"][...] = of_rows[:, :d], of_rows[:, d]
        out["V"][self._order], out["c"][self._order] = columns[:, :d], columns[:, d + 1]
        return value + self.add_penalties(x, gradient)
