"""Comparisons declared in TOML files: which methods, on which data, split how.

The same as a call of `cofactor.evaluation.compare`; ``docs/comparing.md`` shows a whole file.
"""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cofactor.datasets import LabelDataset, RatingDataset, load_labels, load_ratings, read_ratings
from cofactor.datasets.formats import FORMATS, open_data
from cofactor.datasets.registry import KNOWN
from cofactor.errors import InvalidInputError, Place
from cofactor.evaluation import Search
from cofactor.evaluation.comparison import Comparison, checked, compare
from cofactor.files import PathLike, exists, is_database
from cofactor.labels import MODELS as LABEL_MODELS
from cofactor.labels import LabelModel
from cofactor.metrics import LABEL_METRICS
from cofactor.model.named_splits import Task
from cofactor.model.selection.grid import check_grid, check_names
from cofactor.ratings import MODELS as RATING_MODELS
from cofactor.text import did_you_mean, normalize_name

_KEYS = ("title", "data", "methods", "splits", "n_splits", "seeds", "metrics", "grid_metric", "at", "likes")
_METHOD_KEYS = ("name", "model", "parameters", "grid")
_KINDS = {str: "a text in quotes", int: "a whole number", float: "a number", dict: "a table"}
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
    splits, n_splits, seeds, metrics, grid_metric, at, likes, baselines
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
    at: Sequence[int] | None = None
    likes: float | None = None
    baselines: Mapping[str, Any] = field(default_factory=dict)
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
            at=self.at,
            likes=self.likes,
            baselines=self.baselines,
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
    InvalidInputError
        If the file is no TOML (the message names the line), a name is unknown (it names the nearest ones), or a key or
        value is not what is expected (it names which).
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
    cofactor.errors.InvalidInputError: ...stars.toml, methods, number 1 (HMF), parameters: HMF has no ...
    >>> folder.cleanup()
    """
    file = _Key(os.fspath(path))
    try:
        with Path(path).open("rb") as stream:
            table = tomllib.load(stream)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise file.error(f"is not TOML: {error}") from None
    return _declared(table, file, Path(path).parent)


@dataclass(frozen=True)
class _Key:
    """A place in the file: the names of keys that lead to it. Errors name it."""

    file: str
    names: tuple[str, ...] = ()

    def below(self, *names: str) -> _Key:
        return _Key(self.file, self.names + names)

    def error(self, problem: str, advice: str = "") -> InvalidInputError:
        return InvalidInputError(problem, advice=advice, place=self.place)

    @property
    def place(self) -> Place:
        return Place(self.file, column=", ".join(self.names) or None)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Name the place in errors of what is called here."""
        try:
            yield
        except InvalidInputError as error:
            if error.place is None:
                raise error.at(self.place) from None
            problem = (f"{error.place}: ", *error.problem)
            raise InvalidInputError(
                problem, argument=error.argument, found=error.found, advice=error.advice, place=self.place
            ) from None
        except (TypeError, ValueError) as error:
            raise self.error(str(error)) from None


def _declared(table: Mapping[str, Any], file: _Key, folder: Path) -> Declared:
    _check_keys(table, _KEYS, file)
    for key in ("data", "methods"):
        if not table.get(key):
            raise file.below(key).error("is missing: it says what to compare")
    asked = {
        "splits": _typed(table, "splits", str, None, file),
        "n_splits": _typed(table, "n_splits", int, 3, file),
        "seeds": _listed(table, "seeds", int, file) or (0,),
        "metrics": _listed(table, "metrics", str, file),
        "grid_metric": _typed(table, "grid_metric", str, None, file),
        "at": _listed(table, "at", int, file),
        "likes": _typed(table, "likes", float, None, file),
    }
    title = _typed(table, "title", str, "Comparison", file)
    task, estimators, grids = _methods(table["methods"], asked["grid_metric"], file)
    data = _data(table["data"], task, file.below("data"), folder)
    with file.named():
        checked(estimators, data, grids=grids, **asked)
    return Declared(estimators=estimators, data=data, title=title, grids=grids, **asked)


# ---------------------------------------------------------------- methods


def _methods(tables: Any, grid_metric: Any, file: _Key) -> tuple[Task, dict[str, Any], dict[str, Any]]:
    """Return the task, the estimators, and the grids of rating models."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise file.below("methods").error("must be tables, each below a line [[methods]]")
    estimators: dict[str, Any] = {}
    grids: dict[str, Any] = {}
    first: tuple[Task, str] | None = None
    for number, table in enumerate(tables, 1):
        key = file.below("methods", f"number {number}")
        _check_keys(table, _METHOD_KEYS, key)
        asked = _typed(table, "model" if "model" in table else "name", str, None, key)
        if asked is None:
            raise key.error("has no name", "give the class of a model")
        name = _typed(table, "name", str, asked, key)
        key = file.below("methods", f"number {number} ({name})")
        task, kind = _kind_of(asked, key)
        if first is not None and task != first[0]:
            raise key.error(f"{kind.__name__} is for {task}, but {first[1]} for {first[0]}")
        first = first or (task, kind.__name__)
        if name in estimators:
            raise key.error("there is another method of this name", "give each one of its own")
        estimator = _estimator(kind, _typed(table, "parameters", dict, {}, key), key.below("parameters"))
        grid = _typed(table, "grid", dict, {}, key)
        with key.below("grid").named():
            check_grid(estimator, grid)
        if grid and task == "labels":
            estimator = _search(estimator, grid, grid_metric, file)
        elif grid:
            grids[name] = dict(grid)
        estimators[name] = estimator
    assert first is not None  # there is one method at least
    return first[0], estimators, grids


def _kind_of(name: str, key: _Key) -> tuple[Task, type[Any]]:
    """Return task and class of a model; case, hyphens and underscores do not matter."""
    plain = {normalize_name(known): (task, kind) for task, kinds in _MODELS.items() for known, kind in kinds.items()}
    if normalize_name(name) not in plain:
        names = sorted(known for kinds in _MODELS.values() for known in kinds)
        raise key.error(f"there is no model {name!r}", did_you_mean(name, names))
    return plain[normalize_name(name)]


def _estimator(kind: type[Any], parameters: Mapping[str, Any], key: _Key) -> Any:
    """Return a model with these parameters, checked as `fit` checks them."""
    model = kind()
    given = dict(parameters)
    if isinstance(given.get("estimator"), str):
        known: Mapping[str, type[Any]] = RATING_MODELS
        if isinstance(model, LabelModel):
            from cofactor.labels.learners.fitting import SAVABLE
            # loads scikit-learn's estimators

            known = SAVABLE
        inner = given.pop("estimator")
        if inner not in known:
            raise key.error(f"there is no estimator {inner!r}", did_you_mean(inner, known))
        model.set_params(estimator=known[inner]())
    with key.named():
        check_names(model, given)
        model.set_params(**given)
        model.check_params()
    return model


def _search(estimator: Any, grid: Mapping[str, Any], metric: Any, file: _Key) -> Search:
    """Return a label model which chooses its parameters, and its threshold if that is to be learned."""
    if metric is not None and metric not in LABEL_METRICS:
        raise file.below("grid_metric").error(f"there is no metric {metric!r}", did_you_mean(metric, LABEL_METRICS))
    rule = estimator.threshold if isinstance(estimator.threshold, str) else "plain"
    return Search(estimator, dict(grid), metric=metric or "micro_f1", thresholds=(rule,), random_state=None)


# ---------------------------------------------------------------- data


def _data(sets: Any, task: Task, key: _Key, folder: Path) -> dict[str, RatingDataset | LabelDataset]:
    if isinstance(sets, list) and all(isinstance(one, str) for one in sets):
        sets = {one: one for one in sets}
    if not isinstance(sets, dict):
        raise key.error('must be a list of names and files, or a table of such lines as stars = "stars.csv"')
    return {name: _data_set(one, task, key.below(name), folder) for name, one in sets.items()}


def _data_set(given: Any, task: Task, key: _Key, folder: Path) -> RatingDataset | LabelDataset:
    """Return a set of the registry, or a file; the name of a set goes before a file of the same name."""
    options = {"file": given} if isinstance(given, str) else given
    if not isinstance(options, dict) or not isinstance(options.get("file"), str):
        raise key.error("must be the name of a data set or of a file, or a table with file = and its options")
    source, options = options["file"], {name: value for name, value in options.items() if name != "file"}
    if source in KNOWN and KNOWN[source].task != task:
        raise key.error(f"{source} holds {KNOWN[source].task}, but the methods are for {task}")
    path = source if is_database(source) else folder / source
    if source not in KNOWN and not exists(path):
        known = [name for name, entry in KNOWN.items() if entry.task == task]
        raise key.error(f"{source}: no such file, and no known data set", did_you_mean(source, known))
    where = source if source in KNOWN else path
    names = _options_of(where, task)
    for name in options:
        if name not in names:
            raise key.error(f"there is no option {name!r}", did_you_mean(name, names))
    with key.named():
        return _load(where, task, options)


def _options_of(source: str | Path, task: Task) -> list[str]:
    """Return the options of what reads a known data set or a file."""
    if task == "labels":
        formats = {one.name: one.options for one in FORMATS}
        return [*_parameters(load_labels), "name", *formats.get(open_data(source).format, ())]
    return _parameters(load_ratings) if source in KNOWN else _parameters(read_ratings)


def _parameters(reader: Any) -> list[str]:
    _, *parameters = inspect.signature(reader).parameters.values()
    return [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]


def _load(source: str | Path, task: Task, options: dict[str, Any]) -> RatingDataset | LabelDataset:
    if task == "labels":
        return load_labels(source, **options)
    if source in KNOWN:
        return load_ratings(str(source), **options)
    return read_ratings(source, **options)


# ---------------------------------------------------------------- keys and values


def _check_keys(table: Mapping[str, Any], known: Iterable[str], key: _Key) -> None:
    for name in table:
        if name not in known:
            raise key.error(f"has no key {name!r}", did_you_mean(name, known))


def _typed(table: Mapping[str, Any], name: str, kind: type[Any], default: Any, key: _Key) -> Any:
    value = table.get(name, default)
    if value is not default and (
        not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool)
    ):
        raise key.below(name).error(f"must be {_KINDS[kind]}, found {value!r}")
    return value


def _listed(table: Mapping[str, Any], name: str, kind: type[Any], key: _Key) -> list[Any] | None:
    values = table.get(name)
    if values is None:
        return None
    fits = isinstance(values, list) and values
    if not fits or not all(isinstance(one, kind) and not isinstance(one, bool) for one in values):
        raise key.below(name).error(f"must be a list, each {_KINDS[kind]}, found {values!r}")
    return list(values)
