"""Cells, and runs of them side by side, whose results are kept as they end.

A cell is one method on one split of one data set with one seed. It says what it is in plain JSON, which makes its key;
its `work` is a function of no arguments, which measures.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import threading
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from statistics import fmean
from typing import Any, Literal, NamedTuple

from joblib import delayed, effective_n_jobs, parallel_config

from cofactor.checks import check_jobs
from cofactor.errors import InvalidTypeError
from cofactor.evaluation.keys import code_digest, function_name
from cofactor.evaluation.store import Measures, ResultStore, Run
from cofactor.files import PathLike
from cofactor.interrupts import propagate_interrupt
from cofactor.kernels.threads import library_limit, n_threads, thread_limit
from cofactor.model.parallel import in_workers
from cofactor.text import plural
from cofactor.version import __version__

_FRAMES = 3  #: last places of a traceback that are kept
_SETTLE = 0.05  #: seconds for joblib's threads to pass on what they hold; they fail if ended in the middle of it


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One thing to measure.

    Parameters
    ----------
    work : callable
        Takes nothing and returns the measures: numbers, strings or lists by name. It must be picklable where cells
        run in other processes.
    method, data, split : str
        Names of the method, the data set and the split: ``"HMF"``, ``"ml-100k"``, ``"kfold 3/10"``.
    seed : int, default=0
        Seed of split and method.
    parameters : mapping
        What else distinguishes this cell from others, as JSON can hold it.
    checksum : str
        Of the data.
    measure : str
        What is measured: the qualified name of a function.
    code : str
        Digest of the code which takes part; without it the version of this package stands there.

    Examples
    --------
    >>> from cofactor.evaluation import cell
    >>> def measure(**where):
    ...     return {"mae": 0.7}
    >>> cell(measure, method="HMF", data="toy", split="fold 1").name
    'HMF, toy, fold 1'
    """

    work: Callable[[], Measures] = field(compare=False, repr=False)
    method: str
    data: str = ""
    split: str = ""
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    checksum: str = ""
    measure: str = ""
    code: str = ""

    @cached_property
    def key(self) -> str:
        """SHA-256 of all that says what the cell is."""
        facts = [self.measure, self.method, self.data, self.checksum, self.split, self.seed, self.parameters]
        return hashlib.sha256(json.dumps([self.code or __version__, *facts], sort_keys=True).encode()).hexdigest()

    @property
    def name(self) -> str:
        """One line for people."""
        return ", ".join(part for part in (self.method, self.data, self.split) if part)


def cell(
    function: Callable[..., Measures],
    *,
    method: str,
    data: str = "",
    split: str = "",
    seed: int = 0,
    checksum: str = "",
    version: str = "",
    **parameters: Any,
) -> Cell:
    """Return the cell that calls a module's function with these arguments.

    Parameters
    ----------
    function : callable
        ``function(method=..., data=..., split=..., seed=..., **parameters)`` returns the measures. The source of its
        module, or of the package that this belongs to, is part of the key.
    method, data, split, seed, checksum
        As in `Cell`.
    version : str, default=""
        Stands for the source of a function of yours, where it has none, or changes of it are not to count.
    **parameters
        Further arguments of the function, as JSON can hold them.

    Raises
    ------
    IndescribableError
        If the function has no name by which it can be imported.
    UnsourcedError
        If it has no source file, and there is no version.

    Examples
    --------
    >>> def guess(method, data, split, seed, level):
    ...     return {"mae": abs(level - 3)}
    >>> one = cell(guess, method="constant", data="toy", split="holdout 0", level=5)
    >>> one.name, one.parameters, one.work()
    ('constant, toy, holdout 0', {'level': 5}, {'mae': 2})
    """
    return Cell(
        work=partial(function, method=method, data=data, split=split, seed=seed, **parameters),
        method=method,
        data=data,
        split=split,
        seed=seed,
        parameters=parameters,
        checksum=checksum,
        measure=function_name(function),
        code=code_digest([function.__module__], version),
    )


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
    result: Run  #: the one that was just added


OnProgress = Callable[[RunProgress], object]


class Interrupted(KeyboardInterrupt):
    """A run that was interrupted.

    Attributes
    ----------
    results : list of Run
        What had been done by then.

    Examples
    --------
    >>> from cofactor.evaluation import Interrupted
    >>> Interrupted("1 of 3 cells done", []).results
    []
    """

    def __init__(self, message: str, results: Sequence[Run]) -> None:
        super().__init__(message)
        self.results = list(results)


def run_cells(
    cells: Iterable[Cell],
    store: ResultStore | PathLike | None = None,
    n_jobs: int | None = 1,
    on_progress: OnProgress | None = None,
    retry_failed: bool = False,
) -> list[Run]:
    """Compute cells that have no result yet, and return the results of all.

    A cell which fails has its error as its result and does not stop the others. So has one whose process is killed, for
    lack of memory for instance. Warnings are not shown but kept, as the measure ``warnings``.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of equal key are computed once.
    store : ResultStore, str or path-like, optional
        Folder in which results are kept as they end, and looked for before.
    n_jobs : int, optional
        Number of cells at a time, as joblib understands it (-1: one for each core). Any backend of joblib will do,
        chosen by ``joblib.parallel_config``; processes are the default.
    on_progress : callable, optional
        Called with a `RunProgress` for every result, also those found in the store.
    retry_failed : bool, default=False
        Whether to compute cells again which failed in an earlier run.

    Returns
    -------
    list of Run
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
    kept = store if store is None or isinstance(store, ResultStore) else ResultStore(store)
    run = _Run(list(cells), kept, n_jobs, on_progress)
    if retry_failed and kept is not None:
        kept.forget(key for key, result in kept.find(run.missing).items() if result.status == "failed")
    return run.all_results()


class _Attempt(NamedTuple):
    """What a worker returns for a cell."""

    key: str
    status: Literal["done", "failed"]
    measures: Measures
    error: str
    seconds: float


class _Run:
    """The cells of a run, and what has come of them."""

    def __init__(
        self, cells: list[Cell], store: ResultStore | None, n_jobs: int | None, on_progress: OnProgress | None
    ) -> None:
        self.cells, self.store, self.n_jobs, self.on_progress = cells, store, n_jobs, on_progress
        self.missing = {cell.key: cell for cell in cells}  #: cells without a result
        self.results: dict[str, Run] = {}
        self.left = Counter((cell.method, cell.data) for cell in self.missing.values())
        self.spent: defaultdict[tuple[str, str], list[float]] = defaultdict(list)  #: seconds of each cell
        self.total, self.failed, self.computed, self.began = len(self.missing), 0, 0, time.perf_counter()
        self.handed_out: set[str] = set()  #: what joblib has been given, and has not returned

    def all_results(self) -> list[Run]:
        """Return the results that are stored, and compute what is missing."""
        with _interrupted_once(), propagate_interrupt():
            try:
                self._look_up()
                while self.missing:
                    self._compute()
            except KeyboardInterrupt:
                self.on_progress = None
                self._look_up()  # the last one may have been stored, and not noted yet
                raise Interrupted(self._summary(), list(self.results.values())) from None
        return [self.results[cell.key] for cell in self.cells]

    def _look_up(self) -> None:
        """Take results of missing cells from the store."""
        for result in ({} if self.store is None else self.store.find(list(self.missing))).values():
            self._add(result)

    def _compute(self) -> None:
        """Compute missing cells side by side."""
        share, here = max(1, n_threads() // effective_n_jobs(self.n_jobs)), (os.getpid(), threading.get_ident())
        with library_limit(1):
            tasks = (self._task(cell, share, here) for cell in list(self.missing.values()))
            attempts = in_workers(tasks, self.n_jobs, ordered=False)
            try:
                for attempt in _until_broken(attempts):
                    self._keep(attempt)
            except BaseException:
                time.sleep(_SETTLE)
                attempts.close()
                raise
        # A worker died, or a cell cannot be sent: one at a time, to find the one.
        for cell in [self.missing[key] for key in sorted(self.handed_out)]:
            try:
                # With two jobs joblib takes another process also for a single task.
                (attempt,) = in_workers([self._task(cell, share, here)], 2)
            except Exception as error:
                attempt = _Attempt(cell.key, "failed", {}, _error_text(error), 0.0)
            self._keep(attempt)

    def _task(self, cell: Cell, share: int, sender: tuple[int, int]) -> Any:
        """Return what joblib sends to a worker; what is given to the work apart, as data are, it sends once for all."""
        self.handed_out.add(cell.key)
        work = cell.work if isinstance(cell.work, partial) else partial(cell.work)
        return delayed(_attempt)(cell.key, share, sender, work.func, *work.args, **work.keywords)

    def _keep(self, attempt: _Attempt) -> None:
        """Store what a worker returns, then report it."""
        cell = self.missing[attempt.key]
        names = ("method", "data", "split", "seed", "parameters", "checksum", "measure", "code")
        facts = {name: getattr(cell, name) for name in names}
        result = Run(**attempt._asdict(), **facts, version=__version__)
        if self.store is not None:
            self.store.put(result)
        self.computed += 1
        self._add(result)

    def _add(self, result: Run) -> None:
        self.results[result.key] = result
        del self.missing[result.key]
        self.handed_out.discard(result.key)
        self.failed += result.status == "failed"
        self.left[result.method, result.data] -= 1
        self.spent[result.method, result.data].append(result.seconds)
        if self.on_progress is not None:
            seconds, left = time.perf_counter() - self.began, self._seconds_left() if self.computed else None
            self.on_progress(
                RunProgress(len(self.results), self.total, self.failed, self.computed, seconds, left, result)
            )

    def _seconds_left(self) -> float:
        """Return how long the rest will take: cells of the same method and data take about the same time."""
        means = {group: fmean(found) for group, found in self.spent.items()}
        overall = fmean(means.values())
        seconds = sum(n * means.get(group, overall) for group, n in self.left.items())
        return seconds / effective_n_jobs(self.n_jobs)

    def _summary(self) -> str:
        where = "are lost, since there is no store" if self.store is None else f"are kept in {self.store.path}"
        total = plural(self.total, "cell", form=",")
        return f"interrupted: {len(self.results):,} of {total} are done and {where}"


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


def _until_broken(attempts: Iterator[_Attempt]) -> Iterator[_Attempt]:
    """Yield what workers return, until one of them dies or cannot be sent its cells."""
    try:
        yield from attempts
    except Exception:
        return


def _attempt(
    key: str, threads: int, sender: tuple[int, int], work: Callable[..., Any], /, *args: Any, **keywords: Any
) -> _Attempt:
    """Do the work of a cell in this process or thread."""
    began = time.perf_counter()
    with ExitStack() as stack:
        stack.enter_context(thread_limit(threads))
        caught: list[Any] = []
        apart = os.getpid() != sender[0]
        if apart:
            _settle_in()
            stack.enter_context(library_limit(1))
            # Dask would send what a fit does side by side to other workers, with the data.
            stack.enter_context(parallel_config(backend="threading", n_jobs=1))
        elif threading.get_ident() != sender[1]:
            # The limit of BLAS is one for the process: threads would lift each other's.
            stack.enter_context(library_limit(1, "openmp"))
        # Other threads may work on cells here, and filters of warnings belong to all; processes have one thread each.
        if apart or threading.current_thread() is threading.main_thread():
            caught = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
        try:
            measures: Any = work(*args, **keywords)
            messages = list(dict.fromkeys(str(warning.message) for warning in caught))
            named = {"warnings": messages} if messages else {}
            measures = json.loads(json.dumps({**measures, **named}, default=_plain))
        except Exception as error:
            return _Attempt(key, "failed", {}, _error_text(error), time.perf_counter() - began)
    return _Attempt(key, "done", measures, "", time.perf_counter() - began)


@cache
def _settle_in() -> None:
    """Spare the garbage collector what a worker process has imported, once.

    After a task joblib's workers let it look at everything, once a second at most: a tenth of their time.
    """
    gc.collect()
    gc.freeze()


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
    return text.encode("utf-8", "backslashreplace").decode()  # names of files may hold what no output can
