"""Label sets as classes, and what several models of label sets say together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.labels.features import CheckedFeatures
from cofactor.labels.learners.base import Learner
from cofactor.labels.learners.linear import LinearLearner, linear_scores

__all__ = ["VOTING", "class_scores", "set_margins"]

#: How votes are counted.
VOTING = ("soft", "hard")


def class_scores(learners: Sequence[Learner], X: CheckedFeatures) -> list[NDArray[Any]]:
    """Return scores of each learner's K classes, shape (n, K) for two classes as well; linear ones by one product.

    Examples
    --------
    >>> one = LinearLearner(np.array([[2.0]]), np.zeros(1), np.array([0, 1]))
    >>> class_scores([one], np.array([[1.5]]))
    [array([[0., 3.]])]
    """
    linear = [one for one in learners if isinstance(one, LinearLearner)]
    if len(linear) < len(learners) or len({one.binarize for one in linear}) > 1:
        return [_of_two(one.scores(X)) for one in learners]
    coef, intercept = np.hstack([one.coef for one in linear]), np.concatenate([one.intercept for one in linear])
    table = linear_scores(X, coef, intercept, linear[0].binarize)
    ends = np.cumsum([one.coef.shape[1] for one in linear])
    return [_of_two(part) for part in np.split(table, ends[:-1], axis=1)]


def _of_two(scores: NDArray[Any]) -> NDArray[Any]:
    """Return a column of scores for each of two classes where there is one for the second."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    column = scores.ravel()
    return np.column_stack([np.zeros_like(column), column])


def set_margins(scores: NDArray[Any], sets: NDArray[np.bool_]) -> NDArray[Any]:
    """Return by how much the best label set with a label exceeds the best one without it, shape (n, k).

    It is above 0 exactly for the labels of the best set, unless other sets are as good.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Score of each of the sets.
    sets : ndarray of shape (K, k), bool
        Which labels they hold; each label is in some of them, and not in others.

    Examples
    --------
    >>> set_margins(np.array([[0.1, 0.7, 0.2]]), np.array([[True, False], [True, True], [False, False]])).round(2)
    array([[0.5, 0.5]])
    """
    best = scores.argmax(axis=1)
    top = scores[np.arange(len(scores)), best]
    margins = np.empty((len(scores), sets.shape[1]))
    for k, has in enumerate(sets.T):  # one of both is the best set of all, so only the others are searched
        held = has[best]
        margins[held, k] = top[held] - scores[np.ix_(held, ~has)].max(axis=1)
        margins[~held, k] = scores[np.ix_(~held, has)].max(axis=1) - top[~held]
    return margins
