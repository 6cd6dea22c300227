"""Priors of factor rows regressed on sparse features, which need not be orthogonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.kernels.links import draw_weights, sparse_means
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.problems.priors import LinkedPrior
from cofactor.samplers import State

#: Stored features in one task of a thread.
_ENTRIES = 1 << 14


class SparseLinkedPrior(LinkedPrior):
    """A `LinkedPrior` whose features are sparse: W is drawn coefficient by coefficient, each given the others.

    The coefficients of a factor are drawn one after the other, so the features need not be orthogonal. Given the rows,
    factors are independent of each other, and threads draw several at the same time.

    Parameters
    ----------
    name : str
        Prefix of the arrays in the state.
    n_columns : int
        Length p of a row.
    features : csr_array of shape (n, K)
        Only stored entries cost time.
    shape, rate, strength : float, default=1.0
        a, b and κ.
    """

    def __init__(
        self,
        name: str,
        n_columns: int,
        features: sparse.csr_array,
        *,
        shape: float = 1.0,
        rate: float = 1.0,
        strength: float = 1.0,
    ) -> None:
        super().__init__(name, n_columns, shape=shape, rate=rate, strength=strength)
        columns = features.tocsc()
        self.by_row = _arrays(features)
        self.by_column = _arrays(columns)
        self.squares = np.asarray(columns.multiply(columns).sum(axis=0), dtype=np.float64).ravel()
        self._cuts = cut_rows(self.by_row[0], _ENTRIES)

    def means(self, state: State, n: int) -> NDArray[np.float64]:
        """Return the prior means (n, p) of the rows."""
        out = np.empty((n, self.n_columns))
        weights, mean = state[f"{self.name}_weights"], state[f"{self.name}_mean"]

        def block(k: int) -> None:
            sparse_means(self._cuts[k], self._cuts[k + 1], *self.by_row, weights, mean, out)

        parallel_for(block, len(self._cuts) - 1)
        return out

    @property
    def linked(self) -> bool:
        """Whether there is a regression."""
        return True

    def _draw_weights(self, state: State, rows: NDArray[np.float64], random: np.random.Generator) -> None:
        weights, scale = state[f"{self.name}_weights"], state[f"{self.name}_weight_precision"]
        precision = state[f"{self.name}_precision"]
        rest = np.ascontiguousarray((rows - self.means(state, len(rows))).T)
        noise = random.normal(size=weights.shape[::-1])
        columns = np.ascontiguousarray(weights.T)

        def factor(a: int) -> None:
            draw_weights(*self.by_column, self.squares, rest[a], precision[a], scale[a], noise[a], columns[a])

        parallel_for(factor, len(columns))
        weights[:] = columns.T


def _arrays(table: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return offsets, indices and values of a compressed table."""
    return table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data.astype(np.float64)
