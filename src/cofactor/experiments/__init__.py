"""The published tables and figures of this field, declared as data; `cofactor reproduce` runs them.

=============================  ============================================================
``reproduction``               what an experiment is, and how it is run
``papers``                     the experiments, by their source: a TOML file, and a module
``results``, ``document``      what they are made of, and the document of all of them
``*_work``, ``plane``          what their cells measure
``demos``                      what `cofactor demo` shows
``declared``                   comparisons of your own, declared in TOML files
=============================  ============================================================

`experiments` returns all of them by name. A new one is an entry in the TOML file of its paper and one in the tuple
``EXPERIMENTS`` of its module. What it measures stands in a module of its own, without claims or pictures: the source of
that module, and of all that it imports, is part of the keys of its results.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from cofactor.errors import InvalidInputError
from cofactor.experiments.reproduction import Experiment
from cofactor.text import did_you_mean

__all__ = ["experiment", "experiments"]

#: In the order of the sources.
_MODULES = ("kumar_ratings", "kumar_labels", "omf", "mnmtf", "li")


@cache
def experiments() -> dict[str, Experiment]:
    """Return every experiment by its name."""
    found = [one for name in _MODULES for one in import_module(f"{__name__}.papers.{name}").EXPERIMENTS]
    return {one.name: one for one in found}


def experiment(name: str) -> Experiment:
    """Return the experiment of a name.

    Raises
    ------
    InvalidInputError
        If there is none; the message gives the nearest names.

    Examples
    --------
    >>> experiment("thesis-table-3.91")
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: 'thesis-table-3.91' is no experiment; did you mean thesis-table-3.19, ...
    """
    known = experiments()
    if name not in known:
        advice = did_you_mean(name, known, "cofactor reproduce list shows all")
        raise InvalidInputError(f"{name!r} is no experiment", advice=advice)
    return known[name]
