"""What learning a decision costs beside the plain fit of every label model; and two large made-up sets.

    python benchmarks/label_costs.py measure FILE [--sets ...] [--models ...]   cells that FILE has not yet
    python benchmarks/label_costs.py large                                      the large sets, into docs/benchmarks
    python benchmarks/label_costs.py publish FILE                               the costs, into docs/benchmarks

FILE is JSON: CPU seconds of each model on the first of three seeded folds. All times are with one BLAS thread.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import publish, table
from label_defaults import split
from label_large import HEADER as LARGE_HEADER
from label_large import SETS as LARGE
from label_large import large_rows

from cofactor.kernels.threads import library_limit
from cofactor.labels import MODELS

SETS = ("emotions", "scene", "medical", "corel5k", "bibtex")
REPEATS = 3
ENOUGH = 4.0  # CPU seconds after which a fit is not repeated


def least_seconds(make: Any, X: Any, Y: Any) -> tuple[float, Any]:
    """Return the least CPU seconds of up to three fits, and the fitted model."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < ENOUGH:
        model = make()
        began = time.process_time()
        model.fit(X, Y)
        times.append(time.process_time() - began)
    return min(times), model


def costs(kind: type[Any], data: str) -> dict[str, Any]:
    """Return CPU seconds of the plain fit, with a decision, and at the defaults, where everything is chosen."""
    X, Y, _, _ = split(data, 0)
    warm = np.random.default_rng(0).normal(size=(60, 5))
    kind(random_state=0).fit(warm, warm > 0)  # compiles what is not compiled yet
    whole, model = least_seconds(lambda: kind(random_state=0), X, Y)
    scaled, settings = model.scaling_.apply(X), {"scale": "none", "random_state": 0, **model._resolved_params()}
    plain, _ = least_seconds(lambda: kind(threshold=0, **settings), scaled, Y)
    decided, _ = least_seconds(lambda: kind(threshold="auto", **settings), scaled, Y)
    return {"plain": plain, "decided": decided, "default": whole, "instances": X.shape[0]}


def measure(file: Path, sets: list[str], models: list[str]) -> None:
    found = json.loads(file.read_text()) if file.exists() else {}
    for data in sets or SETS:
        for name in models or MODELS:
            if f"{data}|{name}" in found:
                continue
            with warnings.catch_warnings(), library_limit(1):
                warnings.simplefilter("ignore")
                found[f"{data}|{name}"] = costs(MODELS[name], data)
            file.write_text(json.dumps(found, indent=0))
            print(data, name, found[f"{data}|{name}"], flush=True)


def shown(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return "–"
    extra = cell["decided"] - cell["plain"]
    return f"{cell['plain']:.3f}, {extra:.3f} ({extra / cell['plain']:.1f}), {cell['default']:.2f}"


def costs_table(found: dict[str, Any]) -> str:
    sets = [data for data in SETS if any(cell.startswith(f"{data}|") for cell in found)]
    models = [m for m in MODELS if any(f"{data}|{m}" in found for data in sets)]
    return table(["model", *sets], [[m, *(shown(found.get(f"{data}|{m}")) for data in sets)] for m in models])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "publish", "show", "large"])
    parser.add_argument("file", type=Path, nargs="?", default=Path("label_costs.json"))
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--models", nargs="*", default=[])
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.file, given.sets, given.models)
    elif given.command == "large":
        publish("label costs: large sets", table(LARGE_HEADER, large_rows(LARGE)))
    else:
        text = costs_table(json.loads(given.file.read_text()))
        print(text) if given.command == "show" else publish("label costs", text)
    sys.exit(0)
