"""Tables in Parquet files."""

import io
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from cofactor.datasets.table import ArrowTable, TableOptions
from cofactor.errors import InvalidInputError, Place

__all__ = ["MAGIC", "damaged", "encode", "looks_like_parquet", "parquet", "read_parquet"]

MAGIC = b"PAR1"


def looks_like_parquet(start: bytes) -> bool:
    """Whether a file which begins like this is a Parquet file."""
    return start.startswith(MAGIC)


def parquet() -> ModuleType:
    """Return pyarrow.parquet, imported when needed: it takes longer to import than the rest of Arrow."""
    import pyarrow.parquet

    return pyarrow.parquet


def damaged(error: Exception, file: str) -> InvalidInputError:
    """Return the error for a Parquet file which Arrow cannot read."""
    reason = str(error).splitlines()[0]
    return InvalidInputError(
        f"the Parquet file is damaged or cut short ({reason})", advice="copy it again", place=Place(file)
    )


def read_parquet(data: bytes, file: str, options: TableOptions) -> ArrowTable:
    """Read a Parquet file held in memory.

    Parameters
    ----------
    data : bytes
        The file.
    file : str
        What messages call it.
    options : TableOptions
        Only `content` is used.
    """
    try:
        table = parquet().read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise damaged(error, file) from None
    if table.num_rows == 0:
        raise InvalidInputError(f"the file is empty, expected rows with {options.content}", place=Place(file))
    return ArrowTable(file, table)


def encode(columns: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a Parquet file with these columns, as bytes."""
    try:
        table = pa.table({name: pa.array(values) for name, values in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(
            f"Parquet cannot hold a column of mixed types ({reason})", advice="write .csv instead"
        ) from None
    buffer = io.BytesIO()
    parquet().write_table(table, buffer)
    return buffer.getvalue()
