"""What answers say, and what the library says, in one form."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.model.explanations import Explanation


def rows_of(found: tuple[Any, Any], row: int) -> list[tuple[Any, float]]:
    """Return items and scores of a row, as the library gives them."""
    items, scores = found
    there = np.isfinite(scores[row])
    return list(zip(items[row][there].tolist(), scores[row][there].tolist(), strict=True))


def rows(answer: dict[str, Any]) -> list[tuple[Any, float]]:
    return [(one["item"], one["score"]) for one in answer["items"]]


def reasons(found: Explanation, what: str, names: Any = None) -> list[Any]:
    """Return what an explanation of the library says, in the words of answers."""
    groups = []
    for group in found.groups():
        terms = {one["kind"]: one for one in group["terms"]}
        kinds = ("feature", "instance", "rating", "interaction")
        own = [(one["term"], one["contribution"]) for one in group["terms"] if one["kind"] in kinds]
        own = [(term if names is None else names[term], amount) for term, amount in own]
        rest = {key: terms[key]["contribution"] for key in ("rest", "intercept") if key in terms}
        groups.append((group[what], group["score"], own, rest))
    return groups


def told(answer: Any, what: str) -> list[Any]:
    """Return an answer in the same form."""
    groups = []
    for one in answer["explanations"]:
        own = [
            (next(r[key] for key in ("feature", "instance", "item") if key in r), r["contribution"])
            for r in one["reasons"]
        ]
        rest = {"rest": one["rest"]["contribution"]} if "rest" in one else {}
        rest |= {"intercept": one["intercept"]} if "intercept" in one else {}
        groups.append((one[what], one["score"], own, rest))
    return groups
