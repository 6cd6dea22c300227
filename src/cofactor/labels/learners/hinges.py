"""Linear support vector machines with the squared hinge for many tasks on the same features, by kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from cofactor.kernels.lanes import LANES
from cofactor.kernels.squared_hinge import fit_hinge_block, fit_squared_hinge
from cofactor.kernels.threads import parallel_for
from cofactor.labels.features import as_dense, is_sparse, squared_lengths
from cofactor.labels.learners.base import CheckedFeatures
from cofactor.labels.learners.fitting import Fitted
from cofactor.labels.learners.linear import LinearLearner
from cofactor.passes import batches

__all__ = ["LEAST_TOL", "STEEPEST", "Task", "fitted_by_kernels", "is_plain_machine"]

#: Most features for Newton's method, whose steps solve equations of that many unknowns: of sparse tables, and of dense
#: ones, which coordinate descent does not take. And most numbers of a table, which it sees dense.
_MOST_FEATURES = 400
_MOST_DENSE_FEATURES = 900
_MOST_CELLS = 1 << 24
#: Squared features per number of a sparse row beyond which coordinate descent is faster: a step of Newton's method
#: takes time in proportion to the one, a pass to the other (60 to 390 features of delicious, C = 0.05 and 0.5).
_SPARSE = 2000
_MAX_STEPS = 100
_AT_A_TIME = 128  # tasks between two reports of progress
#: Largest difference of derivatives in the minimum, in units of ``tol``, where costs and rows are small.
_LOOSER = 100.0
#: Largest product of cost and squared length of a row (with the 1 of the intercept): beyond, steps of 32 bits are not
#: exact enough, and liblinear's are fewer.
STEEPEST = 100.0
LEAST_TOL = 1e-6


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
    weights : ndarray of shape (m,), optional
        Of these rows, in place of those of X; kernels do not take them.
    """

    target: NDArray[Any]
    rows: NDArray[np.int64] | None = None
    n_features: int | None = None
    weights: NDArray[Any] | None = None


def fitted_by_kernels(
    estimator: Any,
    X: CheckedFeatures,
    tasks: Iterable[Task],
    weights: NDArray[Any] | None,
    stopped: Callable[[], bool],
) -> Iterator[Fitted] | None:
    """Return the learner of each task, or None if this estimator is not fitted by kernels to these features.

    ``LinearSVC`` with the squared hinge and the penalty "l2" has one minimum, near which liblinear ends (``tol``). Of
    few features Newton's method finds it exactly; on sparse rows coordinate descent comes as near as liblinear, and is
    taken where features are many or rows nearly empty.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn
    X : ndarray or csr_array of shape (n, D)
    tasks : iterable of Task
    weights : ndarray of shape (n,), optional
        Of the rows of X.
    stopped : callable
        Says whether the tasks that are still to be fitted shall get one iteration each.
    """
    n, D = X.shape
    if not is_plain_machine(estimator):
        return None
    cost = float(estimator.C)
    costs = np.full(n, cost) if weights is None else cost * np.asarray(weights, dtype=np.float64)
    steepness = costs * (1 + squared_lengths(X)) if is_sparse(X) else np.array([np.inf])  # with the 1 of the intercept
    for_blocks = estimator.tol >= LEAST_TOL and bool(steepness.max(initial=0.0) <= STEEPEST)
    most = _MOST_FEATURES if is_sparse(X) else _MOST_DENSE_FEATURES
    few = most >= D and n * D <= _MOST_CELLS
    if is_sparse(X) and for_blocks and not (few and D * D * n <= _SPARSE * X.nnz):
        table = _Table(X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data.astype(np.float32), D)
        tol = _LOOSER * float(estimator.tol) / (1 + float(np.median(steepness)))
        return _fitted(tasks, costs, D, partial(_by_blocks, table, costs, tol, int(estimator.max_iter), stopped))
    if not few:
        return None
    dense = np.ascontiguousarray(as_dense(X))
    return _fitted(tasks, costs, D, partial(_by_newton, dense, stopped))


class _Table(NamedTuple):
    """A CSR matrix as the kernel wants it."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    data: NDArray[np.float32]
    n_columns: int


class _Machines:
    """A machine for each class of a task against its other classes; of two classes for the second."""

    def __init__(self, task: Task, costs: NDArray[np.float64], n_features: int) -> None:
        rows = np.arange(len(costs)) if task.rows is None else np.asarray(task.rows, dtype=np.int64)
        self.classes, place = np.unique(task.target, return_inverse=True)
        self.classes = self.classes.astype(np.int64)
        kept = np.flatnonzero(costs[rows] > 0)
        self.rows, self.place, self.costs = rows[kept], place[kept], costs[rows[kept]]
        self.n_features = n_features if task.n_features is None else task.n_features
        n_machines = 1 if len(self.classes) == 2 else len(self.classes)
        self.coef = np.zeros((n_machines, self.n_features + 1))
        self.reached = np.zeros(n_machines, dtype=bool)

    def signs(self, k: int) -> NDArray[np.float64]:
        """Return 1 for the rows of the class of a machine, -1 for others."""
        return np.where(self.place == k + (len(self.classes) == 2), 1.0, -1.0)


def is_plain_machine(estimator: Any) -> bool:
    """Return whether the objective is that of the kernels."""
    if type(estimator) is not LinearSVC:
        return False
    plain = LinearSVC()
    for name in ("loss", "penalty", "fit_intercept", "intercept_scaling", "class_weight", "multi_class"):
        if getattr(estimator, name) != getattr(plain, name):
            return False
    numbers = (estimator.C, estimator.tol, estimator.max_iter)  # what else they may be scikit-learn refuses
    return all(isinstance(number, Real) and 0 < float(number) < np.inf for number in numbers)


def _fitted(
    tasks: Iterable[Task],
    costs: NDArray[np.float64],
    n_features: int,
    solve: Callable[[list[tuple[_Machines, int]]], None],
) -> Iterator[Fitted]:
    """Yield the learner of each task; `solve` fits all machines of some tasks."""
    rest = iter(tasks)
    while of_tasks := [_Machines(task, costs, n_features) for task in islice(rest, _AT_A_TIME)]:
        solve([(machines, k) for machines in of_tasks for k in range(len(machines.coef))])
        for machines in of_tasks:
            learner = LinearLearner(machines.coef[:, :-1].T, machines.coef[:, -1].copy(), machines.classes)
            yield Fitted(learner, bool(machines.reached.all()))


def _by_newton(X: NDArray[np.float64], stopped: Callable[[], bool], problems: list[tuple[_Machines, int]]) -> None:
    """Fit machines by Newton's method, each in one thread."""
    n_steps = 1 if stopped() else _MAX_STEPS

    def task(p: int) -> None:
        machines, k = problems[p]
        coef = machines.coef[k]
        seen = np.ones((len(machines.rows), len(coef)))
        seen[:, :-1] = X[machines.rows, : len(coef) - 1]
        machines.reached[k] = fit_squared_hinge(seen, machines.signs(k), machines.costs, n_steps, coef)

    parallel_for(task, len(problems))


def _by_blocks(
    table: _Table,
    costs: NDArray[np.float64],
    tol: float,
    max_iter: int,
    stopped: Callable[[], bool],
    problems: list[tuple[_Machines, int]],
) -> None:
    """Fit machines by coordinate descent, those of a block in one thread."""
    n, n_passes = len(costs), 1 if stopped() else max_iter
    blocks = list(batches(len(problems), LANES))
    each = np.where(costs > 0, costs, 1.0).astype(np.float32)

    def task(t: int) -> None:
        block = problems[blocks[t]]
        z = np.zeros((n, LANES), np.float32)
        for b, (machines, k) in enumerate(block):
            z[machines.rows, b] = machines.signs(k)
        limits = np.full(LANES, block[-1][0].n_features)
        limits[: len(block)] = [machines.n_features for machines, _ in block]
        coef, reached = np.zeros((table.n_columns + 1, LANES), np.float32), np.zeros(LANES, np.uint8)
        fit_hinge_block((table.indptr, table.indices, table.data), z, each, limits, tol, n_passes, coef, reached)
        for b, (machines, k) in enumerate(block):
            machines.coef[k, :-1], machines.coef[k, -1] = coef[: machines.n_features, b], coef[-1, b]
            machines.reached[k] = reached[b] == 1

    parallel_for(task, len(blocks))
