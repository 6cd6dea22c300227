"""Gaussian processes over latent positions: Bayesian ridge regression, probabilities, stopping, files."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import Ridge
from tests.together import together

from cofactor.ratings import GPLVM

from ..reference import planted

X, Y = planted()
EXACT = {"dtype": "float64", "alpha": 1.0, "eta0": 0.1, "random_state": 0}


def residuals(model: GPLVM, user: int) -> tuple[np.ndarray, np.ndarray]:
    """Return items and centred ratings of a user."""
    here = X[:, 0] == user
    return X[here, 1], Y[here] - model.mean_ - model.item_bias_[X[here, 1]]


def deviations(model: GPLVM, user: int) -> np.ndarray:
    """Standard deviations of one user's ratings of all items, from the definition."""
    s, gamma, linear, b, noise = model.kernel_
    V, items = model.V_, residuals(model, user)[0]
    K = s * np.exp(-gamma * ((V[:, None] - V[None]) ** 2).sum(axis=2) / 2) + linear * V @ V.T + b
    gain = K[:, items] @ np.linalg.inv(K[np.ix_(items, items)] + noise * np.eye(len(items)))
    return np.sqrt(np.diag(K) + noise - (gain * K[:, items]).sum(axis=1))


def test_the_linear_kernel_is_bayesian_ridge_regression():
    """On positions and a constant, weights a priori N(0, l) and N(0, b), noise σ²."""
    model = GPLVM(4, kernel="linear", **EXACT).fit(X, Y)
    _, _, linear, b, noise = model.kernel_
    assert model.kernel_[0] == 0
    features = np.column_stack([np.sqrt(linear) * model.V_, np.full(len(model.V_), np.sqrt(b))])
    for user in (0, 7, 39):
        items, y = residuals(model, user)
        expected = Ridge(alpha=noise, fit_intercept=False).fit(features[items], y).predict(features)
        asked = [(user, i) for i in range(30)]
        found = model.decision_function(asked) - model.mean_ - model.item_bias_
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_the_rbf_kernel_is_gaussian_process_regression():
    model = GPLVM(4, **EXACT).fit(X, Y)
    s, gamma, linear, b, noise = model.kernel_
    assert (gamma, linear) == (1, 0)
    kernel = ConstantKernel(s) * RBF(1.0) + ConstantKernel(b) + WhiteKernel(noise)
    for user in (0, 7, 39):
        items, y = residuals(model, user)
        oracle = GaussianProcessRegressor(kernel, alpha=0, optimizer=None).fit(model.V_[items], y)
        mean, deviation = oracle.predict(model.V_, return_std=True)
        asked = [(user, i) for i in range(30)]
        np.testing.assert_allclose(model.decision_function(asked) - model.mean_ - model.item_bias_, mean, atol=1e-10)
        np.testing.assert_allclose(deviations(model, user), deviation, atol=1e-10)


@together("kernel", ["rbf", "linear", "sum"])
def test_probabilities_are_those_between_the_middles_of_levels(kernel):
    model = GPLVM(3, kernel=kernel, **EXACT).fit(X, Y)
    asked = [(7, i) for i in range(30)]
    edges = np.concatenate([[-np.inf], (model.scale_[1:] + model.scale_[:-1]) / 2, [np.inf]])
    below = norm.cdf(edges, model.decision_function(asked)[:, None], deviations(model, 7)[:, None])
    p = model.predict_proba(asked)
    np.testing.assert_allclose(p, np.diff(below, axis=1), atol=1e-12)
    median = model.scale_[np.argmax(np.cumsum(p, axis=1) >= 0.5, axis=1)]
    assert np.array_equal(model.predict(asked), median)
    for decision, expected in (("mode", np.argmax(p, axis=1)), ("mean", np.rint(p @ np.arange(len(model.scale_))))):
        model.decision = decision
        assert np.array_equal(model.predict(asked), model.scale_[expected.astype(int)])


def test_users_share_eliminations_whatever_the_order_of_pairs():
    model = GPLVM(3, random_state=0).fit(X, Y)
    pairs = np.random.default_rng(0).permutation(np.argwhere(np.ones((40, 30))))
    together = model.predict_proba(pairs)
    for k in range(0, len(pairs), 97):
        assert np.array_equal(model.predict_proba(pairs[k : k + 1])[0], together[k])
    items, shares = model.recommend([3, 9], 4, at_least=model.scale_[-2])
    for user, row, values in zip([3, 9], items, shares, strict=True):
        np.testing.assert_allclose(model.predict_proba([(user, i) for i in row])[:, -2:].sum(axis=1), values)


@together("alpha_bias", [None, 5.0])
def test_ratings_are_centred_by_training_ratings_alone(alpha_bias):
    """Those of other users, to be predicted or folded in, change neither means nor positions."""
    train = X[:, 0] < 30
    model = GPLVM(3, alpha_bias=alpha_bias, **EXACT).fit(X[train], Y[train])
    assert model.mean_ == Y[train].mean()
    sums = np.bincount(X[train, 1], Y[train] - model.mean_, 30)
    expected = sums / (np.bincount(X[train, 1], minlength=30) + alpha_bias) if alpha_bias else np.zeros(30)
    np.testing.assert_allclose(model.item_bias_, expected)
    folded = model.fold_in(X[~train], Y[~train])
    for name in ("V_", "kernel_", "item_bias_"):
        assert getattr(folded, name) is getattr(model, name)
    assert -folded.score(X[~train], Y[~train]) < 0.6 * np.abs(np.median(Y) - Y[~train]).mean()


def test_cold_users_have_the_mean_of_the_item_and_the_variance_of_the_prior():
    model = GPLVM(3, **EXACT).fit(X, Y)
    found = model.decision_function([(-1, 3), (0, 3), (-1, -1)])[::2]
    np.testing.assert_allclose(found, model.mean_ + np.array([model.item_bias_[3], 0]))
    p = model.predict_proba([(-1, 3)])[0]
    deviation = np.sqrt(model.kernel_[[0, 3, 4]].sum())
    assert p[0] == pytest.approx(norm.cdf((model.scale_[:2].mean() - found[0]) / deviation))


def test_predictions_follow_the_scale():
    model, other = (GPLVM(3, **EXACT).fit(X, y) for y in (Y, 10 * Y - 3))
    assert other.n_iter_ == model.n_iter_
    np.testing.assert_allclose(other.decision_function(X), 10 * model.decision_function(X) - 3, rtol=1e-6)
    np.testing.assert_allclose(other.kernel_, model.kernel_ * [100, 1, 100, 100, 100], rtol=1e-6)


def test_stopping_by_held_out_ratings_keeps_positions_from_fitting_single_ones():
    rng = np.random.default_rng(0)
    pairs, y = planted(60, 50, density=0.5, noise=3.0)
    test = rng.random(len(y)) < 0.2
    error = {}
    for stopped in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = GPLVM(10, 0.01, eta0=0.1, early_stopping=stopped, tol=0, max_iter=60, random_state=0)
            model.fit(pairs[~test], y[~test])
        error[stopped] = np.array([np.mean((model.decision_function(pairs[k]) - y[k]) ** 2) for k in (~test, test)])
        assert np.all(np.diff(model.history_) <= 0)
    assert error[True][0] > error[False][0]
    assert error[True][1] < error[False][1]


def test_single_ratings_say_nothing_about_positions():
    model = GPLVM(2, random_state=0).fit([(u, u % 3) for u in range(12)], [1, 2, 5] * 4)
    assert (model.n_iter_, len(model.history_)) == (0, 1)
    assert np.all(np.diff(model.decision_function([(0, 0), (1, 1), (2, 2)])) > 0)


def test_users_with_very_many_ratings():
    """Several processes while positions are learned, one in predictions."""
    rng = np.random.default_rng(0)
    pairs = np.array([(u, i) for u, n in enumerate((1300, 40, 30)) for i in rng.permutation(1300)[:n]])
    y = rng.integers(1, 4, len(pairs)).astype(float)
    model = GPLVM(2, max_iter=2, tol=1, random_state=0, dtype="float64")
    with pytest.warns(ConvergenceWarning):
        model.fit(pairs, y)
    own = pairs[:, 0] == 0
    noise = y[own] - model.decision_function(pairs[own])  # K a + σ² a = y - µ - c
    start, stop = model.rated_indptr_[:2]
    order = np.argsort(pairs[own, 1])
    np.testing.assert_allclose(noise[order], model.kernel_[4] * model.weights_[start:stop], atol=1e-9)
