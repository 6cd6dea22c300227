"""The loop of the solvers without step lengths: a problem's own update, as long as it lowers the objective."""

from collections.abc import Callable

import numpy as np

from cofactor.solvers.result import Problem, Result, Trace


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
