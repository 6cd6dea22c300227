"""What the tables of Li's thesis measure: a method, or random predictions, on one split of CAL500.

The key of a cell holds the source of this module and of all that it imports, so no claims, pictures or published
numbers are imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC

from cofactor.evaluation import SCALINGS, Search
from cofactor.experiments.base.label_work import label_set, rows_of
from cofactor.labels import BinaryRelevance, FeatureLabelCCA, LabelClustering, LabelPCA, LabelPowerset
from cofactor.metrics import label_report
from cofactor.typing import Labels

__all__ = ["GRIDS", "LEARNERS", "MEASURES", "label_measures", "learned_split", "random_split"]

MEASURES = ("label_accuracy", "micro_f1", "macro_f1", "example_f1", "micro_mcc", "example_mcc")
"""The measures of the tables, as `cofactor.metrics.label_report` names them."""

LEARNERS: Mapping[str, BaseEstimator] = {
    "BinaryRelevance (linear SVM)": BinaryRelevance.paper(estimator=LinearSVC(dual=False), random_state=0),
    "BinaryRelevance (logistic regression)": BinaryRelevance.paper(estimator=LogisticRegression(max_iter=1000)),
    "RBF SVM": OneVsRestClassifier(SVC()),
    "kNN": KNeighborsClassifier(),
    "multi-class": LabelPowerset.paper(random_state=0),
    "PLST": LabelPCA.paper(),
    "feature/label CCA": FeatureLabelCCA.paper(),
    "label clustering": LabelClustering.paper(random_state=0),
}
"""What stands behind the names of the tables; label PCA is `PLST` with unpenalized regression."""

GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "BinaryRelevance (linear SVM)": {"estimator__C": [0.01, 0.1, 1.0]},
    "BinaryRelevance (logistic regression)": {"estimator__C": [0.1, 1.0, 10.0]},
    "RBF SVM": {"estimator__C": [10.0], "estimator__gamma": [0.01, 0.1]},
    "kNN": {"n_neighbors": [1, 3, 5, 7, 9, 15, 25]},
    "multi-class": {"estimator__C": [0.01, 0.1, 1.0]},
    "PLST": {},
    "feature/label CCA": {},
}


def label_measures(truth: Labels, predicted: Labels) -> dict[str, float]:
    """Return the six measures of the tables.

    Macro-F1 leaves out labels with neither positives nor predictions, and a correlation whose denominator is 0 is 0, as
    the thesis has it.

    Examples
    --------
    >>> found = label_measures([[1, 0, 1], [0, 0, 1]], [[1, 0, 0], [0, 0, 1]])
    >>> {name: round(value, 3) for name, value in found.items()}  # doctest: +NORMALIZE_WHITESPACE
    {'label_accuracy': 0.833, 'micro_f1': 0.8, 'macro_f1': 0.833, 'example_f1': 0.833, 'micro_mcc': 0.707,
     'example_mcc': 0.75}
    """
    report = label_report(truth, predicted, undefined="skip")
    return {name: report[name] for name in MEASURES}


def _parts(split: str, seed: int, columns: Sequence[int] | None = None) -> tuple[NDArray[Any], ...]:
    """Return features and labels of the training and of the test part of CAL500."""
    data = label_set("cal500")
    Y = data.Y.toarray().astype(int)
    Y = Y if columns is None else Y[:, list(columns)]
    train, test = rows_of(split, seed, data)
    return data.X[train], Y[train], data.X[test], Y[test]


def learned_split(
    method: str,
    data: str,
    split: str,
    seed: int,
    *,
    scales: Sequence[str],
    grid: Mapping[str, Sequence[Any]],
    learner: str = "",
    settings: Mapping[str, Any] | None = None,
    columns: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Measure a method on one split; normalization and parameters are chosen by five folds of the training part.

    Parameters
    ----------
    method, data, split, seed
        As in `Cell`; the data set is CAL500.
    scales : sequence of str
        Names in `SCALINGS` to choose from.
    grid : mapping
        Values to choose from, by micro-F1.
    learner : str
        Name in `LEARNERS` where it is not the name of the method.
    settings : mapping
        Its parameters.
    columns : sequence of int, optional
        The labels, counted from 0; by default all.

    Examples
    --------
    >>> found = learned_split("kNN", "cal500", "holdout 1/50", 0, scales=["L2"], grid={"n_neighbors": [5]})
    >>> found["chosen"], 0.8 < found["label_accuracy"] < 0.9
    ('L2, n_neighbors 5', True)
    """
    X, Y, test, truth = _parts(split, seed, columns)
    model = Pipeline([("scale", SCALINGS[scales[0]]), ("learner", LEARNERS[learner or method])])
    model.set_params(**{f"learner__{name}": value for name, value in (settings or {}).items()})
    choices: dict[str, Any] = {f"learner__{name}": values for name, values in grid.items()}
    choices["scale"] = [SCALINGS[name] for name in scales]
    if any(len(values) > 1 for values in choices.values()):
        selection = Search(model, choices, metric="micro_f1", validation=5, random_state=seed).fit(X, Y)
        fitted, chosen = selection.best_estimator_, selection.best_params_
    else:
        chosen = {name: values[0] for name, values in choices.items()}
        fitted = model.set_params(**chosen).fit(X, Y)
    words = [next(name for name in scales if SCALINGS[name] is chosen["scale"])]
    words += [f"{name.removeprefix('learner__')} {chosen[name]}" for name in sorted(chosen) if name != "scale"]
    return {**label_measures(truth, fitted.predict(test)), "chosen": ", ".join(words)}


def random_split(method: str, data: str, split: str, seed: int, *, rate: float | None) -> dict[str, float]:
    """Measure random predictions on the test part of a split.

    Parameters
    ----------
    method, data, split, seed
        As in `Cell`; the data set is CAL500.
    rate : float or None
        Probability of each label; None: how often it occurs in training.

    Returns
    -------
    dict
        The measures, and the accuracy per label which these probabilities have on average.

    Examples
    --------
    >>> found = random_split("random (1)", "cal500", "holdout 1/50", 0, rate=1.0)
    >>> round(found["label_accuracy"], 4), round(found["expected_label_accuracy"], 4), found["micro_mcc"]
    (0.154, 0.154, 0.0)
    """
    _, Y, _, truth = _parts(split, seed)
    probability = Y.mean(axis=0) if rate is None else np.full(Y.shape[1], rate)
    generator = np.random.default_rng([seed, *split.encode()])
    predicted = generator.random(truth.shape) < probability
    expected = np.where(truth, probability, 1 - probability).mean()
    return {**label_measures(truth, predicted), "expected_label_accuracy": float(expected)}
