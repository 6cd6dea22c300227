"""User rating profiles: known solutions, recovery of planted attitudes, and what must not happen to them."""

import numpy as np
import pytest
from scipy.special import psi

from cofactor.metrics import mean_absolute_error
from cofactor.ratings import URP, Ratings
from cofactor.ratings.profiles.attitudes import item_marginals, level_marginal

from ..reference import planted

X, Y = planted()


def profiles(n_users: int, n_items: int, K: int, a: float, density: float = 0.6, sharp: float = 0.3) -> tuple:
    """Draw ratings from the model; return pairs, levels, β (m, R, K) and the users' shares (n, K)."""
    rng = np.random.default_rng(3)
    beta = np.moveaxis(rng.dirichlet(np.full(4, sharp), (n_items, K)), 1, 2)
    shares = rng.dirichlet(np.full(K, a), n_users)
    pairs = np.argwhere(rng.random((n_users, n_items)) < density)
    p = np.einsum("ek,erk->er", shares[pairs[:, 0]], beta[pairs[:, 1]])
    levels = 1 + (np.cumsum(p, axis=1)[:, :-1] < rng.random((len(pairs), 1))).sum(axis=1)
    return pairs, levels.astype(float), beta, shares


def item_medians(X: np.ndarray, y: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Predict every item's median."""
    return np.array([np.median(y[X[:, 1] == j]) for j in range(X[:, 1].max() + 1)])[pairs[:, 1]]


def test_one_attitude_is_the_smoothed_marginal_of_each_item():
    model = URP(1, 2.0, random_state=0).fit(X, Y)
    counts = np.array([[np.sum(Y[X[:, 1] == j] == r) for r in range(1, 6)] for j in range(30)])
    prior = (counts + 5 * (np.bincount(Y.astype(int), minlength=6)[1:] + 1) / (len(Y) + 5)) / (
        counts.sum(axis=1, keepdims=True) + 5
    )
    expected = (counts + 2 * prior) / (counts.sum(axis=1, keepdims=True) + 2)
    np.testing.assert_allclose(model.predict_proba(X), expected[X[:, 1]], rtol=1e-12)
    assert model.n_iter_ <= 6


@pytest.mark.parametrize("concentration", [0.5, "learn"])
def test_attitudes_are_recovered_up_to_their_order(concentration):
    pairs, levels, beta, shares = profiles(800, 40, 2, 0.5)
    model = URP(2, 0.1, concentration=concentration, tol=1e-7, max_iter=3000, random_state=0).fit(pairs, levels)
    found = model.gamma_ / model.gamma_.sum(axis=1, keepdims=True)
    errors = [np.abs(model.beta_[:, :, order] - beta).mean() for order in ([0, 1], [1, 0])]
    order = [[0, 1], [1, 0]][int(np.argmin(errors))]
    assert min(errors) < 0.03 < 0.2 < max(errors)
    assert np.corrcoef(found[:, order[0]], shares[:, 0])[0, 1] > 0.93  # a user has 24 ratings
    if concentration == "learn":
        assert np.all((model.concentration_ > 0.4) & (model.concentration_ < 0.8))  # the bound favours larger ones


@pytest.mark.parametrize("concentration", [2.0, "learn"])
def test_users_do_not_collapse_to_the_marginals(concentration):
    """With all attitudes alike the bound is stationary, and predictions are the items' medians."""
    pairs, levels, beta, shares = profiles(300, 60, 4, 0.3)
    test = np.random.default_rng(0).random(len(pairs)) < 0.2
    model = URP(4, concentration=concentration, random_state=0).fit(pairs[~test], levels[~test])
    p = np.einsum("ek,erk->er", shares[pairs[test, 0]], beta[pairs[test, 1]])
    best = 1 + (np.cumsum(p, axis=1)[:, :-1] < 0.5).sum(axis=1)
    trivial = item_medians(pairs[~test], levels[~test], pairs[test])
    error, least, most = (mean_absolute_error(levels[test], x) for x in (model.predict(pairs[test]), best, trivial))
    assert error < 0.6 * least + 0.4 * most
    apart = np.abs(model.beta_[:, :, :1] - model.beta_[:, :, 1:]).mean()
    assert apart > 0.5 * np.abs(beta[:, :, :1] - beta[:, :, 1:]).mean()


def test_the_objective_falls():
    for concentration in (0.5, "learn"):
        model = URP(3, concentration=concentration, random_state=0).fit(X, Y)
        assert np.all(np.diff(model.history_) <= 0)
        assert model.objective_ == model.history_[-1]
        assert (model.concentration_ != 0.5).all() == (concentration == "learn")


def test_probabilities_are_mixtures():
    model = URP(3, random_state=0).fit(X, Y)
    share, a = model.gamma_[7] / model.gamma_[7].sum(), model.concentration_
    np.testing.assert_allclose(model.predict_proba([(7, 4)])[0], model.beta_[4] @ share, rtol=1e-13)
    np.testing.assert_allclose(model.predict_proba([(-1, 4)])[0], model.beta_[4] @ a / a.sum(), rtol=1e-13)
    marginal = level_marginal(Ratings.from_pairs(X, Y))
    np.testing.assert_allclose(model.predict_proba([(7, -1), (-1, -1)]), [marginal, marginal], rtol=1e-13)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_folded_in_users_are_at_a_fixed_point():
    model = URP(3, random_state=0).fit(X, Y)
    folded = model.fold_in(X[X[:, 0] < 9], Y[X[:, 0] < 9], known="replace")
    for i, g in enumerate(folded.gamma_):
        b = model.beta_[X[X[:, 0] == i, 1], Y[X[:, 0] == i].astype(int) - 1] * np.exp(psi(g))
        np.testing.assert_allclose(model.concentration_ + (b / b.sum(axis=1, keepdims=True)).sum(axis=0), g, rtol=1e-9)


def test_marginals_are_positive_where_levels_or_items_have_no_ratings():
    ratings = Ratings.from_pairs([(0, 0), (1, 0), (1, 1)], [2, 2, 4], scale=[1, 2, 3, 4])
    np.testing.assert_allclose(level_marginal(ratings), np.array([1, 3, 1, 2]) / 7)
    marginals = item_marginals(ratings.subset(np.array([True, True, False])))
    np.testing.assert_allclose(marginals.sum(axis=1), 1)
    np.testing.assert_allclose(marginals[1], np.array([1, 3, 1, 1]) / 6)
    assert marginals.min() > 0
