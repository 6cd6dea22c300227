"""The tasks, and the task of a file or of a model. Nothing heavy is loaded before a task is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cofactor.errors import InvalidInputError
from cofactor.tasks import options as _options
from cofactor.tasks.options import OptionTable
from cofactor.text import did_you_mean, nearest

if TYPE_CHECKING:
    from cofactor.tasks.base import Task

__all__ = ["TASKS", "Entry", "answers_of", "check_file", "sniff", "task_named", "task_of", "unknown_file"]


@dataclass(frozen=True)
class Entry:
    """A task that shells know.

    Parameters
    ----------
    options : mapping from str to tuple of Option
        The options it takes, by what is done; known before the task is loaded.
    load : callable
        Returns the task.
    """

    options: OptionTable
    load: Callable[[], Task]


def _loader(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)()


#: The tasks by name. The first one is for files whose task cannot be found out.
TASKS: dict[str, Entry] = {
    "ratings": Entry(_options.RATINGS, _loader("cofactor.tasks.ratings", "RatingTask")),
    "labels": Entry(_options.LABELS, _loader("cofactor.tasks.labels", "LabelTask")),
}


def task_named(name: str) -> Task:
    """Return a task by its name.

    Parameters
    ----------
    name : str
        One of `TASKS`.

    Examples
    --------
    >>> task_named("labels").default_model
    'label-ridge'
    """
    if name not in TASKS:
        raise InvalidInputError(did_you_mean(name, TASKS), argument="task", found=name)
    return TASKS[name].load()


def check_file(file: str) -> None:
    """Refuse a name that is neither of a file nor of a known data set, before anything is loaded to read it.

    Parameters
    ----------
    file : str
        Path, ``-`` for standard input, or name of a data set.
    """
    from cofactor.datasets.registry import KNOWN

    if file != "-" and not os.path.exists(file) and file not in KNOWN:
        raise unknown_file(file)


def unknown_file(file: str) -> InvalidInputError:
    """Return the error for a name that is neither of a file nor of a known data set; it names some of these.

    Parameters
    ----------
    file : str
        As the user gave it.
    """
    from cofactor.datasets.registry import KNOWN

    of_ratings, of_labels = ([one.name for one in KNOWN.values() if one.task == task] for task in ("ratings", "labels"))
    near = nearest(file, [*sorted(of_ratings), *of_labels])
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    sets = f"{', '.join(sorted(of_ratings))}; of labels {', '.join(of_labels[:4])}, ..."
    return InvalidInputError(f"{file}: no such file, and no known data set ({sets}){hint}")


def sniff(file: str) -> str | None:
    """Return the name of the task of a file or a known data set; None if its first bytes do not show it.

    Parameters
    ----------
    file : str
        Path, ``-`` for standard input, or name of a data set.

    Examples
    --------
    >>> sniff("emotions"), sniff("ml-100k"), sniff("no-such-file")
    ('labels', 'ratings', None)
    """
    from cofactor.datasets.formats import sniff as look

    holds = look(file).holds
    return holds if holds in TASKS else None


def task_of(model: object) -> Task:
    """Return the task of a fitted model.

    Parameters
    ----------
    model : estimator
        Such as `cofactor.load` returns.

    Raises
    ------
    InvalidInputError
        If it is a model of no task: a transformer of features, or a pipeline, which knows no names of a file.
    """
    for entry in TASKS.values():
        found = entry.load()
        if found.owns(model):
            return found
    message = f"{type(model).__name__} is no model of {' or '.join(TASKS)}"
    raise InvalidInputError(message, advice="use transformers, and pipelines with them, from Python")


def answers_of(model: Any, titles: Mapping[str, str] | None = None) -> Any:
    """Return what answers questions to a fitted model that come without files, as those to a server.

    Parameters
    ----------
    model : estimator
        Such as `cofactor.load` returns; a pipeline of transformers may end in a model of labels.
    titles : mapping from str to str, optional
        Titles of items by the text of their ids.

    Raises
    ------
    InvalidInputError
        If nothing does.

    Examples
    --------
    >>> from cofactor.labels import LabelRidge
    >>> answers_of(LabelRidge().fit([[0.0], [1.0], [2.0], [3.0]], [[0], [0], [1], [1]])).kind
    'labels'
    """
    end = model.steps[-1][1] if hasattr(model, "steps") else model
    task = task_of(end)
    if not task.can("answer"):
        raise InvalidInputError(f"is a model of {task.name}, which cannot be served")
    return task.answers(model, titles)
