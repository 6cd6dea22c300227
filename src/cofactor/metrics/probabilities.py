r"""Measures of the probabilities of ratings and of labels.

How good the predicted probabilities of levels are: how certain, and how well calibrated.

All functions take the true ratings, the probabilities of the levels as `predict_proba` returns them, and the scale:
column r - 1 holds the probability :math:`p_{kr}` that rating k is the level r. A model that knows only how frequent
the levels are is well calibrated, but has a high log-loss. One that is certain and often wrong has a high log-loss and
a high calibration error.

How good predicted probabilities of labels are: each label of each instance has a probability of its own.

The labels of all instances count alike, as nL single predictions. Most of them are rightly improbable, therefore both
measures are small where labels are rare: compare them on the same labels only. Labels which are not known do not count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_choice, check_number
from cofactor.errors import InvalidInputError
from cofactor.metrics.scale import as_ratings, as_scale, to_levels
from cofactor.metrics.tables import as_label_sets, as_scores, check_columns, check_same_shape, split_unknown
from cofactor.text import plural

_LEAST = float(np.finfo(np.float64).eps)  # what a probability of 0 counts as
_SUM = 1e-3  # how far from 1 the sum of a row may be: probabilities may come rounded
_OVER = ("top", "all")  # choices of `over`


def log_loss(y: ArrayLike, probabilities: ArrayLike, scale: ArrayLike) -> float:
    r"""Mean negative log-likelihood of a rating, :math:`-\frac{1}{n}\sum_k \ln p_{k y_k}`, in nats.

    Parameters
    ----------
    y : array-like of shape (n,)
        True ratings.
    probabilities : array-like of shape (n, R)
        Probability of every level.
    scale : array-like of shape (R,)
        The increasing levels.

    Returns
    -------
    float
        The loss; 0 is best, :math:`\ln R` is that of uniform probabilities. A probability of 0 counts as
        :math:`2^{-52}`, so that a rating with probability 0 costs 36 and not infinity.

    Notes
    -----
    As scikit-learn's ``log_loss`` with ``labels=scale``, for probabilities in float64.

    Examples
    --------
    >>> round(log_loss([1, 3], [[0.5, 0.3, 0.2], [0.0, 0.5, 0.5]], scale=[1, 2, 3]), 6)
    0.693147
    """
    levels, p = _checked(y, probabilities, scale)
    return float(-np.log(np.maximum(_at_levels(p, levels), _LEAST)).mean())


def ranked_probability_score(y: ArrayLike, probabilities: ArrayLike, scale: ArrayLike) -> float:
    r"""Squared distance between distribution functions, summed over the boundaries between levels.

    .. math:: \frac{1}{n}\sum_k \sum_{r=1}^{R-1} \Bigl(\sum_{q \le r} p_{kq} - [y_k \le r]\Bigr)^2

    Unlike the log-loss it knows that the levels are ordered: probability near the true level is better than
    probability far from it. If all probabilities are 0 or 1, it is the mean absolute error counted in levels.

    Parameters
    ----------
    y, probabilities, scale
        As in `log_loss`.

    Returns
    -------
    float
        The score, not divided by R - 1; 0 is best.

    References
    ----------
    Epstein, "A scoring system for probability forecasts of ranked categories", J. Applied Meteorology 8 (1969).

    Examples
    --------
    >>> ranked_probability_score([1], [[0.5, 0.5, 0.0]], scale=[1, 2, 3])
    0.25
    >>> ranked_probability_score([1], [[0.0, 0.0, 1.0]], scale=[1, 2, 3])
    2.0
    """
    levels, p = _checked(y, probabilities, scale)
    reached = levels[:, None] <= np.arange(1, p.shape[1])
    return float(np.square(np.cumsum(p, axis=1)[:, :-1] - reached).sum(axis=1).mean())


@dataclass(frozen=True)
class CalibrationBins:
    """Predicted probabilities and observed frequencies in bins of equal width.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        From 0 to 1. A bin includes its upper edge and not its lower one; the first bin also includes 0.
    counts : ndarray of shape (n_bins,)
        Number of predictions in each bin.
    predicted, observed : ndarray of shape (n_bins,)
        Mean predicted probability, and the share of predictions that came true; NaN in empty bins.
    errors : ndarray of shape (n_bins,), or None
        Standard errors of observed less predicted, where it is known of which user each prediction is.

    Examples
    --------
    >>> from cofactor.metrics import CalibrationBins
    >>> bins = CalibrationBins(np.array([0, 0.5, 1]), np.array([2, 2]), np.array([0.2, 0.8]), np.array([0.0, 1.0]))
    >>> round(bins.error, 3)
    0.2
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    errors: NDArray[np.float64] | None = None

    @property
    def error(self) -> float:
        """Mean distance between predicted and observed, weighted by the counts: the expected calibration error."""
        full = self.counts > 0
        distance = np.abs(self.predicted[full] - self.observed[full])
        return float((self.counts[full] * distance).sum() / self.counts.sum())


def calibration_bins(
    y: ArrayLike, probabilities: ArrayLike, scale: ArrayLike, *, n_bins: int = 15, over: str = "top"
) -> CalibrationBins:
    """Return predicted probabilities and observed frequencies in bins of equal width.

    Parameters
    ----------
    y, probabilities, scale, n_bins, over
        As in `expected_calibration_error`.

    Returns
    -------
    CalibrationBins

    Examples
    --------
    >>> bins = calibration_bins([1, 2, 2], [[0.6, 0.4], [0.4, 0.6], [0.9, 0.1]], scale=[1, 2], n_bins=2)
    >>> bins.counts.tolist(), bins.predicted.round(2).tolist(), bins.observed.round(2).tolist()
    ([0, 3], [nan, 0.7], [nan, 0.67])
    """
    check_number("n_bins", n_bins, low=1, whole=True)
    check_choice("over", over, _OVER)
    levels, p = _checked(y, probabilities, scale)
    hit = levels[:, None] == np.arange(1, p.shape[1] + 1)
    if over == "top":
        top = np.argmax(p, axis=1) + 1
        p, hit = _at_levels(p, top), _at_levels(hit, top)
    counts, *sums = bins_of(p.ravel(), hit.ravel(), n_bins)
    means = [part / np.where(counts, counts, np.nan) for part in sums]
    return CalibrationBins(np.linspace(0, 1, n_bins + 1), counts.astype(np.int64), *means)


def bins_of(values: NDArray[Any], true: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    """Return how many probabilities lie in each bin of `CalibrationBins`, their sum, and how many came true."""
    bins = np.clip(np.searchsorted(np.linspace(0, 1, n_bins + 1), values, side="left") - 1, 0, n_bins - 1)
    return np.array([np.bincount(bins, part, n_bins) for part in (None, values, true)], dtype=np.float64)


def expected_calibration_error(
    y: ArrayLike, probabilities: ArrayLike, scale: ArrayLike, *, n_bins: int = 15, over: str = "top"
) -> float:
    r"""Distance between predicted probabilities and how often they come true.

    .. math::

        \sum_{b=1}^{B} \frac{|S_b|}{\sum_c |S_c|} \,
        \Bigl|\frac{1}{|S_b|}\sum_{s \in S_b} p_s - \frac{1}{|S_b|}\sum_{s \in S_b} [s \text{ came true}]\Bigr|

    where :math:`S_b` holds the predictions s with :math:`(b-1)/B < p_s \le b/B`, and 0 lies in the first bin.

    Parameters
    ----------
    y, probabilities, scale
        As in `log_loss`.
    n_bins : int, default=15
        Number B of bins of equal width.
    over : {"top", "all"}, default="top"
        What the predictions s are. "top", the usual choice: the most probable level of each rating (the lowest if
        several are equally probable). "all": all n R pairs of a rating and a level, each with a probability of its own.

    Returns
    -------
    float
        The error, 0 to 1; 0 is best. More bins, or fewer ratings, make it larger: compare only errors with the same
        numbers of both. With "all" it is smaller, because most pairs rightly have a small probability.

    References
    ----------
    Naeini, Cooper & Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015; with 15
    bins: Guo, Pleiss, Sun & Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    Four ratings predicted with confidence 0.8, of which three come true:

    >>> p = [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]]
    >>> round(expected_calibration_error([1, 1, 2, 1], p, scale=[1, 2]), 6)
    0.05
    """
    return calibration_bins(y, probabilities, scale, n_bins=n_bins, over=over).error


def probability_report(y: ArrayLike, probabilities: ArrayLike, scale: ArrayLike) -> dict[str, float]:
    """Return every metric of `PROBABILITY_METRICS`.

    Parameters
    ----------
    y, probabilities, scale
        As in `log_loss`.

    Returns
    -------
    dict of str to float
        ``log_loss``, ``rps`` (ranked probability score) and ``ece`` (expected calibration error of the most probable
        level, 15 bins).

    Examples
    --------
    >>> report = probability_report([1, 2], [[0.8, 0.2], [0.4, 0.6]], scale=[1, 2])
    >>> {name: round(value, 4) for name, value in report.items()}
    {'log_loss': 0.367, 'rps': 0.1, 'ece': 0.3}
    """
    return {name: metric(y, probabilities, scale) for name, metric in PROBABILITY_METRICS.items()}


PROBABILITY_METRICS: dict[str, Callable[[Any, Any, Any], float]] = {
    "log_loss": log_loss,
    "rps": ranked_probability_score,
    "ece": expected_calibration_error,
}
"""Metric of each name, called as ``metric(y, probabilities, scale)``; smaller is better."""


def _at_levels(values: NDArray[Any], levels: NDArray[Any]) -> NDArray[Any]:
    """Return the entry of each row in the column of its level."""
    return values[np.arange(len(values)), levels.astype(np.intp) - 1]


def _checked(y: ArrayLike, probabilities: ArrayLike, scale: ArrayLike) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return levels and probabilities as checked arrays."""
    names = as_scale(scale)
    levels = to_levels(as_ratings(y, "y"), names)
    p = np.asarray(probabilities, dtype=np.float64)
    if p.shape != (len(levels), len(names)):
        raise InvalidInputError(
            f"probabilities must have a row for each of {plural(len(levels), 'rating')} and a column for each of "
            f"{len(names)} levels of scale, found shape {p.shape}",
            argument="probabilities",
        )
    wrong = ~((p >= 0) & (p <= 1 + _SUM))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InvalidInputError(
            f"probabilities must lie between 0 and 1, found {p[row, column]} in row {row}", argument="probabilities"
        )
    sums = p.sum(axis=1)
    wrong = np.abs(sums - 1) > _SUM
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"probabilities of each row must sum to 1, found {sums[row]:.6g} in row {row}")
    return levels, p


_ROWS = 1 << 22  # numbers in memory at a time


def label_log_loss(Y: Any, probabilities: ArrayLike) -> float:
    r"""Mean negative log-likelihood of a label, in nats.

    .. math:: -\frac{1}{nL} \sum_{il} \bigl(y_{il} \ln p_{il} + (1 - y_{il}) \ln (1 - p_{il})\bigr)

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1; NaN where a label is not known.
    probabilities : array-like of shape (n, L)
        Probability of each label, 0 to 1.

    Returns
    -------
    float
        The loss; 0 is best. A probability of 0 for what is true counts as :math:`2^{-52}`.

    Raises
    ------
    InvalidInputError
        If they are not tables of the same shape, or a probability is not one.

    Examples
    --------
    >>> round(label_log_loss([[1, 0]], [[0.5, 0.5]]), 6)
    0.693147
    """
    total, count = 0.0, 0
    for p, true in _pairs(Y, probabilities):
        right = np.maximum(np.where(true, p, 1 - p), _LEAST)
        total, count = total - float(np.log(right).sum()), count + len(p)
    return total / count


def label_calibration_bins(
    Y: Any, probabilities: ArrayLike, label: int | None = None, *, n_bins: int = 15
) -> CalibrationBins:
    """Return predicted probabilities of labels and how often they came true, in bins of equal width.

    Parameters
    ----------
    Y, probabilities, n_bins
        As in `label_calibration_error`.
    label : int, optional
        Column of one label; by default those of all labels together.

    Returns
    -------
    CalibrationBins

    Examples
    --------
    >>> label_calibration_bins([[1, 0], [0, 0]], [[0.9, 0.2], [0.6, 0.1]], n_bins=2).counts.tolist()
    [2, 2]
    """
    check_number("n_bins", n_bins, low=1, whole=True)
    sums = np.zeros((3, n_bins))
    for p, true in _pairs(Y, probabilities, label):
        sums += bins_of(p, true, n_bins)
    counts = sums[0]
    means = sums[1:] / np.where(counts, counts, np.nan)
    return CalibrationBins(np.linspace(0, 1, n_bins + 1), counts.astype(np.int64), means[0], means[1])


def label_calibration_error(Y: Any, probabilities: ArrayLike, *, n_bins: int = 15) -> float:
    r"""Distance between predicted probabilities of labels and how often they come true.

    .. math:: \sum_{b} \frac{|S_b|}{nL} \Bigl|\frac{1}{|S_b|}\sum_{(i, l) \in S_b} (p_{il} - y_{il})\Bigr|

    with the pairs of an instance and a label in bins S_b of their probability.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1; NaN where a label is not known.
    probabilities : array-like of shape (n, L)
        Probability of each label, 0 to 1.
    n_bins : int, default=15
        Number of bins of equal width.

    Returns
    -------
    float
        The error, 0 to 1; 0 is best.

    Raises
    ------
    InvalidInputError
        If they are not tables of the same shape, or a probability is not one.

    Examples
    --------
    >>> round(label_calibration_error([[1, 0], [1, 0]], [[0.8, 0.2], [0.8, 0.2]]), 6)
    0.2
    """
    return label_calibration_bins(Y, probabilities, n_bins=n_bins).error


def _pairs(Y: Any, probabilities: ArrayLike, label: int | None = None) -> Any:
    """Yield probabilities and truths of known labels, in blocks of rows, flat."""
    check_columns(Y, probabilities, ("Y", "probabilities"))
    labels, known = split_unknown(Y)
    true, p = as_label_sets(labels), as_scores(probabilities, "probabilities")
    check_same_shape(true.shape, p.shape, ("Y", "probabilities"))
    if label is not None and not 0 <= label < p.shape[1]:
        raise InvalidInputError(f"there are {p.shape[1]} labels", argument="label", found=label)
    columns = slice(None) if label is None else slice(label, label + 1)
    height = max(1, _ROWS // p.shape[1])
    for first in range(0, len(p), height):
        rows = slice(first, first + height)
        chances = np.asarray(p[rows, columns], dtype=np.float64)
        check_chances(chances, first, columns.start or 0)
        on = _dense(true[rows])[:, columns]
        kept = slice(None) if known is None else known[rows, columns]
        yield chances[kept].ravel(), on[kept].ravel()


def check_chances(p: NDArray[Any], row: int = 0, column: int = 0) -> None:
    """Refuse probabilities that are none; the first of the table stands in this row and column of what was given."""
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise InvalidInputError(
            f"probabilities must lie between 0 and 1, found {p[i, j]} in row {row + i}, column {column + j}",
            argument="probabilities",
        )


def _dense(labels: sparse.csr_array) -> NDArray[np.bool_]:
    return np.asarray(labels.toarray() > 0)
