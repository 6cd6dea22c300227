"""Line search for the weak Wolfe conditions, by bracketing."""

import numpy as np

from cofactor.kernels import vectors
from cofactor.solvers.result import Trace

#: A step must lower the objective by this share of what the slope promises (Nocedal & Wright 2006, section 3.1).
DECREASE = 1e-4


def wolfe_step(
    trace: Trace,
    x: np.ndarray,
    objective: float,
    slope: float,
    direction: np.ndarray,
    first: float,
    x_new: np.ndarray,
    g_new: np.ndarray,
    *,
    curvature: float = 0.9,
    max_evaluations: int = 20,
) -> tuple[float, float]:
    """Find a step t with J(x + t p) <= J(x) + 1e-4 t s and a slope there of at least `curvature` times s < 0.

    A step that is too long shrinks to the minimiser of a parabola through the known values; one that is too short
    doubles. The new point and its gradient are written.

    Parameters
    ----------
    trace : Trace
        Evaluates and counts.
    x, objective, slope, direction
        The point, its objective, its slope s = gradient·p along the direction p.
    first : float
        The first step to try.
    x_new, g_new : ndarray
        Receive the new point and its gradient.
    curvature : float, default=0.9
        0.9 for quasi-Newton directions, 0.1 for conjugate gradients.
    max_evaluations : int, default=20
        After so many trials the last one that lowered the objective enough is taken.

    Returns
    -------
    step, objective : float
        The step, 0 if no trial lowered the objective enough, and the objective at the new point, which is then that of
        the last trial.
    """
    low, high, t = 0.0, np.inf, first
    for _ in range(max_evaluations):
        vectors.step(x, t, direction, x_new)
        value = trace.evaluate(x_new, g_new)
        if not value <= objective + DECREASE * t * slope:  # also where value is NaN or infinite
            high = t
            t = _parabola(low, high, objective, slope, value)
        elif vectors.dot(g_new, direction) < curvature * slope:
            low = t
            t = 2 * t if np.isinf(high) else 0.5 * (low + high)
        else:
            return t, value
        if np.isfinite(high) and high - low <= 1e-12 * high:
            break
    if low > 0:
        vectors.step(x, low, direction, x_new)
        return low, trace.evaluate(x_new, g_new)
    return 0.0, value


def _parabola(low: float, high: float, objective: float, slope: float, value: float) -> float:
    """Return the minimiser of the parabola with the value and slope at 0 and the value at `high`, in the bracket."""
    if low > 0 or not np.isfinite(value):
        return 0.5 * (low + high) if np.isfinite(value) else low + 0.1 * (high - low)
    curvature = value - objective - slope * high
    t = -0.5 * slope * high * high / curvature if curvature > 0 else 0.5 * high
    return float(np.clip(t, 0.1 * high, 0.5 * high))
