"""Many problems at a time: quadratics with known minimisers, and steps that would go too far."""

import numpy as np

from cofactor.solvers.lbfgs import lbfgs_each


class Quadratics:
    """Half of x·A x - b·x, for a positive definite A and a row b for each problem."""

    def __init__(self, A: np.ndarray, B: np.ndarray) -> None:
        self.A, self.B = A, B

    def evaluate(self, theta: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        product = theta @ self.A
        return np.sum(theta * (product / 2 - self.B[which]), axis=1) + 10, product - self.B[which]

    def scaled(self, gradient: np.ndarray, which: np.ndarray) -> np.ndarray:
        return gradient / np.diag(self.A)


class Softened:
    """Sums of √(1 + (x - c)²), whose curvature at the start says too little of that at c."""

    def __init__(self, centres: np.ndarray) -> None:
        self.centres, self.n_evaluated = centres, 0

    def evaluate(self, theta: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.n_evaluated += len(which)
        gap = theta - self.centres[which]
        root = np.sqrt(1 + gap**2)
        return root.sum(axis=1), gap / root

    def scaled(self, gradient: np.ndarray, which: np.ndarray) -> np.ndarray:
        return 100 * gradient


def test_quadratics_with_known_minimisers() -> None:
    rng = np.random.default_rng(0)
    root, known = rng.normal(size=(6, 6)), rng.normal(size=(4, 6))
    A = root @ root.T + np.eye(6)
    theta, value, solved = lbfgs_each(Quadratics(A, known @ A), np.zeros((4, 6)), tol=1e-14)
    assert solved.all()
    np.testing.assert_allclose(theta, known, atol=1e-5)
    np.testing.assert_allclose(value, 10 - np.sum(known * (known @ A), axis=1) / 2, rtol=1e-9)


def test_steps_that_go_too_far_are_cut() -> None:
    """Each problem has its own step: one starts at its minimiser, and is left alone; others start far away."""
    problem = Softened(np.array([[0.0, 0.0], [3.0, -2.0], [30.0, 0.5]]))
    theta, value, solved = lbfgs_each(problem, np.zeros((3, 2)))
    assert solved.all()
    np.testing.assert_allclose(theta, problem.centres, atol=1e-3)
    np.testing.assert_allclose(value, 2, atol=1e-8)
    alone = Softened(problem.centres[1:])
    np.testing.assert_allclose(lbfgs_each(alone, np.zeros((2, 2)))[0], theta[1:], atol=1e-12)
    assert problem.n_evaluated == alone.n_evaluated + 1


def test_a_limit_of_steps_is_told() -> None:
    _, value, solved = lbfgs_each(Softened(np.array([[0.0], [30.0]])), np.zeros((2, 1)), max_iter=1)
    assert solved.tolist() == [True, False]
    assert value[1] < np.sqrt(901)
