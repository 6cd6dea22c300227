"""Linear models, and naive Bayes, whose scores are linear in counts and binary features, but not in normal ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, softmax
from sklearn import linear_model, naive_bayes, svm

from cofactor.checks import number, one_of
from cofactor.errors import InvalidTypeError
from cofactor.labels.features import CheckedFeatures
from cofactor.labels.learners.base import Learner, wrong_state
from cofactor.model.estimator import learned

#: How probabilities follow from scores; with "none" there are no probabilities. With "logistic" and more than two
#: classes they are divided by their sum.
LINKS = ("none", "logistic", "softmax", "modified_huber")

# By name, since scikit-learn is going to remove the last one.
_NAMES = ("LogisticRegression", "RidgeClassifier", "SGDClassifier", "Perceptron", "PassiveAggressiveClassifier")

#: Linear classifiers of scikit-learn that become a `LinearLearner`.
CLASSIFIERS: tuple[type[Any], ...] = (
    svm.LinearSVC,
    *(getattr(linear_model, name) for name in _NAMES if hasattr(linear_model, name)),
)

#: Linear regressions of scikit-learn that become a `LinearLearner`; they regress the codes 0 and 1, and the cut is 1/2.
REGRESSORS: tuple[type[Any], ...] = (linear_model.Ridge, linear_model.LinearRegression)

#: Naive Bayes classifiers whose log-odds are linear in the features.
NAIVE_BAYES: tuple[type[Any], ...] = (
    naive_bayes.MultinomialNB,
    naive_bayes.ComplementNB,
    naive_bayes.BernoulliNB,
)


class LinearLearner(Learner):
    """Scores are X coef + intercept.

    Parameters
    ----------
    coef : ndarray of shape (D, 1), (D, K) or (D, L)
        One column for two classes; for more classes, or for labels, a column for each.
    intercept : ndarray of shape (1,), (K,) or (L,)
        Intercept of each column.
    classes : ndarray of shape (K,), optional
        The classes, increasing; by default columns are those of labels.
    link : {"none", "logistic", "softmax", "modified_huber"}, default="none"
        How probabilities follow from scores.
    binarize : float, optional
        Features above this number count as 1, all others as 0.

    Examples
    --------
    >>> learner = LinearLearner(np.array([[2.0], [0.0]]), np.array([-1.0]), np.array([0, 1]), link="logistic")
    >>> X = np.array([[1.0, 5.0], [0.5, 5.0]])
    >>> learner.scores(X)
    array([1., 0.])
    >>> learner.predict(X)
    array([1, 0])
    >>> learner.probabilities(X).round(2)
    array([[0.27, 0.73],
           [0.5 , 0.5 ]])
    >>> LinearLearner(np.array([[1.0, -1.0]]), np.array([0.0, 2.0])).scores(np.array([[2.0]]))
    array([[2., 0.]])
    """

    coef: NDArray[Any] = learned("features columns")
    intercept: NDArray[Any] = learned("columns")
    classes: Any = learned("classes", dtype=np.int64, optional=True)
    link: str = learned(check=one_of(LINKS))
    binarize: float | None = learned(check=number(low=-np.inf), optional=True)

    def __init__(
        self,
        coef: NDArray[Any],
        intercept: NDArray[Any],
        classes: NDArray[np.int64] | None = None,
        *,
        link: str = "none",
        binarize: float | None = None,
    ) -> None:
        self.coef = np.ascontiguousarray(coef)  # products round in another way if the order in memory differs
        self.intercept, self.classes = intercept, classes
        self.n_features = len(coef)
        self.n_labels = coef.shape[1] if classes is None else 1
        self.link, self.binarize = link, binarize

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return self.link != "none"

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return X coef + intercept; these are log-odds if the link is "logistic"."""
        return self._of_first(linear_scores(X, self.coef, self.intercept, self.binarize))

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return P(class | features) of shape (n, K), or P(label is on | features) of shape (n, L)."""
        if self.link == "none":
            return super().probabilities(X)
        scores = self.scores(X)
        if self.link == "softmax":
            return softmax(scores.astype(np.float64, copy=False), axis=1)
        likely = linked(scores, self.link)
        if self.classes is None:
            return likely
        if likely.ndim == 1:
            return np.column_stack([1 - likely, likely])
        likely[~likely.any(axis=1)] = 1  # all classes have probability 0: make them equally likely
        return likely / likely.sum(axis=1, keepdims=True)

    def select(self, kept: Mapping[str, NDArray[np.int64]]) -> LinearLearner:
        """Return the learner of some of the labels."""
        some = kept["labels"]
        return LinearLearner(self.coef[:, some], self.intercept[some], link=self.link, binarize=self.binarize)

    def _check(self) -> None:
        super()._check()
        columns = self.coef.shape[1]
        width = columns if self.classes is None else (len(self.classes) if len(self.classes) > 2 else 1)
        several = self.classes is not None and width > 1
        if not len(self.coef) or columns != width or not width or (self.link == "softmax" and not several):
            raise wrong_state("coefficients or probabilities do not fit the classes or labels")


def linear_scores(
    X: CheckedFeatures, coef: NDArray[Any], intercept: NDArray[Any], binarize: float | None = None
) -> NDArray[Any]:
    """Return X coef + intercept as a dense array, perhaps after turning features into 0 and 1 (`binarized`)."""
    return np.asarray(binarized(X, binarize) @ coef) + intercept


def linked(scores: NDArray[Any], link: str) -> NDArray[np.float64]:
    """Return a probability for each score, separately.

    Examples
    --------
    >>> linked(np.array([0.0, 0.5]), "modified_huber")
    array([0.5 , 0.75])
    """
    scores = scores.astype(np.float64, copy=False)
    if link == "none":
        raise InvalidTypeError("these linear models give scores, but no probabilities")
    return expit(scores) if link == "logistic" else (np.clip(scores, -1, 1) + 1) / 2


def binarized(X: CheckedFeatures, cut: float | None) -> CheckedFeatures:
    """Return 1 where features are above a cut and 0 elsewhere; without a cut the features as they are.

    Examples
    --------
    >>> binarized(np.array([[0.5, -1.0]]), 0.0)
    array([[1., 0.]])
    """
    if cut is None:
        return X
    if isinstance(X, np.ndarray):
        return np.greater(X, cut).astype(X.dtype)
    if cut < 0:  # the zeros that are not stored are above the cut too
        return binarized(X.toarray(), cut)
    return sparse.csr_array((X.data > cut, X.indices, X.indptr), shape=X.shape).astype(X.dtype)


def from_classifier(fitted: Any, classes: NDArray[np.int64]) -> LinearLearner:
    """Return the learner of a fitted linear classifier."""
    return LinearLearner(*_weights(fitted), classes, link=link_of(fitted, len(classes)))


def from_regressor(fitted: Any, classes: NDArray[np.int64]) -> LinearLearner:
    """Return the learner of a linear regression of 0 and 1; with more than two classes, of a column for each class."""
    coef, intercept = _weights(fitted)
    return LinearLearner(coef, intercept - 0.5, classes)


def from_naive_bayes(fitted: Any, classes: NDArray[np.int64]) -> LinearLearner:
    """Return the learner of a fitted naive Bayes classifier, whose scores are log P(class) + log P(features | class).

    For two classes the score is the difference of the two, the log-odds.
    """
    logs, prior = fitted.feature_log_prob_, fitted.class_log_prior_
    binarize = None
    if isinstance(fitted, naive_bayes.ComplementNB):  # it does not use the prior
        prior = np.zeros(len(classes))
    elif isinstance(fitted, naive_bayes.BernoulliNB):
        absent = np.log(1 - np.exp(logs))
        logs, prior = logs - absent, prior + absent.sum(axis=1)
        binarize = None if fitted.binarize is None else float(fitted.binarize)
    if len(classes) == 2:
        difference = (logs[1] - logs[0])[:, None]
        return LinearLearner(difference, prior[1:] - prior[:1], classes, link="logistic", binarize=binarize)
    return LinearLearner(logs.T, prior, classes, link="softmax", binarize=binarize)


def link_of(estimator: Any, n_classes: int = 2) -> str:
    """Return how probabilities of a linear classifier follow from its scores.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, SGDClassifier
    >>> link_of(LogisticRegression()), link_of(LogisticRegression(), 3), link_of(SGDClassifier())
    ('logistic', 'softmax', 'none')
    """
    if isinstance(estimator, linear_model.LogisticRegression):
        one_by_one = estimator.solver == "liblinear" or getattr(estimator, "multi_class", "auto") == "ovr"
        return "logistic" if n_classes == 2 or one_by_one else "softmax"
    if isinstance(estimator, linear_model.SGDClassifier):
        return {"log_loss": "logistic", "modified_huber": "modified_huber"}.get(estimator.loss, "none")
    return "none"


def _weights(fitted: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the coefficients of a fitted linear model, shape (D, 1) or (D, K), and an intercept for each column."""
    coef = np.atleast_2d(fitted.coef_).T
    intercept = np.empty(coef.shape[1], dtype=coef.dtype)
    intercept[:] = fitted.intercept_
    return coef, intercept


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

    means: NDArray[Any] = learned("classes features")
    variances: NDArray[Any] = learned("classes features")
    priors: NDArray[Any] = learned("classes")
    classes: Any = learned("classes", dtype=np.int64)

    def __init__(
        self, means: NDArray[Any], variances: NDArray[Any], priors: NDArray[Any], classes: NDArray[np.int64]
    ) -> None:
        self.means, self.variances = np.ascontiguousarray(means), np.ascontiguousarray(variances)
        self.priors, self.classes = priors, classes
        self.n_features = means.shape[1]

    @classmethod
    def from_estimator(cls, fitted: Any, classes: NDArray[np.int64]) -> Self:
        """Return the learner of a fitted GaussianNB."""
        return cls(fitted.theta_, fitted.var_, fitted.class_prior_, classes)

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

    def _check(self) -> None:
        super()._check()
        if not self.means.size or not (self.variances > 0).all() or not (self.priors > 0).all():
            raise wrong_state("variances and priors must be above 0")
