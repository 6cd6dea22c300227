"""Tables in chunks of rows, which are read again in each pass; to sums over rows a table in memory is one chunk.

What is a sum over rows is written once for both::

    total = None
    for chunk, some in zip_chunks(X, weights):
        total = accumulate(total, chunk.T @ some)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: Numbers in a chunk of a dense table: 33 MB in double precision.
CHUNK_CELLS = 1 << 22


class ChunkedTable:
    """A table whose rows are read again in each pass, in chunks, always the same.

    Parameters
    ----------
    read : callable
        Begins a pass: an iterator of chunks, ndarrays or csr_arrays of D columns.
    shape : tuple of int
        Numbers of rows and columns, (n, D).
    size : int
        Numbers that are stored.
    sparse : bool
        Whether chunks are sparse.

    Examples
    --------
    >>> table = ChunkedTable(lambda: iter([np.eye(2), 3 * np.eye(2)]), (4, 2), size=8, sparse=False)
    >>> [float(chunk.sum()) for chunk in table.map(lambda chunk: chunk + 1)]
    [6.0, 10.0]
    >>> table[np.array([1, 2])].tolist()
    [[0.0, 1.0], [3.0, 0.0]]
    """

    def __init__(self, read: Callable[[], Iterator[Any]], shape: tuple[int, int], *, size: int, sparse: bool) -> None:
        self._read, self.shape, self.size, self.sparse = read, shape, size, sparse
        self._changes: tuple[Callable[[Any], Any], ...] = ()
        self._rows: NDArray[np.int64] | None = None

    def __iter__(self) -> Iterator[Any]:
        """Read the rows once, in chunks that are not empty."""
        at = 0
        for chunk in self._read():
            start, at = at, at + chunk.shape[0]
            if self._rows is not None:
                low, high = np.searchsorted(self._rows, (start, at))
                if low == high:
                    continue
                if high - low < chunk.shape[0]:
                    chunk = chunk[self._rows[low:high] - start]
            for change in self._changes:
                chunk = change(chunk)
            yield chunk

    def map(
        self, change: Callable[[Any], Any], n_columns: int | None = None, *, sparse: bool | None = None
    ) -> ChunkedTable:
        """Return the table of changed chunks: each row of them follows from the row that it was."""
        found = copy.copy(self)
        found._changes = (*self._changes, change)
        found.sparse = self.sparse if sparse is None else sparse
        found.shape = self.shape[0], self.shape[1] if n_columns is None else n_columns
        return found

    def astype(self, dtype: Any, copy: bool = True) -> ChunkedTable:
        """Return the table in another precision."""
        return self.map(lambda chunk: chunk.astype(dtype, copy=copy))

    def take(self, rows: NDArray[np.int64]) -> ChunkedTable:
        """Return the table of some rows, whose numbers ascend; it is chunked too."""
        found = copy.copy(self)
        found._rows = rows if self._rows is None else self._rows[rows]
        found.shape = len(rows), self.shape[1]
        found.size = self.size * len(rows) // max(1, self.shape[0])
        return found

    def __getitem__(self, rows: NDArray[np.int64]) -> Any:
        """Return some rows, whose numbers ascend, as a table in memory."""
        return vstack(self.take(rows))


class MappedTable:
    """Rows of a table in memory that are changed when they are asked for: dense, where a whole table would be too much.

    Parameters
    ----------
    table : ndarray or csr_array of shape (n, L)
    change : callable
        Makes of some rows those of this table, (m, d).
    n_columns : int
        Their number d.

    Examples
    --------
    >>> MappedTable(np.arange(4.0)[:, None], lambda chunk: chunk * [1, 2], 2)[1:3]
    array([[1., 2.],
           [2., 4.]])
    """

    def __init__(self, table: Any, change: Callable[[Any], NDArray[Any]], n_columns: int) -> None:
        self._table, self._change, self.shape = table, change, (table.shape[0], n_columns)

    def __getitem__(self, which: Any) -> Any:
        """Return some rows, in memory; or all rows of some columns, ``[:, columns]``."""
        if not isinstance(which, tuple):
            return self._change(self._table[which])
        columns = which[1]
        n_columns = len(np.arange(self.shape[1])[columns])
        return MappedTable(self._table, lambda chunk: self._change(chunk)[:, columns], n_columns)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Make all rows once, in chunks."""
        for rows in batches(self.shape[0], max(1, CHUNK_CELLS // self.shape[1])):
            yield self[rows]


def batches(n: int, size: int) -> Iterator[slice]:
    """Yield slices of so many of n rows, the last one of the rest: those of scikit-learn, without its checks.

    These take .1 ms, longer than many a loop over the slices.
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def is_sparse(X: Any) -> TypeGuard[sparse.csr_array]:
    """Whether a table is sparse: SciPy's `issparse`, with a type, as sparse means csr in this package."""
    return sparse.issparse(X)


def as_dense(table: Any) -> NDArray[np.float64]:
    """Return a dense or sparse table as a dense one, in double precision."""
    return np.asarray(table.toarray() if is_sparse(table) else table, dtype=np.float64)


def is_chunked(table: Any) -> bool:
    """Return whether a table comes in chunks, and is not in memory as a whole."""
    return isinstance(table, ChunkedTable | MappedTable)


def take_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows, whose numbers ascend, of a table: in memory, or chunked as the table is."""
    return table.take(rows) if isinstance(table, ChunkedTable) else table[rows]


def zip_chunks(table: Any, *others: Any) -> Iterator[tuple[Any, ...]]:
    """Yield chunks of a table, each with the same rows of others; a table in memory is one chunk.

    Parameters
    ----------
    table : ndarray, csr_array, ChunkedTable or MappedTable, of n rows
    *others : ndarray, csr_array, MappedTable, or None
        Of n rows too; None stays None.

    Examples
    --------
    >>> [len(chunk) for chunk, none in zip_chunks(np.eye(3), None)]
    [3]
    """
    if not is_chunked(table):
        yield table, *others
        return
    at = 0
    for chunk in table:
        rows = slice(at, at + chunk.shape[0])
        at = rows.stop
        yield chunk, *(None if other is None else other[rows] for other in others)


def accumulate(total: Any, chunk: Any) -> Any:
    """Return a total with a chunk added, in its memory; None is the total of nothing."""
    if total is None:
        return chunk
    total += chunk
    return total


def vstack(chunks: Iterable[Any]) -> Any:
    """Return chunks as one table, sparse if one of several is; a single chunk as it is."""
    found = list(chunks)
    if len(found) == 1:
        return found[0]
    return sparse.csr_array(sparse.vstack(found)) if any(map(sparse.issparse, found)) else np.concatenate(found)
