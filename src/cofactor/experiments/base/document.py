"""Reproductions as a folder of Markdown pages, generated and never typed, with their pictures.

The front page says how to read the numbers, lists the pages, and counts for each experiment what agrees. The other
pages hold the experiments, by source and by group of tables: `PAGES`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import cofactor
from cofactor.experiments.base.experiment import Experiment
from cofactor.experiments.base.markdown import MARKS, anchor, section
from cofactor.experiments.base.reproduction import Reproduction
from cofactor.files import PathLike, replacing

__all__ = ["FRONT", "PAGES", "PICTURES", "WORDS", "Page", "page_of", "write_document"]

FRONT = "README.md"
"""Name of the front page."""

PICTURES = "pictures"
"""Name of the folder with the pictures, in the folder of the pages."""

WORDS = "in-words.md"
"""Name of the page with a summary in words, which is written by hand."""

_TITLE = "The published tables and figures, run again"
_MADE_BY = "Written by `cofactor reproduce`. Do not edit: run it again."


@dataclass(frozen=True)
class Page:
    """A page: the name of its file without suffix, its title, and patterns for the names of its experiments."""

    name: str
    title: str
    patterns: tuple[str, ...]


PAGES: tuple[Page, ...] = (
    Page("kumar-3", "Kumar's thesis, chapter 3: maximum margins for ratings, HMF", ("thesis-*-3.*",)),
    Page("kumar-4", "Kumar's thesis, chapter 4: proximal margins for ratings, PMMMF", ("thesis-*-4.*",)),
    Page(
        "kumar-5-tests",
        "Kumar's thesis, chapter 5: do the label methods differ?",
        ("thesis-table-5.11", "thesis-figure-5.5"),
    ),
    Page("kumar-5", "Kumar's thesis, chapter 5: MLC-HMF for labels", ("thesis-*-5.*",)),
    Page(
        "kumar-6-tests",
        "Kumar's thesis, chapter 6: do the label methods differ?",
        ("thesis-table-6.3", "thesis-figure-6.4"),
    ),
    Page("kumar-6-table", "Kumar's thesis, chapter 6: GroPLE and seven others", ("thesis-table-6.2",)),
    Page("kumar-6", "Kumar's thesis, chapter 6: groups of labels in GroPLE", ("thesis-*-6.*",)),
    Page("omf", "Online matrix factorization for labels, OMF", ("omf-*",)),
    Page("mnmtf", "Nonnegative tri-factorization of features, MNMTF", ("mnmtf-*",)),
    Page("li", "Li's thesis, chapter 7: label correlations on CAL500", ("li-*",)),
)
"""The pages; an experiment stands on the first of them with a pattern that fits its name."""

_OTHERS = Page("others", "Other experiments", ("*",))


def page_of(name: str) -> Page:
    """Return the page on which the experiment of a name stands.

    Examples
    --------
    >>> page_of("thesis-table-5.11").name, page_of("thesis-table-5.10").name, page_of("coins").name
    ('kumar-5-tests', 'kumar-5', 'others')
    """
    return next(page for page in (*PAGES, _OTHERS) if any(fnmatchcase(name, pattern) for pattern in page.patterns))


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
    pages = _divided(reproductions)
    for page, ones in pages.items():
        sections = [line for one in ones for line in section(one, folder / PICTURES)]
        _write(folder / f"{page.name}.md", [*_head_of_page(page, [one.experiment for one in ones]), *sections])
    _write(folder / FRONT, [*_front(reproductions, pages, (folder / WORDS).exists()), *_glance(reproductions)])


def _divided(reproductions: Iterable[Reproduction]) -> dict[Page, list[Reproduction]]:
    """Return the reproductions of each page, pages in the order of their first one."""
    pages: dict[Page, list[Reproduction]] = {}
    for one in reproductions:
        pages.setdefault(page_of(one.experiment.name), []).append(one)
    return pages


def _write(path: Path, lines: Iterable[str]) -> None:
    with replacing(path) as stream:
        stream.write(("\n".join(lines).rstrip() + "\n").encode())


def _front(reproductions: Sequence[Reproduction], pages: dict[Page, list[Reproduction]], words: bool) -> Iterator[str]:
    seconds = sum({result.key: result.seconds for one in reproductions for result in one.results}.values())
    extents = ", ".join(dict.fromkeys(one.extent for one in reproductions))
    yield from (f"# {_TITLE}", "")
    yield (
        f"Written by `cofactor reproduce` (cofactor {cofactor.__version__}; extent: {extents}; "
        f"{seconds / 3600:.1f} hours of computing on one core). Do not edit: run it again."
    )
    yield from ("", _how_to_read(), "", "## Pages", "")
    if words:
        yield f"- [In words]({WORDS}): what holds, what does not, and why"
    for page, ones in pages.items():
        yield f"- [{page.title}]({page.name}.md): {', '.join(one.experiment.place for one in ones)}"
    yield ""


def _how_to_read() -> str:
    return (
        f"Each number is mean ± standard deviation over folds or splits. {MARKS['agrees']}: published and measured are "
        "within two standard deviations of their difference (one that is not known counts as the other; what is "
        "recomputed from printed numbers, within rounding); "
        f"{MARKS['better']}, {MARKS['worse']}: further apart, ours the better, or the worse; "
        f"{MARKS['differs']}: what is printed cannot be right; no mark: no deviation is known."
    )


_COUNTED = (
    "Each printed number counts once, beside what was measured as in its source. Claims are those of the sources, on "
    "numbers measured here. Experiments that share cells show their time each."
)


def _glance(reproductions: Iterable[Reproduction]) -> list[str]:
    lines = [
        "## At a glance",
        "",
        _COUNTED,
        "",
        "| experiment | shows | numbers compared | ≈ | ▲ | ▼ | ≠ | claims that hold | cells run | minutes |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in reproductions:
        tally, title = one.tally, one.experiment.title
        claims = f"{tally.held} of {tally.claims}" if tally.claims else "–"
        claims += f", {tally.unknown} cannot be told" if tally.unknown else ""
        ran = f"{len(one.results)} of {one.n_cells}" + (f", {tally.failed} failed" if tally.failed else "")
        compared = (
            (tally.compared, tally.agree, tally.better, tally.worse, tally.differ) if tally.compared else ("–",) * 5
        )
        numbers = " | ".join(map(str, compared))
        name = one.experiment.name
        link = f"[{name}]({page_of(name).name}.md#{anchor(name)})"
        lines.append(f"| {link} | {title} | {numbers} | {claims} | {ran} | {one.seconds / 60:.1f} |")
    return [*lines, ""]


def _head_of_page(page: Page, experiments: Sequence[Experiment]) -> Iterator[str]:
    yield from (f"# {page.title}", "", f"{_MADE_BY} [All pages, and how to read the numbers]({FRONT}).", "")
    if len(experiments) > 1:
        yield from (" · ".join(f"[{one.place}](#{anchor(one.name)})" for one in experiments), "")
