"""Scores of several methods on several data sets: what tables show and tests compare."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from cofactor.errors import InvalidInputError

__all__ = ["Scores"]

_DIGITS = 12  # significant digits that count: sums in another order must not break a tie


class Scores:
    """A table of scores, data sets × methods, and which direction is better.

    Parameters
    ----------
    values : array-like of shape (n_data, n_methods)
        One number for each data set (or split of one data set) and method; NaN where there is none. Numbers that
        agree to 12 significant digits of the largest one are equal.
    methods : sequence of str
        Names of the columns.
    data : sequence of str, optional
        Names of the rows; by default ``"1"``, ``"2"``, ...
    greater_is_better : bool, keyword
        False for errors and losses.

    Attributes
    ----------
    values, methods, data, greater_is_better
        What was given; the values read-only.
    ranks : ndarray of shape (n_data, n_methods)
        Rank of each method on each data set, 1 for the best; tied methods share the average of their ranks. NaN in rows
        that miss a score.

    Raises
    ------
    ValueError
        If the names do not fit the values, a name occurs twice, or a score is infinite.

    Examples
    --------
    >>> errors = [[0.71, 0.74, 0.74], [0.68, 0.66, 0.70], [0.90, float("nan"), 0.80]]
    >>> scores = Scores(errors, ["HMF", "MMMF", "ALS"], ["ml-100k", "ml-1m", "toy"], greater_is_better=False)
    >>> scores.ranks
    array([[1. , 2.5, 2.5],
           [2. , 1. , 3. ],
           [nan, nan, nan]])
    >>> scores.complete.data, scores.left_out
    (('ml-100k', 'ml-1m'), ('toy',))
    """

    def __init__(
        self, values: ArrayLike, methods: Sequence[str], data: Sequence[str] | None = None, *, greater_is_better: bool
    ) -> None:
        table = np.array(values, dtype=np.float64)
        if table.ndim != 2 or not table.size:
            raise InvalidInputError(
                f"values must be a table, data sets × methods, found shape {table.shape}", argument="values"
            )
        names = tuple(methods)
        rows = tuple(data) if data is not None else tuple(str(k + 1) for k in range(len(table)))
        for what, found, n in (("methods", names, table.shape[1]), ("data", rows, len(table))):
            if len(found) != n:
                raise InvalidInputError(
                    f"values has shape {table.shape}, but {what} has {len(found)} names", argument="values"
                )
            if len(set(found)) < n:
                twice = next(name for name in found if found.count(name) > 1)
                raise InvalidInputError(f"{what} must differ, found {twice!r} twice")
        if np.isinf(table).any():
            row, column = np.argwhere(np.isinf(table))[0]
            raise InvalidInputError(f"the score of {names[column]} on {rows[row]} is infinite: leave it out as NaN")
        table.flags.writeable = False
        self.values: NDArray[np.float64] = table
        self.methods: tuple[str, ...] = names
        self.data: tuple[str, ...] = rows
        self.greater_is_better = greater_is_better

    def __repr__(self) -> str:
        return f"Scores({len(self.data)} data sets × {len(self.methods)} methods: {', '.join(self.methods)})"

    @cached_property
    def _gaps(self) -> NDArray[np.bool_]:
        return np.asarray(np.isnan(self.values).any(axis=1))

    @cached_property
    def decimals(self) -> int:
        """Decimals that count, in scores and their differences."""
        largest = np.abs(np.nan_to_num(self.values)).max()
        return _DIGITS - 1 - int(np.floor(np.log10(largest))) if largest > 0 else _DIGITS

    @cached_property
    def ranks(self) -> NDArray[np.float64]:
        """Rank of each method on each data set."""
        losses = np.round(-self.values if self.greater_is_better else self.values, self.decimals)
        return np.asarray(rankdata(losses, axis=1, nan_policy="propagate"))

    @property
    def complete(self) -> Scores:
        """The data sets on which every method has a score."""
        kept = ~self._gaps
        if not kept.any():
            raise InvalidInputError(f"no data set has a score of every method: {', '.join(self.methods)}")
        rows = [name for name, whole in zip(self.data, kept, strict=True) if whole]
        return Scores(self.values[kept], self.methods, rows, greater_is_better=self.greater_is_better)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The other data sets."""
        return tuple(name for name, gap in zip(self.data, self._gaps, strict=True) if gap)

    def only(self, *methods: str) -> Scores:
        """Return the scores of these methods alone, in this order.

        Raises
        ------
        ValueError
            If there is no such method.
        """
        for name in methods:
            if name not in self.methods:
                raise InvalidInputError(f"there is no method {name!r}, only {', '.join(self.methods)}")
        columns = [self.methods.index(name) for name in methods]
        return Scores(self.values[:, columns], methods, self.data, greater_is_better=self.greater_is_better)

    def gains(self, first: str, second: str) -> NDArray[np.float64]:
        """Return how much better the first method is than the second, on each data set."""
        one, other = self.only(first, second).values.T
        gained = one - other if self.greater_is_better else other - one
        return np.round(gained, self.decimals)
