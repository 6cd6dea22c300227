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
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.coding import Coding
from cofactor.errors import InvalidInputError, Place
from cofactor.files import SHARDS, Lock, PathLike
from cofactor.metrics.scale import as_scale
from cofactor.ratings.checked_files import (
    IDS,
    StoredFile,
    check_size,
    damage,
    load_ids,
    map_array,
    read_array,
    read_manifest,
    refuse,
    stamp_of,
    verify_file,
    write_array,
    write_ids,
    write_manifest,
)
from cofactor.ratings.column_entries import ColumnEntries, StoredColumnEntries
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import check_offsets, check_range, check_rows, entries_of_rows
from cofactor.ratings.ids import IdMap

__all__ = [
    "MANIFEST",
    "InFolder",
    "Manifest",
    "OfItems",
    "OfRows",
    "StoredItems",
    "StoredShard",
    "item_counts_of",
    "items_name",
    "new_folder",
    "next_number",
    "publish",
    "remove_old",
    "shard_name",
    "write_common",
    "write_shard",
]

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

    def __post_init__(self) -> None:
        if any(type(value) not in (int, float) for value in self.scale):
            raise InvalidInputError("the scale must be of numbers")
        n_levels = len(as_scale(self.scale))
        if self.coding is not None and Coding.of_state(self.coding).scale != self.scale:
            raise InvalidInputError("the coding of the levels is not that of the scale")
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
        self.coding = None if manifest.coding is None else Coding.of_state(manifest.coding)
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
            found = Ratings(self.users(k), self.items, self.scale, columns=columns, coding=self.coding, **rows, **more)
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
    coding: Coding | None,
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
    coding : Coding or None
    shards : sequence of StoredShard
    item_counts : ndarray of shape (n_items,)
        Ratings of each item in all of them.
    name : str, default="items/0000"
    """
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    files = {IDS: write_ids(place / IDS, items, "items"), _COUNTS: write_array(place / _COUNTS, item_counts)}
    state = None if coding is None else coding.to_state()
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
