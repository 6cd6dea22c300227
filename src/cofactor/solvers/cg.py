"""Nonlinear conjugate gradients."""

import numpy as np

from cofactor.kernels import vectors
from cofactor.solvers.linesearch import wolfe_step
from cofactor.solvers.result import Callback, Problem, Result, Trace, require_smooth


def conjugate_gradient(
    problem: Problem,
    x0: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Result:
    """Minimise a smooth problem by nonlinear conjugate gradients (Polak–Ribière with restart, PR+).

    p_{k+1} = -g_{k+1} + max(0, g_{k+1}·(g_{k+1} - g_k) / ‖g_k‖²) p_k (Nocedal & Wright 2006, section 5.2). It keeps
    four vectors, the least of all solvers here, and takes more evaluations than L-BFGS.

    Parameters
    ----------
    problem : Problem
        A problem with a gradient everywhere.
    x0 : ndarray
        Starting point; it is not changed.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-5
        Converged when the objective fell by less than this share of itself per iteration over five iterations.
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
    require_smooth(problem, "cg")
    trace = Trace(problem, max_iter, tol, callback)
    x, g = x0.astype(problem.dtype), np.empty(problem.size, problem.dtype)
    x_new, g_new = np.empty_like(x), np.empty_like(x)
    objective = trace.evaluate(x, g)
    trace.start(objective)
    p, slope, steepest = -g, -vectors.dot(g, g), True
    first = min(1.0, 1.0 / np.sqrt(-slope)) if slope < 0 else 0.0
    while True:
        if not slope < 0:
            trace.stop("the gradient is zero to working precision", converged=True)
            break
        t, objective = wolfe_step(trace, x, objective, slope, p, first, x_new, g_new, curvature=0.1)
        squared = vectors.dot(g, g)
        if t == 0:
            if not steepest:
                p, slope, first, steepest = -g, -squared, 1.0 / np.sqrt(squared), True
                continue
            trace.stop("no step along the gradient lowers the objective: working precision reached", converged=True)
            break
        beta = max(0.0, (vectors.dot(g_new, g_new) - vectors.dot(g_new, g)) / squared)
        before = t * slope
        steepest = beta == 0
        p = -g_new if steepest else beta * p - g_new
        p = p.astype(problem.dtype, copy=False)
        x, x_new, g, g_new = x_new, x, g_new, g
        slope = vectors.dot(g, p)
        if slope >= 0:
            p, slope, steepest = -g, -vectors.dot(g, g), True
        first = before / slope if slope < 0 else 0.0  # the same first-order decrease as the last step
        if trace.done(objective):
            break
    return trace.result(x, g)
