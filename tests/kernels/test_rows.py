"""Ridge regressions of rows by conjugate gradients against the normal equations in NumPy."""

from itertools import pairwise

import numpy as np
from tests.together import together

from cofactor.kernels.ridge import ridge_cg

from .reference import cuttings, random_pattern


@together("dtype", [np.float32, np.float64])
@together(("n", "m", "d"), [(9, 7, 3), (1, 5, 1), (20, 15, 12)])
@together("weighted", [False, True])
def test_d_steps_end_at_the_minimisers(n: int, m: int, d: int, dtype: type, weighted: bool) -> None:
    rng = np.random.default_rng([n, m, d])
    p = random_pattern(rng, n, m, 0.6)
    features, offsets = rng.normal(size=(m, d)).astype(dtype), rng.normal(size=m).astype(dtype)
    targets, ridge = rng.normal(size=len(p.indices)).astype(dtype), rng.uniform(0.5, 2, d).astype(dtype)
    shares = rng.uniform(0.5, 2, n).astype(dtype)
    roots = rng.uniform(0.5, 2, len(p.indices) if weighted else 1).astype(dtype)
    results = []
    for cuts in cuttings(n):
        out = np.zeros((n, d), dtype)
        for lo, hi in pairwise(cuts):
            ridge_cg(lo, hi, p.indptr, p.indices, targets, roots, offsets, features, ridge, shares, 2 * d, out)
        results.append(out)
    expected = np.zeros((n, d))
    for i in range(n):
        own = slice(p.indptr[i], p.indptr[i + 1])
        root = roots[own, None].astype(float) if weighted else roots.astype(float)
        F = root * features[p.indices[own]].astype(float)
        t = root.ravel() * (targets[own].astype(float) - offsets[p.indices[own]])
        expected[i] = np.linalg.solve(F.T @ F + shares[i] * np.diag(ridge), F.T @ t)
    np.testing.assert_allclose(results[0], expected, atol=1e-3 if dtype is np.float32 else 1e-10)
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_conjugate_gradient_steps_never_raise_a_row_s_objective() -> None:
    rng = np.random.default_rng(0)
    p = random_pattern(rng, 12, 20, 0.5)
    features, offsets = rng.normal(size=(20, 8)), rng.normal(size=20)
    targets, ridge = rng.normal(size=len(p.indices)), rng.uniform(0.5, 2, 8)
    out, shares = rng.normal(size=(12, 8)), rng.uniform(0.5, 2, 12)

    def objectives() -> np.ndarray:
        gaps = (targets - offsets[p.indices] - np.sum(features[p.indices] * out[p.rows], axis=1)) ** 2
        return np.bincount(p.rows, gaps, minlength=12) + shares * np.sum(ridge * out**2, axis=1)

    before = objectives()
    for _ in range(6):
        ridge_cg(0, 12, p.indptr, p.indices, targets, np.ones(1), offsets, features, ridge, shares, 1, out)
        after = objectives()
        assert np.all(after <= before + 1e-12)
        before = after
    assert np.all(out[np.diff(p.indptr) == 0] == 0)  # rows without entries
