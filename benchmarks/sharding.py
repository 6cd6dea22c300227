"""A hundred million made-up ratings into shards: seconds, and peak memory of the whole process.

    python benchmarks/sharding.py [PARTS [FOLDER]]     all of it, or 1 / PARTS of users and ratings

Numbers of ratings fall off as powers of the rank, of users and of items, as in MovieLens; levels are cut from factors
of rank 10 with noise. The files stay in FOLDER, where they are found again, and so do the shards.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from common import publish, table
from numpy.typing import NDArray

USERS, ITEMS, RATINGS = 1_000_000, 100_000, 100_000_000
RANK, CHUNK = 10, 20_000  # users at a time
SHARES = (0.06, 0.10, 0.25, 0.34, 0.25)  # of the levels


def make(path: Path, n_users: int, n_items: int, n_ratings: int) -> None:
    """Write a Parquet file and a CSV file of ratings, the users of a chunk in random order."""
    rng = np.random.default_rng(0)
    counts = user_counts(rng, n_users, n_items // 12, n_ratings)
    popularity = (np.arange(n_items) + 30.0) ** -0.95
    below = np.cumsum(rng.permutation(popularity))
    below /= below[-1]
    U, V = (rng.standard_normal((n, RANK), dtype=np.float32) / RANK**0.5 for n in (n_users, n_items))
    of_user, of_item = (rng.standard_normal(n, dtype=np.float32) * 0.5 for n in (n_users, n_items))
    cuts = None
    names = rng.permutation(n_users).astype(np.int32) + 1
    schema = pa.schema([("user", pa.int32()), ("item", pa.int32()), ("rating", pa.float32())])
    with (
        pyarrow.parquet.ParquetWriter(path.with_suffix(".parquet"), schema) as columns,
        pyarrow.csv.CSVWriter(path.with_suffix(".csv"), schema) as lines,
    ):
        for start in range(0, n_users, CHUNK):
            users, items = distinct_pairs(rng, counts[start : start + CHUNK], below)
            users += start
            score = of_user[users] + of_item[items] + np.einsum("ij,ij->i", U[users], V[items])
            score += rng.standard_normal(len(score), dtype=np.float32)
            cuts = np.quantile(score, np.cumsum(SHARES)[:-1]) if cuts is None else cuts
            levels = np.searchsorted(cuts, score) + 1.0
            arrays = [names[users], items.astype(np.int32) + 1, levels.astype(np.float32)]
            batch = pa.record_batch([pa.array(one) for one in arrays], schema=schema)
            columns.write_batch(batch)
            lines.write_batch(batch)


def user_counts(rng: np.random.Generator, n_users: int, most: int, n_ratings: int) -> NDArray[np.int64]:
    """Draw how many ratings each user has, `most` at most, so many in all."""
    shares = rng.pareto(1.1, n_users) + 0.25
    scale = n_ratings / shares.sum()
    for _ in range(30):
        counts = np.minimum(1 + shares * scale, most)
        scale *= n_ratings / counts.sum()
    return counts.round().astype(np.int64)


def distinct_pairs(
    rng: np.random.Generator, counts: NDArray[np.int64], below: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw about so many items of each user by their popularity, none twice, in random order."""
    users = np.repeat(np.arange(len(counts)), counts + counts // 3 + 1)
    items = np.searchsorted(below, rng.random(len(users)))
    pairs = rng.permutation(np.unique(users * len(below) + items))
    users = pairs // len(below)
    order = np.argsort(users, kind="stable")
    rank = np.empty(len(pairs), dtype=np.int64)
    rank[order] = np.arange(len(pairs)) - np.repeat(*starts_and_sizes(users[order]))
    pairs = pairs[rank < counts[users]]
    return pairs // len(below), pairs % len(below)


def starts_and_sizes(ordered: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where runs of equal numbers begin, and how long they are."""
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return starts, np.diff(np.append(starts, len(ordered)))


def sharded(path: Path, out: Path, n_shards: int) -> tuple[float, float]:
    """Shard a file in a process of its own; return its seconds, and its peak memory in megabytes."""
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "cofactor", "shard", str(path), "--out", str(out), "--shards", str(n_shards)]
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True, text=True)
    return time.perf_counter() - start, float(done.stdout)


def main(parts: int = 1, folder: str | None = None) -> None:
    place = Path(folder or tempfile.gettempdir(), f"ratings-{parts}")
    if not place.with_suffix(".csv").exists():
        make(place, USERS // parts, ITEMS, RATINGS // parts)
    n = pyarrow.parquet.read_metadata(place.with_suffix(".parquet")).num_rows
    rows = []
    for suffix in (".csv", ".parquet"):
        path = place.with_suffix(suffix)
        seconds, megabytes = sharded(path, place.with_name(f"big-{parts}"), 64)
        size = os.path.getsize(path) / 1e6
        rows.append([suffix[1:], f"{n:,}", f"{size:,.0f}", f"{seconds:.0f}", f"{megabytes:,.0f}"])
        print(rows[-1], flush=True)
    if parts == 1:
        publish("ratings into shards", table(["file", "ratings", "MB", "s", "peak MB"], rows))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
