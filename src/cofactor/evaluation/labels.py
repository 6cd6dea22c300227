"""Measure a label model by k-fold cross-validation, its plain cut and its learned threshold apart.

A learned threshold changes F1 more than the choice of method does, so figures with and without one are not
comparable. From one fit both are measured: the scores of the test rows are cut at 0, and
labels are predicted as the model itself does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length

from cofactor.checks import AUTO, check_jobs
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.evaluation.keys import plain_value
from cofactor.labels.data import is_dataset
from cofactor.metrics.labels import label_report
from cofactor.metrics.ranking import Undefined
from cofactor.metrics.tables import split_unknown
from cofactor.model.named_splits import splitter_of
from cofactor.model.splits import Parts
from cofactor.typing import LABEL_DTYPE, Features, Labels, RandomState


def evaluate_labels(
    model: Any,
    X: Features,
    Y: Labels | None = None,
    splitter: Any = 10,
    *,
    random_state: RandomState = 0,
    ranking: bool = True,
    undefined: Undefined = 0,
    empty: Undefined = 1,
    n_jobs: int | None = None,
) -> list[dict[str, Any]]:
    """Fit a fresh copy of a model on the training part of each fold and measure it on the test part.

    Parameters
    ----------
    model : estimator
        With ``fit(X, Y)`` and ``predict(X)``: a label model, a scikit-learn ``Pipeline`` or multi-label classifier, or
        `Search`, which chooses parameters inside each training part. It is cloned,
        and not changed. Where Y is sparse, estimators get it as an array unless they have, as all label models do, an
        attribute ``takes_sparse_labels`` that is true.
    X : array, sparse matrix or frame of shape (n, D), or LabelDataset
        Features; or, without Y, a data set, whose labels are NaN where they are not known.
    Y : array, sparse matrix or frame of shape (n, L)
        Labels: booleans, 0 and 1, or -1 and 1; NaN where a label is not known.
    splitter : int or splitter, default=10
        Number of shuffled folds, or an object with ``split(X, y)`` of scikit-learn's kind, which brings its own
        settings: ``PredefinedSplit`` for a published split, `StratifiedLabelKFold` for equal shares of labels.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds where `splitter` is a number. The model has its own.
    ranking : bool, default=True
        Whether to add the ranking measures where the model has a ``decision_function``, and those of probabilities
        where it has a ``predict_proba`` which returns one for each label.
    undefined, empty : {0, 1, "skip"}, default=0 and 1
        Conventions of `cofactor.metrics.label_report`.
    n_jobs : int, optional
        Number of folds at a time, in threads, as joblib understands it. Seconds mean little with more than one.

    Returns
    -------
    list of dict
        One for each fold and decoding, see `decodings`: ``fold`` (from 0), ``decoding``, the measures of
        `cofactor.metrics.label_report`, ``n_train``, ``n_test``, ``fit_seconds`` (selection included; the same for
        all decodings of a fold), ``predict_seconds``, ``left_out``, ``parameters`` (those a selection chose, else
        empty), and ``threshold`` (the cut, or number of labels; None for one cut per label, or where the model has
        none). Labels of which a training part knows nothing (NaN) are left out of this fold, for all models alike: they
        are not learned, and no measure counts them; ``left_out`` has their names, or positions.

    Raises
    ------
    ValueError
        If X and Y differ in length, or cannot be split that way.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> X, Y = make_multilabel_classification(60, random_state=0)
    >>> results = evaluate_labels(RidgeClassifier(), X, Y, splitter=3)
    >>> [(row["fold"], row["decoding"], row["n_test"]) for row in results]
    [(0, 'plain', 20), (1, 'plain', 20), (2, 'plain', 20)]
    """
    check_jobs("n_jobs", n_jobs)
    if is_dataset(X):
        if Y is not None:
            advice = "a number of folds, or a splitter, is splitter=..."
            raise InvalidInputError("X is a data set, which brings its labels", argument="Y", advice=advice)
        X, Y = cast(Any, X).X, cast(Any, X).targets
    if Y is None:
        raise InvalidInputError("Y is missing", argument="Y", advice="give the labels, or a label data set as X")
    check_consistent_length(X, Y)
    if isinstance(splitter, int | np.integer):
        splitter = splitter_of(
            "kfold", "labels", n_splits=int(splitter), random_state=random_state, n_rows=_n_rows(X), argument="splitter"
        )
    if isinstance(splitter, str) or not hasattr(splitter, "split"):
        raise InvalidTypeError(
            f"splitter must be a number of folds or an object with split(X), found {splitter!r}", argument="splitter"
        )
    folds = enumerate(splitter.split(np.zeros(_n_rows(X)), Y))
    options = {"ranking": ranking, "undefined": undefined, "empty": empty}
    tasks = (
        delayed(measure_labels)(model, X, Y, fold, train, test, decodings, options) for fold, (train, test) in folds
    )
    return [row for rows in Parallel(n_jobs=n_jobs, prefer="threads")(tasks) for row in rows]


def decodings(model: Any, X: Features) -> Iterator[tuple[str, Any, Any]]:
    """Yield each way in which a fitted model turns scores into labels: its name, labels, and scores or None.

    =========  ======================================================================================
    "plain"    labels whose score is positive; what ``predict`` returns where the threshold is 0, or
               the model has none
    "learned"  what ``predict`` returns where the threshold is learned
    "joint"    what ``predict`` returns where the model decodes label sets by itself
    "given"    what ``predict`` returns where the threshold is another number
    "auto"     what ``predict`` returns where the threshold is "auto": decisions by calibrated probabilities, alone
    =========  ======================================================================================

    A model with a method ``decodings(X)`` answers itself, such as a `Search`, whose parameters may differ between the
    two. Where a search leaves the cut to the model that it chose, its only way is called "own".

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array, sparse matrix or frame of shape (n, D)
        Features.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> [(name, labels.tolist()) for name, labels, scores in decodings(model, [[0.1]])]
    [('plain', [[1, 0]])]
    """
    if hasattr(model, "decodings"):
        yield from model.decodings(X)
        return
    scores = model.decision_function(X) if hasattr(model, "decision_function") else None
    threshold = threshold_of(model)
    if threshold == AUTO:
        yield AUTO, model.predict(X), scores
    elif isinstance(threshold, str) or threshold != 0:
        if scores is not None:
            yield "plain", np.asarray(scores) > 0, scores
        named = "joint" if threshold == "joint" else "learned" if isinstance(threshold, str) else "given"
        yield named, model.predict(X), scores
    else:
        yield "plain", model.predict(X), scores


def own_decoding(model: Any, X: Features) -> Iterator[tuple[str, Any, Any]]:
    """Yield of the `decodings` of a model the one by which it predicts.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> [(name, labels.tolist()) for name, labels, scores in own_decoding(model, [[0.1]])]
    [('plain', [[1, 0]])]
    """
    ways = {name: (labels, scores) for name, labels, scores in decodings(model, X)}
    own = getattr(model, "best_", list(ways)[-1])
    yield own, *ways[own]


def threshold_of(model: Any) -> Any:
    """Return the parameter ``threshold`` of a model, or of the last step of a pipeline; 0 without one.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> threshold_of(RidgeClassifier())
    0
    """
    return getattr(_last_step(model), "threshold", 0)


def fold_means(rows: Iterable[Mapping[str, Any]], by: str = "decoding") -> dict[str, dict[str, tuple[float, float]]]:
    """Return mean and sample standard deviation over folds of every number.

    Parameters
    ----------
    rows : iterable of dict
        Result of `evaluate_labels`; of several models or data sets if each row says which.
    by : str, default="decoding"
        Key whose values are kept apart.

    Returns
    -------
    dict of dict
        For each value of `by`, in the order of appearance, (mean, standard deviation) of each measure; the
        deviation of a single fold is 0.

    Examples
    --------
    >>> rows = [{"fold": k, "decoding": "plain", "micro_f1": value} for k, value in enumerate([0.5, 0.7])]
    >>> fold_means(rows)["plain"]["micro_f1"]
    (0.6, 0.14142135623730948)
    """
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(str(row[by]), []).append(row)
    return {name: _means(group) for name, group in groups.items()}


def _means(rows: list[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return mean and deviation of the numbers which all rows have."""
    kept = [
        key
        for key in rows[0]
        if key != "fold" and all(isinstance(row.get(key), float | int | np.number) for row in rows)
    ]
    columns = {key: np.array([row[key] for row in rows], dtype=float) for key in kept}
    return {
        key: (float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0)
        for key, values in columns.items()
    }


def measure_labels(
    model: Any,
    X: Any,
    Y: Any,
    fold: int,
    train: NDArray[Any],
    test: NDArray[Any],
    ways: Callable[[Any, Any], Iterable[tuple[str, Any, Any]]],
    options: Mapping[str, Any],
    keep: Callable[[Any], object] | None = None,
    label_names: Sequence[Any] | None = None,
) -> list[dict[str, Any]]:
    """Fit a copy of a model and measure it: a row for each of its ways to turn scores into labels.

    `keep` is called with the copy when it is fitted. A label model may have names of labels, and X may be a
    `LabelDataset`: then messages have the names of the data.
    """
    Y = np.asarray(Y) if isinstance(Y, list | tuple) else Y
    taught, truth, features = _safe_indexing(Y, train), _safe_indexing(Y, test), _rows(X, test)
    names = label_names if label_names is not None else getattr(Y, "columns", range(taught.shape[1]))
    left_out = unknown_labels(taught)
    if len(left_out):
        kept = np.delete(np.arange(taught.shape[1]), left_out)
        taught, truth = (_safe_indexing(table, kept, axis=1) for table in (taught, truth))
        label_names = None if label_names is None else [label_names[k] for k in kept]
    named = {} if label_names is None else {"label_names": label_names}
    began = time.perf_counter()
    fitted = clone(model).fit(_rows(X, train), _labels_for(model, taught), **named)
    fit_seconds = time.perf_counter() - began
    if keep is not None:
        keep(fitted)
    began = time.perf_counter()
    fitted.predict(features)
    predict_seconds = time.perf_counter() - began
    rows = []
    for name, labels, scores in ways(fitted, features):
        report = label_report(
            truth,
            labels,
            scores if options["ranking"] else None,
            _probabilities(fitted, name, features, labels.shape) if options["ranking"] else None,
            undefined=options["undefined"],
            empty=options["empty"],
        )
        rows.append(
            {
                "fold": fold,
                "decoding": name,
                **report,
                "n_train": len(train),
                "n_test": len(test),
                "fit_seconds": fit_seconds,
                "predict_seconds": predict_seconds,
                "left_out": [list(names)[k] for k in left_out],
                **_chosen(fitted, name),
            }
        )
    return rows


def unknown_labels(Y: Any) -> NDArray[np.int64]:
    """Return the positions of labels of which a training part knows nothing (NaN): no model can learn them.

    None are, if nothing is known of all of them: then the model says what is wrong.

    Examples
    --------
    >>> unknown_labels([[1.0, np.nan], [0.0, np.nan]])
    array([1])
    """
    _, known = split_unknown(Y)
    return np.flatnonzero(~known.any(axis=0)) if known is not None and known.any() else np.zeros(0, dtype=np.int64)


def _rows(X: Any, rows: NDArray[Any]) -> Any:
    """Return some instances of features, or of a data set."""
    return X.take(rows) if hasattr(X, "targets") else _safe_indexing(X, rows)


def label_measures(model: Any, X: Any, Y: Any, parts: Parts) -> dict[str, Any]:
    """Fit a label model on one split, and measure what it predicts.

    Parameters
    ----------
    model : estimator
        Cloned, and not changed.
    X, Y
        Features and labels.
    parts : tuple
        Rows for training and test, with None between them.
    """
    train, _, test = parts
    options = {"ranking": True, "undefined": 0, "empty": 1}
    (row,) = measure_labels(model, X, Y, 0, train, test, own_decoding, options)
    del row["fold"]
    return row | {"parameters": plain_value(row["parameters"])}


def _probabilities(fitted: Any, decoding: str, X: Any, shape: tuple[int, ...]) -> Any:
    """Return probabilities of labels by the model behind a decoding; None if it has none of this shape."""
    model = fitted.estimators_[decoding] if hasattr(fitted, "choices_") else fitted
    if not hasattr(model, "predict_proba"):
        return None
    chances = model.predict_proba(X)
    return chances if isinstance(chances, np.ndarray) and chances.shape == shape else None


def _chosen(fitted: Any, decoding: str) -> dict[str, Any]:
    """Return the parameters which a selection chose for a decoding, and the cut."""
    choices = getattr(fitted, "choices_", None)
    if choices is not None:
        choice, chosen = choices[decoding], fitted.estimators_[decoding]
        cut = getattr(_last_step(chosen), "threshold_", None) if choice.threshold is None else choice.threshold.value
        return {"parameters": dict(choice.parameters), "threshold": _number(cut)}
    cut = 0.0 if decoding == "plain" else _number(getattr(_last_step(fitted), "threshold_", None))
    return {"parameters": dict(getattr(fitted, "best_params_", {})), "threshold": cut}


def _number(value: Any) -> float | None:
    return None if value is None or np.ndim(value) else float(value)


def _last_step(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _labels_for(model: Any, Y: Any) -> Any:
    """Return labels in a form that an estimator takes.

    Most of scikit-learn's refuse sparse labels, or misread them, and number labels in the dtype of the labels: beyond
    127 of them in int8 they are mixed up without a word.
    """
    if _takes_sparse(model):
        return Y
    table = cast(Any, Y).toarray() if sparse.issparse(Y) else Y
    narrow = isinstance(table, np.ndarray) and table.dtype.kind in "iu"
    return table.astype(np.promote_types(table.dtype, LABEL_DTYPE), copy=False) if narrow else table


def _takes_sparse(model: Any) -> bool:
    """Whether an estimator, or what a pipeline or search passes its labels to, says that they may be sparse."""
    if getattr(model, "takes_sparse_labels", False):
        return True
    last = _last_step(model)
    inner = last if last is not model else getattr(model, "estimator", None)
    return inner is not None and _takes_sparse(inner)


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
