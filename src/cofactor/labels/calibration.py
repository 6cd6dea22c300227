r"""Probabilities of labels from scores of any model: Platt scaling with a common prior, then curve and context.

With the score s of label l, and the logits :math:`z_l` of the labels of one instance,

.. math:: p_l = \sigma(z_l), \quad z_l = a_l s + b_l, \quad (a_l, b_l) \sim N\bigl((a_0, b_0), T\bigr)

.. math::

    p_l' = \sigma\Bigl(w_0 (z_l - h_l) + w_1 h_l + w_2 \max_{m \ne l} z_m + w_3 \log \sum_m \sigma(z_m) + w_4\Bigr),
    \quad h_l = \log(1 + e^{z_l + 1})

The common slope and offset, and how labels stray from them, are learned by EM, so that a label with few instances is
calibrated as the others are, and a label with many as it is itself. T is a full covariance: where slopes and offsets
stray together, a label of few instances learns the one from the other, and where scores begin makes no difference.
Five numbers for all labels then say how the curve bends, and what the other labels of the instance tell: whether there
is a more likely one, and how many are likely. The curve is logistic with :math:`w_0 = w_1`. Where annotators forget
labels :math:`w_1` is about 0, and probabilities level off below 1. With a knee at 0 this were beta calibration (Kull,
Silva Filho & Flach 2017); one at -1, a chance of .27, suits shares of forgotten labels from a third to two thirds.

Where y records only the share c of the labels that are on (positive-unlabelled data), and the features do not say
which, p above is the probability that a label is recorded, and :math:`p / c` that it is on (Elkan & Noto 2008).

Sets of labels have a stated coverage by conformal prediction.

The labels of an instance whose calibrated probability is at least a cut t form a set. With m held-out instances, i of
which has the labels :math:`y_i` on, t is the largest cut with

.. math:: \frac{1}{m + 1} \Bigl(1 + \sum_i \ell_i(t)\Bigr) \le 1 - \text{coverage}

where :math:`\ell_i` is 1 if a label of :math:`y_i` is below t, or the share of its labels that are. For a new
instance drawn like these, :math:`\ell` is then at most 1 - coverage on average. A label that is on for held-out
instances alone counts as missed by any cut, as labels of new instances are of which the training data have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from cofactor.errors import InvalidInputError
from cofactor.kernels.calibration import KNEE, apply_context, context_sums, log_partition, platt_sums, rows_of_logits
from cofactor.labels.targets import SHARES, learn_target_cuts

#: Score of a label that was constant in training, with its sign. It is beyond every cut and all other scores, but
#: finite, since some metrics refuse infinity.
CONSTANT_SCORE = 1e9

POOLED = 1 << 19  #: scores on which what all labels have in common is learned
COARSE = 1 << 17  #: scores beyond which Newton's method first goes over a part of the instances
PART = 16  #: one of so many: one or two passes over all are left
_ROWS = 1024  #: rows that are at hand in double precision at a time
_WIDE = 100.0  # variance of the prior of the common slope and offset
_EM_STEPS = 4
_NEWTON_STEPS = 2  # of a label in each step of EM; they go on where the last ones ended
_LONGEST = 2.0  # longest Newton step of a logit
_SAME = 1e-12  # a deviation below this share of the mean is rounding errors
_LEAST = 1e-3  # least slope, so that calibration never turns the order of instances
_NONE = np.array([1.0, 1.0, 0.0, 0.0, 0.0])  # weights which leave logits as they are: the mean of their prior
_PRECISION = 0.1  # of each of them: else one has no end where the context hardly varies
_STRAIGHT = np.vstack([np.eye(4)[:1], np.eye(4)])  # one slope for both ends of the curve, and the context


class Platt(NamedTuple):
    """Slopes and offsets of labels for scores less their mean, divided by their deviation, and what they come from.

    Attributes
    ----------
    theta : ndarray of shape (2, L)
    prior : Prior
    scale : Scale
    """

    theta: NDArray[np.float64]
    prior: Prior
    scale: Standardization

    def line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return slope and offset of each label for the scores themselves."""
        slope = self.theta[0] / self.scale.unit
        return slope, self.theta[1] - slope * self.scale.middle

    def without_each(
        self, n_parts: int, scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64]
    ) -> list[Platt]:
        """Return what labels learn without every `n_parts`-th instance, from the first, the second, ... on.

        Newton's method goes on from what they learned of all. The prior stays, and so do labels whose slope would fall
        below the least one.
        """
        n, L, scores = *scores.shape, np.ascontiguousarray(scores)
        others = w * (np.arange(n) % n_parts != np.arange(n_parts)[:, None])
        rows, columns, entries = _of_entries(scores, labels, w, self.scale)
        of_part = rows % n_parts * L + columns
        targets = np.array([np.bincount(of_part, entry, n_parts * L).reshape(n_parts, L) for entry in entries])
        targets = (targets.sum(axis=1, keepdims=True) - targets).reshape(2, n_parts * L)

        def sums(theta: NDArray[np.float64]) -> NDArray[np.float64]:
            each = theta.reshape(2, n_parts, L).swapaxes(0, 1)
            return np.concatenate([_sums(scores, others[k], self.scale, each[k]) for k in range(n_parts)], axis=1)

        start = np.tile(self.theta, n_parts)
        theta = _newton(sums, targets, start, self.prior, _NEWTON_STEPS + 1)[0]
        theta = np.where(theta[0] < _LEAST, start, theta)
        return [self._replace(theta=theta[:, k * L : (k + 1) * L]) for k in range(n_parts)]


def learn_platt(scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64]) -> Platt:
    """Learn slopes and offsets: what labels have in common from up to `POOLED` scores, then each label from its own.

    Parameters
    ----------
    scores : ndarray of shape (n, L)
        Those of ±1e9 and beyond, and NaN, do not count.
    labels : csr_array of shape (n, L)
    w : ndarray of shape (n,)
        Weights of the instances.

    Examples
    --------
    >>> scores = np.array([[-2.0], [-1.0], [1.0], [2.0]] * 50)
    >>> labels = sparse.csr_array([[0.0], [1.0], [0.0], [1.0]] * 50)
    >>> slope, offset = learn_platt(scores, labels, np.ones(200)).line()
    >>> slope.round(1), offset.round(1) + 0.0
    (array([0.4]), array([0.]))
    """
    scores = np.ascontiguousarray(scores)
    few, of_few, w_few = subsample(-(-scores.size // POOLED) or 1, scores, labels, w)
    scale = _standardization(few, w_few)
    theta, prior = _common(few, of_few, w_few, scale)
    n_steps = 1 if len(few) == len(scores) else _NEWTON_STEPS
    theta = _newton(partial(_sums, scores, w, scale), _targets(scores, labels, w, scale), theta, prior, n_steps)[0]
    return Platt(_clip_slopes(theta, scores, labels, w, scale), prior, scale)


def subsample(step: int, *tables: Any) -> tuple[Any, ...]:
    """Return one of `step` rows of each table; arrays in one piece, over which loops are vectorized."""
    some = (table[::step] for table in tables)
    return tuple(np.ascontiguousarray(table) if isinstance(table, np.ndarray) else table for table in some)


class Standardization(NamedTuple):
    """Scores less their mean, divided by their standard deviation: Newton's method runs on these."""

    middle: float
    unit: float


def _standardization(scores: NDArray[Any], w: NDArray[np.float64]) -> Standardization:
    """Return the scale of usable scores; the unit is 1 if they do not vary."""
    usable = (np.abs(scores) < CONSTANT_SCORE) & (w > 0)[:, None]
    each = np.where(usable, w[:, None], 0.0)
    total = float(each.sum())
    if not total > 0:
        return Standardization(0.0, 1.0)
    s = np.where(usable, scores, 0.0).astype(np.float64)
    middle = float(np.vdot(each, s)) / total
    unit = float(np.sqrt(np.vdot(each, (s - middle) ** 2) / total))
    return Standardization(middle, unit if unit > _SAME * abs(middle) else 1.0)


def _sums(
    scores: NDArray[Any], w: NDArray[np.float64], scale: Standardization, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what `platt_sums` adds up."""
    out = np.zeros((5, scores.shape[1]))
    for here, part in double_blocks(scores):
        platt_sums(
            part, np.ascontiguousarray(w[here]), scale.middle, scale.unit, theta[0], theta[1], CONSTANT_SCORE, out
        )
    return out


def double_blocks(scores: NDArray[Any]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield blocks of rows in double precision, and where they are: kernels take no other precision or order.

    Examples
    --------
    >>> [(here.start, part.dtype.name) for here, part in double_blocks(np.ones((5, 2), np.float32))]
    [(0, 'float64')]
    """
    for start in range(0, len(scores), _ROWS):
        here = slice(start, start + _ROWS)
        yield here, np.ascontiguousarray(scores[here], np.float64)


def _of_entries(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: Standardization
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Return row and column of each label that is on, and w s and w, shape (2, nnz)."""
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    s = scores[rows, labels.indices].astype(np.float64)
    weight = w[rows] * (np.abs(s) < CONSTANT_SCORE)
    s = np.where(weight > 0, (s - scale.middle) / scale.unit, 0.0)
    return rows, labels.indices, np.array([weight * s, weight])


def _targets(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: Standardization
) -> NDArray[np.float64]:
    """Return Σ w s and Σ w over the instances that have each label, shape (2, L)."""
    _, columns, parts = _of_entries(scores, labels, w, scale)
    return np.array([np.bincount(columns, part, scores.shape[1]) for part in parts])


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
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: Standardization
) -> NDArray[np.float64]:
    """Return the slope and the offset which suit all labels in common, shape (2, 1).

    Newton's method begins at the log-odds of all labels: from an offset of 0 it may never find back where few are on.
    """
    targets = _targets(scores, labels, w, scale).sum(axis=1, keepdims=True)
    on, all_ = float(targets[1, 0]), float(w @ np.count_nonzero(np.abs(scores) < CONSTANT_SCORE, axis=1))
    theta = np.array([[1.0], [np.log((on + 0.5) / (max(all_ - on, 0.0) + 0.5))]])
    if scores.size > COARSE:
        part, of_part, w_part = subsample(PART, scores, labels, w)
        theta = _pooled(part, of_part, w_part, scale)
    move = None
    for _ in range(30):
        sums = _sums(scores, w, scale, np.repeat(theta, scores.shape[1], axis=1)).sum(axis=1, keepdims=True)
        move = _move(sums, targets, theta, _WIDE * np.eye(2), move)
        theta = theta + move.step
        if np.abs(move.step).max() < 1e-4:
            break
    return theta


class Prior(NamedTuple):
    """What slopes and offsets of labels are expected to be: their mean, (2, 1), and covariance, (2, 2)."""

    mean: NDArray[np.float64]
    T: NDArray[np.float64]


def _common(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: Standardization
) -> tuple[NDArray[np.float64], Prior]:
    """Return slope and offset of each label, shape (2, L), and what they have in common, by EM."""
    L = scores.shape[1]
    pooled = _pooled(scores, labels, w, scale)
    targets = _targets(scores, labels, w, scale)
    theta, prior = np.repeat(pooled, L, axis=1), Prior(pooled, np.eye(2))
    for _ in range(_EM_STEPS):
        theta, curvature, covariance = _newton(partial(_sums, scores, w, scale), targets, theta, prior, _NEWTON_STEPS)
        informed = curvature > 0
        if not informed.any():
            break
        mean = (theta[:, informed].sum(axis=1, keepdims=True) + pooled) / (informed.sum() + 1)
        stray, spread = (theta - mean)[:, informed], covariance[:, :, informed].mean(axis=2)
        prior = Prior(mean, stray @ stray.T / informed.sum() + spread + 1e-6 * np.eye(2))
    return theta, prior


def _newton(
    sums_at: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    targets: NDArray[np.float64],
    theta: NDArray[np.float64],
    prior: Prior,
    n_steps: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return slopes and offsets after Newton steps; Σ w p (1 - p) of each label, and posterior covariances."""
    last = None
    for _ in range(n_steps):
        sums = sums_at(theta)
        last = move = _move(sums, targets, theta - prior.mean, prior.T, last)
        theta = theta + move.step
    return theta, sums[4], move.covariance


def _clip_slopes(
    theta: NDArray[np.float64],
    scores: NDArray[Any],
    labels: sparse.csr_array,
    w: NDArray[np.float64],
    scale: Standardization,
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
        sums = _sums(some, w, scale, few)
        step = (targets - sums[1] - few[1] / _WIDE) / (sums[4] + 1 / _WIDE)
        few[1] += np.clip(step, -_LONGEST, _LONGEST)
        if np.abs(step).max() < 1e-4:
            break
    theta[:, low] = few
    return theta


def context_rows(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return what `rows_of_logits` says of each row."""
    rows = np.empty((len(logits), 4))
    for here, part in double_blocks(logits):
        rows_of_logits(part, CONSTANT_SCORE, rows[here])
    lonely = rows[:, :2] <= -CONSTANT_SCORE  # no other label
    rows[:, :2][lonely] = 0.0
    return rows


def fit_label_context(
    logits: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], others: bool = True
) -> NDArray[np.float64] | None:
    """Return the weights of context and curve, by Newton's method; None if they gain too little.

    The context comes first, on a straight curve, and must gain a standard error; then its bend, which must gain two.
    Without `others`, labels say nothing of each other.
    """
    rows = context_rows(logits)
    if not others:
        rows[:, [0, 1, 3]] = 0.0  # the weights of these stay 0
    targets = _context_targets(logits, rows, labels, w)
    kept, value = _NONE, targets @ _NONE - w * _log_partition(logits, rows, _NONE)
    step = PART if logits.size > COARSE else 1
    part, rows_of_part, targets_of_part, w_part = subsample(step, logits, rows, targets, w)
    for basis, n_errors in ((_STRAIGHT, 1), (np.eye(5), 2)):
        start = kept
        if step > 1:
            start, _, _ = _context_weights(part, rows_of_part, targets_of_part, w_part, kept, basis)
        weights, left, hessian = _context_weights(logits, rows, targets, w, start, basis)
        found = targets @ weights - w * _log_partition(logits, rows, weights)
        found -= np.einsum("ij,ji->i", left, np.linalg.solve(hessian, left.T))  # what a row added to its own
        gains = found - value
        rises = weights[:2].min() >= _LEAST < weights[:2].max()
        if rises and gains.sum() > n_errors * np.sqrt(len(gains)) * gains.std():
            kept, value = weights, found
    return None if kept is _NONE else kept


def _context_weights(
    logits: NDArray[Any],
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    w: NDArray[np.float64],
    beta: NDArray[np.float64],
    basis: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of the largest likelihood that the basis reaches from a start.

    Also the gradient of each row, and the Hessian, of what multiplies the basis. A slope of the curve which would fall
    below the least one stays there, and the other weights follow.
    """
    bent = not np.array_equal(basis[0], basis[1])
    for _ in range(20):
        sums, hessian = np.zeros(targets.shape), _PRECISION * np.eye(5)
        for here, part in double_blocks(logits):
            context_sums(part, rows[here], w[here], beta, CONSTANT_SCORE, bent, sums[here], hessian)
        left, hessian = (targets - sums) @ basis, basis.T @ hessian @ basis
        step = basis @ np.linalg.solve(hessian, left.sum(axis=0) - _PRECISION * (beta - _NONE) @ basis)
        beta = beta + step * min(1.0, 1 / np.abs(step).max(initial=1e-300))
        if np.abs(step).max() < 1e-4:
            low = np.flatnonzero(beta[:2] < _LEAST)
            if not len(low):
                break
            beta[low] = _LEAST
            basis = basis[:, ~basis[low].any(axis=0)]
    return beta, left, hessian


def _context_targets(
    logits: NDArray[Any], rows: NDArray[np.float64], labels: sparse.csr_array, w: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Σ w x over the labels that are on, of each row."""
    row = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    z = logits[row, labels.indices].astype(np.float64)
    kept = np.abs(z) < CONSTANT_SCORE
    row, column, z = row[kept], labels.indices[kept], z[kept]
    other = np.where(column == rows[row, 2], rows[row, 1], rows[row, 0])
    h = np.logaddexp(0, z - KNEE)
    parts = (z - h, h, other, rows[row, 3], np.ones(len(row)))
    return np.column_stack([np.bincount(row, w[row] * x, len(rows)) for x in parts])


def _log_partition(logits: NDArray[Any], rows: NDArray[np.float64], beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ log(1 + exp(z)) of each row, with z its logits in context."""
    found = np.empty(len(logits))
    for here, part in double_blocks(logits):
        log_partition(part, rows[here], beta, CONSTANT_SCORE, found[here])
    return found


#: What a set may cover, in the order of the rows of cuts.
COVERS = ("all", "share")

#: Cuts are learned for shares 0, 1 / STEPS, ... 1 of what may be missed.
STEPS = 1000

_EVERY = CONSTANT_SCORE / 2  # beyond all logits but those of constant labels


def learn_set_cuts(logits: NDArray[Any], on: sparse.csr_array, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cuts of logits by what the sets cover and how much they may miss, shape (2, STEPS + 1).

    Parameters
    ----------
    logits : ndarray of shape (n, L)
        Calibrated, of held-out instances; ±1e9 for labels that were constant where the model learned.
    on : csr_array of shape (n, L)
        1 where a label is on. Where that is not known, the chance that it is; losses are expected ones then, as if
        these labels were independent.
    w : ndarray of shape (n,)
        Weights of the instances, of mean 1.

    Examples
    --------
    >>> logits, on = np.linspace(-3, 3, 99)[:, None], sparse.csr_array(np.ones((99, 1)))
    >>> learn_set_cuts(logits, on, np.ones(99))[:, 100].round(2)  # nine of the 99 may be missed
    array([-2.45, -2.45])
    """
    n = len(logits)
    rows = np.repeat(np.arange(n), np.diff(on.indptr))
    z = np.clip(logits[rows, on.indices].astype(np.float64), -_EVERY, _EVERY)
    order = np.lexsort((z, rows))
    z, p = z[order], on.data[order].astype(np.float64)
    left = np.log(np.maximum(1 - p, 1e-300))
    before = np.cumsum(left) - left
    before -= before[on.indptr[rows]]  # of the labels of the row whose logits are lower
    missed_first = w[rows] * np.exp(before) * p
    share = w[rows] * p / np.bincount(rows, p, n)[rows]
    return np.array([_cuts(z, missed_first, w), _cuts(z, share, w)])


def _cuts(z: NDArray[np.float64], loss: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest cuts for what may be missed, where all z below a cut are missed, each with its loss."""
    order = np.argsort(z, kind="stable")
    z, missed = np.append(z[order], _EVERY), np.cumsum(loss[order])
    heaviest = float(w.max(initial=0.0))  # the new instance may weigh as much
    allowed = np.arange(STEPS + 1) / STEPS * (float(w.sum()) + heaviest) - heaviest
    cuts = z[np.searchsorted(missed, allowed * (1 + 1e-12), side="right")]
    return np.where(allowed < 0, -_EVERY, cuts)


_CROSS_FITTED = 256  # instances up to which sets of labels are learned from logits by
_PARTS = 8  # calibrations of all parts but one
_NEVER = 1e-6  # a chance below which an unknown label is taken as off


@dataclass(frozen=True, eq=False)
class Calibration:
    """How scores become probabilities.

    Parameters
    ----------
    slope, offset : ndarray of shape (L,)
        a and b of each label; slopes are above 0.
    context : ndarray of shape (5,), or None
        w; None where neither a bend of the curve nor the other labels of an instance say anything.
    recorded : ndarray of shape (L,), or None
        c, above 0 and at most 1; None where y records all labels that are on.
    set_cuts : ndarray of shape (2, STEPS + 1), or None
        Cuts of logits, see the module.
    target_cuts : ndarray, or None
        Cuts of probabilities for precisions and recalls, see `cofactor.labels.targets`.
    in_context : int, or None
        How many labels, from the first, the context is of, where others were added later; None for all.

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
    target_cuts: NDArray[np.float32] | None = None
    in_context: int | None = None

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Calibration:
        """Return what a file holds. Older versions learned no bend: both ends of the curve then have one weight."""
        found = cls(**state)
        old = found.context
        if not isinstance(old, np.ndarray) or old.shape != (4,):
            return found
        return replace(found, context=np.insert(old, 0, old[0]))

    def logits(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return log p / (1 - p), shape (n, L), in the precision of the scores.

        Scores of ±1e9, those of labels that were constant in training, stay as they are.
        """
        logits = np.asarray(scores * self.slope.astype(scores.dtype) + self.offset.astype(scores.dtype))
        constant = np.abs(scores) >= CONSTANT_SCORE
        logits[constant] = scores[constant]
        if self.context is not None:
            rows = context_rows(logits[:, : self.in_context])
            for here, part in double_blocks(logits):
                apply_context(part, rows[here], self.context, CONSTANT_SCORE)
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

    def of_labels(self, kept: NDArray[np.int64]) -> Calibration:
        """Return the calibration of some of the labels; what all of them share stays."""
        return replace(
            self,
            slope=self.slope[kept],
            offset=self.offset[kept],
            recorded=None if self.recorded is None else self.recorded[kept],
            target_cuts=None if self.target_cuts is None else self.target_cuts[:, :, np.append(kept, -1)],
            in_context=None if self.in_context is None else int(np.count_nonzero(kept < self.in_context)) or None,
        )

    def joined(self, other: Calibration) -> Calibration:
        """Return the calibration of these labels and of others; what all labels share is that of these."""
        cuts, more = self.target_cuts, other.target_cuts
        if cuts is not None and more is not None:
            cuts = np.concatenate([cuts[:, :, :-1], more[:, :, :-1], cuts[:, :, -1:]], axis=2)
        return replace(
            self,
            slope=np.append(self.slope, other.slope),
            offset=np.append(self.offset, other.offset),
            recorded=None if self.recorded is None else np.append(self.recorded, np.ones(len(other.slope))),
            target_cuts=cuts,
            in_context=self.in_context or len(self.slope),
        )

    def check(self, n_labels: int) -> None:
        """Refuse numbers read from a file that do not fit the labels."""
        of_labels = (n_labels,)
        wanted: dict[str, tuple[int, ...]] = {"slope": of_labels, "offset": of_labels, "context": (5,)}
        wanted |= {"recorded": of_labels, "set_cuts": (len(COVERS), STEPS + 1)}
        for name, shape in wanted.items():
            value = getattr(self, name)
            if value is None and name in ("context", "recorded", "set_cuts"):
                continue
            if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != np.float64:
                raise InvalidInputError(f"{name} of the calibration must be numbers of shape {shape}")
            if not np.isfinite(value).all():
                raise InvalidInputError(f"{name} of the calibration holds a number that is not finite")
        cuts, shape = self.target_cuts, (2, len(SHARES), n_labels + 1)
        if cuts is not None:
            if not isinstance(cuts, np.ndarray) or cuts.shape != shape or cuts.dtype != np.float32:
                raise InvalidInputError(f"target_cuts of the calibration must be float32 of shape {shape}")
            if not ((cuts >= 0) & (cuts < 1)).all():
                raise InvalidInputError("target_cuts of the calibration must be from 0 to 1")
        first = self.in_context
        if first is not None and (type(first) is not int or not 0 < first <= n_labels):
            raise InvalidInputError(f"the context of the calibration is of {first!r} labels, of {n_labels}")
        if not (self.slope > 0).all() or (self.context is not None and not (self.context[:2] > 0).all()):
            raise InvalidInputError("slopes of the calibration must be above 0")
        if self.set_cuts is not None and (np.diff(self.set_cuts) < 0).any():
            raise InvalidInputError("cuts of sets must rise with what may be missed")
        if self.recorded is not None and not ((self.recorded > 0) & (self.recorded <= 1)).all():
            raise InvalidInputError("shares of recorded labels must be above 0 and at most 1")


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
        instance has all of them, and so a larger sum. Context and bend are kept where the log-likelihood of instances
        that they did not learn from rises by more than a standard error, and two of them.

    Returns
    -------
    Calibration

    Notes
    -----
    Slope and offset of all labels in common have the prior N(0, 100), for scores of mean 0 and standard deviation 1;
    they start EM, which then takes four steps. What context and bend gain for an instance that they did not learn from
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
    if _PARTS <= len(scores) <= _CROSS_FITTED:
        of_all = _cross_fitted_logits(calibration, platt, scores, usable, labels, w)
    if known is None and recorded is None:
        return _with_cuts(calibration, of_all, labels, w), logits
    unknown = np.zeros(labels.shape, dtype=bool) if known is None else ~known
    some, of_some, unknown, w = subsample(-(-of_all.size // POOLED) or 1, of_all, labels, unknown, w)
    on = _expected_labels(some, of_some, unknown, recorded)
    return _with_cuts(calibration, some, on, w), logits


def _with_cuts(
    calibration: Calibration, logits: NDArray[Any], on: sparse.csr_array, w: NDArray[np.float64]
) -> Calibration:
    """Return a calibration with cuts for sets of labels, and for precisions and recalls."""
    return replace(calibration, set_cuts=learn_set_cuts(logits, on, w), target_cuts=learn_target_cuts(logits, on, w))


def usable_scores(scores: NDArray[Any], known: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return scores with -1e9 for labels that are not known, so that they do not count."""
    return scores if known is None else np.where(known, scores, np.asarray(-CONSTANT_SCORE, dtype=scores.dtype))


def _learned(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], context: bool
) -> tuple[Calibration, Platt]:
    """Return a calibration, and what slopes and offsets come from."""
    platt = learn_platt(scores, labels, w)
    calibration = Calibration(*platt.line())
    few, of_few, w_few = subsample(-(-scores.size // POOLED) or 1, scores, labels, w)
    learned = fit_label_context(calibration.logits(few), of_few, w_few, context and scores.shape[1] > 1)
    return replace(calibration, context=learned), platt


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
    return np.where(np.abs(logits) >= CONSTANT_SCORE, logits, found).astype(logits.dtype)
