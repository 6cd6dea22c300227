"""Tables in Parquet files."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from cofactor.datasets.table import ArrowTable, TableOptions, is_text
from cofactor.errors import InvalidInputError, Place
from cofactor.limits import CELLS
from cofactor.text import counted

__all__ = ["MAGIC", "encode", "looks_like_parquet", "parquet", "read_parquet", "reading"]

MAGIC = b"PAR1"

#: What pandas calls the labels of rows, which it writes where they are not 0, 1, 2, ...
_ROW_LABELS = re.compile(r"__index_level_\d+__")


def looks_like_parquet(start: bytes) -> bool:
    """Whether a file which begins like this is a Parquet file."""
    return start.startswith(MAGIC)


def parquet() -> ModuleType:
    """Return pyarrow.parquet, imported when needed: it takes longer to import than the rest of Arrow."""
    import pyarrow.parquet

    return pyarrow.parquet


@contextmanager
def reading(file: str) -> Iterator[None]:
    """Make an error which names the file of what Arrow raises while it reads one that is damaged.

    That may be an `ArrowException`, or where a name is not UTF-8 an error of Python.
    """
    try:
        yield
    except InvalidInputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InvalidInputError(
            f"the Parquet file is damaged or cut short ({reason})", advice="copy it again", place=Place(file)
        ) from None


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
    with reading(file):
        metadata = parquet().read_metadata(pa.BufferReader(data))
        cells = metadata.num_rows * metadata.num_columns  # pyarrow 26 dies of a closer look at a damaged file
        CELLS.check(cells, f"has {counted(cells, 'cell')}", Place(file), size=len(data))
        # Text as a dictionary: a long value in many rows would take far more memory than the file.
        schema = parquet().read_schema(pa.BufferReader(data))
        texts = [field.name for field in schema if is_text(field.type)]
        columns = [name for name in schema.names if not _ROW_LABELS.fullmatch(name)]
        table = parquet().read_table(pa.BufferReader(data), read_dictionary=texts, columns=columns)
        table.validate(full=True)  # Arrow does not look whether text is UTF-8 before it is used
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
