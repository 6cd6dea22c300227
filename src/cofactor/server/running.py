"""Serving, from the first process to its end."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from socket import socket

from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import n_threads
from cofactor.server.app import ROUTES, application
from cofactor.server.guarding import Access, served_hosts
from cofactor.server.limits import Limits
from cofactor.server.lines import StandardError
from cofactor.server.measures import Measures
from cofactor.server.observing import LogLines, log
from cofactor.server.supervising import Supervisor, rehearse
from cofactor.server.working import Listening, Worker
from cofactor.tasks.served import Served

__all__ = ["run"]


def run(
    models: Mapping[str, Served],
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    access: Access | None = None,
    n_workers: int = 1,
    *,
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
    measures = Measures(ROUTES, tuple(models), 2 * n_workers)
    threads = None if n_workers == 1 else max(1, n_threads() // n_workers)

    def worker(models: Mapping[str, Served], row: int, channel: socket | None = None) -> Worker:
        app = application(models, limits, access, measures, row, threads)
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
        rehearse(served)
    listening.open()
    log("listening", host=listening.getsockname()[0], port=listening.getsockname()[1], models=list(models))
    log("ready", models={name: served.sha256 for name, served in models.items()}, workers=1)
    begun()
    worker.run([listening])


@contextmanager
def _logging(level: int) -> Iterator[None]:
    """Within the block, lines of the log go to standard error, as what models say and the library of HTTP warns of."""
    ours, models, theirs = map(logging.getLogger, ("cofactor.server", "cofactor", "uvicorn.error"))
    handler, others = StandardError(), LogLines()
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
