"""Many small convex problems at a time, by Newton's method: their arrays are the rows of larger ones."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Evaluated", "ManyProblems", "newton_each"]

Floats = NDArray[np.float64]

_CG_ERROR = 0.05  # of a Newton step, as a share, in the norm of the preconditioner
_MOST_CG = 100
_MOST_HALVES = 40
_ROUNDING = 1e-14  # share of an objective that its rounding errors may be


class Evaluated(NamedTuple):
    """Objectives of B problems, shape (B,), their gradients, shape (B, p), and what products with the Hessians need."""

    value: Floats
    gradient: Floats
    curvature: Any


class ManyProblems(Protocol):
    """B smooth convex problems of p parameters each."""

    def evaluate(self, theta: Floats) -> Evaluated:
        """Return objectives and gradients at the rows of `theta`, shape (B, p)."""

    def product(self, curvature: Any, direction: Floats) -> Floats:
        """Return the Hessians times the rows of `direction`, shape (B, p)."""

    def scaled(self, curvature: Any, gradient: Floats) -> Floats:
        """Return preconditioners, near inverses of the Hessians, times the rows of `gradient`, shape (B, p)."""


def newton_each(
    problem: ManyProblems, theta: Floats, *, max_iter: int = 100, tol: float = 1e-10
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    r"""Minimise each of many problems by Newton's method with conjugate gradients and backtracking.

    Parameters
    ----------
    problem : ManyProblems
    theta : ndarray of shape (B, p)
        Starting points, a row for each problem; not changed.
    max_iter : int, default=100
        Most Newton steps.
    tol : float, default=1e-10
        A problem is solved when its Newton step promises to lower the objective by less than this share of it, or by
        less than this number where the objective is below 1.

    Returns
    -------
    theta : ndarray of shape (B, p)
        Minimisers.
    value : ndarray of shape (B,)
        Minima.
    solved : ndarray of shape (B,), bool
        Whether a problem was solved within `max_iter` steps, or to working precision.

    Notes
    -----
    The objective of no problem ever rises. No problem looks at another, so results do not depend on which problems are
    solved together, but for rounding.
    """
    theta, found = theta.copy(), problem.evaluate(theta)
    solved = np.zeros(len(theta), dtype=bool)
    for _ in range(max_iter):
        step = _newton_steps(problem, found)
        slope = np.einsum("bp,bp->b", found.gradient, step)
        solved |= -slope <= 2 * tol * np.maximum(1, np.abs(found.value))
        if solved.all():
            break
        step[solved], slope[solved] = 0, 0
        theta, found, moved = _lowered(problem, theta, found, step, slope)
        solved |= ~moved
    return theta, found.value, solved


def _newton_steps(problem: ManyProblems, at: Evaluated) -> Floats:
    """Return steps d with H d = -g, nearly, by preconditioned conjugate gradients."""
    step, rest = np.zeros_like(at.gradient), -at.gradient
    direction = problem.scaled(at.curvature, rest)
    size = np.einsum("bp,bp->b", rest, direction)
    goal = _CG_ERROR**2 * size
    for _ in range(_MOST_CG):
        product = problem.product(at.curvature, direction)
        curvature = np.einsum("bp,bp->b", direction, product)
        open_ = (size > goal) & (curvature > 0)
        if not open_.any():
            break
        length = np.divide(size, curvature, out=np.zeros_like(size), where=open_)[:, None]
        step += length * direction
        rest -= length * product
        scaled = problem.scaled(at.curvature, rest)
        new = np.einsum("bp,bp->b", rest, scaled)
        direction = scaled + np.divide(new, size, out=np.zeros_like(size), where=open_)[:, None] * direction
        size = np.where(open_, new, 0)
    return step


def _lowered(
    problem: ManyProblems, theta: Floats, at: Evaluated, step: Floats, slope: Floats
) -> tuple[Floats, Evaluated, NDArray[np.bool_]]:
    """Return points along the steps with lower objectives, and which problems moved."""
    length = np.ones(len(theta))
    slack = _ROUNDING * np.abs(at.value)
    for _ in range(_MOST_HALVES):
        new = theta + length[:, None] * step
        found = problem.evaluate(new)
        worse = (slope < 0) & ~(found.value <= at.value + 1e-4 * length * slope + slack)
        if not worse.any():
            return new, found, np.ones(len(theta), dtype=bool)
        length[worse] /= 2
    length[worse] = 0
    new = theta + length[:, None] * step
    return new, problem.evaluate(new), ~worse
