"""The full matrix of ratings: those that are known, and predictions of all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.ratings.blocks import each_block, pairs_per_block
from cofactor.ratings.shard_work import in_memory

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel

__all__ = ["complete"]


def complete(model: RatingModel) -> NDArray[np.float32]:
    """Return the full matrix of ratings: observed entries as they are, predictions elsewhere.

    Returns
    -------
    ndarray of shape (n_users, n_items), float32
        It takes 4 bytes for each user and item.
    """
    check_is_fitted(model)
    ratings = in_memory(model._require_ratings(()), "complete")
    n, m = len(model.users_), len(model.items_)
    full = np.empty((n, m), dtype=np.float32)
    cells = full.reshape(-1)

    def block(lo: int, hi: int) -> None:
        users, items = np.divmod(np.arange(lo, hi), m)
        levels = model._decode(model._margins(users.astype(np.int32), items.astype(np.int32)))
        cells[lo:hi] = model.scale_[levels - 1]

    each_block(block, n * m, pairs_per_block(len(model.scale_)))
    full[ratings.pairs()] = ratings.values
    return full
