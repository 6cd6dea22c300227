"""Logistic regressions of many labels on the same features, as problems that are solved together."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from cofactor.kernels.threads import library_limit

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_EPS = float(np.finfo(np.float64).eps)
_SMALL = 1e-4  #: features of a smaller share of the largest one's length lose digits in XᵀX


class Rotated(NamedTuple):
    """Centred features in the directions of their principal axes, which ridge penalties do not see.

    There the second derivatives of logistic losses are nearly diagonal.

    Parameters
    ----------
    table : ndarray of shape (n, r), float32 or float64
        Orthogonal columns; nearly so where some features are far smaller than others.
    squares : ndarray of shape (r,)
        Their squared lengths.
    axes : ndarray of shape (D, r)
    mean : ndarray of shape (D,)
        Of the features.
    """

    table: NDArray[Any]
    squares: Floats
    axes: Floats
    mean: Floats

    def scores(self, theta: Floats) -> Floats:
        """Return scores of instances, (n, B), by rows of coefficients whose last one is the intercept, (B, r + 1)."""
        return np.asarray(self.table @ theta[:, :-1].T.astype(self.table.dtype) + theta[:, -1])

    def back(self, table: Floats) -> Floats:
        """Return the transpose of `scores`, (B, r + 1), of a table (n, B)."""
        slopes = table.T.astype(self.table.dtype) @ self.table
        return np.hstack([slopes, table.sum(axis=0)[:, None]])

    def unrotated(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return coefficients of the features, (D, B), and intercepts, (B,), of those of the axes."""
        coef = self.axes @ theta[:, :-1].T
        return coef, theta[:, -1] - self.mean @ coef


def rotated(X: NDArray[Any], dtype: Any = np.float64) -> Rotated:
    """Return a dense table of features in their principal axes: at most n or D of them, whichever is less.

    Examples
    --------
    >>> found = rotated(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> found.table.shape, found.squares.round(3)
    ((3, 1), array([4.]))
    """
    n, D = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        table = X - mean
        lengths = np.linalg.norm(table, axis=0)
        if lengths.min(initial=np.inf, where=lengths > 0) < _SMALL * lengths.max(initial=0):
            table, axes = _graded(table, np.linalg.norm(X, axis=0))
            return Rotated(np.ascontiguousarray(table, dtype=dtype), np.einsum("ij,ij->j", table, table), axes, mean)
        values, vectors = linalg.eigh(table.T @ table if n >= D else table @ table.T)
        kept = values > values[-1] * max(n, D) * _EPS
        values, vectors = values[kept], vectors[:, kept]
        axes = vectors if n >= D else table.T @ (vectors / np.sqrt(values))
        table = table @ vectors if n >= D else vectors * np.sqrt(values)
    return Rotated(np.ascontiguousarray(table, dtype=dtype), values, axes, mean)


def _graded(table: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return centred features along nearly their principal axes, and these: the digits of small features are kept.

    In XᵀX, and in an SVD, they would be lost by the rounding of large ones. Pivoted QR errs in each column of X by a
    share of that column alone, and the LQ of its R in each row: together they are Stewart's QLP decomposition (SIAM
    Journal on Scientific Computing 20, 1999). What rounding leaves of a column in the span of others counts as 0.

    Parameters
    ----------
    table : ndarray of shape (n, D)
    sizes : ndarray of shape (D,)
        Lengths of the features before they were centred.
    """
    Q, R, order = linalg.qr(table, mode="economic", pivoting=True)
    R[np.abs(R) <= 4 * np.sqrt(len(table)) * _EPS * sizes[order]] = 0
    kept = R.any(axis=1)
    axes, L = linalg.qr(R[kept].T, mode="economic")
    return Q[:, kept] @ L.T, np.asarray(axes[np.argsort(order)], dtype=np.float64)


class LogisticProblems:
    r"""Logistic regressions of B labels, as `lbfgs_each` takes them.

    .. math:: \min_{w, c} \sum_i \omega_i \left(\log(1 + e^{s_i}) - y_i s_i\right) + \tfrac{\alpha}{2} \|w\|^2,
        \qquad s_i = x_i \cdot w + c

    Parameters
    ----------
    X : Rotated
    Y : ndarray of shape (n, B), float64
        0 and 1; each label varies.
    alpha : float
        Above 0.
    weights : ndarray of shape (n,), optional
        ω; 1 by default.
    """

    def __init__(self, X: Rotated, Y: Floats, alpha: float, weights: Floats | None = None) -> None:
        self.X, self.Y, self.alpha = X, Y, alpha
        self.weights = None if weights is None else weights[:, None]
        total = float(len(Y)) if weights is None else float(weights.sum())
        self._share = (Y.sum(axis=0) if weights is None else weights @ Y) / total
        varying = self._share * (1 - self._share)
        slopes = varying[:, None] * X.squares * (total / len(Y)) + alpha
        self._curvature = np.hstack([slopes, total * varying[:, None]])

    def start(self) -> Floats:
        """Return the intercepts that are best without features, shape (B, r + 1)."""
        theta = np.zeros(self._curvature.shape)
        theta[:, -1] = np.log(self._share / (1 - self._share))
        return theta

    def evaluate(self, theta: Floats, which: Places) -> tuple[Floats, Floats]:
        """Return objectives and gradients of some labels; see `ManyProblems`."""
        Y = self.Y if len(which) == self.Y.shape[1] else self.Y[:, which]
        scores = self.X.scores(theta)
        off = np.exp(-np.abs(scores))
        losses = np.maximum(scores, 0) + np.log1p(off) - Y * scores
        slopes = np.where(scores >= 0, 1, off) / (1 + off) - Y
        if self.weights is not None:
            losses, slopes = self.weights * losses, self.weights * slopes
        gradient = self.X.back(slopes)
        gradient[:, :-1] += self.alpha * theta[:, :-1]
        penalties = np.einsum("bp,bp->b", theta[:, :-1], theta[:, :-1])
        return losses.sum(axis=0) + self.alpha / 2 * penalties, gradient

    def scaled(self, gradient: Floats, which: Places) -> Floats:
        """Return gradients divided by the curvatures at the start, as if all instances had the same."""
        return np.asarray(gradient / self._curvature[which])
