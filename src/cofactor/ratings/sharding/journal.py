"""How far sharding has come: a file beside the spills, from which it goes on after a kill."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from cofactor.datasets.readers.pieces import Mark
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, replacing
from cofactor.ratings.shard_folder import StoredShard

__all__ = ["WORK", "Journal", "Source", "abandon", "begin", "sources_of"]

WORK = ".sharding"  #: folder of the spills, the journal and what is built, which is there until all is
_NAME = "journal.json"
_FORMAT = 2


@dataclass(frozen=True)
class Source:
    """A file of ratings, as it was when reading began."""

    path: str
    size: int
    modified: int

    @classmethod
    def of(cls, path: PathLike) -> Source:
        """Return it as it is now."""
        if os.path.isdir(path):
            raise IsADirectoryError(f"{os.fspath(path)}: is a folder, expected a file")
        if not os.path.exists(path):
            raise FileNotFoundError(f"{os.fspath(path)}: no such file")
        status = os.stat(path)
        return cls(os.path.abspath(path), status.st_size, status.st_mtime_ns)


def sources_of(files: PathLike | Sequence[PathLike]) -> list[Source]:
    """Return files as they are now; one, or several."""
    paths = [files] if not isinstance(files, Sequence) or isinstance(files, str) else list(files)
    if not paths:
        raise InvalidInputError("expected at least one file of ratings", argument="files")
    return [Source.of(path) for path in paths]


@dataclass
class Journal:
    """What is done.

    Attributes
    ----------
    sources : tuple of Source
        What is read.
    options : dict
        How it is read.
    phase : {"reading", "routing", "building"}
    lengths : dict of str to int
        Bytes that count of each file in the working folder.
    starts : list of int
        Ratings before each file that was begun.
    mark : Mark
        How far the last of these was read.
    n_ratings : int
        Ratings that were read.
    values : list of float
        Distinct ratings, in the order in which they came.
    timed : bool or None
        Whether ratings have times; None before the first one.
    plan : dict
        Number of shards, and what becomes of duplicates; empty while files are read.
    n_routed : int
        Ratings that are with their shards.
    shards : list of StoredShard
        Those which are built.
    """

    sources: tuple[Source, ...]
    options: dict[str, Any]
    phase: Literal["reading", "routing", "building"] = "reading"
    lengths: dict[str, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    mark: Mark = field(default_factory=Mark)
    n_ratings: int = 0
    values: list[float] = field(default_factory=list)
    timed: bool | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    n_routed: int = 0
    shards: list[StoredShard] = field(default_factory=list)

    def write(self, work: Path) -> None:
        """Put it on the disk, whole or not at all."""
        with replacing(work / _NAME) as stream:
            stream.write(json.dumps({"format": _FORMAT, **asdict(self)}).encode())

    @classmethod
    def read(cls, work: Path) -> Journal:
        """Read it."""
        try:
            state = json.loads((work / _NAME).read_bytes())
            if state.pop("format") != _FORMAT:
                raise ValueError("another format")
            sources = tuple(Source(**one) for one in state.pop("sources"))
            shards = [StoredShard.of_state(one) for one in state.pop("shards")]
            return cls(sources=sources, mark=Mark(**state.pop("mark")), shards=shards, **state)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"does not say how far sharding has come ({error})",
                advice=("begin anew with ", Argument("restart")),
                place=Place(str(work / _NAME)),
            ) from None


def begin(folder: Path, sources: Sequence[Source], options: dict[str, Any], *, restart: bool) -> Journal:
    """Return the journal of a folder: that of an earlier call, which was ended before it was done, or a new one.

    Parameters
    ----------
    folder : Path
        Where shards are to be.
    sources : sequence of Source
    options : dict
        How they are read, in a form that JSON can hold.
    restart : bool
        Throw away what an earlier call did.
    """
    work = folder / WORK
    if restart:
        shutil.rmtree(work, ignore_errors=True)
    if (work / _NAME).exists():
        found = Journal.read(work)
        if found.n_ratings:
            _check_same(found, sources, options, folder)
            return found
    work.mkdir(parents=True, exist_ok=True)
    journal = Journal(tuple(sources), options)
    journal.write(work)
    return journal


def abandon(folder: Path) -> None:
    """Remove what was done, and the folder if nothing else is in it."""
    shutil.rmtree(folder / WORK)
    with suppress(OSError):
        folder.rmdir()


def _check_same(found: Journal, sources: Sequence[Source], options: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with other files, or to read them otherwise."""
    changed = next(((new, old) for new, old in zip(sources, found.sources, strict=False) if new != old), None)
    if changed is not None:
        new, old = changed
        why = "which has changed since" if new.path == old.path else f"and not of {new.path}"
        what = f"holds the beginning of shards of {old.path}, {why}"
    elif len(sources) != len(found.sources):
        what = f"holds the beginning of shards of {len(found.sources)} files and not {len(sources)}"
    elif options != found.options:
        name = next(name for name in options if options[name] != found.options.get(name))
        what = (
            f"holds the beginning of shards of these files with {Argument(name, found.options.get(name))} and "
            f"not {Argument(name, options[name])}"
        )
    else:
        return
    advice = ("finish them with the same files and options, or begin anew with ", Argument("restart"))
    raise InvalidInputError(what, advice=advice, place=Place(str(folder)))
