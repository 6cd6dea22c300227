r"""From scores to probabilities and label sets: a model's `Decision`, and the rules by which labels are on.

`Threshold` and `TopK` use scores alone; `ProbabilityThreshold`, `BestSets` and `LikelySets` use calibrated
probabilities (`cofactor.labels.calibration`). Their numbers are given, or learned from scores of instances that the
model did not learn from (`learn_threshold`, `learn_rule`).

The expected F1 of a set h of k labels is a sum over its labels,

.. math:: E[F_1(h)] = \sum_{l \in h} \Delta_{lk}, \qquad \Delta_{lk} = \sum_s P(y_l = 1, |y| = s) \frac{2}{s + k},

so for each k the best labels are those of the k largest :math:`\Delta_{lk}` (Waegeman et al. 2014). The empty set has
F1 = 1 where no label is on, and 0 elsewhere.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit, logit

from cofactor.checks import AUTO, as_weights, check_choice, check_number, relative_weights
from cofactor.chunked import batches
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError
from cofactor.kernels.calibration import logit_histogram
from cofactor.labels.calibration import CONSTANT_SCORE, Calibration, learn_with_sets, usable_scores
from cofactor.labels.data import known_shares
from cofactor.labels.features import column_means
from cofactor.labels.targets import (
    KINDS,
    NEVER,
    bounded,
    check_targets,
    cut_of_costs,
    cut_of_share,
    cuts_given,
    highest_precision,
    in_words,
)
from cofactor.labels.training_data import TrainingData
from cofactor.metrics.tables import as_label_sets, as_scores, check_same_shape
from cofactor.model.convergence import callers_level
from cofactor.text import plural
from cofactor.typing import Labels

_PER_BLOCK = 1 << 22


def f1_sets_of_draws(sets: ArrayLike, weights: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Return for each instance the label set with the largest expected F1, by label sets drawn for it.

    Parameters
    ----------
    sets : array-like of shape (n, S, L)
        S label sets of each instance, of 0 and 1: drawn from a joint distribution, or the likely ones.
    weights : array-like of shape (n, S), optional
        How probable each set is, not negative; by default all are equally probable.

    Returns
    -------
    ndarray of shape (n, L), bool

    Notes
    -----
    Exact for these sets, in O(S L²) operations for each instance.

    References
    ----------
    W. Waegeman, K. Dembczyński, A. Jachnik, W. Cheng & E. Hüllermeier, "On the Bayes-optimality of F-measure
    maximizers", Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> f1_sets_of_draws([[[1, 0, 0], [1, 1, 0], [0, 1, 1]]])
    array([[ True,  True, False]])
    """
    table = np.asarray(sets, dtype=np.float64)
    if table.ndim != 3 or not table.shape[1]:
        raise InvalidInputError(f"sets has shape {table.shape}, expected (n, S, L) with S of at least 1")
    n, n_sets, n_labels = table.shape
    shares = np.full((n, n_sets), 1 / n_sets) if weights is None else np.asarray(weights, dtype=np.float64)
    if shares.shape != (n, n_sets) or not (shares >= 0).all():
        raise InvalidInputError(f"weights has shape {shares.shape}, expected numbers of at least 0, {(n, n_sets)}")
    on = np.zeros((n, n_labels), dtype=bool)
    k = np.arange(1, n_labels + 1)
    for rows in batches(n, max(1, _PER_BLOCK // (n_labels * max(n_labels, n_sets)))):
        size, share = table[rows].sum(axis=2), shares[rows]
        gains = share[:, :, None] * 2 / (size[:, :, None] + k)
        delta = np.swapaxes(table[rows], 1, 2) @ gains
        on[rows] = _best(delta, np.sum(share * (size == 0), axis=1))
    return on


def _best(delta: NDArray[np.float64], none: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the best sets, shape (n, L), from the gains of labels in sets of each size, and the chance of none."""
    n_labels = delta.shape[1]
    order = np.argsort(-delta, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(delta, order, axis=1), axis=1)
    values = np.column_stack([none, np.diagonal(sums, axis1=1, axis2=2)])
    size = np.argmax(values, axis=1)
    chosen = np.take_along_axis(order, np.maximum(size - 1, 0)[:, None, None], axis=2)[:, :, 0]
    on = np.zeros(delta.shape[:2], dtype=bool)
    np.put_along_axis(on, chosen, np.arange(n_labels) < size[:, None], axis=1)
    return on


class Aim(NamedTuple):
    """What decisions by probabilities may be best at, in words: the measure, and how a model then decides."""

    measure: str
    decides: str


#: By the parameter `decide_for`, which is the name of the rule too.
AIMS: Mapping[str, Aim] = {
    "micro": Aim("micro-F1", "by a cut of probabilities, for micro-F1"),
    "macro": Aim("macro-F1", "by cuts of probabilities, for macro-F1"),
    "example": Aim("F1 of each instance", "by sets of the largest expected F1, with at least so many labels"),
    "hamming": Aim("Hamming loss", "by a cut of probabilities, for Hamming loss"),
    "subset": Aim("subset accuracy", "by likely sets, with at least so many labels"),
}
TARGET_METRICS = tuple(AIMS)
_MEASURES = {name: aim.measure for name, aim in AIMS.items()}

#: Rules whose cut of the scores is learned.
RULES = ("global", "per-label", "top-k", "cardinality")

#: The parameter `threshold` of a model which decodes label sets by itself, and the name of its rule in a file.
JOINT = "joint"


class Rule(ABC):
    """Decides from scores, or probabilities, which labels are on.

    Attributes
    ----------
    name : str
        How its value was chosen: "fixed", or one of `RULES` or `TARGET_METRICS`.
    value : float or ndarray of shape (L,)
        The number or numbers that it uses.
    takes : {"scores", "probabilities"}
        What `apply` decides from.

    Examples
    --------
    >>> from cofactor.labels import Threshold, Rule
    >>> cut = Threshold(0.5)
    >>> isinstance(cut, Rule), cut.apply(np.array([[0.2, 0.7]])).tolist()
    (True, [[False, True]])
    """

    #: Its possible names.
    names: ClassVar[tuple[str, ...]]
    takes: ClassVar[str] = "scores"
    name: str
    value: float | NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.name not in self.names:
            raise InvalidInputError(f"unknown rule {self.name!r}")
        if not self._fits():
            raise InvalidInputError(f"the rule {self.name!r} cannot have the value {self.value!r}")

    @property
    def words(self) -> str:
        """How it decides, in words; nothing where scores are cut, of which the cut says all."""
        return AIMS[self.name].decides if self.name in AIMS else ""

    @abstractmethod
    def _fits(self) -> bool:
        """Return whether the value is one that a rule of this name can have."""

    @abstractmethod
    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where labels are on.

        Parameters
        ----------
        scores : ndarray of shape (n, L)
            Scores, or probabilities, as the rule `takes` them. A label that all, or no, training instances have is
            among them: its score is 1e9, or -1e9, and its probability 1, or 0. A rule must leave it as it is, and see
            to it that the other labels do not depend on it where they should not.

        Returns
        -------
        ndarray of shape (n, L), bool
        """


@dataclass(frozen=True, eq=False)
class Threshold(Rule):
    """Labels whose score lies above a cut are on.

    Parameters
    ----------
    value : float, or ndarray of shape (L,)
        The cut; one for each label with "per-label".
    name : {"fixed", "global", "per-label", "cardinality"}, default="fixed"
        How the cut was chosen.

    Examples
    --------
    >>> Threshold(0.0).apply(np.array([[0.3, -0.1, 0.0], [-0.5, -0.2, 0.1]]))
    array([[ True, False, False],
           [False, False,  True]])
    """

    names: ClassVar[tuple[str, ...]] = ("fixed", "global", "per-label", "cardinality")
    value: float | NDArray[np.float64]
    name: str = "fixed"

    def _fits(self) -> bool:
        return bool(np.isfinite(self.value).all()) and np.ndim(self.value) == (self.name == "per-label")

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where scores lie above the cut; a label whose score equals the cut is off."""
        return scores > np.asarray(self.value, dtype=np.float64)  # not rounded to the precision of the scores


@dataclass(frozen=True, eq=False)
class TopK(Rule):
    """The k labels of each instance with the highest scores are on; of equal scores the first label is taken first.

    Parameters
    ----------
    value : int
        k, not negative.
    name : {"top-k"}, default="top-k"
        The only way to choose k.

    Examples
    --------
    >>> TopK(1).apply(np.array([[0.3, -0.1, 0.2], [-0.5, -0.2, -0.3]]))
    array([[ True, False, False],
           [False,  True, False]])
    """

    names: ClassVar[tuple[str, ...]] = ("top-k",)
    value: int
    name: str = "top-k"

    @property
    def words(self) -> str:
        """How it decides, in words."""
        return f"by the highest scores, {plural(int(self.value), 'label')} an instance"

    def _fits(self) -> bool:
        value = self.value
        return not np.ndim(value) and bool(np.isfinite(value)) and int(value) == value and value >= 0

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where the k highest scores of each row are."""
        on = np.zeros(scores.shape, dtype=bool)
        best = np.argsort(-scores, axis=1, kind="stable")[:, : int(self.value)]
        np.put_along_axis(on, best, True, axis=1)
        return on


def check_threshold(threshold: Any, *, joint: bool = False, argument: str = "threshold") -> None:
    """Refuse what is neither a number nor the name of a rule.

    Parameters
    ----------
    threshold : object
    joint : bool, default=False
        Whether the model can decode label sets by itself, so that "joint" is a rule too.
    argument : str, default="threshold"
        What messages call it.
    """
    rules = (AUTO, *RULES, JOINT) if joint else (AUTO, *RULES)
    expected = f"expected a finite number, or one of {', '.join(map(repr, rules))}"
    if isinstance(threshold, str):
        if threshold not in rules:
            aim = (Argument("decide_for", threshold), " decides so, with ", Argument(argument, AUTO))
            advice = aim if threshold in TARGET_METRICS else ""
            raise InvalidInputError(expected, argument=argument, found=threshold, advice=advice)
    elif isinstance(threshold, bool | np.bool_) or not isinstance(threshold, Real):
        rule = "apply it to scores: TopK(5).apply(model.decision_function(X))" if isinstance(threshold, Rule) else ""
        raise InvalidTypeError(expected, argument=argument, found=threshold, advice=rule)
    elif not math.isfinite(threshold):
        raise InvalidInputError(expected, argument=argument, found=threshold)


def no_joint(name: str, able: Mapping[str, str]) -> InvalidInputError:
    """Return the error of a model which was asked for label sets as a whole, and cannot predict them.

    Parameters
    ----------
    name : str
        The class of the model.
    able : mapping from str to str
        Classes of models which can, with their defaults, and the names to show.

    Examples
    --------
    >>> str(no_joint("PLST", {"RAkEL": "rakel", "HOMER": "homer"}))
    "threshold='joint': PLST does not decode label sets by itself; these do: homer, rakel"
    """
    others = " with these parameters" if name in able else f"; these do: {', '.join(sorted(able.values()))}"
    problem = f"{name} does not decode label sets by itself{others}"
    return InvalidInputError(problem, argument="threshold", found=JOINT)


def check_decision(threshold: Any, decide_for: str | Mapping[str, Any]) -> None:
    """Refuse a `decide_for` that would not count, since the threshold cuts scores.

    Examples
    --------
    >>> check_decision("auto", "macro")
    >>> check_decision(0.5, "macro")
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: decide_for='macro': threshold=0.5 does not look at it; take threshold='auto'
    """
    if threshold != AUTO and decide_for != TARGET_METRICS[0]:
        whole = "leave it out to decide for label sets as a whole, or " if threshold == JOINT else ""
        raise InvalidInputError(
            (Argument("threshold", threshold), " does not look at it"),
            argument="decide_for",
            found=decide_for,
            advice=(f"{whole}take ", Argument("threshold", AUTO)),
        )


def learn_threshold(
    rule: str, scores: ArrayLike, Y: Labels, sample_weight: ArrayLike | None = None
) -> Threshold | TopK:
    r"""Learn a cut from scores of instances whose labels are known.

    The scores should come from models that did not learn from the instances (out-of-fold scores): the best cut for
    scores of training instances is too high for new ones.

    ==============  ===============================================================================================
    "global"        one cut c which maximises micro-F1, :math:`2 \sum tp / (2 \sum tp + \sum fp + \sum fn)`
    "per-label"     a cut for each label which maximises its own F1
    "top-k"         the number k of labels for each instance which maximises micro-F1
    "cardinality"   one cut by which instances have as many labels on average as they really have
    ==============  ===============================================================================================

    Parameters
    ----------
    rule : {"global", "per-label", "top-k", "cardinality"}
    scores : array-like of shape (n, L)
    Y : array-like, sparse matrix or array, or frame, of shape (n, L)
        Labels: 0 and 1, False and True, or -1 and 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, not negative; by default all are 1.

    Returns
    -------
    Threshold or TopK
        A cut lies half way between two neighbouring scores; of equally good cuts the highest is taken.

    Raises
    ------
    InvalidInputError
        If the rule is unknown, or scores, labels and weights are not tables of these shapes.

    Notes
    -----
    Sorts the scores once and counts cumulatively: O(n L log(n L)). Report results with learned cuts apart from those
    with the plain cut: a learned cut depends on the labels of the instances on which it was learned.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.4], [0.3, 0.2], [0.1, 0.8]])
    >>> Y = sparse.csr_array([[1, 1], [1, 0], [0, 1]])
    >>> learn_threshold("global", scores, Y).value
    0.25
    >>> learn_threshold("cardinality", scores, Y).value
    0.25
    >>> learn_threshold("top-k", scores, Y).value
    1
    """
    scores, Y, sample_weight = _checked(scores, Y, sample_weight)
    if rule == "top-k":
        return TopK(_best_k(scores, Y, sample_weight))
    if rule == "per-label":
        n, n_labels = scores.shape
        blocks = batches(n_labels, max(1, _PER_BLOCK // max(n, 1)))
        return Threshold(np.concatenate([_best_cuts(scores[:, k], Y[:, k], sample_weight) for k in blocks]), rule)
    cuts, true_positives, positives = _all_cuts(scores, Y, sample_weight)
    actual = _n_on(Y, sample_weight)
    if rule == "cardinality":
        return Threshold(float(cuts[np.argmin(np.abs(positives - actual))]), rule)
    return Threshold(float(cuts[np.argmax(_f1(true_positives, positives, actual))]), rule)


def micro_f1_curve(
    scores: ArrayLike, Y: Labels, n_points: int | None = 500
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return micro-F1 as a function of one global cut.

    Parameters
    ----------
    scores : array-like of shape (n, L)
    Y : array-like, sparse matrix or array, or frame, of shape (n, L)
        Labels: 0 and 1, False and True, or -1 and 1.
    n_points : int or None, default=500
        Largest number of cuts. They are spread evenly over the ranks of the scores, and the best cut is one of them.
        None for all cuts that make a difference.

    Returns
    -------
    cuts : ndarray of shape (p,)
        From the highest to the lowest.
    micro_f1 : ndarray of shape (p,)

    Raises
    ------
    InvalidInputError
        If scores or labels are not tables of this shape.

    Examples
    --------
    >>> cuts, f1 = micro_f1_curve(np.array([[0.9, 0.4], [0.3, 0.2]]), sparse.csr_array([[1, 1], [0, 0]]))
    >>> cuts.round(2).tolist(), f1.round(2).tolist()
    ([0.9, 0.65, 0.35, 0.25, 0.2], [0.0, 0.67, 1.0, 0.8, 0.67])
    """
    scores, Y, _ = _checked(scores, Y)
    cuts, true_positives, positives = _all_cuts(scores, Y)
    f1 = _f1(true_positives, positives, Y.nnz)
    if n_points is not None and len(cuts) > n_points:
        chosen = np.unique(np.append(np.linspace(0, len(cuts) - 1, n_points - 1).astype(int), np.argmax(f1)))
        cuts, f1 = cuts[chosen], f1[chosen]
    return cuts, f1


def _checked(
    scores: ArrayLike, Y: Labels, sample_weight: ArrayLike | None = None
) -> tuple[NDArray[Any], sparse.csr_array, NDArray[np.float64] | None]:
    """Return scores as an array, labels as a sparse table of ones, and weights, having checked them."""
    table, labels = as_scores(scores), as_label_sets(Y)
    check_same_shape(table.shape, labels.shape, ("scores", "Y"))
    return table, labels, as_weights(sample_weight, len(table))


def _f1(true_positives: NDArray[Any], predicted: NDArray[Any], actual: Any) -> NDArray[np.float64]:
    """Return F1 = 2 tp / (predicted + actual), 0 where nothing is predicted and nothing is on."""
    total = predicted + actual
    return np.divide(2.0 * true_positives, total, out=np.zeros(np.shape(total)), where=total > 0)


def _n_on(Y: sparse.csr_array, weight: NDArray[np.float64] | None) -> float:
    """Return the number of labels that are on, each counted with the weight of its instance."""
    return Y.nnz if weight is None else float(weight @ np.diff(Y.indptr))


def _all_cuts(
    scores: NDArray[Any], Y: sparse.csr_array, weight: NDArray[np.float64] | None = None, *, only_best: bool = False
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """Return all cuts that make a difference, the highest first, with the true positives and positives above each.

    With `only_best` low cuts may be left out that cannot have the largest micro-F1.
    """
    flat = scores.ravel()
    truth = np.zeros(flat.shape, dtype=bool)
    truth[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)) * Y.shape[1] + Y.indices] = True
    always = flat >= CONSTANT_SCORE
    open_ = np.abs(flat) < CONSTANT_SCORE  # no cut changes the predictions of constant labels
    if weight is not None:
        return _all_weighted_cuts(flat, truth, always, open_, np.repeat(weight, Y.shape[1]))
    if only_best:
        open_ &= ~(flat < _lowest_worth(flat, truth))
    ranked, hits = np.sort(flat[open_])[::-1], np.sort(flat[open_ & truth])
    last = _ends_of_ties(ranked)
    above = len(hits) - np.searchsorted(hits, ranked[last])
    true_positives = np.concatenate(([0], above)) + np.count_nonzero(truth & always)
    positives = np.concatenate(([0], last + 1)) + np.count_nonzero(always)
    return _between(ranked, last), true_positives, positives


def _lowest_worth(flat: NDArray[Any], truth: NDArray[np.bool_]) -> float:
    """Return a score below which no cut has the largest micro-F1.

    If P labels are on, and a cut above as many scores has the micro-F1 f, then a cut above m scores can only be better
    if 2 P / (m + P), with all hits that there are, is above f.
    """
    n, P = len(flat), int(np.count_nonzero(truth))
    if not 0 < P < n // 4 or np.isnan(flat).any():
        return -np.inf
    above = flat >= np.partition(flat, n - P)[n - P]
    f1 = 2 * np.count_nonzero(truth & above) / (np.count_nonzero(above) + P)
    most = n if f1 == 0 else int(P * (2 / f1 - 1)) + 1
    return -np.inf if most >= n // 2 else float(np.partition(flat, n - 1 - most)[n - 1 - most])


def _all_weighted_cuts(
    flat: NDArray[Any],
    truth: NDArray[np.bool_],
    always: NDArray[np.bool_],
    open_: NDArray[np.bool_],
    weight: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """Do what `_all_cuts` does, counting each score with its weight."""
    scores, hit, weights = flat[open_], truth[open_], weight[open_]
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = _ends_of_ties(ranked)
    above, all_above = (np.cumsum(counted[order])[last] for counted in (weights * hit, weights))
    true_positives = np.concatenate(([0.0], above)) + weight[truth & always].sum()
    positives = np.concatenate(([0.0], all_above)) + weight[always].sum()
    return _between(ranked, last), true_positives, positives


def _ends_of_ties(ranked: NDArray[Any]) -> NDArray[np.int64]:
    """Return the last position of each run of equal scores."""
    if not len(ranked):
        return np.zeros(0, dtype=np.int64)
    return np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)


def _between(ranked: NDArray[Any], last: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a cut above all scores, cuts half way between neighbouring distinct scores, and a cut below all scores."""
    if not len(ranked):
        return np.zeros(1)
    levels = ranked[last].astype(np.float64)
    middle = _half_way(levels[:-1], levels[1:])
    below = np.nextafter(ranked[-1], np.array(-np.inf, dtype=ranked.dtype))
    return np.concatenate(([levels[0]], middle, [float(below)]))


def _half_way(upper: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cuts between two scores: half way, or the lower one if they are so close that no number lies between."""
    middle = (upper + lower) / 2
    return np.where(middle < upper, middle, lower)


def _best_cuts(
    scores: NDArray[Any], Y: sparse.csr_array, weight: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the cut which maximises F1 for each column."""
    n, n_labels = scores.shape
    order = np.argsort(-scores, axis=0)
    ranked = np.take_along_axis(scores, order, axis=0).astype(np.float64)
    hits: NDArray[Any] = np.take_along_axis(Y.toarray() > 0, order, axis=0)
    positives = np.arange(1, n + 1)[:, None]
    if weight is not None:
        hits, positives = hits * weight[order], np.cumsum(weight[order], axis=0)
    hits = np.cumsum(hits, axis=0)
    f1 = _f1(hits, positives, hits[-1])
    f1[:-1][ranked[:-1] == ranked[1:]] = 0  # there is no cut between equal scores
    f1[ranked <= -CONSTANT_SCORE] = 0
    best = np.argmax(f1, axis=0)
    columns = np.arange(n_labels)
    upper, lower = ranked[best, columns], ranked[np.minimum(best + 1, n - 1), columns]
    middle = _half_way(upper, lower)
    # Below the last finite score there is no neighbour to go half way to. A constant label keeps its value at any cut.
    alone = (best == n - 1) | (lower <= -CONSTANT_SCORE)
    cuts = np.where(alone, np.nextafter(upper.astype(scores.dtype), -np.inf, dtype=scores.dtype), middle)
    return np.where(np.abs(upper) >= CONSTANT_SCORE, 0.0, cuts)


def _best_k(scores: NDArray[Any], Y: sparse.csr_array, weight: NDArray[np.float64] | None = None) -> int:
    """Return the number of labels for each row which maximises micro-F1."""
    n, n_labels = scores.shape
    hits = np.zeros(n_labels)
    for block in batches(n, max(1, _PER_BLOCK // n_labels)):
        order = np.argsort(-scores[block], axis=1, kind="stable")
        found = np.take_along_axis(Y[block].toarray(), order, axis=1)
        hits += found.sum(axis=0) if weight is None else weight[block] @ found
    total = n if weight is None else float(weight.sum())
    return 1 + int(np.argmax(_f1(np.cumsum(hits), total * np.arange(1, n_labels + 1), _n_on(Y, weight))))


def best_cut(scores: NDArray[Any], Y: sparse.csr_array, weight: NDArray[np.float64] | None = None) -> float:
    """Return the one cut of checked scores with the largest micro-F1; of equally good ones the highest."""
    cuts, true_positives, positives = _all_cuts(scores, Y, weight, only_best=True)
    return float(cuts[np.argmax(_f1(true_positives, positives, _n_on(Y, weight)))])


_EXACT = 1 << 20  # numbers up to which a cut is searched among all of them, by sorting
_STEPS = 1 << 15  # of logits from -16 to 16, among which a cut is searched beyond that: each is worth .001
_END = 16.0
_TO_REGRESS = 3  # labels of two or more instances, from which cuts of rarer ones are learned
_HIGHEST = 1 - 1e-6  # cuts above that would turn off labels which all training instances have


@dataclass(frozen=True, eq=False)
class ProbabilityThreshold(Threshold):
    """Labels whose probability lies above a cut are on.

    Parameters
    ----------
    value : float, or ndarray of shape (L,) with "macro"
        The cut, at least 0 and below 1. What a user asks for may be one for each label, too.
    name : {"micro", "macro", "hamming", "precision", "recall", "costs", "cuts"}, default="micro"
        What it is best at, or what it was asked for.

    Examples
    --------
    >>> ProbabilityThreshold(0.4).apply(np.array([[0.3, 0.5]]))
    array([[False,  True]])
    """

    names: ClassVar[tuple[str, ...]] = ("micro", "macro", "hamming", *KINDS)
    takes: ClassVar[str] = "probabilities"
    name: str = "micro"

    def _fits(self) -> bool:
        cut = np.asarray(self.value)
        fits = cut.ndim < 2 if self.name in KINDS else cut.ndim == (self.name == "macro")
        return fits and bool(((cut >= 0) & (cut < 1)).all())


@dataclass(frozen=True, eq=False)
class BestSets(Rule):
    r"""Each instance gets the label set of the largest expected F1.

    Of the sets of the k most likely labels it is the one with the largest :math:`2 \sum p / (k + \sum_l p_l)`; where
    :math:`\prod_l (1 - p_l)`, which says how likely the empty set is right, is above a cut, it is the empty set.

    Parameters
    ----------
    value : float
        The cut, 0 to 1; with 1 no instance has the empty set.
    name : {"example"}, default="example"
        What it is best at.

    Examples
    --------
    >>> BestSets(0.5).apply(np.array([[0.4, 0.3, 0.1], [0.1, 0.05, 0.0]]))
    array([[ True,  True, False],
           [False, False, False]])
    """

    names: ClassVar[tuple[str, ...]] = ("example",)
    takes: ClassVar[str] = "probabilities"
    value: float = 1.0
    name: str = "example"

    def _fits(self) -> bool:
        return not np.ndim(self.value) and 0 <= self.value <= 1

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the best sets."""
        on = _nonempty_sets(scores)
        if self.value < 1:
            on[_chance_of_none(scores) > self.value] = False
        return on


@dataclass(frozen=True, eq=False)
class LikelySets(Rule):
    """Labels which are more likely than not are on, and perhaps the most likely one where there is none.

    Parameters
    ----------
    value : {0, 1}
        Least number of labels of an instance.
    name : {"subset"}, default="subset"
        What it is best at.

    Examples
    --------
    >>> LikelySets(1).apply(np.array([[0.4, 0.3], [0.8, 0.6]]))
    array([[ True, False],
           [ True,  True]])
    """

    names: ClassVar[tuple[str, ...]] = ("subset",)
    takes: ClassVar[str] = "probabilities"
    value: int
    name: str = "subset"

    def _fits(self) -> bool:
        return not np.ndim(self.value) and self.value in (0, 1)

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the likely sets."""
        on = scores > 0.5
        if self.value:
            rows = np.flatnonzero(~on.any(axis=1))
            best = np.argmax(scores[rows], axis=1)
            on[rows, best] = scores[rows, best] > 0
        return on


def rule_of(name: str, value: Any) -> Rule:
    """Return the rule of a name and the numbers it uses.

    Parameters
    ----------
    name : {"fixed", "global", "per-label", "top-k", "cardinality"} or one of `TARGET_METRICS` or `KINDS`
    value : float, int or ndarray of shape (L,)

    Raises
    ------
    InvalidInputError
        If they do not fit each other.

    Examples
    --------
    >>> rule_of("global", 0.25)
    Threshold(value=0.25, name='global')
    >>> rule_of("top-k", 3)
    TopK(value=3, name='top-k')
    >>> rule_of("example", 0.5)
    BestSets(value=0.5, name='example')
    """
    if isinstance(value, bool) or not isinstance(value, Real | np.ndarray):
        raise InvalidInputError(f"the rule {name!r} cannot have the value {value!r}")
    kind: Any = next((kind for kind in _KINDS if name in kind.names), Threshold)  # which refuses unknown names
    rule: Rule = kind(value, name)
    return rule


#: All rules, of which a file holds one by its name.
_KINDS: tuple[type[Rule], ...] = (Threshold, TopK, ProbabilityThreshold, BestSets, LikelySets)


def check_aim(name: str, value: Any) -> None:
    """Refuse a `decide_for` that is neither the name of an aim nor what a user can ask for."""
    if isinstance(value, Mapping):
        check_targets(value, name)
    else:
        check_choice(name, value, _MEASURES)


def _no_rule(decide_for: str) -> InvalidInputError:
    return InvalidInputError("no rule is best at it", argument="decide_for", found=decide_for)


def learn_rule(
    decide_for: str, logits: NDArray[Any], Y: sparse.csr_array, weights: NDArray[np.float64] | None = None
) -> Rule:
    """Learn how to decide, from calibrated logits of held-out instances.

    Parameters
    ----------
    decide_for : {"micro", "macro", "example", "hamming", "subset"}
        What to be best at, see the module.
    logits : ndarray of shape (n, L)
        log p / (1 - p); labels that were constant in training have ±`CONSTANT_SCORE`.
    Y : csr_array of shape (n, L)
        Ones where a label is on.
    weights : ndarray of shape (n,), optional
        Weights of the instances.

    Returns
    -------
    Rule
        It takes probabilities.

    Notes
    -----
    Up to 1,048,576 logits, one cut is the best of all. Beyond that it is the best of 32,768, which are .001 apart.

    Examples
    --------
    >>> logits = np.array([[2.0, -1.0], [0.0, -3.0]])
    >>> learn_rule("micro", logits, sparse.csr_array([[1, 1], [0, 0]])).value < 0.27
    True
    """
    if decide_for == "micro":
        cut = _micro_cut(logits, Y, weights)
        return ProbabilityThreshold(float(min(expit(cut), _HIGHEST)))
    if decide_for == "macro":
        seen = np.bincount(Y.indices[np.abs(logits[_rows_of(Y), Y.indices]) < CONSTANT_SCORE], minlength=Y.shape[1])
        return ProbabilityThreshold(_of_unseen(_macro_cuts(logits, weights), seen), "macro")
    if decide_for == "hamming":
        return ProbabilityThreshold(0.5, "hamming")
    if decide_for == "example":
        return BestSets(_cut_of_none(logits, Y, weights))
    if decide_for == "subset":
        usual = (LikelySets(0), LikelySets(1))  # the second only if held-out instances prefer it
        return max(usual, key=lambda rule: _subset_accuracy(rule, logits, Y, weights))
    raise _no_rule(decide_for)


def expected_rule(decide_for: str, logits: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Rule:
    """Return the rule that probabilities alone let expect to be best, where true labels are not at hand.

    Parameters
    ----------
    decide_for : {"micro", "macro", "example", "hamming", "subset"}
        What to be best at.
    logits : ndarray of shape (n, L)
        Calibrated.
    weights : ndarray of shape (n,), optional
        Weights of the instances.

    Examples
    --------
    >>> expected_rule("micro", np.array([[2.0, -1.0], [0.0, -3.0]])).value.__round__(2)
    0.37
    """
    if decide_for == "micro":
        each = None if weights is None else np.repeat(weights, logits.shape[1])
        cut, _ = _best_probable_cuts(expit(logits).reshape(-1, 1), 0, each)
        return ProbabilityThreshold(float(min(cut[0], _HIGHEST)))
    if decide_for == "macro":
        return ProbabilityThreshold(_macro_cuts(logits, weights), "macro")
    if decide_for == "example":
        return BestSets()
    if decide_for == "hamming":
        return ProbabilityThreshold(0.5, "hamming")
    if decide_for == "subset":
        return LikelySets(0)
    raise _no_rule(decide_for)


def _nonempty_sets(p: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each row the set, other than the empty one, of the largest expected F1."""
    cut, _ = _best_probable_cuts(p, axis=1)
    found: NDArray[np.bool_] = p > cut[:, None]
    return found


def _chance_of_none(p: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probability that no label is on, if labels were independent."""
    return np.asarray(np.prod(1 - p, axis=1), dtype=np.float64)


def _best_probable_cuts(
    p: NDArray[Any], axis: int, weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return for each row, or column, the cut of its probabilities with the largest expected F1, and that F1.

    A label belongs to the best set exactly if p > F / 2, so the cut is where F of the labels above it is twice the cut.
    Going from all labels to those above half their F, again and again, reaches it from below (Dinkelbach's method).
    """
    w: Any = 1.0 if weights is None else weights[:, None]
    expected: NDArray[np.float64] = np.sum(w * p, axis=axis, dtype=np.float64)
    cut = np.zeros(expected.shape)
    while True:
        above = w * (p > np.expand_dims(cut, axis))
        hits = np.sum(above * p, axis=axis, dtype=np.float64)
        total = above.sum(axis=axis) + expected
        higher = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0)
        if (higher <= cut + 1e-9).all():
            return cut, 2 * higher
        cut = np.maximum(cut, higher)


def _macro_cuts(logits: NDArray[Any], weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return for each label half the largest expected F1."""
    blocks = batches(logits.shape[1], max(1, _PER_BLOCK // len(logits)))
    cuts = np.concatenate([_best_probable_cuts(expit(logits[:, k]), 0, weights)[0] for k in blocks])
    return np.minimum(cuts, _HIGHEST)


def _of_unseen(cuts: NDArray[np.float64], seen: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return cuts in which labels of at most one instance have what a label of two instances would have.

    The log-odds of the F1, twice the cut, are regressed on the logarithm of the number of instances, over the labels
    that have two or more. Where these are fewer than three, all cuts stay.
    """
    known = seen >= 2
    if known.sum() < _TO_REGRESS or known.all():
        return cuts
    size, f1 = np.log(seen[known]), logit(np.clip(2 * cuts[known], 1e-3, 1 - 1e-3))
    sure = seen[known] / (seen[known] + 1)
    x, y = size - np.average(size, weights=sure), f1 - np.average(f1, weights=sure)
    slope = (sure * x) @ y / ((sure * x) @ x + 1.0)  # with the prior N(0, 1)
    expected = np.average(f1, weights=sure) + slope * (np.log(2) - np.average(size, weights=sure))
    return np.where(known, cuts, expit(expected) / 2)


def _micro_cut(logits: NDArray[Any], Y: sparse.csr_array, weights: NDArray[np.float64] | None) -> float:
    """Return the cut of logits with the largest micro-F1."""
    if logits.size <= _EXACT:
        return best_cut(logits, Y, weights)
    w = np.ones(len(logits)) if weights is None else weights
    found = np.zeros((2, _STEPS + 1))  # weights of all labels, and of those that are on, by logit
    logit_histogram(logits, w, _END, found[0])
    rows = _rows_of(Y)
    for some in batches(len(rows), 1 << 20):
        logit_histogram(logits[rows[some], Y.indices[some]][:, None], w[rows[some]], _END, found[1])
    all_above, hits = np.cumsum(found[:, ::-1], axis=1)[:, ::-1]
    best = int(np.argmax(2 * hits / np.maximum(all_above + hits[0], 1e-300)))
    return best * (2 * _END / _STEPS) - _END


def _cut_of_none(logits: NDArray[Any], Y: sparse.csr_array, weights: NDArray[np.float64] | None) -> float:
    """Return the cut of the chance of no label, above which the empty set makes example-F1 largest; 1 if none does.

    The chance itself does not do as a probability. Labels that exclude each other are on together less often than
    independent ones, so fewer instances have no label than it says: on llog it has the mean .31, and .14 have none.
    """
    chances, gains = np.empty(len(logits)), np.empty(len(logits))
    for block in batches(len(logits), max(1, _PER_BLOCK // logits.shape[1])):
        p, truth = expit(logits[block]), Y[block]
        chances[block] = _chance_of_none(p)
        true, hits, found = _counts(_nonempty_sets(p), truth)
        f1 = np.divide(2 * hits, true + found, out=np.ones(len(true)), where=true + found > 0)
        gains[block] = (true == 0) - f1  # of the empty set
    order = np.argsort(-chances, kind="stable")
    chances, gains = chances[order], gains[order] if weights is None else (weights * gains)[order]
    total = np.cumsum(gains)
    ends = np.flatnonzero(np.append(chances[1:] < chances[:-1], True))  # equal chances are decided alike
    best = ends[np.argmax(total[ends])]
    if not total[best] > 0:
        return 1.0
    below = chances[best + 1] if best + 1 < len(chances) else 0.0
    return float((chances[best] + below) / 2)


def _rows_of(Y: sparse.csr_array) -> NDArray[np.int64]:
    """Return the row of each label that is on."""
    return np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))


def _counts(on: NDArray[np.bool_], truth: sparse.csr_array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return for each row how many labels are true, true and on, and on."""
    true, rows = np.diff(truth.indptr), _rows_of(truth)
    return true, np.bincount(rows, on[rows, truth.indices], len(true)), on.sum(axis=1)


def _subset_accuracy(
    rule: Rule, logits: NDArray[Any], Y: sparse.csr_array, weights: NDArray[np.float64] | None
) -> float:
    """Return the sum over the instances, by weight, of whether their set is right."""
    total = 0.0
    for block in batches(len(logits), max(1, _PER_BLOCK // logits.shape[1])):
        true, hits, found = _counts(rule.apply(expit(logits[block])), Y[block])
        value = ((hits == true) & (found == true)).astype(np.float64)
        total += float(value.sum() if weights is None else weights[block] @ value)
    return total


@dataclass(frozen=True, eq=False)
class Decision:
    """How scores become probabilities and labels.

    Parameters
    ----------
    rule : Rule or None
        Which labels are on, by scores or by probabilities. None where a model predicts label sets as a whole, which do
        not follow from scores: a label powerset, a chain or a random field with ``threshold="joint"``.
    calibration : Calibration or None
        None where no probabilities were learned.
    wanted : mapping from str to object
        What a user asked for beside what the fit learned, see `LabelModel.set_decision`: a precision or a recall, and
        at least and at most how many labels an instance has.
    held_out_f1 : float or None
        Micro-F1 of the decision on the instances it was learned from, by models which did not learn from them.

    Examples
    --------
    >>> decision = Decision(ProbabilityThreshold(0.4), Calibration(np.array([1.0, 2.0]), np.zeros(2)))
    >>> decision.proba(np.array([[0.0, -1.0]])).round(2), decision.predict(np.array([[0.0, -1.0]]))
    (array([[0.5 , 0.12]]), array([[ True, False]]))
    """

    rule: Rule | None
    calibration: Calibration | None = None
    wanted: Mapping[str, Any] = field(default_factory=dict)
    held_out_f1: float | None = None

    @classmethod
    def of_threshold(cls, threshold: float | str) -> Self:
        """Return the decision of a parameter `threshold`; of a rule which is still to be learned, the plain cut.

        Examples
        --------
        >>> Decision.of_threshold(0.25).rule, Decision.of_threshold("global").rule, Decision.of_threshold("joint").rule
        (Threshold(value=0.25, name='fixed'), Threshold(value=0.0, name='fixed'), None)
        """
        if threshold == JOINT:
            return cls(None)
        return cls(Threshold(0.0 if isinstance(threshold, str) else float(threshold)))

    @property
    def value(self) -> Any:
        """The number or numbers that the rule uses; None without a rule."""
        return None if self.rule is None else self.rule.value

    @property
    def name(self) -> str:
        """How the decision was chosen: the name of the rule, or "joint" without one."""
        return JOINT if self.rule is None else self.rule.name

    @property
    def words(self) -> str:
        """How it decides, in words, with what a user asked for; nothing where the cut of the scores says all."""
        if self.rule is None:
            return "about whole label sets, by its own rule"
        never = np.count_nonzero(self.abstains)
        abstains = f"{plural(never, 'label')} of {len(self.abstains):,} never on" if never else ""
        return "; ".join(filter(None, [self.rule.words, in_words(self.name, self.wanted), abstains]))

    @property
    def abstains(self) -> NDArray[np.bool_]:
        """Of which labels, shape (L,), held-out instances show no such precision: they are never on."""
        return np.atleast_1d(self.value) >= NEVER - 1e-7 if self.name == "precision" else np.zeros(0, dtype=np.bool_)

    @property
    def is_unreached(self) -> bool:
        """Whether no label is ever on, since held-out instances show no such precision."""
        return bool(len(self.abstains) and self.abstains.all())

    def predict(self, scores: NDArray[Any], chances: NDArray[Any] | None = None) -> NDArray[np.bool_]:
        """Return which labels are on for instances with these scores, shape (n, L), and perhaps these probabilities."""
        if self.rule is None:
            raise InvalidInputError(
                "label sets that are decoded jointly do not follow from scores", advice="call predict"
            )
        at_least, at_most = self.wanted.get("at_least", 0), self.wanted.get("at_most")
        is_bounded = bool(at_least) or at_most is not None
        by_chances = self.rule.takes == "probabilities"
        p: Any = self.proba(scores) if chances is None and (by_chances or is_bounded) else chances
        on = self.rule.apply(p if by_chances else scores)
        return bounded(on, p, at_least, at_most) if is_bounded else on

    def tried(
        self,
        on: NDArray[np.bool_],
        labels: sparse.csr_array,
        weights: NDArray[np.float64] | None = None,
        known: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Return the decision with its `held_out_f1`.

        Parameters
        ----------
        on : ndarray of shape (n, L), bool
            What it predicts for instances by scores of models which did not learn from them.
        labels, weights, known
            As in `learn`.
        """
        true, hits, found = _counts(on if known is None else on & known, labels)
        w = np.ones(len(true)) if weights is None else weights
        total = float(w @ (true + found))
        return replace(self, held_out_f1=float(2 * (w @ hits) / total) if total else 0.0)

    def asked(self, wanted: Mapping[str, Any], names: NDArray[Any]) -> Self:
        """Return the decision that a user asks for, see `LabelModel.set_decision`.

        Parameters
        ----------
        wanted : mapping from str to object
            The arguments of that.
        names : ndarray of shape (L,)
            Of the labels.
        """
        check_targets(wanted)
        kind = next((name for name in KINDS if name in wanted), None)
        learned = None if self.calibration is None else self.calibration.target_cuts
        if self.calibration is None or (learned is None and kind in ("precision", "recall")):
            raise InvalidInputError(
                "the model has learned no probabilities from held-out instances, by which it could decide so",
                argument=next(iter(wanted), "decision"),
                advice=("fit it with ", Argument("threshold", AUTO)),
            )
        kept = {name: value for name, value in wanted.items() if name not in ("costs", "cuts") and value is not None}
        if kind is None:
            earlier = {name: self.wanted[name] for name in ("precision", "recall", "each_label") if name in self.wanted}
            return replace(self, wanted=earlier | kept, held_out_f1=None)
        if kind == "costs":
            cut = cut_of_costs(wanted["costs"], names)
        elif kind == "cuts":
            of_now = self.value if isinstance(self.rule, ProbabilityThreshold) else None
            cut = cuts_given(wanted["cuts"], names, of_now)
        else:
            assert learned is not None
            cut = cut_of_share(learned, kind, wanted[kind], bool(wanted.get("each_label")))
        return replace(self, rule=ProbabilityThreshold(cut, kind), wanted=kept, held_out_f1=None)

    def proba(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities of labels, shape (n, L)."""
        if self.calibration is None:
            raise InvalidInputError("no probabilities were learned from held-out instances")
        return self.calibration.probabilities(np.asarray(scores))

    @property
    def has_sets(self) -> bool:
        """Whether `sets` works."""
        return self.calibration is not None and self.calibration.set_cuts is not None

    def sets(self, scores: NDArray[Any], coverage: float, cover: str = "all") -> NDArray[np.bool_]:
        """Return which labels are in the sets of instances with these scores, see `LabelModel.predict_set`."""
        assert self.calibration is not None
        return self.calibration.in_sets(scores, coverage, cover)

    def select(self, kept: Mapping[str, NDArray[np.int64]]) -> Self:
        """Return the decision about some of the labels: their numbers, and what all labels share as it is.

        Parameters
        ----------
        kept : mapping from str to ndarray
            Under "names" which of all labels.

        Examples
        --------
        >>> Decision(Threshold(np.array([0.1, 0.2, 0.3]), "per-label")).select({"names": np.array([0, 2])}).value
        array([0.1, 0.3])
        """
        rule: Any = self.rule
        calibration, names = self.calibration, kept["names"]
        if rule is not None and np.ndim(rule.value):
            rule = replace(rule, value=rule.value[names])
        calibration = None if calibration is None else calibration.of_labels(names)
        return replace(self, rule=rule, calibration=calibration, held_out_f1=None)

    @property
    def fit_settings(self) -> dict[str, Any]:
        """Parameters of a fit to other labels that learns what this decision has of each label, see `joined`."""
        if self.name in ("macro", "per-label"):
            return {"decide_for": "macro"} if self.name == "macro" else {"threshold": self.name}
        return {"threshold": 0 if self.calibration is None else AUTO}

    def joined(self, other: Decision) -> Self:
        """Return the decision about these labels and others; what all labels share is that of these.

        Parameters
        ----------
        other : Decision
            About the others, learned with `fit_settings`.
        """
        rule: Any = self.rule
        calibration = self.calibration
        if calibration is not None and other.calibration is not None:
            calibration = calibration.joined(other.calibration)
        if rule is not None and np.ndim(rule.value):
            if self.name in ("costs", "cuts"):
                raise InvalidInputError(
                    "each label has a cut that was given, and new ones have none",
                    argument="label_names",
                    advice="set a cut for all by set_decision(cuts=0.5), and give each label its own again afterwards",
                )
            if self.name in ("precision", "recall"):
                assert calibration is not None
                assert calibration.target_cuts is not None
                value = cut_of_share(calibration.target_cuts, self.name, self.wanted[self.name], True)
            else:
                value = np.append(rule.value, other.value)
            rule = replace(rule, value=value)
        return replace(self, rule=rule, calibration=calibration, held_out_f1=None)

    def to_state(self) -> dict[str, Any]:
        """Return what a file holds."""
        calibration = None if self.calibration is None else vars(self.calibration)
        return {
            "rule": self.name,
            "threshold": self.value,
            "calibration": calibration,
            "wanted": dict(self.wanted),
            "held_out_f1": self.held_out_f1,
        }

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Return the decision that a file holds."""
        rule, threshold, calibration = (state[name] for name in ("rule", "threshold", "calibration"))
        if rule == JOINT and threshold is not None:
            raise InvalidInputError(f"the rule {rule!r} cannot have the value {threshold!r}")
        return cls(
            None if rule == JOINT else rule_of(rule, threshold),
            None if calibration is None else Calibration.from_state(calibration),
            state.get("wanted", {}),  # this and the next are not in files of older versions
            state.get("held_out_f1"),
        )

    def check(self, n_labels: int) -> None:
        """Refuse a decision, read from a file, that is not one for so many labels."""
        if np.shape(self.value) not in ((), (n_labels,)):
            raise InvalidInputError(f"the threshold has shape {np.shape(self.value)} for {n_labels} labels")
        if not isinstance(self.wanted, Mapping):
            raise InvalidInputError("what a decision was asked for must be a mapping")
        check_targets(self.wanted)
        if self.held_out_f1 is not None:
            check_number("held_out_f1", self.held_out_f1, low=0, high=1)
        if self.name in ("precision", "recall") and self.name not in self.wanted:
            raise InvalidInputError(f"the rule {self.name!r} does not say what it is for")
        if self.calibration is not None:
            self.calibration.check(n_labels)
        elif self.rule is not None and self.rule.takes == "probabilities":
            raise InvalidInputError(f"the rule {self.name!r} takes probabilities, but there is no calibration")

    @classmethod
    def learn(
        cls,
        threshold: str,
        decide_for: str | Mapping[str, Any],
        scores: NDArray[Any],
        labels: sparse.csr_array,
        weights: NDArray[np.float64] | None = None,
        recorded: NDArray[np.float64] | None = None,
        *,
        known: NDArray[np.bool_] | None = None,
        names: NDArray[Any] | None = None,
    ) -> Self:
        """Learn calibration and rule from scores of instances that the model did not learn from.

        Parameters
        ----------
        threshold : str
            "auto", or a rule of `learn_threshold`.
        decide_for : str or mapping
            See `learn_rule`, or what a user asks for, see `asked`; it counts with "auto" alone.
        scores : ndarray of shape (n, L)
            Those of ±1e9 do not count.
        labels : csr_array of shape (n, L)
        weights : ndarray of shape (n,), optional
            Weights of the instances, of which only the ratios count.
        recorded : ndarray of shape (L,), optional
            Share of the labels that are on which is recorded; only with "auto". If it is given, the rule rests on
            probabilities alone, see `expected_rule`.
        known : ndarray of shape (n, L), bool, optional
            Which labels are known; scores of the others do not count.
        names : ndarray of shape (L,), optional
            Of the labels, by which a user may give cuts; by default their positions.
        """
        if isinstance(decide_for, Mapping):
            learned = cls.learn(threshold, TARGET_METRICS[0], scores, labels, weights, recorded, known=known)
            return learned.asked(decide_for, np.arange(labels.shape[1]) if names is None else names)
        weights = relative_weights(weights)
        calibration, logits = learn_with_sets(scores, labels, weights, recorded, known)
        if threshold != AUTO:
            return cls(learn_threshold(threshold, usable_scores(scores, known), labels, weights), calibration)
        if recorded is not None:
            return cls(expected_rule(decide_for, logits, weights), calibration)
        return cls(learn_rule(decide_for, logits, labels, weights), calibration)


def warn_of_one_answer(on: NDArray[np.bool_], model: str) -> None:
    """Warn if a model predicts the same labels for all held-out instances."""
    if (on == on[0]).all():
        what = plural(np.count_nonzero(on[0]), "label") if on[0].any() else "no label"
        warnings.warn(
            InputWarning(
                f"{model} predicts the same for all {len(on):,} instances that were held out, {what}: "
                "its settings, or the features, tell no instance from another"
            ),
            stacklevel=callers_level(),
        )


def warn_of_unreached(decision: Decision, model: str) -> None:
    """Warn if a decision predicts no label, since no cut shows the precision that was asked for."""
    if not decision.is_unreached:
        return
    assert decision.calibration is not None
    assert decision.calibration.target_cuts is not None
    shown = highest_precision(decision.calibration.target_cuts)
    they = f"all labels together show {shown:g}" if shown else "all labels together show less than .5"
    warnings.warn(
        InputWarning(
            f"no cut of {model} shows a precision of {decision.wanted['precision']:g} on held-out instances, so that "
            f"nothing is predicted; {they}"
        ),
        stacklevel=callers_level(),
    )


def recorded_shares(
    recorded: Any, data: TrainingData, names: NDArray[Any], threshold: Any
) -> NDArray[np.float64] | None:
    """Return the share of each label that is recorded, or refuse it; None if all are.

    A label that is recorded for a share s of the instances is on for s / c of them, so c is at least s.

    Examples
    --------
    >>> data = TrainingData(np.eye(3), sparse.csr_array([[1, 0], [0, 0], [0, 1]]))
    >>> recorded_shares(0.5, data, np.array(["a", "b"]), "auto")
    array([0.5, 0.5])
    """
    if recorded is None:
        return None
    n_labels = len(names)
    try:
        shares = np.asarray(recorded, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError("recorded must be a number, or one for each label", argument="recorded") from error
    if shares.shape not in ((), (n_labels,)) or not ((shares > 0) & (shares <= 1)).all():
        raise InvalidInputError(
            f"expected a share above 0 and at most 1, or {n_labels} of them, one for each label",
            argument="recorded",
            found=recorded,
        )
    if threshold != AUTO:
        raise InvalidInputError(
            (
                Argument("recorded"),
                " says how probabilities follow from scores, and other thresholds cut the scores themselves",
            ),
            argument="recorded",
            advice=("leave it out, or take ", Argument("threshold", AUTO)),
        )
    shares = np.broadcast_to(shares, n_labels).copy()
    on = column_means(data.labels, data.weights)
    if data.known is not None:
        on = known_shares(data.labels, data.known, data.weights)
    impossible = np.flatnonzero(shares < on * (1 - 1e-12))
    if len(impossible):
        worst = impossible[np.argmax(on[impossible] / shares[impossible])]
        raise InvalidInputError(
            f"label {names[worst]!r} would be on for {on[worst] / shares[worst]:.3g} times as many instances as there "
            f"are, since it is recorded for {on[worst]:.3g} of them",
            argument="recorded",
            found=recorded if np.ndim(recorded) == 0 else float(shares[worst]),
            advice=f"expected a share of at least {on[worst]:.3g} there",
        )
    return shares


def check_enough(n: int, threshold: str) -> None:
    """Refuse to learn from fewer than two instances how to decide."""
    if n < 2:
        raise InvalidInputError(
            "the threshold of a rule is learned on held-out instances",
            argument="threshold",
            found=threshold,
            advice=f"give 2 or more, not {n}",
        )
