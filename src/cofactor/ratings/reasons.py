"""Why an item: which of a user's own ratings, or interactions, raise or lower its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_number
from cofactor.frames import frame_of
from cofactor.model.explanations import Explanation
from cofactor.typing import Frame


@dataclass(frozen=True, eq=False)
class Reasons:
    """How much each of a user's own ratings, or interactions, raises or lowers the scores of items.

    Attributes
    ----------
    user : hashable
        The user's id.
    items : ndarray of shape (k,)
        Ids of the items that are explained.
    scores : ndarray of shape (k,), float64
        Their scores.
    own_items : ndarray of shape (n,)
        Ids of the items that the user rated, or interacted with.
    own_ratings : ndarray of shape (n,), float64
        The ratings, or how often the user interacted with the items.
    contributions : ndarray of shape (k, n), float64
        What each of these adds to each score.
    intercepts : ndarray of shape (k,), float64, or None
        What is left of the scores: what none of the user's ratings adds. None where contributions are changes, of one
        rating at a time, which do not sum.
    kind : {"rating", "interaction"}
        What the user's own entries are.
    parts : mapping of str to ndarray of shape (k, n)
        Of a `Recommender`, of what contributions are the sum: "interaction" and "like".

    Examples
    --------
    >>> one, two = np.array(["Up"], dtype=object), np.array(["Alien", "Heat"], dtype=object)
    >>> why = Reasons(7, one, np.array([0.4]), two, np.ones(2), np.array([[0.1, 0.3]]), np.zeros(1), "interaction")
    >>> why.raising()
    [[1, 0]]
    >>> print(why)
    user 7: Up, score 0.400
      +0.3000  interacted with Heat
      +0.1000  interacted with Alien
      +0.0000  intercept
    """

    user: Any
    items: NDArray[Any]
    scores: NDArray[np.float64]
    own_items: NDArray[Any]
    own_ratings: NDArray[np.float64]
    contributions: NDArray[np.float64]
    intercepts: NDArray[np.float64] | None
    kind: str
    parts: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.explanation(10).text()

    def raising(self, n: int = 3) -> list[list[int]]:
        """Return for each item which of the own items raise its score, at most n, the strongest first."""
        check_number("n", n, low=1, whole=True)
        orders = np.argsort(-self.contributions, axis=1, kind="stable")[:, :n].tolist()
        return [[k for k in order if row[k] > 0] for order, row in zip(orders, self.contributions, strict=True)]

    def explanation(self, n_terms: int | None = None) -> Explanation:
        """Return a row for each item and own item: user, item, score, kind, term, value, contribution, and the parts.

        Parameters
        ----------
        n_terms : int, optional
            How many terms to show of each item, those with the largest contributions; the others are added up. By
            default all.
        """
        check_number("n_terms", n_terms, low=1, whole=True, also=[None])
        amounts = {"contribution": self.contributions, **self.parts}
        rows: list[tuple[Any, ...]] = []
        for j, (item, score) in enumerate(zip(self.items.tolist(), self.scores.tolist(), strict=True)):
            head = (self.user, item, score)
            order = np.argsort(-np.abs(self.contributions[j]), kind="stable")
            for k in order[:n_terms].tolist():
                found = (float(table[j, k]) for table in amounts.values())
                rows.append((*head, self.kind, self.own_items[k], float(self.own_ratings[k]), *found))
            if n_terms is not None and len(order) > n_terms:
                left = order[n_terms:]
                found = (float(table[j, left].sum()) for table in amounts.values())
                rows.append((*head, "rest", len(left), np.nan, *found))
            if self.intercepts is not None:
                rows.append((*head, "intercept", None, np.nan, float(self.intercepts[j]), *[np.nan] * len(self.parts)))
        names = ("user", "item", "score", "kind", "term", "value", *amounts)
        kinds = dict.fromkeys(("user", "item", "kind", "term"), object)
        table = zip(*rows, strict=True)
        return Explanation({name: _column(one, kinds.get(name, float)) for name, one in zip(names, table, strict=True)})

    def to_frame(self, kind: str = "pandas") -> Frame:
        """Return the rows of `explanation`, all terms, as a frame.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow"}, default="pandas"
            Whose frame, or table.
        """
        return frame_of(self.explanation().columns, kind)


def _column(values: tuple[Any, ...], kind: Any) -> NDArray[Any]:
    column = np.empty(len(values), dtype=kind)
    column[:] = values
    return column


def products(
    precision: NDArray[Any], own: NDArray[Any], weights: NDArray[Any], wanted: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return f_j·A⁻¹f_i with A = P + Σ_i w_i f_i f_iᵀ, for items j and own entries i, and f_i·A⁻¹f_i.

    Parameters
    ----------
    precision : ndarray of shape (..., d, d)
        P, regular.
    own : ndarray of shape (..., n, d)
        The rows f_i.
    weights : ndarray of shape (..., n)
    wanted : ndarray of shape (..., k, d)
        The rows f_j.

    Returns
    -------
    between : ndarray of shape (..., k, n)
    leverages : ndarray of shape (..., n)

    Examples
    --------
    >>> products(np.eye(1), np.ones((3, 1)), np.ones(3), np.full((1, 1), 2.0))
    (array([[0.5, 0.5, 0.5]]), array([0.25, 0.25, 0.25]))
    """
    own, wanted = own.astype(np.float64), wanted.astype(np.float64)
    turned = np.swapaxes(own, -1, -2)
    A = precision + (turned * weights[..., None, :]) @ own
    solved = np.linalg.solve(A, turned)
    return wanted @ solved, (turned * solved).sum(axis=-2)


def without_each(
    between: NDArray[Any], leverages: NDArray[Any], gradients: NDArray[Any], weights: NDArray[Any]
) -> NDArray[Any]:
    """Return how much lower scores are without each entry: of log-likelihoods with these derivatives and curvatures.

    Examples
    --------
    >>> without_each(np.full((1, 1), 0.5), np.array([0.5]), np.array([1.0]), np.array([1.0]))
    array([[1.]])
    """
    return np.asarray(between * (gradients / (1 - weights * leverages))[..., None, :])


def with_constant(rows: NDArray[Any], *, in_place: bool = False) -> NDArray[np.float64]:
    """Return rows of features with a one as their last column, in place of the bias there if `in_place`.

    Examples
    --------
    >>> with_constant(np.array([[2.0, 3.0]])).tolist(), with_constant(np.array([[2.0, 3.0]]), in_place=True).tolist()
    ([[2.0, 3.0, 1.0]], [[2.0, 1.0]])
    """
    ones = np.ones((*rows.shape[:-1], 1))
    return np.concatenate([rows[..., :-1] if in_place else rows, ones], axis=-1, dtype=np.float64)
