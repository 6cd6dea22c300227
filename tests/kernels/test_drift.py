"""Sums of Ornstein–Uhlenbeck processes against the algebra of dense Gaussian processes."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.together import together

from cofactor.kernels import drift
from cofactor.kernels.random import stream

SECONDS = np.array([0.0, 1.0, 2.0, 30.0, 31.0, 4000.0, 9e6])
COUNTS = np.array([1.0, 3.0, 1.0, 2.0, 5.0, 1.0, 2.0])
TIMES, VARIANCES = np.array([15.0, 3000.0, 5e6]), np.array([0.2, 0.5, 0.1])


def fades() -> np.ndarray:
    out = np.empty((len(SECONDS), 3))
    drift.fades(0, len(SECONDS), np.diff(SECONDS, prepend=-np.inf), TIMES, out)
    return out


def kernels(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (K, len(a), len(b)): the covariances of each process at two sets of times."""
    distance = np.abs(a[:, None] - b)
    return VARIANCES[:, None, None] * np.exp(-distance / TIMES[:, None, None])


def posterior(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (n, K) and covariance (n, K, n, K) of the processes given mean residuals, by dense algebra."""
    C, n = kernels(SECONDS, SECONDS), len(SECONDS)
    cross = np.moveaxis(C, 0, 1).reshape(-1, n)  # processes of each moment against sums
    prior = np.zeros((n, 3, n, 3))
    prior[:, np.arange(3), :, np.arange(3)] = C
    solved = np.linalg.solve(C.sum(axis=0) + np.diag(1 / COUNTS), np.column_stack([means, cross.T]))
    return (cross @ solved[:, 0]).reshape(n, 3), prior - (cross @ solved[:, 1:]).reshape(n, 3, n, 3)


def test_filter_is_dense_algebra():
    means = np.random.default_rng(0).normal(size=len(SECONDS))
    m, P = np.empty((len(means), 3)), np.empty((len(means), 3, 3))
    value = drift.filter_moments(fades(), COUNTS, means, VARIANCES, m, P)
    C = kernels(SECONDS, SECONDS).sum(axis=0) + np.diag(1 / COUNTS)
    dense = multivariate_normal.logpdf(means, np.zeros(len(means)), C) + 0.5 * len(means) * np.log(2 * np.pi)
    assert value == pytest.approx(dense, rel=1e-12)
    assert drift.filter_moments(fades(), COUNTS, means, VARIANCES, np.empty((0, 3)), np.empty((0, 3, 3))) == value
    mean, covariance = posterior(means)
    np.testing.assert_allclose(m[-1], mean[-1], atol=1e-12)
    np.testing.assert_allclose(P[-1], covariance[-1, :, -1], atol=1e-12)


def test_draws_have_mean_and_covariance_of_the_posterior():
    means = np.random.default_rng(1).normal(size=len(SECONDS))
    fade, n = fades(), 40_000
    draws, state = np.empty((n, len(means), 3)), stream(np.uint64(1), 0)
    for out in draws:
        state = np.uint64(drift.draw_processes(state, fade, COUNTS, means, VARIANCES, out))
    mean, covariance = posterior(means)
    mean, covariance = mean.ravel(), covariance.reshape(mean.size, -1)
    flat = draws.reshape(n, -1)
    error = np.sqrt(np.diag(covariance) / n)
    assert np.abs((flat.mean(axis=0) - mean) / error).max() < 4.5
    scale = np.sqrt(np.diag(covariance))
    found = np.cov(flat.T) / np.outer(scale, scale)
    np.testing.assert_allclose(found, covariance / np.outer(scale, scale), atol=5 / np.sqrt(n))


@together("t", [-7.0, 0.0, 0.4, 10.0, 500.0, 4000.0, 1e6, 1e7])
def test_bridge_is_dense_conditioning(t):
    values = np.random.default_rng(2).normal(size=(len(SECONDS), 3))
    place = int(np.searchsorted(SECONDS, t, "right"))
    left, right = values[max(place - 1, 0)], values[min(place, len(SECONDS) - 1)]
    before = t - SECONDS[place - 1] if place else np.inf
    after = SECONDS[place] - t if place < len(SECONDS) else np.inf
    mean, variance = drift.bridge(before, after, left, right, TIMES, VARIANCES)
    cross = kernels(np.array([t]), SECONDS)[:, 0]
    solved = [np.linalg.solve(C, c) for C, c in zip(kernels(SECONDS, SECONDS), cross, strict=True)]
    assert mean == pytest.approx(sum(w @ values[:, k] for k, w in enumerate(solved)), rel=1e-6)
    assert variance == pytest.approx(sum(VARIANCES[k] - w @ cross[k] for k, w in enumerate(solved)), abs=1e-9)


def test_bridge_without_moments_is_the_prior():
    nothing = np.zeros(3)
    assert drift.bridge(np.inf, np.inf, nothing, nothing, TIMES, VARIANCES) == (0, pytest.approx(VARIANCES.sum()))
