"""Ctrl-C must not get lost.

Python raises a KeyboardInterrupt wherever the main thread happens to be. While modules are loaded that is often a place
where exceptions are ignored, such as the callback of a weak reference, or where an extension module makes an
ImportError of it.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

__all__ = ["INTERRUPTED", "loading", "not_lost", "own_the_process"]

#: What an interrupted command says, unless it keeps something.
INTERRUPTED = "cofactor: interrupted, nothing was written"

_SOON = 0.01  #: seconds
_owned = False  #: whether this process runs a command and nothing else


def own_the_process() -> None:
    """Say that this process runs a command and nothing else, so that an interruption may end it."""
    global _owned
    _owned = True


@contextmanager
def loading() -> Iterator[None]:
    """Within the block, which only imports, Ctrl-C and SIGTERM end a process of our own at once.

    Nothing may have been begun that must be cleaned up.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    if not _owned or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])


@contextmanager
def not_lost() -> Iterator[None]:
    """Within the block, a KeyboardInterrupt that was raised where exceptions are ignored is raised again."""
    before = sys.unraisablehook

    def again(ignored: sys.UnraisableHookArgs) -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            threading.Timer(_SOON, _thread.interrupt_main).start()  # at once it would be ignored again
        else:
            before(ignored)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _end(number: int, frame: object) -> NoReturn:
    if number == signal.SIGINT:
        os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(128 + number)
