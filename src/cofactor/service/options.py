"""Options that tasks declare, so that every shell can ask for them in its own way.

The command line makes ``--levels 1:5`` of an `Option`, a server a field of a form. This module loads nothing heavy.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from cofactor.errors import InvalidInputError
from cofactor.limits import MAX_LEVELS
from cofactor.service.results import RANKINGS
from cofactor.text import first_repeated, is_number

#: Numbers of a scale have fewer digits, and exponents below this.
_MOST_DIGITS = 400
_EXPONENT = re.compile(r"[eE]([+-]?\d+)\s*$")


def parse_lengths(text: str) -> tuple[int, ...]:
    """Return the lengths of lists which numbers with commas stand for.

    Parameters
    ----------
    text : str
        What a user wrote.

    Examples
    --------
    >>> parse_lengths("10, 20")
    (10, 20)
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        advice = "write whole numbers from 1, such as 10 or 10,20"
        raise InvalidInputError("not lengths of lists", argument="at", found=text, advice=advice)
    return tuple(dict.fromkeys(map(int, words)))


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


def parse_factors(text: str | None) -> int | str | None:
    """Return a number of factors, or ``"auto"``.

    Examples
    --------
    >>> parse_factors("8"), parse_factors("auto"), parse_factors(None)
    (8, 'auto', None)
    """
    if text is None or text == "auto":
        return text
    try:
        factors = int(text)
    except ValueError:
        factors = 0
    if factors < 1:
        raise InvalidInputError("expected a whole number above 0, or auto", argument="factors", found=text)
    return factors


def parse_threshold(text: str) -> float | str:
    """Return a number, or the name of a rule.

    Examples
    --------
    >>> parse_threshold("0"), parse_threshold("per-label"), parse_threshold("joint")
    (0.0, 'per-label', 'joint')
    """
    from cofactor.labels.decisions import check_threshold  # loads models, which other options need not

    try:
        threshold: float | str = float(text)
    except ValueError:
        threshold = text
    check_threshold(threshold, joint=True)  # whether a model can decode jointly is seen when it is built
    return threshold


def parse_costs(text: str) -> tuple[float, ...]:
    """Return the costs of errors that are written with a comma between.

    Examples
    --------
    >>> parse_costs("1,5")
    (1.0, 5.0)
    """
    try:
        return tuple(map(float, text.split(",")))
    except ValueError:
        raise InvalidInputError("expected two numbers, such as 1,5", argument="costs", found=text) from None


def parse_quota(text: str, argument: str = "per_group") -> int | dict[str, int]:
    """Return how many items of each group a list may have, or of the groups that are named.

    Examples
    --------
    >>> parse_quota("2"), parse_quota("crime=1,short films=2")
    (2, {'crime': 1, 'short films': 2})
    """
    parts = [part.rpartition("=") for part in text.split(",")]
    try:
        if len(parts) == 1 and not parts[0][1]:
            return int(text)
        if all(group and equals for group, equals, _ in parts):
            return {group.strip(): int(number) for group, _, number in parts}
    except ValueError:
        pass
    raise InvalidInputError("expected a whole number, or GROUP=K,GROUP=K", argument=argument, found=text)


def asked_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what options ask of decisions, as `LabelModel.set_decision` takes it.

    Examples
    --------
    >>> asked_of({"precision": 0.9, "recall": None, "each_label": False, "at_most": 5})
    {'precision': 0.9, 'at_most': 5}
    """
    return {name: options[name] for name in _ASKED.split() if options.get(name) not in (None, False)}


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
    flags : tuple of str, default=()
        What the command line calls it, where that is not its name.

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
    flags: tuple[str, ...] = ()

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


_flag = partial(Option, kind=bool, default=False)
_column = partial(Option, unit="COLUMN", parse=parse_column)
_names = partial(Option, default=(), unit="NAMES", parse=names_in, many=True)

_COLUMN_HELP = "Name of its column, or its position counted from 0."
_OF_NEW = "Name of its column in that file, or its position counted from 0."

#: All options but those of lists, by the heading below which shells show them.
_GROUPS: dict[str, tuple[Option, ...]] = {
    "Ratings: columns of FILE": (
        _column("user", _COLUMN_HELP),
        _column("item", _COLUMN_HELP),
        _column("rating", _COLUMN_HELP),
        _column(
            "time",
            "Column of times: seconds since 1970, or dates such as 2020-12-31; by default one called timestamp, time "
            "or date.",
        ),
        Option(
            "levels",
            "Values a rating can take: 1,2,3,4,5 or 0.5:5:0.5 (from, to, step); words from low to high: down,up. By "
            "default those that occur.",
            unit="LIST",
            parse=parse_levels,
        ),
        Option(
            "bins",
            "Cut continuous ratings, or counts, into so many levels, or at these edges: 0,1,5,20.",
            unit="N|EDGES",
            parse=parse_bins,
        ),
        Option(
            "bin_by",
            "How to cut: equal width; as many ratings in each (quantile); equal ratios (log). By default equal width, "
            "unless one level would hold more than three quarters of the ratings; then quantile.",
            default="auto",
            choices=("auto", "width", "quantile", "log"),
        ),
        Option(
            "drop_rating",
            "Leave out ratings of this value, such as 0 where it means that there is no rating.",
            unit="X",
            parse=parse_ratings,
            many=True,
        ),
        _flag(
            "implicit",
            "Read FILE as what users interacted with, whatever its ratings say: clicks, plays, purchases; an item "
            "that was rated twice counts once. A file without ratings is found out.",
        ),
        _column(
            "count",
            "Column that says how often a user interacted with an item; by default one called count, plays, clicks, "
            "views, purchases or the like, where there are no ratings.",
        ),
        _column(
            "kind",
            "Column of kinds of events: view, cart, purchase; by default one called event, event_type, action, "
            "behavior, kind or the like, where there are no ratings. What each kind counts is learned.",
        ),
        Option(
            "target",
            "The kind of events that lists are to be about, such as purchase; by default the rarest one that has 300 "
            "events.",
            unit="KIND",
        ),
    ),
    "Text files": (
        Option("sep", "Separator, by default found out; tab for \\t.", unit="TEXT", parse=parse_separator),
        Option("header", "Whether line 1 names the columns, by default found out.", kind=bool, opposite="no_header"),
        Option(
            "encoding",
            "Encoding of a text file, such as latin-1; by default utf-8, or that of training.",
            default="utf-8",
            unit="NAME",
        ),
    ),
    "": (
        _flag(
            "again",
            "Take in what the fit, or an earlier update, took in already, as when a job is run twice; by default a "
            "note says so, and the model stays as it is.",
        ),
        Option(
            "duplicates",
            "Several ratings of one user for one item: refuse, keep the last (by time, where there is a column of "
            "times), or take the mean. Counts of interactions add up.",
            default="error",
            choices=("error", "last", "mean"),
        ),
        Option(
            "test_users",
            "Part of the users held out (strong, new-users).",
            kind=float,
            default=0.1,
            unit="X",
            low=0.0,
            high=1.0,
        ),
    ),
    "Ratings: recommendations": (
        _flag(
            "rank",
            "Measure lists of recommendations instead: nDCG, precision, recall, MAP, hits, coverage, novelty and "
            "others, over all unseen items, with errors over users, beside what is popular. By default a random part "
            "of each user is held out (per-user), once.",
        ),
        Option(
            "at",
            "Lengths of lists (--rank), with commas between; by default 10.",
            default=(10,),
            unit="N",
            parse=parse_lengths,
            many=True,
        ),
        Option(
            "likes",
            "The least rating of an item that is liked (--rank); models with probabilities rank by that of such a "
            "rating. By default every item with an interaction is relevant.",
            kind=float,
            unit="RATING",
        ),
        _flag(
            "auc",
            "Also the AUC (--rank), for which all items are ranked for every user; slow for models drawn from a "
            "posterior.",
        ),
    ),
    "What is written": (
        _flag(
            "proba",
            "Of ratings also the probability of every level, in a column of its own, for models that have such, as "
            "ordinal-probit; of labels their calibrated probabilities instead: a column for each, or with --top those "
            "of highest probability.",
        ),
        Option(
            "scheduler",
            "Of ratings: let the workers of this Dask scheduler predict; they read MODEL where it lies.",
            unit="ADDRESS",
        ),
    ),
    "Labels: columns of FILE": (
        Option(
            "labels",
            "Which columns of a table or an ARFF file are labels: the beginning of their names, their names with "
            "commas between, or a number (6: the first six; -6: the last six).",
            unit="COLUMNS",
            parse=columns_of,
            many=True,
        ),
        Option("xml", "Mulan's list of labels; by default the one of the same name beside an ARFF file.", unit="FILE"),
        _names("drop", "Columns which are neither features nor labels, with commas between; or repeat."),
        Option(
            "id",
            "The column which names the rows: no feature; predictions have it as their first column.",
            unit="COLUMN",
        ),
        Option(
            "max_values",
            "Most values that a column of text may have, since each becomes a feature; by default 250, and fewer than "
            "nine tenths of the rows.",
            kind=int,
            unit="N",
            low=1,
        ),
        _names("text", "Columns of free text, with commas between; or repeat. Their words become features (tf-idf)."),
        Option(
            "max_words",
            "Most features that a column of free text becomes, the most frequent words first; by default 20,000.",
            kind=int,
            unit="N",
            low=1,
        ),
        Option(
            "ngrams",
            "Runs of up to N words of free text are features too; by default 1.",
            kind=int,
            unit="N",
            low=1,
            high=5,
        ),
        Option(
            "label_sep",
            "What parts the tags, where the one column of --labels lists all tags of a row: '|'; tab for \\t.",
            unit="TEXT",
            parse=parse_separator,
        ),
        Option(
            "missing",
            "Labels without a value in a table (an empty cell, NA, ?) or an ARFF file (?): refuse them, or learn "
            "from, and measure on, the labels that are known.",
            default="error",
            choices=("error", "ignore"),
        ),
        Option(
            "weights", "The column which holds weights of the rows: no feature; the fit counts them.", unit="COLUMN"
        ),
        Option(
            "recorded",
            "Share of the labels that are on which FILE records, where a 0 may also mean that nobody recorded it; "
            "with --threshold auto.",
            kind=float,
            unit="X",
            low=0.0,
            high=1.0,
        ),
        Option(
            "threshold",
            "A label is predicted where calibrated probabilities say so (auto), where its score is above X, or where "
            "a rule learned from held-out instances says: global, per-label, top-k or cardinality. joint: whole label "
            "sets, of models that decode them.",
            default="auto",
            unit="X|RULE",
            parse=parse_threshold,
        ),
        Option(
            "decide_for",
            "What decisions by probabilities (--threshold auto) are best at: micro-F1, macro-F1, F1 of each instance, "
            "Hamming loss or subset accuracy.",
            default="micro",
            choices=("micro", "macro", "example", "hamming", "subset"),
        ),
        Option(
            "precision",
            "Predict the labels that are right in this share of cases, as held-out instances show: 0.9, for example.",
            kind=float,
            unit="SHARE",
            low=0.5,
            high=0.99,
        ),
        Option(
            "recall",
            "Predict so many labels that this share of those which are on is among them.",
            kind=float,
            unit="SHARE",
            low=0.5,
            high=0.99,
        ),
        _flag(
            "each_label",
            "Reach the precision or recall for each label by itself; labels that cannot show a precision are never "
            "predicted.",
        ),
        Option(
            "costs",
            "What a label costs that is wrongly on, and one that is wrongly off: 1,5.",
            unit="A,B",
            parse=parse_costs,
        ),
        Option("at_least", "How many labels each instance has at least.", kind=int, unit="N", low=0),
        Option("at_most", "How many labels each instance has at most.", kind=int, unit="N", low=0),
        Option("format", "Format of FILE; by default found out.", choices=("arff", "mat", "libsvm", "table")),
        Option(
            "aligned", "For rcv1, whose labels are shifted in half of the rows.", choices=("published", "realigned")
        ),
        Option(
            "zero_based",
            "From what the indices of a libsvm file count, by default found out.",
            kind=bool,
            opposite="one_based",
        ),
    ),
    "Labels: what is written": (
        Option(
            "form",
            "tags: the names of the labels; table: a column of 0 and 1 for each.",
            default="tags",
            choices=("tags", "table"),
        ),
        _flag("scores", "Scores instead: a column for each label."),
        Option("top", "The N labels with the highest scores, in rows of their own.", kind=int, unit="N", low=1),
        Option(
            "coverage",
            "Sets of labels instead, which hold all labels of an instance with this probability (0.9, for example).",
            kind=float,
            unit="SHARE",
            low=0,
            high=1,
        ),
        _flag(
            "by_label",
            "Also a row for each label: what it costs, precision, recall, F1, average precision, calibration, and the "
            "label that it is most often taken for; the worst first. --out FILE.csv or FILE.html writes all of them.",
        ),
    ),
    "Ratings: features of users and items": (
        Option(
            "user_features",
            "What is known of users beside ratings: ids in the first column, numbers, or words for categories, in the "
            "others; or a known data set such as ml-100k. For recommender, als, bpmf, mmmf and ordinal-probit. A "
            "model that was fitted with it knows new users by it.",
            unit="FILE|NAME",
        ),
        Option("item_features", "The same of items.", unit="FILE|NAME"),
    ),
    "Ratings: what is explained": (
        Option("titles", "Titles: a known data set such as ml-100k, or a table of id and title.", unit="NAME|FILE"),
    ),
}


def _with_headings(groups: Mapping[str, tuple[Option, ...]]) -> tuple[Option, ...]:
    return tuple(replace(option, group=heading) for heading, options in groups.items() for option in options)


OPTIONS = {option.name: option for option in _with_headings(_GROUPS)}

#: How to recommend, to whom else, and how to read what says so.
_RECOMMENDING: dict[str, tuple[Option, ...]] = {
    "": (
        Option("n", "Number of items for each user.", kind=int, default=10, unit="N", low=1, flags=("-n",)),
        _flag("include_seen", "Also items which the user has rated in training."),
        Option("candidates", "Recommend only items of this list, one id in a line; - for standard input.", unit="FILE"),
        Option(
            "exclude",
            "Items to leave out: one id in a line, for all users; or user and item, for each user. - for standard "
            "input.",
            unit="FILE",
        ),
        OPTIONS["titles"],
        Option(
            "encoding",
            "Encoding of the text files of --titles, --candidates, --exclude and --ratings.",
            default="utf-8",
            unit="NAME",
        ),
        _flag("why", "Name the user's own items, at most three, that raise the score most."),
        Option(
            "scheduler",
            "With --all: let the workers of this Dask scheduler make the lists; they read MODEL where it lies.",
            unit="ADDRESS",
        ),
    ),
    "Which items are best": (
        Option(
            "rank_by",
            "Of a recommender: how likely the user interacts with the item and likes it then (the default, where "
            "there are ratings), how likely the user interacts with it at all, how much is expected to be gained, or "
            "how well it would be liked; by that alone lists hold less of what users interact with than plain "
            "popularity does.",
            unit="|".join(RANKINGS),
        ),
        Option(
            "at_least",
            "Of a recommender, the rating from which on an item is liked; by default the first of the upper quarter. "
            "Other models that have probabilities, as ordinal-probit, rank items by that of this rating or a higher "
            "one, which is then the score.",
            kind=float,
            unit="RATING",
        ),
        Option(
            "quantile",
            "Rank items by this quantile of the predicted rating, 0 to 1; a high one, as 0.9, favours items whose "
            "rating is uncertain.",
            kind=float,
            unit="X",
        ),
    ),
    "What lists must be like": (
        Option(
            "min_support", "Leave out items that fewer users interacted with or rated in training.", kind=int, unit="K"
        ),
        Option(
            "diversity",
            "By how much the score of an item falls that is just like another one in the list; with .7 it counts half "
            "where scores are logarithms, as those of a recommender are. Of a model of ratings in stars. Scores that "
            "are shown are those before.",
            kind=float,
            unit="X",
        ),
        Option(
            "novelty",
            "What each halving of an item's popularity adds to its score; .7 makes up for popularity where scores are "
            "logarithms. The scores that are shown are those before.",
            kind=float,
            unit="X",
        ),
        Option("groups", "A table of item id and group, for --per-group and --min-per-group.", unit="FILE"),
        Option(
            "per_group",
            "Most items of each group in a list, or of those that are named.",
            unit="K|GROUP=K,...",
            parse=parse_quota,
        ),
        Option(
            "min_per_group",
            "Fewest items of each group in a list, or of those that are named: local=2.",
            unit="K|GROUP=K,...",
            parse=partial(parse_quota, argument="min_per_group"),
        ),
        Option(
            "boost",
            "A table of item id and number, which is added to the item's score; .7 makes it count twice where scores "
            "are logarithms, as those of a recommender are. Scores that are shown are those before.",
            unit="FILE",
        ),
    ),
    "New users (with --ratings)": (
        Option(
            "ratings",
            "Ratings of users who were not in training: they are folded in, without training again, and the "
            "recommendations are for them. - for standard input.",
            unit="FILE",
        ),
        Option(
            "known",
            "Users of --ratings who were in training: refuse them; merge their ratings of training with the new "
            "ones (the new one of a pair counts); or replace them.",
            default="error",
            choices=("error", "merge", "replace"),
        ),
        replace(
            OPTIONS["user_features"],
            help="Features of new users, with ratings or without: ids in the first column, numbers in the others. For "
            "models that were fitted with features of users.",
        ),
        replace(
            OPTIONS["item_features"],
            help="Features of new items: a recommender ranks them among the others, other models recommend the best "
            "of them. For models that were fitted with features of items.",
        ),
        replace(OPTIONS["user"], help=_OF_NEW, flags=("--user-column",)),
        replace(OPTIONS["item"], help=_OF_NEW, flags=("--item-column",)),
        replace(OPTIONS["rating"], help=_OF_NEW, flags=("--rating-column",)),
        replace(OPTIONS["time"], help=_OF_NEW, flags=("--time-column",)),
        replace(
            OPTIONS["count"],
            help="Column that says how often a user interacted with an item.",
            flags=(
                "--count-column",
                "--count",
            ),
        ),
        replace(OPTIONS["implicit"], help="Read it as what users interacted with, whatever its ratings say."),
        replace(OPTIONS["drop_rating"], help="Leave out its ratings of this value, such as 0.", many=False),
        replace(OPTIONS["sep"], help="Its separator."),
        replace(OPTIONS["header"], help="Whether its line 1 names the columns."),
    ),
    "Where FILE holds ratings, and no model": (
        replace(OPTIONS["levels"], help="Values a rating can take, as of cofactor fit."),
        replace(OPTIONS["bins"], help="Cut continuous ratings, or counts, into so many levels."),
        OPTIONS["duplicates"],
    ),
}
RECOMMEND = _with_headings(_RECOMMENDING)


def _all_of(names: str) -> tuple[Option, ...]:
    return tuple(OPTIONS[name] for name in names.split())


_TEXT_FILES = "sep header encoding"
_SCALE = "levels bins bin_by"
_SIDES = "user_features item_features"
_READ_RATINGS = f"user item rating time {_TEXT_FILES} {_SCALE} drop_rating duplicates implicit count"
_READ_LABELS = (
    "labels xml label_sep text max_words ngrams drop id max_values missing threshold decide_for format aligned "
    "zero_based"
)
#: What `LabelModel.set_decision` takes.
_ASKED = "precision recall each_label costs at_least at_most"
_OF_FEATURES = (
    *_all_of("drop id format zero_based"),
    Option(
        "text",
        "Of a pipeline that takes texts: the column which holds them, by default the only one beside labels and id.",
        group=OPTIONS["text"].group,
        unit="COLUMN",
    ),
)
#: Those of texts for readers of labels, who know what the lack of an encoding stands for: that of training.
_AS_TRAINED = (*_all_of("sep header"), replace(OPTIONS["encoding"], default=None))
#: Options of ratings.
RATINGS: OptionTable = {
    "fit": _all_of(f"{_READ_RATINGS} kind target {_SIDES}"),
    "compare": _all_of(f"{_READ_RATINGS} rank at likes {_SIDES}"),
    "evaluate": _all_of(f"{_READ_RATINGS} test_users rank at likes auc {_SIDES}"),
    "predict": _all_of(f"user item time {_TEXT_FILES} {_SIDES} proba scheduler"),
    "explain": (OPTIONS["titles"], _AS_TRAINED[-1]),
    "recommend": RECOMMEND,
    "update": _all_of(f"user item rating time drop_rating count {_TEXT_FILES} duplicates {_SIDES} again"),
    "shard": _all_of(f"user item rating time {_TEXT_FILES} levels drop_rating duplicates"),
}
#: Options of labels.
LABELS: OptionTable = {
    "fit": (*_all_of(_READ_LABELS), *_AS_TRAINED, *_all_of(f"weights recorded {_ASKED}")),
    "compare": (*_all_of(_READ_LABELS), *_AS_TRAINED, *_all_of(_ASKED)),
    "evaluate": (*_all_of(_READ_LABELS), *_AS_TRAINED, *_all_of(f"by_label {_ASKED}")),
    "predict": (*_OF_FEATURES, *_AS_TRAINED, *_all_of(f"form scores proba top coverage {_ASKED}")),
    "explain": (*_OF_FEATURES, *_AS_TRAINED),
    "update": (*_all_of(_READ_LABELS), *_AS_TRAINED),
}
