"""The plain data that shells give to tasks, and in which tasks answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cofactor.errors import InvalidInputError, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cofactor.metrics import LabelTable


# ---------------------------------------------------------------- what goes in


@dataclass(frozen=True)
class Settings:
    """Which settings a model is to have.

    Parameters
    ----------
    alpha : float, list of float or "auto", default="auto"
        Weight of the penalty; "auto" chooses it by validation.
    factors : int or "auto", optional
        Number of factors, or components; by default the model's own.
    seed : int, optional
        Seed.
    params : mapping from str to object
        Other parameters of the model by name.
    options : mapping from str to object
        Options of the task, such as the threshold.
    lenient : bool, default=False
        Where a model has no parameter for alpha or factors, leave the setting out and add a note. By default that is
        an error.
    """

    alpha: Any = "auto"
    factors: int | str | None = None
    seed: int | None = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    lenient: bool = False


@dataclass(frozen=True)
class Protocol:
    """How to split data into training and test parts.

    Parameters
    ----------
    name : str, optional
        Name of the protocol; by default the task's own.
    splits : int, optional
        Number of splits, or folds; by default the task's own.
    seed : int, default=0
        Seed of the splits.
    test_size : float, default=0.2
        Part held out, where the protocol is "holdout", or of ratings "user-last", "per-user", "new-users" or "time".
    options : mapping from str to object
        Options of the task, such as ``test_users``.
    """

    name: str | None = None
    splits: int | None = None
    seed: int = 0
    test_size: float = 0.2
    options: Mapping[str, Any] = field(default_factory=dict)


#: What items can be ranked by: P(interact) × P(like | interaction), P(interact), the expected gain, or the predicted
#: rating.
RANKINGS = ("like", "interaction", "gain", "rating")


# ---------------------------------------------------------------- what comes out


@dataclass(frozen=True)
class Loaded:
    """What was read from a file.

    Attributes
    ----------
    file : str
        As the user gave it.
    data : RatingDataset or LabelDataset
        Its content.
    ready : object, optional
        The content in the form that the models take, if that is another form.
    notes : tuple of Text
        What to know about how it was read.
    """

    file: str
    data: Any
    ready: Any = None
    notes: tuple[Text, ...] = ()

    @property
    def name(self) -> str:
        """Name of the data."""
        return str(self.data.name)


@dataclass(frozen=True)
class Built:
    """A model that is not fitted yet.

    Attributes
    ----------
    model : estimator
        The model.
    notes : tuple of Text
        What the user should know about its settings.
    """

    model: Any
    notes: tuple[Text, ...] = ()


@dataclass(frozen=True)
class AnswerTable:
    """Named columns of equal length.

    Attributes
    ----------
    title : str
        What they hold.
    columns : mapping from str to array-like
        The columns.
    records : callable, optional
        Returns an object for each row, if objects say more than the columns.
    fault : InvalidInputError, optional
        Why the columns must not be written, where the records may be.
    notes : tuple of Text
        What the user should also know.
    text : callable, optional
        Returns what people read on a terminal, if that is not the columns.
    following : iterator of Table, optional
        Tables with more rows of the same columns, each made when it is asked for; notes on all rows are with the last.
    """

    title: str
    columns: Mapping[str, Any]
    records: Callable[[], Iterator[Mapping[str, Any]]] | None = None
    fault: InvalidInputError | None = None
    notes: tuple[Text, ...] = ()
    text: Callable[[], str] | None = None
    following: Iterator[AnswerTable] | None = None

    @classmethod
    def of_blocks(cls, blocks: Iterator[AnswerTable], notes: tuple[Text, ...] = ()) -> AnswerTable:
        """Return the first of some tables, with notes before its own, and the others as those that follow."""
        first = next(blocks)
        return replace(first, notes=(*notes, *first.notes), following=blocks)


#: Where a column is shown: always, only on wide terminals, or not at all.
Room: TypeAlias = Literal["any", "wide", "none"]


@dataclass(frozen=True)
class Column:
    """A measure in a table of results.

    Attributes
    ----------
    key : str
        Its name in the results.
    heading : str
        What stands above it.
    digits : int
        Digits after the point.
    room : {"any", "wide", "none"}
        Whether it is shown always, only on wide terminals, or not at all. Machines get all columns.
    """

    key: str
    heading: str
    digits: int
    room: Room = "any"


@dataclass(frozen=True)
class EvaluationResult:
    """What an evaluation found.

    Attributes
    ----------
    title : str
        Data, protocol, splits and seed in words.
    facts : mapping from str to object
        The same for machines.
    results : mapping from str to list of dict
        For each model the measures of each split.
    columns : tuple of Column
        The measures to show.
    best : str
        Key of the measure that decides.
    highest : bool
        Whether high values of it are good.
    notes : tuple of Text
        What the user should also know.
    by_label : mapping from str to LabelTable
        For each model the measures of each label over all splits, where that was asked for.
    """

    title: str
    facts: Mapping[str, Any]
    results: Mapping[str, list[dict[str, Any]]]
    columns: tuple[Column, ...]
    best: str
    highest: bool = False
    notes: tuple[Text, ...] = ()
    by_label: Mapping[str, LabelTable] = field(default_factory=dict)

    def values(self, name: str, key: str) -> list[float] | None:
        """Return a measure of a model in each split, None if it does not have it in all of them.

        Parameters
        ----------
        name : str
            Name of the model.
        key : str
            Name of the measure; "seconds" are those of a fit.
        """
        key = "fit_seconds" if key == "seconds" else key
        runs = self.results[name]
        return [run[key] for run in runs] if all(key in run for run in runs) else None

    def summary(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return mean and sample standard deviation of each measure of each model, as far as it has them."""
        found: dict[str, dict[str, dict[str, float]]] = {}
        for name in self.results:
            found[name] = {}
            for column in self.columns:
                values = self.values(name, column.key)
                if values is not None:
                    mean, std = mean_std(values)
                    found[name][column.key] = {"mean": mean, "std": std}
        return found

    def chosen(self) -> dict[str, dict[str, list[Any]]]:
        """Return, for each model that chose parameters, their values in each split."""
        found: dict[str, dict[str, list[Any]]] = {}
        for name, runs in self.results.items():
            for run in runs:
                for parameter, value in run.get("parameters", {}).items():
                    found.setdefault(name, {}).setdefault(parameter, []).append(value)
        return found

    def leader(self) -> str:
        """Return the name of the best model."""
        sign = -1 if self.highest else 1
        return min(self.results, key=lambda name: sign * mean_std(self.values(name, self.best) or [])[0])


@dataclass(frozen=True)
class RankedResult:
    """What an evaluation of recommendations found.

    Attributes
    ----------
    title : str
        Data, protocol, splits and seed in words.
    facts : mapping from str to object
        The same for machines.
    summary : mapping from str to mapping
        For each model, and each measure, its mean over users with its error.
    text : callable
        Returns the table for people, given the width of a terminal.
    notes : tuple of Text
        What the user should also know.
    """

    title: str
    facts: Mapping[str, Any]
    summary: Mapping[str, Mapping[str, Any]]
    text: Callable[[int], str]
    notes: tuple[Text, ...] = ()


def mean_std(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation; 0 for a single value.

    Parameters
    ----------
    values : sequence of float
        At least one.

    Examples
    --------
    >>> mean_std([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    from statistics import fmean, stdev  # only here, since commands start with this module

    return fmean(values), stdev(values) if len(values) > 1 else 0.0


@dataclass(frozen=True)
class EvaluationProgress:
    """How far an evaluation is.

    Attributes
    ----------
    model : str
        What is fitted now.
    split : int
        On which split, counted from 1.
    done, total : int
        How many fits are done, of how many.
    inner : object, optional
        What the model itself reports.
    """

    model: str
    split: int
    done: int
    total: int
    inner: Any = None


def shortest(values: NDArray[Any]) -> NDArray[Any]:
    """Return float32 as the shortest float64 that is the same float32: .1, not .10000000149; float64 as it is.

    Examples
    --------
    >>> import numpy as np
    >>> shortest(np.array([0.1], dtype=np.float32))
    array([0.1])
    """
    return values if values.dtype == "float64" else values.astype("U").astype("float64")
