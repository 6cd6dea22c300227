"""Models that give every level a probability, and the ways to turn probabilities into ratings."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.threads import parallel_for
from cofactor.model.checks import check_choice, check_number
from cofactor.ratings.base import RatingModel

_PAIRS_PER_BLOCK = 1 << 14


class ProbabilityModel(RatingModel):
    r"""A rating model with a probability of every level, :math:`P(y_{ij} = r)`.

    `predict` turns probabilities into a level by the parameter ``decision``: the *median*, the lowest level r with
    :math:`P(y \le r) \ge 1/2`, has the least expected absolute error; the *mode* is right most often; the *mean* is the
    level nearest to the expected rating. `decision_function` is the expected rating itself, on the scale of the
    ratings, which has the least expected squared error.

    Subclasses give `_probabilities`; what else a `RatingModel` needs follows from it.
    """

    decision: str

    #: Ways to turn probabilities into a level.
    DECISIONS: ClassVar[tuple[str, ...]] = ("median", "mode", "mean")

    #: What ranks items: from the probabilities (n, R) of a block of pairs; None for the expected rating.
    _worth: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    @abstractmethod
    def _probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n, R): the probability of every level for each pair. Index -1 is someone unknown."""

    def _probability_block(self, users: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities (len(users) * n_items, R) of all items for some users, user by user."""
        items = np.arange(len(self.items_), dtype=np.int32)
        return self._probabilities(np.repeat(users, len(items)), np.tile(items, len(users)))

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of every level.

        Parameters
        ----------
        X : array of shape (n, 2), frame of two columns, or list of pairs
            User id and item id of each pair.

        Returns
        -------
        ndarray of shape (n, R)
            Rows sum to one; column r - 1 is the level r, the rating ``scale_[r - 1]``.
        """
        return self._all_probabilities(*self._indices(X))

    def _all_probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities of as many pairs as there may be."""
        return self._in_blocks(self._probabilities, users, items)

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        candidates: Any = None,
        at_least: float | None = None,
        quantile: float | None = None,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Recommend the items with the highest expected rating, or those that most likely are liked.

        Parameters
        ----------
        users, n, exclude_seen, candidates
            As in `RatingModel.recommend`.
        at_least : float, optional
            Rank by the probability of this rating or a higher one, and return it as score.
        quantile : float, optional
            Rank by this quantile of the rating, between 0 and 1; a high one, as 0.9, favours items whose rating is
            uncertain. Between levels it is interpolated, the probability of each spread evenly up to half way to its
            neighbours.

        Returns
        -------
        items, scores : ndarray of shape (k, n)
            As in `RatingModel.recommend`.
        """
        ranked = copy.copy(self)
        ranked._worth = self._criterion(at_least, quantile)
        return RatingModel.recommend(ranked, users, n, exclude_seen=exclude_seen, candidates=candidates)

    # ---------------------------------------------------------------- what follows from probabilities

    def _check_params(self) -> None:
        super()._check_params()
        check_choice("decision", self.decision, self.DECISIONS)

    def _margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return how far the probability of a level above each boundary exceeds one half."""
        p = self._probabilities(users, items)  # in one thread: `predict` has all of them at work on its blocks
        return 0.5 - np.cumsum(p, axis=1, dtype=np.float64)[:, :-1]

    def _decode(self, margins: NDArray[Any]) -> NDArray[np.int64]:
        if self.decision == "median":
            return super()._decode(margins)
        above = np.pad(margins + 0.5, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
        p = above[:, :-1] - above[:, 1:]
        if self.decision == "mode":
            return 1 + np.argmax(p, axis=1)
        middles = (self.scale_[1:] + self.scale_[:-1]) / 2
        return 1 + np.searchsorted(middles, expected(p, self.scale_), side="right")

    def _scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        return self._in_blocks(self._value, users, items)

    def _score_block(self, users: NDArray[Any]) -> NDArray[Any]:
        p = self._probability_block(users)
        return (expected(p, self.scale_) if self._worth is None else self._worth(p)).reshape(len(users), -1)

    def _value(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        return expected(self._probabilities(users, items), self.scale_)

    def _criterion(
        self, at_least: float | None, quantile: float | None
    ) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
        """Return what ranks items, a function of probabilities."""
        if at_least is not None and quantile is not None:
            raise InvalidInputError("at_least and quantile both say how to rank: give one of them")
        if at_least is not None:
            check_number("at_least", at_least, low=-np.inf)
            liked = self.scale_ >= at_least
            if not liked.any():
                highest = f" is above the highest rating, {self.scale_[-1]:g}"
                raise InvalidInputError((Argument("at_least", at_least), highest))
            if liked.all():
                lowest = f" says nothing: every rating is at least {self.scale_[0]:g}"
                raise InvalidInputError((Argument("at_least", at_least), lowest))
            return lambda p: expected(p, liked.astype(float))
        if quantile is not None:
            check_number("quantile", quantile, low=0, high=1)
            if quantile in (0, 1):
                raise InvalidInputError(
                    f"quantile={quantile!r} says nothing: expected a number between 0 and 1, such as 0.9"
                )
            middles = (self.scale_[1:] + self.scale_[:-1]) / 2
            edges = np.concatenate([self.scale_[:1], middles, self.scale_[-1:]])
            return lambda p: _quantiles(p, edges, quantile)
        return None

    def _in_blocks(
        self, function: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]], users: NDArray[Any], items: NDArray[Any]
    ) -> NDArray[Any]:
        """Return a function of many pairs, block by block, on all threads."""
        n_blocks = max(1, -(-len(users) // _PAIRS_PER_BLOCK))
        if n_blocks == 1:
            return function(users, items)
        parts: list[Any] = [None] * n_blocks

        def block(k: int) -> None:
            here = slice(k * _PAIRS_PER_BLOCK, (k + 1) * _PAIRS_PER_BLOCK)
            parts[k] = function(users[here], items[here])

        parallel_for(block, n_blocks)
        return np.concatenate(parts)


def expected(p: NDArray[Any], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ_r p_r values_r for each row, level by level: BLAS would round a row alone otherwise than among others.

    Examples
    --------
    >>> expected(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([1.0, 5.0]))
    array([3., 5.])
    """
    total = p[:, 0] * values[0]
    for level, value in zip(p.T[1:], values[1:], strict=True):
        total += level * value
    return np.asarray(total, dtype=np.float64)


def _quantiles(p: NDArray[Any], edges: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return where the distribution function of each row, straight between `edges`, reaches `share`."""
    upper = np.cumsum(p, axis=1)
    upper[:, -1] = 1
    level = np.argmax(upper >= share, axis=1)
    here = np.arange(len(p))
    inside = (share - (upper - p)[here, level]) / np.maximum(p[here, level], np.finfo(p.dtype).tiny)
    return edges[level] + np.clip(inside, 0, 1) * (edges[level + 1] - edges[level])
