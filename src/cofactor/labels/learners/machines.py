"""Linear support vector machines of many labels on the same dense features, fitted together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.kernels.threads import library_limit
from cofactor.labels.features import CheckedFeatures, SeenFeatures, as_dense, is_sparse, squared_lengths
from cofactor.labels.learners.hinges import LEAST_TOL, STEEPEST, is_plain_machine
from cofactor.labels.learners.together import Together, is_worth_turning, solve_blocks, solve_whole, together_bytes
from cofactor.passes import InPasses, Mapped, together
from cofactor.problems.classifiers import SquaredHingeProblems, turned, turned_in_passes

__all__ = ["fit_machines", "machine_bytes", "suits_machines"]

#: Fewest features: of 100 and 300 of delicious, a label takes 0.01 s, but 0.1 s and 3.6 s by Newton's method, which is
#: exact.
_FEWEST_FEATURES = 200
_FULL = 0.5  #: share of numbers in a sparse table from which it is as good as dense
_TOLERANCE = 1e-7  #: less is beyond the precision of the table; liblinear's is no better by default


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
    ends: dict[str, Any] = {"max_iter": int(estimator.max_iter), "tol": _TOLERANCE}
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
