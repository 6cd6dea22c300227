"""Coverage and calibration of all models with probabilities: `python benchmarks/intervals.py FOLDER [model ...]`.

FOLDER holds douban.mat and flixster.mat, as Monti, Bronstein & Bresson (2017) split them. No test rating chose a
setting.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import h5py
import numpy as np
from common import publish, table

from cofactor.ratings import BPMF, GPLVM, URP, Attitude, GibbsIPMMMF, GibbsMMMF, OrdinalProbit
from cofactor.text import without_zero

MODELS = {
    "OrdinalProbit": OrdinalProbit,
    "BPMF": BPMF,
    "GPLVM": GPLVM,
    "GibbsMMMF": GibbsMMMF,
    "GibbsIPMMMF": GibbsIPMMMF,
    "URP": URP,
    "Attitude": Attitude,
}
#: What earlier runs found: remove it to begin anew.
FOUND = Path("intervals.json")


def ratings_of(path: Path) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """Return pairs and ratings of training and test."""
    with h5py.File(path) as file:
        M, *parts = (np.array(file[name]).T for name in ("M", "Otraining", "Otest"))
    pairs = [np.argwhere(part > 0) for part in parts]
    return tuple((X, M[X[:, 0], X[:, 1]]) for X in pairs)


def measured(p: np.ndarray, y: np.ndarray, scale: np.ndarray) -> dict[str, float]:
    """Return measures of probabilities of levels.

    The central interval of 90 % goes from the 5th to the 95th percentile, and those levels that hold a percentile count
    with the part of their probability that lies inside: so 90 % are covered where probabilities are right.
    """
    rows, level = np.arange(len(y)), np.searchsorted(scale, y)
    own = p[rows, level]
    high = np.cumsum(p, axis=1)[rows, level]
    inside = np.clip(np.minimum(high, 0.95) - np.maximum(high - own, 0.05), 0, own)
    top, given = p[:, -1], level == len(scale) - 1
    tenths = np.array_split(np.argsort(top, kind="stable"), 10)
    return {
        "coverage": float(np.mean(inside / np.maximum(own, 1e-12))),
        "top": float(top.mean()),
        "given": float(given.mean()),
        "tenths": float(sum(abs(top[k].mean() - given[k].mean()) * len(k) for k in tenths) / len(y)),
        "log_loss": float(-np.log(np.maximum(own, 1e-12)).mean()),
        "rmse": float(np.sqrt(np.mean((p @ scale - y) ** 2))),
    }


def main(folder: Path, names: list[str]) -> None:
    found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    for data in ("douban", "flixster"):
        (X, y), (X_test, y_test) = ratings_of(folder / f"{data}.mat")
        for name in names:
            if f"{data} {name}" in found:
                continue
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = MODELS[name](random_state=0).fit(X, y)
                p = model.predict_proba(X_test)
            found[f"{data} {name}"] = measured(p, y_test, model.scale_) | {"seconds": time.process_time() - began}
            print(data, name, found[f"{data} {name}"], flush=True)
            FOUND.write_text(json.dumps(found, indent=1))
    rows = []
    for key, one in found.items():
        data, name = key.split(" ", 1)
        error = one["top"] - one["given"]
        good = 0.88 <= one["coverage"] <= 0.92 and abs(error) <= 0.02
        cells = [without_zero(one[k], 3) for k in ("coverage", "top", "given")] + [f"{error:+.3f}"]
        cells += [without_zero(one["tenths"], 3), without_zero(one["log_loss"], 3), without_zero(one["rmse"], 3)]
        rows.append([data, f"`{name}`", *cells, "yes" if good else "**no**"])
    header = [
        *("data", "model", "coverage of 90 %", "P(top)", "given", "error", "in tenths", "log-loss", "RMSE"),
        "calibrated: .88 to .92, ≤ .02",
    ]
    publish("intervals and the top level", table(header, rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(MODELS))
