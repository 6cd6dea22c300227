"""``cofactor info``: what a model file holds."""

from __future__ import annotations

import os

from cofactor.cli import options
from cofactor.cli.files import check_sources, load_model
from cofactor.cli.interrupts import loading
from cofactor.cli.output import print_json, show_facts
from cofactor.tasks import answers_of, task_of


def info(model: options.ModelFile, json: options.Json = False) -> None:
    """Say what a model file holds: the model, what it learned from, its settings that are not the defaults, its size.

    With --json all settings, and which questions the model answers. The file is read, and nothing in it is executed.
    """
    check_sources({"MODEL": model})
    fitted = load_model(model)
    size = None if model == "-" else os.path.getsize(model)
    if json:
        print_json({**answers_of(fitted).describe(), "bytes": size})
        return
    with loading():
        end = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
        facts = task_of(end).describe(end)
    settings = " ".join(repr(fitted).split())
    show_facts(facts, {"settings": settings, "size": "" if size is None else f"{size / 1e6:.2f} MB"})
