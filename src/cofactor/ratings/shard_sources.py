"""Where the shards of ratings come from: memory, a folder, or the bi-level ratings of other shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.coding import Coding
from cofactor.errors import InvalidInputError, Place
from cofactor.files import Lock
from cofactor.ratings import shard_folder
from cofactor.ratings.checked_files import (
    IDS,
    StoredFile,
    damage,
    load_ids,
    map_array,
    read_array,
    refuse,
    stamp_of,
    verify_file,
)
from cofactor.ratings.column_entries import ColumnEntries, StoredColumnEntries
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import check_offsets, check_range, check_rows, entries_of_rows, sides_of
from cofactor.ratings.ids import IdMap
from cofactor.ratings.shard_folder import Manifest

__all__ = ["AtBoundary", "InFolder", "InMemory", "OfItems", "OfRows", "Shards"]

#: Entries of some users: offsets, items and levels; and of some items: offsets, users and levels.
OfRows: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]
OfItems: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]

_ALL = slice(None)
_BY_ITEM = ("indptr", "indices", "to_csr")
_TRIES = 20  #: to open a folder that is changed again and again


class Shards(Protocol):
    """Where the shards of ratings come from."""

    @property
    def key(self) -> str:
        """What tells these ratings from any others."""

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""

    def rows(self, k: int, users: NDArray[np.int64]) -> OfRows:
        """Return the entries of some users of a shard, see `Ratings.rows`."""

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return the entries of the items first..last-1 of a shard: offsets from 0 on, users, and levels."""

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""

    def n_bytes(self) -> int:
        """Return the size of all files; 0 in memory."""

    def verify(self) -> None:
        """Read everything that is in files, and refuse what is not as it was written."""


@dataclass(frozen=True, eq=False)
class InMemory:
    """Shards which are there."""

    shards: Sequence[Ratings]

    @property
    def key(self) -> str:
        """Nothing: they are not worked on later."""
        return ""

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        return self.shards[k]

    def rows(self, k: int, users: NDArray[np.int64]) -> OfRows:
        """Return the entries of some users of a shard."""
        return self.shards[k].rows(users)

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return the entries of some items of a shard."""
        shard = self.shards[k]
        starts = shard.col_indptr[first : last + 1]
        part = slice(starts[0], starts[-1])
        return starts - starts[0], shard.col_indices[part], shard.levels[shard.to_csr[part]]

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""
        return self.shards[k].users

    def n_bytes(self) -> int:
        """Return 0."""
        return 0

    def verify(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, eq=False)
class AtBoundary:
    """Shards whose ratings say on which side of a boundary they are."""

    shards: Shards
    level: int

    @property
    def key(self) -> str:
        """What tells these ratings from any others."""
        return f"{self.shards.key} at {self.level}"

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        return self.shards.ratings(k).at_boundary(self.level)

    def rows(self, k: int, users: NDArray[np.int64]) -> OfRows:
        """Return the entries of some users of a shard."""
        indptr, indices, levels = self.shards.rows(k, users)
        return indptr, indices, sides_of(levels, self.level)

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return the entries of some items of a shard."""
        offsets, users, levels = self.shards.of_items(k, first, last)
        return offsets, users, sides_of(levels, self.level)

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""
        return self.shards.users(k)

    def n_bytes(self) -> int:
        """Return the size of all files."""
        return self.shards.n_bytes()

    def verify(self) -> None:
        """Verify the shards."""
        self.shards.verify()


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
        self._lock = lock or Lock(shard_folder.lock_of(folder, manifest), shared=True)
        with self._reading():
            place, files = folder / manifest.items.folder, manifest.items.files
            self.items = load_ids(place / IDS, files[IDS], "items", manifest.items.n_items)
            name = shard_folder.COUNTS
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
            before = stamp_of(folder / shard_folder.MANIFEST)
            manifest = Manifest.read(folder)
            lock = Lock(shard_folder.lock_of(folder, manifest), shared=True)
            if lock.held and stamp_of(folder / shard_folder.MANIFEST) == before:  # so nobody removes what it names
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
            refuse(self.folder / self.manifest.items.folder / shard_folder.COUNTS, "are not the counts of all shards")

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
        own = self.folder / self.manifest.items.folder / shard_folder.MANIFEST
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
        return self.folder / shard.folder / file, shard.files[file], shard_folder.ARRAYS[name], (n,)

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


def _padded(offsets: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return offsets of more items, of which there are no ratings."""
    return offsets if len(offsets) == n else np.pad(offsets, (0, n - len(offsets)), mode="edge")
