"""Features and labels in Parquet files: a column for each, or three columns of lists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from cofactor.datasets.cells import finite_cells, label_of
from cofactor.datasets.readers.chunked import Chunk, ChunkOptions, joined
from cofactor.datasets.readers.label_columns import LabelColumns, label_roles
from cofactor.datasets.readers.matrices import Form, generic_names, in_form, indicator
from cofactor.datasets.readers.parquet import batches, opened_parquet, parquet
from cofactor.datasets.readers.svm_layout import Extent, settle
from cofactor.datasets.readers.svm_text import Block
from cofactor.datasets.table import ArrowTable
from cofactor.datasets.types import Holds, LabelDataset, is_sparse
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, display_name
from cofactor.text import counted

ROW_GROUP = 16_384  # rows; a reader holds about one group in memory

_KEY = b"cofactor"
_NUMBERS = ("int", "uint", "float", "double", "half", "bool")
_NARROW = {"float", "halffloat", "bool", "int8", "uint8"}  # types whose values float32 holds exactly
_LISTS = ("indices", "values", "labels")


def schema_of(path: PathLike) -> Any:
    """Read the schema of a Parquet file."""
    with opened_parquet(path) as file:
        return file.schema_arrow


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
    try:
        schema = None if path is None else schema_of(path)
    except InvalidInputError:  # the file is damaged; its reader will say so
        return None
    names_labels = schema is not None and (is_list_layout(schema) or stored_labels(schema) is not None)
    return "labels" if names_labels else None


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


class ListSource:
    """A Parquet file with columns of lists, read in pieces."""

    def __init__(self, path: PathLike, n_features: int | None, n_labels: int | None):
        self.path = path
        self.name = display_name(path)
        with opened_parquet(path) as file:
            self.n_rows: int | None = file.metadata.num_rows
            names = _stored(file.schema_arrow)
        if names:
            n_features, n_labels = len(names["features"]), len(names["labels"])
        blocks = (_list_block(batch, first, self.name) for batch, first in batches(path, _LISTS, ROW_GROUP))
        extent = Extent.of(blocks) if n_features is None or n_labels is None else None
        self.layout = settle(self.name, None, extent, n_features, n_labels, True)
        self.feature_names = tuple(names["features"]) if names else generic_names("x", self.layout.n_features)
        self.label_names = tuple(names["labels"]) if names else generic_names("y", self.layout.n_labels)

    def pieces(self, chunk_rows: int) -> Iterator[Chunk]:
        """Yield X and Y of at most `chunk_rows` rows at a time."""
        for batch, first in batches(self.path, _LISTS, min(chunk_rows, ROW_GROUP)):
            yield self.layout.matrices(_list_block(batch, first, self.name), "row")


class ColumnSource:
    """A Parquet file with a column for each feature and label, read in pieces."""

    def __init__(self, path: PathLike, labels: LabelColumns, drop: Sequence[str]) -> None:
        self.path = path
        self.name = display_name(path)
        with opened_parquet(path) as file:
            self.n_rows: int | None = file.metadata.num_rows
            schema = file.schema_arrow
        labels = stored_labels(schema, drop) if labels is None else labels
        targets, features, _ = label_roles(schema.names, labels, drop, self.name)
        kinds = {schema.names[j]: str(schema.field(j).type) for j in features}
        for column, kind in kinds.items():
            if not kind.startswith(_NUMBERS):
                raise InvalidInputError(
                    f"has type {kind}; chunks need features of numbers",
                    advice=("read the whole file with load_labels, or leave it out with ", Argument("drop", [column])),
                    place=Place(self.name, column=f"column {column!r}"),
                )
        self.dtype = np.float32 if set(kinds.values()) <= _NARROW else np.float64
        self.feature_names = tuple(schema.names[j] for j in features)
        self.label_names = tuple(schema.names[j] for j in targets)

    def pieces(self, chunk_rows: int) -> Iterator[Chunk]:
        """Yield X and Y of at most `chunk_rows` rows at a time."""
        n_features, n_labels = len(self.feature_names), len(self.label_names)
        columns = [*self.feature_names, *self.label_names]
        for batch, first in batches(self.path, columns, min(chunk_rows, ROW_GROUP)):
            table = ArrowTable(self.name, batch.select(columns), first)
            X = np.empty((batch.num_rows, n_features), dtype=self.dtype)
            for j in range(n_features):
                X[:, j] = finite_cells(table, j)
            labels = [label_of(table, n_features + j) for j in range(n_labels)]
            yield X, indicator(np.column_stack(labels) if labels else np.zeros((len(X), 0)), self.name)


def open_chunks(path: PathLike, options: ChunkOptions) -> ListSource | ColumnSource:
    """Open a Parquet file of either layout for reading in pieces."""
    if is_list_layout(schema_of(path)):
        return ListSource(path, options.n_features, options.n_labels)
    return ColumnSource(path, options.labels, options.drop)


def read_whole_lists(table: Any, name: str, sparse: Form, title: str) -> LabelDataset:
    """Data set of a Parquet table in memory which has the layout of lists."""
    names = _stored(table.schema)
    blocks = [_list_block(batch, 0, name) for batch in table.combine_chunks().to_batches() if batch.num_rows]
    extent = Extent.of(blocks)
    n_features, n_labels = (len(names["features"]), len(names["labels"])) if names else (None, None)
    layout = settle(name, None, extent, n_features, n_labels, True)
    X, Y = joined([layout.matrices(block, "row") for block in blocks])
    return LabelDataset(
        name=title,
        X=in_form(X, sparse, name),
        Y=Y,
        feature_names=tuple(names["features"]) if names else generic_names("x", layout.n_features),
        label_names=tuple(names["labels"]) if names else generic_names("y", layout.n_labels),
        description=f"{counted(X.shape[0], 'instance')} read from {name}",
    )


class ParquetWriter:
    """Writes rows in pieces to a Parquet file of either layout."""

    def __init__(self, stream: Any, X: Any, features: Sequence[str], labels: Sequence[str]):
        if len(features) != X.shape[1]:
            raise InvalidInputError(
                f"{len(features)} names for {counted(X.shape[1], 'feature')}", argument="feature_names"
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
