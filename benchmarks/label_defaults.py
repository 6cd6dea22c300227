"""Every label model as it comes, on twelve data sets, beside other libraries on the same folds in the same run.

    python benchmarks/label_defaults.py measure FILE [--sets ...] [--methods ...]   cells that FILE has not yet
    python benchmarks/label_defaults.py publish FILE                                tables into docs/benchmarks

FILE is JSON: what each method reached on each fold of each set. A cell is a process of its own, and
ends after `SECONDS` of processor time. Settings and cuts of all methods are chosen inside the training folds. Seconds
are those of the processor, without compilation.
"""

import argparse
import json
import multiprocessing
import os
import re
import resource
import sys
import time
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from common import publish, table
from scipy import sparse
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from cofactor.datasets import load_labels
from cofactor.evaluation import StratifiedLabelKFold
from cofactor.labels import MODELS
from cofactor.metrics import label_report, micro_f1
from labels import peer

SEED = 0
#: Processor seconds after which a cell ends, and is shown as a dash.
SECONDS = 300
FOLDS = 3
SETS = (
    "emotions", "flags", "scene", "yeast", "genbase", "medical", "llog", "cal500", "yahoo-arts", "corel5k", "bibtex",
    "delicious",
)  # fmt: skip
MEASURES = ("micro_f1", "macro_f1", "example_f1", "hamming")
LINEAR = "OneVsRest(LinearSVC)"
TUNED = "OneVsRest(LinearSVC), C and scale chosen"
#: Other libraries, in an environment of their own (see `labels.py`): their names there.
LIBRARIES = {
    "LibMultiLabel one-vs-rest": "1vsrest",
    "LibMultiLabel cost-sensitive micro": "cost_sensitive_micro",
    "scikit-multilearn ML-kNN": "mlknn",
}


# ---------------------------------------------------------------- methods


def default(kind: type[Any]) -> Any:
    return kind(random_state=SEED)


def of_paper(kind: type[Any]) -> Any:
    """Return a model with the settings of its paper, which were its defaults until it chose them by itself."""
    return kind.paper(random_state=SEED)


class Tuned:
    """OneVsRest(LinearSVC) with scaled features and a C chosen on a quarter of the training instances."""

    def fit(self, X: Any, Y: Any) -> "Tuned":
        self.scaler = Normalizer() if sparse.issparse(X) else StandardScaler()
        X = self.scaler.fit_transform(X)
        learn, judge = train_test_split(np.arange(X.shape[0]), test_size=0.25, random_state=SEED)
        scores = {}
        for cost in (0.01, 0.1, 1.0, 10.0):
            trial = OneVsRestClassifier(LinearSVC(C=cost, random_state=SEED)).fit(X[learn], Y[learn])
            scores[cost] = micro_f1(Y[judge], trial.predict(X[judge]))
        self.model = OneVsRestClassifier(LinearSVC(C=max(scores, key=scores.__getitem__), random_state=SEED)).fit(X, Y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(self.scaler.transform(X))


METHODS: dict[str, Callable[[], Any]] = {
    **{name: partial(default, kind) for name, kind in MODELS.items()},
    **{f"{name}.paper": partial(of_paper, kind) for name, kind in MODELS.items() if name != "LabelRidge"},
    LINEAR: lambda: OneVsRestClassifier(LinearSVC(random_state=SEED)),
    TUNED: Tuned,
}


# ---------------------------------------------------------------- measuring


@lru_cache(maxsize=1)
def loaded_set(data: str) -> Any:
    """Return a data set, after models were fitted to some of it, which loads what is compiled."""
    loaded = load_labels(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in MODELS.values():
            kind().fit(loaded.X[:60], loaded.Y[:60])
    return loaded


def split(data: str, fold: int) -> tuple[Any, Any, Any, Any]:
    """Return features and labels for training and for testing, as they come."""
    loaded = loaded_set(data)
    train, test = list(StratifiedLabelKFold(3, random_state=SEED).split(loaded.X, loaded.Y))[fold]
    return loaded.X[train], loaded.Y[train], loaded.X[test], loaded.Y[test]


def fit_and_measure(method: str, data: str, fold: int) -> dict[str, float]:
    X, Y, T, truth = split(data, fold)
    if method in LIBRARIES:
        scaler = Normalizer() if sparse.issparse(X) else StandardScaler()
        found = peer(os.environ["COFACTOR_PEERS"], LIBRARIES[method], scaler.fit_transform(X), Y, scaler.transform(T))
        if found is None:
            raise RuntimeError("the other library failed")
        predicted, seconds = found
        return measured(truth, predicted) | {"seconds": seconds}
    model = METHODS[method]()
    # Labels of one byte are too small for scikit-learn's OneVsRest: wrong predictions beyond 127 labels.
    labels = Y if hasattr(model, "takes_sparse_labels") else Y.astype(int).toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        model.fit(X, labels)
        seconds = time.process_time() - began
        found = measured(truth, model.predict(T)) | {"seconds": seconds}
        if hasattr(model, "predict_proba"):
            found |= calibration(truth, model.predict_proba(T))
    return found


def measured(truth: Any, predicted: Any) -> dict[str, float]:
    report = label_report(truth, predicted)
    return {name: float(report[name]) for name in MEASURES}


def calibration(truth: Any, probabilities: Any) -> dict[str, float]:
    """Return the expected calibration error in 15 bins of equal width."""
    p, y = np.asarray(probabilities, dtype=float).ravel(), truth.toarray().ravel()
    bins = np.minimum((15 * p).astype(int), 14)
    gaps = np.bincount(bins, weights=y - p, minlength=15)
    return {"calibration_error": float(np.abs(gaps).sum() / len(p))}


def cell(method: str, data: str, fold: int, limit: int) -> dict[str, Any]:
    """Return what a method reached, measured in a process that ends after so many seconds of processor time."""
    receiver, sender = multiprocessing.Pipe(duplex=False)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        try:
            sender.send(fit_and_measure(method, data, fold))
        except Exception as error:
            sender.send({"failed": f"{type(error).__name__}: {error}"[:300]})

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:  # the limit ended it
        return {"failed": f"more than {limit} s"}
    finally:
        process.join()


def measure(file: Path, sets: list[str], methods: list[str], limit: int) -> None:
    found = json.loads(file.read_text()) if file.exists() else {}
    libraries = LIBRARIES if os.environ.get("COFACTOR_PEERS") else {}
    chosen = methods or [*METHODS, *libraries]
    for data in sets or SETS:
        for method in chosen:
            for fold in range(FOLDS):
                key = f"{data}|{method}|{fold}"
                if key in found or "failed" in found.get(f"{data}|{method}|0", {}):
                    continue
                loaded_set(data)  # processes of cells begin with it
                found[key] = cell(method, data, fold, limit)
                file.write_text(json.dumps(found, indent=0))
                print(key, found[key], flush=True)


# ---------------------------------------------------------------- tables


def mean(found: dict[str, Any], data: str, method: str, name: str) -> float | None:
    """Return the mean over the folds; None where a fold was not measured to its end."""
    cells = [found.get(f"{data}|{method}|{fold}", {}) for fold in range(FOLDS)]
    values = [one.get(name) for one in cells]
    return None if None in values else float(np.mean(values))


def written(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else re.sub(r"^0\.", ".", f"{value:.{digits}f}")


def rows_of(found: dict[str, Any], methods: list[str], name: str, digits: int = 3) -> list[list[str]]:
    return [[m, *(written(mean(found, data, m, name), digits) for data in SETS)] for m in methods]


def at_or_above(found: dict[str, Any], method: str) -> str:
    pairs = [(mean(found, data, method, "micro_f1"), mean(found, data, LINEAR, "micro_f1")) for data in SETS]
    measured = [(a, b) for a, b in pairs if a is not None and b is not None]
    return f"{sum(a >= b for a, b in measured)} of {len(measured)}"


def tables(found: dict[str, Any]) -> dict[str, str]:
    """Return the text of each section of docs/benchmarks."""
    peers = [LINEAR, TUNED, *LIBRARIES]
    models = [name for name in MODELS if any(f"{data}|{name}|0" in found for data in SETS)]
    f1 = []
    for name in models:
        if f"{name}.paper" in METHODS:
            before = [written(mean(found, data, f"{name}.paper", "micro_f1")) for data in SETS]
            f1.append([name, "before", *before, at_or_above(found, f"{name}.paper")])
        now = [written(mean(found, data, name, "micro_f1")) for data in SETS]
        f1.append([name, "now", *now, at_or_above(found, name)])
    f1 += [[row[0], "", *row[1:], ""] for row in rows_of(found, peers, "micro_f1")]
    sections = {"label defaults": table(["model", "", *SETS, f"at or above {LINEAR}"], f1)}
    times = rows_of(found, [*models, *(f"{n}.paper" for n in models if f"{n}.paper" in METHODS), *peers], "seconds", 1)
    sections["label defaults: seconds"] = table(["model", *SETS], times)
    return sections


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "publish", "show"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--methods", nargs="*", default=[])
    parser.add_argument("--seconds", type=int, default=SECONDS)
    given = parser.parse_args()
    if given.command == "measure":
        measure(given.file, given.sets, given.methods, given.seconds)
    else:
        for section, text in tables(json.loads(given.file.read_text())).items():
            print(f"\n{text}\n") if given.command == "show" else publish(section, text)
    sys.exit(0)
