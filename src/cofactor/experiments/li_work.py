"""What the tables of Li's thesis measure: a method, or random predictions, on one split of CAL500.

The key of a cell holds the source of this module and of all that it imports, so no claims, pictures or published
numbers are imported here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC

from cofactor.correlation import measured, normalized_inversions
from cofactor.evaluation import SCALINGS, Search
from cofactor.experiments.label_work import label_set, rows_of
from cofactor.labels import (
    CML,
    CMLF,
    BinaryRelevance,
    ChainCRF,
    ChainCRFEnsemble,
    FeatureLabelCCA,
    KNNVote,
    LabelClustering,
    LabelPCA,
    LabelPowerset,
    TreeCRF,
)
from cofactor.metrics import label_report
from cofactor.typing import Labels

MEASURES = ("label_accuracy", "micro_f1", "macro_f1", "example_f1", "micro_mcc", "example_mcc")
"""The measures of the tables, as `cofactor.metrics.label_report` names them."""

LEARNERS: Mapping[str, BaseEstimator] = {
    "linear SVM": BinaryRelevance.paper(estimator=LinearSVC(dual=False), random_state=0),
    "logistic regression": BinaryRelevance.paper(estimator=LogisticRegression(max_iter=1000)),
    "RBF SVM": OneVsRestClassifier(SVC()),
    "kNN": KNNVote.paper(),
    "multi-class": LabelPowerset.paper(estimator=SVC(kernel="linear"), threshold="joint"),
    "CML": CML.paper(),
    "CMLF": CMLF.paper(),
    "chain": ChainCRF.paper(),
    "tree": TreeCRF.paper(),
    "clustering": LabelClustering.paper(random_state=0),
    "LabelPCA": LabelPCA.paper(),
    "FeatureLabelCCA": FeatureLabelCCA.paper(),
}
"""What learns. SVC looks at each pair of classes, as the source does; random fields predict the likeliest label set."""


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
    learner: str,
    scales: Sequence[str],
    grid: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
    columns: Sequence[int] | None = None,
    **named: Any,
) -> dict[str, Any]:
    """Measure a method on one split; normalization and parameters are chosen by five folds of the training part.

    Parameters
    ----------
    method, data, split, seed
        As in `Cell`; the data set is CAL500.
    learner : str
        Name in `LEARNERS`.
    scales : sequence of str
        Names in `SCALINGS` to choose from.
    grid : mapping
        Values of its parameters to choose from, by micro-F1.
    settings : mapping
        Its other parameters.
    columns : sequence of int, optional
        The labels, counted from 0; by default all.
    **named
        What else names the cell, such as ``variant``; not used here.

    Examples
    --------
    >>> given = {"learner": "kNN", "scales": ["L2"], "grid": {"n_neighbors": [5]}, "settings": {}}
    >>> found = learned_split("kNN", "cal500", "holdout 1/50", 0, **given)
    >>> found["chosen"], 0.8 < found["label_accuracy"] < 0.9
    ('L2, n_neighbors 5', True)
    """
    X, Y, test, truth = _parts(split, seed, columns)
    fitted, chosen = _fitted(learner, scales, grid, settings, X, Y, seed)
    return {**label_measures(truth, fitted.predict(test)), "chosen": chosen}


def _fitted(
    learner: str,
    scales: Sequence[str],
    grid: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
    X: NDArray[Any],
    Y: NDArray[Any],
    seed: int,
) -> tuple[Any, str]:
    """Return a fitted pipeline, of the steps "scale" and "learner", and what was chosen, in words."""
    model = Pipeline([("scale", SCALINGS[scales[0]]), ("learner", clone(LEARNERS[learner]))])
    model.set_params(**{f"learner__{name}": value for name, value in settings.items()})
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
    return fitted, ", ".join(words)


def chains_split(
    method: str,
    data: str,
    split: str,
    seed: int,
    *,
    n_chains: int,
    grid: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
    by: Mapping[str, str],
    **named: Any,
) -> dict[str, Any]:
    """Measure random chains of all labels on one split: their vote, the likeliest one, and how measures order them.

    Parameters
    ----------
    method, data, split, seed
        As in `Cell`; the data set is CAL500.
    n_chains : int
    grid : mapping
        Penalties to choose from, which a single random chain does, as in `learned_split`; by default the penalty is 1.
    settings : mapping
        Parameters of `ChainCRF` and `ChainCRFEnsemble`.
    by : mapping
        Names of measures in `cofactor.correlation.MEASURES`, by the names of the rows.
    **named
        What else names the cell, such as ``variant``; not used here.

    Returns
    -------
    dict
        The measures, with the row before a stroke: ``"chain ensembles/micro_f1"``. The likeliest chain has the least
        objective. ``fit_seconds`` is time of the processor for the fits of the chains.
    """
    X, Y, test, truth = _parts(split, seed)
    one, chosen = _fitted("chain", ["rescaled"], grid, settings, X, Y, seed)
    X, test = one["scale"].transform(X), one["scale"].transform(test)
    begin = time.process_time()
    vote = ChainCRFEnsemble.paper(n_chains, one["learner"].alpha, **settings).fit(X, Y)
    found: dict[str, Any] = {"fit_seconds": time.process_time() - begin, "chosen": chosen}
    return found | _chain_measures(vote, X, Y, test, truth, by)


def _chain_measures(
    vote: ChainCRFEnsemble, X: NDArray[Any], Y: NDArray[Any], test: NDArray[Any], truth: Labels, by: Mapping[str, str]
) -> dict[str, float]:
    """Return what `chains_split` measures of fitted chains, which know the labels that vary in training alone."""
    found: dict[str, float] = {}
    varying = np.flatnonzero(vote.constant_ == 0)
    likelihoods = [-chain.objective_ for chain in vote.models_]
    voted, best = vote.predict(test), vote.models_[int(np.argmax(likelihoods))]
    likeliest = voted.copy()
    likeliest[:, varying] = best.predict(test).toarray()
    predicted = {
        ("sampled ML chain", ""): likeliest,
        ("chain ensembles", ""): voted,
        ("chain ensembles", "marginals:"): vote.predict_proba(test) > 0.5,
    }
    for (row, before), labels in predicted.items():
        found |= {f"{row}/{before}{name}": value for name, value in label_measures(truth, labels).items()}
    for row, measure in by.items():
        table = measured(measure, X, Y[:, varying])
        weights = [float(table[tuple(chain.edges().T)].sum()) for chain in vote.models_]
        found[f"{row}/normalized_inversions"] = normalized_inversions(weights, likelihoods)
    return found


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
