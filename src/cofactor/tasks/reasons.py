"""Reasons for scores of items as a table, and as a few words beside recommendations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.model.explanations import Explanation
from cofactor.ratings import Reasons
from cofactor.tasks.plain import Table

__all__ = ["because", "reasons", "reasons_table"]

_FEW = 3  #: own items that are named beside a recommendation


def reasons(model: Any, user: Any, items: Sequence[Any]) -> Reasons:
    """Return the reasons of a model for the scores of items; refuse one that has none, and name those that have."""
    model.require("explain")
    found: Reasons = model.explain(user, items)
    return found


def reasons_table(found: Reasons, n: int, titles: Mapping[str, str] | None) -> Table:
    """Return reasons as a table: user, item, score, kind, term, value, contribution, and titles where there are some.

    Parameters
    ----------
    found : Reasons
    n : int
        How many terms to show of each item, the strongest; the rest is added up.
    titles : mapping from str to str, optional
        Titles by the text of an item's id.
    """
    explanation = found.explanation(n)
    columns = dict(explanation.columns)
    if titles is not None:
        own = np.isin(columns["kind"], ("rating", "interaction"))
        columns["title"] = _titles(columns["item"], titles)
        columns["term_title"] = np.where(own, _titles(columns["term"], titles), "").astype(object)
    return Table(
        "What raises and lowers scores",
        columns | {"term": np.array(["" if one is None else one for one in columns["term"]], dtype=object)},
        records=lambda: _records(explanation, titles),
        text=lambda: _named(explanation, titles).text(),
    )


def because(model: Any, users: Sequence[Any], items: Sequence[Any], titles: Mapping[str, str] | None) -> list[str]:
    """Return for each recommended item the own items that raise its score most, with their ratings.

    Parameters
    ----------
    model : estimator
        With `explain`.
    users, items : sequence
        Of each recommendation, those of a user one after the other.
    titles : mapping from str to str, optional
        Titles by the text of an item's id.
    """
    starts = [k for k, user in enumerate(users) if k == 0 or user != users[k - 1]]
    words: list[str] = []
    for first, last in zip(starts, [*starts[1:], len(users)], strict=True):
        if not model.ratings_.user_counts[model.users_.index([users[first]])[0]]:  # known by features alone
            words += [""] * (last - first)
            continue
        mine = list(items[first:last])
        known = [item for item, place in zip(mine, model.items_.index(mine), strict=True) if place >= 0]
        of_known = dict(zip(known, _raising(reasons(model, users[first], known), titles), strict=True)) if known else {}
        words += [of_known.get(item, "") for item in mine]
    return words


def _raising(found: Reasons, titles: Mapping[str, str] | None) -> list[str]:
    """Return for each item the own items that raise its score most."""
    own = found.own_items.tolist()
    rated = [f" (rated {value:g})" if found.kind == "rating" else "" for value in found.own_ratings.tolist()]
    names = [_title(one, titles) + value for one, value in zip(own, rated, strict=True)]
    return ["; ".join(names[k] for k in raising) for raising in found.raising(_FEW)]


def _title(item: Any, titles: Mapping[str, str] | None) -> str:
    return (titles or {}).get(str(item)) or str(item)


def _titles(items: NDArray[Any], titles: Mapping[str, str]) -> NDArray[Any]:
    return np.array([titles.get(str(item), "") for item in items], dtype=object)


def _named(found: Explanation, titles: Mapping[str, str] | None) -> Explanation:
    """Return an explanation with titles in place of ids, where there are some."""
    columns = dict(found.columns)
    own = np.isin(columns["kind"], ("rating", "interaction"))
    terms = columns["term"].copy()
    terms[own] = [_title(one, titles) for one in terms[own]]
    items = np.array([_title(one, titles) for one in columns["item"]], dtype=object)
    return Explanation({**columns, "item": items, "term": terms})


def _records(found: Explanation, titles: Mapping[str, str] | None) -> Iterator[dict[str, Any]]:
    """Yield an object for each item."""
    for group in found.groups():
        if titles is not None:
            named = {"rating", "interaction"}
            of_terms = [titles.get(str(one["term"]), "") if one["kind"] in named else None for one in group["terms"]]
            group["terms"] = [one | {"title": title} for one, title in zip(group["terms"], of_terms, strict=True)]
            group = {**group, "title": titles.get(str(group["item"]), "")}
        yield group
