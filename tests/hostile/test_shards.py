"""Changed folders of shards are refused, and changed files give the shards that reading gives, or are refused alike."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.hostile import shards
from tests.hostile.mutations import failures, mutated
from tests.ratings.same import assert_same
from tests.ratings.sharding.files import rows, small, write

from cofactor.datasets import read_ratings
from cofactor.errors import InvalidInputError
from cofactor.ratings import Ratings, ShardedRatings, as_ratings, shard_files
from cofactor.ratings.shard_folder import MANIFEST

N_TRIALS = 150 * int(os.environ.get("COFACTOR_HOSTILE", "1"))
FIRST = int(os.environ.get("COFACTOR_HOSTILE_FIRST", "0"))


@pytest.mark.parametrize("kind", ["int", "text"])
def test_changed_folders(tmp_path: Path, kind: str) -> None:
    table = rows(kind=kind)
    ratings = Ratings.from_pairs(list(zip(table["user"], table["movie"], strict=True)), table["rating"])
    ShardedRatings.from_ratings(ratings, 3).save(tmp_path / "big")
    files = sorted(path for path in (tmp_path / "big").rglob("*") if path.is_file())
    for seed in range(FIRST, FIRST + N_TRIALS):
        path = files[seed % len(files)]
        before = path.read_bytes()
        path.write_bytes(mutated(before, np.random.default_rng(seed)))
        found = _outcome(lambda: _verified(tmp_path / "big"))
        if isinstance(found, Ratings):
            assert path.name == MANIFEST or path.read_bytes() == before, seed  # blanks in a manifest mean nothing
            assert_same(found, ratings)
        else:
            assert str(tmp_path) in found, seed
        path.write_bytes(before)


def test_changed_files_of_ratings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch.setattr)
    files = [
        write(tmp_path / "a.csv", rows(n=40, kind="mixed")),
        write(tmp_path / "b.csv.gz", rows(n=40)),
        write(tmp_path / "c.parquet", rows(n=40, kind="text", timed=True)),
        write(tmp_path / "d.dat", rows(n=40), header=False, sep="::"),
        write(tmp_path / "e.txt", rows(n=40), header=False, sep=" "),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(FIRST, FIRST + N_TRIALS):
            path = files[seed % len(files)]
            before = path.read_bytes()
            path.write_bytes(mutated(before, np.random.default_rng(seed)))
            read = _outcome(lambda path=path: as_ratings(read_ratings(path), duplicates="last"))
            big = tmp_path / f"{seed}"
            shards = _outcome(lambda path=path, big=big: shard_files(path, big, 1, duplicates="last").to_ratings())
            if isinstance(read, Ratings) and isinstance(shards, Ratings):
                assert_same(shards, read)
            else:
                # A stray quotation mark ends the piece that it is in; the whole file may have another one.
                assert isinstance(shards, str), seed
                assert isinstance(read, str) or "has a line of more than" in shards, seed
            path.write_bytes(before)


def _verified(folder: Path) -> Ratings:
    opened = ShardedRatings.open(folder)
    for shard in opened:
        assert shard.n_ratings
    opened.verify()
    return opened.to_ratings()


def _outcome(read: Callable[[], Ratings]) -> Ratings | str:
    try:
        return read()
    except InvalidInputError as error:
        return str(error)


@pytest.mark.evidence
@pytest.mark.processes
@pytest.mark.timeout(600 + N_TRIALS)
@pytest.mark.parametrize("kind", [{}, {"text": True, "timed": True}], ids=["numbers", "text"])
def test_fits_of_damaged_folders(tmp_path: Path, kind: dict[str, bool]) -> None:
    """A fit is refused, or has the bits that it has without the damage; 10,000: ``python -m tests.hostile.shards``."""
    shards.some_folder(tmp_path / "whole", **kind)
    expected = shards.references(tmp_path / "whole")
    seeds = range(FIRST, FIRST + N_TRIALS // 6)
    found = failures(partial(shards.trial, tmp_path / "whole", expected), seeds, seconds=60)
    assert not found, "\n".join(found)
