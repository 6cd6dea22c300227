"""Fitting linear learners of many labels on the same dense features together, a block of labels at a time.

Support vector machines on many features, and logistic regressions on few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from cofactor.kernels.threads import library_limit
from cofactor.labels.features import CheckedFeatures, SeenFeatures, as_dense, is_sparse, squared_lengths
from cofactor.labels.learners.hinges import LEAST_TOL, STEEPEST, is_plain_machine
from cofactor.model.parallel import in_workers, n_side_by_side
from cofactor.passes import InPasses, Mapped, together
from cofactor.problems.classifiers import (
    LogisticProblems,
    SquaredHingeProblems,
    rotated,
    rotated_in_passes,
    turned,
    turned_in_passes,
)
from cofactor.solvers.lbfgs import ManyProblems, lbfgs_each

__all__ = [
    "Together",
    "fit_logistics",
    "fit_machines",
    "is_plain_logistic",
    "is_worth_turning",
    "machine_bytes",
    "solve_blocks",
    "solve_whole",
    "suits_logistics",
    "suits_machines",
    "together_bytes",
]


_LABELS_PER_BLOCK = 64
_MOST_FEATURES, _MOST_CELLS = 3000, 1 << 27
_FEWEST_LABELS = 32  #: with fewer there is little to gain, and those of scikit-learn are known to all
_TURN = 8  #: squared features for a number of the table of scores, up to which it pays to turn the features


class Together(NamedTuple):
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
        blocks = n_side_by_side(-(-L // _LABELS_PER_BLOCK), n_jobs)
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
) -> Together:
    r"""Fit the logistic regressions of labels which scikit-learn fits with ``LogisticRegression(C=cost)``.

    Features are turned to their principal axes. From there L-BFGS takes a few steps for a block of labels at a time:
    two products of matrices each, in single precision.

    Parameters
    ----------
    X : ndarray, csr_array or InPasses of shape (n, D)
        In passes, each step of L-BFGS is one.
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
    Together

    Examples
    --------
    >>> found = fit_logistics(np.array([[0.0], [1.0], [2.0], [3.0]]), sparse.csr_array([[0], [1], [0], [1]]), 1.0)
    >>> found.coef.round(2)
    array([[0.45]])
    """
    ends: dict[str, Any] = {"max_iter": _MAX_ITER, "tol": _LOGISTIC_TOLERANCE, "on_label": on_label, "stopped": stopped}
    if isinstance(X, InPasses):
        table = rotated_in_passes(X.map(as_dense, sparse=False), np.float32)
        problems = LogisticProblems(table, Mapped(labels, as_dense, labels.shape[1]), 1 / cost, weights)
        theta, n_unfinished = solve_whole(problems, **ends)
    else:
        table = rotated(as_dense(X), np.float32)
        made = partial(LogisticProblems, table, alpha=1 / cost, weights=weights)
        theta, n_unfinished = solve_blocks(made, labels, n_jobs=n_jobs, **ends)
    with library_limit(1):
        return Together(*table.unrotated(theta), n_unfinished)


#: Fewest features: of 100 and 300 of delicious, a label takes 0.01 s, but 0.1 s and 3.6 s by Newton's method, which is
#: exact.
_FEWEST_FEATURES = 200
_FULL = 0.5  #: share of numbers in a sparse table from which it is as good as dense
_MACHINE_TOLERANCE = 1e-7  #: less is beyond the precision of the table; liblinear's is no better by default


def suits_machines(estimator: Any, X: CheckedFeatures, n_labels: int, weights: NDArray[Any] | None) -> bool:
    """Whether `fit_machines` stands in: for ``LinearSVC(C=C)`` of many labels, with some hundred dense features.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> [suits_machines(LinearSVC(), np.ones((400, D)) / D, L, None) for D, L in ((300, 170), (300, 6), (60, 170))]
    [True, False, False]
    """
    if not is_plain_machine(estimator) or estimator.tol < LEAST_TOL or not _are_suitable(X, n_labels):
        return False
    steepness = _costs(estimator, X.shape[0], weights) * (1 + squared_lengths(X))
    return bool(steepness.max(initial=0.0) <= STEEPEST)


def machine_bytes(estimator: Any, X: CheckedFeatures, n_labels: int) -> int:
    """Return what `fit_machines` may take beside the result, with ``LinearSVC`` or the default estimator, None."""
    may_fit = (estimator is None or is_plain_machine(estimator)) and _are_suitable(X, n_labels)
    return together_bytes(X.shape) if may_fit else 0


def fit_machines(
    estimator: Any,
    X: SeenFeatures,
    labels: sparse.csr_array,
    weights: NDArray[Any] | None,
    *,
    n_jobs: int | None = None,
    on_label: Callable[[int], object] = lambda n_done: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Together:
    r"""Fit the support vector machines of labels which scikit-learn fits with ``LinearSVC(C=C)``.

    Features, and the 1 of the intercept, are turned to their principal axes, as by `fit_logistics`.

    Parameters
    ----------
    estimator : LinearSVC
    X : ndarray, csr_array or InPasses of shape (n, D)
        In passes, each step of L-BFGS is one.
    labels : csr_array of shape (n, L)
        Each label is on somewhere, and off somewhere.
    weights : ndarray of shape (n,), optional
        Of the instances.
    n_jobs, on_label, stopped
        See `solve_blocks`.

    Returns
    -------
    Together

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> X, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), sparse.csr_array([[0], [0], [1], [1]])
    >>> fit_machines(LinearSVC(C=10), X, labels, None).coef.round(2)
    array([[1.52]])
    """
    costs = _costs(estimator, X.shape[0], weights)
    ends: dict[str, Any] = {"max_iter": int(estimator.max_iter), "tol": _MACHINE_TOLERANCE}
    told: dict[str, Any] = {"on_label": on_label, "stopped": stopped}
    if isinstance(X, InPasses):
        table = turned_in_passes(X.map(_with_ones, X.shape[1] + 1, sparse=False), _safe_precision(X, costs))
        signs = Mapped(labels, lambda y: 2 * as_dense(y) - 1, labels.shape[1])
        theta, n_unfinished = solve_whole(SquaredHingeProblems(table, signs, costs), **ends, **told)
    else:
        dense = _with_ones(X)
        table = turned(dense, np.linalg.norm(dense, axis=0), np.float32)
        theta, n_unfinished = solve_blocks(
            lambda y: SquaredHingeProblems(table, 2 * y - 1, costs), labels, n_jobs=n_jobs, **ends, **told
        )
    with library_limit(1):
        coef = table.axes @ theta.T
    return Together(coef[:-1], coef[-1], n_unfinished)


def _with_ones(X: CheckedFeatures) -> NDArray[np.float64]:
    """Return dense features, with a last one that is 1."""
    return np.column_stack([as_dense(X), np.ones(X.shape[0])])


def _safe_precision(X: InPasses, costs: NDArray[np.float64]) -> Any:
    """Return the precision of a table in passes: steps of 32 bits are not exact enough for steep problems."""
    steepest = max(float((some * (1 + squared_lengths(part))).max()) for part, some in together(X, costs))
    return np.float32 if steepest <= STEEPEST else np.float64


def _are_suitable(X: CheckedFeatures, n_labels: int) -> bool:
    """Return whether features are dense and many, but not too many."""
    dense = not is_sparse(X) or X.nnz >= _FULL * X.shape[0] * X.shape[1]
    return dense and X.shape[1] >= _FEWEST_FEATURES and is_worth_turning(X.shape, n_labels)


def _costs(estimator: Any, n: int, weights: NDArray[Any] | None) -> NDArray[np.float64]:
    """Return the cost of each instance."""
    return float(estimator.C) * (np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64))
