"""Principal axes of the rows of matrices, and rotations onto them; the same to the bit for any number of threads."""

from collections.abc import Sequence

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel
from cofactor.kernels.rows import add_outer
from cofactor.kernels.threads import parallel_for

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
