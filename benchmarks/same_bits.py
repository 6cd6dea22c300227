"""Fits of MovieLens 100K in 16 shards: hashes of what is learned, in memory, from files, and where workers die.

    python benchmarks/same_bits.py [MODEL...]

In the last fit a worker is killed twice, by SIGKILL, a third and two thirds of the way through the fit.
"""

import hashlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from common import ml100k, publish, table
from in_shards import cluster_of

from cofactor.ratings import ALS, HMF, MMMF, OrdinalProbit, ShardedRatings, as_ratings

SHARDS = 16
MODELS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "MMMF": (lambda **more: MMMF(20, alpha=8.0, random_state=0, **more), ("U_", "V_", "thresholds_")),
    "HMF": (lambda **more: HMF(10, alpha=8.0, random_state=0, **more), ("U_", "V_")),
    "ALS": (lambda **more: ALS(20, alpha=5.0, max_iter=40, tol=0.0, random_state=0, **more), ("U_", "V_", "b_")),
    "OrdinalProbit": (
        lambda **more: OrdinalProbit(10, n_sweeps=60, burn_in=20, random_state=0, **more),
        ("U_", "V_", "thresholds_"),
    ),
}


def hashed(model: Any, names: tuple[str, ...]) -> str:
    """Return the hash of learned arrays and of predictions."""
    found = hashlib.sha256()
    for name in names:
        if hasattr(model, name):
            found.update(np.ascontiguousarray(getattr(model, name)).tobytes())
    X = ml100k()[0][::50]
    found.update(np.ascontiguousarray(model.predict(X)).tobytes())
    return found.hexdigest()[:16]


def counter() -> tuple[Callable[[Any], None], list[Any]]:
    """Return a callback, and a list that grows whenever it is called; stages of `HMF` copy all else but functions."""
    told: list[Any] = []
    return lambda progress: told.append(None), told


def killer(client: Any, at: tuple[int, int]) -> tuple[Callable[[Any], None], list[int]]:
    """Return a callback which kills a worker when it was called so often, and the processes that it killed."""
    told, killed = [0], []

    def kill(progress: Any) -> None:
        told[0] += 1
        if told[0] in at:
            with suppress(TimeoutError):  # a nanny may take its time, or give up
                client.wait_for_workers(2, timeout=20)
            killed.append(sorted(client.run(os.getpid).values())[0])
            os.kill(killed[-1], signal.SIGKILL)

    return kill, killed


def main() -> None:
    X, y = ml100k()
    sharded = ShardedRatings.from_ratings(as_ratings(X, y), SHARDS)
    rows = []
    with tempfile.TemporaryDirectory() as place:
        sharded.save(Path(place) / "big")
        stored = ShardedRatings.open(Path(place) / "big")
        for name in sys.argv[1:] or MODELS:
            make, names = MODELS[name]
            told: list[Any] = []
            hashes = [
                hashed(make(callback=lambda progress, told=told: told.append(1)).fit(sharded), names),
                hashed(make().fit(stored), names),
            ]
            for n in (2, 4):
                with cluster_of(n) as client:
                    hashes.append(hashed(make().fit(stored.on(client, every=1e9)), names))
            with cluster_of(2) as client:
                kill, killed = killer(client, (len(told) // 3, 2 * len(told) // 3))
                hashes.append(hashed(make(callback=kill).fit(stored.on(client, every=0.5)), names))
            same = "yes" if len(set(hashes)) == 1 else "NO"
            rows.append([f"`{name}`", *hashes, len(killed), same])
            print(rows[-1], flush=True)
    header = ["model", "memory", "files", "2 workers", "4 workers", "2 workers, killed", "kills", "the same"]
    if not sys.argv[1:]:
        publish("same bits", table(header, rows))


if __name__ == "__main__":
    main()
