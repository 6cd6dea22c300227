"""The folder of `ShardedRatings`: a manifest, and the arrays of each shard in files that are mapped into memory.

==================================  ==============================================================
``manifest.json``                   format, scale, coding, counts; size and CRC-32 of every other file
``items/0000/ids.safetensors``      ids of the items
``items/0000/counts.npy``           ratings of each item
``shards/0000/*.npy``               the arrays of `Ratings` of a shard, by their names there
``shards/0000/ids.safetensors``     ids of its users
==================================  ==============================================================

The manifest is written last, and says which files belong to the folder; whatever else lies there does not. When ratings
are appended, other files take the place of those that change. The manifest has a checksum of its own, so that one which
was edited is refused: kernels do not check indices.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cofactor import persistence
from cofactor.coding import Coding
from cofactor.datasets.sniff import SHARDS
from cofactor.errors import InvalidInputError, Place
from cofactor.files import PathLike, replacing
from cofactor.metrics.scale import as_scale
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import check_rows
from cofactor.ratings.ids import IdMap, saved_ids
from cofactor.text import counted
from cofactor.version import __version__

__all__ = [
    "FORMAT",
    "MANIFEST",
    "Manifest",
    "StoredFile",
    "StoredItems",
    "StoredShard",
    "load_array",
    "load_ids",
    "load_shard",
    "new_folder",
    "number_of",
    "remove_others",
    "shard_name",
    "verify_file",
    "verify_shard",
    "write_array",
    "write_common",
    "write_ids",
    "write_shard",
]

FORMAT = 1  #: Number of the layout which this version writes, and the only one which it reads.
MANIFEST = SHARDS
IDS, COUNTS = "ids.safetensors", "counts.npy"

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
_PIECE = 1 << 22  # bytes read at a time for a checksum

_AGAIN = "shard the ratings again"


@dataclass(frozen=True)
class StoredFile:
    """Size in bytes and CRC-32 of a file."""

    bytes: int
    crc32: int


@dataclass(frozen=True)
class StoredShard:
    """What the manifest says of a shard: its folder, its numbers of users, items and ratings, and its files.

    Items which were appended since the shard was written have no ratings in it.
    """

    folder: str
    n_users: int
    n_items: int
    n_ratings: int
    files: dict[str, StoredFile]

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> StoredShard:
        """Return what `dataclasses.asdict` made a dictionary of."""
        return cls(**_with_files(state))


@dataclass(frozen=True)
class StoredItems:
    """What the manifest says of the items: their folder, their number, and their files."""

    folder: str
    n_items: int
    files: dict[str, StoredFile]


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says.

    Attributes
    ----------
    scale : tuple of float
    coding : dict or None
        State of a `Coding`.
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

    def write(self, folder: Path) -> None:
        """Put it into its folder, which from then on holds what it says."""
        state: dict[str, Any] = {"format": FORMAT, "cofactor": __version__, **asdict(self)}
        state["crc32"] = _checksum(state)
        with replacing(folder / MANIFEST) as stream:
            stream.write(json.dumps(state, indent=1).encode())

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read it, and look whether all files are there in full; their content is not read."""
        path = folder / MANIFEST
        if not path.is_file():
            what = "is no folder of sharded ratings: it has no manifest.json" if folder.is_dir() else "no such folder"
            advice = "make one with cofactor shard, or ShardedRatings.save"
            raise InvalidInputError(what, advice=advice, place=Place(str(folder)))
        manifest = cls._of_state(_state_in(path), path)
        for name, stored in manifest.all_files():
            _check_size(folder / name, stored)
        return manifest

    @classmethod
    def _of_state(cls, state: dict[str, Any], path: Path) -> Manifest:
        try:
            shards = tuple(StoredShard.of_state(shard) for shard in state.pop("shards"))
            items = StoredItems(**_with_files(state.pop("items")))
            tuples: dict[str, Any] = {name: tuple(state.pop(name)) for name in ("scale", "level_counts")}
            manifest = cls(items=items, shards=shards, **tuples, **state)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            _refuse(path, f"is damaged ({error})")
        if not manifest.shards or len(manifest.level_counts) != len(as_scale(manifest.scale)):
            _refuse(path, "is damaged (its parts do not fit together)")
        return manifest


def new_folder(folder: PathLike) -> Path:
    """Return a folder which is to be made; refuse one that has something in it, or nowhere to stand."""
    target = Path(folder).resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInputError("is there already", advice="give another folder", place=Place(str(folder)))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{folder}: the folder {target.parent} does not exist; make it first")
    return target


def shard_name(k: int) -> str:
    """Return the folder of a shard."""
    return f"{_SHARDS}/{k:04}"


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


def write_shard(folder: Path, name: str, ratings: Ratings) -> StoredShard:
    """Write the ratings of a shard into a new folder of its own, ``folder/name``."""
    place = folder / name
    place.mkdir(parents=True)
    files = {IDS: write_ids(place / IDS, ratings.users, "users")}
    for array in _ARRAYS:
        values = getattr(ratings, array)
        if values is not None:
            files[f"{array}.npy"] = write_array(place / f"{array}.npy", values)
    return StoredShard(name, *ratings.shape, ratings.n_ratings, files)


def write_common(
    folder: Path,
    items: IdMap,
    scale: NDArray[np.float64],
    coding: Coding | None,
    shards: Sequence[StoredShard],
    generation: int = 0,
) -> None:
    """Write what the shards, which are there, have in common, and then the manifest.

    Parameters
    ----------
    folder : Path
    items : IdMap
    scale : ndarray of shape (R,)
    coding : Coding or None
    shards : sequence of StoredShard
    generation : int, default=0
        Number of the folder of items, which must be a new one.
    """
    item_counts, level_counts = np.zeros(len(items), dtype=np.int64), np.zeros(len(scale), dtype=np.int64)
    for shard in shards:
        place = folder / shard.folder
        item_counts[: shard.n_items] += np.diff(load_array(place / "col_indptr.npy", np.int64, (shard.n_items + 1,)))
        levels = load_array(place / "levels.npy", np.uint8, (shard.n_ratings,))
        level_counts += np.bincount(levels, minlength=len(scale) + 1)[1:]
    name = f"{_ITEMS}/{generation:04}"
    (folder / name).mkdir(parents=True, exist_ok=True)
    files = {
        IDS: write_ids(folder / name / IDS, items, "items"),
        COUNTS: write_array(folder / name / COUNTS, item_counts),
    }
    state = None if coding is None else coding.to_state()
    counts, values = tuple(level_counts.tolist()), tuple(scale.tolist())
    Manifest(values, state, counts, StoredItems(name, len(items), files), tuple(shards)).write(folder)


def remove_others(folder: Path, manifest: Manifest) -> None:
    """Remove shards and items which the manifest does not name."""
    named = {part.folder for part in manifest.parts()}
    for kind in (_SHARDS, _ITEMS):
        for path in (folder / kind).iterdir():
            if f"{kind}/{path.name}" not in named:
                shutil.rmtree(path, ignore_errors=True)


def number_of(name: str) -> int:
    """Return the number of a folder of a shard, or of items."""
    return int(name.rpartition("/")[2])


def load_ids(path: Path, name: str, n: int) -> IdMap:
    """Read the ids of n users or items."""
    header, arrays = persistence.read_model(path)
    with _damage(path):
        ids = saved_ids(header, arrays, name)
    if len(ids) != n:
        _refuse(path, f"holds {counted(len(ids), 'id')}, and the manifest says {n:,}")
    return ids


def load_array(path: Path, dtype: type[np.generic], shape: tuple[int, ...]) -> NDArray[Any]:
    """Map an array into memory, without reading it.

    The pages belong to this process alone as soon as it writes to them, so that the file cannot change. The array does
    not count as read-only: kernels which are compiled for arrays in memory take it, and give the same bits.
    """
    with _damage(path):
        array = np.load(path, mmap_mode="c" if shape[0] else None, allow_pickle=False)
    if array.dtype != dtype or array.shape != shape:
        _refuse(path, f"holds {array.dtype} of shape {array.shape}, and the manifest says {shape}")
    return np.asarray(array)


def load_shard(
    folder: Path, stored: StoredShard, users: IdMap, items: IdMap, scale: NDArray[np.float64], coding: Coding | None
) -> Ratings:
    """Return the ratings of a shard; nothing but its arrays' types and sizes is read."""
    place = folder / stored.folder
    arrays = {}
    sizes = {"indptr": len(users) + 1, "col_indptr": stored.n_items + 1}
    for name, dtype in _ARRAYS.items():
        path = place / f"{name}.npy"
        if path.name in stored.files:
            _check_size(path, stored.files[path.name])
            arrays[name] = load_array(path, dtype, (sizes.get(name, stored.n_ratings),))
    if stored.n_items < len(items):
        last = np.full(len(items) - stored.n_items, stored.n_ratings, dtype=np.int64)
        arrays["col_indptr"] = np.append(arrays["col_indptr"], last)
    try:
        return Ratings(users, items, scale, coding=coding, **arrays)
    except TypeError:  # an array is missing
        _refuse(folder / MANIFEST, f"does not name all arrays of {stored.folder}")


def verify_file(path: Path, stored: StoredFile) -> None:
    """Refuse a file of another content than was written."""
    _check_size(path, stored)
    if _crc_of(path) != stored.crc32:
        _refuse(path, "its checksum is not that of the manifest: it was damaged or changed")


def verify_shard(path: Path, ratings: Ratings) -> None:
    """Refuse arrays that fit the checksums, but that no `Ratings` could have."""
    with _damage(path):
        arrays = ratings.indptr, ratings.indices, ratings.levels, ratings.times
        check_rows(len(ratings.users), len(ratings.items), ratings.n_levels, *arrays)


class _Summed:
    """A stream for writing which counts and sums up what goes into it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.count, self.crc = stream, 0, 0

    def write(self, data: Any) -> int:
        self.count += memoryview(data).nbytes
        self.crc = zlib.crc32(data, self.crc)
        return self.stream.write(data)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Within the block, an error of what a file holds names it."""
    try:
        yield
    except (EOFError, KeyError, SyntaxError, TokenError, TypeError, ValueError) as error:
        _refuse(path, f"is damaged ({error})")


def _state_in(path: Path) -> dict[str, Any]:
    """Return what a manifest says; refuse one of another version, or edited."""
    try:
        state = json.loads(path.read_bytes())
        number = state.pop("format")
        version = state.pop("cofactor")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        _refuse(path, f"is no manifest of sharded ratings ({type(error).__name__}: {error})")
    if number != FORMAT:
        found = f"is of format {number}, written by cofactor {version}, but this is cofactor {__version__}"
        _refuse(path, f"{found}, which reads format {FORMAT}")
    crc = state.pop("crc32", None)
    if crc != _checksum({"format": number, "cofactor": version, **state}):
        _refuse(path, "was changed after it was written: its checksum does not match", "put it back as it was, or ")
    return dict(state)


def _checksum(state: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(state, sort_keys=True).encode())


def _with_files(state: Mapping[str, Any]) -> dict[str, Any]:
    return {**state, "files": {name: StoredFile(**stored) for name, stored in state["files"].items()}}


def _check_size(path: Path, stored: StoredFile) -> None:
    if not path.is_file():
        _refuse(path, "is missing, though the manifest names it")
    size = path.stat().st_size
    if size != stored.bytes:
        what = "is cut off" if size < stored.bytes else "is too long"
        _refuse(path, f"{what}: it has {counted(size, 'byte')}, and the manifest says {stored.bytes:,}")


def _crc_of(path: Path) -> int:
    crc = 0
    with path.open("rb") as stream:
        while piece := stream.read(_PIECE):
            crc = zlib.crc32(piece, crc)
    return crc


def _refuse(path: Path, what: str, advice: str = "") -> NoReturn:
    raise InvalidInputError(what, advice=f"{advice}{_AGAIN}", place=Place(str(path))) from None
