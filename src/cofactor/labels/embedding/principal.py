"""Principal directions of labels, from products with the shorter side of their table."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import sparse

from cofactor.labels.embedding.code import label_means, scatter, top_eigenvectors
from cofactor.passes import batches

LARGEST = 3000  #: rows of the largest matrix of which all eigenvectors are computed: some 10 s
_STEPS = 4  #: of subspace iteration
_MORE = 20  #: directions beyond d, which make those up to d more exact
_DOUBLE = 1 << 24  #: numbers up to which they are in double precision, of directions found by subspace iteration
_NULL = {np.float64: 1e-10, np.float32: 1e-5}  #: share of the largest eigenvalue up to which another counts as 0
_BLOCK = 128  #: directions at a time


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
    nearly, at most half as many as there are instances or labels; more than 16 million numbers in single precision.

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
    if n <= LARGEST:
        centred = _Centred(Y, weights)
        values, left = top_eigenvectors(centred.gram(), min(d, n))
    else:
        d = min(d, min(n, L) // 2)
        centred = _Centred(Y, weights, np.float32 if L * d > _DOUBLE else np.float64)
        values, left = _top_by_subspace(centred, d)
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
    200.0
    """
    side = L if L <= LARGEST else n
    if side <= LARGEST:
        return 8 * (3 * side * side + L * min(d, side))
    d = min(d, min(n, L) // 2)
    return (4 if L * d > _DOUBLE else 8) * (3 * n + L) * d


class _Centred:
    """Products with centred labels whose rows are multiplied by √w, without forming them."""

    def __init__(
        self, Y: sparse.csr_array, weights: NDArray[np.float64] | None, dtype: type[np.floating[Any]] = np.float64
    ) -> None:
        self.Y, self.dtype = Y.astype(dtype), dtype
        self.mean = label_means(Y, weights).astype(dtype)
        self.root = np.ones(Y.shape[0], dtype) if weights is None else np.sqrt(weights).astype(dtype)

    def times(self, V: NDArray[Any]) -> NDArray[Any]:
        out = np.asarray(self.Y @ V)
        out -= self.mean @ V
        out *= self.root[:, None]
        return out

    def transposed(self, U: NDArray[Any]) -> NDArray[Any]:
        out = np.empty((self.Y.shape[1], U.shape[1]), self.dtype)
        for some in batches(U.shape[1], _BLOCK):
            scaled = self.root[:, None] * U[:, some]
            out[:, some] = self.Y.T @ scaled
            out[:, some] -= np.outer(self.mean, scaled.sum(axis=0))
        return out

    def forth_and_back(self, U: NDArray[Any]) -> NDArray[Any]:
        """Return AAᵀU, of which AᵀU is never whole in memory."""
        out = np.empty_like(U)
        for some in batches(U.shape[1], _BLOCK):
            out[:, some] = self.times(self.transposed(U[:, some]))
        return out

    def gram(self) -> NDArray[np.float64]:
        """Return the inner products of its rows."""
        shift = self.Y @ self.mean
        products = (self.Y @ self.Y.T).toarray() - shift[:, None] - shift + self.mean @ self.mean
        return self.root[:, None] * products * self.root


def _top_by_subspace(A: _Centred, d: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return about the d largest eigenvalues of AAᵀ, the largest first, and their eigenvectors."""
    n = len(A.root)
    Q: NDArray[Any] = np.random.default_rng(0).standard_normal((n, min(d + _MORE, n)), A.dtype)
    for _ in range(_STEPS):
        Q = _orthonormal(A.forth_and_back(Q))
    inner = (Q.T @ A.forth_and_back(Q)).astype(np.float64)
    values, turn = top_eigenvectors((inner + inner.T) / 2, d)
    return values.astype(A.dtype), Q @ turn.astype(A.dtype)


def _orthonormal(Z: NDArray[Any]) -> NDArray[Any]:
    """Return an orthonormal basis of the columns, by Cholesky factors where they will do: a third of the time."""
    try:
        R = np.linalg.cholesky((Z.T @ Z).astype(np.float64))
    except np.linalg.LinAlgError:
        R = np.zeros((1, 1))
    sizes = R.diagonal()
    if sizes.min() <= np.finfo(Z.dtype).eps ** 0.4 * sizes.max():  # cond(Z)² would be lost in rounding
        return np.asarray(scipy.linalg.qr(Z, mode="economic", overwrite_a=True, check_finite=False)[0])
    R = R.astype(Z.dtype)
    return np.asarray(scipy.linalg.solve_triangular(R, Z.T, lower=True, overwrite_b=True, check_finite=False).T)


def _turned(V: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return right singular vectors from those times singular values, without those that count as 0, with signs."""
    kept = values > _NULL[V.dtype.type] * values.max(initial=0.0)
    if not kept.all():
        V = V[:, kept]
    for some in batches(V.shape[1], _BLOCK):
        part = V[:, some]
        part /= np.sqrt(values[kept][some])
        largest = np.argmax(np.abs(part).round(9), axis=0)
        part *= np.sign(part[largest, np.arange(part.shape[1])])
    return V
