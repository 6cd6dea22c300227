"""Predicted labels beside the true ones, for a few instances, as text or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.metrics.tables import as_label_sets, check_same_shape
from cofactor.pages import Html, table

__all__ = ["prediction_table"]

_MARKS = {"right": "✓", "wrong": "✗", "missed": "–"}


def prediction_table(
    Y: Any,
    predicted: Any,
    names: Sequence[Any] | None = None,
    *,
    rows: Sequence[Any] | None = None,
    form: Literal["text", "html"] = "text",
) -> str:
    """Return a table which says of each instance which labels were found, which are wrong, and which were missed.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels of a few instances: booleans, 0 and 1, or -1 and 1.
    names : sequence of length L, optional
        Names of the labels; by default 0 to L - 1.
    rows : sequence of length n, optional
        Names of the instances; by default 0 to n - 1.
    form : {"text", "html"}, default="text"
        Lines of text, or a table whose names are escaped.

    Returns
    -------
    str
        ✓ before labels that were found, ✗ before wrong ones, – before those missed: they differ by their signs, not by
        their colours.

    Raises
    ------
    ValueError
        If the shapes or the names do not fit together, or `form` is neither of the two.

    Examples
    --------
    >>> print(prediction_table([[1, 1, 0]], [[1, 0, 1]], ["rock", "loud", "sad"], rows=["song 7"]))
    song 7: ✓ rock  ✗ sad  – loud
    """
    if form not in ("text", "html"):
        raise InvalidInputError(f"form must be 'text' or 'html', found {form!r}", argument="form")
    true, found = as_label_sets(Y), as_label_sets(predicted, "predicted")
    check_same_shape(true.shape, found.shape, ("Y", "predicted"))
    labels = _names(names, "names", true.shape[1])
    instances = _names(rows, "rows", true.shape[0])
    parts = [_sorted_out(true[[k]].indices, found[[k]].indices, labels) for k in range(true.shape[0])]
    return _text(instances, parts) if form == "text" else _html(instances, parts)


def _sorted_out(true: NDArray[Any], found: NDArray[Any], names: list[str]) -> dict[str, list[str]]:
    """Return the names of labels that are right, wrong and missed."""
    sets = {
        "right": np.intersect1d(true, found),
        "wrong": np.setdiff1d(found, true),
        "missed": np.setdiff1d(true, found),
    }
    return {kind: [names[k] for k in chosen] for kind, chosen in sets.items()}


def _text(instances: list[str], parts: list[dict[str, list[str]]]) -> str:
    lines = []
    for instance, part in zip(instances, parts, strict=True):
        words = "  ".join(f"{_MARKS[kind]} {name}" for kind, names in part.items() for name in names)
        lines.append(f"{instance}: {words or 'no labels, and none predicted'}")
    return "\n".join(lines)


def _html(instances: list[str], parts: list[dict[str, list[str]]]) -> Html:
    titles = {"right": "found", "wrong": "wrong", "missed": "missed"}
    heads = ["", *(f"{_MARKS[kind]} {title}" for kind, title in titles.items())]
    rows = [
        [instance, *(", ".join(part[kind]) for kind in titles)] for instance, part in zip(instances, parts, strict=True)
    ]
    return table(heads, rows, words=True, framed=False)


def _names(names: Sequence[Any] | None, what: str, n: int) -> list[str]:
    if names is None:
        return [str(k) for k in range(n)]
    if len(names) != n:
        raise InvalidInputError(f"{what} must have {n} entries, found {len(names)}")
    return [str(name) for name in names]
