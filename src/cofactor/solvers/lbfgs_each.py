"""Many small convex problems at a time, by limited-memory BFGS: their arrays are the rows of larger ones."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["ManyProblems", "lbfgs_each"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_MEMORY = 8  #: steps and changes of gradients that are kept
_MOST_HALVES = 40
_TINY = float(np.finfo(np.float64).tiny)
_ROUNDING = 1e-14  #: share of an objective that its rounding errors may be


class ManyProblems(Protocol):
    """B smooth convex problems of p parameters each."""

    def evaluate(self, theta: Floats, which: Places) -> tuple[Floats, Floats]:
        """Return objectives (b,) and gradients (b, p) of some of the problems, whose points are the rows of `theta`."""

    def scaled(self, gradient: Floats, which: Places) -> Floats:
        """Return positive definite guesses of the inverse Hessians of some problems times the rows of `gradient`."""


def lbfgs_each(
    problem: ManyProblems, theta: Floats, *, max_iter: int = 500, tol: float = 1e-10, rounding: float = _ROUNDING
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Minimise each of many problems by limited-memory BFGS with backtracking.

    An iteration is an evaluation of those problems that are not solved yet, which is a few products of matrices for all
    of them. `lbfgs` is for one large problem.

    Parameters
    ----------
    problem : ManyProblems
    theta : ndarray of shape (B, p)
        Starting points, a row for each problem; not changed.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-10
        A problem is solved when its next step promises to lower the objective by less than half this share of what it
        was at the start.
    rounding : float, default=1e-14
        Share of an objective that its rounding errors may be: by so much it may rise.

    Returns
    -------
    theta : ndarray of shape (B, p)
        Minimisers.
    value : ndarray of shape (B,)
        Minima.
    solved : ndarray of shape (B,), bool
        Whether a problem was solved within `max_iter` iterations, or to working precision.

    Notes
    -----
    The objective of no problem ever rises. No problem looks at another, so results do not depend on which problems are
    solved together, if what `problem` returns for each does not; where it multiplies matrices, they differ by rounding.
    """
    theta, which = theta.copy(), np.arange(len(theta))
    value, gradient = problem.evaluate(theta, which)
    at, found, enough = theta.copy(), value.copy(), tol * np.abs(value)
    pairs: list[tuple[Floats, Floats, Floats]] = []
    still = np.zeros(len(theta), dtype=np.int64)  # for how many iterations a problem has not moved
    for k in range(max_iter + 1):
        direction = _direction(problem, which, gradient, pairs)
        slope = np.einsum("bp,bp->b", direction, gradient)
        going = (-slope > enough[which]) & (still <= _MEMORY)  # after so many, each would be the same
        theta[which], found[which] = at, value
        if not going.all():
            which, at, value, gradient = which[going], at[going], value[going], gradient[going]
            direction, slope, still = direction[going], slope[going], still[going]
            pairs = [(step[going], change[going], rho[going]) for step, change, rho in pairs]
        if not len(which) or k == max_iter:
            break
        new, new_value, new_gradient = _lowered(problem, which, at, value, gradient, direction, slope, rounding)
        step, change = new - at, new_gradient - gradient
        still = np.where(step.any(axis=1), 0, still + 1)
        inner = np.einsum("bp,bp->b", step, change)
        curved = inner > _TINY  # without curvature it does not count
        rho = np.divide(1.0, inner, out=np.zeros_like(inner), where=curved)
        pairs = [*pairs[1 - _MEMORY :], (step, change, rho)]
        at, value, gradient = new, new_value, new_gradient
    solved = np.ones(len(theta), dtype=bool)
    solved[which] = False
    return theta, found, solved


def _direction(
    problem: ManyProblems, which: Places, gradient: Floats, pairs: list[tuple[Floats, Floats, Floats]]
) -> Floats:
    """Return the directions of the two-loop recursion (Nocedal & Wright 2006, algorithm 7.4)."""
    found, shares = -gradient, []
    for step, change, rho in reversed(pairs):
        shares.append((rho * np.einsum("bp,bp->b", step, found))[:, None])
        found = found - shares[-1] * change
    found = problem.scaled(found, which)
    for (step, change, rho), share in zip(pairs, reversed(shares), strict=True):
        found = found + (share - (rho * np.einsum("bp,bp->b", change, found))[:, None]) * step
    return found


def _lowered(
    problem: ManyProblems,
    which: Places,
    at: Floats,
    value: Floats,
    gradient: Floats,
    direction: Floats,
    slope: Floats,
    rounding: float,
) -> tuple[Floats, Floats, Floats]:
    """Return points along the directions where objectives are lower, with these and gradients; else where they were."""
    new, length = at + direction, np.ones(len(at))
    new_value, new_gradient = problem.evaluate(new, which)
    slack = rounding * np.abs(value)
    for _ in range(_MOST_HALVES):
        worse = np.flatnonzero(~(new_value <= value + 1e-4 * length * slope + slack))
        if not len(worse):
            return new, new_value, new_gradient
        length[worse] /= 2
        new[worse] = at[worse] + length[worse, None] * direction[worse]
        new_value[worse], new_gradient[worse] = problem.evaluate(new[worse], which[worse])
    new[worse], new_value[worse], new_gradient[worse] = at[worse], value[worse], gradient[worse]
    return new, new_value, new_gradient
