"""LabelRidge at its defaults: accuracy, calibration and time; started by `labels.py ridge`."""

import time
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from common import SEEDS, table
from sklearn.model_selection import KFold

from cofactor.datasets import load_labels
from cofactor.evaluation import StratifiedLabelKFold
from cofactor.labels import Decision, LabelRidge
from cofactor.metrics import label_report
from cofactor.text import without_zero

#: Sets on which the method was developed, and sets that chose nothing of it.
SEEN = ("emotions", "flags", "scene", "yeast", "medical", "genbase", "cal500", "corel5k", "bibtex", "delicious")
UNSEEN = (
    "llog",
    *(f"yahoo-{name}" for name in ("arts", "business", "computers", "education", "entertainment", "health")),
    *(f"yahoo-{name}" for name in ("recreation", "reference", "science", "social", "society")),
    "rcv1subset1",
)
TARGET_METRICS = {"micro": "micro_f1", "macro": "macro_f1", "example": "example_f1", "hamming": "hamming"}
HEADER = ["data", "splits", "micro-F1", "macro-F1", "example F1", "Hamming", "calibration error", "s per fit", "scale"]


def ridge_table(chosen: list[str]) -> str:
    """Return the table: each measure with the decision made for it, calibration error over all labels at once."""
    rows = []
    for name in chosen or (*SEEN, *UNSEEN):
        rows.append(row(name))
        print(rows[-1], flush=True)
    head = (
        "`LabelRidge(decide_for=...)` at its defaults; the calibration error is the mean of |mean probability - share "
        "that is on| over 15 bins, weighted by their sizes. s is CPU seconds with one BLAS thread, compilation not "
        "included.\n\n"
    )
    return head + table(HEADER, rows)


def row(name: str) -> list[str]:
    aligned: Any = {"aligned": "realigned"} if name.startswith("rcv1subset") else {}
    data, measured, seconds, model = load_labels(name, **aligned), [], [], None
    words, parts = splits(data)
    for train, test in parts:
        found = []
        began = time.process_time()
        model, learned_from = fitted(data.X[train], data.Y[train])
        seconds.append(time.process_time() - began)
        for aim, measure in TARGET_METRICS.items():
            model.decision_ = Decision.learn("auto", aim, *learned_from)
            found.append(label_report(data.Y[test], model.predict(data.X[test]))[measure])
        found.append(calibration_error(model.predict_proba(data.X[test]), data.Y[test]))
        measured.append(found)
    means = np.mean(measured, axis=0)
    shown = [without_zero(value, digits) for value, digits in zip(means, (3, 3, 3, 4, 4), strict=True)]
    return [name, words, *shown, f"{np.median(seconds):.2f}", model.scaling_.kind]


def fitted(X: Any, Y: Any) -> tuple[LabelRidge, tuple[Any, ...]]:
    """Return a fitted model, and from what it learned its decision: models of other aims differ in nothing else."""
    kept = []
    learn = Decision.learn

    def keep(threshold: str, decide_for: str, *rest: Any, **named: Any) -> Any:
        kept.append(rest)
        return learn(threshold, decide_for, *rest, **named)

    with warnings.catch_warnings(), mock.patch.object(Decision, "learn", keep):
        warnings.simplefilter("ignore")
        return LabelRidge(random_state=0).fit(X, Y), kept[0]


def splits(data: Any) -> tuple[str, Iterator[Any]]:
    """Return three folds of three seeds, or the official split, or for other large sets one fold of five."""
    n = data.n_instances
    if data.name in (*SEEN[:7], "llog"):
        folds = (part for seed in SEEDS for part in StratifiedLabelKFold(3, random_state=seed).split(data.X, data.Y))
        return "3 seeds × 3 folds", folds
    if data.train_rows is not None:
        train = np.arange(n)[data.train_rows]
        return "official", iter([(train, np.setdiff1d(np.arange(n), train))])
    if data.name.startswith("rcv1subset"):
        return "halves", iter([(np.arange(n // 2), np.arange(n // 2, n))])
    return "1 fold of 5", iter(list(KFold(5, shuffle=True, random_state=0).split(data.Y))[:1])


def calibration_error(probabilities: Any, Y: Any, n_bins: int = 15) -> float:
    p, on = probabilities.ravel(), np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y).ravel()
    place = np.minimum((p * n_bins).astype(int), n_bins - 1)
    return float(np.abs(np.bincount(place, p, n_bins) - np.bincount(place, on, n_bins)).sum() / len(p))
