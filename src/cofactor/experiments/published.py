"""Published numbers, transcribed by hand: one file for each table, with what is known to be wrong in it.

The numbers stand in ``published/NAME.csv``, what they are in ``published/index.toml``.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from cofactor import labels, ratings
from cofactor.errors import InvalidInputError
from cofactor.evaluation.stats.scores import Scores
from cofactor.text import did_you_mean

__all__ = ["METRICS", "Metric", "Misprint", "Printed", "Published", "load", "names"]

_FOLDER = Path(__file__).with_suffix("")
_INDEX = tomllib.loads((_FOLDER / "index.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A measure of the tables: its title, which direction is better, between which bounds it lies."""

    title: str
    better: Literal["lower", "higher", ""] = ""
    low: float = 0.0
    high: float = float("inf")


METRICS: Mapping[str, Metric] = {name: Metric(**facts) for name, facts in _INDEX["metrics"].items()}
"""Every measure in the tables; `rating_report` and `label_report` call them the same where they have them."""


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A number as it is printed; what does not apply, or is not printed, is empty or None.

    Parameters
    ----------
    data, protocol, method, metric : str
        What was measured. The protocol is empty where the whole table has the same.
    mean, std, rank : float
        The number, its standard deviation, the rank of the method on this data set.
    bold : bool
        Whether it is printed in bold, as the best.
    n_factors : int
        The dimension of the embedding.
    """

    data: str
    protocol: str
    method: str
    metric: str
    mean: float
    std: float | None = None
    rank: float | None = None
    bold: bool = False
    n_factors: int | None = None


@dataclass(frozen=True, kw_only=True)
class Misprint:
    """What cannot be right in a table: `printed` is, `right` should be; `right` is empty where it is not known.

    Examples
    --------
    >>> print(Misprint(data="human", method="LLSF", metric="hamming", field="rank", printed="6", right="7"))
    human, LLSF, Hamming loss: rank 6 should be 7
    """

    field: Literal["mean", "rank", "bold"]
    printed: str
    right: str = ""
    data: str = ""
    method: str = ""
    metric: str = ""
    why: str = ""

    def __str__(self) -> str:
        place = ", ".join(part for part in (self.data, self.method, METRICS[self.metric].title) if part)
        return f"{place}: {self.said}"

    @property
    def said(self) -> str:
        """What is wrong, without the place.

        >>> Misprint(data="plant", method="BP-MLL", metric="micro_f1", field="mean", printed="0.000", why="hits").said
        '0.000 cannot be right (hits)'
        """
        if self.field == "bold":
            said = "in bold, is not the best" if self.printed == "yes" else "not in bold, is the best"
        else:
            number = f"rank {self.printed}" if self.field == "rank" else self.printed
            said = f"{number} should be {self.right}" if self.right else f"{number} cannot be right"
        return said + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True)
class Published:
    """A published table.

    Parameters
    ----------
    name : str
        Such as ``"thesis-3.19"``.
    title, source, protocol : str
        What it shows, in our words; where it is published; how it was measured there.
    rows : tuple of Printed
        Its numbers, in the order of the source.
    printed_names : mapping
        What the source calls methods that have another name here.
    errors : tuple of Misprint
        What cannot be right in it.
    notes : tuple of str
        What else a reader should know.

    Examples
    --------
    >>> table = load("thesis-3.19")
    >>> table.get("ml-1m", "HMF", "nmae", "weak").mean
    0.4019
    >>> table.data, table.metrics, table.printed_names["Ensemble"]
    (('ml-1m', 'eachmovie'), ('nmae',), 'E-MMMF')
    """

    name: str
    title: str
    source: str
    protocol: str
    rows: tuple[Printed, ...]
    printed_names: Mapping[str, str]
    errors: tuple[Misprint, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> tuple[str, ...]:
        """Its data sets, as the registry of `cofactor.datasets` calls those it has."""
        return _distinct(row.data for row in self.rows)

    @property
    def protocols(self) -> tuple[str, ...]:
        """Its protocols, if it has several."""
        return _distinct(row.protocol for row in self.rows)

    @property
    def methods(self) -> tuple[str, ...]:
        """Its methods; a class of ours, with a variant in brackets where there are several, or as in the source."""
        return _distinct(row.method for row in self.rows)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Its metrics, as in `METRICS`."""
        return _distinct(row.metric for row in self.rows)

    @property
    def ours(self) -> tuple[str, ...]:
        """The methods which this package has.

        >>> load("li-7.1").ours
        ('BinaryRelevance (linear SVM)', 'BinaryRelevance (logistic regression)')
        """
        models = {*ratings.MODELS, *labels.MODELS, *labels.TRANSFORMERS}
        return tuple(method for method in self.methods if method.partition(" (")[0] in models)

    def get(self, data: str, method: str, metric: str, protocol: str = "") -> Printed | None:
        """Return the number for a data set, a method and a metric; None where none is printed.

        >>> load("thesis-6.2").get("bookmarks", "CPLST", "accuracy") is None
        True
        """
        return self._by_place.get((data, protocol, method, metric))

    def scores(self, metric: str, protocol: str = "") -> Scores:
        """Return the printed numbers of a metric as a table, data sets × methods; NaN where none is printed.

        >>> load("thesis-5.9").scores("hamming").ranks[0]
        array([1.5, 6. , 5. , 3.5, 3.5, 7. , 1.5])
        """
        rows = [row for row in self.rows if (row.metric, row.protocol) == (metric, protocol)]
        data, methods = _distinct(row.data for row in rows), _distinct(row.method for row in rows)
        found = [[self.get(name, method, metric, protocol) for method in methods] for name in data]
        values = [[np.nan if row is None else row.mean for row in line] for line in found]
        return Scores(values, methods, data, greater_is_better=METRICS[metric].better == "higher")

    @cached_property
    def _by_place(self) -> dict[tuple[str, str, str, str], Printed]:
        return {(row.data, row.protocol, row.method, row.metric): row for row in self.rows}


def names() -> tuple[str, ...]:
    """Return the names of all tables.

    Examples
    --------
    >>> names()[:3]
    ('thesis-3.18', 'thesis-3.19', 'thesis-4.1')
    """
    return tuple(_INDEX["tables"])


@cache
def load(name: str) -> Published:
    """Return a published table.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Published

    Raises
    ------
    ValueError
        If there is no such table.

    Examples
    --------
    >>> table = load("thesis-6.2")
    >>> print(table.errors[0])
    medical, FAiE, Macro F1: in bold, is not the best
    >>> load("thesis-5.12")
    Traceback (most recent call last):
        ...
    ValueError: no published table 'thesis-5.12'; did you mean thesis-5.11, ...
    """
    if name not in _INDEX["tables"]:
        raise InvalidInputError(f"no published table {name!r}; {did_you_mean(name, names())}")
    facts = _INDEX["tables"][name]
    with open(_FOLDER / f"{name}.csv", encoding="utf-8", newline="") as lines:
        rows = tuple(_printed(record) for record in csv.DictReader(lines))
    return Published(
        name=name,
        title=facts["title"],
        source=f"{_INDEX['sources'][facts['source']]}, table {facts['table']}",
        protocol=facts["protocol"],
        rows=rows,
        printed_names=facts.get("printed", {}),
        errors=tuple(Misprint(**error) for error in facts.get("errors", ())),
        notes=tuple(facts.get("notes", ())),
    )


def _printed(record: Mapping[str, str]) -> Printed:
    return Printed(
        data=record["data"],
        protocol=record["protocol"],
        method=record["method"],
        metric=record["metric"],
        mean=float(record["mean"]),
        std=float(record["std"]) if record["std"] else None,
        rank=float(record["rank"]) if record["rank"] else None,
        bold=record["bold"] == "1",
        n_factors=int(record["n_factors"]) if record.get("n_factors") else None,
    )


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
