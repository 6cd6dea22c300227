"""Means of a measure over users, with their errors, and differences between methods over the same users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from cofactor.errors import InvalidInputError

_WIDE = 1.959963984540054  #: standard errors on both sides of the mean, for 95 %


@dataclass(frozen=True)
class UserMean:
    """A mean over users, with its standard error.

    Attributes
    ----------
    mean : float
        NaN if no user has a value.
    error : float
        Standard error of the mean, the sample deviation over the square root of n; NaN for fewer than two users.
    n : int
        Number of users that count.

    Examples
    --------
    >>> from cofactor.metrics import user_mean
    >>> found = user_mean([0.1, 0.2, 0.3])
    >>> round(found.mean, 3), found.n
    (0.2, 3)
    """

    mean: float
    error: float
    n: int

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the confidence interval of 95 %, by the normal distribution."""
        return self.mean - _WIDE * self.error, self.mean + _WIDE * self.error

    @property
    def is_clear(self) -> bool:
        """Whether the mean differs from 0 by more than twice its standard error."""
        return bool(abs(self.mean) > 2 * self.error)


def user_mean(values: ArrayLike, undefined: Literal[0, "skip"] = "skip") -> UserMean:
    """Return the mean of a measure over users, and its standard error.

    Parameters
    ----------
    values : array-like of shape (n,)
        A value for each user, NaN for users who have none.
    undefined : {"skip", 0}, default="skip"
        Leave users without a value out, or count them as 0.

    Examples
    --------
    >>> found = user_mean([0.2, 0.4, float("nan")])
    >>> round(found.mean, 3), round(found.error, 3), found.n
    (0.3, 0.1, 2)
    >>> user_mean([0.2, 0.4, float("nan")], undefined=0).n
    3
    """
    if undefined != "skip" and (isinstance(undefined, str) or undefined != 0):
        raise InvalidInputError("expected 0 or 'skip'", argument="undefined", found=undefined)
    table = np.asarray(values, dtype=np.float64)
    kept = table[~np.isnan(table)] if undefined == "skip" else np.nan_to_num(table)
    if not kept.size:
        return UserMean(np.nan, np.nan, 0)
    error = float(np.std(kept, ddof=1) / np.sqrt(kept.size)) if kept.size > 1 else np.nan
    return UserMean(float(kept.mean()), error, int(kept.size))


def user_difference(first: ArrayLike, second: ArrayLike, undefined: Literal[0, "skip"] = "skip") -> UserMean:
    """Return by how much one method is above another, over the same users, with the standard error of that.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        Values of the same users by two methods. With "skip", users without a value of one of them are left out.
    undefined : {"skip", 0}, default="skip"
        As in `user_mean`.

    Examples
    --------
    >>> found = user_difference([0.3, 0.5, 0.7], [0.2, 0.3, 0.6])
    >>> round(found.mean, 3), round(found.error, 3), found.is_clear
    (0.133, 0.033, True)
    """
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    if one.shape != other.shape:
        raise InvalidInputError(f"found {one.shape[0]} users and {other.shape[0]}: give values of the same users")
    if undefined == 0:
        one, other = np.nan_to_num(one), np.nan_to_num(other)
    return user_mean(one - other, undefined)
