"""What users can put right, told in one line; everything else is a bug and keeps its traceback."""

from __future__ import annotations

import dis
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import typer

from cofactor.errors import InvalidInputError

__all__ = ["InputError", "explain", "is_abort", "is_refusal", "renamed", "silence_stdout", "telling_what_is_kept"]

_PACKAGE = str(Path(__file__).parents[1])

#: Names by which messages of the library call a parameter, and the option which sets it.
OPTIONS: Mapping[str, str] = {
    "user": "--user",
    "item": "--item",
    "rating": "--rating",
    "sep": "--sep",
    "header": "--header",
    "encoding": "--encoding",
    "scale": "--levels",
    "levels": "--levels",
    "bins": "--bins",
    "duplicates": "--duplicates",
    "alpha": "--alpha",
    "n_factors": "--factors",
    "n_components": "--factors",
    "threshold": "--threshold",
    "labels": "--labels",
    "drop": "--drop",
    "format": "--format",
    "aligned": "--aligned",
    "zero_based": "--zero-based",
    "random_state": "--seed",
    "n_splits": "--splits",
    "n_jobs": "--jobs",
}


#: Wrong options and arguments: the class has another module in older versions of typer.
_UsageProblem: Any = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

#: Errors which may have an explanation for the user; all others are bugs.
EXPLAINED: tuple[type[Exception], ...] = (
    ValueError,
    TypeError,
    ImportError,
    OSError,
    MemoryError,
    RuntimeError,
    _UsageProblem,
)


class InputError(InvalidInputError):
    """Bad input found by the command line itself."""


def is_abort(error: Exception) -> bool:
    """Whether the error stands for Ctrl-C or an end of input at a prompt."""
    return isinstance(error, typer.Abort)


def explain(error: Exception) -> str | None:
    """Return one line for an error which the user can put right, None for a bug.

    Parameters
    ----------
    error : Exception
        What a command raised.

    Returns
    -------
    str or None
    """
    usage = _usage_message(error)
    if usage is not None:
        return _one_line(usage)
    if isinstance(error, InputError):
        return _one_line(str(error))
    if isinstance(error, MemoryError):
        return _one_line(f"not enough memory. {error}")
    if isinstance(error, OSError) and error.errno is not None:
        # The system names what it could not open, and `replacing` what it could not write; standard output has no name.
        name = next((name for name in (error.filename, error.filename2) if name is not None), "standard output")
        return _one_line(f"{name}: {error.strerror or 'the operating system refused'}")
    return _one_line(in_options(str(error), OPTIONS)) if is_refusal(error) else None


def is_refusal(error: BaseException) -> bool:
    """Whether an error was raised on purpose: by a `raise` statement of this package, or by the operating system.

    An error of the same type that comes out of NumPy, or out of an operation in our own code which failed, is a
    bug.
    """
    if isinstance(error, OSError):
        return True
    trace = error.__traceback__
    if trace is None or not isinstance(error, ValueError | TypeError | ImportError):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    on_purpose = dis.opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"
    return on_purpose and code.co_filename.startswith(_PACKAGE)


def in_options(message: str, options: Mapping[str, str]) -> str:
    """Write options where a message of the library speaks of parameters.

    Examples
    --------
    >>> in_options("not valid utf-8; give the right one with encoding=, for example encoding='latin-1'", OPTIONS)
    'not valid utf-8; give the right one with --encoding, for example --encoding latin-1'
    >>> in_options("alpha=-1: expected a number above 0", OPTIONS)
    '--alpha -1: expected a number above 0'
    >>> in_options("alpha=[8.0, 9.0]: expected a number above 0", OPTIONS)
    '--alpha 8.0,9.0: expected a number above 0'
    """
    names = "|".join(options)

    def option(match: re.Match[str]) -> str:
        name, quoted, listed, value = options[match[1]], match[2], (match[3] or "").replace(" ", ""), match[4]
        given = quoted or listed or value or ""
        return f"{name}{given}" if name.endswith("=") else f"{name} {given}".rstrip()

    return re.sub(rf"(?<![\w.-])({names})=(?:'([^']*)'|\[([^\]]*)\]|([\w.+-]+))?", option, message)


@contextmanager
def renamed(prefix: str = "", /, **options: str) -> Iterator[None]:
    """Within the block, options which set these parameters have other names than usual; messages get a prefix."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if isinstance(error, InputError) or not is_refusal(error):
            raise
        raise InputError(prefix + in_options(str(error), {**OPTIONS, **options})) from error


@contextmanager
def telling_what_is_kept() -> Iterator[None]:
    """Within the block, Ctrl-C ends the command with what the interruption itself says of the work done."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if not str(stop):
            raise
        print(f"cofactor: {stop}", file=sys.stderr)
        raise SystemExit(130) from None


def silence_stdout() -> None:
    """Stop writing to a reader who has gone, also at the end of the process."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())


def _usage_message(error: Exception) -> str | None:
    """Return the message of a wrong option or argument, with where to look it up."""
    if not isinstance(error, _UsageProblem):
        return None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "cofactor"
    message = str(cast(typer.BadParameter, error).format_message()).rstrip(".")
    # Without a message the help has been printed already: a command that needs another one was called alone.
    return f"{message}; see {command} --help" if message else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
