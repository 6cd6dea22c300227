"""Rows regressed on features: sums of products, and means by weights, the same on any number of threads."""

import numpy as np

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
