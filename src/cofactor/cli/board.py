"""The live table of a comparison: how far each data set is, which method leads, what failed."""

from __future__ import annotations

import time
from collections import defaultdict
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cofactor.cli.output import human_console
from cofactor.progress import Display

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cofactor.evaluation.running import RunProgress
    from cofactor.evaluation.store import Result
    from cofactor.experiments.declared import Declared

__all__ = ["Board", "duration"]


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


def _failure(result: Result) -> str:
    where = ", ".join(part for part in (result.method, result.data, result.split, f"seed {result.seed}") if part)
    return f"failed: {where}: {result.error.partition(chr(10))[0]}"


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
