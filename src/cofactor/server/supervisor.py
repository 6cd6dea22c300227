"""Serving, from the first process to its end: one reads models, forks others that answer, and watches over both.

The first process asks no model anything while it watches, and its threads only look at files. So it may fork at any
time, and its workers share what it has read, all that was made of it, the compiled kernels and all modules: the pages
of this memory are one copy as long as nobody writes to them.
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, NoReturn, Self

from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import library_limit, n_threads, thread_limit
from cofactor.server.app import ROUTES, application
from cofactor.server.auth import Access, served_hosts
from cofactor.server.filters import FilterFolder
from cofactor.server.monitoring import ForwardedLog, Measures, StandardError, log
from cofactor.server.operations import Limits
from cofactor.server.worker import DRAIN, GRACE, READY, Listening, Worker
from cofactor.service.served import Content, FileVersion, ModelFile, Served

_MOMENT = 0.1  #: seconds in which a disk answers, as a rule


class Watch:
    """Looks for files of models that changed, and reads them.

    A file counts as changed when two looks, some time apart, find it the same, and not as it was, or find none. What
    was found once is not found again, so that a damaged file is refused once.

    Each look is a thread of its own, which a disk that does not answer holds up alone. It does nothing but ask the
    system and compute a checksum, so that this process may fork meanwhile.

    Parameters
    ----------
    models : mapping from str to Served
        Those that come from files are watched.
    patience : float, default=60.0
        Seconds in which a file must have been read. One that comes later is taken nevertheless.
    """

    def __init__(self, models: Mapping[str, Served], patience: float = 60.0) -> None:
        self._files = [
            _WatchedFile(one.source, one.stamp, patience) for one in models.values() if one.source is not None
        ]

    def changed(self, *, all_of_them: bool = False) -> list[tuple[ModelFile, Content | Exception]]:
        """Return the files that changed, with what is in them, or why that cannot be known.

        Parameters
        ----------
        all_of_them : bool, default=False
            Whether to read all files, because someone asked for that.
        """
        for one in self._files:
            one.must_read |= all_of_them
            if not one.thread.is_alive():
                one.look()
        if any(one.is_awaited() for one in self._files):
            return []  # those that change together are found together
        return [(one.source, found) for one in self._files if (found := one.taken()) is not None]


class _WatchedFile:
    """A file as it was seen last.

    Attributes
    ----------
    known, last : FileVersion or None
        When it was read, and at the last look.
    """

    def __init__(self, source: ModelFile, known: FileVersion | None, patience: float) -> None:
        self.source, self.known, self.last, self.patience = source, known, known, patience
        self.must_read = self.is_late = False
        self.found: Content | Exception | None = None
        self.thread = Thread()

    def look(self) -> None:
        """Begin to look."""
        must_read, self.must_read, self.is_late = self.must_read, False, False
        self.thread = Thread(target=self._look, args=(must_read,), name=self.source.file, daemon=True)
        self.began = time.monotonic()
        self.thread.start()
        self.thread.join(_MOMENT)

    def _look(self, must_read: bool) -> None:
        now, before = FileVersion.of(self.source.file), self.last
        self.last = now
        if must_read or now == before != self.known:
            self.known = now
            try:
                self.found = self.source.content()
                self.known = self.last = self.found.stamp  # another one may be there since `now`
            except Exception as error:
                self.found = error

    def is_awaited(self) -> bool:
        """Return whether the end of the look is waited for."""
        return self.thread.is_alive() and time.monotonic() - self.began < self.patience

    def taken(self) -> Content | Exception | None:
        """Return what was found since the last time."""
        if self.thread.is_alive():
            told, self.is_late = self.is_late, True
            problem = f"{self.source.file}: did not come within {self.patience:g} seconds, and is taken when it does"
            return None if told else TimeoutError(problem)
        found, self.found = self.found, None
        return found


_LOOK = 0.5  #: seconds between two looks at the files
_YOUNG = 5.0  #: seconds; a worker that lived less long is replaced with a delay
_DELAYS = (0.1, 10.0)  #: seconds, the first and the longest
_PATIENCE = 8  #: workers that may end at once before one was ever ready
_LATE = 5.0  #: seconds beyond the grace after which a worker is killed


def _warm_up(served: Served) -> None:
    """Let a model answer a question of each kind, so that all it needs is compiled; start no thread meanwhile.

    Parameters
    ----------
    served : Served

    Notes
    -----
    Threads of OpenBLAS, which there may be, end before a process forks. Those of OpenMP do not.
    """
    with thread_limit(1), library_limit(1, "openmp"):
        served.service.warm_up()


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
                _warm_up(served)
            gc.freeze()  # as in _look; imports and models leave little to free, and a search takes a fifth of a second
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
            # Free what old models held, and let no search for garbage write to the pages of the rest.
            gc.unfreeze()
            gc.collect()
            gc.freeze()

    def _read(self, source: ModelFile, content: Content | Exception) -> Served | None:
        """Return the model in a file that changed; None if the one that is served must stay."""
        began = time.perf_counter()
        try:
            if isinstance(content, Exception):
                raise content
            served = source.served(content)
            self.models[source.name].check_successor(served)
            _warm_up(served)
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


def run(
    models: Mapping[str, Served],
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    access: Access | None = None,
    n_workers: int = 1,
    *,
    filters: str | None = None,
    begun: Callable[[str], object] | None = None,
    log_level: int = logging.INFO,
) -> None:
    """Serve models until SIGTERM or Ctrl-C; requests that are being answered are answered then.

    This process forks those that answer, which share its memory, and watches the files of the models. Where processes
    cannot be forked, as on Windows, it answers itself, and watches nothing.

    Parameters
    ----------
    models : mapping from str to Served
        By name; the first one answers where a request names none.
    host : str, default="127.0.0.1"
        Address to bind to; by default only this machine can ask.
    port : int, default=8000
        With 0 a free one is taken.
    limits : Limits, optional
        The most that requests may ask for.
    access : Access, optional
        Who may ask; by default everybody who can, by a name of this machine where it is bound to the loopback.
    n_workers : int, default=1
        Processes that answer.
    filters : str, optional
        Folder of the filters that requests may name; by default there are none.
    begun : callable, optional
        Called once, with the address of the page, when all processes take requests.
    log_level : int, default=logging.INFO
        Least level of the lines of the log that are written. Requests have the default.

    Raises
    ------
    InvalidInputError
        If the address cannot be bound, or there can be no more than one process here.
    """
    access = access or Access(served_hosts(host))
    limits = limits or Limits()
    folder = None if filters is None else FilterFolder(filters, limits.filter)
    measures = Measures(ROUTES, tuple(models), 2 * n_workers)
    threads = None if n_workers == 1 else max(1, n_threads() // n_workers)

    def worker(models: Mapping[str, Served], row: int, channel: socket.socket | None = None) -> Worker:
        app = application(models, limits, access, measures, row, threads, folder)
        return Worker(app, channel, limits, measures.row(row).refuse)

    with Listening(host, port) as listening, _logging(log_level):

        def tell() -> None:
            if begun is not None:
                begun(listening.address)

        if hasattr(os, "fork"):
            Supervisor(models, listening, worker, measures, n_workers, tell).serve()
        elif n_workers > 1:
            raise InvalidInputError("this system cannot fork processes", argument="workers", found=n_workers)
        else:
            _alone(models, listening, worker(models, 0), tell)
        log("ended")


def _alone(models: Mapping[str, Served], listening: Listening, worker: Worker, begun: Callable[[], object]) -> None:
    """Answer in this process."""
    for served in models.values():
        _warm_up(served)
    listening.open()
    log("listening", host=listening.getsockname()[0], port=listening.getsockname()[1], models=list(models))
    log("ready", models={name: served.sha256 for name, served in models.items()}, workers=1)
    begun()
    worker.run([listening])


@contextmanager
def _logging(level: int) -> Iterator[None]:
    """Within the block, lines of the log go to standard error, as what models say and the library of HTTP warns of."""
    ours, models, theirs = map(logging.getLogger, ("cofactor.server", "cofactor", "uvicorn.error"))
    handler, others = StandardError(), ForwardedLog()
    before = [(logger, logger.level, logger.propagate) for logger in (ours, models, theirs)]
    for logger, one, least in ((ours, handler, level), (models, others, level), (theirs, others, logging.WARNING)):
        logger.addHandler(one)
        logger.setLevel(least)
        logger.propagate = False
    try:
        yield
    finally:
        ours.removeHandler(handler)
        handler.close()
        models.removeHandler(others)
        theirs.removeHandler(others)
        for logger, least, passed_on in before:
            logger.setLevel(least)
            logger.propagate = passed_on
