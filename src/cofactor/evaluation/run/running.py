"""Run cells side by side, each once, and keep what comes out as it ends."""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

from joblib import delayed, effective_n_jobs, parallel_config

from cofactor.checks import check_jobs
from cofactor.errors import InvalidTypeError
from cofactor.evaluation.run.cells import Cell, Measures, Result
from cofactor.evaluation.run.store import ResultStore
from cofactor.files import PathLike
from cofactor.interrupts import ending_all
from cofactor.kernels.threads import library_limit, n_threads, thread_limit
from cofactor.model.parallel import in_workers
from cofactor.text import counted
from cofactor.version import __version__

__all__ = ["Interrupted", "RunProgress", "run_cells"]

_FRAMES = 3  #: last places of a traceback that are kept
_BATCH = 0.1  #: seconds of work that go to a process at once: handing a cell over takes a millisecond or two
_SETTLE = 0.05  #: seconds for joblib's threads to pass on what they hold; they fail if ended in the middle of it
_PAUSE = 0.2  #: seconds between two looks at what other processes have finished


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come.

    Examples
    --------
    >>> from cofactor.evaluation import cell, run_cells
    >>> def measure(**where):
    ...     return {"mae": 0.7}
    >>> _ = run_cells([cell(measure, method="HMF")], on_progress=lambda progress: print(progress.done, progress.total))
    1 1
    """

    done: int  #: cells with a result, also failed ones, and those found in the store
    total: int
    failed: int
    computed: int  #: in this run
    seconds: float  #: since it began
    seconds_left: float | None  #: expected; None until something was computed
    result: Result  #: the one that was just added


OnProgress = Callable[[RunProgress], object]


class Interrupted(KeyboardInterrupt):
    """A run that was interrupted.

    Attributes
    ----------
    results : list of Result
        What had been done by then.

    Examples
    --------
    >>> from cofactor.evaluation import Interrupted
    >>> Interrupted("1 of 3 cells done", []).results
    []
    """

    def __init__(self, message: str, results: Sequence[Result]) -> None:
        super().__init__(message)
        self.results = list(results)


def run_cells(
    cells: Iterable[Cell],
    store: ResultStore | PathLike | None = None,
    n_jobs: int | None = 1,
    on_progress: OnProgress | None = None,
    retry_failed: bool = False,
) -> list[Result]:
    """Compute cells that have no result yet, and return the results of all.

    A cell which fails has its error as its result and does not stop the others. So has one whose process is killed, for
    lack of memory for instance. Warnings are not shown but kept, as the measure ``warnings``.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of equal key are computed once.
    store : ResultStore, str or path-like, optional
        Where results are kept as they end, and looked for before. Several processes may run the same cells at once
        over one store: each cell is computed by one of them, and all return all results.
    n_jobs : int, optional
        Number of cells at a time, as joblib understands it (-1: one for each core). Any backend of joblib will do,
        chosen by ``joblib.parallel_config``; processes are the default.
    on_progress : callable, optional
        Called with a `RunProgress` for every result, also those found in the store.
    retry_failed : bool, default=False
        Whether to compute cells again which failed in an earlier run.

    Returns
    -------
    list of Result
        In the order of the cells.

    Raises
    ------
    ValueError
        If `n_jobs` is 0, or no whole number.
    Interrupted
        On Ctrl-C; what is done stays in the store.
    StoreError
        If the store cannot be written.

    Notes
    -----
    Kernels get an equal share of the threads, BLAS and OpenMP one thread each: then cells do not get into each other's
    way, and results do not depend on `n_jobs`.

    Examples
    --------
    >>> cells = [Cell(work=lambda k=k: {"inverse": 1 / k}, method="division", split=str(k)) for k in range(3)]
    >>> for result in run_cells(cells):
    ...     print(result.status, result.measures, result.error.partition(chr(10))[0])
    failed {} ZeroDivisionError: division by zero
    done {'inverse': 1.0}
    done {'inverse': 0.5}
    """
    check_jobs("n_jobs", n_jobs)
    if isinstance(store, ResultStore) or store is None:
        opened: AbstractContextManager[ResultStore | None] = nullcontext(store)
    else:
        opened = ResultStore(store)
    with opened as kept:
        run = _Run(list(cells), kept, n_jobs, on_progress)
        if retry_failed and kept is not None:
            found = [kept.get(key) for key in run.missing]
            kept.forget(result.key for result in found if result is not None and result.status == "failed")
        return run.all_results()


class _Attempt(NamedTuple):
    """What a worker returns for a cell."""

    key: str
    status: Literal["done", "failed"]
    measures: Measures
    error: str
    seconds: float


@dataclass
class _Run:
    """The cells of a run, and what has come of them."""

    cells: list[Cell]
    store: ResultStore | None
    n_jobs: int | None
    on_progress: OnProgress | None
    results: dict[str, Result] = field(default_factory=dict)
    missing: dict[str, Cell] = field(default_factory=dict)  #: cells without a result, by key
    failed: int = 0
    computed: int = 0

    def __post_init__(self) -> None:
        self.missing = {cell.key: cell for cell in self.cells}
        self.total, self.began = len(self.missing), time.perf_counter()
        self.pace = _Pace(self.missing.values())
        self.handed_out: set[str] = set()  # what this process computes just now
        self.error: BaseException | None = None

    def all_results(self) -> list[Result]:
        """Compute what is missing, wait for what others compute."""
        with _interrupted_once(), ending_all():
            try:
                self._look_up(self.missing)
                while self.missing:
                    self._compute()
                    if self.missing and not self._look_up(self.missing):
                        time.sleep(_PAUSE)
            except KeyboardInterrupt:
                self.on_progress = None
                self._look_up(self.handed_out - self.results.keys())  # some may have been stored, and not noted yet
                raise Interrupted(self._summary(), list(self.results.values())) from None
            finally:
                if self.store is not None:
                    self.store.release()
        return [self.results[cell.key] for cell in self.cells]

    def _look_up(self, keys: Iterable[str]) -> bool:
        """Take results of cells from the store; whether there were any."""
        found = [] if self.store is None else [self.store.get(key) for key in keys]
        for result in found:
            if result is not None:
                self._add(result)
        return any(found)

    def _claimed(self) -> Iterator[list[Cell]]:
        """Yield batches of missing cells that nobody else computes, claimed as they are handed out.

        A thread of joblib may ask for them, in which an error would be lost: it ends them, and is raised later.
        """
        together = effective_n_jobs(self.n_jobs) > 1
        for batch in self.pace.batches(list(self.missing.values()), _BATCH):
            try:
                if self.error is not None:
                    return
                ours = batch if self.store is None else self.store.claim_all(batch)
            except BaseException as error:
                self.error = error
                return
            self.handed_out.update(cell.key for cell in ours)
            yield from [ours] if together and ours else ([cell] for cell in ours)

    def _compute(self) -> None:
        """Compute missing cells side by side."""
        threads, sender = max(1, n_threads() // effective_n_jobs(self.n_jobs)), _here()
        with library_limit(1):
            tasks = (_task(batch, threads, sender) for batch in self._claimed())
            batches = _until_broken(in_workers(tasks, self.n_jobs, ordered=False, batch_size=1))
            try:
                for attempts in batches:
                    self._keep(attempts)
            except BaseException as error:
                self.error = self.error or error  # so that no more cells are claimed
                time.sleep(_SETTLE)
                batches.close()
                raise
        if self.error is not None:
            raise self.error
        self._compute_apart(threads, sender)

    def _compute_apart(self, threads: int, sender: tuple[int, int]) -> None:
        """Compute the cells that were under way when a worker died, one at a time, to find the one that killed it."""
        for key in sorted(self.handed_out):
            try:
                # With two jobs joblib takes another process also for a single task.
                (attempts,) = in_workers([_task([self.missing[key]], threads, sender)], 2, batch_size=1)
            except Exception as error:
                attempts = [_Attempt(key, "failed", {}, _error_text(error), 0.0)]
            self._keep(attempts)

    def _keep(self, attempts: Sequence[_Attempt]) -> None:
        """Store what workers return, then report it."""
        results = [self._result(attempt) for attempt in attempts]
        if self.store is not None:
            self.store.put(*results)
        for result in results:
            self.computed += 1
            self._add(result)

    def _result(self, attempt: _Attempt) -> Result:
        cell = self.missing[attempt.key]
        names = ("method", "data", "split", "seed", "parameters", "checksum", "measure", "code")
        facts = {name: getattr(cell, name) for name in names}
        return Result(**attempt._asdict(), **facts, version=__version__)

    def _add(self, result: Result) -> None:
        self.results[result.key] = result
        cell = self.missing.pop(result.key)
        self.handed_out.discard(result.key)
        self.failed += result.status == "failed"
        self.pace.note(cell, result.seconds)
        if self.on_progress is not None:
            left = self.pace.seconds_left / effective_n_jobs(self.n_jobs) if self.computed else None
            seconds = time.perf_counter() - self.began
            self.on_progress(
                RunProgress(len(self.results), self.total, self.failed, self.computed, seconds, left, result)
            )

    def _summary(self) -> str:
        where = "are lost, since there is no store" if self.store is None else f"are kept in {self.store.path}"
        total = counted(self.total, "cell", form=",")
        return f"interrupted: {len(self.results):,} of {total} are done and {where}"


class _Pace:
    """How long cells take: those of the same method and data take about the same time."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.left = Counter((cell.method, cell.data) for cell in cells)
        self.done: Counter[tuple[str, str]] = Counter()
        self.spent: defaultdict[tuple[str, str], float] = defaultdict(float)

    def note(self, cell: Cell, seconds: float) -> None:
        """Count a cell that is done."""
        group = cell.method, cell.data
        self.left[group] -= 1
        self.spent[group] += seconds
        self.done[group] += 1

    @property
    def seconds_left(self) -> float:
        """Seconds of computing that are left."""
        mean = sum(self.spent.values()) / sum(self.done.values())
        return sum(
            count * (self.spent[group] / self.done[group] if self.done[group] else mean)
            for group, count in self.left.items()
        )

    def batches(self, cells: Iterable[Cell], longest: float) -> Iterator[list[Cell]]:
        """Yield the cells in order, in batches that are expected to take less than this many seconds, or one by one."""
        batch: list[Cell] = []
        expected = 0.0
        for cell in cells:
            done = self.done[cell.method, cell.data]
            seconds = self.spent[cell.method, cell.data] / done if done else longest
            if batch and expected + seconds >= longest:
                yield batch
                batch, expected = [], 0.0
            batch.append(cell)
            expected += seconds
        if batch:
            yield batch


@contextmanager
def _interrupted_once() -> Iterator[None]:
    """Within the block, Ctrl-C interrupts once: pressed again, it would break off what ends the workers.

    joblib ends them by a program (``pgrep``) which inherits this, and would otherwise be interrupted itself.
    """
    ours = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not ours or not callable(before):
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _task(cells: Sequence[Cell], threads: int, sender: tuple[int, int]) -> Any:
    """Return what joblib sends to a worker."""
    return delayed(_attempts)([(cell.key, cell.work) for cell in cells], threads, sender)


def _here() -> tuple[int, int]:
    """Return this process and thread."""
    return os.getpid(), threading.get_ident()


def _until_broken(batches: Iterator[list[_Attempt]]) -> Generator[list[_Attempt]]:
    """Yield what workers return, until one of them dies or cannot be sent its cells."""
    try:
        yield from batches
    except Exception:
        return


def _attempts(
    works: Sequence[tuple[str, Callable[[], Measures]]], threads: int, sender: tuple[int, int]
) -> list[_Attempt]:
    """Do the work of cells in this process or thread."""
    with ExitStack() as stack:
        stack.enter_context(thread_limit(threads))
        keeps_warnings = threading.current_thread() is threading.main_thread()
        if os.getpid() != sender[0]:
            _settle_in()
            stack.enter_context(library_limit(1))
            # Dask would send what a fit does side by side to other workers, with the data.
            stack.enter_context(parallel_config(backend="threading", n_jobs=1))
            keeps_warnings = keeps_warnings or stack.enter_context(_alone())
        elif _here() != sender:
            # The limit of BLAS is one for the process: threads would lift each other's.
            stack.enter_context(library_limit(1, "openmp"))
        return [_attempt(key, work, keeps_warnings) for key, work in works]


@contextmanager
def _alone() -> Iterator[bool]:
    """Whether no other thread of this process works on cells; from the first time that one does, none is alone."""
    alone = _AT_WORK.acquire(blocking=False)
    if not alone:
        _SHARED.set()
    try:
        yield alone and not _SHARED.is_set()
    finally:
        if alone:
            _AT_WORK.release()


_AT_WORK = threading.Lock()  #: held by a thread of a worker process which works on cells
_SHARED = threading.Event()  #: whether several threads of this worker process work on cells


@cache
def _settle_in() -> None:
    """Spare the garbage collector what a worker process has imported, once.

    After a task joblib's workers let it look at everything, once a second at most: a tenth of their time.
    """
    gc.collect()
    gc.freeze()


def _attempt(key: str, work: Callable[[], Measures], keeps_warnings: bool) -> _Attempt:
    began = time.perf_counter()
    with ExitStack() as stack:
        caught: list[Any] = []
        if keeps_warnings:  # else another thread may work on a cell, and filters of warnings belong to all threads
            caught = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
        try:
            measures: Any = work()
            if _SHARED.is_set():  # another thread has begun since, whose warnings these may be
                caught = []
            messages = list(dict.fromkeys(str(warning.message) for warning in caught))
            named = {"warnings": messages} if messages else {}
            measures = json.loads(json.dumps({**measures, **named}, default=_plain))
        except Exception as error:
            return _Attempt(key, "failed", {}, _error_text(error), time.perf_counter() - began)
    return _Attempt(key, "done", measures, "", time.perf_counter() - began)


def _plain(value: Any) -> Any:
    """Return what JSON can hold."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise InvalidTypeError(
        f"a measure is a {type(value).__name__}: expected numbers, strings, lists or mappings of them"
    )


def _error_text(error: BaseException) -> str:
    """Return type and message in the first line, and the last places of the traceback below."""
    places = traceback.format_tb(error.__traceback__)[-_FRAMES:]
    notes = getattr(error, "__notes__", [])
    text = "\n".join([f"{type(error).__name__}: {error}", *notes, "".join(places).rstrip()]).rstrip()
    return text.encode("utf-8", "backslashreplace").decode()  # names of files may hold what no store can
