"""Principal axes of the rows of matrices, and rotations onto them; the same to the bit for any number of threads.

The eigenproblems are small and symmetric; they and the products of tall matrices sum in a fixed order.
"""

from collections.abc import Sequence

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import kernel
from cofactor.kernels.ridge import add_outer
from cofactor.kernels.threads import parallel_for


@kernel
def cross_products(A, B):  # type: ignore[no-untyped-def]
    """Return AᵀB for two matrices of as many rows, float64."""
    out = zeros((A.shape[1], B.shape[1]))
    for i in range(len(A)):
        b = B[i]
        for e in range(A.shape[1]):
            a = A[i, e]
            row = out[e]
            for f in range(len(b)):
                row[f] += a * b[f]
    return out


@kernel
def add_products(lo, hi, A, B, out):  # type: ignore[no-untyped-def]
    """Add A B to rows lo..hi of `out`, A being narrow."""
    for i in range(lo, hi):
        o = out[i]
        for e in range(A.shape[1]):
            a = A[i, e]
            row = B[e]
            for f in range(len(o)):
                o[f] += a * row[f]


@kernel
def eigenvectors(A, values, vectors):  # type: ignore[no-untyped-def]
    """Write the eigenvalues of a symmetric matrix, largest first, and its eigenvectors as rows; A is destroyed.

    Cyclic Jacobi rotations (Golub & Van Loan 2013, section 8.5), until none of the other entries counts against the
    two diagonal ones beside it.
    """
    d = len(A)
    work = np.eye(d)
    tiny = np.finfo(A.dtype).tiny
    for _ in range(60):
        rotated = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                off = A[p, q]
                if abs(off) <= 1e-16 * np.sqrt(abs(A[p, p])) * np.sqrt(abs(A[q, q])) or abs(off) <= tiny:
                    continue
                rotated = True
                half = 0.5 * (A[q, q] - A[p, p]) / off
                t = 1 / (abs(half) + np.sqrt(1 + half * half))
                if half < 0:
                    t = -t
                c = 1 / np.sqrt(1 + t * t)
                s = t * c
                for k in range(d):
                    a = A[k, p]
                    b = A[k, q]
                    A[k, p] = c * a - s * b
                    A[k, q] = s * a + c * b
                row_p = A[p]
                row_q = A[q]
                own_p = work[p]
                own_q = work[q]
                for k in range(d):
                    a = row_p[k]
                    b = row_q[k]
                    row_p[k] = c * a - s * b
                    row_q[k] = s * a + c * b
                    a = own_p[k]
                    b = own_q[k]
                    own_p[k] = c * a - s * b
                    own_q[k] = s * a + c * b
                A[p, q] = 0
                A[q, p] = 0
        if not rotated:
            break
    used = zeros(d, np.bool_)
    for r in range(d):
        best = -1
        for p in range(d):
            if not used[p] and (best < 0 or A[p, p] > A[best, best]):
                best = p
        used[best] = True
        values[r] = A[best, best]
        for k in range(d):
            vectors[r, k] = work[best, k]


_ROWS = 512  #: rows in a block
_MOST_BLOCKS = 64  #: each block has a Gram matrix of its own
_FLAT = 0.01  #: directions below this share of the trace are not told apart


def principal_axes(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Return an orthogonal Q of shape (d, d) which nearly diagonalizes Σ AᵀA, the longest axes first.

    Q are the axes after four steps of orthogonal iteration (Golub & Van Loan 2013, section 8.2.4). Axes of nearly
    equal length stay mixed; for scaling each axis by its length they need not be told apart.

    Parameters
    ----------
    matrices : sequence of ndarray of shape (n, d)
        The matrices A.

    Returns
    -------
    ndarray of shape (d, d), float64
    """
    return axes_of(gram(matrices))


def axes_of(square: np.ndarray) -> np.ndarray:
    """Return the Q of `principal_axes`, given what `gram` returns."""
    square = square.copy()
    total = float(np.trace(square))
    if not total > 0:
        return np.eye(len(square))
    square += np.tril(square, -1).T
    order = np.argsort(-np.diag(square), kind="stable")
    found, axes = np.empty_like(square), np.empty_like(square)
    _axes(square[np.ix_(order, order)] / total + _FLAT * np.eye(len(square)), found)
    axes[order] = found.T
    return axes


def gram(matrices: Sequence[np.ndarray]) -> np.ndarray:
    """Return the lower triangle of Σ AᵀA, float64; entries above it are not to be read."""
    return np.asarray(np.add.reduce([_gram(A) for A in matrices], axis=0))


def rotate(A: np.ndarray, axes: np.ndarray) -> None:
    """Replace the rows of A by A @ axes, in place."""
    axes = axes.astype(A.dtype)
    parallel_for(lambda k: _rotate(A[k * _ROWS : (k + 1) * _ROWS], axes), -(-len(A) // _ROWS))


def _gram(A: np.ndarray) -> np.ndarray:
    """Return the lower triangle of AᵀA, float64."""
    size = max(_ROWS, -(-len(A) // _MOST_BLOCKS))
    parts = np.zeros((-(-len(A) // size), A.shape[1], A.shape[1]))
    parallel_for(lambda k: add_outer(A[k * size : (k + 1) * size], parts[k]), len(parts))
    return np.add.reduce(parts, axis=0)


@kernel
def _square(A, out):  # type: ignore[no-untyped-def]
    """Write out = A A for a symmetric A."""
    out[:] = 0
    for i in range(len(A)):
        o = out[i]
        for k in range(len(A)):
            a = A[i, k]
            row = A[k]
            for j in range(len(o)):
                o[j] += a * row[j]


@kernel
def _axes(A, out):  # type: ignore[no-untyped-def]
    """Write an orthonormal basis of the rows of A⁴, found one after the other."""
    square = np.empty_like(A)
    _square(A, square)
    _square(square, out)
    for i in range(len(out)):
        row = out[i]
        for _ in range(2):  # twice is enough against cancellation
            for k in range(i):
                other = out[k]
                c = 0.0
                for j in range(len(row)):
                    c += row[j] * other[j]
                for j in range(len(row)):
                    row[j] -= c * other[j]
            row /= np.sqrt(np.sum(row * row))


@kernel
def _rotate(A, axes):  # type: ignore[no-untyped-def]
    moved = empty(A.shape[1], A.dtype)
    for i in range(len(A)):
        row = A[i]
        moved[:] = 0
        for k in range(len(row)):
            a = row[k]
            axis = axes[k]
            for j in range(len(moved)):
                moved[j] += a * axis[j]
        for j in range(len(moved)):
            row[j] = moved[j]
