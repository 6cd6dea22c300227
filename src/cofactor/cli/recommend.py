"""``cofactor recommend``: the best items for known users, and for new ones by fold-in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming
from cofactor.cli.files import check_sources, check_table_suffix, check_target, check_there, load_model
from cofactor.cli.interrupts import loading
from cofactor.cli.output import Download, fit_progress, limited_threads, note, show_notes, write_table
from cofactor.errors import InvalidInputError
from cofactor.files import display_name
from cofactor.tasks import TASKS, task_named, task_of
from cofactor.tasks.plain import RANKINGS, Request, Settings

_RANKING = "Which items are best"
_RULES = "What lists must be like"
_RULE_OPTIONS = {
    name: f"--{name.replace('_', '-')}" for name in ("min_support", "diversity", "novelty", "groups", "boost")
}
_RULE_OPTIONS |= dict.fromkeys(("per_group", "at_most"), "--per-group")
_NEW = "New users (with --ratings)"
_DATA = "Where FILE holds ratings, and no model"
_COLUMN_HELP = "Name of its column in that file, or its position counted from 0."


def recommend(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|FILE",
            help="A model written by cofactor fit; - for standard input. Or ratings, clicks, plays or purchases, or "
            "the name of a known data set: a recommender is fitted to them first.",
        ),
    ],
    user: Annotated[list[str] | None, typer.Option("--user", "-u", metavar="ID", help="For this user; repeat.")] = None,
    everyone: Annotated[bool, typer.Option("--all", help="For all users.")] = False,
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Number of items for each user.")] = 10,
    out: options.Out = None,
    safe_csv: options.SafeCsv = False,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also items which the user has rated in training.")
    ] = False,
    candidates: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Recommend only items of this list, one id in a line; - for standard input."),
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Items to leave out: one id in a line, for all users; or user and item, for each user. - for standard "
            "input.",
        ),
    ] = None,
    titles: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Titles: a known data set such as ml-100k, or a table of id and title."),
    ] = None,
    encoding: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Encoding of the text files of --titles, --candidates, --exclude and --ratings."
        ),
    ] = "utf-8",
    rank_by: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(RANKINGS),
            help="Of a recommender: how likely the user interacts with the item and likes it then (the default, where "
            "there are ratings), how likely the user interacts with it at all, how much is expected to be gained, or "
            "how well it would be liked; by that alone lists hold less of what users interact with than plain "
            "popularity does.",
            rich_help_panel=_RANKING,
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(
            "--at-least",
            metavar="RATING",
            help="Of a recommender, the rating from which on an item is liked; by default the first of the upper "
            "quarter. Other models that have probabilities, as ordinal-probit, rank items by that of this rating or a "
            "higher one, which is then the score.",
            rich_help_panel=_RANKING,
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Rank items by this quantile of the predicted rating, 0 to 1; a high one, as 0.9, favours items whose "
            "rating is uncertain.",
            rich_help_panel=_RANKING,
        ),
    ] = None,
    min_support: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Leave out items that fewer users interacted with or rated in training.",
            rich_help_panel=_RULES,
        ),
    ] = None,
    diversity: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="By how much the score of an item falls that is just like another one in the list; with .7 it counts "
            "half where scores are logarithms, as those of a recommender are. Of a model of ratings in stars. Scores "
            "that are shown are those before.",
            rich_help_panel=_RULES,
        ),
    ] = None,
    novelty: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="What each halving of an item's popularity adds to its score; .7 makes up for popularity where scores "
            "are logarithms. The scores that are shown are those before.",
            rich_help_panel=_RULES,
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A table of item id and group, for --per-group.", rich_help_panel=_RULES),
    ] = None,
    per_group: Annotated[
        int | None, typer.Option(metavar="K", help="Most items of each group in a list.", rich_help_panel=_RULES)
    ] = None,
    boost: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A table of item id and number, which is added to the item's score; .7 makes it count twice where "
            "scores are logarithms, as those of a recommender are. Scores that are shown are those before.",
            rich_help_panel=_RULES,
        ),
    ] = None,
    why: Annotated[
        bool,
        typer.Option("--why", help="Name the user's own items, at most three, that raise the score most."),
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="With --all: let the workers of this Dask scheduler make the lists; they read MODEL where it lies.",
        ),
    ] = None,
    threads: options.Threads = None,
    json: options.Json = False,
    ratings: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Ratings of users who were not in training: they are folded in, without training again, and the "
            "recommendations are for them. - for standard input.",
            rich_help_panel=_NEW,
        ),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            metavar="[error|merge|replace]",
            help="Users of --ratings who were in training: refuse them, by default; merge their ratings of training "
            "with the new ones (the new one of a pair counts); or replace them.",
            show_default=False,
            rich_help_panel=_NEW,
        ),
    ] = None,
    user_features: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Features of new users, with ratings or without: ids in the first column, numbers in the others. For "
            "models that were fitted with features of users.",
            rich_help_panel=_NEW,
        ),
    ] = None,
    item_features: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Features of new items: a recommender ranks them among the others, other models recommend the best of "
            "them. For models that were fitted with features of items.",
            rich_help_panel=_NEW,
        ),
    ] = None,
    user_column: Annotated[str | None, typer.Option(metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_NEW)] = None,
    item_column: Annotated[str | None, typer.Option(metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_NEW)] = None,
    rating_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_NEW)
    ] = None,
    time_column: Annotated[str | None, typer.Option(metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_NEW)] = None,
    count_column: Annotated[
        str | None,
        typer.Option(
            "--count-column",
            "--count",
            metavar="COLUMN",
            help="Column that says how often a user interacted with an item.",
            rich_help_panel=_NEW,
        ),
    ] = None,
    implicit: Annotated[
        bool,
        typer.Option(
            "--implicit",
            help="Read it as what users interacted with, whatever its ratings say.",
            rich_help_panel=_NEW,
        ),
    ] = False,
    levels: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Values a rating can take, as of cofactor fit.", rich_help_panel=_DATA),
    ] = None,
    bins: Annotated[
        str | None,
        typer.Option(
            metavar="N|EDGES", help="Cut continuous ratings, or counts, into so many levels.", rich_help_panel=_DATA
        ),
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(
            metavar="[error|last|mean]",
            help="Several ratings of one user for one item: refuse, keep the last, or take the mean.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    drop_rating: Annotated[
        str | None,
        typer.Option(metavar="X", help="Leave out its ratings of this value, such as 0.", rich_help_panel=_NEW),
    ] = None,
    sep: Annotated[str | None, typer.Option(metavar="TEXT", help="Its separator.", rich_help_panel=_NEW)] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether its line 1 names the columns.", rich_help_panel=_NEW),
    ] = None,
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
    features = {"--user-features": user_features, "--item-features": item_features}
    inputs = {"MODEL": model, "--candidates": candidates, "--titles": titles, "--ratings": ratings, **features}
    inputs |= {"--groups": groups, "--boost": boost, "--exclude": exclude}
    check_target(out, *inputs.values())
    check_table_suffix(out, safe_csv)
    check_sources(inputs)
    if known and not ratings:
        raise InvalidInputError("--known says what becomes of users of --ratings: give --ratings too")
    if user and everyone:
        raise InvalidInputError("--user and --all exclude each other: give one of them")
    new = {"--ratings": ratings, "--user-features": user_features}
    for option in (name for name, file in new.items() if everyone and file):
        raise InvalidInputError(f"--all and {option} exclude each other: {option} FILE serves all users of that file")
    if not (user or everyone or any(new.values())):
        raise InvalidInputError("say for whom: --user ID (repeat for several), --all, or --ratings FILE for new users")
    if scheduler and (not everyone or item_features or not Path(model).is_file()):
        what = "--item-features" if item_features else ("--user" if not everyone else "a model that is no file")
        raise InvalidInputError(f"--scheduler is for --all users of a file of a model: it takes no {what}")
    check_there(model, candidates, exclude, groups, boost, ratings, user_features, item_features)
    columns = {"user": user_column, "item": item_column, "rating": rating_column, "time": time_column}
    reading = {**columns, "sep": sep, "header": header, "encoding": encoding, "drop_rating": drop_rating}
    reading |= {"count": count_column, "implicit": implicit}
    names = {name: f"--{name}-column" for name in (*columns, "count")} | {"timestamp": "--time-column"}
    names |= _RULE_OPTIONS | {"new_items": "--item-features", "exclude": "--exclude"}
    with limited_threads(threads), naming(names):
        of_sides = {"user_features": user_features, "item_features": item_features}
        of_fit = {"levels": levels, "bins": bins, "duplicates": duplicates}
        of_fit = {name: value for name, value in of_fit.items() if value is not None}
        fitted = _model_of(model, reading | of_sides, of_fit, quiet=json)
        with loading():
            task = task_of(fitted)
        if not task.can("recommend"):
            what = f"is a model of {task.name}, which recommends no items"
            raise InvalidInputError(f"{model}: {what}: see cofactor predict --help")
        request = Request(
            user or None, n, include_seen, ratings, candidates, titles, encoding, at_least, quantile, rank_by
        )
        request = replace(
            request,
            min_support=min_support,
            diversity=diversity,
            novelty=novelty,
            groups=groups,
            per_group=per_group,
            boost=boost,
            exclude=exclude,
            why=why,
            scheduler=scheduler,
        )
        reading |= {"known": known, **of_sides}
        table = task.recommend(fitted, request, task.values("recommend", reading), called=model)
    show_notes(table.notes, names)
    write_table(table, out, as_json=json, safe_csv=safe_csv, names=names)


def _model_of(file: str, reading: Mapping[str, Any], of_fit: Mapping[str, Any], *, quiet: bool) -> Any:
    """Return the model of a file, or the default one fitted to the data that the file holds, with options `of_fit`."""
    with loading():
        from cofactor.datasets.formats import sniff

        found = sniff(file)
    if found.holds == "model" or found.kind in ("folder", "missing"):
        for option in of_fit:
            raise InvalidInputError(f"--{option} says how to read ratings, and {display_name(file)} is a model")
        return load_model(file)
    with loading():
        task = task_named(found.holds if found.holds in TASKS else "ratings")
    if not task.can("recommend"):
        raise InvalidInputError(f"{file}: holds {task.name}, of which no items can be recommended")
    settings = Settings(options=task.values("fit", {**reading, **of_fit}))
    built = task.build(task.default_model, settings)
    loaded = task.read(file, settings.options, progress=Download(file, quiet=quiet))
    with fit_progress(f"fitting {task.name_of(built.model)}", quiet=quiet) as listen:
        fitted, facts = task.fit(built.model, loaded, settings, listen)
    show_notes((*built.notes, *facts.notes))
    source = "FILE" if file == "-" else file
    keep = f"cofactor fit {source} --out model.cofactor keeps it for the next time"
    note(f"cofactor: note: a {facts.values['model']} was fitted in {facts.values['seconds']:.1f} s; {keep}")
    return fitted
