"""``cofactor shard``: ratings that are larger than memory, in a folder of shards."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import telling_what_is_kept
from cofactor.cli.files import check_there
from cofactor.cli.interrupts import loading
from cofactor.cli.output import print_result, show_facts, show_notes
from cofactor.errors import InvalidInputError
from cofactor.progress import Display


def shard(
    context: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILES...", help="Ratings: CSV, TSV, '::', also gzip, or Parquet.", show_default=False),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FOLDER", help="Where the shards go: a new folder.")
    ] = None,
    into: Annotated[
        str | None, typer.Option("--into", metavar="FOLDER", help="Append the ratings to the shards that are there.")
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option("--shards", metavar="N", min=1, help="How many; by default of four million ratings each."),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Throw away what an interrupted command left in FOLDER, and begin anew.")
    ] = False,
    verify: Annotated[
        str | None,
        typer.Option("--verify", metavar="FOLDER", help="Read all of a folder of shards, and compare checksums."),
    ] = None,
    json: options.Json = False,
    **own: Any,
) -> None:
    """Cut ratings that may be larger than memory into shards by ranges of users.

    The files are read in two passes, in some hundred megabytes of memory. A command that was interrupted or killed goes
    on where it was when it is given again. With [bold]--into[/bold] the ratings of another day are appended.
    """
    _check(context, files, out, into, verify)
    check_there(*(files or ()))
    with loading():
        from cofactor.service import sharding, task_named
    began = time.perf_counter()
    if verify is not None:
        with Display(f"reading {verify}", quiet=json):
            facts = sharding.checked_shards(verify)
    else:
        sources = files or []
        options.choose_task(context, "shard", sources[0], "ratings", None)
        values = options.values_of(task_named("ratings"), "shard", own)
        with Display("sharding", quiet=json, counted=True) as display, telling_what_is_kept():

            def show(phase: str, unit: str, done: float, total: float) -> None:
                display.show(phase, unit, done=done, total=total)

            if into is not None:
                facts = sharding.appended_shards(sources, into, values, show)
            else:
                facts = sharding.made_shards(sources, out or "", shards, values, show, restart=restart)
    seconds = time.perf_counter() - began
    if json:
        print_result({**facts.values, "seconds": round(seconds, 3)}, facts.notes)
    else:
        show_facts(facts, {"seconds": f"{seconds:.1f}"})
    show_notes(facts.notes)


def _check(
    context: typer.Context, files: list[str] | None, out: str | None, into: str | None, verify: str | None
) -> None:
    """Refuse what does not say one thing to do."""
    if sum(one is not None for one in (out, into, verify)) != 1:
        raise InvalidInputError(
            "give one of --out FOLDER, for new shards, --into FOLDER, to append, and --verify FOLDER"
        )
    if (verify is None) != bool(files):
        raise InvalidInputError("--verify takes no files" if files else "give files of ratings")
    odd = [] if out is not None else options.given(context, ("shards", "restart"))
    if odd:
        raise InvalidInputError(f"{odd[0]} is for new shards: give it with --out")
