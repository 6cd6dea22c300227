"""Leading singular vectors of a sparse matrix plus one of low rank, and of what is only multiplied by.

The latter by block Lanczos with full orthogonalization.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels import observed
from cofactor.kernels.axes import add_products, cross_products, eigenvectors, gram, rotate
from cofactor.kernels.lanes import pad_to_lanes
from cofactor.kernels.threads import cut_rows, library_limit, parallel_for
from cofactor.problems.base import PenalizedProblem
from cofactor.problems.observed import Entries

_ENTRIES_PER_BLOCK = 25_000
_ROUNDING = 1e-12  # share of ‖A‖²: a smaller J is rounding
_OVERSAMPLED = 16  # vectors more than asked for, and steps of subspace iteration: as good as exact for interactions
_STEPS = 5
_ROWS = 512  # of a product that a thread computes
_LEAST_SHARE = 1e-14  # share of the largest eigenvalue of a Gram matrix: a direction with less is noise


class PatchedMatrix:
    """A matrix A = S + L Rᵀ, S sparse and L, R narrow, which is never formed: it only gives products.

    Parameters
    ----------
    entries : Entries
        Where S has entries; n rows, m columns.
    values : ndarray of shape (n_entries,)
        S in row order.
    left, right : ndarray of shape (n, r) and (m, r)
        L and R; r may be 0.
    dtype : dtype, default=float64
        Of S and of products.
    """

    def __init__(
        self, entries: Entries, values: np.ndarray, left: np.ndarray, right: np.ndarray, dtype: Any = np.float64
    ) -> None:
        e = self._entries = entries
        values = np.asarray(values, dtype=dtype)
        self.shape = e.shape
        self._rows = (cut_rows(e.indptr, _ENTRIES_PER_BLOCK), e.indptr, e.indices, values, left)
        self._right = right
        patches = np.einsum("kr,kr->k", left[np.repeat(np.arange(e.shape[0]), np.diff(e.indptr))], right[e.indices])
        both = np.sum(cross_products(left, left) * cross_products(right, right))
        #: ‖A‖².
        self.norm = float(np.sum(values * values) + 2 * np.sum(values * patches) + both)

    @cached_property
    def _columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        e, values = self._entries, self._rows[-2]
        return cut_rows(e.col_indptr, _ENTRIES_PER_BLOCK), e.col_indptr, e.col_indices, values[e.to_csr]

    def times(self, V: np.ndarray) -> np.ndarray:
        """Return A V."""
        return _product(*self._rows, self._right, V)

    def transposed_times(self, U: np.ndarray) -> np.ndarray:
        """Return Aᵀ U."""
        return _product(*self._columns, self._right, self._rows[-1], U)

    def squared_times(self, V: np.ndarray) -> np.ndarray:
        """Return AᵀA V."""
        return self.transposed_times(self.times(V))


def leading_vectors(
    squared_times: Callable[[np.ndarray], np.ndarray], shape: tuple[int, int], n_vectors: int, dtype: Any = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    """Return right singular vectors as columns, and squares of singular values, the largest first, nearly exact.

    Steps of subspace iteration from a start that is always the same. Vectors are zero where A lacks the rank.

    Parameters
    ----------
    squared_times : callable
        Gives AᵀA V for V of shape (m, k).
    shape : tuple of int
        (n, m) of A.
    n_vectors : int
        How many; never more than n or m.
    dtype : dtype, default=float64
        Of V.

    Examples
    --------
    >>> from scipy import sparse
    >>> from cofactor.ratings import Ratings
    >>> entries = Ratings.from_sparse(sparse.csr_array(np.diag([3, 2, 1])))
    >>> matrix = PatchedMatrix(entries, [3, 2, 1], np.zeros((3, 0)), np.zeros((3, 0)))
    >>> V, squares = leading_vectors(matrix.squared_times, matrix.shape, 2)
    >>> squares.round(6).tolist(), np.abs(V).round(6).tolist()
    ([9.0, 4.0], [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    """
    n, m = shape
    k = min(n_vectors, n, m)
    Q = np.random.default_rng(0).standard_normal((m, min(k + _OVERSAMPLED, n, m)), dtype=dtype)
    for _ in range(_STEPS):
        Q = _basis(squared_times(Q))
    small = (Q.T @ squared_times(Q)).astype(np.float64)
    squares, axes = np.linalg.eigh((small + small.T) / 2)
    return (Q @ axes.astype(dtype))[:, ::-1][:, :k], np.maximum(squares[::-1][:k], 0)


def _basis(B: np.ndarray) -> np.ndarray:
    """Return a basis of the columns of B, orthonormal but for rounding; columns of zeros where B lacks rank."""
    square = gram((B,))
    squares, axes = np.linalg.eigh(square)  # reads the lower triangle
    kept = squares > _LEAST_SHARE * squares[-1]
    axes = (axes * np.where(kept, 1 / np.sqrt(np.where(kept, squares, 1)), 0)).astype(B.dtype)
    out = np.empty_like(B)

    def rows(k: int) -> None:
        np.matmul(B[k * _ROWS : (k + 1) * _ROWS], axes, out=out[k * _ROWS : (k + 1) * _ROWS])

    parallel_for(rows, -(-len(B) // _ROWS))
    return out


def _product(
    cuts: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    B: np.ndarray,
) -> np.ndarray:
    """Return (S + L Rᵀ) B; each block of rows is the work of one thread."""
    table = pad_to_lanes(np.asarray(B, values.dtype))
    out = np.empty((len(indptr) - 1, B.shape[1]), values.dtype)
    small = cross_products(right, B)

    def block(k: int) -> None:
        observed.accumulate(cuts[k], cuts[k + 1], indptr, indices, observed.IN_PLACE, values, values, table, out)
        add_products(cuts[k], cuts[k + 1], left, small, out)

    parallel_for(block, len(cuts) - 1)
    return out


class SingularProblem(PenalizedProblem):
    r"""Objective of a truncated singular value decomposition: the part of A that k right vectors do not explain.

    .. math:: J(V) = \|A\|_F^2 - \sum_{r=1}^{k} \sigma_r(A V)^2, \qquad V^\top V = I

    V has more than k columns, so that the first k converge faster. `update` is a step of subspace iteration,
    V ← orth(AᵀA V), which never raises J (Halko, Martinsson & Tropp 2011, section 4.5).

    Parameters
    ----------
    matrix : PatchedMatrix
        A, of shape (n, m).
    n_factors : int
        k.
    n_vectors : int
        Number of columns of V, at least k and at most n and m.
    """

    def __init__(self, matrix: PatchedMatrix, n_factors: int, n_vectors: int) -> None:
        super().__init__({"V": (matrix.shape[1], n_vectors)}, {}, True, np.float64)
        self.matrix, self.n_factors = matrix, n_factors
        self._at = np.full((matrix.shape[1], n_vectors), np.nan)  # where the products below were taken
        self._pulled = np.empty_like(self._at)
        self._values = np.empty(n_vectors)

    def update(self, x: np.ndarray) -> None:
        """Replace V by an orthonormal basis of AᵀA V, in place."""
        V = self.layout.views(x)["V"]
        self._evaluate(V)
        V[...] = orthonormal(self._pulled)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient -2 AᵀA V, for all columns of V."""
        V = self.layout.views(x)["V"]
        self._evaluate(V)
        self.layout.views(gradient)["V"][...] = -2 * self._pulled
        left = float(self.matrix.norm - np.sum(self._values[: self.n_factors]))
        return left if left > _ROUNDING * self.matrix.norm else 0.0

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the norm of the gradient's part at right angles to V, for the leading k directions of V."""
        V, slope = self.layout.views(x)["V"].copy(), self.layout.views(gradient)["V"].copy()
        inside = cross_products(V, slope)
        slope -= np.einsum("je,ef->jf", V, inside)
        _, axes = _eigen(-np.tril(inside))
        rotate(slope, axes)
        return float(np.linalg.norm(slope[:, : self.n_factors]))

    def leading(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the k leading singular values that V holds, and their right vectors of shape (m, k)."""
        V = self.layout.views(x)["V"].copy()
        values, axes = _eigen(gram((self.matrix.times(V),)))
        rotate(V, axes)
        k = self.n_factors
        return np.sqrt(np.maximum(values[:k], 0)), np.ascontiguousarray(V[:, :k])

    def _evaluate(self, V: np.ndarray) -> None:
        """Take AᵀA V, and the eigenvalues of (A V)ᵀ(A V), unless they are those of the last call."""
        if not np.array_equal(V, self._at):
            image = self.matrix.times(V)
            self._values, _ = _eigen(gram((image,)))
            self._at, self._pulled = V.copy(), self.matrix.transposed_times(image)


def orthonormal(B: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns of B, longest axes first; columns of zeros where B lacks rank."""
    Q = B.copy()
    for _ in range(2):  # once more against the loss of digits by the Gram matrix
        values, axes = _eigen(gram((Q,)))
        rotate(Q, axes)
        kept = values > _LEAST_SHARE * values[0]
        Q *= np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)
    return Q


def _eigen(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues, largest first, and eigenvectors (columns) of the matrix whose lower triangle is given."""
    values, vectors = np.empty(len(A)), np.empty_like(A)
    eigenvectors(A + np.tril(A, -1).T, values, vectors)
    return values, np.ascontiguousarray(vectors.T)


Array = NDArray[np.float64]

#: What products in single precision add to Bᵀ B q, in units of the first singular value's square, at most.
_NOISE = 1e-6

#: Columns of the passes besides those that are wanted.
_MORE = 10

#: Vectors q are found when no Bᵀ B q is farther from a multiple of q than this, in units of the first singular value's
#: square. Of MovieLens 100K and 1M, 20 to 96 vectors are found in 6 passes: singular values then differ from those in
#: memory by .3 % at most.
_TOL = 1e-3

#: Passes, at most.
_PASSES = 12

#: Blocks of rows, each the work of one thread: a fixed number, so that sums over them have the same bits on all.
_BLOCKS = 16


def leading_by_passes(multiply: Callable[[Array], NDArray[Any]], m: int, k: int) -> tuple[Array, Array]:
    """Return the k largest singular values of B and their right singular vectors, or as many as are not rounding.

    Each pass multiplies a block of vectors by Bᵀ B; the next block is what it brings that is new. Values and vectors
    are the best that all blocks together have, and so B Q has orthogonal columns, however near to singular vectors
    they are. What Bᵀ B q has beyond a multiple of q lies in the next block, which tells its length for nothing.

    Parameters
    ----------
    multiply : callable
        Returns Bᵀ B W, (m, b), for W; of any precision, `_TOL` asks for little.
    m, k : int

    Returns
    -------
    S, Q : ndarray of shape (k,), (m, k)

    References
    ----------
    C. Musco and C. Musco, "Randomized block Krylov methods for stronger and faster approximate singular value
    decomposition", NIPS 2015.

    Examples
    --------
    >>> B = np.diag([3.0, 2.0, 1.0])
    >>> S, Q = leading_by_passes(lambda W: B.T @ B @ W, 3, 2)
    >>> S.round(6).tolist(), abs(Q).round(6).T.tolist()
    ([3.0, 2.0], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    """
    k = min(k, m)
    b = min(m, k + _MORE)
    basis, H = np.empty((m, min(m, _PASSES * b))), np.zeros((_PASSES * b, _PASSES * b))
    j = 0
    with library_limit(1, "blas"):
        W, _ = _factorize(np.random.default_rng(0).normal(size=(m, b)))
        while W.shape[1]:
            new = slice(j, j + W.shape[1])
            basis[:, new], j = W, new.stop
            rest = np.array(multiply(W), np.float64)
            C = _take_out(basis[:, :j], rest)
            C += _take_out(basis[:, :j], rest)  # once leaves what is rounding of the first time
            H[:j, new], H[new, :j] = C, C.T
            values, turn = np.linalg.eigh((H[:j, :j] + H[:j, :j].T) / 2)
            values, turn = values[::-1][:k].clip(0), turn[:, ::-1][:, :k]
            W, R = _factorize(rest)
            if (np.linalg.norm(R @ turn[new], axis=0) <= _TOL * values[0]).all():
                break
            turned, sizes, _ = np.linalg.svd(R)  # rounding, where the rank is low, is not orthogonal
            W = _tall_product(W, turned[:, sizes > _NOISE * values[0]][:, : basis.shape[1] - j])
        Q = _tall_product(basis[:, :j], turn)
    S = np.sqrt(values)
    real = values > _NOISE * values[0]
    signs = np.sign(Q[np.abs(Q).argmax(axis=0), np.arange(k)])  # free: largest entry positive, as in memory
    return S[real], np.ascontiguousarray((Q * signs)[:, real])


def _take_out(basis: Array, rest: Array) -> Array:
    """Take from `rest`, in place, what lies in the span of an orthonormal basis; return its coefficients."""
    cuts = _cuts(len(basis))
    parts: list[Array] = [basis[:0].T @ rest[:0]] * _BLOCKS

    def project(k: int) -> None:
        parts[k] = basis[cuts[k] : cuts[k + 1]].T @ rest[cuts[k] : cuts[k + 1]]

    def subtract(k: int) -> None:
        rest[cuts[k] : cuts[k + 1]] -= basis[cuts[k] : cuts[k + 1]] @ C

    parallel_for(project, _BLOCKS)
    C = np.sum(parts, axis=0)
    parallel_for(subtract, _BLOCKS)
    return C


def _factorize(A: Array) -> tuple[Array, Array]:
    """Return Q, R of the decomposition of a tall matrix: of blocks of rows, then of what is left of all of them."""
    cuts = _cuts(len(A))
    found: list[tuple[Array, Array]] = [(A[:0], A[:0])] * _BLOCKS

    def factorize(k: int) -> None:
        found[k] = np.linalg.qr(A[cuts[k] : cuts[k + 1]])

    parallel_for(factorize, _BLOCKS)
    rows = np.cumsum([0, *(len(R) for _, R in found)])
    turn, R = np.linalg.qr(np.vstack([R for _, R in found]))
    Q = np.empty((len(A), turn.shape[1]))

    def multiply(k: int) -> None:
        np.matmul(found[k][0], turn[rows[k] : rows[k + 1]], out=Q[cuts[k] : cuts[k + 1]])

    parallel_for(multiply, _BLOCKS)
    return Q, R


def _tall_product(A: Array, B: Array) -> Array:
    out, cuts = np.empty((len(A), B.shape[1])), _cuts(len(A))

    def block(k: int) -> None:
        np.matmul(A[cuts[k] : cuts[k + 1]], B, out=out[cuts[k] : cuts[k + 1]])

    parallel_for(block, _BLOCKS)
    return out


def _cuts(n: int) -> list[int]:
    return [n * k // _BLOCKS for k in range(_BLOCKS + 1)]
