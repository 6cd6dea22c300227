"""Ridge regressions of rows by normal equations, against NumPy."""

from itertools import pairwise

import numpy as np
from tests.together import together

from cofactor.kernels.ridge import pad_features, ridge_exact

from .reference import cuttings, random_pattern


@together("dtype", [np.float32, np.float64])
@together(("n", "m", "d"), [(9, 7, 3), (1, 5, 1), (20, 15, 12), (6, 150, 31)])
@together("weighted", [False, True])
@together("constant", [False, True])
def test_minimisers(n: int, m: int, d: int, dtype: type, weighted: bool, constant: bool) -> None:
    rng = np.random.default_rng([n, m, d])
    p = random_pattern(rng, n, m, 0.6)
    features, offsets = rng.normal(size=(m, d)).astype(dtype), rng.normal(size=m).astype(dtype)
    targets, ridge = rng.normal(size=len(p.indices)).astype(dtype), rng.uniform(0.5, 2, d + constant).astype(dtype)
    shares = rng.uniform(0.5, 2, n).astype(dtype)
    roots = rng.uniform(0.5, 2, len(p.indices) if weighted else 1).astype(dtype)
    table = pad_features(features, d + constant, offsets, dtype)
    given = (p.indptr, p.indices, targets, roots, table)
    results = []
    for cuts in cuttings(n):
        out = np.full((n, d + constant), np.nan, dtype)
        for lo, hi in pairwise(cuts):
            ridge_exact(lo, hi, *given, ridge, shares, out)
        results.append(out)
    expected = np.zeros((n, d + constant))
    for i in range(n):
        own = slice(p.indptr[i], p.indptr[i + 1])
        root = roots[own].astype(float) if weighted else roots.astype(float)
        rows = np.column_stack([features, np.ones(m)])[p.indices[own], : d + constant].astype(float)
        F, t = root[:, None] * rows, root * (targets[own].astype(float) - offsets[p.indices[own]])
        expected[i] = np.linalg.solve(F.T @ F + shares[i] * np.diag(ridge.astype(float)), F.T @ t)
    np.testing.assert_allclose(results[0], expected, atol=1e-4 if dtype is np.float32 else 1e-11)
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_sums_of_many_entries_have_the_precision_of_single_ones() -> None:
    n = 200_000
    features = np.full((1, 1), 1 / 3, np.float32)
    indices, targets = np.zeros(n, np.int32), np.full(n, 0.1, np.float32)
    one, zero, out = np.ones(1, np.float32), np.zeros(1, np.float32), np.empty((1, 1), np.float32)
    table = pad_features(features, 1, zero, np.float32)
    given = np.array([0, n]), indices, targets, one, table, np.full(1, n / 9, np.float32), one, out
    ridge_exact(0, 1, *given)
    np.testing.assert_allclose(out[0, 0], 0.15, rtol=5e-7)
