"""Many problems at a time: quadratics with known minimisers, and steps that would go too far."""

import numpy as np

from cofactor.solvers.newton_each import Evaluated, newton_each


class Quadratics:
    """Half of x·A x - b·x, for a positive definite A and a row b for each problem."""

    def __init__(self, A: np.ndarray, B: np.ndarray) -> None:
        self.A, self.B = A, B

    def evaluate(self, theta: np.ndarray) -> Evaluated:
        product = theta @ self.A
        return Evaluated(np.sum(theta * (product / 2 - self.B), axis=1), product - self.B, None)

    def product(self, curvature: None, direction: np.ndarray) -> np.ndarray:
        return direction @ self.A

    def scaled(self, curvature: None, gradient: np.ndarray) -> np.ndarray:
        return gradient / np.diag(self.A)


class Softened:
    """Sums of √(1 + (x - c)²), whose full Newton steps lead away from c beyond a distance of 1."""

    def __init__(self, centres: np.ndarray) -> None:
        self.centres = centres

    def evaluate(self, theta: np.ndarray) -> Evaluated:
        gap = theta - self.centres
        root = np.sqrt(1 + gap**2)
        return Evaluated(root.sum(axis=1), gap / root, root**-3)

    def product(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        return curvature * direction

    def scaled(self, curvature: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        return gradient / curvature


def test_quadratics_with_known_minimisers() -> None:
    rng = np.random.default_rng(0)
    root, known = rng.normal(size=(6, 6)), rng.normal(size=(4, 6))
    A = root @ root.T + np.eye(6)
    theta, value, solved = newton_each(Quadratics(A, known @ A), np.zeros((4, 6)))
    assert solved.all()
    np.testing.assert_allclose(theta, known, atol=1e-4)
    np.testing.assert_allclose(value, -np.sum(known * (known @ A), axis=1) / 2, rtol=1e-9)


def test_steps_that_go_too_far_are_cut() -> None:
    """Each problem has its own step: one starts at its minimiser, others far away."""
    centres = np.array([[0.0, 0.0], [3.0, -2.0], [30.0, 0.5]])
    theta, value, solved = newton_each(Softened(centres), np.zeros((3, 2)))
    assert solved.all()
    np.testing.assert_allclose(theta, centres, atol=1e-4)
    np.testing.assert_allclose(value, 2, atol=1e-9)


def test_a_limit_of_steps_is_told() -> None:
    _, _, solved = newton_each(Softened(np.array([[0.0], [30.0]])), np.zeros((2, 1)), max_iter=1)
    assert solved.tolist() == [True, False]
