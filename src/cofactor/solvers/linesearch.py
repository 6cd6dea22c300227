"""Line search for the weak Wolfe conditions, by bracketing."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cofactor.kernels import vectors
from cofactor.solvers.result import Trace

#: A step must lower the objective by this share of what the slope promises (Nocedal & Wright 2006, section 3.1).
DECREASE = 1e-4


class Line(Protocol):
    """An objective along a direction p from a point x."""

    def move(self, t: float) -> float:
        """Go to x + t p; return the objective there."""

    def slope(self) -> float:
        """Return gradient·p there."""


@dataclass
class FlatLine:
    """A line of flat vectors.

    Attributes
    ----------
    trace : Trace
        Evaluates and counts.
    x, direction : ndarray
        The point x and the direction p.
    x_new, g_new : ndarray
        Receive the new point and its gradient.
    """

    trace: Trace
    x: np.ndarray
    direction: np.ndarray
    x_new: np.ndarray
    g_new: np.ndarray

    def move(self, t: float) -> float:
        """Write x + t p and the gradient there; return the objective."""
        vectors.step(self.x, t, self.direction, self.x_new)
        return self.trace.evaluate(self.x_new, self.g_new)

    def slope(self) -> float:
        """Return gradient·p there."""
        return vectors.dot(self.g_new, self.direction)


def wolfe_step(
    line: Line, objective: float, slope: float, first: float, *, curvature: float = 0.9, max_evaluations: int = 20
) -> tuple[float, float]:
    """Find a step t with J(x + t p) <= J(x) + 1e-4 t s and a slope there of at least `curvature` times s < 0.

    A step that is too long shrinks to the minimiser of a parabola through the known values; one that is too short
    doubles. The line is left at the new point.

    Parameters
    ----------
    line : Line
        The objective along p.
    objective, slope : float
        The objective at x, and its slope s = gradient·p.
    first : float
        The first step to try.
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
        value = line.move(t)
        if not value <= objective + DECREASE * t * slope:  # also where value is NaN or infinite
            high = t
            t = _parabola(low, high, objective, slope, value)
        elif line.slope() < curvature * slope:
            low = t
            t = 2 * t if np.isinf(high) else 0.5 * (low + high)
        else:
            return t, value
        if np.isfinite(high) and high - low <= 1e-12 * high:
            break
    if low > 0:
        return low, line.move(low)
    return 0.0, value


def _parabola(low: float, high: float, objective: float, slope: float, value: float) -> float:
    """Return the minimiser of the parabola with the value and slope at 0 and the value at `high`, in the bracket."""
    if low > 0 or not np.isfinite(value):
        return 0.5 * (low + high) if np.isfinite(value) else low + 0.1 * (high - low)
    curvature = value - objective - slope * high
    t = -0.5 * slope * high * high / curvature if curvature > 0 else 0.5 * high
    return float(np.clip(t, 0.1 * high, 0.5 * high))
