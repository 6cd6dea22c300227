"""Progress of a fit: calls the user's callback, and shows for what takes over a second how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Self

from cofactor.progress import COMPILING, Display, describe, log_line, on_compile
from cofactor.solvers.result import Callback, Progress, asks_to_stop
from cofactor.text import plural


class Monitor:
    """Receives `Progress` from solvers, also from several threads at once.

    Parameters
    ----------
    callback : callable or None
        The user's, called with every `Progress`.
    show : bool
        Whether to show progress (`cofactor.progress.Display`), once the fit has taken a second, and to tell of its end.
    name : str, default=""
        Whose fit it is.

    Attributes
    ----------
    stopped : bool
        Whether the callback has returned True. From then on every step of the fit is told to be the last one of its
        solver, or sampler: parts which are still to come do one each, so that the model is whole.
    """

    def __init__(self, callback: Callback | None, show: bool, name: str = "") -> None:
        self.callback, self.show, self.name = callback, show, name
        self.stopped = False
        self._steps = 0
        self._began = time.perf_counter()
        self._display = Display(after=1, log_after=1) if show else None
        self._open = ExitStack()

    def __reduce__(self) -> tuple[type[Monitor], tuple[None, bool]]:
        """A copy in another process is silent: nothing it does could reach the caller."""
        return type(self), (None, False)

    def __enter__(self) -> Self:
        if self._display is not None:
            self._open.enter_context(on_compile(self._compiling))
            self._open.enter_context(self._display)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is None:
            return
        self._open.close()
        if kind is None:
            elapsed = time.perf_counter() - self._began
            log_line(f"{self.name}: the fit ended after {plural(self._steps, 'step', form=',')} ({elapsed:,.1f} s)")

    def stage(self, name: str) -> Callable[[Progress], bool] | None:
        """Return a callback which marks progress as that of the stage `name`; None if nothing is shown or called."""
        if self.callback is None and not self.show:
            return None

        def note(progress: Progress) -> bool:
            prefix = f"{name}, {progress.stage}" if progress.stage else name
            return self._note(replace(progress, stage=prefix))

        return note

    def inside(self, name: str) -> Monitor:
        """Return a monitor for a fit within this one; its stages are reported as stages of `name`."""
        inner = Monitor(None, False)
        if self.callback is not None or self.show:
            inner.callback = self.stage(name)
        return inner

    def note(self, stage: str, iteration: int, most: int, objective: float) -> bool:
        """Report a step that is no solver's iteration, of at most so many; return whether it is to be the last one."""
        if self.callback is not None or self.show:
            elapsed = time.perf_counter() - self._began
            self._note(Progress(iteration, most, objective, elapsed, stage))
        return self.stopped

    def _compiling(self) -> None:
        if self._display is not None:
            self._display.show(detail=COMPILING, text=self.name)

    def _note(self, progress: Progress) -> bool:
        """Tell of a step; return whether it is to be the last one."""
        self._steps += 1
        if self.callback is not None and asks_to_stop(self.callback(progress)):
            self.stopped = True
        if self._display is not None:
            name, detail = describe(progress)
            self._display.show(name, detail, text=name or progress.stage.partition(",")[0])
        return self.stopped
