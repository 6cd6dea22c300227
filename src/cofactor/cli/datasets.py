"""``cofactor datasets``: the known data sets, where they are, and whether their files are as published."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from cofactor.cli import options
from cofactor.cli.output import Download, human_console, note, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from cofactor.datasets import DatasetStatus

app = typer.Typer(
    help="List, find, download and check the known data sets.", no_args_is_help=True, rich_markup_mode="rich"
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name from cofactor datasets list.")]


def warn_of_data_variable() -> None:
    """Warn on standard error if COFACTOR_DATA names no folder; data sets may still be in the cache."""
    from cofactor.datasets.registry import data_variable_fault

    fault = data_variable_fault()
    if fault:
        note(f"cofactor: warning: {fault}")


@app.command("list")
def list_datasets(
    task: Annotated[
        str | None, typer.Option("--task", metavar="ratings|labels", help="Only the data sets of this kind.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the known data sets, and where they are on this machine."""
    from cofactor import datasets

    if task not in (None, "ratings", "labels"):
        raise typer.BadParameter(f"{task!r} is neither 'ratings' nor 'labels'", param_hint="--task")
    found = datasets.available(cast(Any, task))
    warn_of_data_variable()
    if json:
        print_json([asdict(status) for status in found])
        return
    from rich.markup import escape

    console = human_console()
    for kind in ("ratings", "labels"):
        if task is None:
            console.print(f"[bold underline]{kind.capitalize()}[/]")
        for status in found:
            if status.task == kind:
                _show_status(console, status)
        if task is None:
            console.print()
    console.print(f"Looked in $COFACTOR_DATA, then in {escape(str(datasets.cache_dir()))}", soft_wrap=True)


def _show_status(console: Console, status: DatasetStatus) -> None:
    from rich.markup import escape
    from rich.padding import Padding

    state = "[green]here[/green]" if status.path else "[yellow]not here[/yellow]"
    console.print(f"[bold]{status.name}[/bold]  {state}")
    if status.path:
        place = str(status.path)
    elif status.downloadable:
        place = f"cofactor datasets fetch {status.name} downloads it"
    else:
        place = f"cofactor datasets path {status.name} says what to put where"
    console.print(Padding(escape(status.description), (0, 0, 0, 2)))
    console.print(Padding(f"[dim]{escape(status.terms)}[/dim]", (0, 0, 0, 2)))
    console.print(f"  {escape(place)}", soft_wrap=True)


@app.command("path")
def path(name: Name, json: options.Json = False) -> None:
    """Print the folder of a data set; where it is missing, say what to put where."""
    from cofactor import datasets

    folder = datasets.locate(name)
    if json:
        print_json({"name": name, "path": str(folder)})
    else:
        print(folder)


@app.command("fetch")
def fetch(name: Name, json: options.Json = False) -> None:
    """Download a data set into the cache, unless it is there already, and print its folder."""
    from cofactor import datasets

    terms = {status.name: status.terms for status in datasets.available()}
    folder = datasets.fetch(name, progress=Download(name, quiet=json))
    note(f"terms of {name}: {terms[name]}")
    if json:
        print_json({"name": name, "path": str(folder)})
    else:
        print(folder)


@app.command("verify")
def verify(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of a data set; by default all that are here.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare files with their known checksums; exit status 1 if one differs."""
    from cofactor import datasets

    names = [name] if name else [status.name for status in datasets.available() if status.path]
    results = [datasets.verify(each) for each in names]
    if json:
        print_json([{**asdict(result), "ok": result.ok} for result in results])
    else:
        _show_checks(results)
    if not all(result.ok for result in results):
        raise typer.Exit(1)


def _show_checks(results: list) -> None:
    from rich.markup import escape

    console = human_console()
    if not results:
        console.print("No known data set is on this machine: cofactor datasets list tells how to get one.")
    colours = {"ok": "green", "missing": "yellow", "unknown": "yellow", "different": "red", "unreadable": "red"}
    for result in results:
        mark = "[green]ok[/green]" if result.ok else "[red]not ok[/red]"
        console.print(f"[bold]{result.name}[/bold]  {mark}  [dim]{escape(str(result.folder))}[/dim]", soft_wrap=True)
        for check in result.files:
            status = "missing, not needed" if check.status == "missing" and not check.required else check.status
            console.print(f"  {check.name}: [{colours[check.status]}]{status}[/] {escape(check.detail)}".rstrip())
            if check.status == "different":
                console.print(
                    f"    expected sha256 {check.expected}\n    found    sha256 {check.found}", soft_wrap=True
                )
