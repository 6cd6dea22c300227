"""The normal distribution in single precision against SciPy's."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from tests.together import together

from cofactor.kernels import normal_single
from cofactor.kernels.compile import exact

LEAST = float(normal_single.LEAST)


@exact
def set_exponentials(x, out):
    for k in range(len(x)):
        out[k] = normal_single.exponential(x[k])


@exact
def set_below(x, out):
    for k in range(len(x)):
        out[k] = normal_single.below(x[k])


def applied(function, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers as they are rounded, and what is found for them, both in double precision."""
    x = x.astype(np.float32)
    out = np.empty_like(x)
    function(x, out)
    return x.astype(float), out.astype(float)


def test_exponential() -> None:
    x, found = applied(set_exponentials, np.concatenate([np.linspace(-87, 88, 4001), np.linspace(-1, 1, 801), [0.0]]))
    np.testing.assert_allclose(found, np.exp(x), rtol=2e-7)


def test_lower_tail_has_relative_precision() -> None:
    far = -float(normal_single.FARTHEST)
    x, found = applied(set_below, np.concatenate([np.linspace(far, 0, 5001), [-1e-12, -0.0]]))
    np.testing.assert_allclose(found, ndtr(x), rtol=6e-7)
    assert found.min() > LEAST


def test_quantiles() -> None:
    p = np.concatenate([np.logspace(np.log10(LEAST), -0.31, 3001), np.linspace(0.01, 0.99, 2001), [0.5]])
    p, found = applied(normal_single.quantiles, p)
    np.testing.assert_allclose(found, ndtri(p), rtol=8e-7, atol=2e-7)
    upper, found = applied(normal_single.quantiles, 1 - np.logspace(-7, -0.31, 501))
    np.testing.assert_allclose(found, ndtri(upper), rtol=8e-7, atol=2e-7)
    assert applied(normal_single.quantiles, np.array([0.5]))[1][0] == 0
    assert applied(normal_single.quantiles, np.array([1.0]))[1][0] == pytest.approx(ndtri(1 - 3e-8), rel=1e-6)


@together("n", [0, 1, 3, 24, 47, 1000, 30_000])
def test_sum_of_logarithms(n: int) -> None:
    x = np.exp(np.random.default_rng(n).uniform(np.log(LEAST), 3, n)).astype(np.float32)
    x[: n // 2] = LEAST
    found = normal_single.sum_of_logarithms(x)
    assert found == pytest.approx(np.log(x.astype(float)).sum(), rel=1e-13, abs=1e-12)
