"""``cofactor serve``: models behind HTTP."""

from __future__ import annotations

import hashlib
import os
from typing import Annotated

import typer

from cofactor.cli.files import load_model
from cofactor.cli.serving import server_for, titles_by_model
from cofactor.errors import InvalidInputError
from cofactor.tasks import task_of

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
    titles: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Titles of items: a known data set such as ml-100k, or a table of id and title. They are those of the "
            "first model; MODEL=NAME|FILE gives them to another one. Repeat.",
        ),
    ] = None,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Encoding of the text files of --titles.")] = "utf-8",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port; with 0 a free one, which the log names.")
    ] = 8000,
    max_body: Annotated[int, typer.Option(metavar="BYTES", min=1, help="Bytes of a body.", rich_help_panel=_LIMITS)] = 1
    << 20,
    max_batch: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Users, pairs or candidates in a request.", rich_help_panel=_LIMITS),
    ] = 1000,
    max_n: Annotated[int, typer.Option(metavar="N", min=1, help="Items in a list.", rich_help_panel=_LIMITS)] = 1000,
    max_concurrent: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Requests at a time; more are told to try again.", rich_help_panel=_LIMITS
        ),
    ] = 64,
) -> None:
    """Answer requests for recommendations, predictions and similar items over HTTP, with models of ratings or of takes.

    A page at the address lets a person rate items and see the recommendations move; it finds them by --titles.

    GET /v1/users/ID/recommendations, POST /v1/recommendations (new users with their ratings too), POST /v1/predictions,
    GET /v1/items/ID/similar, GET /v1/model; /health/ready, /metrics, and /openapi.json, which describes all of it.

    Nothing is written. The log is JSON on standard error. SIGTERM and Ctrl-C end it when requests are answered.
    """
    server = server_for("cofactor serve")
    files: dict[str, str] = {}
    for given in models:
        name, file = _named(given, first=not files)
        if name in files:
            raise InvalidInputError(f"{given}: two models are called {name}", advice="give each another name")
        files[name] = file
    of_items = titles_by_model(titles or (), list(files), encoding)
    served = {}
    for name, file in files.items():
        model = load_model(file)
        task = task_of(model)
        if not task.can("answer"):
            raise InvalidInputError(f"{file}: is a model of {task.name}, which cannot be served")
        served[name] = server.Served(name, task.answers(model, of_items.get(name)), _checksum(file))
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
