"""A model as a server has it, and where it comes from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from cofactor.errors import InvalidInputError
from cofactor.headers import opened, read
from cofactor.text import did_you_mean


@dataclass(frozen=True, eq=False)
class Served:
    """A model under its name.

    Attributes
    ----------
    name : str
        By which requests ask for it.
    service : ModelService
        Of the model.
    sha256 : str, optional
        Checksum of its file.
    source : ModelFile, optional
        Its file, which is read again when it changes.
    stamp : FileVersion, optional
        Of the file when it was read.
    """

    name: str
    service: Any
    sha256: str | None = None
    source: ModelFile | None = None
    stamp: FileVersion | None = None

    def facts(self) -> dict[str, Any]:
        """Return what there is to say of the model."""
        from cofactor.version import __version__

        return {"name": self.name, "version": __version__, "sha256": self.sha256, **self.service.describe()}

    def check_successor(self, new: Served) -> None:
        """Refuse a model of another class in the place of this one: it would answer other questions.

        Parameters
        ----------
        new : Served

        Raises
        ------
        InvalidInputError
            If it is one.
        """
        found, expected = (served.facts()["model"] for served in (new, self))
        if found != expected:
            problem = f"it holds a model of class {found}, and one of {expected} is served"
            raise InvalidInputError(problem, advice="start the server anew to serve it")


class FileVersion(NamedTuple):
    """By what a changed file is known."""

    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, file: str | int) -> Self | None:
        """Return that of a file, by its path or its descriptor; None where there is none."""
        try:
            found = os.stat(file)
        except OSError:
            return None
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


class Content(NamedTuple):
    """All that was in a file."""

    data: memoryview
    sha256: str
    stamp: FileVersion | None


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The file of a model. It is read, and never mapped: whoever writes into it changes nothing here.

    Parameters
    ----------
    name : str
        By which requests ask for the model.
    file : str
        Path.
    load : callable
        Returns, from the path and what is in the file, the `cofactor.service.base.ModelService` of the model.
    """

    name: str
    file: str
    load: Callable[[str, memoryview], Any]

    def content(self) -> Content:
        """Return what is in the file now. The disk may let this wait without end.

        Raises
        ------
        InvalidInputError
            If it is no file that may hold a model, or changed while it was read.
        OSError
            If it cannot be read.
        """
        with opened(self.file) as stream:
            before = FileVersion.of(stream.fileno())
            data = read(stream, self.file)
            if FileVersion.of(stream.fileno()) != before:
                advice = "write another file, and rename it to this"
                raise InvalidInputError(f"{self.file}: changed while it was read", advice=advice)
        return Content(data, hashlib.sha256(data).hexdigest(), before)

    def served(self, content: Content | None = None) -> Served:
        """Return the model as it is in the file now, or in what was read of it.

        Raises
        ------
        InvalidInputError
            If it holds no model.
        """
        data, sha256, stamp = content or self.content()
        return Served(self.name, self.load(self.file, data), sha256, self, stamp)


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
