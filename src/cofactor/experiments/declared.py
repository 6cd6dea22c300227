"""Comparisons declared in TOML files: which methods, on which data, split how.

The same as a call of `cofactor.evaluation.compare`; ``docs/comparing.md`` shows a whole file.
"""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from cofactor import datasets
from cofactor.datasets import LabelDataset, RatingDataset, bin_ratings, load_labels, load_ratings, read_ratings
from cofactor.datasets.registry import KNOWN
from cofactor.errors import InvalidInputError
from cofactor.evaluation import Search
from cofactor.evaluation.checks import checked
from cofactor.evaluation.comparison import Comparison, compare
from cofactor.evaluation.run.sources import Task
from cofactor.labels import MODELS as LABEL_MODELS
from cofactor.metrics import LABEL_METRICS
from cofactor.model.selection.grid import check_grid, check_names
from cofactor.ratings import MODELS as RATING_MODELS
from cofactor.text import did_you_mean, folded

__all__ = ["Declared", "read_comparison"]

PathLike = str | os.PathLike[str]

_KEYS = ("title", "data", "methods", "splits", "n_splits", "seeds", "metrics", "grid_metric")
_METHOD_KEYS = ("name", "model", "parameters", "grid")
_MODELS: dict[Task, Mapping[str, type[Any]]] = {"ratings": RATING_MODELS, "labels": LABEL_MODELS}


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A comparison that was declared.

    Attributes
    ----------
    estimators : dict of str to estimator
        Methods by name, all for ratings or all for labels.
    data : dict of str to RatingDataset or LabelDataset
        Data by name.
    grids : dict of str to dict
        Of rating models, values of parameters to try; those of label models are in the estimators.
    splits, n_splits, seeds, metrics, grid_metric
        As in `compare`.
    title : str
        For the report.
    """

    estimators: Mapping[str, Any]
    data: Mapping[str, RatingDataset | LabelDataset]
    grids: Mapping[str, Any] = field(default_factory=dict)
    splits: str | None = None
    n_splits: int = 3
    seeds: Sequence[int] = (0,)
    metrics: Sequence[str] | None = None
    grid_metric: str | None = None
    title: str = "Comparison"

    def compare(self, **options: Any) -> Comparison:
        """Run it.

        Parameters
        ----------
        **options
            ``store``, ``n_jobs``, ``retry_failed`` and ``progress`` of `compare`.
        """
        return compare(
            self.estimators,
            self.data,
            splits=self.splits,
            n_splits=self.n_splits,
            seeds=self.seeds,
            metrics=self.metrics,
            grids=self.grids,
            grid_metric=self.grid_metric,
            **options,
        )


def read_comparison(path: PathLike) -> Declared:
    r"""Read a comparison from a TOML file, with its data.

    Parameters
    ----------
    path : str or path-like
        The file. Names of files in it are relative to its folder.

    Returns
    -------
    Declared

    Raises
    ------
    ValueError
        If the file is no TOML (the message tells the line), a name is unknown (it tells the nearest ones), or a key or
        value is not what is expected (it tells which).
    OSError
        If a file is missing.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "stars.toml")
    >>> _ = path.write_text('data = ["ml-latest-small"]\nmethods = [{name = "HMF", parameters = {alfa = 8}}]\n')
    >>> read_comparison(path)
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: ...stars.toml: methods, number 1 (HMF), parameters: HMF has no ...
    >>> folder.cleanup()
    """
    place = Path(path)
    try:
        with place.open("rb") as stream:
            table = tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{os.fspath(path)}: is not TOML: {error}") from None
    return _Reader(os.fspath(path), place.parent).declared(table)


class _Reader:
    """What makes a comparison of a table; errors name the file and the key."""

    def __init__(self, file: str, folder: Path) -> None:
        self.file, self.folder = file, folder

    def declared(self, table: Mapping[str, Any]) -> Declared:
        self.check_keys(table, _KEYS, "")
        for key in ("data", "methods"):
            if not table.get(key):
                self.refuse(key, "is missing: it says what to compare")
        asked = {
            "splits": self.typed(table, "splits", str, None),
            "n_splits": self.typed(table, "n_splits", int, 3),
            "seeds": self.listed(table, "seeds", int) or (0,),
            "metrics": self.listed(table, "metrics", str),
            "grid_metric": self.typed(table, "grid_metric", str, None),
        }
        title = self.typed(table, "title", str, "Comparison")
        task, estimators, asked["grids"] = self.methods(table["methods"], asked["grid_metric"])
        data = self.data(table["data"], task)
        try:
            checked(estimators, data, **asked)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"{self.file}: {error}") from None
        return Declared(estimators=estimators, data=data, title=title, **asked)

    # ---------------------------------------------------------------- methods

    def methods(self, tables: Any, grid_metric: Any) -> tuple[Task, dict[str, Any], dict[str, Any]]:
        """Return the task, the estimators, and the grids of rating models."""
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self.refuse("methods", "must be tables, each below a line [[methods]]")
        estimators: dict[str, Any] = {}
        grids: dict[str, Any] = {}
        first: tuple[Task, str] | None = None
        for number, table in enumerate(tables, 1):
            where = f"methods, number {number}"
            self.check_keys(table, _METHOD_KEYS, where)
            asked = self.typed(table, "model" if "model" in table else "name", str, None, where)
            if asked is None:
                self.refuse(where, "has no name: give the class of a model")
            name = self.typed(table, "name", str, asked, where)
            where = f"{where} ({name})"
            task, kind = self.kind_of(asked, where)
            if first is not None and task != first[0]:
                self.refuse(where, f"{kind.__name__} is for {task}, but {first[1]} for {first[0]}")
            first = first or (task, kind.__name__)
            if name in estimators:
                self.refuse(where, "there is another method of this name: give each one of its own")
            estimator = self.estimator(kind, self.typed(table, "parameters", dict, {}, where), f"{where}, parameters")
            grid = self.grid(estimator, self.typed(table, "grid", dict, {}, where), f"{where}, grid")
            if grid and task == "labels":
                estimator = self.selection(estimator, grid, grid_metric)
            elif grid:
                grids[name] = grid
            estimators[name] = estimator
        assert first is not None  # there is one method at least
        return first[0], estimators, grids

    def kind_of(self, name: str, where: str) -> tuple[Task, type[Any]]:
        """Return task and class of a model; case, hyphens and underscores do not matter."""
        plain = {folded(known): (task, kind) for task, kinds in _MODELS.items() for known, kind in kinds.items()}
        if folded(name) not in plain:
            names = sorted(known for kinds in _MODELS.values() for known in kinds)
            self.refuse(where, f"there is no model {name!r}; {did_you_mean(name, names)}")
        return plain[folded(name)]

    def estimator(self, kind: type[Any], parameters: Mapping[str, Any], where: str) -> Any:
        """Return a model with these parameters, checked as `fit` checks them."""
        model = kind()
        known = dict(parameters)
        if isinstance(known.get("estimator"), str):
            learners = getattr(model, "_components", None) or RATING_MODELS
            inner = known.pop("estimator")
            if inner not in learners:
                self.refuse(where, f"there is no estimator {inner!r}; {did_you_mean(inner, learners)}")
            model.set_params(estimator=learners[inner]())
        try:
            check_names(model, known)
            model.set_params(**known)
            model._check_params()
        except (TypeError, ValueError) as error:
            self.refuse(where, str(error))
        return model

    def grid(self, estimator: Any, grid: Mapping[str, Any], where: str) -> dict[str, list[Any]]:
        try:
            check_grid(estimator, grid)
        except ValueError as error:
            self.refuse(where, str(error))
        return dict(grid)

    def selection(self, estimator: Any, grid: Mapping[str, Any], metric: Any) -> Search:
        """Return a label model which chooses its parameters, and its threshold if that is to be learned."""
        if metric is not None and metric not in LABEL_METRICS:
            self.refuse("grid_metric", f"there is no metric {metric!r}; {did_you_mean(metric, LABEL_METRICS)}")
        rule = estimator.threshold if isinstance(estimator.threshold, str) else "plain"
        return Search(estimator, grid, metric=metric or "micro_f1", thresholds=(rule,), random_state=None)

    # ---------------------------------------------------------------- data

    def data(self, sets: Any, task: Task) -> dict[str, RatingDataset | LabelDataset]:
        if isinstance(sets, list) and all(isinstance(one, str) for one in sets):
            sets = {one: one for one in sets}
        if not isinstance(sets, dict):
            self.refuse("data", 'must be a list of names and files, or a table of such lines as stars = "stars.csv"')
        return {name: self.data_set(one, task, f"data, {name}") for name, one in sets.items()}

    def data_set(self, given: Any, task: Task, where: str) -> RatingDataset | LabelDataset:
        """Return a set of the registry, or a file; the name of a set goes before a file of the same name."""
        options = {"file": given} if isinstance(given, str) else given
        if not isinstance(options, dict) or not isinstance(options.get("file"), str):
            self.refuse(where, "must be the name of a data set or of a file, or a table with file = and its options")
        source, options = options["file"], {key: value for key, value in options.items() if key != "file"}
        if source in KNOWN and KNOWN[source].task != task:
            self.refuse(where, f"{source} holds {KNOWN[source].task}, but the methods are for {task}")
        path = self.folder / source
        if source not in KNOWN and not path.exists():
            known = [name for name, entry in KNOWN.items() if entry.task == task]
            self.refuse(where, f"{source}: no such file, and no known data set; {did_you_mean(source, known)}")
        try:
            return _load(source if source in KNOWN else path, task, options)
        except TypeError as error:
            self.refuse(where, _unknown_option(str(error)) or str(error))
        except ValueError as error:
            self.refuse(where, str(error))

    # ---------------------------------------------------------------- keys and values

    def check_keys(self, table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
        for key in table:
            if key not in known:
                self.refuse(where or "the file", f"has no key {key!r}; {did_you_mean(key, known)}")

    def typed(self, table: Mapping[str, Any], key: str, kind: type[Any], default: Any, where: str = "") -> Any:
        value = table.get(key, default)
        if value is not default and (not isinstance(value, kind) or isinstance(value, bool)):
            self.refuse(", ".join(filter(None, (where, key))), f"must be {_KINDS[kind]}, found {value!r}")
        return value

    def listed(self, table: Mapping[str, Any], key: str, kind: type[Any]) -> list[Any] | None:
        values = table.get(key)
        if values is None:
            return None
        fits = isinstance(values, list) and values
        if not fits or not all(isinstance(one, kind) and not isinstance(one, bool) for one in values):
            self.refuse(key, f"must be a list, each {_KINDS[kind]}, found {values!r}")
        return list(values)

    def refuse(self, where: str, what: str) -> NoReturn:
        raise InvalidInputError(f"{self.file}: {where}: {what}")


_KINDS = {str: "a text in quotes", int: "a whole number", dict: "a table"}


def _unknown_option(message: str) -> str | None:
    """Return what to say of an option that a reader of files does not have; None if it is about something else."""
    found = re.match(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'", message)
    reader = None if found is None else getattr(datasets, found[1], None)
    if found is None or reader is None:
        return None
    _, *parameters = inspect.signature(reader).parameters.values()
    known = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD] + ["bins"] * (reader is read_ratings)
    return f"there is no option {found[2]!r}; {did_you_mean(found[2], known)}"


def _load(source: Any, task: Task, options: dict[str, Any]) -> RatingDataset | LabelDataset:
    if task == "labels":
        return load_labels(source, **options)
    if isinstance(source, str):
        return load_ratings(source, **options)
    bins = options.pop("bins", None)
    data = read_ratings(source, **options)
    if bins is None:
        return data
    y, scale = bin_ratings(data.y, bins)
    return RatingDataset(data.name, data.X, y, scale)
