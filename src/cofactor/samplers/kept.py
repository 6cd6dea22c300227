"""Which samples of rows are kept, and where: in memory, or in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.samplers.chain import is_kept

_TYPE = np.dtype(np.float32)


class SampleStore(Protocol):
    """Room for samples of an array."""

    def keep(self, number: int, values: NDArray[Any]) -> None:
        """Keep a sample in the place of this number."""

    def to_save(self, n: int) -> NDArray[np.float32] | None:
        """Return the first n samples for who may have to go on from here; None where they lie elsewhere."""

    def restore(self, found: NDArray[np.float32] | None) -> None:
        """Take what `to_save` returned."""


class SamplesInMemory:
    """Samples in an array.

    Parameters
    ----------
    n : int
        How many at most.
    shape : tuple of int
        Of a sample.

    Attributes
    ----------
    array : ndarray of shape (n, ...), float32
    """

    def __init__(self, n: int, shape: tuple[int, ...]) -> None:
        self.array = np.empty((n, *shape), dtype=_TYPE)

    def keep(self, number: int, values: NDArray[Any]) -> None:
        """Keep a sample in the place of this number."""
        self.array[number] = values

    def to_save(self, n: int) -> NDArray[np.float32] | None:
        """Return the first n samples."""
        return self.array[:n]

    def restore(self, found: NDArray[np.float32] | None) -> None:
        """Take what `to_save` returned."""
        assert found is not None
        self.array[: len(found)] = found


@dataclass(frozen=True)
class SampleFile:
    """Samples in a file, one after the other: an array of ``.npy`` that may end before its last sample.

    It is written where it is open only for a moment, so that who opens it elsewhere sees what was written; and a sample
    that is written again, by whoever does the same work anew, leaves it as it is.

    Attributes
    ----------
    path : Path
        In a folder that is there.
    n : int
        How many samples at most.
    shape : tuple of int
        Of a sample.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     room = SampleFile(Path(folder, "U.npy"), 9, (3, 2))
    ...     for number in range(2):
    ...         room.keep(number, np.full((3, 2), number))
    ...     SampleFile.open(room.path).read(2, 1, 3)[:, :, 0]
    array([[0., 0.],
           [1., 1.]], dtype=float32)
    """

    path: Path
    n: int
    shape: tuple[int, ...]

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return those of a file that is there."""
        with path.open("rb") as stream:
            np.lib.format.read_magic(stream)
            (n, *shape), _, _ = np.lib.format.read_array_header_1_0(stream)
        return cls(path, n, tuple(shape))

    def keep(self, number: int, values: NDArray[Any]) -> None:
        """Keep a sample in the place of this number."""
        try:
            with os.fdopen(
                os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b"
            ) as stream:
                start = self._write_header(stream)
                stream.seek(start + number * self._bytes)
                stream.write(np.ascontiguousarray(values, dtype=_TYPE).reshape(-1).view(np.uint8).data)
        except OSError as error:
            raise InvalidInputError(
                f"a sample cannot be written: {error.strerror}",
                advice=("when it can be, go on with ", Argument("resume", True)),
                place=Place(str(self.path)),
            ) from error

    def to_save(self, n: int) -> NDArray[np.float32] | None:
        """Return nothing: the file is there."""
        return None

    def restore(self, found: NDArray[np.float32] | None) -> None:
        """Take nothing."""

    def read(self, n: int, first: int, last: int) -> NDArray[np.float32]:
        """Return rows first..last-1 of the first n samples, (n, last - first, ...)."""
        row = self._bytes // max(self.shape[0], 1)
        out = np.empty((n, last - first, *self.shape[1:]), dtype=_TYPE)
        with self.path.open("rb") as stream:
            np.lib.format.read_magic(stream)
            np.lib.format.read_array_header_1_0(stream)
            start = stream.tell()
            for number in range(n):
                stream.seek(start + number * self._bytes + first * row)
                found = stream.readinto(out[number].reshape(-1).view(np.uint8).data)
                if found != out[number].nbytes:
                    raise InvalidInputError("is cut off", place=Place(str(self.path)))
        return out

    @property
    def _bytes(self) -> int:
        """Size of a sample."""
        return _TYPE.itemsize * int(np.prod(self.shape))

    def _write_header(self, stream: Any) -> int:
        """Write what the file holds; return where samples begin."""
        told = {"descr": _TYPE.str, "fortran_order": False, "shape": (self.n, *self.shape)}
        np.lib.format.write_array_header_1_0(stream, told)
        return int(stream.tell())


@dataclass(frozen=True)
class Kept:
    """After which sweeps of a chain samples are kept, see `cofactor.samplers.run`, and where.

    Attributes
    ----------
    burn_in, thin, n_sweeps : int
    folder : Path or None
        Where those of users go, in a file for each shard and array; by default they stay in memory.
    """

    burn_in: int
    thin: int
    n_sweeps: int
    folder: Path | None = None

    def after(self, sweep: int) -> bool:
        """Return whether one is kept after this sweep."""
        return is_kept(sweep, self.burn_in, self.thin)

    @property
    def n_samples(self) -> int:
        """How many are kept in all."""
        return max(self.n_sweeps - self.burn_in, 0) // self.thin

    def file(self, k: int, name: str) -> Path:
        """Return the file of the samples of an array of shard k."""
        assert self.folder is not None
        return self.folder / f"{k:04}.{name}.npy"

    def room(self, k: int, name: str, shape: tuple[int, ...]) -> SampleStore:
        """Return room for the samples of an array of shard k."""
        if self.folder is None:
            return SamplesInMemory(self.n_samples, shape)
        return SampleFile(self.file(k, name), self.n_samples, shape)
