"""Explanations of predicted labels as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.labels import Explanation
from cofactor.model.explanations import described, group_lines
from cofactor.tasks.plain import Table
from cofactor.text import counted

__all__ = ["explanation_table"]

_SHOWN = 20  #: labels on a terminal


def explanation_table(
    found: Explanation, feature_names: Sequence[Any], heading: str, ids: NDArray[Any], *, numbered: bool
) -> Table:
    """Return an explanation as a table, its instances, features and labels by their names.

    Parameters
    ----------
    found : Explanation
        Its features are numbered.
    feature_names : sequence of length D
        Names of the features.
    heading : str
        What names the instances.
    ids : ndarray of shape (n,)
        Their names.
    numbered : bool
        Whether training instances are numbered: then they are counted from 1, as rows of files are.
    """
    columns = dict(found.columns)
    is_feature = columns["kind"] == "feature"
    terms = columns["term"].copy()
    terms[is_feature] = [str(feature_names[k]) for k in terms[is_feature]]
    if numbered:
        terms[columns["kind"] == "instance"] += 1
    named = Explanation({**columns, "label": _texts(columns["label"]), "term": terms})
    columns = {heading if name == "instance" else name: values for name, values in named.columns.items()}
    columns[heading] = ids[found.columns["instance"]]
    columns["term"] = _texts([_term(row) for row in named.records()])
    return Table(
        "What speaks for and against labels",
        columns,
        records=lambda: _records(named, heading, ids),
        text=lambda: _text(named, ids),
    )


def _texts(values: Iterable[Any]) -> NDArray[Any]:
    return np.array([str(value) for value in values], dtype=object)


def _term(row: dict[str, Any]) -> str:
    """Return the name of a term; the value of a feature has a column of its own."""
    return str(row["term"]) if row["kind"] == "feature" else described(row)


def _records(found: Explanation, heading: str, ids: NDArray[Any]) -> Iterator[dict[str, Any]]:
    """Yield an object for each instance, also for one without any label to explain."""
    labels: list[list[dict[str, Any]]] = [[] for _ in ids]
    for group in found.groups():
        labels[group.pop("instance")].append(group)
    return ({heading: id, "labels": mine} for id, mine in zip(ids.tolist(), labels, strict=True))


def _text(found: Explanation, ids: NDArray[Any]) -> str:
    """Return the first labels with their terms, and how many more there are."""
    groups = [{**group, "instance": ids[group["instance"]]} for group in found.groups()]
    if not groups:
        return "no label is predicted for any of these instances"
    lines = [line for group in groups[:_SHOWN] for line in group_lines(group)]
    rest = len(groups) - _SHOWN
    return "\n".join([*lines, *([f"... and {counted(rest, 'more label')}: --out FILE writes them all"] * (rest > 0))])
