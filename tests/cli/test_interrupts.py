"""Ctrl-C at the worst moment: where Python ignores the exception that it raises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.programs import Program

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

    monkeypatch.setattr("cofactor.service.rating_files.checked_ratings", interrupted)
    slept: list[bool] = []
    outcome = run("fit", csv)
    assert not slept
    assert (outcome.status, outcome.err) == (130, f"{INTERRUPTED}\n")


@pytest.mark.evidence
@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="presses Ctrl-C for a group of processes, as a terminal does")
@pytest.mark.parametrize("times", [1, 3])
def test_an_interruption_while_kernels_are_compiled(tmp_path: Path, without_data, times: int) -> None:
    """It waited until all of them were compiled, and for ever if it came again."""
    cache, said = tmp_path / "kernels", tmp_path / "said"
    said.mkdir()
    environment = without_data(tmp_path) | {"COFACTOR_CACHE": str(tmp_path)}
    program = Program(["demo", "--offline", "--out", "report"], tmp_path, said, environment)
    while not list(cache.glob("*.kernel")):
        assert program.process.exitcode is None
        time.sleep(0.05)
    for _ in range(times):
        program.send(signal.SIGINT)
        time.sleep(0.01)
    ended = program.end(60)
    program.seconds_until_alone(60)
    assert program.left() == []
    # Of a Python that is about to end already the system ends the rest.
    assert ended.status == 130 or (times > 1 and ended.status == -signal.SIGINT)
    assert ended.last == INTERRUPTED
    assert "Traceback" not in ended.err
    assert not list(cache.glob("*.list")), "all kernels were compiled first"
