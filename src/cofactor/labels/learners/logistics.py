"""Logistic regressions of many labels on the same few features, fitted together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from cofactor.kernels.threads import library_limit
from cofactor.labels.features import SeenFeatures, as_dense
from cofactor.labels.learners.together import Together, is_worth_turning, solve_blocks, solve_whole
from cofactor.passes import InPasses, Mapped
from cofactor.problems.classifiers import LogisticProblems, rotated, rotated_in_passes

__all__ = ["fit_logistics", "is_plain_logistic", "suits_logistics"]

_LARGEST_COST = 1000.0  #: beyond, 200 steps may not be enough
_TOLERANCE = 1e-6
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
    ends: dict[str, Any] = {"max_iter": _MAX_ITER, "tol": _TOLERANCE, "on_label": on_label, "stopped": stopped}
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
