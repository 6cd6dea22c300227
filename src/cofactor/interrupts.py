"""What Ctrl-C ends, and what ends worker processes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_WATCH = 1.0  #: seconds between two looks of a worker at whether the process it works for is still there
_ends_all: ContextVar[bool] = ContextVar("_ends_all", default=False)


@contextmanager
def propagate_interrupt() -> Iterator[None]:
    """Within the block Ctrl-C ends everything, also a fit that would otherwise end with what it has by then.

    For whatever fits models for a purpose, such as a comparison: a model that has seen less than it should would be
    measured, or written, as if it were the one that was asked for.
    """
    token = _ends_all.set(True)
    try:
        yield
    finally:
        _ends_all.reset(token)


def propagates_interrupt() -> bool:
    """Return whether Ctrl-C ends everything here.

    Examples
    --------
    >>> with propagate_interrupt():
    ...     propagates_interrupt()
    True
    >>> propagates_interrupt()
    False
    """
    return _ends_all.get()


@contextmanager
def block_interrupt() -> Iterator[None]:
    """Within the block Ctrl-C waits, and processes that are started there never see it.

    A terminal sends it to all processes. One which is still starting would show a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def begin_worker(parent: int) -> None:
    """Prepare a worker process of joblib, before its first task: it ends with its parent, and ignores Ctrl-C.

    The parent ends its workers on Ctrl-C, and would fail if they ended themselves meanwhile. If it is killed, they
    would wait for minutes, or work on.

    Parameters
    ----------
    parent : int
        The process which started this one.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "fork"):  # elsewhere a process keeps the number of its parent after its end
        _end_without(parent)
        threading.Thread(target=_watch, args=(parent,), name="cofactor parent", daemon=True).start()


def _watch(parent: int) -> None:
    while True:
        time.sleep(_WATCH)
        _end_without(parent)


def _end_without(parent: int) -> Any:
    """End this process at once if its parent has ended."""
    if os.getppid() != parent:
        os._exit(1)
