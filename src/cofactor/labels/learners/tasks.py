"""Fitting learners to many tasks which share features: pairs of labels, label sets, links of a chain."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cofactor.labels.learners.base import CheckedFeatures, Learner
from cofactor.labels.learners.fitting import Fitted, fit_learner
from cofactor.labels.learners.hinges import Task, fitted_by_kernels
from cofactor.model.convergence import callers_level
from cofactor.model.parallel import in_processes

__all__ = ["FittedTasks", "Task", "fit_tasks", "fitted_in_processes", "of_one_step", "warn_of_stopped"]


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
    ``LinearSVC`` is fitted by kernels of this package where they have its objective, see `fitted_by_kernels`.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> from sklearn.svm import LinearSVC
    >>> tasks = [Task(np.array([0, 0, 1, 1])), Task(np.array([2, 0, 1]), rows=np.array([0, 1, 3]))]
    >>> learners, n_stopped = fit_tasks(LinearSVC(C=10), X, tasks, seeds=[0, 0])
    >>> learners[0].predict(X), learners[1].classes
    (array([0, 0, 1, 1]), array([0, 1, 2]))
    """
    results: Iterable[Fitted] | None = fitted_by_kernels(estimator, X, tasks, sample_weight, stopped)
    if results is None:
        results = fitted_in_processes(estimator, X, tasks, sample_weight, seeds=seeds, n_jobs=n_jobs, stopped=stopped)
    learners, n_stopped = [], 0
    for learner, converged in results:
        learners.append(learner)
        n_stopped += not converged
        on_task(len(learners))
    return FittedTasks(learners, n_stopped)


def fitted_in_processes(
    estimator: Any,
    X: CheckedFeatures,
    tasks: Iterable[Task],
    weights: NDArray[Any] | None,
    *,
    seeds: Sequence[int] | NDArray[Any],
    n_jobs: int | None,
    stopped: Callable[[], bool],
) -> Iterable[Fitted]:
    """Return the learner of each task, a copy of the estimator which scikit-learn fits; see `fit_tasks`."""
    short = of_one_step(estimator)
    parts = (
        (short if stopped() else estimator, *_part(X, task, weights), int(seed))
        for task, seed in zip(tasks, seeds, strict=True)
    )
    return in_processes(_fit_task, parts, n_jobs)


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
    if task.weights is not None:
        return part, task.target, task.weights
    return part, task.target, weights if weights is None or task.rows is None else weights[task.rows]


def _fit_task(
    estimator: Any, X: CheckedFeatures, target: NDArray[Any], sample_weight: NDArray[Any] | None, seed: int
) -> Fitted:
    return fit_learner(estimator, X, target, sample_weight, seed=seed)
