"""Measures of how far two labels are from independent, from counts of where they are on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from cofactor.correlation.checks import Floats, as_labels
from cofactor.correlation.similarities import CONSTANT, co_occurrence, pearson
from cofactor.weights import as_weights

__all__ = ["chi_squared", "mutual_information", "squared_pearson"]


def squared_pearson(Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    r"""Return squares of the correlations between columns, (3.2); 0 with a constant column, and on the diagonal.

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        Columns of any numbers.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, at least 0.

    Returns
    -------
    ndarray of shape (L, L)
        From 0 to 1.

    References
    ----------
    Numbers of equations are those of C.-X. Li's thesis (2011), as in all measures of this page.

    Examples
    --------
    >>> squared_pearson(np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 0, 1]])).round(3)
    array([[0.   , 0.333, 0.   ],
           [0.333, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    result = pearson(Y, sample_weight) ** 2
    np.fill_diagonal(result, 0)
    return result


def chi_squared(Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    r"""Return the statistics of the χ² tests of independence of two labels, (3.4); 0 with a constant label.

    .. math:: X^2(Y_i, Y_j) = \frac{N (N_{11} N_{00} - N_{10} N_{01})^2}
        {(N_{11} + N_{01}) (N_{11} + N_{10}) (N_{10} + N_{00}) (N_{01} + N_{00})} = N \rho^2(Y_i, Y_j)

    with the numbers :math:`N_{ab}` of instances where the two labels are a and b. So it makes the same trees, chains
    and clusters as `squared_pearson`.

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0; counts are then sums of them.

    Returns
    -------
    ndarray of shape (L, L)
        From 0 to N, zeros on the diagonal.

    Raises
    ------
    InvalidInputError
        If Y holds other numbers.

    Examples
    --------
    >>> chi_squared(np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 0, 1]])).round(3)
    array([[0.   , 1.333, 0.   ],
           [1.333, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    Y = as_labels(Y)
    weights = as_weights(sample_weight, Y.shape[0])
    return squared_pearson(Y, weights) * (Y.shape[0] if weights is None else weights.sum())


def mutual_information(Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    r"""Return the mutual information of two labels, (3.3), in nats; 0 with a constant label.

    .. math:: I(Y_i, Y_j) = \sum_{a, b \in \{0, 1\}} \frac{N_{ab}}{N} \log \frac{N N_{ab}}{N_{a \cdot} N_{\cdot b}}

    with the numbers :math:`N_{ab}` of instances where the two labels are a and b, and 0 log 0 = 0.

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0; counts are then sums of them.

    Returns
    -------
    ndarray of shape (L, L)
        From 0 to log 2, zeros on the diagonal.

    Raises
    ------
    InvalidInputError
        If Y holds other numbers.

    Examples
    --------
    >>> mutual_information(np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]])).round(3)
    array([[0.   , 0.693, 0.   ],
           [0.693, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    Y = as_labels(Y)
    weights = as_weights(sample_weight, Y.shape[0])
    n = float(Y.shape[0]) if weights is None else float(weights.sum())
    both = co_occurrence(Y, weights)
    on = np.diag(both).copy()
    result = np.zeros_like(both)
    one, other = on[:, None], on[None, :]
    cells = (
        (both, one, other),
        (one - both, one, n - other),
        (other - both, n - one, other),
        (n - one - other + both, n - one, n - other),
    )
    for count, rows, columns in cells:
        count = np.maximum(count, 0)  # sums of weights may be off by rounding
        expected = rows * columns
        result += xlogy(count, np.divide(n * count, expected, out=np.ones_like(both), where=expected > 0))
    result = np.maximum(result / n, 0)
    constant = (on <= 0) | (on >= n * (1 - CONSTANT))
    result[constant], result[:, constant] = 0, 0
    result = (result + result.T) / 2
    np.fill_diagonal(result, 0)
    return result
