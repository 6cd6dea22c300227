"""Measures by label, as commands show and write them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.output import human_console, note, write_table
from cofactor.text import counted

if TYPE_CHECKING:
    from cofactor.metrics import LabelTable
    from cofactor.tasks.plain import Measured

__all__ = ["write_by_label"]

_SHOWN = 20  #: labels on a terminal
_WIDE = 120  #: characters of a terminal that has room for all columns
#: Columns which a narrow terminal does not show, headings there, and the widths of those that are not 6.
_LEFT_OUT = ("predicted", "log_loss", "confused")
_SHORT = {"precision": "prec."}
_NARROW = {"support": 7, "precision": 5, "f1": 4, "average_precision": 4, "calibration_error": 4}


def write_by_label(measured: Measured, out: str | None, *, shown: bool, safe_csv: bool = False) -> None:
    """Show the labels that cost most, and write all labels to a file.

    Parameters
    ----------
    measured : Measured
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
            _show(f"{name}, by label", table, complete=out is not None)
    if out is None:
        return
    if Path(out).suffix.lower() in (".html", ".htm"):
        from cofactor.reports.labels import write_label_report

        write_label_report(out, measured.by_label, title=measured.facts["data"], lead=f"{measured.title}.")
        note(f"wrote a page on {counted(len(_first(measured)), 'label', form=',')} to {out}")
    else:
        from cofactor.tasks.plain import Table

        write_table(Table("Labels", _joined(measured.by_label)), out, as_json=False, safe_csv=safe_csv)


def _first(measured: Measured) -> LabelTable:
    return next(iter(measured.by_label.values()))


def _show(title: str, table: LabelTable, *, complete: bool) -> None:
    """Print the first labels, in columns for which the terminal has room."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from cofactor.metrics.by_label import heading, written

    console = human_console()
    narrow = console.width < _WIDE
    names = [name for name in table.columns if name not in (_LEFT_OUT if narrow else ())]
    numbers = sum(_NARROW.get(name, 6) + 1 for name in names if table.columns[name].dtype != object)
    room = max(8, min((console.width - numbers - 4) // 2, 40))
    grid = Table(
        box=box.SIMPLE_HEAD, title=escape(title), title_justify="left", title_style="bold", padding=(0, 1, 0, 0)
    )
    first = table.head(_SHOWN)
    for name in names:
        words = first.columns[name].dtype == object
        grid.add_column(
            _SHORT.get(name, heading(name)) if narrow else heading(name), justify="left" if words else "right"
        )
    columns = [written(first.columns[name], room, digits=2 if narrow else 3) for name in names]
    for row in zip(*columns, strict=True):
        grid.add_row(*map(escape, row))
    console.print(grid)
    if len(table) > _SHOWN:
        where = "" if complete else ": --out FILE writes them all"
        console.print(f"[dim]... and {counted(len(table) - _SHOWN, 'more label', form=',')}{where}[/dim]")


def _joined(tables: Any) -> dict[str, Any]:
    """Return the columns of all models below each other; the first column names the model, if there are several."""
    import numpy as np

    names = list(dict.fromkeys(name for table in tables.values() for name in table.columns))
    columns: dict[str, Any] = {}
    if len(tables) > 1:
        columns["model"] = np.repeat(list(tables), [len(table) for table in tables.values()])
    for name in names:
        columns[name] = np.concatenate([_column(table, name) for table in tables.values()])
    return columns


def _column(table: LabelTable, name: str) -> Any:
    """Return a column of a table, texts for names; no values where it has no such column."""
    import numpy as np

    values = table.columns.get(name, np.full(len(table), np.nan))
    if values.dtype == object:
        return np.array(["" if value is None else str(value) for value in values], dtype=object)
    return values
