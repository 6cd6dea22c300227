"""Compare methods: each on every split of every data set, all on the same splits, with the same measures."""

from __future__ import annotations

import copy
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from statistics import fmean
from typing import Any

import numpy as np
import sklearn
from sklearn.utils import check_consistent_length

from cofactor.datasets import LabelDataset, RatingDataset, load_labels, load_ratings
from cofactor.datasets.registry import KNOWN
from cofactor.datasets.write import write_table
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.evaluation.keys import (
    IndescribableError,
    UnsourcedError,
    checksum,
    code_digest,
    described,
    function_name,
)
from cofactor.evaluation.labels import label_measures
from cofactor.evaluation.protocols import rating_measures
from cofactor.evaluation.recommendations import (
    POPULARITY,
    RecommendationScores,
    checked_lengths,
    of_results,
    recommendation_measures,
)
from cofactor.evaluation.running import Cell, OnProgress, run_cells
from cofactor.evaluation.significance import Conclusions, conclude
from cofactor.evaluation.store import ResultStore, Run, tidy
from cofactor.evaluation.tables import MeanTable, mean_table, split_scores
from cofactor.files import PathLike
from cofactor.metrics import LABEL_METRICS, PROBABILITY_METRICS, RATING_METRICS
from cofactor.metrics.topn import LIST_METRICS
from cofactor.model.named_splits import FOLDS, SINGLE, Task, as_protocol, folds_in, kind_of, parts_of, splitter_of
from cofactor.model.selection.grid import Grid, check_grid, seeded
from cofactor.model.selection.search import Search
from cofactor.model.splits import Parts
from cofactor.model.times import seconds_of, timed_pairs
from cofactor.ratings.features import FeatureTable, takes_features
from cofactor.ratings.ranking.popularity import Popularity
from cofactor.text import did_you_mean, plural
from cofactor.version import __version__


@dataclass(frozen=True)
class Source:
    """A data set of a comparison."""

    name: str
    X: Any
    y: Any
    task: Task
    scale: Any = None  #: of ratings
    train_rows: Any = None  #: of the official split of labels
    groups: Any = None  #: ids of instances, which say which are of one group
    times: Any = None  #: of ratings, in seconds since 1970
    features: Mapping[str, FeatureTable] = field(default_factory=dict)  #: of users and items, for models that take them
    interactions: bool = False  #: whether y are counts of interactions, and there are no ratings

    @cached_property
    def checksum(self) -> str:
        """Of everything that results depend on, but for the rows of an official split: not all splits are that one."""
        known = tuple(one for one in (self.scale, self.times) if one is not None)
        known += tuple([name, str(table.checksum)] for name, table in sorted(self.features.items()))
        # Features may be chosen by the names of their columns.
        return checksum(self.X, self.y, *known, *(_columns(self.X) if self.task == "labels" else ()))


def _columns(X: Any) -> list[list[str]]:
    """Return names and types of the columns of a frame, nothing for other tables."""
    return [[repr(name) for name in X.columns], [str(kind) for kind in X.dtypes]] if hasattr(X, "columns") else []


def sources_of(data: Any) -> list[Source]:
    """Return the data sets of a comparison; refuse what is not one."""
    given = [data] if isinstance(data, str | RatingDataset | LabelDataset) else data
    if not isinstance(given, Iterable):
        raise InvalidTypeError(
            f"data: expected a mapping of names to (X, y), or data sets, found a {type(given).__name__}",
            argument="data",
        )
    named: Iterable[Any] = given.items() if isinstance(given, Mapping) else [(_name_of(one), one) for one in given]
    sets = [_source(str(name), one) for name, one in named]
    if not sets:
        raise InvalidInputError("data is empty: give at least one data set", argument="data")
    if len({one.name for one in sets}) < len(sets):
        raise InvalidInputError(f"data sets must have different names, found {', '.join(one.name for one in sets)}")
    return sets


def _name_of(one: Any) -> str:
    if isinstance(one, str):
        return one
    if not isinstance(one, RatingDataset | LabelDataset):
        raise InvalidTypeError(
            f"data: expected a mapping of names to (X, y), or data sets, found a {type(one).__name__} inside"
        )
    return one.name


def _source(name: str, given: Any) -> Source:
    given = _loaded(given) if isinstance(given, str) else given
    if isinstance(given, RatingDataset):
        times = None if given.timestamps is None else seconds_of(given.timestamps)
        features = {argument: FeatureTable.read(table, argument) for argument, table in given.features.items()}
        interactions = given.holds_interactions
        source = Source(
            name, given.X, given.y, "ratings", given.scale, times=times, features=features, interactions=interactions
        )
    elif isinstance(given, LabelDataset):
        source = Source(name, given.X, given.targets, "labels", train_rows=given.train_rows, groups=given.ids)
    else:
        source = _source_of_pair(name, given)
    if not np.shape(source.X)[0]:
        raise InvalidInputError(f"data set {name!r} is empty")
    return source


def _loaded(name: str) -> RatingDataset | LabelDataset:
    if name not in KNOWN:
        raise InvalidInputError(
            (Argument("data"), f": {name!r} is no known data set"),
            argument="data",
            advice=f"{did_you_mean(name, KNOWN)} Files are read by read_ratings and load_labels",
        )
    return load_ratings(name) if KNOWN[name].task == "ratings" else load_labels(name)


def _source_of_pair(name: str, given: Any) -> Source:
    try:
        X, y = given
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"data set {name!r}: expected (X, y) or a data set, found {type(given).__name__}"
        ) from None
    try:
        check_consistent_length(X, y)
        shape, target = np.shape(X), np.shape(y)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"data set {name!r}: {error}") from None
    if len(target) == 2 and len(shape) == 2:
        return Source(name, X, y, "labels")
    if len(target) == 1 and len(shape) == 2 and shape[1] in (2, 3):
        X, times = timed_pairs(X)
        return Source(name, X, np.asarray(y), "ratings", times=times)
    if not target[0]:
        raise InvalidInputError(f"data set {name!r} is empty")
    raise InvalidInputError(
        f"data set {name!r}: X has shape {shape} and y {target}; expected pairs of ids, perhaps with times in a third "
        "column, with a vector of ratings, or features with an indicator matrix of labels"
    )


def task_of(sources: Sequence[Source]) -> Task:
    """Return the task of data sets, which must all have the same."""
    by_task = {source.task: source.name for source in reversed(sources)}
    if len(by_task) > 1:
        raise InvalidInputError(
            f"{by_task['ratings']!r} holds ratings and {by_task['labels']!r} labels: compare each kind by itself"
        )
    return sources[0].task


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
    other: Task = "labels" if task == "ratings" else "ratings"
    odd = next(
        (metric for metric in _listed(metrics) if metric in METRICS[other] and metric not in METRICS[task]), None
    )
    if odd is not None:
        raise InvalidInputError(
            f"metric {odd!r} is for {other}, but the data are {task}: choose among {', '.join(METRICS[task])}",
            argument="metrics",
        )
    return _known(metrics, METRICS[task], _SHOWN[task])


def shown_list_metrics(at: Sequence[int], metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the measures of recommended lists to show, the most important first; refuse those which do not exist.

    Examples
    --------
    >>> shown_list_metrics([10], None)
    ('ndcg@10', 'recall@10', 'coverage@10')
    """
    known = [f"{name}@{k}" for k in at for name in LIST_METRICS if name != "auc"] + ["fit_seconds", "recommend_seconds"]
    return _known(metrics, known, [f"{name}@{at[0]}" for name in _SHOWN_OF_LISTS])


def _listed(metrics: Sequence[str] | None) -> Sequence[str]:
    return [metrics] if isinstance(metrics, str) else metrics or ()


def _known(metrics: Sequence[str] | None, known: Sequence[str], usual: Sequence[str]) -> tuple[str, ...]:
    """Return the metrics, or the usual ones; refuse those which are not known."""
    if metrics is not None and not metrics:
        raise InvalidInputError("metrics is empty: give at least one, or None for the usual ones", argument="metrics")
    for metric in _listed(metrics):
        if metric not in known:
            raise InvalidInputError(_unknown("metric", metric, known), argument="metrics")
    return tuple(dict.fromkeys(_listed(metrics) or usual))


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
    needed = dict.fromkeys(_needed(task, metric) for metric in metrics)
    # A search that has not chosen yet cannot say what it will have; only label searches have `decodings`.
    searches = task == "labels" and any(hasattr(one, "decodings") for one in estimators.values())
    if "" in needed or searches or any(hasattr(one, name) for one in estimators.values() for name in needed):
        return
    raise InvalidInputError(
        f"no method here has {' or '.join(metrics)}, for which {' or '.join(needed)} is needed", argument="metrics"
    )


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


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    Attributes
    ----------
    results : list of Run
        One for each cell: by data set, then by seed, by split and by method.
    metrics : tuple of str
        The measures to look at, the most important first. All others are in the results too.
    task : {"ratings", "labels"}
        What was compared.
    facts : mapping
        How it was measured, for people.
    protocol : str
        What tables call the splits: the name of the protocol, or of the class of the splitter.
    baselines : tuple of str
        Methods that are shown below tables, in no rank and no test.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> from cofactor.evaluation import compare
    >>> X, y = [(user, item) for user in range(9) for item in range(4)], [1, 2, 3, 2] * 9
    >>> found = compare({"mean": DummyRegressor()}, {"toy": (X, y)}, splits="weak")
    >>> len(found.results), str(found.table("mae")).split()[0]
    (3, 'mae')
    """

    results: list[Run] = field(repr=False)
    metrics: tuple[str, ...]
    task: Task
    facts: Mapping[str, str] = field(default_factory=dict, repr=False)
    protocol: str = ""
    baselines: tuple[str, ...] = ()

    @property
    def failed(self) -> list[Run]:
        """The results of cells which failed; ``error`` says why, in its first line."""
        return [result for result in self.results if result.status == "failed"]

    @property
    def measured(self) -> list[str]:
        """Those of `metrics` of which a method has a number, baselines apart."""
        there = {one["metric"] for one in self.records() if one["method"] not in self.baselines}
        return [metric for metric in self.metrics if metric in there]

    def records(self) -> list[dict[str, Any]]:
        """Return one record for each number that was measured, as `tidy` does; ``pandas.DataFrame`` takes the list."""
        return tidy(self.results)

    def to_csv(self, path: PathLike, *, safe_csv: bool = False) -> None:
        """Write the records as CSV, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.csv`` or ``.tsv``, perhaps with ``.gz`` after it.
        safe_csv : bool, default=False
            For spreadsheets, see `write_table`.
        """
        write_table(path, self._columns(), safe_csv=safe_csv)

    def to_parquet(self, path: PathLike) -> None:
        """Write the records as Parquet, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.parquet``.
        """
        write_table(path, self._columns())

    def table(self, metric: str | None = None) -> MeanTable:
        """Return mean ± standard deviation (rank) of each method on each data set.

        Baselines stand below the table. So do methods without a single number, since they cannot be ranked; see
        `absent`.

        Parameters
        ----------
        metric : str, optional
            By default the first of `metrics`.

        Raises
        ------
        ValueError
            If nothing of that name was measured.
        """
        records, metric = self.records(), metric or self.metrics[0]
        absent = self.absent(metric)
        methods = [method for method in _methods(records) if method not in absent]
        ranked = [one for one in records if one["method"] not in self.baselines]
        return replace(mean_table(ranked, metric, methods=methods or None, absent=absent), protocol=self.protocol)

    def absent(self, metric: str | None = None) -> dict[str, str]:
        """Return the methods that are in no rank and no test, and why: in words that follow their names.

        These are baselines, with their means, and methods without a single number of the metric.

        Parameters
        ----------
        metric : str, optional
            By default the first of `metrics`.
        """
        records, metric = self.records(), metric or self.metrics[0]
        there = {one["method"] for one in records if one["metric"] == metric}
        done = {result.method for result in self.results if result.status == "done"}
        errors: dict[str, str] = {}
        for result in self.failed:
            errors.setdefault(result.method, result.error.partition("\n")[0])
        means = {
            name: "is a baseline: " + ", ".join(f"{data} {mean:.4f}" for data, mean in found.items())
            for name, found in self.baseline_means(metric).items()
        }
        return means | {
            method: f"has no {metric}, and is not in this table"
            if method in done
            else f"failed wherever it ran, and is in no table and no test: {errors[method]}"
            for method in _methods(records)
            if method not in there
        }

    def baseline_means(self, metric: str) -> dict[str, dict[str, float]]:
        """Return the mean of each baseline on each data set, as far as there are numbers.

        Parameters
        ----------
        metric : str
            Name of a measure.
        """
        values: dict[str, dict[str, list[float]]] = {}
        for one in self.records():
            if one["method"] in self.baselines and one["metric"] == metric:
                values.setdefault(one["method"], {}).setdefault(one["data"], []).append(one["value"])
        return {name: {data: fmean(ones) for data, ones in found.items()} for name, found in values.items()}

    def statistics(self, metric: str | None = None, alpha: float = 0.05) -> Conclusions:
        """Test whether the differences are more than chance, by the tests which make sense here.

        Parameters
        ----------
        metric : str, optional
            By default the first of `metrics`.
        alpha : float, default=0.05
            Level of significance.

        Raises
        ------
        ValueError
            If nothing of that name was measured.
        """
        table, records = self.table(metric), self.records()
        folds = {}
        if len(table.scores.methods) == 2:
            kept = [data for data in table.scores.data if data not in table.scores.left_out]
            runs = {data: split_scores(records, table.metric, data).only(*table.scores.methods) for data in kept}
            folds = {data: (scores, self._test_share(data)) for data, scores in runs.items()}
        scores = {data: self.over_users(data) for data in table.scores.data} if self._has_lists else {}
        lines = (
            f"{data}: {line}"
            for data, found in scores.items()
            if table.metric in found.metrics
            for line in found.tests(table.metric, alpha)
        )
        return replace(conclude(table.scores, folds, alpha), absent=table.absent, over_users=tuple(lines))

    @property
    def _has_lists(self) -> bool:
        return any("of_users" in result.measures for result in self.results)

    def over_users(self, data: str) -> RecommendationScores:
        """Return the scores of all methods user by user, where lists of recommendations were compared.

        Parameters
        ----------
        data : str
            Name of a data set.
        """
        return of_results(self.results, data)

    def _columns(self) -> dict[str, Any]:
        records = self.records()
        columns = {name: [record[name] for record in records] for name in records[0]}
        return columns | {"value": np.array(columns["value"], dtype=np.float64)}  # NaN where a cell failed

    def _test_share(self, data: str) -> float:
        """Return the share of the rows that is in a test part."""
        sizes = [(r.measures["n_test"], r.measures["n_train"]) for r in self.results if r.data == data and r.measures]
        return float(np.mean([test / (test + train) for test, train in sizes]))


def compare(
    estimators: Mapping[str, Any],
    data: Mapping[str, Any] | Iterable[RatingDataset | LabelDataset | str] | RatingDataset | LabelDataset | str,
    *,
    splits: Any = None,
    n_splits: int = 3,
    seeds: Sequence[int] = (0,),
    metrics: Sequence[str] | None = None,
    grids: Mapping[str, Grid] | None = None,
    grid_metric: str | None = None,
    at: int | Sequence[int] | None = None,
    likes: float | None = None,
    baselines: Mapping[str, Any] | None = None,
    store: ResultStore | PathLike | None = None,
    n_jobs: int | None = None,
    retry_failed: bool = False,
    progress: OnProgress | None = None,
    version: str = "",
) -> Comparison:
    """Measure methods on data sets, all on the same splits.

    Parameters
    ----------
    estimators : mapping of str to estimator
        Methods by name: rating models, label models, or any estimators of scikit-learn which take such data. They are
        cloned, not changed. A method is judged by what it predicts: a label model with a learned threshold by that.
    data : mapping of str to (X, y), data set, or iterable of data sets
        Data by name. Pairs of ids with a vector of ratings are ratings, perhaps with times in a third column of X;
        features with an indicator matrix are labels. A `RatingDataset` brings its scale and its times, a `LabelDataset`
        its official split. The name of a known data set stands for it: ``["emotions", "scene"]``. Models whose ``fit``
        knows time get the times, in training and in test.
    splits : str, splitter or list of pairs, optional
        For ratings "holdout" (the default), "weak", "strong", "kfold", "time", "user-last", "per-user" or "new-users",
        see `evaluate`; for
        labels "kfold" (the default), "holdout", "official", "stratified", "stratified-pairs", "grouped" (by the ids of
        a `LabelDataset`) or "time" (rows are in order of time). Or a splitter of scikit-learn's kind, which brings its
        own settings; or pairs of training and test rows (`GivenSplits`).
    n_splits : int, default=3
        Number of splits, or folds.
    seeds : sequence of int, default=(0,)
        Everything is repeated for each: it seeds the splits, and whatever in an estimator has a ``random_state`` of
        None. A seed given twice counts once.
    metrics : sequence of str, optional
        What to show and to test, the most important first; see `METRICS`. All are measured in any case, so that a look
        at others computes nothing again.
    grids : mapping of str to grid, optional
        For some of the methods values of parameters to try, as for ``ParameterGrid``. One is chosen for each training
        part, inside of it: for ratings by splits of the same kind, for labels by three folds. See also `Search`, which
        chooses thresholds too.
    grid_metric : str, optional
        By what to choose; by default "mae" for ratings, "micro_f1" for labels.
    at, likes : optional
        Measure the lists of so many items that methods recommend, as `evaluate_recommendations` does, instead of
        predicted ratings: metrics are then such as "ndcg@10", and "popularity" is among the methods. Methods are
        compared over the users of each data set, see `Comparison.over_users`. An `InteractionDataset` needs it.
    baselines : mapping of str to estimator, optional
        Simple rules by name, other names than those of methods. Their means stand below tables, in no rank and no test.
    store : ResultStore, str or path-like, optional
        Folder for results, as they end: what is in it already is not computed again.
    n_jobs, retry_failed
        As in `run_cells`.
    progress : callable, optional
        Called with a `RunProgress` for every result.
    version : str, default=""
        For a store: stands for the source of estimators and splitters of yours, where they have none, as in a
        notebook, or where changes of it are not to count. Else results are computed again whenever a source changes:
        of your package where they belong to one, and of cofactor where it is used from a checkout.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a name is unknown, or data, metrics and splits do not go together.
    TypeError
        If something given as an estimator is not one, or cannot fold users in and the splits need it; or if there is
        a store, and an estimator or an object given as `splits` cannot be distinguished from others, or has no source
        file.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> X, y = [(user, item) for user in range(9) for item in range(4)], [1, 2, 3, 2] * 9
    >>> methods = {"mean": DummyRegressor(), "median": DummyRegressor(strategy="median")}
    >>> comparison = compare(methods, {"toy": (X, y), "backwards": (X, y[::-1])}, splits="weak", seeds=(0, 1))
    >>> print(comparison.table("mae"))
    mae ↓                      mean              median
    ---------------------------------------------------
    toy           0.588 ± 0.141 (2)  *0.519 ± 0.115 (1)
    backwards     0.554 ± 0.150 (2)  *0.481 ± 0.115 (1)
    average rank           2.00               *1.00
    ...
    >>> print(comparison.statistics("mae").correlated_t["toy"])
    Bayesian correlated t-test over 6 splits: probability that mean is better 0.083, median 0.917
    """
    asked = checked(
        estimators,
        data,
        splits=splits,
        n_splits=n_splits,
        seeds=seeds,
        metrics=metrics,
        grids=grids,
        grid_metric=grid_metric,
        at=at,
        likes=likes,
    )
    _check_features(asked)
    searching = {name: _searching(name, asked) for name in asked.estimators}
    if asked.at:
        searching = {POPULARITY: Popularity(), **searching}
    beside = tuple(baselines or ())
    twice = next((name for name in beside if name in searching), None)
    if twice is not None:
        raise InvalidInputError(f"{twice!r} is among the methods too", argument="baselines")
    searching |= baselines or {}
    how = (store is not None, version)
    cells = [cell for one in asked.sets for seed in asked.seeds for cell in _cells(searching, one, asked, seed, *how)]
    results = run_cells(cells, store, n_jobs, progress, retry_failed)
    return Comparison(results, asked.metrics, asked.task, _facts(searching, asked), kind_of(asked.protocol), beside)


# ---------------------------------------------------------------- methods


def _methods(records: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(record["method"] for record in records))


def _check_features(asked: Request) -> None:
    """Refuse features that no method would get: none takes them, or a search chooses its parameters."""
    described = next((one for one in asked.sets if one.features), None)
    if described is None:
        return
    taking = [name for name, estimator in asked.estimators.items() if takes_features(estimator)]
    searched = [name for name in taking if name in asked.grids]
    what = f"data set {described.name!r} has {' and '.join(described.features).replace('_', ' ')}"
    if searched:
        advice = "leave the grid out, or the features"
        raise InvalidInputError(
            f"{what}, and a search fits {searched[0]} without them", argument="grids", advice=advice
        )
    if not taking:
        raise InvalidInputError(f"{what}, and no method here takes any", argument="data", advice="leave them out")


def _searching(name: str, asked: Request) -> Any:
    """Return the estimator of a method, or one that chooses its parameters in each training part."""
    estimator, metric = asked.estimators[name], asked.grid_metric
    if name not in asked.grids:
        return estimator
    grid = asked.grids[name]
    if asked.task == "labels":
        return Search(estimator, grid, metric=metric, thresholds=None, validation="kfold", n_splits=3, random_state=0)
    inner = "strong" if folds_in(asked.protocol) else "holdout"
    kind = asked.protocol if isinstance(asked.protocol, str) else inner
    return Search(estimator, grid, metric=metric, validation=kind, random_state=None)


# ---------------------------------------------------------------- cells


def _cells(
    estimators: Mapping[str, Any], data: Source, asked: Request, seed: int, stored: bool, version: str
) -> Iterator[Cell]:
    """Yield a cell for each split and method; `stored`: each must be found again, also by other processes."""
    protocol = asked.protocol
    with _named("splits"):
        named = {"official": data.train_rows, "grouped": data.groups}
        of_splits = described(named.get(protocol) if isinstance(protocol, str) else protocol, strict=stored)
    scale = data.scale if data.scale is not None or data.task == "labels" else np.unique(data.y)
    work: Callable[..., Any] = rating_measures if data.task == "ratings" else label_measures
    given: tuple[Any, ...] = (data.X, data.y)
    options: tuple[Any, ...] = ()
    if data.task == "ratings":
        given, options = (*given, data.times, data.features), (scale,)
    told: dict[str, Any] = {}
    if asked.at:
        work, options = recommendation_measures, (asked.at, asked.likes, data.interactions)
        told = {"at": list(asked.at), "likes": asked.likes} | ({"interactions": True} if data.interactions else {})
    names, parts = zip(*_splits(data, protocol, asked.n_splits, seed), strict=True)  # drawn before models are looked at
    models = {}
    for name, estimator in estimators.items():
        with _named(f"method {name!r}"):
            found = described(estimator, strict=stored)
            code = _code(found.modules | of_splits.modules, version, stored)
        facts = {"estimator": found.value, **told, **({} if of_splits.value is None else {"splits": of_splits.value})}
        models[name] = seeded(estimator, seed, data.scale), facts, code
    for split, rows in zip(names, parts, strict=True):
        for name, (model, facts, code) in models.items():
            yield Cell(
                work=partial(work, model, *given, rows, *options),
                method=name,
                data=data.name,
                split=split,
                seed=int(seed),
                parameters=facts,
                checksum=data.checksum,
                measure=function_name(work),
                code=code,
            )


def _code(modules: Iterable[str], version: str, stored: bool) -> str:
    """Return the digest of the code which takes part; empty if nothing is stored, and there is no source."""
    try:
        return code_digest(modules, version)
    except UnsourcedError:
        if stored:
            raise
        return ""


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Within the block, errors say of what the results could not be found again in a store."""
    try:
        yield
    except (IndescribableError, UnsourcedError) as error:
        problem, remedy = ("".join(map(str, parts)) for parts in (error.problem, error.advice))
        raise type(error)(
            f"{what}: {problem}, so that results of it cannot be found again in the store",
            advice=f"{remedy or 'give another value'}, or leave the store out",
        ) from error


def _splits(data: Source, protocol: Any, n_splits: int, seed: int) -> Iterator[tuple[str, Parts]]:
    """Yield name and rows of each split."""
    splitter = splitter_for(data, protocol, n_splits, seed)
    kind = kind_of(protocol)
    parts = list(parts_of(splitter, data.X, data.y))
    for k, rows in enumerate(parts, 1):
        if kind in SINGLE:
            yield kind, rows
        elif "fold" in kind or kind in FOLDS:
            yield f"{kind} {k}/{len(parts)}", rows
        else:
            yield f"{kind} {k}", rows


def _facts(estimators: Mapping[str, Any], asked: Request) -> dict[str, str]:
    """Return how it was measured, for people."""
    protocol, n_splits = asked.protocol, asked.n_splits
    whole = protocol if isinstance(protocol, str) else " ".join(repr(protocol).split())
    return {
        "splits": whole if protocol in SINGLE or not isinstance(protocol, str) else f"{whole}, {n_splits}",
        "seeds": ", ".join(map(str, asked.seeds)),
        **({"lists of": ", ".join(map(str, asked.at)) + " items"} if asked.at else {}),
        **({"liked": f"ratings from {asked.likes:g}"} if asked.likes is not None else {}),
        **{f"method {name}": " ".join(repr(estimator).split()) for name, estimator in estimators.items()},
        **{f"data {one.name}": f"{_extent(one)}, SHA-256 {one.checksum[:16]}" for one in asked.sets},
        "versions": f"cofactor {__version__}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()}",
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
    }


def _extent(data: Source) -> str:
    if data.task == "ratings":
        beside = "".join(f", {name.replace('_', ' ')}" for name in sorted(data.features))
        return plural(len(data.y), "rating", form=",") + beside
    (n, n_features), n_labels = np.shape(data.X), np.shape(data.y)[1]
    return f"{plural(n, 'instance', form=',')}, {n_features:,} features, {n_labels:,} labels"
