r"""Probabilities of labels from scores of any model: Platt scaling with a common prior, then the context of the row.

With the score s of label l, and the logits :math:`z_l` of the labels of one instance,

.. math:: p_l = \sigma(z_l), \quad z_l = a_l s + b_l, \quad (a_l, b_l) \sim N\bigl((a_0, b_0), T\bigr)

.. math:: p_l' = \sigma\Bigl(w_0 z_l + w_1 \max_{m \ne l} z_m + w_2 \log \sum_m p_m + w_3\Bigr)

The common slope and offset, and how labels stray from them, are learned by EM, so that a label with few instances is
calibrated as the others are, and a label with many as it is itself. T is a full covariance: where slopes and offsets
stray together, a label of few instances learns the one from the other, and where scores begin makes no difference.
Four numbers for all labels then say what the other labels of the instance tell: whether there is a more likely one, and
how many are likely.

Where y records only the share c of the labels that are on (positive-unlabelled data), and the features do not say
which, p above is the probability that a label is recorded, and :math:`p / c` that it is on (Elkan & Noto 2008).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from cofactor.errors import InvalidInputError
from cofactor.kernels.calibration import apply_context
from cofactor.labels.conformal import COVERS, STEPS, learn_set_cuts
from cofactor.labels.decoding import FAR, Decoder, expected_decoder, learn_decoder
from cofactor.labels.platt import POOLED, Platt, in_double, learn_platt, subsample
from cofactor.labels.row_context import context_rows, learn_context

__all__ = ["Calibrated", "Calibration", "learn_calibration", "learn_with_sets", "usable_scores"]

_FEW = 256  # instances up to which sets of labels are learned from logits by
_PARTS = 8  # calibrations of all parts but one
_NEVER = 1e-6  # a chance below which an unknown label is taken as off


@dataclass(frozen=True, eq=False)
class Calibration:
    """How scores become probabilities.

    Parameters
    ----------
    slope, offset : ndarray of shape (L,)
        a and b of each label; slopes are above 0.
    context : ndarray of shape (4,), or None
        w; None where the other labels of an instance say nothing.
    recorded : ndarray of shape (L,), or None
        c, above 0 and at most 1; None where y records all labels that are on.
    set_cuts : ndarray of shape (2, STEPS + 1), or None
        Cuts of logits, see `cofactor.labels.conformal`.

    Examples
    --------
    >>> Calibration(np.array([2.0]), np.array([0.0])).probabilities(np.array([[0.0], [1e9], [-1e9]])).ravel()
    array([0.5, 1. , 0. ])
    """

    slope: NDArray[np.float64]
    offset: NDArray[np.float64]
    context: NDArray[np.float64] | None = None
    recorded: NDArray[np.float64] | None = None
    set_cuts: NDArray[np.float64] | None = None

    def logits(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return log p / (1 - p), shape (n, L), in the precision of the scores.

        Scores of ±1e9, those of labels that were constant in training, stay as they are.
        """
        logits = np.asarray(scores * self.slope.astype(scores.dtype) + self.offset.astype(scores.dtype))
        constant = np.abs(scores) >= FAR
        logits[constant] = scores[constant]
        if self.context is not None:
            rows = context_rows(logits)
            for here, part in in_double(logits):
                apply_context(part, rows[here], self.context, FAR)
                logits[here] = part
        return logits if self.recorded is None else _of_recorded(logits, self.recorded)

    def probabilities(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return probabilities, shape (n, L); 0 or 1 exactly for labels that were constant in training."""
        logits = self.logits(scores)
        return np.asarray(expit(logits, out=logits))

    def in_sets(self, scores: NDArray[Any], coverage: float, cover: str = "all") -> NDArray[np.bool_]:
        """Return which labels are in the sets of instances with these scores, see `LabelModel.predict_set`."""
        cuts: Any = self.set_cuts
        return np.asarray(self.logits(scores) >= cuts[COVERS.index(cover), int((1 - coverage) * STEPS + 1e-9)])

    def check(self, n_labels: int) -> None:
        """Refuse numbers read from a file that do not fit the labels."""
        of_labels = (n_labels,)
        wanted: dict[str, tuple[int, ...]] = {"slope": of_labels, "offset": of_labels, "context": (4,)}
        wanted |= {"recorded": of_labels, "set_cuts": (len(COVERS), STEPS + 1)}
        for name, shape in wanted.items():
            value = getattr(self, name)
            if value is None and name in ("context", "recorded", "set_cuts"):
                continue
            if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != np.float64:
                raise InvalidInputError(f"{name} of the calibration must be numbers of shape {shape}")
            if not np.isfinite(value).all():
                raise InvalidInputError(f"{name} of the calibration holds a number that is not finite")
        if not (self.slope > 0).all():
            raise InvalidInputError("slopes of the calibration must be above 0")
        if self.set_cuts is not None and (np.diff(self.set_cuts) < 0).any():
            raise InvalidInputError("cuts of sets must rise with what may be missed")
        if self.recorded is not None and not ((self.recorded > 0) & (self.recorded <= 1)).all():
            raise InvalidInputError("shares of recorded labels must be above 0 and at most 1")


@dataclass(frozen=True, eq=False)
class Calibrated(Decoder):
    """A decoder of probabilities after their calibration, so that it decides from scores.

    Parameters
    ----------
    calibration : Calibration
    decoder : Decoder
        It takes probabilities.
    """

    calibration: Calibration
    decoder: Decoder

    @property
    def value(self) -> Any:  # type: ignore[override]
        """The numbers of the decoder."""
        return self.decoder.value

    @property
    def rule(self) -> str:  # type: ignore[override]
        """The rule of the decoder."""
        return self.decoder.rule

    def apply(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where labels are on."""
        return self.decoder.apply(self.calibration.probabilities(np.asarray(scores)))


def learn_calibrated(
    decide_for: str,
    scores: NDArray[Any],
    labels: sparse.csr_array,
    weights: NDArray[np.float64] | None = None,
    recorded: NDArray[np.float64] | None = None,
    *,
    known: NDArray[np.bool_] | None = None,
) -> Calibrated:
    """Learn a calibration and a decision from the same held-out scores; see `learn_with_sets`, `learn_decoder`.

    If only a share of the labels that are on is recorded, decisions rest on probabilities alone, see
    `expected_decoder`.
    """
    calibration, logits = learn_with_sets(scores, labels, weights, recorded, known)
    if recorded is not None:
        return Calibrated(calibration, expected_decoder(decide_for, logits, weights))
    return Calibrated(calibration, learn_decoder(decide_for, logits, labels, weights))


def learn_calibration(
    scores: NDArray[Any],
    labels: sparse.csr_array,
    weights: NDArray[np.float64] | None = None,
    *,
    context: bool = True,
) -> Calibration:
    r"""Learn how scores become probabilities, from instances that the model did not learn from.

    Parameters
    ----------
    scores : ndarray of shape (n, L)
        Those of ±1e9 and beyond are left out: they belong to labels that were constant where the model learned. So is
        whatever else shall not count, such as scores of labels that are not known.
    labels : csr_array of shape (n, L)
        Ones where a label is on.
    weights : ndarray of shape (n,), optional
        Weights of the instances; one of weight 2 is as much evidence as two. Models give weights of mean 1.
    context : bool, default=True
        Whether to learn from the other labels of an instance too; not where some scores do not count, since a new
        instance has all of them, and so a larger sum. It is kept where the log-likelihood of instances
        that it did not learn from rises, by more than a standard error.

    Returns
    -------
    Calibration

    Notes
    -----
    Slope and offset of all labels in common have the prior N(0, 100), for scores of mean 0 and standard deviation 1;
    they start EM, which then takes four steps. What the context gains for an instance that it did not learn from
    follows from one Newton step without that instance. Labels without usable scores get the common ones. EM and context
    go over up to 524,288 scores, about twenty times; then labels take one or two steps over all scores. Needs no table
    of the size of the scores but the logits of these few, for the context.

    Examples
    --------
    >>> scores = np.random.default_rng(0).normal(size=(500, 2))
    >>> chances = 1 / (1 + np.exp(-3 * scores - 1))
    >>> labels = sparse.csr_array(np.random.default_rng(1).random((500, 2)) < chances)
    >>> learned = learn_calibration(scores, labels)
    >>> learned.slope.round().tolist(), learned.offset.round().tolist()
    ([3.0, 3.0], [1.0, 1.0])
    """
    return _learned(scores, labels, np.ones(len(scores)) if weights is None else weights, context)[0]


def learn_with_sets(
    scores: NDArray[Any],
    labels: sparse.csr_array,
    weights: NDArray[np.float64] | None = None,
    recorded: NDArray[np.float64] | None = None,
    known: NDArray[np.bool_] | None = None,
) -> tuple[Calibration, NDArray[Any]]:
    """Return a calibration with cuts for sets of labels, and the logits of what is known.

    Scores of labels that are not known, by a mask of the shape of `labels`, do not count. See `learn_calibration`.
    """
    w, usable = np.ones(len(scores)) if weights is None else weights, usable_scores(scores, known)
    calibration, platt = _learned(usable, labels, w, known is None)
    calibration = replace(calibration, recorded=recorded)
    logits = calibration.logits(usable)
    of_all = logits if known is None else calibration.logits(scores)
    if _PARTS <= len(scores) <= _FEW:
        of_all = _cross_fitted_logits(calibration, platt, scores, usable, labels, w)
    if known is None and recorded is None:
        return replace(calibration, set_cuts=learn_set_cuts(of_all, labels, w)), logits
    unknown = np.zeros(labels.shape, dtype=bool) if known is None else ~known
    some, of_some, unknown, w = subsample(-(-of_all.size // POOLED) or 1, of_all, labels, unknown, w)
    on = _expected_labels(some, of_some, unknown, recorded)
    return replace(calibration, set_cuts=learn_set_cuts(some, on, w)), logits


def usable_scores(scores: NDArray[Any], known: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return scores with -1e9 for labels that are not known, so that they do not count."""
    return scores if known is None else np.where(known, scores, np.asarray(-FAR, dtype=scores.dtype))


def _learned(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], context: bool
) -> tuple[Calibration, Platt]:
    """Return a calibration, and what slopes and offsets come from."""
    platt = learn_platt(scores, labels, w)
    calibration = Calibration(*platt.line())
    if not context or scores.shape[1] < 2:
        return calibration, platt
    few, of_few, w_few = subsample(-(-scores.size // POOLED) or 1, scores, labels, w)
    return replace(calibration, context=learn_context(calibration.logits(few), of_few, w_few)), platt


def _cross_fitted_logits(
    calibration: Calibration,
    platt: Platt,
    scores: NDArray[Any],
    usable: NDArray[Any],
    labels: sparse.csr_array,
    w: NDArray[np.float64],
) -> NDArray[Any]:
    """Return logits of each part of a few instances by slopes and offsets that labels learned from the others.

    A calibration knows the labels from which it was learned: of 84 instances with 174 labels its sets of coverage .9
    held all labels of .64 of new instances. What all labels have in common is left as it is.
    """
    logits = np.empty_like(scores)
    for k, others in enumerate(platt.without_each(_PARTS, usable, labels, w)):
        slope, offset = others.line()
        logits[k::_PARTS] = replace(calibration, slope=slope, offset=offset).logits(scores[k::_PARTS])
    return logits


def _expected_labels(
    logits: NDArray[Any],
    labels: sparse.csr_array,
    unknown: NDArray[np.bool_],
    recorded: NDArray[np.float64] | None,
) -> sparse.csr_array:
    """Return 1 for labels that are on, and the chance that they are for those not known, or perhaps not recorded."""
    p = expit(logits.astype(np.float64))
    hidden = 0.0 if recorded is None else p * (1 - recorded) / np.maximum(1 - p * recorded, 1e-12)
    chances = np.where(unknown, p, hidden)  # `hidden`: on, though it is not recorded
    chances[chances < _NEVER] = 0.0
    rows = np.repeat(np.arange(len(p)), np.diff(labels.indptr))
    chances[rows, labels.indices] = 1.0
    return sparse.csr_array(chances)


def _of_recorded(logits: NDArray[Any], recorded: NDArray[np.float64]) -> NDArray[Any]:
    """Return the logits of p / c, at most 1 - 1e-6, where p belongs to the logits given."""
    with np.errstate(over="ignore"):
        p = np.minimum(expit(logits.astype(np.float64)) / recorded, 1 - 1e-6)
    found = np.log(np.maximum(p, np.finfo(float).tiny)) - np.log1p(-p)
    return np.where(np.abs(logits) >= FAR, logits, found).astype(logits.dtype)
