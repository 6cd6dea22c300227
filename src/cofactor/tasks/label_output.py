"""Predicted labels as the columns of a table, and as an object for each instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.tasks.words import shortest

__all__ = ["Answers", "RowNames", "ambiguous", "best_labels", "columns_of_labels", "records_of_labels", "separator_of"]


@dataclass(frozen=True)
class RowNames:
    """What the rows of a file are called: their ids, or numbers from 1."""

    heading: str
    ids: NDArray[Any]
    notes: tuple[Text, ...] = ()

    @classmethod
    def of(cls, data: Any, id: str | None) -> RowNames:
        """Return those of data, of which a column of this name may have the ids."""
        if data.ids is not None and id is not None:
            return cls(id, data.ids)
        notes = (f"there is no column {id!r}, which named the rows in training: rows are numbered",) if id else ()
        return cls("instance", np.arange(1, len(data) + 1), notes)

    def heading_beside(self, columns: Mapping[str, Any]) -> str:
        """Return the heading of a column of ids beside others, which may have the same name."""
        return f"id {self.heading}" if self.heading in columns else self.heading


@dataclass(frozen=True)
class Answers:
    """What a model says of instances: scores, which labels are on, and probabilities where they were asked for."""

    scores: NDArray[Any]
    on: NDArray[np.bool_]
    chances: NDArray[Any] | None = None

    @classmethod
    def of(cls, model: Any, X: Any, options: Mapping[str, Any]) -> Answers:
        """Return those of features of a file."""
        proba = options["proba"]
        said = list(model.iter_predictions(X, probabilities=proba, coverage=options["coverage"]))
        scores, on, chances = zip(*said, strict=True)
        return cls(np.concatenate(scores), np.concatenate(on), np.concatenate(chances) if proba else None)

    @property
    def shown(self) -> tuple[str, NDArray[Any]]:
        """What the numbers that are written are called, and these."""
        return ("score", self.scores) if self.chances is None else ("probability", self.chances)


def columns_of_labels(
    model: Any, answers: Answers, names: list[str], options: Mapping[str, Any], rows: RowNames
) -> dict[str, Any]:
    """Return the columns of a table; the first one names the rows."""
    found = _columns(model, answers, names, options)
    repeats = options["top"] is not None and found["rank"].size // max(len(answers.on), 1)
    return {rows.heading_beside(found): np.repeat(rows.ids, repeats) if repeats else rows.ids} | found


def _columns(model: Any, answers: Answers, names: list[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns which say what is predicted."""
    heading, values = answers.shown
    if options["top"] is not None:
        best = best_labels(values, options["top"])
        return {
            "rank": np.tile(np.arange(1, best.shape[1] + 1), len(values)),
            "label": np.array(names, dtype=object)[best].ravel(),
            heading: shortest(np.take_along_axis(values, best, axis=1).ravel()),
        }
    if options["scores"] or options["proba"]:
        return {name: shortest(values[:, j]) for j, name in enumerate(names)}
    if options["form"] == "table":
        return {name: answers.on[:, j].astype(np.int8) for j, name in enumerate(names)}
    return {"labels": [separator_of(model).join(tags) for tags in _tags(answers.on, names)]}


def separator_of(model: Any) -> str:
    """Return what parts labels that are written: what parted the tags in training, or a semicolon."""
    return getattr(getattr(model, "recipe_", None), "label_sep", None) or ";"


def ambiguous(names: list[str], sep: str) -> InvalidInputError | None:
    """Return an error if a name of a label holds what parts labels, so that names cannot be joined by it."""
    odd = next((name for name in names if sep in name), None)
    if odd is None:
        return None
    parting = "a semicolon" if sep == ";" else repr(sep)
    message = f"the label name {odd!r} holds {parting}, which parts labels: use "
    return InvalidInputError((message, Argument("form", "table"), " or ", Argument("json")))


def _tags(on: NDArray[np.bool_], names: list[str]) -> Iterator[list[str]]:
    return ([names[j] for j in np.flatnonzero(row)] for row in on)


def best_labels(values: NDArray[Any], top: int) -> NDArray[np.int64]:
    """Return the labels with the highest values of each row; of equal ones the label with the lower number first."""
    return np.argsort(-values, axis=1, kind="stable")[:, :top]


def records_of_labels(
    answers: Answers, names: list[str], options: Mapping[str, Any], rows: RowNames
) -> Iterator[dict[str, Any]]:
    """Yield an object for each instance."""
    one, values = answers.shown
    many = "probabilities" if options["proba"] else "scores"
    best = None if options["top"] is None else best_labels(values, options["top"])
    tags = _tags(answers.on, names)
    for k, (id, row) in enumerate(zip(rows.ids.tolist(), values, strict=True)):
        record: dict[str, Any] = {"labels": next(tags)}
        if best is not None:
            record = {"top": [{"label": names[j], one: _short(row[j])} for j in best[k]]}
        elif options["scores"] or options["proba"]:
            record[many] = {name: _short(value) for name, value in zip(names, row, strict=True)}
        yield {rows.heading_beside(record): id} | record


def _short(score: Any) -> float:
    return float(str(score))
