"""The keys of cells."""

from __future__ import annotations

import pytest

from cofactor.experiments import experiments
from cofactor.experiments.base import cells
from cofactor.experiments.base.cells import printed_cell
from cofactor.experiments.kumar.plane import convergence


def test_every_cell_says_which_code_takes_part() -> None:
    assert all(one.code for each in experiments().values() for one in each.cells("full"))


def test_a_printed_digit_has_a_say_in_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"alpha": 0.1}
    before = printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key
    assert printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key == before
    matrix = cells.published.matrix
    monkeypatch.setattr(cells.published, "matrix", lambda name: matrix(name) + (name == "thesis-3.6"))
    assert printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key != before
