"""The program: its options, its list of commands, and one run of it with its messages and exit status."""

from __future__ import annotations

import inspect
import re
import signal
import sys
import threading
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from cofactor.cli import datasets, errors
from cofactor.cli.interrupts import deliver_interrupts, loading, report_interrupt, working
from cofactor.cli.options import with_database_options, with_task_options
from cofactor.cli.output import showing_warnings
from cofactor.files import without_password
from cofactor.interrupts import propagate_interrupt


class _Commands(TyperGroup):
    """Commands, each loaded when it is called; some are called by two words: demo, and demo serve."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return name and command of the first words, and what follows them."""
        both = " ".join(args[:2])
        name, command, rest = super().resolve_command(ctx, [both, *args[2:]] if both in self.commands else args)
        return name, _command(name) if name in SUMMARIES else command, rest


app = typer.Typer(
    name="cofactor",
    cls=_Commands,
    help="Fill in matrices of ratings and of labels: predictions and recommendations from a file.",
    epilog="New here? [bold]cofactor demo[/bold] shows what it can do.",
    no_args_is_help=True,
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
    """Fill in matrices of ratings and of labels: predictions and recommendations from a file."""


EXAMPLES = {
    "demo": ("cofactor demo", "cofactor demo labels", "cofactor demo --full --out /tmp/report"),
    "demo serve": ("cofactor demo serve", "cofactor demo serve --port 8080 --no-browser"),
    "fit": (
        "cofactor fit ratings.csv --out model.cofactor",
        "cofactor fit plays.csv --count plays --model implicit-als",
        "cofactor fit clicks.tsv --user who --item what --rating stars --levels 1:5 --duplicates last",
        "zcat ratings.csv.gz | cofactor fit - --alpha 12 --factors 50",
        "cofactor fit songs.arff --model grople --threshold global",
        "cofactor fit pages.csv --labels tag_ --out tags.cofactor",
    ),
    "info": (
        "cofactor info model.cofactor",
        "cofactor info model.cofactor --json",
    ),
    "predict": (
        "cofactor predict model.cofactor pairs.csv --out predictions.csv",
        "echo 1,50 | cofactor predict model.cofactor - --no-header --json",
        "cofactor predict tags.cofactor new-pages.csv --top 3",
    ),
    "explain": (
        "cofactor explain tags.cofactor new-pages.csv -n 5",
        "cofactor explain tags.cofactor new-pages.csv --label jazz --json",
        "cofactor explain model.cofactor --user 42 --item 50 --item 181 --titles ml-100k",
    ),
    "recommend": (
        "cofactor recommend model.cofactor --user 42 --titles ml-100k",
        "cofactor recommend model.cofactor --all -n 20 --out recommendations.parquet",
        "cofactor recommend model.cofactor --ratings new-users.csv",
        "cofactor recommend ml-100k --user 196 --titles ml-100k",
    ),
    "similar": (
        "cofactor similar model.cofactor --item 50 --item 181 --titles ml-100k",
        "cofactor similar model.cofactor --user ann -n 5",
    ),
    "update": (
        "cofactor update model.cofactor today.csv",
        "cofactor update model.cofactor today.csv --duplicates last --out updated.cofactor",
    ),
    "serve": (
        "cofactor serve model.cofactor --titles ml-100k",
        "cofactor serve model.cofactor songs=songs.cofactor --port 8080",
    ),
    "evaluate": (
        "cofactor evaluate ml-100k --model mmmf --model hmf --protocol weak",
        "cofactor evaluate ratings.csv --alpha 12 --splits 5 --json",
        "cofactor evaluate ml-100k --rank --likes 4 --model recommender --model ease",
        "cofactor evaluate emotions --model grople --model mlknn --threshold global",
    ),
    "shard": (
        "cofactor shard ratings/*.parquet --out big",
        "cofactor shard 2025.csv 2026.csv.gz --out big --shards 64 --duplicates last",
        "cofactor shard today.parquet --into big --duplicates last",
        "cofactor shard --verify big",
    ),
    "compare": (
        "cofactor compare ml-100k ml-latest-small -m hmf -m mmmf -m als --protocol weak --jobs 2 --out folder",
        "cofactor compare emotions scene yeast -m grople -m plst -m mlknn --seeds 0,1 --metric macro_f1",
        "cofactor compare comparison.toml --out folder",
    ),
    "reproduce": (
        "cofactor reproduce list",
        "cofactor reproduce thesis-table-4.1 --quick",
        "cofactor reproduce all --jobs 2 --document reproduction",
    ),
}


#: One line for each command in the list of all of them.
SUMMARIES = {
    "demo": "See it work: train, measure, recommend, draw.",
    "demo serve": "Rate films on a page and see recommendations move.",
    "doctor": "Check the installation, with a timed fit.",
    "fit": "Learn a model from a file, and save it.",
    "info": "Say what a model file holds.",
    "predict": "Predict ratings of pairs, or labels of rows.",
    "explain": "Say why labels are predicted, or items recommended.",
    "recommend": "Recommend items, to one user or to all.",
    "similar": "List the most similar items, or users.",
    "update": "Take new ratings into a model.",
    "serve": "Answer requests over HTTP.",
    "evaluate": "Measure models on held-out data.",
    "shard": "Cut ratings that exceed memory into shards.",
    "compare": "Compare methods on data sets, with tests.",
    "reproduce": "Run published tables and figures again.",
}


#: The commands in the order in which they are listed, by part of the list.
PANELS = {
    "Start": ("demo", "demo serve", "doctor"),
    "Work": ("fit", "info", "predict", "explain", "recommend", "similar", "update", "serve", "evaluate", "shard"),
    "Research": ("compare", "reproduce"),
}


@cache
def _command(name: str) -> Any:
    """Load a command. Its help is its docstring with examples below; tasks declare some of its options."""
    word = name.replace(" ", "_")
    function = getattr(import_module(f"cofactor.cli.{name.partition(' ')[0]}"), word)
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    shown = "\n\n".join(f"  [cyan]{example}[/cyan]" for example in EXAMPLES.get(name, ()))
    epilog = f"Examples:\n\n{shown}" if shown else None
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(name, help=text, epilog=epilog)(with_database_options(with_task_options(function, name), name))
    command: Any = get_command(alone)
    command.callback = working()(command.callback)  # its arguments are read before
    return command


def _listed() -> None:
    """Stand for a command in the list of all of them."""


for _panel, _names in PANELS.items():
    for _name in _names:
        app.command(_name, short_help=SUMMARIES[_name], rich_help_panel=_panel)(_listed)
    if _panel == "Start":
        app.add_typer(datasets.app, name="datasets", rich_help_panel=_panel)


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; see `cofactor.cli.main`."""
    in_main = threading.current_thread() is threading.main_thread()
    # By default SIGTERM ends the process at once, which would leave temporary files behind.
    handler = signal.signal(signal.SIGTERM, _terminate) if in_main else None
    try:
        # Loading: to read the arguments, typer loads more.
        with showing_warnings(), deliver_interrupts(), propagate_interrupt(), loading():
            given = sys.argv[1:] if arguments is None else arguments
            status = _program()(args=[_public(one) for one in given], prog_name="cofactor", standalone_mode=False)
        sys.stdout.flush()
    except (SystemExit, BrokenPipeError) as stop:
        # rich and typer turn a broken pipe into an exit of their own.
        if BrokenPipeError in (type(stop), type(stop.__context__)):
            errors.silence_stdout()
            return 0
        return stop.code if isinstance(stop, SystemExit) and isinstance(stop.code, int) else 1
    except KeyboardInterrupt:
        return report_interrupt()
    except errors.EXPLAINED as error:
        if errors.is_abort(error):
            return report_interrupt()
        message = errors.explain(error)
        if message is None:
            raise
        if message:
            print(f"cofactor: error: {message}", file=sys.stderr)
        return 2
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, handler)
    if status == 130:
        return report_interrupt()
    return status if isinstance(status, int) else 0


def _public(argument: str) -> str:
    """Return an argument without the password of a database: nothing that is shown or kept has it."""
    option = re.match(r"-[^:]*?(?=postgres(?:ql)?://)", argument)  # --out=postgresql://...
    begin = 0 if option is None else option.end()
    return argument[:begin] + without_password(argument[begin:])


@cache
def _program() -> Any:
    """Return the program; each of its commands begins to work only when its arguments are read."""
    program = get_command(app)
    groups: list[Any] = [program]
    for group in groups:
        for command in group.commands.values():
            if hasattr(command, "commands"):
                groups.append(command)
            else:
                command.callback = working()(command.callback)
    return program


def _terminate(number: int, frame: Any) -> NoReturn:
    raise SystemExit(128 + number)
