"""What ``cofactor demo labels`` does, step by step; it prints nothing. Imported only when the demo runs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cofactor import published
from cofactor.cli.label_demo import Example
from cofactor.datasets import DatasetNotFoundError, LabelDataset, load_labels, make_labels
from cofactor.evaluation import Search
from cofactor.labels import MODELS, TRANSFORMERS, MLkNN
from cofactor.labels.data import as_labels
from cofactor.labels.decoding import micro_f1_curve
from cofactor.metrics import LABEL_METRICS, label_report
from cofactor.plots import prediction_table

NAMES = ("emotions", "medical", "cal500")
#: Measure, heading.
METRICS = {
    "hamming": "Hamming",
    "accuracy": "accuracy",
    "subset_accuracy": "subset",
    "example_f1": "ex. F1",
    "macro_f1": "macro",
    "micro_f1": "micro",
}
BASELINE = "BinaryRelevance"
_FOLDS = 5
_BASES = 0.3  #: share of the features which the paper of MNMTF takes as bases, no more than there are labels here
_MANY = 100  #: labels, from which on the largest C of the baseline takes most of the time and is never chosen

Say = Callable[[str], object]
Figures = tuple[float | None, ...]


#: Where the published figures stand: Kumar's thesis, ten folds (BSVM for binary relevance) and five; and OMF's paper.
PUBLISHED = ("thesis-5.9", "thesis-5.10", "thesis-6.2", "omf-2")


def published_figures(data: str, method: str) -> Figures | None:
    """Return the published figures in the order of METRICS; None if there is none."""
    found = tuple(published.value(PUBLISHED, method, metric, data=data) for metric in METRICS)
    return None if all(figure is None for figure in found) else found


@dataclass
class LabelRow:
    """One method on one data set: means over the folds."""

    name: str
    plain: dict[str, float] = field(default_factory=dict)
    learned: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0  #: of one fit
    published: Figures | None = None
    chosen: dict[str, str] = field(default_factory=dict)  #: parameters in the first fold, by decoding


@dataclass
class LabelTable:
    """The results on one data set."""

    name: str
    description: str
    sizes: dict[str, float]
    folds: int
    rows: list[LabelRow] = field(default_factory=list)

    def best(self, kind: str) -> dict[str, float]:
        """Return the best value of each measure, as tables show it."""
        found = {}
        for key in METRICS:
            values = [round(getattr(row, kind)[key], 3) for row in self.rows]
            found[key] = max(values) if LABEL_METRICS[key].greater_is_better else min(values)
        return found


@dataclass(frozen=True)
class Fitted:
    """What the first fold leaves for the pictures."""

    data: LabelDataset
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    selections: dict[str, Search]

    def model(self, name: str, decoding: str = "plain") -> Any:
        """Return a fitted model."""
        return self.selections[name].estimators_[decoding]

    def truth(self) -> Any:
        """Return the labels of the test part."""
        return self.data.Y[self.test]


def load_sets(seed: int, quick: bool) -> tuple[list[LabelDataset], list[str]]:
    """Return the data sets that are here, and why others are missing; a synthetic one if none is here."""
    found, reasons = [], []
    for name in NAMES[:1] if quick else NAMES:
        try:
            found.append(load_labels(name))
        except DatasetNotFoundError as error:
            reasons.append(str(error))
    if not found:
        data, _ = make_labels(
            400 if quick else 800, 60, 24, n_groups=4, n_factors=2, cardinality=3, tail=0.4, random_state=seed
        )
        found.append(data)
    return found, reasons


def contestants(data: LabelDataset, seed: int) -> dict[str, Any]:
    """Return the models of the registry, and the transformers before ML-kNN, unfitted."""
    models: dict[str, Any] = {name: kind(random_state=seed) for name, kind in MODELS.items() if name != BASELINE}
    n_bases = max(1, min(data.n_labels, int(_BASES * data.n_features)))
    for name, transformer in TRANSFORMERS.items():
        reduce = transformer(n_components=n_bases, random_state=seed)
        steps = [("reduce", reduce), ("mlknn", MLkNN(random_state=seed))]
        models[f"{name} + MLkNN"] = Pipeline(steps)
    models[BASELINE] = MODELS[BASELINE](random_state=seed)
    return models


def selection(model: Any, data: LabelDataset, seed: int, quick: bool) -> Search:
    """Return the model with the choice of its parameters and of its threshold on a fifth of the training part."""
    if isinstance(model, Pipeline):
        grid = {f"mlknn__{name}": values for name, values in model.steps[-1][1].default_grid().items()}
    else:
        grid = model.default_grid()
    if "estimator" in grid and data.n_labels > _MANY:
        grid["estimator"] = grid["estimator"][:-1]
    if quick:
        grid = {name: values[:: max(1, len(values) - 1)] for name, values in grid.items()}
    return Search(model, grid, thresholds=("plain", "global"), random_state=seed)


def folds(data: LabelDataset, seed: int, quick: bool) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield training and test rows."""
    parts = KFold(_FOLDS, shuffle=True, random_state=seed).split(np.zeros(data.n_instances))
    return (part for k, part in enumerate(parts) if not (quick and k))


def scaled(data: LabelDataset, train: NDArray[np.int64], *, shifted: bool) -> Any:
    """Return the features: sparse ones as they are, others standardised, or from 0 to 1, on the training part."""
    if not isinstance(data.X, np.ndarray):
        return data.X
    scaler = MinMaxScaler(clip=True) if shifted else StandardScaler()
    return scaler.fit(data.X[train]).transform(data.X)


def compete(data: LabelDataset, seed: int, quick: bool, say: Say) -> tuple[LabelTable, Fitted]:
    """Measure every method on every fold; keep what the first fold learned."""
    splits = list(folds(data, seed, quick))
    sizes = {
        "instances": data.n_instances, "features": data.n_features, "labels": data.n_labels,
        "cardinality": round(data.cardinality, 3),
    }  # fmt: skip
    table = LabelTable(data.name, data.description, sizes, len(splits))
    first: dict[str, Search] = {}
    for name, model in contestants(data, seed).items():
        runs: dict[str, list[dict[str, float]]] = {"plain": [], "learned": []}
        seconds = []
        for k, (train, test) in enumerate(splits):
            say(f"{data.name}: {name}, fold {k + 1} of {len(splits)}")
            X, Y = scaled(data, train, shifted="+" in name), data.Y
            fitted = _fit(selection(model, data, seed, quick), X[train], Y[train])
            seconds.append(_seconds(model, fitted, X[train], Y[train]))
            for kind, labels, _ in fitted.decodings(X[test]):
                runs[kind].append(label_report(Y[test], labels))
            first.setdefault(name, fitted)
        row = LabelRow(name, _means(runs["plain"]), _means(runs["learned"]))
        row.seconds, row.published = float(np.median(seconds)), published_figures(data.name, name)
        row.chosen = {kind: _written(choice.parameters) for kind, choice in first[name].choices_.items()}
        table.rows.append(row)
    train, test = splits[0]
    return table, Fitted(data, train, test, first)


def _fit(model: Any, X: Any, Y: Any) -> Any:
    with warnings.catch_warnings():
        # Candidates at the ends of the grid may stop early; they are judged by what they predict.
        warnings.simplefilter("ignore")
        return model.fit(X, Y)


def _seconds(model: Any, fitted: Search, X: Any, Y: Any) -> float:
    """Return the time of one fit with the parameters chosen for the plain cut."""
    again = clone(model).set_params(**fitted.choices_["plain"].parameters)
    began = time.perf_counter()
    _fit(again, X, Y)
    return time.perf_counter() - began


def _means(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([run[key] for run in runs])) for key in METRICS}


def _written(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.rpartition('__')[2]} {value}" for name, value in parameters.items())


def n_steps(quick: bool) -> int:
    """Return the number of times that `compete` says something."""
    return (len(MODELS) + len(TRANSFORMERS)) * (1 if quick else _FOLDS)


def best_row(table: LabelTable, kind: str = "plain") -> LabelRow:
    """Return the method with the highest micro-F1."""
    return max(table.rows, key=lambda row: getattr(row, kind)["micro_f1"])


def predictions(fitted: Fitted, name: str, n: int) -> Example:
    """Return what a method predicts for the first instances of the test part, beside their true labels."""
    selection = fitted.selections[name]
    X = scaled(fitted.data, fitted.train, shifted="+" in name)[fitted.test[:n]]
    labels = as_labels(selection.estimators_["plain"].predict(X))[0]
    truth, names = fitted.truth()[:n], fitted.data.label_names
    rows = [f"instance {k + 1}" for k in fitted.test[:n]]
    instances = [
        {
            "instance": int(k) + 1,
            "true": [names[j] for j in truth[[i]].indices],
            "predicted": [names[j] for j in labels[[i]].indices],
        }
        for i, k in enumerate(fitted.test[:n])
    ]
    text, html = (prediction_table(truth, labels, names, rows=rows, form=form) for form in ("text", "html"))
    return Example(fitted.data.name, name, instances, text, html)


def grouped_factors(fitted: Fitted, n_groups: int, alpha_v: float) -> Any:
    """Return GroPLE fitted to the training part with so many groups and that weight of the rows of V."""
    X = scaled(fitted.data, fitted.train, shifted=False)[fitted.train]
    model = clone(fitted.selections["GroPLE"].estimator).set_params(n_groups=n_groups, alpha_v=alpha_v)
    return _fit(model, X, fitted.data.Y[fitted.train])


def threshold_curves(
    fitted: Fitted, names: list[str]
) -> tuple[dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]], dict[str, float]]:
    """Return micro-F1 of the test part along the cut for some methods, and the cuts which they had learned."""
    curves, cuts = {}, {}
    truth, _, _ = as_labels(fitted.truth())
    for name in names:
        choice = fitted.selections[name].choices_["learned"]
        X = scaled(fitted.data, fitted.train, shifted="+" in name)[fitted.test]
        scores = fitted.model(name, "learned").decision_function(X)
        curves[name] = micro_f1_curve(np.asarray(scores), truth)
        cuts[name] = float(np.asarray(choice.threshold.value))
    return curves, cuts
