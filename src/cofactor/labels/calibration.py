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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from cofactor.errors import InvalidInputError
from cofactor.kernels.calibration import apply_context, context_sums, log_partition, platt_sums, rows_of_logits
from cofactor.labels.conformal import COVERS, STEPS, learn_set_cuts
from cofactor.labels.decoding import FAR, Decoder, expected_decoder, learn_decoder

__all__ = ["Calibrated", "Calibration", "learn_calibration", "usable_scores", "with_set_cuts"]

_POOLED = 1 << 19  # scores on which what all labels have in common is learned
_COARSE = 1 << 17  # scores beyond which Newton's method first goes over a part of the instances,
_FEW = 256  # instances up to which sets of labels are learned from logits by
_PARTS = 8  # calibrations of all parts but one
_NEVER = 1e-6  # a chance below which an unknown label is taken as off
_PART = 16  # one of so many: one or two passes over all are left
_WIDE = 100.0  # variance of the prior of the common slope and offset, for scores of deviation 1
_EM_STEPS = 4
_NEWTON_STEPS = 2  # of a label in each step of EM; they go on where the last ones ended
_LONGEST = 2.0  # longest Newton step of a logit
_SAME = 1e-12  # a deviation below this share of the mean is rounding errors
_LEAST = 1e-3  # least slope, so that calibration never turns the order of instances


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
            apply_context(logits, _rows(logits), self.context, FAR)
        return logits if self.recorded is None else _of_recorded(logits, self.recorded)

    def probabilities(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return probabilities, shape (n, L); 0 or 1 exactly for labels that were constant in training."""
        logits = self.logits(scores)
        return np.asarray(expit(logits, out=logits))

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
    """Learn a calibration and a decision from the same held-out scores; see `learn_calibration`, `learn_decoder`.

    Scores of labels that are not known, by a mask of the shape of `labels`, do not count. If only a share of the labels
    that are on is recorded, decisions rest on probabilities alone, see `expected_decoder`.
    """
    usable = usable_scores(scores, known)
    calibration = learn_calibration(usable, labels, weights, context=known is None)
    calibration = replace(calibration, recorded=recorded)
    logits = calibration.logits(usable)
    calibration = with_set_cuts(calibration, logits, scores, labels, weights, known)
    if recorded is not None:
        return Calibrated(calibration, expected_decoder(decide_for, logits, weights))
    return Calibrated(calibration, learn_decoder(decide_for, logits, labels, weights))


def usable_scores(scores: NDArray[Any], known: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return scores with -1e9 for labels that are not known, so that they do not count."""
    return scores if known is None else np.where(known, scores, np.asarray(-FAR, dtype=scores.dtype))


def with_set_cuts(
    calibration: Calibration,
    logits: NDArray[Any],
    scores: NDArray[Any],
    labels: sparse.csr_array,
    weights: NDArray[np.float64] | None = None,
    known: NDArray[np.bool_] | None = None,
) -> Calibration:
    """Return the calibration with cuts for sets of labels; with few instances by logits that left them out.

    A calibration knows the labels from which it was learned: of 84 instances with 174 labels its sets of coverage .9
    held all labels of .64 of new instances.
    """
    recorded = calibration.recorded
    if _PARTS <= len(scores) <= _FEW:
        logits, part, usable = np.empty_like(logits), np.arange(len(scores)) % _PARTS, usable_scores(scores, known)
        for k in range(_PARTS):
            some, others = np.flatnonzero(part == k), np.flatnonzero(part != k)
            w = None if weights is None else weights[others]
            learned = learn_calibration(usable[others], labels[others], w, context=known is None)
            logits[some] = replace(learned, recorded=recorded).logits(scores[some])
    elif known is not None:
        logits = calibration.logits(scores)
    if known is None and recorded is None:
        return replace(calibration, set_cuts=learn_set_cuts(logits, labels, weights))
    step = slice(None, None, -(-logits.size // _POOLED) or 1)
    unknown = None if known is None else ~known[step]
    on = _perhaps_on(logits[step], labels[step], unknown, recorded)
    return replace(calibration, set_cuts=learn_set_cuts(logits[step], on, None if weights is None else weights[step]))


def _perhaps_on(
    logits: NDArray[Any],
    labels: sparse.csr_array,
    unknown: NDArray[np.bool_] | None,
    recorded: NDArray[np.float64] | None,
) -> sparse.csr_array:
    """Return 1 for labels that are on, and the chance that they are for those not known, or perhaps not recorded."""
    p = expit(logits.astype(np.float64))
    chances = p
    if recorded is not None:  # of a label that is not recorded
        chances = p * (1 - recorded) / np.maximum(1 - p * recorded, 1e-12)
    if unknown is not None:
        chances = np.where(unknown, p, chances if recorded is not None else 0.0)
    chances[chances < _NEVER] = 0.0
    rows = np.repeat(np.arange(len(p)), np.diff(labels.indptr))
    chances[rows, labels.indices] = 1.0
    return sparse.csr_array(chances)


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
    scores = np.ascontiguousarray(scores)
    w = np.ones(len(scores)) if weights is None else weights
    few, of_few, w_few = _every(-(-scores.size // _POOLED) or 1, scores, labels, w)
    scale = _scale(few, w_few)
    theta, prior = _common(few, of_few, w_few, scale)
    n_steps = 1 if len(few) == len(scores) else _NEWTON_STEPS
    theta = _climbed(scores, _targets(scores, labels, w, scale), w, scale, theta, prior, n_steps)[0]
    theta = _raised(theta, scores, labels, w, scale)
    slope = theta[0] / scale.unit
    calibration = Calibration(slope, theta[1] - slope * scale.middle)
    if not context or scores.shape[1] < 2:
        return calibration
    found = _context(calibration.logits(few), of_few, w_few)
    return calibration if found is None else Calibration(calibration.slope, calibration.offset, found)


def _of_recorded(logits: NDArray[Any], recorded: NDArray[np.float64]) -> NDArray[Any]:
    """Return the logits of p / c, at most 1 - 1e-6, where p belongs to the logits given."""
    with np.errstate(over="ignore"):
        p = np.minimum(expit(logits.astype(np.float64)) / recorded, 1 - 1e-6)
    found = np.log(np.maximum(p, np.finfo(float).tiny)) - np.log1p(-p)
    return np.where(np.abs(logits) >= FAR, logits, found).astype(logits.dtype)


def _every(step: int, *tables: Any) -> tuple[Any, ...]:
    """Return one of `step` rows of each table; arrays in one piece, over which loops are vectorized."""
    some = (table[::step] for table in tables)
    return tuple(np.ascontiguousarray(table) if isinstance(table, np.ndarray) else table for table in some)


class _Scale(NamedTuple):
    """Scores less their mean, divided by their standard deviation: Newton's method runs on these."""

    middle: float
    unit: float


def _scale(scores: NDArray[Any], w: NDArray[np.float64]) -> _Scale:
    """Return the scale of usable scores; the unit is 1 if they do not vary."""
    usable = (np.abs(scores) < FAR) & (w > 0)[:, None]
    each = np.where(usable, w[:, None], 0.0)
    total = float(each.sum())
    if not total > 0:
        return _Scale(0.0, 1.0)
    s = np.where(usable, scores, 0.0).astype(np.float64)
    middle = float(np.vdot(each, s)) / total
    unit = float(np.sqrt(np.vdot(each, (s - middle) ** 2) / total))
    return _Scale(middle, unit if unit > _SAME * abs(middle) else 1.0)


def _sums(
    scores: NDArray[Any], w: NDArray[np.float64], theta: NDArray[np.float64], scale: _Scale
) -> NDArray[np.float64]:
    """Return what `platt_sums` adds up, which would be compiled anew for each order of arrays in memory."""
    out = np.zeros((5, scores.shape[1]))
    scores, w = np.ascontiguousarray(scores), np.ascontiguousarray(w)
    platt_sums(scores, w, scale.middle, scale.unit, theta[0], theta[1], FAR, out)
    return out


def _targets(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: _Scale
) -> NDArray[np.float64]:
    """Return Σ w s and Σ w over the instances that have each label, shape (2, L)."""
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    s = scores[rows, labels.indices].astype(np.float64)
    weight = w[rows] * (np.abs(s) < FAR)
    s = np.where(weight > 0, (s - scale.middle) / scale.unit, 0.0)
    L = scores.shape[1]
    return np.array([np.bincount(labels.indices, part, L) for part in (weight * s, weight)])


class _Move(NamedTuple):
    """A step of slopes and offsets, (2, L), how steeply it began to rise, (L,), and posterior covariances."""

    step: NDArray[np.float64]
    rise: NDArray[np.float64]
    longest: NDArray[np.float64]  # (L,), how long the next step may be
    covariance: NDArray[np.float64]


def _move(
    sums: NDArray[np.float64],
    targets: NDArray[np.float64],
    stray: NDArray[np.float64],
    T: NDArray[np.float64],
    last: _Move | None = None,
) -> _Move:
    """Return a Newton step; or the way back, where the last one went beyond the top, and no longer steps from then on.

    Without this Newton's method may jump to and fro over the top and end far from it, mostly with labels that
    are on much more often than the others.
    """
    prior = np.linalg.inv(T)
    gradient = targets - sums[:2] - prior @ stray
    h00, h01, h11 = sums[2] + prior[0, 0], sums[3] + prior[0, 1], sums[4] + prior[1, 1]
    covariance = np.array([[h11, -h01], [-h01, h00]]) / (h00 * h11 - h01**2)
    step = covariance[:, 0] * gradient[0] + covariance[:, 1] * gradient[1]
    longest = np.full(step.shape[1], _LONGEST) if last is None else last.longest
    step *= np.minimum(1, longest / np.maximum(np.abs(step).max(axis=0), 1e-300))
    if last is not None:
        slope = (gradient * last.step).sum(axis=0)  # the likelihood is concave: along the step it falls from the top
        back = slope / np.maximum(last.rise - slope, 1e-300)
        beyond = slope < -last.rise / 2
        step = np.where(beyond, back * last.step, step)
        longest = np.where(beyond, np.abs(step).max(axis=0), longest)
    return _Move(step, np.abs((gradient * step).sum(axis=0)), longest, covariance)


def _pooled(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: _Scale
) -> NDArray[np.float64]:
    """Return the slope and the offset which suit all labels in common, shape (2, 1).

    Newton's method begins at the log-odds of all labels: from an offset of 0 it may never find back where few are on.
    """
    targets = _targets(scores, labels, w, scale).sum(axis=1, keepdims=True)
    on, all_ = float(targets[1, 0]), float(w @ np.count_nonzero(np.abs(scores) < FAR, axis=1))
    theta = np.array([[1.0], [np.log((on + 0.5) / (max(all_ - on, 0.0) + 0.5))]])
    if scores.size > _COARSE:
        part, of_part, w_part = _every(_PART, scores, labels, w)
        theta = _pooled(part, of_part, w_part, scale)
    move = None
    for _ in range(30):
        sums = _sums(scores, w, np.repeat(theta, scores.shape[1], axis=1), scale).sum(axis=1, keepdims=True)
        move = _move(sums, targets, theta, _WIDE * np.eye(2), move)
        theta = theta + move.step
        if np.abs(move.step).max() < 1e-4:
            break
    return theta


class _Prior(NamedTuple):
    """What slopes and offsets of labels are expected to be: their mean, (2, 1), and covariance, (2, 2)."""

    mean: NDArray[np.float64]
    T: NDArray[np.float64]


def _common(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: _Scale
) -> tuple[NDArray[np.float64], _Prior]:
    """Return slope and offset of each label, shape (2, L), and what they have in common, by EM."""
    L = scores.shape[1]
    pooled = _pooled(scores, labels, w, scale)
    targets = _targets(scores, labels, w, scale)
    theta, prior = np.repeat(pooled, L, axis=1), _Prior(pooled, np.eye(2))
    for _ in range(_EM_STEPS):
        theta, curvature, covariance = _climbed(scores, targets, w, scale, theta, prior, _NEWTON_STEPS)
        informed = curvature > 0
        if not informed.any():
            break
        mean = (theta[:, informed].sum(axis=1, keepdims=True) + pooled) / (informed.sum() + 1)
        stray, spread = (theta - mean)[:, informed], covariance[:, :, informed].mean(axis=2)
        prior = _Prior(mean, stray @ stray.T / informed.sum() + spread + 1e-6 * np.eye(2))
    return theta, prior


def _climbed(
    scores: NDArray[Any],
    targets: NDArray[np.float64],
    w: NDArray[np.float64],
    scale: _Scale,
    theta: NDArray[np.float64],
    prior: _Prior,
    n_steps: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return slopes and offsets after Newton steps; Σ w p (1 - p) of each label, and posterior covariances."""
    last = None
    for _ in range(n_steps):
        sums = _sums(scores, w, theta, scale)
        last = move = _move(sums, targets, theta - prior.mean, prior.T, last)
        theta = theta + move.step
    return theta, sums[4], move.covariance


def _raised(
    theta: NDArray[np.float64],
    scores: NDArray[Any],
    labels: sparse.csr_array,
    w: NDArray[np.float64],
    scale: _Scale,
) -> NDArray[np.float64]:
    """Return slopes which are not below the least one, and where one was, the offset that suits it.

    Held-out scores of a model that learned nothing but shares fall where a label is on, since it is on more rarely
    among the others: the offset of such a slope alone would be far from the share.
    """
    low = np.flatnonzero(theta[0] < _LEAST)
    if not len(low):
        return theta
    some, few = scores[:, low], np.array([np.full(len(low), _LEAST), np.zeros(len(low))])
    targets = _targets(some, labels[:, low], w, scale)[1]
    for _ in range(15):
        sums = _sums(some, w, few, scale)
        step = (targets - sums[1] - few[1] / _WIDE) / (sums[4] + 1 / _WIDE)
        few[1] += np.clip(step, -_LONGEST, _LONGEST)
        if np.abs(step).max() < 1e-4:
            break
    theta[:, low] = few
    return theta


# ---------------------------------------------------------------- context of the row


def _rows(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return what `rows_of_logits` says of each row."""
    rows = np.empty((len(logits), 4))
    rows_of_logits(logits, FAR, rows)
    lonely = rows[:, :2] <= -FAR  # no other label
    rows[:, :2][lonely] = 0.0
    return rows


def _context(logits: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the weights of the context, by Newton's method; None if they gain too little."""
    rows = _rows(logits)
    targets = _context_targets(logits, rows, labels, w)
    none = np.array([1.0, 0.0, 0.0, 0.0])
    start = none
    if logits.size > _COARSE:
        part, rows_of_part, targets_of_part, w_part = _every(_PART, logits, rows, targets, w)
        start, _, _ = _context_weights(part, rows_of_part, targets_of_part, w_part, none)
    beta, left, hessian = _context_weights(logits, rows, targets, w, start)
    gains = targets @ (beta - none) - w * (_log_partition(logits, rows, beta) - _log_partition(logits, rows, none))
    gains -= np.einsum("ij,ji->i", left, np.linalg.solve(hessian, left.T))  # what a row added to its own gain
    return beta if gains.sum() > np.sqrt(len(gains)) * gains.std() and beta[0] > 0 else None


def _context_weights(
    logits: NDArray[Any],
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    w: NDArray[np.float64],
    beta: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of the largest likelihood, from a start; the gradient of each row, (n, 4), and the Hessian."""
    for _ in range(15):
        sums, hessian = np.zeros(targets.shape), 1e-3 * np.eye(4)
        context_sums(logits, rows, w, beta, FAR, sums, hessian)
        left = targets - sums
        step = np.linalg.solve(hessian, left.sum(axis=0))
        beta = beta + step * min(1.0, 1 / np.abs(step).max(initial=1e-300))
        if np.abs(step).max() < 1e-4:
            break
    return beta, left, hessian


def _context_targets(
    logits: NDArray[Any], rows: NDArray[np.float64], labels: sparse.csr_array, w: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Σ w x over the labels that are on, of each row."""
    row = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    z = logits[row, labels.indices].astype(np.float64)
    kept = np.abs(z) < FAR
    row, column, z = row[kept], labels.indices[kept], z[kept]
    other = np.where(column == rows[row, 2], rows[row, 1], rows[row, 0])
    parts = (z, other, rows[row, 3], np.ones(len(row)))
    return np.column_stack([np.bincount(row, w[row] * x, len(rows)) for x in parts])


def _log_partition(logits: NDArray[Any], rows: NDArray[np.float64], beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ log(1 + exp(z)) of each row, with z its logits in context."""
    found = np.empty(len(logits))
    log_partition(logits, rows, beta, FAR, found)
    return found
