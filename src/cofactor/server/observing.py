"""What is known of requests: an id in each answer, a line in the log, and measures."""

from __future__ import annotations

import json
import logging
import re
import time
import traceback
import uuid
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cofactor.server.failures import RefusalError, failures_of

__all__ = ["KEY", "Measures", "Observed", "log", "mistake", "refused"]

KEY = "cofactor"  #: of what is noted of a request in its scope
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LOGGER = logging.getLogger("cofactor.server")


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
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    _LOGGER.log(level, json.dumps({"time": now, "event": event, **facts}, default=str))


class Measures:
    """What Prometheus reads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kinds = ("method", "route")
        self.requests = Counter("cofactor_requests", "Requests", (*kinds, "status"), registry=self.registry)
        self.seconds = Histogram("cofactor_request_seconds", "Time of a request", kinds, registry=self.registry)
        self.waiting = Gauge("cofactor_requests_now", "Requests that are answered or wait", registry=self.registry)
        self.ready = Gauge("cofactor_ready", "Whether models answer", registry=self.registry)

    def text(self) -> bytes:
        """Return all of them as Prometheus reads them."""
        return generate_latest(self.registry)


class Observed:
    """An ASGI application whose requests are numbered, logged and measured.

    Parameters
    ----------
    app : callable
        The application; it notes its route in ``scope["cofactor"]["route"]``.
    measures : Measures
    """

    def __init__(self, app: ASGIApp, measures: Measures) -> None:
        self.app, self.measures = app, measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application does."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        own = given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        noted = scope[KEY] = {"id": own, "route": "none"}
        sent = {"status": 0, "bytes": 0}

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent["status"] = message["status"]
                MutableHeaders(scope=message)["x-request-id"] = own
            else:
                sent["bytes"] += len(message.get("body", b""))
            await send(message)

        began = time.perf_counter()
        try:
            await self.app(scope, receive, counting)
        finally:
            self._note(scope, noted, sent, time.perf_counter() - began)

    def _note(self, scope: Scope, noted: dict[str, str], sent: dict[str, int], seconds: float) -> None:
        """Write a line, and count."""
        method = scope["method"] if scope["method"] in ("GET", "HEAD", "POST") else "other"
        self.measures.requests.labels(method, noted["route"], str(sent["status"])).inc()
        self.measures.seconds.labels(method, noted["route"]).observe(seconds)
        client = scope.get("client")
        log(
            "request",
            request_id=noted["id"],
            client=client[0] if client else None,
            method=scope["method"],
            path=scope["path"],
            route=noted["route"],
            status=sent["status"],
            bytes=sent["bytes"],
            seconds=round(seconds, 6),
        )


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
