"""Ratings with one more user and one more item, both cold: only the prior says something about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.column_entries import ColumnEntries, OfColumns
from cofactor.ratings.data import Ratings
from cofactor.ratings.shard_folder import OfItems
from cofactor.ratings.sharded import ShardedRatings

__all__ = ["PaddedRatings", "PaddedShards", "padded", "padded_sizes"]


@dataclass(frozen=True)
class PaddedRatings(OfColumns):
    """Ratings by rows and columns with one item more, and mostly one user more, who have no ratings.

    Samplers draw for them too, and so a model has samples of users and items that it does not know.

    Attributes
    ----------
    indptr, indices, levels, col_indptr, col_indices, to_csr
        See `Ratings`.
    columns : ColumnEntries
        The entries by item; those of the cold item are none.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    levels: NDArray[np.uint8]
    columns: ColumnEntries

    @cached_property
    def col_indptr(self) -> NDArray[np.int64]:
        """Offsets of items."""
        return np.append(self.columns.indptr, self.indices.size)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.indptr) - 1, len(self.col_indptr) - 1

    @classmethod
    def of(cls, ratings: Ratings, user: bool = True) -> PaddedRatings:
        """Return these ratings with a cold item, and perhaps a cold user, without a copy of long arrays."""
        indptr = np.append(ratings.indptr, ratings.indptr[-1]) if user else ratings.indptr
        return cls(indptr, ratings.indices, ratings.levels, ratings.columns)


@dataclass(frozen=True)
class PaddedShards:
    """The ratings of any shard, with a cold item, and with a cold user after the last one."""

    ratings: ShardedRatings

    def shard(self, k: int) -> PaddedRatings:
        """Return those of shard k."""
        return PaddedRatings.of(self.ratings.shard(k), user=k == len(self.ratings) - 1)

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return entries and levels of the items first..last-1; the cold one behind all others has none."""
        m = len(self.ratings.items)
        offsets, users, levels = self.ratings.of_items(k, min(first, m), min(last, m))
        return np.pad(offsets, (0, last - first + 1 - len(offsets)), mode="edge"), users, levels


def padded(ratings: Ratings | ShardedRatings) -> Callable[[int], PaddedRatings]:
    """Return what opens any shard, as `PaddedShards` does; ratings in memory are the only one."""
    if isinstance(ratings, ShardedRatings):
        return PaddedShards(ratings).shard
    data = PaddedRatings.of(ratings)
    return lambda k: data


def padded_sizes(ratings: ShardedRatings) -> NDArray[np.int64]:
    """Return the numbers of users of the shards, with a cold user after the last one."""
    sizes = np.diff(ratings.bounds)
    sizes[-1] += 1
    return sizes
