"""Gradient descent, the solver of the papers."""

import numpy as np

from cofactor.kernels import vectors
from cofactor.solvers.linesearch import DECREASE
from cofactor.solvers.result import Callback, Problem, Result, Trace, require_smooth


def gradient_descent(
    problem: Problem,
    x0: np.ndarray,
    *,
    max_iter: int = 2000,
    tol: float = 1e-5,
    step: float = 1.0,
    callback: Callback | None = None,
) -> Result:
    """Minimise a smooth problem by gradient descent: x ← x - c ∇J(x).

    These are (3.2), (3.3) and algorithms 1 and 2 of Kumar's thesis, which does not say how long the step c is. Here it
    starts at `step`, is halved until the objective falls enough (Armijo), and grows by half after every step that
    needed no halving, so the objective never rises. The loop runs until the stopping criterion is met, not while it is
    met as printed (corrections.md, C1).

    Parameters
    ----------
    problem : Problem
        A problem with a gradient everywhere.
    x0 : ndarray
        Starting point; it is not changed.
    max_iter : int, default=2000
        Largest number of iterations.
    tol : float, default=1e-5
        Converged when the objective fell by less than this share of itself per iteration over five iterations.
    step : float, default=1.0
        First step length.
    callback : callable, optional
        Called with a `Progress` after every iteration.

    Returns
    -------
    Result

    Raises
    ------
    SolverMismatchError
        If the problem is not smooth.
    """
    require_smooth(problem, "gd")
    trace = Trace(problem, max_iter, tol, callback)
    x, g = x0.astype(problem.dtype), np.empty(problem.size, problem.dtype)
    x_new, g_new = np.empty_like(x), np.empty_like(x)
    objective = trace.evaluate(x, g)
    trace.start(objective)
    while True:
        squared, shrunk = vectors.dot(g, g), False
        if squared == 0:
            trace.stop("the gradient is zero", converged=True)
            break
        while True:
            vectors.step(x, -step, g, x_new)
            value = trace.evaluate(x_new, g_new)
            if value <= objective - DECREASE * step * squared or step < 1e-12:
                break
            step, shrunk = 0.5 * step, True
        if not value <= objective:
            reason = "no step along the gradient lowers the objective: working precision reached"
            trace.stop_without_step(reason, value, squared)
            break
        x, x_new, g, g_new, objective = x_new, x, g_new, g, value
        if not shrunk:
            step *= 1.5
        if trace.done(objective):
            break
    return trace.result(x, g)
