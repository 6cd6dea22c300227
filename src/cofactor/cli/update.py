"""``cofactor update``: take the content of a file into a model, without training it again."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.files import (
    check_model_target,
    check_sources,
    check_there,
    inputs_of,
    load_service,
    place_of,
    save_model,
)
from cofactor.cli.output import fit_progress, limited_threads, print_result, show_facts, show_notes


def update(
    context: typer.Context,
    model: options.ModelFile,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="New ratings: CSV, TSV, '::' or Parquet; or new instances with labels; - for standard input.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where the model goes, by default where it came from; - for standard output.",
        ),
    ] = None,
    threads: options.Threads = None,
    json: options.Json = False,
    **own: Any,
) -> None:
    """Take new ratings into a model, and with them new users and items, as after another day.

    Users and items with new ratings are learned anew, all others stay as they are; of a pair that was rated before the
    new rating counts. It says when so much has come in that a fit of all ratings is due. The file of the model is
    written whole or not at all. A model of ratings must have been saved with them, as cofactor fit does.

    Of label models, label-ridge takes instances into the sums that it kept, if it was fitted with --param
    updatable=true: coefficients are those of a fit to all. omf goes on with the instances of the file.
    """
    target, inputs = out or model, {"FILE": file, **inputs_of(own)}
    check_model_target(target, *inputs.values())
    check_sources({"MODEL": model, **inputs})
    check_there(model, file)
    service = load_service(model)
    values = options.values_for(context, "update", service, own)
    loaded = service.read_more(file, values)
    began = time.perf_counter()
    with fit_progress(f"updating {type(service.model).__name__}", quiet=json), limited_threads(threads):
        updated = service.update(loaded, values)
    seconds = time.perf_counter() - began
    save_model(updated, target)
    facts = type(service)(updated, target).facts()
    notes = (*loaded.notes, *facts.notes)
    if json and target != "-":
        print_result({**facts.values, "seconds": round(seconds, 3), "out": target}, notes)
    else:
        more = {"seconds": f"{seconds:.2f}", "model file": place_of(target)}
        show_facts(facts, more, stderr=target == "-")
    show_notes(notes)
