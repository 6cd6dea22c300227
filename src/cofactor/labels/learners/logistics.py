"""Logistic regressions of many labels on the same few features, fitted together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from cofactor.kernels.threads import library_limit
from cofactor.labels.features import CheckedFeatures, as_dense
from cofactor.model.parallel import in_workers, n_side_by_side
from cofactor.problems.logistics import LogisticProblems, rotated
from cofactor.solvers.lbfgs_each import lbfgs_each

__all__ = ["Logistics", "fit_logistics", "logistic_bytes", "suits_logistics"]

_LABELS_PER_BLOCK = 64
_MOST_FEATURES, _MOST_CELLS = 3000, 1 << 27
_LARGEST_COST = 1000.0  #: beyond, 200 steps may not be enough
_TOLERANCE = 1e-6
_MAX_ITER = 200
_FEWEST_LABELS = 32  #: with fewer there is little to gain, and those of scikit-learn are known to all
_TURN = 8  #: squared features for a number of the table of scores, up to which it pays to turn the features


class Logistics(NamedTuple):
    """Coefficients of labels, shape (D, L), intercepts, and how many labels were not finished after 200 steps."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    n_unfinished: int


def suits_logistics(estimator: Any, shape: tuple[int, ...], n_labels: int) -> bool:
    """Whether `fit_logistics` stands in: for ``LogisticRegression(C=C)`` of many labels, with small tables of features.

    The estimator may have a larger `max_iter`.

    Examples
    --------
    >>> [suits_logistics(LogisticRegression(C=2.0), (400, D), L) for D, L in ((70, 170), (70, 6), (900, 170))]
    [True, False, False]
    """
    n, D = shape
    small = D <= _MOST_FEATURES and n * D <= _MOST_CELLS and _TURN * n * n_labels >= D * D
    if type(estimator) is not LogisticRegression or not small or n_labels < _FEWEST_LABELS:
        return False
    plain = LogisticRegression()
    if not isinstance(estimator.C, int | float) or not isinstance(estimator.max_iter, Integral):
        return False
    if not 0 < estimator.C <= _LARGEST_COST or estimator.max_iter < plain.max_iter:
        return False
    plain.set_params(C=estimator.C, max_iter=estimator.max_iter)
    return bool(estimator.get_params() == plain.get_params())


def logistic_bytes(shape: tuple[int, ...]) -> int:
    """Return what `fit_logistics` takes beside the result: the table of features thrice while it is turned."""
    n, D = shape
    return 24 * n * D + 16 * D * D


def fit_logistics(
    X: CheckedFeatures,
    labels: sparse.csr_array,
    cost: float,
    *,
    n_jobs: int | None = None,
    on_label: Callable[[int], object] = lambda n_done: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Logistics:
    r"""Fit the logistic regressions of labels which scikit-learn fits with ``LogisticRegression(C=cost)``.

    Features are turned to their principal axes. From there L-BFGS takes a few steps for a block of labels at a time:
    two products of matrices each, in single precision.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    labels : csr_array of shape (n, L)
        Each label is on somewhere, and off somewhere.
    cost : float
        C: the objective is :math:`\tfrac12 \|w\|^2 + C \sum_i \log(1 + e^{-z_i f_i})`.
    n_jobs : int, optional
        Number of threads, as in joblib; by default as many as kernels may use.
    on_label, stopped : callable, optional
        Is told how many labels are fitted; says whether those that remain get a single step.

    Returns
    -------
    Logistics

    Examples
    --------
    >>> found = fit_logistics(np.array([[0.0], [1.0], [2.0], [3.0]]), sparse.csr_array([[0], [1], [0], [1]]), 1.0)
    >>> found.coef.round(2)
    array([[0.45]])
    """
    L = labels.shape[1]
    table = rotated(as_dense(X), np.float32)
    columns = sparse.csc_array(labels)
    theta, n_unfinished, done = np.empty((L, len(table.squares) + 1)), 0, 0

    def tasks() -> Iterator[Any]:
        for lo in range(0, L, _LABELS_PER_BLOCK):
            y = columns[:, lo : lo + _LABELS_PER_BLOCK].toarray().astype(np.float64)
            yield delayed(_fit_block)(LogisticProblems(table, y, 1 / cost), 1 if stopped() else _MAX_ITER)

    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        blocks = n_side_by_side(-(-L // _LABELS_PER_BLOCK), n_jobs)
        for found, solved in in_workers(tasks(), blocks, backend="threading"):
            theta[done : done + len(found)] = found
            n_unfinished += int(np.count_nonzero(~solved))
            for _ in range(len(found)):
                done += 1
                on_label(done)
        weights, intercept = table.unrotated(theta)
    return Logistics(weights, intercept, n_unfinished)


def _fit_block(problems: LogisticProblems, max_iter: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the coefficients of labels, and which are finished."""
    theta, _, solved = lbfgs_each(problems, problems.start(), max_iter=max_iter, tol=_TOLERANCE)
    return theta, solved
