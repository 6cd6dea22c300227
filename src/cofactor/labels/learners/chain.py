"""Learners in a chain: each sees the features, and the labels before it in the chain."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import one_of
from cofactor.labels.features import CheckedFeatures
from cofactor.labels.learners.base import Learner, check_binary, wrong_state
from cofactor.labels.learners.linear import LINKS, LinearLearner, linked
from cofactor.model.estimator import learned

_LABELS_AHEAD = 32  # labels for which the sums over the labels before them are one product


def with_labels(X: CheckedFeatures, labels: NDArray[Any]) -> CheckedFeatures:
    """Return features with labels, 0 and 1, as more features behind them.

    Examples
    --------
    >>> with_labels(np.array([[0.5], [2.0]]), np.array([[True], [False]]))
    array([[0.5, 1. ],
           [2. , 0. ]])
    """
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(np.hstack([X, labels.astype(X.dtype)]))
    more = sparse.csr_array(labels.astype(X.dtype))
    return sparse.csr_array(sparse.hstack([X, more], format="csr"))


def clip_probabilities(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities so far from 0 and 1 that their logarithms are finite."""
    return np.clip(p, 1e-300, 1 - 1e-16)


def drawn_label(p: NDArray[np.float64], uniforms: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether a label of probabilities p is on, and add the logarithms of what was drawn to `logs`.

    Examples
    --------
    >>> logs = np.zeros((1, 2))
    >>> drawn_label(np.array([[0.5, 0.5]]), np.array([0.2, 0.9]), logs), logs.round(2)
    (array([[ True, False]]), array([[-0.69, -0.69]]))
    """
    p = clip_probabilities(p)
    on = np.asarray(uniforms < p)
    logs += np.where(on, np.log(p), np.log1p(-p))
    return on


class ChainLearner(Learner):
    """A learner of T labels in a chain: for the t-th it has seen D features and the t labels before it.

    Its scores are those of `decide`.
    """

    @abstractmethod
    def seen(self, X: CheckedFeatures) -> Any:
        """Return what the features say to all learners, once for all labels; the methods below take it."""

    @abstractmethod
    def link_scores(self, seen: Any, earlier: NDArray[Any], t: int) -> NDArray[Any]:
        """Return scores of the t-th label, shape (n,), given those before it, shape (n, t), of 0 and 1."""

    @abstractmethod
    def link_probabilities(self, seen: Any, earlier: NDArray[Any], t: int) -> NDArray[np.float64]:
        """Return the probability of the t-th label, shape (n,), given those before it."""

    @abstractmethod
    def repeated(self, seen: Any, rows: NDArray[np.int64]) -> Any:
        """Return what `seen` says of some rows, perhaps several times of one."""

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return scores of shape (n, T), with the labels before each as they are decided."""
        return self.decide(X)[0]

    def decide(self, X: CheckedFeatures) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return scores and labels, shape (n, T): each label follows from those that were decided before it.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Checked features.
        """
        seen = self.seen(X)
        scores = np.empty((X.shape[0], self.n_labels))
        labels = np.zeros((X.shape[0], self.n_labels))
        for t in range(self.n_labels):
            scores[:, t] = self.link_scores(seen, labels[:, :t], t)
            labels[:, t] = scores[:, t] > 0
        return scores, labels > 0

    def draw(self, seen: Any, n: int, uniforms: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return label sets, shape (n, S, T), drawn label by label, and the logarithms of their probabilities, (n, S).

        Parameters
        ----------
        seen : object
            What the features of n instances say.
        n : int
        uniforms : ndarray of shape (S, T)
            A label of the s-th set is on where its number is below the probability.
        """
        S, T = uniforms.shape
        chances = self._chances(seen, n, S)
        labels, logs = np.zeros((n * S, T), np.float32), np.zeros((n, S))
        for t in range(T):
            labels[:, t] = drawn_label(chances(labels, t), uniforms[:, t], logs).ravel()
        return labels.reshape(n, S, T) > 0, logs

    def _chances(self, seen: Any, n: int, S: int) -> Callable[[NDArray[Any], int], NDArray[np.float64]]:
        """Return a function: the probability of the t-th label, shape (n, S), from labels drawn so far, (n S, T).

        It is called for one label after the other.
        """
        again = self.repeated(seen, np.repeat(np.arange(n), S))
        return lambda labels, t: self.link_probabilities(again, labels[:, :t], t).reshape(n, S)


class LinearChain(ChainLearner):
    """Linear learners: one product says what the features say to all of them.

    Parameters
    ----------
    coef : ndarray of shape (D, T)
        Coefficients of the features, a column for each label.
    label_coef : ndarray of shape (T, T)
        Coefficients of the labels; only those above the diagonal count.
    intercept : ndarray of shape (T,)
    link : {"none", "logistic", "modified_huber"}, default="none"
        How probabilities follow from scores.

    Examples
    --------
    >>> chain = LinearChain(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0], [0.0, 0.0]]), np.array([0.0, -1.0]))
    >>> chain.decide(np.array([[3.0], [-3.0]]))
    (array([[ 3.,  1.],
           [-3., -1.]]), array([[ True,  True],
           [False, False]]))
    """

    coef: NDArray[Any] = learned("features labels")
    label_coef: NDArray[Any] = learned("labels labels")
    intercept: NDArray[Any] = learned("labels")
    link: str = learned(check=one_of([link for link in LINKS if link != "softmax"]))

    def __init__(
        self, coef: NDArray[Any], label_coef: NDArray[Any], intercept: NDArray[Any], *, link: str = "none"
    ) -> None:
        self.coef, self.label_coef, self.intercept, self.link = coef, label_coef, intercept, link
        self.n_features, self.n_labels = coef.shape

    @property
    def has_probabilities(self) -> bool:
        """Whether `link_probabilities` works."""
        return self.link != "none"

    def seen(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return X coef + intercept."""
        return np.asarray(X @ self.coef) + self.intercept

    def link_scores(self, seen: Any, earlier: NDArray[Any], t: int) -> NDArray[Any]:
        """Return scores of the t-th label given those before it."""
        return np.asarray(seen[:, t] + earlier @ self.label_coef[:t, t])

    def link_probabilities(self, seen: Any, earlier: NDArray[Any], t: int) -> NDArray[np.float64]:
        """Return the probability of the t-th label given those before it."""
        return linked(self.link_scores(seen, earlier, t), self.link)

    def repeated(self, seen: Any, rows: NDArray[np.int64]) -> Any:
        """Return some rows of what is seen."""
        return seen[rows]

    def _chances(self, seen: Any, n: int, S: int) -> Callable[[NDArray[Any], int], NDArray[np.float64]]:
        weights, ahead = self.label_coef.astype(np.float32), np.zeros((n * S, 0), np.float32)

        def chances(labels: NDArray[Any], t: int) -> NDArray[np.float64]:
            nonlocal ahead
            first = t - t % _LABELS_AHEAD
            if t == first:
                ahead = labels[:, :first] @ weights[:first, first : first + _LABELS_AHEAD]
            more = ahead[:, t - first] + labels[:, first:t] @ weights[first:t, t]
            return linked(seen[:, t, None] + more.reshape(n, S), self.link)

        return chances

    def _check(self) -> None:
        if not self.coef.size:
            raise wrong_state("expected coefficients of features and labels")


class SeparateChain(ChainLearner):
    """Learners of any kind.

    Parameters
    ----------
    learners : sequence of Learner
        The t-th, counted from 0, has D + t features.
    """

    learners: Sequence[Learner] = learned(kind=Learner, many=True)

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners = list(learners)
        self.n_labels, self.n_features = len(self.learners), self.learners[0].n_features

    @property
    def has_probabilities(self) -> bool:
        """Whether `link_probabilities` works."""
        return all(learner.has_probabilities for learner in self.learners)

    def seen(self, X: CheckedFeatures) -> CheckedFeatures:
        """Return the features."""
        return X

    def link_scores(self, seen: Any, earlier: NDArray[Any], t: int) -> NDArray[Any]:
        """Return scores of the t-th label given those before it."""
        return self.learners[t].scores(with_labels(seen, earlier))

    def link_probabilities(self, seen: Any, earlier: NDArray[Any], t: int) -> NDArray[np.float64]:
        """Return the probability of the t-th label given those before it."""
        return self.learners[t].probabilities(with_labels(seen, earlier))[:, 1]

    def repeated(self, seen: Any, rows: NDArray[np.int64]) -> Any:
        """Return some rows of the features."""
        return seen[rows]

    def _check(self) -> None:
        check_binary(self.learners, more=1)


def chain_of(learners: Sequence[Learner]) -> ChainLearner:
    """Return learners of the labels of a chain as one, linear ones as one table.

    Parameters
    ----------
    learners : sequence of Learner
        The t-th, counted from 0, learned from D + t features.
    """
    linear = [one for one in learners if isinstance(one, LinearLearner) and one.binarize is None]
    if len(linear) < len(learners) or len({one.link for one in linear}) > 1:
        return SeparateChain(learners)
    D, T = linear[0].n_features, len(linear)
    coef, label_coef, intercept = np.empty((D, T)), np.zeros((T, T)), np.empty(T)
    for t, one in enumerate(linear):
        coef[:, t], label_coef[:t, t], intercept[t] = one.coef[:D, 0], one.coef[D:, 0], one.intercept[0]
    return LinearChain(coef, label_coef, intercept, link=linear[0].link)
