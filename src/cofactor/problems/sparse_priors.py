"""Priors of factor rows regressed on sparse features, which need not be orthogonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.kernels.cholesky import solve_upper
from cofactor.kernels.links import draw_weights, sparse_means
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.problems.priors import Expected, NormalWishartPrior, RowSums, lower_root
from cofactor.samplers import State

#: Stored features in one task of a thread.
_ENTRIES = 1 << 14


class SparseNormalWishartPrior(NormalWishartPrior):
    r"""A `NormalWishartPrior` whose features are sparse: W is drawn coefficient by coefficient, each given the others.

    So the features need not be orthogonal; Λ and µ are drawn given W. With :math:`\Lambda = L L^T` the columns of
    :math:`W L` are independent of each other given the rows, and threads draw several at the same time.

    Parameters
    ----------
    name : str
        Prefix of the arrays in the state.
    n_columns : int
        Length p of a row.
    features : csr_array of shape (n, K)
        Only stored entries cost time.
    strength, degrees
        As in `NormalWishartPrior`.
    """

    def __init__(
        self,
        name: str,
        n_columns: int,
        features: sparse.csr_array,
        *,
        strength: float = 2.0,
        degrees: float | None = None,
    ) -> None:
        super().__init__(name, n_columns, strength=strength, degrees=degrees)
        columns = features.tocsc()
        self.by_row, self.by_column = _arrays(features), _arrays(columns)
        self.squares = np.asarray(columns.multiply(columns).sum(axis=0), dtype=np.float64).ravel()
        self._cuts = cut_rows(self.by_row[0], _ENTRIES)

    def regressed(self, weights: NDArray[np.float64], mean: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """Return a mean plus the products of the features with weights, for n rows of any length."""
        out, weights = np.empty((n, len(mean))), np.ascontiguousarray(weights)

        def block(k: int) -> None:
            sparse_means(self._cuts[k], self._cuts[k + 1], *self.by_row, weights, mean, out)

        parallel_for(block, len(self._cuts) - 1)
        return out

    def row_sums(self, state: State, rows: NDArray[np.float64]) -> RowSums:
        """Return the sum of the rows less their regression by W as it is, and the rows, from which W is drawn."""
        *_, weights, _ = self._parameters(state)
        rest = rows - self.regressed(weights, np.zeros(self.n_columns), len(rows))
        return RowSums(len(rows), rest.sum(axis=0), rows)

    def expect(self, state: State, sums: RowSums) -> Expected:
        """Leave W as it is, and return what it leaves for µ and Λ, µ integrated out."""
        *_, weights, _ = self._parameters(state)
        total = self.strength + sums.n
        return Expected(sums.total / total, total, self.degrees + sums.n + len(weights))

    def _draw_weights(self, state: State, rows: NDArray[np.float64], random: np.random.Generator) -> None:
        mean, precision, weights, scale = self._parameters(state)
        root = lower_root(precision)
        rest = np.ascontiguousarray(np.einsum("ib,ba->ai", rows - self.regressed(weights, mean, len(rows)), root))
        columns = np.ascontiguousarray(np.einsum("kb,ba->ak", weights, root))
        noise = random.normal(size=columns.shape)

        def factor(a: int) -> None:
            draw_weights(*self.by_column, self.squares, rest[a], 1.0, scale[0], noise[a], columns[a])

        parallel_for(factor, len(columns))
        drawn = np.ascontiguousarray(columns.T)
        for row in drawn:
            solve_upper(root, row, self.n_columns)
        weights[:] = drawn


def normal_wishart(
    name: str, n_columns: int, features: NDArray[np.float64] | sparse.csr_array | None, **settings: Any
) -> NormalWishartPrior:
    """Return the normal-Wishart prior with features, whatever kind these are."""
    if isinstance(features, sparse.csr_array):
        return SparseNormalWishartPrior(name, n_columns, features, **settings)
    return NormalWishartPrior(name, n_columns, features, **settings)


def _arrays(table: Any) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return offsets, indices and values of a compressed table."""
    return table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data.astype(np.float64)
