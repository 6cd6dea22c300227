"""``cofactor fit``: learn a model from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming, telling_what_is_kept
from cofactor.cli.files import check_model_target, check_sources, inputs_of, place_of, save_model
from cofactor.cli.interrupts import loading
from cofactor.cli.output import Download, fit_progress, limited_threads, print_result, show_facts, show_notes
from cofactor.errors import InvalidInputError


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
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of a folder of shards: let the workers of this Dask scheduler fit."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Of a folder of shards: go on with a fit that was interrupted or killed.")
    ] = False,
    users: Annotated[
        str,
        typer.Option(
            metavar="[auto|memory|folder]",
            help="Of a folder of shards: factors, or samples, of users go into the model, or stay in the folder: from "
            "1 GiB on.",
        ),
    ] = "auto",
    json: options.Json = False,
    **own: Any,
) -> None:
    """Learn a model from ratings, or from features and labels, and save it.

    [bold]cofactor fit ratings.csv[/bold] is enough where the columns are called user, item and rating (in many
    spellings), or stand in this order. The model keeps the ratings, so that recommend can leave out what users know.

    [bold]cofactor fit big --model als --alpha 5[/bold] fits to the folder that cofactor shard made.

    [bold]cofactor fit tags.arff[/bold] learns to predict labels; of a table say which columns they are:
    [bold]--labels tag_[/bold]. Notes with tags: [bold]--text body --labels tags --label-sep "|"[/bold].
    """
    inputs = {"FILE": file, **inputs_of(own)}
    check_model_target(out, *inputs.values())
    check_sources(inputs)
    chosen, reading = options.task_for(context, "fit", file, task, own)
    params = options.parse_params(param)
    settings = options.settings_of(alpha, factors, seed, reading, params=params)
    with loading():
        from cofactor.service.sharding import USUAL, fit_shards, holds_shards
    with naming({**options.names_of(params), "users": "--users"}), telling_what_is_kept():
        sharded = holds_shards(file)
        built = chosen.build(model or (USUAL if sharded else chosen.default_models(settings)[0]), settings)
        if sharded:
            _refuse_beside_shards(options.given(context, [name for name in own if name != "duplicates"]))
        loaded = None if sharded else chosen.read(file, reading, progress=Download(file, quiet=json))
        _refuse_beside_files(sharded, {"--scheduler": scheduler, "--resume": resume, "--users": users != "auto"})
        with fit_progress(f"fitting {type(built.model).__name__}", quiet=json) as listen, limited_threads(threads):
            if loaded is None:
                fitted, facts = fit_shards(
                    chosen, built.model, file, scheduler, {"resume": resume, "users": users}, listen
                )
            else:
                fitted, facts = chosen.fit(built.model, loaded, settings, listen)
            save_model(fitted, out)
    notes = (*built.notes, *facts.notes)
    if json and out != "-":
        print_result({**facts.values, "out": out}, notes)
    else:
        show_facts(facts, {"model file": place_of(out)}, stderr=out == "-")
    show_notes(notes)


def _refuse_beside_shards(given: Sequence[str]) -> None:
    """Refuse options that say how to read files where a folder of shards is given."""
    for option in given:
        raise InvalidInputError(f"{option} is for files: shards are as they were read", advice="leave it out")


def _refuse_beside_files(sharded: bool, given: Mapping[str, object]) -> None:
    """Refuse options that are for folders of shards where a file is given."""
    for option in (name for name, value in given.items() if value and not sharded):
        raise InvalidInputError(f"{option} is for a folder that cofactor shard made")
