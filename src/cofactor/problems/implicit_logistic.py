"""Logistic factorization of all cells, with an interaction or without: each one, or a sample that stands for all."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import sparse

from cofactor.kernels.axes import principal_axes, rotate
from cofactor.kernels.lanes import padded_zeros
from cofactor.kernels.logistic_cells import logistic_cells
from cofactor.kernels.logistic_sample import draw_cells, sampled_losses
from cofactor.kernels.random import fold
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.penalties import L2
from cofactor.problems.observed import Entries, inverse_curvatures, masses, mean_squares, turns
from cofactor.problems.penalized import PenalizedProblem

__all__ = ["ImplicitLogisticProblem", "SampledLogisticProblem"]

_ROWS = 128  # rows of a block, at least: blocks do not depend on the number of threads
_MOST_BLOCKS = 64

_PARTS = 16  # of the rows of a sample: each adds up its gradients of columns


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
        return self._losses(self.arrays(x), self.layout.views(gradient)) + self.add_penalties(x, gradient)

    def _losses(self, arrays: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]) -> float:
        """Return the loss of all cells and write its gradients."""
        none = np.zeros(0)
        parts: list[tuple[float, np.ndarray, np.ndarray]] = [(0.0, none, none)] * (len(self._cuts) - 1)

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
        return value

    def _block(
        self, lo: int, hi: int, arrays: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss of some rows and what they add to the gradients of V and c; write those of their own."""
        e, U = self.entries, arrays["U"][lo:hi]
        scores = U @ arrays["V"].T
        value = logistic_cells(lo, hi, scores, arrays["b"], arrays["c"], e.indptr, e.indices, self._weights, out["b"])
        out["U"][lo:hi] = scores @ arrays["V"]
        return value, scores.T @ U, scores.sum(axis=0)

    def rotate(self, x: np.ndarray) -> None:
        """Turn the rows of U and V together onto their principal axes, as `ObservedProblem` does."""
        arrays = self.arrays(x)
        U, V = arrays["U"], arrays["V"]
        if turns(self.penalties, U.shape, len(V), len(self.entries.indices)):
            axes = principal_axes((U, V))
            rotate(U, axes)
            rotate(V, axes)

    def inverse_curvatures(self, x: np.ndarray) -> np.ndarray:
        """Return a rough guess of 1 / (second derivative of J): interactions add about 1."""
        arrays = self.arrays(x)
        n_row, n_column = masses(self.entries, None)
        squares = {"U": mean_squares(n_column, arrays["V"]), "V": mean_squares(n_row, arrays["U"])}
        return inverse_curvatures(self.layout, self.penalties, n_row, n_column, squares, self.dtype)


class SampledLogisticProblem(ImplicitLogisticProblem):
    r"""The same with a random sample of the cells without an interaction, which stands for all of them.

    .. math:: J = \sum_{(i,j) \in \Omega} w_{ij} \log(1 + e^{-x_{ij}}) + \sum_{(i,j) \in S} \frac{1}{\pi_{ij}}
        \log(1 + e^{x_{ij}}) + \tfrac{\alpha}{2} (\|U\|^2 + \|V\|^2 + \|b\|^2), \qquad
        \pi_{ij} = \min\Big(1, k\, \frac{n_i m_j}{|\Omega|}\Big)

    S, drawn once, has each cell outside of Ω with the probability π, cell by cell, :math:`n_i, m_j` being the numbers
    of entries of rows and columns, at least 1; so the expectation of J is that of all cells. It has k cells for each
    entry, at most.

    To the variance of a gradient a cell adds about p, the probability of an entry there, and the sample
    :math:`p^2 / \pi`: a k-th of it where rows differ in nothing but n, and the more of it the better they are told
    apart. Cells have to be drawn one by one. Columns of which blocks of rows see the same ones fit in with what the
    blocks have in common: on MovieLens 100K, nDCG was a third of that of all cells, with half of them in four blocks.

    Parameters
    ----------
    entries, weights, n_factors, alpha
        See `ImplicitLogisticProblem`.
    each : float
        k.
    """

    def __init__(self, entries: Entries, weights: np.ndarray, n_factors: int, alpha: float, each: float) -> None:
        super().__init__(entries, weights, n_factors, alpha)
        n, m = entries.shape
        n_row, n_column = (np.maximum(counts, 1) for counts in masses(entries, None))
        self._order = np.argsort(-n_column, kind="stable")
        place = np.empty(m, dtype=np.int32)
        place[self._order] = np.arange(m)
        interactions = sparse.csr_array((self._weights, place[entries.indices], entries.indptr), shape=(n, m))
        interactions.sort_indices()
        self._interactions = entries.indptr, interactions.indices.astype(np.int32, copy=False), interactions.data
        self._odds = each * n_row / len(entries.indices), 1 / n_column[self._order]
        counts, key = np.zeros(n, dtype=np.int64), fold(0)
        cuts = cut_rows(entries.indptr, max(1, len(entries.indices) // _PARTS))
        drawn = [np.zeros(0, dtype=np.int32)] * (len(cuts) - 1)

        def draw(k: int) -> None:
            drawn[k] = draw_cells(cuts[k], cuts[k + 1], key, *self._odds, *self._interactions[:2], counts)

        parallel_for(draw, len(drawn))
        starts, cells = np.concatenate([[0], np.cumsum(counts)]), np.concatenate(drawn)
        self._cells = starts, cells
        self._row_cuts = cut_rows(starts, max(1, len(cells) // _PARTS))

    def _losses(self, arrays: Mapping[str, np.ndarray], out: Mapping[str, np.ndarray]) -> float:
        d, cuts, order = arrays["U"].shape[1], self._row_cuts, self._order
        A, of_rows, B = (padded_zeros(k, d + 2, self.dtype) for k in (len(arrays["U"]), len(arrays["U"]), len(order)))
        A[:, :d], A[:, d], A[:, d + 1] = arrays["U"], arrays["b"], 1
        B[:, :d], B[:, d], B[:, d + 1] = arrays["V"][order], 1, arrays["c"][order]
        parts: list[tuple[float, np.ndarray]] = [(0.0, B)] * (len(cuts) - 1)

        def part(k: int) -> None:
            added = padded_zeros(len(order), d + 2, self.dtype)
            rows = cuts[k], cuts[k + 1]
            loss = sampled_losses(*rows, *self._odds, *self._interactions, *self._cells, A, B, of_rows, added)
            parts[k] = loss, added

        parallel_for(part, len(parts))
        value, of_columns = parts[0]
        for loss, added in parts[1:]:  # in this order, whichever thread was first
            value += loss
            of_columns += added
        out["U"][...], out["b"][...] = of_rows[:, :d], of_rows[:, d]
        out["V"][order], out["c"][order] = of_columns[:, :d], of_columns[:, d + 1]
        return value
