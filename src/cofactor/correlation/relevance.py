"""Similarity of labels by the features that tell about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_choice, check_number
from cofactor.correlation.checks import Floats, as_features, as_labels, dense, is_sparse
from cofactor.correlation.similarities import CONSTANT, pearson
from cofactor.weights import as_weights

__all__ = ["feature_correlation", "feature_relevance"]

RELEVANCES = ("pearson", "fisher")
SIMILARITIES = ("correlation", "overlap", "euclidean")

#: Largest Fisher score. Means that are ten standard deviations apart separate a label; no score shall outweigh all.
_MOST = 100.0

#: A feature whose squared deviations from its mean are this share of its squares, or less, holds equal numbers but for
#: their rounding.
_SAME = 1e-28


def feature_correlation(
    X: Any,
    Y: Any,
    *,
    relevance: str = "pearson",
    similarity: str = "correlation",
    k: int = 10,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    r"""Return how similar the features are that tell about two labels (Algorithm 1); 0 with a constant label.

    Parameters
    ----------
    X : array-like, or sparse array or matrix, of shape (n, D)
        Features.
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    relevance : {"pearson", "fisher"}, default="pearson"
        What a feature tells about a label: the square of their correlation, or the score

        .. math:: \frac{(\mu^+ - \mu^-)^2}{(\sigma^+)^2 + (\sigma^-)^2}

        with means and population variances of the feature where the label is on, and off. A score is 100 at most, also
        where both variances are 0, and 0 where both means are equal. It does not depend on the scale of the features.
    similarity : {"correlation", "overlap", "euclidean"}, default="correlation"
        How the relevances of all features for two labels are compared: by their correlation, by how many features
        are among the `k` most relevant ones of both, or by their distance, times -1.
    k : int, default=10
        At least 1; only with "overlap". Features without relevance do not count, and of equally relevant ones the first
        come first.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0.

    Returns
    -------
    ndarray of shape (L, L)
        From -1 to 1, from 0 to `k`, or at most 0; zeros on the diagonal. A constant label has relevances of 0: it has 0
        with all others, but for "euclidean", where 0 would call them equal: there it has its distance from them.

    References
    ----------
    Section 3.2.1 of C.-X. Li's thesis (2011).

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> Y = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1]])
    >>> feature_correlation(X, Y).round(3)
    array([[ 0.,  0., -1.],
           [ 0.,  0.,  0.],
           [-1.,  0.,  0.]])
    >>> feature_correlation(X, Y, similarity="overlap", k=1)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    for name, value, known in (("relevance", relevance, RELEVANCES), ("similarity", similarity, SIMILARITIES)):
        check_choice(name, value, known)
    check_number("k", k, low=1, whole=True)
    relevances = feature_relevance(X, Y, relevance, sample_weight)
    if similarity == "correlation":
        result = pearson(relevances.T)
    elif similarity == "overlap":
        result = _overlaps(relevances, k)
    else:
        squares = np.einsum("ld,ld->l", relevances, relevances)
        result = -np.sqrt(np.maximum(squares[:, None] + squares - 2 * relevances @ relevances.T, 0))
        result = (result + result.T) / 2
    np.fill_diagonal(result, 0)
    return result


def feature_relevance(X: Any, Y: Any, relevance: str = "pearson", sample_weight: ArrayLike | None = None) -> Floats:
    """Return what each feature tells about each label, shape (L, D); see `feature_correlation`.

    Examples
    --------
    >>> X, Y = np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([[0], [0], [1], [1]])
    >>> feature_relevance(X, Y).round(3), feature_relevance(X, Y, "fisher")
    (array([[0.714]]), array([[5.]]))
    """
    Y = as_labels(Y)
    features = _of_one_size(as_features(X, Y.shape[0]))
    weights = as_weights(sample_weight, Y.shape[0])
    if weights is None:
        weights = np.ones(Y.shape[0])
    n = weights.sum()
    squares = features * features
    size = weights @ squares / n
    if not is_sparse(features):
        for _ in range(2):  # the mean of a large offset is rounded, that of what is left is exact
            features = features - weights @ features / n
        squares = features * features
    rounding = np.maximum(_SAME * size, CONSTANT * (weights @ squares) / n)
    labels = sparse.csr_array(sparse.csr_array(Y, dtype=np.float64).multiply(weights[:, None]).T)
    on = np.asarray(labels.sum(axis=1), dtype=np.float64).ravel()
    total, total_squares = weights @ features, weights @ squares
    first, second = dense(labels @ features), dense(labels @ squares)
    variance = total_squares / n - (total / n) ** 2
    variance[variance <= rounding] = 0
    vary = (on > 0) & (n - on > 1e-12 * n)
    if relevance == "pearson":
        covariance = first / n - np.outer(on / n, total / n)
        scale = np.outer(np.where(vary, on / n * (1 - on / n), 0), variance)
        result = np.divide(covariance**2, scale, out=np.zeros_like(first), where=scale > 0)
        return np.asarray(np.minimum(result, 1))
    off = n - on
    result = np.zeros_like(first)
    first, second = first[vary], second[vary]
    mean, other = first / on[vary, None], (total - first) / off[vary, None]
    variances = second / on[vary, None] - mean**2 + (total_squares - second) / off[vary, None] - other**2
    variances[variances <= rounding] = 0
    distance = np.where(variance > 0, (mean - other) ** 2, 0)
    distance[distance <= rounding] = 0
    score = np.divide(distance, variances, out=np.full_like(distance, np.inf), where=variances > 0)
    result[vary] = np.where(distance > 0, np.minimum(score, _MOST), 0)
    return result


def _of_one_size(features: Any) -> Any:
    """Return columns times powers of two, after which the largest number of each is near 1: no square is too small."""
    largest = np.asarray(abs(features).max(axis=0).toarray() if is_sparse(features) else np.abs(features).max(axis=0))
    factors = np.ldexp(1.0, np.clip(-np.frexp(largest.ravel())[1], -1000, 1000))
    return features.multiply(factors).tocsr() if is_sparse(features) else features * factors


def _overlaps(relevances: NDArray[np.float64], k: int) -> Floats:
    """Return how many features two labels have in common among the k most relevant ones of each."""
    best = np.argsort(-relevances, axis=1, kind="stable")[:, :k]
    chosen = np.zeros(relevances.shape)
    np.put_along_axis(chosen, best, 1, axis=1)
    chosen[relevances <= 0] = 0
    return np.asarray(chosen @ chosen.T)
