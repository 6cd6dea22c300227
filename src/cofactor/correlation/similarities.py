"""How alike labels are, and how much they depend on each other.

Similarities follow from inner products of the columns of Y, measures of dependence from counts of where labels are on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import xlogy

from cofactor.checks import as_weights
from cofactor.correlation.checks import Floats, as_labels, as_table, is_sparse
from cofactor.passes import batches

#: A column whose squared deviations from its mean are this share of its squares, or less, counts as constant.
CONSTANT = 1e-12

#: Cells of a dense table that are multiplied at a time.
_CELLS = 1 << 22


def co_occurrence(Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    """Return YᵀY: for columns of 0 and 1, the number of rows where two of them are both 1.

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        Columns of any numbers.
    sample_weight : array-like of shape (n,), optional
        Weights w of the rows, at least 0; then it is Yᵀ diag(w) Y.

    Returns
    -------
    ndarray of shape (L, L)

    Raises
    ------
    InvalidInputError
        If L² is more than `cofactor.limits.CELLS` allows, as for all similarities of this page.

    Examples
    --------
    >>> co_occurrence(np.array([[1, 1, 0], [1, 0, 0]]))
    array([[2., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    Y = as_table(Y)
    n_rows, n_columns = Y.shape
    weights = as_weights(sample_weight, n_rows)
    if is_sparse(Y):
        table = sparse.csr_array(Y, dtype=np.float64)
        weighted = table if weights is None else sparse.csr_array(table.multiply(weights[:, None]))
        return np.asarray((table.T @ weighted).toarray())
    result = np.zeros((n_columns, n_columns))
    for rows in batches(n_rows, max(1, _CELLS // max(n_columns, 1))):
        block = np.asarray(Y[rows], dtype=np.float64)
        result += block.T @ (block if weights is None else block * weights[rows, None])
    return result


def normalized(gram: NDArray[Any]) -> Floats:
    """Return G_ij / √(G_ii G_jj), with ones on the diagonal, and zeros off it where G_ii or G_jj is 0.

    It turns inner products of columns into cosines, and covariances into correlations. For a column that is zero or
    constant they would be 0/0, and count as 0 (corrections.md, C36, C59).

    Parameters
    ----------
    gram : ndarray of shape (L, L)
        A positive semidefinite matrix.

    Returns
    -------
    ndarray of shape (L, L)
        Symmetric, from -1 to 1.

    Examples
    --------
    >>> normalized(np.array([[4.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    length = np.sqrt(np.maximum(np.diag(gram), 0))
    inverse = np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)
    result = np.clip(gram * inverse[:, None] * inverse, -1, 1)
    result = (result + result.T) / 2
    np.fill_diagonal(result, 1)
    return np.asarray(result)


def cosine(Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    """Return the cosines between columns of 0 and 1; 0 with a zero column, 1 on the diagonal.

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, at least 0.

    Returns
    -------
    ndarray of shape (L, L)

    Examples
    --------
    >>> cosine(np.array([[1, 1, 0], [1, 0, 0]])).round(3)
    array([[1.   , 0.707, 0.   ],
           [0.707, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """
    return normalized(co_occurrence(as_labels(Y), sample_weight))


def pearson(Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    """Return the correlations between columns; 0 with a constant column, 1 on the diagonal.

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        Columns of any numbers: labels coded 0 and 1, and -1 and 1, have the same correlations.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, at least 0.

    Returns
    -------
    ndarray of shape (L, L)

    Examples
    --------
    >>> pearson(np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1]]))
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  1.]])
    """
    Y = as_table(Y)
    n_rows = Y.shape[0]
    weights = as_weights(sample_weight, n_rows)
    n = float(n_rows) if weights is None else float(weights.sum())
    if is_sparse(Y) or Y.dtype.kind in "biu":  # whole numbers lose nothing by the subtraction
        gram, total = co_occurrence(Y, weights), _total(Y, weights)
        centred = gram - np.outer(total, total) / n
        squares = np.diag(gram)
    else:
        table = np.asarray(Y, dtype=np.float64)
        each = np.ones(n_rows) if weights is None else weights
        centred = co_occurrence(table - each @ table / n, weights)
        squares = np.einsum("ij,ij,i->j", table, table, each)
    constant = np.diag(centred) <= CONSTANT * squares
    centred[constant], centred[:, constant] = 0, 0
    return normalized(centred)


def _total(Y: Any, weights: Floats | None) -> Floats:
    """Return the sum of each column."""
    each = np.ones(Y.shape[0]) if weights is None else weights
    return np.asarray(each @ Y, dtype=np.float64)


def jaccard(Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    """Return the Jaccard indices of columns of 0 and 1, both 1 by any 1; 0 with a zero column, 1 on the diagonal.

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows, at least 0.

    Returns
    -------
    ndarray of shape (L, L)

    Examples
    --------
    >>> jaccard(np.array([[1, 1, 0], [1, 0, 0]]))
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    both = co_occurrence(as_labels(Y), sample_weight)
    count = np.diag(both)
    either = count[:, None] + count - both
    result = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    np.fill_diagonal(result, 1)
    return result


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
