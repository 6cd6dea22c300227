"""Results of many cells as series of numbers: what claims are checked on, and pictures drawn from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cofactor.evaluation.store import Result
from cofactor.experiments.base.experiment import Sample

__all__ = ["Curves", "curves", "done", "facet", "groups", "means", "points", "unfinished"]

Curves = dict[Any, dict[Any, Sample]]
"""Mean and deviation of a measure along a facet, for each value of another one."""


def done(results: Iterable[Result], **facets: Any) -> list[Result]:
    """Return the results that did not fail, of those with these facets."""
    return [
        result
        for result in results
        if result.status == "done" and all(facet(result, name) == value for name, value in facets.items())
    ]


def facet(result: Result, name: str) -> Any:
    """Return a field of a result, or one of its parameters; a point leads into a mapping; None where there is none.

    Examples
    --------
    >>> from cofactor.evaluation.store import Result
    >>> result = Result(key="", method="MMMF", data="ml-100k", split="", seed=3, parameters={"settings": {"alpha": 8}},
    ...     checksum="", measure="", version="", status="done", measures={}, error="", seconds=0.0)
    >>> facet(result, "seed"), facet(result, "settings.alpha"), facet(result, "share")
    (3, 8, None)
    """
    if name in ("method", "data", "split", "seed", "measure"):
        return getattr(result, name)
    value: Any = result.parameters
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def groups(results: Iterable[Result], *names: str) -> dict[tuple[Any, ...], list[Result]]:
    """Return the results that did not fail by their facets, sorted."""
    found: dict[tuple[Any, ...], list[Result]] = {}
    for result in done(results):
        found.setdefault(tuple(facet(result, name) for name in names), []).append(result)
    return dict(sorted(found.items()))


def means(results: Iterable[Result], metric: str, *names: str) -> dict[tuple[Any, ...], Sample]:
    """Return mean and standard deviation of a measure for each combination of facets, sorted."""
    return {
        key: Sample.of([float(result.measures[metric]) for result in ones])
        for key, ones in groups(results, *names).items()
    }


def curves(results: Iterable[Result], metric: str, name: str, along: str) -> Curves:
    """Return mean and standard deviation of a measure along a facet, for each value of the facet `name`, sorted."""
    found: Curves = {}
    for (value, place), sample in means(results, metric, name, along).items():
        found.setdefault(value, {})[place] = sample
    return found


def points(curve: Mapping[Any, Sample]) -> tuple[list[Any], list[float], list[float] | None]:
    """Return a curve as pictures take it: places, means, and deviations, or None where one of these is not known.

    Examples
    --------
    >>> points({1: Sample(0.7, 0.1), 10: Sample(0.8, 0.2)}), points({1: Sample(0.7)})
    (([1, 10], [0.7, 0.8], [0.1, 0.2]), ([1], [0.7], None))
    """
    known = [sample.std for sample in curve.values() if sample.std is not None]
    return list(curve), [sample.mean for sample in curve.values()], known if len(known) == len(curve) else None


def unfinished(results: Sequence[Result]) -> list[str]:
    """Return a line on each kind of failure, such as a data set that is not on this machine."""
    failed: dict[tuple[str, str], int] = {}
    for result in results:
        if result.status == "failed":
            first = result.error.partition("\n")[0]
            failed[result.data, first] = failed.get((result.data, first), 0) + 1
    return [f"{count} of {len(results)} cells failed on {data}: {error}" for (data, error), count in failed.items()]
