"""Draws of users, or items, under each of some samples of all else: for those of a fold-in, and of an update.

To ratings one more user and one more item are added, both cold: only the prior says something about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.random import fold
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.ratings.data import ColumnEntries, OfColumns, Ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.sampled.samples import SampleSubset
from cofactor.ratings.shard_folder import OfItems
from cofactor.ratings.sharded import ShardedRatings
from cofactor.typing import SideName


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


#: Cycles of a new user's, or item's, own chain for each sample.
_FOLD_IN_CYCLES = 20

#: Cycles in an update of rows that go on from where they were. RMSE of `OrdinalProbit` on the week after seven days of
#: updates on MovieLens 100K with 1, 2 and 3 of them: .9789, .9791, .9780 (refitted .9806), in 4.0, 6.2 and 8.1 s.
_UPDATE_CYCLES = 2

#: Ratings of new users, or items, in one task of a thread.
_ENTRIES = 512

#: What keys of draws are made of besides seed and sample.
_PARTS = {"user": -1, "item": -2}


@dataclass(frozen=True)
class ConditionalChains:
    """The users, or items, to draw, each by a chain of its own under each sample, and where these chains begin.

    Attributes
    ----------
    side : {"user", "item"}
    samples : SampleSubset
        What they are drawn under: all samples of the model in an update, some in a fold-in.
    seed : int
        What the draws depend on besides.
    indptr : ndarray
        Offsets of the rows among their ratings; the last row is a cold one.
    before : ndarray of shape (n_rows,), int32
        Where each stands in the samples, or -1 for those who begin at the prior; in a fold-in all do.
    update : int
        Which update of the model it is, or 0 for a fold-in.
    """

    side: SideName
    samples: SampleSubset
    seed: int
    indptr: NDArray[np.int64]
    before: NDArray[np.int32]
    update: int

    @classmethod
    def of(
        cls, ratings: Ratings, side: SideName, samples: SampleSubset, seed: int, known: IdMap | None, update: int
    ) -> Self:
        """Return those of ratings; users, or items, that the samples know begin where they are."""
        indptr = ratings.indptr if side == "user" else ratings.col_indptr
        before = np.full(len(indptr), -1, dtype=np.int32)
        if known is not None:
            before[:-1] = known.index((ratings.users if side == "user" else ratings.items).ids)
        return cls(side, samples, seed, np.append(indptr, indptr[-1]), before, update)

    @property
    def n_cycles(self) -> int:
        """Cycles of each chain: few where all go on from where they were."""
        return _UPDATE_CYCLES if (self.before[:-1] >= 0).all() else _FOLD_IN_CYCLES

    def begin(
        self,
        rows: NDArray[Any],
        prior: NDArray[Any],
        of: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray,
        axis: int = 0,
    ) -> NDArray[np.float64]:
        """Return where the rows begin, along an axis: at what is made of those of samples, or at the prior.

        Of the prior there is a row for each, or one for all. In a fold-in nobody looks at `rows`.
        """
        out = np.empty((*prior.shape[:axis], len(self.before), *prior.shape[axis + 1 :]))
        out[:] = prior
        known = self.before >= 0
        if known.any():
            out[(slice(None),) * axis + (known,)] = of(np.take(rows, self.before[known], axis))
        return out

    def draw(
        self, kernel: Callable[..., object], arguments: Iterable[tuple[Any, ...]], shapes: Mapping[str, tuple[int, ...]]
    ) -> dict[str, NDArray[np.float32]]:
        """Return what belongs to the rows, drawn under each of the samples, which are along the first axis.

        Parameters
        ----------
        kernel : callable
            Called as ``kernel(lo, hi, key, indptr, *arguments, *new)`` for blocks of rows, to fill `new`.
        arguments : iterable of tuple
            What the kernel needs of each sample.
        shapes : mapping of str to tuple of int
            Arrays to draw, and the shape of each.
        """
        S = len(self.samples)
        new = {name: np.zeros((S, *shape), dtype=np.float32) for name, shape in shapes.items()}
        given = list(arguments)
        # Who is drawn for a second time in an update, or in a later one, gets other numbers.
        of_update = (self.update, int(self.n_cycles == _UPDATE_CYCLES)) if self.update else ()
        keys = _keys(self.seed, S, _PARTS[self.side], *of_update)
        cuts = cut_rows(self.indptr[:-1], _ENTRIES)
        n_blocks = len(cuts) - 1

        def block(task: int) -> None:
            s, k = divmod(task, n_blocks)
            out = (array[s] for array in new.values())
            kernel(cuts[k], cuts[k + 1], keys[s], self.indptr, *given[s], *out)

        parallel_for(block, S * n_blocks)
        return new


@lru_cache(maxsize=16)
def _keys(seed: int, n_samples: int, *parts: int) -> tuple[np.uint64, ...]:
    """Return the key of each sample's draws."""
    return tuple(fold(seed, s, *parts) for s in range(n_samples))
