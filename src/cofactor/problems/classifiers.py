"""Logistic regressions and support vector machines of many labels on the same features, solved together.

Tables lie along their principal axes, which ridge penalties do not see.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from cofactor.chunked import ChunkedTable, MappedTable, accumulate, zip_chunks
from cofactor.kernels.threads import library_limit

Floats = NDArray[np.float64]

_EPS = float(np.finfo(np.float64).eps)
_SMALL = 1e-4  #: columns of a smaller share of the largest one's length lose digits in XᵀX


class RotatedTable(NamedTuple):
    """A table along its principal axes: there the second derivatives of losses of its rows are nearly diagonal.

    Parameters
    ----------
    table : ndarray of shape (n, r), float32 or float64
        Orthogonal columns; nearly so where some columns of X are far smaller than others.
    squares : ndarray of shape (r,)
        Their squared lengths.
    axes : ndarray of shape (D, r)
    rotation : ndarray of shape (D, r), optional
        For a chunked table, which is not rotated itself, (n, D): coefficients are, by these axes.
    """

    table: Any
    squares: Floats
    axes: Floats
    rotation: Floats | None = None

    def of_columns(self, theta: Floats) -> Floats:
        """Return coefficients of the columns of the table, a row for each problem, of those of the axes."""
        return theta if self.rotation is None else theta @ self.rotation.T

    def of_axes(self, gradient: Floats) -> Floats:
        """Return derivatives along the axes, a row for each problem, of those for the columns of the table."""
        return gradient if self.rotation is None else gradient @ self.rotation


def rotate_chunked_table(X: ChunkedTable, dtype: Any = np.float64) -> RotatedTable:
    """Return a dense chunked table, with the axes along which coefficients are rotated in its place.

    Parameters
    ----------
    X : ChunkedTable of shape (n, D)
        Its chunks are dense, in double precision.
    dtype : dtype, default=float64
        Of the table.
    """
    gram: Any = None
    for (chunk,) in zip_chunks(X):
        gram = accumulate(gram, chunk.T @ chunk)
    values, vectors = linalg.eigh(gram, overwrite_a=True)
    kept = values > values[-1] * max(X.shape) * _EPS
    return RotatedTable(X.astype(dtype), values[kept], vectors[:, kept], vectors[:, kept])


def rotate_table(X: Floats, sizes: Floats, dtype: Any = np.float64) -> RotatedTable:
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
    >>> rotate_table(np.array([[1.0, 1.0], [2.0, 2.0]]), np.ones(2)).squares.round(3)
    array([10.])
    """
    n, D = X.shape
    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        lengths = np.linalg.norm(X, axis=0)
        if lengths.min(initial=np.inf, where=lengths > 0) < _SMALL * lengths.max(initial=0):
            table, axes = _graded(X, sizes)
            return RotatedTable(np.ascontiguousarray(table, dtype=dtype), np.einsum("ij,ij->j", table, table), axes)
        values, vectors = linalg.eigh(X.T @ X if n >= D else X @ X.T)
        kept = values > values[-1] * max(n, D) * _EPS
        values, vectors = values[kept], vectors[:, kept]
        axes = vectors if n >= D else X.T @ (vectors / np.sqrt(values))
        table = X @ vectors if n >= D else vectors * np.sqrt(values)
    return RotatedTable(np.ascontiguousarray(table, dtype=dtype), values, axes)


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


Indices = NDArray[np.int64]


class RotatedFeatures(NamedTuple):
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
    rotation : ndarray of shape (D, r), optional
        Of a chunked table, see `RotatedTable`.
    """

    table: Any
    squares: Floats
    axes: Floats
    mean: Floats
    rotation: Floats | None = None

    def parts(self, *others: Any) -> Iterator[tuple[Any, ...]]:
        """Yield some instances at a time, with the same rows of others; all at once where they are in memory."""
        for table, *some in zip_chunks(self.table, *others):
            yield self._replace(table=table), *some

    def scores(self, theta: Floats) -> Floats:
        """Return scores of instances, (n, B), by rows of coefficients whose last one is the intercept, (B, r + 1)."""
        slopes = theta[:, :-1] if self.rotation is None else theta[:, :-1] @ self.rotation.T
        return np.asarray(self.table @ slopes.T.astype(self.table.dtype) + theta[:, -1])

    def back(self, table: Floats) -> Floats:
        """Return the transpose of `scores`, (B, r + 1), of a table (n, B)."""
        slopes = table.T.astype(self.table.dtype) @ self.table
        return np.hstack([slopes if self.rotation is None else slopes @ self.rotation, table.sum(axis=0)[:, None]])

    def unrotated(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return coefficients of the features, (D, B), and intercepts, (B,), of those of the axes."""
        coef = self.axes @ theta[:, :-1].T
        return coef, theta[:, -1] - self.mean @ coef


def rotate_features(X: NDArray[Any], dtype: Any = np.float64) -> RotatedFeatures:
    """Return a dense table of features in their principal axes: at most n or D of them, whichever is less.

    Examples
    --------
    >>> found = rotate_features(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]))
    >>> found.table.shape, found.squares.round(3)
    ((3, 1), array([4.]))
    """
    mean = X.mean(axis=0, dtype=np.float64)
    found = rotate_table(X - mean, np.linalg.norm(X, axis=0), dtype)
    return RotatedFeatures(found.table, found.squares, found.axes, mean)


def rotate_chunked_features(X: ChunkedTable, dtype: Any = np.float64) -> RotatedFeatures:
    """Return a dense chunked table of features; its coefficients are in the principal axes.

    Parameters
    ----------
    X : ChunkedTable of shape (n, D)
        Its chunks are dense, in double precision.
    dtype : dtype, default=float64
        Of the table.
    """
    total: Any = None
    for (chunk,) in zip_chunks(X):
        total = accumulate(total, chunk.sum(axis=0))
    mean = total / X.shape[0]
    found = rotate_chunked_table(X.map(lambda chunk: chunk - mean), dtype)
    return RotatedFeatures(found.table, found.squares, found.axes, mean, found.rotation)


class LogisticProblems:
    r"""Logistic regressions of B labels, as `lbfgs_each` takes them.

    .. math:: \min_{w, c} \sum_i \omega_i \left(\log(1 + e^{s_i}) - y_i s_i\right) + \tfrac{\alpha}{2} \|w\|^2,
        \qquad s_i = x_i \cdot w + c

    Parameters
    ----------
    X : RotatedFeatures
    Y : ndarray or MappedTable of shape (n, B), float64
        0 and 1; each label varies.
    alpha : float
        Above 0.
    weights : ndarray of shape (n,), optional
        ω; 1 by default.
    """

    def __init__(
        self, X: RotatedFeatures, Y: Floats | MappedTable, alpha: float, weights: Floats | None = None
    ) -> None:
        self.X, self.Y, self.alpha = X, Y, alpha
        self.weights = None if weights is None else weights[:, None]
        n, sums = Y.shape[0], np.zeros(Y.shape[1])
        for some, heavy in zip_chunks(Y, weights):
            sums += some.sum(axis=0) if heavy is None else heavy @ some
        total = float(n) if weights is None else float(weights.sum())
        self._share = sums / total
        varying = self._share * (1 - self._share)
        slopes = varying[:, None] * X.squares * (total / n) + alpha
        self._curvature = np.hstack([slopes, total * varying[:, None]])

    def start(self) -> Floats:
        """Return the intercepts that are best without features, shape (B, r + 1)."""
        theta = np.zeros(self._curvature.shape)
        theta[:, -1] = np.log(self._share / (1 - self._share))
        return theta

    def evaluate(self, theta: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return objectives and gradients of some labels; see `ManyProblems`."""
        Y = self.Y if len(which) == self.Y.shape[1] else self.Y[:, which]
        value, gradient = np.zeros(len(theta)), np.zeros(theta.shape)
        for X, some, weights in self.X.parts(Y, self.weights):
            scores = X.scores(theta)
            off = np.exp(-np.abs(scores))
            losses = np.maximum(scores, 0) + np.log1p(off) - some * scores
            slopes = np.where(scores >= 0, 1, off) / (1 + off) - some
            if weights is not None:
                losses, slopes = weights * losses, weights * slopes
            value += losses.sum(axis=0)
            gradient += X.back(slopes)
        gradient[:, :-1] += self.alpha * theta[:, :-1]
        penalties = np.einsum("bp,bp->b", theta[:, :-1], theta[:, :-1])
        return value + self.alpha / 2 * penalties, gradient

    def scaled(self, gradient: Floats, which: Indices) -> Floats:
        """Return gradients divided by the curvatures at the start, as if all instances had the same."""
        return np.asarray(gradient / self._curvature[which])


class SquaredHingeProblems:
    r"""Linear support vector machines of B labels with the squared hinge, as `lbfgs_each` takes them.

    .. math:: \min_w \tfrac12 \|w\|^2 + \sum_i c_i \max(0, 1 - z_i \, x_i \cdot w)^2

    Parameters
    ----------
    X : RotatedTable
        The last feature, before rotation, is 1: the intercept has a penalty like the other coefficients.
    Z : ndarray or MappedTable of shape (n, B), float64
        1 where a label is on, -1 where it is off; each label varies.
    costs : ndarray of shape (n,)
        Above 0, or 0 for instances that do not count.
    """

    def __init__(self, X: RotatedTable, Z: Floats | MappedTable, costs: Floats) -> None:
        self.X, self.Z, self.costs = X, Z, costs
        self._curvature = 1 + 2 * costs.mean() * X.squares

    def start(self) -> Floats:
        """Return coefficients of the mean of each label, as the score of all instances: shape (B, r)."""
        total: Any = None
        for signs, costs in zip_chunks(self.Z, self.costs):
            total = accumulate(total, costs @ signs)
        return np.outer(total / self.costs.sum(), self.X.axes[-1])

    def evaluate(self, theta: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return objectives and gradients of some labels; see `ManyProblems`."""
        Z = self.Z if len(which) == self.Z.shape[1] else self.Z[:, which]
        columns = self.X.of_columns(theta).T
        losses: Any = None
        back: Any = None
        for table, signs, costs in zip_chunks(self.X.table, Z, self.costs):
            scores = table @ columns.astype(table.dtype)
            gaps = np.maximum(0, 1 - signs * scores)
            slopes = costs[:, None] * gaps
            losses = accumulate(losses, np.einsum("ib,ib->b", slopes, gaps))
            slopes *= -2 * signs
            back = accumulate(back, (slopes.T.astype(table.dtype) @ table).astype(np.float64))
        return losses + np.einsum("bp,bp->b", theta, theta) / 2, theta + self.X.of_axes(back)

    def scaled(self, gradient: Floats, which: Indices) -> Floats:
        """Return gradients divided by the curvatures where all instances are within the margin."""
        return np.asarray(gradient / self._curvature)
