"""Ratings or labels: which of the two a file holds, and which options go with it."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cofactor.cli.errors import InputError

if TYPE_CHECKING:
    import typer

__all__ = ["Task", "choose_task", "given", "refuse_options"]


class Task(StrEnum):
    """What a command works on."""

    RATINGS = "ratings"
    LABELS = "labels"


_PEEK = 1 << 16
_SUFFIXES = (".arff", ".svm", ".libsvm")
#: Parameters of commands which make sense for one task only.
ONLY_FOR = {
    Task.RATINGS: ("user", "item", "rating", "levels", "bins", "duplicates", "test_users", "proba"),
    Task.LABELS: (
        *("labels", "xml", "drop", "format", "aligned", "zero_based", "threshold"),
        *("form", "scores", "top"),
    ),
}


def choose_task(context: typer.Context, file: str, asked: Task | None) -> Task:
    """Return the task: as asked for, as the file tells, or as the options imply.

    Parameters
    ----------
    context : typer.Context
        Of the command, to see which options were given.
    file : str
        Path, ``-``, or name of a data set. Of standard input the beginning is looked at, without reading it away.
    asked : Task or None
        What ``--task`` says.

    Raises
    ------
    InputError
        If options of both tasks were given, or some that do not go with the file.
    """
    implied = [task for task in Task if given(context, ONLY_FOR[task])]
    if asked is None and len(implied) > 1:
        both = [given(context, ONLY_FOR[task])[0] for task in Task]
        raise InputError(f"{both[0]} is for ratings and {both[1]} for labels: leave one out")
    task = asked or (Task.LABELS if holds_labels(file) else implied[0] if implied else Task.RATINGS)
    refuse_options(context, task, file)
    return task


def refuse_options(context: typer.Context, task: Task, file: str) -> None:
    """Refuse options which are for the other task."""
    other = Task.RATINGS if task is Task.LABELS else Task.LABELS
    odd = given(context, ONLY_FOR[other])
    if odd:
        raise InputError(f"{odd[0]} is for {other}, but {'standard input' if file == '-' else file} holds {task}")


def given(context: typer.Context, names: Iterable[str]) -> list[str]:
    """Return those of these parameters that stand on the command line, as options."""
    options = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    return [
        options[name]
        for name in names
        if name in options and getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]


def holds_labels(file: str) -> bool:
    """Whether a file, or a known data set, is one of features and labels by its content alone.

    A table with columns of labels cannot be told from one of ratings: it counts as ratings.
    """
    from cofactor.datasets import available

    if file == "-":
        return _text_with_labels(_start_of_stdin())
    if os.path.isdir(file):
        return False
    if not os.path.exists(file):
        return file in {status.name for status in available("labels")}
    try:
        return _format_with_labels(file)
    except ValueError:
        return False  # damaged: the reader says how


def _format_with_labels(path: str) -> bool:
    """Whether the format is one in which labels have their own place."""
    from cofactor.datasets.readers import parquet, svm_text

    start = svm_text.head(path)
    if start.startswith(parquet.MAGIC):
        return _names_labels(path)
    if path.lower().removesuffix(".gz").endswith(_SUFFIXES) and (not start.strip() or svm_text.sizes_of(start)):
        return True  # nothing but sizes, or nothing at all: the reader of labels is to say so
    return _text_with_labels(start)


def _text_with_labels(start: bytes) -> bool:
    """Whether a file which begins like this, and is not Parquet, holds labels."""
    from cofactor.datasets.load import kind_of

    kind = kind_of(start)
    if kind == "libsvm":
        # 1::1193::5 of MovieLens, and user, item, rating with blanks between, look like it at first.
        return b":" in start and b"::" not in start.partition(b"\n")[0]
    return kind != "table"


def _start_of_stdin() -> bytes:
    """Return the first bytes of standard input, unpacked, which remain to be read; none where that cannot be."""
    stream: Any = sys.stdin.buffer
    if hasattr(stream, "peek"):
        start = stream.peek(_PEEK)[:_PEEK]
    elif stream.seekable():
        at = stream.tell()
        start = stream.read(_PEEK)
        stream.seek(at)
    else:
        return b""
    if start.startswith(b"\x1f\x8b"):
        try:
            start = zlib.decompressobj(wbits=31).decompress(start)
        except zlib.error:
            return b""
    # A first line which is cut off must not end within a word.
    return bytes(start if b"\n" in start else (start.rpartition(b" ")[0] or start))


def _names_labels(path: str) -> bool:
    """Whether a Parquet file says which of its columns are labels."""
    from cofactor.datasets.readers.parquet_rows import is_list_layout, schema_of, stored_labels

    schema = schema_of(path)
    return is_list_layout(schema) or stored_labels(schema) is not None
