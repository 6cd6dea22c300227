"""``cofactor predict``: ratings for pairs of user and item."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import InputError
from cofactor.cli.progress import limited_threads
from cofactor.cli.reading import TableOptions, check_target, load_model, read_pairs_for
from cofactor.cli.tables import note, shortest, write_rows


def predict(
    model: options.ModelFile,
    pairs: Annotated[
        str,
        typer.Argument(
            metavar="PAIRS",
            help="Users and items: CSV, TSV, '::' or Parquet; other columns may be there; - for standard input.",
        ),
    ],
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
    threads: options.Threads = None,
    json: options.Json = False,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    sep: options.Separator = None,
    header: options.Header = None,
    encoding: options.Encoding = "utf-8",
) -> None:
    """Predict ratings of pairs: columns user, item, prediction (on the scale of the ratings) and score (real number).

    A user or item that was not in training counts as an average one; standard error says how many there were.
    """
    check_target(out, model, pairs)
    if model == pairs == "-":
        raise InputError("MODEL and PAIRS cannot both be standard input: give one of them as a file")
    fitted = load_model(model)
    X = read_pairs_for(pairs, fitted, TableOptions(user, item, None, sep, header, encoding))
    if not len(X):
        raise InputError(
            f"{pairs if pairs != '-' else 'standard input'}: holds no pairs, expected lines of user and item"
        )
    with limited_threads(threads):
        predictions, scores = fitted.predict(X), fitted.decision_function(X)
    unknown = int(((fitted.users_.index(X[:, 0]) < 0) | (fitted.items_.index(X[:, 1]) < 0)).sum())
    if unknown:
        note(
            f"cofactor: note: pairs with a user or an item that was not in training: {unknown:,} of {len(X):,}; "
            "they are predicted as for an average one"
        )
    columns: dict[str, Any] = {
        "user": X[:, 0],
        "item": X[:, 1],
        "prediction": predictions,
        "score": shortest(scores),
    }
    write_rows(columns, out, as_json=json, title="Predictions")
