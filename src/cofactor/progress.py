"""How far something is: a bar on a terminal, a plain bar in a notebook, and lines of a log anywhere else.

Models with ``verbose=1`` and every command show their progress by `Display`, on standard error. Lines of a log go to
the logger "cofactor", as INFO; where a program has not set up logging, they are printed. The first one comes after a
while, each other one after twice the time of the one before, but at least once in ten minutes. The end of a fit is
told everywhere by one more line.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

#: What is shown while kernels are compiled.
COMPILING = "compiling kernels"

_LOG = logging.getLogger("cofactor")
_LONGEST = 600.0  # seconds between two lines of a log
_LONG = 1.0  # seconds of a pass after which shards are counted
_REDRAWN = 0.1  # seconds between two states of a plain bar
_WIDTH = 12  # characters of a plain bar
_LINE = 100  # characters of the line it stands in


@dataclass(frozen=True)
class Pass:
    """How far a pass over data in shards is.

    Attributes
    ----------
    done, total : int
        Shards.
    seconds : float
        Since it began.
    n_ratings : int
        In all shards; 0 if that is not known.
    """

    done: int
    total: int
    seconds: float
    n_ratings: int = 0

    def rate(self) -> str:
        """Return how many ratings are worked through in a second, in words.

        Examples
        --------
        >>> Pass(3, 4, 2.0, 8_000_000).rate(), Pass(3, 4, 2.0).rate()
        ('3.0 million ratings/s', '')
        """
        if not self.n_ratings:
            return ""
        return f"{self.n_ratings * self.done / self.total / self.seconds / 1e6:,.1f} million ratings/s"


class Display:
    """Shows how far something is, from one thread or several.

    Parameters
    ----------
    title : str, default=""
        What is done. It is shown until parts of it, which have names of their own, say more.
    quiet : bool, default=False
        Show nothing.
    counted : bool, default=False
        Show on a terminal how many of how many steps are done.
    after : float, default=0
        Seconds after which bars begin.
    log_after : float, default=10
        Seconds after which lines of a log begin.
    """

    def __init__(
        self,
        title: str = "",
        *,
        quiet: bool = False,
        counted: bool = False,
        after: float = 0.0,
        log_after: float = 10.0,
    ) -> None:
        self.title, self.counted, self.after = title, counted, after
        self._began = time.perf_counter()
        self._lock = threading.Lock()
        self._kind = None if quiet else _kind()
        self._shown: _Shown | None = None
        self._log = LogLines(log_after) if self._kind is LogLines else None
        #: What each thread has shown last: name, detail and text.
        self._last: dict[int, tuple[str, str, str]] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        if self._kind is not None:
            self._open.enter_context(on_pass(self._passing))
        if self.title and self.after == 0:
            self.show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        self.stop()

    def show(
        self,
        name: str = "",
        detail: str = "",
        *,
        text: str = "",
        done: float = 0,
        total: float | None = None,
        unit: str = "",
    ) -> None:
        """Show the state of a part.

        Parameters
        ----------
        name : str, default=""
            Which part: each has a line of its own on a terminal. Empty for the whole.
        detail : str, default=""
            How far it is, in words.
        text : str, default=""
            What the part is called; by default its name, or the title.
        done, total : float, optional
            How far it is, as a part of a whole.
        unit : str, default=""
            What these count.
        """
        if not unit:
            self._last[threading.get_ident()] = name, detail, text
        if self._kind is None or time.perf_counter() - self._began < self.after:
            return
        with self._lock:
            if self._shown is None:
                self._shown = self._log or (_Terminal(self.counted) if self._kind is _Terminal else _Plain())
            self._shown.update(name, text or name or self.title, detail, done, total, unit)

    def _passing(self, state: Pass) -> None:
        """Show how far a pass is, beside what its thread has shown last."""
        name, detail, text = self._last.get(threading.get_ident(), ("", "", ""))
        beside = ", ".join(filter(None, (detail, state.rate())))
        self.show(name, beside, text=text, done=state.done, total=state.total, unit="shards")

    def stop(self) -> None:
        """End, and remove what is shown from a terminal or a notebook."""
        with self._lock:
            if self._shown is not None:
                self._shown.stop()
                self._shown = None


class _Shown(Protocol):
    """One way to show progress."""

    def update(self, name: str, text: str, detail: str, done: float, total: float | None, unit: str = "") -> None:
        """Show the state of a part."""

    def stop(self) -> None:
        """End."""


class LogLines:
    """Writes lines to the log, the fewer the longer it takes.

    Parameters
    ----------
    after : float
        Seconds until the first line.
    """

    def __init__(self, after: float) -> None:
        self._began = time.perf_counter()
        self._next = after
        self._told = False
        self._end: str | None = None  #: that all is done, where an earlier state has been told and this one has not

    def update(self, name: str, text: str, detail: str, done: float, total: float | None, unit: str = "") -> None:
        """Write the state of a part, if it is time for a line."""
        elapsed = time.perf_counter() - self._began
        if elapsed < self._next:
            if self._told and total and done >= total and not unit:
                self._end = f"{text}: {_steps(done, total, unit)} ({elapsed:,.0f} s)"
            return
        self._told, self._end = True, None
        self._next = elapsed + min(elapsed, _LONGEST)
        steps = _steps(done, total, unit) if total else ""
        line = ": ".join(part for part in (text, ", ".join(filter(None, (steps, detail)))) if part)
        log_line(f"{line} ({elapsed:,.0f} s)")

    def stop(self) -> None:
        """End; lines remain. The last count is told if an earlier one was."""
        if self._end is not None:
            log_line(self._end)
            self._end = None


def _steps(done: float, total: float, unit: str) -> str:
    return f"{done:,.0f} of {total:,.0f} {unit}".rstrip()


_listeners: list[Callable[[], object]] = []
_watchers: list[Callable[[Pass], object]] = []


@contextmanager
def on_compile(listener: Callable[[], object]) -> Iterator[None]:
    """Within the block, call a function before each kernel that is compiled, instead of a line of the log.

    Parameters
    ----------
    listener : callable
        Called without arguments, in the thread which compiles.

    Examples
    --------
    >>> compilation = Compilation()
    >>> with on_compile(lambda: print("please wait")):
    ...     compilation.begin()
    please wait
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class Compilation:
    """Tells of the kernels that a process compiles: those who listen, else the log once it has taken a second.

    While one kernel is compiled those that it calls are compiled too.

    Parameters
    ----------
    is_kept : callable, optional
        Returns whether what is compiled is kept on disk; by default it is not.
    """

    def __init__(self, is_kept: Callable[[], bool] = lambda: False) -> None:
        self._is_kept = is_kept
        self._depth = self._done = 0
        self._began = self._seconds = 0.0
        self._next = _LONG

    def begin(self) -> None:
        """Take the beginning of a kernel."""
        for listener in tuple(_listeners):
            listener()
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def end(self) -> None:
        """Take its end."""
        self._done += 1
        self._depth -= 1
        seconds = self._seconds + time.perf_counter() - self._began
        if self._depth == 0:
            self._seconds = seconds
        if seconds > self._next and not _listeners:
            if self._next > _LONG:
                log_line(f"compiled {self._done} kernels so far ({seconds:,.0f} s)")
            elif self._is_kept():
                log_line(f"{COMPILING}, once on this machine (cofactor doctor --compile compiles all ahead)")
            else:
                log_line(COMPILING)
            self._next = 2 * seconds


@contextmanager
def on_pass(listener: Callable[[Pass], object]) -> Iterator[None]:
    """Within the block, call a function as shards are done, in passes over them that last longer than a second.

    Parameters
    ----------
    listener : callable
        Called with a `Pass`, in the thread that works.

    Examples
    --------
    >>> with on_pass(lambda state: print(state.done, "of", state.total)):
    ...     report_pass(Pass(3, 4, seconds=2.0))
    3 of 4
    """
    _watchers.append(listener)
    try:
        yield
    finally:
        _watchers.remove(listener)


def report_pass(state: Pass) -> None:
    """Tell those who listen how far a pass is, if it has lasted longer than a second."""
    if state.seconds > _LONG:
        for listener in tuple(_watchers):
            listener(state)


def log_line(line: str) -> None:
    """Write a line to the log, or print it where logging is not set up."""
    if _LOG.hasHandlers():
        _LOG.info(line)
    else:
        print(f"cofactor: {line}", file=sys.stderr)


class _Plain:
    """One line of text, which is written again and again: what every notebook can show."""

    def __init__(self) -> None:
        self._next = 0.0

    def update(self, name: str, text: str, detail: str, done: float, total: float | None, unit: str = "") -> None:
        """Write the line anew."""
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + _REDRAWN
        bar = ""
        if total:
            full = min(_WIDTH, round(_WIDTH * done / total))
            bar = f"[{'#' * full}{'.' * (_WIDTH - full)}] {_steps(done, total, unit)}"
        line = "  ".join(part for part in (text, bar, detail) if part)
        print(f"\r{line[:_LINE]:{_LINE}}", end="", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Leave an empty line."""
        print(f"\r{'':{_LINE}}\r", end="", file=sys.stderr, flush=True)


class _Terminal:
    """Lines of a terminal with a bar each, which disappear at the end."""

    def __init__(self, counted: bool) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.table import Column

        columns: list[ProgressColumn] = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
        columns.append(BarColumn(bar_width=_WIDTH, table_column=Column(min_width=_WIDTH, no_wrap=True)))
        if counted:
            columns.append(MofNCompleteColumn())
        columns += [
            TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
            TextColumn(
                "{task.fields[detail]}",
                style="dim",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis"),
            ),
        ]
        self._bar = Progress(*columns, console=Console(stderr=True, highlight=False), transient=True)
        self._rows: dict[str, Any] = {}
        self._bar.start()

    def update(self, name: str, text: str, detail: str, done: float, total: float | None, unit: str = "") -> None:
        """Draw the line of a part; that of the whole gives way to it."""
        if name not in self._rows:
            self._rows[name] = self._bar.add_task(text, total=total, detail=detail)
            if name and "" in self._rows:
                self._bar.update(self._rows[""], visible=False)
        if unit and total:
            detail = ", ".join(filter(None, (detail, _steps(done, total, unit))))
        self._bar.update(self._rows[name], description=text, detail=detail, completed=done, total=total)

    def stop(self) -> None:
        """Remove all lines."""
        self._bar.stop()


def _kind() -> type[_Terminal] | type[_Plain] | type[LogLines]:
    """Return the way that suits where this runs."""
    if in_notebook():
        return _Plain
    from rich.console import Console

    return _Terminal if Console(stderr=True).is_terminal else LogLines


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    return "IPKernelApp" in getattr(shell, "config", ())


def describe(progress: Any) -> tuple[str, str]:
    """Return the part of a fit which reports (empty if it has no parts), and how far it is.

    Parameters
    ----------
    progress : cofactor.solvers.Progress
        What the fit reports.

    Examples
    --------
    >>> from cofactor.solvers import Progress
    >>> describe(Progress(57, 500, 29133.2, 0.1, "stage 2, BinaryMMMF"))
    ('stage 2', 'iteration 57, objective 29,133')
    >>> describe(Progress(4, 15, 0.5561, 0.1, "validation, alpha 12.6"))
    ('', 'alpha 12.6: validation error 0.556 (4 tried)')
    >>> describe(Progress(57, 300, 88123.4, 0.1, "chain 2"))
    ('chain 2', 'sweep 57 of 300, log-likelihood -88,123')
    >>> describe(Progress(2, 25, -0.1234, 0.1, "EASE, trying alpha 800"))
    ('', 'EASE, trying alpha 800: held-out interactions gain 0.1234 (2 tried)')
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
    if parts[-1].startswith("trying "):
        return (
            name,
            f"{progress.stage}: held-out interactions gain {-progress.objective:.4f} ({progress.iteration} tried)",
        )
    return name, f"iteration {progress.iteration}, objective {progress.objective:,.0f}"
