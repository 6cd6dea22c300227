"""Errors that users can correct, in one line; every other error is a bug and keeps its traceback.

Errors of the package are objects (`cofactor.errors`). Here their arguments get the names of options.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from shlex import quote
from typing import Any, cast

import typer

from cofactor.errors import Argument, InvalidInputError, MissingPackageError, Text
from cofactor.text import one_line

#: Options that set a parameter of the library under another name.
_OPTIONS: Mapping[str, str] = {
    "scale": "--levels",
    "n_factors": "--factors",
    "n_components": "--factors",
    "random_state": "--seed",
    "timestamp": "--time",
    "n_splits": "--splits",
    "n_jobs": "--jobs",
    "n_shards": "--shards",
    "users": "--user",
    "n": "-n",
}
#: Names of settings and options that all tasks share.
_SAME = (
    *("alpha", "factors", "model", "param", "seed", "seeds", "task", "protocol", "splits", "test_size", "json"),
    *(
        "candidates",
        "titles",
        "ratings",
        "at_least",
        "quantile",
        "rank_by",
        "include_seen",
        "min_ratings",
        "safe_csv",
        "query",
        "table",
        "if_exists",
        "restart",
        "resume",
        "scheduler",
    ),
)
#: Options that stand for one value of a parameter.
_FLAGS: Mapping[tuple[str, bool], str] = {
    ("exclude_seen", False): "--include-seen",
    ("header", False): "--no-header",
    ("ratings", True): "its ratings",
    ("updatable", True): "--param updatable=true",
    ("zero_based", False): "--one-based",
}

#: Wrong options and arguments: the class has another module in older versions of typer.
_UsageProblem: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

#: What options with numbers expect, by the kind of Pydantic's error.
_EXPECTED: Mapping[str, str] = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than_equal": "a number of at most {le:g}",
}

#: Words that commands take in the place of names, and that may be taken for options.
_WORDS: Mapping[str, tuple[str, ...]] = {"reproduce": ("all", "list")}

#: Errors that users can correct; all others are bugs.
EXPLAINED: tuple[type[Exception], ...] = (
    InvalidInputError,
    MissingPackageError,
    OSError,
    MemoryError,
    typer.Abort,
    _UsageProblem,
)


def option_of(name: str) -> str | None:
    """Return the option that sets a parameter of the library, None if there is none.

    Parameters
    ----------
    name : str
        Of the parameter.

    Examples
    --------
    >>> option_of("n_factors"), option_of("zero_based"), option_of("margin")
    ('--factors', '--zero-based', None)
    """
    from cofactor.service import TASKS

    if name in _OPTIONS:
        return _OPTIONS[name]
    # Options of lists are named where lists are made: other commands have groups, and a time, of another kind.
    verbs = (options for entry in TASKS.values() for verb, options in entry.options.items() if verb != "recommend")
    known = {*_SAME, *(option.name for options in verbs for option in options)}
    return f"--{name.replace('_', '-')}" if name in known else None


def named(options: Mapping[str, str] | None = None) -> Callable[[Argument], str]:
    """Return a function that writes an argument as in a shell, or as in Python if no option sets it.

    Parameters
    ----------
    options : mapping from str to str, optional
        Options that set these parameters in this command, where they are not the usual ones.

    Examples
    --------
    >>> name = named({"user": "--user-column"})
    >>> name(Argument("user", 3)), name(Argument("encoding", "latin-1")), name(Argument("alpha", [8.0, 9.5]))
    ('--user-column 3', '--encoding latin-1', '--alpha 8,9.5')
    >>> name(Argument("zero_based", False)), name(Argument("margin", "square"))
    ('--one-based', "margin='square'")
    >>> print(name(Argument("label_sep", ";")), name(Argument("drop", ["year, month", "id"])))
    --label-sep ';' --drop '"year, month",id'

    The parameter of a model that is called as a column is that has a value.

    >>> name = named({"time": "--param time="})
    >>> name(Argument("time", 3)), name(Argument("time"))
    ('--param time=3', '--time')
    """
    own = options or {}

    def name(argument: Argument) -> str:
        is_column = argument.name == "time" and not argument.has_value and own.get("time", "").endswith("=")
        option = (None if is_column else own.get(argument.name)) or option_of(argument.name)
        if option is not None and option.endswith("=") and argument.has_value:
            listed = isinstance(argument.value, list)
            return f"{option}{quote(_written(argument.value) if listed else str(argument.value))}"
        if isinstance(argument.value, bool):
            return _FLAGS.get((argument.name, argument.value)) or option or str(argument)
        if option is None or not argument.has_value:
            return option or str(argument)
        return f"{option} {quote(_written(argument.value))}"

    return name


def _written(value: Any) -> str:
    """Return a value as users write it; names with a comma stand in quotes, as in the options that take them."""
    if isinstance(value, list | tuple):
        return ",".join(f'"{word}"' if "," in word else word for word in map(_written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def format_text(text: Text, options: Mapping[str, str] | None = None) -> str:
    """Return a text in which arguments are named by their options.

    Parameters
    ----------
    text : str, or parts of it
        Such as a task gives.
    options : mapping from str to str, optional
        See `named`.

    Examples
    --------
    >>> format_text(("try ", Argument("threshold", "global")))
    'try --threshold global'
    """
    return InvalidInputError(text).message(named(options))


@contextmanager
def naming(options: Mapping[str, str]) -> Iterator[None]:
    """Within the block, messages call parameters by these options.

    Parameters
    ----------
    options : mapping from str to str
        See `named`.
    """
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(error.message(named(options))) from error


def is_abort(error: Exception) -> bool:
    """Return whether an error stands for Ctrl-C, or for the end of the input at a prompt."""
    return isinstance(error, typer.Abort)


def explain(error: Exception) -> str | None:
    """Return one line for an error that the user can correct, None for a bug.

    Parameters
    ----------
    error : Exception
        What a command raised.

    Returns
    -------
    str or None
    """
    if isinstance(error, _UsageProblem):
        return _one_line(_usage_message(error))
    if isinstance(error, InvalidInputError):
        return _one_line(error.message(named()))
    if isinstance(error, MemoryError):
        return _one_line(f"not enough memory. {error}")
    if isinstance(error, OSError) and error.errno is not None:
        # The system names what it could not open, and `replacing` what it could not write; standard output has no name.
        name = next((name for name in (error.filename, error.filename2) if name is not None), "standard output")
        return _one_line(f"{name}: {error.strerror or 'the operating system refused'}")
    return _one_line(str(error)) if isinstance(error, MissingPackageError | OSError) else None


@contextmanager
def telling_what_is_kept() -> Iterator[None]:
    """Within the block, Ctrl-C ends the command with the message of the interruption, which says what is kept."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if not str(stop):
            raise
        print(f"cofactor: {stop}", file=sys.stderr)
        raise SystemExit(130) from None


def silence_stdout() -> None:
    """Write nothing more to a reader that has closed standard output, not even when the process ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())


def _usage_message(error: Any) -> str:
    """Return the message of a wrong option or argument, with where to look it up."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "cofactor"
    message = (
        _meant_word(error) or _wrong_number(error) or str(cast(typer.BadParameter, error).format_message()).rstrip(".")
    )
    # Without a message the help has been printed already: a command that needs another one was called alone.
    return f"{message}; see {command} --help" if message else ""


def _meant_word(error: Any) -> str:
    """Return the message for a word that was written as an option; otherwise ""."""
    context, option = getattr(error, "ctx", None), getattr(error, "option_name", "")
    word = option.removeprefix("--")
    if context is None or word not in _WORDS.get(context.info_name, ()):
        return ""
    return f"No such option: {option}; write {context.command_path} {word}"


def _wrong_number(error: Any) -> str:
    """Return our own message where the value of an option is not a number, or beyond its limits; otherwise "".

    Newer versions of typer let Pydantic check the numbers, and repeat its words.
    """
    option, cause = getattr(error, "param", None), error.__cause__
    if option is None or not hasattr(cause, "errors"):
        return ""
    fault = cause.errors()[0]
    if fault["type"] not in _EXPECTED:
        return ""
    expected = _EXPECTED[fault["type"]].format(**fault.get("ctx", {}))
    return f"{max(option.opts, key=len)} {fault['input']}: expected {expected}"


def _one_line(text: str) -> str:
    return one_line(" ".join(text.split()))
