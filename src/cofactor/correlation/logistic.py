"""Logistic regressions of many labels, and models of many pairs of labels, each fitted to all of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit

from cofactor.correlation.similarities import Floats, dense
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import library_limit, parallel_for
from cofactor.limits import CELLS
from cofactor.solvers.newton_each import Evaluated, newton_each

__all__ = ["Rotated", "fit_labels", "fit_pairs", "in_blocks", "inverse_hessians", "rotated"]

Places = NDArray[np.int64]

_BLOCK = 1 << 17  #: instances × problems that are in memory together, as many of several tables
_EPS = float(np.finfo(np.float64).eps)


class Rotated(NamedTuple):
    """Centred features in the directions of their principal components, which ridge penalties do not see.

    Parameters
    ----------
    table : ndarray of shape (n, r)
        Orthogonal columns.
    squares : ndarray of shape (r,)
        Their squared lengths.
    weights : ndarray of shape (n,)
        Of the instances.
    """

    table: Floats
    squares: Floats
    weights: Floats


def rotated(X: Any, weights: Floats | None) -> Rotated:
    """Return features as logistic regressions take them here; at most n or D columns, whichever is less."""
    n, D = np.shape(X)
    CELLS.check(n * D, f"features of {n:,} instances as a dense table are {n * D:,} numbers")
    table = dense(X)
    if not np.isfinite(table).all():
        raise InvalidInputError("expected finite numbers", argument="X")
    table = table - table.mean(axis=0)
    with library_limit(1):
        values, vectors = linalg.eigh(table.T @ table if n >= D else table @ table.T)
        kept = values > values[-1] * max(n, D) * _EPS
        values, vectors = values[kept], vectors[:, kept]
        table = table @ vectors if n >= D else vectors * np.sqrt(values)
    return Rotated(np.ascontiguousarray(table), values, np.ones(n) if weights is None else weights)


def in_blocks(task: Callable[[slice], None], n_problems: int, n_rows: int) -> None:
    """Call a task for blocks of problems, in threads; the blocks do not depend on how many these are."""
    size = max(1, _BLOCK // max(n_rows, 1))
    with library_limit(1, "blas"):
        parallel_for(lambda k: task(slice(k * size, min((k + 1) * size, n_problems))), -(-n_problems // size))


def fit_labels(X: Rotated, Y: Floats, alpha: float) -> tuple[Floats, Floats]:
    r"""Return coefficients and minima of logistic regressions of labels that vary.

    .. math:: \min_{w, b} \sum_i \omega_i \left(\log(1 + e^{s_i}) - y_i s_i\right) + \tfrac{\alpha}{2} \|w\|^2,
        \qquad s_i = x_i \cdot w + b

    Parameters
    ----------
    X : Rotated
    Y : ndarray of shape (n, B)
        0 and 1.
    alpha : float
        Above 0.

    Returns
    -------
    theta : ndarray of shape (B, r + 1)
        Coefficients, and the intercept as the last.
    value : ndarray of shape (B,)
    """
    start = np.zeros((Y.shape[1], X.table.shape[1] + 1))
    share = X.weights @ Y / X.weights.sum()
    start[:, -1] = np.log(share / (1 - share))
    theta, value, _ = newton_each(_Labels(X, Y, alpha), start)
    return theta, value


def inverse_hessians(X: Rotated, theta: Floats, alpha: float) -> Floats:
    """Return the inverses of the Hessians of logistic regressions, shape (B, r + 1, r + 1)."""
    table = np.hstack([X.table, np.ones((len(X.table), 1))])
    result = np.empty((len(theta), table.shape[1], table.shape[1]))
    diagonal = np.append(np.full(table.shape[1] - 1, alpha), 0.0)
    for one, coef in zip(result, theta, strict=True):
        p = expit(table @ coef)
        one[:] = linalg.inv(table.T @ (table * (X.weights * p * (1 - p))[:, None]) + np.diag(diagonal))
    return result


def fit_pairs(
    X: Rotated,
    Y: Floats,
    Z: Floats,
    start: tuple[Floats, Floats],
    alpha: float,
    inverses: tuple[Floats, Places, Places] | None = None,
) -> Floats:
    r"""Return minima of the negative log-likelihoods of pairs of labels, with penalties.

    .. math:: P(y, z | x) \propto \exp(s y + t z + v\, [y = z])

    with linear functions s and t of x, whose coefficients are penalized as in `fit_labels`, and v likewise.

    Parameters
    ----------
    X : Rotated
    Y, Z : ndarray of shape (n, B)
        The first and the second label of each pair.
    start : tuple of two ndarray of shape (B, r + 1)
        Where s and t start: coefficients of their logistic regressions, the minima for v = 0. So no minimum is above
        the sum of theirs.
    alpha : float
        Above 0.
    inverses : tuple of three ndarray, optional
        Inverse Hessians of labels there, shape (L, r + 1, r + 1), and which of them are those of the first and of the
        second label of each pair, shape (B,): with them Newton steps take a third of the products.

    Returns
    -------
    ndarray of shape (B,)
    """
    theta = np.hstack([*start, np.zeros((len(start[0]), 1))])
    _, value, _ = newton_each(_Pairs(X, Y, Z, alpha, inverses), theta)
    return value


class _Labels:
    """The problems of `fit_labels`."""

    def __init__(self, X: Rotated, Y: Floats, alpha: float) -> None:
        self.X, self.Y, self.alpha = X, Y, alpha

    def evaluate(self, theta: Floats) -> Evaluated:
        weights, scores = self.X.weights[:, None], _scores(self.X, theta)
        p = expit(scores)
        value = np.sum(weights * (np.logaddexp(0, scores) - self.Y * scores), axis=0)
        gradient = _back(self.X, weights * (p - self.Y))
        gradient[:, :-1] += self.alpha * theta[:, :-1]
        value += self.alpha / 2 * np.einsum("bp,bp->b", theta[:, :-1], theta[:, :-1])
        return Evaluated(value, gradient, weights * p * (1 - p))

    def product(self, curvature: Floats, direction: Floats) -> Floats:
        result = _back(self.X, curvature * _scores(self.X, direction))
        result[:, :-1] += self.alpha * direction[:, :-1]
        return result

    def scaled(self, curvature: Floats, gradient: Floats) -> Floats:
        return _inverse(self.X, curvature, self.alpha) * gradient


class _Pairs:
    """The problems of `fit_pairs`; a row of parameters holds those of s, of t, and v."""

    def __init__(
        self, X: Rotated, Y: Floats, Z: Floats, alpha: float, inverses: tuple[Floats, Places, Places] | None
    ) -> None:
        self.X, self.Y, self.Z, self.alpha, self.inverses = X, Y, Z, alpha, inverses
        self.equal = Y == Z

    def evaluate(self, theta: Floats) -> Evaluated:
        weights, k = self.X.weights[:, None], self.X.table.shape[1] + 1
        s, t, v = _scores(self.X, theta[:, :k]), _scores(self.X, theta[:, k:-1]), theta[:, -1]
        one_one = s + t + v
        top = np.maximum(np.maximum(s, t), np.maximum(one_one, v))
        on, off = np.exp(one_one - top), np.exp(v - top)  # both labels
        first, second = np.exp(s - top), np.exp(t - top)  # one alone
        total = on + off + first + second
        logs = top + np.log(total) - self.Y * s - self.Z * t - self.equal * v
        penalized = np.delete(theta, (k - 1, 2 * k - 1), axis=1)
        value = np.sum(weights * logs, axis=0) + self.alpha / 2 * np.einsum("bp,bp->b", penalized, penalized)
        p, q, same, both = (on + first) / total, (on + second) / total, (on + off) / total, on / total
        gradient = np.hstack(
            [
                _back(self.X, weights * (p - self.Y)),
                _back(self.X, weights * (q - self.Z)),
                np.sum(weights * (same - self.equal), axis=0)[:, None],
            ]
        )
        gradient += self._penalty(theta)
        curvature = tuple(
            weights * each
            for each in (
                p * (1 - p), q * (1 - q), same * (1 - same), both - p * q, both - p * same, both - q * same
            )
        )  # fmt: skip
        return Evaluated(value, gradient, curvature)

    def product(self, curvature: tuple[Floats, ...], direction: Floats) -> Floats:
        k = self.X.table.shape[1] + 1
        of_p, of_q, of_same, pq, p_same, q_same = curvature
        s, t, v = _scores(self.X, direction[:, :k]), _scores(self.X, direction[:, k:-1]), direction[:, -1]
        result = np.hstack(
            [
                _back(self.X, of_p * s + pq * t + p_same * v),
                _back(self.X, pq * s + of_q * t + q_same * v),
                np.sum(p_same * s + q_same * t + of_same * v, axis=0)[:, None],
            ]
        )
        return result + self._penalty(direction)

    def scaled(self, curvature: tuple[Floats, ...], gradient: Floats) -> Floats:
        k = self.X.table.shape[1] + 1
        last = gradient[:, -1:] / (curvature[2].sum(axis=0)[:, None] + self.alpha)
        parts = gradient[:, :k], gradient[:, k:-1]
        if self.inverses is None:
            both = [_inverse(self.X, c, self.alpha) * part for part, c in zip(parts, curvature[:2], strict=True)]
        else:
            both = [_times(self.inverses[0], which, part) for part, which in zip(parts, self.inverses[1:], strict=True)]
        return np.hstack([*both, last])

    def _penalty(self, theta: Floats) -> Floats:
        k = self.X.table.shape[1] + 1
        result = self.alpha * theta
        result[:, (k - 1, 2 * k - 1)] = 0  # intercepts
        return result


def _scores(X: Rotated, theta: Floats) -> Floats:
    """Return scores of instances, shape (n, B)."""
    return X.table @ theta[:, :-1].T + theta[:, -1]


def _back(X: Rotated, table: Floats) -> Floats:
    """Return the transpose of `_scores`, shape (B, r + 1)."""
    return np.hstack([table.T @ X.table, table.sum(axis=0)[:, None]])


def _times(inverses: Floats, which: Places, table: Floats) -> Floats:
    """Return the rows of a table, each times the inverse Hessian of its label."""
    result = np.empty_like(table)
    for label in np.unique(which):
        rows = np.flatnonzero(which == label)
        result[rows] = table[rows] @ inverses[label]
    return result


def _inverse(X: Rotated, curvature: Floats, alpha: float) -> Floats:
    """Return the inverse diagonal of the Hessian of one label, as if all instances had the mean curvature."""
    total = curvature.sum(axis=0)[:, None]
    slopes = 1 / (total * X.squares / len(X.table) + alpha)
    return np.hstack([slopes, 1 / np.maximum(total, _EPS)])
