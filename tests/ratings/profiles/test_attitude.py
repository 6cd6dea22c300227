"""Attitude: recovery of planted factors, probabilities from the formula, exact fold-in."""

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

from cofactor.metrics import mean_absolute_error
from cofactor.ratings import Attitude

from ..reference import planted

X, Y = planted()


def expressed(n_users: int, n_items: int, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw ratings from the model; return pairs, levels, and the sets a (n, K)."""
    rng = np.random.default_rng(3)
    a = rng.random((n_users, K)) < 0.4
    factors = rng.normal(0, 2, (n_items, 4, K))
    pairs = np.argwhere(rng.random((n_users, n_items)) < 0.6)
    p = softmax(np.einsum("ek,erk->er", a[pairs[:, 0]].astype(float), factors[pairs[:, 1]]), axis=1)
    levels = 1 + (np.cumsum(p, axis=1)[:, :-1] < rng.random((len(pairs), 1))).sum(axis=1)
    return pairs, levels.astype(float), a


def shares(model: Attitude, mu: np.ndarray, item: int) -> np.ndarray:
    """Return the probabilities of levels for a user with these μ."""
    t = np.exp(model.base_[item]) * np.prod(1 - mu + mu * np.exp(model.factors_[item]), axis=1)
    return t / t.sum()


def test_sets_are_recovered_up_to_order_and_complement():
    pairs, levels, a = expressed(400, 60, 2)
    model = Attitude(2, 1.0, random_state=0).fit(pairs, levels)
    match = np.abs(np.corrcoef(a.T, model.expression_.T)[:2, 2:])
    assert max(match[0, 0] * match[1, 1], match[0, 1] * match[1, 0]) > 0.9


def test_planted_ratings_are_predicted_better_than_by_their_items():
    pairs, levels, _ = expressed(300, 60, 3)
    test = np.random.default_rng(0).random(len(pairs)) < 0.2
    X, y, held_out = pairs[~test], levels[~test], pairs[test]
    medians = np.array([np.median(y[X[:, 1] == j]) for j in range(60)])[held_out[:, 1]]
    model = Attitude(3, 2.0, random_state=0).fit(X, y)
    errors = [mean_absolute_error(levels[test], found) for found in (model.predict(held_out), medians)]
    assert errors[0] < 0.8 * errors[1]


def test_the_objective_falls_to_a_stationary_point():
    model = Attitude(3, 2.0, tol=1e-12, max_iter=20000, random_state=0).fit(X, Y)
    assert np.all(np.diff(model.history_) <= 0)
    assert model.certificate_ < 1e-3
    mu, n = model.expression_, len(model.expression_)
    np.testing.assert_allclose(model.frequencies_, (1 + mu.sum(axis=0)) / (n + 2), rtol=1e-12)


def test_a_strong_penalty_leaves_the_marginals():
    model = Attitude(3, 1e9, random_state=0).fit(X, Y)
    assert np.abs(model.factors_).max() < 1e-6
    counts = np.array([[np.sum(Y[X[:, 1] == j] == r) for r in range(1, 6)] for j in range(30)])
    common = (np.bincount(Y.astype(int), minlength=6)[1:] + 1) / (len(Y) + 5)
    expected = (counts + 5 * common) / (counts.sum(axis=1, keepdims=True) + 5)
    np.testing.assert_allclose(model.predict_proba(X), expected[X[:, 1]], rtol=1e-5)


def test_probabilities_are_those_of_the_formula():
    model = Attitude(4, 1.0, random_state=0).fit(X, Y)
    found = model.predict_proba([(7, 4), (-1, 4), (7, -1)])
    expected = [shares(model, model.expression_[7], 4), shares(model, model.frequencies_, 4), model.marginal_]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("K", [3, 60])
def test_folded_in_users_solve_their_own_equations(K):
    model = Attitude(K, 1.0, random_state=0).fit(X, Y)
    few = X[:, 0] < 9
    folded = model.fold_in(X[few], Y[few], known="replace")
    for i, mu in enumerate(folded.expression_):
        x = logit(model.frequencies_)
        for j, y in zip(X[X[:, 0] == i, 1], Y[X[:, 0] == i].astype(int) - 1, strict=True):
            growth = np.expm1(model.factors_[j])
            x = x + model.factors_[j, y] - shares(model, mu, j) @ (growth / (1 + mu * growth))
        np.testing.assert_allclose(expit(x), mu, atol=1e-7)
