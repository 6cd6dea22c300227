"""Tables and JSON on the terminal and in files."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

__all__ = ["human_console", "note", "print_facts", "print_json", "shortest", "write_rows"]

_ROWS_ON_SCREEN = 40


def human_console(*, stderr: bool = False) -> Console:
    """Return a console for people, on standard output or standard error."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def print_json(value: Any) -> None:
    """Print a value as JSON, numbers of NumPy included."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain, allow_nan=False))


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def note(text: str) -> None:
    """Tell something on standard error, so that standard output stays data."""
    print(text, file=sys.stderr)


def print_facts(title: str, facts: Mapping[str, str], *, stderr: bool = False) -> None:
    """Print names and values below each other."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(name, escape(value))
    console = human_console(stderr=stderr)
    console.print(f"[bold]{escape(title)}[/bold]", soft_wrap=True)
    console.print(table)


def write_rows(columns: Mapping[str, Any], out: str | None, *, as_json: bool, title: str) -> None:
    """Write equally long columns where the user wants them.

    Parameters
    ----------
    columns : mapping from str to array-like
        The columns.
    out : str or None
        File by its suffix, ``-`` for CSV on standard output. None: a table for the eye on a terminal, else CSV.
    as_json : bool
        JSON on standard output: the rows, or, where they go to a file, how many.
    title : str
        Title of the table for the eye.
    """
    from cofactor.datasets import write_table
    from cofactor.text import counted

    names = list(columns)
    n_rows = len(columns[names[0]])
    if out not in (None, "-"):
        assert out is not None
        write_table(out, columns)
        if as_json:
            print_json({"out": out, "rows": n_rows})
        else:
            note(f"wrote {counted(n_rows, 'row', form=',')} to {out}")
    elif as_json:
        rows = zip(*(_values(column) for column in columns.values()), strict=True)
        print_json([dict(zip(names, row, strict=True)) for row in rows])
    elif out is None and sys.stdout.isatty():
        _print_rows(columns, n_rows, title)
    else:
        write_table("-", columns)


def shortest(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return float32 as the shortest float64 that is the same float32: .1, not .10000000149."""
    return values.astype("U").astype("float64")


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
        table.add_row(*(escape(_cell(value)) for value in row))
    console = human_console()
    console.print(table)
    if n_rows > _ROWS_ON_SCREEN:
        console.print(f"[dim]... and {n_rows - _ROWS_ON_SCREEN:,} more rows: --out FILE writes them all[/dim]")


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def join_numbers(values: Sequence[float], form: str = ".3g") -> str:
    """Write numbers with commas between them."""
    return ", ".join(format(value, form) for value in values)
