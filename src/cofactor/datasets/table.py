"""A table in memory, with named columns: what every reader of tables returns, whatever the format.

`cofactor.datasets.cells` turns its columns into ids, numbers and times, and names the row and the column of a fault.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from cofactor.errors import InvalidInputError, Place

__all__ = ["ArrowTable", "Cells", "Table", "TableOptions", "Words", "is_text", "numpy_of"]


@dataclass(frozen=True)
class Words:
    """Cells of text: the distinct values, without blanks around them, and for each row the position of its value.

    Examples
    --------
    >>> Words.of(["sea", " sun", "sea"])
    Words(values=['sea', 'sun'], codes=array([0, 1, 0]))
    """

    values: list[str]
    codes: NDArray[np.int64]
    merged: str | None = field(default=None, repr=False)  #: the first cell with blanks that equals another without them

    @classmethod
    def of(cls, cells: Any) -> Words:
        """Number the distinct cells of an Arrow column of text, or of a list."""
        if isinstance(cells, list):
            first = {cell: k for k, cell in enumerate(dict.fromkeys(cells))}
            return cls._stripped(list(first), np.array([first[cell] for cell in cells], dtype=np.int64))
        column = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
        chunks = column.unify_dictionaries().chunks if isinstance(column, pa.ChunkedArray) else [column]
        codes = np.concatenate([numpy_of(chunk.indices) for chunk in chunks]).astype(np.int64)
        return cls._stripped(chunks[0].dictionary.to_pylist(), codes)

    @classmethod
    def _stripped(cls, values: list[str], codes: NDArray[np.int64]) -> Words:
        stripped = [cell.strip() for cell in values]
        if stripped == values:
            return cls(values, codes)
        position = {cell: k for k, cell in enumerate(dict.fromkeys(stripped))}
        merged = None
        if len(position) < len(values):
            seen = set(values)
            merged = next(
                (cell for cell, bare in zip(values, stripped, strict=True) if cell != bare and bare in seen), None
            )
        return cls(list(position), np.array([position[cell] for cell in stripped], dtype=np.int64)[codes], merged)

    def first_row(self, wanted: Callable[[str], bool]) -> int | None:
        """Return the first row whose cell is one of those wanted; None if there is none."""
        found = np.array([wanted(value) for value in self.values], dtype=bool)
        return int(np.argmax(found[self.codes])) if found.any() else None

    def at(self, row: int) -> str:
        """Return the cell of a row."""
        return self.values[self.codes[row]]


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


#: A column: numbers where all its cells are numbers, otherwise text.
Cells: TypeAlias = NDArray[np.float64] | Words


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

    @abstractmethod
    def words(self, position: int, *, gaps: bool = False) -> Words:
        """Return the cells as text; with `gaps` a missing one is empty, otherwise an error where it is none of text."""

    @abstractmethod
    def id_cells(self, position: int) -> Any:
        """Return integers if all cells are written as integers (7, not 007 and not 7.0), otherwise text; of Arrow."""

    def ids(self, position: int) -> NDArray[np.int64] | Words:
        """Return integers or text, as `id_cells` does, as NumPy has them."""
        column = self.id_cells(position)
        return Words.of(column) if is_text(column.type) else numpy_of(column)

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

    def words(self, position: int, *, gaps: bool = False) -> Words:
        """Return the cells as text; integers are written as such."""
        column, missing = self._with_gaps(position) if gaps else (self.column(position), None)
        if pa.types.is_floating(column.type):
            column = self._whole(column, position)
        try:
            column = column if is_text(column.type) else column.cast(pa.string())
            return Words.of(column if missing is None else compute.if_else(missing, "", column))
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
            return Words.of(column if missing is None else compute.if_else(missing, "", column))
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
            return Words.of(column)
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
            column = column.combine_chunks()
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
