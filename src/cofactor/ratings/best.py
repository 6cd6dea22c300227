"""The search for the best items: what ranks them, what is hidden, and the highest scores tile by tile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument
from cofactor.kernels.ranking import keep_best
from cofactor.kernels.threads import thread_limit
from cofactor.limits import CELLS
from cofactor.ratings.blocks import each_block, tile_shape
from cofactor.ratings.data import Ratings
from cofactor.ratings.exclusion import Excluded
from cofactor.ratings.ids import IdMap
from cofactor.ratings.probability import Pairwise
from cofactor.text import counted

__all__ = ["ExclusionMask", "Ranking", "Rescorer", "best_items", "ids_of"]


@dataclass(frozen=True)
class Rescorer:
    """A closer look at items that are among the best by rough scores.

    Attributes
    ----------
    nearly : callable
        Returns scores nearer to the exact ones, shape (len(users), m) as that of `items`: some for each user.
    exact : callable
        Returns the exact scores of pairs, given users and items.
    """

    nearly: Pairwise
    exact: Pairwise

    def ranked(self, users: Any, items: NDArray[Any], n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return items and exact scores, (len(users), n_scored(n)) or less, of those where nearer scores are highest.

        Parameters
        ----------
        users : ndarray or TimedUsers
        items : ndarray of shape (len(users), m)
            Some for each user; -1 stands for none.
        n : int
            How many are asked for.
        """
        there = items >= 0
        near = np.where(there, self.nearly(users, np.where(there, items, 0).astype(np.int32)), -np.inf)
        items, _ = highest(items, near, n_scored(n))
        rows, columns = np.nonzero(items >= 0)
        scores = np.full(items.shape, -np.inf)
        scores[rows, columns] = self.exact(users[rows], items[rows, columns].astype(np.int32))
        return items, scores


@dataclass(frozen=True)
class Ranking:
    """The scores by which items are ranked for users.

    Attributes
    ----------
    block : callable
        Returns the scores (len(users), len(items)) of some items for some users, given their indices.
    n_pairs : int
        For how many pairs of a user and an item scores are computed at a time.
    rescorer : Rescorer, optional
        If those of `block` are rough.
    n_items : int, optional
        For how many items at least: all of them where they cost hardly more than some.
    """

    block: Pairwise
    n_pairs: int
    rescorer: Rescorer | None = None
    n_items: int = 0

    def beside(self, new: Ranking, n_known: int) -> Ranking:
        """Return the ranking of the items of both: from index `n_known` on those of another."""

        def of_pairs(known: Pairwise, fresh: Pairwise) -> Pairwise:
            def scores(users: Any, items: NDArray[Any]) -> NDArray[Any]:
                out, is_new = np.empty(len(items)), items >= n_known
                for of, here, shift in ((known, ~is_new, 0), (fresh, is_new, n_known)):
                    out[here] = of(users[np.flatnonzero(here)], items[here] - shift)
                return out

            return scores

        def of_each(known: Pairwise, fresh: Pairwise) -> Pairwise:
            def scores(users: Any, items: NDArray[Any]) -> NDArray[Any]:
                is_new = items >= n_known
                ours, theirs = np.where(is_new, 0, items), np.where(is_new, items - n_known, 0)
                return np.where(is_new, fresh(users, theirs), known(users, ours))

            return scores

        def block(users: Any, items: NDArray[Any]) -> NDArray[Any]:
            is_new = items >= n_known
            parts = (self.block, items[~is_new]), (new.block, items[is_new] - n_known)
            return np.hstack([scores(users, some) for scores, some in parts if len(some)])

        rescorer = None
        if self.rescorer is not None and new.rescorer is not None:
            nearly = of_each(self.rescorer.nearly, new.rescorer.nearly)
            rescorer = Rescorer(nearly, of_pairs(self.rescorer.exact, new.rescorer.exact))
        return replace(self, block=block, rescorer=rescorer)

    def raised(self, bonus: NDArray[np.float64]) -> Ranking:
        """Return the same scores with a bonus for each item."""

        def higher(scores: Pairwise) -> Pairwise:
            return lambda users, items: scores(users, items) + bonus[items]

        rescorer = self.rescorer and Rescorer(higher(self.rescorer.nearly), higher(self.rescorer.exact))
        return replace(self, block=higher(self.block), rescorer=rescorer)


@dataclass(frozen=True, eq=False)
class ExclusionMask:
    """What is not shown to users: what they rated or interacted with, and what the caller leaves out.

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
        >>> hidden = ExclusionMask(None, Excluded.of(known, {"bob": ["Up", "Alien"]}))
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
        if items[-1] == len(items) - 1:  # all from the first on, as where nobody names candidates
            among = hidden < len(items)
            return rows[among], hidden[among]
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
    ranking: Ranking, users: Any, items: NDArray[Any], n: int, hidden: ExclusionMask
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return items with the highest scores, best first, ties by index, and these scores, both (len(users), n).

    Scores are computed for tiles of a few users and items each, so that memory depends on neither number. If they are
    rough, a sixteenth of all items, and no less than eight times as many as are then scored exactly, get nearer scores.

    Parameters
    ----------
    ranking : Ranking
    users : ndarray or TimedUsers
        Indices, or users at times.
    items : ndarray
        Indices, ascending.
    n : int
        Number of items for each user; where fewer are left, the rest is -1, with scores of -inf. Far more than
        there are items are refused, where they would fill the memory (`cofactor.limits.CELLS`).
    hidden : ExclusionMask
        Which items to leave out.
    """
    n_best = min(n, len(items))
    cells = int(n) * len(users)
    what = (Argument("n", int(n)), f" for {counted(len(users), 'user', form=',')} asks for {cells:,} items")
    CELLS.check(cells, what, size=n_best * len(users))
    n_kept = n_best if ranking.rescorer is None else min(max(8 * n_scored(n_best), len(items) // 16), len(items))
    height, width = tile_shape(len(users), ranking.n_pairs, ranking.n_items)
    height = max(1, min(height, ranking.n_pairs // max(n_kept, 1)))
    found, scores = np.full((len(users), n), -1, dtype=np.int64), np.full((len(users), n), -np.inf)

    def search(lo: int, hi: int) -> None:
        best, where = np.full((hi - lo, n_kept), -np.inf), np.full((hi - lo, n_kept), -1, dtype=np.int64)
        rows, columns = hidden.places(users[lo:hi], items)
        for start in range(0, len(items), width):
            table = ranking.block(users[lo:hi], items[start : start + width])
            here = (columns >= start) & (columns < start + width)
            table[rows[here], columns[here] - start] = -np.inf
            keep_best(table, start, best, where)
        where[where >= 0] = items[where[where >= 0]]
        if ranking.rescorer is not None:
            with thread_limit(1):  # the other threads have blocks of their own
                where, best = ranking.rescorer.ranked(users[lo:hi], where, n_best)
        found[lo:hi, :n_best], scores[lo:hi, :n_best] = highest(where, best, n_best)

    each_block(search, len(users), height)
    return found, scores


def n_scored(n: int) -> int:
    """Return how many items are scored exactly to find the best n of them, where other scores are rough."""
    return 2 * n + 10


def highest(
    items: NDArray[np.int64], scores: NDArray[np.float64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the n items of each row with the highest scores, best first, ties by index, and their scores.

    Examples
    --------
    >>> highest(np.array([[3, 7, 2]]), np.array([[1.0, 4.0, 1.0]]), 2)
    (array([[7, 2]]), array([[4., 1.]]))
    """
    order = np.lexsort((items, -scores))[:, :n]
    rows = np.arange(len(items))[:, None]
    return items[rows, order], scores[rows, order]
