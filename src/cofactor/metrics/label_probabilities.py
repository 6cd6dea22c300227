r"""How good predicted probabilities of labels are: each label of each instance has a probability of its own.

The labels of all instances count alike, as nL single predictions. Most of them are rightly improbable, therefore both
measures are small where labels are rare: compare them on the same labels only. Labels which are not known do not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.metrics.probabilities import CalibrationBins, bins_of
from cofactor.metrics.tables import as_label_sets, as_scores, check_columns, check_same_shape, split_unknown

__all__ = ["label_calibration_bins", "label_calibration_error", "label_log_loss"]

_LEAST = float(np.finfo(np.float64).eps)  # what a probability of 0 counts as
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
        _check_chances(chances, first, columns.start or 0)
        on = _dense(true[rows])[:, columns]
        kept = slice(None) if known is None else known[rows, columns]
        yield chances[kept].ravel(), on[kept].ravel()


def _check_chances(p: NDArray[np.float64], row: int, column: int) -> None:
    wrong = ~((p >= 0) & (p <= 1))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise InvalidInputError(
            f"probabilities must lie between 0 and 1, found {p[i, j]} in row {row + i}, column {column + j}",
            argument="probabilities",
        )


def _dense(labels: sparse.csr_array) -> NDArray[np.bool_]:
    return np.asarray(labels.toarray() > 0)
