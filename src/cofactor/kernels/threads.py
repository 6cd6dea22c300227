"""Threads for kernels: a number, a limit, and a loop over independent blocks; and a limit for BLAS and OpenMP.

Kernels release the interpreter's lock, therefore plain Python threads carry them. This needs no threading layer of
Numba (some abort when two threads enter them at once), and the stages of `HMF`, which run side by side in threads
themselves, can use it too.
"""

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from threadpoolctl import ThreadpoolController

from cofactor.kernels.compile import kernel
from cofactor.limits import number_in_environment

#: Turns after a flag is seen. The thread that set it is just leaving the interpreter; asking for the interpreter's lock
#: before it has left would put the thread that asks to sleep.
_EXTRA_TURNS = 10_000


def _load_code(typing_context: Any, flag: Any) -> Any:
    """Read the first element of an int64 array as other threads see it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(flag), generate


def _store_code(typing_context: Any, flag: Any, value: Any) -> Any:
    """Write the first element of an int64 array for other threads to see."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        builder.store_atomic(arguments[1], data, "release", 8)
        return context.get_dummy_value()

    return types.void(flag, types.int64), generate


_load: Any = intrinsic(_load_code)
_store: Any = intrinsic(_store_code)


@kernel
def finish(done, called, turns):  # type: ignore[no-untyped-def]
    """Set `done`, then wait for `called` as `wait_for` does."""
    _store(done, 1)
    for _ in range(turns):
        if _load(called) != 0:
            for _ in range(_EXTRA_TURNS):
                _load(called)
            return True
    return False


_NOBODY = np.zeros(1, np.int64)  #: a counter that no thread waits for


def wait_for(flag: np.ndarray, turns: int) -> bool:
    """Spin until the flag is set, or for so many turns; return whether it is."""
    return bool(finish(_NOBODY, flag, turns))


_local = threading.local()


@lru_cache(maxsize=1)
def _default_threads() -> int:
    given = number_in_environment("COFACTOR_NUM_THREADS", least=1)
    if given is not None:
        return given
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def n_threads() -> int:
    """Return how many threads kernels use here: the limit in force, `COFACTOR_NUM_THREADS`, or all cores.

    Examples
    --------
    >>> with thread_limit(2):
    ...     n_threads()
    2
    """
    return getattr(_local, "limit", None) or _default_threads()


@contextmanager
def thread_limit(limit: int | None) -> Iterator[None]:
    """Let kernels called from this thread use at most `limit` threads (None: no change).

    Results do not depend on it, only the time does.
    """
    before = getattr(_local, "limit", None)
    _local.limit = before if limit is None else max(1, int(limit))
    try:
        yield
    finally:
        _local.limit = before


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    # Looking for the libraries takes milliseconds. They come with modules: so look again only after an import.
    return ThreadpoolController()


class _Held:
    """A limit for the threads of a library, of which the process has one number: the lowest that somebody holds."""

    def __init__(self, library: Any) -> None:
        self.library, self.limits, self.free = library, list[int](), 0

    def hold(self, limit: int) -> None:
        """Begin to hold a limit."""
        if not self.limits:
            self.free = self.library.get_num_threads()
        self.limits.append(limit)
        self._set(min(self.limits))

    def let_go(self, limit: int) -> None:
        """Hold a limit no more."""
        self.limits.remove(limit)
        self._set(min(self.limits, default=self.free))

    def _set(self, n: int) -> None:
        if n == self.library.get_num_threads():
            return
        # From 3.8 on threadpoolctl hears, of OpenBLAS, the first thread alone that sets a limit, unless told otherwise.
        release = getattr(self.library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        self.library.set_num_threads(n)
        release(force=True)


_held: dict[str, _Held] = {}
_holding = [threading.Lock()]


def _hold_nothing() -> None:
    """Forget who held limits in the process from which this one was forked."""
    _held.clear()
    _holding[0] = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_hold_nothing)


@contextmanager
def library_limit(limit: int, user_api: str | None = None) -> Iterator[None]:
    """Let BLAS and OpenMP use `limit` threads each: BLAS in all threads of the process, OpenMP in this one.

    One thread keeps the order of sums, and hence bits, independent of the machine; and for many small products it is
    the fastest. Of several limits that are in force at the same time, in several threads, the lowest holds.

    Parameters
    ----------
    limit : int
        Number of threads.
    user_api : {"blas", "openmp"}, optional
        Which of the two alone.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with library_limit(1):
    ...     all(pool["num_threads"] == 1 for pool in threadpool_info())
    True
    """
    # The limits of threadpoolctl also ask each library for its version and so on, which takes ten times as long.
    libraries = [one for one in _libraries(len(sys.modules)).lib_controllers if user_api in (None, one.user_api)]
    own = [(one, one.get_num_threads()) for one in libraries if one.user_api == "openmp"]
    shared = [one for one in libraries if one.user_api != "openmp"]
    for library, n in own:
        if n != limit:
            library.set_num_threads(limit)
    with _holding[0]:
        held = [_held.setdefault(one.filepath, _Held(one)) for one in shared]
        for one in held:
            one.hold(limit)
    try:
        yield
    finally:
        with _holding[0]:
            for one in held:
                if _held.get(one.library.filepath) is one:  # not in a process that was forked meanwhile
                    one.let_go(limit)
        for library, n in own:
            if n != limit:
                library.set_num_threads(n)


#: Multiplications of a decomposition below which BLAS gets one thread, about 2 seconds of one core. There a second
#: thread saves little where cores are idle, and waits for the first where they are not: on two busy cores, singular
#: values of 600 × 300 numbers took .21 s with one thread and 3.1 s with two, of 1,572 × 1,000 numbers 4.5 s and 50 s.
#: Above it, idle cores count: GroPLE on 4,880 × 1,836 numbers took 1.4 s with two threads and 2.3 s with one.
_WORTH_BLAS_THREADS = 1.2e10


@contextmanager
def blas_limit(n_rows: int, n_columns: int) -> Iterator[None]:
    """Let BLAS use one thread while matrices of this size are multiplied and decomposed; large ones get all threads.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the largest matrix, such as that of the features.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with blas_limit(100, 20):
    ...     all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")
    True
    """
    if n_rows * n_columns * min(n_rows, n_columns) > _WORTH_BLAS_THREADS:
        yield
        return
    with library_limit(1, "blas"):
        yield


def parallel_for(task: Callable[[int], object], n_tasks: int) -> None:
    """Call `task(0)`, ..., `task(n_tasks - 1)`, in any order, spread over `n_threads()` threads.

    The tasks must be independent of each other. The first exception raised by a task ends the loop and is raised here,
    after the other threads have ended theirs.
    """
    n_workers = min(n_threads(), n_tasks) - 1
    if n_workers < 1:
        for k in range(n_tasks):
            task(k)
        return
    loop = _Loop(task, n_tasks)
    shares = [_Share(loop) for _ in range(n_workers)]
    for share in shares:
        share.hand_over()
    try:
        loop.work()
    finally:
        for share in shares:
            share.wait()
    for share in shares:
        if share.error is not None:
            raise share.error


class _Loop:
    """Tasks that several threads take one after the other."""

    def __init__(self, task: Callable[[int], object], n_tasks: int) -> None:
        self._task, self._n_tasks, self._counter = task, n_tasks, itertools.count()

    def work(self) -> None:
        """Take tasks until none is left."""
        try:
            while (k := next(self._counter)) < self._n_tasks:
                self._task(k)
        except BaseException:
            self._n_tasks = 0
            raise


class _Share:
    """What one thread does of a loop. That thread sets `done` to 1 when it has released the interpreter's lock."""

    def __init__(self, loop: _Loop) -> None:
        self.loop, self.done = loop, np.zeros(1, dtype=np.int64)
        self.error: BaseException | None = None
        self._future: Future[None] | None = None

    def hand_over(self) -> None:
        """Give it to a thread that is still awake, or wake one."""
        try:
            worker: _Worker | None = _awake.pop()
        except IndexError:
            worker = None
        if worker is not None:
            worker.next = self
            worker.called[0] = 1
            return
        try:
            self._future = _pool(os.getpid()).submit(_Worker().serve, self)
        except RuntimeError:  # the interpreter is shutting down: the caller does all of it
            self.done[0] = 1

    def wait(self) -> None:
        """Wait until it is done; if its thread has not even woken up, there is nothing left for it to do."""
        if self._future is not None and self._future.cancel():
            return
        while not wait_for(self.done, _AWAKE):
            time.sleep(1e-4)


class _Worker:
    """A thread of the pool that stays awake for a moment after each share.

    Waking a thread that sleeps takes .05 to .3 ms, as long as many of our loops, and a solver's next one comes at once.
    """

    def __init__(self) -> None:
        self.called = np.zeros(1, dtype=np.int64)
        self.next: _Share | None = None

    def serve(self, share: _Share) -> None:
        """Do a share, and those that are handed over in time."""
        while True:
            try:
                share.loop.work()
            except BaseException as error:
                share.error = error
            self.called[0] = 0
            _awake.append(self)
            if not finish(share.done, self.called, _AWAKE):
                try:
                    _awake.remove(self)
                except ValueError:  # a share is just being handed over
                    while not wait_for(self.called, _AWAKE):
                        time.sleep(0)
                else:
                    return
            assert self.next is not None
            share, self.next = self.next, None


#: Workers that spin, waiting for a call. In a forked child there are none.
_awake: list[_Worker] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_awake.clear)

#: Turns that a thread spins before it goes to sleep, a millisecond at most: longer than solvers take between two loops.
_AWAKE = 1_000_000


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    # A forked child must not inherit the parent's pool, whose threads do not exist there: hence the key.
    return ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 1) * 2), thread_name_prefix="cofactor")


def cut_rows(indptr: np.ndarray, entries_per_block: int) -> np.ndarray:
    """Return boundaries which cut rows into blocks of about `entries_per_block` stored entries.

    Parameters
    ----------
    indptr : ndarray of shape (n_rows + 1,)
        Row pointers of a CSR (or column pointers of a CSC) matrix.
    entries_per_block : int
        Wanted number of entries in a block; a single row is never cut.

    Returns
    -------
    ndarray of shape (n_blocks + 1,)
        Row numbers, from 0 to n_rows.

    Examples
    --------
    >>> cut_rows(np.array([0, 3, 4, 9, 10]), 4)
    array([0, 2, 3, 4])
    """
    n_rows = len(indptr) - 1
    # Empty rows cost time too: count one entry for each row.
    n_blocks = round((indptr[-1] + n_rows) / (entries_per_block + 1))
    if n_blocks < 2 and n_rows:
        return np.array([0, n_rows])  # small data are cut in every sweep, and the rest would take longer than a sweep
    cost = indptr + np.arange(n_rows + 1)
    cuts = np.searchsorted(cost, np.linspace(0, cost[-1], max(1, n_blocks) + 1))
    cuts[0], cuts[-1] = 0, n_rows
    return np.unique(cuts)
