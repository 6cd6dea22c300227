"""Digamma and trigamma functions against SciPy."""

import numpy as np
import pytest
from scipy.special import polygamma, psi

from cofactor.kernels.mixtures import digamma, trigamma


@pytest.mark.parametrize(("function", "expected"), [(digamma, psi), (trigamma, lambda x: polygamma(1, x))])
def test_agree_with_scipy(function, expected):
    points = np.concatenate([np.geomspace(1e-8, 1e12, 400), np.linspace(9.9, 10.1, 21), np.arange(1.0, 40.0)])
    found = np.array([function(x) for x in points])
    np.testing.assert_allclose(found, expected(points), rtol=1e-13, atol=1e-14)


def test_known_values():
    assert digamma(1.0) == pytest.approx(-np.euler_gamma, rel=1e-14)
    assert trigamma(1.0) == pytest.approx(np.pi**2 / 6, rel=1e-14)
