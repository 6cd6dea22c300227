"""Reproductions as one Markdown document, generated and never typed, with its pictures beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

import cofactor
from cofactor.datasets._bytes import replacing
from cofactor.experiments.experiment import Claim, Picture, Row, Sample
from cofactor.experiments.reproduction import Reproduction, verdict

__all__ = ["MARKS", "columns_of", "digits_of", "reasons_of", "write_document"]

MARKS = {"agrees": "≈", "better": "▲ better", "worse": "▼ worse", "differs": "≠", "unknown": "", "": ""}
"""What stands beside a difference: within two standard deviations, or outside, and which way."""

_HOLDS = {True: "holds", False: "does not hold", None: "cannot be told"}


def write_document(path: str | PathLike[str], reproductions: Sequence[Reproduction], words: str = "") -> None:
    """Write published and measured numbers, claims and pictures as Markdown.

    Parameters
    ----------
    path : path-like
        The document; pictures go into a folder of its name without suffix, beside it.
    reproductions : sequence of Reproduction
        In the order of the document.
    words : str, default=""
        A summary in words, in Markdown, which goes to the top.
    """
    path = Path(path)
    folder = path.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    parts = [*_head(reproductions), *([words.strip(), ""] if words.strip() else []), *_glance(reproductions)]
    for reproduction in reproductions:
        parts += _section(reproduction, folder)
    with replacing(path) as stream:
        stream.write(("\n".join(parts).rstrip() + "\n").encode())


def _head(reproductions: Sequence[Reproduction]) -> list[str]:
    seconds = sum({result.key: result.seconds for one in reproductions for result in one.results}.values())
    extents = ", ".join(dict.fromkeys(one.extent for one in reproductions))
    made = (
        f"Written by `cofactor reproduce` (cofactor {cofactor.__version__}; extent: {extents}; "
        f"{seconds / 3600:.1f} hours of computing). Do not edit: run it again."
    )
    how_to_read = (
        f"Each number is mean ± standard deviation over folds or splits. {MARKS['agrees']}: published and measured are "
        "within two standard deviations of their difference (one that is not known counts as the other); "
        f"{MARKS['better']}, {MARKS['worse']}: further apart, ours the better, or the worse; "
        f"{MARKS['differs']}: recomputed from printed numbers, and not what is printed; no mark: no deviation is known."
    )
    return ["# The published tables and figures, run again", "", made, "", how_to_read, ""]


def _glance(reproductions: Iterable[Reproduction]) -> list[str]:
    lines = [
        "## At a glance",
        "",
        "| experiment | shows | numbers compared | ≈ | ▲ | ▼ | ≠ | claims that hold | cells run | minutes |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in reproductions:
        tally, title = one.tally, one.experiment.title
        told = f"{tally.held} of {tally.claims}" if tally.claims else "–"
        told += f", {tally.unknown} untold" if tally.unknown else ""
        ran = f"{len(one.results)} of {one.n_cells}" + (f", {tally.failed} failed" if tally.failed else "")
        compared = (
            (tally.compared, tally.agree, tally.better, tally.worse, tally.differ) if tally.compared else ("–",) * 5
        )
        numbers = " | ".join(map(str, compared))
        name = one.experiment.name
        lines.append(f"| [{name}](#{_anchor(name)}) | {title} | {numbers} | {told} | {ran} | {one.seconds / 60:.1f} |")
    return [*lines, ""]


def _anchor(name: str) -> str:
    return name.lower().replace(".", "")


def _section(one: Reproduction, folder: Path) -> Iterator[str]:
    experiment, outcome = one.experiment, one.outcome
    yield from (f"## {experiment.name}", "", f"{experiment.title}. Source: {experiment.source}.", "")
    if not one.results and one.n_cells:
        yield from ("Has not been run yet.", "")
    yield from _claims(outcome.claims)
    for picture in outcome.pictures if one.results or not one.n_cells else ():
        yield from _picture(picture, folder)
    yield from _tables(outcome.rows)
    for title, lines in (("Not run", experiment.missing), ("Notes", outcome.notes)):
        if lines:
            yield from (f"**{title}**", "", *(f"- {line}" for line in lines), "")


def _claims(claims: Sequence[Claim]) -> Iterator[str]:
    if not claims:
        return
    yield from ("| what the source shows | here | measured |", "|---|---|---|")
    for claim in claims:
        yield f"| {_cell(claim.statement)} | **{_HOLDS[claim.holds]}** | {_cell(claim.measured)} |"
    yield ""


def _picture(picture: Picture, folder: Path) -> Iterator[str]:
    from cofactor.plots import save_figure

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
        yield from (f"**{metric}**" + (f", {protocol}" if protocol else ""), "")
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
        "": f"{MARKS[verdict(row)]} {reasons.get(row.reason, '')}".strip(),
    }


def digits_of(rows: Iterable[Row]) -> int:
    """Return how many digits the rows of a table are shown with: three, or four where some are printed so."""
    printed = [row.published.mean for row in rows if row.published is not None]
    return 4 if any(round(mean, 3) != round(mean, 6) for mean in printed) else 3


def _text(sample: Sample | None, digits: int) -> str:
    return "–" if sample is None else sample.text(digits)


def _published_only(rows: Sequence[Row]) -> Iterator[str]:
    """Yield data sets × methods."""
    methods = list(dict.fromkeys(row.method for row in rows))
    at = {(row.data, row.method): row for row in rows}
    digits = digits_of(rows)
    yield "| data | " + " | ".join(map(_cell, methods)) + " |"
    yield "|---|" + "---:|" * len(methods)
    for data in dict.fromkeys(row.data for row in rows):
        cells = (at.get((data, method)) for method in methods)
        yield (f"| {data} | " + " | ".join("" if row is None else _text(row.published, digits) for row in cells) + " |")


def _why_not(rows: Sequence[Row], measured: Collection[str]) -> Iterator[str]:
    """Yield each reason why numbers are published only: of methods that were not measured, else of data sets."""
    for reason in dict.fromkeys(row.reason for row in rows if row.reason):
        ones = [row for row in rows if row.reason == reason]
        methods = dict.fromkeys(row.method for row in ones)
        names = dict.fromkeys(row.data for row in ones) if methods.keys() & measured else methods
        yield from (f"{', '.join(names)}: {_cell(reason)}.", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
