"""Tables, and features with labels, in Parquet files, read by Arrow; sizes are checked first: files may be forged.

Features and labels have a column each, or there are three columns of lists: ``indices`` and ``values`` of the features
which are not 0, and ``labels``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.datasets.readers.label_columns import label_roles
from cofactor.datasets.readers.matrices import Form, indicator
from cofactor.datasets.readers.svmlight import (
    Block,
    Chunk,
    ChunkOptions,
    ChunkSource,
    ColumnLayout,
    NumberRange,
    resolve_layout,
)
from cofactor.datasets.table import (
    ArrowTable,
    Choose,
    Offset,
    TableChunk,
    TableOptions,
    finite_numbers,
    is_text,
    label_of,
)
from cofactor.datasets.types import Holds, LabelDataset, is_sparse
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, display_name
from cofactor.limits import CELLS
from cofactor.text import plural

MAGIC = b"PAR1"

CHUNK_ROWS = 1 << 20  #: rows of a chunk of a table

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
        CELLS.check(cells, f"has {plural(cells, 'cell')}", Place(file), size=len(data))
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


def chunks(path: PathLike, options: TableOptions, choose: Choose, after: Offset) -> Iterator[TableChunk]:
    """Yield the rows of a file some at a time; see `cofactor.datasets.formats.Source.table_chunks`."""
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
    for batch, first in batches(path, columns, CHUNK_ROWS, after.rows, texts):
        rows = first + batch.num_rows
        table = ArrowTable(file, batch.select(columns), first)
        yield TableChunk(table, {role: k for k, role in enumerate(positions)}, Offset(rows, size * rows // n_rows))


def write_blocks(stream: Any, blocks: Iterable[Mapping[str, NDArray[Any]]]) -> int:
    """Write a Parquet file of blocks of rows, a row group or several for each; return the number of rows."""
    writer: Any = None
    n_rows = 0
    try:
        for columns in blocks:
            schema = None if writer is None else writer.schema
            table = arrow_table(columns, schema)
            writer = writer or parquet().ParquetWriter(stream, table.schema)
            writer.write_table(table)
            n_rows += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return n_rows


def arrow_table(columns: Mapping[str, NDArray[Any]], schema: Any, what: str = "Parquet", *, nulls: bool = False) -> Any:
    """Return columns as a table of Arrow, of these types if there is a schema; NaN as no value if there are nulls."""
    types = dict.fromkeys(columns) if schema is None else dict(zip(schema.names, schema.types, strict=True))
    try:
        return pa.table(
            {name: pa.array(values, type=types[name], from_pandas=nulls) for name, values in columns.items()}
        )
    except (pa.ArrowException, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(
            f"{what} cannot hold a column of mixed types ({reason})", advice="write .csv instead"
        ) from None


ROW_GROUP = 16_384  # rows; a reader holds about one group in memory

_KEY = b"cofactor"
_NUMBERS = ("int", "uint", "float", "double", "half", "bool")
_NARROW = {"float", "halffloat", "bool", "int8", "uint8"}  # types whose values float32 holds exactly
_LISTS = ("indices", "values", "labels")


def is_list_layout(schema: Any) -> bool:
    """Whether a Parquet file has the columns of lists ``indices``, ``values`` and ``labels``."""
    return all(schema.names.count(name) == 1 and _is_list(schema.field(name).type) for name in _LISTS)


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _stored(schema: Any) -> dict[str, list[str]]:
    """Names of features and labels which `write_chunks` left in the file; nothing if they are not there."""
    try:
        found = json.loads((schema.metadata or {}).get(_KEY, b"{}"))
    except (ValueError, RecursionError):
        return {}
    names = [found.get(key) if isinstance(found, dict) else None for key in ("features", "labels")]
    whole = all(isinstance(some, list) and all(isinstance(name, str) for name in some) for some in names)
    return found if whole else {}


def stored_labels(schema: Any, drop: Sequence[str] = ()) -> list[str] | None:
    """Names of labels which `write_chunks` left in the file, without those to be left out."""
    found = _stored(schema).get("labels")
    return None if found is None else [name for name in found if name not in drop]


def holds(start: bytes, path: str | None) -> Holds | None:
    """What a Parquet file holds: labels if it says which of its columns are labels; otherwise unknown."""
    if path is None:
        return None
    try:
        with opened_parquet(path) as file:
            schema = file.schema_arrow
    except InvalidInputError:
        return None
    return "labels" if is_list_layout(schema) or stored_labels(schema) is not None else None


def _list_block(batch: Any, first_row: int, name: str) -> Block:
    """Rows of a batch of lists; their lines are the numbers of the rows."""
    parts = []
    for column in _LISTS:
        array = batch.column(column)
        values = array.flatten()
        if array.null_count or values.null_count:
            gaps = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
            where = f"row {first_row + 1 + gaps[0]}, column {column!r}" if len(gaps) else f"column {column!r}"
            raise InvalidInputError("no value", advice="write an empty list", place=Place(name, column=where))
        lengths = np.diff(array.offsets.to_numpy()).astype(np.int64)
        parts.append((lengths, values.to_numpy(zero_copy_only=False)))
    (n_entries, indices), (n_values, values), (n_labels, labels) = parts
    rows = np.arange(first_row + 1, first_row + 1 + batch.num_rows)
    if not np.array_equal(n_entries, n_values):
        row = rows[np.flatnonzero(n_entries != n_values)[0]]
        raise InvalidInputError("indices and values have different lengths", place=Place(name, column=f"row {row}"))
    if indices.dtype.kind not in "iu" or labels.dtype.kind not in "iu" or values.dtype.kind not in "iuf":
        raise InvalidInputError("indices and labels must be lists of integers, values of numbers", place=Place(name))
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        row = rows[np.searchsorted(np.cumsum(n_entries), at, side="right")]
        raise InvalidInputError("a value is NaN or infinite", place=Place(name, column=f"row {row}"))
    values = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    return Block(n_labels, labels.astype(np.int64), n_entries, indices.astype(np.int64), values, rows)


def _layout_of(
    schema: Any, blocks: Callable[[], Iterable[Block]], sizes: Sequence[int | None], name: str
) -> ColumnLayout:
    """How many features and labels there are in columns of lists: by their names, else by `sizes`, else by all rows."""
    names = _stored(schema)
    n_features, n_labels = (len(names["features"]), len(names["labels"])) if names else sizes
    extent = NumberRange.of(blocks()) if n_features is None or n_labels is None else None
    layout = resolve_layout(name, None, extent, n_features, n_labels, zero_based=True)
    return replace(layout, names=(names["features"], names["labels"]) if names else None, unit="row")


def open_chunks(path: PathLike, options: ChunkOptions) -> ChunkSource:
    """Open a Parquet file of either layout for reading in chunks."""
    with opened_parquet(path) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    return (_open_lists if is_list_layout(schema) else _open_columns)(path, options, schema, n_rows)


def _open_lists(path: PathLike, options: ChunkOptions, schema: Any, n_rows: int) -> ChunkSource:
    name = display_name(path)

    def blocks(rows: int = ROW_GROUP) -> Iterator[Block]:
        for batch, first in batches(path, _LISTS, min(rows, ROW_GROUP)):
            yield _list_block(batch, first, name)

    layout = _layout_of(schema, blocks, (options.n_features, options.n_labels), name)
    return ChunkSource(
        layout.feature_names, layout.label_names, n_rows, lambda rows: map(layout.matrices, blocks(rows))
    )


def _open_columns(path: PathLike, options: ChunkOptions, schema: Any, n_rows: int) -> ChunkSource:
    name = display_name(path)
    labels = stored_labels(schema, options.drop) if options.labels is None else options.labels
    targets, features, _ = label_roles(schema.names, labels, options.drop, name)
    kinds = {schema.names[j]: str(schema.field(j).type) for j in features}
    for column, kind in kinds.items():
        if not kind.startswith(_NUMBERS):
            raise InvalidInputError(
                f"has type {kind}; chunks need features of numbers",
                advice=("read the whole file with load_labels, or leave it out with ", Argument("drop", [column])),
                place=Place(name, column=f"column {column!r}"),
            )
    dtype = np.float32 if set(kinds.values()) <= _NARROW else np.float64
    label_names = tuple(schema.names[j] for j in targets)
    columns = [*kinds, *label_names]

    def read(rows: int) -> Iterator[Chunk]:
        for batch, first in batches(path, columns, min(rows, ROW_GROUP)):
            table = ArrowTable(name, batch.select(columns), first)
            X = np.empty((batch.num_rows, len(kinds)), dtype=dtype)
            for j in range(len(kinds)):
                X[:, j] = finite_numbers(table, j)
            on = [label_of(table, j) for j in range(len(kinds), len(columns))]
            yield X, indicator(np.column_stack(on) if on else np.zeros((len(X), 0)), name)

    return ChunkSource(tuple(kinds), label_names, n_rows, read)


def read_whole_lists(table: Any, name: str, sparse: Form, title: str) -> LabelDataset:
    """Data set of a Parquet table in memory which has the layout of lists."""
    blocks = [_list_block(batch, 0, name) for batch in table.combine_chunks().to_batches() if batch.num_rows]
    return _layout_of(table.schema, lambda: blocks, (None, None), name).dataset(blocks, sparse, title)


class ParquetWriter:
    """Writes rows in blocks to a Parquet file of either layout."""

    def __init__(self, stream: Any, X: Any, features: Sequence[str], labels: Sequence[str]):
        if len(features) != X.shape[1]:
            raise InvalidInputError(
                f"{len(features)} names for {plural(X.shape[1], 'feature')}", argument="feature_names"
            )
        if len(set(features) | set(labels)) < len(features) + len(labels):
            raise InvalidInputError("the names of features and labels must all be different")
        self.lists = is_sparse(X)
        self.features, self.labels = list(features), list(labels)
        number = pa.float32() if X.dtype == np.float32 else pa.float64()
        if self.lists:
            fields = [("indices", pa.list_(pa.int32())), ("values", pa.list_(number)), ("labels", pa.list_(pa.int32()))]
        else:
            fields = [*((name, number) for name in features), *((name, pa.bool_()) for name in labels)]
        names = json.dumps({"features": self.features, "labels": self.labels}).encode()
        self.schema = pa.schema(fields, metadata={_KEY: names})
        self.dtype = np.float32 if X.dtype == np.float32 else np.float64
        self.writer = parquet().ParquetWriter(stream, self.schema)

    def write(self, X: csr_array, Y: csr_array) -> None:
        """Write some rows."""
        X = X.astype(self.dtype, copy=False)
        if self.lists:
            offsets = [pa.array(matrix.indptr, type=pa.int32()) for matrix in (X, Y)]
            columns = [
                pa.ListArray.from_arrays(offsets[0], pa.array(X.indices, type=pa.int32())),
                pa.ListArray.from_arrays(offsets[0], pa.array(X.data)),
                pa.ListArray.from_arrays(offsets[1], pa.array(Y.indices, type=pa.int32())),
            ]
        else:
            dense, on = X.toarray(order="F"), Y.toarray(order="F") > 0
            columns = [pa.array(dense[:, j]) for j in range(X.shape[1])] + [
                pa.array(on[:, j]) for j in range(Y.shape[1])
            ]
        self.writer.write_table(pa.table(columns, schema=self.schema), row_group_size=ROW_GROUP)

    def close(self) -> None:
        """Finish the file."""
        self.writer.close()
