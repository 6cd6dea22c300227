"""Conditional random fields of labels beside binary relevance and chains of logistic regressions; what they take.

    python benchmarks/label_correlations.py measure FILE [--sets ...] [--methods ...]   cells that FILE has not yet
    python benchmarks/label_correlations.py publish FILE                                the tables, into docs/benchmarks
    python benchmarks/label_correlations.py seconds                                     limits of cal500, likewise

FILE is JSON: figures of each method on each of five folds (`KFold(5, shuffle=True, random_state=0)`; emotions, which is
small, ten times, by ten seeds). All methods of a fold have the same scaled features and the same penalty, both chosen
on its training part: the scale with the least leave-one-out error of ridge regression, and the penalty that weighs as
much beside the logistic loss as that of ridge regression beside the squared one; C is one by it. Processor seconds are
those of a fit, without compilation.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import publish, table
from label_large import ONE_THREAD
from scipy.stats import t
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit

from cofactor.datasets import load_labels
from cofactor.evaluation import decodings
from cofactor.labels import (
    CML,
    CMLF,
    BinaryRelevance,
    ChainCRF,
    ChainCRFEnsemble,
    ClassifierChain,
    FeatureLabelCCA,
    LabelModel,
    ProbabilisticChain,
    TreeCRF,
)
from cofactor.metrics import label_report
from cofactor.text import without_zero

SETS = ("emotions", "scene", "yeast", "medical")
N_FOLDS = 5
REPEATS = {"emotions": 10}
MEASURES = ("subset_accuracy", "example_f1")
BASE = "BR, marginals"
JOINT: dict[str, Any] = {"threshold": "joint", "random_state": 0}
FOR_F1: dict[str, Any] = {"threshold": "auto", "decide_for": "example", "random_state": 0}

#: How each method is made: from its penalty.
METHODS: dict[str, Callable[[float], LabelModel]] = {
    "BR": lambda alpha: BinaryRelevance.paper(logistic(alpha)),
    "CC": lambda alpha: ClassifierChain.paper(logistic(alpha), random_state=0),
    "PCC": lambda alpha: ProbabilisticChain.paper(logistic(alpha), **JOINT),
    "PCC for example F1": lambda alpha: ProbabilisticChain.paper(logistic(alpha), best_for="example", **JOINT),
    "CML": lambda alpha: CML.paper(alpha, **JOINT),
    "CMLF": lambda alpha: CMLF.paper(alpha, **JOINT),
    "tree": lambda alpha: TreeCRF.paper(alpha, **JOINT),
    "chain": lambda alpha: ChainCRF.paper(alpha, **JOINT),
    "21 chains": lambda alpha: ChainCRFEnsemble.paper(21, alpha, **JOINT),
    "BR, calibrated for example F1": lambda alpha: BinaryRelevance.paper(logistic(alpha), **FOR_F1),
    "CML, calibrated for example F1": lambda alpha: CML.paper(alpha, **FOR_F1),
}
DECODERS = {"plain": "marginals", "joint": "label set", "auto": ""}
REPEATED = ("PCC for example F1", "plain")  # the marginals are those of PCC


def logistic(alpha: float) -> LogisticRegression:
    return LogisticRegression(C=1 / alpha, max_iter=1000)


# ---------------------------------------------------------------- accuracy


class Part(NamedTuple):
    """Scaled features and labels, of training and of test, and the penalty."""

    X: Any
    Y: Any
    new: Any
    truth: Any
    alpha: float


def n_parts(name: str) -> int:
    """Return how many training and test parts a set has."""
    return N_FOLDS * REPEATS.get(name, 1)


@lru_cache(maxsize=1)
def part(name: str, fold: int) -> Part:
    """Return a fold."""
    data = load_labels(name)
    seed, place = divmod(fold, N_FOLDS)
    train, test = list(KFold(N_FOLDS, shuffle=True, random_state=seed).split(np.arange(data.n_instances)))[place]
    chosen = TreeCRF(max_iter=1, threshold="joint").fit(data.X[train], data.Y[train])
    X, new = (chosen.scaling_.apply(data.X[rows]) for rows in (train, test))
    return Part(X, data.Y[train], new, data.Y[test], chosen.alpha_)


def cell(name: str, method: str, fold: int) -> dict[str, Any]:
    """Return the figures of each decoder, and the seconds of the fit."""
    given = part(name, fold)
    model = METHODS[method](given.alpha)
    began = time.process_time()
    model.fit(given.X, given.Y)
    found: dict[str, Any] = {"seconds": time.process_time() - began, "alpha": given.alpha}
    for decoder, labels, _ in decodings(model, given.new):
        report = label_report(given.truth, labels)
        found[decoder] = {measure: float(report[measure]) for measure in MEASURES}
    return found


def measure(file: Path, sets: list[str], methods: list[str]) -> None:
    found = json.loads(file.read_text()) if file.exists() else {}
    warm = np.random.default_rng(0).normal(size=(60, 5))
    for method in methods:
        METHODS[method](1.0).fit(warm, warm[:, :3] > 0)  # compiles
    for name in sets:
        for fold in range(n_parts(name)):
            for method in methods:
                key = f"{name}|{method}|{fold}"
                if key not in found:
                    found[key] = cell(name, method, fold)
                    file.write_text(json.dumps(found, indent=0))
                    print(key, found[key], flush=True)


def by_decoder(found: dict[str, Any], name: str) -> dict[str, tuple[np.ndarray, float]]:
    """Return for each method and decoder the figures, (folds, measures), and mean seconds."""
    rows = {}
    for method in METHODS:
        folds = [found[f"{name}|{method}|{fold}"] for fold in range(n_parts(name))]
        seconds = float(np.mean([one["seconds"] for one in folds]))
        for decoder, word in DECODERS.items():
            if decoder in folds[0] and (method, decoder) != REPEATED:
                figures = np.array([[one[decoder][measure] for measure in MEASURES] for one in folds])
                rows[f"{method}, {word}".removesuffix(", ")] = figures, seconds
    return rows


def gain(differences: np.ndarray) -> str:
    """Return the interval of the mean difference, corrected as training parts overlap (Nadeau & Bengio 2003)."""
    n = len(differences)
    half = t.ppf(0.975, n - 1) * np.sqrt((1 / n + 1 / (N_FOLDS - 1)) * differences.var(ddof=1))
    mean = differences.mean()
    mark = " ✓" if mean > half else " ✗" if mean < -half else ""
    return f"{mean - half:+.3f} to {mean + half:+.3f}{mark}"


def accuracy_table(found: dict[str, Any], name: str) -> str:
    rows, all_of = [], by_decoder(found, name)
    for method, (figures, seconds) in all_of.items():
        shown = [method]
        for k, values in enumerate(figures.T):
            shown.append(f"{without_zero(values.mean(), 3)} ± {without_zero(values.std(ddof=1), 3)}")
            shown.append("" if method == BASE else gain(values - all_of[BASE][0][:, k]))
        rows.append([*shown, f"{seconds:.2f}"])
    header = ["method, decoder", "subset accuracy", "above BR", "example F1", "above BR", "fit, s"]
    return table(header, rows)


# ---------------------------------------------------------------- seconds


class Limit(NamedTuple):
    """A model on cal500, its number of labels, and what was asked of fit and prediction together."""

    make: Callable[[], LabelModel]
    n_labels: int
    asked: str


#: The eight emotions of the source.
EMOTIONS = (1, 5, 11, 21, 23, 31, 33, 35)
LIMITS = {
    "CML, all label sets": Limit(lambda: CML(inference="exact", random_state=0), 8, "1 s"),
    "CML, sets of training": Limit(lambda: CML(random_state=0), 174, "10 s"),
    "CMLF, sets of training": Limit(lambda: CMLF(random_state=0), 174, "120 s, 2 GB"),
    "one chain": Limit(lambda: ChainCRF(random_state=0), 174, "1 s"),
    "one tree": Limit(lambda: TreeCRF(random_state=0), 174, "–"),
    "1,001 chains, two threads": Limit(
        lambda: ChainCRFEnsemble.paper(1001, "auto", scale="auto", n_jobs=2, random_state=0), 174, "720 s"
    ),
}


def splits(n: int, n_splits: int = 10, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the songs of 452/50 splits."""
    return ShuffleSplit(n_splits, test_size=50, random_state=seed).split(np.arange(n))


def taken(name: str) -> dict[str, float]:
    """Return what a model of `LIMITS` takes in this process, once it is compiled."""
    limit, data = LIMITS[name], load_labels("cal500")
    train, test = next(splits(data.n_instances))
    labels = list(EMOTIONS) if limit.n_labels == len(EMOTIONS) else slice(None)
    X, Y, new = data.X[train], data.Y[train][:, labels], data.X[test]
    few = limit.make()
    if isinstance(few, ChainCRFEnsemble):
        few.set_params(n_estimators=2)
    few.fit(X[:60], Y[:60, :5]).predict(new)
    began, processor = time.perf_counter(), time.process_time()
    limit.make().fit(X, Y).predict(new)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {"wall": time.perf_counter() - began, "cpu": time.process_time() - processor, "peak": peak}


def seconds() -> str:
    rows = []
    for name, limit in LIMITS.items():
        command = [sys.executable, __file__, "here", name]
        done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout)
        shown = [f"{found[key]:.2f}" for key in ("cpu", "wall", "peak")]
        rows.append([name, limit.n_labels, limit.asked, *shown, f"{os.getloadavg()[0]:.1f}"])
        print(rows[-1], flush=True)
    return table(["model", "labels", "asked", "CPU s", "s of the clock", "peak GB", "load"], rows)


def canonical() -> str:
    """Return the table of feature/label CCA with 50 components, over ten splits and over sixty others."""
    data, rows = load_labels("cal500"), []
    ways = {
        "printed decoding": {"decoding": "printed", "label_penalty": 0.0},
        "no penalty of labels": {"label_penalty": 0.0},
        "penalty of labels by Ledoit & Wolf": {"label_penalty": "auto"},
    }
    made = {way: FeatureLabelCCA.paper(**settings) for way, settings in ways.items()}
    made["as it comes, 50 components"] = FeatureLabelCCA(50, random_state=0)
    for way, model in made.items():
        shown = []
        for n_splits, seed in ((10, 0), (60, 1)):
            values = []
            for train, test in splits(data.n_instances, n_splits, seed):
                predicted = model.fit(data.X[train], data.Y[train]).predict(data.X[test])
                values.append(label_report(data.Y[test], predicted)["micro_f1"])
            error = np.std(values, ddof=1) / np.sqrt(n_splits)
            shown.append(f"{without_zero(np.mean(values), 4)} ± {without_zero(error, 4)}")
        rows.append([way, *shown])
    return table(["feature/label CCA", "micro-F1, ten splits", "sixty others"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "publish", "seconds", "here"])
    parser.add_argument("file", nargs="?", default="label_correlations.json", help="or a model, for 'here'")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=tuple(METHODS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.command == "measure":
        measure(Path(given.file), given.sets, given.methods)
    elif given.command == "here":
        print(json.dumps(taken(given.file)))
    elif given.command == "seconds":
        publish("label correlations: canonical", canonical())
        publish("label correlations: seconds", seconds())
    else:
        found = json.loads(Path(given.file).read_text())
        for name in SETS:
            publish(f"label correlations: {name}", accuracy_table(found, name))


if __name__ == "__main__":
    main()
