"""Stochastic gradient descent."""

from typing import Protocol

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.solvers.result import Callback, Problem, Result, SolverMismatchError, Trace


class Stochastic(Problem, Protocol):
    """A problem that is a sum over rows, and can take a step for each of them."""

    n_rows: int

    def stochastic_pass(self, x: np.ndarray, order: np.ndarray, inverse_step: float) -> float:
        """Take a step for each row of `order`, in place; return 1 / step length as the schedule leaves it."""


def stochastic_gradient(
    problem: Stochastic,
    x0: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float = 1e-4,
    eta0: float = 3.0,
    rng: np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """Minimise a sum over rows by steps along the gradients of single rows, in a new random order in each pass.

    A pass that raises the objective is undone, and step lengths are halved in addition to what the problem's schedule
    does; so the history never rises.

    Parameters
    ----------
    problem : Stochastic
        A problem with a `stochastic_pass`, which also knows how step lengths shrink.
    x0 : ndarray
        Starting point; it is not changed.
    max_iter : int, default=100
        Largest number of passes over the rows.
    tol : float, default=1e-4
        Converged when the objective fell by less than this share of itself per pass over five passes.
    eta0 : float, default=3.0
        First step length, above 0.
    rng : Generator, optional
        Source of the orders; by default one with seed 0.
    callback : callable, optional
        Called with a `Progress` after every pass.

    Returns
    -------
    Result

    Raises
    ------
    SolverMismatchError
        If the problem has no `stochastic_pass`.
    ValueError
        If `eta0` is not above 0.
    """
    if not hasattr(problem, "stochastic_pass"):
        raise SolverMismatchError(
            f"stochastic gradients need a problem with steps for single rows, which {type(problem).__name__} has not: "
            "take solver 'lbfgs'"
        )
    if not eta0 > 0:
        raise InvalidInputError(f"eta0={eta0!r}: expected a first step length above 0")
    rng = np.random.default_rng(0) if rng is None else rng
    trace = Trace(problem, max_iter, tol, callback)
    x, g = x0.astype(problem.dtype), np.empty(problem.size, problem.dtype)
    objective = trace.evaluate(x, g)
    trace.start(objective)
    best, inverse_step = x.copy(), 1 / eta0
    while True:
        inverse_step = problem.stochastic_pass(x, rng.permutation(problem.n_rows), inverse_step)
        value = trace.evaluate(x, g)
        if value <= objective:
            best, objective = x.copy(), value
        else:  # the steps of single rows undo each other: only shorter ones can lower the objective
            x, inverse_step = best.copy(), 2 * inverse_step
        if trace.done(objective):
            if trace.converged:
                trace.stop_without_step(trace.message, value)
            break
    trace.evaluate(best, g)
    return trace.result(best, g)
