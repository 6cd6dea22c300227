"""A paper: what its TOML file declares of its experiments, the cells they are made of, published numbers beside ours.

``NAME.toml`` holds what is data: titles, notes, reasons why numbers differ, the settings and grids of methods. The
module of the paper says which cells there are, and what their results show. Both stand apart from what cells measure:
files of data beside a module that measures would be part of the keys of its results.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from numbers import Real
from pathlib import Path
from typing import Any

from cofactor import published
from cofactor.datasets import DatasetNotFoundError, locate, verify
from cofactor.evaluation import keys
from cofactor.evaluation.running import Cell, cell
from cofactor.evaluation.store import Measures, Run
from cofactor.experiments.label_work import label_fold, source_of
from cofactor.experiments.reproduction import Experiment, Extent, Outcome, Row, Sample
from cofactor.published import SOURCES, Published

__all__ = ["Discrepancy", "Paper", "beside", "checksum", "label_cell", "printed_cell", "rating_cell", "samples"]

VARIANTS = {"learned": "learned threshold"}
"""Words for what stands before the colon in the name of a measure."""

Place = tuple[str, str, str, str]
"""Data set, protocol, method and metric: what a number of a table is found by."""


# ---------------------------------------------------------------- what is declared


class Paper:
    """What ``NAME.toml`` declares.

    Parameters
    ----------
    name : str
        Of the file.

    Attributes
    ----------
    facts : dict
        Its content. Below ``experiments`` each experiment has a ``title`` (by default that of its first table),
        ``tables`` and ``missing`` as in `Experiment`, ``notes`` on every outcome, and the ``reasons`` and ``absent``
        of `beside`; what it does not say is that of the experiment it is ``like``.

    Examples
    --------
    >>> Paper("omf").about("omf-table-2")["missing"]
    ['mediamill: not among the data sets of this package']
    """

    def __init__(self, name: str) -> None:
        self.facts: dict[str, Any] = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text("utf-8"))

    def about(self, experiment: str) -> dict[str, Any]:
        """Return what is declared of an experiment."""
        facts = self.facts["experiments"][experiment]
        return (self.about(facts["like"]) if "like" in facts else {}) | facts

    def rows(self, experiment: str, results: Sequence[Run]) -> list[Row]:
        """Return the numbers of the first published table of an experiment beside ours."""
        facts = self.about(experiment)
        reasons, absent = ([Discrepancy(**one) for one in facts.get(kind, ())] for kind in ("reasons", "absent"))
        return beside(published.load(facts["tables"][0]), results, reasons=reasons, absent=absent)

    def experiment(
        self,
        name: str,
        cells: Callable[[Extent], Sequence[Cell]],
        outcome: Callable[[Sequence[Run]], Outcome] | None = None,
    ) -> Experiment:
        """Return an experiment; without an outcome of its own it has the rows of its table."""
        facts = self.about(name)
        tables = facts.get("tables", ())

        def noted(results: Sequence[Run]) -> Outcome:
            found = outcome(results) if outcome else Outcome(rows=self.rows(name, results))
            return replace(found, notes=[*found.notes, *facts.get("notes", ())])

        return Experiment(
            name=name,
            title=facts.get("title") or published.load(tables[0]).title,
            cells=cells,
            outcome=noted,
            missing=facts.get("missing", ()),
            tables=tables,
            work=SOURCES[self.facts["source"]],
        )


# ---------------------------------------------------------------- cells, with the checksum of their data


def checksum(name: str) -> str:
    """Return the SHA-256 of a data set's files on this machine, or nothing where the set is not there.

    Parameters
    ----------
    name : str
        Name in the registry.

    Examples
    --------
    >>> from cofactor.datasets import locate
    >>> locate("ml-100k").name  # where it is there
    'ml-100k'
    >>> checksum("ml-100k")[:12]
    '06416e597f82'
    """
    try:
        return _checksum(name, locate(name))
    except DatasetNotFoundError:
        return ""


@cache
def _checksum(name: str, folder: Path) -> str:
    files = verify(name).files
    found = [file.found for file in files if file.required and file.found]
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()


def rating_cell(
    function: Callable[..., Measures], method: str, data: str, split: str, seed: int, **parameters: Any
) -> Cell:
    """Return the cell of a function of `rating_work`; data that are made have no checksum, their recipe says it all."""
    found = "" if parameters.get("made") else checksum(data)
    return cell(function, method=method, data=data, split=split, seed=seed, checksum=found, **parameters)


def printed_cell(function: Callable[..., Measures], method: str, data: str, **parameters: Any) -> Cell:
    """Return the cell of a function which fits a rating model to a printed matrix.

    Examples
    --------
    >>> from cofactor.experiments.plane import sides
    >>> printed_cell(sides, "BinaryMMMF", "thesis-3.1", threshold=0.1, alpha=0.1).name
    'BinaryMMMF, thesis-3.1'
    """
    numbers = keys.checksum(*map(published.matrix, published.matrices()))
    return cell(function, method=method, data=data, checksum=numbers, **parameters)


def label_cell(method: str, data: str, split: str, seed: int = 0, **parameters: Any) -> Cell:
    """Return the cell of `label_fold` with these arguments.

    Examples
    --------
    >>> label_cell("MLkNN", "emotions", "kfold 1/10").name
    'MLkNN, emotions, kfold 1/10'
    """
    found = checksum(source_of(data, parameters.get("aligned")))
    return cell(label_fold, method=method, data=data, split=split, seed=seed, checksum=found, **parameters)


# ---------------------------------------------------------------- published numbers beside ours


@dataclass(frozen=True)
class Discrepancy:
    """Why numbers differ, or one is missing, and which: patterns with ``*`` for what a `Row` calls the same."""

    text: str
    data: str = "*"
    method: str = "*"
    metric: str = "*"
    variant: str = "*"
    verdict: str = "*"

    def fits(self, row: Row) -> bool:
        """Return whether the reason is about this number."""
        names = ("data", "method", "metric", "variant", "verdict")
        return all(fnmatchcase(getattr(row, name), getattr(self, name)) for name in names)


def samples(results: Iterable[Run], metrics: Iterable[str]) -> dict[Place, dict[str, Sample]]:
    """Return mean and standard deviation over the cells, by place and, within, by variant.

    The variant of a number is what stands before the colon in the name of its measure (`VARIANTS`), and the parameter
    ``variant`` of its cell.
    """
    wanted = set(metrics)
    values: dict[Place, dict[str, list[float]]] = {}
    for result in results:
        for name, value in result.measures.items():
            before, _, metric = name.rpartition(":")
            if metric in wanted and isinstance(value, Real):
                parts = (str(result.parameters.get("variant", "")), VARIANTS.get(before, before))
                variant = ", ".join(part for part in parts if part)
                values.setdefault((*_place(result), metric), {}).setdefault(variant, []).append(float(value))
    return {
        place: {variant: Sample.of(numbers) for variant, numbers in sorted(variants.items())}
        for place, variants in values.items()
    }


def _place(result: Run) -> tuple[str, str, str]:
    return result.data, str(result.parameters.get("protocol", "")), result.method


def beside(
    published: Published,
    results: Sequence[Run],
    *,
    reasons: Iterable[Discrepancy] = (),
    absent: Iterable[Discrepancy] = (),
) -> list[Row]:
    """Return published and measured numbers of a table, joined on data set, protocol, method and metric.

    Parameters
    ----------
    published : Published
        The printed numbers.
    results : sequence of Run
        What was measured; the protocol is the parameter ``protocol`` of the cells, empty where there is none.
    reasons : iterable of Discrepancy
        Why numbers differ, where that is known; the first which fits is shown where two do not agree. That the printed
        one cannot be right, which the table itself knows, goes before.
    absent : iterable of Discrepancy
        Why numbers are not measured here; the first which fits is shown.

    Returns
    -------
    list of Row
        In the order of the source; what was measured in several variants has a row for each; what only we measured
        comes last.
    """
    misprints = {
        (error.data, error.method, error.metric): error.said for error in published.errors if error.field == "mean"
    }
    here = samples(results, published.metrics)
    failures = {_place(one): one.error.partition("\n")[0] or "no message" for one in results if one.status == "failed"}
    printed = {(row.data, row.protocol, row.method, row.metric): Sample(row.mean, row.std) for row in published.rows}
    first = partial(_first, list(reasons)), partial(_first, list(absent))
    rows = []
    for place in dict.fromkeys((*printed, *here)):
        data, protocol, method, metric = place
        misprint = misprints.get((data, method, metric), "") or published.unusual.get(metric, "")
        at = Row(
            data=data,
            protocol=protocol,
            method=method,
            metric=metric,
            published=printed.get(place),
            here=None,
            misprint=bool(misprint),
        )
        for variant, sample in here.get(place, {}).items():
            row = replace(at, variant=variant, here=sample)
            rows.append(replace(row, reason=misprint or (first[0](row) if row.outside else "")))
        if place not in here:
            failed = failures.get(place[:3])
            rows.append(replace(at, reason=f"failed: {failed}" if failed else first[1](at)))
    return rows


def _first(reasons: Sequence[Discrepancy], row: Row) -> str:
    return next((reason.text for reason in reasons if reason.fits(row)), "")
