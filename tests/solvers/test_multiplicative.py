"""Descent by a problem's own updates: the trace, the better iterate, guards."""

import numpy as np

from cofactor.solvers.descent import repeat_updates, scale_by_ratio
from cofactor.solvers.result import Progress

from .problems import Function


class NonNegativeRegression(Function):
    """‖Aw - b‖² over w >= 0 for A, b >= 0, whose multiplicative update is w ← w ∘ Aᵀb / AᵀAw."""

    def __init__(self, A: np.ndarray, b: np.ndarray) -> None:
        super().__init__(A.shape[1], lambda w: (float(np.sum((A @ w - b) ** 2)), 2 * A.T @ (A @ w - b)))
        self.A, self.b = A, b
        self.updates = 0

    def update(self, x: np.ndarray) -> None:
        self.updates += 1
        scale_by_ratio(x, self.A.T @ self.b, self.A.T @ (self.A @ x))


class Overshooting(Function):
    """x², whose update halves x twice and then runs away."""

    def __init__(self) -> None:
        super().__init__(1, lambda x: (float(x[0] ** 2), 2 * x))
        self.updates = 0

    def update(self, x: np.ndarray) -> None:
        self.updates += 1
        x *= 0.5 if self.updates <= 2 else -3


def regression(seed: int = 0) -> tuple[NonNegativeRegression, np.ndarray]:
    rng = np.random.default_rng(seed)
    A, w = rng.random((30, 5)), rng.random(5)
    return NonNegativeRegression(A, A @ w), w


def test_the_minimiser_is_found() -> None:
    problem, w = regression()
    x0 = np.ones(5)
    seen: list[Progress] = []
    result = repeat_updates(problem, x0, max_iter=20_000, tol=1e-12, callback=seen.append)
    np.testing.assert_allclose(result.x, w, atol=1e-4)
    assert np.array_equal(x0, np.ones(5))
    assert np.all(np.diff(result.history) <= 0)
    assert [p.objective for p in seen] == result.history[1:]
    assert result.certificate < 1e-3


def test_a_fixed_number_of_updates() -> None:
    problem, _ = regression()
    result = repeat_updates(problem, np.ones(5), max_iter=17, tol=0)
    assert result.n_iter == problem.updates == 17
    assert not result.converged


def test_an_update_that_raises_the_objective_is_taken_back() -> None:
    result = repeat_updates(Overshooting(), np.array([8.0]), max_iter=50)
    assert result.x == 2
    assert result.history == [64, 16, 4]
    assert result.certificate == 4  # of the point returned
    assert not result.converged  # 4 to 36 is no rounding


def test_zeros_and_vanishing_denominators() -> None:
    A = np.array([0.0, 2.0, 2.0, 2.0])
    scale_by_ratio(A, np.array([5.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 3.0, 4.0]))
    np.testing.assert_array_equal(A, [0, 0, 0, 0.5])
