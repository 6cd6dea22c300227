"""The report of a comparison: one page that opens from disk, with tables, tests in words, pictures and failures."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from cofactor.evaluation.bayesian import correlated_t, signed_rank
from cofactor.evaluation.scores import Scores
from cofactor.evaluation.statistics import Wilcoxon, friedman, nemenyi, what_applies, wilcoxon_holm
from cofactor.metrics import greater_is_better
from cofactor.metrics.ratings import counted
from cofactor.reports import (
    Html,
    Section,
    attachment,
    bullets,
    document,
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

_SECONDS = "seconds"
_MANY_PAIRS = 10  #: more are shown only when the reader asks for them
_MANY_RECORDS = 20_000  #: more would make the page slow to open


def comparison_page(
    records: Iterable[Record],
    *,
    title: str = "Comparison",
    metrics: Sequence[str] | None = None,
    facts: Mapping[str, object] | None = None,
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
        What to show, the most important first; by default all that was measured.
    facts : mapping, optional
        How it was measured, such as versions and the machine.
    alpha : float, default=0.05
        Level of significance of the tests.

    Returns
    -------
    str
        HTML. The same records give the same page, to the bit.

    Examples
    --------
    >>> records = [
    ...     {"method": name, "data": "toy", "split": f"kfold {k}/2", "seed": 0, "metric": "mae", "value": error}
    ...     for name, errors in {"HMF": [0.7, 0.6], "ALS": [0.8, 0.7]}.items()
    ...     for k, error in enumerate(errors, 1)
    ... ]
    >>> page = comparison_page(records, title="Toy")
    >>> "<h1>Toy</h1>" in page, "± 0.0500 (1)" in page
    (True, True)
    """
    measured = _Measured(records, metrics)
    return document(
        title,
        paragraph(_extent(measured)),
        _failure_notice(measured),
        _highlights(measured),
        *(_of_metric(measured, metric, alpha) for metric in measured.metrics),
        *_seconds(measured),
        *_failures(measured),
        section("All results", *_all_results(measured)),
        *_how_measured(facts or {}),
    )


class _Measured:
    """Numbers by metric, data set and method; the names of all in the order in which they come."""

    def __init__(self, records: Iterable[Record], metrics: Sequence[str] | None) -> None:
        self.records = list(records)
        if not self.records:
            raise ValueError("there are no records to report: run the comparison first")
        self.methods = _names(self.records, "method")
        self.data = _names(self.records, "data")
        found = [name for name in _names(self.records, "metric") if name]
        self.metrics = found if metrics is None else list(metrics)
        missing = [name for name in self.metrics if name not in found]
        if missing and found:
            raise ValueError(f"nothing was measured under {', '.join(missing)}, only {', '.join(found)}")
        #: By metric, data set and method, then by split and seed.
        self.values: dict[tuple[str, str, str], dict[tuple[str, int], float]] = defaultdict(dict)
        self.seconds: dict[tuple[str, str], dict[tuple[str, int], float]] = defaultdict(dict)
        self.failed: list[Record] = []
        for record in self.records:
            data, method, where = record["data"], record["method"], (record["split"], record["seed"])
            if record.get("status") == "failed":
                self.failed.append(record)
            elif record["value"] is not None and np.isfinite(record["value"]):
                self.values[record["metric"], data, method][where] = float(record["value"])
            if record.get("seconds") is not None:
                self.seconds[data, method][where] = float(record["seconds"])

    @cached_property
    def n_cells(self) -> int:
        return len({(r["method"], r["data"], r["split"], r["seed"], r.get("parameters")) for r in self.records})

    def splits(self, metric: str, data: str) -> set[tuple[str, int]]:
        """Return all splits of a data set, with their seeds, on which any method has a number."""
        return {where for method in self.methods for where in self.values[metric, data, method]}

    def scores(self, metric: str) -> Scores | None:
        """Return means over splits; none of a method which misses a split, and None where no direction is known."""
        try:
            greater = greater_is_better(metric)
        except ValueError:
            return None
        means = np.full((len(self.data), len(self.methods)), np.nan)
        for i, data in enumerate(self.data):
            splits = self.splits(metric, data)
            for j, method in enumerate(self.methods):
                values = self.values[metric, data, method]
                if values and set(values) == splits:
                    means[i, j] = np.mean(list(values.values()))
        return Scores(means, self.methods, self.data, greater_is_better=greater)

    def folds(self, metric: str, data: str) -> Scores:
        """Return the numbers of each split of a data set."""
        splits = sorted(self.splits(metric, data))
        rows = [[self.values[metric, data, name].get(where, np.nan) for name in self.methods] for where in splits]
        names = [f"{split}, seed {seed}" for split, seed in splits]
        return Scores(rows, self.methods, names, greater_is_better=greater_is_better(metric))


def _names(records: Iterable[Record], key: str) -> list[str]:
    return list(dict.fromkeys(record[key] for record in records))


# ---------------------------------------------------------------- the head of the page


def _extent(measured: _Measured) -> str:
    methods, data = counted(len(measured.methods), "method"), counted(len(measured.data), "data set")
    return f"{methods} on {data}: {', '.join(measured.methods)}; {', '.join(measured.data)}."


def _failure_notice(measured: _Measured) -> Html:
    if not measured.failed:
        return Html("")
    link = tag("a", f"{len(measured.failed)} of {measured.n_cells} cells failed", href="#failed-cells")
    return paragraph(link, "; data sets on which a method misses a split are not ranked.")


def _highlights(measured: _Measured) -> Html:
    figures: list[tuple[object, object]] = []
    for metric in measured.metrics[:2]:
        scores = measured.scores(metric)
        if scores is not None and len(scores.left_out) < len(scores.data):
            ranks = scores.complete.ranks.mean(axis=0)
            best = [name for name, rank in zip(scores.methods, ranks, strict=True) if rank == ranks.min()]
            kept = len(scores.complete.data)
            where = "" if kept == 1 else f", average over {kept} data sets"
            figures.append((", ".join(best), f"best {_title(metric)}: rank {ranks.min():.3g}{where}"))
    figures.append((f"{measured.n_cells:,}", f"cells, {len(measured.failed)} failed"))
    spent = sum(value for values in measured.seconds.values() for value in values.values())
    if spent:
        figures.append((_duration(spent), "computing time, all cells together"))
    return highlights(figures)


# ---------------------------------------------------------------- one metric


def _of_metric(measured: _Measured, metric: str, alpha: float) -> Section:
    scores = measured.scores(metric)
    direction = "" if scores is None else ("greater is better" if scores.greater_is_better else "lower is better")
    lead = f"Mean ± standard deviation over splits{' (rank)' if scores else ''}"
    parts: list[str | Section] = [
        paragraph("; ".join(filter(None, (lead, direction, "bold: the best" if scores else ""))), ".", soft=True),
        _means(measured, metric, scores),
        *_split_pictures(measured, metric),
    ]
    if scores is not None:
        parts.append(section("More than chance?", *_tests(measured, metric, scores, alpha)))
    return section(_title(metric), *parts)


def _title(metric: str) -> str:
    return metric.replace("_", " ") if len(metric) > 4 else metric.upper()


def _means(measured: _Measured, metric: str, scores: Scores | None) -> Html:
    rows: list[list[object]] = []
    for i, data in enumerate(measured.data):
        ranks = np.full(len(measured.methods), np.nan) if scores is None else scores.ranks[i]
        n_splits = len(measured.splits(metric, data))
        values = [list(measured.values[metric, data, method].values()) for method in measured.methods]
        cells = [_cell(found, n_splits, rank, rank == ranks.min()) for found, rank in zip(values, ranks, strict=True)]
        rows.append([data, *cells])
    soft = []
    if scores is not None and len(scores.left_out) < len(scores.data) > 1:
        average = scores.complete.ranks.mean(axis=0)
        soft = [len(rows)]
        rows.append(["average rank", *(tag("b", f"{r:.2f}") if r == average.min() else f"{r:.2f}" for r in average)])
    return table(["", *measured.methods], rows, name=_title(metric), soft=soft)


def _cell(values: Sequence[float], n_splits: int, rank: float, best: bool) -> Html:
    """Return mean ± standard deviation (rank), which says so where splits are missing."""
    if not values:
        return Html("–")
    mean = f"{np.mean(values):.4f}"
    remarks = [f"± {np.std(values):.4f}"] if len(values) > 1 else []
    remarks += [] if np.isnan(rank) else [f"({rank:g})"]
    remarks += [] if len(values) == n_splits else [f"only {len(values)} of {n_splits} splits"]
    spread = tag("span", " " + " ".join(remarks), class_="spread")
    return Html((tag("b", mean) if best else mean) + spread)


def _split_pictures(measured: _Measured, metric: str) -> Iterator[Html]:
    """Yield one picture for each data set, side by side."""
    if find_spec("matplotlib") is None:
        return
    from cofactor.plots.splits import plot_splits

    pictures = []
    for data in measured.data:
        found = {name: list(measured.values[metric, data, name].values()) for name in measured.methods}
        there = {name: values for name, values in found.items() if values}
        if any(len(values) > 1 for values in there.values()):
            ax = plot_splits(there, metric=_title(metric), title=data)
            means = ", ".join(f"{name} {np.mean(values):.4f}" for name, values in there.items())
            alt = f"{_title(metric)} on {data}, mean of each method: {means}"
            pictures.append(figure(ax, f"{_title(metric)} on {data}: a point for each split.", alt=alt))
    if pictures:
        shown = side_by_side(*pictures)
        yield shown if len(pictures) <= 4 else fold(f"Each split, on {len(pictures)} data sets", shown)


# ---------------------------------------------------------------- tests


def _tests(measured: _Measured, metric: str, scores: Scores, alpha: float) -> Iterator[str]:
    """Yield the outcome of each test which makes sense, and why the others do not."""
    n_data = len(scores.data) - len(scores.left_out)
    refused = what_applies(n_data, len(scores.methods), alpha)
    if scores.left_out:
        yield paragraph(f"Left out, as a method has no score there: {', '.join(scores.left_out)}.")
    if not refused["friedman"]:
        yield bullets(f"{line}." for line in _several(scores.complete, alpha))
    if not refused["wilcoxon_holm"]:
        yield _pairs(wilcoxon_holm(scores.complete, alpha))
    if len(scores.methods) == 2:
        yield bullets(f"{line}." for line in _two(measured, metric, scores))
    yield bullets(f"{_TESTS[test]} is not done: {refused[test]}." for test in _TESTS if refused[test])


_TESTS = {"friedman": "Friedman’s test with Nemenyi’s", "wilcoxon_holm": "Wilcoxon’s test with Holm’s correction"}


def _several(complete: Scores, alpha: float) -> Iterator[str]:
    """Yield Friedman's test in words, and Nemenyi's where it follows."""
    outcome = friedman(complete, alpha)
    yield from outcome.lines()
    if outcome.differ:
        yield from nemenyi(complete, alpha).lines()
    else:
        yield "As no difference is shown, Nemenyi’s test does not follow"


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


def _two(measured: _Measured, metric: str, scores: Scores) -> Iterator[str]:
    """Yield how probable it is that one of two methods is better: over all data sets, and on each, given its folds."""
    if len(scores.data) - len(scores.left_out) > 1:
        yield str(signed_rank(scores.complete))
    for data in measured.data:
        splits = measured.splits(metric, data)
        share = _test_share(splits)
        folds = measured.folds(metric, data) if splits else None
        if folds is not None and share is not None and len(folds.data) - len(folds.left_out) > 1:
            yield f"{data}: {correlated_t(folds, share)}"


def _test_share(splits: Iterable[tuple[str, int]]) -> float | None:
    """Return the share of the data in a test part, as the names of the splits of a cross-validation tell."""
    counts = {match[1] for split, _ in splits if (match := re.search(r"\d+/(\d+)$", split))}
    return 1 / int(counts.pop()) if len(counts) == 1 else None


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


# ---------------------------------------------------------------- time, failures, all results


def _seconds(measured: _Measured) -> list[Section]:
    if not measured.seconds:
        return []
    rows = []
    for data in measured.data:
        found = [list(measured.seconds[data, method].values()) for method in measured.methods]
        rows.append([data, *(f"{np.mean(values):,.2f}" if values else "–" for values in found)])
    lead = paragraph("Mean of a cell, in seconds: choice of parameters, fit and prediction together.", soft=True)
    return [section("Time", lead, table(["", *measured.methods], rows, name="Seconds of a cell"))]


def _failures(measured: _Measured) -> list[Section]:
    if not measured.failed:
        return []
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in measured.failed:
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


def _all_results(measured: _Measured) -> Iterator[Html]:
    if len(measured.records) > _MANY_RECORDS:
        yield paragraph(f"{len(measured.records):,} numbers, too many for this page.", soft=True)
        return
    stream = io.StringIO()
    columns = list(dict.fromkeys(key for record in measured.records for key in record))
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(measured.records)
    link = attachment("Save all numbers as CSV", "comparison.csv", stream.getvalue())
    yield paragraph(link, f": {len(measured.records):,} rows, one for each cell and metric.")


def _how_measured(facts: Mapping[str, object]) -> list[Section]:
    rows = [[name, value] for name, value in facts.items()]
    shown = table(["", ""], rows, name="How it was measured", text=[0, 1])
    return [section("How it was measured", shown)] if rows else []


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
