"""Options that tasks declare, so that every shell can ask for them in its own way.

The command line makes ``--levels 1:5`` of an `Option`, a server a field of a form. This module loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from cofactor.errors import Argument, InvalidInputError
from cofactor.tasks.parsing import (
    columns_of,
    names_in,
    parse_bins,
    parse_column,
    parse_lengths,
    parse_levels,
    parse_ratings,
    parse_separator,
    parse_threshold,
)

__all__ = ["LABELS", "RATINGS", "Option", "OptionTable"]


@dataclass(frozen=True)
class Option:
    """An option that a task takes.

    Parameters
    ----------
    name : str
        As Python knows it, such as ``"zero_based"``.
    help : str
        What it does, in one or two sentences.
    kind : type, default=str
        ``str``, ``int``, ``float`` or ``bool``: what a shell gives.
    default : object, optional
        Value where nothing is given.
    group : str, default=""
        Heading below which a shell shows it.
    unit : str, default=""
        What a value stands for, in capitals: ``"COLUMN"``, ``"N"``.
    choices : tuple of str, default=()
        The values there are, if they are few.
    low, high : float, optional
        Limits of a number.
    opposite : str, default=""
        For a `bool` without default: what the other value is called; "one_based" is the opposite of "zero_based".
    parse : callable, optional
        Makes the value for Python of the text that a user wrote.
    many : bool, default=False
        Whether the text is a list with commas, so that a shell may take it in several pieces.

    Examples
    --------
    >>> option = Option("levels", "Values that a rating can take.", parse=parse_levels)
    >>> option.value("1:3")
    [1.0, 2.0, 3.0]
    """

    name: str
    help: str
    kind: type = str
    default: Any = None
    group: str = ""
    unit: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    opposite: str = ""
    parse: Callable[[str], Any] | None = None
    many: bool = False

    def value(self, given: Any) -> Any:
        """Return the value for Python of what a user gave.

        Parameters
        ----------
        given : object
            A text, or a value of `kind`.

        Raises
        ------
        InvalidInputError
            If it cannot be understood, or is none of the choices.
        """
        if given is None:
            return self.default
        value = self.parse(given) if self.parse is not None and isinstance(given, str) else given
        if self.choices and value not in self.choices:
            wanted = f"expected one of {', '.join(map(repr, self.choices))}"
            raise InvalidInputError(wanted, argument=self.name, found=value)
        return value


#: Options of a task, by what is done: "fit", "predict", "evaluate", "compare".
OptionTable: TypeAlias = Mapping[str, tuple[Option, ...]]


def without_unknown(given: Mapping[str, Any], options: Iterable[Option], task: str) -> dict[str, Any]:
    """Return the values of all options of a task, defaults for those not given; refuse others.

    Parameters
    ----------
    given : mapping from str to object
        Values by name.
    options : iterable of Option
        Those that the task takes.
    task : str
        Its name, for the message.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise InvalidInputError((Argument(name), f" is no option of {task}, which has ", ", ".join(known)))
    return {name: option.value(given.get(name)) for name, option in known.items()}


_TABLES = "Text files"
_COLUMNS = "Ratings: columns of FILE"
_LABELS = "Labels: columns of FILE"
_CHANCES = "What is written"
_OUTPUT = "Labels: what is written"
_LISTS = "Ratings: recommendations"
_SIDES = "Ratings: features of users and items"
_REASONS = "Ratings: what is explained"
_COLUMN_HELP = "Name of its column, or its position counted from 0."

USER = Option("user", _COLUMN_HELP, group=_COLUMNS, unit="COLUMN", parse=parse_column)
ITEM = Option("item", _COLUMN_HELP, group=_COLUMNS, unit="COLUMN", parse=parse_column)
RATING = Option("rating", _COLUMN_HELP, group=_COLUMNS, unit="COLUMN", parse=parse_column)
TIME = Option(
    "time",
    "Column of times: seconds since 1970, or dates such as 2020-12-31; by default one called timestamp, time or date.",
    group=_COLUMNS,
    unit="COLUMN",
    parse=parse_column,
)
TEXT_FILES = (
    Option("sep", "Separator, by default found out; tab for \\t.", group=_TABLES, unit="TEXT", parse=parse_separator),
    Option(
        "header",
        "Whether line 1 names the columns, by default found out.",
        kind=bool,
        group=_TABLES,
        opposite="no_header",
    ),
    Option(
        "encoding",
        "Encoding of a text file, such as latin-1; by default utf-8, or that of training.",
        default="utf-8",
        group=_TABLES,
        unit="NAME",
    ),
)
SCALE = (
    Option(
        "levels",
        "Values a rating can take: 1,2,3,4,5 or 0.5:5:0.5 (from, to, step); words from low to high: down,up. By "
        "default those that occur.",
        group=_COLUMNS,
        unit="LIST",
        parse=parse_levels,
    ),
    Option(
        "bins",
        "Cut continuous ratings, or counts, into so many levels, or at these edges: 0,1,5,20.",
        group=_COLUMNS,
        unit="N|EDGES",
        parse=parse_bins,
    ),
    Option(
        "bin_by",
        "How to cut: equal width; as many ratings in each (quantile); equal ratios (log). By default equal width, "
        "unless one level would hold more than three quarters of the ratings; then quantile.",
        default="auto",
        group=_COLUMNS,
        choices=("auto", "width", "quantile", "log"),
    ),
)
DROP_RATING = Option(
    "drop_rating",
    "Leave out ratings of this value, such as 0 where it means that there is no rating.",
    group=_COLUMNS,
    unit="X",
    parse=parse_ratings,
    many=True,
)
AGAIN = Option(
    "again",
    "Take in what the fit, or an earlier update, took in already, as when a job is run twice; by default a note says "
    "so, and the model stays as it is.",
    kind=bool,
    default=False,
)
IMPLICIT = Option(
    "implicit",
    "Read FILE as what users interacted with, whatever its ratings say: clicks, plays, purchases; an item that was "
    "rated twice counts once. A file without ratings is found out.",
    kind=bool,
    default=False,
    group=_COLUMNS,
)
COUNT = Option(
    "count",
    "Column that says how often a user interacted with an item; by default one called count, plays, clicks, views, "
    "purchases or the like, where there are no ratings.",
    group=_COLUMNS,
    unit="COLUMN",
    parse=parse_column,
)
KIND = Option(
    "kind",
    "Column of kinds of events: view, cart, purchase; by default one called event, event_type, action, behavior, kind "
    "or the like, where there are no ratings. What each kind counts is learned.",
    group=_COLUMNS,
    unit="COLUMN",
    parse=parse_column,
)
TARGET = Option(
    "target",
    "The kind of events that lists are to be about, such as purchase; by default the rarest one that has 300 events.",
    group=_COLUMNS,
    unit="KIND",
)
DUPLICATES = Option(
    "duplicates",
    "Several ratings of one user for one item: refuse, keep the last (by time, where there is a column of times), or "
    "take the mean. Counts of interactions add up.",
    default="error",
    choices=("error", "last", "mean"),
)
KNOWN = Option(
    "known",
    "New ratings of users who were in training: refuse them, merge them with those of training (the new one of a pair "
    "counts), or replace those of training.",
    default="error",
    choices=("error", "merge", "replace"),
)
TEST_USERS = Option(
    "test_users",
    "Part of the users held out (strong, new-users).",
    kind=float,
    default=0.1,
    unit="X",
    low=0.0,
    high=1.0,
)
RANK = Option(
    "rank",
    "Measure lists of recommendations instead: nDCG, precision, recall, MAP, hits, coverage, novelty and others, over "
    "all unseen items, with errors over users, beside what is popular. By default a random part of each user is "
    "held out (per-user), once.",
    kind=bool,
    default=False,
    group=_LISTS,
)
AT = Option(
    "at",
    "Lengths of lists (--rank), with commas between; by default 10.",
    default=(10,),
    group=_LISTS,
    unit="N",
    parse=parse_lengths,
    many=True,
)
LIKES = Option(
    "likes",
    "The least rating of an item that is liked (--rank); models with probabilities rank by that of such a rating. By "
    "default every item with an interaction is relevant.",
    kind=float,
    group=_LISTS,
    unit="RATING",
)
AUC = Option(
    "auc",
    "Also the AUC (--rank), for which all items are ranked for every user; slow for models drawn from a posterior.",
    kind=bool,
    default=False,
    group=_LISTS,
)
PROBA = Option(
    "proba",
    "Of ratings also the probability of every level, in a column of its own, for models that have such, as "
    "ordinal-probit; of labels their calibrated probabilities instead: a column for each, or with --top those of "
    "highest probability.",
    kind=bool,
    default=False,
    group=_CHANCES,
)
SCHEDULER = Option(
    "scheduler",
    "Of ratings: let the workers of this Dask scheduler predict; they read MODEL where it lies.",
    group=_CHANCES,
    unit="ADDRESS",
)

LABEL_COLUMNS = (
    Option(
        "labels",
        "Which columns of a table or an ARFF file are labels: the beginning of their names, their names with commas "
        "between, or a number (6: the first six; -6: the last six).",
        group=_LABELS,
        unit="COLUMNS",
        parse=columns_of,
        many=True,
    ),
    Option(
        "xml",
        "Mulan's list of labels; by default the one of the same name beside an ARFF file.",
        group=_LABELS,
        unit="FILE",
    ),
)
DROP = Option(
    "drop",
    "Columns which are neither features nor labels, with commas between; or repeat.",
    default=(),
    group=_LABELS,
    unit="NAMES",
    parse=names_in,
    many=True,
)
_NAMES_ROWS = "The column which names the rows: no feature; predictions have it as their first column."
ID = Option("id", _NAMES_ROWS, group=_LABELS, unit="COLUMN")
MAX_VALUES = Option(
    "max_values",
    "Most values that a column of text may have, since each becomes a feature; by default 250, and fewer than nine "
    "tenths of the rows.",
    kind=int,
    group=_LABELS,
    unit="N",
    low=1,
)
TEXT = Option(
    "text",
    "Columns of free text, with commas between; or repeat. Their words become features (tf-idf).",
    default=(),
    group=_LABELS,
    unit="NAMES",
    parse=names_in,
    many=True,
)
MAX_WORDS = Option(
    "max_words",
    "Most features that a column of free text becomes, the most frequent words first; by default 20,000.",
    kind=int,
    group=_LABELS,
    unit="N",
    low=1,
)
NGRAMS = Option(
    "ngrams",
    "Runs of up to N words of free text are features too; by default 1.",
    kind=int,
    group=_LABELS,
    unit="N",
    low=1,
    high=5,
)
LABEL_SEP = Option(
    "label_sep",
    "What parts the tags, where the one column of --labels lists all tags of a row: '|'; tab for \\t.",
    group=_LABELS,
    unit="TEXT",
    parse=parse_separator,
)
MISSING = Option(
    "missing",
    "Labels without a value in a table (an empty cell, NA, ?) or an ARFF file (?): refuse them, or learn from, and "
    "measure on, the labels that are known.",
    default="error",
    group=_LABELS,
    choices=("error", "ignore"),
)
WEIGHTS = Option(
    "weights",
    "The column which holds weights of the rows: no feature; the fit counts them.",
    group=_LABELS,
    unit="COLUMN",
)
RECORDED = Option(
    "recorded",
    "Share of the labels that are on which FILE records, where a 0 may also mean that nobody recorded it; with "
    "--threshold auto.",
    kind=float,
    group=_LABELS,
    unit="X",
    low=0.0,
    high=1.0,
)
THRESHOLD = Option(
    "threshold",
    "A label is predicted where calibrated probabilities say so (auto), where its score is above X, or where a rule "
    "learned from held-out instances says: global, per-label, top-k or cardinality. joint: whole label sets, of models "
    "that decode them.",
    default="auto",
    group=_LABELS,
    unit="X|RULE",
    parse=parse_threshold,
)
DECIDE_FOR = Option(
    "decide_for",
    "What decisions by probabilities (--threshold auto) are best at: micro-F1, macro-F1, F1 of each instance, Hamming "
    "loss or subset accuracy.",
    default="micro",
    group=_LABELS,
    choices=("micro", "macro", "example", "hamming", "subset"),
)
FORMAT = Option(
    "format", "Format of FILE; by default found out.", group=_LABELS, choices=("arff", "mat", "libsvm", "table")
)
_SHIFTED = "For rcv1, whose labels are shifted in half of the rows."
ALIGNED = Option("aligned", _SHIFTED, group=_LABELS, choices=("published", "realigned"))
ZERO_BASED = Option(
    "zero_based",
    "From what the indices of a libsvm file count, by default found out.",
    kind=bool,
    group=_LABELS,
    opposite="one_based",
)
_AS_TOLD = (*TEXT_FILES[:-1], replace(TEXT_FILES[-1], default=None))  # readers of labels know what None stands for
FORM = Option(
    "form",
    "tags: the names of the labels; table: a column of 0 and 1 for each.",
    default="tags",
    group=_OUTPUT,
    choices=("tags", "table"),
)
SCORES = Option("scores", "Scores instead: a column for each label.", kind=bool, default=False, group=_OUTPUT)
TOP = Option(
    "top", "The N labels with the highest scores, in rows of their own.", kind=int, group=_OUTPUT, unit="N", low=1
)
COVERAGE = Option(
    "coverage",
    "Sets of labels instead, which hold all labels of an instance with this probability (0.9, for example).",
    kind=float,
    group=_OUTPUT,
    unit="SHARE",
    low=0,
    high=1,
)
BY_LABEL = Option(
    "by_label",
    "Also a row for each label: what it costs, precision, recall, F1, average precision, calibration, and the label "
    "that it is most often taken for; the worst first. --out FILE.csv or FILE.html writes all of them.",
    kind=bool,
    default=False,
    group=_OUTPUT,
)

USER_FEATURES = Option(
    "user_features",
    "What is known of users beside ratings: ids in the first column, numbers, or words for categories, in the others; "
    "or a known data set such as ml-100k. For recommender, als, bpmf, mmmf and ordinal-probit. A model that was "
    "fitted with it knows new users by it.",
    group=_SIDES,
    unit="FILE|NAME",
)
ITEM_FEATURES = Option("item_features", "The same of items.", group=_SIDES, unit="FILE|NAME")

TITLES = Option(
    "titles",
    "Titles: a known data set such as ml-100k, or a table of id and title.",
    group=_REASONS,
    unit="NAME|FILE",
)

_READ_RATINGS = (USER, ITEM, RATING, TIME, *TEXT_FILES, *SCALE, DROP_RATING, DUPLICATES, IMPLICIT, COUNT)
_OF_WORDS = (LABEL_SEP, TEXT, MAX_WORDS, NGRAMS)
_READ_LABELS = (
    *LABEL_COLUMNS,
    *_OF_WORDS,
    DROP,
    ID,
    MAX_VALUES,
    MISSING,
    THRESHOLD,
    DECIDE_FOR,
    FORMAT,
    ALIGNED,
    ZERO_BASED,
    *_AS_TOLD,
)

#: Options of ratings.
RATINGS: OptionTable = {
    "fit": (*_READ_RATINGS, KIND, TARGET, USER_FEATURES, ITEM_FEATURES),
    "compare": (*_READ_RATINGS, RANK, AT, LIKES, USER_FEATURES, ITEM_FEATURES),
    "evaluate": (*_READ_RATINGS, TEST_USERS, RANK, AT, LIKES, AUC, USER_FEATURES, ITEM_FEATURES),
    "predict": (USER, ITEM, TIME, *TEXT_FILES, USER_FEATURES, ITEM_FEATURES, PROBA, SCHEDULER),
    "explain": (TITLES, _AS_TOLD[-1]),
    "recommend": (
        *(USER, ITEM, RATING, TIME, DROP_RATING, IMPLICIT, COUNT, *TEXT_FILES, KNOWN, USER_FEATURES, ITEM_FEATURES),
    ),
    "update": (
        USER,
        ITEM,
        RATING,
        TIME,
        DROP_RATING,
        COUNT,
        *TEXT_FILES,
        DUPLICATES,
        USER_FEATURES,
        ITEM_FEATURES,
        AGAIN,
    ),
    "shard": (USER, ITEM, RATING, TIME, *TEXT_FILES, SCALE[0], DROP_RATING, DUPLICATES),
}
#: Options of labels.
LABELS: OptionTable = {
    "fit": (*_READ_LABELS, WEIGHTS, RECORDED),
    "compare": _READ_LABELS,
    "evaluate": (*_READ_LABELS, BY_LABEL),
    "predict": (DROP, ID, FORMAT, ZERO_BASED, *_AS_TOLD, FORM, SCORES, PROBA, TOP, COVERAGE),
    "explain": (DROP, ID, FORMAT, ZERO_BASED, *_AS_TOLD),
    "update": _READ_LABELS,
}
