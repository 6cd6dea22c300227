"""Files of records that are written to the end, cut back, and read in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.files import naming_file

__all__ = ["Spill", "record_type", "records_in"]


def record_type(timed: bool) -> np.dtype[Any]:
    """Return how a rating lies in a file: its user, its item, its level, and its time if there are times.

    Examples
    --------
    >>> record_type(False).itemsize, record_type(True).itemsize
    (9, 17)
    """
    fields: list[tuple[str, Any]] = [("user", "<i4"), ("item", "<i4"), ("level", "u1")]
    return np.dtype(fields + ([("time", "<f8")] if timed else []))


class Spill:
    """A file of records, which is open for writing at its end.

    Parameters
    ----------
    path : Path
        Made if there is none.
    length : int
        Bytes of it that count; the rest is cut off.
    """

    def __init__(self, path: Path, length: int = 0) -> None:
        self.path = path
        with naming_file(path):
            self._stream = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115
            self._stream.truncate(length)
            self._stream.seek(length)
        self.length = length

    def append(self, records: NDArray[Any]) -> None:
        """Write records to the end."""
        data = np.ascontiguousarray(records).view(np.uint8).data
        with naming_file(self.path):
            while len(data):
                written = self._stream.write(data)
                self.length += written or 0
                data = data[written:]

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        with naming_file(self.path):
            os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def records_in(path: Path, dtype: np.dtype[Any], n: int, first: int, most: int) -> Iterator[NDArray[Any]]:
    """Yield the records `first` to n - 1 of a file, at most so many at a time."""
    with path.open("rb") as stream:
        stream.seek(first * dtype.itemsize)
        for start in range(first, n, most):
            yield np.fromfile(stream, dtype, min(most, n - start))
