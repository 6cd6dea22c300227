"""The store: what it keeps, and how it fails."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from cofactor.errors import InputWarning
from cofactor.evaluation import Cell, ResultStore, Run, StoreError, run_cells


def make_cell(number: int = 0, **changes: object) -> Cell:
    facts = {"method": "HMF", "data": "toy", "split": f"weak {number}", "parameters": {"alpha": 8.0, "name": "größer"}}
    return Cell(work=lambda: {"mae": 0.7}, **{**facts, **changes})  # type: ignore[arg-type]


def make_result(cell: Cell, **changes: object) -> Run:
    (result,) = run_cells([cell])
    return replace(result, **changes)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results")


def filled(store: ResultStore, n: int) -> list[Run]:
    results = [make_result(make_cell(k), error=f"<{k}>") for k in range(n)]
    for k, result in enumerate(results):
        store.put(result)
        os.utime(store.path / f"{result.key}.json", (k, k))
    return results


def test_results_come_back_as_they_were(store: ResultStore) -> None:
    measures = {"mae": 0.1 + 0.2, "nan": float("inf"), "stages": [1, 2.5], "parameters": {"alpha": None}, "name": "θ"}
    result = make_result(make_cell(), measures=measures, data="\udcff.csv")
    store.put(result)
    again = ResultStore(store.path)
    assert again.get(result.key) == result
    assert again.results() == [result]
    assert len(again) == 1


def test_results_are_found_by_what_they_are(store: ResultStore) -> None:
    for k, changes in enumerate([{}, {"method": "ALS"}, {"data": "other"}, {"method": "ALS", "data": "other"}]):
        store.put(make_result(make_cell(k, **changes), status="failed" if k == 3 else "done"))
    assert {r.split for r in store.results(method="ALS")} == {"weak 1", "weak 3"}
    assert [r.split for r in store.results(method="ALS", data="other")] == ["weak 3"]
    assert [r.split for r in store.results(status="done", split="weak 0")] == ["weak 0"]
    assert store.get("no such key") is None


def test_results_come_in_the_order_in_which_they_ended(store: ResultStore) -> None:
    results = filled(store, 9)
    assert ResultStore(store.path).results() == results


def test_a_later_result_of_a_cell_stands_for_it(store: ResultStore) -> None:
    first = make_result(make_cell(), status="failed", error="MemoryError")
    store.put(first)
    store.put(replace(first, status="done", error=""))
    assert [r.status for r in store.results()] == ["done"]
    store.forget([first.key])
    assert store.results() == []


@pytest.mark.parametrize(
    "damage", [lambda old: b"", lambda old: old[:-9], lambda old: old.replace(b"<3>", b"<8>"), lambda old: b"[" * 99999]
)
def test_damaged_and_foreign_files_are_computed_again(store: ResultStore, damage) -> None:
    cells, results = [make_cell(k) for k in range(9)], filled(store, 9)
    for k in (3, 5):  # one is not as it was written, the other that of another cell
        path = store.path / f"{results[k].key}.json"
        content = damage(path.read_bytes()) if k == 3 else path.with_name(f"{results[0].key}.json").read_bytes()
        path.write_bytes(content)
    (store.path / "notes.json").write_text("{}")
    told = rf"results: 2 results not as written, and computed again; the first is {results[3].key}.json"
    computed: list[str] = []
    with pytest.warns(InputWarning, match=told) as warned:
        run_cells(cells, store, on_progress=lambda progress: computed.append(progress.result.split))
    assert len(warned) == 1
    assert sorted(computed[-2:]) == ["weak 3", "weak 5"]
    assert len(store.results()) == 9


def test_a_store_of_the_old_kind_says_what_to_do(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "results.sqlite") as old:
        old.execute("CREATE TABLE results (key TEXT)")
    old.close()
    with pytest.raises(StoreError, match=r"sqlite: is a store of an earlier version .* is a folder now; give another"):
        ResultStore(tmp_path / "results.sqlite")


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_text("user,item,rating")
    with pytest.raises(StoreError, match=r"ratings\.csv: is a file: a store is a folder now; give another name"):
        ResultStore(tmp_path / "ratings.csv")
    with pytest.raises(StoreError, match="is no store of results, but holds other files: give another name"):
        ResultStore(tmp_path)
    with pytest.raises(StoreError, match="nowhere/results: .* its folder must exist"):
        ResultStore(tmp_path / "nowhere" / "results")
    assert os.listdir(tmp_path) == ["ratings.csv"]


def test_a_store_of_a_newer_version_is_left_alone(store: ResultStore) -> None:
    (store.path / "cofactor-results-2").touch()
    before = sorted(os.listdir(store.path))
    with pytest.raises(StoreError, match=r"was written by a newer version of cofactor \(format 2, .*: update cofactor"):
        ResultStore(store.path)
    assert sorted(os.listdir(store.path)) == before


def test_a_folder_that_is_empty_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / ".result.json.17-0.part").touch()  # of a process that was killed
    assert len(ResultStore(tmp_path)) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_says_so_and_keeps_what_was_stored(store: ResultStore) -> None:
    (kept,) = filled(store, 1)
    other = make_result(make_cell(1))
    (store.path / f"{other.key}.json").symlink_to("/dev/full")
    with pytest.raises(StoreError, match="results: the disk is full; what was stored is kept"):
        store.put(other)
    assert store.get(kept.key) == kept


def test_a_result_is_there_whole_or_not_at_all(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = filled(store, 1)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        store.put(replace(old, seconds=9.0))
    assert store.results() == [old]
