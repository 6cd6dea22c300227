"""Fits of ratings in shards: seconds a round and a rating beside fits in memory, on workers, and bytes on the wire.

    python benchmarks/in_shards.py FOLDER            a folder that cofactor shard made, whole and its first shards
    python benchmarks/in_shards.py --workers FOLDER  the first shards, cut anew, on one worker and on two
    python benchmarks/in_shards.py --rounds          what a round on workers costs beside its work
    python benchmarks/in_shards.py --errors          OrdinalProbit on MovieLens 1M, in 16 shards and in one

Bytes are those of the machine's loopback: nothing else should use it.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from common import ml1m, publish, split_80_20, table

from cofactor.metrics import rating_report
from cofactor.ratings import ALS, MMMF, OrdinalProbit, ShardedRatings, as_ratings
from cofactor.solvers.parts import Answer, Question
from cofactor.solvers.workers import DaskExecutor

FIRST = 16  # shards that are fitted in memory
SHARDS = 16  # shards on workers
SEEDS = range(4)
ROUNDS = {"ALS": 3, "MMMF": 10}
MODELS: dict[str, Any] = {
    "ALS": lambda **more: ALS(50, alpha=5.0, max_iter=ROUNDS["ALS"], tol=0.0, random_state=0, **more),
    "MMMF": lambda **more: MMMF(50, alpha=8.0, max_iter=ROUNDS["MMMF"], tol=0.0, random_state=0, **more),
}


def measure(name: str, data: Any) -> dict[str, Any]:
    """Fit in this process; return seconds and seconds of processors of a round, ratings, and peak memory."""
    ends: list[tuple[float, float]] = []
    began = time.perf_counter()
    MODELS[name](callback=lambda progress: ends.append((time.perf_counter(), time.process_time()))).fit(data)
    (first, used), (last, used_then) = ends[0], ends[-1]
    peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return {
        "ratings": data.n_ratings,
        "round": (last - first) / (len(ends) - 1),
        "processors": (used_then - used) / (len(ends) - 1),
        "all": time.perf_counter() - began,
        "peak": peak,
    }


def fits(folder: str) -> None:
    """Publish fits in memory and from shards, each in a process of its own."""
    rows = []
    for name in MODELS:
        rates: list[float] = []
        for where in ("in memory", "from shards"):
            command = [sys.executable, __file__, "--one", name, where, folder]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rates.append(found["processors"] / found["ratings"] * 1e9)
            rows.append(
                [f"`{name}`", where, f"{found['ratings'] / 1e6:.1f}", f"{found['round']:.2f}",
                 f"{found['processors']:.2f}", f"{rates[-1]:.0f}", f"{rates[-1] / rates[0]:.2f}",
                 f"{found['all']:.0f}", f"{found['peak'] / 1e6:.2f}"]
            )  # fmt: skip
            print(rows[-1], flush=True)
    header = ["model", "ratings", "million", "s a round", "CPU s", "CPU ns a rating", "ratio", "s in all", "peak GB"]
    publish("fits in shards", table(header, rows))


class Echo:
    """A part that does nothing but answer with numbers."""

    def __init__(self, k: int) -> None:
        self.k = k

    def answer(self, question: Question) -> Answer:
        """Return as many numbers as are asked for."""
        return {"x": np.zeros(question["n"], np.float32)}

    def state(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    def restore(self, state: Any) -> None:
        """Take nothing."""


def wire() -> int:
    """Return the bytes that went over the loopback so far."""
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split()[1])


def rounds_of(client: Any, n_sent: int, n_answered: int) -> tuple[float, float]:
    """Return milliseconds of a round that does nothing, and its megabytes on the wire, for so many numbers there."""
    parts, times = DaskExecutor(client, Echo, SHARDS), []
    question = {"op": "echo", "n": n_answered, "sent": np.zeros(n_sent, np.float32)}
    parts.total(question)
    before = wire()
    for _ in range(20):
        began = time.perf_counter()
        parts.total(question)
        times.append(time.perf_counter() - began)
    after = wire()
    parts.done()
    return float(np.median(times)) * 1e3, (after - before) / 20 / 1e6


def rounds() -> None:
    """Publish what a round costs beside its work: with ten numbers, and with V and its gradient at 60,000 items."""
    rows = []
    for n in (1, 2):
        with cluster_of(n) as client:
            for count in (10, 51 * 60_000):
                ms, mb = rounds_of(client, count, count)
                rows.append([n, f"{count:,}", f"{ms:.1f}", f"{mb:.2f}", f"{2 * n * 4 * count / 1e6:.2f}"])
                print(rows[-1], flush=True)
    header = ["workers", "numbers sent, and answered", "ms", "MB", "MB by the formula"]
    publish("rounds on workers", table(header, rows))


def on_workers(folder: str) -> None:
    """Publish fits on one worker and on two."""
    rows, first = [], {}
    with tempfile.TemporaryDirectory() as place:
        data = ShardedRatings.open(folder).to_ratings(range(FIRST))
        ShardedRatings.from_ratings(data, SHARDS).save(Path(place) / "big")
        del data
        sharded = ShardedRatings.open(Path(place) / "big")
        for n in (1, 2):
            with cluster_of(n) as client:
                for name in MODELS:
                    before = wire()
                    seconds = measure(name, sharded.on(client, every=1e9))["round"]
                    mb = (wire() - before) / 1e6 / ROUNDS[name]
                    gain = first.setdefault(name, seconds) / seconds
                    rows.append([f"`{name}`", n, f"{seconds:.2f}", f"{gain:.2f}", f"{mb:.0f}"])
                    print(rows[-1], flush=True)
    publish("fits on workers", table(["model", "workers", "s a round", "times as fast", "MB a round"], rows))


def errors() -> None:
    """Publish errors of sampled fits with one shard and with 16, and how far chance parts two fits with one shard."""
    X, y = ml1m()
    train, test = split_80_20(len(y), 0)
    data, found = as_ratings(X[train], y[train]), {}
    for n in (1, SHARDS):
        sharded = ShardedRatings.from_ratings(data, n)
        for seed in SEEDS:
            model = OrdinalProbit(10, n_sweeps=100, burn_in=30, random_state=seed).fit(sharded)
            found[n, seed] = rating_report(y[test], model.predict(X[test]), np.unique(y))["nmae"]
            print(n, seed, found[n, seed], flush=True)
    each = {n: np.array([found[n, seed] for seed in SEEDS]) for n in (1, SHARDS)}
    rows = [[n, f"{a.mean():.4f}", f"{a.std(ddof=1):.4f}"] for n, a in each.items()]
    error = np.sqrt(sum(a.var(ddof=1) / len(a) for a in each.values()))
    gap = each[SHARDS].mean() - each[1].mean()
    text = table(["shards", "NMAE", "standard deviation over seeds"], rows)
    publish("errors in shards", f"{text}\n\nDifference of the means {gap:+.5f}, its standard error {error:.5f}.")


@contextmanager
def cluster_of(n_workers: int) -> Iterator[Any]:
    """Return a client of so many processes with one thread each."""
    from distributed import Client, LocalCluster

    options = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": 0}
    with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as client:
        yield client


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        opened = ShardedRatings.open(sys.argv[4])
        given = opened.to_ratings(range(FIRST)) if sys.argv[3] == "in memory" else opened
        print(json.dumps(measure(sys.argv[2], given)))
    elif sys.argv[1] == "--rounds":
        rounds()
    elif sys.argv[1] == "--errors":
        errors()
    elif sys.argv[1] == "--workers":
        on_workers(sys.argv[2])
    else:
        fits(sys.argv[1])
