"""``cofactor demo labels --full``: every label method against binary relevance, beside published figures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cofactor.datasets import DatasetNotFoundError, LabelDataset, load_labels
from cofactor.evaluation import Search
from cofactor.experiments.demos.base import Demo, Extent, Finding, Method, Picture, Reporter, Trial
from cofactor.experiments.demos.labels import OMF_ON_MEDICAL, commands_for, made_up, write_articles
from cofactor.labels import MNMTF, MODELS, MLkNN
from cofactor.labels.data import as_labels
from cofactor.labels.decisions import micro_f1_curve
from cofactor.metrics import LABEL_METRICS
from cofactor.pages import Html, Section, paragraph, scrolling, section
from cofactor.plots import (
    plot_cooccurrence,
    plot_group_sparsity,
    plot_label_tree,
    plot_threshold_curves,
    prediction_table,
    save_figure,
)
from cofactor.plots.figures import new_panels

__all__ = ["FullLabelDemo"]

_PROTOCOL = (
    "Figures are means over five folds. Parameters and thresholds are chosen on a fifth of each training part "
    "for micro-F1; the test parts choose nothing. Dense features are standardised (from 0 to 1 before transformers), "
    "sparse ones left as they are. Seconds are those of one fit with the parameters chosen. Macro-F1 counts labels "
    "without any instance as 0."
)
_PUBLISHED = (
    "Published, below each method: Kumar's thesis, tables 5.9 and 5.10 (ten folds; BSVM beside binary relevance) and "
    "6.2 (five folds), for the same data but other folds."
)
_LEARNED = (
    "The threshold is one cut for all labels, learned on held-out training instances. It changes the measures more "
    "than the choice of the method does, so these figures must not be compared with those of a plain cut."
)
_SETS = ("emotions", "medical", "cal500")
_BASELINE = "BinaryRelevance"

#: The models of a demo, which shall take less than two minutes; `compare` takes any.
SHOWN = ("LabelRidge", "OMF", "MLCHMF", "GroPLE", "LEML", "PLST", "CPLST", "CSSP", "FAiE", "MLkNN")
_FOLDS = 5
_BASES = 0.3  #: share of the features which the paper of MNMTF takes as bases, no more than there are labels here
_MANY = 100  #: labels, from which on the largest C of the baseline takes most of the time and is never chosen
#: Which data set a picture is made of, the first of these that is there.
_GROUPED = ("cal500", "medical")
_DESCRIBED = ("emotions",)
#: Methods of the picture of thresholds, beside the best one.
_CURVES = ("OMF", "GroPLE", "MLkNN", "BinaryRelevance")
_N_INSTANCES = 5
_N_ARTICLES = 400  #: where no data set is here
_N_GROUPS = 5
_SPARSE = 40.0  #: weight of the rows of V, with which about half of them are zero on cal500


@dataclass(frozen=True)
class Example:
    """Predictions for some instances of a test part."""

    data: str
    model: str
    instances: list[dict[str, Any]]
    text: str
    html: str


class FullLabelDemo(Demo):
    """All label methods on three data sets, with a plain cut and with a learned one."""

    task, title = "labels", "cofactor demo labels"
    metrics: ClassVar[Mapping[str, str]] = {
        "hamming": "Hamming",
        "accuracy": "accuracy",
        "subset_accuracy": "subset",
        "example_f1": "ex. F1",
        "macro_f1": "macro",
        "micro_f1": "micro",
    }
    #: Kumar's thesis, ten folds (BSVM for binary relevance) and five; and the paper on OMF.
    tables = ("thesis-5.9", "thesis-5.10", "thesis-6.2", "omf-2")
    greater_is_better = frozenset(key for key in metrics if LABEL_METRICS[key].greater_is_better)
    digits = 3
    ways: ClassVar[Mapping[str, str]] = {"": "Plain cut at 0", "learned": "Learned threshold"}
    pictures = frozenset({"labels.png", "sparsity.png", "thresholds.png", "tree.png"})

    # ---------------------------------------------------------------- the comparison

    def data(self, extent: Extent, report: Reporter) -> tuple[list[Any], list[str]]:
        """Return the data sets that are here, and why others are missing; a synthetic one if none is here."""
        found: list[Any] = []
        reasons = []
        for name in _SETS:
            try:
                found.append(load_labels(name))
            except DatasetNotFoundError as error:
                reasons.append(error.missing)
        if not found:
            report.say(f"Made-up articles instead: {reasons[0]}")
            found.append(made_up(_N_ARTICLES, extent.seed))
        return found, reasons

    def methods(self, data: Any, extent: Extent) -> dict[str, Method]:
        """Return the models, and factorization of the features before ML-kNN, binary relevance last."""
        seed = extent.seed
        models: dict[str, Any] = {name: MODELS[name].paper(random_state=seed) for name in SHOWN}
        n_bases = max(1, min(data.n_labels, int(_BASES * data.n_features)))
        reduce = MNMTF(n_components=n_bases, random_state=seed)
        models["MNMTF + MLkNN"] = Pipeline([("reduce", reduce), ("mlknn", MLkNN.paper(random_state=seed))])
        models[_BASELINE] = MODELS[_BASELINE].paper(random_state=seed)
        return {name: _method(model, data, extent) for name, model in models.items()}

    def parts(self, data: Any, extent: Extent) -> list[Any]:
        """Return five folds."""
        return list(KFold(_FOLDS, shuffle=True, random_state=extent.seed).split(np.zeros(data.n_instances)))

    def notes(self, finding: Finding) -> list[str]:
        """Return how it was measured, and what was published."""
        known = [(trial.data.name, row.name) for trial in finding.trials for row in trial.rows if row.published]
        texts = [_PROTOCOL, _LEARNED]
        texts += [_PUBLISHED] if known else []
        texts += [OMF_ON_MEDICAL] if ("medical", "OMF") in known else []
        return texts

    # ---------------------------------------------------------------- examples

    def show_examples(self, finding: Finding, report: Reporter, number: int) -> None:
        """Predict for five instances."""
        report.heading(f"{number}  Predictions, pictures, report")
        trial = _first(_DESCRIBED, finding.trials)
        example = predictions(trial, best_method(trial), _N_INSTANCES)
        finding.examples = {"example": example}
        report.say(f"{example.data}, five instances of the test part, by {example.model}:")
        report.say(example.text)
        report.say("✓ found  ✗ wrong  – missed", soft=True)

    # ---------------------------------------------------------------- pictures

    def draw(self, finding: Finding, place: Path, report: Reporter) -> Iterator[Picture]:
        """Draw groups of labels, sparsity, thresholds, and a tree."""
        grouped, described = _first(_GROUPED, finding.trials), _first(_DESCRIBED, finding.trials)
        if "GroPLE" in grouped.methods:
            yield _draw_groups(grouped, place)
            yield _draw_sparsity(grouped, place)
        yield _draw_thresholds(grouped, place)
        if "MLCHMF" in described.methods:
            tree = described.row("MLCHMF").fitted.estimators_["plain"].tree_
            save_figure(plot_label_tree(tree, title=f"MLC-HMF, {described.data.name}"), place / "tree.png")
            yield Picture(
                "tree.png",
                "The tree of MLC-HMF: each node keeps the instances whose labels its embedding gets right, the others "
                "are split among its children.",
            )

    def write_data(self, finding: Finding, place: Path) -> None:
        """Write the articles that were made up."""
        trial = finding.trials[0]
        if trial.data.name == "articles":
            write_articles(trial.data, trial.parts[0], place)

    # ---------------------------------------------------------------- what is shown at the end

    def next_steps(self, finding: Finding) -> list[tuple[str, str]]:
        """Return three commands, each with what it does."""
        data = finding.trials[0].data
        if data.name == "articles":
            return commands_for(data, finding.folder)
        return [
            (
                f"cofactor fit {data.name} --threshold global --out tags.cofactor",
                "learn labels, or your own: ARFF, libsvm, MATLAB, or a table with --labels",
            ),
            (f"cofactor predict tags.cofactor {data.name} --top 3", "the three likeliest labels of each instance"),
            (f"cofactor evaluate {data.name} -m plst -m binary-relevance", "measure by cross-validation"),
        ]

    def as_json(self, finding: Finding) -> dict[str, Any]:
        """Return tables and predictions."""
        example = finding.examples["example"]
        return {
            **finding.base(),
            "tables": [self._plain_trial(trial) for trial in finding.trials],
            "missing": finding.missing,
            "example": {"data": example.data, "model": example.model, "instances": example.instances},
        }

    def _plain_trial(self, trial: Trial) -> dict[str, Any]:
        data = trial.data
        rows = [
            {
                "name": row.name,
                "plain": row.measures[""],
                "learned": row.measures["learned"],
                "seconds": row.seconds,
                "published": {key: row.published.get(key) for key in self.metrics} if row.published else None,
                "chosen": {"plain": _written(row.chosen[""]), "learned": _written(row.chosen["learned"])},
            }
            for row in trial.rows
        ]
        sizes = {
            "instances": data.n_instances,
            "features": data.n_features,
            "labels": data.n_labels,
            "cardinality": round(data.cardinality, 3),
        }
        folds = len(trial.parts)
        return {"name": data.name, "description": data.description, "sizes": sizes, "folds": folds, "rows": rows}

    def lead(self, finding: Finding) -> list[Html]:
        """Return why data sets are missing."""
        return [paragraph(reason, soft=True) for reason in finding.missing]

    def sections(self, finding: Finding) -> list[Html | Section]:
        """Return the predictions."""
        example = finding.examples["example"]
        lead = f"Five instances of the test part of {example.data}, by {example.model}."
        return [section("Predictions", paragraph(lead), scrolling(example.html, "Predictions"))]


# ---------------------------------------------------------------- methods


def _method(model: Any, data: LabelDataset, extent: Extent) -> Method:
    """Return a model with the choice of its parameters and of its threshold on a fifth of the training part."""
    inside, prefix = (model.steps[-1][1], "mlknn__") if isinstance(model, Pipeline) else (model, "")
    grid = {f"{prefix}{name}": values for name, values in inside.default_grid().items()}
    if "estimator" in grid and data.n_labels > _MANY:
        grid["estimator"] = grid["estimator"][:-1]
    search = Search(model, grid, thresholds=("plain", "global"), random_state=extent.seed)
    return Method(search, scaled_by(MinMaxScaler(clip=True) if prefix else StandardScaler()))


def scaled_by(scaler: Any) -> Callable[[LabelDataset, Any], LabelDataset]:
    """Return what scales the features of data as a training part says; sparse ones stay as they are.

    Parameters
    ----------
    scaler : transformer of scikit-learn
        Not changed.
    """

    def scaled(data: LabelDataset, train: Any) -> LabelDataset:
        if not isinstance(data.X, np.ndarray):
            return data
        return replace(data, X=clone(scaler).fit(data.X[train]).transform(data.X))

    return scaled


def best_method(trial: Trial, way: str = "") -> str:
    """Return the method with the highest micro-F1."""
    return max(trial.rows, key=lambda row: row.measures[way]["micro_f1"]).name


def _first(wanted: Sequence[str], trials: Sequence[Trial]) -> Trial:
    """Return the comparison on the first of these data sets that is there, or the first of all."""
    there = {trial.data.name: trial for trial in trials}
    return next((there[name] for name in wanted if name in there), trials[0])


def _written(parameters: dict[str, Any]) -> str:
    return ", ".join(f"{name.rpartition('__')[2]} {value}" for name, value in parameters.items())


def predictions(trial: Trial, name: str, n: int) -> Example:
    """Return what a method predicts for the first instances of the test part, beside their true labels."""
    _, test = trial.parts[0]
    X = trial.prepared(name).X[test[:n]]
    labels = as_labels(trial.row(name).fitted.estimators_["plain"].predict(X))[0]
    truth, names = trial.data.Y[test][:n], trial.data.label_names
    rows = [f"instance {k + 1}" for k in test[:n]]
    instances = [
        {
            "instance": int(k) + 1,
            "true": [names[j] for j in truth[[i]].indices],
            "predicted": [names[j] for j in labels[[i]].indices],
        }
        for i, k in enumerate(test[:n])
    ]
    text, html = (prediction_table(truth, labels, names, rows=rows, form=form) for form in ("text", "html"))
    return Example(trial.data.name, name, instances, text, html)


# ---------------------------------------------------------------- pictures


def _draw_groups(trial: Trial, place: Path) -> Picture:
    name, model = trial.data.name, trial.row("GroPLE").fitted.estimators_["plain"]
    before, after = new_panels(2, width=13)
    plot_cooccurrence(trial.data.Y, ax=before, names=trial.data.label_names, title="as they come")
    plot_cooccurrence(trial.data.Y, model.groups_, ax=after, names=trial.data.label_names, title="by group")
    save_figure(before, place / "labels.png")
    return Picture(
        "labels.png",
        f"How much labels of {name} occur together, as they come and sorted by the groups which GroPLE found: those of "
        "a group stand within a frame.",
    )


def _draw_sparsity(trial: Trial, place: Path) -> Picture:
    """Draw GroPLE fitted with few groups and a large weight of the rows of V."""
    train, _ = trial.parts[0]
    model = clone(trial.methods["GroPLE"].search.estimator).set_params(n_groups=_N_GROUPS, alpha_v=_SPARSE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sparse = model.fit(trial.prepared("GroPLE").X[train], trial.data.Y[train])
    title = f"{trial.data.name}, {_N_GROUPS} groups, λ₂ = {_SPARSE:g}"
    save_figure(plot_group_sparsity(sparse.V_, sparse.groups_, title=title), place / "sparsity.png")
    return Picture(
        "sparsity.png",
        "Which labels use which latent factor of GroPLE, as figure 6.1 of the thesis: where a row is blank, the group "
        "does without that factor. Fitted for this picture with five groups and a large weight of the rows.",
    )


def _draw_thresholds(trial: Trial, place: Path) -> Picture:
    """Draw micro-F1 of the test part along the cut for some methods, and the cuts which they had learned."""
    name, (_, test) = trial.data.name, trial.parts[0]
    truth, _, _ = as_labels(trial.data.Y[test])
    shown = [one for one in dict.fromkeys((best_method(trial, "learned"), *_CURVES)) if one in trial.methods]
    curves, cuts = {}, {}
    for method in shown:
        fitted = trial.row(method).fitted
        scores = fitted.estimators_["learned"].decision_function(trial.prepared(method).X[test])
        curves[method] = micro_f1_curve(np.asarray(scores), truth)
        cuts[method] = float(np.asarray(fitted.choices_["learned"].threshold.value))
    save_figure(plot_threshold_curves(curves, cuts, title=f"{name}, test part"), place / "thresholds.png")
    return Picture(
        "thresholds.png",
        f"Micro-F1 on the test part of {name} along the cut of the scores, for the best method and some others; the "
        "marks are the cuts which were learned on training instances.",
    )
