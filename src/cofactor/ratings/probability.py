"""Models that give every level a probability, and what follows from probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_number
from cofactor.errors import Argument, InvalidInputError
from cofactor.ratings.blocks import each_block, pairs_per_block

__all__ = [
    "Criterion",
    "Expectation",
    "Pairwise",
    "criterion_of",
    "expected",
    "in_blocks",
    "margins_of",
    "of_all_pairs",
    "quantiles",
]

Pairwise = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


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
