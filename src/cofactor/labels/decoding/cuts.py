"""Decoders that use scores alone: cuts, and the number of labels; how they are learned from held-out scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.metrics.tables import as_label_sets, as_scores, check_same_shape
from cofactor.passes import batches
from cofactor.typing import Labels
from cofactor.weights import as_weights

__all__ = [
    "AIMS",
    "AUTO",
    "FAR",
    "JOINT",
    "RULES",
    "Cut",
    "Decoder",
    "Joint",
    "TopK",
    "check_decision",
    "check_threshold",
    "first_decoder",
    "learn_threshold",
    "micro_f1_curve",
    "no_joint",
]

#: The parameter `threshold` of a model which decides by calibrated probabilities, as `decide_for` says.
AUTO = "auto"

#: What decisions may be best at: the parameter `decide_for`, and the rule of the decoder.
AIMS = ("micro", "macro", "example", "hamming", "subset")

#: Rules whose cut of the scores is learned.
RULES = ("global", "per-label", "top-k", "cardinality")

#: The parameter `threshold` of a model which decodes label sets by itself, and the rule of its decoder.
JOINT = "joint"

#: Score of a label that was constant in training, with its sign. It is beyond every cut and all other scores, but
#: finite, since some metrics refuse infinity.
FAR = 1e9

_SCORES_PER_BLOCK = 1 << 22


class Decoder(ABC):
    """Decides from scores which labels are on.

    Attributes
    ----------
    rule : str
        How its value was chosen: "fixed", one of `RULES` or `AIMS`, or "joint".
    value : float, ndarray of shape (L,) or None
        The number or numbers that it uses.
    takes : {"scores", "probabilities"}
        What `apply` decides from.

    Examples
    --------
    >>> from cofactor.labels import Cut, Decoder
    >>> cut = Cut(0.5)
    >>> isinstance(cut, Decoder), cut.apply(np.array([[0.2, 0.7]])).tolist()
    (True, [[False, True]])
    """

    takes: ClassVar[str] = "scores"
    rule: str
    value: float | NDArray[np.float64] | None

    @abstractmethod
    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where labels are on.

        Parameters
        ----------
        scores : ndarray of shape (n, L)

        Returns
        -------
        ndarray of shape (n, L), bool
        """


@dataclass(frozen=True, eq=False)
class Cut(Decoder):
    """Labels whose score lies above a cut are on.

    Parameters
    ----------
    value : float, or ndarray of shape (L,)
        The cut; one for each label with "per-label".
    rule : {"fixed", "global", "per-label", "cardinality"}, default="fixed"
        How the cut was chosen.

    Examples
    --------
    >>> Cut(0.0).apply(np.array([[0.3, -0.1, 0.0], [-0.5, -0.2, 0.1]]))
    array([[ True, False, False],
           [False, False,  True]])
    """

    value: float | NDArray[np.float64]
    rule: str = "fixed"

    def __post_init__(self) -> None:
        if self.rule not in ("fixed", "global", "per-label", "cardinality"):
            raise InvalidInputError(f"unknown rule {self.rule!r}")
        if not np.isfinite(self.value).all() or np.ndim(self.value) != (self.rule == "per-label"):
            raise InvalidInputError(f"the rule {self.rule!r} cannot have the value {self.value!r}")

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where scores lie above the cut; a label whose score equals the cut is off."""
        return scores > np.asarray(self.value, dtype=np.float64)  # not rounded to the precision of the scores


@dataclass(frozen=True, eq=False)
class TopK(Decoder):
    """The k labels of each instance with the highest scores are on; of equal scores the first label is taken first.

    Parameters
    ----------
    value : int
        k, not negative.
    rule : {"top-k"}, default="top-k"
        The only way to choose k.

    Examples
    --------
    >>> TopK(1).apply(np.array([[0.3, -0.1, 0.2], [-0.5, -0.2, -0.3]]))
    array([[ True, False, False],
           [False,  True, False]])
    """

    value: int
    rule: str = "top-k"

    def __post_init__(self) -> None:
        if self.rule != "top-k":
            raise InvalidInputError(f"unknown rule {self.rule!r}")
        if np.ndim(self.value) or not np.isfinite(self.value) or int(self.value) != self.value or self.value < 0:
            raise InvalidInputError(f"the rule {self.rule!r} cannot have the value {self.value!r}")

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where the k highest scores of each row are."""
        on = np.zeros(scores.shape, dtype=bool)
        best = np.argsort(-scores, axis=1, kind="stable")[:, : int(self.value)]
        np.put_along_axis(on, best, True, axis=1)
        return on


@dataclass(frozen=True, eq=False)
class Joint(Decoder):
    """The model predicts label sets as a whole, by its method `_label_sets`; they do not follow from scores.

    For models that do not decide about each label separately, such as a label powerset, a chain or a random field.
    Their parameter `threshold` is "joint" by default. With any other value their scores are cut, as in other models.

    Examples
    --------
    >>> Joint().apply(np.zeros((1, 2)))
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: label sets that are decoded jointly do not follow from scores; call predict
    """

    value: None = None
    rule: str = JOINT

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Refuse: only the model can decode."""
        raise InvalidInputError("label sets that are decoded jointly do not follow from scores", advice="call predict")


def first_decoder(threshold: float | str) -> Decoder:
    """Return the decoder for a parameter `threshold`; for a rule whose cut is still to be learned, the plain cut.

    Examples
    --------
    >>> first_decoder(0.25), first_decoder("global"), first_decoder("joint")
    (Cut(value=0.25, rule='fixed'), Cut(value=0.0, rule='fixed'), Joint(value=None, rule='joint'))
    """
    if threshold == JOINT:
        return Joint()
    return Cut(0.0 if isinstance(threshold, str) else float(threshold))


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
            advice = aim if threshold in AIMS else ""
            raise InvalidInputError(expected, argument=argument, found=threshold, advice=advice)
    elif isinstance(threshold, bool | np.bool_) or not isinstance(threshold, Real):
        rule = "apply it to scores: TopK(5).apply(model.decision_function(X))" if isinstance(threshold, Decoder) else ""
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


def check_decision(threshold: Any, decide_for: str) -> None:
    """Refuse a `decide_for` that would not count, since the threshold cuts scores.

    Examples
    --------
    >>> check_decision("auto", "macro")
    >>> check_decision(0.5, "macro")
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: decide_for='macro': threshold=0.5 does not look at it; take threshold='auto'
    """
    if threshold != AUTO and decide_for != AIMS[0]:
        whole = "leave it out to decide for label sets as a whole, or " if threshold == JOINT else ""
        raise InvalidInputError(
            (Argument("threshold", threshold), " does not look at it"),
            argument="decide_for",
            found=decide_for,
            advice=(f"{whole}take ", Argument("threshold", AUTO)),
        )


def learn_threshold(rule: str, scores: ArrayLike, Y: Labels, sample_weight: ArrayLike | None = None) -> Cut | TopK:
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
    Cut or TopK
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
        blocks = batches(n_labels, max(1, _SCORES_PER_BLOCK // max(n, 1)))
        return Cut(np.concatenate([_best_cuts(scores[:, k], Y[:, k], sample_weight) for k in blocks]), rule)
    cuts, true_positives, positives = _all_cuts(scores, Y, sample_weight)
    actual = _n_on(Y, sample_weight)
    if rule == "cardinality":
        return Cut(float(cuts[np.argmin(np.abs(positives - actual))]), rule)
    return Cut(float(cuts[np.argmax(_f1(true_positives, positives, actual))]), rule)


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
    always = flat >= FAR
    open_ = np.abs(flat) < FAR  # no cut changes the predictions of constant labels
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
    f1[ranked <= -FAR] = 0
    best = np.argmax(f1, axis=0)
    columns = np.arange(n_labels)
    upper, lower = ranked[best, columns], ranked[np.minimum(best + 1, n - 1), columns]
    middle = _half_way(upper, lower)
    # Below the last finite score there is no neighbour to go half way to. A constant label keeps its value at any cut.
    alone = (best == n - 1) | (lower <= -FAR)
    cuts = np.where(alone, np.nextafter(upper.astype(scores.dtype), -np.inf, dtype=scores.dtype), middle)
    return np.where(np.abs(upper) >= FAR, 0.0, cuts)


def _best_k(scores: NDArray[Any], Y: sparse.csr_array, weight: NDArray[np.float64] | None = None) -> int:
    """Return the number of labels for each row which maximises micro-F1."""
    n, n_labels = scores.shape
    hits = np.zeros(n_labels)
    for block in batches(n, max(1, _SCORES_PER_BLOCK // n_labels)):
        order = np.argsort(-scores[block], axis=1, kind="stable")
        found = np.take_along_axis(Y[block].toarray(), order, axis=1)
        hits += found.sum(axis=0) if weight is None else weight[block] @ found
    total = n if weight is None else float(weight.sum())
    return 1 + int(np.argmax(_f1(np.cumsum(hits), total * np.arange(1, n_labels + 1), _n_on(Y, weight))))


def best_cut(scores: NDArray[Any], Y: sparse.csr_array, weight: NDArray[np.float64] | None = None) -> float:
    """Return the one cut of checked scores with the largest micro-F1; of equally good ones the highest."""
    cuts, true_positives, positives = _all_cuts(scores, Y, weight, only_best=True)
    return float(cuts[np.argmax(_f1(true_positives, positives, _n_on(Y, weight)))])
