"""The scale of ratings: its levels, and which of them a rating is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import refuse_masked
from cofactor.errors import InvalidInputError
from cofactor.limits import MAX_LEVELS, blocks
from cofactor.text import plural, some_of

#: A rating counts as a level if it is at most this share of the smallest step away from it: the input may be float32.
_SAME = 1e-4


def as_ratings(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return ratings, or predictions of them, as an array of finite numbers; refuse anything else."""
    refuse_masked(values, name)
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise InvalidInputError(
            f"{name} must be a non-empty one-dimensional array, found shape {array.shape}", argument=name
        )
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        found = plural(bad.size, "value that is", "values that are")
        raise InvalidInputError(f"{name} holds {found} NaN or infinite, the first at {bad[0]}", argument=name)
    return array


def as_scale(scale: ArrayLike) -> NDArray[np.float64]:
    """Check a rating scale and return it as an array.

    Parameters
    ----------
    scale : array-like of shape (R,)
        The values a rating can take.

    Returns
    -------
    ndarray of shape (R,), float64
        A copy of the scale.

    Raises
    ------
    ValueError
        If the scale is not one-dimensional, finite and strictly increasing, or has fewer than 2 or more than
        101 levels.

    Examples
    --------
    >>> as_scale([1, 2, 3])
    array([1., 2., 3.])
    """
    try:
        levels = np.array(scale, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"a scale is an increasing list of numbers, found {scale!r}", argument="scale"
        ) from error
    if levels.ndim != 1 or levels.size < 2:
        raise InvalidInputError(
            f"a scale is a list of at least two levels, found shape {levels.shape}: "
            "with a single level there is nothing to learn",
            argument="scale",
        )
    if not np.isfinite(levels).all() or (np.diff(levels) <= 0).any():
        raise InvalidInputError(f"a scale is finite and strictly increasing, found {some_of(levels)}", argument="scale")
    if levels.size > MAX_LEVELS:
        raise InvalidInputError(
            f"the scale has {levels.size} distinct values, at most {MAX_LEVELS} are possible: "
            "continuous ratings: bin them with cofactor.datasets.bin_ratings or pass levels"
        )
    return levels


def nearest_levels(values: ArrayLike, scale: ArrayLike) -> NDArray[np.uint8]:
    """Return the level (1..R) nearest to each value, the upper one halfway between two.

    Parameters
    ----------
    values : array-like
        Real values, also outside the scale.
    scale : array-like of shape (R,)
        The increasing levels.

    Returns
    -------
    ndarray of uint8
        Levels, of the shape of ``values``.

    Examples
    --------
    >>> nearest_levels([0.2, 3.5, 9], [1, 2, 3, 4, 5])
    array([1, 4, 5], dtype=uint8)
    """
    levels = as_scale(scale)
    steps = np.diff(levels)
    # A mean such as (0.1 + 0.2) / 2 may be rounded a little too low: it must still get the upper level.
    boundaries = levels[:-1] + steps / 2 - 1e-9 * steps
    found = np.searchsorted(boundaries, np.asarray(values, dtype=np.float64), side="left")
    return (found + 1).astype(np.uint8)


def to_levels(values: ArrayLike, scale: ArrayLike) -> NDArray[np.uint8]:
    """Return the level (1..R) of ratings that all lie on the scale.

    Parameters
    ----------
    values : array-like
        Ratings.
    scale : array-like of shape (R,)
        The increasing levels.

    Returns
    -------
    ndarray of uint8
        Levels, of the shape of ``values``.

    Raises
    ------
    ValueError
        If a rating is not on the scale, up to one ten-thousandth of its smallest step.

    Examples
    --------
    >>> to_levels([0.5, 5.0, 3.5], [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5])
    array([ 1, 10,  7], dtype=uint8)
    """
    checked, given = as_scale(scale), np.asarray(values, dtype=np.float64)
    ratings = given.reshape(-1)
    levels, off = np.empty(ratings.size, dtype=np.uint8), np.empty(ratings.size, dtype=np.bool_)
    for some in blocks(ratings.size):
        levels[some] = nearest_levels(ratings[some], checked)
        off[some] = ~(np.abs(checked[levels[some] - 1] - ratings[some]) <= _SAME * np.diff(checked).min())
    if off.any():
        found = some_of(np.unique(ratings[off]))
        raise InvalidInputError(
            f"{plural(np.count_nonzero(off), 'rating is', 'ratings are')} not on the scale {some_of(checked, 10)}, "
            f"found {found}",
            argument="scale",
            advice="correct them, or pass the levels that these data have",
        )
    return levels.reshape(given.shape)
