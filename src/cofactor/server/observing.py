"""What is known of requests: an id in each answer, a line in the log, and measures."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
import traceback
from typing import Any

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cofactor.server.failures import RefusalError, failures_of
from cofactor.server.lines import AT_A_TIME, line_of
from cofactor.server.measures import Row

__all__ = ["KEY", "LogLines", "Observed", "log", "mistake", "new_id", "refused"]

KEY = "cofactor"  #: of what is noted of a request in its scope
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LOGGER = logging.getLogger("cofactor.server")


def new_id() -> str:
    """Return an id for a request that brings none."""
    return f"{random.getrandbits(128):032x}"


def log(event: str, level: int = logging.INFO, **facts: Any) -> None:
    """Write a line of JSON to the log.

    Parameters
    ----------
    event : str
        What happened.
    level : int, default=logging.INFO
    **facts
        What there is to say of it.
    """
    _LOGGER.log(level, line_of(event, facts))


class _Lines:
    """Lines of the log that are written together before the event loop waits: each call of the library takes long.

    Not more of them than a pipe takes at a time, so that no other process writes into a line.
    """

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._size = 0

    def add(self, line: str) -> None:
        """Write a line soon."""
        size = len(line) + 1
        if self._size + size > AT_A_TIME:
            self._write()
        if not self._kept:
            asyncio.get_running_loop().call_soon(self._write)
        self._kept.append(line)
        self._size += size

    def _write(self) -> None:
        if self._kept:
            _LOGGER.info("\n".join(self._kept))
        self._kept, self._size = [], 0


class LogLines(logging.Handler):
    """Writes what another logger says as lines of our log."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take what was said."""
        found = {} if record.exc_info is None else {"traceback": traceback.format_exception(*record.exc_info)}
        log("server", record.levelno, message=record.getMessage(), **found)


class Observed:
    """An ASGI application whose requests are numbered, logged and measured.

    Parameters
    ----------
    app : callable
        The application; it notes its route in ``scope["cofactor"]["route"]``.
    row : Row
        Of the measures, for this process.
    """

    def __init__(self, app: ASGIApp, row: Row) -> None:
        self.app, self.row, self.lines = app, row, _Lines()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application does."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        own = given if _GIVEN_ID.fullmatch(given) else new_id()
        noted = scope[KEY] = {"id": own, "route": "none"}
        sent = {"status": 0, "bytes": 0}

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent["status"] = message["status"]
                message = {**message, "headers": [*message["headers"], (b"x-request-id", own.encode())]}
            else:
                sent["bytes"] += len(message.get("body", b""))
            await send(message)

        began = time.perf_counter()
        try:
            await self.app(scope, receive, counting)
        finally:
            self._note(scope, noted, sent, time.perf_counter() - began)

    def _note(self, scope: Scope, noted: dict[str, str], sent: dict[str, int], seconds: float) -> None:
        """Count, and write a line."""
        self.row.note(scope["method"], noted["route"], sent["status"], seconds)
        client = scope.get("client")
        facts = {
            "request_id": noted["id"],
            "client": client[0] if client else None,
            "method": scope["method"],
            "path": scope["path"],
            "route": noted["route"],
            "status": sent["status"],
            "bytes": sent["bytes"],
            "seconds": round(seconds, 6),
        }
        self.lines.add(line_of("request", facts))


def mistake(error: Exception, request_id: str) -> RefusalError:
    """Write an error that is no fault of a request to the log, and return what the client is told.

    Parameters
    ----------
    error : Exception
        What was raised.
    request_id : str
        Of the request.
    """
    log("error", logging.ERROR, request_id=request_id, error=repr(error), traceback=traceback.format_exception(error))
    return RefusalError(500, "the server made a mistake", advice="its log says more under this request_id")


def refused(refusal: RefusalError, request_id: str) -> Response:
    """Return the answer to a request that is refused.

    Parameters
    ----------
    refusal : RefusalError
        Why.
    request_id : str
        Of the request.
    """
    body = msgspec.json.encode(failures_of(refusal, request_id))
    return Response(body, refusal.status, dict(refusal.headers), "application/json")
