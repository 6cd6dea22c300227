"""Clusters of instances by k-means from a start that no seed decides, and distances from their centres."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from cofactor.labels.features import CheckedFeatures, is_sparse

__all__ = ["first_centres", "k_means", "squared_distances"]

_POWER_STEPS = 20  #: k-means only starts from the longest axis, so it need not be exact


def k_means(X: CheckedFeatures, k: int, *, max_iter: int = 300) -> tuple[NDArray[Any], NDArray[Any]]:
    """Cluster rows by k-means, which starts from `first_centres`.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
        At least one row.
    k : int
        Number of clusters; as many as there are distinct rows, if these are fewer.
    max_iter : int, default=300
        Most iterations.

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
        return _mean(X)[None, :].astype(X.dtype), np.zeros(X.shape[0], dtype=np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # rows that differ by rounding errors share a centre
        found = KMeans(k, init=first_centres(X, k).astype(X.dtype), n_init=1, max_iter=max_iter).fit(X)
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
    product += _squared_lengths(X)[:, None]
    product += _squared_lengths(Z)
    return np.asarray(np.maximum(product, 0.0, out=product))


def first_centres(X: Any, k: int) -> NDArray[np.float64]:
    """Return k points from which k-means starts, shape (k, D); they depend neither on a seed nor on the order of rows.

    All rows are one part at first. The part with the largest sum of squared distances from its mean is cut in two, at
    the mean and across its longest axis, until there are k parts; their means are the centres (T. Su & J. G. Dy, "In
    search of deterministic methods for initializing K-means and Gaussian mixture clustering", Intelligent Data
    Analysis 11, 2007).
    """
    parts, scatters = [np.arange(X.shape[0])], [0.0]
    while len(parts) < k:
        place = int(np.argmax(scatters))
        widest, _ = parts.pop(place), scatters.pop(place)
        right = _longest_axis_scores(X[widest]) > 0
        if right.all() or not right.any():  # the rows differ by less than rounding errors
            right = np.arange(len(widest)) == 0
        for part in (widest[~right], widest[right]):
            parts.append(part)
            scatters.append(_scatter(X[part]) if len(part) > 1 else -1.0)
    return np.stack([_mean(X[part]) for part in parts])


def _mean(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()


def _scatter(X: Any) -> float:
    values = (X.data if is_sparse(X) else X.ravel()).astype(np.float64)
    mean = _mean(X)
    return float(values @ values - X.shape[0] * (mean @ mean))


def _longest_axis_scores(X: Any) -> NDArray[np.float64]:
    """Return the centred coordinates of rows along nearly their longest axis, whose largest weight is positive."""
    X, mean = X.astype(np.float64), _mean(X)
    squares = np.asarray((X * X).sum(axis=1)).ravel() - 2 * (X @ mean)
    far = X[[int(np.argmax(squares))]]
    axis = (far.toarray() if is_sparse(X) else far).ravel() - mean
    for _ in range(_POWER_STEPS):
        scores = X @ axis - mean @ axis
        axis = X.T @ scores - scores.sum() * mean
        axis /= np.linalg.norm(axis) or 1.0
    return (X @ axis - mean @ axis) * np.sign(axis[np.argmax(np.abs(axis))])


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


def _squared_lengths(X: CheckedFeatures) -> NDArray[np.float64]:
    if is_sparse(X):
        return np.asarray((X * X).sum(axis=1)).ravel()
    dense = np.asarray(X)
    return np.asarray(np.einsum("ij,ij->i", dense, dense))
