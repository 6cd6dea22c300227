"""Samples of users in memory, and in the folder of shards: what a fit and its model take, and how fast they answer.

    python benchmarks/stored_samples.py FOLDER    five million made-up ratings of 300,000 users stay in FOLDER

Fits, and questions to their models, are made in processes of their own.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import publish, table
from sharding import make

import cofactor
from cofactor.ratings import OrdinalProbit, ShardedRatings, shard_files

USERS, ITEMS, RATINGS, SHARDS = 300_000, 20_000, 5_000_000, 8
PAIRS, LISTS, TURNS = 1_000_000, 1_000, 3
WHERE = ("memory", "folder")


def megabytes(name: str) -> float:
    """Return what the system says of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def fit(users: str, folder: Path) -> dict[str, Any]:
    """Fit, and write the model; return what that took."""
    ratings = ShardedRatings.open(folder / "big").on(users=users)
    began = time.perf_counter()
    model = OrdinalProbit(10, n_implicit=20, n_sweeps=45, burn_in=5, random_state=0).fit(ratings)
    seconds, peak = time.perf_counter() - began, megabytes("VmHWM")
    model.save(folder / users)
    samples = sum(model.samples_[name].nbytes for name in ("U", "thresholds")) / 1e6
    return {
        "ratings": ratings.n_ratings,
        "samples of users, MB": f"{samples:,.0f}",
        "s of the fit": f"{seconds:.0f}",
        "peak MB of the fit": f"{peak:,.0f}",
        "MB of the file": f"{(folder / users).stat().st_size / 1e6:,.0f}",
    }


def ask(users: str, folder: Path) -> dict[str, Any]:
    """Return how long answers take, the least of some turns, and the memory of the process but for mapped files."""
    model = cofactor.load(folder / users)
    loaded, rng, found = megabytes("RssAnon"), np.random.default_rng(1), {}
    rows, columns = rng.integers(0, len(model.users_), PAIRS), rng.integers(0, len(model.items_), PAIRS)
    some = model.users_.ids[100_000 : 100_000 + LISTS]
    questions = {
        "s a million predictions": lambda: model.predict(np.column_stack([model.users_.ids[rows], of_items])),
        "s the same by user": lambda: model.predict(np.column_stack([model.users_.ids[np.sort(rows)], of_items])),
        "s a thousand lists": lambda: model.recommend(some, 10),
    }
    of_items = model.items_.ids[columns]
    for name, question in questions.items():
        turns = []
        for _ in range(TURNS):
            began = time.perf_counter()
            question()
            turns.append(time.perf_counter() - began)
        found[name] = f"{min(turns):.2f}"
    return {"MB of the model": f"{loaded:,.0f}", **found}


def main(place: str) -> None:
    folder = Path(place)
    if not (folder / "big").is_dir():
        make(folder / "ratings", USERS, ITEMS, RATINGS)
        shard_files(folder / "ratings.parquet", folder / "big", SHARDS)
    rows = []
    for users in WHERE:
        found: dict[str, Any] = {}
        for what in ("fit", "ask"):
            command = [sys.executable, __file__, f"--{what}", users, place]
            found |= json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows.append({"users": users, **found, "ratings": f"{found['ratings']:,}"})
        print(rows[-1], flush=True)
    publish("samples in the folder", table(list(rows[0]), [list(row.values()) for row in rows]))


if __name__ == "__main__":
    if sys.argv[1] in ("--fit", "--ask"):
        print(json.dumps({"--fit": fit, "--ask": ask}[sys.argv[1]](sys.argv[2], Path(sys.argv[3]))))
    else:
        main(sys.argv[1])
