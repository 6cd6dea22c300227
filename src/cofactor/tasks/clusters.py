"""Work on the workers of a Dask cluster."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from cofactor.errors import Argument, InvalidInputError

__all__ = ["client_of", "each_on"]

#: Seconds in which a scheduler must answer.
_ANSWERS = 5.0

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
    try:
        client: Any = Client(scheduler, timeout=_ANSWERS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InvalidInputError((argument, f": nothing answers at {scheduler}"), advice=str(error)) from error
    with client:
        yield client


def each_on(client: Any, name: str, function: Callable[[_Given], _Made], blocks: Iterable[_Given]) -> Iterator[_Made]:
    """Yield what a function makes of blocks, in their order, as ``map`` does; workers are at work on those ahead.

    Parameters
    ----------
    client : Client
    name : str
        Of the tasks, on the dashboard.
    function : callable
        Travels with each task: it should be small.
    blocks : iterable
    """
    from distributed import KilledWorker  # an extra

    threads = sum(client.nthreads().values())
    if not threads:
        raise InvalidInputError("the cluster has no workers", advice="start some")
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
    finally:
        for future in coming:
            future.cancel()
