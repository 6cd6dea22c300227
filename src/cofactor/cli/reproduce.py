"""``cofactor reproduce``: published tables and figures, run again, beside what was printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import telling_what_is_kept
from cofactor.cli.files import check_folder
from cofactor.cli.interrupts import loading
from cofactor.cli.output import duration, human_console, note, print_json
from cofactor.errors import InvalidInputError
from cofactor.progress import Display

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

    from cofactor.evaluation.running import RunProgress
    from cofactor.evaluation.store import ResultStore
    from cofactor.experiments.reproduction import Experiment, Extent, Origin, Reproduction, Row


def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Names of experiments, or all; list shows what there is.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="One fold or split of smaller sets: less than a minute each.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Also the heaviest sets, and the protocols in full.")] = False,
    jobs: options.Jobs = 1,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Where results are kept, and found again; by default reproduce in the cache."
        ),
    ] = None,
    from_store: Annotated[bool, typer.Option("--from-store", help="Run nothing: show what the store holds.")] = False,
    retry: options.Retry = False,
    document: Annotated[
        str | None,
        typer.Option("--document", "-d", metavar="FOLDER", help="Write all of it as Markdown pages with pictures."),
    ] = None,
    words: Annotated[
        str | None, typer.Option(metavar="FILE.md", help="A summary in words, for a page of its own.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Run published tables and figures again: published, here, difference, and what the figures show.

    Each result is kept as it ends: a run that was stopped goes on where it was. Numbers that lie outside two standard
    deviations of their difference are marked, with the reason where it is known.
    """
    if quick and full:
        raise InvalidInputError("--quick and --full exclude each other: choose one")
    extent: Extent = "quick" if quick else "full" if full else "normal"
    if names == ["list"]:
        _list(json)
        return
    chosen = _chosen(names)
    if from_store and retry:
        raise InvalidInputError("--from-store runs nothing, so --retry has nothing to run again: leave one of them out")
    text = _words(document, words)
    with loading():
        from cofactor.evaluation.store import ResultStore

    place = _place(store)
    if from_store and not place.exists():
        raise InvalidInputError(
            f"--from-store: there is no store {place} yet: without this option it is made and filled"
        )
    found = _found(chosen, extent, ResultStore(place), from_store, jobs, retry, json)
    if json:
        print_json([_plain(one) for one in found])
    else:
        for one in found:
            show_reproduction(one)
    if document is not None:
        from cofactor.experiments.document import FRONT, write_document

        write_document(document, found, text)
        note(f"wrote {Path(document) / FRONT}")
    if any(one.tally.failed for one in found):
        raise typer.Exit(1)


def _found(
    chosen: Sequence[Experiment],
    extent: Extent,
    store: ResultStore,
    from_store: bool,
    jobs: int,
    retry: bool,
    quiet: bool,
) -> list[Reproduction]:
    with loading():
        from cofactor.experiments.reproduction import reproduce as run
        from cofactor.experiments.reproduction import stored

    if from_store:
        return stored(chosen, extent, store)
    with telling_what_is_kept(), _progress(quiet) as show:
        return run(chosen, extent, store=store, n_jobs=jobs, retry_failed=retry, on_progress=show)


def _chosen(names: Sequence[str]) -> list[Experiment]:
    with loading():
        from cofactor.experiments import experiment, experiments

    if names == ["all"]:
        return list(experiments().values())
    for word in ("all", "list"):
        if word in names:
            raise InvalidInputError(f"{word} stands alone: leave the other names out")
    return [experiment(name) for name in dict.fromkeys(names)]


def _words(document: str | None, words: str | None) -> str:
    """Return the summary for the document; refuse, before any work, files that cannot be read or written."""
    if document is not None:
        if document.endswith((".md", ".html")):
            page = f"{Path(document).stem}/README.md"
            raise InvalidInputError(f"{document}: expected the name of a folder; its first page will be {page}")
        check_folder(document)
    if words is None:
        return ""
    if document is None:
        raise InvalidInputError("--words are a page of a document: say with --document where it goes")
    if not words.endswith(".md"):
        raise InvalidInputError(f"{words}: expected a Markdown file, ending in .md")
    try:
        return Path(words).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{words}: is not UTF-8 ({error.reason} at byte {error.start})") from error


def _place(store: str | None) -> Path:
    if store is not None:
        return Path(store)
    from cofactor.files import cache_dir

    folder = cache_dir()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "reproduce"


@contextmanager
def _progress(quiet: bool) -> Iterator[Any]:
    with Display("reproducing", quiet=quiet, counted=True) as display:

        def show(progress: RunProgress) -> None:
            left = progress.seconds_left
            words = [f"{progress.result.method}, {progress.result.data}".strip(", ")]
            words += [f"{duration(left)} left"] if left is not None else []
            words += [f"{progress.failed} failed"] if progress.failed else []
            display.show(detail="; ".join(words), done=progress.done, total=progress.total)

        yield show


def _list(as_json: bool) -> None:
    from cofactor.experiments import experiments
    from cofactor.experiments.reproduction import EXTENTS

    rows = [
        {"name": one.name, "title": one.title, "source": one.source, **{e: len(one.cells(e)) for e in EXTENTS}}
        for one in experiments().values()
    ]
    if as_json:
        print_json(rows)
        return
    console = human_console()
    lines = [[str(row[name]) for name in ("name", "title", *EXTENTS)] for row in rows]
    show_lines(console, "", ["name", "shows", *EXTENTS], lines, n_names=2, folded=("shows", 24))
    console.print("Numbers of cells (fits, with what chooses their parameters): --quick, without an option, --full.")


def _plain(one: Reproduction) -> dict[str, Any]:
    from dataclasses import asdict

    rows = [{**asdict(row), "difference": row.difference, "verdict": row.verdict} for row in one.outcome.rows]
    return {
        "name": one.experiment.name,
        "extent": one.extent,
        "cells": one.n_cells,
        "seconds": one.seconds,
        **asdict(one.tally),
        "rows": rows,
        "claims_told": [asdict(claim) for claim in one.outcome.claims],
        "notes": list(one.outcome.notes),
        "missing": list(one.experiment.missing),
        "misprints": one.experiment.misprints,
        "errors": [result.error for result in one.results if result.status == "failed"],
    }


_HOLDS = {True: "[green]✓ holds[/green]", False: "[red]✗ does not hold[/red]", None: "[dim]? cannot be told[/dim]"}

_ORIGIN: dict[Origin, str] = {"source": "", "print": "by the printed numbers: ", "ours": "not in the source: "}


def show_reproduction(one: Reproduction) -> None:
    """Print the claims of an experiment, and published and measured numbers beside each other."""
    from rich.markup import escape
    from rich.padding import Padding

    console, outcome = human_console(), one.outcome
    console.print(f"\n[bold]{escape(one.experiment.name)}[/bold]  {escape(one.experiment.title)}")
    ran = f"{len(one.results)} of {one.n_cells} cells, {duration(one.seconds)} of computing"
    console.print(f"[dim]{escape(one.experiment.source)}; {ran if one.results else 'nothing was run'}[/dim]")
    for origin, words in _ORIGIN.items():
        for claim in (claim for claim in outcome.claims if claim.origin == origin):
            console.print(f"{_HOLDS[claim.holds]}  {words}{escape(claim.statement)}")
            if claim.measured:
                console.print(Padding(f"[dim]{escape(claim.measured)}[/dim]", (0, 0, 0, 3)))
    for protocol, metric in dict.fromkeys((row.protocol, row.metric) for row in outcome.rows):
        _show_table(console, [row for row in outcome.rows if (row.protocol, row.metric) == (protocol, metric)])
    for line in _lines(one):
        console.print(f"[dim]– {escape(line)}[/dim]")


def _show_table(console: Console, rows: Sequence[Row]) -> None:
    """Print *published | here | difference* of one metric, and below it the numbers that are only published."""
    from rich.markup import escape

    from cofactor.experiments.document import columns_of, digits_of, printed_only, reasons_of, title_of

    title, digits = title_of(rows[0].metric, rows[0].protocol), digits_of(rows)
    measured, rest = [row for row in rows if row.here is not None], [row for row in rows if row.here is None]
    if measured:
        reasons = reasons_of(measured)
        lines = [list(columns_of(row, reasons, digits).values()) for row in measured]
        header = ["diff" if name == "difference" else name for name in columns_of(measured[0], reasons, digits)]
        show_lines(console, title, header, lines, n_names=2, folded=("method", 16))
        for reason, mark in reasons.items():
            console.print(f"[dim]{escape(mark)} {escape(reason)}[/dim]")
    if rest:
        header, *lines = printed_only(rest)
        show_lines(console, f"{title}, published only", header, lines, n_names=1)


def show_lines(
    console: Console,
    title: str,
    header: Sequence[str],
    lines: Sequence[Sequence[str]],
    n_names: int,
    folded: tuple[str, int] = ("", 0),
) -> None:
    """Print a table. One column may be folded; if there is still no room, each row becomes a sentence."""
    from rich import box
    from rich.markup import escape
    from rich.measure import Measurement
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, title=escape(title) or None, title_justify="left", pad_edge=False, collapse_padding=True
    )
    for k, name in enumerate(header):
        side: JustifyMethod = "right" if name and k >= n_names else "left"
        # A column that may be folded is measured as narrow as it can be.
        narrow = folded[1] if name == folded[0] else None
        table.add_column(escape(name), justify=side, no_wrap=narrow is None, max_width=narrow, overflow="fold")
    for line in lines:
        table.add_row(*map(escape, line))
    if Measurement.get(console, console.options.update(max_width=1000), table).maximum <= console.width:
        for column in table.columns:
            column.max_width = None
        console.print(table)
        return
    console.print(f"\n[italic]{escape(title)}[/italic]" if title else "")
    for line in lines:
        names = ", ".join(filter(None, line[:n_names]))
        pairs = zip(header[n_names:], line[n_names:], strict=True)
        values = ", ".join(f"{name} {value}".strip() for name, value in pairs if value)
        console.print(f"{escape(names)}: {escape(values)}" if names else escape(values))


def _lines(one: Reproduction) -> Iterator[str]:
    tally = one.tally
    if tally.compared:
        yield (
            f"{tally.compared} printed numbers compared: {tally.agree} agree, ours is "
            f"better than {tally.better} and worse than {tally.worse}; {tally.differ} cannot be right"
            + (f", {tally.unjudged} have no deviation" if tally.unjudged else "")
        )
    yield from (f"not run: {line}" for line in one.experiment.missing)
    yield from (f"misprint: {line}" for line in one.experiment.misprints)
    yield from one.outcome.notes  # among them what failed
