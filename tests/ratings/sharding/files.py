"""Files of ratings to shard, how to read them in many small chunks, and an append that is ended."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from cofactor.datasets.readers import parquet, text
from cofactor.ratings import append_files, sharding
from cofactor.ratings import shard_folder as folders


def small(put: Callable[[Any, str, Any], object] = setattr) -> None:
    """Let a few rows make several chunks and checkpoints."""
    put(text, "CHUNK_BYTES", 200)
    put(parquet, "CHUNK_ROWS", 30)
    put(sharding, "READ_CHECKPOINT", 50)
    put(sharding, "CHUNK", 70)
    put(sharding, "ROUTE_CHECKPOINT", 140)


def rows(seed: int = 0, n: int = 300, kind: str = "int", *, timed: bool = False) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(40 * 30)[:n]
    users, items = pairs // 30 * 7, pairs % 30
    names = {
        "int": lambda ids: ids.tolist(),
        "text": lambda ids: [f"ü{one}" for one in ids],
        "mixed": lambda ids: [f"x{one}" if one % 5 == 4 else str(one) for one in ids],
    }[kind]
    table = {"user": names(users), "movie": names(items), "rating": (rng.integers(1, 6, n) / 2).tolist()}
    return table | ({"timestamp": rng.integers(0, 10**9, n).tolist()} if timed else {})


def write(path: Path, table: dict[str, list], *, header: bool = True, sep: str = ",") -> Path:
    if path.suffix == ".parquet":
        pa.parquet.write_table(pa.table(table), path, row_group_size=70)
        return path
    lines = [sep.join(table)] if header else []
    lines += [sep.join(map(str, row)) for row in zip(*table.values(), strict=True)]
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def ended_append(path: Path, folder: Path, function: str, call: int) -> None:
    """Append in this process, and kill it when it calls a function so often."""
    calls = 0
    module = os if function == "replace" else folders
    whole = getattr(module, function)

    def dying(*arguments: object) -> object:
        nonlocal calls
        # Of the names that files take, those count that folders take in the folder of shards.
        calls += function != "replace" or (Path(str(arguments[1])).parent.parent == folder)
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return whole(*arguments)

    setattr(module, function, dying)
    append_files(path, folder, duplicates="last")
