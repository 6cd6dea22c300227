"""What is known of requests: an id in each answer, a line in the log, and measures for Prometheus.

No request waits for its line on standard error. The figures that Prometheus reads are in memory which all processes of
a server share, and which no file holds.
"""

from __future__ import annotations

import asyncio
import json
import logging
import mmap
import os
import random
import re
import stat
import sys
import time
import traceback
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cofactor.server.failures import RefusalError, failures_of

AT_A_TIME = 4096  #: bytes which Linux writes to a pipe as one
_JSON = json.JSONEncoder(default=str)


def line_of(event: str, facts: Mapping[str, Any]) -> str:
    """Return an event as a line of JSON.

    Parameters
    ----------
    event : str
        What happened.
    facts : mapping from str to object
        What there is to say of it.
    """
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return _JSON.encode({"time": now, "event": event, **facts})


class StandardError(logging.Handler):
    """Writes lines to standard error; those that a pipe does not take at once are counted, and their number is told.

    Whoever does not read the pipe to its end would else hold up all requests, and the end of the server.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pipe, self.n_lost, self.is_cut = _opened_anew(), 0, False

    def emit(self, record: logging.LogRecord) -> None:
        """Write what was said."""
        said = record.getMessage()
        if self.pipe is None:
            print(said, file=sys.stderr, flush=True)
            return
        if self.n_lost and self._is_taken(self.pipe, line_of("lines lost", {"number": self.n_lost})):
            self.n_lost = 0
        if self.n_lost or not self._is_taken(self.pipe, said):
            self.n_lost += said.count("\n") + 1

    def close(self) -> None:
        """Close the pipe that was opened here."""
        if self.pipe is not None:
            os.close(self.pipe)
            self.pipe = None
        super().close()

    def _is_taken(self, pipe: int, lines: str) -> bool:
        """Write lines to a pipe; return whether it took all of them."""
        whole = b"\n" * self.is_cut + lines.encode() + b"\n"
        for first in range(0, len(whole), AT_A_TIME):
            try:
                os.write(pipe, whole[first : first + AT_A_TIME])
            except OSError:  # it is full, or nobody has the other end any more
                self.is_cut |= first > 0
                return False
        self.is_cut = False
        return True


def _opened_anew() -> int | None:
    """Return standard error, opened anew so that nothing waits for it, if it is a pipe; None if it is none.

    Those who share the pipe have it as it was.
    """
    try:
        own = sys.stderr.fileno()
        if stat.S_ISFIFO(os.fstat(own).st_mode):
            return os.open(f"/proc/self/fd/{own}", os.O_WRONLY | os.O_NONBLOCK)
    except (OSError, ValueError, AttributeError):  # it is no file, or this is another system than Linux
        pass
    return None


_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "other")
_STATUSES = ("200", "304", "400", "401", "404", "405", "408", "413", "421", "422", "431", "500", "503", "other")
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  #: seconds
_BUCKETS = (*map(str, _BOUNDS), "+Inf")
_OTHER = "none"  #: the route of requests that have none
_OUTCOMES = ("loaded", "refused")


class Measures:
    """Figures of a server. Every process that answers writes a row of its own, so that none waits for another.

    What is read is the sum of all rows. A process that takes the place of one that ended goes on with its row, so that
    no count ever falls.

    Parameters
    ----------
    routes : sequence of str
        Of requests that are told apart; all others count as one.
    models : sequence of str, default=()
        Names of the models.
    n_rows : int, default=1
        Processes that may answer at the same time.

    Examples
    --------
    >>> measures = Measures(["/v1/model"], n_rows=2)
    >>> for k in range(2):
    ...     measures.row(k).note("GET", "/v1/model", 200, 0.004)
    >>> print(measures.text().decode().splitlines()[2])
    cofactor_requests_total{method="GET",route="/v1/model",status="200"} 2.0
    """

    def __init__(self, routes: Sequence[str], models: Sequence[str] = (), n_rows: int = 1) -> None:
        self.routes, self.models = (*routes, _OTHER), tuple(models)
        kinds = (len(_METHODS), len(self.routes))
        row: list[Any] = [("requests", "f8", (*kinds, len(_STATUSES)))]
        row += [("seconds", "f8", (*kinds, len(_BUCKETS) + 1)), ("now", "f8")]  # a count for each bucket, and the sum
        whole: list[Any] = [("workers", "f8"), ("deaths", "f8"), ("reloads", "f8", (len(models) or 1, len(_OUTCOMES)))]
        self.rows, self._whole = _shared(n_rows, row), _shared(1, whole)[0]
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def row(self, k: int) -> ProcessFigures:
        """Return one of the rows, for the process that writes it."""
        return ProcessFigures(self.rows[k : k + 1], self.routes)

    def set_workers(self, n: int) -> None:
        """Say how many processes take requests."""
        self._whole["workers"] = n

    def count_death(self) -> None:
        """Count a process that ended unasked."""
        self._whole["deaths"] += 1

    def count_reload(self, model: str, outcome: Literal["loaded", "refused"]) -> None:
        """Count a changed file of a model that was loaded, or refused."""
        self._whole["reloads"][self.models.index(model), _OUTCOMES.index(outcome)] += 1

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Return all figures as the library of Prometheus takes them."""
        requests = CounterMetricFamily("cofactor_requests", "Requests", labels=("method", "route", "status"))
        counts = self.rows["requests"].sum(axis=0)
        for m, r, s in np.argwhere(counts):
            requests.add_metric((_METHODS[m], self.routes[r], _STATUSES[s]), counts[m, r, s])
        yield requests
        seconds = HistogramMetricFamily("cofactor_request_seconds", "Time of a request", labels=("method", "route"))
        times = self.rows["seconds"].sum(axis=0)
        for m, r in np.argwhere(times[..., :-1].any(axis=-1)):
            buckets = list(zip(_BUCKETS, times[m, r, :-1].cumsum(), strict=True))
            seconds.add_metric((_METHODS[m], self.routes[r]), buckets, times[m, r, -1])
        yield seconds
        now = float(self.rows["now"].sum())
        yield GaugeMetricFamily("cofactor_requests_now", "Requests that are answered or wait", now)
        workers, deaths = float(self._whole["workers"]), float(self._whole["deaths"])
        yield GaugeMetricFamily("cofactor_workers", "Processes that take requests", workers)
        yield CounterMetricFamily("cofactor_worker_deaths", "Processes that ended unasked", deaths)
        reloads = CounterMetricFamily("cofactor_reloads", "Changed files of models", labels=("model", "outcome"))
        for model, counts in zip(self.models, self._whole["reloads"], strict=False):
            for outcome, count in zip(_OUTCOMES, counts, strict=True):
                reloads.add_metric((model, outcome), count)
        yield reloads


class ProcessFigures:
    """The figures of one process.

    Parameters
    ----------
    memory : ndarray of shape (1,)
        The row of `Measures`.
    routes : sequence of str
        All routes.
    """

    def __init__(self, memory: NDArray[Any], routes: Sequence[str]) -> None:
        self._requests, self._seconds, self._now = memory["requests"][0], memory["seconds"][0], memory["now"]
        self._methods, self._routes, self._statuses = (
            {name: k for k, name in enumerate(names)} for names in (_METHODS, routes, _STATUSES)
        )

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered, and its time."""
        m, r = self._count(method, route, status)
        times = self._seconds[m, r]
        times[bisect_left(_BOUNDS, seconds)] += 1
        times[-1] += seconds

    def refuse(self, status: int) -> None:
        """Count what was refused before it was a whole request: nobody knows its method, nor when it began."""
        self._count("", "", status)

    def _count(self, method: str, route: str, status: int) -> tuple[int, int]:
        m, r = self._methods.get(method, len(_METHODS) - 1), self._routes.get(route, len(self._routes) - 1)
        self._requests[m, r, self._statuses.get(str(status), len(_STATUSES) - 1)] += 1
        return m, r

    def set_now(self, n: int) -> None:
        """Say how many requests are answered or wait."""
        self._now[0] = n


def _shared(n: int, kind: list[Any]) -> NDArray[Any]:
    """Return records of zeros in memory that belongs to no file, and that processes forked from here share."""
    dtype = np.dtype(kind)
    return np.frombuffer(mmap.mmap(-1, n * dtype.itemsize), dtype, n)


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


class _LineBuffer:
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


class ForwardedLog(logging.Handler):
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

    def __init__(self, app: ASGIApp, row: ProcessFigures) -> None:
        self.app, self.row, self.lines = app, row, _LineBuffer()

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
