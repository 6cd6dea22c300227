"""Errors of input as objects: what is wrong, with which argument, where, and what to do about it.

Public functions raise `InvalidInputError`. The error keeps its parts, so that a shell can write the same message with
its own names: ``alpha=-1`` in Python is ``--alpha -1`` on the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from cofactor.text import literal

__all__ = [
    "Argument",
    "InputWarning",
    "InvalidInputError",
    "InvalidTypeError",
    "LostRatingsWarning",
    "MissingPackageError",
    "Place",
    "Text",
]


class _Missing(Enum):
    """Means that no value was given, where None is a value."""

    MISSING = "missing"


MISSING: Final = _Missing.MISSING


@dataclass(frozen=True)
class Argument:
    """An argument which a message mentions, with its value if there is one.

    Parameters
    ----------
    name : str
        Its name in Python.
    value : object, optional
        The value it had, or one to try.

    Examples
    --------
    >>> str(Argument("encoding")), str(Argument("encoding", "latin-1"))
    ('encoding', "encoding='latin-1'")
    """

    name: str
    value: Any = MISSING

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""
        return self.value is not MISSING

    def __str__(self) -> str:
        return f"{self.name}={literal(self.value)}" if self.has_value else self.name


@dataclass(frozen=True)
class Place:
    """Where in a file something is.

    Parameters
    ----------
    file : str
        Name of the file, as the user gave it, or "standard input".
    line : int, optional
        Line, counted from 1.
    column : str, optional
        Which part of the line: "column 'rating'", "byte 7".

    Examples
    --------
    >>> str(Place("ratings.csv", 3, "column 2"))
    'ratings.csv, line 3, column 2'
    """

    file: str
    line: int | None = None
    column: str | None = None

    def __str__(self) -> str:
        parts = [self.file, None if self.line is None else f"line {self.line}", self.column]
        return ", ".join(part for part in parts if part is not None)


#: A text, or a text in parts: texts, and arguments, which every shell writes with its own names.
Text = str | Iterable[str | Argument]


class InvalidInputError(ValueError):
    """Something that a user gave cannot be used.

    Parameters
    ----------
    problem : str, or parts of it
        What is wrong, or what was expected; without a full stop. Arguments in it are separate parts.
    argument : str, optional
        Name of the argument which is wrong.
    found : object, optional
        Its value; then the message begins with ``argument=value:``.
    advice : str, or parts of it, optional
        What to do.
    place : Place, optional
        Where in a file it is; the message begins with it.

    Examples
    --------
    >>> str(InvalidInputError("expected a number above 0", argument="alpha", found=-1))
    'alpha=-1: expected a number above 0'
    >>> error = InvalidInputError(
    ...     "0xe9 is not valid utf-8",
    ...     place=Place("ratings.csv", 3, "byte 7"),
    ...     advice=("give the right one, for example ", Argument("encoding", "latin-1")),
    ... )
    >>> str(error)
    "ratings.csv, line 3, byte 7: 0xe9 is not valid utf-8; give the right one, for example encoding='latin-1'"
    >>> error.message(lambda argument: f"--{argument.name} {argument.value}")
    'ratings.csv, line 3, byte 7: 0xe9 is not valid utf-8; give the right one, for example --encoding latin-1'
    """

    def __init__(
        self,
        problem: Text = "",
        *,
        argument: str | None = None,
        found: Any = MISSING,
        advice: Text = "",
        place: Place | None = None,
    ) -> None:
        self.problem = _parts(problem)
        self.argument = argument
        self.found = found
        self.advice = _parts(advice)
        self.place = place
        super().__init__(self.message())

    def message(self, name: Callable[[Argument], str] = str) -> str:
        """Return the message in one line, with each argument as `name` writes it.

        Parameters
        ----------
        name : callable, optional
            From an `Argument`, with a value or without, to text; by default as Python writes it.
        """
        opening = [] if self.place is None else [str(self.place)]
        if self.argument is not None and self.found is not MISSING:
            opening.append(name(Argument(self.argument, self.found)))
        rest = "; ".join(text for text in (_joined(self.problem, name), _joined(self.advice, name)) if text)
        return ": ".join([*opening, rest] if rest else opening)

    def at(self, place: Place) -> InvalidInputError:
        """Return the same error with a place, for a caller who knows the file."""
        return type(self)(self.problem, argument=self.argument, found=self.found, advice=self.advice, place=place)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.problem, self.argument, self.found, self.advice, self.place)


class InvalidTypeError(InvalidInputError, TypeError):
    """Something that a user gave has a type that cannot be used.

    Examples
    --------
    >>> from cofactor.errors import InvalidTypeError
    >>> issubclass(InvalidTypeError, TypeError)
    True
    """


class InputWarning(UserWarning):
    """Something that a user gave can be used, but perhaps not as they think.

    Parameters
    ----------
    text : str, or parts of it
        What it is, and what to do; without a full stop. Arguments in it are separate parts.

    Examples
    --------
    >>> warning = InputWarning(("half of the labels are shifted; ", Argument("aligned", "realigned"), " corrects them"))
    >>> str(warning)
    "half of the labels are shifted; aligned='realigned' corrects them"
    >>> warning.message(lambda argument: f"--{argument.name} {argument.value}")
    'half of the labels are shifted; --aligned realigned corrects them'
    """

    def __init__(self, text: Text) -> None:
        self.text = _parts(text)
        super().__init__(self.message())

    def message(self, name: Callable[[Argument], str] = str) -> str:
        """Return the text with each argument as `name` writes it.

        Parameters
        ----------
        name : callable, optional
            From an `Argument` to text; by default as Python writes it.
        """
        return _joined(self.text, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text,)


class LostRatingsWarning(InputWarning):
    """The ratings in shards that a model was fitted on are not as they were: what needs them will be refused.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("error", LostRatingsWarning)  # rather fail than load such a model
    >>> warnings.resetwarnings()
    """


class MissingPackageError(ImportError):
    """A package which is needed is not installed.

    Parameters
    ----------
    package : str
        Its name.
    purpose : str
        What needs it, as the beginning of a sentence: "plots need", "reading Parquet needs".
    extra : str, optional
        The extra of cofactor which installs it; by default the package is installed by its own name.

    Examples
    --------
    >>> str(MissingPackageError("matplotlib", "plots need", "plots"))
    "plots need matplotlib, which is not installed: pip install 'cofactor[plots]'"
    """

    def __init__(self, package: str, purpose: str, extra: str | None = None) -> None:
        self.package, self.purpose, self.extra = package, purpose, extra
        what = package if extra is None else f"'cofactor[{extra}]'"
        super().__init__(f"{purpose} {package}, which is not installed: pip install {what}", name=package)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.package, self.purpose, self.extra)


def _joined(parts: tuple[str | Argument, ...], name: Callable[[Argument], str]) -> str:
    return "".join(name(part) if isinstance(part, Argument) else part for part in parts)


def _parts(text: Text) -> tuple[str | Argument, ...]:
    if isinstance(text, str):
        return (text,) if text else ()
    return tuple(text)


def _rebuilt(
    kind: type[InvalidInputError], problem: Text, argument: str | None, found: Any, advice: Text, place: Place | None
) -> InvalidInputError:
    return kind(problem, argument=argument, found=found, advice=advice, place=place)
