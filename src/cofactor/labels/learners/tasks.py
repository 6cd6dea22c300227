"""Fitting learners to many tasks which share features: pairs of labels, label sets, links of a chain."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import gen_batches

from cofactor.kernels.squared_hinge import fit_squared_hinge
from cofactor.kernels.threads import parallel_for
from cofactor.labels.learners.base import CheckedFeatures, Learner
from cofactor.labels.learners.fitting import Fitted, fit_learner
from cofactor.labels.learners.linear import LinearLearner
from cofactor.model.callers import callers_level
from cofactor.model.parallel import in_processes

__all__ = ["FittedTasks", "Task", "fit_tasks", "of_one_step", "warn_of_stopped"]

#: Most features, and most numbers of a dense table, for which linear support vector machines are fitted by Newton's
#: method. Its steps solve equations of that many unknowns; liblinear, which has none to solve, is faster beyond.
_MOST_FEATURES = 400
_MOST_CELLS = 1 << 24
_MAX_STEPS = 100
_AT_A_TIME = 64  # tasks between two reports of progress


class Task(NamedTuple):
    """Something to learn.

    Parameters
    ----------
    target : ndarray of shape (m,)
        Class of each row, whole numbers; at least two different ones.
    rows : ndarray of shape (m,), int64, optional
        The rows to learn from; by default all.
    n_features : int, optional
        How many of the features count, the first ones; by default all.
    """

    target: NDArray[Any]
    rows: NDArray[np.int64] | None = None
    n_features: int | None = None


class FittedTasks(NamedTuple):
    """The learner of each task, and for how many the solver stopped before it had converged."""

    learners: list[Learner]
    n_stopped: int


def fit_tasks(
    estimator: Any,
    X: CheckedFeatures,
    tasks: Sequence[Task],
    sample_weight: NDArray[Any] | None = None,
    *,
    seeds: Sequence[int] | NDArray[Any],
    n_jobs: int | None = None,
    on_task: Callable[[int], object] = lambda n_done: None,
    stopped: Callable[[], bool] = lambda: False,
) -> FittedTasks:
    """Fit a copy of an estimator to each task.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn
    X : ndarray or csr_array of shape (n, D)
        Checked features, of which each task takes its rows and columns.
    tasks : sequence of Task
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows of X.
    seeds : sequence of int
        One for each task, see `fit_learner`.
    n_jobs : int, optional
        Number of processes, as in joblib. Tasks of the kernels share its threads, and use no processes.
    on_task : callable, optional
        Called after each task with the number of tasks that are fitted.
    stopped : callable, optional
        Says whether the tasks that are still to be fitted shall get one iteration each.

    Returns
    -------
    learners : list of Learner
    n_stopped : int
        Number of tasks whose solver stopped before it had converged.

    Notes
    -----
    ``LinearSVC`` with the squared hinge and the penalty "l2" has one minimum. Where features are few, a kernel of this
    package finds it, exactly and about ten times as fast as liblinear, which stops near it (``tol``).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> tasks = [Task(np.array([0, 0, 1, 1])), Task(np.array([2, 0, 1]), rows=np.array([0, 1, 3]))]
    >>> learners, n_stopped = fit_tasks(LinearSVC(C=10), X, tasks, seeds=[0, 0])
    >>> learners[0].predict(X), learners[1].classes
    (array([0, 0, 1, 1]), array([0, 1, 2]))
    """
    dense = _dense_for_newton(estimator, X)
    if dense is None:
        results: Iterable[Fitted] = in_processes(
            _fit_task,
            (
                (estimator if not stopped() else of_one_step(estimator), *_part(X, task, sample_weight), int(seed))
                for task, seed in zip(tasks, seeds, strict=True)
            ),
            n_jobs,
        )
    else:
        results = _by_newton(estimator, dense, tasks, sample_weight, stopped)
    learners, n_stopped = [], 0
    for learner, converged in results:
        learners.append(learner)
        n_stopped += not converged
        on_task(len(learners))
    return FittedTasks(learners, n_stopped)


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


def of_one_step(estimator: Any) -> Any:
    """Return a copy of an estimator with one iteration, or itself if it has none."""
    return clone(estimator).set_params(max_iter=1) if "max_iter" in estimator.get_params(deep=False) else estimator


def _part(
    X: CheckedFeatures, task: Task, weights: NDArray[Any] | None
) -> tuple[CheckedFeatures, NDArray[Any], NDArray[Any] | None]:
    """Return the features, classes and weights from which a task learns."""
    part = X if task.n_features in (None, X.shape[1]) else X[:, : task.n_features]
    part = part if task.rows is None else part[task.rows]
    if isinstance(part, np.ndarray):
        part = np.ascontiguousarray(part)
    return part, task.target, weights if weights is None or task.rows is None else weights[task.rows]


def _fit_task(
    estimator: Any, X: CheckedFeatures, target: NDArray[Any], sample_weight: NDArray[Any] | None, seed: int
) -> Fitted:
    return fit_learner(estimator, X, target, sample_weight, seed=seed)


# ---------------------------------------------------------------- support vector machines of few features


def _dense_for_newton(estimator: Any, X: CheckedFeatures) -> NDArray[np.float64] | None:
    """Return the features as a dense table, or None if this estimator is not fitted by Newton's method to them."""
    n, D = X.shape
    if type(estimator) is not LinearSVC or D > _MOST_FEATURES or n * D > _MOST_CELLS:
        return None
    plain = LinearSVC(C=estimator.C)
    for name in ("loss", "penalty", "fit_intercept", "intercept_scaling", "class_weight", "multi_class"):
        if getattr(estimator, name) != getattr(plain, name):
            return None
    if not isinstance(estimator.C, Real) or not 0 < float(estimator.C) < np.inf:
        return None  # scikit-learn refuses it
    return np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def _by_newton(
    estimator: LinearSVC,
    X: NDArray[np.float64],
    tasks: Sequence[Task],
    weights: NDArray[Any] | None,
    stopped: Callable[[], bool],
) -> Iterator[Fitted]:
    """Yield the learner of each task, fitted by the kernel in all threads."""
    for some in gen_batches(len(tasks), _AT_A_TIME):
        fits = [_Newton(X, task, float(estimator.C), weights) for task in tasks[some]]
        binary = [(fit, column) for fit in fits for column in range(len(fit.coef))]
        n_steps = 1 if stopped() else _MAX_STEPS
        parallel_for(partial(_step_through, binary, n_steps), len(binary))
        for fit in fits:
            coef = fit.coef[:, :-1].T
            yield Fitted(LinearLearner(coef, fit.coef[:, -1].copy(), fit.classes), bool(fit.reached.all()))


def _step_through(binary: Sequence[tuple[_Newton, int]], n_steps: int, k: int) -> None:
    fit, column = binary[k]
    fit.run(column, n_steps)


class _Newton:
    """Newton's method for each class of a task against its other classes; of two classes for the second."""

    def __init__(self, X: NDArray[np.float64], task: Task, cost: float, weights: NDArray[Any] | None) -> None:
        rows = np.arange(len(X)) if task.rows is None else np.asarray(task.rows, dtype=np.int64)
        self.classes, place = np.unique(task.target, return_inverse=True)
        self.classes = self.classes.astype(np.int64)
        self.X, self.rows, self.place = X, rows, place
        self.costs = np.full(len(rows), cost)
        if weights is not None:
            kept = np.flatnonzero(weights[rows] > 0)
            self.rows, self.place, self.costs = rows[kept], place[kept], cost * weights[rows[kept]].astype(np.float64)
        width = X.shape[1] if task.n_features is None else task.n_features
        n_columns = 1 if len(self.classes) == 2 else len(self.classes)
        self.coef = np.zeros((n_columns, width + 1))
        self.reached = np.zeros(n_columns, dtype=bool)

    def run(self, column: int, n_steps: int) -> None:
        """Fit one of the columns."""
        z = np.where(self.place == column + (len(self.classes) == 2), 1.0, -1.0)
        coef = self.coef[column]
        seen = np.ones((len(self.rows), len(coef)))
        seen[:, :-1] = self.X[self.rows, : len(coef) - 1]
        self.reached[column] = fit_squared_hinge(seen, z, self.costs, n_steps, coef)
