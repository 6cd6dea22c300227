"""Exposure models on 50 million made-up takes, beside `implicit`: seconds per round, quality, and peak memory.

    python benchmarks/takes_large.py [PARTS]     all of it, or 1 / PARTS of users, items and takes

Each model is a process of its own, which reads a sparse matrix from a file, and two threads. Peak memory is that of the
whole process, the matrix included. `implicit` (pip install implicit) runs its alternating least squares with
conjugate gradients, with as many factors, threads and rounds as ours. The weights of penalties, and of what was not
taken, of both were chosen among a few on a tenth of the size: so compare costs, not quality. nDCG@10 is that of 2,000
users, all items ranked, of whose takes a fifth was held out.
"""

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

from cofactor.datasets import make_takes
from cofactor.metrics.topn import user_ndcgs
from cofactor.metrics.user_means import user_mean

SECTIONS = {1: "takes: 50 million", 10: "takes: 5 million"}
USERS, ITEMS, TAKES, PLANTED = 1_000_000, 100_000, 50_000_000, 20
FACTORS, ROUNDS, N_TEST, SHARE = 64, 5, 2_000, 0.2
THREADS = {"COFACTOR_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

#: Best nDCG@10 of eight settings of ours (alpha .003 to .03, unobserved .1 to 1; .158 after eight rounds), and
#: among six of implicit that are no better than popularity (.146; .079 with regularization 100), all on a tenth of the
#: size and on the users of the test. Nothing between 100 and 300 was tried, so its quality may be too low here.
OURS = {"alpha": 0.01, "unobserved": 0.1}
THEIRS = {"regularization": 300.0, "alpha": 3.0}

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
    """Write takes, a fifth of those of some users apart from the others."""
    takes, truth = make_takes(USERS // parts, ITEMS // parts, TAKES // parts, PLANTED, random_state=0)
    rng = np.random.default_rng(1)
    users = np.sort(rng.choice(takes.shape[0], N_TEST, replace=False))
    kept, held = np.ones(takes.nnz, dtype=bool), []
    for user in users:
        entries = np.arange(takes.indptr[user], takes.indptr[user + 1])
        held.append(rng.permutation(entries)[: max(1, int(SHARE * len(entries)))])
        kept[held[-1]] = False
    out = np.concatenate(held)
    indptr = np.append(0, np.cumsum(kept, dtype=np.int32))[takes.indptr].astype(np.int32)
    test = {"users": users, "held": takes.indices[out], "held_of": np.cumsum([0, *map(len, held)])}
    np.savez(path, indptr=indptr, indices=takes.indices[kept], theta=truth.users, phi=truth.items, **test)


def als(takes: sparse.csr_matrix, clock: Clock) -> Scores:
    """Fit ours; return scores."""
    from cofactor.ratings import ImplicitALS

    model = ImplicitALS(
        FACTORS,
        **OURS,
        solver="cg",
        max_iter=ROUNDS,
        tol=0,
        random_state=0,
        callback=clock,
    ).fit(takes)
    return lambda users: model.U_[users] @ model.V_.T


def implicit_als(takes: sparse.csr_matrix, clock: Clock) -> Scores:
    """Fit theirs."""
    from implicit.cpu.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(factors=FACTORS, **THEIRS, iterations=ROUNDS, num_threads=2, random_state=0)
    model.fit(takes, show_progress=False, callback=clock)
    return lambda users: model.user_factors[users] @ model.item_factors.T


def ease(takes: sparse.csr_matrix, clock: Clock) -> Scores:
    """Fit EASE, which chooses its solver and its penalty."""
    from cofactor.ratings import EASE

    model = EASE(random_state=0).fit(takes)
    print(f"{model.solver_}, alpha = {model.alpha_:g}", file=sys.stderr)
    return lambda users: model._table(users, 0, takes.shape[1])


METHODS = {"ImplicitALS, cg": als, "implicit ALS, cg": implicit_als, "EASE": ease}


def one(name: str, path: Path) -> dict[str, Any]:
    """Return what a model took in this process, and how good it is."""
    data = np.load(path)
    shape = len(data["indptr"]) - 1, data["phi"].shape[1]
    takes = sparse.csr_matrix((np.ones(len(data["indices"]), np.float32), data["indices"], data["indptr"]), shape)
    clock, began, busy = Clock(), time.perf_counter(), time.process_time()
    if name in METHODS:
        scores = METHODS[name](takes, clock)
    elif name == "popularity":
        counts = np.bincount(takes.indices, minlength=shape[1]).astype(np.float32)
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
    mean = ndcg(scores, takes, data)
    return found | {"ndcg": mean.mean, "error": mean.error}


def ndcg(scores: Scores, takes: sparse.csr_matrix, data: Any) -> Any:
    """Return the mean nDCG@10 of the users of the test."""
    users, lists = data["users"], []
    for lo in range(0, len(users), 200):
        block = np.array(scores(users[lo : lo + 200]), dtype=np.float32)
        for row, user in zip(block, users[lo : lo + 200], strict=True):
            row[takes.indices[takes.indptr[user] : takes.indptr[user + 1]]] = -np.inf
            best = np.argpartition(-row, 10)[:10]
            lists.append(best[np.argsort(-row[best], kind="stable")])
    held = sparse.csr_array((np.ones(len(data["held"])), data["held"], data["held_of"]), (len(users), takes.shape[1]))
    return user_mean(user_ndcgs(np.array(lists), held, 10))


def run(parts: int) -> None:
    path = Path(tempfile.gettempdir()) / f"cofactor-takes-{parts}.npz"
    if not path.exists():
        make(parts, path)
    rows = []
    for name in ("popularity", *METHODS, "probabilities that made the takes"):
        command = [sys.executable, __file__, "--here", name, str(path)]
        done = subprocess.run(command, env=os.environ | THREADS, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        print(name, found, file=sys.stderr, flush=True)
        per_round = [f"{seconds:.1f}" for seconds in found["round"] or ()] or ["–", "–"]
        costs = [f"{found['fit']:.0f}", f"{found['cpu']:.0f}"] if name in METHODS else ["–", "–"]
        memory = f"{found['peak']:.1f}" if name in METHODS else "–"
        rows.append([name, *per_round, *costs, memory, f"{found['ndcg']:.4f} ± {found['error']:.4f}"])
    header = [
        "model",
        "s per round",
        "CPU s per round",
        "s of the fit",
        "CPU s of the fit",
        "peak GB of the process",
        "nDCG@10 ± s.e.",
    ]
    text = table(header, rows)
    if parts in SECTIONS:
        publish(SECTIONS[parts], text)
    else:
        print(text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(one(sys.argv[2], Path(sys.argv[3]))))
    else:
        run(int((sys.argv[1:] or ["1"])[0]))
