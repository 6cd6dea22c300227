"""The logistic loss of all cells of a block of rows, in one pass: see `cofactor.problems.implicit_logistic`."""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import inlined, kernel
from cofactor.kernels.normal import sum_of_logarithms

_MOST = np.float32(60)  # the highest score: eˣ must be finite
_LEAST = np.float32(-80)  # below which eˣ is 0 beside 1

_ONE, _HALF = np.float32(1), np.float32(0.5)
_LOG2E = np.float32(1.4426950408889634)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)  # ln 2 in two parts
_SERIES = (np.float32(1 / 5040), np.float32(1 / 720), np.float32(1 / 120), np.float32(1 / 24), np.float32(1 / 6))


@kernel
def logistic_cells(lo, hi, scores, of_rows, of_columns, indptr, indices, weights, of_biases):  # type: ignore[no-untyped-def]
    """Replace products of factors by the slopes of the loss at their scores; return the loss of the rows lo..hi.

    Parameters
    ----------
    lo, hi : int
    scores : ndarray of shape (hi - lo, m), float32
        U·V, then the derivatives of the loss by the scores.
    of_rows, of_columns : ndarray of shape (n,) and (m,), float32
        Biases.
    indptr, indices, weights : ndarray
        The interactions, by rows, and how much each counts.
    of_biases : ndarray of shape (n,), float32
        Written: the sum of the slopes of each row.
    """
    m = len(of_columns)
    whole = empty(m, np.float32)
    value = 0.0
    for i in range(lo, hi):
        own, bias = scores[i - lo], of_rows[i]
        for j in range(m):
            odds = _exponential(min(max(own[j] + bias + of_columns[j], _LEAST), _MOST))
            whole[j] = _ONE + odds
            own[j] = odds / (_ONE + odds)
        value += sum_of_logarithms(whole)  # log(1 + eˣ) of all cells, as if there were no interactions
        for k in range(indptr[i], indptr[i + 1]):
            p, w = own[indices[k]], weights[k]
            value -= w * np.log(np.float64(p)) + np.log(np.float64(whole[indices[k]]))
        for k in range(indptr[i], indptr[i + 1]):
            own[indices[k]] = weights[k] * (own[indices[k]] - _ONE)
        total = 0.0
        for j in range(m):
            total += own[j]
        of_biases[i] = total
    return value


@inlined
def _exponential(y):  # type: ignore[no-untyped-def]
    """Return exp(y), relative error 2e-7."""
    k = np.floor(y * _LOG2E + _HALF)
    r = (y - k * _LN2_HIGH) - k * _LN2_LOW
    p = _SERIES[0] * r + _SERIES[1]
    p = p * r + _SERIES[2]
    p = p * r + _SERIES[3]
    p = p * r + _SERIES[4]
    p = p * r + _HALF
    p = p * r + _ONE
    p = p * r + _ONE
    return p * np.int32((np.int32(k) + np.int32(127)) << np.int32(23)).view(np.float32)
