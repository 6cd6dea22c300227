"""Proximal gradients against oracles for penalties without a gradient."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from sklearn.linear_model import Lasso

from cofactor.losses import Logistic
from cofactor.penalties import L1, L21, NonNegative
from cofactor.solvers import proximal_gradient

from .problems import fold_in, regression


@pytest.mark.parametrize("alpha", [0.5, 5.0, 40.0])
def test_lasso(alpha: float) -> None:
    """scikit-learn minimises 1/(2m) ‖y - Vu‖² + a ‖u‖₁: a = α/(2m)."""
    problem, V, Y = regression(L1(alpha))
    result = proximal_gradient(problem, np.zeros(problem.size), tol=1e-13, max_iter=5000)
    U = problem.arrays(result.x)["U"]
    for u, y in zip(U, Y, strict=True):
        oracle = Lasso(alpha=alpha / (2 * len(y)), fit_intercept=False, tol=1e-12, max_iter=100_000).fit(V, y)
        np.testing.assert_allclose(u, oracle.coef_, atol=1e-5)
        assert np.array_equal(u == 0, oracle.coef_ == 0)
    assert result.certificate < 1e-3


def test_a_large_penalty_gives_exactly_zero() -> None:
    """The least such weight is the largest slope at zero: 2 max |Vᵀy|."""
    _, V, Y = regression(L1())
    edge = 2 * np.abs(Y @ V).max()
    for alpha, zero in ((1.01 * edge, True), (0.99 * edge, False)):
        problem, *_ = regression(L1(alpha))
        result = proximal_gradient(problem, np.ones(problem.size), tol=1e-12, max_iter=5000)
        assert np.all(result.x == 0) == zero


def test_nonnegative_least_squares() -> None:
    problem, V, Y = regression(NonNegative())
    result = proximal_gradient(problem, np.ones(problem.size), tol=1e-14, max_iter=5000)
    U = problem.arrays(result.x)["U"]
    assert np.all(U >= 0)
    assert np.any(U == 0)
    for u, y in zip(U, Y, strict=True):
        np.testing.assert_allclose(u, nnls(V, y)[0], atol=1e-5)


def test_group_sparsity_in_closed_form() -> None:
    """With VᵀV = I each row is shrunk: u = (1 - α / (2 ‖Vᵀy‖))₊ Vᵀy."""
    _, V, Y = regression(L21(), orthonormal=True)
    plain = Y @ V
    length = np.linalg.norm(plain, axis=1, keepdims=True)
    alpha = float(np.sort(length[:, 0])[1:3].sum())  # twice the middle of the second and the third: two rows vanish
    problem, *_ = regression(L21(alpha), orthonormal=True)
    result = proximal_gradient(problem, np.zeros(problem.size), tol=1e-14, max_iter=5000)
    U = problem.arrays(result.x)["U"]
    np.testing.assert_allclose(U, np.maximum(1 - alpha / (2 * length), 0) * plain, atol=1e-6)
    assert np.sum(~U.any(axis=1)) == 2


def test_group_sparsity_against_a_general_minimiser() -> None:
    alpha = 3.0
    problem, V, Y = regression(L21(alpha))
    result = proximal_gradient(problem, np.zeros(problem.size), tol=1e-14, max_iter=5000)
    for u, y in zip(problem.arrays(result.x)["U"], Y, strict=True):

        def cost(w: np.ndarray, y: np.ndarray = y) -> float:
            return float(np.sum((y - V @ w) ** 2) + alpha * np.linalg.norm(w))

        oracle = minimize(cost, np.linalg.lstsq(V, y)[0], method="BFGS", options={"gtol": 1e-8})
        assert cost(u) <= oracle.fun + 1e-9
        np.testing.assert_allclose(u, oracle.x, atol=1e-5)


def test_sparse_logistic_fold_in_has_a_vanishing_certificate() -> None:
    """Optimality without an oracle: slope -α sign(u) where u is not 0, at most α where it is."""
    problem, _ = fold_in(Logistic(), {"U": L1(1.0)})
    result = proximal_gradient(problem, np.zeros(problem.size), tol=1e-15, max_iter=5000)
    g = np.empty_like(result.x)
    problem.value_gradient(result.x, g)
    free = result.x != 0
    assert 0 < free.sum() < free.size
    np.testing.assert_allclose(g[free], -np.sign(result.x[free]), atol=1e-4)
    assert np.all(np.abs(g[~free]) <= 1 + 1e-9)
    assert result.certificate < 1e-3


def test_accuracy_in_double_precision_is_not_lost_to_the_step_rule() -> None:
    problem, V, Y = regression(L1(5.0))
    result = proximal_gradient(problem, np.zeros(problem.size), tol=0, max_iter=5000)
    assert result.certificate < 1e-5 * np.abs(2 * Y @ V).max()


def test_a_wrong_first_step_is_put_right() -> None:
    for step in (1e-8, 1e8):
        problem, *_ = regression(L1(5.0))
        right = proximal_gradient(problem, np.zeros(problem.size), tol=1e-12, max_iter=5000)
        result = proximal_gradient(problem, np.zeros(problem.size), tol=0, step=step, max_iter=5000)
        assert result.objective == pytest.approx(right.objective, rel=1e-9)
