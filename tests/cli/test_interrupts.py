"""Ctrl-C at the worst moment: where Python ignores the exception that it raises."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from cofactor.cli.interrupts import INTERRUPTED

#: A command in which the import of a module meets Ctrl-C, in the callback of a weak reference.
PROGRAM = """
import signal, sys, weakref

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == MODULE:
            sys.meta_path.remove(self)
            thing = type(self)()
            self.reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has been told to ignore it
sys.meta_path.insert(0, Interrupter())

from cofactor.cli import main

sys.exit(main())
"""


@pytest.fixture
def keyboard() -> Iterator[None]:
    """Let SIGINT interrupt, as it does in a terminal; processes that pytest-xdist starts ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("module", ["typer", "numpy"])
def test_an_interruption_while_modules_are_loaded(csv: Path, module: str) -> None:
    command = [sys.executable, "-c", PROGRAM.replace("MODULE", repr(module)), "fit", str(csv)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=csv.parent)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"{INTERRUPTED}\n")
    assert list(csv.parent.iterdir()) == [csv]


def test_an_interruption_that_python_ignores(run, csv: Path, keyboard: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        thing = threading.Event()
        reference = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
        del thing
        time.sleep(60)
        slept.append(True)
        del reference

    monkeypatch.setattr("cofactor.tasks.rating_files.checked_ratings", interrupted)
    slept: list[bool] = []
    outcome = run("fit", csv)
    assert not slept
    assert (outcome.status, outcome.err) == (130, f"{INTERRUPTED}\n")
