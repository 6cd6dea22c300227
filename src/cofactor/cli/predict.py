"""``cofactor predict``: ratings for pairs of user and item, or labels of instances."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import InputError
from cofactor.cli.label_predict import Form, predict_labels
from cofactor.cli.label_reading import LabelOptions
from cofactor.cli.models import require_probabilities
from cofactor.cli.progress import limited_threads
from cofactor.cli.reading import TableOptions, check_target, load_model, read_pairs_for
from cofactor.cli.tables import note, shortest, write_rows
from cofactor.cli.tasks import Task, refuse_options

_CHANCES = "Ratings: what is written"
_OUTPUT = "Labels: what is written"


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
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Also the probability of every level, in a column of its own; for models that have such, as "
            "ordinal-probit.",
            rich_help_panel=_CHANCES,
        ),
    ] = False,
    form: Annotated[
        Form,
        typer.Option(
            help="tags: the names of the labels; table: a column of 0 and 1 for each.", rich_help_panel=_OUTPUT
        ),
    ] = Form.TAGS,
    scores: Annotated[
        bool, typer.Option("--scores", help="Scores instead: a column for each label.", rich_help_panel=_OUTPUT)
    ] = False,
    top: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="The N labels with the highest scores, in rows of their own.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    drop: options.DropColumns = None,
    format: options.FileFormat = None,
    zero_based: options.ZeroBased = None,
) -> None:
    """Predict ratings of pairs: columns user, item, prediction (on the scale of the ratings) and score (real number).

    With --proba also columns p_1, p_2, ..., one for each level, which sum to one. Of a model that has probabilities the
    score is the expected rating.

    A user or item that was not in training counts as an average one; standard error says how many there were.

    A label model predicts labels instead: columns instance (from 1) and labels, joined by semicolons. Features are
    matched by their names; with --json an object stands in each line.
    """
    check_target(out, model, file)
    if model == file == "-":
        raise InputError("MODEL and FILE cannot both be standard input: give one of them as a file")
    fitted = load_model(model)
    if hasattr(fitted, "label_names_"):
        refuse_options(context, Task.LABELS, model)
        reading = LabelOptions(None, None, drop, format, None, zero_based, sep, header, encoding)
        predict_labels(fitted, file, out, reading, form, scores, top, threads, json)
        return
    refuse_options(context, Task.RATINGS, model)
    table = TableOptions(user, item, None, sep, header, encoding)
    if proba:
        require_probabilities(fitted, model, "--proba")
    _predict_ratings(fitted, file, table, out, threads, json, proba)


def _predict_ratings(
    fitted: Any, pairs: str, table: TableOptions, out: str | None, threads: int | None, json: bool, proba: bool
) -> None:
    X = read_pairs_for(pairs, fitted, table)
    if not len(X):
        raise InputError(
            f"{pairs if pairs != '-' else 'standard input'}: holds no pairs, expected lines of user and item"
        )
    with limited_threads(threads):
        predictions, scores = fitted.predict(X), fitted.decision_function(X)
        chances = fitted.predict_proba(X) if proba else None
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
    if chances is not None:
        columns |= {f"p_{level:g}": column for level, column in zip(fitted.scale_.tolist(), chances.T, strict=True)}
    write_rows(columns, out, as_json=json, title="Predictions")
