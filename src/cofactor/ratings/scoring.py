"""What a fit produces to predict with: scores of pairs by index alone, and how scores become levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.model.times import seconds_of
from cofactor.ratings.blocks import pairs_per_block
from cofactor.ratings.lookup import TimedUsers
from cofactor.ratings.probability import Criterion, Expectation, Pairwise, expected, in_blocks, margins_of, of_all_pairs
from cofactor.ratings.topn import Ranking, Rescorer

__all__ = [
    "COUNT",
    "PROBABILITY_DECISIONS",
    "Boundaries",
    "CommonBoundaries",
    "Count",
    "Decision",
    "FirstBelow",
    "Mode",
    "NearestToMean",
    "ProbabilityScorer",
    "Scorer",
    "UserBoundaries",
    "absolute_errors",
    "first_below",
    "half_way",
]


@dataclass(frozen=True, eq=False)
class Scorer(ABC):
    """Scores of pairs; index -1 is an unknown user or item, and users may be `TimedUsers` where scores depend on time.

    Attributes
    ----------
    scale : ndarray of shape (R,)
        The values a rating can take.
    decision : Decision
        The rule that turns margins into levels.
    now : float, optional
        Where scores depend on time, the time that is taken where none is given.
    """

    scale: NDArray[np.float64]
    decision: Decision
    now: float | None = field(default=None, kw_only=True)

    @abstractmethod
    def scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n,): the score of each pair, which ranks the items of a user."""

    @abstractmethod
    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the scores (len(users), len(items)) of some items for some users."""

    @abstractmethod
    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n, R - 1): how far each pair's score lies above each boundary between levels."""

    def levels(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.int64]:
        """Return the level 1..R of each pair."""
        return self.decision.levels(self.margins(users, items), self.scale)

    def ratings(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.float64]:
        """Return the rating of each of as many pairs as there may be."""
        return np.asarray(self.scale[self.in_blocks(self.levels, users, items) - 1])

    def ranking(self, criterion: Criterion | None) -> Ranking:
        """Return what items are ranked by: scores, or another measure of the probabilities of levels."""
        return Ranking(self.block, pairs_per_block(len(self.scale)))

    def at(self, users: NDArray[np.int32], time: Any) -> Any:
        """Return users at times, one for all or one for each; without times the users.

        Parameters
        ----------
        users : ndarray of shape (n,), int32
            Indices.
        time : array-like of shape (n,), number, date, or None
            Refused where scores do not depend on it.
        """
        if time is None:
            return users
        if self.now is None:
            raise InvalidInputError(
                "this model predicts the same at any time",
                argument="time",
                advice="leave it out, or fit an OrdinalProbit(time=True) with times",
            )
        one = np.ndim(time) == 0
        seconds = seconds_of([time] if one else time, None if one else len(users))
        return TimedUsers(users, np.broadcast_to(seconds, len(users)))

    def in_blocks(self, function: Pairwise, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return a function of many pairs, block by block, on all threads."""
        return in_blocks(function, users, items, len(self.scale))


@dataclass(frozen=True, eq=False)
class ProbabilityScorer(Scorer):
    """Scores that follow from the probability of every level; a margin is how far that above exceeds one half."""

    @property
    def rough(self) -> bool:
        """Whether blocks are rough, so that those of the best items are computed again."""
        return False

    @abstractmethod
    def probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n, R): the probability of every level for each pair."""

    def all_probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities of as many pairs as there may be."""
        return self.in_blocks(self.probabilities, users, items)

    def scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n,): the expected rating of each pair."""
        return self.in_blocks(lambda *pairs: expected(self.probabilities(*pairs), self.scale), users, items)

    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return self.criterion_block(users, items, Expectation(self.scale))

    def criterion_block(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion) -> NDArray[Any]:
        """Return how good some items are for some users, by another measure than scores."""
        return of_all_pairs(lambda *pairs: criterion(self.probabilities(*pairs)), users, items)

    def rescore(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion | None) -> NDArray[Any]:
        """Return numbers nearer to the exact ones, of some items of each user, (len(users), m) as `items`."""
        if criterion is None:
            return of_all_pairs(self.scores, users, items)
        return self.criterion_block(users, items, criterion)

    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return margins_of(self.probabilities(users, items))  # in this thread: `ratings` runs its blocks in all threads

    def ranking(self, criterion: Criterion | None) -> Ranking:
        """See `Scorer`."""
        block = self.block if criterion is None else partial(self.criterion_block, criterion=criterion)
        n_pairs = pairs_per_block(len(self.scale))
        if not self.rough:
            return Ranking(block, n_pairs)

        def exact(users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
            if criterion is None:
                return self.scores(users, items)
            return self.in_blocks(lambda *pairs: criterion(self.probabilities(*pairs)), users, items)

        return Ranking(block, n_pairs, Rescorer(partial(self.rescore, criterion=criterion), exact))


# ---------------------------------------------------------------- boundaries between levels


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


# ---------------------------------------------------------------- rules that choose levels


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
