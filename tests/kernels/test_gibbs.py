"""Draws of thresholds and latent scores against closed forms, quadrature and SciPy."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import truncnorm
from tests.together import together

from cofactor.kernels import gibbs
from cofactor.kernels.random import fold
from cofactor.problems.rows import table_of

from .reference import begun, positive_definite, random_pattern


@together("p", [1, 3, 4, 5, 9, 12])
@together("n", [0, 1, 32, 37])
def test_add_products(p, n):
    rng = np.random.default_rng(p)
    F, start = rng.normal(size=(p, n)), rng.normal(size=(p, p))
    gram = start.copy()
    gibbs.add_products(np.c_[F, np.full((p, 2), np.nan)], n, gram)
    np.testing.assert_allclose(np.tril(gram), np.tril(start + F @ F.T), atol=1e-12)
    assert np.array_equal(np.triu(gram, 1), np.triu(start, 1))


# ---------------------------------------------------------------- levels


def boundaries(gaps: np.ndarray) -> np.ndarray:
    theta = np.cumsum(np.concatenate([gaps[:1], np.exp(gaps[1:])]))
    return np.concatenate([[-np.inf], theta, [np.inf]])


@together("gaps", [[0.3], [-2.0, 0.1, -1.0, 0.5], [-1.0, -9.0, 3.0]])
def test_boundaries(gaps):
    out = np.empty(len(gaps) + 2)
    gibbs.boundaries(np.array(gaps), out)
    np.testing.assert_allclose(out[1:-1], boundaries(np.array(gaps))[1:-1], rtol=1e-14)
    assert (out[0], out[-1]) == (-gibbs.INFINITE, gibbs.INFINITE)


@together("gaps", [[0.3], [-2.0, 0.1, -1.0, 0.5], [-1.0, -9.0, 3.0]])
def test_masses_of_levels_have_relative_precision_in_both_tails(gaps):
    """By log Φ of the smaller tails, whose difference loses nothing."""
    R = len(gaps) + 1
    x = np.tile(np.linspace(-30, 30, 241), R).astype(np.float32)
    levels = np.repeat(np.arange(1, R + 1), 241)
    theta = np.empty(R + 1)
    gibbs.boundaries(np.array(gaps), theta)
    room = gibbs.room_for_levels(len(x))
    total = gibbs.level_masses(x, levels.astype(np.uint8), theta.astype(np.float32), room)
    left, mass, side = room[:3].astype(float)
    a, b = (boundaries(np.array(gaps))[y].astype(np.float32).astype(float) - x for y in (levels - 1, levels))
    turn = a + b > 0
    low, high = np.where(turn, -b, a), np.where(turn, -a, b)
    log_mass = log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))
    near = high > -12  # under masses of 1e-33 single precision has no small ones to take off them
    rounded = 4e-6 * np.maximum(np.abs(x), 1) ** 2  # of thresholds less scores, in single precision
    wide = near & (high - low > 0.1)
    assert np.all(np.abs(np.log(mass) - log_mass)[wide] < rounded[wide])
    sure = near & (high - low > 1e-3)
    assert np.all(np.abs(np.log(mass) - log_mass)[sure] < 1e-2)
    inside = low > -12.5
    assert np.all(np.abs(left - ndtr(low))[inside] < (rounded * ndtr(low))[inside])
    assert np.array_equal(side, np.where(turn, -1, 1))
    assert np.all(mass > 0)
    assert total == pytest.approx(np.log(mass).sum(), rel=1e-12)


@together(("low", "high"), [(-1.0, 0.5), (3.0, np.inf), (7.0, 8.0), (-np.inf, -9.0), (-8.0, -7.0), (-np.inf, 9.0)])
@together("x", [0.0, 1.25])
def test_latent_scores_are_truncated_normal(low, high, x):
    n = 200_000
    inner = [t for t in (low, high) if np.isfinite(t)]
    gaps = np.array([inner[0] + x, *np.log(np.diff(inner))])
    level = 1 if np.isinf(low) else 2
    z, theta = np.empty(n, np.float32), np.empty(len(gaps) + 2)
    same = np.ones(len(gaps))
    state, accepted, value = gibbs.draw_thresholds_and_latent(
        begun(0), np.full(n, x, np.float32), np.full(n, level, np.uint8), gaps, same, same, 1.0, 0, theta, z,
        gibbs.room_for(n, len(gaps)),
    )  # fmt: skip
    assert state != begun(0)
    assert accepted == 0
    expected = truncnorm(low, high)
    sd = expected.std()
    z = z.astype(float)
    assert np.all((z - x >= low - 2e-5) & (z - x <= high + 2e-5))
    assert (z - x).mean() == pytest.approx(expected.mean(), abs=4 * sd / np.sqrt(n))
    assert (z - x).std() == pytest.approx(sd, rel=0.01)
    some = np.linspace(0.01, 0.99, 25)
    np.testing.assert_allclose(expected.cdf(np.quantile(z - x, some)), some, atol=4 / np.sqrt(n))
    mass = ndtr(-low) - ndtr(-high) if low > 0 else ndtr(high) - ndtr(low)
    assert value == pytest.approx(n * np.log(mass), rel=1e-6)


def test_log_gaps_are_drawn_from_their_posterior():
    """20,000 users with the same four ratings, each a chain of 40 sweeps, against quadrature over both log-gaps."""
    n, x = 20_000, np.array([-0.4, 0.3, 1.0, 0.1])
    levels = np.array([1, 2, 3, 2], dtype=np.uint8)
    mean, precision = np.array([0.2, -0.3]), np.array([1.5, 2.5])
    own, table = np.zeros((n, 1)), table_of(x[:, None], True, np.float32)  # a score is the item's bias
    gaps, thresholds = np.tile(mean, (n, 1)), np.empty((n, 2))
    z, accepted, value = np.empty(4 * n, np.float32), np.empty(n), np.empty(n)
    items = np.tile(np.arange(4, dtype=np.int32), n)
    for sweep in range(40):
        gibbs.draw_ordinal_rows(
            0, n, fold(sweep), np.arange(n + 1) * 4, items, np.tile(levels, n), own, table,
            np.zeros(0), gaps, mean, precision, np.full(n, 0.7), 3, thresholds, z, accepted, value,
        )  # fmt: skip
    first, second = np.meshgrid(np.linspace(-4, 4, 401), np.linspace(-5, 2, 401), indexing="ij")
    theta = np.stack([np.full(first.shape, -np.inf), first, first + np.exp(second), np.full(first.shape, np.inf)])
    log_density = -0.5 * (precision[0] * (first - mean[0]) ** 2 + precision[1] * (second - mean[1]) ** 2)
    masses = [ndtr(theta[y] - s) - ndtr(theta[y - 1] - s) for s, y in zip(x, levels, strict=True)]
    likelihood = np.log(np.maximum(masses, 1e-300)).sum(axis=0)
    weight = np.exp(log_density + likelihood)
    weight /= weight.sum()
    for k, value_of in enumerate((first, second)):
        expected = np.sum(weight * value_of)
        sd = np.sqrt(np.sum(weight * (value_of - expected) ** 2))
        assert gaps[:, k].mean() == pytest.approx(expected, abs=4 * sd / np.sqrt(n))
        assert gaps[:, k].std() == pytest.approx(sd, rel=0.03)
    # Sums near 0 keep the rounding of their parts, and exp() rounds otherwise in NumPy than in Numba on some machines.
    expected = np.cumsum([gaps[:, 0], np.exp(gaps[:, 1])], axis=0).T
    np.testing.assert_allclose(thresholds, expected, rtol=1e-12, atol=1e-15)
    assert 0.2 < accepted.mean() < 0.8
    assert value.mean() == pytest.approx(np.sum(weight * likelihood), rel=0.02)
    inside = np.concatenate([np.full((n, 1), -np.inf), thresholds, np.full((n, 1), np.inf)], axis=1)
    latent = z.reshape(n, 4)
    assert np.all(latent <= inside[:, levels] + 1e-5)
    assert np.all(latent >= inside[:, levels - 1] - 1e-5)


@together("biased", [False, True])
def test_probabilities_of_levels(biased):
    rng = np.random.default_rng(2)
    S, n, m, p, R = 5, 6, 7, 4, 4
    U, V = rng.normal(size=(S, n, p)).astype(np.float32), rng.normal(size=(S, m, p)).astype(np.float32)
    thresholds = np.sort(rng.normal(size=(S, n, R - 1))).astype(np.float32)
    roots = rng.gamma(2, 1, S)
    users, items = (rng.integers(-1, size, 30, dtype=np.int32) for size in (n, m))
    out = np.full((30, R), np.nan)
    for lo, hi in ((0, 11), (11, 30)):
        gibbs.level_probabilities(lo, hi, users, items, np.arange(S), U, V, thresholds, roots, biased, out)
    d = p - biased
    x = np.einsum("skf,skf->sk", U[:, users, :d], V[:, items, :d])
    if biased:
        x = x + U[:, users, d] + V[:, items, d]
    below = ndtr(roots[:, None, None] * (thresholds[:, users].astype(float) - x[:, :, None])).mean(axis=0)
    expected = np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1))), axis=1)
    np.testing.assert_allclose(out, expected, atol=1e-6)
    np.testing.assert_allclose(out.sum(axis=1), 1, atol=1e-14)
    # One row of thresholds for all.
    common, again = thresholds[:, :1].copy(), np.empty_like(out)
    for each, found in ((common, out), (np.repeat(common, n, axis=1), again)):
        gibbs.level_probabilities(0, 30, users, items, np.arange(S), U, V, each, roots, biased, found)
    np.testing.assert_allclose(out, again, atol=1e-14)


def test_moments_of_scores_means_of_priors_and_sums_of_features():
    rng = np.random.default_rng(4)
    e = random_pattern(rng, 12, 9)
    U, V, out = rng.normal(size=(12, 3)), rng.normal(size=(9, 3)), np.empty((4, 3))
    levels = rng.integers(1, 5, len(e.indices)).astype(np.uint8)
    gibbs.level_moments(0, 12, e.indptr, e.indices, levels, np.ones(1), U, V, out)
    x = np.einsum("kf,kf->k", U[e.rows], V[e.indices])
    expected = [[np.sum(x[levels == r] ** power) for power in range(3)] for r in range(1, 5)]
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    features, weights, mean = rng.normal(size=(2, 12)), rng.normal(size=(2, 3)), rng.normal(size=3)
    means, sums = np.full((12, 3), 9.0), np.full((3, 2), 9.0)
    gibbs.prior_means(2, 11, features, weights, mean, means)
    np.testing.assert_allclose(means[2:11], (mean + features.T @ weights)[2:11], rtol=1e-12)
    gibbs.feature_sums(1, 3, np.ascontiguousarray(features.T), U, mean, sums)
    np.testing.assert_allclose(sums[1:], (features @ (U - mean)).T[1:], rtol=1e-10)
    assert (means[[0, 1, 11]] == 9).all()
    assert (sums[0] == 9).all()


@together("d", [1, 2, 5, 8])
def test_wishart(d):
    rng = np.random.default_rng(d)
    M, noise_ = positive_definite(rng, d), rng.normal(size=d)
    B = np.tril(rng.normal(size=(d, d)))
    B[np.diag_indices(d)] = 0.5 + np.abs(B[np.diag_indices(d)])
    precision, shift = np.empty((d, d)), np.empty(d)
    gibbs.wishart(np.tril(M), B, noise_.copy(), precision, shift)
    T = np.linalg.solve(np.linalg.cholesky(M).T, B)
    np.testing.assert_allclose(precision, T @ T.T, rtol=1e-8, atol=1e-10)
    assert np.array_equal(precision, precision.T)
    np.testing.assert_allclose(shift, np.linalg.solve(T.T, noise_), rtol=1e-8)
