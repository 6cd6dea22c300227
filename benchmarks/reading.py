"""Reading files: Arrow's CSV reader against the cell by cell one and NumPy's: `python benchmarks/reading.py [ROWS]`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import publish, table

from cofactor.datasets import write_table

READ = """
import sys, time
from cofactor.datasets import read_label_table, read_ratings
from cofactor.datasets.readers import text
path, way = sys.argv[1:]
if way == "cells":
    text._prepared = lambda body: None
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
before = peak()
start = time.process_time()
if way == "numpy":
    import numpy as np
    kinds = np.dtype([("u", "i8"), ("i", "i8"), ("r", "f8"), ("t", "i8")]) if "ratings" in path else "f8"
    np.loadtxt(path, delimiter=",", skiprows=1, dtype=kinds)
elif "labels" in path:
    read_label_table(path, "is_")
else:
    read_ratings(path)
seconds = time.process_time() - start
print(seconds, peak() - before)
"""


def make_files(folder: Path, n: int) -> list[tuple[str, Path]]:
    """Write files of the shapes that users have: MovieLens 25M, ids of text, a table of features and labels."""
    rng = np.random.default_rng(0)
    users, items = np.sort(rng.integers(1, 162_542, n)), rng.integers(1, 209_172, n)
    stars, times = rng.integers(1, 11, n) / 2, rng.integers(789_652_004, 1_574_327_703, n)
    columns = {"userId": users, "movieId": items, "rating": stars, "timestamp": times}
    write_table(folder / "ratings.csv", columns)
    texts = {"userId": [f"u{k}" for k in users], "movieId": [f"m{k}" for k in items], "rating": stars}
    write_table(folder / "texts.csv", texts)
    features = {f"x{k}": rng.random(n // 50).round(6) for k in range(200)}
    labels = {f"is_{k}": rng.integers(0, 2, n // 50) for k in range(20)}
    write_table(folder / "labels.csv", features | labels)
    return [
        (f"{n:,} ratings as MovieLens 25M has them", folder / "ratings.csv"),
        (f"{n:,} ratings with ids of text", folder / "texts.csv"),
        (f"{n // 50:,} instances, 200 features, 20 labels", folder / "labels.csv"),
    ]


def measured(path: Path, way: str) -> str:
    """Seconds of CPU and megabytes beside those of the imports, the best of three runs (one, cell by cell)."""
    runs = []
    for _ in range(1 if way == "cells" else 3):
        run = [sys.executable, "-c", READ, str(path), way]
        runs.append(
            [float(word) for word in subprocess.run(run, capture_output=True, text=True, check=True).stdout.split()]
        )
    seconds, megabytes = min(runs)
    return f"{seconds:.2f} s, {megabytes:.0f} MB"


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, path in make_files(Path(folder), n):
            size = f"{path.stat().st_size / 1e6:.0f} MB"
            numpy = "–" if "texts" in path.name else measured(path, "numpy")
            rows.append([what, size, measured(path, "arrow"), measured(path, "cells"), numpy])
    head = [
        "file",
        "size",
        "Arrow (what is used)",
        "cell by cell (where Arrow cannot follow)",
        "numpy.loadtxt, unchecked",
    ]
    publish("reading files", table(head, rows))


if __name__ == "__main__":
    main()
