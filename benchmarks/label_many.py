"""Every label model and reduction as it comes on delicious, which has 983 labels: processor time and memory.

    python benchmarks/label_many.py measure FILE [--methods ...]     methods that FILE has not yet
    python benchmarks/label_many.py publish FILE                     the table, into docs/benchmarks

FILE is JSON: what fit and predict took on the first of three stratified folds. A method is a process of its own, with
two threads, or two workers where it takes `n_jobs`, and ends after `SECONDS` of the processor. A reduction is fitted
before ML-kNN. Memory is that of the process and its workers, data included.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import publish, table
from scipy import sparse
from sklearn.pipeline import make_pipeline

from cofactor.datasets import load_labels
from cofactor.errors import InvalidInputError
from cofactor.evaluation import StratifiedLabelKFold
from cofactor.labels import MODELS, TRANSFORMERS, MLkNN
from cofactor.metrics import label_report
from cofactor.text import without_zero

DATA = "delicious"
TWO_THREADS = {"COFACTOR_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
#: Processor seconds after which a method is ended: ten minutes of two cores.
SECONDS = 1200
_TICK, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


def made(name: str) -> Any:
    """Return a model, or a reduction before ML-kNN, as it comes, with two workers where it takes some."""
    kind = MODELS.get(name) or TRANSFORMERS[name]
    names = kind._get_param_names()
    chosen = kind(**{key: value for key, value in (("random_state", 0), ("n_jobs", 2)) if key in names})
    return chosen if name in MODELS else make_pipeline(chosen, MLkNN())


def tree(pid: int) -> dict[int, tuple[float, int]]:
    """Return processor seconds and bytes of a process and its descendants."""
    found, several = {}, [pid]
    while several:
        one = Path(f"/proc/{several.pop()}")
        try:
            fields = (one / "stat").read_text().rpartition(")")[2].split()
            found[int(one.name)] = (int(fields[11]) + int(fields[12])) / _TICK, int(fields[21]) * _PAGE
            several += [
                int(each) for tasks in (one / "task").iterdir() for each in (tasks / "children").read_text().split()
            ]
        except OSError:  # it has ended
            continue
    return found


def used() -> float:
    """Return processor seconds of this process and its workers."""
    return sum(seconds for seconds, _ in tree(os.getpid()).values())


def fit(name: str) -> dict[str, Any]:
    """Return what fit and predict of this process took, and how good they are."""
    data = load_labels(DATA)
    train, test = next(StratifiedLabelKFold(3, random_state=0).split(data.X, data.Y))
    X, Y, T, truth = data.X[train], data.Y[train], data.X[test], data.Y[test]
    rng = np.random.default_rng(0)
    small = sparse.csr_array(rng.random((90, 8)) * (rng.random((90, 8)) < 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made(name).fit(small, rng.random((90, 4)) < 0.4).predict(small)  # compiles what is not compiled yet
        wall, cpu = time.perf_counter(), used()
        try:
            predicted = made(name).fit(X, Y).predict(T)
        except InvalidInputError as error:
            return {"refused": str(error)}
        wall, cpu = time.perf_counter() - wall, used() - cpu
    report = label_report(truth, predicted)
    return {"cpu": cpu, "wall": wall, "micro_f1": float(report["micro_f1"]), "macro_f1": float(report["macro_f1"])}


def watched(name: str, limit: float) -> dict[str, Any]:
    """Return what a method took, and the largest memory of its processes."""
    command = [sys.executable, __file__, "here", name]
    process = subprocess.Popen(
        command, env=os.environ | TWO_THREADS, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    peak, cpu = 0, 0.0
    while process.poll() is None:
        of_tree = tree(process.pid).values()
        peak, cpu = max(peak, sum(size for _, size in of_tree)), max(cpu, sum(seconds for seconds, _ in of_tree))
        if cpu > limit:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return {"ended": limit, "cpu": cpu, "peak": peak / 1e9}
        time.sleep(0.5)
    lines = process.communicate()[0].splitlines()
    if process.returncode:
        return {"failed": process.returncode, "peak": peak / 1e9}
    return {**json.loads(lines[-1]), "peak": peak / 1e9}


def measure(file: Path, methods: list[str], limit: float) -> None:
    found = json.loads(file.read_text()) if file.exists() else {}
    for name in methods or [*MODELS, *TRANSFORMERS]:
        if name not in found:
            found[name] = watched(name, limit)
            file.write_text(json.dumps(found, indent=0))
            print(name, found[name], flush=True)


def row(name: str, cell: dict[str, Any]) -> list[str]:
    """Return what a method took, or why there is nothing."""
    peak = f"{cell['peak']:.2f}"
    if "refused" in cell:
        return [name, "refused", "", peak, ""]
    if "micro_f1" not in cell:
        return [name, f"not done after {cell['cpu']:.0f}", "", peak, ""]
    return [name, f"{cell['cpu']:.0f}", f"{cell['wall']:.0f}", peak, without_zero(cell["micro_f1"], 3)]


def many_table(found: dict[str, Any]) -> str:
    header = ["method", "CPU s", "s of the clock", "peak GB", "micro-F1"]
    names = [name for name in [*MODELS, *TRANSFORMERS] if name in found and "failed" not in found[name]]
    return table(header, [row(name if name in MODELS else f"{name}, ML-kNN", found[name]) for name in names])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "publish", "show", "here"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    if given.command == "here":
        print(json.dumps(fit(str(given.file))))
    elif given.command == "measure":
        measure(given.file, given.methods, given.seconds)
    else:
        text = many_table(json.loads(given.file.read_text()))
        print(text) if given.command == "show" else publish("label costs: many labels", text)
    sys.exit(0)
