"""What a round costs from 10⁵ to 10⁸ ratings, and a plan for 10¹⁰ by these rates.

    python benchmarks/how_large.py measure FOLDER    made-up ratings of four sizes stay in FOLDER; some ten minutes
    python benchmarks/how_large.py plan              from the rates that were measured last

A size has a hundredth as many users and a thousandth as many items (at least 1,000). Up to 10⁷ ratings are in memory,
10⁸ are in 64 shards of FOLDER. The plan is a simulation of rounds on workers; see docs/how-large.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from common import publish, table
from sharding import make

from cofactor.plots import plot_scaling, save_figure
from cofactor.ratings import ALS, MMMF, OrdinalProbit, ShardedRatings, as_ratings, shard_files

SIZES = (10**5, 10**6, 10**7, 10**8)
IN_SHARDS = 10**8
RATES = Path(__file__).with_name("how_large.json")
MODELS: dict[str, tuple[int, Any]] = {
    "MMMF": (8, lambda n, **more: MMMF(50, alpha=8.0, max_iter=n, tol=0.0, random_state=0, **more)),
    "ALS": (3, lambda n, **more: ALS(50, alpha=5.0, max_iter=n, tol=0.0, random_state=0, **more)),
    "OrdinalProbit": (4, lambda n, **more: OrdinalProbit(10, n_sweeps=n, burn_in=1, random_state=0, **more)),
}


# ---------------------------------------------------------------- measuring


def data_of(size: int, folder: Path) -> Any:
    """Return ratings of a size; they are made where they are not there yet."""
    path, shards = folder / f"{size}", folder / f"{size}-shards"
    if size == IN_SHARDS and shards.is_dir():
        return ShardedRatings.open(shards)
    if not path.with_suffix(".parquet").exists():
        make(path, size // 100, max(1000, size // 1000), size)
    if size == IN_SHARDS:
        return shard_files(path.with_suffix(".parquet"), shards, 64)
    columns = pyarrow.parquet.read_table(path.with_suffix(".parquet"))
    user, item, rating = (columns[name].to_numpy() for name in ("user", "item", "rating"))
    return as_ratings(np.column_stack([user, item]), rating)


def one(name: str, size: int, folder: Path) -> dict[str, Any]:
    """Fit; return ratings, and the median seconds and processor seconds of a round after the first."""
    data = data_of(size, folder)
    rounds, make_model = MODELS[name]
    ends: list[tuple[float, float]] = []
    make_model(rounds, callback=lambda progress: ends.append((time.perf_counter(), time.process_time()))).fit(data)
    steps = np.diff(np.array(ends[1:]), axis=0)
    peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    seconds, used = np.median(steps, axis=0).tolist()
    return {"ratings": data.n_ratings, "seconds": seconds, "used": used, "peak": peak / 1e6}


def measure(folder: str) -> None:
    """Measure all, each in a process of its own, and publish it."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in MODELS:
        for size in SIZES:
            command = [sys.executable, __file__, "one", name, str(size), folder]
            result = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found.setdefault(name, []).append(json.loads(result))
            print(name, found[name][-1], flush=True)
    RATES.write_text(json.dumps(found, indent=1) + "\n")
    rows = []
    for name, cells in found.items():
        for cell in cells:
            each = 1e9 * cell["used"] / cell["ratings"]
            rows.append(
                [f"`{name}`", f"{cell['ratings']:,}", f"{cell['seconds']:.3g}", f"{each:.0f}", f"{cell['peak']:.2f}"]
            )
    pictures, lines = [], []
    for name, cells in found.items():
        file = f"how-large-{name}.png"
        sizes, seconds = (np.array([cell[key] for cell in cells]) for key in ("ratings", "used"))
        x, y = np.log(sizes), np.log(seconds)
        slope, at = np.polyfit(x, y, 1)
        farthest, spread = (np.expm1(np.abs(rest).max()) for rest in (y - slope * x - at, y - x - np.mean(y - x)))
        lines.append(
            f"* `{name}`: seconds grow as ratings to the power of {slope:.2f}, {100 * farthest:.0f} % from that line at"
            f" most, {100 * spread:.0f} % from one that is proportional to ratings"
        )
        save_figure(plot_scaling(sizes, seconds), Path(__file__).with_name(file))
        pictures.append(f"![{name}]({file})")
    header = ["model", "ratings", "s a round", "processor ns a rating and round", "peak GB"]
    publish("how large", "\n\n".join([table(header, rows), "\n".join(lines), " ".join(pictures)]))


# ---------------------------------------------------------------- a plan, simulated


@dataclass(frozen=True)
class Cluster:
    """Machines and a wire.

    Attributes
    ----------
    workers, cores : int
        Machines, and threads of each.
    wire : float
        Bytes a second into and out of a machine.
    latency : float
        Seconds of a message, scheduling included.
    adding : float
        Bytes a second at which answers are added.
    """

    workers: int
    cores: int
    wire: float = 1.25e9  # ten gigabits
    latency: float = 2e-3
    adding: float = 4e9


@dataclass(frozen=True)
class Work:
    """What a round does.

    Attributes
    ----------
    ratings : float
    shards : int
    rate : float
        Processor seconds a rating.
    sent, answered : float
        Bytes of the question, and of the answer of a shard or a sum of them.
    gathered : float
        Bytes that come from each worker besides, as they are.
    """

    ratings: float
    shards: int
    rate: float
    sent: float
    answered: float
    gathered: float


def simulated(cluster: Cluster, work: Work, seed: int = 0) -> tuple[float, float]:
    """Return seconds of a round, and of them those in which workers compute, of the slowest worker.

    The client sends the question to one worker after another. A worker takes its shards one by one, with all its
    cores, which differ by 5 %, and adds their answers. What is left are as many sums as the tree of shards has nodes
    over a worker's shards, two as a rule; they come to the client one after another, and are added there.
    """
    rng = np.random.default_rng(seed)
    share = np.diff(np.linspace(0, work.shards, cluster.workers + 1).round())
    arrived = np.arange(1, cluster.workers + 1) * work.sent / cluster.wire + cluster.latency
    noise = rng.lognormal(sigma=0.05, size=cluster.workers)
    computing = share * work.ratings / work.shards * work.rate / cluster.cores * noise
    computing += share * work.answered / cluster.adding
    ready = np.sort(arrived + computing)
    nodes = 1 if cluster.workers & (cluster.workers - 1) == 0 and work.shards % cluster.workers == 0 else 2
    free = 0.0
    for one_ready in ready:
        adding = nodes * work.answered * (1 / cluster.wire + 1 / cluster.adding)
        free = max(free, one_ready + cluster.latency) + adding + work.gathered / cluster.wire
    return float(free), float(computing.max())


def plan() -> None:
    """Publish what 10¹⁰ ratings would take, by the rates at 10⁸."""
    rates = {name: cells[-1]["used"] / cells[-1]["ratings"] for name, cells in json.loads(RATES.read_text()).items()}
    users, d = 10**8, 50
    rows = []
    for items in (10**5, 10**6):
        item_side, of_users = items * (d + 1) * 4, users * (d + 1) * 4
        equations = items * (11 * 12 // 2 + 11) * 8
        for name, sent, answered, gathered, rounds in (
            ("MMMF", item_side, item_side, 0, 100),
            ("ALS", item_side + of_users, item_side, of_users, 15),
            ("OrdinalProbit", items * 11 * 8, equations, 0, 300),
        ):
            for workers in (16, 64):
                cluster = Cluster(workers, 16)
                work = Work(1e10, 2048, rates[name], sent, answered, gathered / workers)
                seconds, computing = simulated(cluster, work)
                faster, _ = simulated(replace(cluster, wire=1.25e10), work)
                state = (10 * (d + 1) * 4 if name == "MMMF" else 2 * d * 4) * users / workers
                travels = work.sent + work.answered + work.gathered
                memory = state + 3 * travels
                rows.append(
                    [f"`{name}`", f"{items:,}", f"{workers} × 16", f"{memory / 1e9:.0f}",
                     f"{travels * workers / 1e9:.1f}", f"{computing:.1f}", f"{seconds:.1f}",
                     f"{faster:.1f}", f"{rounds * seconds / 60:.0f}"]
                )  # fmt: skip
    header = [
        "model", "items", "machines × cores", "GB a machine", "GB on the wire a round", "s computing",
        "s a round, 10 Gbit/s", "100 Gbit/s", "minutes in all, 10 Gbit/s",
    ]  # fmt: skip
    publish("ten thousand million", table(header, rows))


if __name__ == "__main__":
    if sys.argv[1] == "one":
        print(json.dumps(one(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))))
    elif sys.argv[1] == "measure":
        measure(sys.argv[2])
    else:
        plan()
