"""Options which several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

MODEL_HELP = "mmmf, hmf, pmmmf, als, ensemble, or binary-mmmf for two levels"

RatingsFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Ratings: CSV, TSV, '::' or Parquet, plain or gzip; - for standard input; or the name of a known "
        "data set such as ml-100k (see cofactor datasets list).",
    ),
]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model written by cofactor fit; - for standard input.")
]
Alpha = Annotated[
    str,
    typer.Option(
        metavar="X|auto",
        help="Weight of the penalty; auto chooses it by validation; for hmf also one for each stage: 8,12,12,9.",
    ),
]
Factors = Annotated[int | None, typer.Option(metavar="N", min=1, help="Number of factors; by default the model's own.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed: the same one gives the same result.")]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param", metavar="NAME=VALUE", help="Any other parameter of the model, such as margin=logistic; repeat."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Threads to use; by default all cores. It changes the time, never the result."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines on standard output.")]


class Duplicates(StrEnum):
    """What to do with several ratings of one user for one item."""

    ERROR = "error"
    LAST = "last"
    MEAN = "mean"


_COLUMNS = "Columns of FILE"
_COLUMN_HELP = "Name of its column, or its position counted from 0."

UserColumn = Annotated[
    str | None, typer.Option("--user", metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_COLUMNS)
]
ItemColumn = Annotated[
    str | None, typer.Option("--item", metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_COLUMNS)
]
RatingColumn = Annotated[
    str | None, typer.Option("--rating", metavar="COLUMN", help=_COLUMN_HELP, rich_help_panel=_COLUMNS)
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep", metavar="TEXT", help="Separator, by default found out; tab for \\t.", rich_help_panel=_COLUMNS
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether line 1 names the columns, by default found out.", rich_help_panel=_COLUMNS
    ),
]
Encoding = Annotated[
    str, typer.Option(metavar="NAME", help="Encoding of a text file, such as latin-1.", rich_help_panel=_COLUMNS)
]
Levels = Annotated[
    str | None,
    typer.Option(
        metavar="LIST",
        help="Values a rating can take: 1,2,3,4,5 or 0.5:5:0.5 (from, to, step); by default those that occur.",
        rich_help_panel=_COLUMNS,
    ),
]
Bins = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=2, help="Cut continuous ratings into so many levels of equal width.", rich_help_panel=_COLUMNS
    ),
]
DuplicateRatings = Annotated[
    Duplicates,
    typer.Option(help="Several ratings of one user for one item: refuse, keep the last, or take the mean."),
]
