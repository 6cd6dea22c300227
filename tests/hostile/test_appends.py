"""Ratings are appended while others read the folder and fit models to it: each keeps what it opened.

The suite tries a few; ``COFACTOR_HOSTILE=50`` makes 200 appends against 200 fits and readers.
"""

from __future__ import annotations

import os
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
from tests.children import forking
from tests.hostile.shards import MODELS
from tests.ratings.sharding.files import rows, write

from cofactor.errors import InvalidInputError
from cofactor.ratings import ShardedRatings, append_files, shard_files

SCALE = [0.5, 1, 1.5, 2, 2.5]
N_EACH = 4 * int(os.environ.get("COFACTOR_HOSTILE", "1"))


def append(folder: Path, files: list[Path], pipe: Connection) -> None:
    """Append files, again where another process does so at the same time; send how many ratings there are then."""
    sizes, refused = [], 0
    for file in files:
        while True:
            try:
                sizes.append(append_files(file, folder, duplicates="last").n_ratings)
                break
            except InvalidInputError as error:
                if "another process is changing this folder" not in str(error):
                    raise
                refused += 1
                time.sleep(0.05)
    pipe.send((sizes, refused))


def read(folder: Path, seeds: range, pipe: Connection) -> None:
    """Open the folder, and read it or fit a model to it, twice; send how many ratings there were, and what failed."""
    warnings.simplefilter("ignore")
    sizes, failed = [], []
    for seed in seeds:
        try:
            ratings = ShardedRatings.open(folder)
            sizes.append(ratings.n_ratings)
            if seed % 2:
                first, again = (ratings.to_ratings() for _ in range(2))
                same = np.array_equal(first.levels, again.levels) and first.n_ratings == ratings.n_ratings
                same = same and np.array_equal(first.item_counts, ratings.item_counts)
            else:
                first, again = (MODELS[seed // 2 % len(MODELS)]().fit(ratings) for _ in range(2))
                X = [(user, first.items_.ids[0]) for user in first.users_.ids.tolist()]
                same = np.array_equal(first.predict(X), again.predict(X)) and len(X) == ratings.shape[0]
            failed += [] if same else [f"{seed}: not the same"]
        except Exception as error:
            failed.append(f"{seed}: {type(error).__name__}: {error}")
    pipe.send((sizes, failed))


@pytest.mark.evidence
@pytest.mark.processes
@pytest.mark.timeout(300 + 20 * N_EACH)
def test_who_reads_keeps_what_was_opened(tmp_path: Path) -> None:
    big = tmp_path / "big"
    shard_files(write(tmp_path / "a.csv", rows(0, 120)), big, 3, scale=SCALE)
    theirs = [big / "shards" / "notes" / "a.txt", big / "shards" / "0000" / "b.txt", big / "items" / "0000" / "c.txt"]
    theirs += [tmp_path / "elsewhere" / "levels.npy", big / "shards" / "9999" / "levels.npy"]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("not of the ratings")
    (big / "shards" / "0001.link").symlink_to(tmp_path / "elsewhere")
    days = [write(tmp_path / f"{k}.csv", rows(k + 1, 30)) for k in range(N_EACH)]
    ours = [forking().Pipe(duplex=False) for _ in range(4)]
    work = [
        (append, days[0::2]),
        (append, days[1::2]),
        (read, range(0, 2 * N_EACH, 2)),
        (read, range(1, 2 * N_EACH, 2)),
    ]
    children = [
        forking().Process(target=target, args=(big, given, pipe))
        for (target, given), (_, pipe) in zip(work, ours, strict=True)
    ]
    for child in children:
        child.start()
    for _, pipe in ours:
        pipe.close()
    (*appended,), (*seen,) = ([pipe.recv() for pipe, _ in some] for some in (ours[:2], ours[2:]))
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4
    assert [failed for _, failed in seen] == [[], []]
    known = {120, *(size for sizes, _ in appended for size in sizes)}
    assert len([size for sizes, _ in appended for size in sizes]) == N_EACH
    assert {size for sizes, _ in seen for size in sizes} <= known
    tries = sum(refused for _, refused in appended)
    print(f"{N_EACH} appends, {tries} times tried again, {N_EACH} fits and {N_EACH} readers")
    assert {path.read_text() for path in theirs} == {"not of the ratings"}
    last = append_files(write(tmp_path / "last.csv", rows(N_EACH + 1, 30)), big, duplicates="last")
    last.verify()
    folders = {path.name for path in (big / "shards").iterdir()} - {"notes", "0000", "9999", "0001.link"}
    assert len(folders) in (len(last), len(last) - 1)  # the first one holds what is not ours
    assert {path.name for path in (big / "shards" / "0000").iterdir()} == {"b.txt"}
