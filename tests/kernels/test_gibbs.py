"""Draws of rows, thresholds and latent scores against closed forms, quadrature and SciPy."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import truncnorm
from tests.together import together

from cofactor.kernels import gibbs
from cofactor.kernels.random import fold, normal, stream

from .reference import random_pattern

KEY = fold(3, 1, 4)
ONE = np.ones(1)
NOWHERE = np.zeros(0, dtype=np.int32)


def positive_definite(rng: np.random.Generator, p: int) -> np.ndarray:
    B = rng.normal(size=(p, p + 2))
    return B @ B.T


def begun(row: int) -> np.uint64:
    """Return the stream of a row; Numba hands it back as Python's int."""
    return np.uint64(stream(KEY, row))


def noise(row: int, p: int) -> np.ndarray:
    """Return the first standard normal draws of a row's stream."""
    state, out = begun(row), np.empty(p)
    for a in range(p):
        state, out[a] = normal(np.uint64(state))
    return out


def conditional(features, targets, weights, precision, shift, biased) -> tuple[np.ndarray, np.ndarray]:
    """Return A and A⁻¹ b of a row, by NumPy."""
    features = features.astype(float)
    if biased:
        targets = targets - features[:, -1]
        features[:, -1] = 1
    A = precision + features.T @ (weights[:, None] * features)
    return A, np.linalg.solve(A, shift + features.T @ (weights * targets))


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_column", [False, True])
@pytest.mark.parametrize(("p", "dtype"), [(1, np.float64), (4, np.float32), (6, np.float64), (9, np.float64)])
def test_rows_are_their_mean_plus_noise_of_their_covariance(biased, weighted, by_column, p, dtype):
    """L⁻ᵀ ξ with A = L Lᵀ, and ξ the first draws of the row's stream."""
    rng = np.random.default_rng(p)
    e = random_pattern(rng, 40, 50)
    targets, weights = rng.normal(size=len(e.indices)), rng.gamma(1, 1, len(e.indices)) if weighted else np.full(1, 1.7)
    indptr, indices = (e.col_indptr, e.col_indices) if by_column else (e.indptr, e.indices)
    position = e.to_csr if by_column else NOWHERE
    n = len(indptr) - 1
    other, precision = rng.normal(size=(50, p)).astype(dtype), positive_definite(rng, p)
    shift, out = rng.normal(size=(n, p)), np.full((n, p), np.nan)
    half = (indptr, indices, position, targets, weights, other, precision, shift, biased, out)
    gibbs.draw_rows(0, 17, KEY, *half)
    assert np.isnan(out[17:]).all()
    gibbs.draw_rows(17, n, KEY, *half)
    order = e.to_csr if by_column else np.arange(len(targets))
    assert any(indptr[i] == indptr[i + 1] for i in range(n))
    for i in range(n):
        here = order[indptr[i] : indptr[i + 1]]
        w = weights[here] if weighted else np.full(len(here), 1.7)
        features = other[indices[indptr[i] : indptr[i + 1]]]
        A, mean = conditional(features, targets[here], w, precision, shift[i], biased)
        expected = mean + np.linalg.solve(np.linalg.cholesky(A).T, noise(i, p))
        np.testing.assert_allclose(out[i], expected, atol=2e-5 if dtype is np.float32 else 1e-9)


@pytest.mark.parametrize(("p", "n"), [(1, 5000), (9, 1000), (60, 65), (200, 70)])
def test_entries_of_a_row_are_taken_piece_by_piece(p, n):
    rng = np.random.default_rng(n)
    other, precision, shift, out = rng.normal(size=(n, p)), positive_definite(rng, p), rng.normal(size=p), np.empty(p)
    targets, weights, indices = rng.normal(size=n), rng.gamma(1, 1, n), rng.permutation(n).astype(np.int32)
    gram = np.empty((p + 1, p + 1))
    gibbs.draw_row(begun(3), targets, weights, other, indices, precision, shift, True, gram, out)
    A, mean = conditional(other[indices], targets, weights, precision, shift, True)
    np.testing.assert_allclose(out, mean + np.linalg.solve(np.linalg.cholesky(A).T, noise(3, p)), atol=1e-9)


def test_mean_and_covariance_of_many_draws():
    rng = np.random.default_rng(0)
    n, m, p = 40_000, 5, 3
    other, precision = rng.normal(size=(m, p)), positive_definite(rng, p)
    targets, shift, out = rng.normal(size=m), rng.normal(size=p), np.empty((n, p))
    weights = rng.gamma(2, 1, m)
    items = np.tile(np.arange(m, dtype=np.int32), n)
    gibbs.draw_rows(
        0, n, KEY, np.arange(n + 1) * m, items, NOWHERE, np.tile(targets, n), np.tile(weights, n), other, precision,
        np.tile(shift, (n, 1)), True, out,
    )  # fmt: skip
    A, mean = conditional(other, targets, weights, precision, shift, True)
    covariance = np.linalg.inv(A)
    spread = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(out.mean(axis=0) - mean) < 4 * spread / np.sqrt(n))
    assert np.all(np.abs(np.cov(out.T) - covariance) < 6 * np.outer(spread, spread) / np.sqrt(n))


def test_new_users_are_drawn_alike_alone_and_among_others():
    rng = np.random.default_rng(1)
    e = random_pattern(rng, 20, 15)
    targets, other, precision = rng.normal(size=len(e.indices)), rng.normal(size=(15, 3)), positive_definite(rng, 3)
    shift, out, weights = rng.normal(size=(20, 3)), np.empty((20, 3)), np.full(1, 2.0)
    gibbs.fold_rows(0, 20, KEY, e.indptr, e.indices, targets, weights, other, precision, shift, out)
    for i in range(20):
        here = slice(e.indptr[i], e.indptr[i + 1])
        alone, indptr = np.empty((1, 3)), np.array([0, here.stop - here.start])
        gibbs.draw_rows(
            0, 1, KEY, indptr, e.indices[here], NOWHERE, targets[here], weights, other, precision, shift[i : i + 1],
            False, alone,
        )  # fmt: skip
        assert np.array_equal(out[i], alone[0])


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


@pytest.mark.parametrize("gaps", [[0.3], [-2.0, 0.1, -1.0, 0.5], [-1.0, -9.0, 3.0]])
def test_boundaries(gaps):
    out = np.empty(len(gaps) + 2)
    gibbs.boundaries(np.array(gaps), out)
    np.testing.assert_allclose(out[1:-1], boundaries(np.array(gaps))[1:-1], rtol=1e-14)
    assert (out[0], out[-1]) == (-gibbs.FAR, gibbs.FAR)


@pytest.mark.parametrize("gaps", [[0.3], [-2.0, 0.1, -1.0, 0.5], [-1.0, -9.0, 3.0]])
def test_masses_of_levels_have_relative_precision_in_both_tails(gaps):
    """By log Φ of the smaller tails, whose difference loses nothing."""
    R = len(gaps) + 1
    x = np.tile(np.linspace(-30, 30, 241), R)
    levels = np.repeat(np.arange(1, R + 1), 241)
    theta = np.empty(R + 1)
    gibbs.boundaries(np.array(gaps), theta)
    left, mass, side = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
    total = gibbs.level_masses(x, levels.astype(np.uint8), theta, left, mass, side)
    a, b = boundaries(np.array(gaps))[levels - 1] - x, boundaries(np.array(gaps))[levels] - x
    turn = a + b > 0
    low, high = np.where(turn, -b, a), np.where(turn, -a, b)
    log_mass = log_ndtr(high) + np.log1p(-np.exp(log_ndtr(low) - log_ndtr(high)))
    near = high > -36  # beyond, where masses are under 1e-283, no digits are promised
    sure = near & (high - low > 1e-3)
    np.testing.assert_allclose(np.log(mass[sure]), log_mass[sure], atol=1e-8)
    wide = near & (high - low > 0.1)
    np.testing.assert_allclose(np.log(mass[wide]), log_mass[wide], atol=1e-10)
    np.testing.assert_allclose(left[low > -37], ndtr(low[low > -37]), rtol=1e-11)
    assert np.array_equal(side, np.where(turn, -1, 1))
    assert np.all(mass > 0)
    assert total == pytest.approx(np.log(mass).sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 0.5), (3.0, np.inf), (7.0, 8.0), (-np.inf, -9.0), (-8.0, -7.0), (-np.inf, 9.0)]
)
@pytest.mark.parametrize("x", [0.0, 1.25])
def test_latent_scores_are_truncated_normal(low, high, x):
    n = 200_000
    inner = [t for t in (low, high) if np.isfinite(t)]
    gaps = np.array([inner[0] + x, *np.log(np.diff(inner))])
    level = 1 if np.isinf(low) else 2
    z, theta = np.empty(n), np.empty(len(gaps) + 2)
    same = np.ones(len(gaps))
    state, accepted, value = gibbs.draw_thresholds_and_latent(
        begun(0), np.full(n, x), np.full(n, level, np.uint8), gaps, same, same, 1.0, 0, theta, z
    )
    assert state != begun(0)
    assert accepted == 0
    expected = truncnorm(low, high)
    sd = expected.std()
    assert np.all((z - x >= low - 1e-9) & (z - x <= high + 1e-9))
    assert (z - x).mean() == pytest.approx(expected.mean(), abs=4 * sd / np.sqrt(n))
    assert (z - x).std() == pytest.approx(sd, rel=0.01)
    some = np.linspace(0.01, 0.99, 25)
    np.testing.assert_allclose(expected.cdf(np.quantile(z - x, some)), some, atol=4 / np.sqrt(n))
    mass = ndtr(-low) - ndtr(-high) if low > 0 else ndtr(high) - ndtr(low)
    assert value == pytest.approx(n * np.log(mass), rel=1e-9)


def test_log_gaps_are_drawn_from_their_posterior():
    """20,000 users with the same four ratings, each a chain of 40 sweeps, against quadrature over both log-gaps."""
    n, x = 20_000, np.array([-0.4, 0.3, 1.0, 0.1])
    levels = np.array([1, 2, 3, 2], dtype=np.uint8)
    mean, precision = np.array([0.2, -0.3]), np.array([1.5, 2.5])
    own, other = np.zeros((n, 1)), x[:, None]  # a score is the item's bias
    gaps, thresholds = np.tile(mean, (n, 1)), np.empty((n, 2))
    z, accepted, value = np.empty(4 * n), np.empty(n), np.empty(n)
    items = np.tile(np.arange(4, dtype=np.int32), n)
    for sweep in range(40):
        gibbs.draw_ordinal_rows(
            0, n, fold(sweep), np.arange(n + 1) * 4, items, np.tile(levels, n), own, other,
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
    assert np.all(latent <= inside[:, levels] + 1e-9)
    assert np.all(latent >= inside[:, levels - 1] - 1e-9)


@pytest.mark.parametrize("biased", [False, True])
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
    # The same thresholds for all, which take no memory.
    common = np.broadcast_to(thresholds[0, 0].astype(float), thresholds.shape)
    gibbs.level_probabilities(0, 30, users, items, np.arange(S), U, V, common, roots, biased, out)
    again = np.empty_like(out)
    gibbs.level_probabilities(0, 30, users, items, np.arange(S), U, V, common.astype(np.float32), roots, biased, again)
    np.testing.assert_allclose(out, again, atol=1e-14)


def test_squared_errors_means_of_priors_and_sums_of_features():
    rng = np.random.default_rng(4)
    e = random_pattern(rng, 12, 9)
    U, V, t, out = rng.normal(size=(12, 3)), rng.normal(size=(9, 3)), rng.normal(size=len(e.indices)), np.empty(12)
    gibbs.squared_errors(0, 12, e.indptr, e.indices, t, np.ones(1), U, V, out)
    errors = (t - np.einsum("kf,kf->k", U[e.rows], V[e.indices])) ** 2
    np.testing.assert_allclose(out, np.bincount(e.rows, errors, 12), rtol=1e-12)
    features, weights, mean = rng.normal(size=(2, 12)), rng.normal(size=(2, 3)), rng.normal(size=3)
    means, sums = np.full((12, 3), 9.0), np.full((3, 2), 9.0)
    gibbs.prior_means(2, 11, features, weights, mean, means)
    np.testing.assert_allclose(means[2:11], (mean + features.T @ weights)[2:11], rtol=1e-12)
    gibbs.feature_sums(1, 3, np.ascontiguousarray(features.T), U, mean, sums)
    np.testing.assert_allclose(sums[1:], (features @ (U - mean)).T[1:], rtol=1e-10)
    assert (means[[0, 1, 11]] == 9).all()
    assert (sums[0] == 9).all()


@pytest.mark.parametrize("d", [1, 2, 5, 8])
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
