"""The plainest recommendation, which stands beside all others: what most users took."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from cofactor.ratings.ids import IdMap
from cofactor.ratings.pairs import pair_columns

__all__ = ["PopularItems"]

_BLOCK = 1 << 22  #: pairs of users and items that are looked at together


class PopularItems(BaseEstimator):
    """Recommend to every user the items that most users took, but for those that the user took.

    Of equally popular items the first by its id is the first. Ratings do not count.

    Examples
    --------
    >>> pairs = [("ann", "Up"), ("bob", "Up"), ("bob", "Alien"), ("eve", "Up"), ("eve", "Alien"), ("eve", "Heat")]
    >>> items, scores = PopularItems().fit(pairs).recommend(["ann", "bob"], n=1)
    >>> items.tolist(), scores.tolist()
    ([['Alien'], ['Heat']], [[2.0], [1.0]])
    """

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Count the users of each item."""
        users, items = pair_columns(X)
        self.items_ = IdMap(items)
        self.counts_ = np.bincount(self.items_.index(items), minlength=len(self.items_))
        return self._remember(users, items)

    def fold_in(self, X: Any, y: ArrayLike | None = None) -> Self:
        """Return the same ranking for new users, who took these items."""
        new = type(self)()
        new.items_, new.counts_ = self.items_, self.counts_
        return new._remember(*pair_columns(X))

    def _remember(self, users: Any, items: Any) -> Self:
        """Remember who took what."""
        self.users_ = IdMap(users)
        columns = self.items_.index(items)
        order = np.argsort(-self.counts_, kind="stable")
        self._order, rank = order, np.argsort(order)
        known = columns >= 0
        self._taken = self.users_.index(users)[known], rank[columns[known]]
        return self

    def recommend(self, users: Any, n: int = 10, exclude_seen: bool = True) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return ids of items, best first, and how many users took them, both of shape (k, n).

        None, with a score of -inf, stands where fewer items are left.
        """
        rows, m = self.users_.index(users), len(self.items_)
        where, width = np.full((len(rows), n), -1), min(n, m)
        step = max(1, _BLOCK // m)
        by_user = np.argsort(self._taken[0], kind="stable")
        owners, places = self._taken[0][by_user], self._taken[1][by_user]
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            taken = np.zeros((len(block), m), dtype=np.bool_)
            if exclude_seen:
                first, last = (np.searchsorted(owners, block, side) for side in ("left", "right"))
                counts = last - first
                entries = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
                taken[np.repeat(np.arange(len(block)), counts), places[entries]] = True
            best = np.argsort(taken, axis=1, kind="stable")[:, :width]  # those not taken, by popularity
            left = ~np.take_along_axis(taken, best, axis=1)
            where[start : start + step, :width] = np.where(left, self._order[best], -1)
        ids, scores = self.items_.ids[where], np.where(where >= 0, self.counts_[where], -np.inf)
        if (where < 0).any():
            ids = ids.astype(object)
            ids[where < 0] = None
        return ids, scores
