"""Stochastic gradients against alternating least squares."""

import numpy as np
import pytest
from scipy import sparse

from cofactor.problems.joint import JointLeastSquaresProblem
from cofactor.solvers import Progress, SolverMismatchError, alternating_least_squares
from cofactor.solvers.sgd import stochastic_gradient

from .problems import Function, rosenbrock


def low_rank(seed: int = 0) -> JointLeastSquaresProblem:
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(300, 4))
    X = H @ rng.normal(size=(4, 20)) + 0.1 * rng.normal(size=(300, 20))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return JointLeastSquaresProblem(X, sparse.csr_array((H @ rng.normal(size=(4, 6)) > 1).astype(float)), 4, 0.7, 0.3)


def start(problem: JointLeastSquaresProblem) -> np.ndarray:
    return 0.01 * np.random.default_rng(1).normal(size=problem.size)


@pytest.mark.parametrize("eta0", [1.0, 3.0, 30.0])
def test_reaches_what_alternating_least_squares_reaches(eta0: float) -> None:
    problem = low_rank()
    best = alternating_least_squares(problem, start(problem), tol=1e-9, max_iter=2000).objective
    trivial = problem.value_gradient(np.zeros(problem.size), np.empty(problem.size))
    result = stochastic_gradient(problem, start(problem), eta0=eta0, tol=1e-5)
    assert best < 0.7 * trivial
    assert best <= result.objective < 1.001 * best


def test_history_never_rises_and_ends_at_the_point_returned() -> None:
    problem = low_rank()
    seen: list[Progress] = []
    result = stochastic_gradient(problem, start(problem), tol=0, callback=seen.append)
    assert result.n_iter == len(seen) == len(result.history) - 1
    drops = -np.diff(result.history)
    assert np.all(drops >= 0)
    assert np.any(drops == 0)  # passes that were undone
    g = np.empty(problem.size)
    assert problem.value_gradient(result.x, g) == pytest.approx(result.objective)
    assert result.certificate == pytest.approx(np.linalg.norm(g))


def test_passes_to_nan_are_no_convergence() -> None:
    class Lost(Function):
        n_rows = 1

        def stochastic_pass(self, x: np.ndarray, order: np.ndarray, inverse_step: float) -> float:
            x *= np.nan
            return inverse_step

    result = stochastic_gradient(Lost(2, lambda x: (x @ x, 2 * x)), np.ones(2))
    assert result.x.tolist() == [1, 1]
    assert not result.converged
    assert "became nan" in result.message


def test_seeds() -> None:
    problem = low_rank()
    runs = [stochastic_gradient(problem, start(problem), max_iter=3, rng=np.random.default_rng(k)) for k in (1, 1, 2)]
    assert np.array_equal(runs[0].x, runs[1].x)
    assert not np.array_equal(runs[0].x, runs[2].x)


def test_refusals() -> None:
    with pytest.raises(SolverMismatchError, match="single rows, which Function has not"):
        stochastic_gradient(rosenbrock(), np.zeros(2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="eta0=0: expected a first step length above 0"):
        stochastic_gradient(low_rank(), np.zeros(104), eta0=0)
