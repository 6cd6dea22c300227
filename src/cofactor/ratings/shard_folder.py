"""The folder of `ShardedRatings`: a manifest, and the arrays of each shard in files.

==================================  ==============================================================
``manifest.json``                   format, scale, coding, counts; size and CRC-32 of every other file
``items/0000/ids.safetensors``      ids of the items
``items/0000/counts.npy``           ratings of each item
``items/0000/manifest.json``        the manifest with which these items came
``shards/0000/*.npy``               the arrays of `Ratings` of a shard, by their names there
``shards/0000/ids.safetensors``     ids of its users
==================================  ==============================================================

The manifest is written last, and says which files belong to the folder; whatever else lies there does not. When ratings
are appended, other files take the place of those that change, and new items come with a manifest of their own: it names
what goes when nobody reads it any more. Who reads holds a lock on the ids of the items.

The manifest knows sizes and checksums of all files.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import mmap
import os
import re
import shutil
import stat
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Any, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cofactor import persistence
from cofactor.errors import InvalidInputError, Place
from cofactor.files import SHARDS, Lock, PathLike, replacing
from cofactor.metrics.scale import as_scale
from cofactor.model.state import member
from cofactor.rating_scale import RatingScale
from cofactor.ratings.data import (
    ColumnEntries,
    Ratings,
    StoredColumnEntries,
    check_offsets,
    check_range,
    check_rows,
    entries_of_rows,
)
from cofactor.ratings.ids import IdMap, saved_ids
from cofactor.text import plural
from cofactor.version import __version__

_FORMAT = 1  #: Number of the layout which this version writes, and the only one which it reads.
IDS = "ids.safetensors"

_START = 10  # bytes before the header of an array; the last two are its length
_CHUNK = 1 << 22  # bytes read at a time for a checksum
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
        refuse(path, f"holds {plural(len(ids), 'id')}, and the manifest says {n:,}")
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
        refuse(path, f"{what}: it has {plural(status.st_size, 'byte')}, and the manifest says {stored.bytes:,}")


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
    while piece := stream.read(_CHUNK):
        crc = zlib.crc32(piece, crc)
    return crc


#: Entries of some users: offsets, items and levels; and of some items: offsets, users and levels.
OfRows: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]
OfItems: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]

MANIFEST = SHARDS
_COUNTS = "counts.npy"

#: The arrays of a shard, with their types; the last two are there only if the ratings have them.
_ARRAYS: Mapping[str, type[np.generic]] = {
    "indptr": np.int64,
    "indices": np.int32,
    "levels": np.uint8,
    "col_indptr": np.int64,
    "col_indices": np.int32,
    "to_csr": np.int32,
    "times": np.float64,
    "weights": np.float64,
}
_SHARDS, _ITEMS = "shards", "items"
_OPTIONAL = {"times.npy", "weights.npy"}
_OF_SHARD = {IDS, *(f"{name}.npy" for name in _ARRAYS)} - _OPTIONAL
_NAME = re.compile(r"[0-9]{4,18}(-[0-9a-f]{8})?", re.ASCII)
_MOST = 2**31 - 1  #: users, items, and ratings of a shard, which have numbers of 32 bits
_ALL = slice(None)
_BY_ITEM = ("indptr", "indices", "to_csr")
_TRIES = 20  #: to open a folder that is changed again and again


@dataclass(frozen=True)
class StoredShard:
    """What the manifest says of a shard: its folder, its numbers of users, items and ratings, and its files.

    Items which were appended since the shard was written have no ratings in it.
    """

    folder: str
    n_users: int
    n_items: int
    n_ratings: int
    level_counts: tuple[int, ...]
    files: dict[str, StoredFile]

    def __post_init__(self) -> None:
        _check_folder(self.folder, _SHARDS)
        for name, least in (("n_users", 1), ("n_items", 1), ("n_ratings", 0)):
            _check_number(f"{name} of {self.folder}", getattr(self, name), least)
        for count in self.level_counts:
            _check_number(f"a number of level_counts of {self.folder}", count)
        if sum(self.level_counts) != self.n_ratings:
            raise InvalidInputError(f"the level_counts of {self.folder} are not those of {self.n_ratings:,} ratings")
        if not _OF_SHARD <= self.files.keys() <= _OF_SHARD | _OPTIONAL:
            raise InvalidInputError(f"it names other files of {self.folder} than those of a shard")

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> StoredShard:
        """Return what `dataclasses.asdict` made a dictionary of."""
        return cls(**_with_files({**state, "level_counts": tuple(state["level_counts"])}))


@dataclass(frozen=True)
class StoredItems:
    """What the manifest says of the items: their folder, their number, and their files."""

    folder: str
    n_items: int
    files: dict[str, StoredFile]

    def __post_init__(self) -> None:
        _check_folder(self.folder, _ITEMS)
        _check_number("n_items", self.n_items, 1)
        if self.files.keys() != {IDS, _COUNTS}:
            raise InvalidInputError("it names other files of items than their ids and counts")


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says.

    Attributes
    ----------
    scale : tuple of float
    coding : dict or None
        State of a `RatingScale`.
    level_counts : tuple of int
        Ratings of each level.
    items : StoredItems
    shards : tuple of StoredShard
        In the order of their users.
    """

    scale: tuple[float, ...]
    coding: dict[str, Any] | None
    level_counts: tuple[int, ...]
    items: StoredItems
    shards: tuple[StoredShard, ...]

    def __post_init__(self) -> None:
        if any(type(value) not in (int, float) for value in self.scale):
            raise InvalidInputError("the scale must be of numbers")
        n_levels = len(as_scale(self.scale))
        if self.coding is not None and RatingScale.of_state(self.coding).scale != self.scale:
            raise InvalidInputError("the rating scale has other levels than the ratings")
        if not self.shards or len({shard.folder for shard in self.shards}) < len(self.shards):
            raise InvalidInputError("it names no shard, or one twice")
        if len({frozenset(shard.files.keys() & _OPTIONAL) for shard in self.shards}) > 1:
            raise InvalidInputError("some shards have times, or weights, and others none")
        if any(len(shard.level_counts) != n_levels for shard in self.shards):
            raise InvalidInputError(f"a shard has other levels than the {n_levels} of the scale")
        counts = zip(*(shard.level_counts for shard in self.shards), strict=True)
        if list(self.level_counts) != [sum(numbers) for numbers in counts]:
            raise InvalidInputError("level_counts are not the sums of those of all shards")
        _check_number("the number of users", sum(shard.n_users for shard in self.shards))
        if any(shard.n_items > self.items.n_items for shard in self.shards):
            raise InvalidInputError("a shard has more items than there are")

    @property
    def has_times(self) -> bool:
        """Whether ratings have times."""
        return "times.npy" in self.shards[0].files

    def parts(self) -> list[StoredItems | StoredShard]:
        """Return the items and the shards, which have a folder each."""
        return [self.items, *self.shards]

    def all_files(self) -> Iterator[tuple[str, StoredFile]]:
        """Yield each file by its path in the folder, shards last."""
        for part in self.parts():
            for name, stored in part.files.items():
                yield f"{part.folder}/{name}", stored

    def check_files(self, folder: Path) -> None:
        """Refuse a folder in which a file is not there in full, or not itself; contents are not read."""
        for path in [folder / _SHARDS, folder / _ITEMS, *(folder / part.folder for part in self.parts())]:
            if path.is_symlink():
                refuse(path, "is a link: what it leads to is not read", "put the folder itself there, or ")
        for name, stored in self.all_files():
            check_size(folder / name, stored)

    def lock(self, folder: Path, *, shared: bool = True) -> Lock:
        """Take the lock that those share who read what it names."""
        return Lock(folder / self.items.folder / IDS, shared=shared)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read it, and look at no other file."""
        path = folder / MANIFEST
        if not path.is_file():
            what = "is no folder of sharded ratings: it has no manifest.json" if folder.is_dir() else "no such folder"
            advice = "make one with cofactor shard, or ShardedRatings.save"
            raise InvalidInputError(what, advice=advice, place=Place(str(folder)))
        state = read_manifest(path)
        with damage(path):
            shards = tuple(StoredShard.of_state(shard) for shard in state.pop("shards"))
            items = StoredItems(**_with_files(state.pop("items")))
            tuples: dict[str, Any] = {name: tuple(state.pop(name)) for name in ("scale", "level_counts")}
            return cls(items=items, shards=shards, **tuples, **state)


class InFolder:
    """Shards in files. Ids of users are kept once they are read, arrays are not.

    Whatever indexes something is checked in the very memory that is returned, each time that it is read. All that a
    shard holds is checked when it is first read; from then on its files must have the same content. What the manifest
    names stays there as long as this object lives, where file systems have locks.

    Parameters
    ----------
    folder : Path
    manifest : Manifest
        Read from there, now or earlier.
    lock : Lock, optional
        Held by who reads what it names.
    """

    def __init__(self, folder: Path, manifest: Manifest, lock: Lock | None = None) -> None:
        self.folder, self.manifest = folder, manifest
        self._lock = lock or manifest.lock(folder)
        with self._reading():
            place, files = folder / manifest.items.folder, manifest.items.files
            self.items = load_ids(place / IDS, files[IDS], "items", manifest.items.n_items)
            name = _COUNTS
            self.item_counts = read_array(place / name, files[name], np.int64, (len(self.items),))
        self.scale = np.array(manifest.scale, dtype=np.float64)
        self.rating_scale = None if manifest.coding is None else RatingScale.of_state(manifest.coding)
        self._users: dict[int, IdMap] = {}
        self._checked: set[int] = set()
        self.key = str([shard.files for shard in manifest.shards])

    @classmethod
    def open(cls, folder: Path) -> InFolder:
        """Open a folder as it is now; refuse one whose shards are not the parts of some ratings."""
        for _ in range(_TRIES):
            before = stamp_of(folder / MANIFEST)
            manifest = Manifest.read(folder)
            lock = manifest.lock(folder)
            if lock.held and stamp_of(folder / MANIFEST) == before:  # so nobody removes what it names
                manifest.check_files(folder)
                found = cls(folder, manifest, lock)
                found._check_parts()
                return found
            lock.release()
        raise InvalidInputError(
            "another process is changing this folder", advice="wait until it has ended", place=Place(str(folder))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the manifest: the folder may have another one by now."""
        return InFolder, (self.folder, self.manifest)

    def _check_parts(self) -> None:
        """Refuse users that do not increase from shard to shard, and counts that are not the sums of all shards."""
        counts, last = np.zeros(len(self.items), np.int64), None
        for k, stored in enumerate(self.manifest.shards):
            counts[: stored.n_items] += np.diff(self._array(k, "col_indptr"))
            users = self._ids(k)
            if not users.is_sorted() or not (last is None or last.ends_before(users)):
                refuse(
                    self.folder / stored.folder / IDS, "holds ids of users that do not increase, or are in two shards"
                )
            last = users
        if not np.array_equal(counts, self.item_counts):
            refuse(self.folder / self.manifest.items.folder / _COUNTS, "are not the counts of all shards")

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        stored = self.manifest.shards[k]
        with self._reading():
            rows: dict[str, Any] = {name: self._array(k, name) for name in ("indptr", "indices", "levels")}
            more: dict[str, Any] = {
                name: self._mapped(k, name) for name in ("times", "weights") if f"{name}.npy" in stored.files
            }
            columns = StoredColumnEntries(partial(self._columns, k))
            more["rating_scale"] = self.rating_scale
            found = Ratings(self.users(k), self.items, self.scale, columns=columns, **rows, **more)
            if k not in self._checked:
                self._check(k, found)
                self._checked.add(k)
        return found

    def rows(self, k: int, users: NDArray[np.int64]) -> OfRows:
        """Return the entries of some users of a shard, see `Ratings.rows`; no others are read."""
        if k not in self._checked or not len(users):
            return self.ratings(k).rows(users)
        distinct, place = np.unique(users, return_inverse=True)
        counts: list[NDArray[np.int64]] = []
        found: list[tuple[NDArray[Any], NDArray[Any]]] = []
        with self._reading():
            for run in np.split(distinct, np.flatnonzero(np.diff(distinct) != 1) + 1):
                starts = self._array(k, "indptr", slice(run[0], run[-1] + 2))
                part = slice(starts[0], starts[-1])
                counts.append(np.diff(starts))
                found.append((self._array(k, "indices", part), self._array(k, "levels", part)))
        indices, levels = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        indptr, entries = entries_of_rows(np.append(0, np.cumsum(np.concatenate(counts))), place)
        return indptr, indices[entries], levels[entries]

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return the entries of the items first..last-1 of a shard."""
        stored = self.manifest.shards[k]
        with self._reading():
            ends = min(first, stored.n_items), min(last, stored.n_items)
            starts = self._array(k, "col_indptr", slice(ends[0], ends[1] + 1))
            part = slice(starts[0], starts[-1])
            rows, order = (self._array(k, name, part) for name in ("col_indices", "to_csr"))
            levels = self._array(k, "levels")[order]
        return _padded(starts - starts[0], last - first + 1), rows, levels

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""
        if k not in self._users:
            with self._reading():
                self._users[k] = self._ids(k)
        return self._users[k]

    def n_bytes(self) -> int:
        """Return the size of all files of shards and of items, where a manifest is too."""
        own = self.folder / self.manifest.items.folder / MANIFEST
        named = sum(stored.bytes for _, stored in self.manifest.all_files())
        return named + (own.stat().st_size if own.exists() else 0)

    def verify(self) -> None:
        """Compare all files with their checksums, and look whether arrays are those of ratings."""
        with self._reading():
            for name, stored in self.manifest.all_files():
                verify_file(self.folder / name, stored)
        self._check_parts()
        self._checked.clear()
        for k in range(len(self.manifest.shards)):
            self.ratings(k)

    def _ids(self, k: int) -> IdMap:
        stored = self.manifest.shards[k]
        return load_ids(self.folder / stored.folder / IDS, stored.files[IDS], "users", stored.n_users)

    def _array(self, k: int, name: str, part: slice = _ALL) -> NDArray[Any]:
        """Read an array of a shard, or a part of it, of which every number lies where it must."""
        path, stored, dtype, shape = self._place(k, name)
        array = read_array(path, stored, dtype, shape, part)
        shard = self.manifest.shards[k]
        n = shard.n_ratings
        low, high = {
            "indptr": (0, n),
            "indices": (0, len(self.items) - 1),
            "levels": (1, len(self.scale)),
            "col_indptr": (0, n),
            "col_indices": (0, shard.n_users - 1),
            "to_csr": (0, n - 1),
        }[name]
        with damage(path):
            check_range(array, low, high)
            if name.endswith("indptr"):
                check_offsets(array, *((0, n) if part == _ALL else (array[0], array[-1])))
        return array

    def _columns(self, k: int, name: str) -> NDArray[Any]:
        """Return what `StoredColumnEntries` has; items which were appended since have no ratings."""
        with self._reading():
            array = self._array(k, name)
        return _padded(array, len(self.items) + 1) if name == "col_indptr" else array

    def _mapped(self, k: int, name: str) -> NDArray[Any]:
        """Return what indexes nothing."""
        path, stored, dtype, shape = self._place(k, name)
        return map_array(path, stored, dtype, shape)

    def _place(self, k: int, name: str) -> tuple[Path, StoredFile, type[np.generic], tuple[int, ...]]:
        shard = self.manifest.shards[k]
        n = {"indptr": shard.n_users + 1, "col_indptr": shard.n_items + 1}.get(name, shard.n_ratings)
        file = f"{name}.npy"
        return self.folder / shard.folder / file, shard.files[file], _ARRAYS[name], (n,)

    def _check(self, k: int, found: Ratings) -> None:
        """Refuse a shard that no ratings have."""
        stored = self.manifest.shards[k]
        for name in stored.files.keys() & {"times.npy", "weights.npy"}:
            verify_file(self.folder / stored.folder / name, stored.files[name])
        with damage(self.folder / stored.folder):
            rows = found.indptr, found.indices, found.levels, found.times
            check_rows(len(found.users), len(self.items), found.n_levels, *rows)
            if found.weights is not None and not (np.isfinite(found.weights) & (found.weights > 0)).all():
                raise InvalidInputError("weights of the ratings are not all finite and above 0")
            if tuple(found.level_counts.tolist()) != stored.level_counts:
                raise InvalidInputError("the ratings of each level are not as many as the manifest says")
            made, kept = ColumnEntries(found.indptr, found.indices, len(self.items)), found.columns
            if not all(np.array_equal(getattr(made, name), getattr(kept, name)) for name in _BY_ITEM):
                raise InvalidInputError("the ratings by item are not those by user")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Within the block, what is missing since ratings were appended is told as such."""
        try:
            yield
        except InvalidInputError as error:
            if error.place is None or Path(error.place.file).exists() or self._is_present():
                raise
            raise InvalidInputError(
                "is gone: ratings were appended after these were opened, and this file system has no locks to keep it",
                advice="open the folder again, and append when nobody reads",
                place=error.place,
            ) from None

    def _is_present(self) -> bool:
        """Whether the folder has this manifest still, as far as can be told."""
        with suppress(InvalidInputError, OSError):
            return Manifest.read(self.folder).items.folder == self.manifest.items.folder
        return True


def new_folder(folder: PathLike) -> Path:
    """Return a folder which is to be made; refuse one that has something in it, or nowhere to stand."""
    target = Path(folder).resolve()
    if (target / MANIFEST).exists():
        advice = "give another folder, or remove this one; cofactor shard --into appends to it"
        raise InvalidInputError("holds shards that are complete", advice=advice, place=Place(str(folder)))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError("is there already", advice="give another folder", place=Place(str(folder)))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{folder}: the folder {target.parent} does not exist; make it first")
    return target


def shard_name(k: int) -> str:
    """Return the folder of a shard."""
    return f"{_SHARDS}/{k:04}"


def items_name(k: int) -> str:
    """Return the folder of items."""
    return f"{_ITEMS}/{k:04}"


def write_shard(folder: Path, name: str, ratings: Ratings) -> StoredShard:
    """Write the ratings of a shard into a new folder of its own, ``folder/name``."""
    place = folder / name
    place.mkdir(parents=True)
    files = {IDS: write_ids(place / IDS, ratings.users, "users")}
    for array in _ARRAYS:
        values = getattr(ratings, array)
        if values is not None:
            files[f"{array}.npy"] = write_array(place / f"{array}.npy", values)
    return StoredShard(name, *ratings.shape, ratings.n_ratings, tuple(ratings.level_counts.tolist()), files)


def write_common(
    folder: Path,
    items: IdMap,
    scale: NDArray[np.float64],
    rating_scale: RatingScale | None,
    shards: Sequence[StoredShard],
    item_counts: NDArray[np.int64],
    name: str = items_name(0),
) -> None:
    """Write what shards have in common into a new folder, ``folder/name``, and the manifest there and, last, above it.

    Parameters
    ----------
    folder : Path
    items : IdMap
    scale : ndarray of shape (R,)
    rating_scale : RatingScale or None
    shards : sequence of StoredShard
    item_counts : ndarray of shape (n_items,)
        Ratings of each item in all of them.
    name : str, default="items/0000"
    """
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    files = {IDS: write_ids(place / IDS, items, "items"), _COUNTS: write_array(place / _COUNTS, item_counts)}
    state = None if rating_scale is None else rating_scale.to_state()
    level_counts = tuple(np.sum([shard.level_counts for shard in shards], axis=0).tolist())
    stored = StoredItems(name, len(items), files)
    manifest = Manifest(tuple(scale.tolist()), state, level_counts, stored, tuple(shards))
    for there in (place, folder):
        write_manifest(there / MANIFEST, asdict(manifest))


def item_counts_of(folder: Path, shards: Sequence[StoredShard], n_items: int) -> NDArray[np.int64]:
    """Return the number of ratings of each item in shards that were written."""
    counts = np.zeros(n_items, dtype=np.int64)
    for shard in shards:
        path, name = folder / shard.folder, "col_indptr.npy"
        starts = read_array(path / name, shard.files[name], _ARRAYS["col_indptr"], (shard.n_items + 1,))
        counts[: shard.n_items] += np.diff(starts)
    return counts


def publish(work: Path, folder: Path) -> None:
    """Move what was written in a folder within another one there, the manifest last; go on where a call was ended."""
    manifest = Manifest.read(work)
    for part in manifest.parts():
        if (work / part.folder).exists():
            (folder / part.folder).parent.mkdir(exist_ok=True)
            os.replace(work / part.folder, folder / part.folder)
    os.replace(work / MANIFEST, folder / MANIFEST)


def next_number(folder: Path, kind: str) -> int:
    """Return a number behind those of all folders of a kind, "shards" or "items", whoever made them."""
    numbers = [int(path.name) for path in (folder / kind).iterdir() if re.fullmatch("[0-9]{4,9}", path.name)]
    return max(numbers, default=-1) + 1


def remove_old(folder: Path) -> None:
    """Remove the files that earlier manifests name, or those of calls that were ended, unless somebody reads them.

    Nothing else is touched: folders that hold other files stay with these, and no link is followed.
    """
    present = Manifest.read(folder)
    kept, free = {name for name, _ in present.all_files()}, []
    for path in sorted((folder / _ITEMS).glob(f"*/{MANIFEST}")):
        with suppress(InvalidInputError):  # it is not ours, and what it names is not
            old = Manifest.read(path.parent)
            if folder / old.items.folder != path.parent or old.items.folder == present.items.folder:
                continue
            lock = old.lock(folder, shared=False)
            if lock.held:
                free.append((old, lock))
            else:
                kept |= {name for name, _ in old.all_files()}
                lock.release()
    for old, lock in free:
        for part in reversed(old.parts()):  # the items last, with the manifest: the next call goes on here
            names = [*part.files, *([MANIFEST] if part is old.items else [])]
            _remove(folder / part.folder, [name for name in names if f"{part.folder}/{name}" not in kept])
        lock.release()


def _remove(place: Path, names: Sequence[str]) -> None:
    """Remove files of a folder, and the folder if nothing else is in it; none through a link."""
    if place.is_symlink() or place.parent.is_symlink():
        return
    for remove in (*((place / name).unlink for name in names), place.rmdir):
        with suppress(OSError):  # it is gone, or holds something else
            remove()


def _check_folder(name: Any, kind: str) -> None:
    """Refuse a folder that does not lie where those of shards, or of items, do."""
    if not isinstance(name, str) or name[: len(kind) + 1] != f"{kind}/" or not _NAME.fullmatch(name[len(kind) + 1 :]):
        raise InvalidInputError(f"{name!r:.80} is no folder within {kind}")


def _check_number(what: str, number: Any, least: int = 0) -> None:
    """Refuse what is no number of users, items or ratings."""
    if type(number) is not int or not least <= number <= _MOST:
        raise InvalidInputError(f"{what} is {number!r:.40}, expected a whole number from {least} to {_MOST:,}")


def _with_files(state: Mapping[str, Any]) -> dict[str, Any]:
    return {**state, "files": {name: StoredFile(**stored) for name, stored in state["files"].items()}}


def _padded(offsets: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return offsets of more items, of which there are no ratings."""
    return offsets if len(offsets) == n else np.pad(offsets, (0, n - len(offsets)), mode="edge")


#: Makes the arrays that are kept of users, by attribute of the model, of the number of a shard and its arrays of rows.
Finish = Callable[[int, Mapping[str, NDArray[Any]]], dict[str, NDArray[Any]]]
#: Has something made of all shards, where they are worked on; yields what is returned there, in their order.
Ask = Callable[[Finish], Iterable[Mapping[str, NDArray[Any]]]]

_USERS = "users"
_FILE = re.compile(r"[\w.]+", re.ASCII)  # of a file
_COPIED = 1 << 20  # bytes of samples that are copied at a time


@dataclass(frozen=True, eq=False)
class UserArray:
    """An array of all users, to be written.

    Attributes
    ----------
    dtype : dtype
    shape : tuple of int
        Users along the first axis.
    pieces : iterable of ndarray
        Its rows, some users after others.
    axis : int, default=0
        Along which the model has users: samples come first there, but in the folder those of a user lie together.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    pieces: Iterable[NDArray[Any]]
    axis: int = 0


@dataclass(frozen=True, eq=False)
class StoredUsers:
    """Arrays of all users in a folder.

    Attributes
    ----------
    folder : Path
        Its name is the key.
    users : IdMap
    arrays : mapping from str to ndarray
        As a model has them, mapped into memory: by attribute, or ``samples_.U`` for a member of one.
    files : mapping from str to StoredFile
        By name.
    """

    folder: Path
    users: IdMap
    arrays: Mapping[str, NDArray[Any]]
    files: Mapping[str, StoredFile]

    @classmethod
    def write(cls, place: Path, work: Path, kind: str, users: IdMap, ask: Ask, finish: Finish) -> Self:
        """Write what a fit found.

        Parameters
        ----------
        place : Path
            The folder of shards.
        work : Path
            A folder in it for what is not done yet.
        kind : str
            Class of the model.
        users : IdMap
        ask : callable
        finish : callable
        """
        pieces = _emptied(work)
        kinds = list(ask(partial(_write_piece, pieces, finish)))
        rows = {
            name: UserArray(like.dtype, (len(users), *like.shape[1:]), _read(pieces, len(kinds), name))
            for name, like in kinds[0].items()
        }
        return cls._joined(place, pieces, kind, users, rows)

    @classmethod
    def join(cls, place: Path, work: Path, kind: str, users: IdMap, rows: Mapping[str, UserArray]) -> Self:
        """Write what a fit found, from pieces that are there.

        Parameters
        ----------
        place, work, kind, users
            As in `write`.
        rows : mapping from str to Rows
            By the name that an array has in the model.
        """
        return cls._joined(place, _emptied(work), kind, users, rows)

    @classmethod
    def _joined(cls, place: Path, pieces: Path, kind: str, users: IdMap, rows: Mapping[str, UserArray]) -> Self:
        """Write arrays, ids and manifest to a folder, and give it its name."""
        files = {IDS: write_ids(pieces / IDS, users, "users")}
        for name, one in rows.items():
            files[f"{name}.npy"] = write_joined(pieces / f"{name}.npy", one.dtype, one.shape, one.pieces)
        arrays = {name: {"dtype": one.dtype.name, "shape": one.shape, "axis": one.axis} for name, one in rows.items()}
        state = {"model": kind, "users": len(users), "arrays": arrays}
        state["files"] = {name: asdict(file) for name, file in files.items()}
        write_manifest(pieces / MANIFEST, state)
        target = place / _USERS / _key_of(state)
        target.parent.mkdir(exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)  # the same, or what became of it
        os.replace(pieces, target)
        return cls.open(target, kind, users)

    @classmethod
    def open(cls, folder: Path, kind: str | None = None, users: IdMap | None = None) -> Self:
        """Open the folder of a model of a class; sizes and types are looked at, and what files hold is not.

        Parameters
        ----------
        folder : Path
        kind : str, optional
            Name of the class, which may be any without.
        users : IdMap, optional
            What the folder holds, where that is known.

        Raises
        ------
        InvalidInputError
            If the folder is not there, or not as it was written; the message names the file.
        """
        with _advising():
            manifest = folder / MANIFEST
            if not manifest.is_file():
                raise InvalidInputError("what was found for users is not there", place=Place(str(folder)))
            state = read_manifest(manifest)
            if _key_of(state) != folder.name or kind not in (None, state.get("model")):
                raise InvalidInputError(f"is not what {kind or 'a model'} found for users", place=Place(str(folder)))
            with damage(manifest):
                files = {name: StoredFile(**file) for name, file in member(state, "files", dict).items()}
                kinds = {
                    name: (np.dtype(one["dtype"]), tuple(one["shape"]), int(one["axis"]))
                    for name, one in state["arrays"].items()
                }
                n_users = member(state, "users", int)
                if not all(_FILE.fullmatch(name) for name in files) or files.keys() != {
                    IDS,
                    *map("{}.npy".format, kinds),
                }:
                    raise InvalidInputError("it names other files than those of its arrays")
            for name, file in files.items():
                check_size(folder / name, file)
            with damage(manifest):
                arrays = {
                    name: _turned(map_array(folder / f"{name}.npy", files[f"{name}.npy"], dtype.type, shape), axis)
                    for name, (dtype, shape, axis) in kinds.items()
                }
            return cls(folder, users or load_ids(folder / IDS, files[IDS], "users", n_users), arrays, files)

    @classmethod
    def all_of(cls, place: Path) -> Iterator[Self]:
        """Open what all models found that left something in a folder of shards, one after another."""
        for folder in sorted((place / _USERS).glob("*")):
            yield cls.open(folder)

    @property
    def n_bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files.values())

    def verify(self) -> None:
        """Read all files, and refuse one that does not hold what was written."""
        with _advising():
            for name, file in self.files.items():
                verify_file(self.folder / name, file)


def stored_users_of(model: Any) -> list[StoredUsers]:
    """Return what stays in a folder of a model, and of the stages that it has."""
    found = [one.stored_users_ for one in (model, *getattr(model, "stages_", ()))]
    return [one for one in found if one is not None]


def copy_samples(array: NDArray[Any], chosen: NDArray[np.int64] | slice = slice(None)) -> NDArray[Any]:
    """Return a copy in memory, of some samples alone if there are such: those of a user may lie together in `array`.

    Examples
    --------
    >>> mapped = np.arange(24, dtype="f4").reshape(4, 3, 2)  # four users, three samples
    >>> found = copy_samples(mapped.swapaxes(0, 1), np.array([0, 2]))
    >>> found[1, :, 0].tolist(), found.flags.c_contiguous
    ([4.0, 10.0, 16.0, 22.0], True)
    """
    if array.flags.c_contiguous:
        return np.array(array[chosen])
    out = np.empty((len(array[chosen, :1]), *array.shape[1:]), array.dtype)
    size = max(1, _COPIED // max(array[:, :1].nbytes, 1))
    for lo in range(0, array.shape[1], size):
        out[:, lo : lo + size] = array[:, lo : lo + size][chosen]
    return out


def _emptied(work: Path) -> Path:
    """Return a new folder within another one, without what a fit that was killed left there."""
    folder = work / _USERS
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def _turned(array: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return an array of users as a model has it, with users along some axis."""
    return np.moveaxis(array, 0, axis) if axis else array


def _write_piece(folder: Path, finish: Finish, k: int, rows: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Write what is kept of a shard; return arrays without rows, which tell types and shapes."""
    found = finish(k, rows)
    for name, array in found.items():
        write_array(_piece(folder, k, name), array)
    return {name: array[:0] for name, array in found.items()}


def _read(folder: Path, n: int, name: str) -> Iterator[NDArray[Any]]:
    """Yield an array of one shard after another, and remove it then."""
    for k in range(n):
        path = _piece(folder, k, name)
        yield np.load(path, allow_pickle=False)
        path.unlink()


def _piece(folder: Path, k: int, name: str) -> Path:
    return folder / f"{k:04}.{name}.npy"


def _key_of(state: Mapping[str, Any]) -> str:
    """Return the name of a folder that holds what a manifest says."""
    told = {name: state.get(name) for name in ("model", "users", "arrays", "files")}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


@contextmanager
def _advising() -> Iterator[None]:
    """Within the block, errors say what to do about a model without its folder."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(error.problem, advice=GIVE_BACK, place=error.place) from None
