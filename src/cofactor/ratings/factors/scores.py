"""Pairs of factor matrices: where fits begin, and their scores, products plus biases and an offset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.kernels import observed
from cofactor.ratings.blocks import rows_of
from cofactor.ratings.scoring import Boundaries, Scorer

__all__ = ["FactorScorer", "FactorScores", "first_items", "first_users"]


#: Standard deviation of the entries of U and V at the start. Zero is a stationary point, so it must not be tiny;
#: on MovieLens 100K, .05 to .3 reach the same objective in the same number of iterations.
START_SCALE = 0.1

Arrays = dict[str, NDArray[np.float32] | NDArray[np.float64]]


def first_users(counts: NDArray[np.int64], d: int, n_levels: int, generator: np.random.Generator) -> Arrays:
    """Return the arrays U, b and own of users with so many ratings.

    For users without ratings the objective is the penalty alone: zero is their optimum, and they start there.
    """
    own = np.tile(np.arange(1, n_levels) - n_levels / 2, (len(counts), 1))
    return {"U": _factors(counts, d, generator), "b": np.zeros(len(counts)), "own": own}


def first_items(counts: NDArray[np.int64], d: int, generator: np.random.Generator) -> Arrays:
    """Return the arrays V and c of items with so many ratings, likewise."""
    return {"V": _factors(counts, d, generator), "c": np.zeros(len(counts))}


def _factors(counts: NDArray[np.int64], d: int, generator: np.random.Generator) -> NDArray[np.float32]:
    return generator.normal(0, START_SCALE, (len(counts), d)).astype(np.float32) * (counts > 0)[:, None]


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
        table = np.empty((len(users), len(items)), dtype=self.V.dtype)
        rows, users = rows_of(items), users.astype(np.int32, copy=False)
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
