"""Rules that turn margins, how far a score lies above each boundary between levels, into a level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.probability import expected

__all__ = ["COUNT", "PROBABILITY_DECISIONS", "Count", "Decision", "FirstBelow", "Mode", "NearestToMean", "first_below"]


class Decision(Protocol):
    """A rule that chooses levels."""

    def levels(self, margins: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the level 1..R of each row of margins, shape (n, R - 1)."""


@dataclass(frozen=True)
class Count:
    """One more than the number of boundaries below the score.

    For margins that are probabilities less one half, this is the median level.

    Attributes
    ----------
    ties_up : bool
        Whether a score exactly at a boundary counts as above it.

    Examples
    --------
    >>> Count().levels(np.array([[0.3, 0.0, -0.1]]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([2])
    >>> Count(ties_up=True).levels(np.array([[0.3, 0.0, -0.1]]), np.array([1.0, 2.0, 3.0, 4.0]))
    array([3])
    """

    ties_up: bool = False

    def levels(self, margins: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.int64]:
        """See `Decision`."""
        above = margins >= 0 if self.ties_up else margins > 0
        return 1 + np.count_nonzero(above, axis=1)


class FirstBelow:
    """The first boundary that the score does not reach: equation (3.18) of Kumar (2018)."""

    def levels(self, margins: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.int64]:
        """See `Decision`."""
        return first_below(margins)


class Mode:
    """The likeliest level, where margins are probabilities less one half."""

    def levels(self, margins: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.int64]:
        """See `Decision`."""
        return 1 + np.argmax(_probabilities(margins), axis=1)


class NearestToMean:
    """The level nearest to the expected rating, where margins are probabilities less one half."""

    def levels(self, margins: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.int64]:
        """See `Decision`."""
        half_way = (scale[1:] + scale[:-1]) / 2
        return 1 + np.searchsorted(half_way, expected(_probabilities(margins), scale), side="right")


COUNT = Count()

#: Rules of models with probabilities, by the name that the parameter ``decision`` gives them. The median has the least
#: expected absolute error; the mode is right most often.
PROBABILITY_DECISIONS: dict[str, Decision] = {"median": COUNT, "mode": Mode(), "mean": NearestToMean()}


def _probabilities(margins: NDArray[Any]) -> NDArray[Any]:
    """Return the probability of each level, (n, R), from the probabilities above boundaries less one half."""
    above = np.pad(margins + 0.5, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
    return np.asarray(above[:, :-1] - above[:, 1:])


def first_below(margins: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first stage with a negative margin, or one more than the number of stages where there is none.

    This is equation (3.18) of Kumar (2018).

    Parameters
    ----------
    margins : ndarray of shape (n, R - 1)
        Score minus threshold of each stage.

    Returns
    -------
    ndarray of shape (n,), int64
        Levels 1..R.

    Examples
    --------
    >>> first_below(np.array([[0.3, -0.1, 0.2], [0.1, 0.0, 0.5]]))
    array([2, 4])
    """
    negative = margins < 0
    return np.where(negative.any(axis=1), np.argmax(negative, axis=1) + 1, margins.shape[1] + 1)
