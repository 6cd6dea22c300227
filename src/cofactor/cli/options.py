"""Options which several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from cofactor.cli.tasks import Task

MODEL_HELP = (
    "For ratings mmmf (the default), ordinal-probit (the most accurate, with probabilities), als (the fastest), hmf, "
    "pmmmf, ensemble, binary-mmmf for two levels, and others (an unknown name lists all); for labels plst (the "
    "default), cplst, cssp, faie, leml, omf, mlchmf, grople, mlknn, binary-relevance"
)

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Ratings: CSV, TSV, '::' or Parquet; or features and labels: ARFF, libsvm, MATLAB, or a table with "
        "--labels; plain or gzip; - for standard input; or the name of a known data set such as ml-100k or emotions "
        "(see cofactor datasets list).",
    ),
]
TaskOption = Annotated[
    Task | None,
    typer.Option("--task", help="What FILE holds; by default found out. A table holds ratings unless --labels says."),
]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model written by cofactor fit; - for standard input.")
]
Alpha = Annotated[
    str,
    typer.Option(
        metavar="X|auto",
        help="Weight of the penalty; auto chooses it, and for labels what else matters, by validation; for hmf also "
        "one for each stage: 8,12,12,9.",
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
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", help="Number of cells at a time; -1: one for each core.")
]
Retry = Annotated[bool, typer.Option("--retry", help="Run cells again that failed.")]


class Duplicates(StrEnum):
    """What to do with several ratings of one user for one item."""

    ERROR = "error"
    LAST = "last"
    MEAN = "mean"


_TABLES = "Text files"
_COLUMNS = "Ratings: columns of FILE"
_LABELS = "Labels: columns of FILE"
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
        "--sep", metavar="TEXT", help="Separator, by default found out; tab for \\t.", rich_help_panel=_TABLES
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether line 1 names the columns, by default found out.", rich_help_panel=_TABLES
    ),
]
Encoding = Annotated[
    str, typer.Option(metavar="NAME", help="Encoding of a text file, such as latin-1.", rich_help_panel=_TABLES)
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

LabelColumns = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="COLUMNS",
        help="Which columns of a table or an ARFF file are labels: the beginning of their names, their names with "
        "commas between, or a number (6: the first six; -6: the last six).",
        rich_help_panel=_LABELS,
    ),
]
LabelXml = Annotated[
    str | None,
    typer.Option(
        "--xml",
        metavar="FILE",
        help="Mulan's list of labels; by default the one of the same name beside an ARFF file.",
        rich_help_panel=_LABELS,
    ),
]
DropColumns = Annotated[
    str | None,
    typer.Option(
        "--drop", metavar="NAMES", help="Columns which are neither features nor labels.", rich_help_panel=_LABELS
    ),
]


class Format(StrEnum):
    """Formats of files of labels."""

    ARFF = "arff"
    MAT = "mat"
    LIBSVM = "libsvm"
    TABLE = "table"


class Aligned(StrEnum):
    """What to do with the shifted labels of rcv1."""

    PUBLISHED = "published"
    REALIGNED = "realigned"


FileFormat = Annotated[
    Format | None, typer.Option("--format", help="Format of FILE; by default found out.", rich_help_panel=_LABELS)
]
AlignedLabels = Annotated[
    Aligned | None,
    typer.Option("--aligned", help="For rcv1, whose labels are shifted in half of the rows.", rich_help_panel=_LABELS),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="From what the indices of a libsvm file count, by default found out.",
        rich_help_panel=_LABELS,
    ),
]
Threshold = Annotated[
    str,
    typer.Option(
        metavar="X|RULE",
        help="A label is predicted where its score is above 0, above X, or where a rule learned from held-out "
        "instances says: global, per-label, top-k or cardinality.",
        rich_help_panel=_LABELS,
    ),
]
