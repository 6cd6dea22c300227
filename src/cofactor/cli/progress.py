"""Live progress on standard error; silent where nobody watches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cofactor.solvers import Progress

__all__ = ["Download", "fit_progress", "limited_threads", "make_bar"]


def make_bar(*, quiet: bool = False, counted: bool = False) -> Any:
    """Return a progress display on standard error, which vanishes when it ends.

    Parameters
    ----------
    quiet : bool, default=False
        Never show it.
    counted : bool, default=False
        Show how many of how many steps are done.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bar
    from rich.table import Column

    columns: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.description}")]
    columns.append(BarColumn(bar_width=12, table_column=Column(min_width=12, no_wrap=True)))
    if counted:
        columns.append(MofNCompleteColumn())
    columns += [
        TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("[dim]{task.fields[detail]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    ]
    console = Console(stderr=True, highlight=False)
    return Bar(*columns, console=console, transient=True, disable=quiet or not console.is_terminal)


@contextmanager
def fit_progress(title: str, *, quiet: bool = False) -> Iterator[Callable[[Progress], None]]:
    """Show a fit while the block runs; yields the callback to give to the model."""
    bar = make_bar(quiet=quiet)
    rows: dict[str, Any] = {}
    lock = threading.Lock()

    def show(progress: Progress) -> None:
        # Stages and members report from several threads.
        with lock:
            name, detail = describe(progress)
            if name not in rows:
                rows[name] = bar.add_task(name, total=None, detail="")
                bar.update(rows[""], visible=False)  # its parts say more
            bar.update(rows[name], detail=detail)

    with bar:
        rows[""] = bar.add_task(title, total=None, detail="")
        yield show


def describe(progress: Progress) -> tuple[str, str]:
    """Return the part of a fit which reports (empty where it has no parts), and where it stands.

    Examples
    --------
    >>> from cofactor.solvers import Progress
    >>> describe(Progress(57, 500, 29133.2, 0.1, "stage 2, BinaryMMMF"))
    ('stage 2', 'iteration 57, objective 29,133')
    >>> describe(Progress(4, 4, 0.5561, 0.1, "validation, alpha 12.6"))
    ('', 'alpha 12.6: validation error 0.556 (4 tried)')
    >>> describe(Progress(57, 300, 88123.4, 0.1, "chain 2"))
    ('chain 2', 'sweep 57 of 300, log-likelihood -88,123')
    """
    parts = progress.stage.split(", ")
    name = parts[0] if parts[0].startswith(("stage ", "member ", "choice ", "chain ")) else ""
    if parts[-1].startswith("chain "):
        done = f"sweep {progress.iteration:,} of {progress.max_iter:,}"
        return name, f"{done}, log-likelihood {-progress.objective:,.0f}"
    if parts[-1].startswith("alpha "):
        alpha = parts[-1].removeprefix("alpha ")
        tried = f"({progress.iteration} tried)"
        return name, f"alpha {alpha}: validation error {progress.objective:.3f} {tried}"
    return name, f"iteration {progress.iteration}, objective {progress.objective:,.0f}"


class Download:
    """Progress of a download, in the form which `cofactor.datasets.fetch` takes."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self.total = 0
        self._bar = make_bar(quiet=quiet)
        self._task = self._bar.add_task(f"downloading {name}", total=None, detail="")
        self._began = False

    def update(self, n: int, /) -> None:
        """Report n more bytes."""
        if not self._began:
            self._bar.start()
            self._began = True
        self._bar.update(self._task, total=self.total or None, advance=n)
        done = self._bar.tasks[0].completed
        self._bar.update(self._task, detail=f"{done / 1e6:.1f} MB")

    def reset(self) -> None:
        """Start again."""
        self._bar.reset(self._task, total=self.total or None)

    def close(self) -> None:
        """Finish."""
        if self._began:
            self._bar.stop()


@contextmanager
def limited_threads(n: int | None) -> Iterator[None]:
    """Let kernels and BLAS use at most n threads within the block."""
    from cofactor.kernels.threads import library_limit, thread_limit

    if n is None:
        yield
        return
    with thread_limit(n), library_limit(n):
        yield
