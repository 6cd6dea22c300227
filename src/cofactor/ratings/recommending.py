"""What ranks the items to recommend, and the search for the best of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError
from cofactor.model.checks import check_number
from cofactor.ratings.probability import expected, quantiles

__all__ = ["Criterion", "criterion_of", "largest"]

#: How good items are, from the probabilities of their levels, shape (n, R).
Criterion = Callable[[NDArray[Any]], NDArray[Any]]


def criterion_of(scale: NDArray[np.float64], at_least: float | None, quantile: float | None) -> Criterion | None:
    """Return what ranks items: a function of probabilities, or None for a model's own scores.

    Parameters
    ----------
    scale : ndarray of shape (R,)
        The values a rating can take.
    at_least : float or None
        Rank by the probability of this rating or a higher one.
    quantile : float or None
        Rank by this quantile of the rating.

    Examples
    --------
    >>> criterion = criterion_of(np.array([1.0, 2.0, 3.0]), 2, None)
    >>> criterion(np.array([[0.5, 0.25, 0.25]]))
    array([0.5])
    """
    if at_least is not None and quantile is not None:
        raise InvalidInputError(
            (Argument("at_least"), " and ", Argument("quantile"), " both say how to rank: give one of them")
        )
    if at_least is not None:
        return _share_from(scale, at_least)
    if quantile is not None:
        return _quantile(scale, quantile)
    return None


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
    weights = liked.astype(float)
    return lambda p: expected(p, weights)


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


def largest(table: NDArray[Any], n: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return column and value of the n largest entries of each row, best first, ties by column.

    Examples
    --------
    >>> columns, values = largest(np.array([[1.0, 3.0, 3.0, 2.0]]), 2)
    >>> columns, values
    (array([[1, 2]]), array([[3., 3.]]))
    """
    if n < table.shape[1]:
        part = np.argpartition(table, table.shape[1] - n, axis=1)[:, table.shape[1] - n :]
        worst = np.take_along_axis(table, part, axis=1).min(axis=1)
        tied = np.count_nonzero(table >= worst[:, None], axis=1) > n  # then a partition takes any of them
        part[tied] = np.argsort(-table[tied], axis=1, kind="stable")[:, :n]
        part.sort(axis=1)
    else:
        part = np.broadcast_to(np.arange(table.shape[1]), table.shape)
    values = np.take_along_axis(table, part, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(part, order, axis=1), np.take_along_axis(values, order, axis=1)
