"""Coupled penalized least squares: value and gradient from the formula, minimisers against cvxpy, the step length."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from tests.together import together

from cofactor.correlation import normalized, positive_part
from cofactor.penalties import L1, L21
from cofactor.problems.regression import RegressionProblem, feature_gram, largest_eigenvalue
from cofactor.solvers import proximal_gradient

from ..losses.reference import gradient

N, D, T = 15, 6, 4


def data(seed: int = 0, n: int = N, D: int = D) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, B and the R of (6.11) for B, with its negative eigenvalues."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n, D)), rng.normal(size=(n, T))
    B[:, 1] += B[:, 0]
    centred = B - B.mean(axis=0)
    R = 1 - normalized(centred.T @ centred)
    assert np.linalg.eigvalsh(R)[0] < -0.3
    return A, B, R


def problem_for(A, B, R=None, penalty=None, alpha=0.0) -> RegressionProblem:  # type: ignore[no-untyped-def]
    return RegressionProblem(A.T @ A, A.T @ B, float(np.sum(B * B)), penalty, alpha=alpha, coupling=R)


@together("alpha", [0.0, 0.7])
def test_value_and_gradient(alpha: float) -> None:
    """The coupling is the double sum Σ_ij R_ij Z_i·Z_j, its gradient 2αZR (corrections.md, C33, C34)."""
    A, B, R = data()
    problem = problem_for(A, B, R, L1(5.0), alpha)
    x = np.random.default_rng(1).normal(size=problem.size)
    W, g = x.reshape(D, T), np.empty_like(x)
    coupling = sum(R[i, j] * W[:, i] @ W[:, j] for i in range(T) for j in range(T))
    assert problem.value_gradient(x, g) == pytest.approx(np.sum((A @ W - B) ** 2) + alpha * coupling, rel=1e-12)
    assert problem.nonsmooth_value(x) == pytest.approx(5 * np.abs(W).sum())
    numeric = gradient(lambda y: problem.value_gradient(y, np.empty_like(y)), x)
    np.testing.assert_allclose(g, numeric, atol=1e-6)


@together("alpha", [0.0, 1.0, 30.0])
def test_map_step_against_cvxpy(alpha: float) -> None:
    """(6.11) with the positive semidefinite part of R."""
    A, B, R = data()
    R = positive_part(R)
    W = cp.Variable((D, T))
    root = np.linalg.cholesky(R + 1e-13 * np.eye(T))
    cost = cp.sum_squares(A @ W - B) + alpha * cp.sum_squares(W @ root) + 3.0 * cp.sum(cp.abs(W))
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    problem = problem_for(A, B, R, L1(3.0), alpha)
    result = proximal_gradient(problem, np.zeros(problem.size), tol=1e-14, step=1 / problem.lipschitz())
    assert result.objective == pytest.approx(cost.value, rel=1e-7)
    np.testing.assert_allclose(result.x.reshape(D, T), W.value, atol=1e-4)
    assert 0 < np.mean(result.x == 0) < 1
    assert result.certificate < 1e-4


def test_label_step_against_cvxpy() -> None:
    """(6.4): rows of V^k shrink as wholes."""
    A, B, _ = data()
    V = cp.Variable((D, T))
    cost = cp.sum_squares(B - A @ V) + 12.0 * cp.sum(cp.norm(V, 2, axis=1))
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    problem = problem_for(A, B, penalty=L21(12.0))
    result = proximal_gradient(problem, np.zeros(problem.size), tol=1e-14, step=1 / problem.lipschitz())
    assert result.objective == pytest.approx(cost.value, rel=1e-7)
    np.testing.assert_allclose(result.x.reshape(D, T), V.value, atol=1e-4)
    rows = result.x.reshape(D, T).any(axis=1)
    assert 0 < rows.sum() < D


@together("alpha", [0.0, 0.5, 20.0])
@together("psd", [True, False])
def test_step_length_follows_from_the_true_constant(alpha: float, psd: bool) -> None:
    """The Hessian is the Kronecker sum of 2AᵀA and 2αR; its norm is the bound if R is PSD (corrections.md, C37)."""
    A, B, R = data()
    R = positive_part(R) if psd else R
    hessian = 2 * (np.kron(A.T @ A, np.eye(T)) + alpha * np.kron(np.eye(D), R))
    true = np.abs(np.linalg.eigvalsh(hessian)).max()
    bound = problem_for(A, B, R, alpha=alpha).lipschitz()
    assert bound >= true * (1 - 1e-12)
    if psd or alpha == 0:
        assert bound == pytest.approx(true, rel=1e-12)


def test_printed_bounds_are_loose_or_wrong() -> None:
    """(6.6) is several times the truth, (6.14) less for AᵀA = 1, R = [[0, 1], [1, 0]]: corrections.md, C30, C37."""
    U = np.random.default_rng(0).normal(size=(900, 100))
    problem = RegressionProblem(U.T @ U, np.zeros((100, 1)), 0.0)
    assert np.linalg.norm(2 * U.T @ U) / problem.lipschitz() > 4
    R = np.array([[0.0, 1.0], [1.0, 0.0]])
    small = RegressionProblem(np.eye(1), np.zeros((1, 2)), 0.0, alpha=1.0, coupling=R)
    assert small.lipschitz() == pytest.approx(4)
    assert np.hypot(2, np.linalg.norm(R)) < 4


def test_objective_with_the_printed_coupling_is_unbounded() -> None:
    """Along a null vector of A times the eigenvector of R's negative eigenvalue (corrections.md, C35)."""
    A, B, R = data(n=4)
    null = np.linalg.svd(A)[2][-1]
    values, vectors = np.linalg.eigh(R)
    assert values[0] < 0
    problem = problem_for(A, B, R, L1(1.0), 0.1)
    objectives = []
    for t in (0.0, 1e2, 1e3, 1e4):
        x = (t * np.outer(null, vectors[:, 0])).ravel()
        objectives.append(problem.value_gradient(x, np.empty_like(x)) + problem.nonsmooth_value(x))
    assert objectives[3] < -1e5
    bounded = problem_for(A, B, positive_part(R), L1(1.0), 0.1)
    assert bounded.value_gradient(x, np.empty_like(x)) >= 0


@together("shape", [(30, 5), (30, 400)])
@together("centred", [False, True])
@together("kind", ["dense", "sparse", "float32"])
def test_gram_of_features(shape: tuple[int, int], centred: bool, kind: str) -> None:
    """A matrix or an operator, whichever is cheaper, with the same products."""
    rng = np.random.default_rng(0)
    X = rng.random(shape) * (rng.random(shape) < 0.2)
    mean = X.mean(axis=0) if centred else None
    expected = (X - X.mean(axis=0) * centred).T @ (X - X.mean(axis=0) * centred)
    given = {"dense": X, "sparse": sparse.csr_array(X), "float32": sparse.csr_array(X.astype(np.float32))}[kind]
    gram = feature_gram(given, mean)
    assert isinstance(gram, LinearOperator) == (shape[1] == 400)
    W = rng.normal(size=(shape[1], 3))
    np.testing.assert_allclose(gram @ W, expected @ W, atol=1e-5 if kind == "float32" else 1e-11)
    tolerance = 1e-6 if kind == "float32" else 1e-10
    assert largest_eigenvalue(gram) == pytest.approx(np.linalg.eigvalsh(expected)[-1], rel=tolerance)


def test_largest_eigenvalue_of_nothing() -> None:
    assert largest_eigenvalue(np.zeros((1, 1))) == 0
    assert largest_eigenvalue(np.zeros((500, 500))) == 0
    assert largest_eigenvalue(feature_gram(sparse.csr_array((3, 700)))) == 0
