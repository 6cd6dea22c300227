"""Ordinal probit with and without time, on splits at random and in time, three seeds each.

python benchmarks/drift.py measure FILE    cells that FILE, of a JSON object a line, has not yet
python benchmarks/drift.py publish FILE    the table, into docs/benchmarks
"""

import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from common import SEEDS, publish, split_80_20, table

from cofactor.datasets import load_ratings
from cofactor.evaluation import UserLast
from cofactor.metrics import probability_report, rating_report
from cofactor.ratings import OrdinalProbit
from cofactor.text import without_zero

_U1 = 20_000  #: the first lines of u.data are the test ratings of u1

#: What each split is called, of which data, and what was asked of it with time.
SPLITS = {
    "u1": ("ML-100K, u1", "ml-100k", "≤ .868 / .624 / 1.164"),
    "random": ("ML-100K, 80/20 at random", "ml-100k", "≤ .852"),
    "random, latest": ("latest-small, 80/20 at random", "ml-latest-small", "≤ .783"),
    "last": ("ML-100K, each user's last fifth", "ml-100k", "≤ .914"),
    "moment": ("ML-100K, the last fifth of all, of users known then", "ml-100k", "not worse"),
    "moment, latest": ("latest-small, the last fifth of all, of users known then", "ml-latest-small", "not worse"),
}


def rows_of(split: str, X: np.ndarray, times: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows; splits in time are the same for all seeds."""
    n = len(times)
    if split == "u1":
        return np.arange(_U1, n), np.arange(_U1)
    if split.startswith("random"):
        return split_80_20(n, seed)
    if split == "last":
        return next(iter(UserLast(times=times).split(X)))
    later = times >= np.sort(times)[int(0.8 * n)]
    known = np.isin(X[:, 0], X[~later, 0])
    return np.flatnonzero(~later), np.flatnonzero(later & known)


def cell(split: str, seed: int, with_time: bool) -> dict[str, Any]:
    """Fit, and return errors, the squared ones of each user, and processor seconds of the fit."""
    data = load_ratings(SPLITS[split][1])
    X, y, times = data.X, data.y, data.timestamps
    train, test = rows_of(split, X, times, seed)
    model = OrdinalProbit(random_state=seed, time=with_time)
    began = time.process_time()
    model.fit(X[train], y[train], time=times[train] if with_time else None)
    seconds = time.process_time() - began
    when = {"time": times[test]} if with_time else {}
    squares = (model.decision_function(X[test], **when) - y[test]) ** 2
    users, place = np.unique(X[test, 0], return_inverse=True)
    return {
        "split": split, "seed": seed, "time": with_time, "seconds": seconds, "n": len(test), "n_users": len(users),
        "rmse": float(np.sqrt(squares.mean())), "squares": np.bincount(place, squares).tolist(),
        "mae": rating_report(y[test], model.predict(X[test], **when), model.scale_)["mae"],
        "log_loss": probability_report(y[test], model.predict_proba(X[test], **when), model.scale_)["log_loss"],
    }  # fmt: skip


def measure(file: Path) -> None:
    done = {(one["split"], one["seed"], one["time"]) for one in read(file)}
    for split in SPLITS:
        for seed in SEEDS:
            for with_time in (True, False):
                if (split, seed, with_time) not in done:
                    found = cell(split, seed, with_time)
                    with file.open("a") as stream:
                        stream.write(json.dumps(found) + "\n")
                    print({key: value for key, value in found.items() if key != "squares"}, flush=True)


def read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def by_users(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Return the mean difference of RMSE with and without time, and its standard error over users."""
    differences, variances = [], []
    for late, plain in pairs:
        of_users = (np.array(late["squares"]) - plain["squares"]) / (2 * plain["rmse"] * plain["n"])
        differences.append(late["rmse"] - plain["rmse"])
        variances.append(np.sum((of_users - of_users.mean()) ** 2))
    return f"{np.mean(differences):+.4f} ± {np.sqrt(np.mean(variances)):.4f}"


def shown(cells: list[dict[str, Any]]) -> str:
    """Return means over seeds: RMSE, MAE, log-loss."""
    return " / ".join(without_zero(np.mean([one[key] for one in cells]), 4) for key in ("rmse", "mae", "log_loss"))


def results(file: Path) -> str:
    found: dict[str, dict[int, dict[bool, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for one in read(file):
        found[one["split"]][one["seed"]][one["time"]] = one
    rows = []
    for split, (called, _, asked) in SPLITS.items():
        pairs = [(both[True], both[False]) for _, both in sorted(found[split].items())]
        late, plain = ([pair[k] for pair in pairs] for k in (0, 1))
        seconds = " / ".join(f"{np.mean([one['seconds'] for one in part]):.0f}" for part in (late, plain))
        of_users = f"{late[0]['n']:,} of {late[0]['n_users']:,} users"
        rows.append([called, of_users, shown(plain), shown(late), asked, by_users(pairs), seconds])
    header = ["split", "test ratings", "without time", "with time", "asked", "RMSE, with - without", "CPU s"]
    return table(header, rows)


if __name__ == "__main__":
    command, path = sys.argv[1], Path(sys.argv[2])
    if command == "measure":
        measure(path)
    else:
        publish("ratings in time", results(path))
