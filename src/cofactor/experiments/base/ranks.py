"""Do the methods of a table differ? Friedman's and Nemenyi's tests of printed numbers, and of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.evaluation.significance import Friedman, Nemenyi, Scores, friedman, nemenyi
from cofactor.evaluation.store import Result
from cofactor.experiments.base.beside import samples
from cofactor.experiments.base.experiment import Claim, Origin, Picture, Row, Sample
from cofactor.plots import plot_critical_difference
from cofactor.published import METRICS, Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "PRINTED",
    "Sources",
    "Tested",
    "best_rank",
    "both_tests",
    "diagrams",
    "measured_scores",
    "methods_differ",
    "printed_scores",
    "statistic_rows",
]

Sources = Mapping[tuple[str, str], Scores | None]
"""Tables of scores by metric and by where the numbers come from, in words."""

PRINTED = "printed numbers"
"""The words for numbers that come from the source."""

_ENOUGH = 6  #: data sets; with fewer it means little that no difference is shown


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
    table: Published, results: Sequence[Result], metric: str, methods: Sequence[str], variant: str = ""
) -> Scores | None:
    """Return our numbers of a metric, data sets × methods, on the sets where every method has one; None without any.

    They are rounded to the three digits that are printed, so that ties are as likely as there.

    Parameters
    ----------
    table : Published
        Whose data sets, in its order.
    results : sequence of Result
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


class Tested(NamedTuple):
    """Both tests of a table of scores: its metric, where its numbers come from, and what the tests show."""

    metric: str
    words: str
    differences: Friedman
    pairs: Nemenyi


def both_tests(sources: Sources) -> list[Tested]:
    """Return both tests of each table that has enough data sets for them, uncorrected for ties."""
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
            tolerance = _DIGIT + (abs(value - _f_of_rounded(differences)) if name == "F_F" else 0.0)
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
                tolerance=tolerance,
            )
            if row not in rows:
                rows.append(row)
    return rows


_DIGIT = 0.001  #: the last that is printed: of tables of quantiles, too, it may be off by one


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
            f"{METRICS[metric].title}, {words}: the methods differ.",
            differences.differ or (None if differences.n_data < _ENOUGH else False),
            f"F_F = {differences.f:.3f}, critical value {differences.critical_value:.3f}, p = {differences.p:.2g}; "
            f"{len(differences.methods)} methods, {differences.n_data} data sets",
            origin=_origin(words, origin),
        )
        for metric, words, differences, _ in tests
    ]


def best_rank(tests: Sequence[Tested], champion: str) -> list[Claim]:
    """Return, for each table, the claim that a method has the best average rank."""
    return [
        Claim(
            f"{METRICS[metric].title}, {words}: {champion} has the best average rank.",
            pairs.methods[0] == champion,
            ", ".join(f"{method} {rank:.2f}" for method, rank in zip(pairs.methods, pairs.average_ranks, strict=True))
            + f"; critical difference {pairs.critical_difference:.3f}, {pairs.n_data} data sets",
            origin=_origin(words),
        )
        for metric, words, _, pairs in tests
    ]


def _origin(words: str, ours: Origin = "source") -> Origin:
    return "print" if words == PRINTED else ours


def diagrams(tests: Sequence[Tested], figure: str) -> list[Picture]:
    """Return a critical-difference diagram of each table; `figure` begins the names of their files."""
    pictures = []
    for metric, words, _, pairs in tests:
        title = f"{METRICS[metric].title}, {words}"
        name = f"{figure}-{metric}-{words}".replace("_", "-").replace(", ", "-").replace(" ", "-")
        caption = f"Average ranks by {title}, {pairs.n_data} data sets; no difference is shown along a bar"
        pictures.append(Picture(name, caption, partial(_draw, pairs, title)))
    return pictures


def _draw(pairs: Nemenyi, title: str) -> Axes | Sequence[Axes]:
    return plot_critical_difference(pairs, title=title)
