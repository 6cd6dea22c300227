"""Choice of parameters and thresholds on held-out training instances."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, ParameterGrid, ShuffleSplit
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.base import LabelModel, label_tags
from cofactor.labels.data import as_features, as_labels
from cofactor.labels.decoding import RULES, Cut, Decoder, learn_threshold
from cofactor.labels.embedding.code import CodeModel
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.transformation.binary_relevance import BinaryRelevance
from cofactor.metrics.labels import LABEL_METRICS, LabelMetric, micro_f1
from cofactor.model.checks import make_generator
from cofactor.model.convergence import NothingPredictedWarning

__all__ = ["Choice", "GridSelection", "select_parameters"]

Split = tuple[NDArray[np.int64], NDArray[np.int64]]
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


@dataclass(frozen=True)
class Choice:
    """Parameters and a cut of the scores, with what they reached on held-out instances.

    Attributes
    ----------
    parameters : dict
        A cell of the grid.
    rule : str
        "plain", or the rule by which the threshold was learned.
    threshold : Decoder
        The cut; learned on the same held-out instances.
    value : float
        The metric on them.
    seconds : float
        Time to fit the cell, on all splits together.
    """

    parameters: dict[str, Any]
    rule: str
    threshold: Decoder
    value: float
    seconds: float


def select_parameters(
    estimator: Any,
    X: Any,
    Y: Any,
    grid: Grid,
    *,
    metric: str | LabelMetric = "micro_f1",
    prediction_grid: Grid | None = None,
    thresholds: Sequence[str] = ("plain",),
    validation: Any = 0.2,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> list[Choice]:
    r"""Measure every cell of a grid on held-out instances, with every threshold rule.

    For each cell g the model is fitted to the training part of each split, without a threshold of its own, and scores
    the held-out part. The scores of all splits together are cut: at 0 ("plain"), or where
    `cofactor.labels.learn_threshold` puts the cut on these scores. So a threshold costs no further fit; its value is
    slightly optimistic, in all cells alike.

    Parameters
    ----------
    estimator : LabelModel, Pipeline or scikit-learn classifier
        Not changed. Rules other than "plain" need a ``decision_function``.
    X : array, sparse matrix or frame of shape (n, D)
        Features. Where the model regresses on them, all cells share one `FeatureSpace` for each split.
    Y : array, sparse matrix or frame of shape (n, L)
        Labels: booleans, 0 and 1, or -1 and 1.
    grid : dict of str to list, or a list of such dicts
        Values to try, as for scikit-learn's ``ParameterGrid``; ``{}`` for a single cell.
    metric : str or LabelMetric, default="micro_f1"
        A name in `cofactor.metrics.LABEL_METRICS`.
    prediction_grid : dict of str to list, or a list of such dicts, optional
        Values of parameters that only matter to predictions, such as ``alpha_predict`` of `OMF`: every cell is fitted
        once, and scored with each.
    thresholds : sequence of str, default=("plain",)
        Some of "plain", "global", "per-label", "top-k", "cardinality".
    validation : float, int or splitter, default=0.2
        Share of instances held out, number of folds, or an object with ``split(X)``.
    n_jobs : int, optional
        Number of cells at a time, in threads, as joblib understands it.
    random_state : int, RandomState or Generator, default=0
        Seed of the split. The estimator has its own.

    Returns
    -------
    list of Choice
        One for each cell, prediction setting and rule, the best first; equally good ones in the order of `thresholds`
        and of the grid.

    Raises
    ------
    ValueError
        If a rule or the metric is unknown, or nothing is held out.
    TypeError
        If a rule needs scores and the estimator has none.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from cofactor.labels import PLST
    >>> X, Y = make_multilabel_classification(200, random_state=0)
    >>> choices = select_parameters(PLST(n_components=1.0), X, Y, {"alpha": [1, 1e6]}, thresholds=("plain", "global"))
    >>> [(choice.parameters["alpha"], choice.rule) for choice in choices]
    [(1, 'global'), (1, 'plain'), (1000000.0, 'global'), (1000000.0, 'plain')]
    """
    measure = _checked_metric(metric)
    rules = _checked_rules(thresholds, estimator)
    check_consistent_length(X, Y)
    labels = as_labels(Y)[0]
    splits = _splits(validation, labels.shape[0], random_state)
    truth = labels[np.concatenate([test for _, test in splits])]
    cells = list(ParameterGrid(grid))
    held_out = [_Held(X, Y, train, test) for train, test in splits]
    if _shares_features(estimator, cells):
        for part in held_out:
            part.share(_intercept(estimator))
    settings = list(ParameterGrid(prediction_grid or {}))
    tasks = (delayed(_try)(estimator, cell, settings, held_out, truth, rules, measure) for cell in cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingPredictedWarning)  # the cut is chosen afterwards
        tried = [choice for choices in Parallel(n_jobs=n_jobs, prefer="threads")(tasks) for choice in choices]
    by_rule = sorted(tried, key=lambda choice: rules.index(choice.rule))
    sign = -1 if measure.greater_is_better else 1
    return sorted(by_rule, key=lambda choice: np.inf if np.isnan(choice.value) else sign * choice.value)


class GridSelection(BaseEstimator):
    """A model whose parameters and threshold are chosen on held-out training instances, then fitted to all.

    Parameters
    ----------
    estimator : LabelModel, Pipeline or scikit-learn classifier
        Not changed.
    grid : dict of str to list, or a list of such dicts
        Values to try.
    metric : str, default="micro_f1"
        A name in `cofactor.metrics.LABEL_METRICS`.
    prediction_grid : dict of str to list, or a list of such dicts, optional
        Values of parameters that only matter to predictions, such as ``alpha_predict`` of `OMF`: every cell is fitted
        once, and scored with each.
    thresholds : sequence of str, default=("plain",)
        Some of "plain", "global", "per-label", "top-k", "cardinality".
    validation : float, int or splitter, default=0.2
        Share of instances held out, number of folds, or an object with ``split(X)``.
    n_jobs : int, optional
        Number of cells at a time, in threads.
    random_state : int, RandomState or Generator, default=0
        Seed of the split. The estimator has its own.

    Attributes
    ----------
    results_ : list of Choice
        Every cell and rule, the best first; see `select_parameters`.
    choices_ : dict of str to Choice
        The best for the "plain" cut and the best "learned" one, as far as `thresholds` asks for them. Their
        parameters may differ.
    estimators_ : dict of str to estimator
        The models fitted to all instances, one object where the parameters are the same up to the threshold.
    best_ : str
        "plain" or "learned", whichever was better: it predicts.
    best_params_ : dict
        Its parameters.
    best_estimator_ : estimator
        It; a `LabelModel` among them predicts with the threshold chosen, and can be saved.

    Notes
    -----
    A learned threshold is that of the held-out scores; it is kept when the model is fitted to all instances. A word
    as the model's own `threshold` would cost five more fits instead.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from cofactor.labels import PLST
    >>> X, Y = make_multilabel_classification(200, random_state=0)
    >>> model = GridSelection(PLST(n_components=1.0), {"alpha": [1, 1e6]}, thresholds=("plain", "global")).fit(X, Y)
    >>> model.best_, model.best_params_
    ('learned', {'alpha': 1})
    """

    #: Labels may be sparse in `fit`, which scikit-learn has no tag for.
    takes_sparse_labels = True

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description of the estimator."""
        return label_tags(super().__sklearn_tags__())

    def __init__(
        self,
        estimator: Any,
        grid: Grid,
        *,
        metric: str | LabelMetric = "micro_f1",
        prediction_grid: Grid | None = None,
        thresholds: Sequence[str] = ("plain",),
        validation: Any = 0.2,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.metric = metric
        self.prediction_grid = prediction_grid
        self.thresholds = thresholds
        self.validation = validation
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> Self:
        """Choose, and fit to all instances.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, D)
            Features.
        Y : array, sparse matrix or frame of shape (n, L)
            Labels; predictions have the same form.
        """
        results = select_parameters(
            self.estimator,
            X,
            Y,
            self.grid,
            metric=self.metric,
            prediction_grid=self.prediction_grid,
            thresholds=self.thresholds,
            validation=self.validation,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        choices: dict[str, Choice] = {}
        for choice in results:
            choices.setdefault("plain" if choice.rule == "plain" else "learned", choice)
        fitted: list[tuple[dict[str, Any], Any]] = []
        estimators = {}
        cells = [choice.parameters for choice in choices.values()]
        # A frame is given to the models as it is, so that they know the names of its columns.
        share = cells[1:] != cells[:-1] and not hasattr(X, "columns") and _shares_features(self.estimator, cells)
        data = FeatureSpace(X, fit_intercept=_intercept(self.estimator)) if share else X
        for name, choice in choices.items():
            model = next((model for parameters, model in fitted if parameters == choice.parameters), None)
            if model is None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NothingPredictedWarning)
                    model = _cell(self.estimator, choice.parameters).fit(data, Y)
                fitted.append((choice.parameters, model))
            estimators[name] = model if choice.rule == "plain" else _with_threshold(model, choice)
        self.results_, self.choices_, self.estimators_ = results, choices, estimators
        self.best_ = next(iter(choices))
        self.best_params_, self.best_estimator_ = choices[self.best_].parameters, estimators[self.best_]
        return self

    def predict(self, X: Any) -> Any:
        """Predict labels by the best choice.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, D)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def decision_function(self, X: Any) -> Any:
        """Return the scores of the best choice.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, D)
            Features.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def decodings(self, X: Any) -> Iterator[tuple[str, Any, Any]]:
        """Yield name, labels and scores (None without any) of "plain" and of "learned".

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, D)
            Features.
        """
        check_is_fitted(self)
        for name in sorted(self.estimators_, key="plain".__ne__):
            model = self.estimators_[name]
            scores = model.decision_function(X) if hasattr(model, "decision_function") else None
            yield name, model.predict(X), scores

    def score(self, X: Any, Y: Any) -> float:
        """Return micro-F1 of `predict`."""
        return micro_f1(Y, self.predict(X))


class _Held:
    """A training part with its held-out part."""

    def __init__(self, X: Any, Y: Any, train: NDArray[np.int64], test: NDArray[np.int64]) -> None:
        self.features, self.labels = _safe_indexing(X, train), _safe_indexing(Y, train)
        self.test = _safe_indexing(X, test)

    def share(self, fit_intercept: bool) -> None:
        """Decompose the features once, for all cells."""
        self.features = FeatureSpace(self.features, fit_intercept=fit_intercept)
        self.test = as_features(self.test)

    def scores(self, model: Any) -> Any:
        """Score the held-out part: real scores, or labels as ±1 where the model has none."""
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(self.test))
        return 2.0 * as_labels(model.predict(self.test))[0].toarray() - 1


def _try(
    estimator: Any,
    parameters: dict[str, Any],
    settings: list[dict[str, Any]],
    held_out: list[_Held],
    truth: sparse.csr_array,
    rules: Sequence[str],
    metric: LabelMetric,
) -> list[Choice]:
    """Fit one cell on every split: a choice for each prediction setting and rule."""
    choices = []
    try:
        began = time.perf_counter()
        models = [_cell(estimator, parameters).fit(part.features, part.labels) for part in held_out]
        seconds = time.perf_counter() - began
        for setting in settings:
            pairs = zip(held_out, models, strict=True)
            scores = np.concatenate([part.scores(model.set_params(**setting)) for part, model in pairs])
            for rule in rules:
                cut = Cut(0.0) if rule == "plain" else learn_threshold(rule, scores, truth)
                value = metric(truth, scores if metric.takes == "scores" else cut.apply(scores))
                choices.append(Choice({**parameters, **setting}, rule, cut, value, seconds))
    except Exception as error:
        error.add_note(f"while trying {parameters}")
        raise
    return choices


def _cell(estimator: Any, parameters: Mapping[str, Any]) -> Any:
    """Return a fresh estimator with these parameters and, if it has one, the plain cut."""
    model = clone(estimator).set_params(**parameters)
    if isinstance(_last(model), LabelModel):
        _last(model).set_params(threshold=0)
    return model


def _with_threshold(model: Any, choice: Choice) -> Any:
    """Return a copy of a fitted model which predicts with the chosen threshold."""
    if hasattr(model, "steps"):
        pipeline = copy.copy(model)
        name, last = model.steps[-1]
        pipeline.steps = [*model.steps[:-1], (name, _with_threshold(last, choice))]
        return pipeline
    decided = copy.copy(model)
    decided.decision_ = choice.threshold
    decided.threshold = choice.rule
    return decided


def _shares_features(estimator: Any, cells: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the model regresses on its features, and all cells can use one decomposition of them."""
    if any("fit_intercept" in name or name == "estimator" for cell in cells for name in cell):
        return False
    if isinstance(estimator, BinaryRelevance):
        return isinstance(estimator.estimator, Ridge)
    return isinstance(estimator, CodeModel)


def _intercept(estimator: Any) -> bool:
    """Return the `fit_intercept` of the regression."""
    regression = estimator.estimator if isinstance(estimator, BinaryRelevance) else estimator
    return bool(getattr(regression, "fit_intercept", True))


def _splits(validation: Any, n: int, random_state: Any) -> list[Split]:
    """Return training and held-out rows of each split."""
    seed = int(make_generator(random_state).integers(np.iinfo(np.int32).max))
    splitter = validation
    if isinstance(validation, float | np.floating):
        splitter = ShuffleSplit(1, test_size=float(validation), random_state=seed)
    elif isinstance(validation, int | np.integer):
        splitter = KFold(int(validation), shuffle=True, random_state=seed)
    if isinstance(splitter, str) or not hasattr(splitter, "split"):
        raise InvalidTypeError(
            "expected a share of the instances, a number of folds, or an object with split(X)",
            argument="validation",
            found=validation,
        )
    return list(splitter.split(np.zeros(n)))


def _checked_metric(metric: Any) -> LabelMetric:
    if isinstance(metric, LabelMetric):
        return metric
    if metric not in LABEL_METRICS:
        raise InvalidInputError(
            f"expected one of {', '.join(map(repr, LABEL_METRICS))}", argument="metric", found=metric
        )
    return LABEL_METRICS[metric]


def _checked_rules(thresholds: Sequence[str], estimator: Any) -> tuple[str, ...]:
    known = ("plain", *RULES)
    if isinstance(thresholds, str) or not thresholds or not set(thresholds) <= set(known):
        raise InvalidInputError(
            f"expected a list of some of {', '.join(map(repr, known))}", argument="thresholds", found=thresholds
        )
    if set(thresholds) != {"plain"} and not isinstance(_last(estimator), LabelModel):
        raise InvalidTypeError(
            f"a learned threshold needs a model of cofactor.labels, found {type(_last(estimator)).__name__}",
            argument="thresholds",
            found=thresholds,
        )
    return tuple(dict.fromkeys(thresholds))


def _last(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model
