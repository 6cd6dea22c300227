"""Implicit-feedback models on 50 million made-up interactions, beside `implicit`: time per round, quality, peak memory.

    python benchmarks/interactions_large.py [PARTS]     all of it, or 1 / PARTS of users, items and interactions
    python benchmarks/interactions_large.py tune FILE   what settings are worth; FILE, JSON by line, holds those done

Each model is a process of its own, which reads a sparse matrix from a file, and two threads. Peak memory is that of the
whole process, the matrix included. `implicit` (pip install implicit) runs its alternating least squares with
conjugate gradients, with as many factors, threads and rounds as ours. nDCG@10 is that of 2,000 users, all items ranked,
of whose interactions a fifth was held out. Settings of both were chosen, among as many, by a fifth of the interactions
of 2,000 other users, held out of the training part for that. A difference of nDCG@10 stands beside its standard error
over users, and is bold where it exceeds twice that.
"""

import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import publish, table
from scipy import sparse

from cofactor.datasets import make_interactions
from cofactor.metrics.topn import user_ndcgs
from cofactor.metrics.user_means import user_mean

SECTIONS = {1: "interactions: 50 million", 10: "interactions: 5 million"}
USERS, ITEMS, INTERACTIONS, PLANTED = 1_000_000, 100_000, 50_000_000, 20
FACTORS, ROUNDS, N_TEST, SHARE = 64, 5, 2_000, 0.2
THREADS = {"COFACTOR_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

#: The best of `TRIED`.
OURS = {"alpha": 0.01, "unobserved": 0.01}
THEIRS = {"alpha": 10.0, "regularization": 1000.0}

#: Settings on the whole size, by the name of the method: as many of each.
TRIED: dict[str, list[dict[str, float]]] = {
    "ImplicitALS, cg": [
        {"alpha": 0.001, "unobserved": 0.1},
        {"alpha": 0.003, "unobserved": 0.1},
        {"alpha": 0.003, "unobserved": 0.01},
        {"alpha": 0.01, "unobserved": 0.01},
    ],
    "implicit ALS, cg": [
        {"alpha": 10.0, "regularization": 100.0},
        {"alpha": 10.0, "regularization": 1000.0},
        {"alpha": 100.0, "regularization": 3000.0},
        {"alpha": 30.0, "regularization": 1000.0},
    ],
}

PEER = "implicit ALS, cg"

Scores = Any  # of users: their scores of all items


class Clock:
    """Wall-clock and CPU seconds at the end of each round; the latter say more on a machine that others use too."""

    def __init__(self) -> None:
        self.at: list[tuple[float, float]] = []

    def __call__(self, *_: Any) -> None:
        self.at.append((time.perf_counter(), time.process_time()))

    def medians(self) -> tuple[float, float] | None:
        """Return the median seconds between the ends of two rounds."""
        return tuple(np.median(np.diff(self.at, axis=0), axis=0).tolist()) if len(self.at) > 1 else None


def make(parts: int, path: Path) -> None:
    """Write interactions, a fifth of those of some users apart from the others."""
    interactions, truth = make_interactions(
        USERS // parts, ITEMS // parts, INTERACTIONS // parts, PLANTED, random_state=0
    )
    found = held_out(interactions.indptr, interactions.indices, seed=1)
    np.savez(path, theta=truth.users, phi=truth.items, **found)


def held_out(indptr: Any, indices: Any, seed: int) -> dict[str, Any]:
    """Hold a fifth of the interactions of some users out; return these, and what is left."""
    rng = np.random.default_rng(seed)
    users = np.sort(rng.choice(len(indptr) - 1, N_TEST, replace=False))
    kept, held = np.ones(len(indices), dtype=bool), []
    for user in users:
        entries = np.arange(indptr[user], indptr[user + 1])
        held.append(rng.permutation(entries)[: max(1, int(SHARE * len(entries)))])
        kept[held[-1]] = False
    out = np.concatenate(held)
    left = np.append(0, np.cumsum(kept, dtype=np.int32))[indptr].astype(np.int32)
    test = {"users": users, "held": indices[out], "held_of": np.cumsum([0, *map(len, held)])}
    return {"indptr": left, "indices": indices[kept], **test}


def als(interactions: sparse.csr_matrix, clock: Clock, **settings: float) -> Scores:
    """Fit ours; return scores."""
    from cofactor.ratings import ImplicitALS

    model = ImplicitALS(
        FACTORS,
        **(settings or OURS),
        solver="cg",
        max_iter=ROUNDS,
        tol=0,
        random_state=0,
        callback=clock,
    ).fit(interactions)
    return lambda users: model.U_[users] @ model.V_.T


def implicit_als(interactions: sparse.csr_matrix, clock: Clock, **settings: float) -> Scores:
    """Fit theirs."""
    from implicit.cpu.als import AlternatingLeastSquares

    how = settings or THEIRS
    model = AlternatingLeastSquares(factors=FACTORS, **how, iterations=ROUNDS, num_threads=2, random_state=0)
    model.fit(interactions, show_progress=False, callback=clock)
    return lambda users: model.user_factors[users] @ model.item_factors.T


def ease(interactions: sparse.csr_matrix, clock: Clock) -> Scores:
    """Fit EASE, which chooses its solver and its penalty."""
    from cofactor.ratings import EASE

    model = EASE(random_state=0).fit(interactions)
    print(f"{model.solver_}, alpha = {model.alpha_:g}", file=sys.stderr)
    return lambda users: model._table(users, 0, interactions.shape[1])


METHODS: dict[str, Any] = {"ImplicitALS, cg": als, "implicit ALS, cg": implicit_als, "EASE": ease}


def one(name: str, path: Path, settings: dict[str, float]) -> dict[str, Any]:
    """Return what a model took in this process, and how good it is: with settings given on other users than at last."""
    data: Any = np.load(path)
    shape = len(data["indptr"]) - 1, data["phi"].shape[1]
    if settings:
        data = held_out(data["indptr"], data["indices"], seed=2)
    interactions = sparse.csr_matrix(
        (np.ones(len(data["indices"]), np.float32), data["indices"], data["indptr"]), shape
    )
    clock, began, busy = Clock(), time.perf_counter(), time.process_time()
    if name in METHODS:
        scores = METHODS[name](interactions, clock, **settings)
    elif name == "popularity":
        counts = np.bincount(interactions.indices, minlength=shape[1]).astype(np.float32)
        scores = lambda users: np.tile(counts, (len(users), 1))  # noqa: E731
    else:
        theta, phi = data["theta"], data["phi"]
        scores = lambda users: theta[users] @ phi  # noqa: E731
    found = {
        "fit": time.perf_counter() - began,
        "cpu": time.process_time() - busy,
        "round": clock.medians(),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }
    of_users = ndcgs(scores, interactions, data)
    mean = user_mean(of_users)
    return found | {"ndcg": mean.mean, "error": mean.error, "users": of_users.tolist()}


def ndcgs(scores: Scores, interactions: sparse.csr_matrix, data: Any) -> Any:
    """Return the nDCG@10 of each user of the test."""
    users, lists = data["users"], []
    for lo in range(0, len(users), 200):
        block = np.array(scores(users[lo : lo + 200]), dtype=np.float32)
        for row, user in zip(block, users[lo : lo + 200], strict=True):
            row[interactions.indices[interactions.indptr[user] : interactions.indptr[user + 1]]] = -np.inf
            best = np.argpartition(-row, 10)[:10]
            lists.append(best[np.argsort(-row[best], kind="stable")])
    held = sparse.csr_array(
        (np.ones(len(data["held"])), data["held"], data["held_of"]), (len(users), interactions.shape[1])
    )
    return user_ndcgs(np.array(lists), held, 10)


def apart(name: str, path: Path, settings: dict[str, float]) -> dict[str, Any]:
    """Return what `one` does in a process of its own."""
    command = [sys.executable, __file__, "--here", name, str(path), json.dumps(settings)]
    done = subprocess.run(command, env=os.environ | THREADS, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(name, settings, {key: value for key, value in found.items() if key != "users"}, file=sys.stderr, flush=True)
    return found


def data_of(parts: int) -> Path:
    path = Path(tempfile.gettempdir()) / f"cofactor-interactions-{parts}.npz"
    if not path.exists():
        make(parts, path)
    return path


def tune(file: Path) -> None:
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for name, tried in TRIED.items():
        for settings in tried:
            if not any(row["name"] == name and row["settings"] == settings for row in rows):
                rows.append({"name": name, "settings": settings, **apart(name, data_of(1), settings)})
                with file.open("a") as stream:
                    stream.write(json.dumps(rows[-1]) + "\n")
    rows.sort(key=lambda row: (row["name"], -row["ndcg"]))
    shown = []
    for row in rows:
        settings = ", ".join(f"{key} {value:g}" for key, value in row["settings"].items())
        shown.append([row["name"], settings, f"{row['ndcg']:.4f} ± {row['error']:.4f}"])
    note = "Differences exceed twice their standard error, taken as if of other users, but for these: "
    publish(
        "interactions: settings", table(["model", "settings", "nDCG@10 ± s.e."], shown) + f"\n{note}{near(rows)}.\n"
    )


def near(rows: list[dict[str, Any]]) -> str:
    """Return the pairs whose difference is at most twice its standard error, taken as if of other users."""
    pairs = itertools.combinations(rows, 2)
    close = [(a, b) for a, b in pairs if abs(a["ndcg"] - b["ndcg"]) <= 2 * np.hypot(a["error"], b["error"])]
    return ", ".join(f"{a['ndcg']:.4f} and {b['ndcg']:.4f}" for a, b in close)


def less(found: dict[str, Any], other: dict[str, Any]) -> str:
    """Return the difference of two nDCG@10, bold where it exceeds twice its standard error over users."""
    mean = user_mean(np.array(found["users"]) - np.array(other["users"]))
    text = f"{mean.mean:+.4f} ± {mean.error:.4f}"
    return f"**{text}**" if abs(mean.mean) > 2 * mean.error else text


def run(parts: int) -> None:
    path = data_of(parts)
    rows, names = [], ("popularity", *METHODS, "probabilities that made the interactions")
    every = {name: apart(name, path, {}) for name in names}
    for name, found in every.items():
        per_round = [f"{seconds:.1f}" for seconds in found["round"] or ()] or ["–", "–"]
        costs = [f"{found['fit']:.0f}", f"{found['cpu']:.0f}"] if name in METHODS else ["–", "–"]
        memory = f"{found['peak']:.1f}" if name in METHODS else "–"
        accuracy = f"{found['ndcg']:.4f} ± {found['error']:.4f}"
        rows.append([name, *per_round, *costs, memory, accuracy, less(found, every[PEER]) if name != PEER else ""])
    header = [
        "model",
        "s per round",
        "CPU s per round",
        "s of the fit",
        "CPU s of the fit",
        "peak GB of the process",
        "nDCG@10 ± s.e.",
        f"less that of {PEER}",
    ]
    text = table(header, rows)
    if parts in SECTIONS:
        publish(SECTIONS[parts], text)
    else:
        print(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(one(sys.argv[2], Path(sys.argv[3]), json.loads(sys.argv[4]))))
    elif sys.argv[1:2] == ["tune"]:
        tune(Path(sys.argv[2]))
    else:
        run(int((sys.argv[1:] or ["1"])[0]))
