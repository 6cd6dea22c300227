"""``cofactor recommend``: the best items for known users, and for new ones by fold-in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import InputError, renamed
from cofactor.cli.models import require_probabilities
from cofactor.cli.progress import limited_threads
from cofactor.cli.reading import TableOptions, check_target, load_model, match_ids, read_new_users_for
from cofactor.cli.tables import shortest, write_rows

if TYPE_CHECKING:
    from cofactor.ratings import RatingModel

_RANKING = "Models with probabilities: which items are best"
_NEW = "New users (with --ratings)"
_COLUMN_HELP = "Name of its column in that file, or its position counted from 0."


def recommend(
    model: options.ModelFile,
    user: Annotated[list[str] | None, typer.Option("--user", "-u", metavar="ID", help="For this user; repeat.")] = None,
    everyone: Annotated[bool, typer.Option("--all", help="For all users.")] = False,
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Number of items for each user.")] = 10,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where the table goes: .csv, .tsv or .parquet; - for CSV on standard output. "
            "By default a table on a terminal, CSV in a pipe.",
        ),
    ] = None,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also items which the user has rated in training.")
    ] = False,
    candidates: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Recommend only items of this list, one id in a line; - for standard input."),
    ] = None,
    titles: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Titles: a known data set such as ml-100k, or a table of id and title."),
    ] = None,
    encoding: Annotated[
        str,
        typer.Option(metavar="NAME", help="Encoding of the text files of --titles, --candidates and --ratings."),
    ] = "utf-8",
    at_least: Annotated[
        float | None,
        typer.Option(
            "--at-least",
            metavar="RATING",
            help="Rank items by the probability of this rating or a higher one, which is then the score; for models "
            "that have probabilities, as ordinal-probit.",
            rich_help_panel=_RANKING,
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Rank items by this quantile of the rating, 0 to 1; a high one, as 0.9, favours items whose rating is "
            "uncertain.",
            rich_help_panel=_RANKING,
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
    user_column: Annotated[str | None, typer.Option(metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_NEW)] = None,
    item_column: Annotated[str | None, typer.Option(metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_NEW)] = None,
    rating_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_NEW)
    ] = None,
    sep: Annotated[str | None, typer.Option(metavar="TEXT", help="Its separator.", rich_help_panel=_NEW)] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether its line 1 names the columns.", rich_help_panel=_NEW),
    ] = None,
) -> None:
    """Recommend items: columns user, rank, item, score, prediction, and title where titles are given.

    For known users ([bold]--user[/bold], [bold]--all[/bold]), or for new ones from their ratings
    ([bold]--ratings[/bold]); their ratings of items that were not in training are left out.
    """
    check_target(out, model, candidates, titles, ratings)
    if [model, candidates, ratings].count("-") > 1:
        raise InputError("only one of MODEL, --candidates and --ratings can be standard input")
    if user and everyone:
        raise InputError("--user and --all exclude each other: give one of them")
    if everyone and ratings:
        raise InputError("--all and --ratings exclude each other: --ratings FILE serves all users of that file")
    if not (user or everyone or ratings):
        raise InputError("say for whom: --user ID (repeat for several), --all, or --ratings FILE for new users")
    fitted = load_model(model)
    if not hasattr(fitted, "recommend"):
        raise InputError(f"{model}: is a model of labels, which recommends no items: see cofactor predict --help")
    ranking = {name: value for name, value in (("at_least", at_least), ("quantile", quantile)) if value is not None}
    if len(ranking) > 1:
        raise InputError("--at-least and --quantile both say how to rank: give one of them")
    if ranking:
        require_probabilities(fitted, model, "--at-least" if "at_least" in ranking else "--quantile")
    allowed = None if candidates is None else _read_candidates(candidates, fitted, encoding)
    names = None if titles is None else _read_titles(titles, encoding)
    with limited_threads(threads):
        if ratings is not None:
            table = TableOptions(user_column, item_column, rating_column, sep, header, encoding)
            with renamed(user="--user-column", item="--item-column", rating="--rating-column"):
                new = read_new_users_for(ratings, fitted, table)
            fitted = fitted.fold_in(*new)
        ids = match_ids(user, fitted.users_) if user else fitted.users_.ids.tolist()
        _check_known(ids, fitted, ratings)
        columns = _best(fitted, ids, n, include_seen, allowed, ranking)
    if names is not None:
        columns["title"] = [names.get(str(item), "") for item in columns["item"]]
    write_rows(columns, out, as_json=json, title="Recommendations")


def _best(
    model: RatingModel,
    ids: list[Any],
    n: int,
    include_seen: bool,
    allowed: list[Any] | None,
    ranking: Mapping[str, float],
) -> dict[str, Any]:
    import numpy as np

    with renamed(exclude_seen="--include-seen", n="-n", at_least="--at-least", quantile="--quantile"):
        items, scores = model.recommend(ids, n, exclude_seen=not include_seen, candidates=allowed, **ranking)
    found = np.isfinite(scores)
    users = np.empty(items.shape, dtype=object)
    users[:] = np.array([*ids, None], dtype=object)[:-1, None]
    ranks = np.broadcast_to(np.arange(1, items.shape[1] + 1), items.shape)
    pairs = np.column_stack([users[found], items[found].astype(object)])
    predictions = model.predict(pairs) if len(pairs) else np.empty(0)
    return {
        "user": pairs[:, 0].tolist(),
        "rank": ranks[found],
        "item": pairs[:, 1].tolist(),
        "score": shortest(scores[found]),
        "prediction": predictions,
    }


def _check_known(ids: list[Any], model: RatingModel, ratings: str | None) -> None:
    known = model.users_.index(ids)
    if (known < 0).any():
        bad = ids[int((known < 0).argmax())]
        where = (
            "was not in training; give ratings of new users with --ratings"
            if ratings is None
            else f"is not in {ratings}"
        )
        raise InputError(f"--user {bad}: {where}")


def _read_candidates(file: str, model: RatingModel, encoding: str) -> list[Any]:
    from cofactor.datasets.columns import ALIASES, plain
    from cofactor.files import display_name, read_bytes, to_utf8

    name = display_name(file)
    lines = [line.strip() for line in to_utf8(read_bytes(file), name, encoding).decode().split("\n")]
    texts = [(k, text) for k, text in enumerate(lines, 1) if text]
    if texts and plain(texts[0][1]) in (*ALIASES["item"], "id"):
        texts = texts[1:]
    if not texts:
        raise InputError(f"{name}: holds no item ids, expected one in a line")
    ids = match_ids([text for _, text in texts], model.items_)
    known = model.items_.index(ids)
    if (known < 0).any():
        line, text = texts[int((known < 0).argmax())]
        raise InputError(
            f"{name}, line {line}: item {text!r} was not in training, expected an item which the model knows"
        )
    return ids


def _read_titles(source: str, encoding: str) -> dict[str, str]:
    """Return titles by item id, from a known data set or from the first two columns of a table."""
    import csv
    import io

    from cofactor.datasets import available, load_ratings
    from cofactor.files import read_bytes, to_utf8

    if not os.path.exists(source) and source in {status.name for status in available()}:
        return {str(item): title for item, title in load_ratings(source).item_names.items()}
    text = to_utf8(read_bytes(source), source, encoding).decode()
    sep = next((sep for sep in ("::", "\t", "|") if sep in text.partition("\n")[0]), ",")
    rows = [line.split(sep) for line in text.splitlines()] if sep != "," else list(csv.reader(io.StringIO(text)))
    short = next((k for k, row in enumerate(rows, 1) if len(row) == 1), None)
    if short is not None:
        raise InputError(f"{source}, line {short}: expected an item id and a title, found {rows[short - 1][0]!r}")
    return {row[0].strip(): row[1].strip() for row in rows if row}
