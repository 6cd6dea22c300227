"""What may be asked of a comparison: everything is checked before anything is computed."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.evaluation.recommendations import checked_lengths
from cofactor.evaluation.sources import Source, sources_of, task_of
from cofactor.metrics import LABEL_METRICS, PROBABILITY_METRICS, RATING_METRICS
from cofactor.metrics.topn import LIST_METRICS
from cofactor.model.named_splits import Task, as_protocol, folds_in, splitter_of
from cofactor.model.selection.grid import Grid, check_grid
from cofactor.text import did_you_mean

__all__ = [
    "METRICS",
    "Request",
    "checked",
    "checked_seeds",
    "shown_metrics",
    "splitter_for",
]

_COSTS = ("fit_seconds", "predict_seconds")
METRICS: dict[str, tuple[str, ...]] = {
    "ratings": (*RATING_METRICS, *PROBABILITY_METRICS, *_COSTS),
    "labels": (*LABEL_METRICS, *_COSTS),
}
"""Names of what is measured, by task."""

#: Metrics that are shown where none are asked for.
_SHOWN = {"ratings": ("mae", "rmse", "zero_one"), "labels": ("micro_f1", "macro_f1", "hamming")}
_SHOWN_OF_LISTS = ("ndcg", "recall", "coverage")
#: Metrics by which parameters of a grid may be chosen, and the one by which they are chosen where none is asked for.
_GRID_METRICS: Mapping[Task, Iterable[str]] = {"ratings": RATING_METRICS, "labels": LABEL_METRICS}
_GRID_METRIC = {"ratings": "mae", "labels": "micro_f1"}
#: How data are split where nothing is asked for.
_PROTOCOL = {"ratings": "holdout", "labels": "kfold"}
_LAST_SEED = 2**32 - 1  #: of NumPy's generators


@dataclass(frozen=True, kw_only=True)
class Request:
    """A comparison that can be done: what `compare` was given, with its defaults filled in."""

    estimators: Mapping[str, Any]
    sets: Sequence[Source]
    task: Task
    protocol: Any
    n_splits: int
    seeds: tuple[int, ...]
    metrics: tuple[str, ...]
    grids: Mapping[str, Grid]
    grid_metric: str
    at: tuple[int, ...] = ()  #: lengths of lists of recommendations to measure; empty for predicted ratings
    likes: float | None = None


def checked(
    estimators: Any,
    data: Any,
    *,
    splits: Any = None,
    n_splits: int = 3,
    seeds: Any = (0,),
    metrics: Sequence[str] | None = None,
    grids: Mapping[str, Grid] | None = None,
    grid_metric: str | None = None,
    at: Any = None,
    likes: float | None = None,
) -> Request:
    """Return what is asked of a comparison, or refuse it; the parameters are those of `compare`."""
    _check_estimators(estimators, "predict" if at is None else "recommend")
    sets = sources_of(data)
    task = task_of(sets)
    lengths = _lists(sets, task, grids, at, likes)
    shown = shown_list_metrics(lengths, metrics) if lengths else shown_metrics(task, metrics)
    if not lengths:
        _check_measurable(task, shown, estimators)
    if grid_metric is not None and grid_metric not in _GRID_METRICS[task]:
        raise InvalidInputError(
            f"grid_metric: {_unknown('metric', grid_metric, _GRID_METRICS[task])}", argument="grid_metric"
        )
    for name, grid in (grids or {}).items():
        if name not in estimators:
            raise InvalidInputError(f"grids: {_unknown('method', name, estimators)}", argument="grids")
        try:
            check_grid(estimators[name], grid)
        except ValueError as error:
            raise InvalidInputError(f"grids: {error}", argument="grids") from None
    kept = checked_seeds(seeds)
    protocol = as_protocol(("per-user" if lengths else _PROTOCOL[task]) if splits is None else splits, task, "splits")
    for one in sets:
        splitter_for(one, protocol, n_splits, kept[0])
    if folds_in(protocol):
        _check_fold_in(estimators)
    return Request(
        estimators=estimators,
        sets=sets,
        task=task,
        protocol=protocol,
        n_splits=n_splits,
        seeds=kept,
        metrics=shown,
        grids=grids or {},
        grid_metric=grid_metric or _GRID_METRIC[task],
        at=lengths,
        likes=likes,
    )


# ---------------------------------------------------------------- methods


def _check_estimators(estimators: Any, needed: str = "predict") -> None:
    if not isinstance(estimators, Mapping):
        kind = type(estimators).__name__
        raise InvalidTypeError(
            f"estimators must be a mapping of names to estimators, as {{'mine': ...}}, found a {kind}",
            argument="estimators",
        )
    if not estimators:
        raise InvalidInputError("estimators is empty: give at least one method", argument="estimators")
    for name, estimator in estimators.items():
        if not isinstance(name, str):
            raise InvalidTypeError(
                f"estimators: the name of a method must be a text, found {name!r}", argument="estimators"
            )
        if isinstance(estimator, type):
            kind = estimator.__name__
            raise InvalidTypeError(
                f"method {name!r}: expected an estimator, found the class {kind}",
                argument="estimators",
                advice=f"write {kind}()",
            )
        if needed == "predict" and not hasattr(estimator, "predict") and hasattr(estimator, "recommend"):
            ranks = f"method {name!r} ranks items, and predicts no ratings"
            lists = "compare lists of recommendations, with at=10, or --rank on the command line"
            raise InvalidTypeError(ranks, argument="estimators", advice=lists)
        missing = [part for part in ("fit", needed, "get_params") if not hasattr(estimator, part)]
        if missing:
            kind = type(estimator).__name__
            raise InvalidTypeError(
                f"method {name!r}: expected an estimator, found a {kind}, which has no {missing[0]}",
                argument="estimators",
            )


def _check_fold_in(estimators: Mapping[str, Any]) -> None:
    for name, estimator in estimators.items():
        if not hasattr(estimator, "fold_in"):
            raise InvalidTypeError(
                f"method {name!r}: {type(estimator).__name__} cannot fold in new users, as strong generalization "
                "needs it",
                argument="estimators",
                advice=("leave it out, or choose other ", Argument("splits")),
            )


# ---------------------------------------------------------------- metrics


def _unknown(what: str, name: Any, known: Iterable[str]) -> str:
    """Return the message about a name that is not known."""
    return f"{what} {name!r} is not known; {did_you_mean(name, known)}"


def shown_metrics(task: Task, metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the metrics to show, the most important first; refuse those which do not exist, or are not for the task.

    Examples
    --------
    >>> shown_metrics("ratings", None)
    ('mae', 'rmse', 'zero_one')
    >>> shown_metrics("ratings", ["mea"])
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: metric 'mea' is not known; did you mean mae?
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    if metrics is not None and not metrics:
        raise InvalidInputError("metrics is empty: give at least one, or None for the usual ones", argument="metrics")
    other: Task = "labels" if task == "ratings" else "ratings"
    for metric in metrics or ():
        if metric in METRICS[task]:
            continue
        if metric in METRICS[other]:
            raise InvalidInputError(
                f"metric {metric!r} is for {other}, but the data are {task}: choose among {', '.join(METRICS[task])}",
                argument="metrics",
            )
        raise InvalidInputError(_unknown("metric", metric, METRICS[task]), argument="metrics")
    return tuple(dict.fromkeys(metrics or _SHOWN[task]))


def shown_list_metrics(at: Sequence[int], metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the measures of recommended lists to show, the most important first; refuse those which do not exist.

    Examples
    --------
    >>> shown_list_metrics([10], None)
    ('ndcg@10', 'recall@10', 'coverage@10')
    """
    known = [f"{name}@{k}" for k in at for name in LIST_METRICS if name != "auc"] + ["fit_seconds", "recommend_seconds"]
    given = [metrics] if isinstance(metrics, str) else metrics
    for metric in given or ():
        if metric not in known:
            raise InvalidInputError(_unknown("metric", metric, known), argument="metrics")
    return tuple(dict.fromkeys(given or (f"{name}@{at[0]}" for name in _SHOWN_OF_LISTS)))


def _lists(sets: Sequence[Source], task: Task, grids: Any, at: Any, likes: Any) -> tuple[int, ...]:
    """Return the lengths of lists to measure, none where predictions are measured."""
    if at is None:
        if likes is not None:
            advice = ("give ", Argument("at"), " too")
            raise InvalidInputError("says what is liked of lists", argument="likes", found=likes, advice=advice)
        plays = next((one.name for one in sets if one.interactions), None)
        if plays is not None:
            lists = ("measure lists of recommendations, such as with ", Argument("at", 10))
            raise InvalidInputError(f"data set {plays!r} holds interactions, and no ratings to predict", advice=lists)
        return ()
    if task != "ratings" or grids:
        what = "is for ratings" if task != "ratings" else "does not go with grids"
        raise InvalidInputError(f"measures lists of recommendations, which {what}", argument="at", found=at)
    plays = next((one.name for one in sets if one.interactions), None)
    if likes is not None and plays is not None:
        raise InvalidInputError(f"{plays!r} holds interactions, and no ratings", argument="likes", found=likes)
    if likes is not None:
        high = next((one.name for one in sets if not (np.asarray(one.y, dtype=np.float64) >= likes).any()), None)
        if high is not None:
            raise InvalidInputError(f"no rating of {high!r} is that high", argument="likes", found=likes)
    return checked_lengths(at)


def _check_measurable(task: Task, metrics: Iterable[str], estimators: Mapping[str, Any]) -> None:
    """Refuse to compute where no method can have any of the metrics: there would be nothing to show."""
    if any(_can_have(task, metric, one) for metric in metrics for one in estimators.values()):
        return
    needs = " or ".join(dict.fromkeys(_needed(task, metric) for metric in metrics))
    raise InvalidInputError(
        f"no method here has {' or '.join(metrics)}, for which {needs} is needed", argument="metrics"
    )


def _can_have(task: Task, metric: str, estimator: Any) -> bool:
    needed = _needed(task, metric)
    # A search that has not chosen yet cannot say what it will have; only label searches have `decodings`.
    return not needed or hasattr(estimator, needed) or (task == "labels" and hasattr(estimator, "decodings"))


def _needed(task: Task, metric: str) -> str:
    """Return the method of an estimator without which there is no such measure, empty if none is needed."""
    if task == "labels":
        takes = LABEL_METRICS[metric].takes if metric in LABEL_METRICS else "labels"
        return {"labels": "", "scores": "decision_function", "probabilities": "predict_proba"}[takes]
    return "predict_proba" if metric in PROBABILITY_METRICS else ""


# ---------------------------------------------------------------- seeds and splits


def checked_seeds(seeds: Any) -> tuple[int, ...]:
    """Return seeds, each once, or refuse them.

    Examples
    --------
    >>> checked_seeds([3, 0, 3])
    (3, 0)
    >>> checked_seeds(3)
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: seeds=3: expected a list of whole numbers from 0 to 4294967295, such as [0, 1, 2]
    """
    listed: list[Any] = list(seeds) if np.iterable(seeds) and not isinstance(seeds, str) else [None]
    whole = all(isinstance(seed, int | np.integer) and not isinstance(seed, bool) for seed in listed)
    if not listed or not whole or not all(0 <= seed <= _LAST_SEED for seed in listed):
        raise InvalidInputError(
            f"expected a list of whole numbers from 0 to {_LAST_SEED}, such as [0, 1, 2]", argument="seeds", found=seeds
        )
    return tuple(dict.fromkeys(map(int, listed)))


def splitter_for(data: Source, protocol: Any, n_splits: int, seed: int) -> Any:
    """Return what splits a data set, or refuse to split it so."""
    splitter = splitter_of(
        protocol,
        data.task,
        n_splits=n_splits,
        random_state=seed,
        n_rows=len(data.y) if data.task == "ratings" else np.shape(data.X)[0],
        train_rows=data.train_rows,
        groups=data.groups,
        times=data.times,
        data=repr(data.name),
        argument="splits",
    )
    if splitter is protocol:
        splitter = copy.copy(splitter)
        if getattr(splitter, "random_state", seed) is None:
            splitter.random_state = seed
    return splitter
