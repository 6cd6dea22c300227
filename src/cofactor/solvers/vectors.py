"""Where the vectors of a quasi-Newton method live: the point, its gradient, the direction, and the last pairs."""

from typing import Protocol

import numpy as np

from cofactor.kernels import vectors
from cofactor.solvers.linesearch import FlatLine, Line
from cofactor.solvers.result import Problem, Result, Trace, curvature_scale


class Vectors(Line, Protocol):
    """What `quasi_newton` asks of its vectors; it sees their inner products only.

    The vectors are a point x, its gradient g, the direction p, a trial x + t p with its gradient, and m pairs (s, y) of
    steps and differences of gradients. `scale` is a diagonal matrix, the guess of inverse curvatures.
    """

    @property
    def memory(self) -> int:
        """Number m of pairs."""

    def evaluate(self) -> float:
        """Evaluate the gradient at x; return the objective."""

    def rescale(self) -> float:
        """Take the scale at x; return g·scale·g."""

    def turn(self) -> None:
        """Choose other coordinates if the problem can; `evaluate` and `rescale` follow."""

    def direct(self, coefficients: np.ndarray, newest: int) -> None:
        """Set p = Σ c_k s_k + scale ∘ (Σ c_{m+k} y_k + c_{2m} g); the pair it leads to will have number `newest`."""

    def products(self) -> np.ndarray:
        """Store the pair of the trial; return its products, see `cofactor.kernels.vectors`."""

    def accept(self) -> None:
        """Make the trial the point."""

    def result(self) -> Result:
        """Return the outcome at x."""


class FlatVectors:
    """Vectors in the memory of this process.

    Parameters
    ----------
    problem : Problem
    x0 : ndarray
        The first point; it is not changed.
    memory : int
        Number of pairs.
    trace : Trace
        Evaluates, counts, and makes the result.
    """

    def __init__(self, problem: Problem, x0: np.ndarray, memory: int, trace: Trace) -> None:
        self.problem, self.memory, self.trace = problem, memory, trace
        self.x = x0.astype(problem.dtype)
        self.g, self.p, self.x_new, self.g_new = (np.empty_like(self.x) for _ in range(4))
        self.pairs = np.zeros((2 * memory, problem.size), problem.dtype)
        self.scale = np.ones(0, problem.dtype)
        self.newest = 0

    def evaluate(self) -> float:
        """Evaluate the gradient at x; return the objective."""
        return self.trace.evaluate(self.x, self.g)

    def rescale(self) -> float:
        """Take the scale at x; return g·scale·g."""
        self.scale = curvature_scale(self.problem, self.x)
        return vectors.dot(self.scale * self.g, self.g)

    def turn(self) -> None:
        """Let the problem rotate x, if it can."""
        if hasattr(self.problem, "rotate"):
            self.problem.rotate(self.x)

    def direct(self, coefficients: np.ndarray, newest: int) -> None:
        """Set p."""
        self.newest = newest
        vectors.combine(coefficients, self.pairs, self.g, self.scale, self.p)

    def move(self, t: float) -> float:
        """Try x + t p; return the objective there."""
        return self._line.move(t)

    def slope(self) -> float:
        """Return gradient·p there."""
        return self._line.slope()

    def products(self) -> np.ndarray:
        """Store the pair of the trial; return its products."""
        return vectors.products(self.x, self.x_new, self.g, self.g_new, self.pairs, self.scale, self.newest)

    def accept(self) -> None:
        """Make the trial the point."""
        self.x, self.x_new, self.g, self.g_new = self.x_new, self.x, self.g_new, self.g

    def result(self) -> Result:
        """Return the outcome at x."""
        return self.trace.result(self.x, self.g)

    @property
    def _line(self) -> FlatLine:
        return FlatLine(self.trace, self.x, self.p, self.x_new, self.g_new)
