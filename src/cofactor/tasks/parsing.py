"""Values of options of the command line, from the text that a user wrote."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from cofactor.errors import InvalidInputError
from cofactor.limits import MAX_LEVELS
from cofactor.text import first_repeated, is_number

__all__ = [
    "columns_of",
    "names_in",
    "parse_alpha",
    "parse_bins",
    "parse_column",
    "parse_factors",
    "parse_lengths",
    "parse_levels",
    "parse_ratings",
    "parse_separator",
    "parse_threshold",
]

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
