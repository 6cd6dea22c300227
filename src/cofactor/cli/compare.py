"""``cofactor compare``: methods on data sets, with tests of differences, in a store that survives a crash.

While it runs, a live table shows how far each data set is, which method leads, and what failed.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming, telling_what_is_kept
from cofactor.cli.files import check_folder
from cofactor.cli.interrupts import loading
from cofactor.cli.output import Download, duration, human_console, note, print_result, show_notes
from cofactor.errors import InvalidInputError, Text
from cofactor.progress import Display
from cofactor.service import sniff, task_named
from cofactor.text import first_repeated, nearest

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cofactor.evaluation.comparison import Comparison
    from cofactor.evaluation.running import RunProgress
    from cofactor.evaluation.store import Run
    from cofactor.evaluation.tables import MeanTable
    from cofactor.experiments.declared import Declared


class Board:
    """Shows the progress of a comparison on standard error; if that is no terminal, failures and a line now and then.

    Parameters
    ----------
    declared : Declared
        What is compared.
    quiet : bool, default=False
        Never show the table.
    """

    def __init__(self, declared: Declared, *, quiet: bool = False) -> None:
        from rich.live import Live

        from cofactor.evaluation.comparison import shown_metrics, sources_of, task_of
        from cofactor.metrics import greater_is_better

        self.metric = shown_metrics(task_of(sources_of(declared.data)), declared.metrics)[0]
        self.sign = 1 if greater_is_better(self.metric) else -1
        self.data = list(declared.data)
        self.console = human_console(stderr=True)
        self.cells = dict.fromkeys(self.data, 0)
        self.values: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in self.data}
        self.last: RunProgress | None = None
        self.noted = time.monotonic()
        shown = self.console.is_terminal and not quiet
        self.live = Live(console=self.console, get_renderable=self.view, transient=True) if shown else None
        self.display = Display("comparing", quiet=quiet or shown)

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()
        self.display.stop()

    def show(self, progress: RunProgress) -> None:
        """Take in a result."""
        result = progress.result
        self.last, self.noted = progress, time.monotonic()
        self.cells[result.data] += 1
        if result.status == "failed":
            self.console.print(_failure(result), markup=False, soft_wrap=True)
        elif self.metric in result.measures:
            self.values[result.data][result.method].append(float(result.measures[self.metric]))
        self.display.show(detail=self.headline())

    def view(self) -> RenderableType:
        """Return what the terminal shows now."""
        from rich import box
        from rich.console import Group
        from rich.markup import escape
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        table.add_column("data")
        table.add_column("cells", justify="right")
        table.add_column(f"best {self.metric} so far")
        of_each = "" if self.last is None else f"/{self.last.total // len(self.data)}"
        for name in self.data:
            table.add_row(escape(name), f"{self.cells[name]}{of_each}", escape(self.leader(name)))
        return Group(Text(self.headline(), style="bold"), table)

    def headline(self) -> str:
        """Return how many cells are done, and how long the rest will take."""
        if self.last is None:
            return "beginning"
        last, since = self.last, time.monotonic() - self.noted
        words = [f"{last.done:,} of {last.total:,} cells", duration(last.seconds + since)]
        if last.seconds_left is not None:
            words.append(f"about {duration(max(0.0, last.seconds_left - since))} left")
        if last.failed:
            words.append(f"{last.failed:,} failed")
        return ", ".join(words)

    def leader(self, data: str) -> str:
        """Return the method with the best mean so far, and that mean."""
        means = {method: sum(values) / len(values) for method, values in self.values[data].items()}
        if not means:
            return ""
        best = max(means, key=lambda method: self.sign * means[method])
        return f"{best} {means[best]:.4f}"


def _failure(result: Run) -> str:
    where = ", ".join(part for part in (result.method, result.data, result.split, f"seed {result.seed}") if part)
    return f"failed: {where}: {result.error.partition(chr(10))[0]}"


#: Options that may be given with a TOML file.
_OF_THE_RUN = ("jobs", "store", "out", "retry", "safe_csv", "json")


def compare(
    context: typer.Context,
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA",
            help="Names of known data sets and files, all with ratings or all with labels; or one TOML file which "
            "declares everything.",
        ),
    ],
    model: options.Models = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            "-p",
            metavar="NAME",
            help="For ratings holdout (the default), weak, strong, kfold, time, user-last, per-user or new-users; for "
            "labels kfold (the "
            "default), holdout, official, stratified, stratified-pairs, grouped or time; as in cofactor evaluate.",
        ),
    ] = None,
    splits: Annotated[
        int, typer.Option("--splits", "--folds", metavar="N", min=1, help="Number of splits, or folds.")
    ] = 3,
    seeds: Annotated[
        str, typer.Option(metavar="LIST", help="Everything is repeated with each of these seeds: 0,1,2.")
    ] = "0",
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="NAME", help="What to show and test, such as mae or micro_f1; repeat."),
    ] = None,
    jobs: options.Jobs = 1,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where every result is kept as it ends, so that a run that was stopped goes on where it was; by "
            "default runs in the folder of --out.",
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write tables, results and report.html there.")
    ] = None,
    safe_csv: options.SafeCsv = False,
    retry: options.Retry = False,
    json: options.Json = False,
    task: options.TaskOption = None,
    alpha: options.Alpha = "auto",
    factors: options.Factors = None,
    **own: Any,
) -> None:
    """Compare methods on data sets: mean ± standard deviation (rank), and whether the differences are more than chance.

    All methods see the same splits; alpha, and for labels what else matters, is chosen inside each training part.
    Interrupt it whenever you like: with --out or --store, the same command goes on where it was. A cell that fails is
    told in a line, and does not stop the others.

    Below each table stand the baselines of cofactor evaluate, in no rank and no test. With [bold]--rank[/bold], lists
    of recommendations are compared, popularity among them.

    What is said of columns and formats holds for all files. A TOML file can declare more: parameters and grids of each
    method, and of each file its own columns.
    """
    folder = None if out is None else check_folder(out)
    notes: tuple[Text, ...] = ()
    if any(name.endswith(".toml") for name in data):
        declared = _from_file(context, data)
    else:
        with loading():
            chosen = task_named(_task_of(context, data, task))
        values = options.values_of(chosen, "compare", own)
        settings = options.settings_of(alpha, factors, None, values, lenient=True)
        named = None if model is None else chosen.contestants(model, settings)
        loaded = [chosen.read(file, values, Download(file, quiet=json)) for file in data]
        ranked = any(chosen.ranks(one, values) for one in loaded)
        options.check_ranking(context, {"rank": ranked})
        models, notes = named or chosen.contestants(
            chosen.default_models(settings, compared=True, ranked=ranked), settings
        )
        models = chosen.suited(models, loaded)
        notes = (*notes, *(text for one in loaded for text in one.notes))
        show_notes(notes)
        declared = _declared(
            models,
            [one.data for one in loaded],
            {
                "splits": protocol,
                "n_splits": splits,
                "seeds": _seeds(seeds),
                "metrics": metric,
                **({"at": values["at"], "likes": values["likes"]} if ranked else {}),
                "baselines": {} if ranked else chosen.baselines(None, settings),
            },
        )
    if folder is not None:
        folder.mkdir(exist_ok=True)
    place = store if store is not None or folder is None else folder / "runs"
    with loading():
        from cofactor.evaluation.store import ResultStore

    kept = None if place is None else ResultStore(place)
    with (
        telling_what_is_kept(),
        naming({"splits": "--protocol"}),
        Board(declared, quiet=json) as board,
    ):
        comparison = declared.compare(store=kept, n_jobs=jobs, retry_failed=retry, progress=board.show)
    tables = dict(_tables(comparison))
    files = iter(()) if folder is None else _write(folder, comparison, declared.title, tables, safe_csv)
    if json:
        written: list[Path] = []
        try:
            for path in files:
                written.append(path)
        finally:
            print_result(_plain(comparison, tables, written), notes)
    else:
        _show(comparison, tables)
        for path in files:
            note(f"wrote {path}")
    if comparison.failed or not tables:
        raise typer.Exit(1)


# ---------------------------------------------------------------- what to compare


def _seeds(text: str) -> list[int]:
    if not re.fullmatch(r"\d+([, ]+\d+)*", text.strip()):
        raise InvalidInputError(f"--seeds {text}: expected whole numbers with commas between, such as 0,1,2")
    from cofactor.evaluation.comparison import checked_seeds

    seeds = [int(part) for part in re.split(r"[, ]+", text.strip())]
    twice = first_repeated(map(str, seeds))
    if twice is not None:
        raise InvalidInputError(f"--seeds {text}: {twice} is there twice; give each seed once")
    return list(checked_seeds(seeds))


def _from_file(context: typer.Context, data: Sequence[str]) -> Declared:
    odd = options.given(context, [name for name in context.params if name not in ("data", *_OF_THE_RUN)])
    if len(data) > 1 or odd:
        what = odd[0] if odd else data[1]
        raise InvalidInputError(f"{what}: a TOML file declares all that is compared: put it there")
    with loading():
        from cofactor.experiments.declared import read_comparison

    try:
        return read_comparison(data[0])
    except InvalidInputError as error:
        raise InvalidInputError(str(error)) from error  # which speaks of keys in the file, not of options


def _task_of(context: typer.Context, files: Sequence[str], asked: str | None) -> str:
    """Return the task of all files."""
    _check_names(files)
    found = {file: options.choose_task(context, "compare", file, asked, asked or sniff(file)) for file in files}
    tasks = list(dict.fromkeys(found.values()))
    if len(tasks) > 1:
        one, other = (next(file for file, name in found.items() if name == task) for task in tasks[:2])
        raise InvalidInputError(f"{one} holds {tasks[0]} and {other} {tasks[1]}: compare each kind by itself")
    return tasks[0]


def _declared(models: Mapping[str, Any], sets: Sequence[Any], how: Mapping[str, Any]) -> Declared:
    with loading():
        from cofactor.experiments.declared import Declared

    names = [one.name for one in sets]
    twice = first_repeated(names)
    if twice is not None:
        raise InvalidInputError(f"two data sets are called {twice}: rename a file, or name them in a TOML file")
    return Declared(estimators=models, data=dict(zip(names, sets, strict=True)), **how)


def _check_names(files: Iterable[str]) -> None:
    """Refuse names that are given twice, or neither a file nor a data set, but similar to the name of a data set."""
    from cofactor.datasets.registry import KNOWN
    from cofactor.files import exists

    twice = first_repeated(files)
    if twice is not None:
        raise InvalidInputError(f"{twice}: is given twice; give each data set once")
    for file in files:
        near = nearest(file, KNOWN)
        if near and file not in KNOWN and not exists(file):
            message = f"{file}: no such file, and no known data set; did you mean {', '.join(near)}?"
            raise InvalidInputError(message)


# ---------------------------------------------------------------- what came out


def _tables(comparison: Comparison) -> Iterator[tuple[str, MeanTable]]:
    """Yield the tables of the metrics that have numbers."""
    for metric in comparison.metrics:
        if metric in comparison.measured:
            yield metric, comparison.table(metric)
        elif len(comparison.failed) < len(comparison.results):
            note(f"cofactor: note: no method here has {metric}")


def _show(comparison: Comparison, tables: Mapping[str, MeanTable]) -> None:
    from cofactor.text import one_line

    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    refused: dict[str, None] = {}  # mostly the same for all metrics
    for metric, table in tables.items():
        found = comparison.statistics(metric)
        print(table.text(_digits(table), room), *map(one_line, found.outcomes()), sep="\n", end="\n\n")
        refused |= dict.fromkeys(found.refusals())
    for line in [*refused, *_lost(comparison, tables)]:
        print(one_line(line))
    warned = [result for result in comparison.results if "warnings" in result.measures]
    if warned:
        first = warned[0]
        note(
            f"{len(warned)} of {len(comparison.results)} cells warned; {first.method}: {first.measures['warnings'][0]}"
        )
    sys.stdout.flush()  # before anything else that may fail


def _lost(comparison: Comparison, tables: Mapping[str, MeanTable]) -> Iterator[str]:
    """Yield why each method has no results, if there is no table to say it."""
    if not tables:
        yield from (f"{method} {why}" for method, why in comparison.absent().items())


def _digits(table: MeanTable) -> int:
    return 2 if table.metric.endswith("seconds") else 4


def _write(
    folder: Path, comparison: Comparison, title: str, tables: Mapping[str, MeanTable], safe_csv: bool
) -> Iterator[Path]:
    """Write all files, each whole or not at all, and yield their names. The report with its pictures comes last."""
    from cofactor.files import replacing
    from cofactor.reports.comparison import write_report

    comparison.to_csv(folder / "results.csv", safe_csv=safe_csv)
    yield folder / "results.csv"
    comparison.to_parquet(folder / "results.parquet")
    yield folder / "results.parquet"
    for name, text in (("tables.md", _markdown(comparison, title, tables)), ("tables.tex", _latex(tables))):
        with replacing(folder / name) as stream:
            stream.write(text.encode())
        yield folder / name
    write_report(folder / "report.html", comparison, title)
    yield folder / "report.html"


def _markdown(comparison: Comparison, title: str, tables: Mapping[str, MeanTable]) -> str:
    from cofactor.pages.escaping import in_markdown

    parts = [f"# {in_markdown(title)}"]
    for metric, table in tables.items():
        found = comparison.statistics(metric)
        lines = (f"- {in_markdown(line)}" for line in [*found.outcomes(), *found.refusals()])
        parts += [f"## {in_markdown(metric)}", table.markdown(_digits(table)), "\n".join(lines)]
    parts += [f"**{in_markdown(line)}**" for line in _lost(comparison, tables)]
    facts = "\n".join(f"| {in_markdown(name)} | {in_markdown(value)} |" for name, value in comparison.facts.items())
    return "\n\n".join([*parts, f"## How it was measured\n\n| | |\n|---|---|\n{facts}"]) + "\n"


def _latex(tables: Mapping[str, MeanTable]) -> str:
    return "\n\n".join(f"% {metric}\n{table.latex(_digits(table))}" for metric, table in tables.items()) + "\n"


def _plain(comparison: Comparison, tables: Mapping[str, MeanTable], written: Iterable[Path]) -> dict[str, Any]:
    return {
        "task": comparison.task,
        "facts": dict(comparison.facts),
        "cells": len(comparison.results),
        "metrics": {
            metric: {
                "greater_is_better": table.scores.greater_is_better,
                "data": dict(_means(table)),
                "baselines": comparison.baseline_means(metric),
                "tests": comparison.statistics(metric).lines(),
            }
            for metric, table in tables.items()
        },
        "failed": [
            {"method": one.method, "data": one.data, "split": one.split, "seed": one.seed, "error": _first(one.error)}
            for one in comparison.failed
        ],
        "files": [str(path) for path in written],
    }


def _means(table: MeanTable) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each data set mean, deviation and rank of each method; None where there is none."""
    columns = {"mean": table.means, "std": table.stds, "rank": table.scores.ranks}
    for i, data in enumerate(table.scores.data):
        yield (
            data,
            {
                method: {
                    name: None if values[i, j] != values[i, j] else values[i, j] for name, values in columns.items()
                }
                for j, method in enumerate(table.scores.methods)
            },
        )


def _first(text: str) -> str:
    return text.partition("\n")[0]
