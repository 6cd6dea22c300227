"""Gradient descent, the solver of the papers, and nonlinear conjugate gradients."""

import numpy as np

from cofactor.kernels import vectors
from cofactor.solvers.linesearch import DECREASE, FlatLine, wolfe_step
from cofactor.solvers.result import Callback, Problem, Result, Trace, curvature_scale, require_smooth


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


def conjugate_gradient(
    problem: Problem,
    x0: np.ndarray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Result:
    """Minimise a smooth problem by nonlinear conjugate gradients (Polak–Ribière with restart, PR+).

    p_{k+1} = -D g_{k+1} + max(0, g_{k+1}·D (g_{k+1} - g_k) / g_k·D g_k) p_k (Nocedal & Wright 2006, section 5.2), where
    D = diag(`inverse_curvatures`) of the problem if it has them. It takes more evaluations than L-BFGS and less memory.

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
    scale = curvature_scale(problem, x)
    p, steepest = -scale * g, True
    slope = vectors.dot(g, p)
    first = 1.0
    while True:
        if not slope < 0:
            trace.stop_without_step("the gradient is zero to working precision", slope)
            break
        t, value = wolfe_step(FlatLine(trace, x, p, x_new, g_new), objective, slope, first, curvature=0.1)
        scaled = scale * g
        if t == 0:
            if not steepest:
                p, slope, first, steepest = -scaled, -vectors.dot(g, scaled), 1.0, True
                continue
            trace.stop_without_step("no step along the gradient lowers the objective: working precision reached", value)
            break
        objective = value
        scaled_new = scale * g_new
        beta = max(0.0, (vectors.dot(g_new, scaled_new) - vectors.dot(g_new, scaled)) / vectors.dot(g, scaled))
        before = t * slope
        steepest = beta == 0
        p = -scaled_new if steepest else (beta * p - scaled_new).astype(problem.dtype, copy=False)
        x, x_new, g, g_new = x_new, x, g_new, g
        slope = vectors.dot(g, p)
        if slope >= 0:
            p, steepest = -scaled_new, True
            slope = vectors.dot(g, p)
        first = before / slope if slope < 0 else 0.0  # the same first-order decrease as the last step
        if trace.done(objective):
            break
    return trace.result(x, g)
