"""``cofactor recommend``: the best items for known users, and for new ones by fold-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming
from cofactor.cli.files import check_sources, check_table_suffix, check_target, check_there, load_service
from cofactor.cli.interrupts import loading
from cofactor.cli.output import Download, fit_progress, limited_threads, note, show_notes, write_table
from cofactor.errors import InvalidInputError
from cofactor.files import display_name
from cofactor.service import TASKS, task_named
from cofactor.service.base import ModelService
from cofactor.service.options import RECOMMEND
from cofactor.service.results import Settings

_OF_FIT = ("levels", "bins", "duplicates")  #: options of ratings to which a recommender is fitted first


def recommend(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|FILE",
            help="A model written by cofactor fit; - for standard input. Or ratings, clicks, plays or purchases, or "
            "the name of a known data set: a recommender is fitted to them first.",
        ),
    ],
    users: Annotated[
        list[str] | None, typer.Option("--user", "-u", metavar="ID", help="For this user; repeat.")
    ] = None,
    everyone: Annotated[bool, typer.Option("--all", help="For all users.")] = False,
    out: options.Out = None,
    safe_csv: options.SafeCsv = False,
    threads: options.Threads = None,
    json: options.Json = False,
    **own: Any,
) -> None:
    """Recommend items: columns user, rank, item, score, prediction, and title where titles are given.

    A recommender, what cofactor fit makes, ranks by the probability that the user interacts with the item next, and
    likes it then: columns p_interact and p_like; the score is the logarithm of both together. Of other models the score
    is the number by which they rank, higher for what is liked better: often the predicted rating before it is rounded
    to a level, with [bold]--at-least[/bold] the probability of such a rating. Of models of interactions alone there is
    no prediction. With --why also because: the user's own items that raise the score most.

    For known users ([bold]--user[/bold], [bold]--all[/bold]), or for new ones from their ratings or features
    ([bold]--ratings[/bold], [bold]--user-features[/bold]); their ratings of items that were not in training are left
    out. A model that knows time recommends for the latest time of training and of the new ratings. Columns of new
    users' files are those of FILE too, where a recommender is fitted to it.
    """
    files = ("candidates", "titles", "ratings", "user_features", "item_features", "groups", "boost", "exclude")
    inputs = {"MODEL": model} | {f"--{name.replace('_', '-')}": own[name] for name in files}
    check_target(out, *inputs.values())
    check_table_suffix(out, safe_csv)
    check_sources(inputs)
    if options.given(context, ["known"]) and not own["ratings"]:
        raise InvalidInputError("--known says what becomes of users of --ratings: give --ratings too")
    if users and everyone:
        raise InvalidInputError("--user and --all exclude each other: give one of them")
    new = [option for option in ("--ratings", "--user-features") if inputs[option]]
    if everyone and new:
        message = f"--all and {new[0]} exclude each other: {new[0]} FILE serves all users of that file"
        raise InvalidInputError(message)
    if not (users or everyone or new):
        raise InvalidInputError("say for whom: --user ID (repeat for several), --all, or --ratings FILE for new users")
    if own["scheduler"] and (not everyone or own["item_features"] or not Path(model).is_file()):
        what = "--item-features" if own["item_features"] else ("--user" if not everyone else "a model that is no file")
        raise InvalidInputError(f"--scheduler is for --all users of a file of a model: it takes no {what}")
    check_there(model, *(file for name, file in inputs.items() if name != "--titles"))
    # Names of the library, and of options that other commands have under other names.
    names = {one.name: one.flags[0] if one.flags else f"--{one.name.replace('_', '-')}" for one in RECOMMEND}
    names |= {"timestamp": "--time-column", "at_most": "--per-group", "new_items": "--item-features"}
    if own["at_least"] is None:  # else it may be either of them
        names["at_least"] = "--min-per-group"
    with limited_threads(threads), naming(names):
        of_fit = options.given(context, _OF_FIT)
        service = _service_of(model, own, of_fit, quiet=json)
        table = service.recommend_table(users or None, options.values_of(task_named(service.kind), "recommend", own))
    show_notes(table.notes, names)
    write_table(table, out, as_json=json, safe_csv=safe_csv, names=names)


def _service_of(file: str, own: Mapping[str, Any], of_fit: Sequence[str], *, quiet: bool) -> ModelService:
    """Return the service of the model in a file, or of the default one fitted to the data that the file holds."""
    with loading():
        from cofactor.datasets.formats import open_data

        found = open_data(file)
    if found.holds == "model" or found.kind in ("folder", "missing"):
        for option in of_fit:
            raise InvalidInputError(f"{option} says how to read ratings, and {display_name(file)} is a model")
        return load_service(file)
    with loading():
        task = task_named(found.holds if found.holds in TASKS else "ratings")
    if "recommend" not in task.options:
        raise InvalidInputError(f"{file}: holds {task.name}, of which no items can be recommended")
    settings = Settings(options=options.values_of(task, "fit", own))
    built = task.build(task.default_model, settings)
    loaded = task.read(file, settings.options, progress=Download(file, quiet=quiet))
    with fit_progress(f"fitting {type(built.model).__name__}", quiet=quiet) as listen:
        fitted, facts = task.fit(built.model, loaded, settings, listen)
    show_notes((*built.notes, *facts.notes))
    source = "FILE" if file == "-" else file
    keep = f"cofactor fit {source} --out model.cofactor keeps it for the next time"
    note(f"cofactor: note: a {facts.values['model']} was fitted in {facts.values['seconds']:.1f} s; {keep}")
    return task.service(fitted, file)
