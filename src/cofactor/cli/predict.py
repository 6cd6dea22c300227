"""``cofactor predict``: predictions of a model for the content of a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.files import check_sources, check_target, check_there, inputs_of, load_service
from cofactor.cli.output import limited_threads, show_notes, write_table


def predict(
    context: typer.Context,
    model: options.ModelFile,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Users and items: CSV, TSV, '::' or Parquet, other columns may be there; or features: ARFF, libsvm, "
            "MATLAB, CSV, TSV, Parquet, with or without labels; - for standard input.",
        ),
    ],
    out: options.Out = None,
    safe_csv: options.SafeCsv = False,
    threads: options.Threads = None,
    json: options.Json = False,
    **own: Any,
) -> None:
    """Predict ratings of pairs: columns user, item, prediction (on the scale of the ratings) and score (real number).

    With --proba also columns p_1, p_2, ..., one for each level, which sum to one. Of a model that has probabilities the
    score is the expected rating. Of labels --proba writes calibrated probabilities in the place of scores.

    A user or item that was not in training counts as an average one; standard error says how many there were. A model
    that was fitted with features knows them by theirs: [bold]--user-features[/bold], [bold]--item-features[/bold].

    A label model predicts labels instead: columns instance (from 1) and labels, joined by semicolons. Features are
    matched by their names; with --json an object stands in each line.
    """
    inputs = {"MODEL": model, "FILE": file, **inputs_of(own)}
    check_target(out, *inputs.values())
    check_sources(inputs)
    check_there(model, file)
    service = load_service(model)
    values = options.values_for(context, "predict", service, own)
    with limited_threads(threads):
        table = service.predict_file(file, values)
    show_notes(table.notes)
    write_table(table, out, as_json=json, safe_csv=safe_csv)
