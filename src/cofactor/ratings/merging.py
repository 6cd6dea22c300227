"""Ratings that come after others, and rows of factors beside others: both taken together, the later one counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import entries_of_rows
from cofactor.ratings.ids import IdMap
from cofactor.typing import SideName

__all__ = ["RowMerge", "among", "merged", "union", "without_ratings"]


def merged(earlier: Ratings, later: Ratings) -> Ratings:
    """Return the ratings of both, by the users and of the items of both; a pair that both have gets the later rating.

    Parameters
    ----------
    earlier, later : Ratings
        On the same scale. The ratings in `later` count as later whatever their times are. The result has times where
        both have; ratings without weights weigh 1 where the others have some.

    Examples
    --------
    >>> a = Ratings.from_pairs([("ann", "Up"), ("ann", "Alien")], [1, 2], scale=[1, 2, 3])
    >>> b = Ratings.from_pairs([("ann", "Up"), ("bob", "Heat")], [3, 3], scale=[1, 2, 3])
    >>> both = merged(a, b)
    >>> both.items.ids.tolist(), both.shape, both.levels.tolist()
    (['Alien', 'Heat', 'Up'], (2, 3), [2, 3, 3])
    """
    users, items = union(earlier.users, later.users), union(earlier.items, later.items)
    parts = (earlier, later)
    rows = np.concatenate([users.index(part.users.ids)[part.row_of_entry] for part in parts])
    columns = np.concatenate([items.index(part.items.ids)[part.indices] for part in parts])
    values = np.concatenate([part.values for part in parts])
    pairs, n = rows.astype(np.int64) * len(items) + columns, earlier.n_ratings
    kept = np.append(~np.isin(pairs[:n], pairs[n:]), np.ones(later.n_ratings, dtype=np.bool_))
    timed = all(part.times is not None or not part.n_ratings for part in parts)
    known = [part.times for part in parts if part.times is not None]
    times = np.concatenate(known)[kept] if timed and known else None
    weights = None
    if any(part.weights is not None for part in parts):
        every = [np.ones(part.n_ratings) if part.weights is None else part.weights for part in parts]
        weights = np.concatenate(every)[kept]
    entries = rows[kept], columns[kept], values[kept]
    both = Ratings.from_entries(users, items, *entries, earlier.scale, times=times, weights=weights)
    return replace(both, coding=later.coding or earlier.coding)


def among(ratings: Ratings, users: IdMap | None = None, items: IdMap | None = None) -> Ratings:
    """Return the ratings by some users and of some items; those without ratings remain.

    Parameters
    ----------
    ratings : Ratings
    users, items : IdMap, optional
        Of whom; by default all. Ids that the ratings do not know are left out.

    Examples
    --------
    >>> a = Ratings.from_pairs([("ann", "Up"), ("bob", "Alien")], [1, 2], scale=[1, 2, 3])
    >>> among(a, users=IdMap(["bob", "eve"]))
    Ratings(1 user, 2 items, 1 rating on 1, 2, 3)
    """
    chosen_users, chosen_items = _both(ratings.users, users), _both(ratings.items, items)
    rows = chosen_users.index(ratings.users.ids)[ratings.row_of_entry]
    columns = chosen_items.index(ratings.items.ids)[ratings.indices]
    keep = (rows >= 0) & (columns >= 0)
    some = rows[keep], columns[keep], ratings.values[keep]
    times, weights = (None if one is None else one[keep] for one in (ratings.times, ratings.weights))
    found = Ratings.from_entries(chosen_users, chosen_items, *some, ratings.scale, times=times, weights=weights)
    return replace(found, coding=ratings.coding)


def without_ratings(users: IdMap, items: IdMap, scale: NDArray[np.float64]) -> Ratings:
    """Return no ratings of these users and items."""
    none = np.zeros(0, dtype=np.int32)
    return Ratings.from_entries(users, items, none, none, np.zeros(0), scale)


def union(first: IdMap, second: IdMap) -> IdMap:
    """Return the ids of both."""
    if (first.index(second.ids) >= 0).all():
        return first
    return IdMap([*first.ids.tolist(), *second.ids.tolist()])


def _both(known: IdMap, wanted: IdMap | None) -> IdMap:
    """Return those ids which are wanted."""
    return known if wanted is None else IdMap(known.ids[wanted.index(known.ids) >= 0])


@dataclass(frozen=True)
class RowMerge:
    """Where the users, or items, of a model and of a part stand among those of both.

    Attributes
    ----------
    side : {"user", "item"}
    ids : IdMap
        Those of both.
    old, new : ndarray of int
        Where those of the model stand, and those of the part.
    """

    side: SideName
    ids: IdMap
    old: NDArray[np.int32]
    new: NDArray[np.int32]

    def rows(self, ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of both in a new array; those of the part in the place of the model's.

        Examples
        --------
        >>> merge = RowMerge("user", IdMap(["a", "b", "c"]), np.array([0, 2]), np.array([1, 2]))
        >>> merge.rows(np.array([1.0, 3.0]), np.array([20.0, 30.0]))
        array([ 1., 20., 30.])
        """
        out = np.zeros((len(self.ids), *ours.shape[1:]), dtype=ours.dtype)
        out[self.old] = ours
        out[self.new] = theirs
        return out

    def spread(self, ours: NDArray[Any], axis: int = 0) -> NDArray[Any]:
        """Return what a model has for each, along an axis, among zeros for those who are new."""
        shape = list(ours.shape)
        shape[axis] = len(self.ids)
        out = np.moveaxis(np.zeros(shape, dtype=ours.dtype), axis, 0)
        out[self.old] = np.moveaxis(ours, axis, 0)
        return np.ascontiguousarray(np.moveaxis(out, 0, axis))

    def rows_of_samples(self, ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
        """Return likewise samples (S, n + 1, ...) of rows, the last of which, a cold one's, stays as it is."""
        out = np.zeros((len(ours), len(self.ids) + 1, *ours.shape[2:]), dtype=ours.dtype)
        out[:, self.old], out[:, self.new], out[:, -1] = ours[:, :-1], theirs[:, :-1], ours[:, -1]
        return out

    def ragged(
        self,
        ours: tuple[NDArray[np.int64], NDArray[Any]],
        theirs: tuple[NDArray[np.int64], NDArray[Any]],
        axis: int = 0,
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return likewise rows of several lengths: offsets, and entries along an axis."""
        counts = self.rows(np.diff(ours[0]), np.diff(theirs[0]))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        kept = np.setdiff1d(self.old, self.new)
        shape = list(ours[1].shape)
        shape[axis] = int(indptr[-1])
        out = np.moveaxis(np.zeros(shape, dtype=ours[1].dtype), axis, 0)
        for where, rows, (start, entries) in ((self.old, kept, ours), (self.new, self.new, theirs)):
            chosen = np.isin(where, rows)
            _, source = entries_of_rows(start, np.flatnonzero(chosen))
            _, target = entries_of_rows(indptr, where[chosen])
            out[target] = np.moveaxis(entries, axis, 0)[source]
        return indptr, np.moveaxis(out, 0, axis)
