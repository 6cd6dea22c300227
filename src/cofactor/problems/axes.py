"""Tables along their principal axes, which ridge penalties do not see."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from cofactor.kernels.threads import library_limit
from cofactor.passes import InPasses, added, together

Floats = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_SMALL = 1e-4  #: columns of a smaller share of the largest one's length lose digits in XᵀX


class Turned(NamedTuple):
    """A table along its principal axes: there the second derivatives of losses of its rows are nearly diagonal.

    Parameters
    ----------
    table : ndarray of shape (n, r), float32 or float64
        Orthogonal columns; nearly so where some columns of X are far smaller than others.
    squares : ndarray of shape (r,)
        Their squared lengths.
    axes : ndarray of shape (D, r)
    turn : ndarray of shape (D, r), optional
        For a table that is seen in passes, which is not turned itself, (n, D): coefficients are, by these axes.
    """

    table: Any
    squares: Floats
    axes: Floats
    turn: Floats | None = None

    def of_columns(self, theta: Floats) -> Floats:
        """Return coefficients of the columns of the table, a row for each problem, of those of the axes."""
        return theta if self.turn is None else theta @ self.turn.T

    def of_axes(self, gradient: Floats) -> Floats:
        """Return derivatives along the axes, a row for each problem, of those for the columns of the table."""
        return gradient if self.turn is None else gradient @ self.turn


def turned_in_passes(X: InPasses, dtype: Any = np.float64) -> Turned:
    """Return a dense table that is seen in passes, with the axes along which coefficients are turned in its place.

    Parameters
    ----------
    X : InPasses of shape (n, D)
        Its parts are dense, in double precision.
    dtype : dtype, default=float64
        Of the table.
    """
    gram: Any = None
    for (part,) in together(X):
        gram = added(gram, part.T @ part)
    values, vectors = linalg.eigh(gram, overwrite_a=True)
    kept = values > values[-1] * max(X.shape) * _EPS
    return Turned(X.astype(dtype), values[kept], vectors[:, kept], vectors[:, kept])


def turned(X: Floats, sizes: Floats, dtype: Any = np.float64) -> Turned:
    """Return a dense table along its principal axes: at most n or D of them, whichever is less.

    Parameters
    ----------
    X : ndarray of shape (n, D), float64
    sizes : ndarray of shape (D,)
        Lengths of its columns before they were centred, or else as they are: what their rounding errors go by.
    dtype : dtype, default=float64
        Of the table.

    Examples
    --------
    >>> turned(np.array([[1.0, 1.0], [2.0, 2.0]]), np.ones(2)).squares.round(3)
    array([10.])
    """
    n, D = X.shape
    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        lengths = np.linalg.norm(X, axis=0)
        if lengths.min(initial=np.inf, where=lengths > 0) < _SMALL * lengths.max(initial=0):
            table, axes = _graded(X, sizes)
            return Turned(np.ascontiguousarray(table, dtype=dtype), np.einsum("ij,ij->j", table, table), axes)
        values, vectors = linalg.eigh(X.T @ X if n >= D else X @ X.T)
        kept = values > values[-1] * max(n, D) * _EPS
        values, vectors = values[kept], vectors[:, kept]
        axes = vectors if n >= D else X.T @ (vectors / np.sqrt(values))
        table = X @ vectors if n >= D else vectors * np.sqrt(values)
    return Turned(np.ascontiguousarray(table, dtype=dtype), values, axes)


def _graded(table: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return a table along nearly its principal axes, and these: the digits of small columns are kept.

    In XᵀX, and in an SVD, they would be lost by the rounding of large ones. Pivoted QR errs in each column of X by a
    share of that column alone, and the LQ of its R in each row: together they are Stewart's QLP decomposition (SIAM
    Journal on Scientific Computing 20, 1999). What rounding leaves of a column in the span of others counts as 0.
    """
    Q, R, order = linalg.qr(table, mode="economic", pivoting=True)
    R[np.abs(R) <= 4 * np.sqrt(len(table)) * _EPS * sizes[order]] = 0
    kept = R.any(axis=1)
    axes, L = linalg.qr(R[kept].T, mode="economic")
    return Q[:, kept] @ L.T, np.asarray(axes[np.argsort(order)], dtype=np.float64)
