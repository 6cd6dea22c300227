"""Files of a folder whose manifest knows their sizes and checksums: arrays, ids, and the manifest itself."""

from __future__ import annotations

import errno
import json
import math
import mmap
import os
import re
import stat
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
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
    "GIVE_BACK",
    "IDS",
    "StoredFile",
    "check_size",
    "damage",
    "load_ids",
    "map_array",
    "read_array",
    "read_manifest",
    "refuse",
    "stamp_of",
    "verify_file",
    "write_array",
    "write_ids",
    "write_joined",
    "write_manifest",
]

_FORMAT = 1  #: Number of the layout which this version writes, and the only one which it reads.
IDS = "ids.safetensors"

_START = 10  # bytes before the header of an array; the last two are its length
_PIECE = 1 << 22  # bytes read at a time for a checksum
_AGAIN = "shard the ratings again"
#: What to do where a folder of shards is not as it was when a model was fitted on it.
GIVE_BACK = "put the folder back as it was (there, or where it lay relative to the model file), or fit again"

#: How the file of an array of numbers begins, as NumPy writes it.
_ARRAY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|](?:b1|[iu][1248]|f[248]))', 'fortran_order': (True|False),"
    rb" 'shape': \((|\d{1,18},|\d{1,18}(?:, \d{1,18})+)\), \} *\n",
    re.DOTALL,
)
#: What comes of reading what is no array, or no JSON of ours.
_DAMAGE = (AttributeError, LookupError, EOFError, OverflowError, TypeError, ValueError)
#: How files are opened: a link is none of ours, and a pipe must not be waited for.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
#: Nanoseconds within which a file may change twice without another time of change.
_SETTLED = 2 * 10**9
#: CRC-32 of files that were read, by what tells that a file is the same and has not changed since.
_sums: dict[tuple[int, ...], int] = {}
_MOST_SUMS = 1 << 18


@dataclass(frozen=True)
class StoredFile:
    """Size in bytes and CRC-32 of a file."""

    bytes: int
    crc32: int

    def __post_init__(self) -> None:
        for number, end in ((self.bytes, 1 << 62), (self.crc32, 1 << 32)):
            if type(number) is not int or not 0 <= number < end:
                raise InvalidInputError(f"{number!r} is no size or checksum of a file")


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
    with path.open("rb") as stream:
        return StoredFile(path.stat().st_size, _crc_of(stream))


def write_joined(path: Path, dtype: DTypeLike, shape: tuple[int, ...], pieces: Iterable[NDArray[Any]]) -> StoredFile:
    """Write an array whose rows come in pieces, one after the other, whole or not at all."""
    described = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    with replacing(path) as stream:
        summed: Any = _Summed(stream)
        np.lib.format.write_array_header_1_0(summed, described)
        for piece in pieces:
            summed.write(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
    return StoredFile(summed.count, summed.crc)


def load_ids(path: Path, stored: StoredFile, name: str, n: int) -> IdMap:
    """Read the ids of n users or items."""
    with _opened(path, stored) as stream:
        if not _is_known(stream, stored):
            _check_sum(stream, stored, path)
        header, arrays = persistence.read_model(path)
    with damage(path):
        ids = saved_ids(header, arrays, name)
    if len(ids) != n:
        refuse(path, f"holds {counted(len(ids), 'id')}, and the manifest says {n:,}")
    return ids


@contextmanager
def _opened(path: Path, stored: StoredFile) -> Iterator[IO[bytes]]:
    """Open a file that lies here itself and has the size that was written; refuse it if it changes within the block."""
    try:
        handle = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            refuse(path, "is missing, though the manifest names it")
        if error.errno in (errno.ELOOP, errno.EMLINK):
            _check_kind(path, path.lstat(), stored)
        raise
    with os.fdopen(handle, "rb", buffering=0) as stream:
        before = os.fstat(handle)
        _check_kind(path, before, stored)
        yield stream
        if _stamp(os.fstat(handle)) != _stamp(before):
            refuse(path, "was changed while it was read")


def read_array(
    path: Path, stored: StoredFile, dtype: type[np.generic], shape: tuple[int, ...], part: slice = slice(None)
) -> NDArray[Any]:
    """Read an array, or some of its rows, into memory of this process, where nobody else can change it.

    It has the checksum that was written. That is computed when a file is first read, and again whenever it may have
    changed since; that of a file of which some rows are read, where its times tell that it has changed.
    """
    with damage(path), _opened(path, stored) as stream:
        known = _is_known(stream, stored, whole=part == slice(None))
        start = _read_start(stream, path, stored, dtype, shape)
        rows = range(shape[0])[part] if known else range(shape[0])
        array = np.empty((len(rows), *shape[1:]), dtype)
        size = array.nbytes // max(len(rows), 1)
        stream.seek(len(start) + rows.start * size)
        _fill(stream, path, array)
        if known:
            return array
        if zlib.crc32(array.reshape(-1).view(np.uint8).data, zlib.crc32(start)) != stored.crc32:
            _refuse_content(path)
        _remember(stream, stored)
        return array[part]


def map_array(path: Path, stored: StoredFile, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """Map an array into memory, without reading it.

    The pages belong to this process alone as soon as it writes to them, so that the file cannot change. The array does
    not count as read-only: kernels which are compiled for arrays in memory take it, and give the same bits.
    """
    with damage(path), _opened(path, stored) as stream:
        start = _read_start(stream, path, stored, dtype, shape)
        if 0 in shape:
            return np.empty(shape, dtype)
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        return np.frombuffer(mapped, dtype, math.prod(shape), len(start)).reshape(shape)


def _read_start(
    stream: IO[bytes], path: Path, stored: StoredFile, dtype: type[np.generic], shape: tuple[int, ...]
) -> bytes:
    """Return what stands before the numbers of an array, which must be of this type and shape."""
    start = stream.read(_START)
    start += stream.read(int.from_bytes(start[-2:], "little"))
    found_shape, by_column, found_dtype = _described(start)
    if found_dtype != dtype or found_shape != shape or by_column:
        refuse(path, f"holds {found_dtype} of shape {found_shape}, and the manifest says {shape}")
    if len(start) + math.prod(shape) * found_dtype.itemsize != stored.bytes:
        refuse(path, f"has {stored.bytes:,} bytes, and an array of shape {shape} another number")
    return start


def _fill(stream: Any, path: Path, array: NDArray[Any]) -> None:
    """Read the numbers of an array."""
    rest = array.reshape(-1).view(np.uint8)
    while len(rest):
        n = stream.readinto(rest)
        if not n:
            refuse(path, "is cut off")
        rest = rest[n:]


@lru_cache(maxsize=1 << 14)
def _described(start: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of an array by the start of its file.

    NumPy's own reader takes a millisecond, evaluates the text, and warns of some of what is damaged.
    """
    found = _ARRAY.fullmatch(start)
    if found is None:
        raise ValueError("it is no array of numbers")
    number, by_column, shape = (part.decode() for part in found.groups())
    return tuple(int(n) for n in re.findall(r"\d+", shape)), by_column == "True", np.dtype(number)


def verify_file(path: Path, stored: StoredFile) -> None:
    """Refuse a file of another content than was written."""
    with _opened(path, stored) as stream:
        _check_sum(stream, stored, path)


def _check_sum(stream: IO[bytes], stored: StoredFile, path: Path) -> None:
    """Read a file, and refuse another content than was written."""
    if _crc_of(stream) != stored.crc32:
        _refuse_content(path)
    _remember(stream, stored)


def _refuse_content(path: Path) -> NoReturn:
    refuse(path, "its checksum is not that of the manifest: it was damaged or changed")


def _stamp(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells that a file is the same and has not changed."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return what tells that a file is the same and has not changed; nothing if it is not there."""
    try:
        return _stamp(path.lstat())
    except OSError:
        return ()


def _is_known(stream: IO[bytes], stored: StoredFile, whole: bool = True) -> bool:
    """Whether a file, or as good as that some rows of it, are known to have the content that was written.

    Times of files tell all changes on disks. In memory, and on others' machines, those through mappings may not.
    """
    status = os.fstat(stream.fileno())
    on_disk = hasattr(os, "major") and os.major(status.st_dev) > 0
    return _sums.get(_stamp(status)) == stored.crc32 and (on_disk or not whole)


def _remember(stream: IO[bytes], stored: StoredFile) -> None:
    """Remember that a file has the content that was written, unless it could change again at the same time."""
    status = os.fstat(stream.fileno())
    if time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) > _SETTLED:
        if len(_sums) >= _MOST_SUMS:
            _sums.clear()
        _sums[_stamp(status)] = stored.crc32


def write_manifest(path: Path, state: Mapping[str, Any]) -> None:
    """Write a manifest with a checksum of its own; its folder holds from then on what it says."""
    full: dict[str, Any] = {"format": _FORMAT, "cofactor": __version__, **state}
    full["crc32"] = _checksum(full)
    with replacing(path) as stream:
        stream.write(json.dumps(full, indent=1).encode())


def read_manifest(path: Path) -> dict[str, Any]:
    """Return what a manifest says; refuse one of another version, or edited."""
    if not stat.S_ISREG(path.lstat().st_mode):
        refuse(path, "is no manifest: it is no regular file")
    try:
        state = json.loads(path.read_bytes())
    except (RecursionError, ValueError) as error:
        refuse(path, f"is no manifest ({error})")
    if not isinstance(state, dict):
        refuse(path, f"is no manifest: found {state!r:.40}, expected an object")
    for name in ("format", "cofactor"):
        if name not in state:
            refuse(path, f"is no manifest: it has no {name!r}")
    number, version = state.pop("format"), state.pop("cofactor")
    crc = state.pop("crc32", None)
    changed = crc != _checksum({"format": number, "cofactor": version, **state})
    if number != _FORMAT and not (changed and version == __version__):  # else it was changed: its checksum tells
        found = f"is of format {number!r:.40}, written by cofactor {version!s:.40}, but this is cofactor {__version__}"
        refuse(path, f"{found}, which reads format {_FORMAT}")
    if changed:
        refuse(path, "was changed after it was written: its checksum does not match", "put it back as it was, or ")
    return dict(state)


def check_size(path: Path, stored: StoredFile) -> None:
    """Refuse a file that is missing, is none itself, or has another size than was written."""
    try:
        _check_kind(path, path.lstat(), stored)
    except (FileNotFoundError, NotADirectoryError):
        refuse(path, "is missing, though the manifest names it")


def _check_kind(path: Path, status: os.stat_result, stored: StoredFile) -> None:
    if not stat.S_ISREG(status.st_mode):
        what = "a link: what it leads to is not read" if stat.S_ISLNK(status.st_mode) else "no regular file"
        refuse(path, f"is {what}", "put the file itself there, or ")
    if status.st_size != stored.bytes:
        what = "is cut off" if status.st_size < stored.bytes else "is too long"
        refuse(path, f"{what}: it has {counted(status.st_size, 'byte')}, and the manifest says {stored.bytes:,}")


@contextmanager
def damage(path: Path) -> Iterator[None]:
    """Within the block, an error of what a file holds names it."""
    try:
        yield
    except InvalidInputError as error:
        if error.place is not None:
            raise
        refuse(path, f"is damaged ({error})")
    except _DAMAGE as error:
        refuse(path, f"is damaged ({type(error).__name__}: {error})")


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


def _crc_of(stream: IO[bytes]) -> int:
    crc = 0
    while piece := stream.read(_PIECE):
        crc = zlib.crc32(piece, crc)
    return crc
