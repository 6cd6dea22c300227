"""What it costs to run 1,000 cells of ten milliseconds through `run_cells`: wall-clock and processor time."""

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

from common import publish, table

from cofactor.evaluation import Cell, run_cells

SECONDS = 0.01


def sleep() -> None:
    """Take no processor time: all that is used belongs to the harness, which finds the processor cold each time."""
    time.sleep(SECONDS)


def compute() -> None:
    """Keep the processor busy, as fits do."""
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        pass


def spend(k: int, pause: Callable[[], None]) -> dict[str, float]:
    pause()
    return {"mae": 0.7, "k": k, "pid": os.getpid(), "used": time.process_time()}


def make_cells(n: int, pause: Callable[[], None]) -> list[Cell]:
    return [
        Cell(work=partial(spend, k, pause), method=f"method {k % 5}", data=f"data {k // 200}", split=str(k))
        for k in range(n)
    ]


def measure(cells: list[Cell], n_jobs: int, keep: bool) -> tuple[float, float]:
    """Return seconds, and processor seconds of all processes."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "results") if keep else None
        began, used = time.perf_counter(), time.process_time()
        results = run_cells(cells, store, n_jobs=n_jobs)
        seconds, used = time.perf_counter() - began, time.process_time() - used
    of_workers = defaultdict(list)
    for result in results:
        of_workers[result.measures["pid"]].append(result.measures["used"])
    of_workers.pop(os.getpid(), None)
    return seconds, used + sum(max(values) - min(values) for values in of_workers.values())


def main(n: int) -> None:
    rows = []
    for pause in (compute, sleep):
        cells = make_cells(n, pause)
        began, used = time.perf_counter(), time.process_time()
        for cell in cells:
            cell.work()
        bare, own = time.perf_counter() - began, time.process_time() - used
        for n_jobs in (1, 2):
            run_cells(make_cells(8, pause), n_jobs=n_jobs)  # processes start
            for keep in (False, True):
                seconds, used = measure(cells, n_jobs, keep)
                shares = [f"{100 * share:.1f} %" for share in (seconds * n_jobs / bare - 1, (used - own) / bare)]
                facts = [f"{pause.__name__}", n_jobs, "files" if keep else "none"]
                rows.append([*facts, f"{seconds:.2f}", f"{bare / n_jobs:.2f}", *shares])
    header = ["cells", "jobs", "store", "seconds", "plain loop / jobs", "longer by", "processor time beside the cells'"]
    text = (
        f"{n:,} cells that compute or sleep for 10 ms; the processes have been started before. Processor time is that "
        "of all processes, as a share of the seconds of the plain loop. Between two that sleep the processor cools "
        f"down, so that the harness takes longer than between two fits.\n\n{table(header, rows)}"
    )
    publish("harness", text) if n == 1000 else print(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=1000, help="1,000 go into docs/benchmarks")
    main(parser.parse_args().cells)
