"""Parquet through pyarrow, an optional dependency which is imported only when such a file turns up."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.columns import Column, IdMode, ids_from_text
from cofactor.errors import InvalidInputError

MAGIC = b"PAR1"


def looks_like_parquet(start: bytes) -> bool:
    """Whether a file which begins like this is a Parquet file."""
    return start.startswith(MAGIC)


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            'Parquet files need pyarrow, which is not installed: pip install "cofactor[parquet]"'
        ) from None
    return pyarrow, pyarrow.parquet


@dataclass(frozen=True)
class ParquetTable:
    """A table in memory with the name of its file."""

    name: str
    names: tuple[str, ...]
    table: Any

    @property
    def first_row(self) -> list[str]:
        """Cells of the first row as text, empty where there is no value."""
        (row,) = self.table.slice(0, 1).to_pylist()
        return ["" if cell is None else str(cell) for cell in row.values()]

    def column(self, position: int) -> Any:
        """One column without gaps; a missing value is an error which names its row."""
        column = self.table.column(position).combine_chunks()
        pa, _ = _pyarrow()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.null_count:
            row = column.is_null().to_pylist().index(True) + 1
            raise InvalidInputError(f"{self.name}, row {row}: column {self.names[position]!r} has no value")
        return column


def read(data: bytes, name: str, content: str) -> ParquetTable:
    """Parse a Parquet file held in memory; messages say what its rows should hold."""
    pa, parquet = _pyarrow()
    try:
        table = parquet.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(f"{name}: the Parquet file is damaged or cut short ({reason}); copy it again") from None
    if table.num_rows == 0:
        raise InvalidInputError(f"{name}: the file is empty, expected rows with {content}")
    return ParquetTable(name, tuple(table.column_names), table)


def ids(table: ParquetTable, position: int, mode: IdMode, role: str) -> NDArray:
    """Ids of one column; whole numbers (also where stored as floats) become int64, text stays text."""
    pa, _ = _pyarrow()
    column = table.column(position)
    label = f"{table.name}: column {table.names[position]!r} ({role})"
    if pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(values) & (values == np.rint(values)) & (np.abs(values) < 2.0**53)))
        if len(bad):
            raise InvalidInputError(
                f"{table.name}, row {bad[0] + 1}: the {role} id {values[bad[0]]} is no whole number; "
                "store ids as integers or text"
            )
        column = pa.array(values.astype(np.int64))
    if pa.types.is_integer(column.type):
        try:
            numbers = column.cast(pa.int64()).to_numpy().copy()
        except pa.ArrowInvalid:
            raise InvalidInputError(f"{label} holds ids beyond 64-bit integers; store them as text") from None
        return _as_text(numbers.tolist()) if mode == "str" else numbers
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InvalidInputError(f"{label} has type {column.type}, expected integers or text")
    cells = [cell.strip() for cell in column.to_pylist()]
    return ids_from_text(cells, mode, role, table.name, range(1, len(cells) + 1))


def _as_text(values: list[int]) -> NDArray:
    text = np.empty(len(values), dtype=object)
    text[:] = [str(value) for value in values]
    return text


def numbers(table: ParquetTable, position: int) -> NDArray[np.float64]:
    """Column of ratings."""
    pa, _ = _pyarrow()
    column = table.column(position)
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InvalidInputError(f"{table.name}: column {table.names[position]!r} has type {kind}, expected numbers")
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    values: NDArray[np.float64] = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return values


def times(table: ParquetTable, position: int, asked: Column | None) -> NDArray[np.int64] | None:
    """Column of times, dates as seconds since 1970; None for other types in a column nobody asked for."""
    pa, _ = _pyarrow()
    kind = table.table.column(position).type
    if asked is None and table.table.column(position).null_count:
        return None
    if pa.types.is_timestamp(kind) or pa.types.is_integer(kind):
        column = table.column(position)
        if pa.types.is_timestamp(kind):
            column = column.cast(pa.timestamp("s"), safe=False)
        values: NDArray[np.int64] = column.cast(pa.int64()).to_numpy().copy()
        return values
    if asked is None:
        return None
    raise InvalidInputError(
        f"{table.name}: column {table.names[position]!r} has type {kind}, expected integers or times"
    )


def encode(columns: Mapping[str, NDArray]) -> bytes:
    """Parquet file with these columns, as bytes."""
    pa, parquet = _pyarrow()
    try:
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(f"Parquet cannot hold a column of mixed types ({reason}); write .csv instead") from None
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()
