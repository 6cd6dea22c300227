"""The factor rows of one side, users or items, drawn given those of the other side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cofactor.kernels.gibbs_rows import column_equations, draw_rows, draw_solutions
from cofactor.kernels.ridge import pad_features
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.problems.observed import Entries
from cofactor.samplers import Key
from cofactor.solvers.parts import Answer

Array = NDArray[np.float64]

#: Entries in one task of a thread, at least, and tasks, about: the interpreter takes some microseconds for each.
_ENTRIES, _TASKS = 2048, 1024

#: Bytes that the equations of columns which are drawn together may take, and columns that a thread draws at a time.
EQUATIONS, _DRAWN = 1 << 27, 64

_IN_PLACE = np.zeros(0, dtype=np.int32)


class Rows:
    """Rows of one side with the entries of each, in blocks for threads.

    Parameters
    ----------
    indptr, indices : ndarray
        Offsets of rows among the entries, and the row of the other side that each entry belongs to.
    position : ndarray
        Position of each entry in the order by users; an empty array if the entries are in this order.
    """

    def __init__(self, indptr: NDArray[Any], indices: NDArray[Any], position: NDArray[Any] = _IN_PLACE) -> None:
        self.indptr, self.indices, self.position = indptr, indices, position
        self.n = len(indptr) - 1
        self._cuts = cut_rows(indptr, max(_ENTRIES, len(indices) // _TASKS))

    @classmethod
    def of_users(cls, entries: Entries) -> Rows:
        """Return the rows of users."""
        return cls(entries.indptr, entries.indices)

    @classmethod
    def of_items(cls, entries: Entries) -> Rows:
        """Return the rows of items."""
        return cls(entries.col_indptr, entries.col_indices, entries.to_csr)

    def each(self, task: Callable[[int, int], object]) -> None:
        """Call ``task(lo, hi)`` for blocks of rows lo..hi-1, which together are all rows, in any order."""
        cuts = self._cuts
        parallel_for(lambda k: task(cuts[k], cuts[k + 1]), len(cuts) - 1)

    def total(self, shape: tuple[int, ...], task: Callable[[int, int, Array], object]) -> Array:
        """Return the sum of what ``task(lo, hi, out)`` writes for blocks of rows, whatever the number of threads."""
        cuts = self._cuts
        parts = np.empty((len(cuts) - 1, *shape))
        parallel_for(lambda k: task(cuts[k], cuts[k + 1], parts[k]), len(parts))
        return np.asarray(parts.sum(axis=0))

    def draw(
        self,
        key: Key,
        targets: NDArray[Any],
        weights: NDArray[Any],
        other: Array,
        precision: Array,
        shift: Array,
        biased: bool,
        own: Array,
    ) -> None:
        r"""Draw every row :math:`w_i \sim N(A_i^{-1} b_i, A_i^{-1})` into `own`.

        .. math:: A_i = P + \sum_k \omega_k \phi_k \phi_k^T, \quad b_i = s_i + \sum_k \omega_k \phi_k t_k

        over the entries k of the row, where :math:`\phi_k` is its row of `other`.

        Parameters
        ----------
        key : Key
        targets, weights : ndarray of shape (n_entries,)
            t and ω, by user; ω may be a single number for all. Entries are multiplied in the precision of t.
        other : ndarray of shape (m, p)
        precision : ndarray of shape (p, p)
            P, that of the prior.
        shift : ndarray of shape (n, p)
            s, the products of P with the prior's means.
        biased : bool
            Whether the last columns are biases: that of `other` is taken from t, and φ has a one there.
        own : ndarray of shape (n, p)
        """
        rows, table, roots = key.rows(), table_of(other, biased, targets.dtype), np.sqrt(weights)
        self.each(
            lambda lo, hi: draw_rows(
                lo, hi, rows, self.indptr, self.indices, self.position, targets, roots, table, precision, shift, own
            )
        )

    def equations(
        self, first: int, last: int, targets: NDArray[Any], weights: NDArray[Any], other: Array, precision: Array,
        shift: Array, biased: bool,
    ) -> Array:  # fmt: skip
        """Return what prior and entries say of the rows first..last-1, see `column_equations`; `shift` is theirs."""
        p, cuts = other.shape[1], self._cuts
        out, table, roots = (
            np.empty((last - first, p * (p + 3) // 2)),
            table_of(other, biased, targets.dtype),
            np.sqrt(weights),
        )
        ends = np.unique(np.clip(cuts, first, last))

        def block(k: int) -> None:
            column_equations(
                ends[k], ends[k + 1], first, self.indptr, self.indices, self.position, targets, roots, table,
                precision, shift, out,
            )  # fmt: skip

        parallel_for(block, len(ends) - 1)
        return out


def table_of(rows: Array, biased: bool, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return the rows of one side as kernels that draw those of the other read them, see `pad_features`.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    biased : bool
        Whether the last column is a bias, which targets are lowered by.
    dtype : dtype, default=float64
    """
    p = rows.shape[1]
    return pad_features(rows[:, :-1], p, rows[:, -1], dtype) if biased else pad_features(rows, p, dtype=dtype)


def draw_by_equations(key: np.uint64, p: int, sums: Answer) -> Answer:
    """Return draws of rows given their equations."""
    equations = sums["equations"]
    out = np.empty((len(equations), p))
    parallel_for(
        lambda k: draw_solutions(k * _DRAWN, min((k + 1) * _DRAWN, len(out)), key, equations, out),
        -(-len(out) // _DRAWN),
    )
    return {"rows": out}
