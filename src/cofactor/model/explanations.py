"""What speaks for and against predictions, as a table of terms: of labels, and of the items of a user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.metrics.by_label import plain_values
from cofactor.text import plural

_CUT = 40  #: characters of a name in texts


@dataclass(frozen=True, eq=False)
class Explanation:
    """What speaks for and against labels of instances, or items of users, and by how much.

    Attributes
    ----------
    columns : dict of str to ndarray
        Columns of equal length, a row for each term; ``pandas.DataFrame`` and ``polars.DataFrame`` take this dict. The
        first two say what is explained, the third is its score, the others belong to the term.

        ============== ===================================================================================
        instance, user row number in X; id of the user
        label, item    name of the label; id of the item
        score          its score: what `decision_function` returns
        kind           "feature" or "instance" (of training), "rating" or "interaction" (of the user); "rest", the
                       sum of all terms which are not shown; "intercept", what remains: the score where
                       nothing is known of the instance, or the user
        term           name of the feature, its position if features have no names; id of the training
                       instance, its row number if the model was not fitted to a data set with ids; id of
                       the item that the user rated or interacted with; number of the terms in the
                       rest; None for the intercept
        value          value of the feature, as given; the rating; how often the user interacted with the
                       item; NaN for other kinds
        contribution   what it adds to the score
        ============== ===================================================================================

        Labels of an instance are sorted by score, terms by the size of their contribution. Contributions of a label of
        an instance sum to its score, those of an item where `cofactor.ratings.Reasons` says so.
    certain : float, default=inf
        Scores so far from zero are those of labels which all training instances had, or none.

    Examples
    --------
    See `cofactor.labels.LabelModel.explain` and `cofactor.ratings.Reasons`.

    >>> from cofactor.labels import PLST
    >>> model = PLST(1.0, alpha=0.1).fit([[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 1], [1, 0], [1, 0]])
    >>> [term["kind"] for term in model.explain([[3.0]]).records()]
    ['feature', 'intercept']
    """

    columns: dict[str, NDArray[Any]]
    certain: float = np.inf

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __str__(self) -> str:
        return self.text()

    def records(self) -> list[dict[str, Any]]:
        """Return a dict for each term, None where there is no value; JSON can hold them, frames take the list."""
        names = list(self.columns)
        return [
            dict(zip(names, row, strict=True)) for row in zip(*map(plain_values, self.columns.values()), strict=True)
        ]

    def groups(self) -> Iterator[dict[str, Any]]:
        """Yield a dict for each label of each instance, or item of a user: these, score, and the list of its terms."""
        names = list(self.columns)
        group: dict[str, Any] | None = None
        for row in self.records():
            if group is None or any(group[name] != row[name] for name in names[:2]):
                if group is not None:
                    yield group
                group = {name: row[name] for name in names[:3]} | {"terms": []}
            group["terms"].append({name: row[name] for name in names[3:]})
        if group is not None:
            yield group

    def text(self, n: int | None = 20) -> str:
        """Return the first labels, or items, with their terms, a term in each line.

        Parameters
        ----------
        n : int or None, default=20
            How many labels of instances, or items of users, to show; None for all.
        """
        groups = list(self.groups())
        shown = groups if n is None else groups[:n]
        lines = [line for group in shown for line in group_lines(group, self.certain)]
        rest, what = len(groups) - len(shown), list(self.columns)[1]
        return "\n".join([*lines, *([f"... and {plural(rest, f'more {what}')}"] if rest else [])])


def group_lines(group: dict[str, Any], certain: float = np.inf) -> list[str]:
    """Return the lines of a label of an instance, or an item of a user: its score, below it the terms.

    Examples
    --------
    >>> terms = [{"kind": "feature", "term": "love", "value": 2.0, "contribution": 0.5}]
    >>> group_lines({"instance": 3, "label": "sad", "score": 0.5, "terms": terms})
    ['instance 3: sad, score 0.500', '  +0.5000  love = 2']
    """
    (of, which), (_, what), _, _ = group.items()
    head = f"{of} {_one_line(which)}: {_one_line(what)}"
    if abs(group["score"]) >= certain:
        return [f"{head}, which {'all' if group['score'] > 0 else 'no'} training instances had"]
    return [
        f"{head}, score {group['score']:.3f}",
        *(f"  {term['contribution']:+.4f}  {described(term)}" for term in group["terms"]),
    ]


def described(term: dict[str, Any]) -> str:
    """Return a term in words.

    Examples
    --------
    >>> described({"kind": "instance", "term": 7}), described({"kind": "rest", "term": 120})
    ('training instance 7', '120 others')
    >>> described({"kind": "rating", "term": "Up", "value": 4.0})
    'rated Up 4'
    >>> described({"kind": "interaction", "term": 7, "value": 1.0})
    'interacted with 7'
    """
    kind, name = term["kind"], term["term"]
    if kind == "intercept":
        return "intercept"
    if kind == "rest":
        return plural(name, "other")
    if kind == "instance":
        return f"training instance {name}"
    if kind == "rating":
        return f"rated {_one_line(name)} {term['value']:g}"
    if kind == "interaction":
        return f"interacted with {_one_line(name)}" + ("" if term["value"] == 1 else f" × {term['value']:g}")
    shown = f"feature {name}" if isinstance(name, int) else _one_line(name)
    return f"{shown} = {term['value']:.4g}"


def _one_line(name: Any) -> str:
    text = " ".join(str(name).split())
    return text if len(text) <= _CUT else f"{text[: _CUT - 1]}…"
