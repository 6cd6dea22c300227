"""Tables that are seen in passes, some of their rows at a time; to sums over rows a table in memory is one part.

What is a sum over rows is written once for both::

    total = None
    for part, some in together(X, weights):
        total = added(total, part.T @ some)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: Numbers of a part of a dense table: 33 MB in double precision.
CELLS = 1 << 22


class InPasses:
    """A table whose rows are read again in each pass, in parts, always in the same order.

    Parameters
    ----------
    read : callable
        Begins a pass: an iterator of the parts, ndarrays or csr_arrays of D columns.
    shape : tuple of int
        Numbers of rows and columns, (n, D).
    size : int
        Numbers that are stored.
    sparse : bool
        Whether parts are sparse.

    Examples
    --------
    >>> table = InPasses(lambda: iter([np.eye(2), 3 * np.eye(2)]), (4, 2), size=8, sparse=False)
    >>> [float(part.sum()) for part in table.map(lambda part: part + 1)]
    [6.0, 10.0]
    >>> table[np.array([1, 2])].tolist()
    [[0.0, 1.0], [3.0, 0.0]]
    """

    def __init__(self, read: Callable[[], Iterator[Any]], shape: tuple[int, int], *, size: int, sparse: bool) -> None:
        self._read, self.shape, self.size, self.sparse = read, shape, size, sparse
        self._changes: tuple[Callable[[Any], Any], ...] = ()
        self._rows: NDArray[np.int64] | None = None

    def __iter__(self) -> Iterator[Any]:
        """Read the rows once, in parts that are not empty."""
        at = 0
        for part in self._read():
            start, at = at, at + part.shape[0]
            if self._rows is not None:
                low, high = np.searchsorted(self._rows, (start, at))
                if low == high:
                    continue
                if high - low < part.shape[0]:
                    part = part[self._rows[low:high] - start]
            for change in self._changes:
                part = change(part)
            yield part

    def map(
        self, change: Callable[[Any], Any], n_columns: int | None = None, *, sparse: bool | None = None
    ) -> InPasses:
        """Return the table of changed parts: each row of them follows from the row that it was."""
        found = copy.copy(self)
        found._changes = (*self._changes, change)
        found.sparse = self.sparse if sparse is None else sparse
        found.shape = self.shape[0], self.shape[1] if n_columns is None else n_columns
        return found

    def astype(self, dtype: Any, copy: bool = True) -> InPasses:
        """Return the table in another precision."""
        return self.map(lambda part: part.astype(dtype, copy=copy))

    def only(self, rows: NDArray[np.int64]) -> InPasses:
        """Return the table of some rows, whose numbers ascend; it is seen in passes too."""
        found = copy.copy(self)
        found._rows = rows if self._rows is None else self._rows[rows]
        found.shape = len(rows), self.shape[1]
        found.size = self.size * len(rows) // max(1, self.shape[0])
        return found

    def __getitem__(self, rows: NDArray[np.int64]) -> Any:
        """Return some rows, whose numbers ascend, as a table in memory."""
        return stacked(self.only(rows))


class Mapped:
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
    >>> Mapped(np.arange(4.0)[:, None], lambda part: part * [1, 2], 2)[1:3]
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
        return Mapped(self._table, lambda part: self._change(part)[:, columns], n_columns)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Make all rows once, in parts."""
        for rows in batches(self.shape[0], max(1, CELLS // self.shape[1])):
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


def in_parts(table: Any) -> bool:
    """Return whether a table is seen in parts, and not in memory as a whole."""
    return isinstance(table, InPasses | Mapped)


def rows_of(table: Any, rows: NDArray[np.int64]) -> Any:
    """Return some rows, whose numbers ascend, of a table: in memory, or in passes as the table is."""
    return table.only(rows) if isinstance(table, InPasses) else table[rows]


def together(table: Any, *others: Any) -> Iterator[tuple[Any, ...]]:
    """Yield parts of a table, each with the same rows of others; a table in memory is one part.

    Parameters
    ----------
    table : ndarray, csr_array, InPasses or Mapped, of n rows
    *others : ndarray, csr_array, Mapped, or None
        Of n rows too; None stays None.

    Examples
    --------
    >>> [len(part) for part, none in together(np.eye(3), None)]
    [3]
    """
    if not in_parts(table):
        yield table, *others
        return
    at = 0
    for part in table:
        rows = slice(at, at + part.shape[0])
        at = rows.stop
        yield part, *(None if other is None else other[rows] for other in others)


def added(total: Any, part: Any) -> Any:
    """Return a total with a part added, in its memory; None is the total of nothing."""
    if total is None:
        return part
    total += part
    return total


def stacked(parts: Iterable[Any]) -> Any:
    """Return parts as one table; a single part as it is."""
    found = list(parts)
    if len(found) == 1:
        return found[0]
    return sparse.csr_array(sparse.vstack(found)) if sparse.issparse(found[0]) else np.concatenate(found)
