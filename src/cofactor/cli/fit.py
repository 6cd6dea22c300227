"""``cofactor fit``: learn a model from a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming
from cofactor.cli.files import check_sources, check_target, inputs_of, place_of, save_model
from cofactor.cli.output import Download, fit_progress, limited_threads, print_json, show_facts, show_notes
from cofactor.tasks.plain import Settings


def fit(
    context: typer.Context,
    file: options.DataFile,
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help=options.MODEL_HELP + ".")] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where the model goes; - for standard output.")
    ] = "model.cofactor",
    task: options.TaskOption = None,
    alpha: options.Alpha = "auto",
    factors: options.Factors = None,
    param: options.Params = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    json: options.Json = False,
    **own: Any,
) -> None:
    """Learn a model from ratings, or from features and labels, and save it.

    [bold]cofactor fit ratings.csv[/bold] is enough where the columns are called user, item and rating (in many
    spellings), or stand in this order. The model keeps the ratings, so that recommend can leave out what users know.

    [bold]cofactor fit tags.arff[/bold] learns to predict labels; of a table say which columns they are:
    [bold]--labels tag_[/bold]. Notes with tags: [bold]--text body --labels tags --label-sep "|"[/bold].
    """
    inputs = {"FILE": file, **inputs_of(own)}
    check_target(out, *inputs.values())
    check_sources(inputs)
    chosen, reading = options.task_for(context, "fit", file, task, own)
    params = options.parse_params(param)
    settings = Settings(options.parse_alpha(alpha), factors, seed, params, reading)
    with naming(options.names_of(params)):
        built = chosen.build(model or chosen.default_models(settings)[0], settings)
        loaded = chosen.read(file, reading, progress=Download(file, quiet=json))
        with fit_progress(f"fitting {chosen.name_of(built.model)}", quiet=json) as listen, limited_threads(threads):
            fitted, facts = chosen.fit(built.model, loaded, settings, listen)
            save_model(fitted, out)
    if json and out != "-":
        print_json({**facts.values, "out": out})
    else:
        show_facts(facts, {"model file": place_of(out)}, stderr=out == "-")
    show_notes((*built.notes, *facts.notes))
