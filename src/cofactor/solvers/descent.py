"""Descent by a problem's own updates while they lower the objective: alternating, multiplicative, or by blocks."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from cofactor.solvers.result import Callback, Problem, Result, SolverMismatchError, Trace


def descend(problem: Problem, x0: np.ndarray, update: Callable[[np.ndarray], float | None], trace: Trace) -> Result:
    """Repeat `update`, which changes a point in place, until `trace` says stop or the objective rises.

    A step that raises the objective is taken back and ends the run. If the rise, as a share of the first objective, is
    at most the square root of the working precision, it comes from rounding, and the run has converged. If it is
    larger, the update failed, and the run has not converged.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    x0 : ndarray
        Starting point; it is not changed.
    update : callable
        A step that does not raise the objective, except by rounding. It may return the objective that it leads to, if
        it knows that; otherwise it is evaluated.
    trace : Trace
        A new trace; it holds the stopping rule.

    Returns
    -------
    Result
    """
    x, g = x0.astype(problem.dtype), np.empty(problem.size, problem.dtype)
    trace.start(trace.evaluate(x, g) + problem.nonsmooth_value(x))
    while True:
        following = x.copy()
        told = update(following)
        objective = trace.evaluate(following, g) + problem.nonsmooth_value(following) if told is None else told
        rise = objective - trace.history[-1]
        if not rise <= 0:
            settled = bool(rise <= np.finfo(problem.dtype).eps ** 0.5 * abs(trace.history[0]))
            reason = "working precision reached" if settled else "its equations are too ill-conditioned"
            trace.stop(f"no update lowers the objective: {reason}", converged=settled)
            trace.evaluate(x, g)
            return trace.result(x, g)
        x = following
        if trace.done(objective):
            if told is not None:
                trace.evaluate(x, g)
            return trace.result(x, g)


class Alternating(Problem, Protocol):
    """A problem whose rows and columns can each be minimised with the others fixed."""

    def update_rows(self, x: np.ndarray) -> float | None:
        """Minimise over the rows' parameters, in place; return the objective, if that is known."""

    def update_columns(self, x: np.ndarray) -> float | None:
        """Minimise over the columns' parameters, in place; return the objective, if that is known."""


def alternating_least_squares(
    problem: Alternating,
    x0: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Result:
    """Minimise over rows and over columns in turn; no half step raises the objective.

    Parameters
    ----------
    problem : Alternating
        A problem with `update_rows` and `update_columns`.
    x0 : ndarray
        Starting point; it is not changed.
    max_iter : int, default=100
        Largest number of rounds.
    tol : float, default=1e-5
        Converged when the objective fell by less than this share of itself per round over five rounds.
    callback : callable, optional
        Called with a `Progress` after every round.

    Returns
    -------
    Result

    Raises
    ------
    SolverMismatchError
        If the problem has no updates of rows and columns.
    """
    if not hasattr(problem, "update_rows"):
        raise SolverMismatchError(
            "alternating least squares needs the squared loss with ridge penalties: "
            "take solver 'lbfgs' for other losses"
        )

    def update(x: np.ndarray) -> float | None:
        problem.update_rows(x)
        return problem.update_columns(x)

    return descend(problem, x0, update, Trace(problem, max_iter, tol, callback))


#: Denominators of multiplicative updates are kept above this.
_TINY = 1e-12


class Updated(Problem, Protocol):
    """A problem with an update that does not raise its objective."""

    def update(self, x: np.ndarray) -> None:
        """Renew all parameters, in place."""


def scale_by_ratio(A: np.ndarray, negative: np.ndarray, positive: np.ndarray) -> None:
    """Multiply A by ∇⁻/∇⁺ in place, entry by entry: the multiplicative update for a gradient ∇⁺ - ∇⁻.

    Parameters
    ----------
    A : ndarray
        Not negative; it stays so, and a zero stays zero.
    negative, positive : ndarray
        The negative part of the gradient and the positive one, as sums without cancellation: both at least 0.
        Where ∇⁺ vanishes it is replaced by a tiny number; where both do, A becomes 0.

    Examples
    --------
    >>> A = np.array([4.0, 4.0, 4.0])
    >>> scale_by_ratio(A, np.array([1.0, 0.0, 0.0]), np.array([2.0, 2.0, 0.0]))
    >>> A
    array([2., 0., 0.])
    """
    A *= negative / np.maximum(positive, _TINY)


def repeat_updates(
    problem: Updated,
    x0: np.ndarray,
    *,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Result:
    """Minimise by repeating the problem's own update as long as the objective falls; return the best point.

    Parameters
    ----------
    problem : Updated
        A problem with `update`.
    x0 : ndarray
        Starting point; it is not changed. Multiplicative updates leave zeros zero: start above zero.
    max_iter : int, default=200
        Largest number of updates.
    tol : float, default=1e-5
        Converged when the objective fell by less than this share of itself per update over five updates. With 0 there
        are `max_iter` updates, unless the working precision is reached earlier.
    callback : callable, optional
        Called with a `Progress` after every update.

    Returns
    -------
    Result

    Raises
    ------
    SolverMismatchError
        If the problem has no update of its own.
    """
    if not hasattr(problem, "update"):
        raise SolverMismatchError(
            f"{type(problem).__name__} has no update of its own: take a solver that uses gradients ('lbfgs', 'apg')"
        )
    return descend(problem, x0, problem.update, Trace(problem, max_iter, tol, callback))
