"""Alternating least squares."""

from typing import Protocol

import numpy as np

from cofactor.solvers.descent import descend
from cofactor.solvers.result import Callback, Problem, Result, SolverMismatchError, Trace


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
