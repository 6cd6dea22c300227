"""Logistic regressions of many labels, and models of many pairs of labels, each fitted to all of them at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit

from cofactor.correlation.checks import Floats
from cofactor.kernels.threads import library_limit, parallel_for
from cofactor.problems.classifiers import LogisticProblems, Rotated
from cofactor.solvers.lbfgs import lbfgs_each

__all__ = ["Singles", "fit_labels", "fit_pairs", "in_blocks"]

Places = NDArray[np.int64]

_BLOCK = 1 << 15  #: instances × problems that are in memory together, as many of several tables: a cache holds them
_MOST = 1 << 21  #: the same where there are more instances, and a few problems share each pass over the features
_FEW = 32
_MOST_INVERSES = 1 << 25  #: numbers of inverse Hessians that are kept
_FAR = 1e8  #: mean logarithms of sums over states beyond which objectives have no digits left: no step goes there
_LEAST_VARIANCE = 1e-8  #: of a label that features separate: with less, steps would be too long for any digits


def in_blocks(task: Callable[[slice], None], n_problems: int, n_rows: int) -> None:
    """Call a task for blocks of problems, in threads; the blocks do not depend on how many these are."""
    n_rows = max(n_rows, 1)
    size = max(1, _BLOCK // n_rows, min(_FEW, _MOST // n_rows))
    with library_limit(1, "blas"):
        parallel_for(lambda k: task(slice(k * size, min((k + 1) * size, n_problems))), -(-n_problems // size))


def fit_labels(X: Rotated, Y: Floats, alpha: float, weights: Floats) -> tuple[Floats, Floats]:
    """Return coefficients of labels that vary, intercepts as the last, and minima; see `LogisticProblems`."""
    problems = LogisticProblems(X, Y, alpha, weights)
    theta, value, _ = lbfgs_each(problems, problems.start())
    return theta, value


class Singles:
    """Logistic regressions of all labels, from which models of pairs start.

    Parameters
    ----------
    X : Rotated
    n_labels : int
        Of labels that vary.
    alpha : float
        Above 0.
    weights : ndarray of shape (n,)
        Of the instances.
    """

    def __init__(self, X: Rotated, n_labels: int, alpha: float, weights: Floats) -> None:
        p = len(X.squares) + 1
        self.X, self.alpha, self.weights = X, alpha, weights
        self.theta, self.value = np.empty((n_labels, p)), np.empty(n_labels)
        self.observed = np.empty((n_labels, p))  # sums of features where labels are on
        self.curvature = np.empty((n_labels, p))
        self.inverses = np.empty((n_labels, p, p)) if n_labels * p * p <= _MOST_INVERSES else None

    def fit(self, some: slice, Y: Floats) -> None:
        """Fit some of the labels."""
        self.theta[some], self.value[some] = fit_labels(self.X, Y, self.alpha, self.weights)
        self.observed[some] = self.X.back(self.weights[:, None] * Y)
        chances = expit(self.X.scores(self.theta[some]))
        varying = self.weights[:, None] * np.maximum(chances * (1 - chances), _LEAST_VARIANCE)
        total = varying.sum(axis=0)[:, None]
        slopes = total * self.X.squares / len(Y) + self.alpha
        self.curvature[some] = np.hstack([slopes, np.maximum(total, np.finfo(float).tiny)])
        if self.inverses is not None:
            for inverse, each in zip(self.inverses[some], varying.T, strict=True):
                inverse[:] = _inverse_hessian(self.X, each, self.alpha)

    def scaled(self, gradient: Floats, labels: Places) -> Floats:
        """Return the inverse Hessians of labels, or guesses of them, times the rows of a table."""
        if self.inverses is None:
            return gradient / self.curvature[labels]
        result = np.empty_like(gradient)
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            result[rows] = gradient[rows] @ self.inverses[label]
        return result


def _inverse_hessian(X: Rotated, curvature: Floats, alpha: float) -> Floats:
    """Return the inverse Hessian of a logistic regression whose losses have these curvatures."""
    table = np.hstack([X.table, np.ones((len(X.table), 1))])
    hessian = table.T @ (table * curvature[:, None])
    hessian[np.diag_indices(len(X.squares))] += alpha
    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    inverse = linalg.solve(hessian * scale[:, None] * scale, np.eye(len(scale)), assume_a="pos")
    return np.asarray(inverse * scale[:, None] * scale)


def fit_pairs(singles: Singles, first: Places, second: Places, alike: Floats) -> Floats:
    r"""Return minima of the negative log-likelihoods of pairs of labels, with penalties.

    .. math:: P(y, z | x) \propto \exp(s y + t z + v\, [y = z])

    with linear functions s and t of x, whose coefficients are penalized as those of a label, and v likewise. They start
    at the logistic regressions of both labels, the minima for v = 0. So no minimum is above the sum of theirs.

    Parameters
    ----------
    singles : Singles
    first, second : ndarray of shape (B,)
        The labels of each pair.
    alike : ndarray of shape (B,)
        The sum of the weights of instances where both are equal.

    Returns
    -------
    ndarray of shape (B,)
    """
    start = np.hstack([singles.theta[first], singles.theta[second], np.zeros((len(first), 1))])
    _, value, _ = lbfgs_each(_Pairs(singles, first, second, alike), start)
    return value


class _Pairs:
    """The problems of `fit_pairs`; a row of parameters holds those of s, of t, and v."""

    def __init__(self, singles: Singles, first: Places, second: Places, alike: Floats) -> None:
        self.singles, self.first, self.second = singles, first, second
        observed = singles.observed
        self.observed = np.hstack([observed[first], observed[second], alike[:, None]])
        self.n_each = n_each = observed.shape[1]
        self.penalties = np.full(2 * n_each + 1, singles.alpha)
        self.penalties[[n_each - 1, 2 * n_each - 1]] = 0  # intercepts
        total = singles.weights.sum()
        same = np.clip(alike / total, 0, 1)
        self.of_v = (total * same * (1 - same) + singles.alpha)[:, None]

    def evaluate(self, theta: Floats, which: Places) -> tuple[Floats, Floats]:
        """Return objectives and gradients; states of pairs are weighed by e to their scores less the largest parts."""
        X, weights, k = self.singles.X, self.singles.weights, self.n_each
        s, t, v = X.scores(theta[:, :k]), X.scores(theta[:, k:-1]), theta[:, -1]
        first_on, first_off, s_top = _weighed(s)
        second_on, second_off, t_top = _weighed(t)
        v_top = np.maximum(v, 0)
        both, neither = np.exp(v - v_top) * first_on * second_on, np.exp(v - v_top) * first_off * second_off
        first, second = np.exp(-v_top) * first_on * second_off, np.exp(-v_top) * first_off * second_on
        total = both + neither + first + second
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a step that leads there is cut
            logs = weights @ (np.log(total) + s_top + t_top) + weights.sum() * v_top
            share = weights[:, None] / total
            same = np.einsum("ib,ib->b", both + neither, share)[:, None]
            gradient = np.hstack([X.back((both + first) * share), X.back((both + second) * share), same])
        value = logs - np.einsum("bp,bp->b", theta, self.observed[which])
        value += 0.5 * (theta**2 @ self.penalties)
        value[~(np.abs(logs) < _FAR * weights.sum()) | ~np.isfinite(gradient).all(axis=1)] = np.inf
        return value, gradient - self.observed[which] + self.penalties * theta

    def scaled(self, gradient: Floats, which: Places) -> Floats:
        """Return gradients times the inverse Hessians at v = 0, where the two labels are independent."""
        k = self.n_each
        parts = gradient[:, :k], gradient[:, k:-1]
        labels = self.first[which], self.second[which]
        both = [self.singles.scaled(part, each) for part, each in zip(parts, labels, strict=True)]
        return np.hstack([*both, gradient[:, -1:] / self.of_v[which]])


def _weighed(scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Return e^s and 1, each divided by the larger of both, and the logarithm of that."""
    small = np.exp(-np.abs(scores))
    on = scores > 0
    return np.where(on, 1, small), np.where(on, small, 1), np.maximum(scores, 0)
