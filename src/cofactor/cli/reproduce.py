"""``cofactor reproduce``: published tables and figures, run again, beside what was printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.board import duration
from cofactor.cli.errors import telling_what_is_kept
from cofactor.cli.files import check_folder
from cofactor.cli.interrupts import loading
from cofactor.cli.output import human_console, note, print_json
from cofactor.cli.reproduced import show_lines, show_reproduction
from cofactor.errors import InvalidInputError
from cofactor.progress import Display

if TYPE_CHECKING:
    from cofactor.evaluation.running import RunProgress
    from cofactor.evaluation.store import ResultStore
    from cofactor.experiments.reproduction import Experiment, Extent, Reproduction


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
    from cofactor.datasets.registry import cache_dir

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
