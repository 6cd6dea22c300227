"""The program: its options and its list of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from cofactor.cli import datasets, demo, doctor, evaluate, fit, predict, recommend

app = typer.Typer(
    name="cofactor",
    help="Fill in rating matrices: predictions and recommendations from a file of ratings.",
    epilog="New here? [bold]cofactor demo[/bold] shows everything in a minute.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from cofactor import __version__

        typer.echo(f"cofactor {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Fill in rating matrices: predictions and recommendations from a file of ratings."""


app.command("demo", rich_help_panel="Start")(demo.demo)
app.command("doctor", rich_help_panel="Start")(doctor.doctor)
app.add_typer(datasets.app, name="datasets", rich_help_panel="Start")
app.command("fit", rich_help_panel="Work")(fit.fit)
app.command("predict", rich_help_panel="Work")(predict.predict)
app.command("recommend", rich_help_panel="Work")(recommend.recommend)
app.command("evaluate", rich_help_panel="Work")(evaluate.evaluate)
