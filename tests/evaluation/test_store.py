"""The store: what it keeps, whom it lets compute a cell, and how it fails."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from cofactor.errors import InputWarning
from cofactor.evaluation import Cell, DamagedStoreError, Result, ResultStore, StoreError, run_cells
from cofactor.evaluation.run import store as module

Start = Callable[..., BaseProcess]


def make_cell(number: int = 0, **changes: object) -> Cell:
    facts = {"method": "HMF", "data": "toy", "split": f"weak {number}", "parameters": {"alpha": 8.0, "name": "größer"}}
    return Cell(work=lambda: {"mae": 0.7}, **{**facts, **changes})  # type: ignore[arg-type]


def make_result(cell: Cell, **changes: object) -> Result:
    (result,) = run_cells([cell])
    return replace(result, **changes)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[ResultStore]:
    with ResultStore(path) as opened:
        yield opened


def test_results_come_back_as_they_were(store: ResultStore, path: Path) -> None:
    measures = {"mae": 0.1 + 0.2, "nan": float("inf"), "stages": [1, 2.5], "parameters": {"alpha": None}, "name": "θ"}
    results = [make_result(make_cell(k), measures=measures) for k in range(3)]
    for result in results:
        store.put(result)
    store.close()
    with ResultStore(path) as again:
        assert again.results() == results
        assert again.get(results[1].key) == results[1]
        assert len(again) == 3


def test_results_are_found_by_what_they_are(store: ResultStore) -> None:
    for k, changes in enumerate([{}, {"method": "ALS"}, {"data": "other"}, {"method": "ALS", "data": "other"}]):
        store.put(make_result(make_cell(k, **changes), status="failed" if k == 3 else "done"))
    assert [r.split for r in store.results(method="ALS")] == ["weak 1", "weak 3"]
    assert [r.split for r in store.results(method="ALS", data="other")] == ["weak 3"]
    assert [r.split for r in store.results(status="done", split="weak 0")] == ["weak 0"]
    assert store.get("no such key") is None


def test_a_later_result_of_a_cell_stands_for_it(store: ResultStore) -> None:
    first = make_result(make_cell(), status="failed", error="MemoryError")
    store.put(first)
    store.put(replace(first, status="done", error=""))
    assert [r.status for r in store.results()] == ["done"]
    store.forget([first.key])
    assert store.results() == []


# ---------------------------------------------------------------- claims


def test_a_cell_is_claimed_once(store: ResultStore, path: Path) -> None:
    with ResultStore(path) as other:
        assert store.claim(make_cell())
        assert store.claim(make_cell())  # one's own
        assert not other.claim(make_cell())
        assert other.claim(make_cell(1))
        store.release()
        assert other.claim(make_cell())


def test_a_result_ends_the_claim_and_forbids_others(store: ResultStore, path: Path) -> None:
    store.claim(make_cell())
    store.put(make_result(make_cell()))
    assert not store.claim(make_cell())
    with ResultStore(path) as other:
        assert not other.claim(make_cell())
        other.forget([make_cell().key])
        assert other.claim(make_cell())


CLAIM_AND_WAIT = """
import time
from cofactor.evaluation import Cell, ResultStore
store = ResultStore(path)
cell = Cell(work=dict, method="HMF", data="toy", split="weak 0", parameters={"alpha": 8.0, "name": "größer"})
answer.send(store.claim(cell))
time.sleep(60)
"""


@pytest.mark.processes
def test_a_claim_ends_with_its_process(store: ResultStore, path: Path, start: Start) -> None:
    ours, theirs = multiprocessing.Pipe()
    child = start(CLAIM_AND_WAIT, path=str(path), answer=theirs)
    assert ours.recv() is True
    assert not store.claim(make_cell())
    child.kill()
    child.join()
    assert store.claim(make_cell())


def test_a_process_that_was_killed_is_dead_before_its_parent_takes_notice() -> None:
    child = subprocess.Popen(["sleep", "60"])
    assert module._started(child.pid)
    child.kill()
    while Path(f"/proc/{child.pid}/stat").read_text().split()[2] != "Z":
        time.sleep(0.001)
    assert not module._started(child.pid)
    child.wait()


@pytest.mark.parametrize(
    ("change", "free"),
    [
        ("started = '1'", True),  # the number was given to another process
        ("pid = 4194305", True),  # no such process
        ("beat = 0", False),  # it lives here, however long ago its last sign of life was
        ("host = 'elsewhere'", False),
        ("host = 'elsewhere', beat = beat - 30", False),
        ("host = 'elsewhere', beat = beat - 90", True),
        ("started = ''", False),  # a system which does not tell: the sign of life counts
        ("started = '', beat = beat - 90", True),
    ],
)
def test_who_counts_as_alive(store: ResultStore, path: Path, change: str, free: bool) -> None:
    with ResultStore(path) as other:
        assert other.claim(make_cell())
        with sqlite3.connect(path) as raw:
            raw.execute(f"UPDATE workers SET {change}")
        raw.close()
        assert store.claim(make_cell()) is free


def test_one_who_claims_gives_signs_of_life(store: ResultStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BEAT", 0.01)
    store.claim(make_cell())
    seen = threading.Event()
    raw = sqlite3.connect(path)
    first = raw.execute("SELECT beat FROM workers").fetchone()[0]
    while raw.execute("SELECT beat FROM workers").fetchone()[0] == first:
        assert not seen.wait(0.01)
    raw.close()


# ---------------------------------------------------------------- files that are none, or cannot be written


def test_a_store_of_an_earlier_version_is_refused(store: ResultStore, path: Path) -> None:
    """Its keys did not change with the code, so that its results may be those of other code."""
    store.put(make_result(make_cell()))
    store.close()
    with sqlite3.connect(path) as raw:
        raw.execute("ALTER TABLE results DROP COLUMN code")
        raw.execute("PRAGMA user_version = 1")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"was written by an earlier version of cofactor, .*: move it away, or give"):
        ResultStore(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["results.sqlite"]


def test_a_store_of_a_newer_version_is_left_alone(store: ResultStore, path: Path) -> None:
    store.put(make_result(make_cell()))
    store.close()
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version = {module.SCHEMA + 1}")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"results\.sqlite: was written by a newer version of cofactor .* update"):
        ResultStore(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["results.sqlite"]


def put_many(store: ResultStore, n: int) -> list[Result]:
    results = [make_result(make_cell(k), error=f"<{k}>" + "x" * 1000) for k in range(n)]
    store.put(*results)
    store.close()
    return results


def test_a_store_without_digests_gets_them(store: ResultStore, path: Path) -> None:
    results = put_many(store, 3)
    with sqlite3.connect(path) as raw:
        raw.execute("ALTER TABLE results DROP COLUMN digest")
        raw.execute("PRAGMA user_version = 2")
    raw.close()
    for _ in range(2):
        with ResultStore(path) as again:
            assert again.results() == results


@pytest.mark.parametrize("text", [b"<8>x", b"<7\xffx"])
def test_a_result_that_was_changed_is_refused_and_the_others_are_rescued(
    text: bytes, store: ResultStore, path: Path
) -> None:
    results = put_many(store, 20)
    path.write_bytes(path.read_bytes().replace(b"<7>x", text))
    before = path.read_bytes()
    with pytest.raises(
        DamagedStoreError,
        match=r"results\.sqlite: is damaged \(a result is not as it was written\); open it with rescue=True to keep",
    ):
        ResultStore(path)
    assert path.read_bytes() == before
    told = r"was damaged: 19 results kept, 1 or more that could not be read .* the damaged file is .*sqlite\.damaged"
    with pytest.warns(InputWarning, match=told), ResultStore(path, rescue=True) as again:
        assert again.results() == results[:7] + results[8:]
    assert path.with_name("results.sqlite.damaged").read_bytes() == before
    assert sorted(os.listdir(path.parent)) == ["results.sqlite", "results.sqlite.damaged"]
    with ResultStore(path, rescue=True) as whole:  # nothing to rescue
        assert len(whole) == 19
    path.write_bytes(before)
    with pytest.raises(StoreError, match=r"damaged: is there already, so .* move it away"):
        ResultStore(path, rescue=True)
    assert path.read_bytes() == before


def test_a_page_of_zeros_is_seen(store: ResultStore, path: Path) -> None:
    results = put_many(store, 60)
    content = path.read_bytes()
    page = content.index(b"<30>") // 4096 * 4096
    path.write_bytes(content[:page] + bytes(4096) + content[page + 4096 :])
    with pytest.raises(DamagedStoreError, match=r"is damaged \(Page \d+: btreeInitPage"):
        ResultStore(path)
    with pytest.warns(InputWarning, match="was damaged"):
        again = ResultStore(path, rescue=True)
    kept = again.results()
    again.close()
    assert 50 < len(kept) < 60
    assert all(result in results for result in kept)


def test_results_are_checked_when_they_are_read(store: ResultStore, path: Path) -> None:
    result = make_result(make_cell())
    store.put(result)
    store._connection.execute("UPDATE results SET seconds = seconds + 1")
    for read in (store.results, lambda: store.get(result.key)):
        with pytest.raises(DamagedStoreError, match="a result is not as it was written"):
            read()


@pytest.mark.parametrize("content", [b"method,data\nHMF,toy\n" * 100, b"SQLite format 3\0" + b"x" * 4096])
def test_a_file_of_another_kind_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"results\.sqlite: is no store of results \(not an SQLite database\)"):
        ResultStore(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE friends (name TEXT)")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="a database of another program"):
        ResultStore(path)
    assert path.read_bytes() == before


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere/results\.sqlite: cannot be opened or made: its folder must exist"):
        ResultStore(tmp_path / "nowhere" / "results.sqlite")


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with ResultStore(path) as store:
        assert len(store) == 0


def test_a_full_disk_says_so_and_keeps_what_was_stored(store: ResultStore, path: Path) -> None:
    kept = make_result(make_cell())
    store.put(kept)
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    large = make_result(make_cell(1), error="x" * 100_000)
    with pytest.raises(StoreError, match=r"results\.sqlite: the disk is full; what was stored is kept"):
        store.put(large)
    assert store.results() == [kept]
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.put(large)
    with ResultStore(path) as again:
        assert again.results() == [kept, large]


def test_a_file_that_may_not_be_written(store: ResultStore) -> None:
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=r"results\.sqlite: cannot be written: allow writing to the file"):
        store.put(make_result(make_cell()))


CLAIM_MANY = """
from cofactor.evaluation import Cell, ResultStore
gate.wait()
with ResultStore(path) as store:
    answer.send([k for k in range(100) if store.claim(Cell(work=dict, method="HMF", split=str(k)))])
    gate.wait()
"""


@pytest.mark.processes
def test_a_new_file_may_be_made_by_several_processes_at_once(path: Path, start: Start) -> None:
    gate = multiprocessing.get_context("forkserver").Barrier(3)
    ours, theirs = multiprocessing.Pipe()
    for _ in range(3):
        start(CLAIM_MANY, path=str(path), answer=theirs, gate=gate)
    assert sorted(k for _ in range(3) for k in ours.recv()) == list(range(100))


def test_a_new_file_may_be_opened_while_somebody_makes_it(tmp_path: Path) -> None:
    """Whoever looks just then sees no tables, or all of them: never tables that are not ours yet."""
    errors: list[Exception] = []

    def open_one(path: Path, barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            ResultStore(path).close()
        except StoreError as error:
            errors.append(error)

    for k in range(40):
        barrier = threading.Barrier(4)
        threads = [threading.Thread(target=open_one, args=(tmp_path / f"{k}.sqlite", barrier)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
