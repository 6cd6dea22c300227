"""A process that reads models, forks others which answer, and watches over both.

It asks no model anything while it watches, and its threads only look at files. So it may fork at any time, and its
workers share what it has read, all that was made of it, the compiled kernels and all modules: the pages of this memory
are one copy as long as nobody writes to them.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, Self

from cofactor.kernels.threads import library_limit, thread_limit
from cofactor.server.measures import Measures
from cofactor.server.observing import log
from cofactor.server.watching import Watch
from cofactor.server.working import DRAIN, GRACE, READY, Listening, Worker
from cofactor.tasks.served import Content, Served, Source

__all__ = ["Supervisor", "rehearse"]

_LOOK = 0.5  #: seconds between two looks at the files
_YOUNG = 5.0  #: seconds; a worker that lived less long is replaced with a delay
_DELAYS = (0.1, 10.0)  #: seconds, the first and the longest
_PATIENCE = 8  #: workers that may end at once before one was ever ready
_LATE = 5.0  #: seconds beyond the grace after which a worker is killed


def rehearse(served: Served) -> None:
    """Let a model answer a question of each kind, so that all it needs is compiled; start no thread meanwhile.

    Parameters
    ----------
    served : Served

    Notes
    -----
    Threads of OpenBLAS, which there may be, end before a process forks. Those of OpenMP do not.
    """
    with thread_limit(1), library_limit(1, "openmp"):
        served.answers.rehearse()


@dataclass(eq=False)
class _Child:
    """A worker as its supervisor sees it."""

    pid: int
    channel: socket.socket
    row: int
    generation: int
    born: float
    takes_requests: bool = False
    killed_at: float | None = None  #: of one that was told to end


class Supervisor:
    """Keeps a number of workers, which answer for models as they are in their files now.

    Parameters
    ----------
    models : mapping from str to Served
        By name.
    listening : Listening
        From which workers take connections.
    worker : callable
        Returns the worker for models, with its row of the measures, and its channel to the supervisor.
    measures : Measures
        With twice as many rows as there are workers: old and new ones meet when a model changes.
    n_workers : int
    begun : callable
        Called once, when all workers take requests.
    """

    def __init__(
        self,
        models: Mapping[str, Served],
        listening: Listening,
        worker: Callable[[Mapping[str, Served], int, socket.socket], Worker],
        measures: Measures,
        n_workers: int,
        begun: Callable[[], object],
    ) -> None:
        self.models, self.listening, self.worker = dict(models), listening, worker
        self.measures, self.n_workers, self.begun = measures, n_workers, begun
        self.children: list[_Child] = []
        self.watch = Watch(models)
        self.generation, self.ready_generation = 0, -1
        self.n_young, self.may_fork_at = 0, 0.0
        self.looked_at, self.is_asked, self.is_ending = 0.0, False, False

    def serve(self) -> None:
        """Serve until SIGTERM or SIGINT; SIGHUP asks that all files be read again."""
        with _Signals() as signals:
            for served in self.models.values():
                rehearse(served)
            gc.freeze()  # see _settle; imports and models leave little to free, and a search takes a fifth of a second
            self.listening.open()
            address = self.listening.getsockname()
            log("listening", host=address[0], port=address[1], models=list(self.models), pid=os.getpid())
            pause = 0.0
            while True:
                for number in signals.wait(pause, (child.channel for child in self.children if _is_new(child))):
                    self._obey(number)
                self._hear()
                self._bury()
                if self.is_ending and not self.children:
                    return
                pause = self._step(time.monotonic())

    def _step(self, now: float) -> float:
        """Do what is to be done now; return after how many seconds to look again."""
        for child in self.children:
            if child.killed_at is not None and now > child.killed_at:
                log("killed", logging.WARNING, pid=child.pid, why="did not end in time")
                _send(child, signal.SIGKILL)
        if self.is_ending:
            return _LOOK
        self._look(now)
        while self._n_missing() and now >= self.may_fork_at:
            self._fork(now)
        self._hand_over(now)
        return min(_LOOK, max(0.01, self.may_fork_at - now)) if self._n_missing() else _LOOK

    # ---------------------------------------------------------------- signals and messages

    def _obey(self, number: int) -> None:
        """Do what a signal asks for."""
        if number == signal.SIGHUP:
            self.is_asked = True
        elif number in (signal.SIGTERM, signal.SIGINT):
            if not self.is_ending:
                log("ending", signal=signal.Signals(number).name)
                self.listening.close()
            for child in self.children:
                _send(child, signal.SIGINT if self.is_ending else signal.SIGTERM)  # twice means at once
                child.killed_at = time.monotonic() + GRACE + _LATE
            self.is_ending = True

    def _hear(self) -> None:
        """Note which workers have begun to take requests."""
        for child in filter(_is_new, self.children):
            with suppress(BlockingIOError, ConnectionError):
                child.takes_requests = child.channel.recv(1) == READY
        self._count()

    def _bury(self) -> None:
        """Note which workers have ended."""
        for child in list(self.children):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if not pid:
                continue
            self.children.remove(child)
            child.channel.close()
            self.measures.row(child.row).set_now(0)
            code = os.waitstatus_to_exitcode(status)
            if child.killed_at is not None:
                log("worker ended", pid=pid, status=code)
                continue
            log("worker died", logging.WARNING, pid=pid, status=code)
            self.measures.count_death()
            self._delay(time.monotonic() - child.born)
        self._count()

    def _count(self) -> None:
        self.measures.set_workers(sum(child.takes_requests and child.killed_at is None for child in self.children))

    def _delay(self, lived: float) -> None:
        """Wait before the next worker begins, the longer the more have ended soon after they began."""
        self.n_young = self.n_young + 1 if lived < _YOUNG else 0
        if self.n_young >= _PATIENCE and self.ready_generation < 0:
            raise RuntimeError("workers end as soon as they begin; the log says why")
        shortest, longest = _DELAYS
        self.may_fork_at = time.monotonic() + (min(shortest * 2**self.n_young, longest) if self.n_young else 0.0)

    # ---------------------------------------------------------------- workers

    def _n_missing(self) -> int:
        return self.n_workers - sum(child.generation == self.generation for child in self.children)

    def _fork(self, now: float) -> None:
        """Start a worker."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        row = min(set(range(2 * self.n_workers)) - {child.row for child in self.children})
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _Signals.NUMBERS)  # our handlers are not those of a worker
        try:
            pid = os.fork()
            if not pid:
                self._work(ours, theirs, row, blocked)
        except OSError as error:
            log("error", logging.ERROR, error=f"no worker can be started: {error}")
            ours.close()
            self._delay(0.0)
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            theirs.close()
        self.children.append(_Child(pid, ours, row, self.generation, now))
        log("worker began", pid=pid)

    def _work(self, ours: socket.socket, channel: socket.socket, row: int, blocked: set[Any]) -> NoReturn:
        """Be a worker, to the end of this process."""
        status = 1
        try:
            for one in (ours, *(child.channel for child in self.children)):
                one.close()  # else it would stay open when the supervisor ends
            signal.set_wakeup_fd(-1)
            for number in _Signals.NUMBERS:
                signal.signal(number, signal.SIG_IGN if number == signal.SIGHUP else signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            self.worker(self.models, row, channel).run([self.listening])
            status = 0
        except BaseException as error:
            log("error", logging.ERROR, error=repr(error), traceback=traceback.format_exception(error))
        finally:
            os._exit(status)

    def _hand_over(self, now: float) -> None:
        """Let workers for old models end when all those for new ones take requests."""
        new = [child for child in self.children if child.generation == self.generation]
        if len(new) < self.n_workers or not all(child.takes_requests for child in new):
            return
        if self.ready_generation != self.generation:
            log("ready", models={name: served.sha256 for name, served in self.models.items()}, workers=len(new))
            if self.ready_generation < 0:
                self.begun()
            self.ready_generation = self.generation
        for child in self.children:
            if child.generation != self.generation and child.killed_at is None:
                child.killed_at = now + 2 * GRACE + _LATE  # to close connections, and to end requests
                with suppress(OSError):
                    child.channel.send(DRAIN)

    # ---------------------------------------------------------------- models

    def _look(self, now: float) -> None:
        """Read models whose files changed; workers that begin from now on answer for them."""
        if any(child.generation != self.generation for child in self.children):
            return  # one change at a time
        if now - self.looked_at < _LOOK and not self.is_asked:
            return
        found = self.watch.changed(all_of_them=self.is_asked)
        self.looked_at, self.is_asked = now, False
        read = [served for one in found if (served := self._read(*one)) is not None]
        if read:
            self.models |= {served.name: served for served in read}
            self.generation += 1
            _settle()

    def _read(self, source: Source, content: Content | Exception) -> Served | None:
        """Return the model in a file that changed; None if the one that is served must stay."""
        began = time.perf_counter()
        try:
            if isinstance(content, Exception):
                raise content
            served = source.served(content)
            self.models[source.name].check_successor(served)
            rehearse(served)
        except Exception as error:  # whatever it is, the one that is served is none the worse
            self.measures.count_reload(source.name, "refused")
            log("refused", logging.ERROR, model=source.name, file=source.file, error=str(error) or repr(error))
            return None
        self.measures.count_reload(source.name, "loaded")
        seconds = round(time.perf_counter() - began, 3)
        log("loaded", model=source.name, file=source.file, sha256=served.sha256, seconds=seconds)
        return served


class _Signals:
    """Within the block, signals do nothing but end `wait`, which returns their numbers."""

    NUMBERS = frozenset(
        getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGCHLD") if hasattr(signal, name)
    )

    def __enter__(self) -> Self:
        self._reading, self._writing = socket.socketpair()
        for end in (self._reading, self._writing):
            end.setblocking(False)
        self._wakeup = signal.set_wakeup_fd(self._writing.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, lambda *_: None) for number in self.NUMBERS}
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        for end in (self._reading, self._writing):
            end.close()

    def wait(self, seconds: float, channels: Iterable[socket.socket]) -> list[int]:
        """Return signals that came, after some seconds, or sooner if one comes, or if a channel can be read."""
        select.select([self._reading, *channels], [], [], seconds)
        with suppress(BlockingIOError):
            return list(self._reading.recv(4096))
        return []


def _is_new(child: _Child) -> bool:
    return not child.takes_requests


def _send(child: _Child, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(child.pid, number)


def _settle() -> None:
    """Free what is no more needed, and keep the rest where it is: a search for garbage would write to all of it."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
