"""Fits of ratings in shards: seconds a round and a rating beside fits in memory, peak memory, and bytes on the wire.

python benchmarks/in_shards.py FOLDER [N_IN_MEMORY]    a folder that cofactor shard made; shards joined for memory
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from common import table

from cofactor.ratings import ALS, MMMF, ShardedRatings

ROUNDS = {"ALS": 3, "MMMF": 10}
MODELS: dict[str, Any] = {
    "ALS": lambda: ALS(50, alpha=5.0, max_iter=ROUNDS["ALS"], tol=0.0, random_state=0),
    "MMMF": lambda: MMMF(50, alpha=8.0, max_iter=ROUNDS["MMMF"], tol=0.0, random_state=0),
}


def some_of(folder: str, n: int) -> Any:
    """Return the ratings of the first shards in memory."""
    from cofactor.ratings.sharded import _joined

    sharded = ShardedRatings.open(folder)
    shards = [sharded.shard(k) for k in range(n)]
    users = type(sharded.users).of_parts([shard.users for shard in shards])
    return _joined(shards, users)


def measure(name: str, folder: str, n: int) -> dict[str, Any]:
    """Fit in this process; return seconds of a round, ratings, and peak memory."""
    data = some_of(folder, n) if n else ShardedRatings.open(folder)
    ends: list[float] = []
    model = MODELS[name]()
    model.callback = lambda progress: ends.append(time.perf_counter())
    began = time.perf_counter()
    model.fit(data)
    peak = next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    rounds = (ends[-1] - ends[0]) / (len(ends) - 1)
    return {"name": name, "ratings": data.n_ratings, "round": rounds, "all": time.perf_counter() - began, "peak": peak}


def main(folder: str, n: int) -> None:
    rows, rates = [], {}
    for name in MODELS:
        for where, count in (("in memory", n), ("from shards", 0)):
            command = [sys.executable, __file__, "--one", name, folder, str(count)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rate = found["round"] / found["ratings"] * 1e9
            rates[name, where] = rate
            ratio = f"{rate / rates[name, 'in memory']:.2f}"
            millions = f"{found['ratings'] / 1e6:.1f}"
            peak = f"{found['peak'] / 1e6:.2f}"
            rows.append(
                [name, where, millions, f"{found['round']:.2f}", f"{rate:.0f}", ratio, f"{found['all']:.0f}", peak]
            )
            print(rows[-1], flush=True)
    header = ["model", "ratings", "million", "s a round", "ns a rating", "ratio", "s in all", "peak GB"]
    print(table(header, rows))


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(measure(sys.argv[2], sys.argv[3], int(sys.argv[4]))))
    else:
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 16)
