"""Results of many cells as series of numbers, and the tests of tables: what claims are checked on, and pictures drawn.

The tests, Friedman's and Nemenyi's, say whether the methods of a table differ, by the printed numbers and by ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.evaluation.significance import Friedman, Nemenyi, Scores, friedman, nemenyi
from cofactor.evaluation.store import Run
from cofactor.experiments.papers import samples
from cofactor.experiments.reproduction import Claim, Drawing, Origin, Row, Sample
from cofactor.plots import plot_critical_difference
from cofactor.published import METRICS, Published

Curves = dict[Any, dict[Any, Sample]]
"""Mean and deviation of a measure along a facet, for each value of another one."""


def done(results: Iterable[Run], **facets: Any) -> list[Run]:
    """Return the results that did not fail, of those with these facets."""
    return [
        result
        for result in results
        if result.status == "done" and all(facet(result, name) == value for name, value in facets.items())
    ]


def facet(result: Run, name: str) -> Any:
    """Return a field of a result, or one of its parameters; a point leads into a mapping; None where there is none.

    Examples
    --------
    >>> from cofactor.evaluation.store import Run
    >>> result = Run(key="", method="MMMF", data="ml-100k", split="", seed=3, parameters={"settings": {"alpha": 8}},
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


def groups(results: Iterable[Run], *names: str) -> dict[tuple[Any, ...], list[Run]]:
    """Return the results that did not fail by their facets, sorted."""
    found: dict[tuple[Any, ...], list[Run]] = {}
    for result in done(results):
        found.setdefault(tuple(facet(result, name) for name in names), []).append(result)
    return dict(sorted(found.items()))


def means(results: Iterable[Run], metric: str, *names: str) -> dict[tuple[Any, ...], Sample]:
    """Return mean and standard deviation of a measure for each combination of facets, sorted."""
    return {
        key: Sample.of([float(result.measures[metric]) for result in ones])
        for key, ones in groups(results, *names).items()
    }


def curves(results: Iterable[Run], metric: str, name: str, along: str) -> Curves:
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


# ---------------------------------------------------------------- tables of scores, and their tests

PRINTED = "printed numbers"
"""The words for numbers that come from the source."""

_ENOUGH = 6  #: data sets; with fewer it means little that no difference is shown
_DIGIT = 0.001  #: the last that is printed: of tables of quantiles, too, it may be off by one


def printed_scores(table: Published, metric: str, protocol: str = "") -> Scores:
    """Return the printed numbers of a metric as a table, data sets × methods; NaN where none is printed.

    >>> from cofactor.published import load
    >>> printed_scores(load("thesis-5.9"), "hamming").ranks[0]
    array([1.5, 6. , 5. , 3.5, 3.5, 7. , 1.5])
    """
    rows = [row for row in table.rows if (row.metric, row.protocol) == (metric, protocol)]
    data = tuple(dict.fromkeys(row.data for row in rows))
    methods = tuple(dict.fromkeys(row.method for row in rows))
    found = [[table.get(name, method, metric, protocol) for method in methods] for name in data]
    values = [[np.nan if row is None else row.mean for row in line] for line in found]
    return Scores(values, methods, data, greater_is_better=METRICS[metric].better == "higher")


def measured_scores(
    table: Published, results: Sequence[Run], metric: str, methods: Sequence[str], variant: str = ""
) -> Scores | None:
    """Return our numbers of a metric, data sets × methods, on the sets where every method has one; None without any.

    They are rounded to the three digits that are printed, so that ties are as likely as there.

    Parameters
    ----------
    table : Published
        Whose data sets, in its order.
    results : sequence of Run
        What was measured.
    metric : str
        Its name.
    methods : sequence of str
        The columns.
    variant : str, default=""
        How ours was measured, as in `Row`.
    """
    found = samples(results, [metric])
    lines = {
        data: [found.get((data, "", method, metric), {}).get(variant) for method in methods] for data in table.data
    }
    whole = {data: [round(one.mean, 3) for one in line if one] for data, line in lines.items() if all(line)}
    better = METRICS[metric].better == "higher"
    return Scores(list(whole.values()), list(methods), list(whole), greater_is_better=better) if whole else None


def wins(scores: Scores | None, first: str, second: str) -> tuple[int, int, int]:
    """Return on how many data sets the first method is better, on how many worse, and how many have both."""
    gains = np.empty(0) if scores is None else scores.gains(first, second)
    return int((gains > 0).sum()), int((gains < 0).sum()), int(np.isfinite(gains).sum())


class Tested(NamedTuple):
    """Both tests of a table of scores: its metric, where its numbers come from, and what the tests show."""

    metric: str
    words: str
    differences: Friedman
    pairs: Nemenyi

    @property
    def title(self) -> str:
        """The metric, and where the numbers come from."""
        return f"{METRICS[self.metric].title}, {self.words}"


def both_tests(sources: Mapping[tuple[str, str], Scores | None]) -> list[Tested]:
    """Return both tests of each table that has enough data sets for them, uncorrected for ties.

    Parameters
    ----------
    sources : mapping
        Tables of scores by metric and by where the numbers come from, in words.
    """
    found = []
    for (metric, words), scores in sources.items():
        try:
            if scores is not None:
                found.append(Tested(metric, words, friedman(scores, correct_ties=False), nemenyi(scores)))
        except InvalidInputError:  # too few data sets for any difference to show
            continue
    return found


def statistic_rows(table: Published, tests: Sequence[Tested]) -> list[Row]:
    """Return the statistics of a published table of tests beside those recomputed from its printed numbers, and ours.

    Parameters
    ----------
    table : Published
        With the methods ``F_F``, ``critical value``, ``q_alpha`` and ``critical difference``.
    tests : sequence of Tested
        Those of numbers called `PRINTED` are compared with what is printed.
    """
    reasons = {(error.method, error.metric): error.why for error in table.errors}
    rows: list[Row] = []
    for metric, words, differences, pairs in tests:
        size = f"{len(differences.methods)} methods, {differences.n_data} data sets"
        facts = {
            ("F_F", metric): differences.f,
            ("critical value", ""): differences.critical_value,
            ("q_alpha", ""): pairs.q,
            ("critical difference", ""): pairs.critical_difference,
        }
        for (name, place), value in facts.items():
            printed = table.get("", name, place) if words == PRINTED else None
            why = reasons.get((name, place), "") if printed else ""
            row = Row(
                data="",
                method=name,
                metric=place,
                published=Sample(printed.mean) if printed else None,
                here=Sample(value),
                variant=words,
                reason="; ".join(part for part in (size, why) if part),
                tolerance=_DIGIT + (abs(value - _f_of_rounded(differences)) if name == "F_F" else 0.0),
            )
            if row not in rows:
                rows.append(row)
    return rows


def _f_of_rounded(test: Friedman) -> float:
    """Return F_F of average ranks rounded to three digits, as sources print them and may go on from there."""
    n, k = test.n_data, len(test.methods)
    squares = float((np.round(test.average_ranks, 3) ** 2).sum())
    chi_squared = 12 * n / (k * (k + 1)) * (squares - k * (k + 1) ** 2 / 4)
    return (n - 1) * chi_squared / (n * (k - 1) - chi_squared)


def methods_differ(tests: Sequence[Tested], origin: Origin = "source") -> list[Claim]:
    """Return, for each table, the claim that the methods differ; on few data sets none can be refuted.

    `origin` says who makes the claim on our numbers.
    """
    return [
        Claim(
            f"{one.title}: the methods differ.",
            found.differ or (None if found.n_data < _ENOUGH else False),
            f"F_F = {found.f:.3f}, critical value {found.critical_value:.3f}, p = {found.p:.2g}; "
            f"{len(found.methods)} methods, {found.n_data} data sets",
            "print" if one.words == PRINTED else origin,
        )
        for one in tests
        for found in (one.differences,)
    ]


def best_rank(tests: Sequence[Tested], champion: str) -> list[Claim]:
    """Return, for each table, the claim that a method has the best average rank."""
    return [
        Claim(
            f"{one.title}: {champion} has the best average rank.",
            pairs.methods[0] == champion,
            ", ".join(f"{method} {rank:.2f}" for method, rank in zip(pairs.methods, pairs.average_ranks, strict=True))
            + f"; critical difference {pairs.critical_difference:.3f}, {pairs.n_data} data sets",
            "print" if one.words == PRINTED else "source",
        )
        for one in tests
        for pairs in (one.pairs,)
    ]


def diagrams(tests: Sequence[Tested], figure: str) -> list[Drawing]:
    """Return a critical-difference diagram of each table; `figure` begins the names of their files."""
    return [
        Drawing(
            f"{figure}-{one.metric}-{one.words}".replace("_", "-").replace(", ", "-").replace(" ", "-"),
            f"Average ranks by {one.title}, {one.pairs.n_data} data sets; no difference is shown along a bar",
            partial(plot_critical_difference, one.pairs, title=one.title),
        )
        for one in tests
    ]
