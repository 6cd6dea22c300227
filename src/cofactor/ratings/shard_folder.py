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

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.coding import Coding
from cofactor.errors import InvalidInputError, Place
from cofactor.files import SHARDS, PathLike
from cofactor.metrics.scale import as_scale
from cofactor.ratings.checked_files import (
    IDS,
    StoredFile,
    check_size,
    damage,
    load_array,
    read_manifest,
    refuse,
    write_array,
    write_ids,
    write_manifest,
)
from cofactor.ratings.column_entries import StoredColumnEntries
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import check_columns, check_rows
from cofactor.ratings.ids import IdMap

__all__ = [
    "MANIFEST",
    "Manifest",
    "StoredItems",
    "StoredShard",
    "check_shard",
    "load_shard",
    "new_folder",
    "number_of",
    "remove_others",
    "shard_name",
    "write_common",
    "write_shard",
]

MANIFEST = SHARDS
COUNTS = "counts.npy"

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
        write_manifest(folder / MANIFEST, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read it, and look whether all files are there in full; their content is not read."""
        path = folder / MANIFEST
        if not path.is_file():
            what = "is no folder of sharded ratings: it has no manifest.json" if folder.is_dir() else "no such folder"
            advice = "make one with cofactor shard, or ShardedRatings.save"
            raise InvalidInputError(what, advice=advice, place=Place(str(folder)))
        manifest = cls._of_state(read_manifest(path), path)
        for name, stored in manifest.all_files():
            check_size(folder / name, stored)
        return manifest

    @classmethod
    def _of_state(cls, state: dict[str, Any], path: Path) -> Manifest:
        try:
            shards = tuple(StoredShard.of_state(shard) for shard in state.pop("shards"))
            items = StoredItems(**_with_files(state.pop("items")))
            tuples: dict[str, Any] = {name: tuple(state.pop(name)) for name in ("scale", "level_counts")}
            manifest = cls(items=items, shards=shards, **tuples, **state)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            refuse(path, f"is damaged ({error})")
        if not manifest.shards or len(manifest.level_counts) != len(as_scale(manifest.scale)):
            refuse(path, "is damaged (its parts do not fit together)")
        return manifest


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
            check_size(path, stored.files[path.name])
            arrays[name] = load_array(path, dtype, (sizes.get(name, stored.n_ratings),))
    if stored.n_items < len(items):
        last = np.full(len(items) - stored.n_items, stored.n_ratings, dtype=np.int64)
        arrays["col_indptr"] = np.append(arrays["col_indptr"], last)
    try:
        columns = StoredColumnEntries(*(arrays.pop(name) for name in ("col_indptr", "col_indices", "to_csr")))
        return Ratings(users, items, scale, columns=columns, coding=coding, **arrays)
    except (KeyError, TypeError):  # an array is missing
        refuse(folder / MANIFEST, f"does not name all arrays of {stored.folder}")


def check_shard(path: Path, ratings: Ratings) -> None:
    """Refuse arrays that no `Ratings` could have: kernels do not check indices."""
    with damage(path):
        arrays = ratings.indptr, ratings.indices, ratings.levels, ratings.times
        check_rows(len(ratings.users), len(ratings.items), ratings.n_levels, *arrays)
        check_columns(len(ratings.users), ratings.n_ratings, ratings.col_indptr, ratings.col_indices, ratings.to_csr)


def _with_files(state: Mapping[str, Any]) -> dict[str, Any]:
    return {**state, "files": {name: StoredFile(**stored) for name, stored in state["files"].items()}}
