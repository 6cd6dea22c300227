"""Damaged stores of results: what is read is right, and what is not is computed again.

The suite damages a sample; ``COFACTOR_HOSTILE=10000`` damages so many.
"""

from __future__ import annotations

import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.hostile.mutations import failures, mutated

from cofactor.errors import InputWarning
from cofactor.evaluation import Cell, ResultStore, Run, run_cells

N_TRIALS = int(os.environ.get("COFACTOR_HOSTILE", "75"))


def measures(k: int) -> dict[str, object]:
    return {"mae": k / 7, "curve": [k] * (k % 30), "name": "größer"}


CELLS = [Cell(work=partial(measures, k), method="HMF", data="größer", split=f"weak {k}") for k in range(20)]


def open_damaged(results: list[Run], folder: Path, seed: int) -> None:
    """Damage one file of a store, and run what it holds: all results are right, and one warning says what was not."""
    random = np.random.default_rng(seed)
    hurt = results[random.integers(len(results))]
    path = folder / f"{hurt.key}.json"
    whole = path.read_bytes()
    path.write_bytes(mutated(whole, random))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        again = run_cells(CELLS, folder)
    assert [(one.key, one.measures) for one in again] == [(one.key, one.measures) for one in results]
    computed = [one.key for one, old in zip(again, results, strict=True) if one != old]
    assert computed in ([], [hurt.key])
    assert [warning.category for warning in told] == [InputWarning] * len(computed)
    path.write_bytes(whole)


@pytest.mark.timeout(0 if N_TRIALS > 1000 else 300)
@pytest.mark.processes
def test_what_is_damaged_is_computed_again(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    results = run_cells(CELLS, folder)
    assert ResultStore(folder).find(one.key for one in results) == {one.key: one for one in results}
    assert failures(partial(open_damaged, results, folder), range(N_TRIALS)) == []
