"""A model as a server has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cofactor.errors import InvalidInputError
from cofactor.text import did_you_mean
from cofactor.version import __version__

__all__ = ["Served", "chosen"]


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
    """

    name: str
    answers: Any
    sha256: str | None = None

    def facts(self) -> dict[str, Any]:
        """Return what there is to say of the model."""
        return {"name": self.name, "version": __version__, "sha256": self.sha256, **self.answers.describe()}


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
