"""``cofactor serve``: models behind HTTP; and the server, with titles of items, for other commands that serve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.files import load_model
from cofactor.cli.interrupts import loading
from cofactor.errors import InvalidInputError, MissingPackageError
from cofactor.lazy import gc_disabled
from cofactor.service import service_of
from cofactor.service.base import about
from cofactor.service.served import ModelFile, Served
from cofactor.text import did_you_mean


def server_for(command: str) -> ModuleType:
    """Return `cofactor.server`, which needs more packages.

    Parameters
    ----------
    command : str
        Which needs it.

    Raises
    ------
    MissingPackageError
        If one of them is not installed.
    """
    with loading(), gc_disabled():
        try:
            from cofactor import server
        except ModuleNotFoundError as error:
            package = (error.name or "cofactor").partition(".")[0]
            if package == "cofactor":
                raise
            raise MissingPackageError(package, f"{command} needs", "serve") from error
    return server


def titles_by_model(given: Sequence[str], models: Sequence[str], encoding: str) -> dict[str, dict[str, str]]:
    """Return titles of items by the text of their ids, for each model that has some.

    Parameters
    ----------
    given : sequence of str
        Files or names of data sets, for the first model; or ``MODEL=FILE``.
    models : sequence of str
        Names of all models.
    encoding : str
        Of the files.
    """
    if not given:
        return {}
    with loading():
        from cofactor.service.rating_files import read_titles

    found: dict[str, dict[str, str]] = {}
    for one in given:
        name, source = _of_model(one, models)
        if name in found:
            raise InvalidInputError(f"--titles {one}: {name} has titles already", advice="give them once")
        found[name] = read_titles(source, encoding)
    return found


def _of_model(given: str, models: Sequence[str]) -> tuple[str, str]:
    """Return the model whose titles are given, and where they are.

    Examples
    --------
    >>> _of_model("ml-100k", ["default", "songs"]), _of_model("songs=a=b.csv", ["default", "songs"])
    (('default', 'ml-100k'), ('songs', 'a=b.csv'))
    """
    name, equals, source = given.partition("=")
    if not equals or os.path.exists(given):
        return models[0], given
    if name not in models:
        raise InvalidInputError(f"--titles {given}: no model is called {name}: {did_you_mean(name, models)}")
    return name, source


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
    host: options.Host = "127.0.0.1",
    titles: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Titles of items: a known data set such as ml-100k, or a table of id and title, text or Parquet. They "
            "are those of the first model; MODEL=NAME|FILE gives them to another one. Repeat.",
        ),
    ] = None,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Encoding of the text files of --titles.")] = "utf-8",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port; with 0 a free one, which the log names.")
    ] = 8000,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes that answer; they share one copy of each model.")
    ] = 1,
    api_key_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Keys, one a line, of which each request must bring one; by default none."),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name by which the server may be asked besides those of this machine, * for any; repeat. By default "
            "any, except where it is bound to this machine alone.",
        ),
    ] = None,
    filters: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of lists of items that requests may name, such as all in stock, one file each; PUT "
            "/v1/filters/NAME writes them, and all processes read them.",
        ),
    ] = None,
    max_body: Annotated[int, typer.Option(metavar="BYTES", min=1, help="Bytes of a body.", rich_help_panel=_LIMITS)] = 1
    << 20,
    max_batch: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Users, pairs, new items or rows in a request.", rich_help_panel=_LIMITS),
    ] = 1000,
    max_items: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Items that a request names, to choose from, to leave out, or to group.",
            rich_help_panel=_LIMITS,
        ),
    ] = 100_000,
    max_filter: Annotated[
        int, typer.Option(metavar="BYTES", min=1, help="Bytes of a filter.", rich_help_panel=_LIMITS)
    ] = 1 << 26,
    max_n: Annotated[int, typer.Option(metavar="N", min=1, help="Items in a list.", rich_help_panel=_LIMITS)] = 1000,
    max_concurrent: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Requests at a time; more are told to try again.", rich_help_panel=_LIMITS
        ),
    ] = 64,
    max_connections: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Connections of each process; for one more, one that has not sent a whole request is closed.",
            rich_help_panel=_LIMITS,
        ),
    ] = 2048,
    max_seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.001, help="Seconds in which a request must be answered.", rich_help_panel=_LIMITS
        ),
    ] = 30.0,
) -> None:
    """Answer requests over HTTP with models of ratings, of interactions, or of labels.

    A page at the address lets a person try a model: rate items, which it finds by --titles, and see the recommendations
    move; or give a text or a row, and see its labels.

    Of ratings: GET /v1/users/ID/recommendations, POST /v1/recommendations (new users too, and a shop's rules), POST
    /v1/predictions, GET /v1/items/ID/similar, GET /v1/items, PUT /v1/filters/NAME. Of labels: POST /v1/tags, for
    vectors of features, values by name, rows of a table, or texts; GET /v1/labels, GET /v1/features. Of both: POST
    /v1/explanations, GET /v1/model; /health/ready, /metrics, and /docs, which shows all of it, from /openapi.json.

    A model whose file changes is read again. Nothing is written but filters, into their folder. The log is JSON on
    standard error. SIGTERM and Ctrl-C end it when requests are answered, and SIGHUP asks that all files be read again.
    """
    files: dict[str, str] = {}
    for given in models:
        name, file = _named(given, first=not files)
        if name in files:
            raise InvalidInputError(f"{given}: two models are called {name}", advice="give each another name")
        files[name] = file
    of_items = titles_by_model(titles or (), list(files), encoding)
    served = {}
    for name, file in files.items():
        answers = partial(_answers_of, of_items.get(name))
        served[name] = Served(name, answers(file)) if file == "-" else ModelFile(name, file, answers).served()
    server = server_for("cofactor serve")  # what it imports comes second: a model is read while others are imported
    limits = server.Limits(
        body=max_body,
        batch=max_batch,
        items=max_items,
        filter=max_filter,
        n=max_n,
        concurrent=max_concurrent,
        connections=max_connections,
        answer=max_seconds,
    )
    keys = None if api_key_file is None else server.Keys.read(api_key_file)
    access = server.Access(server.served_hosts(host, allowed_host or ()), keys)
    server.run(served, host, port, limits, access, workers, filters=filters)


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


def _answers_of(titles: Mapping[str, str] | None, file: str, data: memoryview | None = None) -> Any:
    """Return what answers for the model in a file, whose items have titles."""
    model = load_model(file, data)
    with about(file):
        return service_of(model, file, titles=titles)
