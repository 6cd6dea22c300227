"""What a fit of a folder of shards finds for users, in that folder: arrays that are mapped into memory.

=============================  ==============================================================
``users/KEY/manifest.json``    class of the model, types, shapes; size and CRC-32 of every other file
``users/KEY/U_.npy``, ...      an array of all users, by its name in the model, users along the first axis
``users/KEY/ids.safetensors``  ids of the users
=============================  ==============================================================

The key follows from the content. Arrays of each shard are written first, where the shard is worked on, and joined in
the end: a folder with a key is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError, Place
from cofactor.model.state import member
from cofactor.ratings.ids import IdMap
from cofactor.ratings.shard_folder import (
    GIVE_BACK,
    IDS,
    StoredFile,
    check_size,
    damage,
    load_ids,
    map_array,
    read_manifest,
    verify_file,
    write_array,
    write_ids,
    write_joined,
    write_manifest,
)

__all__ = ["Finish", "Rows", "StoredUsers", "copied", "stored_users_of"]

#: Makes the arrays that are kept of users, by attribute of the model, of the number of a shard and its arrays of rows.
Finish = Callable[[int, Mapping[str, NDArray[Any]]], dict[str, NDArray[Any]]]
#: Has something made of all shards, where they are worked on; yields what is returned there, in their order.
Ask = Callable[[Finish], Iterable[Mapping[str, NDArray[Any]]]]

_FOLDER, _MANIFEST = "users", "manifest.json"
_NAME = re.compile(r"[\w.]+", re.ASCII)  # of a file
_PIECE = 1 << 20  # bytes of samples that are copied at a time


@dataclass(frozen=True, eq=False)
class Rows:
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
            name: Rows(like.dtype, (len(users), *like.shape[1:]), _read(pieces, len(kinds), name))
            for name, like in kinds[0].items()
        }
        return cls._joined(place, pieces, kind, users, rows)

    @classmethod
    def join(cls, place: Path, work: Path, kind: str, users: IdMap, rows: Mapping[str, Rows]) -> Self:
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
    def _joined(cls, place: Path, pieces: Path, kind: str, users: IdMap, rows: Mapping[str, Rows]) -> Self:
        """Write arrays, ids and manifest to a folder, and give it its name."""
        files = {IDS: write_ids(pieces / IDS, users, "users")}
        for name, one in rows.items():
            files[f"{name}.npy"] = write_joined(pieces / f"{name}.npy", one.dtype, one.shape, one.pieces)
        arrays = {name: {"dtype": one.dtype.name, "shape": one.shape, "axis": one.axis} for name, one in rows.items()}
        state = {"model": kind, "users": len(users), "arrays": arrays}
        state["files"] = {name: asdict(file) for name, file in files.items()}
        write_manifest(pieces / _MANIFEST, state)
        target = place / _FOLDER / _key_of(state)
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
            manifest = folder / _MANIFEST
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
                if not all(_NAME.fullmatch(name) for name in files) or files.keys() != {
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
        for folder in sorted((place / _FOLDER).glob("*")):
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


def copied(array: NDArray[Any], chosen: NDArray[np.int64] | slice = slice(None)) -> NDArray[Any]:
    """Return a copy in memory, of some samples alone if there are such: those of a user may lie together in `array`.

    Examples
    --------
    >>> mapped = np.arange(24, dtype="f4").reshape(4, 3, 2)  # four users, three samples
    >>> found = copied(mapped.swapaxes(0, 1), np.array([0, 2]))
    >>> found[1, :, 0].tolist(), found.flags.c_contiguous
    ([4.0, 10.0, 16.0, 22.0], True)
    """
    if array.flags.c_contiguous:
        return np.array(array[chosen])
    out = np.empty((len(array[chosen, :1]), *array.shape[1:]), array.dtype)
    size = max(1, _PIECE // max(array[:, :1].nbytes, 1))
    for lo in range(0, array.shape[1], size):
        out[:, lo : lo + size] = array[:, lo : lo + size][chosen]
    return out


def _emptied(work: Path) -> Path:
    """Return a new folder within another one, without what a fit that was killed left there."""
    folder = work / _FOLDER
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
