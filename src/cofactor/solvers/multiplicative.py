"""Descent by a problem's own updates: multiplicative ones, and minimisation over one block after another."""

from typing import Protocol

import numpy as np

from cofactor.solvers.descent import descend
from cofactor.solvers.result import Callback, Problem, Result, SolverMismatchError, Trace

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
