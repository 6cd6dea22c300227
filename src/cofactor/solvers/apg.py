"""Accelerated proximal gradients with restart, for penalties without a gradient."""

import numpy as np

from cofactor.kernels import vectors
from cofactor.solvers.result import Callback, Problem, Result, SolverMismatchError, Trace

_TINY = 1e-30  # a step so short that the proximal map only projects


def proximal_gradient(
    problem: Problem,
    x0: np.ndarray,
    *,
    max_iter: int = 2000,
    tol: float = 1e-5,
    step: float = 1.0,
    callback: Callback | None = None,
) -> Result:
    """Minimise F = f + g, f smooth, g with a proximal map: x ← prox_{tg}(z - t ∇f(z)), z extrapolated (FISTA).

    Step lengths come from backtracking on f(x) <= f(z) + ∇f(z)·(x - z) + ‖x - z‖²/(2t). When F rises, momentum is
    dropped and the step is taken again from the best point, so F never rises, also where f is not convex.

    Parameters
    ----------
    problem : Problem
        A problem whose loss has a gradient; penalties may lack one.
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
        Its certificate is the distance from -∇f to the subdifferential of g.

    Raises
    ------
    SolverMismatchError
        If the loss itself has no gradient.
    """
    loss = getattr(problem, "loss", None)
    if loss is not None and not loss.smooth:
        raise SolverMismatchError(
            f"solver 'apg' needs a smooth loss, but {type(loss).__name__} has kinks: "
            "take smooth-hinge, modified-square or logistic, which every solver takes"
        )
    trace = Trace(problem, max_iter, tol, callback)
    x = np.empty(problem.size, problem.dtype)
    # Move the start into the domain of g. A longer step would also shrink it, perhaps to 0, which factors never leave.
    problem.prox(x0.astype(problem.dtype), _TINY, x)
    g, g_new, x_new = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    smooth = trace.evaluate(x, g)
    objective = smooth + problem.nonsmooth_value(x)
    trace.start(objective)
    z, momentum = x.copy(), 1.0
    while True:
        step, value = _backtrack(trace, z, smooth, g, step, x_new, g_new)
        value += problem.nonsmooth_value(x_new)
        if value > objective and momentum > 1:  # restart from the best point without momentum
            momentum, z = 1.0, x.copy()
            smooth = trace.evaluate(z, g)
            continue
        if not value <= objective:
            trace.stop_without_step("no proximal step lowers the objective: working precision reached", value)
            break
        following = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        vectors.step(x_new, (momentum - 1) / following, x_new - x, z)
        x, x_new, objective, momentum = x_new, x, value, following
        if trace.done(objective):
            break
        smooth = trace.evaluate(z, g)
        if not np.isfinite(smooth):  # z was extrapolated beyond the domain of f
            momentum, z = 1.0, x.copy()
            smooth = trace.evaluate(z, g)
        step *= 1.1
    trace.evaluate(x, g)
    return trace.result(x, g)


def _backtrack(
    trace: Trace, z: np.ndarray, smooth: float, g: np.ndarray, step: float, x_new: np.ndarray, g_new: np.ndarray
) -> tuple[float, float]:
    """Halve the step until the quadratic model at `z` bounds f at the proximal point; return step and f there."""
    point = np.empty_like(z)
    rounding = max(1e-12, float(np.finfo(z.dtype).eps))
    while True:
        vectors.step(z, -step, g, point)
        trace.problem.prox(point, step, x_new)
        value = trace.evaluate(x_new, g_new)
        move = x_new - z
        bound = smooth + vectors.dot(g, move) + vectors.dot(move, move) / (2 * step)
        if value <= bound + rounding * abs(bound) or step < 1e-14:
            return step, value
        step *= 0.5
