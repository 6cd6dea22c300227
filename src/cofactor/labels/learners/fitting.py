"""Fitting estimators of scikit-learn as learners: to one task, to many, to all labels; which a file can hold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from cofactor.chunked import ChunkedTable, is_sparse
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.class_weights import ClassWeights
from cofactor.labels.features import CheckedFeatures, SeenFeatures, check_chunked
from cofactor.labels.learners import linear
from cofactor.labels.learners.base import Fitted, Learner, SeparateLearners, Subproblem, scores_of
from cofactor.labels.learners.linear import GaussianLearner, LinearLearner
from cofactor.labels.learners.machines import (
    fit_linear_svms,
    fit_logistics,
    fitted_by_kernels,
    is_plain_logistic,
    is_plain_machine,
    suits_logistics,
    suits_machines,
)
from cofactor.labels.learners.neighbours import NeighbourIndex, NeighboursLearner, is_plain
from cofactor.labels.learners.trees import FORESTS, TREES, TreesLearner
from cofactor.model.convergence import callers_level, with_unfinished
from cofactor.model.parallel import in_processes
from cofactor.model.progress import Monitor
from cofactor.typing import LABEL_DTYPE


class SklearnLearner(Learner):
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
    >>> learner = SklearnLearner([NearestCentroid().fit(X, [0, 0, 1])], np.array([0, 1]), 1)
    >>> learner.predict(X)
    array([0, 0, 1])
    """

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

    def _to_state(self) -> NoReturn:
        raise InvalidTypeError(
            f"a fitted {self.name} cannot be saved safely: to read it would be to run what the file says",
            advice="take another learner, or keep the model in memory",
        )


#: What makes a learner of a fitted estimator, by its exact class, since a subclass may score in another way.
_ADAPTERS: dict[type[Any], Callable[[Any, NDArray[np.int64]], Learner]] = {
    **dict.fromkeys(linear.CLASSIFIERS, linear.from_classifier),
    **dict.fromkeys(linear.REGRESSORS, linear.from_regressor),
    **dict.fromkeys(linear.NAIVE_BAYES, linear.from_naive_bayes),
    GaussianNB: GaussianLearner.from_estimator,
    **dict.fromkeys((*TREES, *FORESTS), TreesLearner.from_estimator),
}

#: Estimators of scikit-learn that a file can hold, by class name; all others can be fitted, but not saved.
SAVABLE: dict[str, type[BaseEstimator]] = {kind.__name__: kind for kind in (*_ADAPTERS, KNeighborsClassifier)}


def is_savable(estimator: Any) -> bool:
    """Whether a file can hold what this estimator learns.

    Examples
    --------
    >>> from sklearn.svm import SVC, LinearSVC
    >>> is_savable(LinearSVC()), is_savable(SVC()), is_savable(KNeighborsClassifier(metric="precomputed"))
    (True, False, False)
    """
    return type(estimator) in _ADAPTERS or (type(estimator) is KNeighborsClassifier and is_plain(estimator))


def check_savable(estimator: Any) -> None:
    """Refuse an estimator of which a file cannot hold what it learns."""
    if is_savable(estimator):
        return
    name = type(estimator).__name__
    if name in SAVABLE:  # nearest neighbours whose settings are functions
        advice = "give the distance and the weights of neighbours by name, without parameters of the distance"
    else:
        advice = f"take one of {', '.join(SAVABLE)}, or keep the model in memory"
    if isinstance(estimator, Pipeline):
        advice = (
            "put the steps that prepare the features before the model, as in "
            "make_pipeline(StandardScaler(), BinaryRelevance(LinearSVC())), which cofactor.save takes"
        )
    raise InvalidTypeError(
        f"what {name} learned cannot be saved safely: to read it would be to run what the file says",
        argument="estimator",
        found=estimator,
        advice=advice,
    )


def check_estimator(name: str, estimator: Any) -> None:
    """Refuse what is not a classifier or regressor of one label, or has a dictionary of class weights.

    Parameters
    ----------
    name : str
        Of the parameter.
    estimator : object
        None stands for the model's own default.

    Raises
    ------
    InvalidInputError, InvalidTypeError
    """
    if estimator is None:
        return
    if isinstance(estimator, type):
        raise InvalidTypeError(
            f"expected an estimator, not its class: {estimator.__name__}()", argument=name, found=estimator
        )
    if not isinstance(estimator, BaseEstimator) or not (is_classifier(estimator) or is_regressor(estimator)):
        raise InvalidTypeError(
            "expected a classifier or regressor of scikit-learn, such as LinearSVC()",
            argument=name,
            found=estimator,
        )
    if not get_tags(estimator).target_tags.single_output:
        raise InvalidTypeError(
            f"expected an estimator of one label, such as LinearSVC(), but {type(estimator).__name__} takes tables of "
            "labels",
            argument=name,
            found=estimator,
        )
    if isinstance(getattr(estimator, "class_weight", None), dict):
        raise InvalidInputError("class_weight of the estimator must be None or 'balanced': one for all labels")


def takes_sparse(estimator: Any) -> bool:
    """Whether an estimator says that it takes sparse features."""
    return bool(get_tags(estimator).input_tags.sparse)


def fit_learner(
    estimator: Any,
    X: CheckedFeatures,
    y: NDArray[Any],
    sample_weight: NDArray[Any] | None = None,
    seed: int | None = None,
) -> Fitted:
    """Fit a copy of an estimator to classes.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn
        It is not changed. A regressor regresses 1 for a class and 0 for all others.
    X : ndarray or csr_array of shape (n, D)
        Checked features.
    y : ndarray of shape (n,)
        Class of each instance: whole numbers, with at least two different values.
    sample_weight : ndarray of shape (n,), optional
        Weights of the instances, at least 0.
    seed : int, optional
        Replaces each ``random_state`` that is None in the copy, its own and those of its parts.

    Returns
    -------
    learner : Learner
    converged : bool
        False if the estimator gave a ConvergenceWarning, which is not shown; other warnings are.

    Raises
    ------
    InvalidInputError, InvalidTypeError
        If the estimator refuses its parameters or the data, or if a number that it learned is not finite.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> learner, _ = fit_learner(DecisionTreeClassifier(), X, np.array([5, 5, 7, 9]), seed=0)
    >>> learner.predict(X), learner.scores(X).shape
    (array([5, 5, 7, 9]), (4, 3))
    """
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != X.shape[0] or y.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"y has shape {y.shape} and dtype {y.dtype}, expected a class of each of {X.shape[0]} rows"
        )
    found = np.unique(y)
    classes = found.astype(np.int64)
    if not np.array_equal(found, classes):
        raise InvalidInputError("y must hold whole numbers, the classes")
    if len(classes) < 2:
        raise InvalidInputError(f"a learner needs instances of two classes at least, found {len(classes)}")
    if type(estimator) is KNeighborsClassifier and is_plain(estimator):
        index = _neighbour_index(estimator, X)
        votes = sparse.csr_array(y[:, None] == classes, dtype=LABEL_DTYPE)
        return Fitted(NeighboursLearner(index, votes, classes), True)
    known = type(estimator) in _ADAPTERS  # spares the slow `is_regressor`
    if type(estimator) in linear.REGRESSORS or (not known and is_regressor(estimator)):
        targets = (y == classes[1]) if len(classes) == 2 else (y[:, None] == classes)
        return _fit_regressor(estimator, X, targets.astype(np.float64), classes, sample_weight, seed)
    model, converged = _fit(estimator, X, y, sample_weight, seed)
    adapter = _ADAPTERS.get(type(model))
    if adapter is None or getattr(model, "multi_class", "auto") == "multinomial":  # of scikit-learn before 1.8
        return Fitted(SklearnLearner([model], classes, X.shape[1]), converged)
    return Fitted(_finite(adapter(model, classes), model), converged)


def _neighbour_index(estimator: KNeighborsClassifier, X: CheckedFeatures) -> NeighbourIndex:
    """Return the index in which a `KNeighborsClassifier` searches; features are copied."""
    rows = X.copy() if not isinstance(X, np.ndarray) else np.array(X, order="C")
    params = estimator.get_params(deep=False)
    params.pop("metric_params")
    with _refused_by(estimator):
        return NeighbourIndex(rows, **params)


def _fit_regressor(
    estimator: Any,
    X: CheckedFeatures,
    targets: NDArray[np.float64],
    classes: NDArray[np.int64],
    sample_weight: NDArray[Any] | None,
    seed: int | None,
) -> Fitted:
    """Fit a regressor to 0 and 1; to a column for each class if there are more than two."""
    if type(estimator) in linear.REGRESSORS:
        model, converged = _fit(estimator, X, targets, sample_weight, seed)
        return Fitted(_finite(linear.from_regressor(model, classes), model), converged)
    columns = [targets] if targets.ndim == 1 else list(targets.T)
    models = [_fit(estimator, X, column, sample_weight, seed) for column in columns]
    learner = SklearnLearner([model for model, _ in models], classes, X.shape[1])
    return Fitted(learner, all(converged for _, converged in models))


def _fit(
    estimator: Any, X: CheckedFeatures, y: NDArray[Any], sample_weight: NDArray[Any] | None, seed: int | None
) -> tuple[Any, bool]:
    """Return a fitted copy of an estimator, and whether it converged."""
    model = clone(estimator)
    if seed is not None:
        model.set_params(**{name: seed for name, value in model.get_params().items() if _is_open_seed(name, value)})
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with _refused_by(estimator, X):
        _, unfinished = with_unfinished(partial(model.fit, X, y, **weights))
    return model, not unfinished


def _is_open_seed(name: str, value: Any) -> bool:
    return value is None and (name == "random_state" or name.endswith("__random_state"))


@contextmanager
def _refused_by(estimator: Any, X: Any = None) -> Iterator[None]:
    """Turn errors of an estimator into errors of this package."""
    try:
        yield
    except InvalidInputError:
        raise
    except (ValueError, TypeError) as error:
        if isinstance(error, TypeError) and is_sparse(X) and not takes_sparse(estimator):
            advice = "give a dense table, or take an estimator such as LinearSVC(), MultinomialNB() or a tree"
            problem = f"features are sparse, which {type(estimator).__name__} does not take"
            raise InvalidTypeError(problem, advice=advice) from error
        refusal = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
        raise refusal(f"{type(estimator).__name__} refuses: {error}") from error


def _finite(learner: Learner, model: Any) -> Learner:
    """Return a learner, unless a number in it is not finite."""
    _, arrays = learner._to_state()
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise InvalidInputError(
            f"{type(model).__name__} learned numbers that are not finite",
            advice="scale the features, or raise its smoothing or its penalty",
        )
    return learner


def fit_tasks(
    estimator: Any,
    X: CheckedFeatures,
    tasks: Sequence[Subproblem],
    sample_weight: NDArray[Any] | None = None,
    *,
    seeds: Sequence[int] | NDArray[Any],
    n_jobs: int | None = None,
    monitor: Monitor | None = None,
    what: str = "labels",
    done: int = 0,
    most: int | None = None,
) -> list[Learner]:
    """Fit a copy of an estimator to each task.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn
    X : ndarray or csr_array of shape (n, D)
        Checked features, of which each task takes its rows and columns.
    tasks : sequence of Subproblem
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows of X.
    seeds : sequence of int
        One for each task, see `fit_learner`.
    n_jobs : int, optional
        Number of processes, as in joblib. Tasks of the kernels share its threads, and use no processes.
    monitor : Monitor, optional
        Hears of each task. Once it is stopped, the tasks that are still to be fitted get one iteration each.
    what : str, default="labels"
        What progress and warnings call the tasks.
    done, most : int, optional
        How many tasks are fitted already, and how many there are in the end; by default none, and these.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped before it had converged; one warning, with the number of tasks.

    Notes
    -----
    ``LinearSVC`` is fitted by kernels of this package where they have its objective, see `fitted_by_kernels`.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> from sklearn.svm import LinearSVC
    >>> tasks = [Subproblem(np.array([0, 0, 1, 1])), Subproblem(np.array([2, 0, 1]), rows=np.array([0, 1, 3]))]
    >>> learners = fit_tasks(LinearSVC(C=10), X, tasks, seeds=[0, 0])
    >>> learners[0].predict(X), learners[1].classes
    (array([0, 0, 1, 1]), array([0, 1, 2]))
    """
    watched = _TaskCounter(monitor or Monitor(None, False), what, len(tasks), done, most)
    found = fit_each(estimator, X, tasks, sample_weight, seeds=seeds, n_jobs=n_jobs, stopped=watched.stopped)
    learners = list(watched.each(found))
    watched.warn(estimator)
    return learners


class _TaskCounter:
    """Counts tasks for a monitor, and those whose solver stopped early."""

    def __init__(self, monitor: Monitor, what: str, n_tasks: int, done: int = 0, most: int | None = None) -> None:
        self.monitor, self.what, self.n_tasks, self.n_stopped = monitor, what, n_tasks, 0
        self.done, self.most = done, n_tasks if most is None else most

    def stopped(self) -> bool:
        return self.monitor.stopped

    def note(self, n_done: int) -> None:
        n_done += self.done
        self.monitor.note(self.what, n_done, self.most, float(self.most - n_done))

    def each(self, found: Iterable[Fitted]) -> Iterator[Learner]:
        for k, (learner, converged) in enumerate(found):
            yield learner
            self.n_stopped += not converged
            self.note(k + 1)

    def warn(self, estimator: Any) -> None:
        if not self.monitor.stopped:
            warn_of_stopped(estimator, self.n_stopped, self.n_tasks, self.what)


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
    monitor: Monitor | None = None,
    what: str = "labels",
) -> Learner:
    """Fit a copy of an estimator to each label; linear ones of many labels are fitted together where that is faster.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn
    X : ndarray or csr_array of shape (n, D), or ChunkedTable
        Checked features; chunked for estimators that `takes_chunks` knows.
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
    n_jobs, monitor, what
        See `fit_tasks`. Processes that run already when the monitor is stopped end as they began.

    Returns
    -------
    Learner
        Of labels.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped before it had converged; one warning, with the number of labels.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = sparse.csr_array([[1, 0], [1, 0], [0, 0], [0, 1]])
    >>> fit_label_learners(DecisionTreeClassifier(), X, Y, seeds=[0, 1]).probabilities(X)
    array([[1., 0.],
           [1., 0.],
           [0., 0.],
           [0., 1.]])
    """
    n_labels = Y.shape[1]
    watched = _TaskCounter(monitor or Monitor(None, False), what, n_labels)
    whole = known is None and classes is None
    if isinstance(X, ChunkedTable):
        check_chunked(X.shape[1])
        learner = _fitted_together(estimator, X, Y, sample_weight, n_jobs, watched)
    elif whole and type(estimator) is KNeighborsClassifier and is_plain(estimator):
        learner = NeighboursLearner(_neighbour_index(estimator, X), Y)
        watched.note(n_labels)
    elif whole and (
        suits_machines(estimator, X, n_labels, sample_weight)
        or (sample_weight is None and suits_logistics(estimator, X.shape, n_labels))
    ):
        learner = _fitted_together(estimator, X, Y, sample_weight, n_jobs, watched)
    else:
        tasks = _tasks_of_labels(Y, sample_weight, known, classes)
        found = fit_each(
            estimator,
            X,
            tasks,
            sample_weight,
            seeds=seeds,
            n_jobs=n_jobs,
            stopped=watched.stopped,
            by_kernels=classes is None,
        )
        learner = stack_learners(watched.each(found), n_labels)
    watched.warn(estimator)
    return learner


def _fitted_together(
    estimator: Any,
    X: SeenFeatures,
    Y: sparse.csr_array,
    weights: NDArray[Any] | None,
    n_jobs: int | None,
    watched: _TaskCounter,
) -> Learner:
    """Return the learner of all labels, which are fitted together: logistic regressions or machines."""
    told: dict[str, Any] = {"n_jobs": n_jobs, "on_label": watched.note, "stopped": watched.stopped}
    logistic = is_plain_logistic(estimator)
    if logistic:
        found = fit_logistics(X, Y, estimator.C, weights, **told)
    else:
        found = fit_linear_svms(estimator, X, Y, weights, **told)
    watched.n_stopped = found.n_unfinished
    return LinearLearner(found.coef, found.intercept, link="logistic" if logistic else "none")


def _tasks_of_labels(
    Y: sparse.csr_array,
    sample_weight: NDArray[Any] | None,
    known: NDArray[np.bool_] | None,
    classes: ClassWeights | None,
) -> Iterator[Subproblem]:
    """Yield the task of each label, see `fit_label_learners`."""
    columns = sparse.csc_array(Y)
    for k in range(Y.shape[1]):
        target, rows = columns[:, [k]].toarray().ravel(), None if known is None else np.flatnonzero(known[:, k])
        weights = None
        if classes is not None:
            weights = classes.of(target[:, None], [k]).ravel()
            weights = weights if sample_weight is None else weights * sample_weight
        if rows is None or len(rows) == len(target):
            yield Subproblem(target, weights=weights)
        else:
            yield Subproblem(target[rows], rows, weights=None if weights is None else weights[rows])


def fit_each(
    estimator: Any,
    X: CheckedFeatures,
    tasks: Iterable[Subproblem],
    weights: NDArray[Any] | None = None,
    *,
    seeds: Sequence[int] | NDArray[Any],
    n_jobs: int | None = None,
    stopped: Callable[[], bool] = lambda: False,
    by_kernels: bool = True,
) -> Iterable[Fitted]:
    """Return the learner of each task: by kernels of this package, or a copy of the estimator which scikit-learn fits.

    Parameters
    ----------
    estimator, X, tasks, weights, seeds, n_jobs
        See `fit_tasks`.
    stopped : callable, optional
        Says whether the tasks that are still to be fitted shall get one iteration each, where the estimator has a
        ``max_iter``.
    by_kernels : bool, default=True
        Whether kernels may fit; not where tasks have weights of their own.
    """
    found = fitted_by_kernels(estimator, X, tasks, weights, stopped) if by_kernels else None
    if found is not None:
        return found
    short = _of_one_step(estimator)
    parts = (
        (short if stopped() else estimator, *_part(X, task, weights), int(seed))
        for task, seed in zip(tasks, seeds, strict=True)
    )
    return in_processes(fit_learner, parts, n_jobs)


def warn_of_stopped(estimator: Any, n_stopped: int, n_tasks: int, what: str = "labels") -> None:
    """Warn that the solver stopped early for some tasks, if it did.

    Warns
    -----
    ConvergenceWarning
        One warning, with their number.
    """
    if n_stopped:
        warnings.warn(
            f"the solver of {type(estimator).__name__} stopped early for {n_stopped} of {n_tasks} {what}: raise its "
            "max_iter, lower its C, or scale the features",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )


def _of_one_step(estimator: Any) -> Any:
    """Return a copy of an estimator with one iteration, or itself if it has none."""
    return clone(estimator).set_params(max_iter=1) if "max_iter" in estimator.get_params(deep=False) else estimator


def _part(
    X: CheckedFeatures, task: Subproblem, weights: NDArray[Any] | None
) -> tuple[CheckedFeatures, NDArray[Any], NDArray[Any] | None]:
    """Return the features, classes and weights from which a task learns."""
    part = X if task.n_features in (None, X.shape[1]) else X[:, : task.n_features]
    part = part if task.rows is None else part[task.rows]
    if isinstance(part, np.ndarray):
        part = np.ascontiguousarray(part)
    if task.weights is not None:
        return part, task.target, task.weights
    return part, task.target, weights if weights is None or task.rows is None else weights[task.rows]


def takes_chunks(estimator: Any) -> bool:
    """Whether `fit_label_learners` fits an estimator to chunked features.

    Examples
    --------
    >>> from sklearn.svm import SVC, LinearSVC
    >>> takes_chunks(LinearSVC(C=2.0)), takes_chunks(SVC())
    (True, False)
    """
    return is_plain_machine(estimator) or is_plain_logistic(estimator)


def stack_learners(learners: Iterable[Learner], n_labels: int) -> Learner:
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
    >>> stack_learners(two, 2).scores(np.array([[2.0]]))
    array([[ 2., -2.]])
    """
    others: list[Learner] = []
    table: LinearLearner | None = None
    for k, learner in enumerate(learners):
        if isinstance(learner, LinearLearner):
            if table is None:
                room = np.empty((learner.n_features, n_labels)), np.empty(n_labels)
                table = LinearLearner(*room, link=learner.link, binarize=learner.binarize)
            table.coef[:, k], table.intercept[k] = learner.coef[:, 0], learner.intercept[0]
        else:
            others.append(learner)
    return SeparateLearners(others) if table is None else table
