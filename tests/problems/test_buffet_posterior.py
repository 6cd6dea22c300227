"""Features of users are drawn as the Indian buffet process and hinge losses say: against formulas and brute force."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from cofactor.kernels import hinges
from cofactor.kernels.random import fold
from cofactor.problems.max_margin import BuffetPosterior, ThresholdPrior
from cofactor.samplers import Chain, run


def no_ratings(n: int, m: int) -> SimpleNamespace:
    """Return data without a rating."""
    nothing = np.zeros(0, dtype=np.int32)
    return SimpleNamespace(
        indptr=np.zeros(n + 1, dtype=np.int64), indices=nothing, levels=nothing.astype(np.uint8),
        col_indptr=np.zeros(m + 1, dtype=np.int64), col_indices=nothing, to_csr=nothing,
    )  # fmt: skip


def posterior(data: SimpleNamespace, a: float, d: int = 60, biased: bool = False) -> BuffetPosterior:
    return BuffetPosterior(
        data, 3, ThresholdPrior(3.0, 1.5, learned=False), n_columns=d, concentration=a, learned=False, c=0.25,
        width=1.0, biased=biased,
    )  # fmt: skip


def test_without_ratings_the_chain_draws_from_the_buffet():
    """The number of features is Poisson with mean a H_n, and all users together have a n of them on average."""
    n, a, every = 8, 2.0, 15.0  # one sample in so many is independent
    chain = run(posterior(no_ratings(n, 2), a, d=30), Chain(0, 1), 3000, burn_in=100)
    counts = chain.samples["shares"] * (n + 1)
    S, harmonic = len(counts) / every, a * (1 / np.arange(1, n + 1)).sum()
    used, total = np.count_nonzero(counts, axis=1), counts.sum(axis=1)
    assert abs(used.mean() - harmonic) < 4 * np.sqrt(harmonic / S)
    assert used.var() == pytest.approx(harmonic, rel=6 * np.sqrt(2 / S))
    assert abs(total.mean() - a * n) < 4 * total.std() / np.sqrt(S)


def test_columns_in_use_come_first_and_fit_the_counts():
    rng = np.random.default_rng(0)
    n, m = 12, 7
    indices = np.tile(np.arange(m, dtype=np.int32), n)
    data = SimpleNamespace(
        indptr=m * np.arange(n + 1), indices=indices, levels=rng.integers(1, 4, n * m).astype(np.uint8),
        col_indptr=n * np.arange(m + 1), col_indices=np.tile(np.arange(n, dtype=np.int32), m),
        to_csr=np.arange(n * m, dtype=np.int32).reshape(n, m).T.ravel(),
    )  # fmt: skip
    chain = run(posterior(data, 1.5, d=6, biased=True), Chain(0, 1), 60)
    for U, V, shares in zip(*(chain.samples[name] for name in ("U", "V", "shares")), strict=True):
        counts = np.rint(shares * (n + 1))
        assert set(np.unique(U)) <= {0.0, 1.0}
        assert not U[:, -1].any()
        assert np.array_equal(U[:, :-1].sum(axis=0), counts)
        assert np.all(np.diff(np.sign(counts)) <= 0)
        assert not V[:, :-1][:, counts == 0].any()
        assert V[:, -1].all()


def test_odds_are_ratios_of_densities():
    """Drawn one by one for long, features have the joint distribution that brute force gives."""
    rng = np.random.default_rng(0)
    F, W, t = rng.normal(size=(3, 5)), rng.gamma(2.0, 0.3, 5), rng.normal(size=5)
    logits = np.array([0.3, -0.5, 1.0])
    every = np.array(list(product([0.0, 1.0], repeat=3)))
    density = np.exp(every @ logits - 0.5 * (W * (t - every @ F) ** 2).sum(axis=1))
    z, skip = np.zeros(3), np.zeros(3, dtype=bool)
    seen, residual = np.zeros(8), t.copy()
    for s in range(20_000):
        hinges.flip_features(fold(4, s), z, logits, F, W, residual, skip)
        seen[int(z @ [4, 2, 1])] += 1
    np.testing.assert_allclose(residual, t - z @ F, atol=1e-9)
    assert np.abs(seen / seen.sum() - density / density.sum()).max() < 0.015
    skip[1], before = True, z[1]
    for s in range(50):
        hinges.flip_features(fold(5, s), z, logits, F, W, residual, skip)
        assert z[1] == before


def test_number_of_new_features_by_brute_force():
    """Weights integrated out by Monte Carlo over the prior."""
    rng = np.random.default_rng(0)
    W, residual, rate, sigma = np.array([0.4, 1.1, 0.2]), np.array([0.9, -1.4, 0.5]), 0.8, 1.3
    expected = np.array(
        [
            stats.poisson(rate).pmf(q)
            * np.exp(
                (W * residual * (x := np.sqrt(q) * sigma * rng.normal(size=(400_000, 3))) - 0.5 * W * x**2).sum(axis=1)
            ).mean()
            for q in range(5)
        ]
    )
    seen = np.zeros(5)
    for s in range(40_000):
        _, q = hinges.number_of_new(fold(6, s), rate, sigma**2, W, residual, 4)
        seen[q] += 1
    assert np.abs(seen / seen.sum() - expected / expected.sum()).max() < 0.01


def test_weights_of_new_features():
    W, residual, variance, q = np.array([0.7, 2.0]), np.array([1.0, -0.5]), 1.7, 3
    items, columns = np.array([2, 0], dtype=np.int32), np.array([1, 3, 4])
    draws = np.empty((20_000, 3, q))
    V = np.full((3, 5), 9.0)
    for s in range(len(draws)):
        hinges.new_weights(fold(8, s), V, columns, variance, items, W, residual)
        draws[s] = V[:, columns]
    assert (V[:, [0, 2]] == 9).all()
    for j, (w, r) in {2: (W[0], residual[0]), 0: (W[1], residual[1]), 1: (0.0, 0.0)}.items():
        covariance = np.linalg.inv(np.eye(q) / variance + w)
        np.testing.assert_allclose(np.cov(draws[:, j].T), covariance, atol=0.06)
        np.testing.assert_allclose(draws[:, j].mean(axis=0), covariance @ np.full(q, w * r), atol=0.05)
