"""Why a label: the features, or the training instances, that speak for and against it, with their exact contributions.

A model says of which `ScorePart`s its scores are the sum (`LabelModel._score_parts`); the rest is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cofactor.chunked import is_sparse
from cofactor.labels.calibration import CONSTANT_SCORE
from cofactor.metrics.by_label import plain_values
from cofactor.model.explanations import Explanation

#: Columns of an explanation, and their types.
_COLUMNS: dict[str, Any] = {
    "instance": np.int64, "label": object, "score": np.float64, "kind": object, "term": object,
    "value": np.float64, "contribution": np.float64,
}  # fmt: skip


class ScorePart(ABC):
    """A part of the scores of some instances: a sum of terms, such as features.

    Attributes
    ----------
    kind : {"feature", "instance"}
        What the terms are: features, or training instances.
    """

    kind: str

    @abstractmethod
    def terms(self, label: int, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return which terms speak for or against a label of an instance, and their contributions to its score."""

    def prepare(self, label: int) -> None:
        """Prepare for this label of several instances; by default do nothing."""
        return


class LinearPart(ScorePart):
    """Scores that are linear: features times ``left @ right``.

    Parameters
    ----------
    features : ndarray or csr_array of shape (n, M)
        What the map is applied to: features, or similarities to M training instances.
    left : ndarray of shape (M, d)
    right : ndarray of shape (d, L), optional
        Without it `left` has a column for each label.
    kind : {"feature", "instance"}, default="feature"

    Examples
    --------
    >>> part = LinearPart(np.array([[1.0, 0.0, 2.0]]), np.array([[0.5], [1.0], [-1.0]]))
    >>> part.prepare(0)
    >>> part.terms(0, 0)
    (array([0, 2]), array([ 0.5, -2. ]))
    """

    def __init__(
        self, features: Any, left: NDArray[Any], right: NDArray[Any] | None = None, kind: str = "feature"
    ) -> None:
        self.features, self.left, self.right, self.kind = features, left, right, kind
        self._label = -1
        self._coef: NDArray[np.float64] = np.zeros(0)

    def prepare(self, label: int) -> None:
        """Compute the coefficients of a label."""
        if label != self._label:
            column = self.left[:, label] if self.right is None else self.left @ self.right[:, label]
            self._label, self._coef = label, np.asarray(column, dtype=np.float64)

    def terms(self, label: int, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the features that contribute, and their contributions."""
        self.prepare(label)
        if is_sparse(self.features):
            here = slice(self.features.indptr[row], self.features.indptr[row + 1])
            which, values = self.features.indices[here].astype(np.int64), self.features.data[here]
        else:
            which = np.flatnonzero(self.features[row])
            values = self.features[row, which]
        shares = values.astype(np.float64) * self._coef[which]
        return which[shares != 0], shares[shares != 0]


class VotePart(ScorePart):
    """Scores to which each of k training instances contributes.

    Parameters
    ----------
    instances : ndarray of shape (n, k)
        Positions of the training instances among those that vote.
    weigh : callable
        Returns, for a label and a row, the contributions of its k instances.

    Examples
    --------
    >>> VotePart(np.array([[7, 3]]), lambda label, row: np.array([0.5, -0.5])).terms(0, 0)
    (array([7, 3]), array([ 0.5, -0.5]))
    """

    kind = "instance"

    def __init__(self, instances: NDArray[np.int64], weigh: Callable[[int, int], NDArray[Any]]) -> None:
        self.instances, self.weigh = instances, weigh

    def terms(self, label: int, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the instances and their contributions; those that contribute nothing are kept."""
        return self.instances[row], np.asarray(self.weigh(label, row), dtype=np.float64)


class ScoreParts(NamedTuple):
    """Parts whose terms and intercept sum to the scores of some instances."""

    parts: tuple[ScorePart, ...]
    intercept: NDArray[Any]  # (L,) or (n, L)
    names: NDArray[Any] | None = None  # of the training instances that vote


#: Of scores that need no explanation.
NO_PARTS = ScoreParts((), np.zeros(0))


class Explainer:
    """Makes the rows of an explanation from scores and the parts that they are the sum of.

    Parameters
    ----------
    label_names : ndarray of shape (L,)
    feature_names : ndarray of shape (D,) or None
        None for features without names.
    varying : ndarray of shape (L,), bool
        Which labels have parts: those that vary in training. The others have their score as the intercept.
    n_terms : int
        How many terms of each label are named; the others are added up.
    """

    def __init__(
        self, label_names: NDArray[Any], feature_names: NDArray[Any] | None, varying: NDArray[np.bool_], n_terms: int
    ) -> None:
        self._label_names, self._feature_names = label_names, feature_names
        self._varying, self._n_terms = varying, n_terms
        self._own = np.cumsum(varying) - 1  # positions among the labels that vary
        self._rows: list[tuple[Any, ...]] = []
        self._n_instances = 0

    def add(self, scores: NDArray[Any], pairs: NDArray[np.int64], explained: ScoreParts, features: Any) -> None:
        """Explain some labels of the next instances.

        Parameters
        ----------
        scores : ndarray of shape (n, L)
        pairs : ndarray of shape (m, 2)
            Rows of the scores, and labels.
        explained : ScoreParts
            Of the labels that vary.
        features : ndarray or csr_array of shape (N, D)
            Of all instances, these among them, as they were given: not scaled.
        """
        first, names = self._n_instances, self._label_names
        terms: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
        for row, label in pairs[np.argsort(pairs[:, 1], kind="stable")].tolist():  # a map is computed once for a label
            if self._varying[label]:
                found = self._terms(explained, int(self._own[label]), row, features, first + row)
            else:
                found = [("intercept", None, np.nan, float(scores[row, label]))]
            terms[row, label] = found
        order = np.lexsort((pairs[:, 1], -scores[pairs[:, 0], pairs[:, 1]], pairs[:, 0]))
        self._rows += [
            (first + row, names[label], float(scores[row, label]), *term)
            for row, label in pairs[order].tolist()
            for term in terms[row, label]
        ]
        self._n_instances += len(scores)

    def _terms(
        self, explained: ScoreParts, label: int, row: int, features: Any, instance: int
    ) -> list[tuple[Any, ...]]:
        """Return kind, term, value and contribution of the strongest terms, of the rest, and of the intercept."""
        kinds, which, shares = [], [], []
        for part in explained.parts:
            part.prepare(label)
            terms, contributions = part.terms(label, row)
            kinds += [part.kind] * len(terms)
            which.append(terms)
            shares.append(contributions)
        term, share = np.concatenate([*which, np.zeros(0, np.int64)]), np.concatenate([*shares, np.zeros(0)])
        order = np.argsort(-np.abs(share), kind="stable")
        names, n_terms = self._feature_names, self._n_terms
        found: list[tuple[Any, ...]] = []
        for k in order[:n_terms].tolist():
            position = int(term[k])
            if kinds[k] == "feature":
                name = position if names is None else names[position]
                found.append(("feature", name, float(features[instance, position]), float(share[k])))
            else:
                known = position if explained.names is None else plain_values(explained.names[[position]])[0]
                found.append((kinds[k], known, np.nan, float(share[k])))
        if len(order) > n_terms:
            found.append(("rest", len(order) - n_terms, np.nan, float(share[order[n_terms:]].sum())))
        intercept = explained.intercept[label] if explained.intercept.ndim == 1 else explained.intercept[row, label]
        return [*found, ("intercept", None, np.nan, float(intercept))]

    def explanation(self) -> Explanation:
        """Return what was explained."""
        values = zip(*self._rows, strict=True) if self._rows else [()] * len(_COLUMNS)
        columns = {name: _column(part, kind) for (name, kind), part in zip(_COLUMNS.items(), values, strict=True)}
        return Explanation(columns, CONSTANT_SCORE)


def _column(values: Iterable[Any], kind: Any) -> NDArray[Any]:
    listed = list(values)
    column = np.empty(len(listed), dtype=kind)
    column[:] = listed
    return column
