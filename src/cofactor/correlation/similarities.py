"""How alike labels are, and how much they depend on each other.

Similarities follow from inner products of the columns of Y, measures of dependence from counts of where labels are on.

The checks of what measures, trees, chains and clusters are given come first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import xlogy

from cofactor.checks import as_weights, refuse_masked
from cofactor.chunked import as_dense, batches, is_sparse
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.limits import CELLS

Floats = NDArray[np.float64]

_LARGEST = 1e100  #: numbers whose squares, and sums of these, are finite


def _refusal(
    name: str, problem: str, advice: str = "", kind: type[InvalidInputError] = InvalidInputError
) -> InvalidInputError:
    """Return an error that names the argument, whose values would be too long."""
    return kind((Argument(name), f": {problem}"), argument=name, advice=advice)


def as_numbers(values: Any, name: str) -> Any:
    """Return an array, or a sparse array without double entries, of numbers; refuse what are none, such as words."""
    refuse_masked(values, name)
    if hasattr(values, "Y") and hasattr(values, "targets"):
        raise _refusal(name, "is a data set", "pass its labels, data.Y, or its features, data.X", InvalidTypeError)
    if is_sparse(values):
        array: Any = sparse.csr_array(values)
        if not array.has_canonical_format:
            array = array.copy()
            array.sum_duplicates()
    else:
        try:
            array = np.asarray(values)
            if array.dtype.kind == "O" and not any(isinstance(cell, str | bytes) for cell in array.flat):
                array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise _refusal(name, "expected numbers, and as many in each row", kind=InvalidTypeError) from error
    if array.dtype.kind not in "biuf":
        found = "text" if array.dtype.kind in "USO" else array.dtype.name
        raise _refusal(name, f"expected numbers, found {found}", kind=InvalidTypeError)
    return array


def _refuse_far(array: Any, name: str) -> None:
    """Refuse numbers that are not finite, or so large that sums of their squares are not."""
    values = array.data if is_sparse(array) else array
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
        if not largest <= _LARGEST:
            raise _refusal(name, f"expected finite numbers, up to {_LARGEST:g}")


def _shaped(Y: Any) -> Any:
    """Return a table of numbers with a row and a column at least, and not too many to compare each two of them."""
    table = as_numbers(Y, "Y")
    if table.ndim != 2 or 0 in table.shape:
        raise _refusal("Y", f"expected a table of instances and labels, found shape {table.shape}")
    _check_cells(table.shape[1])
    return table


def _check_cells(L: int) -> None:
    """Refuse too many columns to compare each two of them."""
    CELLS.check(L**2, f"similarities of {L:,} columns are {L**2:,} numbers")


def as_table(Y: Any) -> Any:
    """Return a table of finite numbers."""
    table = _shaped(Y)
    _refuse_far(table, "Y")
    return table


def as_zeros_and_ones(Y: Any) -> Any:
    """Return a table of labels; refuse others than 0 and 1, or False and True.

    Examples
    --------
    >>> as_zeros_and_ones([[1, -1], [-1, 1]])
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: Y: expected labels coded 0 and 1, found -1; take Y > 0 if -1 stands for off
    """
    table = _shaped(Y)
    values = table.data if is_sparse(table) else table
    wrong = np.empty(0) if values.dtype == np.bool_ else values[(values != 0) & (values != 1)]
    if wrong.size:
        advice = "take Y > 0 if -1 stands for off" if np.all(wrong == -1) else ""
        raise _refusal("Y", f"expected labels coded 0 and 1, found {wrong[0]:g}", advice)
    return table


def as_features_of(X: Any, n_rows: int) -> Any:
    """Return features in double precision; refuse what is no table of them for as many instances."""
    features = as_numbers(X, "X")
    if features.ndim != 2 or features.shape[0] != n_rows or not features.shape[1]:
        raise _refusal("X", f"expected features of the {n_rows} instances of Y, found shape {features.shape}")
    _refuse_far(features, "X")
    return features.astype(np.float64, copy=False)


def as_similarities(C: Any) -> Floats:
    """Return a table of similarities as numbers; refuse any that is not square, finite and symmetric."""
    given = as_numbers(C, "C")
    if given.ndim != 2 or not given.shape[0] or given.shape[0] != given.shape[1]:
        raise _refusal("C", f"expected as many rows as columns, found shape {given.shape}")
    _check_cells(given.shape[0])
    _refuse_far(given, "C")
    table = as_dense(given)
    if not np.allclose(table, table.T, rtol=1e-9, atol=1e-12 * max(1.0, float(np.abs(table).max()))):
        raise _refusal("C", "expected the same number for (i, j) and (j, i)")
    return table


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
        table = sparse.csr_array(Y.astype(np.float64))
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
    return normalized(co_occurrence(as_zeros_and_ones(Y), sample_weight))


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
    both = co_occurrence(as_zeros_and_ones(Y), sample_weight)
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
    Y = as_zeros_and_ones(Y)
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
    Y = as_zeros_and_ones(Y)
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
