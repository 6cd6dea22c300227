"""Any other classifier or regressor of scikit-learn: it can be used, but not saved safely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from cofactor.errors import InvalidTypeError
from cofactor.labels.learners.base import CheckedFeatures, Learner, StateReader, scores_of

__all__ = ["OpaqueLearner"]


class OpaqueLearner(Learner):
    """A fitted estimator of scikit-learn, held as it is.

    The scores of a classifier are its decision function; without one, its probabilities - 1/2; without these, 1/2 for
    the predicted class and -1/2 for the others. The scores of a regressor are the predicted codes - 1/2.

    Parameters
    ----------
    fitted : sequence of estimators
        A classifier, or a regressor of 0 and 1; for more than two classes a regressor for each class.
    classes : ndarray of shape (K,)
        The classes, increasing.
    n_features : int
        Number of features D.

    Examples
    --------
    >>> from sklearn.neighbors import NearestCentroid
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> learner = OpaqueLearner([NearestCentroid().fit(X, [0, 0, 1])], np.array([0, 1]), 1)
    >>> learner.predict(X)
    array([0, 0, 1])
    """

    kind: ClassVar[str] = "opaque"

    def __init__(self, fitted: Sequence[Any], classes: NDArray[np.int64], n_features: int) -> None:
        self.fitted = tuple(fitted)
        self.classes = classes
        self.n_features = n_features

    @property
    def name(self) -> str:
        """Class name of the estimator."""
        return type(self.fitted[0]).__name__

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works: whether the estimator has them."""
        return hasattr(self.fitted[0], "predict_proba")

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return scores of shape (n,) or (n, K)."""
        first, n_classes = self.fitted[0], len(self.classes)
        if is_regressor(first):
            columns = [np.ravel(each.predict(X)) - 0.5 for each in self.fitted]
            return columns[0] if n_classes == 2 else np.column_stack(columns)
        if hasattr(first, "decision_function"):
            scores = np.asarray(first.decision_function(X))
            expected = (X.shape[0],) if n_classes == 2 else (X.shape[0], n_classes)
            if scores.shape == expected:
                return scores
        if self.has_probabilities:
            return scores_of(self.probabilities(X))
        return scores_of((np.asarray(first.predict(X))[:, None] == self.classes).astype(np.float64))

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return what the estimator gives as probabilities, of shape (n, K)."""
        if not self.has_probabilities:
            return super().probabilities(X)
        return np.asarray(self.fitted[0].predict_proba(X), dtype=np.float64)

    def _state(self) -> NoReturn:
        raise InvalidTypeError(
            f"a fitted {self.name} cannot be saved safely: to read it would be to run what the file says",
            advice="take another learner, or keep the model in memory",
        )

    @classmethod
    def _rebuilt(cls, state: StateReader, n_features: int, classes: NDArray[np.int64]) -> Self:
        raise InvalidTypeError("the state of a learner: there is no such kind")
