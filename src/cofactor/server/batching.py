"""The thread that asks models."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple, TypeAlias

import msgspec

from cofactor.kernels.threads import thread_limit
from cofactor.server.operations import Operation, Query

_Answered: TypeAlias = "tuple[asyncio.Future[bytes], bytes | BaseException]"

#: Seconds for which the event loop sleeps while models are asked, and hears nothing. If whatever comes woke it up, it
#: and the thread would hand the lock of the interpreter, and all that is cached, from one core to the other: 13 times
#: for each answer of MMMF, which took a third of the time.
_NAP = 0.001

_BATCH = 16  #: queries that are answered at once, at most: the first of them waits for the last


class _Waiting(NamedTuple):
    """A query, and who waits for its answer."""

    answer: asyncio.Future[bytes]
    operation: Operation
    query: Query


class BatchQueue:
    """One thread that asks models, so that the event loop can hear others meanwhile.

    What came while it was busy is its next round. Queries of a round that differ in nothing but their ids are
    answered together.

    Parameters
    ----------
    n_threads : int, optional
        Threads of kernels; by default as elsewhere.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads
        self._next: list[_Waiting] = []  # for the round after this one
        self._round: SimpleQueue[list[_Waiting] | None] = SimpleQueue()
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

    async def answer(self, operation: Operation, query: Query, seconds: float) -> bytes:
        """Return the answer to a query as JSON, when its turn has come.

        A thread cannot be interrupted: it ends what it has begun. What nobody waits for any more is not begun.

        Parameters
        ----------
        operation : Operation
            What is asked.
        query : Query
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
        self._next.append(_Waiting(answer, operation, query))
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
                for alike in _groups(asked):
                    waiting = [one for one in alike if not one.answer.done()]
                    self._answered.extend(zip([one.answer for one in waiting], _outcomes(waiting), strict=True))
                self._ended.put(None)


def _groups(asked: Sequence[_Waiting]) -> Iterator[Sequence[_Waiting]]:
    """Yield the queries that are answered together, a few at a time."""
    groups: dict[Hashable, list[_Waiting]] = {}
    for one in asked:
        groups.setdefault(one.operation.batch_key(one.query) or id(one), []).append(one)
    for group in groups.values():
        for first in range(0, len(group), _BATCH):
            yield group[first : first + _BATCH]


def _outcomes(asked: Sequence[_Waiting]) -> list[bytes | BaseException]:
    """Return the answers to queries that are alike, or what asking raises; one that raises spoils no other."""
    if not asked:
        return []
    try:
        answers = asked[0].operation.answer_all([one.query for one in asked])
        return [msgspec.json.encode(answer) for answer in answers]
    except BaseException as error:
        return [error] if len(asked) == 1 else [outcome for one in asked for outcome in _outcomes([one])]


def _tell(answer: asyncio.Future[bytes], outcome: bytes | BaseException) -> None:
    """Give an answer to who waits for it still."""
    if answer.done():
        return
    if isinstance(outcome, BaseException):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)
