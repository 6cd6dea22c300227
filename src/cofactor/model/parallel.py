"""Tasks side by side through joblib, which share the threads of the kernels."""

import os
import warnings
from collections.abc import Callable, Generator, Iterable
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import BACKENDS, get_active_backend

from cofactor.interrupts import begin_worker, block_interrupt
from cofactor.kernels.threads import n_threads


def run_parallel(
    task: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], n_tasks: int, n_jobs: int | None
) -> list[Any]:
    """Run tasks through joblib, sharing the threads of the kernels among them; results in order.

    Each task gets the number of threads it may use as its last argument. Threads carry the tasks unless
    ``joblib.parallel_config`` says otherwise: BLAS and the kernels release the interpreter's lock.
    """
    at_a_time = n_parallel(n_tasks, n_jobs)
    share = max(1, n_threads() // at_a_time)
    parallel = Parallel(n_jobs=at_a_time, prefer="threads", **_of_processes(prefer="threads"))
    return list(parallel(delayed(task)(*args, share) for args in arguments))


def in_processes(task: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], n_jobs: int | None) -> Iterable[Any]:
    """Run tasks through joblib in processes, for code that cannot share one; yield results in order, as they come.

    Parameters
    ----------
    task : callable
        A function of a module, which processes can be sent.
    arguments : iterable of tuple
        Its arguments, task by task.
    n_jobs : int, optional
        Number of processes, as joblib understands it.

    Examples
    --------
    >>> list(in_processes(pow, [(2, 3), (3, 2)], None))
    [8, 9]
    """
    return in_workers((delayed(task)(*each) for each in arguments), n_jobs)


def in_workers(
    tasks: Iterable[Any],
    n_jobs: int | None,
    *,
    backend: str | None = None,
    prefer: str | None = None,
    ordered: bool = True,
    **options: Any,
) -> Generator[Any]:
    """Hand tasks to joblib, and yield results as they come.

    Processes of this machine end with this one, whatever ends it, and ignore Ctrl-C.

    Parameters
    ----------
    tasks : iterable
        What ``joblib.delayed`` returns.
    n_jobs : int, optional
        Number of processes, as joblib understands it.
    backend : str, optional
        By default the one that ``joblib.parallel_config`` says, which is processes where it says nothing.
    prefer : {"threads"}, optional
        Threads instead, where it says nothing.
    ordered : bool, default=True
        Whether results come in the order of the tasks, else as they end.
    **options
        Of ``joblib.Parallel``.
    """
    named: dict[str, Any] = {} if backend is None else {"backend": backend}
    named |= _of_processes(backend, prefer)
    return_as = "generator" if ordered else "generator_unordered"
    parallel = Parallel(n_jobs=n_jobs, return_as=return_as, prefer=prefer, **named, **options)
    results: Any = None
    try:
        with block_interrupt():  # processes are started here, with the first tasks
            results = parallel(tasks)
        for result in results:  # noqa: UP028  which would close them before the warnings are silenced
            yield result
    finally:
        if results is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib warns of tasks that were handed out and are not awaited
                results.close()


def _of_processes(backend: str | None = None, prefer: str | None = None) -> dict[str, Any]:
    """Return what `joblib.Parallel` is told where processes of this machine carry the tasks.

    It is the same wherever they do: joblib keeps its processes only for the next tasks that come with the same.
    """
    if backend != "loky" and not isinstance(get_active_backend(prefer=prefer)[0], BACKENDS["loky"]):
        return {}
    return {"initializer": begin_worker, "initargs": (os.getpid(),)}


def n_parallel(n_tasks: int, n_jobs: int | None) -> int:
    """Return how many of the tasks run at a time: by default as many as there are threads."""
    if n_jobs is None and effective_n_jobs(None) == 1:
        return min(n_threads(), n_tasks)
    return min(effective_n_jobs(n_jobs), n_tasks)
