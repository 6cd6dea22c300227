"""Options that tasks declare, so that every shell can ask for them in its own way.

The command line makes ``--levels 1:5`` of an `Option`, a server a field of a form. This module loads nothing heavy.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from cofactor.errors import Argument, InvalidInputError
from cofactor.limits import MAX_LEVELS
from cofactor.text import first_repeated, is_number

__all__ = ["LABELS", "RATINGS", "Option", "OptionTable", "columns_of", "names_in", "parse_levels"]


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


def parse_levels(text: str) -> list[float] | list[str]:
    """Return the levels which a list ``1,2,3``, a range ``from:to:step``, or words stand for.

    Parameters
    ----------
    text : str
        What a user wrote.

    Examples
    --------
    >>> parse_levels("1,2,5"), parse_levels("0.5:2:0.5"), parse_levels("1:3")
    ([1.0, 2.0, 5.0], [0.5, 1.0, 1.5, 2.0], [1.0, 2.0, 3.0])
    >>> parse_levels("down,up")
    ['down', 'up']
    """
    words = [word.strip() for word in text.split(",")]
    try:
        if len(words) > 1 and not any(map(is_number, words)) and all(words):
            return _words(words)
        return _range(text.split(":")) if ":" in text else _increasing(words)
    except ValueError as error:
        advice = "write levels as 1,2,3,4,5, as a range such as 1:5 or 0.5:5:0.5 (from:to:step), or as words: down,up"
        raise InvalidInputError(str(error), argument="levels", found=text, advice=advice) from None


def _words(words: Sequence[str]) -> list[str]:
    """Return words that stand for levels; they must differ, whatever their case."""
    again = first_repeated(word.casefold() for word in words)
    if again is not None:
        raise ValueError(f"{again} is there twice")
    if len(words) > MAX_LEVELS:
        raise ValueError(f"these are {len(words)} levels, but there can be at most {MAX_LEVELS}")
    return list(words)


def _increasing(words: Sequence[str]) -> list[float]:
    """Return the numbers of a list; they must increase."""
    levels = [float(_exact(word)) for word in words]
    if len(levels) < 2:
        raise ValueError("there must be at least two levels")
    for a, b in itertools.pairwise(levels):
        if a == b:
            raise ValueError(f"{a:g} is there twice")
        if a > b:
            raise ValueError(f"levels must increase, but {b:g} follows {a:g}")
    if len(levels) > MAX_LEVELS:
        raise ValueError(f"these are {len(levels)} levels, but there can be at most {MAX_LEVELS}")
    return levels


def _range(words: Sequence[str]) -> list[float]:
    """Return the numbers of a range.

    Fractions are exact, so that the numbers are those which a file gives: the float of 0.3, not 0.1 + 2 · 0.1.
    """
    if len(words) > 3:
        raise ValueError(f"a range has two or three numbers, not {len(words)}")
    low, high, step = [*map(_exact, words), Fraction(1)][:3]
    if step <= 0:
        raise ValueError(f"the step must be above 0, not {float(step):g}")
    if low >= high:
        raise ValueError(f"levels must increase, but {float(high):g} is not above {float(low):g}")
    steps = (high - low) / step
    if steps.denominator != 1:
        raise ValueError(f"steps of {float(step):g} from {float(low):g} do not reach {float(high):g} exactly")
    if steps >= MAX_LEVELS:
        raise ValueError(f"these are {steps + 1} levels, but there can be at most {MAX_LEVELS}")
    return [float(low + k * step) for k in range(int(steps) + 1)]


def _exact(word: str) -> Fraction:
    """Return a finite number as a fraction, which is exact."""
    exponent = _EXPONENT.search(word)
    if len(word) > _MOST_DIGITS or (exponent is not None and abs(int(exponent[1])) > _MOST_DIGITS):
        raise ValueError(f"{word[:20]!r} is beyond the numbers of a scale")  # its fraction would take hours
    try:
        number = Fraction(word)
        float(number)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise ValueError(f"{word!r} is not a number" if word.strip() else "a number is missing") from None
    return number


def parse_bins(text: str) -> int | list[float]:
    """Return a number of bins, or their edges.

    Examples
    --------
    >>> parse_bins("5"), parse_bins("0,1,5,20")
    (5, [0.0, 1.0, 5.0, 20.0])
    """
    try:
        return [float(word) for word in text.split(",")] if "," in text else int(text)
    except ValueError:
        wanted = "expected a whole number, or edges such as 0,1,5,20"
        raise InvalidInputError(wanted, argument="bins", found=text) from None


def parse_ratings(text: str) -> list[float]:
    """Return the ratings of a list.

    Examples
    --------
    >>> parse_ratings("0"), parse_ratings("0,99")
    ([0.0], [0.0, 99.0])
    """
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise InvalidInputError("expected a rating, such as 0", argument="drop_rating", found=text) from None


def parse_column(text: str) -> str | int:
    """Return the name of a column, or its position.

    Examples
    --------
    >>> parse_column("film"), parse_column("2")
    ('film', 2)
    """
    return int(text) if text.isdecimal() else text


def parse_separator(text: str) -> str:
    r"""Return the separator that a word stands for.

    Examples
    --------
    >>> parse_separator("tab"), parse_separator(";")
    ('\t', ';')
    """
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)


def columns_of(text: str) -> str | int | list[str]:
    """Return which columns are labels: the beginning of their names, their number, or their names.

    Parameters
    ----------
    text : str
        What a user wrote.

    Examples
    --------
    >>> columns_of("is_"), columns_of("-6"), columns_of('sea,"sun, or sol"')
    ('is_', -6, ['sea', 'sun, or sol'])
    """
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return names_in(text) if "," in text else text


def names_in(text: str) -> list[str]:
    """Return names with commas between them; those with a comma inside stand in quotes."""
    (cells,) = csv.reader([text], skipinitialspace=True)
    return [cell for cell in cells if cell]


def parse_alpha(text: str) -> Any:
    """Return a number, ``"auto"``, or a list of these.

    Parameters
    ----------
    text : str
        What a user wrote.

    Examples
    --------
    >>> parse_alpha("8"), parse_alpha("auto"), parse_alpha("8,auto,12.5")
    (8.0, 'auto', [8.0, 'auto', 12.5])
    """
    try:
        parts = [part if part == "auto" else float(part) for part in text.replace(" ", "").split(",")]
    except ValueError:
        wanted = "expected a number above 0, auto, or a comma-separated list of these"
        raise InvalidInputError(wanted, argument="alpha", found=text) from None
    return parts[0] if len(parts) == 1 else parts


def parse_threshold(text: str) -> float | str:
    """Return a number, or the name of a rule.

    Examples
    --------
    >>> parse_threshold("0"), parse_threshold("per-label")
    (0.0, 'per-label')
    """
    if text in _RULES:
        return text
    try:
        return float(text)
    except ValueError:
        wanted = f"expected a number, or one of {', '.join(_RULES)}"
        raise InvalidInputError(wanted, argument="threshold", found=text) from None


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


#: Numbers of a scale have fewer digits, and exponents below this.
_MOST_DIGITS = 400
_EXPONENT = re.compile(r"[eE]([+-]?\d+)\s*$")
_RULES = ("global", "per-label", "top-k", "cardinality")
_TABLES = "Text files"
_COLUMNS = "Ratings: columns of FILE"
_LABELS = "Labels: columns of FILE"
_CHANCES = "Ratings: what is written"
_OUTPUT = "Labels: what is written"
_SIDES = "Ratings: features of users and items"
_COLUMN_HELP = "Name of its column, or its position counted from 0."

USER = Option("user", _COLUMN_HELP, group=_COLUMNS, unit="COLUMN", parse=parse_column)
ITEM = Option("item", _COLUMN_HELP, group=_COLUMNS, unit="COLUMN", parse=parse_column)
RATING = Option("rating", _COLUMN_HELP, group=_COLUMNS, unit="COLUMN", parse=parse_column)
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
DUPLICATES = Option(
    "duplicates",
    "Several ratings of one user for one item: refuse, keep the last (by time, where there is a column of times), or "
    "take the mean.",
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
    "test_users", "Part of the users held out (strong).", kind=float, default=0.1, unit="X", low=0.0, high=1.0
)
PROBA = Option(
    "proba",
    "Also the probability of every level, in a column of its own; for models that have such, as ordinal-probit.",
    kind=bool,
    default=False,
    group=_CHANCES,
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
THRESHOLD = Option(
    "threshold",
    "A label is predicted where its score is above 0, above X, or where a rule learned from held-out instances says: "
    "global, per-label, top-k or cardinality.",
    default=0.0,
    group=_LABELS,
    unit="X|RULE",
    parse=parse_threshold,
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

USER_FEATURES = Option(
    "user_features",
    "What is known of users beside ratings: ids in the first column, numbers in the others; for models that take it, "
    "as ordinal-probit. A model that was fitted with it knows new users by it.",
    group=_SIDES,
    unit="FILE",
)
ITEM_FEATURES = Option("item_features", "The same of items.", group=_SIDES, unit="FILE")

_READ_RATINGS = (USER, ITEM, RATING, *TEXT_FILES, *SCALE, DROP_RATING, DUPLICATES)
_READ_LABELS = (*LABEL_COLUMNS, DROP, ID, MAX_VALUES, THRESHOLD, FORMAT, ALIGNED, ZERO_BASED, *_AS_TOLD)

#: Options of ratings.
RATINGS: OptionTable = {
    "fit": (*_READ_RATINGS, USER_FEATURES, ITEM_FEATURES),
    "compare": _READ_RATINGS,
    "evaluate": (*_READ_RATINGS, TEST_USERS),
    "predict": (USER, ITEM, *TEXT_FILES, USER_FEATURES, ITEM_FEATURES, PROBA),
    "recommend": (USER, ITEM, RATING, DROP_RATING, *TEXT_FILES, KNOWN, USER_FEATURES, ITEM_FEATURES),
}
#: Options of labels.
LABELS: OptionTable = {
    "fit": _READ_LABELS,
    "compare": _READ_LABELS,
    "evaluate": _READ_LABELS,
    "predict": (DROP, ID, FORMAT, ZERO_BASED, *_AS_TOLD, FORM, SCORES, TOP),
}
