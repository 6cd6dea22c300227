"""The thread that asks models."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias

from cofactor.kernels.threads import thread_limit

__all__ = ["Asking"]

_Waiting: TypeAlias = "tuple[asyncio.Future[bytes], Callable[[], bytes]]"
_Answered: TypeAlias = "tuple[asyncio.Future[bytes], bytes | BaseException]"

#: Seconds for which an answer is kept while others that wait are answered: the event loop and the thread hand the lock
#: of the interpreter to each other whenever the loop is woken up, which takes as long as the answer of a quick model.

_KEPT = 0.005


class Asking:
    """One thread that asks models, a request after the other, so that the event loop can hear others meanwhile.

    Parameters
    ----------
    n_threads : int, optional
        Threads of kernels; by default as elsewhere.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads
        self._next: list[_Waiting] = []
        self._waiting: SimpleQueue[list[_Waiting] | None] = SimpleQueue()

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Within the block, in which an event loop runs, requests are answered."""
        Thread(target=self._answer_all, args=(asyncio.get_running_loop(),), name="cofactor", daemon=True).start()
        try:
            yield
        finally:
            self._waiting.put(None)

    async def answer(self, reply: Callable[[], bytes], seconds: float) -> bytes:
        """Return what a function returns when its turn has come.

        A thread cannot be interrupted: it ends what it has begun. What nobody waits for any more is not begun.

        Parameters
        ----------
        reply : callable
            Asks a model.
        seconds : float
            The longest to wait.

        Raises
        ------
        TimeoutError
            If there is no answer in time.
        """
        loop = asyncio.get_running_loop()
        if not self._next:
            loop.call_soon(self._hand_over)
        answer: asyncio.Future[bytes] = loop.create_future()
        self._next.append((answer, reply))
        timer = loop.call_later(seconds, _tell, [(answer, TimeoutError())])
        try:
            return await answer
        finally:
            timer.cancel()

    def _hand_over(self) -> None:
        """Let the thread have all that came since the event loop last waited."""
        self._waiting.put(self._next)
        self._next = []

    def _answer_all(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer whatever is handed over, and tell the loop."""
        with thread_limit(self.n_threads), suppress(RuntimeError):  # which says that the loop has ended
            while (waiting := self._waiting.get()) is not None:
                answered: list[_Answered] = []
                began = time.monotonic()
                for answer, reply in waiting:
                    if not answer.done():
                        answered.append((answer, _outcome(reply)))
                    if time.monotonic() - began > _KEPT:
                        loop.call_soon_threadsafe(_tell, answered)
                        answered, began = [], time.monotonic()
                if answered:
                    loop.call_soon_threadsafe(_tell, answered)


def _outcome(reply: Callable[[], bytes]) -> bytes | BaseException:
    """Return what a function returns, or what it raises."""
    try:
        return reply()
    except BaseException as error:
        return error


def _tell(answered: list[_Answered]) -> None:
    """Give answers to those who wait for them still."""
    for answer, outcome in answered:
        if answer.done():
            continue
        if isinstance(outcome, BaseException):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)
