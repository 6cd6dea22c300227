"""What label experiments measure: a method on a split, its plain cut and its learned threshold apart; groups of labels.

The key of a cell holds the source of this module and of all that it imports, so no claims, pictures or published
numbers are imported here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.decomposition import NMF
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import PredefinedSplit, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from cofactor.datasets import LabelDataset, load_labels
from cofactor.errors import InvalidInputError
from cofactor.evaluation import Search
from cofactor.evaluation.labels import evaluate_labels
from cofactor.labels import MODELS, TRANSFORMERS
from cofactor.model.named_splits import splitter_of

STEPS: dict[str, type[BaseEstimator]] = {kind.__name__: kind for kind in (StandardScaler, Normalizer, NMF)}
STEPS |= TRANSFORMERS
"""What may prepare the features, fitted to the training part alone."""

LEARNERS: dict[str, type[BaseEstimator]] = {kind.__name__: kind for kind in (LinearSVC, LogisticRegression, Ridge)}
"""What may be fitted to each label by `BinaryRelevance`."""


@lru_cache(maxsize=4)
def label_set(name: str, aligned: str | None = None) -> LabelDataset:
    """Return a data set of the registry, loaded once; `aligned` as `cofactor.datasets.load_labels` has it.

    The samples of rcv1 are the subsets without all but 944 features, in another order of the rows: they too can be
    ``"realigned"``, in the order of the subset.

    Examples
    --------
    >>> label_set("emotions")
    LabelDataset('emotions': 593 instances, 72 features, 6 labels, 1.868 labels per instance, dense)
    """
    source = source_of(name, aligned)
    loaded = load_labels(source, aligned=aligned)  # type: ignore[arg-type]
    return loaded if source == name else _heaviest_words(loaded)


def source_of(name: str, aligned: str | None = None) -> str:
    """Return the name of the data set whose files are read.

    Examples
    --------
    >>> source_of("rcv1-sample2", "realigned"), source_of("rcv1-sample2", "published")
    ('rcv1subset2', 'rcv1-sample2')
    """
    return name.replace("-sample", "subset") if name.startswith("rcv1-sample") and aligned == "realigned" else name


def _heaviest_words(data: LabelDataset, n: int = 944) -> LabelDataset:
    """Return a text data set with the features of the largest sums alone, in 0 and 1.

    With the 944 heaviest columns as published, labels among them, the rows of the samples 1 to 3 of rcv1 are those of
    the subsets.
    """
    weights = np.asarray(data.X.sum(axis=0)).ravel()
    kept = np.sort(np.argsort(-weights, kind="stable")[:n])
    return replace(
        data, X=(data.X[:, kept] != 0).astype(np.float64), feature_names=tuple(data.feature_names[j] for j in kept)
    )


def folds(n: int, count: int | None = None) -> list[str]:
    """Return the names of the first splits of n-fold cross-validation.

    Examples
    --------
    >>> folds(10, 3)
    ['kfold 1/10', 'kfold 2/10', 'kfold 3/10']
    """
    return [f"kfold {k + 1}/{n}" for k in range(n if count is None else count)]


def rows_of(split: str, seed: int, data: LabelDataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return training and test rows of a split.

    Parameters
    ----------
    split : str
        ``"kfold 3/10"``: the third of ten shuffled folds; ``"holdout 2/0.1"``: the second draw of a test part of
        a tenth, or of ``"2/50"`` rows; ``"official"``: the split that comes with the data; ``"seen 3/10"``: the
        training rows of ``"kfold 3/10"``, also as test rows.
    seed : int
        Of the folds and the draws.
    data : LabelDataset
        Whose rows.

    Examples
    --------
    >>> train, test = rows_of("kfold 1/10", 0, label_set("emotions"))
    >>> len(train), len(test)
    (533, 60)
    """
    if split == "official":
        official = splitter_of("official", "labels", train_rows=data.train_rows, data=repr(data.name), argument="split")
        ((train, test),) = official.split(data.Y)
        return train, test
    named = re.fullmatch(r"(kfold|seen) (\d+)/(\d+)|(holdout) (\d+)/(0?\.\d+|[1-9]\d*)", split)
    if not named:
        raise InvalidInputError(
            "expected 'kfold 3/10', 'seen 3/10', 'holdout 2/0.1' or 'official'", argument="split", found=split
        )
    kind, k, size = (part for part in named.groups() if part)
    if kind == "holdout":
        test_size = float(size) if "." in size else int(size)
        # Not the "holdout" of `splitter_of`, which sorts its rows: published figures come of rows in the order drawn.
        parts = ShuffleSplit(int(k), test_size=test_size, random_state=seed)
    else:
        parts = splitter_of("kfold", "labels", n_splits=int(size), random_state=seed, n_rows=data.n_instances)
    train, test = list(parts.split(data.Y))[int(k) - 1]
    return train, (train if kind == "seen" else test)


def model_of(
    model: str, settings: Mapping[str, Any], steps: Sequence[tuple[str, Mapping[str, Any]]] = (), seed: int = 0
) -> Any:
    """Return an estimator that is described in JSON: a model of `cofactor.labels`, after what prepares its features.

    Parameters
    ----------
    model : str
        Its class name.
    settings : mapping
        Its parameters; the learner of `BinaryRelevance` by its class name in `LEARNERS`.
    steps : sequence of (str, mapping)
        Class names in `STEPS` with parameters, in order.
    seed : int
        For whatever has a ``random_state``.

    Examples
    --------
    >>> model_of("BinaryRelevance", {"estimator": "LinearSVC", "estimator__C": 0.1}).estimator
    LinearSVC(C=0.1)
    >>> [name for name, _ in model_of("MLkNN", {"n_neighbors": 5}, [("StandardScaler", {})]).steps]
    ['standardscaler', 'mlknn']
    """
    known = dict(settings)
    if model == "BinaryRelevance" and "estimator" in known:
        known["estimator"] = LEARNERS[known["estimator"]]()
    parts = [_seeded(STEPS[name](), seed).set_params(**given) for name, given in steps]
    last = _seeded(MODELS[model].paper(), seed).set_params(**known)
    return make_pipeline(*parts, last) if parts else last


def label_fold(
    method: str,
    data: str,
    split: str,
    seed: int = 0,
    *,
    model: str = "",
    settings: Mapping[str, Any] | None = None,
    steps: Sequence[tuple[str, Mapping[str, Any]]] = (),
    grid: Mapping[str, Sequence[Any]] | None = None,
    prediction_grid: Mapping[str, Sequence[Any]] | None = None,
    thresholds: Sequence[str] = ("plain",),
    metric: str = "micro_f1",
    validation: Any = 0.2,
    aligned: str | None = None,
    share: float = 1.0,
    ranking: bool = False,
    empty: Literal[0, 1] = 1,
    **named: Any,
) -> dict[str, Any]:
    """Measure a label model on one split.

    Parameters
    ----------
    method, data, split, seed
        As in `Cell`; see `rows_of` for the splits.
    model : str
        Class name in `cofactor.labels.MODELS` where it is not the name of the method.
    settings, steps
        As in `model_of`.
    grid, prediction_grid, thresholds, metric, validation
        Of `Search`, which chooses within the training part; names of parameters are those of the model.
        Without a grid and without a threshold to learn the model is fitted as it is.
    aligned : {"published", "realigned"}, optional
        For rcv1, see `label_set`.
    share : float, default=1.0
        Share of the training rows that is used, the first ones of a random order.
    ranking : bool, default=False
        Whether to add the ranking measures.
    empty : {0, 1}, default=1
        What counts for an instance without labels where none is predicted, in accuracy and example-based F1.
    **named
        What else names the cell, such as ``protocol`` and ``variant``; not used here.

    Returns
    -------
    dict
        The measures of `cofactor.metrics.label_report` by their names for the plain cut, and by names such as
        ``"learned:micro_f1"`` for the learned threshold; ``chosen`` and ``learned:chosen`` hold the parameters that
        were chosen, ``fit_seconds`` includes the choice.

    Examples
    --------
    >>> measures = label_fold("MLkNN", "emotions", "kfold 1/10")
    >>> round(measures["hamming"], 3), measures["n_train"]
    (0.236, 533)
    """
    loaded = label_set(data, aligned)
    train, test = rows_of(split, seed, loaded)
    if share < 1:
        train = np.random.default_rng(seed).permutation(train)[: round(share * len(train))]
    rows = np.concatenate([train, test])
    parts = PredefinedSplit(np.repeat([-1, 0], [len(train), len(test)]))
    estimator = model_of(model or method, settings or {}, steps, seed)
    if grid or prediction_grid or tuple(thresholds) != ("plain",):
        prefix = f"{(model or method).lower()}__" if steps else ""
        estimator = Search(
            estimator,
            {prefix + name: values for name, values in (grid or {}).items()},
            prediction_grid={prefix + name: values for name, values in (prediction_grid or {}).items()},
            thresholds=tuple(thresholds),
            metric=metric,
            validation=validation,
            random_state=seed,
        )
    measured = evaluate_labels(estimator, loaded.X[rows], loaded.Y[rows], parts, ranking=ranking, empty=empty)
    return {name: value for row in measured for name, value in _named(row).items()}


def _seeded(estimator: BaseEstimator, seed: int) -> BaseEstimator:
    return estimator.set_params(random_state=seed) if "random_state" in estimator.get_params() else estimator


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measures of one way of decoding; its name goes before them unless it is the plain cut."""
    sizes = {name: row[name] for name in ("n_train", "n_test", "fit_seconds", "predict_seconds")}
    kept = {name: value for name, value in row.items() if name not in sizes and isinstance(value, Real)}
    kept.pop("fold")
    chosen = {name.rpartition("__")[2]: value for name, value in row["parameters"].items()}
    before = "" if row["decoding"] == "plain" else f"{row['decoding']}:"
    described = {"chosen": ", ".join(f"{name} {value}" for name, value in sorted(chosen.items()))}
    return {f"{before}{name}": value for name, value in {**kept, **described}.items()} | sizes


# ---------------------------------------------------------------- groups of labels


def group_sparsity(
    method: str, data: str, split: str, seed: int, *, alpha_u: float, alpha_v: float, n_groups: int
) -> dict[str, Any]:
    """Embed the labels of a whole data set; return V and how sparse it is, group by group.

    Returns
    -------
    dict
        ``V`` and ``groups`` for the picture; ``zero_rows``, the share of (group, factor) pairs with a zero row of V;
        ``within`` and ``between``, the mean overlap (Jaccard index) of the factors that two labels of one group use,
        and two of different groups.

    Examples
    --------
    >>> found = group_sparsity("GroPLE", "emotions", "all", 0, alpha_u=1.0, alpha_v=30.0, n_groups=2)
    >>> found["within"] > found["between"], len(found["groups"])
    (True, 6)
    """
    Y = label_set(data).Y
    model = MODELS[method].paper(n_groups=n_groups, alpha_u=alpha_u, alpha_v=alpha_v, tol=1e-5, random_state=seed)
    model.fit(np.zeros((Y.shape[0], 1)), Y)  # V depends on the labels alone
    groups = model.groups_[model.groups_ >= 0]
    used = (model.V_ != 0).astype(float)
    common = used.T @ used
    overlap = common / np.maximum(np.diag(common)[:, None] + np.diag(common) - common, 1)
    same = groups[:, None] == groups
    return {
        "zero_rows": float(np.mean(model.group_sparsity_ == 0)),
        "within": float(overlap[same & ~np.eye(len(groups), dtype=bool)].mean()),
        "between": float(overlap[~same].mean()),
        "factors": int(model.V_.shape[0]),
        "V": model.V_.tolist(),
        "groups": groups.tolist(),
    }
