"""The keys of cells."""

from __future__ import annotations

import pytest

from cofactor import published
from cofactor.experiments.papers import printed_cell
from cofactor.experiments.plane import convergence


def test_a_printed_digit_has_a_say_in_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"alpha": 0.1}
    before = printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key
    assert printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key == before
    matrix = published.matrix
    monkeypatch.setattr(published, "matrix", lambda name: matrix(name) + (name == "thesis-3.6"))
    assert printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key != before
