"""The ASGI application, and the page on which a person tries a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from cofactor.errors import InvalidInputError
from cofactor.pages.page import COLOURS
from cofactor.server.auth import Access, Guarded
from cofactor.server.batching import BatchQueue
from cofactor.server.failures import RefusalError, parsed, refusal_of
from cofactor.server.filters import FilterFolder
from cofactor.server.monitoring import KEY, Measures, Observed, mistake, refused
from cofactor.server.operations import OPERATIONS, Limits, Operation, Query, document
from cofactor.service.served import Served

_FOLDER = Path(__file__).parent / "page"
_SCRIPTS = ("page", "asking", "cards", "choices", "docs", "dom", "labels", "ratings", "stars", "state")

#: Files of the page by their addresses.
FILES = {"/": _FOLDER / "page.html", "/docs": _FOLDER / "docs.html", "/colours.css": COLOURS} | {
    f"/{name}": _FOLDER / name
    for name in ("page.css", "parts.css", "docs.css", "icon.svg", *(f"{one}.js" for one in _SCRIPTS))
}

_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_OF_PAGE = {
    # All comes from this server, and nothing else may be loaded, run, asked, or shown around the page.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

_LONG = 1 << 16  #: bytes of a body which is parsed aside, so that others can be heard meanwhile
_PATIENCE = 16  #: how many times too large a body may be that is read to its end
_SOON, _CLOSE = {"Retry-After": "1"}, {"Connection": "close"}
_OTHERS = ("/health/live", "/health/ready", "/metrics", "/openapi.json")

OPEN = frozenset({"/health/live", "/health/ready", *FILES})  #: what anybody may ask; the page asks for the key
ROUTES = (*dict.fromkeys(one.public_path for one in OPERATIONS), *_OTHERS, *FILES)
"""What measures tell apart."""


def application(
    models: Mapping[str, Served],
    limits: Limits | None = None,
    access: Access | None = None,
    measures: Measures | None = None,
    row: int = 0,
    n_threads: int | None = None,
    filters: FilterFolder | None = None,
) -> ASGIApp:
    """Return the ASGI application of some models.

    Parameters
    ----------
    models : mapping from str to Served
        By name; the first one answers where a request names none.
    limits : Limits, optional
        The most that requests may ask for.
    access : Access, optional
        Who may ask; by default everybody.
    measures : Measures, optional
        Of all processes of a server, with `ROUTES`; by default of this one alone.
    row : int, default=0
        That of the measures which this process writes.
    n_threads : int, optional
        Threads of kernels; by default as elsewhere.
    filters : FilterFolder, optional
        The filters; by default there are none.
    """
    measures = measures or Measures(ROUTES, tuple(models))
    service = _Service(models, limits or Limits(), measures, row, n_threads, filters)
    routes = [Route(one.path, service.endpoint(one), methods=[one.method]) for one in OPERATIONS]
    others: dict[str, Any] = dict(
        zip(_OTHERS, (service.health, service.health, service.metrics, service.openapi), strict=True)
    )
    others |= dict.fromkeys(FILES, file_of_page)
    routes += [Route(path, _noting(path, handler)) for path, handler in others.items()]
    handlers: Any = {HTTPException: _no_route, RefusalError: _refusal}
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=service.lifespan)
    app.router.redirect_slashes = False
    return Observed(Guarded(app, access or Access(), OPEN), service.row)


class _Service:
    """Answers requests: one thread asks the models, so that the others can be refused or told meanwhile."""

    def __init__(
        self,
        models: Mapping[str, Served],
        limits: Limits,
        measures: Measures,
        row: int,
        n_threads: int | None,
        folder: FilterFolder | None,
    ) -> None:
        self.folder = folder
        self.models, self.limits, self.asking = models, limits, BatchQueue(n_threads)
        self.measures, self.row = measures, measures.row(row)
        self.n_waiting = 0
        known = next(iter(models.values())).service.example()
        self.document = msgspec.json.encode(document(known))

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Let requests be answered."""
        with self.asking.begun():
            yield

    def endpoint(self, operation: Operation) -> Callable[[Request], Awaitable[Response]]:
        """Return what answers requests of an operation."""

        async def answered(request: Request) -> Response:
            if self.n_waiting >= self.limits.concurrent:
                raise RefusalError(503, "too many requests at a time", advice="try again", headers=_SOON)
            self._wait(+1)
            try:
                content = await self._all_of(request, operation) if operation.has_body else _query(request)
                asked: Any = (
                    parsed(content, operation.asked)
                    if len(content) < _LONG
                    else await asyncio.to_thread(parsed, content, operation.asked)
                )
                id_ = next(iter(request.path_params.values()), "")
                query = Query(self.models, self.limits, asked, id_, self.folder)
                return Response(await self._answer(operation, query), media_type="application/json")
            except InvalidInputError as error:
                raise refusal_of(error) from error
            finally:
                self._wait(-1)

        return _noting(operation.public_path, answered)

    def _wait(self, change: int) -> None:
        """Count a request that begins, or ends, to wait or to be answered."""
        self.n_waiting += change
        self.row.set_now(self.n_waiting)

    async def _answer(self, operation: Operation, query: Query) -> bytes:
        """Return the answer, if it is there in time."""
        if operation.apart:
            return await asyncio.to_thread(lambda: msgspec.json.encode(operation.reply(query)))
        try:
            return await self.asking.answer(operation, query, self.limits.answer)
        except TimeoutError:
            problem = f"there was no answer within {self.limits.answer:g} seconds"
            raise RefusalError(503, problem, advice="ask for less, or try again", headers=_SOON) from None

    async def _all_of(self, request: Request, operation: Operation) -> bytes:
        """Return the body; refuse what the address asks for besides, which would be overlooked."""
        body = await self._body(request, self.limits.filter if operation.method == "PUT" else self.limits.body)
        if request.query_params:
            name, value = request.query_params.multi_items()[0]
            advice = f'write "{name}" into the body'
            raise RefusalError(
                422, f"stands in the address of a {operation.method}", argument=name, found=value, advice=advice
            )
        return body

    async def _body(self, request: Request, most: int) -> bytes:
        """Return the body; refuse one that is too large, or comes too slowly.

        One that is not much too large is read to its end, and forgotten: many clients see no answer before they have
        sent all.
        """
        parts, size = [], 0
        advice = "ask in several requests, or raise the limit of the server"
        too_large = RefusalError(413, f"more than {most:,} bytes are refused", "body", None, advice, _CLOSE)
        length = request.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and int(length[:20]) > _PATIENCE * most:
            raise too_large
        try:
            async with asyncio.timeout(self.limits.seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > _PATIENCE * most:
                        raise too_large
                    if size <= most:
                        parts.append(part)
        except TimeoutError:
            seconds = f"{self.limits.seconds:g} seconds"
            raise RefusalError(408, f"did not come within {seconds}", "body", headers=_CLOSE) from None
        except ClientDisconnect:
            raise RefusalError(400, "ended before it was all there", "body") from None
        if size > most:
            raise too_large
        return b"".join(parts)

    async def health(self, request: Request) -> Response:
        """Say that the process lives, or that models answer: nobody is heard before they do."""
        is_live = request.url.path.endswith("live")
        return Response(b'{"live":true}' if is_live else b'{"ready":true}', media_type="application/json")

    async def metrics(self, request: Request) -> Response:
        """Return measures for Prometheus."""
        return Response(self.measures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, request: Request) -> Response:
        """Return the description of the interface."""
        return Response(self.document, media_type="application/json")


def _query(request: Request) -> dict[str, Any]:
    """Return the query of an address: a text for each name, a list of texts for what is repeated."""
    query: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in ("candidates", "exclude", "ids", "names"):
            query.setdefault(name, []).append(value)
        elif name in query:
            raise RefusalError(422, "is given twice", argument=name, found=value, advice="give it once")
        else:
            query[name] = value
    return query


def _noting(route: str, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that notes its route for log and measures, and whose own mistakes are told as all errors are."""

    async def noting(request: Request) -> Response:
        request.scope[KEY]["route"] = route
        try:
            return await handler(request)
        except RefusalError:
            raise
        except Exception as error:
            raise mistake(error, request.scope[KEY]["id"]) from error

    return noting


async def _no_route(request: Request, error: HTTPException) -> Response:
    argument, found = ("method", request.method) if error.status_code == 405 else ("path", request.url.path)
    refusal = RefusalError(
        error.status_code, str(error.detail), argument, found, "see /openapi.json", error.headers or {}
    )
    return refused(refusal, request.scope[KEY]["id"])


async def _refusal(request: Request, refusal: RefusalError) -> Response:
    return refused(refusal, request.scope[KEY]["id"])


async def file_of_page(request: Request) -> Response:
    """Return the file of the page at an address.

    Parameters
    ----------
    request : Request
        Of one of `FILES`.
    """
    content, kind = _read(FILES[request.url.path])
    return Response(content, headers=_OF_PAGE, media_type=kind)


@cache
def _read(path: Path) -> tuple[bytes, str]:
    return path.read_bytes(), _KINDS[path.suffix]
