"""Eigenvectors and products of tall matrices against NumPy."""

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.kernels.axes import add_products, cross_products, eigenvectors
from cofactor.problems.singular import PatchedMatrix, SingularProblem, leading_vectors, orthonormal

from .reference import random_pattern


@together("values", [[3.0, 2.0, 1.0], [1e8, 1.0, 1e-8, 0.0], [2.0, 2.0, 2.0, 1.0], [0.0, 0.0], [5.0]])
def test_eigenvectors(values: list[float]) -> None:
    d = len(values)
    Q = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0]
    A = (Q * values) @ Q.T
    A = (A + A.T) / 2
    found, vectors = np.empty(d), np.empty((d, d))
    eigenvectors(A.copy(), found, vectors)
    np.testing.assert_allclose(found, values, atol=1e-15 * max(1, values[0]) * 10, rtol=1e-12)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(d), atol=1e-13)
    np.testing.assert_allclose((vectors.T * found) @ vectors, A, atol=1e-14 * max(1, values[0]) * 10)


def test_products() -> None:
    rng = np.random.default_rng(0)
    A, B, C = rng.normal(size=(50, 3)), rng.normal(size=(50, 4)), rng.normal(size=(3, 4))
    np.testing.assert_allclose(cross_products(A, B), A.T @ B, atol=1e-12)
    out = B.copy()
    add_products(10, 30, A, C, out)
    expected = B.copy()
    expected[10:30] += A[10:30] @ C
    np.testing.assert_allclose(out, expected, atol=1e-12)
    assert cross_products(np.zeros((5, 0)), B[:5]).shape == (0, 4)


def test_orthonormal_bases_also_of_nearly_dependent_columns() -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(60, 5))
    B[:, 3] = B[:, 0] + 1e-5 * B[:, 3]
    Q = orthonormal(B)
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-9)
    np.testing.assert_allclose(Q @ (Q.T @ B), B, atol=1e-6)
    B[:, 4] = 0
    Q = orthonormal(B)
    assert not Q[:, 4].any()


@together("r", [0, 2])
def test_a_patched_matrix_and_the_objective(r: int) -> None:
    rng = np.random.default_rng(r)
    p = random_pattern(rng, 30, 20)
    values, left, right = rng.normal(size=len(p.indices)), rng.normal(size=(30, r)), rng.normal(size=(20, r))
    matrix = PatchedMatrix(p, values, left, right)
    A = sparse.csr_array((values, p.indices, p.indptr), shape=p.shape).toarray() + left @ right.T
    B = rng.normal(size=(20, 4))
    np.testing.assert_allclose(matrix.times(B), A @ B, atol=1e-12)
    np.testing.assert_allclose(matrix.transposed_times(A @ B), A.T @ A @ B, atol=1e-10)
    assert matrix.norm == pytest.approx(np.sum(A**2), rel=1e-12)
    problem = SingularProblem(matrix, 4, 4)
    V, gradient = orthonormal(B), np.empty(80)
    assert problem.value_gradient(V.ravel(), gradient) == pytest.approx(np.sum(A**2) - np.sum((A @ V) ** 2))
    np.testing.assert_allclose(gradient.reshape(20, 4), -2 * A.T @ A @ V, atol=1e-9)
    exact = np.ascontiguousarray(np.linalg.svd(A)[2][:4].T)
    problem.value_gradient(exact.ravel(), gradient)
    assert problem.certificate(exact.ravel(), gradient) < 1e-10
    assert problem.certificate(V.ravel(), -2 * (A.T @ A @ V).ravel()) > 1


@together("dtype", [np.float32, np.float64])
def test_leading_vectors_of_a_matrix_without_so_much_rank(dtype: type) -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 40))
    V, squares = leading_vectors(lambda Q: (A.T @ (A @ Q)).astype(dtype), A.shape, 8, dtype)
    np.testing.assert_allclose(squares[:3], np.linalg.svd(A, compute_uv=False)[:3] ** 2, rtol=1e-5)
    np.testing.assert_allclose(V.T @ V, np.diag([1] * 3 + [0] * 5), atol=1e-5)
    np.testing.assert_allclose(V @ (V.T @ A.T), A.T, atol=1e-4)
