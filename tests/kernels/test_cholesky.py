"""Factors and triangular solves against NumPy's."""

import numpy as np
from tests.together import together

from cofactor.kernels import cholesky


@together("dtype", [np.float32, np.float64])
@together("d", [1, 2, 7, 30])
def test_factor_and_solutions(d: int, dtype: type) -> None:
    rng = np.random.default_rng(d)
    B = rng.normal(size=(d, 2 * d))
    A, b = B @ B.T, rng.normal(size=d)
    tolerance = 1e-4 if dtype is np.float32 else 1e-12
    work = np.full((d + 2, d + 1), np.nan, dtype)  # room to spare; the upper triangle is not read
    work[:d, :d][np.tril_indices(d)] = A[np.tril_indices(d)]
    cholesky.factorize(work, d)
    L = np.tril(work[:d, :d])
    np.testing.assert_allclose(L, np.linalg.cholesky(A), atol=10 * tolerance)
    assert np.all(np.isnan(work[:d, :d][np.triu_indices(d, 1)]))
    assert np.all(np.isnan(work[d:]))
    x = b.astype(dtype)
    cholesky.solve_lower(work, x, d)
    np.testing.assert_allclose(L @ x, b, atol=tolerance * np.abs(L).sum())
    y = x.copy()
    cholesky.solve_upper(work, y, d)
    np.testing.assert_allclose(L.T @ y, x, atol=tolerance * np.abs(L).sum())


def test_a_vanishing_pivot_is_raised_to_its_share_of_the_diagonal() -> None:
    for eps, least in ((1e-6, 1e-6), (0.0, 2 * np.finfo(float).eps)):
        A = np.array([[4.0, 0.0], [4.0, 4.0]])  # of rank one
        cholesky.factorize(A, 2, eps)
        np.testing.assert_allclose(A, [[2.0, 0.0], [2.0, np.sqrt(4 * least)]], rtol=1e-15)
    A = np.array([[1.0, 0.0], [3.0, 4.0]])  # 4 - 9 < 0
    cholesky.factorize(A, 2)
    np.testing.assert_allclose(A[1], [3.0, np.sqrt(8 * np.finfo(float).eps)], rtol=1e-15)
    A = np.zeros((2, 2))
    cholesky.factorize(A, 2)
    x = np.zeros(2)
    cholesky.solve_lower(A, x, 2)
    cholesky.solve_upper(A, x, 2)
    assert np.array_equal(x, np.zeros(2))
