"""Ordered probit regression on one score: where one level ends and the next begins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from cofactor.problems.rows import Array

__all__ = ["fit_ordered_probit"]

_FAR = 37.0  #: deviations beyond which a normal tail has no mass in double precision
_ITERATIONS = 100
_TOL = 1e-10  #: fall of the mean loss that a step must promise


def fit_ordered_probit(
    levels: NDArray[np.int64], scores: Array, weights: Array, thresholds: Array, slope: float
) -> tuple[Array, float]:
    r"""Return the thresholds and the slope that are likeliest, by Newton's method from those given.

    .. math:: P(y \le r \mid x) = \Phi(c_r - s x)

    Parameters
    ----------
    levels : ndarray of shape (n,)
        y, from 1. Every level has some weight.
    scores, weights : ndarray of shape (n,)
        x, and how much each counts.
    thresholds : ndarray of shape (R - 1,)
        c, increasing.
    slope : float
        s.

    Examples
    --------
    Half of what has the score 0 is of level 1, a sixth of what has the score 1:

    >>> levels, scores = np.array([1, 2, 1, 2]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> c, s = fit_ordered_probit(levels, scores, np.array([3.0, 3.0, 1.0, 5.0]), np.zeros(1), 1.0)
    >>> bool(abs(c[0]) < 1e-5), ndtr(c - s).round(3)
    (True, array([0.167]))
    """
    now = np.append(thresholds, slope)
    value, gradient, hessian = _loss(levels, scores, weights, now)
    for _ in range(_ITERATIONS):
        step = np.linalg.solve(hessian, -gradient)
        if -gradient @ step <= 2 * _TOL * weights.sum():
            break
        length, trial, new = 1.0, now + step, _loss(levels, scores, weights, now + step)
        while not new[0] <= value + 1e-4 * length * (gradient @ step) and length > 1e-9:
            length /= 2
            trial = now + length * step
            new = _loss(levels, scores, weights, trial)
        if not new[0] < value:
            break
        now, (value, gradient, hessian) = trial, new
    return now[:-1], float(now[-1])


def _loss(levels: NDArray[np.int64], x: Array, weights: Array, point: Array) -> tuple[float, Array, Array]:
    """Return minus the log-likelihood at (c, s), its gradient and its Hessian; infinity where c does not increase."""
    n = len(point)
    if np.any(np.diff(point[:-1]) <= 0):
        return np.inf, point, np.eye(n)
    ends = np.concatenate([[-np.inf], point[:-1], [np.inf]])
    low, high = (np.clip(ends[y] - point[-1] * x, -_FAR, _FAR) for y in (levels - 1, levels))
    right = low + high > 0  # both tails are taken on the left, where they are precise
    mass = np.where(right, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    if np.any(mass <= 0):
        return np.inf, point, np.eye(n)
    at_low, at_high = (_density(z) / mass for z in (low, high))
    ll, hh, lh = at_low * (at_low - low), at_high * (at_high + high), -at_low * at_high

    def below(of: Array) -> Array:
        """Sum, for each threshold, over the level below it."""
        return np.asarray(np.bincount(levels, weights * of, n + 1)[1:n], dtype=np.float64)

    def above(of: Array) -> Array:
        return np.asarray(np.bincount(levels, weights * of, n + 1)[2:], dtype=np.float64)

    gradient = np.append(above(at_low) - below(at_high), (weights * x) @ (at_high - at_low))
    hessian = np.diag(np.append(below(hh) + above(ll), (weights * x * x) @ (hh + 2 * lh + ll)))
    pairs = np.arange(n - 2)
    hessian[pairs, pairs + 1] = hessian[pairs + 1, pairs] = below(lh)[1:]
    hessian[:-1, -1] = hessian[-1, :-1] = -below(x * (hh + lh)) - above(x * (ll + lh))
    return -float(weights @ np.log(mass)), gradient, hessian


def _density(z: NDArray[Any]) -> Array:
    return np.where(np.abs(z) < _FAR, np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), 0.0)
