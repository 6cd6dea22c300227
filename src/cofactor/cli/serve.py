"""``cofactor serve``: models behind HTTP."""

from __future__ import annotations

import hashlib
import os
from typing import Annotated

import typer

from cofactor.cli.files import load_model
from cofactor.cli.interrupts import loading
from cofactor.errors import InvalidInputError, MissingPackageError
from cofactor.tasks import answers_of
from cofactor.tasks.places import about

_LIMITS = "The most that requests may ask for"


def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL [NAME=MODEL...]",
            help="Models written by cofactor fit. The first one answers where a request names none; it is called "
            "default if it has no name.",
        ),
    ],
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to bind to; by default this machine alone can ask.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port; with 0 a free one, which the log names.")
    ] = 8000,
    max_body: Annotated[int, typer.Option(metavar="BYTES", min=1, help="Bytes of a body.", rich_help_panel=_LIMITS)] = 1
    << 20,
    max_batch: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Users, pairs, candidates or rows in a request.", rich_help_panel=_LIMITS),
    ] = 1000,
    max_n: Annotated[int, typer.Option(metavar="N", min=1, help="Items in a list.", rich_help_panel=_LIMITS)] = 1000,
    max_concurrent: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Requests at a time; more are told to try again.", rich_help_panel=_LIMITS
        ),
    ] = 64,
) -> None:
    """Answer requests over HTTP with models of ratings, of takes, or of labels.

    Of ratings: GET /v1/users/ID/recommendations, POST /v1/recommendations (new users with their ratings too), POST
    /v1/predictions, GET /v1/items/ID/similar. Of labels: POST /v1/tags, for vectors of features, values by name, rows of
    a table, or texts; GET /v1/labels, GET /v1/features. Of both: POST /v1/explanations, GET /v1/model; /health/ready,
    /metrics, and /openapi.json, which describes all of it.

    Nothing is written. The log is JSON on standard error. SIGTERM and Ctrl-C end it when requests are answered.
    """
    with loading():
        try:
            from cofactor import server
        except ModuleNotFoundError as error:
            package = (error.name or "cofactor").partition(".")[0]
            if package == "cofactor":
                raise
            raise MissingPackageError(package, "cofactor serve needs", "serve") from error
    served: dict[str, server.Served] = {}
    for given in models:
        name, file = _named(given, first=not served)
        if name in served:
            raise InvalidInputError(f"{given}: two models are called {name}", advice="give each another name")
        model = load_model(file)
        with about(file):
            served[name] = server.Served(name, answers_of(model), _checksum(file))
    limits = server.Limits(body=max_body, batch=max_batch, n=max_n, concurrent=max_concurrent)
    server.run(served, host, port, limits)


def _named(given: str, *, first: bool) -> tuple[str, str]:
    """Return name and file of ``NAME=MODEL``, or of a file alone.

    Examples
    --------
    >>> _named("films=models/a=b.cofactor", first=False), _named("model.cofactor", first=True)
    (('films', 'models/a=b.cofactor'), ('default', 'model.cofactor'))
    """
    name, equals, file = given.partition("=")
    if equals and name and not os.path.exists(given):
        return name, file
    if not first:
        raise InvalidInputError(f"{given}: has no name", advice=f"write NAME={given}")
    return "default", given


def _checksum(file: str) -> str | None:
    """Return the SHA-256 of a file; None of standard input, which is gone."""
    if file == "-":
        return None
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
