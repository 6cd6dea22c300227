"""Instances in chunks, so that data larger than memory can be learned from: libsvm text and Parquet.

A Parquet file has one of two layouts: a column for each feature and label; or three columns of lists, ``indices`` and
``values`` of the features which are not 0, and ``labels``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from cofactor.datasets import _parquet, _svm_text
from cofactor.datasets._bytes import PathLike, display_name, replacing
from cofactor.datasets._label_types import Form, LabelDataset, generic_names, in_form, indicator, positions_of
from cofactor.datasets._svm_layout import Base, Extent, Layout, needs_extent, settle
from cofactor.datasets._svm_text import Block
from cofactor.datasets.libsvm import LibsvmWriter, check_pair
from cofactor.metrics.ratings import counted

__all__ = ["LabelChunks", "write_chunks"]

_KEY = b"cofactor"
_LISTS = ("indices", "values", "labels")
_ROW_GROUP = 16_384  # rows; a reader of Parquet holds about one group in memory

Chunk = tuple[Any, csr_array]


class LabelChunks:
    """A libsvm, extreme-classification or Parquet file as chunks ``(X, Y)``, of which one is in memory at a time.

    It can be iterated over any number of times; each iteration reads the file anew.

    Parameters
    ----------
    path : str or path-like
        The file; libsvm text may be gzip-compressed. Standard input is refused, since it can be read only once.
    chunk_rows : int, default 10,000
        Instances in a chunk; the last one has the rest.
    labels : str or sequence of str, optional
        For Parquet with a column for each label: the labels, by a prefix of their names or by their names. Not needed
        for files which `write_chunks` wrote.
    drop : sequence of str, default ()
        For Parquet with a column for each feature: columns which are neither feature nor label.
    n_features, n_labels : int, optional
        Numbers of columns of X and Y, for libsvm files without sizes in the first line, and for Parquet files with
        lists which `write_chunks` did not write. What is not given is found by reading the file once beforehand.
    zero_based : {"auto", True, False}, default "auto"
        For libsvm files, as in `read_libsvm`; ``"auto"`` reads the file once beforehand, unless it has sizes. Lists
        in Parquet count from 0.

    Attributes
    ----------
    n_features, n_labels : int
        Numbers of columns.
    feature_names, label_names : tuple of str
        Their names, x0, x1, ... and y0, y1, ... where the file has none.
    n_rows : int or None
        Number of instances, where it is known without reading the file.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If something in the file is malformed (also while iterating; the message names the line or the row).
    ImportError
        If the file is Parquet and pyarrow is not installed.

    Notes
    -----
    Memory: text needs some ten megabytes beside the chunk. Parquet needs the row group that is read (16,384 rows in
    files of `write_chunks`, up to a million in those of other programs).

    X is a CSR array (from text and lists) or dense (from columns), float32 where a Parquet file has nothing wider,
    otherwise float64; Y is a CSR array of int8.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets import LabelChunks
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.svm")
    >>> _ = path.write_text("3 3 2\\n0,1 2:0.5\\n0:1 1:2\\n1 0:1\\n")
    >>> for X, Y in LabelChunks(path, chunk_rows=2):
    ...     print(X.shape, Y.toarray().tolist())
    (2, 3) [[1, 1], [0, 0]]
    (1, 3) [[0, 1]]
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: PathLike,
        chunk_rows: int = 10_000,
        *,
        labels: str | Sequence[str] | None = None,
        drop: Sequence[str] = (),
        n_features: int | None = None,
        n_labels: int | None = None,
        zero_based: Base = "auto",
    ):
        if chunk_rows < 1:
            raise ValueError(f"chunk_rows must be at least 1, found {chunk_rows}")
        if os.fspath(path) == "-":
            raise ValueError("chunks of standard input cannot be read, since it can be read only once; give a file")
        self.path = path
        self.chunk_rows = chunk_rows
        is_parquet = _svm_text.head(path, 4) == _parquet.MAGIC
        source: _TextSource | _ColumnSource | _ListSource
        if not is_parquet:
            if labels is not None or drop:
                raise ValueError(f"{display_name(path)}: labels= and drop= are for Parquet, whose columns have names")
            source = _TextSource(path, n_features, n_labels, zero_based)
        elif is_list_layout(_schema(path)):
            source = _ListSource(path, n_features, n_labels)
        else:
            source = _ColumnSource(path, labels, drop)
        self._source = source
        self.feature_names = source.feature_names
        self.label_names = source.label_names
        self.n_features, self.n_labels = len(self.feature_names), len(self.label_names)
        self.n_rows = source.n_rows

    def __iter__(self) -> Iterator[Chunk]:
        return _rechunked(self._source.pieces(self.chunk_rows), self.chunk_rows)


def _rechunked(pieces: Iterator[Chunk], rows: int) -> Iterator[Chunk]:
    """The same rows in chunks of exactly this many, but for the last one."""
    held: list[Chunk] = []
    n_held = 0
    for X, Y in pieces:
        start = 0
        while n_held + X.shape[0] - start >= rows:
            stop = start + rows - n_held
            yield _joined([*held, (X[start:stop], Y[start:stop])])
            held, n_held, start = [], 0, stop
        if start < X.shape[0]:
            held.append((X[start:], Y[start:]))
            n_held += X.shape[0] - start
    if held:
        yield _joined(held)


def _joined(parts: list[Chunk]) -> Chunk:
    if len(parts) == 1:
        return parts[0]
    if issparse(parts[0][0]):
        X = csr_array(vstack([X for X, _ in parts], format="csr"))
    else:
        X = np.vstack([X for X, _ in parts])
    return X, csr_array(vstack([Y for _, Y in parts], format="csr"))


# -------------------------------------------------------------------------------------------------- text


class _TextSource:
    def __init__(self, path: PathLike, n_features: int | None, n_labels: int | None, zero_based: Base):
        self.path = path
        self.name = display_name(path)
        extent = None
        with _svm_text.opened(path) as stream:
            sizes, blocks = _svm_text.read_blocks(stream, self.name)
            if needs_extent(sizes, n_features, n_labels, zero_based):
                extent = Extent.of(blocks)
        self.layout = settle(self.name, sizes, extent, n_features, n_labels, zero_based)
        self.n_rows = sizes.n_rows if sizes else None
        self.feature_names = generic_names("x", self.layout.n_features)
        self.label_names = generic_names("y", self.layout.n_labels)

    def pieces(self, chunk_rows: int) -> Iterator[Chunk]:
        with _svm_text.opened(self.path) as stream:
            _, blocks = _svm_text.read_blocks(stream, self.name)
            for block in blocks:
                yield self.layout.matrices(block)


# ----------------------------------------------------------------------------------------------- Parquet


def _schema(path: PathLike) -> Any:
    with _parquet_file(path) as file:
        return file.schema_arrow


def _parquet_file(path: PathLike) -> Any:
    pa, parquet = _parquet._pyarrow()
    try:
        # Read by and by: a column of a row group is large, and buffered reads need a part of it only.
        return parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{display_name(path)}: the Parquet file is damaged or cut short ({reason})") from None


def _batches(path: PathLike, columns: Sequence[str] | None, rows: int) -> Iterator[tuple[Any, int]]:
    """Yield record batches, each with the number of its first row."""
    pa, _ = _parquet._pyarrow()
    first = 0
    with _parquet_file(path) as file:
        try:
            for batch in file.iter_batches(batch_size=min(rows, _ROW_GROUP), columns=columns, use_threads=False):
                yield batch, first
                first += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"{display_name(path)}: the Parquet file is damaged ({reason}); copy it again") from None


def is_list_layout(schema: Any) -> bool:
    """Whether a Parquet file has the columns of lists ``indices``, ``values`` and ``labels``."""
    return all(name in schema.names and "list" in str(schema.field(name).type) for name in _LISTS)


def _stored(schema: Any) -> dict[str, list[str]]:
    """Names of features and labels which `write_chunks` left in the file."""
    found = (schema.metadata or {}).get(_KEY)
    return json.loads(found) if found else {}


def stored_labels(schema: Any) -> list[str] | None:
    """Names of labels which `write_chunks` left in the file."""
    return _stored(schema).get("labels")


def _list_block(batch: Any, first_row: int, name: str) -> Block:
    """Rows of a batch of lists; what counts as the line in messages is the number of the row."""
    parts = []
    for column in _LISTS:
        array = batch.column(column)
        values = array.flatten()
        if array.null_count or values.null_count:
            raise ValueError(f"{name}: there are nulls in column {column!r} after row {first_row}; write empty lists")
        lengths = np.diff(array.offsets.to_numpy()).astype(np.int64)
        parts.append((lengths, values.to_numpy(zero_copy_only=False)))
    (n_entries, indices), (n_values, values), (n_labels, labels) = parts
    rows = np.arange(first_row + 1, first_row + 1 + batch.num_rows)
    if not np.array_equal(n_entries, n_values):
        row = rows[np.flatnonzero(n_entries != n_values)[0]]
        raise ValueError(f"{name}, row {row}: indices and values have different lengths")
    if indices.dtype.kind not in "iu" or labels.dtype.kind not in "iu" or values.dtype.kind not in "iuf":
        raise ValueError(f"{name}: indices and labels must be lists of integers, values of numbers")
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        row = rows[np.searchsorted(np.cumsum(n_entries), at, side="right")]
        raise ValueError(f"{name}, row {row}: a value is NaN or infinite")
    values = values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)
    return Block(n_labels, labels.astype(np.int64), n_entries, indices.astype(np.int64), values, rows)


class _ListSource:
    def __init__(self, path: PathLike, n_features: int | None, n_labels: int | None):
        self.path = path
        self.name = display_name(path)
        with _parquet_file(path) as file:
            self.n_rows: int | None = file.metadata.num_rows
            names = _stored(file.schema_arrow)
        if names:
            n_features, n_labels = len(names["features"]), len(names["labels"])
        blocks = (_list_block(batch, first, self.name) for batch, first in _batches(path, _LISTS, _ROW_GROUP))
        extent = Extent.of(blocks) if n_features is None or n_labels is None else None
        self.layout = settle(self.name, None, extent, n_features, n_labels, True)
        self.feature_names = tuple(names["features"]) if names else generic_names("x", self.layout.n_features)
        self.label_names = tuple(names["labels"]) if names else generic_names("y", self.layout.n_labels)

    def pieces(self, chunk_rows: int) -> Iterator[Chunk]:
        for batch, first in _batches(self.path, _LISTS, chunk_rows):
            yield self.layout.matrices(_list_block(batch, first, self.name), "row")


class _ColumnSource:
    def __init__(self, path: PathLike, labels: str | Sequence[str] | None, drop: Sequence[str]):
        self.path = path
        self.name = display_name(path)
        with _parquet_file(path) as file:
            self.n_rows: int | None = file.metadata.num_rows
            schema = file.schema_arrow
        labels = stored_labels(schema) if labels is None else labels
        if labels is None:
            raise ValueError(f"{self.name}: which of the {len(schema.names)} columns are labels? Give labels=")
        if isinstance(labels, str):
            targets = [j for j, column in enumerate(schema.names) if labels and column.startswith(labels)]
            if not targets:
                raise ValueError(f"{self.name}: no column begins with labels={labels!r}")
        else:
            targets = positions_of(schema.names, labels, self.name, "column", "labels")
        dropped = positions_of(schema.names, drop, self.name, "column", "drop")
        features = [j for j in range(len(schema.names)) if j not in {*targets, *dropped}]
        for j in features:
            kind = str(schema.field(j).type)
            if not kind.startswith(("int", "uint", "float", "double", "half", "bool")):
                raise ValueError(
                    f"{self.name}: column {schema.names[j]!r} has type {kind}; chunks need features of numbers. Read the "
                    f"whole file with load_labels, or leave it out with drop=[{schema.names[j]!r}]"
                )
        kinds = {str(schema.field(j).type) for j in features}
        self.dtype = np.float32 if kinds <= {"float", "halffloat", "bool", "int8", "uint8"} else np.float64
        self.feature_names = tuple(schema.names[j] for j in features)
        self.label_names = tuple(schema.names[j] for j in targets)

    def pieces(self, chunk_rows: int) -> Iterator[Chunk]:
        for batch, first in _batches(self.path, [*self.feature_names, *self.label_names], chunk_rows):
            where = f"{self.name}, rows {first + 1} to {first + batch.num_rows}"
            X = self._matrix(batch, self.feature_names, where, self.dtype)
            if not np.isfinite(X).all():
                raise ValueError(f"{where}: a feature is NaN or infinite")
            yield X, indicator(self._matrix(batch, self.label_names, where, np.float64), where)

    @staticmethod
    def _matrix(batch: Any, names: Sequence[str], where: str, dtype: Any) -> NDArray:
        result = np.empty((batch.num_rows, len(names)), dtype=dtype)
        for k, name in enumerate(names):
            column = batch.column(name)
            if column.null_count:
                raise ValueError(f"{where}: column {name!r} has no value somewhere")
            result[:, k] = column.to_numpy(zero_copy_only=False)
        return result


def read_whole_lists(table: Any, name: str, sparse: Form, title: str) -> LabelDataset:
    """Data set of a Parquet table in memory which has the layout of lists."""
    names = _stored(table.schema)
    blocks = [_list_block(batch, 0, name) for batch in table.combine_chunks().to_batches() if batch.num_rows]
    extent = Extent.of(blocks)
    sizes = (len(names["features"]), len(names["labels"])) if names else (None, None)
    layout: Layout = settle(name, None, extent, *sizes, True)
    X, Y = _joined([layout.matrices(block, "row") for block in blocks])
    return LabelDataset(
        name=title,
        X=in_form(X, sparse, name),
        Y=Y,
        feature_names=tuple(names["features"]) if names else generic_names("x", layout.n_features),
        label_names=tuple(names["labels"]) if names else generic_names("y", layout.n_labels),
        description=f"{counted(X.shape[0], 'instance')} read from {name}",
    )


# ----------------------------------------------------------------------------------------------- writing


def write_chunks(
    path: PathLike,
    chunks: Iterable[tuple[Any, Any]],
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
) -> int:
    """Write chunks of instances to one file, with one chunk in memory at a time.

    Parameters
    ----------
    path : str or path-like
        With the suffix ``.parquet`` or ``.pq`` a Parquet file, which keeps the names and the precision of X: lists
        where X is sparse, otherwise a column for each feature and label. With any other suffix text in the
        extreme-classification format, see `write_libsvm`. The file appears when it is complete.
    chunks : iterable of (X, Y)
        Features and labels, all chunks of the same widths and the same form.
    feature_names, label_names : sequence of str, optional
        Names for a Parquet file; by default x0, x1, ... and y0, y1, ....

    Returns
    -------
    int
        Number of instances written.

    Raises
    ------
    ValueError
        If there is no chunk, widths differ between chunks, or X and Y are not as in `write_libsvm`.
    FileNotFoundError
        If the folder does not exist.
    ImportError
        If Parquet is asked for and pyarrow is not installed.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from cofactor.datasets import LabelChunks, write_chunks
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.parquet")
    >>> write_chunks(path, ((np.eye(3), np.eye(3)[:, :2]) for _ in range(4)))
    12
    >>> [len(X) for X, Y in LabelChunks(path, 5)]
    [5, 5, 2]
    >>> folder.cleanup()
    """
    iterator = iter(chunks)
    first = next(iterator, None)
    if first is None:
        raise ValueError("there are no chunks to write")
    widths = first[0].shape[1], first[1].shape[1]
    is_parquet = Path(path).suffix.lower() in (".parquet", ".pq")
    if not is_parquet and (feature_names is not None or label_names is not None):
        raise ValueError("libsvm text has no place for names; write a .parquet file")
    n_rows = 0
    with replacing(path) as stream:
        writer: LibsvmWriter | _ParquetWriter
        if is_parquet:
            names = feature_names or generic_names("x", widths[0]), label_names or generic_names("y", widths[1])
            writer = _ParquetWriter(stream, first[0], *names)
        else:
            writer = LibsvmWriter(stream, *widths, header=True, zero_based=None)
        for X, Y in _chain(first, iterator):
            if (X.shape[1], Y.shape[1]) != widths:
                raise ValueError(f"a chunk has {X.shape[1]} features and {Y.shape[1]} labels, the first one {widths}")
            writer.write(*check_pair(X, Y))
            n_rows += X.shape[0]
        writer.close()
    return n_rows


def _chain(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


class _ParquetWriter:
    """Writes rows in pieces to a Parquet file of either layout."""

    def __init__(self, stream: Any, X: Any, features: Sequence[str], labels: Sequence[str]):
        pa, parquet = _parquet._pyarrow()
        if (len(features), X.shape[1]) != (X.shape[1], len(features)):
            raise ValueError(f"{len(features)} feature names for {X.shape[1]} features")
        if len(set(features) | set(labels)) < len(features) + len(labels):
            raise ValueError("the names of features and labels must all be different")
        self.pa = pa
        self.lists = issparse(X)
        self.features, self.labels = list(features), list(labels)
        number = pa.float32() if X.dtype == np.float32 else pa.float64()
        if self.lists:
            fields = [("indices", pa.list_(pa.int32())), ("values", pa.list_(number)), ("labels", pa.list_(pa.int32()))]
        else:
            fields = [*((name, number) for name in features), *((name, pa.bool_()) for name in labels)]
        names = json.dumps({"features": self.features, "labels": self.labels}).encode()
        self.schema = pa.schema(fields, metadata={_KEY: names})
        self.dtype = np.float32 if X.dtype == np.float32 else np.float64
        self.writer = parquet.ParquetWriter(stream, self.schema)

    def write(self, X: csr_array, Y: csr_array) -> None:
        """Write some rows."""
        pa = self.pa
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
        self.writer.write_table(pa.table(columns, schema=self.schema), row_group_size=_ROW_GROUP)

    def close(self) -> None:
        """Finish the file."""
        self.writer.close()
