"""What a round costs from 10⁵ to 10⁸ ratings, and a plan for 10¹⁰ by these rates.

    python benchmarks/how_large.py measure FOLDER [MODEL...]   made-up ratings stay in FOLDER; ten minutes
    python benchmarks/how_large.py plan                        from the rates that were measured last

One thing grows: ratings, and with them users, of whom there are a hundredth as many. Items stay 10,000, and all ratings
are in memory. For the plan, 10⁸ ratings of 100,000 items in 64 shards of FOLDER are measured too. The plan is a
simulation of rounds on workers; see docs/how-large.md.
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
from common import PAGES, publish, straight_line, table
from sharding import make

from cofactor.plots import plot_scaling, save_figure
from cofactor.ratings import ALS, MMMF, OrdinalProbit, ShardedRatings, as_ratings, shard_files

SIZES, ITEMS = (10**5, 10**6, 10**7, 10**8), 10_000
IN_SHARDS, ITEMS_IN_SHARDS, SHARDS = 10**8, 100_000, 64
RATES = Path(__file__).with_name("how_large.json")
MODELS: dict[str, tuple[int, Any]] = {
    "MMMF": (8, lambda n, **more: MMMF(50, alpha=8.0, max_iter=n, tol=0.0, random_state=0, **more)),
    "ALS": (3, lambda n, **more: ALS(50, alpha=5.0, max_iter=n, tol=0.0, random_state=0, **more)),
    "OrdinalProbit": (4, lambda n, **more: OrdinalProbit(10, n_sweeps=n, burn_in=1, random_state=0, **more)),
}


# ---------------------------------------------------------------- measuring


def in_memory(size: int, folder: Path) -> Any:
    """Return ratings of a size; they are made where they are not there yet."""
    columns = pyarrow.parquet.read_table(made(folder / f"{size}-{ITEMS}", size, ITEMS))
    user, item, rating = (columns[name].to_numpy() for name in ("user", "item", "rating"))
    return as_ratings(np.column_stack([user, item]), rating)


def in_shards(size: int, folder: Path) -> Any:
    """Return ratings in shards; they are made where they are not there yet."""
    shards = folder / f"{size}-shards"
    if shards.is_dir():
        return ShardedRatings.open(shards)
    return shard_files(made(folder / f"{size}", size, ITEMS_IN_SHARDS), shards, SHARDS)


def made(path: Path, size: int, n_items: int) -> Path:
    """Return a file of ratings."""
    if not (file := path.with_suffix(".parquet")).exists():
        make(path, size // 100, n_items, size)
    return file


DATA = {"memory": in_memory, "shards": in_shards}


def one(name: str, size: int, where: str, folder: Path) -> dict[str, Any]:
    """Fit; return ratings, and the median seconds and processor seconds of a round after the first."""
    data = DATA[where](size, folder)
    rounds, make_model = MODELS[name]
    ends: list[tuple[float, float]] = []
    make_model(rounds, callback=lambda progress: ends.append((time.perf_counter(), time.process_time()))).fit(data)
    steps = np.diff(np.array(ends[1:]), axis=0)
    peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    seconds, used = np.median(steps, axis=0).tolist()
    return {"where": where, "ratings": data.n_ratings, "seconds": seconds, "used": used, "peak": peak / 1e6}


def measure(folder: str, names: list[str]) -> None:
    """Measure all models or those named, each fit in a process of its own, and publish all that was measured last."""
    found: dict[str, list[dict[str, Any]]] = json.loads(RATES.read_text()) if names else {}
    for name in names or MODELS:
        found[name] = []
        for size, where in [(size, "memory") for size in SIZES] + [(IN_SHARDS, "shards")]:
            command = [sys.executable, __file__, "one", name, str(size), where, folder]
            result = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found[name].append(json.loads(result))
            print(name, found[name][-1], flush=True)
    RATES.write_text(json.dumps(found, indent=1) + "\n")
    rows, lines, pictures = [], [], []
    for name, cells in found.items():
        *grown, sharded = cells
        sizes, used = (np.array([cell[key] for cell in grown]) for key in ("ratings", "used"))
        fixed, each, line = straight_line(sizes, used)
        for cell, gap in zip(cells, [f"{100 * gap:+.0f} %" for gap in used / line - 1] + ["–"], strict=True):
            place = "memory" if cell is not sharded else f"{SHARDS} shards, {ITEMS_IN_SHARDS:,} items"
            ns, seconds = 1e9 * cell["used"] / cell["ratings"], f"{cell['seconds']:.3g}"
            size, peak = f"{cell['ratings']:,}", f"{cell['peak']:.2f}"
            rows.append([f"`{name}`", size, place, seconds, f"{ns:.0f}", gap, peak])
        slope = np.polyfit(np.log(sizes), np.log(used), 1)[0]
        lines.append(
            f"* `{name}`: {1e3 * fixed:.1f} ms of a processor for the items + {1e9 * each:.0f} ns a rating; at most "
            f"{100 * np.abs(used / line - 1).max():.0f} % off that line (asked: linear within 20 %). Slope on log–log "
            f"axes: {slope:.2f}"
        )
        file = f"how-large-{name}.png"
        save_figure(plot_scaling(sizes, {name: used}), PAGES / file)
        pictures.append(f"![{name}]({file})")
    header = ["model", "ratings", "where", "s a round", "processor ns a rating and round", "off the line", "peak GB"]
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
    """Publish what 10¹⁰ ratings would take, by the rates of 10⁸ in shards."""
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
        print(json.dumps(one(sys.argv[2], int(sys.argv[3]), sys.argv[4], Path(sys.argv[5]))))
    elif sys.argv[1] == "measure":
        measure(sys.argv[2], sys.argv[3:])
    else:
        plan()
