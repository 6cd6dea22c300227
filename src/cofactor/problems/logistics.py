"""Logistic regressions of many labels on the same features, as problems that are solved together."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cofactor.passes import InPasses, Mapped, added, together
from cofactor.problems.axes import turned, turned_in_passes

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


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
    turn : ndarray of shape (D, r), optional
        Of a table that is seen in passes, see `Turned`.
    """

    table: Any
    squares: Floats
    axes: Floats
    mean: Floats
    turn: Floats | None = None

    def parts(self, *others: Any) -> Iterator[tuple[Any, ...]]:
        """Yield some instances at a time, with the same rows of others; all at once where they are in memory."""
        for table, *some in together(self.table, *others):
            yield self._replace(table=table), *some

    def scores(self, theta: Floats) -> Floats:
        """Return scores of instances, (n, B), by rows of coefficients whose last one is the intercept, (B, r + 1)."""
        slopes = theta[:, :-1] if self.turn is None else theta[:, :-1] @ self.turn.T
        return np.asarray(self.table @ slopes.T.astype(self.table.dtype) + theta[:, -1])

    def back(self, table: Floats) -> Floats:
        """Return the transpose of `scores`, (B, r + 1), of a table (n, B)."""
        slopes = table.T.astype(self.table.dtype) @ self.table
        return np.hstack([slopes if self.turn is None else slopes @ self.turn, table.sum(axis=0)[:, None]])

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
    mean = X.mean(axis=0, dtype=np.float64)
    found = turned(X - mean, np.linalg.norm(X, axis=0), dtype)
    return Rotated(found.table, found.squares, found.axes, mean)


def rotated_in_passes(X: InPasses, dtype: Any = np.float64) -> Rotated:
    """Return a dense table of features that is seen in passes; its coefficients are in the principal axes.

    Parameters
    ----------
    X : InPasses of shape (n, D)
        Its parts are dense, in double precision.
    dtype : dtype, default=float64
        Of the table.
    """
    total: Any = None
    for (part,) in together(X):
        total = added(total, part.sum(axis=0))
    mean = total / X.shape[0]
    found = turned_in_passes(X.map(lambda part: part - mean), dtype)
    return Rotated(found.table, found.squares, found.axes, mean, found.turn)


class LogisticProblems:
    r"""Logistic regressions of B labels, as `lbfgs_each` takes them.

    .. math:: \min_{w, c} \sum_i \omega_i \left(\log(1 + e^{s_i}) - y_i s_i\right) + \tfrac{\alpha}{2} \|w\|^2,
        \qquad s_i = x_i \cdot w + c

    Parameters
    ----------
    X : Rotated
    Y : ndarray or Mapped of shape (n, B), float64
        0 and 1; each label varies.
    alpha : float
        Above 0.
    weights : ndarray of shape (n,), optional
        ω; 1 by default.
    """

    def __init__(self, X: Rotated, Y: Floats | Mapped, alpha: float, weights: Floats | None = None) -> None:
        self.X, self.Y, self.alpha = X, Y, alpha
        self.weights = None if weights is None else weights[:, None]
        n, sums = Y.shape[0], np.zeros(Y.shape[1])
        for some, heavy in together(Y, weights):
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

    def evaluate(self, theta: Floats, which: Places) -> tuple[Floats, Floats]:
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

    def scaled(self, gradient: Floats, which: Places) -> Floats:
        """Return gradients divided by the curvatures at the start, as if all instances had the same."""
        return np.asarray(gradient / self._curvature[which])
