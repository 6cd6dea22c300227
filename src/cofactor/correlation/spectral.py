"""Groups of similar columns by spectral clustering, and what it and other methods make of similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.cluster import KMeans

from cofactor.checks import check_number
from cofactor.correlation.checks import Floats
from cofactor.correlation.similarities import CONSTANT, co_occurrence
from cofactor.kernels.threads import library_limit

__all__ = ["positive_part", "self_tuning_affinity", "spectral_groups"]


def positive_part(R: NDArray[Any]) -> Floats:
    """Return the nearest positive semidefinite matrix: R with its negative eigenvalues set to 0.

    Parameters
    ----------
    R : ndarray of shape (d, d)
        A symmetric matrix.

    Returns
    -------
    ndarray of shape (d, d)

    Examples
    --------
    >>> positive_part(np.array([[0.0, 1.0], [1.0, 0.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    values, vectors = np.linalg.eigh(R)
    return np.asarray((vectors * np.maximum(values, 0)) @ vectors.T)


def self_tuning_affinity(Y: Any, neighbour: int = 7) -> Floats:
    r"""Return affinities of columns, each measured on its own scale.

    .. math:: A_{ij} = \exp\left(-\frac{\|Y_i - Y_j\|^2}{s_i s_j}\right), \qquad A_{ii} = 0

    with s_i the distance of column i from its k-th nearest other column (from the farthest one, if there are fewer
    than k). Zelnik-Manor and Perona ("Self-tuning spectral clustering", NIPS 2004) call it self-tuning. Where k columns
    equal column i, s_i would be 0, and is the distance of the nearest different column instead; if all columns are
    equal, all affinities are 1 (corrections.md, C41).

    Parameters
    ----------
    Y : array-like, or sparse array or matrix, of shape (n, L)
        Columns of any numbers.
    neighbour : int, default=7
        k, which neighbour sets the scale; 7 is the choice of these authors.

    Returns
    -------
    ndarray of shape (L, L)
        Symmetric, from 0 to 1. The same for labels coded 0/1 and ±1.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
    >>> self_tuning_affinity(Y).round(3)
    array([[0.   , 0.749, 0.368],
           [0.749, 0.   , 0.421],
           [0.368, 0.421, 0.   ]])
    """
    gram = co_occurrence(Y)
    n_columns = len(gram)
    if n_columns == 1:
        return np.zeros((1, 1))
    squares = np.diag(gram)
    distances = np.maximum(squares[:, None] + squares - 2 * gram, 0)  # squared, as are the scales
    distances[distances <= CONSTANT * (squares[:, None] + squares)] = 0
    others = np.sort(distances + np.diag(np.full(n_columns, np.inf)), axis=1)[:, :-1]
    scale = others[:, min(neighbour, n_columns - 1) - 1]
    nearest = np.min(others, axis=1, initial=np.inf, where=others > 0)
    scale = np.where(scale > 0, scale, np.where(np.isfinite(nearest), nearest, 1.0))
    affinity = np.exp(-distances / np.sqrt(scale[:, None] * scale))
    np.fill_diagonal(affinity, 0)
    return np.asarray(affinity)


def spectral_groups(affinity: NDArray[Any], n_groups: int, random_state: int = 0) -> NDArray[np.intp]:
    r"""Group columns by spectral clustering of their affinities.

    The K leading eigenvectors of :math:`D^{-1/2} A D^{-1/2}`, D = diag(A 1), are the columns of a matrix. Its rows, one
    for each column of the data, are scaled to length 1 and clustered by k-means (corrections.md, C41).

    Parameters
    ----------
    affinity : ndarray of shape (L, L)
        Symmetric, not negative.
    n_groups : int
        Number K of groups, at least 1; if it is above L, there are L groups.
    random_state : int, default=0
        Seed of k-means, which runs from ten starting points and keeps the best result.

    Returns
    -------
    ndarray of shape (L,)
        Group of each column, 0, 1, ... in the order in which they first occur.

    Examples
    --------
    >>> A = np.kron(np.eye(2), np.ones((2, 2)))[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    >>> spectral_groups(A, 2)
    array([0, 1, 0, 1])
    """
    check_number("n_groups", n_groups, low=1, whole=True)
    n_columns = len(affinity)
    n_groups = min(n_groups, n_columns)
    if n_groups == 1:
        return np.zeros(n_columns, dtype=np.intp)
    scale = 1 / np.sqrt(np.maximum(affinity.sum(axis=1), np.finfo(float).eps))  # an isolated column has no affinity
    laplacian = affinity * scale[:, None] * scale
    _, vectors = linalg.eigh(laplacian, subset_by_index=[n_columns - n_groups, n_columns - 1])
    points = vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(n_groups)])
    length = np.linalg.norm(points, axis=1, keepdims=True)
    points = points / np.where(length > 0, length, 1)
    with library_limit(1):  # with several threads, its sums would depend on the order in which these end
        clusters = KMeans(n_groups, n_init=10, random_state=random_state).fit_predict(points)
    _, first, group = np.unique(clusters, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[group], dtype=np.intp)
