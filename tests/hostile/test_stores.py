"""Damaged stores of results: what is read is right, or refused; what is rescued is right.

The suite damages a sample; ``COFACTOR_HOSTILE=10000`` damages so many.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.hostile.mutations import failures

from cofactor.errors import InputWarning
from cofactor.evaluation import Cell, DamagedStoreError, Result, ResultStore, StoreError, run_cells

N_TRIALS = int(os.environ.get("COFACTOR_HOSTILE", "75"))
N_RESULTS = 60
_PAGE = 4096


def some_results() -> list[Result]:
    cells = [Cell(work=dict, method="HMF", data="größer", split=f"weak {k}") for k in range(N_RESULTS)]
    return [
        replace(result, measures={"mae": k / 7, "curve": [k] * (k % 30)}, error="x" * 9000 * (k % 20 == 7))
        for k, result in enumerate(run_cells(cells))
    ]


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return some_results()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, results: list[Result]) -> Path:
    """A store whose results were put at several times."""
    path = tmp_path_factory.mktemp("store") / "whole.sqlite"
    with ResultStore(path) as store:
        for result in reversed(results):
            store.put(replace(result, status="failed"))
        for result in results:
            store.put(result)
    return path


def damaged(data: bytes, random: np.random.Generator) -> bytes:
    """Flip bytes anywhere or in one page, write over pages, or cut off the end."""
    raw, n_pages = bytearray(data), len(data) // _PAGE
    page = int(random.integers(n_pages)) * _PAGE
    match int(random.integers(6)):
        case 0:
            for at in random.integers(len(raw), size=int(random.integers(1, 21))):
                raw[at] ^= 1 << int(random.integers(8))
        case 1:
            for at in page + random.integers(_PAGE, size=int(random.integers(1, 21))):
                raw[at] = int(random.integers(256))
        case 2:
            raw[page : page + _PAGE] = bytes(_PAGE)
        case 3:
            other = int(random.integers(n_pages)) * _PAGE
            raw[page : page + _PAGE] = raw[other : other + _PAGE]
        case 4:
            start = int(random.integers(100))
            raw[start] = int(random.integers(256))
        case 5:
            del raw[int(random.integers(1, len(raw))) :]
    return bytes(raw)


def open_damaged(whole: Path, results: list[Result], seed: int) -> None:
    """Damage a store, and use it as a run does: what comes out is right, or an error names the file."""
    random = np.random.default_rng(seed)
    for file in whole.parent.glob("damaged*"):
        file.unlink()
    path = whole.with_name("damaged.sqlite")
    path.write_bytes(damaged(whole.read_bytes(), random))
    right = {result.key: result for result in results}
    error = refusal(path, right)
    assert error is None or "damaged.sqlite: " in str(error)
    if isinstance(error, DamagedStoreError):
        assert "damaged.sqlite: is damaged (" in str(error)
        assert "open it with rescue=True" in str(error)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with ResultStore(path, rescue=True) as store:
                kept = store.results()
        assert all(right[result.key] == result for result in kept)
        assert [warning.category for warning in told] == [InputWarning]
        assert f"{len(kept)} result" in str(told[0].message)
        assert path.with_name("damaged.sqlite.damaged").exists()


def refusal(path: Path, right: dict[str, Result]) -> StoreError | None:
    """Return the error of a store, None if all in it is right."""
    try:
        check_store(path, right)
    except StoreError as error:
        return error
    return None


def check_store(path: Path, right: dict[str, Result]) -> None:
    cell = Cell(work=dict, method="new")
    with ResultStore(path) as store:
        assert {result.key: result for result in store.results()} == right
        for key, result in right.items():
            assert store.get(key) == result
        assert store.claim(cell)
        store.put(replace(next(iter(right.values())), key=cell.key))
        assert len(store) == len(right) + 1


@pytest.mark.timeout(0 if N_TRIALS > 1000 else 300)
@pytest.mark.processes
def test_damaged_stores_are_right_or_refused(whole: Path, results: list[Result]) -> None:
    check_store(whole, {result.key: result for result in results})
    with ResultStore(whole) as store:
        store.forget([Cell(work=dict, method="new").key])
    assert failures(partial(open_damaged, whole, results), range(N_TRIALS)) == []
