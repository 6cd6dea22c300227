"""A model as a server has it, and where it comes from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from cofactor.errors import InvalidInputError
from cofactor.text import did_you_mean

__all__ = ["Served", "Source", "Stamp", "chosen"]


@dataclass(frozen=True, eq=False)
class Served:
    """A model under its name.

    Attributes
    ----------
    name : str
        By which requests ask for it.
    answers : object
        What `cofactor.tasks.base.Task.answers` returned.
    sha256 : str, optional
        Checksum of its file.
    source : Source, optional
        Its file, which is read again when it changes.
    stamp : Stamp, optional
        Of the file when it was read.
    """

    name: str
    answers: Any
    sha256: str | None = None
    source: Source | None = None
    stamp: Stamp | None = None

    def facts(self) -> dict[str, Any]:
        """Return what there is to say of the model."""
        from cofactor.version import __version__

        return {"name": self.name, "version": __version__, "sha256": self.sha256, **self.answers.describe()}


class Stamp(NamedTuple):
    """By what a changed file is known."""

    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, file: str) -> Self | None:
        """Return that of a file; None where there is none."""
        try:
            found = os.stat(file)
        except OSError:
            return None
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True, eq=False)
class Source:
    """The file of a model. It is read, and never mapped: whoever writes into it changes nothing here.

    Parameters
    ----------
    name : str
        By which requests ask for the model.
    file : str
        Path.
    answers : callable
        Returns, from the path, what `cofactor.tasks.base.Task.answers` returns.
    """

    name: str
    file: str
    answers: Callable[[str], Any]

    def read(self) -> Served:
        """Return the model as it is in the file now.

        Raises
        ------
        InvalidInputError
            If the file holds no model, or changed while it was read.
        OSError
            If it cannot be read.
        """
        before = Stamp.of(self.file)
        with ThreadPoolExecutor(1) as beside:  # it has ended before any process forks
            checksum = beside.submit(_sha256, self.file)
            answers = self.answers(self.file)
        if Stamp.of(self.file) != before:
            advice = "write another file, and rename it to this"
            raise InvalidInputError(f"{self.file}: changed while it was read", advice=advice)
        return Served(self.name, answers, checksum.result(), self, before)


def _sha256(file: str) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def chosen(models: Mapping[str, Served], name: str | None) -> Served:
    """Return the model of a name, the first one where there is no name.

    Parameters
    ----------
    models : mapping from str to Served
    name : str or None

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    if name is None:
        return next(iter(models.values()))
    if name not in models:
        raise InvalidInputError(did_you_mean(name, models), argument="model", found=name)
    return models[name]
