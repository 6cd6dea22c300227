"""Singular vectors by passes over a matrix: those of LAPACK, and no rounding where the rank is low."""

from __future__ import annotations

import numpy as np
from tests.together import together

from cofactor.problems.singular import leading_by_passes


@together("dtype", [np.float32, np.float64])
@together("n_missing", [0, 16, 300])
def test_masks_that_are_nearly_full(n_missing: int, dtype: type) -> None:
    random = np.random.default_rng(0)
    B = np.ones((40, 30))
    B.flat[random.permutation(B.size)[:n_missing]] = 0  # few rows differ, so the rank is low
    B /= np.sqrt(B.sum(axis=1, keepdims=True) + 10)
    _, expected, Vt = np.linalg.svd(B)
    wanted = int((expected[:4] > 1e-3 * expected[0]).sum())
    B = B.astype(dtype)
    S, Q = leading_by_passes(lambda W: B.T @ (B @ W.astype(dtype)), 30, 4)
    assert len(S) == wanted
    np.testing.assert_allclose(S, expected[:wanted], rtol=3e-3)
    np.testing.assert_allclose(Q.T @ Q, np.eye(wanted), atol=1e-6)
    products = B @ Q
    np.testing.assert_allclose(products.T @ products, np.diag(S**2), atol=1e-5 * expected[0] ** 2)
    np.testing.assert_allclose(np.abs(Q[:, 0]), np.abs(Vt[0]), atol=1e-3)
