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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

#: What an interrupted command says, unless it has more to say of what it keeps.
INTERRUPTED = "cofactor: interrupted; no file was left half-written"

_SOON = 0.01  #: seconds
_owned = False  #: whether this process runs a command and nothing else
_pressed = False  #: whether Ctrl-C has been pressed
_told = False  #: whether that has been answered
_outside: dict[signal.Signals, Any] = {}  #: what handles signals outside `loading`


def own_the_process() -> None:
    """Say that this process runs a command and nothing else: Ctrl-C may end it, and pressed again ends it at once."""
    global _owned
    _owned = True
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def report_interrupt() -> int:
    """Tell that Ctrl-C has ended the command, and return its exit status."""
    global _told
    print(INTERRUPTED, file=sys.stderr)
    _told = True
    return 128 + signal.SIGINT


@contextmanager
def loading() -> Iterator[None]:
    """Within the block, Ctrl-C and SIGTERM end a process of our own at once: for imports, which leave no traces."""
    if not _owned or threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    _outside.update({number: one for number, one in handlers.items() if one not in (None, signal.SIG_IGN)})
    with _handled(dict.fromkeys(_outside, _end)):
        yield


@contextmanager
def working() -> Iterator[None]:
    """Within the block, signals are handled as outside of `loading`: for work that may leave traces."""
    with _handled(_outside):
        yield


@contextmanager
def _handled(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def deliver_interrupts() -> Iterator[None]:
    """Within the block, a KeyboardInterrupt that was raised where exceptions are ignored is raised again."""
    before = sys.unraisablehook

    def again(ignored: sys.UnraisableHookArgs) -> None:
        global _pressed
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            _pressed = False
            threading.Timer(_SOON, _interrupt_main).start()  # at once it would be ignored again
        else:
            before(ignored)

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt_main() -> None:
    identity = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and identity is not None:
        signal.pthread_kill(identity, signal.SIGINT)  # ends a sleep or a read too
    else:
        _thread.interrupt_main()


def _interrupt(number: int, frame: object) -> NoReturn:
    global _pressed
    if _pressed:
        _end(number, frame)
    _pressed = True
    raise KeyboardInterrupt


def _end(number: int, frame: object) -> NoReturn:
    if number == signal.SIGINT and not _told:
        os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(128 + number)
