"""``cofactor similar``: items that users like alike, or users who like alike."""

from __future__ import annotations

from typing import Annotated

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming
from cofactor.cli.files import check_sources, check_target, load_service
from cofactor.cli.output import limited_threads, show_notes, write_table
from cofactor.errors import InvalidInputError


def similar(
    model: options.ModelFile,
    item: Annotated[
        list[str] | None, typer.Option("--item", "-i", metavar="ID", help="Items like this one; repeat.")
    ] = None,
    user: Annotated[
        list[str] | None, typer.Option("--user", "-u", metavar="ID", help="Users who like as this one does; repeat.")
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Number of similar ones for each.")] = 10,
    min_ratings: Annotated[
        int,
        typer.Option(metavar="N", min=0, help="Leave out those with fewer ratings: their factors are mostly chance."),
    ] = 5,
    titles: options.Titles = None,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Encoding of the text file of --titles.")] = "utf-8",
    out: options.Out = None,
    safe_csv: options.SafeCsv = False,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """List the most similar items, or users: columns item, rank, similar, similarity, and title where titles are given.

    Items are similar if users like them alike: the similarity is the correlation of their scores over all users, from
    -1 to 1; where a model has no factors, if the same users interact with them. Similar items are known to
    recommenders, to all models of interactions, and to models with factors, such as als, mmmf and ordinal-probit;
    similar users to models with factors alone.
    """
    inputs = {"MODEL": model, "--titles": titles}
    check_target(out, *inputs.values())
    check_sources(inputs)
    if bool(item) == bool(user):
        raise InvalidInputError("say what is to be like which: --item ID, or --user ID; repeat either for several")
    if user and titles:
        raise InvalidInputError("--titles names items, and --user asks for users: give one of them")
    service = load_service(model)
    with limited_threads(threads), naming({"items": "--item", "users": "--user"}):
        table = service.similar_table(item or user or (), n, "user" if user else "item", min_ratings, titles, encoding)
    show_notes(table.notes)
    write_table(table, out, as_json=json, safe_csv=safe_csv)
