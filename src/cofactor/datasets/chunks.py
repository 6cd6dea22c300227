"""Instances in chunks, so that data larger than memory can be learned from: libsvm text and Parquet.

A Parquet file has one of two layouts: a column for each feature and label; or three columns of lists, ``indices`` and
``values`` of the features which are not 0, and ``labels``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from cofactor.datasets.formats import open_data
from cofactor.datasets.readers.matrices import generic_names
from cofactor.datasets.readers.parquet import ParquetWriter
from cofactor.datasets.readers.svmlight import (
    Base,
    Chunk,
    ChunkOptions,
    LibsvmWriter,
    check_pair,
    joined,
)
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.files import PathLike, replacing


class LabelChunks:
    r"""A libsvm, extreme-classification or Parquet file as chunks ``(X, Y)``, with one chunk in memory at a time.

    It can be iterated over any number of times; each iteration reads the file again. Label models whose
    ``capabilities.chunks`` is true are fitted to it as it is: ``LabelRidge().fit(LabelChunks(path))``.

    Parameters
    ----------
    path : str or path-like
        The file; libsvm text may be gzip-compressed. Standard input is refused, since it can be read only once.
    chunk_rows : int, default 10,000
        Instances in a chunk; the last chunk has the rest.
    labels : str or sequence of str, optional
        For Parquet with a column for each label: which columns are labels, by a prefix of their names or by their
        names. Not needed for files which `write_chunks` wrote.
    drop : sequence of str, default ()
        For Parquet with a column for each feature: columns which are neither feature nor label.
    n_features, n_labels : int, optional
        Numbers of columns of X and Y, for libsvm files without sizes in the first line, and for Parquet files with
        lists which `write_chunks` did not write. By default the file is read once to find them.
    zero_based : {"auto", True, False}, default "auto"
        For libsvm files, as in `read_libsvm`; for ``"auto"`` the file is read once to find it, unless it has sizes.
        Lists in Parquet count from 0.

    Attributes
    ----------
    n_features, n_labels : int
        Numbers of columns.
    feature_names, label_names : tuple of str
        Their names. Where the file has none, x0, x1, ... and y0, y1, ...; if libsvm text counts from 1, x1, x2, ...
        and y1, y2, ....
    n_rows : int or None
        Number of instances; None if the file does not say it.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If something in the file is malformed, also during iteration; the message names the line or the row.

    Notes
    -----
    Memory: text needs about ten megabytes beside the chunk. Parquet needs the row group that is read (16,384 rows in
    files of `write_chunks`, up to a million in files of other programs).

    X is a CSR array (from text and lists) or dense (from columns), float32 where a Parquet file has nothing wider,
    otherwise float64; Y is a CSR array of int32.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets import LabelChunks
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.svm")
    >>> _ = path.write_text("3 3 2\n0,1 2:0.5\n0:1 1:2\n1 0:1\n")
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
            raise InvalidInputError("must be at least 1", argument="chunk_rows", found=chunk_rows)
        if not isinstance(path, str | bytes | os.PathLike):
            raise InvalidTypeError(
                f"expected the path of a file, found a {type(path).__name__}",
                argument="path",
                advice="give chunks that are there already, pairs (X, Y), to fit itself: LabelRidge().fit(pairs)",
            )
        if os.fspath(path) == "-":
            raise InvalidInputError(
                "chunks of standard input cannot be read, since it can be read only once", advice="give a file"
            )
        self.path = path
        self.chunk_rows = chunk_rows
        options = ChunkOptions(labels, drop, n_features, n_labels, zero_based)
        self._source = source = open_data(path).chunks(options)
        self.feature_names, self.label_names, self.n_rows = source.feature_names, source.label_names, source.n_rows
        self.n_features, self.n_labels = len(self.feature_names), len(self.label_names)

    def __iter__(self) -> Iterator[Chunk]:
        return _rechunked(self._source.read(self.chunk_rows), self.chunk_rows)


def _rechunked(chunks: Iterator[Chunk], rows: int) -> Iterator[Chunk]:
    """Yield the same rows in chunks of exactly this many; the last chunk has the rest."""
    held: list[Chunk] = []
    n_held = 0
    for X, Y in chunks:
        start = 0
        while n_held + X.shape[0] - start >= rows:
            stop = start + rows - n_held
            yield joined([*held, (X[start:stop], Y[start:stop])])
            held, n_held, start = [], 0, stop
        if start < X.shape[0]:
            held.append((X[start:], Y[start:]))
            n_held += X.shape[0] - start
    if held:
        yield joined(held)


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
        extreme-classification format, see `write_libsvm`. The file has its name only when it is complete.
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
        raise InvalidInputError("there are no chunks to write")
    widths = first[0].shape[1], first[1].shape[1]
    is_parquet = Path(path).suffix.lower() in (".parquet", ".pq")
    if not is_parquet and (feature_names is not None or label_names is not None):
        raise InvalidInputError(
            "libsvm text has no place for names", argument="feature_names", advice="write a .parquet file"
        )
    n_rows = 0
    with replacing(path) as stream:
        writer: LibsvmWriter | ParquetWriter
        if is_parquet:
            names = feature_names or generic_names("x", widths[0]), label_names or generic_names("y", widths[1])
            writer = ParquetWriter(stream, first[0], *names)
        else:
            writer = LibsvmWriter(stream, *widths, header=True, zero_based=None)
        with closing(writer):  # also after an error, while there is still a file to write to
            for X, Y in chain([first], iterator):
                if (X.shape[1], Y.shape[1]) != widths:
                    raise InvalidInputError(
                        f"a chunk has {X.shape[1]} features and {Y.shape[1]} labels, the first one {widths}"
                    )
                writer.write(*check_pair(X, Y))
                n_rows += X.shape[0]
    return n_rows
