"""The normal distribution against SciPy's."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr, ndtri

from cofactor.kernels import normal


def applied(function, x: np.ndarray) -> np.ndarray:
    return np.array([function(value) for value in x.tolist()])


def test_exponential() -> None:
    x = np.concatenate([np.linspace(-700, 700, 4001), np.linspace(-1, 1, 801), [0.0, 1e-300, -1e-17]])
    np.testing.assert_allclose(applied(normal.exponential, x), np.exp(x), rtol=3e-13)
    assert normal.exponential(0.0) == 1


def test_logarithm() -> None:
    x = np.concatenate([np.logspace(-300, 300, 4001), np.linspace(0.5, 2, 1001), [np.finfo(float).tiny, 1.0]])
    np.testing.assert_allclose(applied(normal.logarithm, x), np.log(x), rtol=1e-14, atol=1e-12)
    assert normal.logarithm(1.0) == 0


def test_lower_tail_has_relative_precision() -> None:
    x = np.concatenate([np.linspace(-37, 0, 5001), [-1e-12, -0.0]])
    np.testing.assert_allclose(np.log(applied(normal.below, x)), log_ndtr(x), rtol=0, atol=3e-12)
    np.testing.assert_allclose(applied(normal.below, x), ndtr(x), rtol=3e-12)


def test_distribution_function() -> None:
    x = np.linspace(-36, 36, 2001)
    found = applied(normal.cdf, x)
    np.testing.assert_allclose(found, ndtr(x), rtol=3e-12, atol=0)
    np.testing.assert_allclose(found + found[::-1], 1, atol=1e-15)
    assert np.all(np.diff(found) >= 0)
    for far in (37.0, 38.0, 1e3, 1e20, np.inf):
        assert normal.cdf(far) == 1
        assert 0 < normal.cdf(-far) == normal.cdf(-37.0) < 1e-298


P = np.concatenate(
    [
        np.logspace(-300, -0.31, 3001),
        1 - np.logspace(-16, -0.31, 1001),
        np.linspace(0.07, 0.08, 101),  # the tails meet the middle at 0.075,
        np.exp(np.linspace(-25.5, -24.5, 101)),  # and each other at exp(-25)
        [0.5, 0.075, 0.925],
    ]
)


def test_quantile() -> None:
    np.testing.assert_allclose(applied(normal.quantile, P), ndtri(P), rtol=2e-14, atol=1e-16)
    assert normal.quantile(0.5) == 0
    assert normal.quantile(0.0) == normal.quantile(1e-300) == pytest.approx(-37.04, abs=0.01)
    assert normal.quantile(1.0) == -normal.quantile(0.0)


def test_quantiles_are_those_of_a_loop() -> None:
    out = np.empty(len(P))
    normal.quantiles(P, out)
    np.testing.assert_allclose(out, ndtri(P), rtol=1e-11, atol=1e-16)
    normal.quantiles(np.array([0.0, 1.0]), out[:2])
    assert out[:2].tolist() == [normal.quantile(0.0), normal.quantile(1.0)]
