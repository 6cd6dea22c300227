"""Baselines: rules without a model, two for ratings and one for labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.labels import LabelModel, TrainingData
from cofactor.labels.base import Capabilities
from cofactor.labels.data import check_missing
from cofactor.model.estimator import Estimator, learned, param
from cofactor.ratings import as_ratings
from cofactor.ratings.interactions import read_pairs


class MostFrequentLevel(Estimator):
    """Predict the most frequent rating for all pairs, the lowest one of several.

    The probability of a level is its share of the ratings, with one more rating of each level.

    Parameters
    ----------
    levels : array-like of shape (R,), optional
        The values a rating can take.

    Examples
    --------
    >>> MostFrequentLevel().fit([(1, 1), (1, 2), (2, 1)], [3, 5, 5]).predict([(7, 7)])
    array([5.])
    """

    levels: ArrayLike | None = param(default=None, kw_only=False)

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn the rating."""
        values, counts = np.unique(np.asarray(y, dtype=np.float64), return_counts=True)
        self.rating_ = float(values[np.argmax(counts)])
        self.scale_ = values if self.levels is None else np.asarray(self.levels, dtype=np.float64)
        # One more of each level, so that no level is impossible.
        seen = np.bincount(np.searchsorted(self.scale_, values), counts, len(self.scale_)) + 1
        self.shares_ = seen / seen.sum()
        return self

    def fold_in(self, X: Any, y: ArrayLike) -> Self:
        """Return the same rule, which does not depend on users."""
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return that rating for each pair."""
        return np.full(len(read_pairs(X)[0]), self.rating_)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the share of each level for each pair."""
        return np.tile(self.shares_, (len(read_pairs(X)[0]), 1))


class UserMedian(Estimator):
    """Predict for each user the lower median of their ratings, for unknown users the lower median of all ratings.

    Parameters
    ----------
    levels : array-like of shape (R,), optional
        The values a rating can take.

    Examples
    --------
    >>> model = UserMedian().fit([(1, 1), (1, 2), (1, 3), (2, 1)], [3, 5, 5, 1])
    >>> model.predict([(1, 9), (2, 9), (7, 9)])
    array([5., 1., 3.])
    """

    levels: ArrayLike | None = param(default=None, kw_only=False)

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn the medians."""
        ratings = as_ratings(X, y, scale=self.levels, duplicates="last")
        order = np.lexsort((ratings.levels, ratings.row_of_entry))
        middle = ratings.indptr[:-1] + (ratings.user_counts - 1) // 2
        self.users_ = ratings.users
        self.medians_ = ratings.scale[ratings.levels[order][middle] - 1]
        levels = np.sort(ratings.levels)
        self.common_ = float(ratings.scale[levels[(len(levels) - 1) // 2] - 1])
        return self

    def fold_in(self, X: Any, y: ArrayLike) -> Self:
        """Return the rule for new users."""
        new = type(self)(self.levels).fit(X, y)
        new.common_ = self.common_
        return new

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the median of the user of each pair."""
        users = self.users_.index(read_pairs(X)[0])
        return np.where(users >= 0, self.medians_[users], self.common_)


class LabelFrequencies(LabelModel):
    """Give every instance the labels which more than half of the training instances have.

    The score of a label is its share of the training instances for which it is known minus 1/2, whatever the features
    are.

    Parameters
    ----------
    threshold : float or str, default="auto"
        See `LabelModel`.
    decide_for : str, default="micro"
        See `LabelModel`.
    missing : {"error", "ignore"}, default="error"
        See `LabelModel`.
    random_state : int, optional
        Seed of the folds on which a threshold is learned.

    Examples
    --------
    >>> LabelFrequencies(threshold=0).fit([[0], [1], [2]], [[1, 0], [1, 1], [0, 0]]).predict([[7]])
    array([[1, 0]])
    """

    missing: str = param(check_missing, default="error")
    scale, callback, verbose = "none", None, 0  # of no use here

    frequencies_: NDArray[np.float64] = learned("labels")

    def _fit(self, data: TrainingData) -> None:
        known = data.n_instances if data.known is None else data.known.sum(axis=0)
        self.frequencies_ = np.bincount(data.labels.indices, minlength=data.labels.shape[1]) / known

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), scales=())  # it looks at no features

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return np.tile(self.frequencies_ - 0.5, (X.shape[0], 1))
