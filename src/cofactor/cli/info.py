"""``cofactor info``: what a model file holds."""

from __future__ import annotations

import os

from cofactor.cli import options
from cofactor.cli.files import check_sources, load_model
from cofactor.cli.interrupts import loading
from cofactor.cli.output import print_json, show_facts
from cofactor.headers import read_contents
from cofactor.model.facts import Facts, settings_of
from cofactor.service import service_of


def info(model: options.ModelFile, json: options.Json = False) -> None:
    """Say what a model file holds: the model, what it learned from, its settings that are not the defaults, its size.

    With --json all settings, and which questions the model answers. The file is read, and nothing in it is executed.
    """
    check_sources({"MODEL": model})
    if json:
        described = service_of(load_model(model)).describe()
        print_json({**described, "bytes": _size_of(model)})
        return
    facts, settings = _said_by(model) or _loaded(model)
    size = _size_of(model)
    show_facts(facts, {"settings": settings, "size": "" if size is None else f"{size / 1e6:.2f} MB"})


def _said_by(file: str) -> tuple[Facts, str] | None:
    """Return what a file says of its model, and the settings, without loading that; None where it says nothing."""
    if file == "-" or os.path.isdir(file):
        return None
    summary = read_contents(file).header.get("summary")
    match summary:
        case {"title": str(title), "shown": dict(shown), "settings": str(settings)}:
            return Facts(title, {}, {name: str(text) for name, text in shown.items()}), settings
    return None


def _loaded(file: str) -> tuple[Facts, str]:
    """Return what there is to say of the model of a file, and the settings."""
    fitted = load_model(file)
    with loading():
        return service_of(fitted, file).facts(), settings_of(fitted)


def _size_of(file: str) -> int | None:
    return None if file == "-" else os.path.getsize(file)
