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
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
    read_array,
    read_manifest,
    refuse,
    write_array,
    write_ids,
    write_manifest,
)
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import IdMap

__all__ = [
    "ARRAYS",
    "COUNTS",
    "MANIFEST",
    "Manifest",
    "StoredItems",
    "StoredShard",
    "item_counts_of",
    "items_name",
    "lock_of",
    "new_folder",
    "next_number",
    "publish",
    "remove_old",
    "shard_name",
    "write_common",
    "write_shard",
]

MANIFEST = SHARDS
COUNTS = "counts.npy"

#: The arrays of a shard, with their types; the last two are there only if the ratings have them.
ARRAYS: Mapping[str, type[np.generic]] = {
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
_OF_SHARD = {IDS, *(f"{name}.npy" for name in ARRAYS)} - _OPTIONAL
_NAME = re.compile(r"[0-9]{4,18}(-[0-9a-f]{8})?", re.ASCII)
_MOST = 2**31 - 1  #: users, items, and ratings of a shard, which have numbers of 32 bits


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
        if self.files.keys() != {IDS, COUNTS}:
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

    def write(self, folder: Path) -> None:
        """Put it into its folder, which from then on holds what it says."""
        write_manifest(folder / MANIFEST, asdict(self))

    def check_files(self, folder: Path) -> None:
        """Refuse a folder in which a file is not there in full, or not itself; contents are not read."""
        for path in [folder / _SHARDS, folder / _ITEMS, *(folder / part.folder for part in self.parts())]:
            if path.is_symlink():
                refuse(path, "is a link: what it leads to is not read", "put the folder itself there, or ")
        for name, stored in self.all_files():
            check_size(folder / name, stored)

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
    for array in ARRAYS:
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
) -> Manifest:
    """Write what shards have in common into a new folder, ``folder/name``; return the manifest, which is there too.

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
    files = {IDS: write_ids(place / IDS, items, "items"), COUNTS: write_array(place / COUNTS, item_counts)}
    state = None if coding is None else coding.to_state()
    level_counts = tuple(np.sum([shard.level_counts for shard in shards], axis=0).tolist())
    stored = StoredItems(name, len(items), files)
    manifest = Manifest(tuple(scale.tolist()), state, level_counts, stored, tuple(shards))
    manifest.write(place)
    return manifest


def item_counts_of(folder: Path, shards: Sequence[StoredShard], n_items: int) -> NDArray[np.int64]:
    """Return the number of ratings of each item in shards that were written."""
    counts = np.zeros(n_items, dtype=np.int64)
    for shard in shards:
        path, name = folder / shard.folder, "col_indptr.npy"
        starts = read_array(path / name, shard.files[name], ARRAYS["col_indptr"], (shard.n_items + 1,))
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


def lock_of(folder: Path, manifest: Manifest) -> Path:
    """Return the file on which those hold a shared lock who read what a manifest names."""
    return folder / manifest.items.folder / IDS


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
            lock = Lock(lock_of(folder, old), shared=False)
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
