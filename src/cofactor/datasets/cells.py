"""The one validator of tables: columns as ids, numbers, times and labels; an error names file, row and column."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from math import floor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cofactor.columns import ColumnsError
from cofactor.datasets.table import Cells, Table, Words
from cofactor.errors import Argument, InputWarning, InvalidInputError, Text
from cofactor.recipe import truth_of
from cofactor.text import is_number, seconds_of_date

__all__ = [
    "IdMode",
    "feature_cells",
    "finite_cells",
    "ids_of",
    "label_of",
    "numbers_of",
    "partly_known_label",
    "stack_pairs",
    "times_of",
]

IdMode = Literal["auto", "int", "str", "each"]

_INTEGER = re.compile(r"-?[1-9][0-9]{0,18}|0")  # longer ones do not fit into 64 bits
_INT64 = np.iinfo(np.int64)
_NO_VALUE = {"", "na", "n/a", "nan", "null", "none", "?"}  # what stands for a missing number, in any case


def ids_of(table: Table, position: int, mode: IdMode, what: str = "id") -> NDArray[np.int64] | NDArray[np.object_]:
    """Return the ids of a column, as int64 if every cell is an integer, otherwise as objects.

    Parameters
    ----------
    table : Table
        What was read.
    position : int
        Which column.
    mode : {"auto", "int", "str", "each"}
        As in `read_ratings`.
    what : str
        What messages call such a cell, for example "user id".
    """
    words = table.words(position) if mode == "str" else table.ids(position)
    if isinstance(words, np.ndarray):
        return words
    gap = words.first_row(lambda cell: not cell)
    if gap is not None:
        raise InvalidInputError(f"the {what} is empty", place=table.place(gap, position))
    if words.merged is not None:
        text = f"{table.column_place(position)}: the {what} {words.merged!r} counts as {words.merged.strip()!r}: "
        warnings.warn(InputWarning(text + "blanks around cells are left out"), stacklevel=4)
    numbers = {} if mode == "str" else _integers(words.values)
    if len(numbers) == len(words.values):
        return np.array([numbers[cell] for cell in words.values], dtype=np.int64)[words.codes]
    if mode == "int":
        row = words.first_row(lambda cell: cell not in numbers)
        assert row is not None
        raise InvalidInputError(
            f"the {what} must be an integer, found {words.at(row)!r}", place=table.place(row, position)
        )
    ids = np.empty(len(words.values), dtype=object)
    ids[:] = [numbers.get(cell, cell) for cell in words.values] if mode == "each" else words.values
    return ids[words.codes]


def _integers(cells: list[str]) -> dict[str, int]:
    """Values of those cells which are written as integers (7, not 007 and not 7.0) and fit into 64 bits."""
    found = {cell: int(cell) for cell in cells if _INTEGER.fullmatch(cell)}
    return {cell: value for cell, value in found.items() if _INT64.min <= value <= _INT64.max}


def _dates(cells: list[str]) -> dict[str, int]:
    """Whole seconds since 1970 of those cells which are dates."""
    found = {}
    for cell in cells:
        with suppress(ValueError):
            found[cell] = floor(seconds_of_date(cell))
    return found


def numbers_of(table: Table, position: int) -> NDArray[np.float64]:
    """Return the numbers of a column, finite or not; a cell which is no number is an error."""
    found = table.cells(position)
    if not isinstance(found, Words):
        return found
    if table.typed:
        raise InvalidInputError("is text, expected numbers", place=table.column_place(position))
    row = found.first_row(lambda cell: not is_number(cell))
    if row is not None:
        cell = found.at(row)
        hint = " (write decimals with a point)" if is_number(cell.replace(",", ".", 1)) else ""
        kind = InvalidInputError if any(map(is_number, found.values)) else ColumnsError
        raise kind(
            f"expected a number, found {repr(cell) if cell else 'an empty cell'}{hint}",
            place=table.place(row, position),
        )
    return np.array([float(cell) for cell in found.values], dtype=np.float64)[found.codes]


def times_of(table: Table, position: int, asked: bool) -> NDArray[np.int64] | None:
    """Return seconds since 1970, from numbers or dates, as whole ones: fractions are cut off.

    Anything else is an error if the column was asked for. Otherwise it gives None, and if the column has a name a
    warning.
    """
    try:
        return _whole_seconds(table, position)
    except InvalidInputError as error:
        if asked:
            raise
        if table.names:
            text = f"{error}, so that no times are used: they are as if the file had none"
            warnings.warn(InputWarning(text), stacklevel=5)
        return None


def _whole_seconds(table: Table, position: int) -> NDArray[np.int64]:
    found = table.seconds(position)
    if isinstance(found, np.ndarray):
        return found if found.flags.writeable else found.copy()
    if found is None:
        raise InvalidInputError("expected integers or times", place=table.column_place(position))
    numbers = _floored(found.values) or _dates(found.values)
    row = found.first_row(lambda cell: cell not in numbers)
    if row is not None:
        cell = found.at(row)
        raise InvalidInputError(
            f"a time must be a number of seconds since 1970, or a date such as 2020-12-31 or 2020-12-31T23:59:59, "
            f"found {repr(cell) if cell else 'an empty cell'}",
            place=table.place(row, position),
        )
    return np.array([numbers[cell] for cell in found.values], dtype=np.int64)[found.codes]


def _floored(cells: list[str]) -> dict[str, int]:
    """Whole numbers, rounded down, of those cells which are numbers that fit into 64 bits."""
    numbers = {cell: float(cell) for cell in cells if is_number(cell)}
    return {cell: floor(value) for cell, value in numbers.items() if abs(value) < _INT64.max} | _integers(cells)


def finite_cells(table: Table, position: int) -> Cells:
    """Return the cells of a feature: finite numbers, or text without empty cells; anything else is an error."""
    found = table.cells(position)
    if isinstance(found, Words):
        gap = found.first_row(lambda cell: not cell)
        if gap is not None:
            raise InvalidInputError("no value", place=table.place(gap, position))
        return found
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        row = int(bad[0])
        raise InvalidInputError(f"expected a finite number, found {found[row]}", place=table.place(row, position))
    return found


def feature_cells(table: Table, position: int) -> Cells:
    """Return the cells of a feature: numbers, NaN where there is none, or text, empty where there is none.

    In a column of numbers a missing cell is empty, or one of NA, N/A, NaN, null, None and ?, in any case; in a column
    of text it is empty.
    """
    found = table.cells(position, gaps=True)
    if isinstance(found, Words):
        numbers = None if table.typed else _numbers_with_gaps(found)
        if numbers is None:
            return found
        found = numbers
    infinite = np.flatnonzero(np.isinf(found))
    if len(infinite):
        row = int(infinite[0])
        raise InvalidInputError(f"expected a finite number, found {found[row]}", place=table.place(row, position))
    return found


def _numbers_with_gaps(found: Words) -> NDArray[np.float64] | None:
    """Return cells as numbers if all are numbers, or say that there is none; None if they are text."""
    rest = [cell for cell in found.values if not is_number(cell)]
    if len(rest) == len(found.values) or not all(cell.casefold() in _NO_VALUE for cell in rest):
        return None
    gone = set(rest)
    return np.array([np.nan if cell in gone else float(cell) for cell in found.values])[found.codes]


def label_of(table: Table, position: int) -> NDArray[np.bool_]:
    """Return a column of labels, on or off; a cell which is neither is an error."""
    on, known = partly_known_label(table, position)
    gaps = np.flatnonzero(~known)
    if len(gaps):
        found = table.cells(position, gaps=True)
        cell = found.at(int(gaps[0])) if isinstance(found, Words) else ""
        cell = repr(cell) if cell else ""
        unknown: Text = (Argument("missing", "ignore"), " learns from the labels that are known")
        raise _no_label(table, position, int(gaps[0]), cell, ("write 0 if it is off; ", *unknown))
    return on


def partly_known_label(table: Table, position: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return a column of labels, on or off, and which of its cells say so; the others are missing as in features.

    A cell which is neither on, nor off, nor missing is an error.
    """
    found = table.cells(position, gaps=True)
    if not isinstance(found, Words):
        known = ~np.isnan(found)
        allowed = (0, 1) if (found == 0).any() else (-1, 1)
        odd = np.flatnonzero(known & ~np.isin(found, allowed))
        if len(odd):
            raise _no_label(table, position, int(odd[0]), f"{found[odd[0]]:g}")
        return found > 0, known
    there = np.array([cell.lower() not in _NO_VALUE for cell in found.values], dtype=bool)
    words = [cell for cell, known in zip(found.values, there, strict=True) if known]
    truth = truth_of([_plain_number(word) for word in words]) if words else ()
    if truth is None:
        row = found.first_row(lambda cell: cell in words and truth_of((cell,)) is None)
        # Each word alone may mean off or on, but together the words may be of different pairs.
        row = len(found.codes) - 1 if row is None else row
        lists_tags = sum(truth_of((cell,)) is None for cell in words) > 1
        tags: Text = ("if cells list tags, say what parts them with ", Argument("label_sep")) if lists_tags else ()
        raise _no_label(table, position, row, repr(found.at(row)), tags)
    on = np.zeros(len(there), dtype=bool)
    on[there] = truth
    return on[found.codes], there[found.codes]


def _plain_number(word: str) -> str:
    """Return a number as it is written without decimals, as 1 for 1.0, which some programs write beside gaps."""
    return f"{float(word):g}" if is_number(word) else word


def _no_label(table: Table, position: int, row: int, shown: str, advice: Text = ()) -> InvalidInputError:
    return InvalidInputError(
        f"expected a label, 0/1, -1/+1 or words such as no/yes, found {shown or 'no value'}",
        advice=advice,
        place=table.place(row, position),
    )


def stack_pairs(users: NDArray, items: NDArray) -> NDArray:
    """Return ids of users and items as the two columns of X."""
    if users.dtype == np.int64 and items.dtype == np.int64:
        return np.column_stack((users, items))
    X = np.empty((len(users), 2), dtype=object)
    X[:, 0], X[:, 1] = users, items
    return X
