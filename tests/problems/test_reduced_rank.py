"""Low-rank regression in principal coordinates: formula, gradient, exact updates."""

import numpy as np
import pytest
from tests.together import together

from cofactor.problems import Layout
from cofactor.problems.lowrank import ReducedRankProblem
from cofactor.solvers import alternating_least_squares, lbfgs

from ..losses.reference import gradient

N, D, L, RANK, ALPHA = 12, 6, 4, 3, 0.3


def setting(d: int = RANK) -> tuple[ReducedRankProblem, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, D)), (rng.random((N, L)) < 0.4).astype(float)
    P, s, Qt = np.linalg.svd(X, full_matrices=False)
    T = P.T @ Y
    return ReducedRankProblem(s, T, np.sum(Y**2) - np.sum(T**2), d, ALPHA), X, Y, Qt.T


def test_objective_is_that_of_the_features_and_its_gradient_is_right() -> None:
    problem, X, Y, Q = setting()
    x = np.random.default_rng(1).normal(size=problem.size)
    arrays, g = problem.layout.views(x), np.empty(problem.size)
    U, V = Q @ arrays["A"], arrays["V"]
    expected = 0.5 * np.sum((Y - X @ U @ V) ** 2) + 0.5 * ALPHA * (np.sum(U**2) + np.sum(V**2))
    assert problem.value_gradient(x, g) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(g, gradient(lambda z: problem.value_gradient(z, np.empty_like(z)), x), atol=1e-7)


@together("rows", [True, False])
def test_updates_are_exact(rows: bool) -> None:
    problem, *_ = setting()
    x = np.random.default_rng(1).normal(size=problem.size)
    start, g = x.copy(), np.empty(problem.size)
    (problem.update_rows if rows else problem.update_columns)(x)
    problem.value_gradient(x, g)
    own, other = ("A", "V") if rows else ("V", "A")
    assert np.abs(problem.layout.views(g)[own]).max() < 1e-12
    assert np.abs(problem.layout.views(g)[other]).max() > 0.1
    assert np.array_equal(problem.layout.views(x)[other], problem.layout.views(start)[other])


@together("d", [1, 3, 9])
def test_no_update_raises_the_objective_and_lbfgs_finds_the_same(d: int) -> None:
    problem, *_ = setting(d)
    x, g = problem.start(), np.empty(problem.size)
    values = [problem.value_gradient(x, g)]
    for _ in range(300):
        for update in (problem.update_rows, problem.update_columns):
            update(x)
            values.append(problem.value_gradient(x, g))
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    other = lbfgs(problem, np.random.default_rng(2).normal(size=problem.size), tol=1e-14, max_iter=5000)
    assert other.objective == pytest.approx(values[-1], rel=1e-8)


def test_all_components_are_the_trace_norm() -> None:
    """At the minimum of f(W) + λ‖W‖_* -∇f is λ p qᵀ along W's singular pairs, and no larger elsewhere."""
    problem, X, Y, Q = setting(L)
    layout = Layout({"A": (D, L), "V": (L, L)})
    result = alternating_least_squares(problem, problem.start(), tol=1e-15, max_iter=50000)
    arrays = layout.views(result.x)
    W = Q @ arrays["A"] @ arrays["V"]
    slope = X.T @ (Y - X @ W)
    left, sizes, right = np.linalg.svd(W, full_matrices=False)
    assert np.linalg.norm(slope, 2) < ALPHA * (1 + 1e-4)
    kept = sizes > 1e-3
    np.testing.assert_allclose(left[:, kept].T @ slope @ right[kept].T, ALPHA * np.eye(kept.sum()), atol=1e-4)
    value = 0.5 * np.sum((Y - X @ W) ** 2) + ALPHA * sizes.sum()
    assert result.objective == pytest.approx(value, rel=1e-6)


def test_a_heavy_penalty_leaves_nothing() -> None:
    problem, X, Y, _ = setting()
    heavy = ReducedRankProblem(problem._s[:, 0], problem._T, problem._remainder, RANK, 100.0)
    assert np.linalg.norm(X.T @ Y, 2) < 100
    result = alternating_least_squares(heavy, heavy.start(), tol=1e-12, max_iter=500)
    assert result.objective == pytest.approx(0.5 * np.sum(Y**2), rel=1e-6)
