"""What numbers look like: counts, stars, or zeros that mean that there is no rating."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.columns import Column
from cofactor.errors import Argument, InputWarning
from cofactor.limits import MAX_LEVELS

__all__ = ["looks_like_ratings", "warn_of_counts", "warn_of_zeros"]

#: Zeros may mean "no rating" where they are most of the ratings, and the next one is much rarer, or far away.
_MOST, _RARER = 0.5, 0.1
#: Distinct ratings, which may be counts: of any numbers, and of whole ones from 1 on.
_MANY, _MANY_WHOLE = 20, 10
_ENOUGH = 20  # values, so that their frequencies say something
_MOST_STARS = 10.0  # the highest rating of usual scales
_FEW = 0.2  # share of ones below which small whole numbers are no counts


def looks_like_ratings(values: Any) -> bool:
    """Whether these are stars rather than counts: few levels up to ten, in halves, or the lowest one a rare one.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers.

    Examples
    --------
    >>> stars, plays = np.repeat([1.0, 2, 3, 4, 5], [6, 11, 27, 34, 21]), np.repeat([1.0, 2, 3, 4], [60, 20, 10, 9])
    >>> looks_like_ratings(stars), looks_like_ratings(plays), looks_like_ratings(stars / 2)
    (True, False, True)
    """
    levels, counts = np.unique(values[values > 0], return_counts=True)
    if len(values) < _ENOUGH or not 3 <= len(levels) <= 2 * _MOST_STARS or levels[-1] > _MOST_STARS:
        return False
    if (levels % 0.5 != 0).any():
        return False  # weights of some kind
    return bool((levels % 1 != 0).any() or counts[0] < _FEW * counts.sum())


def warn_of_zeros(y: NDArray[np.float64]) -> None:
    """Warn if 0 seems to mean that there is no rating: most are 0, and the next level is far away or rare."""
    if np.count_nonzero(y == 0) < _MOST * len(y):
        return
    levels, counts = np.unique(y, return_counts=True)
    if not 4 <= len(levels) <= MAX_LEVELS or levels[0] != 0:
        return
    gap = levels[1] > np.diff(levels[1:]).min()
    if not gap and counts[1] > _RARER * counts[0]:
        return
    share = f"{counts[0] / len(y) * 100:.1f} % of the ratings are 0, far from the others"
    advice = (": if 0 means that there is no rating, leave these out with ", Argument("drop_rating", 0))
    warnings.warn(InputWarning((share, *advice)), stacklevel=4)


def warn_of_counts(y: NDArray[np.float64], levels: NDArray[np.float64], column: Column) -> None:
    """Warn of ratings that look like counts; of columns of this name, or at this position."""
    if not _look_like_counts(y, levels):
        return
    low, high = levels[0], levels[-1]
    found = f"the ratings look like counts, with {len(levels)} distinct ones, most near {low:g} and some up to {high:g}"
    read = ("; ", Argument("count", column), " takes them as such, of clicks, plays or purchases, and ")
    cut = (Argument("bins", 5), " with ", Argument("bin_by", "quantile"), " makes levels of them")
    warnings.warn(InputWarning((found, *read, *cut)), stacklevel=4)


def _look_like_counts(y: NDArray[np.float64], levels: NDArray[np.float64]) -> bool:
    """Whether there are many levels with a long tail.

    That is: three quarters lie in the lowest fifth of the range; or, of whole numbers from 1 on, half in its lowest
    quarter.

    Examples
    --------
    >>> plays, marks = np.array([1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 9, 14, 30, 41.0]), np.arange(1.0, 13)
    >>> _look_like_counts(plays, np.unique(plays)), _look_like_counts(marks, marks)
    (True, False)
    """
    low, high = levels[0], levels[-1]
    if low == 1 and len(levels) > _MANY_WHOLE and not (levels % 1).any():
        return bool(np.median(y) <= low + (high - low) / 4)
    return len(levels) > _MANY and bool(np.quantile(y, 0.75) <= low + (high - low) / 5)
