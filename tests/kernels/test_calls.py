"""Kernels that call kernels."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core import event

from cofactor.kernels.compile import kernel


class Compiled(event.Listener):
    """Counts how often each function is compiled."""

    def __init__(self) -> None:
        self.names = Counter[str]()

    def on_start(self, event: Any) -> None:
        self.names[event.data["dispatcher"].py_func.__name__] += 1

    def on_end(self, event: Any) -> None:
        pass


@kernel
def sum_from(x, first):
    s = 0.0
    for k in range(first, len(x)):
        s += x[k]
    return s


@kernel
def sums(x, first):
    return sum_from(x, 0), sum_from(x, 1), sum_from(x, first)


def test_a_kernel_is_called_by_python_and_by_kernels() -> None:
    x = np.array([1.0, 2.0, 4.0])
    assert sums(x, 2) == (7.0, 6.0, 4.0)
    assert sum_from(x, 1) == 6.0


def test_literals_are_numbers_to_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFACTOR_CACHE", str(tmp_path))  # where nothing is compiled

    @kernel
    def last(x, n):
        return x[len(x) - n]

    @kernel
    def both(x, n):
        return last(x, 1) + last(x, 2) + last(x, n)

    seen = Compiled()
    event.register("numba:compile", seen)
    try:
        assert both(np.array([1.0, 2.0, 4.0]), 3) == 7.0
    finally:
        event.unregister("numba:compile", seen)
    assert seen.names["last"] == 1
