"""The bound of Attitude: formula, gradient, and what lies above it."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, log_softmax, logit, logsumexp

from cofactor.kernels import products
from cofactor.problems.profiles import AttitudeProblem, odds_of
from cofactor.ratings import Ratings

from ..losses.reference import gradient
from ..ratings.reference import planted

ALPHA = 0.7


def setting(K: int = 3, scale: float = 0.8) -> tuple[Ratings, AttitudeProblem, np.ndarray]:
    ratings = Ratings.from_pairs(*planted(12, 9, 4))
    rng = np.random.default_rng(1)
    problem = AttitudeProblem(ratings, ratings.levels, rng.normal(size=(9, 4)), K, ALPHA)
    return ratings, problem, rng.normal(0, scale, problem.size)


def parts(problem: AttitudeProblem, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return μ, b⁰, b and π."""
    arrays = problem.layout.views(x)
    mu = expit(arrays["logits"])
    return mu, problem.base + arrays["shift"], arrays["factors"], (1 + mu.sum(axis=0)) / (len(mu) + 2)


def log_weights(mu: np.ndarray, base: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return ln t (n, m, R)."""
    inner = 1 - mu[:, None, None, :] + mu[:, None, None, :] * np.exp(factors)
    return base + np.log(inner).sum(axis=3)


def bounds(ratings: Ratings, mu: np.ndarray, base: np.ndarray, factors: np.ndarray, pi: np.ndarray) -> np.ndarray:
    """Return each user's bound (n,)."""
    users, items = ratings.pairs()
    y = ratings.levels.astype(int) - 1
    t = log_weights(mu, base, factors)[users, items]
    per_rating = base[items, y] + np.einsum("ek,ek->e", mu[users], factors[items, y]) - logsumexp(t, axis=1)
    divergence = mu * np.log(mu / pi) + (1 - mu) * np.log((1 - mu) / (1 - pi))
    return np.bincount(users, per_rating, len(mu)) - divergence.sum(axis=1)


def test_value_and_gradient():
    ratings, problem, x = setting()
    mu, base, factors, pi = parts(problem, x)
    expected = -bounds(ratings, mu, base, factors, pi).sum() - np.log(pi * (1 - pi)).sum()
    expected += 0.5 * ALPHA * (np.sum(factors**2) + np.sum((base - problem.base) ** 2))
    slopes = np.empty(problem.size)
    assert problem.value_gradient(x, slopes) == pytest.approx(expected, rel=1e-12)
    rest = np.empty(problem.size)
    directions = np.random.default_rng(2).normal(size=(5, problem.size))
    numeric = [gradient(lambda t, d=d: problem.value_gradient(x + t[0] * d, rest), np.zeros(1)) for d in directions]
    np.testing.assert_allclose(np.ravel(numeric), directions @ slopes, rtol=1e-7)


def test_frequencies_are_the_best_ones():
    ratings, problem, x = setting()
    mu, base, factors, pi = parts(problem, x)
    np.testing.assert_allclose(problem.frequencies(x), pi)

    def value(p: np.ndarray) -> float:
        return bounds(ratings, mu, base, factors, p).sum() + np.log(p * (1 - p)).sum()

    np.testing.assert_allclose(gradient(value, pi), 0, atol=1e-6)


def test_the_bound_lies_below_the_evidence():
    """The evidence is a sum over all 2^K sets of factors; without any factor of weight, the bound reaches it."""
    for scale in (0.8, 0.0):
        ratings, problem, x = setting(K=5, scale=scale)
        mu, base, factors, pi = parts(problem, x)
        users, items = ratings.pairs()
        joint = []
        for some in itertools.product([0, 1], repeat=5):
            a = np.array(some)
            log_p = log_softmax(base + factors @ a, axis=1)[items, ratings.levels.astype(int) - 1]
            prior = np.sum(a * np.log(pi) + (1 - a) * np.log(1 - pi))
            joint.append(np.bincount(users, log_p, len(mu)) + prior)
        gap = logsumexp(joint, axis=0) - bounds(ratings, mu, base, factors, pi)
        assert np.all(gap >= -1e-12)
        assert (gap.max() < 1e-12) == (scale == 0)


def test_every_exact_step_raises_the_bound():
    ratings, problem, x = setting(K=6, scale=1.5)
    mu, base, factors, pi = parts(problem, x)
    logits = np.array(problem.layout.views(x)["logits"])
    state = (logit(pi), odds_of(base), np.ascontiguousarray(factors), np.expm1(factors))
    entries = (ratings.indptr, ratings.indices, ratings.levels)
    values = [bounds(ratings, mu, base, factors, pi)]
    for _ in range(200):
        products.express(0, len(mu), *entries, *state, 0.0, 1, logits)
        values.append(bounds(ratings, expit(logits), base, factors, pi))
    rises = np.diff(values, axis=0)
    assert np.all(rises >= -1e-11)
    assert values[0].sum() + 1 < values[-1].sum()
    step = 1e-5 * np.eye(6)
    for d in step:  # a maximum in every direction
        for sign in (1, -1):
            there = bounds(ratings, expit(logits + sign * d), base, factors, pi)
            assert np.all(there <= values[-1] + 1e-9)


@pytest.mark.parametrize("K", [3, 400])
def test_level_shares_do_not_leave_the_range_of_numbers(K):
    rng = np.random.default_rng(0)
    mu, factors, base = rng.random(K), rng.normal(3, 4, (1, 5, K)), rng.normal(size=(1, 5))
    p = np.empty(5)
    log_total = products.level_shares(mu, odds_of(base)[0], np.expm1(factors[0]), p)
    t = log_weights(mu[None], base - base.max(), factors)[0, 0]
    assert log_total == pytest.approx(logsumexp(t), rel=1e-12)
    np.testing.assert_allclose(p, np.exp(t - logsumexp(t)), rtol=1e-10)
