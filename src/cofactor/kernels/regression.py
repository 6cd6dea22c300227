"""Rows regressed on features: sums of products, means by weights, coefficients one by one, and leverages.

They are the same on any number of threads. Factors are independent of each other.
"""

import numpy as np

from cofactor.kernels.compile import kernel
from cofactor.kernels.gibbs import feature_sums, prior_means
from cofactor.kernels.threads import n_threads, parallel_for

#: Rows in a block.
_BLOCK = 512


def products_with(features: np.ndarray, rows: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the products of features, (n, K), with rows less their mean, (n, p): an array of shape (K, p).

    Examples
    --------
    >>> products_with(np.array([[1.0], [-2.0]]), np.array([[3.0, 5.0], [1.0, 1.0]]), np.array([1.0, 1.0]))
    array([[2., 4.]])
    """
    p, rows = rows.shape[1], np.ascontiguousarray(rows)
    sums = np.empty((p, features.shape[1]))
    n_blocks = min(p, n_threads())
    cuts: np.ndarray = np.linspace(0, p, n_blocks + 1).astype(np.int64)
    parallel_for(lambda k: feature_sums(cuts[k], cuts[k + 1], features, rows, mean, sums), n_blocks)
    return sums.T


def means_by(columns: np.ndarray, weights: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return µ + f_i W for all rows, where `columns`, (K, n), has the features f_i as columns.

    Examples
    --------
    >>> means_by(np.array([[1.0, -2.0]]), np.array([[3.0, 5.0]]), np.array([1.0, 0.0]))
    array([[  4.,   5.],
           [ -5., -10.]])
    """
    n, weights, mean = columns.shape[1], np.ascontiguousarray(weights, np.float64), np.asarray(mean, np.float64)
    out = np.empty((n, weights.shape[1]))

    def block(k: int) -> None:
        prior_means(k * _BLOCK, min((k + 1) * _BLOCK, n), columns, weights, mean, out)

    parallel_for(block, -(-n // _BLOCK))
    return out


@kernel
def sparse_means(lo, hi, indptr, indices, values, weights, mean, out):  # type: ignore[no-untyped-def]
    """Write out_i = µ + f_i W for the rows lo..hi of sparse features (CSR)."""
    p = weights.shape[1]
    for i in range(lo, hi):
        row = out[i]
        for a in range(p):
            row[a] = mean[a]
        for e in range(indptr[i], indptr[i + 1]):
            f = values[e]
            w = weights[indices[e]]
            for a in range(p):
                row[a] += f * w[a]


@kernel
def draw_weights(col_indptr, col_indices, col_values, squares, rest, tau, omega, noise, weights):  # type: ignore[no-untyped-def]
    """Draw the coefficients w_k of one factor in turn, each given the others; features by columns (CSC).

    `rest` is the residual of the rows, w_i - µ - f_i W, and is kept so. `squares` holds Σ_i f_ik², `noise` standard
    normal numbers.
    """
    for k in range(len(weights)):
        here = slice(col_indptr[k], col_indptr[k + 1])
        rows, f = col_indices[here], col_values[here]
        total = omega + tau * squares[k]
        s = squares[k] * weights[k]
        for e in range(len(rows)):
            s += f[e] * rest[rows[e]]
        new = tau * s / total + noise[k] / np.sqrt(total)
        change = new - weights[k]
        for e in range(len(rows)):
            rest[rows[e]] -= f[e] * change
        weights[k] = new


@kernel
def quadratic_forms(lo, hi, indptr, indices, data, M, out):  # type: ignore[no-untyped-def]
    """Write xᵀMx for the rows x numbered lo to hi - 1 of a csr matrix; M is symmetric and dense."""
    for i in range(lo, hi):
        total = 0.0
        for a in range(indptr[i], indptr[i + 1]):
            row = M[indices[a]]
            part = 0.0
            for b in range(indptr[i], a):
                part += row[indices[b]] * data[b]
            total += data[a] * (2.0 * part + row[indices[a]] * data[a])
        out[i] = total
