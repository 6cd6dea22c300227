"""The data sets of a comparison, in one form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from cofactor.datasets import LabelDataset, RatingDataset, load_labels, load_ratings
from cofactor.datasets.registry import KNOWN
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.evaluation.keys import checksum
from cofactor.model.named_splits import Task
from cofactor.model.times import seconds_of, timed_pairs
from cofactor.ratings.features import FeatureTable
from cofactor.text import did_you_mean

__all__ = ["Source", "sources_of", "task_of"]


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
