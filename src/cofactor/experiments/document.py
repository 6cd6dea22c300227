"""Reproductions as a folder of Markdown pages, generated and never typed, with their pictures.

The front page says how to read the numbers, lists the pages, and counts for each experiment what agrees. The other
pages hold the experiments, by source and by group of tables, each with its claims, pictures, and published numbers
beside ours: `pages`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import cofactor
from cofactor.experiments.papers import Paper
from cofactor.experiments.reproduction import Claim, Drawing, Experiment, Origin, Reproduction, Row, Sample
from cofactor.files import PathLike, replacing
from cofactor.plots import save_figure
from cofactor.published import METRICS

FRONT = "README.md"
"""Name of the front page."""

PICTURES = "pictures"
"""Name of the folder with the pictures, in the folder of the pages."""

WORDS = "in-words.md"
"""Name of the page with a summary in words, which is written by hand."""

MARKS = {"agrees": "≈", "better": "▲ better", "worse": "▼ worse", "differs": "≠", "unknown": "", "": ""}
"""What stands beside a difference: within two standard deviations, or outside, and which way."""

_HOLDS = {True: "holds", False: "does not hold", None: "cannot be told"}
_CLAIMS: Mapping[Origin, tuple[str, str, str]] = {
    "source": ("what the source shows", "here", "measured"),
    "print": ("what the source shows", "by its own numbers", "recomputed"),
    "ours": ("not in the source", "here", "measured"),
}

_HOW_TO_READ = (
    f"Each number is mean ± standard deviation over folds or splits. {MARKS['agrees']}: published and measured are "
    "within two standard deviations of their difference (one that is not known counts as the other; what is "
    f"recomputed from printed numbers, within rounding); {MARKS['better']}, {MARKS['worse']}: further apart, ours the "
    f"better, or the worse; {MARKS['differs']}: what is printed cannot be right; no mark: no deviation is known."
)
_COUNTED = (
    "Each printed number counts once, beside what was measured as in its source. Claims are those of the sources, on "
    "numbers measured here. Experiments that share cells show their time each."
)


@dataclass(frozen=True)
class Page:
    """A page: the name of its file without suffix, its title, and patterns for the names of its experiments."""

    name: str
    title: str
    patterns: tuple[str, ...]


@cache
def pages() -> tuple[Page, ...]:
    """Return the pages; an experiment stands on the first of them with a pattern that fits its name."""
    declared = [page for paper in ("kumar", "omf", "mnmtf", "li") for page in Paper(paper).facts["pages"].items()]
    return tuple(Page(name, facts["title"], tuple(facts["names"])) for name, facts in declared)


def page_of(name: str) -> Page:
    """Return the page on which the experiment of a name stands.

    Examples
    --------
    >>> page_of("thesis-table-5.11").name, page_of("thesis-table-5.10").name, page_of("coins").name
    ('kumar-5-tests', 'kumar-5', 'others')
    """
    others = Page("others", "Other experiments", ("*",))
    return next(page for page in (*pages(), others) if any(fnmatchcase(name, pattern) for pattern in page.patterns))


def write_document(folder: PathLike, reproductions: Sequence[Reproduction], words: str = "") -> None:
    """Write published and measured numbers, claims and pictures as Markdown pages.

    Parameters
    ----------
    folder : path-like
        Where the pages go; it is made. Other files in it stay.
    reproductions : sequence of Reproduction
        In the order of the document.
    words : str, default=""
        A summary in words, in Markdown, for a page of its own.
    """
    folder = Path(folder)
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    if words.strip():
        _write(folder / WORDS, [words.strip()])
    divided: dict[Page, list[Reproduction]] = {}
    for one in reproductions:
        divided.setdefault(page_of(one.experiment.name), []).append(one)
    for page, ones in divided.items():
        sections = [line for one in ones for line in _section(one, folder / PICTURES)]
        _write(folder / f"{page.name}.md", [*_head_of_page(page, [one.experiment for one in ones]), *sections])
    _write(folder / FRONT, [*_front(reproductions, divided, (folder / WORDS).exists()), *_glance(reproductions)])


def _write(path: Path, lines: Iterable[str]) -> None:
    with replacing(path) as stream:
        stream.write(("\n".join(lines).rstrip() + "\n").encode())


def _front(reproductions: Sequence[Reproduction], pages: dict[Page, list[Reproduction]], words: bool) -> Iterator[str]:
    seconds = sum({result.key: result.seconds for one in reproductions for result in one.results}.values())
    extents = ", ".join(dict.fromkeys(one.extent for one in reproductions))
    yield from ("# The published tables and figures, run again", "")
    yield (
        f"Written by `cofactor reproduce` (cofactor {cofactor.__version__}; extent: {extents}; "
        f"{seconds / 3600:.1f} hours of computing on one core). Do not edit: run it again."
    )
    yield from ("", _HOW_TO_READ, "", "## Pages", "")
    if words:
        yield f"- [In words]({WORDS}): what holds, what does not, and why"
    for page, ones in pages.items():
        yield f"- [{page.title}]({page.name}.md): {', '.join(one.experiment.place for one in ones)}"
    yield ""


def _glance(reproductions: Iterable[Reproduction]) -> Iterator[str]:
    heads = ("experiment", "shows", "numbers compared", "≈", "▲", "▼", "≠", "claims that hold", "cells run", "minutes")
    yield from ("## At a glance", "", _COUNTED, "", _line(heads), "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for one in reproductions:
        tally, name = one.tally, one.experiment.name
        claims = f"{tally.held} of {tally.claims}" if tally.claims else "–"
        claims += f", {tally.unknown} cannot be told" if tally.unknown else ""
        ran = f"{len(one.results)} of {one.n_cells}" + (f", {tally.failed} failed" if tally.failed else "")
        numbers = (tally.compared, tally.agree, tally.better, tally.worse, tally.differ)
        link = f"[{name}]({page_of(name).name}.md#{anchor(name)})"
        compared = map(str, numbers) if tally.compared else "–" * 5
        yield _line([link, one.experiment.title, *compared, claims, ran, f"{one.seconds / 60:.1f}"])
    yield ""


def _head_of_page(page: Page, experiments: Sequence[Experiment]) -> Iterator[str]:
    made = "Written by `cofactor reproduce`. Do not edit: run it again."
    yield from (f"# {page.title}", "", f"{made} [All pages, and how to read the numbers]({FRONT}).", "")
    if len(experiments) > 1:
        yield from (" · ".join(f"[{one.place}](#{anchor(one.name)})" for one in experiments), "")


def anchor(name: str) -> str:
    """Return what links call the section of an experiment.

    >>> anchor("thesis-table-3.19")
    'thesis-table-319'
    """
    return name.lower().replace(".", "")


# ---------------------------------------------------------------- an experiment


def _section(one: Reproduction, folder: Path) -> Iterator[str]:
    """Yield the lines of the section of an experiment, and save its pictures in a folder below that of the page."""
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
            yield from (_line(heads), "|---|---|---|")
            yield from (_line([one.statement, f"**{_HOLDS[one.holds]}**", one.measured]) for one in ones)
            yield ""


def _picture(picture: Drawing, folder: Path) -> Iterator[str]:
    drawn = picture.draw()
    save_figure(drawn[0] if isinstance(drawn, Sequence) else drawn, folder / f"{picture.name}.png")
    yield from (f"![{picture.caption}]({folder.name}/{picture.name}.png)", "", f"*{picture.caption}*", "")


def _tables(rows: Sequence[Row]) -> Iterator[str]:
    """Yield one table of each protocol and metric; what is printed only is told in one line."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.protocol, row.metric].append(row)
    for (protocol, metric), ones in groups.items():
        yield from (f"**{title_of(metric, protocol)}**", "")
        measured, rest = ([row for row in ones if (row.here is None) == gone] for gone in (False, True))
        if measured:
            reasons, digits = reasons_of(measured), digits_of(ones)
            yield from (_line(columns_of(measured[0], reasons, digits)), "|---|---|---:|---:|---:|---|")
            yield from (_line(columns_of(row, reasons, digits).values()) for row in measured)
            yield ""
            yield from (line for reason, mark in reasons.items() for line in (f"{mark} {_cell(reason)}", ""))
        if rest:
            header, *lines = printed_only(rest)
            yield from ("Published only:", "", _line(header), "|---|" + "---:|" * (len(header) - 1))
            yield from (*map(_line, lines), "", *_why_not(rest, {row.method for row in measured}))


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
    digits = digits_of(rows)
    texts = {
        (row.data, row.method): _text(row.published, digits) + (f" {MARKS['differs']}" if row.misprint else "")
        for row in rows
    }
    names, methods = (list(dict.fromkeys(place[axis] for place in texts)) for axis in (0, 1))
    return [["data", *methods], *([name, *(texts.get((name, method), "") for method in methods)] for name in names)]


def _why_not(rows: Sequence[Row], measured: Collection[str]) -> Iterator[str]:
    """Yield each reason why numbers are published only: of methods that were not measured, else of data sets."""
    for reason in dict.fromkeys(row.reason for row in rows if row.reason):
        ones = [row for row in rows if row.reason == reason]
        methods = dict.fromkeys(row.method for row in ones)
        names = dict.fromkeys(row.data for row in ones) if methods.keys() & measured else methods
        yield from (f"{', '.join(names)}: {_cell(reason)}.", "")


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(map(_cell, texts))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
