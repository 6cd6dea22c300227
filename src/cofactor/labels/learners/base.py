"""What a learner is, whatever its backbone; and learners of labels that share nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import sklearn
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.features import CheckedFeatures
from cofactor.labels.learners import LEARNERS
from cofactor.model.estimator import Estimator, learned
from cofactor.model.state import unpacked

#: The arrays of a state, by name.
Arrays: TypeAlias = dict[str, NDArray[Any]]


class Stored(Estimator):
    """A part of a learner, or a whole one, that a file holds as it is declared."""

    def _check(self) -> None:
        """Refuse what was read from a file, each array as it is declared, if the parts do not fit each other."""

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the whole state: JSON values with the version of scikit-learn, and arrays."""
        arrays: Arrays = {}
        return self._pack_learned(arrays) | {"sklearn": sklearn.__version__}, arrays

    @classmethod
    def _from_state(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        """Rebuild it from what `_to_state` returned, perhaps read from a forged file, or refuse it.

        What it computes is what the original does, to the last bit.
        """
        read = cls.__new__(cls)
        for name, field in cls._learned.items():
            setattr(read, name, field.from_plain(unpacked(header[name], arrays, LEARNERS)))
        read._check_declared({})
        read._check()
        return cls(**{name: getattr(read, name) for name in cls._learned})


class Learner(Stored, ABC):
    """A fitted classifier, or a fitted regressor of the codes 0 and 1, which a label model holds; it does not change.

    Attributes
    ----------
    classes : ndarray of shape (K,), int64, or None
        The classes of which an instance has one, at least two, increasing. None for a learner of labels, each of which
        is on (1) or off (0), whatever the others are.
    n_features : int
        Number of features D.
    n_labels : int
        Number of labels L; of classes it is 1.
    """

    classes: Any = None
    n_features: int
    n_labels: int = 1

    # ---------------------------------------------------------------- what a subclass provides

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return True

    @abstractmethod
    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return scores: the higher, the more likely the class or label.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Checked features.

        Returns
        -------
        ndarray of shape (n,), (n, K) or (n, L)
            Of two classes one score, above 0 for the second class. Of more classes one score each: the highest score of
            a row decides, and only differences within a row have a meaning. Of labels one score each, with the plain
            cut 0.
        """

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return P(class | features) of shape (n, K), or P(label is on | features) of shape (n, L).

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Checked features.

        Raises
        ------
        InvalidTypeError
            If the learner has no probabilities (`has_probabilities`).
        """
        raise InvalidTypeError(f"{self.name} gives scores, but no probabilities")

    def select(self, kept: Mapping[str, NDArray[np.int64]]) -> Learner:
        """Return the learner of some of its labels, where these have numbers or learners of their own.

        Parameters
        ----------
        kept : mapping from str to ndarray
            Under "labels" which of its labels.

        Raises
        ------
        InvalidTypeError
            If it learned all labels together.
        """
        raise InvalidTypeError(f"{self.name} learned all labels together")

    @property
    def name(self) -> str:
        """Name of the learner in messages."""
        return f"a {type(self).__name__}"

    def _check(self) -> None:
        if self.classes is not None and (len(self.classes) < 2 or (np.diff(self.classes) <= 0).any()):
            raise wrong_state("expected at least two increasing classes")

    # ---------------------------------------------------------------- the rest

    def predict(self, X: CheckedFeatures) -> NDArray[np.int64]:
        """Return the class of each instance: with the highest score, or of two classes the second for scores above 0.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Checked features.

        Returns
        -------
        ndarray of shape (n,), int64
        """
        scores = self.scores(X)
        best = np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return self.classes[best]

    def _of_first(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return a table of scores in the shape that `scores` has: its only column where there are two classes."""
        return table[:, 0] if self.classes is not None and table.shape[1] == 1 else table


class SeparateLearners(Learner):
    """Learners of labels that share nothing, one for each label.

    Parameters
    ----------
    learners : sequence of Learner
        The learner of each label, of the classes 0 and 1.
    """

    learners: Sequence[Learner] = learned(kind=Learner, many=True)

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners = list(learners)
        self.n_labels = len(self.learners)
        self.n_features = self.learners[0].n_features

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return all(learner.has_probabilities for learner in self.learners)

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return the scores of all learners, of shape (n, L)."""
        return np.column_stack([learner.scores(X) for learner in self.learners])

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return P(label is on | features) of shape (n, L)."""
        return np.column_stack([learner.probabilities(X)[:, 1] for learner in self.learners])

    def select(self, kept: Mapping[str, NDArray[np.int64]]) -> SeparateLearners:
        """Return the learners of some of the labels."""
        return SeparateLearners([self.learners[k] for k in kept["labels"]])

    def _check(self) -> None:
        check_binary(self.learners)


def check_binary(learners: Sequence[Learner], more: int = 0) -> None:
    """Refuse learners read from a file unless each is of the classes 0 and 1, with `more` features than the one before.

    Examples
    --------
    >>> check_binary([])
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: the state of a learner: expected learners of the classes 0 and 1
    """
    for t, learner in enumerate(learners):
        n_features = learners[0].n_features + more * t
        if learner.classes is None or learner.classes.tolist() != [0, 1] or learner.n_features != n_features:
            raise wrong_state(f"expected learners of the classes 0 and 1, here of {n_features} features")
    if not learners:
        raise wrong_state("expected learners of the classes 0 and 1")


class Subproblem(NamedTuple):
    """Something to learn.

    Parameters
    ----------
    target : ndarray of shape (m,)
        Class of each row, whole numbers; at least two different ones.
    rows : ndarray of shape (m,), int64, optional
        The rows to learn from; by default all.
    n_features : int, optional
        How many of the features count, the first ones; by default all.
    weights : ndarray of shape (m,), optional
        Of these rows, in place of those of X; kernels do not take them.
    """

    target: NDArray[Any]
    rows: NDArray[np.int64] | None = None
    n_features: int | None = None
    weights: NDArray[Any] | None = None


class Fitted(NamedTuple):
    """A learner, and whether its solver converged."""

    learner: Learner
    converged: bool


def check_label_learners(learners: Learner, n_labels: int, n_features: int) -> None:
    """Refuse what a model read from a file if it is not a learner of so many labels and features."""
    if learners.classes is not None or (learners.n_labels, learners.n_features) != (n_labels, n_features):
        raise InvalidInputError(
            f"expected learners of {n_labels} labels and {n_features} features, found "
            f"{learners.n_labels} and {learners.n_features}"
        )


def give_probabilities(learners: Any, estimator: Any) -> bool:
    """Return whether learners have probabilities; before a fit, where there are none, whether their estimator has."""
    if learners is None:
        return hasattr(estimator, "predict_proba")
    several = learners if isinstance(learners, list) else [learners]
    return all(one.has_probabilities for one in several)


def scores_of(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores for a learner of classes that has only probabilities p: p - 1/2; of two, of the second one only.

    Log-odds would be infinite for the probabilities 0 and 1, which trees and nearest neighbours often give.

    Examples
    --------
    >>> scores_of(np.array([[0.25, 0.75], [1.0, 0.0]]))
    array([ 0.25, -0.5 ])
    """
    return (probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities) - 0.5


def wrong_state(problem: str) -> InvalidInputError:
    """Return the error for a state of a learner which cannot be right."""
    return InvalidInputError(f"the state of a learner: {problem}")
