"""Ten draws of what is random, where one draw of a label method is far from what a plain program reached before.

    python benchmarks/label_draws.py measure FILE [--cells NAME ...]     cells that FILE, of JSON lines, has not yet
    python benchmarks/label_draws.py publish FILE                        the table, into docs/benchmarks

Folds are those of `label_methods.py`. A draw is the quarter on which settings and cuts are chosen, and the seed of
models. Programs of `label_plain.py` get the same draws. Chosen settings and cuts never see test instances.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import publish, table
from label_methods import MEASURES, METHODS, measured, parts
from label_plain import PLAINS, predicted

from cofactor.metrics import label_report
from cofactor.text import without_zero

DRAWS = 10
#: How far below a mean counts as below.
NEAR = 0.01

CUT, PLAIN = "for accuracy", "plain"
QUARTER = "which quarter"
NOTHING = "nothing here, rows of the matrix in the plain program"


class Cell(NamedTuple):
    """A data set, a method, a cut, what was reached before, a plain program if there is one, and what differs."""

    data: str
    method: str
    cut: str
    before: tuple[float, float, float, float, float]
    plain: str | None
    why: str

    @property
    def name(self) -> str:
        return f"{self.data}: {self.method}, {self.cut}"


CELLS = [
    Cell("emotions", "ridge, chosen", PLAIN, (0.488, 0.571, 0.628, 0.643, 0.2010), "ridge", QUARTER),
    Cell("emotions", "CSSP, chosen", PLAIN, (0.510, 0.596, 0.629, 0.632, 0.2465), "CSSP", "which labels are drawn"),
    Cell("emotions", "FAiE of 0/1, chosen", PLAIN, (0.507, 0.593, 0.639, 0.650, 0.2080), "FAiE of 0/1", QUARTER),
    Cell("emotions", "FAiE of 0/1, chosen", CUT, (0.550, 0.637, 0.676, 0.677, 0.2227), None, QUARTER),
    Cell("emotions", "LLSF, chosen", CUT, (0.564, 0.660, 0.666, 0.680, 0.2122), "LLSF", QUARTER),
    Cell("emotions", "AdaBoost.MR", CUT, (0.538, 0.656, 0.672, 0.669, 0.2675), "AdaBoost.MR", QUARTER),
    Cell("emotions", "AdaBoost.MR, rounds chosen", CUT, (0.538, 0.656, 0.672, 0.669, 0.2675), None, QUARTER),
    Cell("emotions", "BP-MLL", PLAIN, (0.569, 0.661, 0.686, 0.686, 0.2171), "BP-MLL", "start and order"),
    Cell("medical", "ridge, chosen", CUT, (0.768, 0.814, 0.376, 0.814, 0.0109), "ridge", QUARTER),
    Cell("medical", "CPLST, chosen", CUT, (0.767, 0.813, 0.358, 0.811, 0.0110), "CPLST", QUARTER),
    Cell("medical", "CSSP, chosen", PLAIN, (0.736, 0.770, 0.318, 0.800, 0.0106), "CSSP", "which labels are drawn"),
    Cell("medical", "CC of hinges", PLAIN, (0.778, 0.800, 0.284, 0.814, 0.0097), "CC of hinges", "order"),
    Cell("medical", "RAkEL-d of hinges", PLAIN, (0.753, 0.780, 0.279, 0.810, 0.0098), "RAkEL-d of hinges", "sets"),
    Cell("medical", "MNMF, chosen", CUT, (0.716, 0.757, 0.334, 0.750, 0.0132), "MNMF", QUARTER),
    Cell("cal500", "ridge, chosen", PLAIN, (0.226, 0.361, 0.110, 0.365, 0.1484), "ridge", QUARTER),
    Cell("cal500", "ridge, chosen", CUT, (0.335, 0.495, 0.160, 0.500, 0.1799), "ridge", QUARTER),
    Cell("cal500", "CPLST, chosen", CUT, (0.335, 0.495, 0.159, 0.500, 0.1799), "CPLST", QUARTER),
    Cell("cal500", "LLSF, chosen", CUT, (0.322, 0.480, 0.140, 0.483, 0.1636), "LLSF", QUARTER),
    Cell("cal500", "ML-DT, leaves chosen", PLAIN, (0.223, 0.352, 0.148, 0.359, 0.1744), None, QUARTER),
    Cell("cal500", "CS-omp", PLAIN, (0.229, 0.366, 0.126, 0.368, 0.1644), "CS-omp", NOTHING),
    Cell("cal500", "RAkEL-o", PLAIN, (0.214, 0.345, 0.114, 0.349, 0.1515), "RAkEL-o, more than half", "sets"),
]


def of_library(cell: Cell, seed: int, done: dict[tuple[str, int], list[float]]) -> list[float]:
    """Return the means of the folds by the library, once where nothing is drawn."""
    if cell.why == NOTHING and (cell.name, 0) in done:
        return done[cell.name, 0]
    return [float(value) for value in measured(METHODS[cell.method], cell.data, cell.cut, seed=seed)[:-1]]


def of_plain(cell: Cell, seed: int) -> list[float]:
    """Return the means of the folds by the plain program."""
    found = []
    for X, Y, new, truth in parts(cell.data):
        labels = predicted(PLAINS[cell.plain], X, Y, new, seed, cut=cell.cut == CUT)
        report = label_report(truth, labels.astype(int))
        found.append([report[measure] for measure in MEASURES])
    return list(np.mean(found, axis=0))


def measure(file: Path, names: list[str]) -> None:
    """Append what is missing to the file: a line for each cell and draw."""
    done = {(row["cell"], row["seed"]): row["here"] for row in read(file)}
    for cell in CELLS:
        for seed in range(DRAWS):
            if (cell.name, seed) in done or cell.name not in names:
                continue
            began = time.process_time()
            here = of_library(cell, seed, done)
            plain = [float(value) for value in of_plain(cell, seed)] if cell.plain else None
            row = {"cell": cell.name, "seed": seed, "here": here, "plain": plain}
            done[cell.name, seed] = here
            with file.open("a") as out:
                out.write(json.dumps(row) + "\n")
            print(cell.name, seed, np.round(here, 4), plain and np.round(plain, 4), end=" ")
            print(f"{time.process_time() - began:.1f} s", flush=True)


def read(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def spread(values: np.ndarray, digits: int) -> str:
    """Format mean ± deviation."""
    return f"{without_zero(values.mean(), digits)} ± {without_zero(values.std(ddof=1), digits)}"


def rows_of(cell: Cell, found: list[dict]) -> list[list[str]]:
    """Return a row for each measure of which the mean of the draws is below what was reached, or one of accuracy."""
    here = np.array([row["here"] for row in found])
    plain = np.array([row["plain"] for row in found]) if cell.plain else None
    signs = np.array([1, 1, 1, 1, -1])
    lost = signs * (np.array(cell.before) - here)
    rows = []
    for k, name in enumerate(("accuracy", "example F1", "macro F1", "micro F1", "Hamming loss")):
        if lost[:, k].mean() > NEAR or k == 0:
            digits = 3 + (k == 4)
            near = f"{int(np.sum(lost[:, k] <= NEAR))} of {len(found)}"
            theirs = "" if plain is None else spread(plain[:, k], digits)
            before = without_zero(cell.before[k], digits)
            start = [cell.data, cell.method, cell.cut] if k == 0 else ["", "", ""]
            rows.append([*start, name, before, spread(here[:, k], digits), near, theirs, cell.why if k == 0 else ""])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("measure", "publish"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--cells", nargs="+", default=[""], help="parts of names of cells")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    if chosen.task == "measure":
        measure(chosen.file, [cell.name for cell in CELLS if any(part in cell.name for part in chosen.cells)])
        return
    found = read(chosen.file)
    rows = []
    for cell in CELLS:
        rows += rows_of(cell, [row for row in found if row["cell"] == cell.name])
    header = ["data", "method", "cut", "measure", "before", "here", "within .01", "plain program", "drawn"]
    publish("label draws", table(header, rows))


if __name__ == "__main__":
    main()
