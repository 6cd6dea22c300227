"""The report of a comparison: one page that opens from disk, with tables, tests in words, pictures and failures."""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.evaluation.comparison import Comparison
from cofactor.evaluation.significance import Conclusions, Nemenyi, Wilcoxon
from cofactor.evaluation.store import Run
from cofactor.evaluation.tables import BEST, MeanTable, TableCell, mean_table, split_scores
from cofactor.files import PathLike
from cofactor.pages import (
    Html,
    Section,
    attachment,
    bullets,
    document,
    fold,
    highlights,
    link,
    measured,
    paragraph,
    preformatted,
    section,
    side_by_side,
    strong,
    table,
    write_page,
)
from cofactor.plots import plot_critical_difference, plot_splits
from cofactor.reports.pictures import drawn
from cofactor.text import plural

Record = Mapping[str, Any]

_MANY_PAIRS = 10  # more are folded: the reader sees them by opening the fold
_MANY_PICTURES = 4  # the same
_MANY_RECORDS = 20_000  # more would make the page slow to open


def write_report(path: PathLike, comparison: Comparison, title: str = "Comparison") -> None:
    """Write the report of a comparison to a file, whole or not at all; see `comparison_page`.

    The page shows everything: tables, tests, pictures, failures. It opens from disk, without a network.

    Parameters
    ----------
    path : str or path-like
        Ends in ``.html``.
    comparison : Comparison
        What `cofactor.evaluation.compare` returns.
    title : str, default="Comparison"
        Of the page.
    """
    write_page(path, comparison_page(comparison, title=title))


def comparison_page(comparison: Comparison, *, title: str = "Comparison", digits: int = 3, alpha: float = 0.05) -> str:
    """Return the report of a comparison, as one HTML page which needs no other files and no network.

    Parameters
    ----------
    comparison : Comparison
        What `compare` returns.
    title : str, default="Comparison"
        Of the page.
    digits : int, default=3
        Decimals in tables.
    alpha : float, default=0.05
        Level of significance of the tests.

    Returns
    -------
    str
        HTML. The same results give the same page, to the bit.

    Raises
    ------
    InvalidInputError
        If there are no results.

    Examples
    --------
    >>> from cofactor.evaluation.comparison import compare
    >>> from sklearn.dummy import DummyRegressor
    >>> X, y = [(user, item) for user in range(9) for item in range(4)], [1, 2, 3, 2] * 9
    >>> methods = {"mean": DummyRegressor(), "median": DummyRegressor(strategy="median")}
    >>> page = comparison_page(compare(methods, {"toy": (X, y)}, metrics=["mae"]), title="Toy")
    >>> "<h1>Toy</h1>" in page, "Bayesian correlated t-test over 3 splits" in page
    (True, True)
    """
    records = comparison.records()
    if not records:
        raise InvalidInputError("there are no results to report", advice="run the comparison first")
    shown = comparison.measured
    tables = {metric: comparison.table(metric) for metric in shown}
    return document(
        title,
        paragraph(_extent(records)),
        _failure_notice(records),
        _highlights(records, list(tables.values())),
        *(_section(records, tables[one], comparison.statistics(one, alpha), digits) for one in shown),
        *_chosen(comparison.results),
        *_time(records),
        *_failures(records),
        section("All results", _all_results(records)),
        *_how_measured(comparison.facts),
    )


def _names(records: Iterable[Record], key: str) -> list[str]:
    return list(dict.fromkeys(record[key] for record in records))


def _cells(records: Iterable[Record]) -> list[Record]:
    """Return one record of each cell."""
    key = ("method", "data", "split", "seed", "parameters")
    return list({tuple(map(record.get, key)): record for record in records}.values())


# ---------------------------------------------------------------- the head of the page


def _extent(records: Sequence[Record]) -> str:
    methods, data = _names(records, "method"), _names(records, "data")
    what = f"{plural(len(methods), 'method')} on {plural(len(data), 'data set')}"
    return f"{what}: {', '.join(methods)}; {', '.join(data)}."


def _failed(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record["status"] == "failed"]


def _failure_notice(records: Sequence[Record]) -> Html:
    failed = _failed(records)
    if not failed:
        return Html("")
    jump = link(f"{len(failed)} of {len(_cells(records))} cells failed", "#failed-cells")
    done = _names((record for record in records if record["status"] == "done"), "method")
    without = [name for name in _names(records, "method") if name not in done]
    missing = f" Without any result, and not compared: {', '.join(without)}." if without else ""
    return paragraph(jump, f"; data sets on which a method misses a split are left out of ranks and tests.{missing}")


def _highlights(records: Sequence[Record], tables: Sequence[MeanTable]) -> Html:
    cells = _cells(records)
    figures: list[tuple[object, object]] = [_best(one) for one in tables[:2] if _n_complete(one)]
    figures.append((f"{len(cells):,}", f"cells, {len(_failed(records))} failed"))
    figures.append((_duration(sum(record["seconds"] for record in cells)), "computing time, all cells together"))
    return highlights(figures)


def _n_complete(means: MeanTable) -> int:
    return len(means.scores.data) - len(means.scores.left_out)


def _best(means: MeanTable) -> tuple[str, str]:
    """Return the methods with the lowest average rank, and a line which says so."""
    complete = means.scores.complete
    ranks = complete.ranks.mean(axis=0)
    best = [name for name, rank in zip(complete.methods, ranks, strict=True) if rank == ranks.min()]
    n_data = len(complete.data)
    where = complete.data[0] if n_data == 1 else f"{n_data} data sets, average rank {ranks.min():.2f}"
    return ", ".join(best), f"best {_title(means.metric)} on {where}"


def _title(metric: str) -> str:
    return metric.replace("_", " ") if len(metric) > 4 else metric.upper()


def _duration(seconds: float) -> str:
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


# ---------------------------------------------------------------- one metric


def _section(records: Sequence[Record], means: MeanTable, outcome: Conclusions, digits: int) -> Section:
    return section(
        _title(means.metric),
        *_means(means, digits),
        *_split_pictures(records, means, digits),
        section("More than chance?", *_tests(outcome)),
    )


def _means(means: MeanTable, digits: int) -> Iterator[Html]:
    """Yield the table, and its footnotes."""
    grid, footnotes = means.grid(digits)
    (_, *heads), *rows = grid
    direction = "greater" if means.scores.greater_is_better else "lower"
    yield paragraph(f"{means.legend().capitalize()}; {direction} is better, bold: {BEST}.", soft=True)
    n_data = len(means.scores.data)
    shown = [[row[0].mean, *map(_cell, row[1:])] for row in rows]
    names = ["", *(head.mean for head in heads)]
    yield table(names, shown, name=_title(means.metric), soft=range(n_data, len(rows)))
    yield from (paragraph(note, soft=True) for note in footnotes)


def _cell(cell: TableCell) -> Html:
    spread = f" ± {cell.std}" if cell.std else ""
    rest = f"{spread} ({cell.rank})" if cell.rank else spread
    return measured(cell.mean, rest, best=cell.best, mark=cell.mark)


def _split_pictures(records: Sequence[Record], means: MeanTable, digits: int) -> Iterator[Html]:
    """Yield one picture for each data set with several splits, side by side."""
    if not _installed("matplotlib"):
        return
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
            pictures.append(_picture(partial(plot_splits, there, metric=title, title=data), caption, alt))
    if pictures:
        shown = side_by_side(*pictures)
        yield shown if len(pictures) <= _MANY_PICTURES else fold(f"Each split, on {len(pictures)} data sets", shown)


def _picture(draw: Callable[[], Any], caption: str, alt: str) -> Html:
    """Return a picture; if drawing it fails, its numbers, so that the page is written in any case."""
    try:
        return drawn(draw(), caption, alt=alt)
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        warnings.warn(f"a picture of the report could not be drawn ({why}): {caption}", RuntimeWarning, stacklevel=2)
        return paragraph(f"{alt}. The picture could not be drawn: {why}", soft=True)


def _installed(*packages: str) -> bool:
    return all(find_spec(name) is not None for name in packages)


# ---------------------------------------------------------------- tests


def _tests(outcome: Conclusions) -> Iterator[Html]:
    """Yield the tests in words, Nemenyi's also as a picture, Wilcoxon's as a table."""
    words = replace(outcome, wilcoxon=None, absent={}).lines()  # Wilcoxon's results are in the table below
    yield bullets(f"{line}." for line in dict.fromkeys(words))
    if outcome.nemenyi is not None and _installed("matplotlib", "scikit_posthocs"):
        yield _diagram(outcome.nemenyi)
    if outcome.wilcoxon is not None:
        yield _pairs(outcome.wilcoxon)


def _diagram(which: Nemenyi) -> Html:
    ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(which.methods, which.average_ranks, strict=True))
    alt = f"Average ranks: {ranks}; critical difference: {which.critical_difference:.3f}"
    caption = "Average ranks, the best to the left; a bar joins methods among which no difference is shown."
    return _picture(partial(plot_critical_difference, which), caption, alt)


def _pairs(outcome: Wilcoxon) -> Html:
    differing = outcome.differing
    rows = [
        [
            f"{pair.first} – {pair.second}",
            f"{pair.wins[0]} – {pair.wins[1]}",
            f"{pair.statistic:g}",
            _p(pair.p),
            _p(pair.p_holm),
            strong(f"{pair.better} is better") if pair in differing else "no difference is shown",
        ]
        for pair in outcome.pairs
    ]
    caption = f"Wilcoxon’s signed-rank test of each pair over {outcome.n_data} data sets"
    shown = table(["", "better on", "W", "p", "p, corrected by Holm", ""], rows, caption=caption, text=[5])
    said = f"{len(differing)} of {len(rows)} pairs differ at alpha = {outcome.alpha:g}"
    return shown if len(rows) <= _MANY_PAIRS else fold(f"{caption}: {said}", shown)


def _p(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


# ---------------------------------------------------------------- parameters, time, failures, all results


def _chosen(results: Iterable[Run]) -> list[Section]:
    """Return a table of the parameters chosen inside training parts, and how often each was."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for result in results:
        if parameters := result.measures.get("parameters"):
            counts[result.method, result.data][", ".join(map(_setting, parameters.items()))] += 1
    rows = [
        [method, data, "; ".join(f"{text} ({n}×)" for text, n in found.most_common())]
        for (method, data), found in counts.items()
    ]
    shown = table(["method", "data set", "chosen"], rows, name="Parameters chosen", text=[1, 2])
    return [section("Parameters chosen inside the training parts", shown)] if rows else []


def _setting(named: tuple[str, Any]) -> str:
    name, value = named
    if isinstance(value, dict):  # the form in which results hold a tuple, or another value that JSON does not know
        value = value.get("items", value)
    values = value if isinstance(value, list) else [value]
    return f"{name} {' / '.join(f'{one:.4g}' if isinstance(one, float) else str(one) for one in values)}"


def _time(records: Sequence[Record]) -> list[Section]:
    done = [one for one in _cells(records) if one["status"] == "done"]
    if not done:
        return []
    timed = [{**one, "metric": "seconds", "value": one["seconds"], "seconds": None} for one in done]
    lead = paragraph("Seconds of a cell: choice of parameters, fit and prediction together.", soft=True)
    return [section("Time", lead, *_means(mean_table(timed, "seconds"), digits=2))]


def _failures(records: Sequence[Record]) -> list[Section]:
    failed = _failed(records)
    if not failed:
        return []
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in failed:
        groups[record["method"], record["error"].partition("\n")[0]].append(record)
    rows = [[method, _places(ones), error] for (method, error), ones in groups.items()]
    traces = [
        part
        for (method, _), (first, *_) in groups.items()
        for part in (paragraph(f"{method}, {first['data']}, {first['split']}:"), preformatted(first["error"]))
    ]
    shown = table(["method", "data sets", "error"], rows, name="Failed cells", text=[1, 2])
    return [section("Failed cells", shown, fold("Where the first of each failed", *traces))]


def _places(cells: Iterable[Record]) -> str:
    """Return on which data sets cells failed, and how many on each."""
    return ", ".join(f"{data} ({plural(n, 'cell')})" for data, n in Counter(cell["data"] for cell in cells).items())


def _all_results(records: Sequence[Record]) -> Html:
    if len(records) > _MANY_RECORDS:
        return paragraph(f"{len(records):,} numbers, too many for this page.", soft=True)
    stream = io.StringIO()
    columns = list(dict.fromkeys(key for record in records for key in record))
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    saved = attachment("Save all numbers as CSV", "comparison.csv", stream.getvalue())
    return paragraph(saved, f": {len(records):,} rows, one for each cell and metric.")


def _how_measured(facts: Mapping[str, object]) -> list[Section]:
    rows = [[name, value] for name, value in facts.items()]
    shown = table(["", ""], rows, name="How it was measured", text=[0, 1])
    return [section("How it was measured", shown)] if rows else []
