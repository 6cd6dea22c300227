"""L-BFGS: its direction against the textbook recursion, its memory, its line search."""

import numpy as np
import pytest
from tests.together import together

from cofactor.losses import SmoothHinge
from cofactor.solvers import lbfgs
from cofactor.solvers.lbfgs import FlatVectors, _CorrectionPairs
from cofactor.solvers.linesearch import DECREASE, FlatLine, wolfe_step
from cofactor.solvers.result import Trace

from .problems import Function, factorization, quadratic, rosenbrock


def two_loops(pairs: list[tuple[np.ndarray, np.ndarray]], g: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Nocedal & Wright 2006, algorithm 7.4, with the first inverse Hessian a multiple of diag(scale)."""
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        shares.append((s @ q) / (y @ s))
        q -= shares[-1] * y
    q = scale * q
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ (scale * y))
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        q += s * (share - (y @ q) / (y @ s))
    return -q


@together("memory", [1, 2, 5])
def test_direction_is_that_of_the_two_loop_recursion(memory: int) -> None:
    """Also when the oldest pairs drop out, and when a pair without positive curvature is left out."""
    rng = np.random.default_rng(0)
    n = 40
    A = np.diag(rng.uniform(0.5, 5, n))
    scale = rng.uniform(0.2, 2, n)
    x = rng.normal(size=n)
    problem = Function(n, lambda x: (0.5 * float(x @ A @ x), A @ x))
    problem.inverse_curvatures = lambda x: scale  # type: ignore[attr-defined]
    vectors = FlatVectors(problem, x, memory, Trace(problem, 1, 0.0))
    state = _CorrectionPairs(vectors)
    vectors.evaluate()
    state.begin()
    g = A @ x
    kept: list[tuple[np.ndarray, np.ndarray] | None] = []
    for step in range(12):
        slope = state.direct()
        recent = [pair for pair in kept[-memory:] if pair is not None]
        np.testing.assert_allclose(vectors.p, two_loops(recent, g, scale), rtol=1e-9, atol=1e-11)
        assert slope == pytest.approx(float(vectors.p @ g), rel=1e-9)
        x_new = x + 0.1 * rng.normal(size=n)
        g_new = A @ x_new if step != 4 else g - (x_new - x)  # once with negative curvature
        kept.append((x_new - x, g_new - g) if step != 4 else None)
        vectors.x_new[:], vectors.g_new[:] = x_new, g_new
        state.advance()
        x, g = x_new, g_new
        assert np.array_equal(vectors.x, x)


def test_a_longer_memory_needs_fewer_iterations() -> None:
    problem, _ = quadratic(size=60, condition=1e4)
    counts = [lbfgs(problem, np.zeros(60), tol=1e-12, max_iter=5000, memory=memory).n_iter for memory in (1, 5, 30)]
    assert counts[0] > counts[1] > counts[2]


@together("memory", [1, 2, 20])
def test_any_memory_reaches_the_optimum(memory: int) -> None:
    result = lbfgs(rosenbrock(), np.array([-1.2, 1.0]), tol=0, memory=memory, max_iter=2000)
    np.testing.assert_allclose(result.x, [1, 1], atol=1e-5)


@together("memory", [0, -3])
def test_no_memory_is_refused(memory: int) -> None:
    problem, x0 = factorization(SmoothHinge())
    with pytest.raises(ValueError, match=f"memory={memory}: expected a whole number of at least 1"):
        lbfgs(problem, x0, memory=memory)


FUNCTIONS = {
    "quadratic": lambda t: ((t - 3) ** 2, 2 * (t - 3)),
    "quartic": lambda t: (t**4 - 5 * t, 4 * t**3 - 5),
    "flat, then steep": lambda t: (np.logaddexp(0, 9 * (t - 2)) - t / 10, 9 / (1 + np.exp(18 - 9 * t)) - 0.1),
    "wiggly": lambda t: (np.sin(5 * t) - t + 0.1 * t**2, 5 * np.cos(5 * t) - 1 + 0.2 * t),
}  # fmt: skip


@together("f", FUNCTIONS.values(), ids=FUNCTIONS)
@together("first", [1e-4, 0.1, 1.0, 30.0])
@together("curvature", [0.1, 0.9])
def test_steps_meet_the_wolfe_conditions(f, first: float, curvature: float) -> None:  # type: ignore[no-untyped-def]
    start = -0.4
    direction = np.array([-np.sign(f(start)[1])])
    problem = Function(1, lambda x: (f(x[0])[0], np.array([f(x[0])[1]])))
    x, x_new, g_new = np.array([start]), np.empty(1), np.empty(1)
    value, slope = f(start)[0], float(f(start)[1] * direction[0])
    line = FlatLine(Trace(problem, 10, 0.0), x, direction, x_new, g_new)
    step, found = wolfe_step(line, value, slope, first, curvature=curvature)
    assert step > 0
    assert x_new[0] == start + step * direction[0]
    assert found == f(x_new[0])[0] <= value + DECREASE * step * slope
    assert g_new[0] * direction[0] >= curvature * slope
    assert x[0] == start


def test_a_direction_without_descent_gives_step_zero() -> None:
    problem = Function(1, lambda x: (x[0] ** 2, 2 * x))
    x, x_new, g_new = np.array([1.0]), np.empty(1), np.empty(1)
    # A slope that is not the function's: no step along +1 lowers it.
    line = FlatLine(Trace(problem, 1, 0.0), x, np.array([1.0]), x_new, g_new)
    step, found = wolfe_step(line, 1.0, -2.0, 1.0)
    assert step == 0
    assert found == x_new[0] ** 2  # of the last trial


def test_coordinates_are_rotated_once_and_scaled_by_the_curvatures_there() -> None:
    """A problem that can rotate to its axes is solved in a few iterations; without that it takes hundreds."""
    rng = np.random.default_rng(0)
    n = 40
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    curvatures = np.geomspace(1, 1e4, n)
    axes = [Q]  # of the coordinates in use

    def value(x: np.ndarray) -> tuple[float, np.ndarray]:
        z = axes[-1] @ x - 1
        return 0.5 * float(z @ (curvatures * z)), axes[-1].T @ (curvatures * z)

    def turn(x: np.ndarray) -> None:
        x[:] = axes[-1] @ x
        axes.append(np.eye(n))

    plain = lbfgs(Function(n, value), np.zeros(n), tol=1e-12, max_iter=5000)
    problem = Function(n, value)
    problem.rotate = turn  # type: ignore[attr-defined]
    problem.inverse_curvatures = lambda x: 1 / curvatures if len(axes) > 1 else np.ones(n)  # type: ignore[attr-defined]
    result = lbfgs(problem, np.zeros(n), tol=1e-12)
    assert len(axes) == 2
    assert result.n_iter < 12 < 100 < plain.n_iter
    assert np.all(np.diff(result.history) <= 0)
    np.testing.assert_allclose(result.x, 1, atol=1e-6)
