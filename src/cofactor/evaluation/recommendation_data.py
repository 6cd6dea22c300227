"""What recommended lists are measured against: tables of users and items, of what was known and what was held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.model.splits import Parts
from cofactor.ratings.features import FeatureTable
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interactions import read_pairs

__all__ = ["Asked", "Split"]

Table = sparse.csr_array

HIGHEST = 10  #: ratings up to this are exponents of gains as they are


@dataclass(frozen=True)
class Asked:
    """Data and settings of an evaluation; users and items as numbers."""

    X: Any
    y: NDArray[np.float64]
    times: Any
    lengths: tuple[int, ...]
    likes: float | None
    auc: bool
    undefined: Literal[0, "skip"]
    ranking: Mapping[str, Any] = field(default_factory=dict)
    counts: NDArray[np.float64] | None = None  #: interactions of each pair, where there are no ratings
    features: Mapping[str, FeatureTable] = field(default_factory=dict)  #: of users and items, for models that take them

    def __post_init__(self) -> None:
        if self.likes is not None:
            check_number("likes", self.likes, low=-np.inf)
            if not (self.y >= self.likes).any():
                raise InvalidInputError("no rating is that high", argument="likes", found=self.likes)

    @cached_property
    def _columns(self) -> tuple[Any, Any]:
        return read_pairs(self.X)[:2]

    @cached_property
    def users(self) -> IdMap:
        """Ids of all users."""
        return IdMap(self._columns[0])

    @cached_property
    def items(self) -> IdMap:
        """Ids of all items."""
        return IdMap(self._columns[1])

    @cached_property
    def pairs(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """User and item number of each rating."""
        return self.users.index(self._columns[0]), self.items.index(self._columns[1])

    def ids_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return user id and item id of some ratings."""
        pairs = np.empty((len(rows), 2), dtype=object)
        for column, ids in enumerate(self._columns):
            pairs[:, column] = np.asarray(_safe_indexing(ids, rows))
        return pairs

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """Gain of each rating."""
        low, high = self.y.min(), self.y.max()
        if low <= 0 or high > HIGHEST:
            return np.exp2(1 + 4 * (self.y - low) / max(high - low, 1e-12)) - 1
        return np.exp2(self.y) - 1

    def table(self, rows: NDArray[Any], values: NDArray[np.float64]) -> Table:
        """Return the values of some ratings, users × items; of a pair that occurs twice the last one counts."""
        of_users, of_items = (part[rows] for part in self.pairs)
        keys = of_users.astype(np.int64) * len(self.items) + of_items
        kept = len(rows) - 1 - np.unique(keys[::-1], return_index=True)[1]
        shape = len(self.users), len(self.items)
        return Table((values[rows][kept], (of_users[kept], of_items[kept])), shape=shape)

    def split(self, parts: Parts) -> Split:
        """Return what all models are measured against on a split."""
        train, fold_in, test = parts
        ones = np.ones(len(self.y))
        training = self.table(train, ones)
        seen = training if fold_in is None else self.table(fold_in, ones)
        held_out = self.table(test, self.gains)
        held_out = Table(held_out - held_out.multiply(seen))  # an item seen before cannot be recommended
        held_out.eliminate_zeros()
        tested, known = np.diff(held_out.indptr) > 0, np.diff(seen.indptr) > 0
        users = np.flatnonzero(tested & known)
        if not users.size:
            raise InvalidInputError("no user of the test part is known from another part", argument="protocol")
        anything = Table(held_out[users])
        liked = self.table(test, (self.y >= (-np.inf if self.likes is None else self.likes)).astype(np.float64))
        relevant = Table(liked[users].multiply(anything.sign()))
        relevant.eliminate_zeros()
        if not relevant.nnz:
            raise InvalidInputError("nothing in the test part is rated so high", argument="likes", found=self.likes)
        return Split(parts, users, relevant, anything, Table(seen[users]), training, int((tested & ~known).sum()))


@dataclass(frozen=True)
class Split:
    """A split, and tables of its test users × items."""

    parts: Parts
    users: NDArray[Any]
    relevant: Table
    anything: Table  #: all held-out items, with their gains
    seen: Table  #: the items that users have before
    training: Table  #: of all users
    n_left_out: int

    @cached_property
    def popularity(self) -> NDArray[np.float64]:
        """Share of the training users who interacted with each item."""
        return np.diff(sparse.csc_array(self.training).indptr) / self.n_training_users

    @cached_property
    def n_training_users(self) -> int:
        """Users with something in training."""
        return int((np.diff(self.training.indptr) > 0).sum())

    @cached_property
    def n_items(self) -> int:
        """Items that can be recommended."""
        return int((self.popularity > 0).sum())

    @cached_property
    def vectors(self) -> Table:
        """The users of each item."""
        return Table(self.training.T)
