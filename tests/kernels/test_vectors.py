"""Vector arithmetic: exact enough, and the same bits for any number of threads."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.together import together

from cofactor.kernels import vectors
from cofactor.kernels.threads import thread_limit

BLOCK, TASK = vectors.BLOCK, vectors.BLOCK * 32
lengths = together("n", [1, 511, 512, 513, BLOCK - 1, BLOCK, BLOCK + 1, TASK + 5, 3 * TASK - 7])
dtypes = together("dtype", [np.float32, np.float64])


def data(k: int, n: int, dtype: type) -> np.ndarray:
    return np.random.default_rng([k, n]).normal(size=(k, n)).astype(dtype)


def tolerance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounding allowed for inner products of rows of `a` and `b`.

    Of float32 one unit (only short runs are summed in it), of float64 the few that also the reference makes.
    """
    units = 1 if a.dtype == np.float32 else 32
    return units * float(np.finfo(a.dtype).eps) * (np.abs(a).astype(float) @ np.abs(b).astype(float).T)


def same_for_all_threads(compute: Callable[[], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    results = []
    for limit in (1, 2, 3):
        with thread_limit(limit):
            results.append(compute())
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))
    return results[0]


@lengths
@dtypes
def test_dot(n: int, dtype: type) -> None:
    a, b = data(2, n, dtype)
    (result,) = same_for_all_threads(lambda: (np.array(vectors.dot(a, b)),))
    assert abs(float(result) - float(a.astype(float) @ b.astype(float))) <= tolerance(a, b)


@lengths
@dtypes
@together("memory", [1, 2])
def test_combine(n: int, dtype: type, memory: int) -> None:
    v, c = data(2 * memory + 1, n, dtype), np.array([0.5, 0.0, -2.0, 1e-3, 0.7])[: 2 * memory + 1]
    scale = np.abs(data(1, n, dtype)[0])

    def compute() -> tuple[np.ndarray]:
        out = np.full(n, np.nan, dtype)
        vectors.combine(c, v[:-1], v[-1], scale, out)
        return (out,)

    (result,) = same_for_all_threads(compute)
    exact = v.astype(float)
    expected = c[:memory] @ exact[:memory] + scale * (c[memory:] @ exact[memory:])
    np.testing.assert_allclose(result, expected, rtol=0, atol=200 * np.finfo(dtype).eps)


@lengths
@dtypes
def test_products(n: int, dtype: type) -> None:
    """Memory 2, newest 1: rows 1 and 3 receive the differences, rows 0 and 2 stay; the last products are of g_new."""
    x, x_new, g_new = data(3, n, dtype)
    scale = np.abs(data(1, n, dtype)[0])
    before = data(5, n, dtype)

    def compute() -> tuple[np.ndarray, ...]:
        stored = before[:4].copy()
        return vectors.products(x, x_new, before[4], g_new, stored, scale, 1), stored

    products, pairs = same_for_all_threads(compute)
    assert np.array_equal(pairs, [before[0], x_new - x, before[2], g_new - before[4]])
    stored = np.array([*pairs, g_new])
    exact, weights = stored.astype(float), np.ones((5, n))
    weights[2:] = scale
    expected = exact @ exact[[1, 3, 4]].T
    expected[2:, 1:] = (weights[2:] * exact[2:]) @ exact[[3, 4]].T
    expected[:2, 0] = 0
    allowed = 4 * tolerance(np.maximum(weights, 1).astype(dtype) * stored, stored[[1, 3, 4]])
    assert np.all(np.abs(products - expected) <= allowed)


@lengths
@dtypes
def test_add_ridge(n: int, dtype: type) -> None:
    x, g = data(2, n, dtype)
    gradient = g.copy()
    value = vectors.add_ridge(0.75, x, gradient)
    assert abs(value - 0.375 * float(np.sum(x.astype(float) ** 2))) <= tolerance(x, x)
    np.testing.assert_allclose(gradient, g + 0.75 * x.astype(float), rtol=0, atol=10 * np.finfo(dtype).eps)


@lengths
@dtypes
def test_step(n: int, dtype: type) -> None:
    x, p = data(2, n, dtype)
    out = np.empty_like(x)
    vectors.step(x, -0.3, p, out)
    np.testing.assert_allclose(out, x - 0.3 * p.astype(float), rtol=0, atol=5 * np.finfo(dtype).eps)


def test_sums_of_float32_do_not_drift() -> None:
    """A million equal terms: a running sum in float32 would be off by one in a thousand and more."""
    ones = np.full(1_000_003, 0.1, np.float32)
    exact = 1_000_003 * float(np.float32(0.1)) ** 2
    assert vectors.dot(ones, ones) == pytest.approx(exact, rel=2e-6)
    assert vectors.add_ridge(2.0, ones, np.zeros_like(ones)) == pytest.approx(exact, rel=2e-6)


def test_empty_vectors() -> None:
    nothing = np.empty(0)
    assert vectors.dot(nothing, nothing) == 0
    assert vectors.add_ridge(1.0, nothing, nothing) == 0
    vectors.combine(np.ones(3), np.empty((2, 0)), nothing, nothing, nothing)


@dtypes
def test_nan_reaches_the_sum(dtype: type) -> None:
    a = np.ones(5000, dtype)
    a[4321] = np.nan
    assert np.isnan(vectors.dot(a, a))
