"""Work block by block, in this process or on the workers of a Dask cluster."""

from __future__ import annotations

import logging
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

import cofactor
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.kernels.threads import thread_limit
from cofactor.solvers.workers import check_packages

#: Seconds in which a scheduler must answer.
_ANSWERS = 5.0

#: Logs of Dask and of what it stands on that have a level of their own.
_LOGS = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")

_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


@contextmanager
def client_of(scheduler: str | None) -> Iterator[Any]:
    """Yield a client of a Dask scheduler; None where no scheduler is given."""
    if scheduler is None:
        yield None
        return
    argument = Argument("scheduler")
    try:
        from distributed import Client  # an extra
    except ImportError as error:
        raise InvalidInputError((argument, " needs Dask"), advice="pip install 'cofactor[cluster]'") from error
    with _quiet_logs():
        try:
            client: Any = Client(scheduler, timeout=_ANSWERS)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InvalidInputError((argument, f": nothing answers at {scheduler}"), advice=str(error)) from error
        with client:
            yield client


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Within the block, Dask logs nothing: where a scheduler is gone it writes traces, and errors say so in a line."""
    levels = {log: log.level for log in map(logging.getLogger, _LOGS)}
    try:
        for log in levels:
            log.setLevel(logging.CRITICAL)
        yield
    finally:
        for log, level in levels.items():
            log.setLevel(level)


@contextmanager
def block_by_block(
    scheduler: str | None, name: str, function: Callable[[Any, _Given], _Made], model: Any, called: str
) -> Iterator[Callable[[Iterable[_Given]], Iterator[_Made]]]:
    """Yield what does the same by a model for one block after another, as ``map`` does, here or on workers.

    Parameters
    ----------
    scheduler : str or None
        Address of a Dask scheduler; None for this process.
    name : str
        Of the tasks, on the dashboard.
    function : callable
        ``function(model, block)``. It travels with each task: it should be small.
    model : estimator
        Fitted.
    called : str
        The file where it lies, which workers read.
    """
    with client_of(scheduler) as client:
        if client is None:
            yield partial(map, partial(function, model))
        else:
            file = Path(called).resolve()
            yield partial(_each_on, client, name, _ByFile(str(file), file.stat().st_mtime_ns, function))


@dataclass(frozen=True)
class _ByFile:
    """Does it by the model of a file, which each worker reads once.

    Parameters
    ----------
    file : str
        Where the model lies, for workers too.
    changed : int
        When it was written, in nanoseconds.
    function : callable
        As of `block_by_block`.
    """

    file: str
    changed: int
    function: Callable[[Any, Any], Any]

    def __call__(self, block: Any) -> Any:
        """Return what the function makes of a block."""
        with thread_limit(1):  # a worker is at work on as many blocks as it has threads
            return self.function(_model_of(self.file, self.changed), block)


@lru_cache(maxsize=1)
def _model_of(file: str, changed: int) -> Any:
    """Return the model of a file, as it was written at a time."""
    if not Path(file).is_file() or Path(file).stat().st_mtime_ns != changed:
        advice = "workers must see the file of the model"
        raise InvalidInputError("is not there, or another file, on a worker", place=Place(file), advice=advice)
    return cofactor.load(file)


def _each_on(client: Any, name: str, function: Callable[[_Given], _Made], blocks: Iterable[_Given]) -> Iterator[_Made]:
    """Yield what a function makes of blocks, in their order; workers are at work on those ahead."""
    from distributed import KilledWorker  # an extra

    threads = sum(client.nthreads().values())
    if not threads:
        raise InvalidInputError("the cluster has no workers", advice="start some")
    check_packages(client)
    coming: deque[Any] = deque()
    run = uuid.uuid4().hex  # keys are shared by all clients of a scheduler
    try:
        for number, block in enumerate(blocks):
            coming.append(client.submit(function, block, key=(f"{name}-{run}", number), pure=False))
            if len(coming) > 2 * threads:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    except KilledWorker as error:
        advice = "they may need more memory: give each of them fewer threads"
        raise InvalidInputError(f"workers died again and again over {name}", advice=advice) from error
    except Exception as error:  # what a client says that lost its scheduler depends on what it was about to do
        if client.status == "running":
            raise
        raise InvalidInputError("the scheduler is gone", advice="start it again, and give the same command") from error
    finally:
        for future in coming if client.status == "running" else ():
            future.cancel()
