"""The entries of ratings by columns: made of the rows when they are first asked for, or mapped from files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels import observed
from cofactor.ratings.entries import narrow, offsets

__all__ = ["ColumnEntries", "OfColumns", "StoredColumnEntries"]

#: Held while entries are made, so that threads which ask at the same time make them once.
_MAKING = Lock()


class ColumnEntries:
    """The entries of sorted rows by columns, of which each part is made when it is first asked for, and kept then.

    Parameters
    ----------
    row_indptr : ndarray of shape (n_rows + 1,), int64
        Offsets of rows.
    row_indices : ndarray of shape (n_entries,), int32
        Column of each entry, increasing within a row.
    n_columns : int

    Examples
    --------
    >>> columns = ColumnEntries(np.array([0, 2, 3]), np.array([0, 2, 2], dtype=np.int32), 3)
    >>> columns.indptr.tolist(), columns.indices.tolist(), columns.to_csr.tolist()
    ([0, 1, 1, 3], [0, 0, 1], [0, 1, 2])
    """

    def __init__(self, row_indptr: NDArray[np.int64], row_indices: NDArray[np.int32], n_columns: int) -> None:
        self._row_indptr, self._row_indices, self._n_columns = row_indptr, row_indices, n_columns

    @cached_property
    def indptr(self) -> NDArray[np.int64]:
        """Offsets of columns."""
        return offsets(self._row_indices, self._n_columns)

    @property
    def indices(self) -> NDArray[np.int32]:
        """Row of each column entry, increasing within a column."""
        return self._both()[0]

    @property
    def to_csr(self) -> NDArray[Any]:
        """Position of each column entry among the entries by row."""
        return self._both()[1]

    def _both(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        with _MAKING:
            return self._made

    @cached_property
    def _made(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        n = self._row_indices.size
        rows, positions = np.empty(n, dtype=np.int32), np.empty(n, dtype=narrow(n))
        observed.by_column(self._row_indptr, self._row_indices, self.indptr.copy(), rows, positions)
        return rows, positions


class StoredColumnEntries(ColumnEntries):
    """The same that was made before, and is read when it is first asked for.

    Parameters
    ----------
    read : callable
        Returns ``"col_indptr"``, ``"col_indices"`` or ``"to_csr"``.
    """

    def __init__(self, read: Callable[[str], NDArray[Any]]) -> None:
        self._read = read

    @cached_property
    def indptr(self) -> NDArray[np.int64]:
        """Offsets of columns."""
        return self._read("col_indptr")

    @cached_property
    def _made(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        return self._read("col_indices"), self._read("to_csr")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as arrays."""
        arrays = {"col_indptr": self.indptr, "col_indices": self.indices, "to_csr": self.to_csr}
        return StoredColumnEntries, (arrays.__getitem__,)


class OfColumns:
    """What has entries by columns, under the names that problems know them by."""

    columns: ColumnEntries

    @property
    def col_indices(self) -> NDArray[np.int32]:
        """Row of each column entry, increasing within a column."""
        return self.columns.indices

    @property
    def to_csr(self) -> NDArray[np.int32] | NDArray[np.int64]:
        """Position of each column entry among the entries by row (int64 beyond 2³¹ entries)."""
        return self.columns.to_csr
