"""Compare methods: each on every split of every data set, all on the same splits, with the same measures."""

from __future__ import annotations

import os
import platform
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import sklearn

from cofactor.datasets import LabelDataset, RatingDataset
from cofactor.datasets.write import write_table
from cofactor.errors import InvalidInputError
from cofactor.evaluation.checks import Request, checked, splitter_for
from cofactor.evaluation.labels import label_measures
from cofactor.evaluation.protocols import rating_measures
from cofactor.evaluation.recommendations import recommendation_measures
from cofactor.evaluation.recommended import POPULARITY, RecommendationScores, of_results
from cofactor.evaluation.run.cells import Cell, Result, tidy
from cofactor.evaluation.run.code import UnsourcedError, code_digest
from cofactor.evaluation.run.keys import Described, IndescribableError, described, function_name
from cofactor.evaluation.run.references import Reference
from cofactor.evaluation.run.running import OnProgress, run_cells
from cofactor.evaluation.run.sources import Source
from cofactor.evaluation.run.store import ResultStore
from cofactor.evaluation.stats.conclusions import Conclusions, conclude
from cofactor.evaluation.tables import MeanTable, mean_table, split_scores
from cofactor.files import PathLike
from cofactor.model.named_splits import FOLDS, SINGLE, Task, folds_in, kind_of, parts_of
from cofactor.model.selection.grid import Grid, seeded
from cofactor.model.selection.search import Search
from cofactor.model.splits import Parts
from cofactor.ratings.features import takes_features
from cofactor.ratings.ranking.popularity import Popularity
from cofactor.text import counted
from cofactor.version import __version__

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class Comparison:
    """What a comparison found.

    Attributes
    ----------
    results : list of Result
        One for each cell: by data set, then by seed, by split and by method.
    metrics : tuple of str
        The measures to look at, the most important first. All others are in the results too.
    task : {"ratings", "labels"}
        What was compared.
    facts : mapping
        How it was measured, for people.
    protocol : str
        What tables call the splits: the name of the protocol, or of the class of the splitter.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> from cofactor.evaluation import compare
    >>> X, y = [(user, item) for user in range(9) for item in range(4)], [1, 2, 3, 2] * 9
    >>> found = compare({"mean": DummyRegressor()}, {"toy": (X, y)}, splits="weak")
    >>> len(found.results), str(found.table("mae")).split()[0]
    (3, 'mae')
    """

    results: list[Result] = field(repr=False)
    metrics: tuple[str, ...]
    task: Task
    facts: Mapping[str, str] = field(default_factory=dict, repr=False)
    protocol: str = ""

    @property
    def failed(self) -> list[Result]:
        """The results of cells which failed; ``error`` says why, in its first line."""
        return [result for result in self.results if result.status == "failed"]

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

        Methods without a single number are left out, since they cannot be ranked, and named below the
        table; see `absent`.

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
        return replace(mean_table(records, metric, methods=methods or None, absent=absent), protocol=self.protocol)

    def absent(self, metric: str | None = None) -> dict[str, str]:
        """Return the methods without a single number of a metric, and why: in words that follow their names.

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
        return {
            method: f"has no {metric}, and is not in this table"
            if method in done
            else f"failed wherever it ran, and is in no table and no test: {errors[method]}"
            for method in _methods(records)
            if method not in there
        }

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
    store : ResultStore, str or path-like, optional
        File for results, as they end: what is in it already is not computed again.
    n_jobs, retry_failed
        As in `run_cells`.
    progress : callable, optional
        Called with a `RunProgress` for every result.
    version : str, default=""
        For a store: stands for the source of estimators and splitters of yours, where they have none, as in a
        notebook, or where changes of it are not to count. Else results are computed again whenever a source changes
        on which they depend.

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
    descriptions = _Descriptions(strict=store is not None, version=version)
    cells = [
        cell for one in asked.sets for seed in asked.seeds for cell in _cells(searching, one, asked, seed, descriptions)
    ]
    results = run_cells(cells, store, n_jobs, progress, retry_failed)
    return Comparison(results, asked.metrics, asked.task, _facts(searching, asked), kind_of(asked.protocol))


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
    estimators: Mapping[str, Any], data: Source, asked: Request, seed: int, descriptions: _Descriptions
) -> Iterator[Cell]:
    """Yield a cell for each split and method."""
    protocol = asked.protocol
    own = {}
    if not isinstance(protocol, str):
        own["splits"] = descriptions.of("splits", protocol)
    elif protocol == "official":
        own["splits"] = descriptions.of("splits", data.train_rows)
    elif protocol == "grouped":
        own["splits"] = descriptions.of("splits", data.groups)
    scale = data.scale if data.scale is not None or data.task == "labels" else np.unique(data.y)
    work: Callable[..., Any] = rating_measures if data.task == "ratings" else label_measures
    options: tuple[Any, ...] = (scale,) if data.task == "ratings" else ()
    told: dict[str, Any] = {}
    if asked.at:
        work, options = recommendation_measures, (asked.at, asked.likes, data.interactions)
        told = {"at": list(asked.at), "likes": asked.likes} | ({"interactions": True} if data.interactions else {})
    names, parts = zip(*_splits(data, protocol, asked.n_splits, seed), strict=True)  # drawn before models are looked at
    rows: Reference[Sequence[Parts]] = Reference(f"splits of {data.name!r}", uuid.uuid4().hex, parts)
    models = {
        name: (seeded(estimator, seed, data.scale), descriptions.of(f"method {name!r}", estimator))
        for name, estimator in estimators.items()
    }
    for k, split in enumerate(names):
        for name, (model, description) in models.items():
            yield Cell(
                work=partial(work, model, data.reference, rows, k, *options),
                method=name,
                data=data.name,
                split=split,
                seed=int(seed),
                parameters={"estimator": description.value, **told, **{what: one.value for what, one in own.items()}},
                checksum=data.checksum,
                measure=function_name(work),
                code=descriptions.code(
                    f"method {name!r}", (work.__module__, *data.readers), description, *own.values()
                ),
            )


@dataclass(frozen=True)
class _Descriptions:
    """Describes methods and splits for keys.

    Parameters
    ----------
    strict : bool
        Whether to refuse what could not be found again in a store.
    version : str
        Stands for code of the user.
    """

    strict: bool
    version: str

    def of(self, what: str, value: Any) -> Described:
        """Describe a method, or a splitter."""
        try:
            return described(value, strict=self.strict)
        except IndescribableError as error:
            raise self.refused(what, error, "give another value") from error

    def code(self, what: str, modules: Iterable[str], *parts: Described) -> str:
        """Return the digest of the code which takes part; empty if there is no store, and no source."""
        written = {module for part in parts for module in part.modules}
        try:
            return code_digest({*modules, *written}, self.version, registries=False)
        except UnsourcedError as error:
            if not self.strict:
                return ""
            raise self.refused(what, error, "") from error

    def refused(self, what: str, error: InvalidInputError, advice: str) -> InvalidInputError:
        """Return the error for something whose results could not be found again in a store."""
        problem, remedy = ("".join(map(str, parts)) for parts in (error.problem, error.advice))
        return type(error)(
            f"{what}: {problem}, so that results of it cannot be found again in the store",
            advice=f"{remedy or advice}, or leave the store out",
        )


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
        return counted(len(data.y), "rating", form=",") + beside
    (n, n_features), n_labels = np.shape(data.X), np.shape(data.y)[1]
    return f"{counted(n, 'instance', form=',')}, {n_features:,} features, {n_labels:,} labels"
