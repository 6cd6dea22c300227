"""What a fit of ratings in shards keeps of users: made shard by shard, then taken to memory or left in the folder."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.factors.loss_fit import longest_row, threshold_sums
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.stored_users import StoredUsers
from cofactor.solvers.parts import Answer, Rounds

__all__ = ["RowsByLoss", "longest_of", "of_rows", "set_users"]

Arrays = Mapping[str, NDArray[Any]]

#: What is kept of users, by attribute.
_OF_USERS = ("U_", "user_bias_", "thresholds_", "planes_")


def set_users(model: Any, ratings: ShardedRatings, parts: Rounds, finish: Callable[[int, Arrays], Answer]) -> None:
    """Set the arrays of all users.

    Parameters
    ----------
    model : FactorModel
    ratings : ShardedRatings
    parts : Rounds
    finish : callable
        Makes the arrays of users, by attribute, of the number of a part and its arrays of rows.
    """

    def ask(then: Callable[[int, Arrays], Answer]) -> Iterable[Answer]:
        return parts.each({"op": "arrays", "then": then})

    n_bytes = ratings.shape[0] * model.V_.shape[1] * model.V_.itemsize
    if parts.journal is not None and ratings.work.stores(n_bytes):
        assert ratings.folder is not None
        name = type(model).__name__
        stored = StoredUsers.write(ratings.folder, parts.journal.folder, name, model.users_, ask, finish)
        model.stored_users_, found = stored, stored.arrays
    else:
        found = _whole(ask(finish), ratings.bounds)
    for name, array in found.items():
        setattr(model, name, array)


def of_rows(k: int, rows: Arrays) -> Answer:
    """Return the factors and biases of the users of a shard as they are."""
    return {"U_": rows["U"], "user_bias_": rows["b"]}


def longest_of(k: int, rows: Arrays) -> Answer:
    """Return the largest norm of the factors of a user of a shard."""
    return {"longest": np.array(longest_row(rows["U"]))}


@dataclass(frozen=True)
class RowsByLoss:
    """Makes what is kept of users whose rows minimise a loss; see `LossFactorization`.

    Attributes
    ----------
    ratings : ShardedRatings
    model : FactorModel
        With what a fit found for items.
    negligible : bool
        Whether all products of factors are, so that these count as zeros.
    common : ndarray of shape (R - 1,), optional
        Thresholds of users without ratings.
    """

    ratings: ShardedRatings
    model: Any
    negligible: bool = False
    common: NDArray[Any] | None = None

    def __call__(self, k: int, rows: Arrays) -> Answer:
        """Return factors, biases and thresholds of the users of a shard."""
        shard, some, U = self.ratings.shard(k), copy.copy(self.model), rows["U"]
        some.U_ = np.zeros_like(U) if self.negligible else U
        some.user_bias_ = rows.get("b", np.zeros(len(U), some.dtype))
        some.thresholds_ = some._user_thresholds(shard, rows).astype(some.dtype, copy=False)
        if self.common is not None:
            some.thresholds_[shard.user_counts == 0] = self.common
        return {name: getattr(some, name) for name in _OF_USERS if hasattr(some, name)}

    def sums(self, k: int, rows: Arrays) -> Answer:
        """Return the `threshold_sums` of the users of a shard who have ratings."""
        return threshold_sums(self(k, rows)["thresholds_"][self.ratings.shard(k).user_counts > 0])


def _whole(answers: Iterable[Answer], bounds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the arrays of all users, those of a shard after those of another."""
    whole: dict[str, NDArray[Any]] = {}
    for k, arrays in enumerate(answers):
        for name, array in arrays.items():
            if k == 0:
                whole[name] = np.empty((int(bounds[-1]), *array.shape[1:]), array.dtype)
            whole[name][bounds[k] : bounds[k + 1]] = array
    return whole
