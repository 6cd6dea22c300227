"""A learner for each of many labels; all of them score together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from cofactor.errors import InvalidInputError
from cofactor.labels.class_weights import ClassWeights
from cofactor.labels.features import SeenFeatures, check_in_passes
from cofactor.labels.learners import linear
from cofactor.labels.learners.base import Arrays, CheckedFeatures, Learner, StateReader, put_pattern
from cofactor.labels.learners.fitting import Fitted, learner_from_state, neighbour_index
from cofactor.labels.learners.hinges import Task, fitted_by_kernels, is_plain_machine
from cofactor.labels.learners.linear import LINKS, LinearLearner
from cofactor.labels.learners.neighbours import NeighbourIndex, is_plain
from cofactor.labels.learners.tasks import fitted_in_processes
from cofactor.labels.learners.together import (
    fit_logistics,
    fit_machines,
    is_plain_logistic,
    suits_logistics,
    suits_machines,
)
from cofactor.passes import InPasses

__all__ = [
    "FittedLabels",
    "LabelLearners",
    "LinearLabelLearners",
    "NeighbourLabelLearners",
    "SeparateLabelLearners",
    "check_label_learners",
    "fit_label_learners",
    "learners_of_state",
    "stacked",
    "state_of_learners",
    "takes_passes",
]


class LabelLearners(ABC):
    """A fitted learner for each of L labels; its classes are 0 (off) and 1 (on).

    Attributes
    ----------
    n_labels : int
        Number of labels L.
    n_features : int
        Number of features D.
    """

    n_labels: int
    n_features: int

    @property
    @abstractmethod
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""

    @abstractmethod
    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return scores of shape (n, L); the plain cut is 0."""

    @abstractmethod
    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return P(label is on | features) of shape (n, L)."""

    @abstractmethod
    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the whole state, as JSON values and arrays."""

    @classmethod
    @abstractmethod
    def _from_state(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        """Rebuild learners from what `_to_state` returned, after checking all of it; `models` is not used."""


class LinearLabelLearners(LabelLearners):
    """A linear learner for each label; one product gives all scores.

    Parameters
    ----------
    coef : ndarray of shape (D, L)
        Coefficients, a column for each label.
    intercept : ndarray of shape (L,)
        Intercept of each label.
    link, binarize : optional
        As in `LinearLearner`.

    Examples
    --------
    >>> learners = LinearLabelLearners(np.array([[1.0, -1.0]]), np.array([0.0, 2.0]), link="logistic")
    >>> learners.scores(np.array([[2.0]]))
    array([[2., 0.]])
    """

    def __init__(
        self, coef: NDArray[Any], intercept: NDArray[Any], *, link: str = "none", binarize: float | None = None
    ) -> None:
        self.coef = np.ascontiguousarray(coef)
        self.intercept = intercept
        self.link = link
        self.binarize = binarize
        self.n_features, self.n_labels = coef.shape

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return self.link != "none"

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return X coef + intercept of shape (n, L)."""
        return linear.linear_scores(X, self.coef, self.intercept, self.binarize)

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return P(label is on | features) of shape (n, L)."""
        return linear.linked(self.scores(X), self.link)

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        header = {"n_features": self.n_features, "n_labels": self.n_labels, "sklearn": sklearn.__version__}
        header |= {"link": self.link, "binarize": self.binarize}
        return header, {"coef": self.coef, "intercept": self.intercept}

    @classmethod
    def _from_state(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        state = StateReader(header, arrays)
        n_features, n_labels = state.whole("n_features", low=1), state.whole("n_labels", low=1)
        return cls(
            state.floats("coef", (n_features, n_labels)),
            state.floats("intercept", (n_labels,)),
            link=state.choice("link", [link for link in LINKS if link != "softmax"]),
            binarize=state.optional_number("binarize"),
        )


class NeighbourLabelLearners(LabelLearners):
    """Nearest neighbours for each label; all labels share the training instances and one search.

    Parameters
    ----------
    index : NeighbourIndex
        The N training instances.
    labels : csr_array of shape (N, L)
        Ones where a label of a training instance is on.

    Examples
    --------
    >>> index = NeighbourIndex(np.array([[0.0], [1.0], [3.0]]), n_neighbors=2)
    >>> learners = NeighbourLabelLearners(index, sparse.csr_array([[1, 0], [1, 0], [0, 1]]))
    >>> learners.probabilities(np.array([[0.4], [2.5]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """

    def __init__(self, index: NeighbourIndex, labels: sparse.csr_array) -> None:
        self.index = index
        self.labels = labels
        self.n_labels = labels.shape[1]
        self.n_features = index.rows.shape[1]

    @property
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""
        return True

    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return P(label is on | features) - 1/2 of shape (n, L)."""
        return self.probabilities(X) - 0.5

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return the share of each label in the total weight of the neighbours, of shape (n, L)."""
        places, weights = self.index.nearest(X)
        on = np.zeros((X.shape[0], self.n_labels))
        off = np.zeros_like(on)
        for place, weight in zip(places.T, weights.T[:, :, None], strict=True):
            has = self.labels[place].toarray() > 0
            on += weight * has
            off += weight * ~has
        return on / (on + off)

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        arrays: Arrays = {}
        put_pattern("labels", self.labels, arrays)
        header = {"n_features": self.n_features, "n_labels": self.n_labels, "sklearn": sklearn.__version__}
        return header | self.index.put(arrays), arrays

    @classmethod
    def _from_state(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        state = StateReader(header, arrays)
        index = NeighbourIndex.rebuilt(state, state.whole("n_features", low=1))
        n_labels = state.whole("n_labels", low=1)
        pointers, columns = state.pattern("labels", index.rows.shape[0], n_labels)
        ones = np.ones(len(columns), dtype=np.float32)
        return cls(index, sparse.csr_array((ones, columns, pointers), shape=(len(pointers) - 1, n_labels)))


class SeparateLabelLearners(LabelLearners):
    """Learners that share nothing, one for each label.

    Parameters
    ----------
    learners : sequence of Learner
        The learner of each label.
    """

    def __init__(self, learners: Sequence[Learner]) -> None:
        self.learners = tuple(learners)
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

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        return state_of_learners(self.learners)

    @classmethod
    def _from_state(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        learners = learners_of_state(header, arrays)
        for learner in learners:
            if learner.n_features != learners[0].n_features or learner.classes.tolist() != [0, 1]:
                raise InvalidInputError(
                    f"the state of learners: expected classes 0 and 1 of {learners[0].n_features} features, found "
                    f"{learner.classes.tolist()} of {learner.n_features}"
                )
        return cls(learners)


def state_of_learners(learners: Sequence[Learner]) -> tuple[dict[str, Any], Arrays]:
    """Return the states of all learners; the names of the arrays of the k-th start with k and a dot."""
    headers: list[dict[str, Any]] = []
    arrays: Arrays = {}
    for k, learner in enumerate(learners):
        header, own = learner._to_state()
        headers.append(header)
        arrays |= {f"{k}.{name}": array for name, array in own.items()}
    return {"learners": headers}, arrays


def learners_of_state(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> list[Learner]:
    """Return the learners that `state_of_learners` described, at least one; each is checked."""
    headers = StateReader(header, arrays).member("learners", list)
    if not headers or not all(isinstance(each, dict) for each in headers):
        raise InvalidInputError("the state of learners: expected a state for each label")
    parts: list[dict[str, NDArray[Any]]] = [{} for _ in headers]
    for name, array in arrays.items():
        number, _, own = name.partition(".")
        if number.isascii() and number.isdigit() and int(number) < len(parts):
            parts[int(number)][own] = array
    return [learner_from_state(each, own) for each, own in zip(headers, parts, strict=True)]


class FittedLabels(NamedTuple):
    """Learners of labels, and for how many of them the solver stopped before it had converged."""

    learners: LabelLearners
    n_stopped: int


def takes_passes(estimator: Any) -> bool:
    """Whether `fit_label_learners` fits an estimator to features that are seen in passes.

    Examples
    --------
    >>> from sklearn.svm import SVC, LinearSVC
    >>> takes_passes(LinearSVC(C=2.0)), takes_passes(SVC())
    (True, False)
    """
    return is_plain_machine(estimator) or is_plain_logistic(estimator)


def _together(
    estimator: Any, X: SeenFeatures, Y: sparse.csr_array, weights: NDArray[Any] | None, **told: Any
) -> FittedLabels:
    """Return the learners of all labels, which are fitted together: logistic regressions or machines."""
    logistic = is_plain_logistic(estimator)
    if logistic:
        found = fit_logistics(X, Y, estimator.C, weights, **told)
    else:
        found = fit_machines(estimator, X, Y, weights, **told)
    learners = LinearLabelLearners(found.coef, found.intercept, link="logistic" if logistic else "none")
    return FittedLabels(learners, found.n_unfinished)


def fit_label_learners(
    estimator: Any,
    X: SeenFeatures,
    Y: sparse.csr_array,
    sample_weight: NDArray[Any] | None = None,
    *,
    known: NDArray[np.bool_] | None = None,
    classes: ClassWeights | None = None,
    seeds: Sequence[int] | NDArray[Any],
    n_jobs: int | None = None,
    on_label: Callable[[int], object] = lambda n_done: None,
    stopped: Callable[[], bool] = lambda: False,
) -> FittedLabels:
    """Fit a copy of an estimator to each label; linear ones of many labels are fitted together where that is faster.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn
    X : ndarray or csr_array of shape (n, D), or InPasses
        Checked features; in passes for estimators that `takes_passes` knows.
    Y : csr_array of shape (n, L)
        Ones where a label is on; each is on and off somewhere.
    sample_weight : ndarray of shape (n,), optional
        Weights of the instances.
    known : ndarray of shape (n, L), bool, optional
        Which labels are known: each label is learned from the instances for which it is.
    classes : ClassWeights, optional
        Weights of the instances by label, beside `sample_weight`.
    seeds : sequence of int, of length L
        See `fit_learner`.
    n_jobs : int, optional
        Number of processes, as in joblib.
    on_label : callable, optional
        Called after each label with the number of labels that are fitted.
    stopped : callable, optional
        Says whether the labels that are still to be fitted shall get one iteration each, where the estimator has a
        ``max_iter``. Processes that run already end as they began.

    Returns
    -------
    learners : LabelLearners
    n_stopped : int
        Number of labels whose solver stopped before it had converged.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = sparse.csr_array([[1, 0], [1, 0], [0, 0], [0, 1]])
    >>> learners, n_stopped = fit_label_learners(DecisionTreeClassifier(), X, Y, seeds=[0, 1])
    >>> learners.probabilities(X)
    array([[1., 0.],
           [1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    n_labels = Y.shape[1]
    told: dict[str, Any] = {"n_jobs": n_jobs, "on_label": on_label, "stopped": stopped}
    if isinstance(X, InPasses):
        check_in_passes(X.shape[1])
        return _together(estimator, X, Y, sample_weight, **told)
    plain = sample_weight is None and known is None and classes is None
    if type(estimator) is KNeighborsClassifier and is_plain(estimator) and known is None and classes is None:
        index = neighbour_index(estimator, X)
        on_label(n_labels)
        return FittedLabels(NeighbourLabelLearners(index, Y), 0)
    if (known is None and classes is None and suits_machines(estimator, X, n_labels, sample_weight)) or (
        plain and suits_logistics(estimator, X.shape, n_labels)
    ):
        return _together(estimator, X, Y, sample_weight, **told)
    columns = sparse.csc_array(Y)

    def task(k: int) -> Task:
        target, rows = columns[:, [k]].toarray().ravel(), None if known is None else np.flatnonzero(known[:, k])
        weights = None if classes is None else _with_classes(target, sample_weight, classes, k)
        if rows is None or len(rows) == len(target):
            return Task(target, weights=weights)
        return Task(target[rows], rows, weights=None if weights is None else weights[rows])

    tasks = map(task, range(n_labels))
    results: Iterable[Fitted] | None = None
    if classes is None:
        results = fitted_by_kernels(estimator, X, tasks, sample_weight, stopped)
    if results is None:
        results = fitted_in_processes(estimator, X, tasks, sample_weight, seeds=seeds, n_jobs=n_jobs, stopped=stopped)
    n_stopped = 0

    def learners() -> Iterator[Learner]:
        nonlocal n_stopped
        for k, (learner, converged) in enumerate(results):
            yield learner
            n_stopped += not converged
            on_label(k + 1)

    table = stacked(learners(), n_labels)
    return FittedLabels(table, n_stopped)


def check_label_learners(learners: Any, n_labels: int, n_features: int) -> None:
    """Refuse learners of a model read from a file, if they are not those of so many labels and features."""
    if not isinstance(learners, LabelLearners):
        raise InvalidInputError(f"expected learners of {n_labels} labels, found a {type(learners).__name__}")
    if (learners.n_labels, learners.n_features) != (n_labels, n_features):
        raise InvalidInputError(
            f"expected learners of {n_labels} labels and {n_features} features, found "
            f"{learners.n_labels} and {learners.n_features}"
        )


def _with_classes(
    target: NDArray[Any], weights: NDArray[Any] | None, classes: ClassWeights, k: int
) -> NDArray[np.float64]:
    """Return the weights of the instances for the k-th label."""
    of_label = classes.of(target[:, None], [k]).ravel()
    return np.asarray(of_label if weights is None else of_label * weights)


def stacked(learners: Iterable[Learner], n_labels: int) -> LabelLearners:
    """Return learners of the classes 0 and 1 as one; linear ones of one estimator then score with one product.

    Parameters
    ----------
    learners : iterable of Learner
        Taken one by one, so that linear ones need not all be in memory beside the table of them.
    n_labels : int
        How many there are.

    Examples
    --------
    >>> two = (LinearLearner(np.array([[w]]), np.zeros(1), np.array([0, 1])) for w in (1.0, -1.0))
    >>> stacked(two, 2).scores(np.array([[2.0]]))
    array([[ 2., -2.]])
    """
    others: list[Learner] = []
    table: LinearLabelLearners | None = None
    for k, learner in enumerate(learners):
        if isinstance(learner, LinearLearner):
            table = _room_for(learner, n_labels) if table is None else table
            table.coef[:, k], table.intercept[k] = learner.coef[:, 0], learner.intercept[0]
        else:
            others.append(learner)
    return SeparateLabelLearners(others) if table is None else table


def _room_for(learner: LinearLearner, n_labels: int) -> LinearLabelLearners:
    """Return linear learners of all labels with the settings of this one; their coefficients are not set yet."""
    return LinearLabelLearners(
        np.empty((learner.n_features, n_labels)),
        np.empty(n_labels),
        link=learner.link,
        binarize=learner.binarize,
    )
