"""What a fit produces to predict with: scores of pairs by index alone, and how scores become levels.

Some models give every level a probability, from which scores and measures by which items are ranked follow; others have
pairs of factor matrices, whose products plus biases are scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_number
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels import observed
from cofactor.model.times import seconds_of
from cofactor.ratings.blocks import Pairwise, each_block, pairs_per_block, rows_of
from cofactor.ratings.lookup import TimedUsers
from cofactor.ratings.topn import Ranking, Rescorer


class Criterion(Protocol):
    """How good items are, from the probabilities of their levels."""

    def __call__(self, p: NDArray[Any]) -> NDArray[Any]:
        """Return a number for each row of p, shape (n, R)."""


@dataclass(frozen=True)
class Expectation:
    """The mean of a number that belongs to each level: the rating, or whether it is liked.

    Attributes
    ----------
    weights : ndarray of shape (R,)
        These numbers.
    """

    weights: NDArray[np.float64]

    def __call__(self, p: NDArray[Any]) -> NDArray[Any]:
        """See `Criterion`."""
        return expected(p, self.weights)


def margins_of(p: NDArray[Any]) -> NDArray[np.float64]:
    """Return how far the probability of a level above each boundary exceeds one half, shape (n, R - 1).

    Examples
    --------
    >>> margins_of(np.array([[0.25, 0.5, 0.25]]))
    array([[ 0.25, -0.25]])
    """
    return 0.5 - np.cumsum(p, axis=1, dtype=np.float64)[:, :-1]


def expected(p: NDArray[Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ_r p_r values_r for each row, level by level: BLAS may round a row alone and among others differently.

    Examples
    --------
    >>> expected(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([1.0, 5.0]))
    array([3., 5.])
    """
    total = p[:, 0] * values[0]
    for level, value in zip(p.T[1:], values[1:], strict=True):
        total += level * value
    return np.asarray(total, dtype=np.float64)


def quantiles(p: NDArray[Any], edges: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return where the distribution function of each row, straight between `edges`, reaches `share`.

    Examples
    --------
    >>> quantiles(np.array([[0.5, 0.5]]), np.array([1.0, 1.5, 2.0]), 0.75)
    array([1.75])
    """
    upper = np.cumsum(p, axis=1)
    upper[:, -1] = 1
    level = np.argmax(upper >= share, axis=1)
    here = np.arange(len(p))
    inside = (share - (upper - p)[here, level]) / np.maximum(p[here, level], np.finfo(p.dtype).tiny)
    return edges[level] + np.clip(inside, 0, 1) * (edges[level + 1] - edges[level])


def in_blocks(function: Pairwise, users: NDArray[Any], items: NDArray[Any], n_levels: int) -> NDArray[Any]:
    """Return a function of many pairs, which holds a number for each level of each, block by block, on all threads."""
    size = pairs_per_block(n_levels)
    if len(users) <= size:
        return function(users, items)
    parts: list[Any] = [None] * -(-len(users) // size)

    def block(lo: int, hi: int) -> None:
        parts[lo // size] = function(users[lo:hi], items[lo:hi])

    each_block(block, len(users), size)
    return np.concatenate(parts)


def of_all_pairs(function: Pairwise, users: Any, items: NDArray[Any]) -> NDArray[Any]:
    """Return a function of pairs for all pairs of some users, or `TimedUsers`, and items, shape (len(users), m).

    Items are those of all users, shape (m,), or of each, shape (len(users), m).

    Examples
    --------
    >>> of_all_pairs(lambda users, items: 10 * users + items, np.array([1, 2]), np.array([3, 4, 5]))
    array([[13, 14, 15],
           [23, 24, 25]])
    """
    of_each = items if items.ndim == 2 else np.tile(items, (len(users), 1))  # kernels are compiled for their own arrays
    found = function(users[np.repeat(np.arange(len(users)), of_each.shape[1])], of_each.ravel())
    return found.reshape(of_each.shape)


def criterion_of(scale: NDArray[np.float64], at_least: float | None, quantile: float | None) -> Criterion | None:
    """Return what ranks items: a function of probabilities, or None for a model's own scores.

    Parameters
    ----------
    scale : ndarray of shape (R,)
    at_least : float or None
        Rank by the probability of this rating or a higher one.
    quantile : float or None
        Rank by this quantile of the rating.
    """
    if at_least is None and quantile is None:
        return None
    if at_least is not None and quantile is not None:
        raise InvalidInputError(
            (Argument("at_least"), " and ", Argument("quantile"), " both say how to rank: give one of them")
        )
    if at_least is not None:
        return _share_from(scale, at_least)
    return None if quantile is None else _quantile(scale, quantile)


def _share_from(scale: NDArray[np.float64], at_least: float) -> Criterion:
    check_number("at_least", at_least, low=-np.inf)
    liked = scale >= at_least
    if not liked.any():
        raise InvalidInputError(
            (Argument("at_least", at_least), f" is above the highest rating, {scale[-1]:g}"), argument="at_least"
        )
    if liked.all():
        raise InvalidInputError(
            (Argument("at_least", at_least), f" says nothing: every rating is at least {scale[0]:g}"),
            argument="at_least",
        )
    return Expectation(liked.astype(float))


def _quantile(scale: NDArray[np.float64], quantile: float) -> Criterion:
    check_number("quantile", quantile, low=0, high=1)
    if quantile in (0, 1):
        raise InvalidInputError(
            (Argument("quantile", quantile), " says nothing: expected a number between 0 and 1, such as 0.9"),
            argument="quantile",
        )
    half_way = (scale[1:] + scale[:-1]) / 2
    edges = np.concatenate([scale[:1], half_way, scale[-1:]])
    return lambda p: quantiles(p, edges, quantile)


@dataclass(frozen=True, eq=False)
class Scorer(ABC):
    """Scores of pairs; index -1 is an unknown user or item, and users may be `TimedUsers` where scores depend on time.

    Attributes
    ----------
    scale : ndarray of shape (R,)
        The values a rating can take.
    decision : LevelRule
        The rule that turns margins into levels.
    now : float, optional
        Where scores depend on time, the time that is taken where none is given.
    """

    scale: NDArray[np.float64]
    decision: LevelRule
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


def midpoints(scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return boundaries for scores that estimate ratings, which decode to the nearest level, of two the upper one.

    They lie half way between neighbouring levels, less the smallest step of float64, so that a score exactly half way
    counts as above.

    Examples
    --------
    >>> midpoints(np.array([1.0, 2.0, 4.0]))
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


class LevelRule(Protocol):
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
        """See `LevelRule`."""
        above = margins >= 0 if self.ties_up else margins > 0
        return 1 + np.count_nonzero(above, axis=1)


class FirstBelow:
    """The first boundary that the score does not reach: equation (3.18) of Kumar (2018)."""

    def levels(self, margins: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.int64]:
        """See `LevelRule`."""
        return first_below(margins)


class Mode:
    """The likeliest level, where margins are probabilities less one half."""

    def levels(self, margins: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.int64]:
        """See `LevelRule`."""
        return 1 + np.argmax(_probabilities(margins), axis=1)


class NearestToMean:
    """The level nearest to the expected rating, where margins are probabilities less one half."""

    def levels(self, margins: NDArray[Any], scale: NDArray[np.float64]) -> NDArray[np.int64]:
        """See `LevelRule`."""
        half_way = (scale[1:] + scale[:-1]) / 2
        return 1 + np.searchsorted(half_way, expected(_probabilities(margins), scale), side="right")


COUNT = Count()

#: Rules of models with probabilities, by the name that the parameter ``decision`` gives them. The median has the least
#: expected absolute error; the mode is right most often.
PROBABILITY_DECISIONS: dict[str, LevelRule] = {"median": COUNT, "mode": Mode(), "mean": NearestToMean()}


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


_FEW_USERS = 2  #: for whom scores of items cost less than a copy of their factors
_SPARSEST = 4  #: times as many items that may be scored then


@dataclass(frozen=True)
class FactorScores:
    """Scores x_ij = o + U_i·V_j + b_i + c_j.

    Attributes
    ----------
    U : ndarray of shape (n_users, d)
    V : ndarray of shape (n_items, d)
    user_bias : ndarray of shape (n_users,)
    item_bias : ndarray of shape (n_items,)
    offset : float or None
        The offset o.
    cold_user, cold_item : ndarray of shape (d,) or None
        Factors of users and items that were not in training; zeros where there are none.
    """

    U: NDArray[Any]
    V: NDArray[Any]
    user_bias: NDArray[Any]
    item_bias: NDArray[Any]
    offset: float | None = None
    cold_user: NDArray[Any] | None = None
    cold_item: NDArray[Any] | None = None

    def pairs(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the score of each pair, shape (n,). Index -1 is an unknown user or item."""
        U, users, b = _with_cold(self.U, users, self.user_bias, self.cold_user)
        V, items, c = _with_cold(self.V, items, self.item_bias, self.cold_item)
        out = np.empty(len(users), dtype=self.V.dtype)
        observed.pair_scores(0, len(users), users, items, U, V, b, c, out)
        return self._moved(out)

    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the scores of some items for some users, (len(users), len(items))."""
        rows, users = rows_of(items), users.astype(np.int32, copy=False)
        if not isinstance(rows, slice) and len(users) <= _FEW_USERS:
            first, end = int(items.min()), int(items.max()) + 1
            if end - first <= _SPARSEST * len(items):  # to score all between them takes less time than a copy of V
                return self.block(users, np.arange(first, end)).take(items - first, axis=1)
        table = np.empty((len(users), len(items)), dtype=self.V.dtype)
        observed.all_scores(users, self.U, self.V[rows], self.user_bias, self.item_bias[rows], table)
        return self._moved(table)

    def _moved(self, scores: NDArray[Any]) -> NDArray[Any]:
        return scores if self.offset is None else scores + scores.dtype.type(self.offset)

    def check(self) -> None:
        """Refuse arrays, read from a file, of several precisions, which kernels do not take."""
        check_number("the offset of scores", self.offset, low=-np.inf, also=[None])
        arrays = self.U, self.V, self.user_bias, self.item_bias, self.cold_user, self.cold_item
        kinds = {array.dtype.name for array in arrays if array is not None}
        if len(kinds) > 1:
            raise InvalidInputError(f"factors and biases must have one dtype, found {' and '.join(sorted(kinds))}")


@dataclass(frozen=True, eq=False)
class FactorScorer(Scorer):
    """Scores of factors, between boundaries.

    Attributes
    ----------
    factors : FactorScores
    boundaries : Boundaries
    estimate : callable, optional
        Makes a rating of a score, where boundaries lie between ratings and scores are no ratings.
    """

    factors: FactorScores
    boundaries: Boundaries
    estimate: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    def scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        found = self.factors.pairs(users, items)
        return found if self.estimate is None else self.estimate(found)

    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        found = self.factors.block(users, items)
        return found if self.estimate is None else self.estimate(found)

    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return self.boundaries.margins(self.scores(users, items), users)


def _with_cold(
    factors: NDArray[Any], index: NDArray[Any], bias: NDArray[Any], cold: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return factors, indices and biases with one row more for unknown ones, where these have factors at all."""
    if cold is None or (index >= 0).all():
        return factors, index, bias
    rows = np.vstack([factors, cold.astype(factors.dtype, copy=False)])
    return rows, np.where(index < 0, len(factors), index), np.append(bias, bias.dtype.type(0))


# ---------------------------------------------------------------- where fits of factors begin

#: Standard deviation of the entries of U and V at the start. Zero is a stationary point, so it must not be tiny;
#: on MovieLens 100K, .05 to .3 reach the same objective in the same number of iterations.
START_SCALE = 0.1


def first_users(
    counts: NDArray[np.int64], d: int, n_levels: int, generator: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Return the arrays U, b and own of users with so many ratings.

    For users without ratings the objective is the penalty alone: zero is their optimum, and they start there.
    """
    own = np.tile(np.arange(1, n_levels) - n_levels / 2, (len(counts), 1))
    return {"U": _factors(counts, d, generator), "b": np.zeros(len(counts)), "own": own}


def first_items(counts: NDArray[np.int64], d: int, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Return the arrays V and c of items with so many ratings, likewise."""
    return {"V": _factors(counts, d, generator), "c": np.zeros(len(counts))}


def _factors(counts: NDArray[np.int64], d: int, generator: np.random.Generator) -> NDArray[np.float32]:
    return generator.normal(0, START_SCALE, (len(counts), d)).astype(np.float32) * (counts > 0)[:, None]
