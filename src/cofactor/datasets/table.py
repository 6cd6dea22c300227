"""A table with named columns, which every reader of tables returns, and its columns as ids, numbers, times and labels.

An error names the file, the row and the column.
"""

from __future__ import annotations

import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import floor
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from narwhals.stable.v2.dependencies import is_pandas_like_dataframe
from numpy.typing import NDArray
from pyarrow import compute

from cofactor.columns import ColumnsError
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place, Text
from cofactor.frames import as_frame
from cofactor.schema import Cells, Words, truth_of
from cofactor.text import first_repeated, is_number, seconds_of_date


def numpy_of(column: Any, wanted: type[np.number] | None = None) -> NDArray[Any]:
    """Return the numbers of an Arrow column without gaps; Arrow's own way would import pandas for it.

    With a type that is wanted the array is the caller's own, otherwise it may be read-only memory of Arrow.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    dtype = np.dtype(column.type.to_pandas_dtype())
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype, len(chunk), chunk.offset * dtype.itemsize)
        for chunk in chunks
        if len(chunk)
    ]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, dtype)])
    return values if wanted is None else values.astype(wanted, copy=not values.flags.writeable)


def words_of(column: Any) -> Words:
    """Number the distinct cells of an Arrow column of text."""
    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks if isinstance(column, pa.ChunkedArray) else [column]
    codes = np.concatenate([numpy_of(chunk.indices) for chunk in chunks]).astype(np.int64)
    return Words.stripped(chunks[0].dictionary.to_pylist(), codes)


@dataclass(frozen=True)
class TableOptions:
    """Options for a reader of tables; a reader uses those which its format needs.

    Parameters
    ----------
    is_header : callable
        From the cells of the first row and of the second row to whether the first row names the columns.
    content : str
        What a row holds, for messages: "a user, an item and a rating".
    sep : str, optional
        What separates columns; by default found from the first line.
    encoding : str, default "utf-8"
        Encoding of text.
    long_cells : bool, default False
        Whether cells may be longer than 131,072 characters, as free text may be.
    """

    is_header: Callable[[Sequence[str], Sequence[str]], bool]
    content: str
    sep: str | None = None
    encoding: str = "utf-8"
    long_cells: bool = False


def header_or_numbers(header: bool | None) -> Callable[[Sequence[str], Sequence[str]], bool]:
    """Return whether the first line of a text has names: as `header` says, else if it holds no number."""
    return lambda first, _: not any(map(is_number, first)) if header is None else header


class Table(ABC):
    """Columns by position; each method takes the position of a column, counted from 0.

    Parameters
    ----------
    file : str
        What messages call the file.
    names : tuple of str or None
        Names of the columns; None where the file has none.
    n_columns : int
        How many there are.
    first_row : sequence of str
        The cells of the first row of data as text, empty where there is no value.
    """

    #: Whether columns have types, so that a column of text is no column of numbers.
    typed = False

    def __init__(self, file: str, names: tuple[str, ...] | None, n_columns: int, first_row: Sequence[str]) -> None:
        self.file = file
        self.names = names
        self.n_columns = n_columns
        self.first_row = first_row

    @abstractmethod
    def load(self, positions: Sequence[int]) -> None:
        """Read these columns; the methods below are for columns which were read."""

    def forget(self, position: int) -> None:  # noqa: B027
        """Let go of a column that is not read again."""

    @abstractmethod
    def words(self, position: int, *, gaps: bool = False) -> Words:
        """Return the cells as text; with `gaps` a missing one is empty, otherwise an error where it is none of text."""

    @abstractmethod
    def id_cells(self, position: int) -> Any:
        """Return integers if all cells are written as integers (7, not 007 and not 7.0), otherwise text; of Arrow."""

    def ids(self, position: int) -> NDArray[np.int64] | Words:
        """Return integers or text, as `id_cells` does, as NumPy has them."""
        column = self.id_cells(position)
        return words_of(column) if is_text(column.type) else numpy_of(column)

    @abstractmethod
    def cells(self, position: int, *, gaps: bool = False) -> Cells:
        """Return numbers if the column holds numbers, otherwise text; with `gaps` a missing number is NaN."""

    @abstractmethod
    def seconds(self, position: int) -> NDArray[np.int64] | Words | None:
        """Return whole seconds since 1970, from numbers or times, or text; None where the type is another one."""

    @abstractmethod
    def place(self, row: int, position: int | None = None) -> Place:
        """Return the place of a row, and of a column in it, for errors."""

    def column_place(self, position: int) -> Place:
        """Return the place of a column."""
        return Place(self.file, column=self._column(position))

    def _column(self, position: int | None) -> str | None:
        if position is None:
            return None
        return f"column {repr(self.names[position]) if self.names else position + 1}"


class ArrowTable(Table):
    """A table of Apache Arrow, whose columns have types; its rows are counted from 1 in messages.

    Parameters
    ----------
    file : str
        What messages call the file.
    table : pyarrow.Table or pyarrow.RecordBatch
        With at least one row.
    first : int, default 0
        Number of its first row in the file.
    """

    typed = True

    def __init__(self, file: str, table: Any, first: int = 0) -> None:
        cells = [_shown(column[0]) if len(column) else "" for column in table.columns]
        super().__init__(file, tuple(table.schema.names), len(table.schema.names), cells)
        self.table = table
        self.first = first

    def load(self, positions: Sequence[int]) -> None:
        """Do nothing: all columns are there."""

    def forget(self, position: int) -> None:
        """Let go of a column that is not read again."""
        field = self.table.schema.field(position)
        self.table = self.table.set_column(position, field.name, pa.nulls(len(self.table)))

    def words(self, position: int, *, gaps: bool = False) -> Words:
        """Return the cells as text; integers are written as such."""
        column, missing = self._with_gaps(position) if gaps else (self.column(position), None)
        if pa.types.is_floating(column.type):
            column = self._whole(column, position)
        try:
            column = column if is_text(column.type) else column.cast(pa.string())
            return words_of(column if missing is None else compute.if_else(missing, "", column))
        except pa.ArrowException:
            raise self._type_error(position, "integers or text") from None

    def id_cells(self, position: int) -> Any:
        """Return integers (whole floats too) or text; other types are refused."""
        column = self.column(position)
        if pa.types.is_floating(column.type):
            column = self._whole(column, position)
        if pa.types.is_integer(column.type):
            try:
                return column.cast(pa.int64())
            except pa.ArrowInvalid:
                raise InvalidInputError(
                    "holds ids beyond 64-bit integers", advice="store them as text", place=self.column_place(position)
                ) from None
        if not is_text(column.type):
            raise self._type_error(position, "integers or text")
        return column

    def cells(self, position: int, *, gaps: bool = False) -> Cells:
        """Return numbers, booleans as 0 and 1, or text; other types are refused."""
        column, missing = self._with_gaps(position) if gaps else (self.column(position), None)
        kind = column.type
        if is_text(kind):
            return words_of(column if missing is None else compute.if_else(missing, "", column))
        if pa.types.is_decimal(kind):
            column = column.cast(pa.float64())
        elif not _is_number(kind):
            raise self._type_error(position, "numbers")
        if pa.types.is_boolean(kind):  # bits
            numbers = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
        else:
            numbers = numpy_of(column, np.float64)
        if missing is not None:
            numbers[missing.to_numpy(zero_copy_only=False)] = np.nan
        return numbers

    def seconds(self, position: int) -> NDArray[np.int64] | Words | None:
        """Return whole seconds since 1970, from numbers or times, or text; None for other types."""
        column = self.column(position)
        kind = column.type
        if is_text(kind):
            return words_of(column)
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            column = column.cast(pa.timestamp("s"), safe=False)
        elif pa.types.is_floating(kind):
            column = compute.floor(column)
        elif not pa.types.is_integer(kind):
            return None
        try:
            return numpy_of(column.cast(pa.int64()))
        except pa.ArrowInvalid:  # beyond 64 bits
            return None

    def place(self, row: int, position: int | None = None) -> Place:
        """Return the place of a row, and of a column in it, for errors."""
        parts = [f"row {self.first + row + 1}", self._column(position)]
        return Place(self.file, column=", ".join(part for part in parts if part))

    def column(self, position: int) -> Any:
        """Return a column without gaps; a missing value is an error."""
        column = self.table.column(position)
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if pa.types.is_dictionary(column.type) and not (is_text(column.type) and column.dictionary.null_count == 0):
            column = column.dictionary_decode()
        if column.null_count:
            row = column.is_null().to_pylist().index(True)
            raise InvalidInputError("no value", place=self.place(row, position))
        return column

    def _with_gaps(self, position: int) -> tuple[Any, Any]:
        """Return a column with some value in place of missing ones, and where these are; None if there are none."""
        column = self.table.column(position)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        missing = compute.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        if not column.null_count and not compute.any(missing).as_py():
            return self.column(position), None
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_null(column.type):
            column = column.cast(pa.string())
        if not (is_text(column.type) or _is_number(column.type)):
            return self.column(position), None  # which refuses the missing value
        some = "" if is_text(column.type) else pa.scalar(0).cast(column.type)
        return compute.if_else(missing, some, column), missing

    def _whole(self, column: Any, position: int) -> Any:
        values = numpy_of(column, np.float64)
        bad = np.flatnonzero(~(np.isfinite(values) & (values == np.rint(values)) & (np.abs(values) < 2.0**53)))
        if len(bad):
            raise InvalidInputError(
                f"the id {values[bad[0]]} is no whole number",
                advice="store ids as integers or text",
                place=self.place(int(bad[0]), position),
            )
        return pa.array(values.astype(np.int64))

    def _type_error(self, position: int, expected: str) -> InvalidInputError:
        kind = self.table.column(position).type
        return InvalidInputError(f"has type {kind}, expected {expected}", place=self.column_place(position))


def _shown(cell: Any) -> str:
    """Write a cell as text; nothing where it has no value, or one that Python has not, such as the year 300,000."""
    try:
        value = cell.as_py()
    except (ValueError, OverflowError, KeyError, NotImplementedError):
        return ""
    return "" if value is None else str(value)


def _is_number(kind: Any) -> bool:
    """Whether a type of Arrow is a number, or a truth value."""
    of = pa.types
    return bool(of.is_integer(kind) or of.is_floating(kind) or of.is_boolean(kind) or of.is_decimal(kind))


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow is text, or a dictionary of text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


#: From a table of the first rows to the positions of the columns that are wanted, by role.
Choose: TypeAlias = Callable[[Table], Mapping[str, int]]


@dataclass(frozen=True)
class Offset:
    """How far a file was read.

    Attributes
    ----------
    rows : int
        Rows of data before it; only Parquet is read on from there.
    bytes : int
        Bytes before it, after unpacking and decoding; of Parquet about so many.
    lines : int
        Lines before it.
    """

    rows: int = 0
    bytes: int = 0
    lines: int = 0


@dataclass(frozen=True)
class TableChunk:
    """Some rows of a file.

    Attributes
    ----------
    table : Table
        Whose columns are loaded.
    positions : mapping of str to int
        Where the columns that were chosen are in it.
    after : Offset
        Where reading goes on.
    """

    table: Table
    positions: Mapping[str, int]
    after: Offset


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
    found = _ids(table, position, mode, what)
    return found if found.dtype == object else found.astype(np.int64, copy=False)


def _ids(table: Table, position: int, mode: IdMode, what: str) -> NDArray[Any]:
    """Return ids as `ids_of` does, but integers of any width."""
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


def finite_numbers(table: Table, position: int) -> NDArray[np.float64]:
    """Return the finite numbers of a column of them."""
    return _without(~np.isfinite(found := numbers_of(table, position)), found, table, position)


def _without(odd: NDArray[np.bool_], numbers: NDArray[np.float64], table: Table, position: int) -> NDArray[np.float64]:
    """Return numbers of which none is odd."""
    if odd.any():
        row = int(np.argmax(odd))
        raise InvalidInputError(f"expected a finite number, found {numbers[row]}", place=table.place(row, position))
    return numbers


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
    return _without(np.isinf(found), found, table, position)


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


def pairs_of(table: Table, positions: Mapping[str, int], mode: IdMode) -> NDArray[Any]:
    """Return user id and item id of each row; int64 if all are integers. Their columns are let go of.

    Parameters
    ----------
    table : Table
    positions : mapping of str to int
        Of the roles user and item.
    mode : {"auto", "int", "str", "each"}
        As in `read_ratings`.
    """
    X: Any = None
    for side, role in enumerate(("user", "item")):
        ids = _ids(table, positions[role], mode, f"{role} id")
        table.forget(positions[role])
        if X is None:
            X = np.empty((len(ids), 2), dtype=object if ids.dtype == object else np.int64)
        elif ids.dtype == object:
            X = X.astype(object, copy=False)
        X[:, side] = ids
        del ids
    return X


_FRAME = "the frame"  #: what messages call it


def is_frame(value: Any) -> bool:
    """Return whether it is a frame of pandas or polars, or one that narwhals knows."""
    if isinstance(value, str | os.PathLike):
        return False
    return bool(is_pandas_like_dataframe(value)) or as_frame(value) is not None


def table_of_frame(value: Any) -> ArrowTable | None:
    """Return a frame, or a table of Arrow, as a table; None for anything else. Rows are counted from 1 in messages.

    Parameters
    ----------
    value : object
        A frame of pandas or polars, a table of Arrow, or a path.

    Raises
    ------
    InvalidInputError
        If it has no rows, two columns of one name, or a column of values of several kinds.
    """
    if isinstance(value, str | os.PathLike):
        return None
    is_pandas = is_pandas_like_dataframe(value)
    if not is_pandas and not is_frame(value):
        return None
    names = value.column_names if isinstance(value, pa.Table) else value.columns
    twice = first_repeated(map(str, names))
    if twice is not None:
        raise InvalidInputError(f"two columns are named {twice!r}", place=Place(_FRAME))
    try:
        if is_pandas:
            table = pa.Table.from_pandas(value, preserve_index=False)
        else:
            table = nw.from_native(value, eager_only=True).to_arrow()
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error.args[0] if error.args else error).splitlines()[0]
        raise InvalidInputError(f"a column holds values of several kinds ({reason})", place=Place(_FRAME)) from None
    if table.num_rows == 0:
        raise InvalidInputError("has no rows, expected features and labels", place=Place(_FRAME))
    return ArrowTable(_FRAME, table)
