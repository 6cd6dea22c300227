"""Published numbers beside ours: the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from numbers import Real

from cofactor.evaluation.store import Result
from cofactor.experiments.base.experiment import Row, Sample
from cofactor.published import Published

__all__ = ["VARIANTS", "Reason", "beside", "samples"]

VARIANTS = {"learned": "learned threshold"}
"""Words for what stands before the colon in the name of a measure."""

Place = tuple[str, str, str, str]
"""Data set, protocol, method and metric: what a number of a table is found by."""


@dataclass(frozen=True)
class Reason:
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


def samples(results: Iterable[Result], metrics: Iterable[str]) -> dict[Place, dict[str, Sample]]:
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
                place = (result.data, str(result.parameters.get("protocol", "")), result.method, metric)
                variant = ", ".join(part for part in parts if part)
                values.setdefault(place, {}).setdefault(variant, []).append(float(value))
    return {
        place: {variant: Sample.of(numbers) for variant, numbers in sorted(variants.items())}
        for place, variants in values.items()
    }


def beside(
    published: Published,
    results: Sequence[Result],
    *,
    reasons: Iterable[Reason] = (),
    absent: Iterable[Reason] = (),
) -> list[Row]:
    """Return published and measured numbers of a table, joined on data set, protocol, method and metric.

    Parameters
    ----------
    published : Published
        The printed numbers.
    results : sequence of Result
        What was measured; the protocol is the parameter ``protocol`` of the cells, empty where there is none.
    reasons : iterable of Reason
        Why numbers differ, where that is known; the first which fits is shown where two do not agree. That the printed
        one cannot be right, which the table itself knows, goes before.
    absent : iterable of Reason
        Why numbers are not measured here; the first which fits is shown.

    Returns
    -------
    list of Row
        In the order of the source; what was measured in several variants has a row for each; what only we measured
        comes last.
    """
    reasons, absent = list(reasons), list(absent)
    misprints = {
        (error.data, error.method, error.metric): error.said for error in published.errors if error.field == "mean"
    }
    here = samples(results, published.metrics)
    failures = dict(_failures(results))
    printed = {(row.data, row.protocol, row.method, row.metric): Sample(row.mean, row.std) for row in published.rows}
    rows = []
    for place in dict.fromkeys((*printed, *here)):
        data, protocol, method, metric = place
        misprint = misprints.get((data, method, metric), "")
        variants: Mapping[str, Sample | None] = here.get(place) or {"": None}
        for variant, sample in variants.items():
            row = Row(
                data=data,
                protocol=protocol,
                method=method,
                metric=metric,
                variant=variant,
                published=printed.get(place),
                here=sample,
                misprint=bool(misprint),
            )
            if sample is None:
                reason = failures.get(place[:3]) or _first(absent, row)
            else:
                reason = misprint or (_first(reasons, row) if row.outside else "")
            rows.append(replace(row, reason=reason))
    return rows


def _first(reasons: Iterable[Reason], row: Row) -> str:
    return next((reason.text for reason in reasons if reason.fits(row)), "")


def _failures(results: Iterable[Result]) -> Iterator[tuple[tuple[str, str, str], str]]:
    for result in results:
        if result.status == "failed":
            place = (result.data, str(result.parameters.get("protocol", "")), result.method)
            yield place, f"failed: {result.error.splitlines()[0] if result.error else 'no message'}"
