"""Principal directions of labels, from products with the shorter side of their table."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.embedding.code import label_means, scatter, top_eigenvectors

__all__ = ["LARGEST", "principal_bytes", "principal_directions", "right_singular_vectors"]

LARGEST = 3000  #: rows of the largest matrix of which all eigenvectors are computed: some 10 s
_STEPS = 4  #: of subspace iteration
_MORE = 20  #: directions beyond d, which make those up to d more exact
_NULL = 1e-10  #: an eigenvalue which is this share of the largest one, or less, counts as 0


def principal_directions(
    Y: sparse.csr_array, d: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    r"""Return the first d right singular vectors of the centred labels, with rows weighted by √w.

    Parameters
    ----------
    Y : csr_array of shape (n, L)
    d : int
        Fewer are returned if the centred labels have a lower rank.
    weights : ndarray of shape (n,), optional
        Weights w of the instances.

    Returns
    -------
    ndarray of shape (L, d')
        Orthonormal; the component of each with the largest absolute value is positive.

    Notes
    -----
    With at most 3,000 labels they are eigenvectors of :math:`Y_c^T Y_c`; otherwise, with at most 3,000 instances, they
    follow from those of :math:`Y_c Y_c^T`. Beyond both, subspace iteration on products with the sparse Y finds them
    nearly, at most half as many as there are instances or labels.

    References
    ----------
    N. Halko, P. G. Martinsson & J. A. Tropp, "Finding structure with randomness", SIAM Review 53, 2011.

    Examples
    --------
    >>> Y = sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> principal_directions(Y, 2).round(3)
    array([[ 0.577],
           [ 0.577],
           [-0.577]])
    """
    n, L = Y.shape
    if L <= LARGEST:
        return top_eigenvectors(scatter(Y, weights), d)[1]
    centred = _Centred(Y, weights)
    if n <= LARGEST:
        values, left = top_eigenvectors(centred.gram(), min(d, n))
    else:
        values, left = _top_by_subspace(centred, min(d, min(n, L) // 2))
    return _turned(centred.transposed(left), values)


def right_singular_vectors(A: NDArray[np.float64], d: int) -> NDArray[np.float64]:
    """Return the first d right singular vectors of a dense A, or as many as its rank, from its smaller Gram matrix.

    Examples
    --------
    >>> right_singular_vectors(np.array([[3.0, 0.0, 4.0], [0.0, 1.0, 0.0]]), 1).round(3) + 0.0
    array([[0.6],
           [0. ],
           [0.8]])
    """
    r, L = A.shape
    if r >= L:
        return top_eigenvectors(A.T @ A, min(d, L))[1]
    values, left = top_eigenvectors(A @ A.T, min(d, r))
    return _turned(A.T @ left, values)


def principal_bytes(n: int, L: int, d: int) -> int:
    """Return how many bytes `principal_directions` takes at least.

    Examples
    --------
    >>> principal_bytes(10_000, 20_000, 1_000) / 1e6
    400.0
    """
    side = L if L <= LARGEST else n
    if side <= LARGEST:
        return 8 * (3 * side * side + L * min(d, side))
    return 8 * (3 * n + L) * min(d, min(n, L) // 2)


class _Centred:
    """Products with centred labels whose rows are multiplied by √w, without forming them."""

    def __init__(self, Y: sparse.csr_array, weights: NDArray[np.float64] | None) -> None:
        self.Y = Y.astype(np.float64)
        self.mean = label_means(Y, weights)
        self.root = np.ones(Y.shape[0]) if weights is None else np.sqrt(weights)

    def times(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.root[:, None] * (self.Y @ V - self.mean @ V)

    def transposed(self, U: NDArray[np.float64]) -> NDArray[np.float64]:
        scaled = self.root[:, None] * U
        return np.asarray(self.Y.T @ scaled) - np.outer(self.mean, scaled.sum(axis=0))

    def gram(self) -> NDArray[np.float64]:
        """Return the inner products of its rows."""
        shift = self.Y @ self.mean
        products = (self.Y @ self.Y.T).toarray() - shift[:, None] - shift + self.mean @ self.mean
        return self.root[:, None] * products * self.root


def _top_by_subspace(A: _Centred, d: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return about the d largest eigenvalues of AAᵀ, the largest first, and their eigenvectors."""
    n = len(A.root)
    Q: NDArray[Any] = np.random.default_rng(0).normal(size=(n, min(d + _MORE, n)))
    for _ in range(_STEPS):
        Q = scipy.linalg.qr(A.times(A.transposed(Q)), mode="economic", overwrite_a=True, check_finite=False)[0]
    inner = A.transposed(Q)
    values, turn = top_eigenvectors(inner.T @ inner, d)
    return values, Q @ turn


def _turned(V: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return right singular vectors from those times singular values, without those that count as 0, with signs."""
    kept = values > _NULL * values.max(initial=0.0)
    V = V[:, kept] / np.sqrt(values[kept])
    largest = np.argmax(np.abs(V).round(9), axis=0)
    return np.asarray(V * np.sign(V[largest, np.arange(V.shape[1])]))
