"""What splitters need to know of rows: how many there are, and a value for each."""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import indexable

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.frames import as_series
from cofactor.model.times import is_missing, seconds_of
from cofactor.text import counted

__all__ = ["Rows", "check_part", "column_of", "held_out_counts", "n_rows"]

Rows: TypeAlias = NDArray[np.int64]
"""Numbers of rows."""


def column_of(values: Any, n: int, argument: str) -> NDArray[Any]:
    """Return n values that can be sorted, none of which is missing."""
    series = as_series(values)
    table = np.asarray(values) if series is None else series.to_numpy()
    if table.shape != (n,):
        raise InvalidInputError(
            f"{argument} has shape {table.shape}, expected ({n},): one for each row", argument=argument
        )
    if table.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in table.tolist()], dtype=bool)
        if not missing.any():
            kinds = {isinstance(value, str) for value in table.tolist()}
            table = table.astype(str) if kinds == {True} else _comparable(table, argument)
    else:
        missing = np.isnat(table) if table.dtype.kind in "mM" else table != table
    if np.any(missing):
        raise InvalidInputError(
            f"{argument}: missing for {counted(int(np.sum(missing)), 'row')}, the first is {int(np.argmax(missing))}",
            argument=argument,
        )
    return table


def _comparable(table: NDArray[Any], argument: str) -> NDArray[Any]:
    """Return objects as numbers or dates."""
    found = np.array(table.tolist())
    if found.dtype.kind not in "biufmM":
        try:
            return seconds_of(table, name=argument)
        except InvalidTypeError as error:
            raise InvalidInputError(
                f"{argument} must be numbers, dates or strings, not a mixture", argument=argument
            ) from error
    return found


def n_rows(X: Any) -> int:
    """Return the number of rows of a table, or of a list of them."""
    (X,) = indexable(X)
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def check_part(test_size: Any) -> None:
    """Refuse what is no part of the rows."""
    check_number("test_size", test_size, low=0, inclusive=False)
    if test_size >= 1:
        raise InvalidInputError("expected a part of the rows, below 1", argument="test_size", found=test_size)


def held_out_counts(counts: Rows, test_size: Any) -> Rows:
    """Return how many rows of each user to hold out: a part of them, rounded, or a number; at most all but one.

    Examples
    --------
    >>> held_out_counts(np.array([1, 2, 10, 100]), 0.2), held_out_counts(np.array([1, 2, 10]), 5)
    (array([ 0,  1,  2, 20]), array([0, 1, 5]))
    """
    if isinstance(test_size, Integral):
        check_number("test_size", test_size, low=1, whole=True)
        wanted = np.full_like(counts, int(test_size))
    else:
        check_part(test_size)
        wanted = np.maximum(np.floor(test_size * counts + 0.5 + 1e-9).astype(np.int64), 1)
    return np.minimum(wanted, counts - 1)
