"""Logistic regressions of many labels on the same few features, fitted together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from cofactor.kernels.threads import library_limit
from cofactor.labels.features import CheckedFeatures, as_dense
from cofactor.model.parallel import in_workers, n_side_by_side

__all__ = ["Logistics", "fit_logistics", "logistic_bytes", "suits_logistics"]

_LABELS_PER_BLOCK = 64
_MOST_FEATURES, _MOST_CELLS = 3000, 1 << 27
_PAIRS = 8  #: of steps and changes of the gradient that L-BFGS keeps
_LARGEST_COST = 1000.0  #: beyond, 200 steps may not be enough
_TOLERANCE = 1e-6  #: of the objective without features, for half the decrease that is still expected
_MAX_ITER = 200
_FEWEST_LABELS = 32  #: with fewer there is little to gain, and those of scikit-learn are known to all
_TURN = 8  #: squared features for a number of the table of scores, up to which it pays to turn the features
_HALVINGS = 20


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

    Features are turned to their principal axes, where the second derivatives are nearly diagonal. From there L-BFGS
    takes a few steps for a block of labels at a time: two products of matrices each.

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
    table = as_dense(X)
    mean, L = table.mean(axis=0), labels.shape[1]
    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        table = table - mean
        squares, axes = np.linalg.eigh(table.T @ table)
        turned = np.hstack([table @ axes, np.ones((len(table), 1))]).astype(np.float32)
        columns = sparse.csc_array(labels)

        def tasks() -> Iterator[Any]:
            for lo in range(0, L, _LABELS_PER_BLOCK):
                y = columns[:, lo : lo + _LABELS_PER_BLOCK].toarray() > 0
                yield delayed(_fit_block)(turned, np.maximum(squares, 0.0), y, cost, 1 if stopped() else _MAX_ITER)

        coef, n_unfinished = np.empty((len(axes) + 1, L)), 0
        done = 0
        blocks = n_side_by_side(-(-L // _LABELS_PER_BLOCK), n_jobs)
        for found, unfinished in in_workers(tasks(), blocks, backend="threading"):
            coef[:, done : done + found.shape[1]] = found
            n_unfinished += unfinished
            for _ in range(found.shape[1]):
                done += 1
                on_label(done)
        weights = axes @ coef[:-1]
    return Logistics(weights, coef[-1] - mean @ weights, n_unfinished)


def _fit_block(
    A: NDArray[np.float32], squares: NDArray[np.float64], y: NDArray[np.bool_], cost: float, most: int
) -> tuple[NDArray[np.float64], int]:
    """Return the coefficients of labels, that of the intercept last, and how many labels were not finished."""
    n, b = y.shape
    share = y.mean(axis=0)
    penalty = np.append(np.full(len(squares), 1 / cost), 0.0)[:, None]
    curvature = np.append(squares, n)[:, None] * (share * (1 - share)) + penalty
    result = np.zeros((len(penalty), b))
    result[-1] = np.log(share / (1 - share))
    place, W, F, sign = np.arange(b), result.copy(), np.tile(result[-1], (n, 1)), np.where(y, 1.0, -1.0)
    value = _losses(F, sign) + 0.5 * (penalty * W * W).sum(axis=0)
    enough, pairs = _TOLERANCE * value, list[tuple[NDArray[Any], ...]]()
    G = _gradient(A, F, sign) + penalty * W
    for _ in range(most):
        direction = _direction(G, curvature, pairs)
        slope = np.einsum("fj,fj->j", direction, G)
        going = -slope > enough
        result[:, place] = W
        if not going.all():
            place, value, enough, slope = place[going], value[going], enough[going], slope[going]
            W, F, sign, G = W[:, going], F[:, going], sign[:, going], G[:, going]
            direction, curvature = direction[:, going], curvature[:, going]
            pairs = [tuple(each[..., going] for each in pair) for pair in pairs]
        if not len(place):
            break
        along = np.asarray(A @ direction.astype(np.float32), dtype=np.float64)
        step, value = _steps(W, F, sign, value, slope, direction, along, penalty)
        W = W + step * direction
        F += step * along
        before, G = G, _gradient(A, F, sign) + penalty * W
        moved, change = step * direction, G - before
        inner = np.einsum("fj,fj->j", moved, change)
        rho = np.where(inner > 0, 1 / np.where(inner > 0, inner, 1.0), 0.0)  # a pair without curvature does not count
        pairs = [*pairs[1 - _PAIRS :], (moved, change, rho)]
    result[:, place] = W
    return result, len(place)


def _losses(F: NDArray[np.float64], sign: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.logaddexp(0.0, -sign * F).sum(axis=0)


def _gradient(A: NDArray[np.float32], F: NDArray[np.float64], sign: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(A.T @ (-sign * expit(-sign * F)).astype(np.float32), dtype=np.float64)


def _direction(G: NDArray[np.float64], curvature: NDArray[np.float64], pairs: list[Any]) -> NDArray[np.float64]:
    """Return the direction of L-BFGS for each label."""
    found, shares = -G, []
    for moved, change, rho in reversed(pairs):
        shares.append(rho * np.einsum("fj,fj->j", moved, found))
        found = found - shares[-1] * change
    found = found / curvature
    for (moved, change, rho), share in zip(pairs, reversed(shares), strict=True):
        found = found + (share - rho * np.einsum("fj,fj->j", change, found)) * moved
    return found


def _steps(
    W: Any, F: Any, sign: Any, value: Any, slope: Any, direction: Any, along: Any, penalty: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return steps that lower the objectives enough, by halving, and the objectives there; 0 where none does."""
    step, found = np.ones(len(value)), value.copy()
    left = np.arange(len(value))
    for _ in range(_HALVINGS):
        t = step[left]
        at = W[:, left] + t * direction[:, left]
        asked = _losses(F[:, left] + t * along[:, left], sign[:, left]) + 0.5 * (penalty * at * at).sum(axis=0)
        good = asked <= value[left] + 1e-4 * t * slope[left]
        found[left[good]] = asked[good]
        left = left[~good]
        if not len(left):
            break
        step[left] /= 2
    step[left] = 0.0
    return step, found
