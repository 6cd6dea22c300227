"""Limited-memory BFGS, with the two-loop recursion carried out on a small matrix of inner products."""

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.solvers.linesearch import wolfe_step
from cofactor.solvers.result import Callback, Problem, Result, Trace, require_smooth
from cofactor.solvers.vectors import FlatVectors, Vectors

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
    pairs = _Pairs(vectors)
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


class _Pairs:
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
