"""The search for the best items: what ranks them, what is hidden, and the highest scores tile by tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument
from cofactor.kernels.ranking import keep_best
from cofactor.kernels.threads import thread_limit
from cofactor.limits import CELLS
from cofactor.ratings.blocks import each_block, pairs_per_block, tile_shape
from cofactor.ratings.data import Ratings
from cofactor.ratings.exclusion import Excluded
from cofactor.ratings.ids import IdMap
from cofactor.ratings.probability import Pairwise
from cofactor.text import counted

__all__ = ["Hidden", "Ranking", "best_items", "ids_of"]


@dataclass(frozen=True)
class Ranking:
    """The scores by which items are ranked for users.

    Attributes
    ----------
    block : callable
        Returns the scores (len(users), len(items)) of some items for some users, given their indices.
    exact : callable or None
        Returns the scores of pairs, given users and items, if those of `block` are rough.
    """

    block: Pairwise
    exact: Pairwise | None

    def raised(self, bonus: NDArray[np.float64]) -> Ranking:
        """Return the same scores with a bonus for each item."""
        exact = self.exact
        return Ranking(
            lambda users, items: self.block(users, items) + bonus[items],
            None if exact is None else lambda users, items: exact(users, items) + bonus[items],
        )


@dataclass(frozen=True, eq=False)
class Hidden:
    """What is not shown to users: what they rated, or took, and what the caller leaves out.

    Attributes
    ----------
    seen : Ratings or None
    excluded : Excluded
    """

    seen: Ratings | None
    excluded: Excluded

    def places(self, users: Any, items: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where items are hidden: places among `users` and places among `items`, which ascend.

        Examples
        --------
        >>> from cofactor.ratings.lookup import Lookup
        >>> known = Lookup(IdMap(["ann", "bob"]), IdMap(["Alien", "Heat", "Up"]))
        >>> hidden = Hidden(None, Excluded.of(known, {"bob": ["Up", "Alien"]}))
        >>> [part.tolist() for part in hidden.places(np.array([0, 1]), np.array([1, 2]))]
        [[1], [1]]
        """
        rows, hidden = self.excluded.rows(np.asarray(users))
        if self.seen is not None:
            indptr, seen, _ = self.seen.rows(np.asarray(users))
            rows = np.concatenate([np.repeat(np.arange(len(users)), np.diff(indptr)), rows])
            hidden = np.concatenate([seen, hidden])
        if not len(items):
            return rows[:0], rows[:0]
        place = np.minimum(np.searchsorted(items, hidden), len(items) - 1)
        among = items[place] == hidden
        return rows[among], place[among]


def ids_of(items: IdMap, best: NDArray[Any]) -> NDArray[Any]:
    """Return the ids of items, None where an index is -1.

    Examples
    --------
    >>> ids_of(IdMap(["Alien", "Up"]), np.array([[1, -1]]))
    array([['Up', None]], dtype=object)
    """
    ids = items.ids[best]
    if (best < 0).any():
        ids = ids.astype(object)
        ids[best < 0] = None
    return ids


def best_items(
    ranking: Ranking, users: Any, items: NDArray[Any], n: int, n_levels: int, hidden: Hidden
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return items with the highest scores, best first, ties by index, and these scores, both (len(users), n).

    Scores are computed for tiles of a few users and items each, so that memory depends on neither number. If they are
    rough, twice as many items as asked for and ten more are scored exactly, and ranked anew.

    Parameters
    ----------
    ranking : Ranking
    users : ndarray or Visits
        Indices, or users at times.
    items : ndarray
        Indices, ascending.
    n : int
        Number of items for each user; where fewer are left, the rest is -1, with scores of -inf. Far more than
        there are items are refused, where they would fill the memory (`cofactor.limits.CELLS`).
    n_levels : int
        How many levels ratings have, on which the size of tiles depends.
    hidden : Hidden
        Which items to leave out.
    """
    n_best = min(n, len(items))
    cells = int(n) * len(users)
    what = (Argument("n", int(n)), f" for {counted(len(users), 'user', form=',')} asks for {cells:,} items")
    CELLS.check(cells, what, size=n_best * len(users))
    n_kept = n_best if ranking.exact is None else min(2 * n_best + 10, len(items))
    best, where = np.full((len(users), n_kept), -np.inf), np.full((len(users), n_kept), -1, dtype=np.int64)
    height, width = tile_shape(len(users), n_levels)

    def look(lo: int, hi: int) -> None:
        rows, columns = hidden.places(users[lo:hi], items)
        for start in range(0, len(items), width):
            table = ranking.block(users[lo:hi], items[start : start + width])
            here = (columns >= start) & (columns < start + width)
            table[rows[here], columns[here] - start] = -np.inf
            keep_best(table, start, best[lo:hi], where[lo:hi])

    each_block(look, len(users), height)
    found, scores = np.full((len(users), n), -1, dtype=np.int64), np.full((len(users), n), -np.inf)

    def rank(lo: int, hi: int) -> None:
        values, columns = best[lo:hi], where[lo:hi]
        there = columns >= 0
        columns[there] = items[columns[there]]
        if ranking.exact is not None:
            of_users = users[lo + np.nonzero(there)[0]]
            with thread_limit(1):  # the other threads have blocks of their own
                values[there] = ranking.exact(of_users, columns[there].astype(items.dtype))
        order = np.lexsort((columns, -values))[:, :n_best]
        rows = np.arange(hi - lo)[:, None]
        found[lo:hi, :n_best], scores[lo:hi, :n_best] = columns[rows, order], values[rows, order]

    each_block(rank, len(users), max(1, pairs_per_block(n_levels) // max(n_kept, 1)))
    return found, scores
