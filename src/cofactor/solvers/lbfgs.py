"""Limited-memory BFGS, with the two-loop recursion carried out on a small matrix of inner products.

The point, its gradient, the direction and the last pairs live where the problem has them. Many small convex problems
are solved at a time: their arrays are the rows of larger ones.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.kernels import vectors
from cofactor.solvers.linesearch import FlatLine, Line, wolfe_step
from cofactor.solvers.result import Callback, Problem, Result, Trace, curvature_scale, require_smooth


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


#: Iteration after which the problem may choose other coordinates, and is asked for its curvatures again: the first
#: steps from a random start show which directions matter. On MovieLens 100K L-BFGS then takes 24 iterations, not 38.
_ROTATE_AFTER = 3


def lbfgs(
    problem: Problem,
    x0: np.ndarray,
    *,
    max_iter: int = 500,
    tol: float = 1e-5,
    memory: int | None = None,
    callback: Callback | None = None,
) -> Result:
    """Minimise a smooth problem by limited-memory BFGS with a weak Wolfe line search.

    The direction is a combination of the 2·memory + 1 stored vectors; its coefficients follow from their inner
    products (Nocedal & Wright 2006, algorithm 7.4, in the form of Chen, Wang & Zhou 2014). So an iteration reads the
    stored vectors twice: once for the new inner products, once for the combination. If the problem has
    `inverse_curvatures`, the recursion starts from a multiple of the diagonal matrix D of these. They are computed at
    the start, and again after three iterations, once the problem's `rotate` has chosen other coordinates.

    Parameters
    ----------
    problem : Problem
        A problem with a gradient everywhere.
    x0 : ndarray
        Starting point; it is not changed.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-5
        Converged when the objective fell by less than this share of itself per iteration over five iterations.
    memory : int, optional
        Number of stored pairs (step, difference of gradients); by default 4, or 2 where the problem has
        `inverse_curvatures`: on MovieLens 100K more pairs then save hardly any iterations, and each makes all slower.
    callback : callable, optional
        Called with a `Progress` after every iteration.

    Returns
    -------
    Result

    Raises
    ------
    SolverMismatchError
        If the problem is not smooth.
    ValueError
        If `memory` is not positive.
    """
    if memory is None:
        memory = 2 if hasattr(problem, "inverse_curvatures") else 4
    if memory < 1:
        raise InvalidInputError(
            "expected a whole number of at least 1 (5 to 10 is usual)", argument="memory", found=memory
        )
    require_smooth(problem, "lbfgs")
    trace = Trace(problem, max_iter, tol, callback)
    return quasi_newton(FlatVectors(problem, x0, memory, trace), trace)


def quasi_newton(vectors: Vectors, trace: Trace) -> Result:
    """Carry out L-BFGS on vectors which may live anywhere, see `lbfgs`.

    Parameters
    ----------
    vectors : Vectors
        At the starting point.
    trace : Trace
        A new trace; it holds the stopping rule.

    Returns
    -------
    Result
    """
    pairs = _CorrectionPairs(vectors)
    objective = vectors.evaluate()
    trace.start(objective)
    pairs.begin()
    while True:
        slope = pairs.direct()
        if not slope < 0:
            trace.stop_without_step("the gradient is zero to working precision", slope)
            break
        t, value = wolfe_step(vectors, objective, slope, 1.0)
        if t == 0:
            if pairs.order:  # the stored pairs may be misleading: start again from the gradient
                pairs.order.clear()
                continue
            trace.stop_without_step("no step along the gradient lowers the objective: working precision reached", value)
            break
        objective = value
        pairs.advance()
        if trace.done(objective):
            break
        if trace.n_iter == _ROTATE_AFTER:
            vectors.turn()
            objective = min(objective, vectors.evaluate())  # they differ by rounding at most
            pairs.begin()
    return vectors.result()


class _CorrectionPairs:
    """Inner products of the last steps s (rows 0..m-1), differences y of gradients (m..2m-1), and the gradient (2m).

    They are plain where a step is involved and weighted by the scale otherwise; `order` lists the pairs in use, oldest
    first.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.vectors, self.memory = vectors, vectors.memory
        self.order: list[int] = []
        self._newest = 0
        self.inner = np.zeros((2 * self.memory + 1, 2 * self.memory + 1))

    def begin(self) -> None:
        """Forget all pairs and take a new scale; the gradient must be that at the point."""
        self.order.clear()
        self.inner[-1, -1] = self.vectors.rescale()

    def advance(self) -> None:
        """Move to the new point; the new pair replaces the oldest one, and is used if its curvature is positive."""
        m, k = self.memory, self._newest
        if k in self.order:
            self.order.remove(k)
        rows = [k, m + k, 2 * m]
        columns = self.vectors.products()
        self.vectors.accept()
        self.inner[:, rows] = columns
        self.inner[rows, :] = columns.T
        self.inner[k, m:] = columns[m:, 0]
        if self.inner[k, m + k] > 1e-10 * self.inner[m + k, m + k] > 0:
            self.order.append(k)
        self._newest = (k + 1) % m

    def direct(self) -> float:
        """Set the quasi-Newton direction; return its slope."""
        coefficients = self._two_loops()
        self.vectors.direct(coefficients, self._newest)
        return float(coefficients @ self.inner[-1])

    def _two_loops(self) -> np.ndarray:
        """Return the coefficients of the direction: in the steps, and in scale times the other vectors."""
        m, B = self.memory, self.inner
        c = np.zeros(2 * m + 1)
        c[2 * m] = -1.0
        shares = {}
        for k in reversed(self.order):
            shares[k] = (B[k] @ c) / B[k, m + k]
            c[m + k] -= shares[k]
        if self.order:
            k = self.order[-1]
            c *= B[k, m + k] / B[m + k, m + k]
        for k in self.order:
            c[k] += shares[k] - (B[m + k] @ c) / B[k, m + k]
        return c


Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MEMORY = 8  #: steps and changes of gradients that are kept
_MOST_HALVES = 40
_TINY = float(np.finfo(np.float64).tiny)
_ROUNDING = 1e-14  #: share of an objective that its rounding errors may be


class ManyProblems(Protocol):
    """B smooth convex problems of p parameters each."""

    def evaluate(self, theta: Floats, which: Indices) -> tuple[Floats, Floats]:
        """Return objectives (b,) and gradients (b, p) of some of the problems, whose points are the rows of `theta`."""

    def scaled(self, gradient: Floats, which: Indices) -> Floats:
        """Return positive definite guesses of the inverse Hessians of some problems times the rows of `gradient`."""


def lbfgs_each(
    problem: ManyProblems, theta: Floats, *, max_iter: int = 500, tol: float = 1e-10, rounding: float = _ROUNDING
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Minimise each of many problems by limited-memory BFGS with backtracking.

    An iteration is an evaluation of those problems that are not solved yet, which is a few products of matrices for all
    of them. `lbfgs` is for one large problem.

    Parameters
    ----------
    problem : ManyProblems
    theta : ndarray of shape (B, p)
        Starting points, a row for each problem; not changed.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-10
        A problem is solved when its next step promises to lower the objective by less than half this share of what it
        was at the start.
    rounding : float, default=1e-14
        Share of an objective that its rounding errors may be: by so much it may rise.

    Returns
    -------
    theta : ndarray of shape (B, p)
        Minimisers.
    value : ndarray of shape (B,)
        Minima.
    solved : ndarray of shape (B,), bool
        Whether a problem was solved within `max_iter` iterations, or to working precision.

    Notes
    -----
    The objective of no problem ever rises. No problem looks at another, so results do not depend on which problems are
    solved together, if what `problem` returns for each does not; where it multiplies matrices, they differ by rounding.
    """
    theta, which = theta.copy(), np.arange(len(theta))
    value, gradient = problem.evaluate(theta, which)
    at, found, enough = theta.copy(), value.copy(), tol * np.abs(value)
    pairs: list[tuple[Floats, Floats, Floats]] = []
    still = np.zeros(len(theta), dtype=np.int64)  # for how many iterations a problem has not moved
    for k in range(max_iter + 1):
        direction = _direction(problem, which, gradient, pairs)
        slope = np.einsum("bp,bp->b", direction, gradient)
        going = (-slope > enough[which]) & (still <= _MEMORY)  # after so many, each would be the same
        theta[which], found[which] = at, value
        if not going.all():
            which, at, value, gradient = which[going], at[going], value[going], gradient[going]
            direction, slope, still = direction[going], slope[going], still[going]
            pairs = [(step[going], change[going], rho[going]) for step, change, rho in pairs]
        if not len(which) or k == max_iter:
            break
        new, new_value, new_gradient = _lowered(problem, which, at, value, gradient, direction, slope, rounding)
        step, change = new - at, new_gradient - gradient
        still = np.where(step.any(axis=1), 0, still + 1)
        inner = np.einsum("bp,bp->b", step, change)
        curved = inner > _TINY  # without curvature it does not count
        rho = np.divide(1.0, inner, out=np.zeros_like(inner), where=curved)
        pairs = [*pairs[1 - _MEMORY :], (step, change, rho)]
        at, value, gradient = new, new_value, new_gradient
    solved = np.ones(len(theta), dtype=bool)
    solved[which] = False
    return theta, found, solved


def _direction(
    problem: ManyProblems, which: Indices, gradient: Floats, pairs: list[tuple[Floats, Floats, Floats]]
) -> Floats:
    """Return the directions of the two-loop recursion (Nocedal & Wright 2006, algorithm 7.4)."""
    found, shares = -gradient, []
    for step, change, rho in reversed(pairs):
        shares.append((rho * np.einsum("bp,bp->b", step, found))[:, None])
        found = found - shares[-1] * change
    found = problem.scaled(found, which)
    for (step, change, rho), share in zip(pairs, reversed(shares), strict=True):
        found = found + (share - (rho * np.einsum("bp,bp->b", change, found))[:, None]) * step
    return found


def _lowered(
    problem: ManyProblems,
    which: Indices,
    at: Floats,
    value: Floats,
    gradient: Floats,
    direction: Floats,
    slope: Floats,
    rounding: float,
) -> tuple[Floats, Floats, Floats]:
    """Return points along the directions where objectives are lower, with these and gradients; else where they were."""
    new, length = at + direction, np.ones(len(at))
    new_value, new_gradient = problem.evaluate(new, which)
    slack = rounding * np.abs(value)
    for _ in range(_MOST_HALVES):
        worse = np.flatnonzero(~(new_value <= value + 1e-4 * length * slope + slack))
        if not len(worse):
            return new, new_value, new_gradient
        length[worse] /= 2
        new[worse] = at[worse] + length[worse, None] * direction[worse]
        new_value[worse], new_gradient[worse] = problem.evaluate(new[worse], which[worse])
    new[worse], new_value[worse], new_gradient[worse] = at[worse], value[worse], gradient[worse]
    return new, new_value, new_gradient
