r"""Errors of predicted ratings.

All functions take the true ratings first and the predicted ones second, so that they work with
scikit-learn's ``make_scorer``::

    make_scorer(root_mean_squared_error, greater_is_better=False)
    make_scorer(normalized_mean_absolute_error, greater_is_better=False, scale=[1, 2, 3, 4, 5])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import InvalidInputError
from cofactor.metrics.scale import as_ratings, as_scale, nearest_levels, to_levels
from cofactor.text import plural


def rating_pair(y: ArrayLike, pred: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return true and predicted ratings as checked arrays: every metric begins with this.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings.

    Returns
    -------
    y, pred : ndarray of shape (n,), float64

    Raises
    ------
    InvalidInputError
        If one of them is empty, has another number of dimensions than one, or holds NaN or infinity; or if their
        lengths differ.

    Examples
    --------
    >>> rating_pair([1, 2], [1.5, 2])
    (array([1., 2.]), array([1.5, 2. ]))
    """
    true, predicted = as_ratings(y, "y"), as_ratings(pred, "pred")
    if true.size != predicted.size:
        raise InvalidInputError(
            f"y has {plural(true.size, 'rating')} but pred has {predicted.size}: they must agree", argument="y"
        )
    return true, predicted


def mean_absolute_error(y: ArrayLike, pred: ArrayLike) -> float:
    r"""Mean absolute error, :math:`\frac{1}{n}\sum_k |y_k - \hat y_k|`.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings.

    Returns
    -------
    float
        The error; 0 is best.

    Notes
    -----
    Kumar's thesis, section 3.6.4. The sum runs over the test entries (``docs/corrections.md``, C13).

    Examples
    --------
    >>> mean_absolute_error([1, 2, 5], [1, 4, 4])
    1.0
    """
    true, predicted = rating_pair(y, pred)
    return float(np.abs(true - predicted).mean())


def normalized_mean_absolute_error(y: ArrayLike, pred: ArrayLike, scale: ArrayLike) -> float:
    r"""Mean absolute error in levels, relative to uniform guessing.

    .. math:: \mathrm{NMAE} = \frac{1}{n}\sum_k |l(y_k) - l(\hat y_k)| \Big/ \frac{R^2 - 1}{3R}

    The divisor is the mean distance of two independent uniform levels: 1.6 for R = 5 and 1.944 for R = 6.
    The error is counted in levels :math:`l`, ranks on the scale: a half-star scale 0.5, 1, ..., 5 has R = 10
    levels, divisor 3.3, and an error of one star counts 2. Values between two levels are interpolated
    linearly, values outside the scale are extrapolated; on 1, ..., R this is MAE / ((R² − 1) / 3R).

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings; the predicted ones may be any real numbers.
    scale : array-like of shape (R,)
        The increasing levels.

    Returns
    -------
    float
        The error; 0 is best, 1 is uniform guessing on uniform ratings.

    Notes
    -----
    Kumar's thesis, section 3.6.4 (``docs/corrections.md``, C13).

    Examples
    --------
    >>> round(normalized_mean_absolute_error([1, 2, 5], [1, 4, 4], scale=[1, 2, 3, 4, 5]), 6)
    0.625
    """
    true, predicted = rating_pair(y, pred)
    levels = as_scale(scale)
    distance = np.abs(to_levels(true, levels) - _fractional_levels(predicted, levels)).mean()
    return float(distance / ((levels.size**2 - 1) / (3 * levels.size)))


def root_mean_squared_error(y: ArrayLike, pred: ArrayLike) -> float:
    r"""Root mean squared error, :math:`\sqrt{\frac{1}{n}\sum_k (y_k - \hat y_k)^2}`.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings.

    Returns
    -------
    float
        The error; 0 is best.

    Examples
    --------
    >>> root_mean_squared_error([1, 2, 5, 3], [1, 4, 5, 3])
    1.0
    """
    true, predicted = rating_pair(y, pred)
    return float(np.sqrt(np.square(true - predicted).mean()))


def frobenius_relative_error(y: ArrayLike, pred: ArrayLike) -> float:
    r"""Relative error in the Frobenius norm, :math:`\sqrt{\sum_k (y_k - \hat y_k)^2 / \sum_k y_k^2}`.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings; not all true ones may be 0.

    Returns
    -------
    float
        The error; 0 is best, 1 is what predicting 0 gives.

    Raises
    ------
    ValueError
        If all true ratings are 0.

    Notes
    -----
    Kumar's thesis, section 3.6.4. The sums run over the test entries (``docs/corrections.md``, C13).

    Examples
    --------
    >>> frobenius_relative_error([3, 4], [3, 1])
    0.6
    """
    true, predicted = rating_pair(y, pred)
    size = np.square(true).sum()
    if size == 0:
        raise InvalidInputError(
            "y holds only zeros: the relative error is not defined, use another metric", argument="y"
        )
    return float(np.sqrt(np.square(true - predicted).sum() / size))


def zero_one_error(y: ArrayLike, pred: ArrayLike, scale: ArrayLike | None = None) -> float:
    """Share of ratings that are not predicted exactly.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings.
    scale : array-like of shape (R,), optional
        The increasing levels. If given, predicted values are first rounded to the nearest level (upwards
        halfway between two); otherwise they must be equal to count as right.

    Returns
    -------
    float
        The error, 0 to 1; 0 is best.

    Examples
    --------
    >>> zero_one_error([1, 2, 5, 3], [1, 2, 4.6, 3])
    0.25
    >>> zero_one_error([1, 2, 5, 3], [1, 2, 4.6, 3], scale=[1, 2, 3, 4, 5])
    0.0
    """
    true, predicted = rating_pair(y, pred)
    if scale is None:
        return float(np.mean(true != predicted))
    return float(np.mean(to_levels(true, scale) != nearest_levels(predicted, scale)))


def confusion_matrix(y: ArrayLike, pred: ArrayLike, scale: ArrayLike) -> NDArray[np.int64]:
    """Count how often each level was predicted for each true level.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings; predicted values are rounded to the nearest level.
    scale : array-like of shape (R,)
        The increasing levels.

    Returns
    -------
    ndarray of shape (R, R), int64
        Entry (a, b): number of ratings of level a + 1 predicted as level b + 1. As scikit-learn's
        ``confusion_matrix``, with a row and a column for every level of the scale.

    Examples
    --------
    >>> confusion_matrix([1, 2, 2, 3], [1, 2, 3, 3], scale=[1, 2, 3])
    array([[1, 0, 0],
           [0, 1, 1],
           [0, 0, 1]])
    """
    from sklearn.metrics import confusion_matrix as count_pairs  # heavy: only where it is used

    true, predicted = rating_pair(y, pred)
    levels = np.arange(1, as_scale(scale).size + 1)
    counts = count_pairs(to_levels(true, scale), nearest_levels(predicted, scale), labels=levels)
    return np.asarray(counts, dtype=np.int64)


def error_by_level(y: ArrayLike, pred: ArrayLike, scale: ArrayLike) -> NDArray[np.float64]:
    """Mean absolute error of the ratings of each true level.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings.
    scale : array-like of shape (R,)
        The increasing levels.

    Returns
    -------
    ndarray of shape (R,)
        The error for each level; NaN where no rating has it.

    Examples
    --------
    >>> error_by_level([1, 1, 3], [1, 2, 2.5], scale=[1, 2, 3])
    array([0.5, nan, 0.5])
    """
    true, predicted = rating_pair(y, pred)
    levels, n_levels = to_levels(true, scale) - 1, as_scale(scale).size
    counts = np.bincount(levels, minlength=n_levels)
    sums = np.bincount(levels, np.abs(true - predicted), minlength=n_levels)
    return np.divide(sums, counts, out=np.full(n_levels, np.nan), where=counts > 0)


def rating_report(y: ArrayLike, pred: ArrayLike, scale: ArrayLike) -> dict[str, float]:
    """Return every metric of `RATING_METRICS`.

    Parameters
    ----------
    y, pred : array-like of shape (n,)
        True and predicted ratings.
    scale : array-like of shape (R,)
        The increasing levels.

    Returns
    -------
    dict of str to float
        By name: ``mae``, ``nmae``, ``rmse``, ``fre``, ``zero_one`` (predictions rounded to the nearest level), and
        all others in `RATING_METRICS`.

    Examples
    --------
    >>> report = rating_report([1, 2, 5, 3], [1, 4, 5, 3], scale=[1, 2, 3, 4, 5])
    >>> report["mae"], report["rmse"], report["zero_one"]
    (0.5, 1.0, 0.25)
    """
    return {name: metric(y, pred, scale) for name, metric in RATING_METRICS.items()}


RATING_METRICS: dict[str, Callable[[Any, Any, Any], float]] = {
    "mae": lambda y, pred, scale: mean_absolute_error(y, pred),
    "nmae": normalized_mean_absolute_error,
    "rmse": lambda y, pred, scale: root_mean_squared_error(y, pred),
    "fre": lambda y, pred, scale: frobenius_relative_error(y, pred),
    "zero_one": zero_one_error,
}
"""Metric of each name, called as ``metric(y, pred, scale)``; smaller is better."""


def _fractional_levels(values: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate the rank on the scale linearly, and continue the end pieces outside it."""
    piece = np.clip(np.searchsorted(scale, values, side="right") - 1, 0, scale.size - 2)
    return piece + 1 + (values - scale[piece]) / (scale[piece + 1] - scale[piece])
