"""Boundaries between levels: of every user, or the same for all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Boundaries", "CommonBoundaries", "UserBoundaries", "absolute_errors", "half_way"]


class Boundaries(Protocol):
    """Where on the line of scores one level ends and the next begins."""

    def margins(self, scores: NDArray[Any], users: NDArray[Any]) -> NDArray[Any]:
        """Return (n, R - 1): how far the score of each pair lies above each boundary. User -1 is unknown."""


@dataclass(frozen=True)
class UserBoundaries:
    """Boundaries that each user has for themselves.

    Attributes
    ----------
    own : ndarray of shape (n_users, R - 1)
    common : ndarray of shape (R - 1,)
        For unknown users.
    """

    own: NDArray[Any]
    common: NDArray[Any]

    def margins(self, scores: NDArray[Any], users: NDArray[Any]) -> NDArray[Any]:
        """See `Boundaries`."""
        boundaries = self.own[users]
        boundaries[users < 0] = self.common
        return np.asarray(scores[:, None] - boundaries)


@dataclass(frozen=True)
class CommonBoundaries:
    """Boundaries that are the same for all.

    Attributes
    ----------
    values : ndarray of shape (R - 1,)
    """

    values: NDArray[np.float64]

    def margins(self, scores: NDArray[Any], users: NDArray[Any]) -> NDArray[Any]:
        """See `Boundaries`."""
        return np.asarray(scores[:, None] - self.values)


def half_way(scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return boundaries for scores that estimate ratings, which decode to the nearest level, of two the upper one.

    They lie half way between neighbouring levels, less the smallest step of float64, so that a score exactly half way
    counts as above.

    Examples
    --------
    >>> half_way(np.array([1.0, 2.0, 4.0]))
    array([1.5, 3. ])
    """
    return np.asarray(np.nextafter((scale[1:] + scale[:-1]) / 2, -np.inf))


def absolute_errors(found: NDArray[Any], true: NDArray[Any], n_levels: int) -> NDArray[np.float64]:
    """Return how many levels estimates are off, as a share of the most possible.

    It is the error by which models choose alpha whose loss cares for large errors above all: the share of wrong levels
    hardly changes with alpha there.

    Examples
    --------
    >>> absolute_errors(np.array([1, 5]), np.array([1, 3], dtype=np.uint8), 5)
    array([0. , 0.5])
    """
    return np.asarray(np.abs(found - true.astype(np.int64)) / (n_levels - 1))
