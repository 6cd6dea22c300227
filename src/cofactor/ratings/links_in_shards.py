"""Features of users and items that tell who rated what, from ratings in shards: by passes over the mask of ratings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy import sparse

from cofactor.problems.block_lanczos import leading_by_passes
from cofactor.ratings.links import SHRINKAGE, Link, project_rows, with_cold_row
from cofactor.ratings.sharded import ShardedRatings
from cofactor.solvers.parts import Answer, Part, Question, Rounds

__all__ = ["NO_FEATURES", "MaskInShards", "decompose_mask"]

Array = NDArray[np.float64]


def _none(k: int) -> None:
    """Return the features of the users of a shard where they have none."""


@dataclass(frozen=True)
class UserFeatures:
    """Features of the users of any shard, see `MaskLink`, and of a cold user after the last one.

    Attributes
    ----------
    ratings : ShardedRatings
    projection : ndarray of shape (m, K)
    """

    ratings: ShardedRatings
    projection: Array

    def __call__(self, k: int) -> Array:
        shard = self.ratings.shard(k)
        found = project_rows(shard.indptr, shard.indices, self.projection)
        return with_cold_row(found) if k == len(self.ratings) - 1 else found


@dataclass(frozen=True)
class MaskInShards:
    """What `MaskLink` is in memory.

    Attributes
    ----------
    users : callable
        Returns the features of the users of a shard, or None: `UserFeatures`.
    totals : tuple of two ndarray of shape (K,), or None
        Sums over users of the squares of their features, and of these.
    items : ndarray of shape (m + 1, K) or None
        Features of items, and of a cold one.
    links : tuple of two Link
        Of users and of items.
    """

    users: Callable[[int], Array | None]
    totals: tuple[Array, Array] | None
    items: Array | None
    links: tuple[Link, Link]


#: Where no features tell who rated what.
NO_FEATURES = MaskInShards(_none, None, None, (Link("user_features"), Link("item_features")))


class MaskPart(Part):
    """The scaled mask of one shard.

    Parameters
    ----------
    ratings : ShardedRatings
    k : int
        Number of the shard.
    """

    def __init__(self, ratings: ShardedRatings, k: int) -> None:
        self.ratings, self.k = ratings, k

    def answer(self, question: Question) -> Answer:
        """Do what the question asks."""
        return getattr(self, "_" + question["op"])(question)

    def _products(self, question: Question) -> Answer:
        """Return Bᵀ B W, in single precision: see `leading_by_passes`."""
        shard = self.ratings.shard(self.k)
        by_item = 1 / np.sqrt(self.ratings.item_counts + SHRINKAGE)
        values = (1 / np.sqrt(shard.user_counts + SHRINKAGE))[shard.row_of_entry] * by_item[shard.indices]
        entries = values.astype(np.float32), shard.indices, shard.indptr
        B = sparse.csr_array(entries, shape=(len(shard.users), len(shard.items)))
        return {"products": np.asarray(B.T @ (B @ question["W"]))}

    def _features(self, question: Question) -> Answer:
        """Return sums over users, and what each of them adds to the features of an item but for a factor."""
        users = UserFeatures(self.ratings, question["projection"])(self.k)
        counts = self.ratings.shard(self.k).user_counts
        of_items = users[: len(counts)] / np.sqrt(counts + SHRINKAGE)[:, None]
        return {"squares": (users**2).sum(axis=0), "sums": users.sum(axis=0), "of_items": of_items.astype(np.float32)}


def decompose_mask(
    ratings: ShardedRatings, n_columns: int, model: Any, in_folder: bool = False
) -> tuple[MaskInShards, Rounds]:
    """Return what the mask of ratings tells of users and items, and the parts that found it.

    Parameters
    ----------
    ratings : ShardedRatings
    n_columns : int
        Number of features, if the mask has such a rank.
    model : estimator
        Whose parameters the work depends on.
    in_folder : bool, default=False
        Whether what a rating by each user says of an item stays in the folder until the parts are done.
    """
    (n, m), parts = ratings.shape, ratings.parts(partial(MaskPart, ratings), model, "mask")

    def multiply(W: Array) -> NDArray[np.float32]:
        return parts.total({"op": "products", "W": W.astype(np.float32)})["products"]

    S, Q = leading_by_passes(multiply, m, n_columns)
    by_item = 1 / np.sqrt(ratings.item_counts + SHRINKAGE)
    projection = np.sqrt(n) / S[0] * by_item[:, None] * Q
    squares, sums = np.zeros(len(S)), np.zeros(len(S))
    shape: Any = (n, len(S))
    place = ratings.place(model, "mask") / "of_items.npy" if in_folder else None
    of_items = np.empty(shape, np.float32) if place is None else open_memmap(place, "w+", np.float32, shape)
    for k, answer in enumerate(parts.each({"op": "features", "projection": projection})):
        squares += answer["squares"]
        sums += answer["sums"]
        of_items[ratings.bounds[k] : ratings.bounds[k + 1]] = np.sqrt(m / n) / S * answer["of_items"]
    items = np.sqrt(m) * Q * (S / S[0])
    links = (
        Link("user_features", projection=projection.astype(np.float32), usual=sums[None] / n),
        Link("item_features", projection=of_items, usual=items.mean(axis=0)[None]),
    )
    users = UserFeatures(ratings, projection)
    return MaskInShards(users, (squares, sums), with_cold_row(items), links), parts
