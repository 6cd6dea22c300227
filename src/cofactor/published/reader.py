"""The reader of the published tables: ``tables/NAME.csv`` holds the numbers, ``index.toml`` says what they are."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.text import did_you_mean, without_zero

FOLDER = Path(__file__).parent
"""Where the files are."""

_INDEX = tomllib.loads((FOLDER / "index.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A measure of the tables: its title, which direction is better ("" for neither), its least and largest value."""

    title: str
    better: Literal["lower", "higher", ""] = ""
    low: float = 0.0
    high: float = float("inf")


METRICS: Mapping[str, Metric] = {name: Metric(**facts) for name, facts in _INDEX["metrics"].items()}
"""Every measure in the tables, by the names that `rating_report` and `label_report` use where they have it."""

SOURCES: Mapping[str, str] = _INDEX["sources"]
"""Where the tables are published."""


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
    digits : int
        How many digits are printed after the point.

    Examples
    --------
    >>> str(printed("thesis-3.19", "HMF", "nmae", data="ml-1m", protocol="weak"))
    '.4019 ± .0044'
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
    digits: int = 3

    def __str__(self) -> str:
        parts = [self.mean] if self.std is None else [self.mean, self.std]
        return " ± ".join(without_zero(part, self.digits) for part in parts)


@dataclass(frozen=True, kw_only=True)
class Misprint:
    """A misprint in a table: it prints `printed` where `right` would be right; `right` is empty if it is not known.

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

        >>> Misprint(data="plant", method="BPMLL", metric="micro_f1", field="mean", printed="0.000", why="hits").said
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
        What it shows, in the words of this package; where it is published; how its numbers were measured there.
    rows : tuple of Printed
        Its numbers, in the order of the source.
    printed_names : mapping
        The names in the source of methods that have another name here.
    errors : tuple of Misprint
        What cannot be right in it.
    unusual : mapping
        Metrics of which none of its numbers can be right, and why.
    notes : tuple of str
        What else a reader should know.
    corrections : tuple of str
        Entries of docs/corrections.md about this table.

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
    unusual: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    corrections: tuple[str, ...] = ()

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

    def get(self, data: str, method: str, metric: str, protocol: str = "") -> Printed | None:
        """Return the number for a data set, a method and a metric; None where none is printed.

        >>> load("thesis-6.2").get("bookmarks", "CPLST", "accuracy") is None
        True
        """
        return self._by_place.get((data, protocol, method, metric))

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
    InvalidInputError
        If there is no such table.

    Examples
    --------
    >>> table = load("thesis-6.2")
    >>> print(table.errors[0])
    medical, FAiE, Macro F1: in bold, is not the best
    >>> load("thesis-5.12")
    Traceback (most recent call last):
        ...
    cofactor.errors.InvalidInputError: no published table 'thesis-5.12'; did you mean thesis-5.11, ...
    """
    if name not in _INDEX["tables"]:
        raise InvalidInputError(f"no published table {name!r}", advice=did_you_mean(name, names()))
    facts = _INDEX["tables"][name]
    with open(FOLDER / "tables" / f"{name}.csv", encoding="utf-8", newline="") as lines:
        rows = tuple(_printed(record) for record in csv.DictReader(lines))
    return Published(
        name=name,
        title=facts["title"],
        source=f"{SOURCES[facts['source']]}, table {facts['table']}",
        protocol=facts["protocol"],
        rows=rows,
        printed_names=facts.get("printed", {}),
        errors=tuple(Misprint(**error) for error in facts.get("errors", ())),
        unusual=facts.get("unusual", {}),
        notes=tuple(facts.get("notes", ())),
        corrections=tuple(facts.get("corrections", ())),
    )


def printed(
    tables: str | Iterable[str], row: str, column: str, *, data: str | None = None, protocol: str | None = None
) -> Printed | None:
    """Return what one cell of a published table holds, or of the first of several tables that prints it.

    Parameters
    ----------
    tables : str or iterable of str
        One of `names`, or several, in the order in which they are searched.
    row, column : str
        Method and metric.
    data, protocol : str, optional
        Data set and protocol; may be left out where the whole table has the same.

    Returns
    -------
    Printed or None
        None where nothing is printed.

    Raises
    ------
    InvalidInputError
        If there is no such table or metric, or the data set or protocol is left out where there are several.

    Examples
    --------
    >>> printed("thesis-4.1", "PMMMF", "mae")
    Printed(data='ml-100k', protocol='', method='PMMMF', metric='mae', mean=0.7138, std=0.0045, ...)
    >>> printed("thesis-5.9", "MLCHMF", "hamming")
    Traceback (most recent call last):
        ...
    cofactor.errors.InvalidInputError: table thesis-5.9 has several data sets; give data, one of cal500, ...
    """
    if column not in METRICS:
        raise InvalidInputError(f"no published measure {column!r}", advice=did_you_mean(column, METRICS))
    for name in [tables] if isinstance(tables, str) else tables:
        table = load(name)
        of_data = _only(table, "data", data, table.data)
        of_protocol = _only(table, "protocol", protocol, table.protocols)
        found = table.get(of_data, row, column, of_protocol)
        if found is not None:
            return found
    return None


def value(
    tables: str | Iterable[str], row: str, column: str, *, data: str | None = None, protocol: str | None = None
) -> float | None:
    """Return the number in one cell of a published table, or of the first of several tables that prints it.

    The parameters are those of `printed`.

    Examples
    --------
    >>> value("thesis-4.1", "MMMF", "mae"), value("thesis-4.1", "HMF", "mae")
    (0.7355, None)
    >>> value(("thesis-5.9", "thesis-5.10", "thesis-6.2"), "GroPLE", "micro_f1", data="medical")
    0.821
    """
    found = printed(tables, row, column, data=data, protocol=protocol)
    return None if found is None else found.mean


def matrices() -> tuple[str, ...]:
    """Return the names of all printed matrices.

    Examples
    --------
    >>> matrices()
    ('thesis-3.1', 'thesis-3.2-U', 'thesis-3.2-V', 'thesis-3.6')
    """
    return tuple(sorted(path.stem for path in (FOLDER / "matrices").glob("*.csv")))


@cache
def matrix(name: str) -> NDArray[np.float64]:
    """Return a small matrix printed in a source, read-only; 0 stands for what is not observed.

    Parameters
    ----------
    name : {"thesis-3.1", "thesis-3.6", "thesis-3.2-U", "thesis-3.2-V"}
        Two tables of ratings, users × items, of two and of five levels; and the factors printed for the first of them.

    Examples
    --------
    >>> matrix("thesis-3.1").shape, matrix("thesis-3.2-U")[0].tolist()
    ((7, 7), [-0.63, -0.5])
    >>> matrix("thesis-3.3")
    Traceback (most recent call last):
        ...
    cofactor.errors.InvalidInputError: no published matrix 'thesis-3.3'; did you mean thesis-3.6, thesis-3.1, ...
    """
    if name not in matrices():
        raise InvalidInputError(f"no published matrix {name!r}", advice=did_you_mean(name, matrices()))
    numbers = np.loadtxt(FOLDER / "matrices" / f"{name}.csv", delimiter=",")
    numbers.setflags(write=False)
    return numbers


def _only(table: Published, what: str, given: str | None, known: tuple[str, ...]) -> str:
    """Return the data set or protocol that was asked for, or the one that the table has."""
    if given is not None:
        return given
    if len(known) > 1:
        several = {"data": "data sets", "protocol": "protocols"}[what]
        raise InvalidInputError(
            f"table {table.name} has several {several}", advice=f"give {what}, one of {', '.join(known)}"
        )
    return known[0] if known else ""


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
        digits=len(record["mean"].partition(".")[2]),
    )


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for value in values if value))
