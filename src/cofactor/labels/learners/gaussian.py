"""Naive Bayes with normally distributed features."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from cofactor.labels.learners.base import Arrays, CheckedFeatures, Learner, StateReader, wrong_state

__all__ = ["GaussianLearner"]


class GaussianLearner(Learner):
    r"""Scores from the densities of independent, normally distributed features.

    .. math:: \log P(c) - \tfrac12 \sum_f
        \Bigl(\log 2 \pi \sigma_{cf}^2 + \frac{(x_f - \mu_{cf})^2}{\sigma_{cf}^2}\Bigr)

    is the score of each class c. For two classes the score is the difference of the two, the log-odds.

    Parameters
    ----------
    means, variances : ndarray of shape (K, D)
        μ and σ² of each feature in each class.
    priors : ndarray of shape (K,)
        P(c) of each class.
    classes : ndarray of shape (K,)
        The classes, increasing.

    Examples
    --------
    >>> learner = GaussianLearner(np.array([[0.0], [2.0]]), np.ones((2, 1)), np.array([0.5, 0.5]), np.array([0, 1]))
    >>> learner.scores(np.array([[0.0], [1.0], [3.0]]))
    array([-2.,  0.,  4.])
    """

    kind: ClassVar[str] = "gaussian"

    def __init__(
        self, means: NDArray[Any], variances: NDArray[Any], priors: NDArray[Any], classes: NDArray[np.int64]
    ) -> None:
        self.means = np.ascontiguousarray(means)
        self.variances = np.ascontiguousarray(variances)
        self.priors = priors
        self.classes = classes
        self.n_features = means.shape[1]

    @classmethod
    def from_estimator(cls, fitted: Any, classes: NDArray[np.int64]) -> Self:
        """Return the learner of a fitted GaussianNB."""
        return cls(fitted.theta_, fitted.var_, fitted.class_prior_, classes)

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return True

    def _joint(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return log P(class) + log p(features | class) of shape (n, K)."""
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        columns = []
        for mean, variance, prior in zip(self.means, self.variances, self.priors, strict=True):
            constant = np.log(prior) - 0.5 * np.sum(np.log(2.0 * np.pi * variance))
            columns.append(constant - 0.5 * np.sum((dense - mean) ** 2 / variance, axis=1))
        return np.column_stack(columns)

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return log-odds; for more than two classes log P(class) + log p(features | class) of each."""
        joint = self._joint(X)
        return joint[:, 1] - joint[:, 0] if len(self.classes) == 2 else joint

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return P(class | features) of shape (n, K)."""
        scores = self.scores(X)
        return softmax(scores, axis=1) if scores.ndim == 2 else np.column_stack([expit(-scores), expit(scores)])

    def _state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, {"means": self.means, "variances": self.variances, "priors": self.priors}

    @classmethod
    def _rebuilt(cls, state: StateReader, n_features: int, classes: NDArray[np.int64]) -> Self:
        shape = (len(classes), n_features)
        means, variances = state.floats("means", shape), state.floats("variances", shape)
        priors = state.floats("priors", shape[:1])
        for name, positive in (("variances", variances), ("priors", priors)):
            if not (positive > 0).all():
                raise wrong_state(f"{name!r} must be above 0")
        return cls(means, variances, priors, classes)
