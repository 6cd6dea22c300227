"""Choice among the cells of a grid: of rating models and label models, with the cuts of the latter."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import KFold, ParameterGrid, ShuffleSplit
from sklearn.utils import check_consistent_length

from cofactor.checks import make_generator
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.metrics.labels import LABEL_METRICS, LabelMetric
from cofactor.metrics.ratings import RATING_METRICS
from cofactor.metrics.topn import list_measure
from cofactor.model.convergence import NothingPredictedWarning
from cofactor.model.named_splits import Task, parts_of, splitter_of
from cofactor.model.progress import Monitor
from cofactor.model.selection.judges import (
    PLAIN,
    CellOutcome,
    Choice,
    CutJudge,
    CutModel,
    Judge,
    LabelJudge,
    ListJudge,
    RatingJudge,
    Settings,
    SplitData,
    last_step,
)
from cofactor.model.selection.trials import try_all
from cofactor.model.splits import Parts
from cofactor.model.times import pairs_for, timed_pairs
from cofactor.text import did_you_mean
from cofactor.typing import Features, Labels, Pairs, RandomState

Grid: TypeAlias = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


def select_parameters(
    estimator: Any,
    X: Pairs | Features,
    y: ArrayLike | Labels,
    grid: Grid | None = None,
    *,
    metric: str | LabelMetric | None = None,
    prediction_grid: Grid | None = None,
    thresholds: Sequence[str] | None = (PLAIN,),
    validation: Any = None,
    n_splits: int = 3,
    time: ArrayLike | None = None,
    levels: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
    monitor: Monitor | None = None,
) -> list[Choice]:
    r"""Measure every cell of a grid on held-out training data.

    For each cell the model is fitted to the training part of each split. A rating model, or a label model with
    ``thresholds=None``, then predicts the held-out part, and the value of the cell is the mean of the metric over the
    splits. Otherwise a label model, without a threshold of its own, scores the held-out part; the scores of all splits
    together are cut by each rule: at 0 ("plain"), or where `cofactor.labels.learn_threshold` puts the cut on these
    scores. So a threshold costs no further fit; its value is slightly optimistic, in all cells alike.

    Parameters
    ----------
    estimator : RatingModel, LabelModel, Pipeline or scikit-learn estimator
        Not changed. Rules other than "plain" need a `LabelModel`.
    X : array of shape (n, 2), list of pairs, or frame of two columns; or features of shape (n, D)
        User id and item id of each rating; or features of instances. Where a label model regresses on them, all cells
        share one `FeatureSpace` for each split.
    y : array-like of shape (n,) or (n, L)
        The ratings; or labels, as booleans, 0 and 1, or -1 and 1.
    grid : dict of str to list, or a list of such dicts, optional
        Values to try, as for scikit-learn's ``ParameterGrid``; ``{}`` for a single cell. By default
        ``estimator.default_grid()``.
    metric, prediction_grid, thresholds, validation, n_splits, levels, n_jobs, random_state
        As in `Search`.
    time
        As in ``fit`` of `Search`.
    monitor : Monitor, optional
        Told about each cell.

    Returns
    -------
    list of Choice
        One for each cell, prediction setting and rule, the best first; equally good ones in the order of `thresholds`
        and of the grid.

    Raises
    ------
    ValueError
        If a rule, the metric or the protocol is unknown, or nothing is held out.
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
    lists = _lists_metric(estimator, y, metric)
    task: Task = task_of(y) if lists is None else "ratings"
    if lists is not None and validation is None:
        validation = "per-user"
    cells = list(ParameterGrid(default_grid_of(estimator) if grid is None else grid))
    settings = list(ParameterGrid(prediction_grid or {}))
    check_consistent_length(X, y)
    if task == "labels" and hasattr(estimator, "_receive"):
        clone(estimator)._receive(X, y)  # so that an error names a row of X, not one of a part
    pairs, times = timed_pairs(X, time) if task == "ratings" else (X, None)
    splits = _splits(validation, pairs, y, task, n_splits, random_state, times)
    X = pairs_for(estimator, pairs, times)
    parts = [SplitData(X, y, *rows) for rows in splits]
    judge: Judge
    if lists is not None:
        judge = ListJudge(seeded(estimator, random_state, levels), parts, settings, lists)
    elif task == "ratings":
        model = seeded(estimator, random_state, levels)
        scale = np.unique(np.asarray(y)) if levels is None else levels
        judge = RatingJudge(model, parts, settings, _rating_metric(metric), scale)
    elif thresholds is None:
        judge = LabelJudge(estimator, parts, settings, _label_metric(metric))
    else:
        rules = _checked_rules(thresholds, estimator)
        measure = _label_metric(metric)
        if measure.takes == "probabilities":
            raise InvalidInputError(
                "a cut of the scores does not change probabilities",
                argument="metric",
                found=metric,
                advice="use thresholds=None",
            )
        judge = CutJudge(estimator, parts, settings, measure, rules)
        for part in parts:
            part.share(estimator, cells)
    count = itertools.count(1)

    def conclude(cell: dict[str, Any], outcomes: list[CellOutcome]) -> list[Choice]:
        choices = judge.choices(cell, outcomes)
        if monitor is not None:
            best, *_ = _sorted(choices, judge.greater_is_better)
            monitor.note(f"choice, {_written(cell)}", next(count), len(cells), best.value)
        return choices

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingPredictedWarning)  # the cut is chosen afterwards
        more = itertools.takewhile(lambda _: monitor is None or not monitor.stopped, cells)
        found = try_all(judge.attempt, parts, more, conclude, n_jobs)
    return _sorted(itertools.chain.from_iterable(found), judge.greater_is_better, judge.rules)


def _sorted(choices: Iterable[Choice], greater_is_better: bool, rules: Sequence[str] = ()) -> list[Choice]:
    """Return choices, the best first; equally good ones in the order of the rules, and as they were."""
    sign = -1 if greater_is_better else 1
    by_rule = sorted(choices, key=lambda choice: rules.index(choice.rule) if rules else 0)
    return sorted(by_rule, key=lambda choice: np.inf if np.isnan(choice.value) else sign * choice.value)


def _written(cell: Settings) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.items()) or "no parameters"


# ---------------------------------------------------------------- parts of the training data


def _splits(
    validation: Any, X: Any, y: Any, task: Task, n_splits: int, random_state: Any, times: Any = None
) -> list[Parts]:
    """Return training, fold-in and held-out rows of each split."""
    if validation is None:
        validation = "holdout" if task == "ratings" else 0.2
    splitter: Any
    if isinstance(validation, float | np.floating):
        if not 0 < validation < 1:
            raise InvalidInputError("expected a share between 0 and 1", argument="validation", found=validation)
        splitter = ShuffleSplit(1, test_size=float(validation), random_state=_drawn(random_state))
    elif isinstance(validation, int | np.integer) and not isinstance(validation, bool):
        n = np.shape(y)[0]
        if not 2 <= validation <= n:
            problem = f"expected from 2 folds to {n}, as many as there are instances"
            raise InvalidInputError(problem, argument="validation", found=validation)
        splitter = KFold(int(validation), shuffle=True, random_state=_drawn(random_state))
    else:
        try:
            splitter = splitter_of(
                validation, task, n_splits=n_splits, random_state=random_state, times=times, argument="validation"
            )
        except InvalidTypeError:
            raise InvalidTypeError(
                "expected a share of the instances, a number of folds, the name of a protocol, an object with "
                "split(X), or pairs of training and held-out rows",
                argument="validation",
                found=validation,
            ) from None
    given = (X, y) if task == "ratings" else (np.zeros(np.shape(y)[0]), y)
    return list(parts_of(splitter, *given))


def _drawn(random_state: Any) -> int:
    return int(make_generator(random_state).integers(np.iinfo(np.int32).max))


# ---------------------------------------------------------------- checks


def task_of(y: Any) -> Task:
    """Return what y holds: ratings, a number for each pair, or labels, a row for each instance."""
    if y is None:
        raise InvalidInputError(
            "a choice of parameters splits the data, and needs y: pass pairs with their ratings, or features with "
            "labels; of interactions alone also name the metric, such as metric='ndcg@10'"
        )
    return "ratings" if len(np.shape(y)) == 1 else "labels"


def check_names(estimator: Any, names: Iterable[str]) -> None:
    """Refuse names of parameters that an estimator does not have."""
    known = estimator.get_params()
    for name in names:
        if name not in known:
            raise InvalidInputError(f"{type(estimator).__name__} has no {name!r}; {did_you_mean(name, known)}")


def check_grid(estimator: Any, grid: Grid) -> None:
    """Refuse a grid with names that an estimator does not have, or without values for one."""
    for table in [grid] if isinstance(grid, Mapping) else grid:
        check_names(estimator, table)
        for name, values in table.items():
            if isinstance(values, str | Mapping) or not np.iterable(values) or not len(values):
                raise InvalidInputError(f"{name} must be a list of values to try, found {values!r}", argument=name)


def default_grid_of(estimator: Any) -> dict[str, list[Any]]:
    """Return the grid which an estimator, or the last step of a pipeline, declares; its names are those of the whole.

    Examples
    --------
    >>> from cofactor.labels import MLkNN
    >>> default_grid_of(MLkNN()) == MLkNN().default_grid()
    True
    """
    last = last_step(estimator)
    if not hasattr(last, "default_grid"):
        raise InvalidInputError(
            f"{type(last).__name__} declares no default grid",
            argument="grid",
            found=None,
            advice="give the values to try, such as {'alpha': [1, 10]}",
        )
    prefix = "" if last is estimator else f"{estimator.steps[-1][0]}__"
    return {prefix + name: values for name, values in last.default_grid().items()}


def seeded(estimator: Any, seed: Any, levels: ArrayLike | None = None) -> Any:
    """Return a copy of an estimator in which every ``random_state`` that is None is the seed; so with ``levels``.

    Examples
    --------
    >>> from sklearn.neural_network import MLPRegressor
    >>> seeded(MLPRegressor(), 3).random_state, seeded(MLPRegressor(random_state=1), 3).random_state
    (3, 1)
    """
    model = clone(estimator)
    unset = {}
    for name, value in model.get_params().items():
        last = name.rpartition("__")[2]
        if value is None and last == "random_state":
            unset[name] = seed
        elif value is None and last == "levels":
            unset[name] = levels
    return model.set_params(**unset)


def _lists_metric(estimator: Any, y: Any, metric: Any) -> str | None:
    """Return the measure of recommended lists by which to choose; None where predictions are measured."""
    if y is not None and task_of(y) != "ratings":
        return None
    ranks = hasattr(estimator, "ranking_score")
    if metric is None:
        return "ndcg@10" if ranks and not hasattr(estimator, "predict") else None
    if not isinstance(metric, str) or "@" not in metric:
        return None
    list_measure(metric)
    if not ranks:
        problem = f"is of recommended lists, and {type(estimator).__name__} makes none"
        raise InvalidInputError(problem, argument="metric", found=metric, advice="use a model of cofactor.ratings")
    return metric


def _rating_metric(metric: Any) -> Callable[[Any, Any, Any], float]:
    name = "mae" if metric is None else metric
    if name not in RATING_METRICS:
        raise InvalidInputError(
            f"expected one of {', '.join(map(repr, RATING_METRICS))}, or of lists, such as 'ndcg@10'",
            argument="metric",
            found=metric,
        )
    return RATING_METRICS[name]


def _label_metric(metric: Any) -> LabelMetric:
    if isinstance(metric, LabelMetric):
        return metric
    name = "micro_f1" if metric is None else metric
    if name not in LABEL_METRICS:
        raise InvalidInputError(
            f"expected one of {', '.join(map(repr, LABEL_METRICS))}", argument="metric", found=metric
        )
    return LABEL_METRICS[name]


def _checked_rules(thresholds: Sequence[str], estimator: Any) -> tuple[str, ...]:
    model = last_step(estimator)
    known = (PLAIN, *(model.cut_rules if isinstance(model, CutModel) else ()))
    if isinstance(thresholds, str) or not thresholds:
        raise InvalidInputError(
            f"expected a list of some of {', '.join(map(repr, known))}", argument="thresholds", found=thresholds
        )
    if set(thresholds) != {PLAIN} and not isinstance(model, CutModel):
        raise InvalidTypeError(
            f"a learned threshold needs a model of cofactor.labels, found {type(model).__name__}",
            argument="thresholds",
            found=thresholds,
        )
    if not set(thresholds) <= set(known):
        raise InvalidInputError(
            f"expected a list of some of {', '.join(map(repr, known))}", argument="thresholds", found=thresholds
        )
    return tuple(dict.fromkeys(thresholds))
