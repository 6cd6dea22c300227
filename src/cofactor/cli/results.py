"""Tables of results: mean ± standard deviation over splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cofactor.cli.tables import human_console

__all__ = ["Results", "mean_std", "show_results", "summarize"]

Results = dict[str, list[dict[str, Any]]]  #: by model, the measures of each split

#: Key in the results, heading, digits.
Columns = Sequence[tuple[str, str, int]]

#: Characters beside the columns of measures: names of models, and edges.
_NAMES = 18


def mean_std(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and sample standard deviation; 0 for a single value.

    Examples
    --------
    >>> mean_std([1.0, 3.0])
    (2.0, 1.4142135623730951)
    """
    from statistics import fmean, stdev

    return fmean(values), stdev(values) if len(values) > 1 else 0.0


def _column(results: Sequence[Mapping[str, float]], key: str) -> list[float]:
    return [result["fit_seconds" if key == "seconds" else key] for result in results]


def summarize(results: Results, columns: Columns) -> dict[str, dict[str, dict[str, float]]]:
    """Return mean and deviation of each measure of each model, as far as it has them."""
    return {
        name: {
            key: dict(zip(("mean", "std"), mean_std(_column(runs, key)), strict=True))
            for key, _, _ in columns
            if _has(runs, key)
        }
        for name, runs in results.items()
    }


def _has(runs: Sequence[Mapping[str, float]], key: str) -> bool:
    """Whether all runs have a measure: not every model has probabilities."""
    return all(("fit_seconds" if key == "seconds" else key) in run for run in runs)


def show_results(results: Results, columns: Columns, title: str, *, best: str, highest: bool = False) -> None:
    """Print a row for each model, the best one in bold; a dash for a measure it does not have.

    Parameters
    ----------
    results : dict
    columns : sequence of (key, heading, digits)
    title : str
    best : str
        Key of the measure which decides.
    highest : bool, default=False
        Whether high values of it are good.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    console = human_console()
    # A deviation stands beside its mean where there is room for that in all columns, else below.
    joint = " " if console.width >= _NAMES + sum(2 * digits + 9 for _, _, digits in columns) else "\n"
    table = Table(
        box=box.SIMPLE_HEAD, title=escape(title), title_justify="left", title_style="bold", padding=(0, 1, 0, 0)
    )
    table.add_column("model", no_wrap=True)
    for _, heading, _ in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    sign = -1 if highest else 1
    first = min(results, key=lambda name: sign * mean_std(_column(results[name], best))[0])
    for name, runs in results.items():
        cells = []
        for key, _, digits in columns:
            if not _has(runs, key):
                cells.append("–")
                continue
            mean, std = mean_std(_column(runs, key))
            cells.append(f"{mean:.{digits}f}" + (f"{joint}[dim]± {std:.{digits}f}[/dim]" if len(runs) > 1 else ""))
        shown = name if joint == " " else name.replace(" + ", "\n+ ")
        table.add_row(escape(shown), *cells, style="bold" if name == first else None)
    console.print(table)
