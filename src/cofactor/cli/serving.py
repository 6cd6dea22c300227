"""What commands that serve models have in common: the server, and titles of items."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import ModuleType

from cofactor.cli.interrupts import loading
from cofactor.errors import InvalidInputError, MissingPackageError
from cofactor.garbage import garbage_kept
from cofactor.text import did_you_mean

__all__ = ["server_for", "titles_by_model"]


def server_for(command: str) -> ModuleType:
    """Return `cofactor.server`, which needs more packages.

    Parameters
    ----------
    command : str
        Which needs it.

    Raises
    ------
    MissingPackageError
        If one of them is not installed.
    """
    with loading(), garbage_kept():
        try:
            from cofactor import server
        except ModuleNotFoundError as error:
            package = (error.name or "cofactor").partition(".")[0]
            if package == "cofactor":
                raise
            raise MissingPackageError(package, f"{command} needs", "serve") from error
    return server


def titles_by_model(given: Sequence[str], models: Sequence[str], encoding: str) -> dict[str, dict[str, str]]:
    """Return titles of items by the text of their ids, for each model that has some.

    Parameters
    ----------
    given : sequence of str
        Files or names of data sets, for the first model; or ``MODEL=FILE``.
    models : sequence of str
        Names of all models.
    encoding : str
        Of the files.
    """
    if not given:
        return {}
    with loading():
        from cofactor.tasks.rating_files import read_titles

    found: dict[str, dict[str, str]] = {}
    for one in given:
        name, source = _of_model(one, models)
        if name in found:
            raise InvalidInputError(f"--titles {one}: {name} has titles already", advice="give them once")
        found[name] = read_titles(source, encoding)
    return found


def _of_model(given: str, models: Sequence[str]) -> tuple[str, str]:
    """Return the model whose titles are given, and where they are.

    Examples
    --------
    >>> _of_model("ml-100k", ["default", "songs"]), _of_model("songs=a=b.csv", ["default", "songs"])
    (('default', 'ml-100k'), ('songs', 'a=b.csv'))
    """
    name, equals, source = given.partition("=")
    if not equals or os.path.exists(given):
        return models[0], given
    if name not in models:
        raise InvalidInputError(f"--titles {given}: no model is called {name}: {did_you_mean(name, models)}")
    return name, source
