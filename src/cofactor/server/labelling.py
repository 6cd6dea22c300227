"""What models of labels are asked: labels of rows, and the names of labels and of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cofactor.server.question import Question

__all__ = ["example_tags", "features", "labels", "tags"]


def tags(question: Question) -> dict[str, Any]:
    """Return the labels of rows.

    Parameters
    ----------
    question : Question
        Of a `cofactor.server.label_schemas.Tagging`.
    """
    asked, limits = question.asked, question.limits
    limits.check(len(asked.rows), "batch", "rows")
    if asked.top is not None:
        limits.check(asked.top, "n", "top")
        advice = "ask for fewer labels, or for fewer rows in a request"
        limits.check(asked.top * len(asked.rows), "rows", "top × rows", advice)
    found = question.answers.tag(
        asked.rows, top=asked.top, threshold=asked.threshold, coverage=asked.coverage, most=limits.rows
    )
    return {"tags": found}


def labels(question: Question) -> dict[str, Any]:
    """Return names of labels.

    Parameters
    ----------
    question : Question
        Of `cofactor.server.label_schemas.Names`.
    """
    names = question.answers.labels
    return {"total": len(names), "labels": _page(question, names)}


def features(question: Question) -> dict[str, Any]:
    """Return what rows may name.

    Parameters
    ----------
    question : Question
        Of `cofactor.server.label_schemas.FeatureNames`.
    """
    asked, rows = question.asked, question.answers.rows
    names, search = rows.names, asked.search.casefold()
    if asked.names is not None:
        question.limits.check(len(asked.names), "batch", "names")
        known = set(names)
        names = [name for name in dict.fromkeys(asked.names) if name in known]
    if search:
        names = [name for name in names if search in name.casefold()]
    return {"total": len(names), "features": rows.described(_page(question, names))}


def _page(question: Question, names: list[Any]) -> list[Any]:
    asked = question.asked
    question.limits.check(asked.n, "n", "n")
    return names[asked.first : asked.first + asked.n]


def example_tags(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return an example of a question for labels.

    Parameters
    ----------
    known : mapping from str to object
        What `LabelAnswers.example` returns.
    """
    return {"rows": [known["row"]], "top": 3}
