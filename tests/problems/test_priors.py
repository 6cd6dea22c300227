"""Priors of factor rows: draws against the closed forms of their conditional distributions."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse, special, stats
from tests.together import together

from cofactor.kernels.threads import thread_limit
from cofactor.problems.priors import (
    BiasedPrior,
    LinkedPrior,
    Moments,
    NormalWishartPrior,
    SparseNormalWishartPrior,
    draw_normal_gamma,
    moments,
    turned,
)
from cofactor.samplers import Key

N, P, K = 40, 2, 3


def table() -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and features with orthogonal columns of several lengths."""
    rng = np.random.default_rng(0)
    features = turned(rng.normal(size=(N, K)) * [2.0, 1.0, 0.3])
    return features @ rng.normal(size=(K, P)) + rng.normal(size=(N, P)) * [1.0, 0.4] + [0.5, -2.0], features


def drawn(prior: Any, rows: np.ndarray, n: int, names: tuple[str, ...], **given: Any) -> list[np.ndarray]:
    """Return some of what n draws give, each from a state in which some is given."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for k in range(n):
        state = prior.start()
        for name, value in given.items():
            state[name][:] = value
        prior.draw(state, rows, Key(k, 0, 1, 1))
        for name in names:
            found[name].append(state[name])
    return [np.array(arrays) for arrays in found.values()]


def test_normal_columns_follow_the_normal_gamma_posterior():
    rng = np.random.default_rng(0)
    rows = rng.normal([1.0, -3.0], [2.0, 0.5], (12, 2))
    a, b, kappa = 1.5, 0.7, 2.0
    mu, tau = draw_normal_gamma(rng, Moments(12, *moments(np.repeat(rows, 20000, axis=1))), a, b, kappa)
    for x, m, t in zip(rows.T, mu.reshape(2, -1), tau.reshape(2, -1), strict=True):
        total = kappa + len(x)
        centre = x.sum() / total
        rate = b + 0.5 * ((x**2).sum() - total * centre**2)  # by completing the square
        assert stats.kstest(t, stats.gamma(a + len(x) / 2, scale=1 / rate).cdf).pvalue > 1e-3
        assert stats.kstest((m - centre) * np.sqrt(total * t), stats.norm.cdf).pvalue > 1e-3


@together("shape", [(1, 1), (50, 1), (5000, 1), (1, 3), (7, 2), (1000, 11), (300, 70)])
def test_moments_are_those_of_numpy_to_the_bit(shape):
    rows = np.random.default_rng(0).normal(3, 2, shape)
    mean, variance = moments(rows)
    assert np.array_equal(mean, rows.mean(axis=0))
    assert np.array_equal(variance, rows.var(axis=0))


def test_regression_weights_follow_their_conditional_distribution():
    """Each column of µ and W given τ and ω is normal; the closed form solves the full system, intercept and all."""
    rows, features = table()
    prior = LinkedPrior("user", P, features, shape=2.0, rate=0.5)
    design = np.c_[np.ones(N), features]
    names = ("user_mean", "user_precision", "user_weights", "user_weight_precision")
    mu, tau, W, drawn_omega = drawn(prior, rows, 4000, names, user_weights=0.3, user_weight_precision=[0.5, 4.0])
    parts = []
    for p, omega in enumerate([0.5, 4.0]):
        penalty = np.insert(np.full((len(tau), K), omega), 0, tau[:, p], axis=1)
        A = tau[:, p, None, None] * design.T @ design + penalty[:, None] * np.eye(K + 1)
        mean = np.linalg.solve(A, (tau[:, p, None] * (design.T @ rows[:, p]))[..., None])
        gaps = np.insert(W[:, :, p], 0, mu[:, p], axis=1)[..., None] - mean
        parts.append((np.linalg.cholesky(A).swapaxes(1, 2) @ gaps)[..., 0])
    draws = np.concatenate(parts)
    assert all(stats.kstest(column, stats.norm.cdf).pvalue > 1e-3 for column in draws.T)
    assert np.abs(np.corrcoef(draws.T) - np.eye(K + 1)).max() < 0.05
    scales = drawn_omega * (0.5 + 0.5 * (W**2).sum(axis=1))
    assert stats.kstest(scales.ravel(), stats.gamma(2.0 + K / 2).cdf).pvalue > 1e-3


def test_precision_is_drawn_from_what_the_regression_leaves():
    rows, features = table()
    prior = LinkedPrior("item", P, features)
    weights = np.random.default_rng(3).normal(size=(K, P))
    [found] = drawn(prior, rows, 3000, ("item_precision",), item_weights=weights)
    rest = rows - features @ weights
    centre = rest.sum(axis=0) / (N + 1)
    rate = 1 + 0.5 * ((rest**2).sum(axis=0) - (N + 1) * centre**2)
    for p, precision in enumerate(found.T):
        assert stats.kstest(precision * rate[p], stats.gamma(1 + N / 2).cdf).pvalue > 1e-3


def test_sparse_regression_draws_each_coefficient_given_the_others():
    """A row of W is normal given those before it, already drawn, and those after it, as they were."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(N, K)) * (rng.random((N, K)) < 0.4)
    rows = features @ rng.normal(size=(K, P)) + rng.normal(size=(N, P)) @ [[1.0, 0.5], [0.0, 0.6]]
    prior = SparseNormalWishartPrior("user", P, sparse.csr_array(features), strength=1.5)
    start, omega = rng.normal(size=(K, P)), 2.0
    names = ("user_mean", "user_precision", "user_weights", "user_weight_precision")
    mu, precisions, W, drawn_omega = drawn(prior, rows, 3000, names, user_weights=start, user_weight_precision=omega)
    now, roots, parts = np.tile(start, (3000, 1, 1)), np.linalg.cholesky(precisions), []
    for c, f in enumerate(features.T):
        now[:, c] = 0
        total = omega + (f**2).sum()
        means = f @ (rows - mu[:, None] - features @ now) / total
        parts.append(np.einsum("kba,kb->ka", roots, W[:, c] - means) * np.sqrt(total))
        now[:, c] = W[:, c]
    scales = drawn_omega[:, 0] * (1 + 0.5 * np.einsum("nka,nab,nkb->n", W, precisions, W))
    draws = np.hstack(parts)
    assert all(stats.kstest(column, stats.norm.cdf).pvalue > 1e-3 for column in draws.T)
    assert np.abs(np.corrcoef(draws.T) - np.eye(K * P)).max() < 0.07
    assert stats.kstest(scales, stats.gamma(1 + K * P / 2).cdf).pvalue > 1e-3
    state = {"user_mean": mu[0], "user_weights": W[0]}
    np.testing.assert_allclose(prior.means(state, N), mu[0] + features @ W[0], rtol=1e-12)
    # Λ is that of all rows, weights among them, given the first W, with µ integrated out
    rest = rows - features @ start
    inverse = np.eye(P) + rest.T @ rest - np.outer(rest.sum(axis=0), rest.sum(axis=0)) / (N + 1.5)
    inverse += omega * start.T @ start
    chi = np.linalg.det(precisions) * np.linalg.det(inverse)
    degrees = P + N + K - np.arange(P)
    assert np.log(chi).mean() == pytest.approx(special.digamma(degrees / 2).sum() + P * np.log(2), abs=0.02)


def test_sparse_regression_is_the_same_on_any_number_of_threads():
    rows, features = table()
    prior, found = SparseNormalWishartPrior("user", P, sparse.csr_array(features)), []
    for n in (1, 2, 3):
        state = prior.start()
        with thread_limit(n):
            for sweep in range(3):
                prior.draw(state, rows, Key(0, 0, sweep, 1))
        found.append(np.vstack([state["user_weights"], prior.means(state, N)]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@together("as_sparse", [True, False])
def test_factors_and_bias_are_drawn_as_by_priors_of_their_own(as_sparse):
    """One generator serves both, first the factors; the rest of the precision is zero."""
    features = table()[1]
    rows = np.random.default_rng(2).normal(size=(N, 3)) + features[:, :1]
    given = sparse.csr_array(features) if as_sparse else features
    prior = BiasedPrior("item", 3, given, strength=0.7, excess=2.0)
    state, random = prior.start(), np.random.default_rng(0)
    key = Key(0, 0, 1, 1)
    prior.draw(state, rows, key)
    random = key.generator()
    kind = SparseNormalWishartPrior if as_sparse else NormalWishartPrior
    for columns, p, degrees in ((slice(0, 2), 2, 3.0), (slice(2, 3), 1, 2.0)):
        alone = kind("item", p, given, strength=0.7, degrees=degrees)
        own = alone.start()
        alone.draw_by(random, own, rows[:, columns])
        np.testing.assert_array_equal(state["item_mean"][columns], own["item_mean"])
        np.testing.assert_array_equal(state["item_precision"][columns, columns], own["item_precision"])
        np.testing.assert_array_equal(state["item_weights"][:, columns], own["item_weights"])
        assert state["item_weight_precision"][int(p == 1)] == own["item_weight_precision"][0] != 1
        np.testing.assert_array_equal(prior.means(state, N)[:, columns], alone.means(own, N))
    assert not state["item_precision"][2, :2].any()
    assert not state["item_precision"][:2, 2].any()
    np.testing.assert_allclose(prior.shifts(state, N), prior.means(state, N) @ prior.precision(state))


@together("given", [None, "sparse", "dense"])
def test_means_of_many_samples_are_those_of_each(given):
    features = None if given is None else table()[1] if given == "dense" else sparse.csr_array(table()[1])
    prior, random = BiasedPrior("item", 5, features), np.random.default_rng(0)
    states = [{name: random.normal(size=array.shape) for name, array in prior.start().items()} for _ in range(7)]
    together = {name: np.array([state[name] for state in states]) for name in states[0]}
    for method in (prior.means, prior.shifts):
        np.testing.assert_array_equal(method(together, N), [method(state, N) for state in states])


def test_means_are_those_of_the_regression():
    rows, features = table()
    prior = LinkedPrior("user", P, features)
    state = prior.start()
    prior.draw(state, rows, Key(0, 0, 1, 1))
    expected = state["user_mean"] + features @ state["user_weights"]
    np.testing.assert_allclose(prior.means(state, N), expected, rtol=1e-12)
    np.testing.assert_array_equal(LinkedPrior("user", P).means(state, 3), np.tile(state["user_mean"], (3, 1)))


@together("shape", [(40, 5), (4, 7), (1, 3), (6, 6)])
def test_turning_is_a_rotation_onto_orthogonal_columns(shape):
    """Products of rows stay as they are, hence the covariance F Fᵀ/ω of the rows' means under the prior of W."""
    features = np.random.default_rng(1).normal(size=shape)
    found = turned(features)
    assert found.shape == (shape[0], min(shape))
    np.testing.assert_allclose(found @ found.T, features @ features.T, atol=1e-12)
    gram = found.T @ found
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-12)


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
    np.testing.assert_allclose(prior.shifts(state, 2), np.tile(state["user_precision"] @ state["user_mean"], (2, 1)))


def test_normal_wishart_regression_follows_its_posterior():
    """µ and W given Λ are normal about a solution of the full system; Λ is known without them."""
    rows, features = table()
    prior = NormalWishartPrior("user", P, features, strength=1.5)
    design, omega = np.c_[np.ones(N), features], 2.0
    A = design.T @ design + np.diag([1.5, *[omega] * K])
    best = np.linalg.solve(A, design.T @ rows)
    inverse = np.eye(P) + rows.T @ rows - best.T @ A @ best
    names = ("user_mean", "user_precision", "user_weights", "user_weight_precision")
    mu, precisions, W, drawn_omega = drawn(prior, rows, 3000, names, user_weights=0.3, user_weight_precision=omega)
    gaps = np.concatenate([mu[:, None], W], axis=1) - best
    draws = (np.linalg.cholesky(A).T @ gaps @ np.linalg.cholesky(precisions)).reshape(3000, -1)
    scales = drawn_omega[:, 0] * (1 + 0.5 * np.einsum("nka,nab,nkb->n", W, precisions, W))
    log_dets = np.log(np.linalg.det(precisions @ inverse))
    assert all(stats.kstest(column, stats.norm.cdf).pvalue > 1e-3 for column in draws.T)
    assert np.abs(np.corrcoef(draws.T) - np.eye(P * (K + 1))).max() < 0.07
    assert stats.kstest(scales, stats.gamma(1 + K * P / 2).cdf).pvalue > 1e-3
    degrees = P + N - np.arange(P)  # |Λ| times that of its inverse scale is a product of χ² draws
    assert np.mean(log_dets) == pytest.approx(special.digamma(degrees / 2).sum() + P * np.log(2), abs=0.02)
    state = {"user_mean": mu[0], "user_precision": precisions[0], "user_weights": W[0]}
    np.testing.assert_allclose(prior.means(state, N), mu[0] + features @ W[0], rtol=1e-12)
    np.testing.assert_allclose(prior.shifts(state, N), prior.means(state, N) @ precisions[0], rtol=1e-12)


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
