"""The keys of cells: which code has a say in them, and which has not."""

from __future__ import annotations

import pytest

from cofactor.evaluation.run.cells import Cell
from cofactor.evaluation.run.code import SHOWN, closure
from cofactor.experiments import experiments
from cofactor.experiments.base import cells
from cofactor.experiments.base.cells import label_cell, printed_cell
from cofactor.experiments.kumar.plane import convergence


def measuring() -> list[str]:
    """The modules of all functions which measure."""
    functions = {one.work.func for each in experiments().values() for one in each.cells("quick")}
    return sorted({function.__module__ for function in functions})


def test_claims_pictures_and_documents_have_no_say_in_a_key() -> None:
    telling = ("base.experiment", "base.beside", "base.markdown", "base.document", "tables", "geometry", "groups")
    for module in measuring():
        sources, _ = closure([module], registries=False)
        parts = {source.split(".")[1] for source in sources}
        assert {"datasets", "metrics"} & parts, module
        assert not parts & SHOWN, module
        experiments_told = {source for source in sources if source.startswith("cofactor.experiments")}
        assert [source for source in experiments_told if source.endswith(telling)] == [], module


def test_every_cell_says_which_code_takes_part() -> None:
    every: list[Cell] = [one for each in experiments().values() for one in each.cells("full")]
    assert all(one.code for one in every)
    # A model that takes no part has no say.
    first, second = label_cell("MLkNN", "emotions", "kfold 1/10"), label_cell("OMF", "emotions", "kfold 1/10")
    assert first.code != second.code


def test_a_printed_digit_has_a_say_in_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"alpha": 0.1}
    before = printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key
    assert printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key == before
    matrix = cells.published.matrix
    monkeypatch.setattr(cells.published, "matrix", lambda name: matrix(name) + (name == "thesis-3.6"))
    assert printed_cell(convergence, "MMMF", "thesis-3.6", settings=settings).key != before
