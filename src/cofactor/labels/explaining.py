"""Why a label: the features, or the training instances, that speak for and against it, with their exact contributions.

A model says of which `Part`s its scores are the sum (`LabelModel._score_parts`); everything else is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.labels.decoding import FAR
from cofactor.labels.features import CheckedFeatures, is_sparse
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.tables import features_to_score
from cofactor.metrics.by_label import plain_values
from cofactor.model.explanations import Explanation
from cofactor.passes import batches
from cofactor.text import did_you_mean
from cofactor.typing import Features

__all__ = ["LinearPart", "Part", "ScoreParts", "VotePart", "explain", "no_parts"]

#: Columns of an explanation, and their types.
_COLUMNS: dict[str, Any] = {
    "instance": np.int64, "label": object, "score": np.float64, "kind": object, "term": object,
    "value": np.float64, "contribution": np.float64,
}  # fmt: skip
_TERMS = 10
_HEIGHT = 4096  #: instances at a time, of which there may be a table with all training instances


class Part(ABC):
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


class LinearPart(Part):
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


class VotePart(Part):
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

    parts: tuple[Part, ...]
    intercept: NDArray[Any]  # (L,) or (n, L)
    names: NDArray[Any] | None = None  # of the training instances that vote


def no_parts(model: Any, X: CheckedFeatures) -> ScoreParts:
    """Refuse to explain: the `_score_parts` of a model that does not say of which parts its scores are the sum."""
    kinds = [kind for kind in model._kinds() if kind._score_parts is not no_parts and not isinstance(model, kind)]
    problem = (
        f"the scores of this {type(model).__name__} are no sum over features or instances, and cannot be explained"
    )
    raise InvalidInputError(problem, advice=f"those of {', '.join(kind.__name__ for kind in kinds)} can")


def explain(model: Any, X: Features, labels: Iterable[Any] | None = None, *, n_terms: int = _TERMS) -> Explanation:
    """Return which features, or which training instances, speak for and against labels.

    Parameters
    ----------
    {features}
    labels : iterable, optional
        Names of the labels to explain for every instance; by default those that are predicted for it.
    n_terms : int, default=10
        How many terms to return for each label of an instance, those with the largest contributions; the others
        are added up.

    Returns
    -------
    Explanation
        The contributions of a label of an instance sum to its score (`decision_function`).

    Raises
    ------
    InvalidInputError
        If features or labels do not fit the model, or its scores are no such sum: `BinaryRelevance` with trees,
        neighbours or other learners that are not linear.

    Notes
    -----
    A linear map of features: the contribution of a feature is its value, scaled as the model scales it, times its
    coefficient. Where the model centres features, the intercept is the score of an instance with mean features. A
    kernel: a training instance contributes how much it counts for this instance, times its label, as
    `LabelRidge` says; so do instances which have the label speak for it, and with ``kernel="linear"`` all terms are
    features. Neighbours: each contributes its vote; for
    `MLkNN`, whose score depends on the number of neighbours that have the label, these share equally in the difference
    to the score without any such neighbour, and the other neighbours contribute 0.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from cofactor.labels import BinaryRelevance
    >>> X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 0.0]]), np.array([[0], [0], [1], [1]])
    >>> model = BinaryRelevance.paper(estimator=Ridge()).fit(X, y, label_names=["high"])
    >>> print(model.explain([[2.0, 0.0]]))
    instance 0: high, score 0.250
      +0.5000  feature 0 = 2
      -0.2500  intercept
    """
    check_number("n_terms", n_terms, low=1, whole=True)
    check_is_fitted(model)
    if isinstance(X, FeatureSpace):
        given = scaled = model._features(X)
    else:
        given = features_to_score(X, model)
        scaled = model.scaling_.apply(given)
    wanted = None if labels is None else _positions(model, labels)
    rows: list[tuple[Any, ...]] = []
    first = 0
    for block in (block for part in batches(scaled.shape[0], _HEIGHT) for block in model._blocks(scaled[part])):
        height = block.shape[0]
        rows += _block_rows(model, block, given[first : first + height], first, wanted, n_terms)
        first += height
    values = zip(*rows, strict=True) if rows else [()] * len(_COLUMNS)
    columns = {name: _column(part, kind) for (name, kind), part in zip(_COLUMNS.items(), values, strict=True)}
    return Explanation(columns, FAR)


def _block_rows(
    model: Any, block: CheckedFeatures, given: CheckedFeatures, first: int, wanted: Any, n_terms: int
) -> list[tuple[Any, ...]]:
    """Return the rows of the columns of an explanation for a block of instances."""
    scores = model._all_scores(block)
    if wanted is None:
        pairs = np.argwhere(model._decoded(block))
    else:
        pairs = np.column_stack([np.repeat(np.arange(len(scores)), len(wanted)), np.tile(wanted, len(scores))])
    own = np.cumsum(model.constant_ == 0) - 1  # positions among the labels that vary
    varying = model.constant_ == 0
    explained = model._score_parts(block) if len(pairs) and varying[pairs[:, 1]].any() else ScoreParts((), np.zeros(0))
    terms: dict[tuple[int, int], list[tuple[Any, ...]]] = {}
    for row, label in pairs[np.argsort(pairs[:, 1], kind="stable")].tolist():  # each map is computed once for a label
        if varying[label]:
            found = _terms(model, explained, int(own[label]), row, given, n_terms)
        else:
            found = [("intercept", None, np.nan, float(scores[row, label]))]
        terms[row, label] = found
    order = np.lexsort((pairs[:, 1], -scores[pairs[:, 0], pairs[:, 1]], pairs[:, 0]))
    return [
        (first + row, model.label_names_[label], float(scores[row, label]), *term)
        for row, label in pairs[order].tolist()
        for term in terms[row, label]
    ]


def _terms(
    model: Any, explained: ScoreParts, label: int, row: int, given: CheckedFeatures, n_terms: int
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
    names = getattr(model, "feature_names_in_", None)
    found: list[tuple[Any, ...]] = []
    for k in order[:n_terms].tolist():
        position = int(term[k])
        if kinds[k] == "feature":
            name = position if names is None else names[position]
            found.append(("feature", name, float(given[row, position]), float(share[k])))
        else:
            known = position if explained.names is None else plain_values(explained.names[[position]])[0]
            found.append((kinds[k], known, np.nan, float(share[k])))
    if len(order) > n_terms:
        found.append(("rest", len(order) - n_terms, np.nan, float(share[order[n_terms:]].sum())))
    intercept = explained.intercept[label] if explained.intercept.ndim == 1 else explained.intercept[row, label]
    return [*found, ("intercept", None, np.nan, float(intercept))]


def _positions(model: Any, labels: Iterable[Any]) -> NDArray[np.int64]:
    """Return the positions of labels by their names."""
    if isinstance(labels, str):
        labels = [labels]
    known = {name: k for k, name in enumerate(model.label_names_.tolist())}
    known = {str(name): k for name, k in known.items()} | known  # the command line knows names as texts
    wanted = list(dict.fromkeys(labels))
    for name in wanted:
        if name not in known:
            expected = did_you_mean(str(name), [str(one) for one in model.label_names_])
            raise InvalidInputError(f"no label of the model: {expected}", argument="labels", found=name)
    return np.array([known[name] for name in wanted], dtype=np.int64)


def _column(values: Iterable[Any], kind: Any) -> NDArray[Any]:
    listed = list(values)
    column = np.empty(len(listed), dtype=kind)
    column[:] = listed
    return column
