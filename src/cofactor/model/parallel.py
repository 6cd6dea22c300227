"""Tasks side by side through joblib, which share the threads of the kernels."""

from collections.abc import Callable, Iterable
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from cofactor.kernels.threads import n_threads


def side_by_side(
    task: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], n_tasks: int, n_jobs: int | None
) -> list[Any]:
    """Run tasks through joblib, sharing the threads of the kernels among them; results in order.

    Each task gets the number of threads it may use as its last argument. Threads carry the tasks unless
    ``joblib.parallel_config`` says otherwise: BLAS and the kernels release the interpreter's lock.
    """
    at_a_time = n_side_by_side(n_tasks, n_jobs)
    share = max(1, n_threads() // at_a_time)
    parallel = Parallel(n_jobs=at_a_time, prefer="threads")
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
    return Parallel(n_jobs=n_jobs, return_as="generator")(delayed(task)(*each) for each in arguments)


def n_side_by_side(n_tasks: int, n_jobs: int | None) -> int:
    """Return how many of the tasks run at a time: by default as many as there are threads."""
    if n_jobs is None and effective_n_jobs(None) == 1:
        return min(n_threads(), n_tasks)
    return min(effective_n_jobs(n_jobs), n_tasks)
