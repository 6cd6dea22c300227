"""Tables in Parquet files."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from types import ModuleType
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from cofactor.datasets.readers.pieces import Choose, Mark, Piece
from cofactor.datasets.table import ArrowTable, TableOptions, is_text
from cofactor.errors import InvalidInputError, Place
from cofactor.files import PathLike, display_name
from cofactor.limits import CELLS
from cofactor.text import counted

__all__ = [
    "MAGIC",
    "batches",
    "looks_like_parquet",
    "opened_parquet",
    "parquet",
    "pieces",
    "read_parquet",
    "reading",
    "refuse_lost_beginning",
    "write_blocks",
]

MAGIC = b"PAR1"

PIECE_ROWS = 1 << 20  #: rows of a piece

#: What pandas calls the labels of rows, which it writes where they are not 0, 1, 2, ...
_ROW_LABELS = re.compile(r"__index_level_\d+__")


def looks_like_parquet(start: bytes) -> bool:
    """Whether a file which begins like this is a Parquet file."""
    return start.startswith(MAGIC)


def refuse_lost_beginning(start: bytes, end: bytes, file: str) -> None:
    """Refuse a file that is not text and ends as a Parquet file does, or is called one: its beginning is damaged.

    Parameters
    ----------
    start, end : bytes
        How it begins, more than its first line, and its last four bytes.
    file : str
        What messages call it.

    Examples
    --------
    >>> refuse_lost_beginning(b"user,item,rating", b"4,5,", "stars.parquet")  # text
    """
    if not looks_like_parquet(start) and b"\0" in start and (end == MAGIC or file.endswith((".parquet", ".pq"))):
        raise InvalidInputError(
            f"the Parquet file is damaged (it does not begin with {MAGIC.decode()})",
            advice="copy it again",
            place=Place(file),
        )


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


@contextmanager
def opened_parquet(path: PathLike, texts: Sequence[str] = ()) -> Iterator[Any]:
    """Open a Parquet file for reading in parts; what is wrong with it names it.

    Parameters
    ----------
    path : path-like
    texts : sequence of str, default=()
        Columns of text which become dictionaries.
    """
    # A small buffer: a column of a row group is large, and only a part of it is needed at a time.
    small: dict[str, Any] = {"pre_buffer": False, "buffer_size": 1 << 16, "read_dictionary": list(texts)}
    with reading(display_name(path)), parquet().ParquetFile(path, **small) as file:
        yield file


def batches(
    path: PathLike, columns: Sequence[str] | None, rows: int, first: int = 0, texts: Sequence[str] = ()
) -> Iterator[tuple[Any, int]]:
    """Yield record batches, each with the number of its first row.

    Parameters
    ----------
    path : path-like
    columns : sequence of str or None
        Which columns; None for all.
    rows : int
        Most rows of a batch.
    first : int, default=0
        The first row that is wanted; groups of rows before it are not read.
    texts : sequence of str, default=()
        Columns of text which become dictionaries.
    """
    with opened_parquet(path, texts) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        ends = list(accumulate(sizes))
        groups = [group for group, end in enumerate(ends) if end > first]
        row = ends[groups[0]] - sizes[groups[0]] if groups else first
        for batch in file.iter_batches(rows, groups, columns=columns, use_threads=False):
            batch.validate(full=True)
            end = row + batch.num_rows
            if end > first:
                yield batch.slice(max(first - row, 0)), max(first, row)
            row = end


def pieces(path: PathLike, options: TableOptions, choose: Choose, after: Mark) -> Iterator[Piece]:
    """Yield the rows of a file some at a time; see `cofactor.datasets.formats.read_pieces`."""
    file = display_name(path)
    with opened_parquet(path) as opened:
        schema, n_rows = opened.schema_arrow, opened.metadata.num_rows
    names = [name for name in schema.names if not _ROW_LABELS.fullmatch(name)]
    head = next(batches(path, names, 1), None)
    if not n_rows or head is None:
        raise InvalidInputError(f"the file is empty, expected rows with {options.content}", place=Place(file))
    positions = choose(ArrowTable(file, head[0]))
    columns = [names[position] for position in positions.values()]  # no others are read
    texts = [name for name in columns if is_text(schema.field(name).type)]
    size = os.path.getsize(path)
    for batch, first in batches(path, columns, PIECE_ROWS, after.rows, texts):
        rows = first + batch.num_rows
        table = ArrowTable(file, batch.select(columns), first)
        yield Piece(table, dict(zip(positions, range(len(columns)), strict=True)), Mark(rows, size * rows // n_rows))


def write_blocks(stream: Any, blocks: Iterable[Mapping[str, NDArray[Any]]]) -> int:
    """Write a Parquet file of blocks of rows, a row group or several for each; return the number of rows."""
    writer: Any = None
    n_rows = 0
    try:
        for columns in blocks:
            schema = None if writer is None else writer.schema
            table = _arrow_table(columns, schema)
            writer = writer or parquet().ParquetWriter(stream, table.schema)
            writer.write_table(table)
            n_rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return n_rows


def _arrow_table(columns: Mapping[str, NDArray[Any]], schema: Any) -> Any:
    """Return columns as a table of Arrow, of these types if there is a schema."""
    types = dict.fromkeys(columns) if schema is None else dict(zip(schema.names, schema.types, strict=True))
    try:
        return pa.table({name: pa.array(values, type=types[name]) for name, values in columns.items()})
    except (pa.ArrowException, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(
            f"Parquet cannot hold a column of mixed types ({reason})", advice="write .csv instead"
        ) from None
