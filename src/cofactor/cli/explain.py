"""``cofactor explain``: which features speak for and against predicted labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming
from cofactor.cli.files import check_sources, check_target, inputs_of, load_model
from cofactor.cli.interrupts import loading
from cofactor.cli.output import limited_threads, show_notes, write_table
from cofactor.errors import InvalidInputError
from cofactor.tasks import task_of


def explain(
    context: typer.Context,
    model: options.ModelFile,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Features: ARFF, libsvm, MATLAB, CSV, TSV, Parquet, with or without labels; - for standard input.",
        ),
    ],
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            "-l",
            metavar="NAME",
            help="Explain this label for every instance; repeat. By default those that are predicted for it.",
        ),
    ] = None,
    n: Annotated[
        int, typer.Option("-n", metavar="N", min=1, help="Number of features, or of training instances, for a label.")
    ] = 10,
    out: options.Out = None,
    safe_csv: options.SafeCsv = False,
    threads: options.Threads = None,
    json: options.Json = False,
    **own: Any,
) -> None:
    """Say why labels are predicted: the features that speak for and against each, or the training instances that vote.

    Contributions, the rest and the intercept sum to the score, exactly. Columns: instance, label, score, kind
    (feature, instance, rest, intercept), term, value of the feature, contribution; the strongest terms first. Training
    instances have their ids if the model was fitted with --id, else their rows in the file, counted from 1. With --json
    an object stands in each line.
    """
    inputs = {"MODEL": model, "FILE": file, **inputs_of(own)}
    check_target(out, *inputs.values())
    check_sources(inputs)
    fitted = load_model(model)
    with loading():
        task = task_of(fitted)
    if not task.can("explain"):
        raise InvalidInputError(f"{model}: is a model of {task.name}, whose predictions cannot be explained yet")
    _, given = options.choose_task(context, "explain", model, task.name, None, own)
    with limited_threads(threads), naming({"labels": "--label"}):
        table = task.explain(fitted, file, label, n, task.values("explain", given))
    show_notes(table.notes)
    write_table(table, out, as_json=json, safe_csv=safe_csv)
