"""GroPLE's embedding of labels, (6.1): value and gradient from the formula, exact and monotone steps."""

import cvxpy as cp
import numpy as np
import pytest
from tests.together import together

from cofactor.penalties import L21, GroupL21
from cofactor.problems.regression import GroupEmbeddingProblem
from cofactor.solvers.descent import repeat_updates

from ..losses.reference import gradient

N, L, d = 20, 7, 3
SIZES = np.array([2, 1, 4])
ALPHA_U, ALPHA_V = 0.3, 2.0


def signs(seed: int = 0) -> np.ndarray:
    """Return labels of rank 3 with some noise."""
    rng = np.random.default_rng(seed)
    return np.sign(rng.normal(size=(N, d)) @ rng.normal(size=(d, L)) + 0.5 * rng.normal(size=(N, L)))


def setting(inner_steps: int = 10, n_factors: int = d) -> tuple[GroupEmbeddingProblem, np.ndarray, np.ndarray]:
    Y = signs()
    problem = GroupEmbeddingProblem(Y.T @ Y, n_factors, ALPHA_U, ALPHA_V, SIZES, inner_steps)
    return problem, Y, np.random.default_rng(1).normal(size=problem.size)


def formula(Y: np.ndarray, U: np.ndarray, V: np.ndarray) -> float:
    groups = np.split(V, np.cumsum(SIZES)[:-1], axis=1)
    rows = sum(np.linalg.norm(G, axis=1).sum() for G in groups)
    return float(np.sum((Y - U @ V) ** 2) + ALPHA_U * np.sum(U**2) + ALPHA_V * rows)


def total(problem: GroupEmbeddingProblem, x: np.ndarray) -> float:
    return problem.value_gradient(x, np.empty_like(x)) + problem.nonsmooth_value(x)


def test_objective_and_gradient() -> None:
    problem, Y, x = setting()
    W, V = x[: L * d].reshape(L, d), x[L * d :].reshape(d, L)
    assert total(problem, x) == pytest.approx(formula(Y, Y @ W, V), rel=1e-12)
    g = np.empty_like(x)
    problem.value_gradient(x, g)
    numeric = gradient(lambda z: problem.value_gradient(z, np.empty_like(z)), x)
    np.testing.assert_allclose(g, numeric, rtol=1e-5, atol=1e-4)


def test_the_penalty_is_that_of_each_group() -> None:
    V = np.random.default_rng(0).normal(size=(d, L))
    V[1, 2] = 0
    G = np.random.default_rng(1).normal(size=(d, L))
    grouped, row = GroupL21(1.5, SIZES), L21(1.5)
    parts = [(V[:, a:b], G[:, a:b]) for a, b in ((0, 2), (2, 3), (3, 7))]
    assert grouped.value(V) == pytest.approx(sum(row.value(A) for A, _ in parts))
    np.testing.assert_allclose(grouped.prox(V, 0.6), np.hstack([row.prox(A, 0.6) for A, _ in parts]))
    assert grouped.distance(V, G) == pytest.approx(np.linalg.norm([row.distance(A, H) for A, H in parts]))
    assert grouped.lengths(V).shape == (d, 3)


def test_update_solves_both_convex_problems() -> None:
    """With many inner steps: V is cvxpy's, up to the factors' scales, and U the ridge solution (6.3)."""
    problem, Y, x = setting(inner_steps=5000)
    U = Y @ x[: L * d].reshape(L, d)
    V = cp.Variable((d, L))
    ends = np.cumsum(SIZES)
    rows = sum(cp.sum(cp.norm(V[:, b - k : b], 2, axis=1)) for b, k in zip(ends, SIZES, strict=True))
    cost = cp.sum_squares(Y - U @ V) + ALPHA_V * rows
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    problem.update(x)
    W, found = x[: L * d].reshape(L, d), x[L * d :].reshape(d, L)
    scale = found[:, :1] / V.value[:, :1]
    assert np.all(scale > 0)
    np.testing.assert_allclose(found / scale, V.value, atol=2e-3)
    ridge = Y @ found.T @ np.linalg.inv(found @ found.T + ALPHA_U * np.eye(d))
    np.testing.assert_allclose(Y @ W, ridge, atol=1e-10)


def test_the_scales_of_factors_are_the_best() -> None:
    """No rescaling (c U_j, V_j / c) of a factor lowers J after the third part of an update."""
    problem, Y, x = setting()
    W, V = x[: L * d].reshape(L, d), x[L * d :].reshape(d, L)
    V = problem._balanced(W, V)
    scale = V[:, 0] / x[L * d :].reshape(d, L)[:, 0]
    U = Y @ W / scale
    best = formula(Y, U, V)
    assert best < formula(Y, Y @ W, x[L * d :].reshape(d, L))
    for j in range(d):
        for c in (0.9, 0.999, 1.001, 1.1):
            s = np.ones(d)
            s[j] = c
            assert formula(Y, U * s, V / s[:, None]) > best


@together("inner_steps", [1, 2, 10])
@together("n_factors", [1, 3, 30])
def test_no_update_raises_the_objective(inner_steps: int, n_factors: int) -> None:
    problem, _, x = setting(inner_steps, n_factors)
    objectives = [total(problem, x)]
    for _ in range(30):
        problem.update(x)
        objectives.append(total(problem, x))
    assert np.all(np.diff(objectives) <= 1e-9 * objectives[0])
    assert objectives[-1] < (0.8 if n_factors == 1 else 0.5) * N * L  # J at 0


def test_minimum_is_stationary() -> None:
    problem, _, x = setting()
    result = repeat_updates(problem, problem.start(x[L * d :].reshape(d, L)), max_iter=5000, tol=1e-14)
    g = np.empty_like(x)
    problem.value_gradient(result.x, g)
    assert result.certificate < 1e-3
    assert np.all(np.diff(result.history) <= 0)


def test_a_large_penalty_removes_everything() -> None:
    Y = signs()
    problem = GroupEmbeddingProblem(Y.T @ Y, d, 1e3, 1e3, SIZES)
    x = problem.start(np.random.default_rng(0).normal(size=(d, L)))
    for _ in range(20):
        problem.update(x)
    assert not x.any()
    assert total(problem, x) == pytest.approx(N * L)
