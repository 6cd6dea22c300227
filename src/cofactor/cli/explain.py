"""``cofactor explain``: what speaks for and against predicted labels, and scores of items."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming
from cofactor.cli.files import check_sources, check_target, check_there, inputs_of, load_service
from cofactor.cli.output import limited_threads, show_notes, write_table
from cofactor.errors import InvalidInputError

_ITEMS = "Ratings: what is explained"


def explain(
    context: typer.Context,
    model: options.ModelFile,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="For labels: features, as ARFF, libsvm, MATLAB, CSV, TSV, Parquet, with or without labels; - for "
            "standard input.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            "-l",
            metavar="NAME",
            help="Explain this label for every instance; repeat. By default those that are predicted for it.",
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", metavar="ID", help="The user for whom.", rich_help_panel=_ITEMS),
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(
            "--item", "-i", metavar="ID", help="Explain the score of this item; repeat.", rich_help_panel=_ITEMS
        ),
    ] = None,
    n: Annotated[
        int,
        typer.Option(
            "-n", metavar="N", min=1, help="Number of features, training instances or own ratings for each prediction."
        ),
    ] = 10,
    out: options.Out = None,
    safe_csv: options.SafeCsv = False,
    threads: options.Threads = None,
    json: options.Json = False,
    **own: Any,
) -> None:
    """Say why labels are predicted, or items recommended.

    Of labels: the features that speak for and against each, or the training instances that vote. Columns: instance,
    label, score, kind (feature, instance, rest, intercept), term, value of the feature, contribution; the strongest
    terms first. Training instances have their ids if the model was fitted with --id, else their rows in the file,
    counted from 1. Contributions, the rest and the intercept sum to the score, exactly.

    Of ratings, with --user and --item: the user's own ratings that raise and lower the score of each item. Columns:
    user, item, score, kind (rating, interaction, rest, intercept), term (the item that was rated), value (its rating),
    contribution; of a recommender also interaction and like, its two parts. They sum to the score where there is an
    intercept; otherwise each is the change without that rating. A recommender can be explained, and ease, item-knn,
    rp3beta, implicit-als, logistic-mf, popularity, als, pmf, bpmf and ordinal-probit.

    With --json an object stands in each line.
    """
    inputs = {"MODEL": model, "FILE": file, "--titles": own.get("titles"), **inputs_of(own)}
    check_target(out, *inputs.values())
    check_sources(inputs)
    check_there(model, file)
    service = load_service(model)
    values = options.values_for(context, "explain", service, own)
    of, what = _asked(model, service.kind, {"FILE": file, "--label": label}, {"--user": user, "--item": item})
    with limited_threads(threads), naming({"labels": "--label", "user": "--user", "items": "--item"}):
        table = service.explain_table(of, what, n, values)
    show_notes(table.notes, options.names_of({"kernel": None}))
    write_table(table, out, as_json=json, safe_csv=safe_csv)


def _asked(model: str, task: str, of_labels: dict[str, Any], of_ratings: dict[str, Any]) -> tuple[Any, Any]:
    """Return for whom and what to explain; refuse what belongs to the other task."""
    mine, others = (of_ratings, of_labels) if task == "ratings" else (of_labels, of_ratings)
    for name, value in others.items():
        if value:
            raise InvalidInputError(f"{name} does not go with {model}, a model of {task}: give {' and '.join(mine)}")
    missing = [name for name in mine if not mine[name] and name != "--label"]
    if missing:
        raise InvalidInputError(f"{model}: is a model of {task}: say what to explain, with {' and '.join(missing)}")
    whose, what = mine.values()
    return whose, what
