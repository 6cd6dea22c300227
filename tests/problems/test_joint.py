"""Factorization of two matrices with common codes: formula, gradient, exact updates, stochastic passes."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.problems import Layout
from cofactor.problems.joint import JointLeastSquaresProblem
from cofactor.solvers import alternating_least_squares, lbfgs

from ..losses.reference import gradient

N, D, L, S = 14, 9, 5, 3
A, LAM = 0.7, 0.4


def data(seed: int = 0) -> tuple[np.ndarray, sparse.csr_array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
    return X, sparse.csr_array((rng.random((N, L)) < 0.4).astype(float))


def formula(X: np.ndarray, Y: np.ndarray, P: np.ndarray, Q: np.ndarray, H: np.ndarray) -> float:
    """(1) of the paper."""
    fit = (1 - A) * ((X - H @ P.T) ** 2).sum() + A * ((Y - H @ Q.T) ** 2).sum()
    return float(fit + LAM * ((P**2).sum() + (Q**2).sum() + (H**2).sum()))


def problem_and_point(sparse_X: bool = False) -> tuple[JointLeastSquaresProblem, np.ndarray]:
    X, Y = data()
    problem = JointLeastSquaresProblem(sparse.csr_array(X) if sparse_X else X, Y, S, A, LAM)
    return problem, np.random.default_rng(1).normal(size=problem.size)


@together("sparse_X", [False, True])
def test_objective_and_gradient(sparse_X: bool) -> None:
    X, Y = data()
    problem, x = problem_and_point(sparse_X)
    arrays, g = problem.layout.views(x), np.empty(problem.size)
    H = problem.codes(x)
    assert problem.value_gradient(x, g) == pytest.approx(
        formula(X, Y.toarray(), arrays["P"], arrays["Q"], H), rel=1e-12
    )
    np.testing.assert_allclose(g, gradient(lambda z: problem.value_gradient(z, np.empty_like(z)), x), atol=1e-7)
    assert problem.certificate(x, g) == pytest.approx(np.linalg.norm(g))


def test_codes_are_the_best_ones() -> None:
    """corrections.md, C45: the gradient by h vanishes with the weights; without them, as printed, it does not."""
    X, Y = data()
    problem, x = problem_and_point()
    P, Q = (problem.layout.views(x)[name] for name in "PQ")

    def slope(H: np.ndarray) -> np.ndarray:
        return gradient(lambda h: formula(X, Y.toarray(), P, Q, h.reshape(N, S)), H.reshape(-1))

    assert np.abs(slope(problem.codes(x))).max() < 1e-7
    printed = np.linalg.solve(LAM * np.eye(S) + P.T @ P + Q.T @ Q, (X @ P + Y @ Q).T).T
    assert np.abs(slope(printed)).max() > 0.1


def test_update_of_columns_is_exact() -> None:
    X, Y = data()
    problem, x = problem_and_point()
    H = problem.codes(x).copy()
    problem.update_columns(x)
    layout = Layout({"P": (D, S), "Q": (L, S)})

    def f(z: np.ndarray) -> float:
        return formula(X, Y.toarray(), layout.views(z)["P"], layout.views(z)["Q"], H)

    assert np.abs(gradient(f, x)).max() < 1e-7


def test_no_update_raises_the_objective_and_lbfgs_finds_the_same() -> None:
    problem, x = problem_and_point(True)
    g = np.empty(problem.size)
    values = [problem.value_gradient(x, g)]
    for _ in range(200):
        problem.update_rows(x)
        problem.update_columns(x)
        values.append(problem.value_gradient(x, g))
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert np.abs(g).max() < 1e-3
    other = lbfgs(problem, np.random.default_rng(5).normal(size=problem.size), tol=1e-13, max_iter=5000)
    assert other.objective == pytest.approx(values[-1], rel=1e-7)


def test_equal_weights_have_a_closed_form() -> None:
    """For a = ½ it is half of ‖[X Y] - H Wᵀ‖² + 2λ (‖H‖² + ‖W‖²): singular values are lowered by 2λ."""
    X, Y = data()
    problem = JointLeastSquaresProblem(X, Y, S, 0.5, LAM)
    values = np.linalg.svd(np.hstack([X, Y.toarray()]), compute_uv=False)
    kept = np.maximum(values[:S] - 2 * LAM, 0)
    expected = 0.5 * (np.sum((values[:S] - kept) ** 2) + np.sum(values[S:] ** 2) + 4 * LAM * np.sum(kept))
    start = problem.spectral_start(np.random.default_rng(0))
    result = alternating_least_squares(problem, start, tol=1e-12, max_iter=5000)
    assert result.objective == pytest.approx(expected, rel=1e-8)


@together("s", [S, 13, 20])
def test_spectral_start_beats_a_random_one(s: int) -> None:
    X, Y = data()
    problem = JointLeastSquaresProblem(X, Y, s, A, 0.01)
    rng, g = np.random.default_rng(0), np.empty(problem.size)
    start = problem.spectral_start(rng)
    assert np.isfinite(start).all()
    assert problem.value_gradient(start, g) < problem.value_gradient(rng.normal(size=problem.size), g)


@together("sparse_X", [False, True])
def test_a_pass_is_the_same_for_dense_and_sparse_rows_and_may_be_cut(sparse_X: bool) -> None:
    X, Y = data()
    whole, x = problem_and_point()
    order = np.random.default_rng(3).permutation(N)
    expected = x.copy()
    inverse_step = whole.stochastic_pass(expected, order, 2.0)
    assert inverse_step == pytest.approx(2.0 + LAM)
    found, at = x.copy(), 2.0
    for part in (order[:5], order[5:6], order[6:]):
        rows = sparse.csr_array(X[part]) if sparse_X else X[part]
        chunk = JointLeastSquaresProblem(rows, Y[part], S, A, LAM)
        at = chunk.stochastic_pass(found, np.arange(len(part)), at, N)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert at == pytest.approx(inverse_step)


def test_no_residual_stands_in_memory() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((4000, 3000), density=0.002, rng=rng, format="csr")
    Y = sparse.random_array((4000, 500), density=0.005, rng=rng, format="csr")
    problem = JointLeastSquaresProblem(X, Y, 4, A, LAM)
    x, g = rng.normal(size=problem.size), np.empty(problem.size)
    tracemalloc.start()
    problem.value_gradient(x, g)
    problem.stochastic_pass(x, np.arange(4000), 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000_000  # Y alone would take 16 MB dense, X 96
