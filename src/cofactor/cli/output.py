"""What commands print: tables, facts, notes, JSON, and progress on standard error."""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.errors import format_text, named
from cofactor.errors import InputWarning
from cofactor.files import display_name
from cofactor.progress import Display, describe
from cofactor.text import one_line, plural, without_controls

if TYPE_CHECKING:
    from rich.console import Console

    from cofactor.errors import Text
    from cofactor.metrics import LabelTable
    from cofactor.model.facts import Facts
    from cofactor.solvers import Progress
from cofactor.service.results import AnswerTable, Column, EvaluationResult, RankedResult

_ROWS_ON_SCREEN = 40
#: Characters for the names of models and the edges of the table.
_NAMES = 18
_WIDE = 100  #: characters of a wide terminal

_warned: list[str] = []  #: what this run of the program has warned of


def human_console(*, stderr: bool = False) -> Console:
    """Return a console for people, on standard output or standard error."""
    return _console_kind()(stderr=stderr, highlight=False, soft_wrap=False)


@cache
def _console_kind() -> type[Console]:
    """Return the class of consoles for people, when rich is needed."""
    from rich.console import Console
    from rich.segment import Segment

    class HumanConsole(Console):
        """A console that shows control characters as blanks: ids, names and titles come from files of anybody."""

        def render_str(self, text: str, **options: Any) -> Any:
            """Render a string, before its width is measured."""
            return super().render_str(without_controls(text), **options)

        def render(self, *arguments: Any, **options: Any) -> Any:
            """Render anything; strings came through `render_str`, texts which were made elsewhere did not."""
            for segment in super().render(*arguments, **options):
                yield segment if segment.control else Segment(without_controls(segment.text), segment.style)

    return HumanConsole


def print_json(value: Any) -> None:
    """Print a value as JSON, numbers of NumPy included."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain, allow_nan=False))


def print_result(values: Mapping[str, Any], notes: Sequence[Text] = (), names: Mapping[str, str] | None = None) -> None:
    """Print what a command did as JSON, with the warnings that were shown, and notes, which `show_notes` shows."""
    print_json({**values, "warnings": _warned, "notes": [one_line(format_text(text, names)) for text in notes]})


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def note(text: str) -> None:
    """Print a line on standard error, so that standard output holds only data."""
    print(one_line(text), file=sys.stderr)


@contextmanager
def showing_warnings() -> Iterator[None]:
    """Within the block, each warning is shown once, in one line, without the place in the source."""
    before, warnings.showwarning = warnings.showwarning, _show_warning
    _warned.clear()
    try:
        yield
    finally:
        warnings.showwarning = before


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    text = one_line(message.message(named()) if isinstance(message, InputWarning) else str(message))
    if text not in _warned:
        _warned.append(text)
        note(f"cofactor: warning: {text}")


def show_notes(notes: tuple[Text, ...], names: Mapping[str, str] | None = None) -> None:
    """Print the notes of a task for the user; `names` are options of the command, see `cofactor.cli.errors.named`."""
    for text in notes:
        note(f"cofactor: note: {format_text(text, names)}")


# ---------------------------------------------------------------- facts and tables


def show_facts(facts: Facts, more: Mapping[str, str], *, stderr: bool = False) -> None:
    """Print names and values below each other.

    Parameters
    ----------
    facts : Facts
        Of a task.
    more : mapping from str to str
        More names and values, of the command.
    stderr : bool, default=False
        Print on standard error.
    """
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in {**facts.shown, **more}.items():
        table.add_row(name, escape(value))
    console = human_console(stderr=stderr)
    console.print(f"[bold]{escape(facts.title)}[/bold]", soft_wrap=True)
    console.print(table)


def write_table(
    table: AnswerTable,
    out: str | None,
    *,
    as_json: bool,
    safe_csv: bool = False,
    names: Mapping[str, str] | None = None,
) -> None:
    """Write a table to a file or to standard output.

    Parameters
    ----------
    table : AnswerTable
        Of a task.
    out : str or None
        File, whose suffix says the format; ``-`` for CSV on standard output. None: a table for people on a terminal,
        otherwise CSV.
    as_json : bool
        Print JSON on standard output: the rows, or their number if they go to a file. Records have a line each.
    safe_csv : bool, default=False
        Write CSV for spreadsheets, see `cofactor.datasets.write_table`.
    names : mapping from str to str, optional
        Options of the command, for the notes on rows that follow.
    """
    if as_json and out is None and table.records is not None:
        for record in table.records():
            sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")
        return
    if table.fault is not None:
        raise table.fault
    from cofactor.datasets import write_blocks as write

    notes: list[Text] = []
    blocks = _blocks(table, notes)
    if out is not None and out != "-":
        with Display(f"writing {display_name(out)}", quiet=as_json, after=1) as display:
            n_rows = write(out, _told(blocks, display), safe_csv=safe_csv)
        if as_json:
            print_result({"out": display_name(out), "rows": n_rows}, (*table.notes, *notes), names)
        else:
            note(f"wrote {plural(n_rows, 'row', form=',')} to {display_name(out)}")
    elif as_json:
        rows = (row for columns in blocks for row in zip(*map(_values, columns.values()), strict=True))
        print_json([dict(zip(table.columns, row, strict=True)) for row in rows])
    elif out is None and sys.stdout.isatty() and table.text is not None:
        print(table.text())
    elif out is None and sys.stdout.isatty():
        whole = list(blocks)
        columns = {name: [one for rows in whole for one in _values(rows[name])] for name in table.columns}
        _print_rows(columns, len(next(iter(columns.values()))), table.title)
    else:
        write("-", blocks, safe_csv=safe_csv)
    show_notes(tuple(notes), names)


def _blocks(table: AnswerTable, notes: list[Text]) -> Iterator[Mapping[str, Any]]:
    """Yield the columns of a table and of those that follow, and add the notes on those to `notes`."""
    yield table.columns
    for more in table.following or ():
        notes += more.notes
        yield more.columns


def _told(blocks: Iterator[Mapping[str, Any]], display: Display) -> Iterator[Mapping[str, Any]]:
    """Yield blocks, and show how many rows they have."""
    n_rows = 0
    for columns in blocks:
        yield columns
        n_rows += len(next(iter(columns.values())))
        display.show(detail=plural(n_rows, "row", form=","))


def _values(column: Any) -> list[Any]:
    return column.tolist() if hasattr(column, "tolist") else list(column)


def _print_rows(columns: Mapping[str, Any], n_rows: int, title: str) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=escape(title), title_justify="left", title_style="bold")
    shown = {name: _values(column)[:_ROWS_ON_SCREEN] for name, column in columns.items()}
    for name, values in shown.items():
        numeric = all(isinstance(value, int | float) for value in values)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in zip(*shown.values(), strict=True):
        table.add_row(*(escape(_short(value)) for value in row))
    console = human_console()
    console.print(table)
    if n_rows > _ROWS_ON_SCREEN:
        console.print(f"[dim]... and {n_rows - _ROWS_ON_SCREEN:,} more rows: --out FILE writes them all[/dim]")


# ---------------------------------------------------------------- results of an evaluation


def show_measured(measured: EvaluationResult) -> None:
    """Print a row for each model: mean ± deviation over splits, the best model in bold, a dash for what it has not.

    Columns for which there is no room stand in a table of their own. Below stand the parameters that were chosen.

    Parameters
    ----------
    measured : EvaluationResult
        Of a task.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    console = human_console()
    columns = [one for one in measured.columns if one.room == "any" or (one.room == "wide" and console.width >= _WIDE)]
    # A deviation stands beside its mean if there is room for that in all columns, otherwise below it.
    joint = " " if console.width >= _NAMES + sum(2 * one.digits + 9 for one in columns) else "\n"
    best, title = measured.leader(), escape(measured.title)
    for part in [columns] if joint == " " else _parts(columns, console.width - _NAMES):
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", padding=(0, 1, 0, 0))
        table.add_column("model", no_wrap=True)
        for column in part:
            table.add_column(column.heading, justify="right", no_wrap=True)
        for name in measured.results:
            cells = [_mean_and_deviation(measured, name, column, joint) for column in part]
            shown = name if joint == " " else name.replace(" + ", "\n+ ")
            table.add_row(escape(shown), *cells, style="bold" if name == best else None)
        console.print(table)
        title = ""
    for name, parameters in measured.chosen().items():
        values = ", ".join(f"{key} {in_splits(found)}" for key, found in parameters.items())
        console.print(f"[dim]chosen by {escape(name)}:[/dim] {escape(values)}")


def show_ranked(ranked: RankedResult, notes: Sequence[Text] = (), *, as_json: bool) -> None:
    """Print measures of recommendations: a row for each, a column for each model; or all of them as JSON.

    Parameters
    ----------
    ranked : RankedResult
        Of a task.
    notes : sequence of str or parts of it
        For JSON.
    as_json : bool
        Print JSON.
    """
    if as_json:
        print_result({**ranked.facts, "summary": ranked.summary}, notes)
        return
    console = human_console()
    console.print(ranked.title, style="bold", markup=False)
    console.print(ranked.text(console.width), markup=False)


def in_splits(values: Sequence[Any]) -> str:
    """Write what was chosen in some splits, the most frequent first, with how often.

    Examples
    --------
    >>> in_splits([10.0, 10.0]), in_splits([10.0, 12.589, 12.589]), in_splits([[8.0, 9.5]])
    ('10', '12.59 ×2, 10 ×1', '(8, 9.5)')
    """
    counts = Counter(map(_short, values)).most_common()
    return counts[0][0] if len(counts) == 1 else ", ".join(f"{text} ×{count}" for text, count in counts)


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_short, value))})"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _parts(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """Divide columns among tables below each other; deviations stand below the means."""
    parts: list[list[Column]] = []
    left = 0
    for column in columns:
        width = max(len(column.heading), column.digits + 4) + 2
        if not parts or width > left:
            parts.append([])
            left = room
        parts[-1].append(column)
        left -= width
    return parts


def _mean_and_deviation(measured: EvaluationResult, name: str, column: Column, joint: str) -> str:
    from cofactor.service.results import mean_std

    values = measured.values(name, column.key)
    if values is None:
        return "–"
    mean, std = mean_std(values)
    deviation = f"{joint}[dim]± {std:.{column.digits}f}[/dim]" if len(values) > 1 else ""
    return f"{mean:.{column.digits}f}{deviation}"


# ---------------------------------------------------------------- progress


@contextmanager
def fit_progress(title: str, *, quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """Show a fit while the block runs; yields the callback to give to the model."""
    with Display(title, quiet=quiet) as display:

        def show(progress: Progress) -> None:
            display.show(*describe(progress))

        yield show


class Download:
    """Progress of a download, in the form which `cofactor.datasets.fetch` takes."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self.total = self._done = 0
        self._display = Display(f"downloading {name}", quiet=quiet)

    def update(self, n: int, /) -> None:
        """Report n more bytes."""
        self._done += n
        megabytes = self._done / 1e6
        self._display.show(detail=f"{megabytes:.1f} MB", done=megabytes, total=self.total / 1e6 or None)

    def reset(self) -> None:
        """Start again."""
        self._done = 0

    def close(self) -> None:
        """Finish."""
        self._display.stop()


@contextmanager
def limited_threads(n: int | None) -> Iterator[None]:
    """Let kernels and BLAS use at most n threads within the block."""
    from cofactor.kernels.threads import library_limit, thread_limit

    if n is None:
        yield
        return
    with thread_limit(n), library_limit(n):
        yield


_LABELS_SHOWN = 20  #: labels on a terminal
_WIDE_FOR_LABELS = 120  #: characters of a terminal that has room for all columns
#: Columns which a narrow terminal does not show, headings there, and the widths of those that are not 6.
_LEFT_OUT = ("predicted", "log_loss", "confused")
_SHORT = {"precision": "prec."}
_NARROW = {"support": 7, "precision": 5, "f1": 4, "average_precision": 4, "calibration_error": 4}


def write_by_label(measured: EvaluationResult, out: str | None, *, shown: bool, safe_csv: bool = False) -> None:
    """Show the labels that cost most, and write all labels to a file.

    Parameters
    ----------
    measured : EvaluationResult
        What an evaluation found.
    out : str or None
        File, whose suffix says the format: that of a page, or of a table; ``-`` for CSV on standard output.
    shown : bool
        Whether to show the first labels of each model on standard output.
    safe_csv : bool, default=False
        Write CSV for spreadsheets.
    """
    if shown and out != "-":
        for name, table in measured.by_label.items():
            _show_labels(f"{name}, by label", table, complete=out is not None)
    if out is None:
        return
    if Path(out).suffix.lower() in (".html", ".htm"):
        from cofactor.reports.labels import write_label_report

        write_label_report(out, measured.by_label, title=measured.facts["data"], lead=f"{measured.title}.")
        note(f"wrote a page on {plural(len(next(iter(measured.by_label.values()))), 'label', form=',')} to {out}")
    else:
        from cofactor.service.results import AnswerTable

        write_table(AnswerTable("Labels", _joined(measured.by_label)), out, as_json=False, safe_csv=safe_csv)


def _show_labels(title: str, table: LabelTable, *, complete: bool) -> None:
    """Print the first labels, in columns for which the terminal has room."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from cofactor.metrics.by_label import heading, written

    console = human_console()
    narrow = console.width < _WIDE_FOR_LABELS
    names = [name for name in table.columns if name not in (_LEFT_OUT if narrow else ())]
    numbers = sum(_NARROW.get(name, 6) + 1 for name in names if table.columns[name].dtype != object)
    room = max(8, min((console.width - numbers - 4) // 2, 40))
    grid = Table(
        box=box.SIMPLE_HEAD, title=escape(title), title_justify="left", title_style="bold", padding=(0, 1, 0, 0)
    )
    first = table.head(_LABELS_SHOWN)
    for name in names:
        words = first.columns[name].dtype == object
        grid.add_column(
            _SHORT.get(name, heading(name)) if narrow else heading(name), justify="left" if words else "right"
        )
    columns = [written(first.columns[name], room, digits=2 if narrow else 3) for name in names]
    for row in zip(*columns, strict=True):
        grid.add_row(*map(escape, row))
    console.print(grid)
    if len(table) > _LABELS_SHOWN:
        where = "" if complete else ": --out FILE writes them all"
        console.print(f"[dim]... and {plural(len(table) - _LABELS_SHOWN, 'more label', form=',')}{where}[/dim]")


def _joined(tables: Any) -> dict[str, Any]:
    """Return the columns of all models below each other; the first column names the model, if there are several."""
    import numpy as np

    names = list(dict.fromkeys(name for table in tables.values() for name in table.columns))
    columns: dict[str, Any] = {}
    if len(tables) > 1:
        columns["model"] = np.repeat(list(tables), [len(table) for table in tables.values()])
    for name in names:
        columns[name] = np.concatenate([_column_of(table, name) for table in tables.values()])
    return columns


def _column_of(table: LabelTable, name: str) -> Any:
    """Return a column of a table, texts for names; no values where it has no such column."""
    import numpy as np

    values = table.columns.get(name, np.full(len(table), np.nan))
    if values.dtype == object:
        return np.array(["" if value is None else str(value) for value in values], dtype=object)
    return values


def duration(seconds: float) -> str:
    """Write a time for people.

    Examples
    --------
    >>> duration(4.2), duration(119), duration(3500), duration(30000)
    ('4 s', '119 s', '58 min', '8.3 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
