"""The thread that asks models."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeAlias

from cofactor.kernels.threads import thread_limit

__all__ = ["Asking"]

_Asked: TypeAlias = "tuple[asyncio.Future[bytes], Callable[[], bytes]]"
_Answered: TypeAlias = "tuple[asyncio.Future[bytes], bytes | BaseException]"

#: Seconds for which the event loop sleeps while models are asked, and hears nothing. If whatever comes woke it up, it
#: and the thread would hand the lock of the interpreter, and all that is cached, from one core to the other: 13 times
#: for each answer of MMMF, which took a third of the time.
_NAP = 0.001


class Asking:
    """One thread that asks models, a request after the other, so that the event loop can hear others meanwhile.

    Parameters
    ----------
    n_threads : int, optional
        Threads of kernels; by default as elsewhere.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads
        self._next: list[_Asked] = []  # for the round after this one
        self._round: SimpleQueue[list[_Asked] | None] = SimpleQueue()
        self._answered: deque[_Answered] = deque()
        self._ended: SimpleQueue[None] = SimpleQueue()
        self._is_asking = False

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Within the block requests are answered."""
        Thread(target=self._answer, name="cofactor", daemon=True).start()
        try:
            yield
        finally:
            self._round.put(None)

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
        if not (self._next or self._is_asking):
            loop.call_soon(self._go_on, loop)
        answer: asyncio.Future[bytes] = loop.create_future()
        self._next.append((answer, reply))
        timer = loop.call_later(seconds, _tell, answer, TimeoutError())
        try:
            return await answer
        finally:
            timer.cancel()

    def _go_on(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the thread have all that came during its last round, sleep until it has answered or a moment is over,
        and tell what it has answered.
        """
        if not self._is_asking:
            self._round.put(self._next)
            self._next, self._is_asking = [], True
        try:
            self._ended.get(timeout=_NAP)
            self._is_asking = False
        except Empty:
            pass
        while self._answered:
            _tell(*self._answered.popleft())
        if self._next or self._is_asking:
            loop.call_soon(self._go_on, loop)

    def _answer(self) -> None:
        """Answer one round after the other."""
        with thread_limit(self.n_threads):
            while (asked := self._round.get()) is not None:
                for answer, reply in asked:
                    if not answer.done():
                        self._answered.append((answer, _outcome(reply)))
                self._ended.put(None)


def _outcome(reply: Callable[[], bytes]) -> bytes | BaseException:
    """Return what a function returns, or what it raises."""
    try:
        return reply()
    except BaseException as error:
        return error


def _tell(answer: asyncio.Future[bytes], outcome: bytes | BaseException) -> None:
    """Give an answer to who waits for it still."""
    if answer.done():
        return
    if isinstance(outcome, BaseException):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)
