"""Ratings or labels: which of the two a file holds, and which options go with it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING

from cofactor.cli.errors import InputError

if TYPE_CHECKING:
    import typer

__all__ = ["Task", "choose_task", "given", "refuse_options"]


class Task(StrEnum):
    """What a command works on."""

    RATINGS = "ratings"
    LABELS = "labels"


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
    from cofactor.datasets.sniff import sniff

    return sniff(file).holds == "labels"
