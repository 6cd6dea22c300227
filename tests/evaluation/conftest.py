"""Processes of their own, for tests of what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from tests.children import forking

Start = Callable[..., BaseProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a process which runs some lines, with names given to them; the package is imported once for all."""
    context = forking()
    started: list[BaseProcess] = []

    def start(code: str, **names: Any) -> BaseProcess:
        process = context.Process(target=exec, args=(code, names))
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.join()
        process.close()
