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
    threads = n_threads()
    if n_jobs is None and effective_n_jobs(None) == 1:
        n_jobs = min(threads, n_tasks)
    share = max(1, threads // min(effective_n_jobs(n_jobs), n_tasks))
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    return list(parallel(delayed(task)(*args, share) for args in arguments))
