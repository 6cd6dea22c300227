"""The report of a comparison: one page that opens from disk, with tables, tests in words, pictures and failures."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from cofactor.evaluation.bayesian import correlated_t, signed_rank
from cofactor.evaluation.scores import Scores
from cofactor.evaluation.statistics import Wilcoxon, friedman, nemenyi, what_applies, wilcoxon_holm
from cofactor.evaluation.tables import MeanTable, TableCell, mean_table, split_scores
from cofactor.metrics import greater_is_better
from cofactor.metrics.ratings import counted
from cofactor.reports import (
    Html,
    Section,
    attachment,
    bullets,
    document,
    escape,
    figure,
    fold,
    highlights,
    paragraph,
    preformatted,
    section,
    side_by_side,
    table,
    tag,
)

__all__ = ["comparison_page"]

Record = Mapping[str, Any]

_MANY_PAIRS = 10  #: more are shown only when the reader asks for them
_MANY_PICTURES = 4
_MANY_RECORDS = 20_000  #: more would make the page slow to open


def comparison_page(
    records: Iterable[Record],
    *,
    title: str = "Comparison",
    metrics: Sequence[str] | None = None,
    facts: Mapping[str, object] | None = None,
    digits: int = 3,
    alpha: float = 0.05,
) -> str:
    """Return the report of what was measured, as one HTML page which needs nothing from elsewhere.

    Parameters
    ----------
    records : iterable of dict
        One for each number, as `cofactor.evaluation.tidy` returns them; of a failed cell one with its ``error``.
    title : str, default="Comparison"
        Of the page.
    metrics : sequence of str, optional
        Measures to show, the most important first; by default all that cofactor knows.
    facts : mapping, optional
        How it was measured, such as versions and the machine.
    digits : int, default=3
        Decimals in tables.
    alpha : float, default=0.05
        Level of significance of the tests.

    Returns
    -------
    str
        HTML. The same records give the same page, to the bit.

    Raises
    ------
    ValueError
        If there are no records, or a measure is not among them.

    Examples
    --------
    >>> records = [
    ...     {"method": name, "data": "toy", "split": f"kfold {k}/2", "seed": 0, "metric": "mae", "value": error}
    ...     for name, errors in {"HMF": [0.7, 0.6], "ALS": [0.8, 0.7]}.items()
    ...     for k, error in enumerate(errors, 1)
    ... ]
    >>> page = comparison_page(records, title="Toy")
    >>> "<h1>Toy</h1>" in page, "± 0.071 (1)" in page
    (True, True)
    """
    records = list(records)
    if not records:
        raise ValueError("there are no records to report: run the comparison first")
    tables = [_of_metric(records, metric) for metric in _shown(records, metrics)]
    failed = [record for record in records if record.get("status") == "failed"]
    return document(
        title,
        paragraph(_extent(records)),
        _failure_notice(records, failed),
        _highlights(records, failed, tables),
        *(_section(records, one, digits, alpha) for one in tables),
        *_time(records),
        *_failures(failed),
        section("All results", _all_results(records)),
        *_how_measured(facts or {}),
    )


def _shown(records: Sequence[Record], metrics: Sequence[str] | None) -> list[str]:
    found = [name for name in _names(records, "metric") if name]
    if metrics is None:
        return [name for name in found if _is_known(name)]
    missing = [name for name in metrics if name not in found]
    if missing and found:
        raise ValueError(f"nothing was measured under {', '.join(missing)}, only {', '.join(found)}")
    return list(metrics) if found else []


def _is_known(metric: str) -> bool:
    try:
        greater_is_better(metric)
    except ValueError:
        return False
    return True


def _of_metric(records: Sequence[Record], metric: str) -> MeanTable:
    """Return the means of a measure, on those data sets on which something was measured under it, or failed."""
    data = dict.fromkeys(r["data"] for r in records if r["metric"] == metric or r.get("status") == "failed")
    return mean_table(records, metric, methods=_names(records, "method"), data=list(data))


def _names(records: Iterable[Record], key: str) -> list[str]:
    return list(dict.fromkeys(record[key] for record in records))


def _cells(records: Iterable[Record]) -> list[Record]:
    """Return one record of each cell."""
    key = ("method", "data", "split", "seed", "parameters")
    return list({tuple(map(record.get, key)): record for record in records}.values())


# ---------------------------------------------------------------- the head of the page


def _extent(records: Sequence[Record]) -> str:
    methods, data = _names(records, "method"), _names(records, "data")
    what = f"{counted(len(methods), 'method')} on {counted(len(data), 'data set')}"
    return f"{what}: {', '.join(methods)}; {', '.join(data)}."


def _failure_notice(records: Sequence[Record], failed: Sequence[Record]) -> Html:
    if not failed:
        return Html("")
    link = tag("a", f"{len(failed)} of {len(_cells(records))} cells failed", href="#failed-cells")
    return paragraph(link, "; a method is not ranked on a data set where it misses a split.")


def _highlights(records: Sequence[Record], failed: Sequence[Record], tables: Sequence[MeanTable]) -> Html:
    cells = _cells(records)
    figures: list[tuple[object, object]] = []
    for one in tables[:2]:
        if len(one.scores.left_out) < len(one.scores.data):
            ranks = one.scores.complete.ranks.mean(axis=0)
            best = [name for name, rank in zip(one.scores.methods, ranks, strict=True) if rank == ranks.min()]
            n_data = len(one.scores.complete.data)
            where = (
                one.scores.complete.data[0] if n_data == 1 else f"{n_data} data sets, average rank {ranks.min():.2f}"
            )
            figures.append((", ".join(best), f"best {_title(one.metric)} on {where}"))
    figures.append((f"{len(cells):,}", f"cells, {len(failed)} failed"))
    spent = sum(record["seconds"] for record in cells if record.get("seconds") is not None)
    if spent:
        figures.append((_duration(spent), "computing time, all cells together"))
    return highlights(figures)


def _title(metric: str) -> str:
    return metric.replace("_", " ") if len(metric) > 4 else metric.upper()


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


# ---------------------------------------------------------------- one metric


def _section(records: Sequence[Record], means: MeanTable, digits: int, alpha: float) -> Section:
    return section(
        _title(means.metric),
        *_means(means, digits),
        *_split_pictures(records, means, digits),
        section("More than chance?", *_tests(records, means, alpha)),
    )


def _means(means: MeanTable, digits: int) -> Iterator[Html]:
    """Yield the table, and its footnotes."""
    grid, footnotes = means.grid(digits)
    (_, *heads), *rows = grid
    direction = "greater" if means.scores.greater_is_better else "lower"
    yield paragraph(f"{means.legend()}; {direction} is better, bold: the best.", soft=True)
    n_data = len(means.scores.data)
    shown = [[row[0].mean, *map(_cell, row[1:])] for row in rows]
    names = ["", *(head.mean for head in heads)]
    yield table(names, shown, name=_title(means.metric), soft=range(n_data, len(rows)))
    yield bullets(footnotes)


def _cell(cell: TableCell) -> Html:
    spread = f" ± {cell.std}" if cell.std else ""
    rest = f"{spread} ({cell.rank})" if cell.rank else spread
    mean = tag("b", cell.mean) if cell.best else escape(cell.mean)
    mark = tag("sup", cell.mark) if cell.mark else ""
    return Html(mean + mark + (tag("span", rest, class_="spread") if rest else ""))


def _split_pictures(records: Sequence[Record], means: MeanTable, digits: int) -> Iterator[Html]:
    """Yield one picture for each data set with several splits, side by side."""
    if find_spec("matplotlib") is None:
        return
    from cofactor.plots import plot_splits

    title, pictures = _title(means.metric), []
    for data, n_splits in zip(means.scores.data, means.n_splits, strict=True):
        if n_splits < 2:
            continue
        folds = split_scores(records, means.metric, data)
        found = {name: column[~np.isnan(column)] for name, column in zip(folds.methods, folds.values.T, strict=True)}
        there = {name: values for name, values in found.items() if len(values)}
        if there:
            numbers = ", ".join(f"{name} {values.mean():.{digits}f}" for name, values in there.items())
            alt = f"{title} on {data}, mean of each method: {numbers}"
            caption = f"{title} on {data}: a point for each split."
            pictures.append(figure(plot_splits(there, metric=title, title=data), caption, alt=alt))
    if pictures:
        shown = side_by_side(*pictures)
        yield shown if len(pictures) <= _MANY_PICTURES else fold(f"Each split, on {len(pictures)} data sets", shown)


# ---------------------------------------------------------------- tests


_TESTS = {"friedman": "Friedman’s test with Nemenyi’s", "wilcoxon_holm": "Wilcoxon’s test with Holm’s correction"}


def _tests(records: Sequence[Record], means: MeanTable, alpha: float) -> Iterator[Html]:
    """Yield the outcome of each test which makes sense, and why the others do not."""
    scores = means.scores
    n_data = len(scores.data) - len(scores.left_out)
    refused = what_applies(n_data, len(scores.methods), alpha)
    if scores.left_out:
        yield paragraph(f"Left out, as a method has no score there: {', '.join(scores.left_out)}.")
    if not refused["friedman"]:
        yield from _several(scores.complete, alpha)
    if not refused["wilcoxon_holm"]:
        yield _pairs(wilcoxon_holm(scores.complete, alpha))
    if len(scores.methods) == 2:
        yield bullets(f"{line}." for line in _two(records, means))
    yield bullets(f"{_TESTS[test]} is not done: {refused[test]}." for test in _TESTS if refused[test])


def _several(complete: Scores, alpha: float) -> Iterator[Html]:
    """Yield Friedman's test in words, and Nemenyi's where it follows."""
    outcome = friedman(complete, alpha)
    if not outcome.differ:
        none = "As no difference is shown, Nemenyi’s test does not follow"
        yield bullets(f"{line}." for line in [*outcome.lines(), none])
        return
    yield bullets(f"{line}." for line in [*outcome.lines(), *nemenyi(complete, alpha).lines()])


def _pairs(outcome: Wilcoxon) -> Html:
    differing = outcome.differing
    rows = [
        [
            f"{pair.first} – {pair.second}",
            f"{pair.wins[0]} – {pair.wins[1]}",
            f"{pair.statistic:g}",
            _p(pair.p),
            _p(pair.p_holm),
            tag("b", f"{pair.better} is better") if pair in differing else "no difference is shown",
        ]
        for pair in outcome.pairs
    ]
    caption = f"Wilcoxon’s signed-rank test of each pair over {outcome.n_data} data sets"
    shown = table(["", "better on", "W", "p", "p, corrected by Holm", ""], rows, caption=caption, text=[5])
    said = f"{len(differing)} of {len(rows)} pairs differ at alpha = {outcome.alpha:g}"
    return shown if len(rows) <= _MANY_PAIRS else fold(f"{caption}: {said}", shown)


def _two(records: Sequence[Record], means: MeanTable) -> Iterator[str]:
    """Yield how probable it is that one of two methods is better: over all data sets, and on each, given its folds."""
    scores = means.scores
    if len(scores.data) - len(scores.left_out) > 1:
        yield str(signed_rank(scores.complete))
    for data in scores.data:
        if data not in scores.left_out:
            folds = split_scores(records, means.metric, data)
            share = _test_share(folds.data)
            if share is not None and len(folds.data) > 1:
                yield f"{data}: {correlated_t(folds, share)}"


def _test_share(splits: Iterable[str]) -> float | None:
    """Return the share of the data in a test part, as the names of the splits of a cross-validation tell."""
    counts = {match[1] for split in splits if (match := re.match(r"\w+ \d+/(\d+)\b", split))}
    return 1 / int(counts.pop()) if len(counts) == 1 else None


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


# ---------------------------------------------------------------- time, failures, all results


def _time(records: Sequence[Record]) -> list[Section]:
    done = [one for one in _cells(records) if one.get("status") != "failed" and one.get("seconds") is not None]
    timed = [{**one, "metric": "seconds", "value": one["seconds"], "seconds": None} for one in done]
    if not timed:
        return []
    lead = paragraph("Seconds of a cell: choice of parameters, fit and prediction together.", soft=True)
    return [section("Time", lead, *_means(_of_metric(timed, "seconds"), digits=2))]


def _failures(failed: Sequence[Record]) -> list[Section]:
    if not failed:
        return []
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in failed:
        groups[record["method"], record["data"], record["error"].partition("\n")[0]].append(record)
    rows = [
        [method, data, ", ".join(f"{r['split']} (seed {r['seed']})" for r in ones), error]
        for (method, data, error), ones in groups.items()
    ]
    traces = [
        part
        for (method, data, _), ones in groups.items()
        for part in (paragraph(f"{method}, {data}:"), preformatted(ones[0]["error"]))
    ]
    shown = table(["method", "data", "splits", "error"], rows, name="Failed cells", text=[1, 2, 3])
    return [section("Failed cells", shown, fold("Where the first of each failed", *traces))]


def _all_results(records: Sequence[Record]) -> Html:
    if len(records) > _MANY_RECORDS:
        return paragraph(f"{len(records):,} numbers, too many for this page.", soft=True)
    stream = io.StringIO()
    columns = list(dict.fromkeys(key for record in records for key in record))
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    link = attachment("Save all numbers as CSV", "comparison.csv", stream.getvalue())
    return paragraph(link, f": {len(records):,} rows, one for each cell and metric.")


def _how_measured(facts: Mapping[str, object]) -> list[Section]:
    rows = [[name, value] for name, value in facts.items()]
    shown = table(["", ""], rows, name="How it was measured", text=[0, 1])
    return [section("How it was measured", shown)] if rows else []
