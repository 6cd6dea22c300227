"""Fitting linear learners of many tasks or labels by this package, where scikit-learn would take longer.

Support vector machines with the squared hinge, each by itself: by Newton's method or by coordinate descent. On many
features they are fitted together, a block of labels at a time, as are logistic regressions on few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from cofactor.chunked import ChunkedTable, MappedTable, as_dense, batches, is_sparse, zip_chunks
from cofactor.kernels.lanes import LANES
from cofactor.kernels.squared_hinge import fit_hinge_block, fit_squared_hinge
from cofactor.kernels.threads import library_limit, parallel_for
from cofactor.labels.features import CheckedFeatures, SeenFeatures, squared_lengths
from cofactor.labels.learners.base import Fitted, Subproblem
from cofactor.labels.learners.linear import LinearLearner
from cofactor.model.parallel import in_workers, n_parallel
from cofactor.problems.classifiers import (
    LogisticProblems,
    SquaredHingeProblems,
    rotate_chunked_features,
    rotate_chunked_table,
    rotate_features,
    rotate_table,
)
from cofactor.solvers.lbfgs import ManyProblems, lbfgs_each

#: Most features for Newton's method, whose steps solve equations of that many unknowns: of sparse tables, and of dense
#: ones, which coordinate descent does not take. And most numbers of a table, which it sees dense.
_MOST_FOR_NEWTON = 400
_MOST_DENSE_FOR_NEWTON = 900
_MOST_DENSE_CELLS = 1 << 24
#: Squared features per number of a sparse row beyond which coordinate descent is faster: a step of Newton's method
#: takes time in proportion to the one, a pass to the other (60 to 390 features of delicious, C = 0.05 and 0.5).
_SPARSE = 2000
_MAX_STEPS = 100
_AT_A_TIME = 128  # tasks between two reports of progress
#: Largest difference of derivatives in the minimum, in units of ``tol``, where costs and rows are small.
_LOOSER = 100.0
#: Largest product of cost and squared length of a row (with the 1 of the intercept): beyond, steps of 32 bits are not
#: exact enough, and liblinear's are fewer.
_STEEPEST = 100.0
_LEAST_TOL = 1e-6


def fitted_by_kernels(
    estimator: Any,
    X: CheckedFeatures,
    tasks: Iterable[Subproblem],
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
    tasks : iterable of Subproblem
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
    for_blocks = estimator.tol >= _LEAST_TOL and bool(steepness.max(initial=0.0) <= _STEEPEST)
    most = _MOST_FOR_NEWTON if is_sparse(X) else _MOST_DENSE_FOR_NEWTON
    few = most >= D and n * D <= _MOST_DENSE_CELLS
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

    def __init__(self, task: Subproblem, costs: NDArray[np.float64], n_features: int) -> None:
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
    tasks: Iterable[Subproblem],
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


_LABELS_PER_BLOCK = 64
_MOST_FEATURES, _MOST_CELLS = 3000, 1 << 27
_FEWEST_LABELS = 32  #: with fewer there is little to gain, and those of scikit-learn are known to all
_TURN = 8  #: squared features for a number of the table of scores, up to which it pays to turn the features


class LinearSolutions(NamedTuple):
    """Coefficients of labels, shape (D, L), intercepts, and how many labels were not finished after the last step."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    n_unfinished: int


class _Block(ManyProblems, Protocol):
    """The problems of a block of labels, which know where to start."""

    def start(self) -> NDArray[np.float64]:
        """Return a starting point of each."""


def is_worth_turning(shape: tuple[int, ...], n_labels: int) -> bool:
    """Whether labels are many enough, and the table of features small enough, to turn it and fit labels together."""
    n, D = shape
    return D <= _MOST_FEATURES and n * D <= _MOST_CELLS and _TURN * n * n_labels >= D * D and n_labels >= _FEWEST_LABELS


def together_bytes(shape: tuple[int, ...]) -> int:
    """Return what a fit takes beside the result: the table of features thrice while it is turned."""
    n, D = shape
    return 24 * n * D + 16 * D * D


def solve_blocks(
    made: Callable[[NDArray[np.float64]], _Block],
    labels: sparse.csr_array,
    *,
    max_iter: int,
    tol: float,
    n_jobs: int | None,
    on_label: Callable[[int], object],
    stopped: Callable[[], bool],
) -> tuple[NDArray[np.float64], int]:
    """Return the minimisers of the labels, a row for each, and how many labels were not finished.

    Parameters
    ----------
    made : callable
        Makes problems of a block of labels, (n, B), 0 and 1.
    labels : csr_array of shape (n, L)
    max_iter, tol
        See `lbfgs_each`.
    n_jobs : int, optional
        Number of threads, as in joblib; by default as many as kernels may use.
    on_label, stopped : callable
        Is told how many labels are fitted; says whether those that remain get a single step.
    """
    L, columns = labels.shape[1], sparse.csc_array(labels)
    rows, n_unfinished, done = [], 0, 0

    def tasks() -> Iterator[Any]:
        for lo in range(0, L, _LABELS_PER_BLOCK):
            block = made(columns[:, lo : lo + _LABELS_PER_BLOCK].toarray().astype(np.float64))
            yield delayed(_solved)(block, 1 if stopped() else max_iter, tol)

    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        blocks = n_parallel(-(-L // _LABELS_PER_BLOCK), n_jobs)
        for theta, solved in in_workers(tasks(), blocks, backend="threading"):
            rows.append(theta)
            n_unfinished += int(np.count_nonzero(~solved))
            for _ in range(len(theta)):
                done += 1
                on_label(done)
    return np.concatenate(rows), n_unfinished


def solve_whole(
    problem: _Block, *, max_iter: int, tol: float, on_label: Callable[[int], object], stopped: Callable[[], bool]
) -> tuple[NDArray[np.float64], int]:
    """Return what `solve_blocks` returns, of the problems of all labels as one block: where a step takes a pass."""
    theta, solved = _solved(problem, 1 if stopped() else max_iter, tol)
    on_label(len(theta))
    return theta, int(np.count_nonzero(~solved))


def _solved(block: _Block, max_iter: int, tol: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the minimisers of a block, and which labels are finished."""
    theta, _, solved = lbfgs_each(block, block.start(), max_iter=max_iter, tol=tol)
    return theta, solved


_LARGEST_COST = 1000.0  #: beyond, 200 steps may not be enough
_LOGISTIC_TOLERANCE = 1e-6
_MAX_ITER = 200


def suits_logistics(estimator: Any, shape: tuple[int, ...], n_labels: int) -> bool:
    """Whether `fit_logistics` stands in: for ``LogisticRegression(C=C)`` of many labels, with small tables of features.

    The estimator may have a larger `max_iter`.

    Examples
    --------
    >>> [suits_logistics(LogisticRegression(C=2.0), (400, D), L) for D, L in ((70, 170), (70, 6), (900, 170))]
    [True, False, False]
    """
    return is_plain_logistic(estimator) and is_worth_turning(shape, n_labels)


def is_plain_logistic(estimator: Any) -> bool:
    """Whether the objective is that of `fit_logistics`."""
    if type(estimator) is not LogisticRegression:
        return False
    plain = LogisticRegression()
    if not isinstance(estimator.C, int | float) or not isinstance(estimator.max_iter, Integral):
        return False
    if not 0 < estimator.C <= _LARGEST_COST or estimator.max_iter < plain.max_iter:
        return False
    plain.set_params(C=estimator.C, max_iter=estimator.max_iter)
    return bool(estimator.get_params() == plain.get_params())


def fit_logistics(
    X: SeenFeatures,
    labels: sparse.csr_array,
    cost: float,
    weights: NDArray[np.float64] | None = None,
    *,
    n_jobs: int | None = None,
    on_label: Callable[[int], object] = lambda n_done: None,
    stopped: Callable[[], bool] = lambda: False,
) -> LinearSolutions:
    r"""Fit the logistic regressions of labels which scikit-learn fits with ``LogisticRegression(C=cost)``.

    Features are turned to their principal axes. From there L-BFGS takes a few steps for a block of labels at a time:
    two products of matrices each, in single precision.

    Parameters
    ----------
    X : ndarray, csr_array or ChunkedTable of shape (n, D)
        If chunked, each step of L-BFGS reads it once.
    labels : csr_array of shape (n, L)
        Each label is on somewhere, and off somewhere.
    cost : float
        C: the objective is :math:`\tfrac12 \|w\|^2 + C \sum_i \log(1 + e^{-z_i f_i})`.
    weights : ndarray of shape (n,), optional
        Of the instances: their losses are multiplied by them.
    n_jobs : int, optional
        Number of threads, as in joblib; by default as many as kernels may use.
    on_label, stopped : callable, optional
        Is told how many labels are fitted; says whether those that remain get a single step.

    Returns
    -------
    LinearSolutions

    Examples
    --------
    >>> found = fit_logistics(np.array([[0.0], [1.0], [2.0], [3.0]]), sparse.csr_array([[0], [1], [0], [1]]), 1.0)
    >>> found.coef.round(2)
    array([[0.45]])
    """
    ends: dict[str, Any] = {"max_iter": _MAX_ITER, "tol": _LOGISTIC_TOLERANCE, "on_label": on_label, "stopped": stopped}
    if isinstance(X, ChunkedTable):
        table = rotate_chunked_features(X.map(as_dense, sparse=False), np.float32)
        problems = LogisticProblems(table, MappedTable(labels, as_dense, labels.shape[1]), 1 / cost, weights)
        theta, n_unfinished = solve_whole(problems, **ends)
    else:
        table = rotate_features(as_dense(X), np.float32)
        made = partial(LogisticProblems, table, alpha=1 / cost, weights=weights)
        theta, n_unfinished = solve_blocks(made, labels, n_jobs=n_jobs, **ends)
    with library_limit(1):
        return LinearSolutions(*table.unrotated(theta), n_unfinished)


#: Fewest features: of 100 and 300 of delicious, a label takes 0.01 s, but 0.1 s and 3.6 s by Newton's method, which is
#: exact.
_FEWEST_FEATURES = 200
_FULL = 0.5  #: share of numbers in a sparse table from which it is as good as dense
_MACHINE_TOLERANCE = 1e-7  #: less is beyond the precision of the table; liblinear's is no better by default


def suits_machines(estimator: Any, X: CheckedFeatures, n_labels: int, weights: NDArray[Any] | None) -> bool:
    """Whether `fit_linear_svms` stands in: for ``LinearSVC(C=C)`` of many labels, with some hundred dense features.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> [suits_machines(LinearSVC(), np.ones((400, D)) / D, L, None) for D, L in ((300, 170), (300, 6), (60, 170))]
    [True, False, False]
    """
    if not is_plain_machine(estimator) or estimator.tol < _LEAST_TOL or not _are_suitable(X, n_labels):
        return False
    steepness = _costs(estimator, X.shape[0], weights) * (1 + squared_lengths(X))
    return bool(steepness.max(initial=0.0) <= _STEEPEST)


def machine_bytes(estimator: Any, X: CheckedFeatures, n_labels: int) -> int:
    """Return what `fit_linear_svms` may take beside the result, with ``LinearSVC`` or the default estimator, None."""
    may_fit = (estimator is None or is_plain_machine(estimator)) and _are_suitable(X, n_labels)
    return together_bytes(X.shape) if may_fit else 0


def fit_linear_svms(
    estimator: Any,
    X: SeenFeatures,
    labels: sparse.csr_array,
    weights: NDArray[Any] | None,
    *,
    n_jobs: int | None = None,
    on_label: Callable[[int], object] = lambda n_done: None,
    stopped: Callable[[], bool] = lambda: False,
) -> LinearSolutions:
    r"""Fit the support vector machines of labels which scikit-learn fits with ``LinearSVC(C=C)``.

    Features, and the 1 of the intercept, are turned to their principal axes, as by `fit_logistics`.

    Parameters
    ----------
    estimator : LinearSVC
    X : ndarray, csr_array or ChunkedTable of shape (n, D)
        If chunked, each step of L-BFGS reads it once.
    labels : csr_array of shape (n, L)
        Each label is on somewhere, and off somewhere.
    weights : ndarray of shape (n,), optional
        Of the instances.
    n_jobs, on_label, stopped
        See `solve_blocks`.

    Returns
    -------
    LinearSolutions

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), sparse.csr_array([[0], [0], [1], [1]])
    >>> fit_linear_svms(LinearSVC(C=10), X, labels, None).coef.round(2)
    array([[1.52]])
    """
    costs = _costs(estimator, X.shape[0], weights)
    ends: dict[str, Any] = {"max_iter": int(estimator.max_iter), "tol": _MACHINE_TOLERANCE}
    told: dict[str, Any] = {"on_label": on_label, "stopped": stopped}
    if isinstance(X, ChunkedTable):
        table = rotate_chunked_table(X.map(_with_ones, X.shape[1] + 1, sparse=False), _safe_precision(X, costs))
        signs = MappedTable(labels, lambda y: 2 * as_dense(y) - 1, labels.shape[1])
        theta, n_unfinished = solve_whole(SquaredHingeProblems(table, signs, costs), **ends, **told)
    else:
        dense = _with_ones(X)
        table = rotate_table(dense, np.linalg.norm(dense, axis=0), np.float32)
        theta, n_unfinished = solve_blocks(
            lambda y: SquaredHingeProblems(table, 2 * y - 1, costs), labels, n_jobs=n_jobs, **ends, **told
        )
    with library_limit(1):
        coef = table.axes @ theta.T
    return LinearSolutions(coef[:-1], coef[-1], n_unfinished)


def _with_ones(X: CheckedFeatures) -> NDArray[np.float64]:
    """Return dense features, with a last one that is 1."""
    return np.column_stack([as_dense(X), np.ones(X.shape[0])])


def _safe_precision(X: ChunkedTable, costs: NDArray[np.float64]) -> Any:
    """Return the precision of a chunked table: steps of 32 bits are not exact enough for steep problems."""
    steepest = max(float((some * (1 + squared_lengths(chunk))).max()) for chunk, some in zip_chunks(X, costs))
    return np.float32 if steepest <= _STEEPEST else np.float64


def _are_suitable(X: CheckedFeatures, n_labels: int) -> bool:
    """Return whether features are dense and many, but not too many."""
    dense = not is_sparse(X) or X.nnz >= _FULL * X.shape[0] * X.shape[1]
    return dense and X.shape[1] >= _FEWEST_FEATURES and is_worth_turning(X.shape, n_labels)


def _costs(estimator: Any, n: int, weights: NDArray[Any] | None) -> NDArray[np.float64]:
    """Return the cost of each instance."""
    return float(estimator.C) * (np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64))
