"""References: cells carry names, and processes load what they stand for once."""

from __future__ import annotations

import gc
import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyRegressor

from cofactor.datasets import make_labels, make_ratings
from cofactor.evaluation import Cell, compare, comparison, run_cells
from cofactor.evaluation.run import references
from cofactor.evaluation.run.references import Reference
from cofactor.evaluation.run.sources import sources_of
from cofactor.labels import PLST

STARS = make_ratings(300, 200, 3, density=0.5, random_state=0)
LARGEST = 4000  #: bytes of a cell that is sent to another process


class Mean(BaseEstimator):
    """Predicts the mean, and tells which process it was fitted in."""

    def fit(self, X: Any, y: Any) -> Mean:
        self.best_params_ = {"process": os.getpid()}
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.mean_)


def cells_of(monkeypatch: pytest.MonkeyPatch, *arguments: Any, **options: Any) -> list[Cell]:
    """Return the cells of a comparison, without computing them."""
    found: list[Cell] = []

    def keep(cells: list[Cell], *_: Any) -> list[Any]:
        found.extend(cells)
        return []

    with monkeypatch.context() as patched:
        patched.setattr(comparison, "run_cells", keep)
        compare(*arguments, **options)
    return found


@pytest.mark.parametrize("splits", ["holdout", "weak", "strong", "kfold"])
def test_a_cell_is_small_whatever_its_data(monkeypatch: pytest.MonkeyPatch, splits: str) -> None:
    assert STARS.X.nbytes > 100 * LARGEST
    methods = {"mean": DummyRegressor()} if splits != "strong" else {"Mean": Folding()}
    cells = cells_of(monkeypatch, methods, [STARS], splits=splits)
    assert max(len(pickle.dumps(cell)) for cell in cells) < LARGEST


class Folding(Mean):
    """Interactions new users as they come."""

    def fold_in(self, X: Any, y: Any) -> Folding:
        return self


def test_cells_of_known_data_hold_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    (cell, *_) = cells_of(monkeypatch, {"PLST": PLST.paper()}, ["emotions"], n_splits=2)
    text = pickle.dumps(cell)
    assert len(text) < LARGEST
    assert b"_load_again" in text
    copy = pickle.loads(text)
    references._LOADED.clear()
    assert copy.key == cell.key
    assert copy.work()["micro_f1"] == cell.work()["micro_f1"]
    assert sources_of("emotions")[0].checksum in references._LOADED


def test_known_data_must_be_the_same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    (cell, *_) = cells_of(monkeypatch, {"PLST": PLST.paper()}, ["emotions"], n_splits=2)
    copy = pickle.loads(pickle.dumps(cell))
    other, _ = make_labels(30, 6, 4, n_groups=2, random_state=0)
    monkeypatch.setattr("cofactor.evaluation.run.sources.load_labels", lambda name: other)
    references._LOADED.clear()
    with pytest.raises(ValueError, match="data set 'emotions' is not the same on all machines: its checksum here is"):
        copy.work()


@pytest.mark.processes
def test_processes_find_what_one_finds() -> None:
    data = {"stars": (STARS.X, STARS.y)}
    alone = compare({"mean": Mean()}, data, seeds=(0, 1))
    with parallel_config(backend="loky"):
        together = compare({"mean": Mean()}, data, seeds=(0, 1), n_jobs=2)
    assert not together.failed
    assert [one.measures["mae"] for one in together.results] == [one.measures["mae"] for one in alone.results]
    assert os.getpid() not in {one.measures["parameters"]["process"] for one in together.results}


def logged(path: str) -> list[int]:
    """Return some data, and write down that they were loaded."""
    with open(path, "a") as stream:
        stream.write(f"{os.getpid()}\n")
    return [1, 2, 3]


def total(rows: Reference[list[int]], k: int) -> dict[str, int]:
    return {"total": k * sum(rows.value()), "process": os.getpid()}


@pytest.mark.processes
def test_a_process_loads_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    rows = Reference("rows", f"of {tmp_path}", [1, 2, 3], partial(logged, str(log)))
    cells = [Cell(work=partial(total, rows, k), method="sum", split=str(k)) for k in range(12)]
    results = run_cells(cells, n_jobs=2)
    assert [one.measures["total"] for one in results] == [6 * k for k in range(12)]
    loaded = log.read_text().split()
    assert sorted(set(loaded)) == sorted(loaded)
    assert set(loaded) == {str(one.measures["process"]) for one in results}


def test_a_file_goes_with_its_reference() -> None:
    rows = Reference("rows", "of this test", np.arange(1000))
    copy = pickle.loads(pickle.dumps(rows))
    path = Path(copy._load.path)
    assert path.exists()
    np.testing.assert_array_equal(copy.value(), np.arange(1000))
    assert copy.value() is pickle.loads(pickle.dumps(rows)).value()
    del rows
    gc.collect()
    assert not path.exists()
    references._LOADED.clear()
    with pytest.raises(ValueError, match="rows was given in memory, and lies in .* on the machine that began"):
        copy.value()


def test_few_values_are_kept() -> None:
    references._LOADED.clear()
    whole = [Reference(f"rows {k}", str(k), [k]) for k in range(10)]
    copies = [pickle.loads(pickle.dumps(one)) for one in whole]
    assert [copy.value() for copy in copies] == [[k] for k in range(10)]
    assert list(references._LOADED) == ["6", "7", "8", "9"]
    references._LOADED.clear()
