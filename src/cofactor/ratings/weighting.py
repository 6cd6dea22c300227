"""Weights of ratings: how often each counts in a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import listed
from cofactor.errors import InvalidInputError
from cofactor.model.state import check_array
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import entries_of, weights_of_entries
from cofactor.ratings.frames import is_frame
from cofactor.typing import SparseTable
from cofactor.weights import as_weights

__all__ = ["check_saved", "no_weights", "read_again", "weighed", "weighted_mean"]


def read_again(X: Any) -> Any:
    """Return X as something that can be read more than once."""
    once = not (isinstance(X, Ratings) or sparse.issparse(X) or is_frame(X) or _is_dataset(X))
    return listed(X, "X") if once else X


def weighed(ratings: Ratings, X: Any, y: Any, sample_weight: ArrayLike | SparseTable | None) -> Ratings:
    """Return ratings with the weights of the rows that they were read from; those of weight 0 are left out.

    Their users and items remain, and so does the scale. Weights which are all 1 are none.

    Parameters
    ----------
    ratings : Ratings
        What was read from X and y.
    X, y
        As in `RatingModel.fit`; weights of a `Ratings` are in the order of its entries by user.
    sample_weight : array-like of shape (n,), sparse matrix of the shape of X, or None

    Examples
    --------
    >>> X, y = [("bob", "Up"), ("ann", "Up"), ("ann", "Alien")], [2, 4, 5]
    >>> ratings = Ratings.from_pairs(X, y)
    >>> weighed(ratings, X, y, [0, 1, 3]).weights
    array([3., 1.])
    """
    if sample_weight is None:
        return ratings
    sample_weight = weights_of_entries(X, sample_weight)
    place = np.arange(ratings.n_ratings) if X is ratings else _places(ratings, X, y)
    weights = np.empty(len(place))
    given = as_weights(sample_weight, len(place), "rating")
    weights[place] = 1.0 if given is None else given
    kept = weights > 0
    some = ratings if kept.all() else ratings.subset(kept)
    return replace(some, weights=None if (weights[kept] == 1).all() else weights[kept])


def check_saved(weights: NDArray[Any] | None, ratings: Ratings) -> NDArray[Any] | None:
    """Return weights read from a file; refuse what no fit can have left there."""
    if weights is not None:
        check_array("weights of the ratings", weights, ratings.levels.shape, np.float64)
        if not (weights > 0).all():
            raise InvalidInputError("weights of the ratings must be above 0")
    return weights


def no_weights(name: str, kind: type[Any]) -> InvalidInputError:
    """Return the error of a model that takes no weights, which names those of the kind that do."""
    kinds, taking = [kind], set()
    while kinds:
        one = kinds.pop()
        kinds += one.__subclasses__()
        taking |= {one.__name__} if one._takes_weights else set()
    return InvalidInputError(
        f"{name} takes no weights of ratings",
        argument="sample_weight",
        advice=f"leave them out, or take one of {', '.join(sorted(taking))}",
    )


def weighted_mean(ratings: Ratings, values: NDArray[Any]) -> float:
    """Return the mean over ratings of what each has, in the order of the entries by user."""
    return float(values.mean() if ratings.weights is None else np.average(values, weights=ratings.weights))


def _is_dataset(X: Any) -> bool:
    return hasattr(X, "X") and hasattr(X, "y") and not hasattr(X, "columns")


def _places(ratings: Ratings, X: Any, y: Any) -> NDArray[np.intp]:
    """Return where each row of X stands among the entries by user."""
    if _is_dataset(X):
        X, y = X.X, X.y
    user_ids, item_ids, _, _ = entries_of(X, y)
    m = len(ratings.items)
    pairs = ratings.users.index(user_ids).astype(np.int64) * m + ratings.items.index(item_ids)
    if len(pairs) != ratings.n_ratings:
        raise InvalidInputError(
            "X repeats (user, item) pairs, whose ratings become one, and that has not one weight",
            argument="sample_weight",
            advice="give each pair once, with the weight that it is to have",
        )
    return np.searchsorted(ratings.row_of_entry.astype(np.int64) * m + ratings.indices, pairs)
