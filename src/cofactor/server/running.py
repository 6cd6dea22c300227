"""One process that serves until a signal ends it."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import uvicorn

from cofactor.server.app import application
from cofactor.server.limits import Limits
from cofactor.server.observing import log
from cofactor.server.served import Served

__all__ = ["run"]

_GRACE = 30  #: seconds which requests have to end
_ENDING = (signal.SIGTERM, signal.SIGINT)


def run(models: Mapping[str, Served], host: str = "127.0.0.1", port: int = 8000, limits: Limits | None = None) -> None:
    """Serve models until SIGTERM or Ctrl-C; requests that are being answered are answered then.

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

    Raises
    ------
    OSError
        If the address cannot be bound.
    """
    failed: list[BaseException] = []

    def end(error: BaseException) -> None:
        failed.append(error)
        server.should_exit = True

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=2048) as listening, _logging(), _signals_ignored():
        config = uvicorn.Config(
            application(models, limits, end),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            lifespan="on",
            ws="none",
        )
        server = uvicorn.Server(config)
        log("listening", host=host, port=listening.getsockname()[1], models=list(models))
        server.run(sockets=[listening])
        log("ended")
    if failed:
        raise failed[0]


@contextmanager
def _logging() -> Iterator[None]:
    """Within the block, lines of the log go to standard error."""
    logger, handler = logging.getLogger("cofactor.server"), logging.StreamHandler()
    level, passed_on = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = passed_on


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """Within the block, signals end nothing but the server: it raises them again when it has ended."""
    before = {number: signal.signal(number, lambda *_: None) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
