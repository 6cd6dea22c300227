"""Implicit-feedback models whose scores are linear in a user's interactions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.entries import entries_of_rows
from cofactor.ratings.ranking.base import ImplicitModel, strengths_of

__all__ = ["ImplicitLinearModel", "Rows"]

#: Offsets, items and values of rows of X.
Rows: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]

_CELLS = 1 << 20  # of a table of a user's interactions and a range of items


class ImplicitLinearModel(ImplicitModel):
    """An implicit-feedback model whose score is a sum over a user's interactions, of what each says times a weight."""

    @abstractmethod
    def _weighted_sums(self, rows: Rows, first: int, last: int) -> NDArray[Any]:
        """Return X W for rows of X, of the items from `first` to `last` - 1."""

    def _interaction_rows(self, users: NDArray[Any]) -> Rows:
        """Return the rows of X of users: what each of their interactions says."""
        interactions = self._require_ratings(())
        indptr, entries = entries_of_rows(interactions.indptr, users)
        return indptr, interactions.indices[entries], strengths_of(self, interactions, entries)

    def _score_range(self, users: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        return self._weighted_sums(self._interaction_rows(users), first, last)

    def _contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """Return the scores of rows that hold one interaction each."""
        _, own, values = self._interaction_rows(np.array([user]))
        first, last = int(items.min()), int(items.max()) + 1
        step = max(1, _CELLS // (last - first))
        parts = []
        for lo in range(0, len(own), step):
            some, said = own[lo : lo + step], values[lo : lo + step]
            parts.append(self._weighted_sums((np.arange(len(some) + 1), some, said), first, last)[:, items - first])
        return np.concatenate(parts).T
