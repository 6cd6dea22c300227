"""Clusters of instances by k-means from a start that no seed decides, and distances from their centres."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.chunked import is_sparse
from cofactor.kernels.clusters import divide
from cofactor.kernels.threads import library_limit
from cofactor.labels.features import CheckedFeatures, squared_lengths

_POWER_STEPS = 10  #: k-means only starts from the longest axis, so it need not be exact


def k_means(
    X: CheckedFeatures, k: int, *, max_iter: int = 300, start: NDArray[np.int64] | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Cluster rows by k-means, from centres that no seed decides.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
        At least one row.
    k : int
        Number of clusters; as many as there are distinct rows, if these are fewer.
    max_iter : int, default=300
        Most iterations.
    start : ndarray of shape (n,), int64, optional
        Clusters to start from. If one of the k has no row, and by default, the largest part of the rows is cut in two
        across its longest axis, until there are k.

    Returns
    -------
    centres : ndarray of shape (k', D)
        Means of the clusters, of the precision of X.
    labels : ndarray of shape (n,)
        Cluster of each row.

    Examples
    --------
    >>> centres, labels = k_means(np.array([[0.0], [5.0], [1.0], [6.0]]), 2)
    >>> centres.ravel(), labels.tolist()
    (array([0.5, 5.5]), [0, 1, 0, 1])
    """
    k = _n_distinct(X, k)
    if k == 1:
        return X.mean(axis=0, dtype=np.float64).reshape(1, -1).astype(X.dtype), np.zeros(X.shape[0], dtype=np.int32)
    if start is None or not np.bincount(start, minlength=k).all():
        start = _parts(X, k)
    from sklearn.cluster import KMeans  # which loads all linear models

    first = _means(X, start, k).T
    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        found = KMeans(k, init=first, n_init=1, max_iter=max_iter).fit(X)
    return found.cluster_centers_, found.labels_


def squared_distances(X: CheckedFeatures, Z: NDArray[Any]) -> NDArray[np.float64]:
    """Return squared Euclidean distances of rows of X from rows of Z, shape (n, m), by one product of matrices.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 0.0]]))
    array([[ 9.],
           [16.]])
    """
    X, Z = X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False)
    product = np.asarray(X @ Z.T)
    product *= -2
    product += squared_lengths(X)[:, None]
    product += squared_lengths(Z)
    return np.asarray(np.maximum(product, 0.0, out=product))


def _parts(X: Any, k: int) -> NDArray[np.int64]:
    """Return k parts of the rows, which depend neither on a seed nor on the order of rows.

    All rows are one part at first. The part with the largest sum of squared distances from its mean is cut in two, at
    the mean and across its longest axis, until there are k parts (T. Su & J. G. Dy, "In search of deterministic methods
    for initializing K-means and Gaussian mixture clustering", Intelligent Data Analysis 11, 2007).
    """
    by_row = X if is_sparse(X) else sparse.csr_array(X)
    rows = (
        by_row.indptr.astype(np.int64),
        by_row.indices.astype(np.int32, copy=False),
        by_row.data.astype(np.float64, copy=False),
    )
    n, D = X.shape
    order, ends, parts = np.empty(n, np.int64), np.empty(k, np.int64), np.empty(n, np.int64)
    divide(rows, order, ends, np.empty(k), D, _POWER_STEPS)
    parts[order] = np.repeat(np.arange(k), np.diff(ends, prepend=0))
    return parts


def _means(X: Any, labels: NDArray[np.int64], k: int) -> NDArray[np.float64]:
    """Return the means of clusters, in columns."""
    if is_sparse(X):
        D = X.shape[1]
        at = X.indices * np.int64(k) + np.repeat(labels, np.diff(X.indptr))
        sums = np.bincount(at, X.data, D * k).reshape(D, k)
    else:
        sums = X.T @ (labels[:, None] == np.arange(k)).astype(X.dtype)
    return sums / np.bincount(labels, minlength=k)


def _n_distinct(X: Any, most: int) -> int:
    """Return the number of distinct rows, or `most` if there are more."""
    found: set[bytes] = set()
    for i in range(X.shape[0]):
        if is_sparse(X):
            here = slice(X.indptr[i], X.indptr[i + 1])
            found.add(X.indices[here].tobytes() + X.data[here].tobytes())
        else:
            found.add(X[i].tobytes())
        if len(found) == most:
            break
    return len(found)
