"""Decoders that use calibrated probabilities, one for each measure a user may want to be best at.

With p_l as the probability of label l, in one instance or, for macro-F1, in all instances:

==========  =======================================================================================================
"micro"     one cut of the probabilities, where micro-F1 of held-out instances is largest
"macro"     a cut for each label, half the largest F1 that its probabilities let expect: a label is worth its place
            in a set exactly where its probability is above that. Leave-one-out never sees a label that one instance
            has: it takes the F1 that those of the other labels let expect of a label that two have
"example"   for each instance the set of the largest expected F1; none where that is likely enough to be right, with a
            cut where example-F1 of held-out instances is largest
"hamming"   labels which are more likely than not
"subset"    the same, and the most likely label in place of an empty set, if held-out instances say so
==========  =======================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, logit

from cofactor.checks import one_of
from cofactor.errors import InvalidInputError
from cofactor.kernels.calibration import logit_histogram
from cofactor.labels.decoding.cuts import AIMS, FAR, JOINT, Cut, Decoder, Joint, TopK, best_cut
from cofactor.passes import batches

__all__ = [
    "BestSets",
    "LikelySets",
    "ProbabilityCut",
    "check_aim",
    "decoder_of",
    "expected_decoder",
    "learn_decoder",
]

_PER_BLOCK = 1 << 22
_EXACT = 1 << 20  # numbers up to which a cut is searched among all of them, by sorting
_STEPS = 1 << 15  # of logits from -16 to 16, among which a cut is searched beyond that: each is worth .001
_END = 16.0
_TO_REGRESS = 3  # labels of two or more instances, from which cuts of rarer ones are learned
_HIGHEST = 1 - 1e-6  # cuts above that would turn off labels which all training instances have


@dataclass(frozen=True, eq=False)
class ProbabilityCut(Decoder):
    """Labels whose probability lies above a cut are on.

    Parameters
    ----------
    value : float, or ndarray of shape (L,) with "macro"
        The cut, at least 0 and below 1.
    rule : {"micro", "macro", "hamming"}, default="micro"
        What it is best at.

    Examples
    --------
    >>> ProbabilityCut(0.4).apply(np.array([[0.3, 0.5]]))
    array([[False,  True]])
    """

    takes: ClassVar[str] = "probabilities"
    value: float | NDArray[np.float64]
    rule: str = "micro"

    def __post_init__(self) -> None:
        if self.rule not in ("micro", "macro", "hamming"):
            raise InvalidInputError(f"unknown rule {self.rule!r}")
        cut = np.asarray(self.value)
        if np.ndim(cut) != (self.rule == "macro") or not ((cut >= 0) & (cut < 1)).all():
            raise InvalidInputError(f"the rule {self.rule!r} cannot have the value {self.value!r}")

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where probabilities lie above the cut."""
        return scores > np.asarray(self.value, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class BestSets(Decoder):
    r"""Each instance gets the label set of the largest expected F1.

    Of the sets of the k most likely labels it is the one with the largest :math:`2 \sum p / (k + \sum_l p_l)`; where
    :math:`\prod_l (1 - p_l)`, which says how likely the empty set is right, is above a cut, it is the empty set.

    Parameters
    ----------
    value : float
        The cut, 0 to 1; with 1 no instance has the empty set.
    rule : {"example"}, default="example"
        What it is best at.

    Examples
    --------
    >>> BestSets(0.5).apply(np.array([[0.4, 0.3, 0.1], [0.1, 0.05, 0.0]]))
    array([[ True,  True, False],
           [False, False, False]])
    """

    takes: ClassVar[str] = "probabilities"
    value: float = 1.0
    rule: str = "example"

    def __post_init__(self) -> None:
        if self.rule != "example":
            raise InvalidInputError(f"unknown rule {self.rule!r}")
        if np.ndim(self.value) or not 0 <= self.value <= 1:
            raise InvalidInputError(f"the rule {self.rule!r} cannot have the value {self.value!r}")

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the best sets."""
        on = _nonempty_sets(scores)
        if self.value < 1:
            on[_chance_of_none(scores) > self.value] = False
        return on


@dataclass(frozen=True, eq=False)
class LikelySets(Decoder):
    """Labels which are more likely than not are on, and perhaps the most likely one where there is none.

    Parameters
    ----------
    value : {0, 1}
        Least number of labels of an instance.
    rule : {"subset"}, default="subset"
        What it is best at.

    Examples
    --------
    >>> LikelySets(1).apply(np.array([[0.4, 0.3], [0.8, 0.6]]))
    array([[ True, False],
           [ True,  True]])
    """

    takes: ClassVar[str] = "probabilities"
    value: int
    rule: str = "subset"

    def __post_init__(self) -> None:
        if self.rule != "subset":
            raise InvalidInputError(f"unknown rule {self.rule!r}")
        if np.ndim(self.value) or self.value not in (0, 1):
            raise InvalidInputError(f"the rule {self.rule!r} cannot have the value {self.value!r}")

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return the likely sets."""
        on = scores > 0.5
        if self.value:
            rows = np.flatnonzero(~on.any(axis=1))
            best = np.argmax(scores[rows], axis=1)
            on[rows, best] = scores[rows, best] > 0
        return on


def decoder_of(rule: str, value: Any) -> Decoder:
    """Return the decoder of a rule and the numbers it uses.

    Parameters
    ----------
    rule : {"fixed", "global", "per-label", "top-k", "cardinality", "joint"} or one of `AIMS`
    value : float, int, ndarray of shape (L,) or None

    Raises
    ------
    InvalidInputError
        If they do not fit each other.

    Examples
    --------
    >>> decoder_of("global", 0.25)
    Cut(value=0.25, rule='global')
    >>> decoder_of("top-k", 3)
    TopK(value=3, rule='top-k')
    >>> decoder_of("example", 0.5)
    BestSets(value=0.5, rule='example')
    """
    if rule == JOINT:
        if value is not None:
            raise InvalidInputError(f"the rule {rule!r} cannot have the value {value!r}")
        return Joint()
    if isinstance(value, bool) or not isinstance(value, Real | np.ndarray):
        raise InvalidInputError(f"the rule {rule!r} cannot have the value {value!r}")
    kinds: dict[str, Any] = {"top-k": TopK, "example": BestSets, "subset": LikelySets}
    kinds |= dict.fromkeys(("micro", "macro", "hamming"), ProbabilityCut)
    decoder: Decoder = kinds.get(rule, Cut)(value, rule)
    return decoder


_WORDS = ("micro-F1", "macro-F1", "F1 of each instance", "Hamming loss", "subset accuracy")

#: Refuses a `decide_for` that is not known.
check_aim = one_of(dict(zip(AIMS, _WORDS, strict=True)))


def learn_decoder(
    decide_for: str, logits: NDArray[Any], Y: sparse.csr_array, weights: NDArray[np.float64] | None = None
) -> Decoder:
    """Learn how to decide, from calibrated logits of held-out instances.

    Parameters
    ----------
    decide_for : {"micro", "macro", "example", "hamming", "subset"}
        What to be best at, see the module.
    logits : ndarray of shape (n, L)
        log p / (1 - p); labels that were constant in training have ±`FAR`.
    Y : csr_array of shape (n, L)
        Ones where a label is on.
    weights : ndarray of shape (n,), optional
        Weights of the instances.

    Returns
    -------
    Decoder
        It takes probabilities.

    Notes
    -----
    Up to 1,048,576 logits, one cut is the best of all. Beyond that it is the best of 32,768, which are .001 apart.

    Examples
    --------
    >>> logits = np.array([[2.0, -1.0], [0.0, -3.0]])
    >>> learn_decoder("micro", logits, sparse.csr_array([[1, 1], [0, 0]])).value < 0.27
    True
    """
    if decide_for == "micro":
        cut = _micro_cut(logits, Y, weights)
        return ProbabilityCut(float(min(expit(cut), _HIGHEST)))
    if decide_for == "macro":
        seen = np.bincount(Y.indices[np.abs(logits[_rows_of(Y), Y.indices]) < FAR], minlength=Y.shape[1])
        return ProbabilityCut(_of_unseen(_macro_cuts(logits, weights), seen), "macro")
    if decide_for == "hamming":
        return ProbabilityCut(0.5, "hamming")
    if decide_for == "example":
        return BestSets(_cut_of_none(logits, Y, weights))
    usual = (LikelySets(0), LikelySets(1))  # the second only if held-out instances prefer it
    return max(usual, key=lambda decoder: _subset_accuracy(decoder, logits, Y, weights))


def expected_decoder(decide_for: str, logits: NDArray[Any], weights: NDArray[np.float64] | None = None) -> Decoder:
    """Return the decoder that probabilities alone let expect to be best, where true labels are not at hand.

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
    >>> expected_decoder("micro", np.array([[2.0, -1.0], [0.0, -3.0]])).value.__round__(2)
    0.37
    """
    if decide_for == "micro":
        each = None if weights is None else np.repeat(weights, logits.shape[1])
        cut, _ = _best_cuts(expit(logits).reshape(-1, 1), 0, each)
        return ProbabilityCut(float(min(cut[0], _HIGHEST)))
    if decide_for == "macro":
        return ProbabilityCut(_macro_cuts(logits, weights), "macro")
    if decide_for == "example":
        return BestSets()
    return LikelySets(0) if decide_for == "subset" else ProbabilityCut(0.5, "hamming")


def _nonempty_sets(p: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each row the set, other than the empty one, of the largest expected F1."""
    cut, _ = _best_cuts(p, axis=1)
    found: NDArray[np.bool_] = p > cut[:, None]
    return found


def _chance_of_none(p: NDArray[Any]) -> NDArray[np.float64]:
    """Return the probability that no label is on, if labels were independent."""
    return np.asarray(np.prod(1 - p, axis=1), dtype=np.float64)


def _best_cuts(
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
    cuts = np.concatenate([_best_cuts(expit(logits[:, k]), 0, weights)[0] for k in blocks])
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
    decoder: Decoder, logits: NDArray[Any], Y: sparse.csr_array, weights: NDArray[np.float64] | None
) -> float:
    """Return the sum over the instances, by weight, of whether their set is right."""
    total = 0.0
    for block in batches(len(logits), max(1, _PER_BLOCK // logits.shape[1])):
        true, hits, found = _counts(decoder.apply(expit(logits[block])), Y[block])
        value = ((hits == true) & (found == true)).astype(np.float64)
        total += float(value.sum() if weights is None else weights[block] @ value)
    return total
