"""An experiment and what came out of it, as Markdown: claims, pictures, published numbers beside ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from cofactor.experiments.base.experiment import Claim, Origin, Picture, Row, Sample
from cofactor.experiments.base.reproduction import Reproduction
from cofactor.plots import save_figure
from cofactor.published import METRICS

__all__ = ["MARKS", "anchor", "columns_of", "digits_of", "printed_only", "reasons_of", "section", "title_of"]

MARKS = {"agrees": "≈", "better": "▲ better", "worse": "▼ worse", "differs": "≠", "unknown": "", "": ""}
"""What stands beside a difference: within two standard deviations, or outside, and which way."""

_HOLDS = {True: "holds", False: "does not hold", None: "cannot be told"}


_CLAIMS: Mapping[Origin, tuple[str, str, str]] = {
    "source": ("what the source shows", "here", "measured"),
    "print": ("what the source shows", "by its own numbers", "recomputed"),
    "ours": ("not in the source", "here", "measured"),
}


def anchor(name: str) -> str:
    """Return what links call the section of an experiment.

    >>> anchor("thesis-table-3.19")
    'thesis-table-319'
    """
    return name.lower().replace(".", "")


def section(one: Reproduction, folder: Path) -> Iterator[str]:
    """Yield the lines of the section of an experiment, and save its pictures.

    Parameters
    ----------
    one : Reproduction
        What was run.
    folder : Path
        Where pictures go, below the folder of the page.
    """
    experiment, outcome = one.experiment, one.outcome
    yield from (f"## {experiment.name}", "", f"{experiment.title}. Source: {experiment.source}.", "")
    if not one.results and one.n_cells:
        yield from ("Has not been run yet.", "")
    yield from _claims(outcome.claims)
    for picture in outcome.pictures if one.results or not one.n_cells else ():
        yield from _picture(picture, folder)
    yield from _tables(outcome.rows)
    parts = (("Not run", experiment.missing), ("Misprints", experiment.misprints), ("Notes", outcome.notes))
    for title, lines in parts:
        if lines:
            yield from (f"**{title}**", "", *(f"- {line}" for line in lines), "")


def _claims(claims: Sequence[Claim]) -> Iterator[str]:
    for origin, heads in _CLAIMS.items():
        ones = [claim for claim in claims if claim.origin == origin]
        if ones:
            yield from (f"| {' | '.join(heads)} |", "|---|---|---|")
            for claim in ones:
                yield f"| {_cell(claim.statement)} | **{_HOLDS[claim.holds]}** | {_cell(claim.measured)} |"
            yield ""


def _picture(picture: Picture, folder: Path) -> Iterator[str]:
    drawn = picture.draw()
    axes = drawn[0] if isinstance(drawn, Sequence) else drawn
    save_figure(axes, folder / f"{picture.name}.png")
    yield from (f"![{picture.caption}]({folder.name}/{picture.name}.png)", "", f"*{picture.caption}*", "")


def _tables(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one table of each protocol and metric; what is printed only is told in one line."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.protocol, row.metric].append(row)
    for (protocol, metric), ones in groups.items():
        yield from (f"**{title_of(metric, protocol)}**", "")
        measured = [row for row in ones if row.here is not None]
        if measured:
            reasons, digits = reasons_of(measured), digits_of(ones)
            yield "| " + " | ".join(columns_of(measured[0], reasons, digits)) + " |"
            yield "|---|---|---:|---:|---:|---|"
            for row in measured:
                yield "| " + " | ".join(_cell(text) for text in columns_of(row, reasons, digits).values()) + " |"
            yield ""
            yield from (line for reason, mark in reasons.items() for line in (f"{mark} {_cell(reason)}", ""))
        rest = [row for row in ones if row.here is None]
        if rest:
            yield from (
                "Published only:",
                "",
                *_published_only(rest),
                "",
                *_why_not(rest, {row.method for row in measured}),
            )


def title_of(metric: str, protocol: str) -> str:
    """Return what the table of a metric and a protocol is called."""
    title = METRICS[metric].title if metric in METRICS else metric or "All metrics"
    return f"{title}, {protocol}" if protocol else title


def reasons_of(rows: Iterable[Row]) -> dict[str, str]:
    """Return the reasons of some rows, each with the mark that stands for it in their table: [1], [2], ..."""
    distinct = dict.fromkeys(row.reason for row in rows if row.reason)
    return {reason: f"[{k}]" for k, reason in enumerate(distinct, 1)}


def columns_of(row: Row, reasons: Mapping[str, str], digits: int) -> dict[str, str]:
    """Return the cells of a row of *published | here | difference*, by heading."""
    return {
        "data": row.data,
        "method": row.method + (f" ({row.variant})" if row.variant else ""),
        "published": _text(row.published, digits),
        "here": _text(row.here, digits),
        "difference": "" if row.difference is None else f"{row.difference:+.{digits}f}",
        "match": f"{MARKS[row.verdict]} {reasons.get(row.reason, '')}".strip(),
    }


def digits_of(rows: Iterable[Row]) -> int:
    """Return how many digits the rows of a table are shown with: three, or four where some are printed so."""
    printed = [row.published.mean for row in rows if row.published is not None]
    return 4 if any(round(mean, 3) != round(mean, 6) for mean in printed) else 3


def _text(sample: Sample | None, digits: int) -> str:
    return "–" if sample is None else sample.text(digits)


def printed_only(rows: Sequence[Row]) -> list[list[str]]:
    """Return the published numbers of some rows as a table, data sets × methods, with its header."""
    methods = list(dict.fromkeys(row.method for row in rows))
    at = {(row.data, row.method): row for row in rows}
    digits = digits_of(rows)
    names = dict.fromkeys(row.data for row in rows)
    lines = [[name, *(_printed(at.get((name, method)), digits) for method in methods)] for name in names]
    return [["data", *methods], *lines]


def _printed(row: Row | None, digits: int) -> str:
    if row is None:
        return ""
    return _text(row.published, digits) + (f" {MARKS['differs']}" if row.misprint else "")


def _published_only(rows: Sequence[Row]) -> Iterator[str]:
    header, *lines = printed_only(rows)
    yield "| " + " | ".join(map(_cell, header)) + " |"
    yield "|---|" + "---:|" * (len(header) - 1)
    yield from ("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _why_not(rows: Sequence[Row], measured: Collection[str]) -> Iterator[str]:
    """Yield each reason why numbers are published only: of methods that were not measured, else of data sets."""
    for reason in dict.fromkeys(row.reason for row in rows if row.reason):
        ones = [row for row in rows if row.reason == reason]
        methods = dict.fromkeys(row.method for row in ones)
        names = dict.fromkeys(row.data for row in ones) if methods.keys() & measured else methods
        yield from (f"{', '.join(names)}: {_cell(reason)}.", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
