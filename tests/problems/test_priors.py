"""Priors of rows are drawn from their conditional distributions: moments in closed form."""

import numpy as np

from cofactor.kernels.threads import thread_limit
from cofactor.problems.priors import NormalWishartPrior
from cofactor.samplers import Key


def test_normal_wishart_moments():
    r"""E Λ = ν W, Var Λ_ab = ν (W_ab² + W_aa W_bb), E µ = µ*, Cov µ = E Λ⁻¹ / β = W⁻¹ / (β (ν - p - 1))."""
    rng = np.random.default_rng(0)
    p, n, n_draws, strength, degrees = 3, 9, 6000, 1.5, 4.5
    rows = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + [1.0, 0.0, -2.0]
    prior = NormalWishartPrior("user", p, strength=strength, degrees=degrees)
    state, means, precisions = prior.start(), np.empty((n_draws, p)), np.empty((n_draws, p, p))
    for k in range(n_draws):
        prior.draw(state, rows, Key(0, 0, k, 1))
        means[k], precisions[k] = state["user_mean"], state["user_precision"]
    beta, nu, mean = strength + n, degrees + n, rows.mean(axis=0)
    inverse = np.eye(p) + n * np.cov(rows.T, bias=True) + strength * n / beta * np.outer(mean, mean)
    W = np.linalg.inv(inverse)
    variance = nu * (W**2 + np.outer(np.diag(W), np.diag(W)))
    assert np.all(np.abs(precisions.mean(axis=0) - nu * W) < 4 * np.sqrt(variance / n_draws))
    np.testing.assert_allclose(precisions.var(axis=0), variance, rtol=0.15)
    covariance = inverse / (beta * (nu - p - 1))
    spread = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(means.mean(axis=0) - n * mean / beta) < 4 * spread / np.sqrt(n_draws))
    assert np.all(np.abs(np.cov(means.T) - covariance) < 0.1 * np.outer(spread, spread))
    # Given Λ the mean is normal: its distance, in Λ, is χ² with p degrees of freedom.
    gaps = means - n * mean / beta
    squared = beta * np.einsum("ka,kab,kb->k", gaps, precisions, gaps)
    assert abs(squared.mean() - p) < 4 * np.sqrt(2 * p / n_draws)
    assert abs(squared.var() / (2 * p) - 1) < 0.15
    np.testing.assert_allclose(prior.shift(state), state["user_precision"] @ state["user_mean"])


def test_many_rows_in_blocks():
    """The scatter of 3,000 rows, summed in blocks, decides the draw; threads do not."""
    rows = np.random.default_rng(1).normal(3, [0.5, 2.0], (3000, 2))
    draws = []
    for threads in (1, 2):
        prior = NormalWishartPrior("item", 2)
        state = prior.start()
        with thread_limit(threads):
            prior.draw(state, rows, Key(0, 0, 1, 1))
        draws.append(state)
    assert all(np.array_equal(draws[0][name], draws[1][name]) for name in draws[0])
    np.testing.assert_allclose(np.linalg.inv(draws[0]["item_precision"]), np.cov(rows.T), rtol=0.15, atol=0.15)
    np.testing.assert_allclose(draws[0]["item_mean"], rows.mean(axis=0), atol=0.2)
