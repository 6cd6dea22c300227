"""Files of a folder whose manifest knows their sizes and checksums: arrays, ids, and the manifest itself."""

from __future__ import annotations

import io
import json
import math
import mmap
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cofactor import persistence
from cofactor.errors import InvalidInputError, Place
from cofactor.files import replacing
from cofactor.ratings.ids import IdMap, saved_ids
from cofactor.text import counted
from cofactor.version import __version__

__all__ = [
    "FORMAT",
    "IDS",
    "StoredFile",
    "check_size",
    "damage",
    "load_array",
    "load_ids",
    "read_manifest",
    "refuse",
    "verify_file",
    "write_array",
    "write_ids",
    "write_joined",
    "write_manifest",
]

FORMAT = 1  #: Number of the layout which this version writes, and the only one which it reads.
IDS = "ids.safetensors"

_START = 10  # bytes before the header of an array; the last two are its length
_PIECE = 1 << 22  # bytes read at a time for a checksum
_AGAIN = "shard the ratings again"


@dataclass(frozen=True)
class StoredFile:
    """Size in bytes and CRC-32 of a file."""

    bytes: int
    crc32: int


def write_array(path: Path, array: NDArray[Any]) -> StoredFile:
    """Write an array as ``.npy``, whole or not at all."""
    with replacing(path) as stream:
        summed = _Summed(stream)
        np.save(summed, array, allow_pickle=False)
    return StoredFile(summed.count, summed.crc)


def write_ids(path: Path, ids: IdMap, name: str) -> StoredFile:
    """Write the ids of users or items, whole or not at all."""
    arrays, header = ids.to_state()
    persistence.write_model(path, {"ids": {name: header}}, {f"{name}.{key}": a for key, a in arrays.items()})
    return StoredFile(path.stat().st_size, _crc_of(path))


def write_joined(path: Path, dtype: DTypeLike, shape: tuple[int, ...], pieces: Iterable[NDArray[Any]]) -> StoredFile:
    """Write an array whose rows come in pieces, one after the other, whole or not at all."""
    described = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    with replacing(path) as stream:
        summed: Any = _Summed(stream)
        np.lib.format.write_array_header_1_0(summed, described)
        for piece in pieces:
            summed.write(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    return StoredFile(summed.count, summed.crc)


def load_ids(path: Path, name: str, n: int) -> IdMap:
    """Read the ids of n users or items."""
    header, arrays = persistence.read_model(path)
    with damage(path):
        ids = saved_ids(header, arrays, name)
    if len(ids) != n:
        refuse(path, f"holds {counted(len(ids), 'id')}, and the manifest says {n:,}")
    return ids


def load_array(path: Path, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """Map an array into memory, without reading it.

    The pages belong to this process alone as soon as it writes to them, so that the file cannot change. The array does
    not count as read-only: kernels which are compiled for arrays in memory take it, and give the same bits.
    """
    with damage(path), path.open("rb") as stream:
        start = stream.read(_START)
        start += stream.read(int.from_bytes(start[-2:], "little"))
        found_shape, by_column, found_dtype = _described(start)
        mapped = None if 0 in shape else mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
    if found_dtype != dtype or found_shape != shape or by_column:
        refuse(path, f"holds {found_dtype} of shape {found_shape}, and the manifest says {shape}")
    if mapped is None:
        return np.empty(shape, dtype)
    with damage(path):
        return np.frombuffer(mapped, dtype, math.prod(shape), len(start)).reshape(shape)


@lru_cache(maxsize=1 << 14)
def _described(start: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array by the start of its file: `numpy.load` would take a millisecond."""
    stream = io.BytesIO(start)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("another version of the format of arrays")
    found: tuple[tuple[int, ...], bool, np.dtype[Any]] = np.lib.format.read_array_header_1_0(stream)
    return found


def verify_file(path: Path, stored: StoredFile) -> None:
    """Refuse a file of another content than was written."""
    check_size(path, stored)
    if _crc_of(path) != stored.crc32:
        refuse(path, "its checksum is not that of the manifest: it was damaged or changed")


def write_manifest(path: Path, state: Mapping[str, Any]) -> None:
    """Write a manifest with a checksum of its own; its folder holds from then on what it says."""
    full: dict[str, Any] = {"format": FORMAT, "cofactor": __version__, **state}
    full["crc32"] = _checksum(full)
    with replacing(path) as stream:
        stream.write(json.dumps(full, indent=1).encode())


def read_manifest(path: Path) -> dict[str, Any]:
    """Return what a manifest says; refuse one of another version, or edited."""
    try:
        state = json.loads(path.read_bytes())
    except ValueError as error:
        refuse(path, f"is no manifest ({error})")
    if not isinstance(state, dict):
        refuse(path, f"is no manifest: found {state!r:.40}, expected an object")
    for name in ("format", "cofactor"):
        if name not in state:
            refuse(path, f"is no manifest: it has no {name!r}")
    number, version = state.pop("format"), state.pop("cofactor")
    if number != FORMAT and version != __version__:  # else it was changed: its checksum tells
        found = f"is of format {number!r}, written by cofactor {version}, but this is cofactor {__version__}"
        refuse(path, f"{found}, which reads format {FORMAT}")
    crc = state.pop("crc32", None)
    if crc != _checksum({"format": number, "cofactor": version, **state}):
        refuse(path, "was changed after it was written: its checksum does not match", "put it back as it was, or ")
    return dict(state)


def check_size(path: Path, stored: StoredFile) -> None:
    """Refuse a file that is missing, or has another size than was written."""
    if not path.is_file():
        refuse(path, "is missing, though the manifest names it")
    size = path.stat().st_size
    if size != stored.bytes:
        what = "is cut off" if size < stored.bytes else "is too long"
        refuse(path, f"{what}: it has {counted(size, 'byte')}, and the manifest says {stored.bytes:,}")


@contextmanager
def damage(path: Path) -> Iterator[None]:
    """Within the block, an error of what a file holds names it."""
    try:
        yield
    except (EOFError, KeyError, SyntaxError, TokenError, TypeError, ValueError) as error:
        refuse(path, f"is damaged ({error})")


def refuse(path: Path, what: str, advice: str = "") -> NoReturn:
    """Refuse a file of a folder of ratings."""
    raise InvalidInputError(what, advice=f"{advice}{_AGAIN}", place=Place(str(path))) from None


class _Summed:
    """A stream for writing which counts and sums up what goes into it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.count, self.crc = stream, 0, 0

    def write(self, data: Any) -> int:
        self.count += memoryview(data).nbytes
        self.crc = zlib.crc32(data, self.crc)
        return self.stream.write(data)


def _checksum(state: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(state, sort_keys=True).encode())


def _crc_of(path: Path) -> int:
    crc = 0
    with path.open("rb") as stream:
        while piece := stream.read(_PIECE):
            crc = zlib.crc32(piece, crc)
    return crc
