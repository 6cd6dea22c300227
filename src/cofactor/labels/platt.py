r"""Platt scaling of the scores of many labels with a common prior, by Newton's method and EM.

See `cofactor.labels.calibration` for the model. Newton's method runs on scores of mean 0 and deviation 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.kernels.calibration import platt_sums
from cofactor.labels.decoding import FAR

__all__ = ["COARSE", "POOLED", "Platt", "in_double", "learn_platt", "subsample"]

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
    scale: Scale

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
        theta = _climbed(sums, targets, start, self.prior, _NEWTON_STEPS + 1)[0]
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
    scale = _scale(few, w_few)
    theta, prior = _common(few, of_few, w_few, scale)
    n_steps = 1 if len(few) == len(scores) else _NEWTON_STEPS
    theta = _climbed(partial(_sums, scores, w, scale), _targets(scores, labels, w, scale), theta, prior, n_steps)[0]
    return Platt(_raised(theta, scores, labels, w, scale), prior, scale)


def subsample(step: int, *tables: Any) -> tuple[Any, ...]:
    """Return one of `step` rows of each table; arrays in one piece, over which loops are vectorized."""
    some = (table[::step] for table in tables)
    return tuple(np.ascontiguousarray(table) if isinstance(table, np.ndarray) else table for table in some)


class Scale(NamedTuple):
    """Scores less their mean, divided by their standard deviation: Newton's method runs on these."""

    middle: float
    unit: float


def _scale(scores: NDArray[Any], w: NDArray[np.float64]) -> Scale:
    """Return the scale of usable scores; the unit is 1 if they do not vary."""
    usable = (np.abs(scores) < FAR) & (w > 0)[:, None]
    each = np.where(usable, w[:, None], 0.0)
    total = float(each.sum())
    if not total > 0:
        return Scale(0.0, 1.0)
    s = np.where(usable, scores, 0.0).astype(np.float64)
    middle = float(np.vdot(each, s)) / total
    unit = float(np.sqrt(np.vdot(each, (s - middle) ** 2) / total))
    return Scale(middle, unit if unit > _SAME * abs(middle) else 1.0)


def _sums(
    scores: NDArray[Any], w: NDArray[np.float64], scale: Scale, theta: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what `platt_sums` adds up."""
    out = np.zeros((5, scores.shape[1]))
    for here, part in in_double(scores):
        platt_sums(part, np.ascontiguousarray(w[here]), scale.middle, scale.unit, theta[0], theta[1], FAR, out)
    return out


def in_double(scores: NDArray[Any]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield blocks of rows in double precision, and where they are: kernels take no other precision or order.

    Examples
    --------
    >>> [(here.start, part.dtype.name) for here, part in in_double(np.ones((5, 2), np.float32))]
    [(0, 'float64')]
    """
    for start in range(0, len(scores), _ROWS):
        here = slice(start, start + _ROWS)
        yield here, np.ascontiguousarray(scores[here], np.float64)


def _of_entries(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: Scale
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Return row and column of each label that is on, and w s and w, shape (2, nnz)."""
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    s = scores[rows, labels.indices].astype(np.float64)
    weight = w[rows] * (np.abs(s) < FAR)
    s = np.where(weight > 0, (s - scale.middle) / scale.unit, 0.0)
    return rows, labels.indices, np.array([weight * s, weight])


def _targets(
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: Scale
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
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: Scale
) -> NDArray[np.float64]:
    """Return the slope and the offset which suit all labels in common, shape (2, 1).

    Newton's method begins at the log-odds of all labels: from an offset of 0 it may never find back where few are on.
    """
    targets = _targets(scores, labels, w, scale).sum(axis=1, keepdims=True)
    on, all_ = float(targets[1, 0]), float(w @ np.count_nonzero(np.abs(scores) < FAR, axis=1))
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
    scores: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64], scale: Scale
) -> tuple[NDArray[np.float64], Prior]:
    """Return slope and offset of each label, shape (2, L), and what they have in common, by EM."""
    L = scores.shape[1]
    pooled = _pooled(scores, labels, w, scale)
    targets = _targets(scores, labels, w, scale)
    theta, prior = np.repeat(pooled, L, axis=1), Prior(pooled, np.eye(2))
    for _ in range(_EM_STEPS):
        theta, curvature, covariance = _climbed(partial(_sums, scores, w, scale), targets, theta, prior, _NEWTON_STEPS)
        informed = curvature > 0
        if not informed.any():
            break
        mean = (theta[:, informed].sum(axis=1, keepdims=True) + pooled) / (informed.sum() + 1)
        stray, spread = (theta - mean)[:, informed], covariance[:, :, informed].mean(axis=2)
        prior = Prior(mean, stray @ stray.T / informed.sum() + spread + 1e-6 * np.eye(2))
    return theta, prior


def _climbed(
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


def _raised(
    theta: NDArray[np.float64],
    scores: NDArray[Any],
    labels: sparse.csr_array,
    w: NDArray[np.float64],
    scale: Scale,
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
