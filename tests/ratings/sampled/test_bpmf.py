"""BPMF: levels' probabilities by the formula, exact fold-in, and what it learns of planted data."""

import numpy as np
import pytest
from scipy.stats import norm
from tests.together import together

from cofactor.ratings import ALS, BPMF

from ..reference import planted

X, Y = planted()


@pytest.fixture(scope="module")
def model() -> BPMF:
    return BPMF(3, precision=2.0, n_sweeps=60, burn_in=20, thin=2, random_state=0).fit(X, Y)


def test_samples(model):
    shapes = {name: array.shape for name, array in model.samples_.items()}
    assert shapes == {
        "U": (20, 41, 3),
        "V": (20, 31, 3),
        "user_mean": (20, 3),
        "user_precision": (20, 3, 3),
        "user_weights": (20, 0, 3),
        "item_mean": (20, 3),
        "item_precision": (20, 3, 3),
        "item_weights": (20, 0, 3),
        "noise_precision": (20, 1),
        "moments": (20, 5, 3),
    }
    assert np.all(model.samples_["noise_precision"] == 2)
    assert model.mean_ == Y.mean()
    assert np.linalg.eigvalsh(model.samples_["user_precision"].astype(float)).min() > 0


@together("precision", [2.0, 0.5, "learn"])
def test_probabilities_are_a_mixture_of_gaussians_cut_at_learned_boundaries(precision):
    model = BPMF(3, precision=precision, n_sweeps=30, burn_in=20, random_state=0).fit(X, Y)
    pairs = [(0, 0), (7, 3), (39, 29), ("nobody", 5), (3, "nothing")]
    users, items = [0, 7, 39, -1, 3], [0, 3, 29, 5, -1]
    U, V, alpha = (model.samples_[name].astype(float) for name in ("U", "V", "noise_precision"))
    assert (alpha.std() > 0) == (precision == "learn")
    x = np.einsum("skf,skf->sk", U[:, users], V[:, items])
    edges = np.array([-np.inf, *model.boundaries_, np.inf])
    expected = np.diff(norm.cdf(edges, x[:, :, None], 1 / np.sqrt(model.level_precision_)).mean(axis=0), axis=1)
    np.testing.assert_allclose(model.predict_proba(pairs), expected, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(pairs), expected @ [1, 2, 3, 4, 5], atol=1e-5)
    median = 1 + np.argmax(np.cumsum(expected, axis=1) > 0.5, axis=1)
    assert np.array_equal(model.predict(pairs), median)
    assert np.array_equal(model.set_params(decision="mean").predict(pairs), np.round(expected @ [1, 2, 3, 4, 5]))


def test_boundaries_are_the_likeliest_given_the_scores_of_ratings():
    """No other boundaries or precision make the levels of training likelier, but for five ratings of the prior."""
    model = BPMF(3, n_sweeps=60, burn_in=20, random_state=0).fit(X, Y)
    U, V = (model.samples_[name].astype(float) for name in ("U", "V"))
    x, y = np.einsum("snf,snf->sn", U[:, X[:, 0]], V[:, X[:, 1]]), Y.astype(int)

    def likelihood(boundaries, precision):
        edges = np.array([-np.inf, *boundaries, np.inf])
        at = norm.cdf(np.sqrt(precision) * (edges[y] - x)) - norm.cdf(np.sqrt(precision) * (edges[y - 1] - x))
        return np.log(at).sum(axis=1).mean()

    found = likelihood(model.boundaries_, model.level_precision_)
    half_way = np.arange(1.5, 5) - model.mean_
    assert found > likelihood(half_way, model.samples_["noise_precision"].mean()) + 10
    for change in 0.1 * np.vstack([np.eye(4), -np.eye(4)]):
        assert found > likelihood(model.boundaries_ + change, model.level_precision_)
    for factor in (0.8, 1.25):
        assert found > likelihood(model.boundaries_, factor * model.level_precision_)


def test_a_level_as_common_as_its_neighbours_together_has_that_probability():
    """Ratings whose top level has all scores above a boundary, two fifths of them, and whose second is narrow."""
    rng = np.random.default_rng(0)
    scores = 1.2 * (rng.normal(size=(300, 2)) @ rng.normal(size=(2, 120))) + rng.normal(size=(300, 120))
    levels = 1.0 + np.searchsorted(np.quantile(scores, [0.05, 0.08, 0.35, 0.6]), scores)
    pairs = rng.permutation(np.argwhere(rng.random(scores.shape) < 0.35))
    y = levels[pairs[:, 0], pairs[:, 1]]
    train, test = pairs[:9000], pairs[9000:]
    model = BPMF(2, n_sweeps=60, burn_in=20, random_state=0).fit(train, y[:9000])
    p = model.predict_proba(test)
    found = (y[9000:, None] == model.scale_).mean(axis=0)
    np.testing.assert_allclose(p.mean(axis=0), found, atol=3 * np.sqrt(0.25 / len(test)))  # 3,600 ratings
    upper = np.cumsum(p, axis=1)
    level = y[9000:].astype(int) - 1
    high = upper[np.arange(len(test)), level]
    low = high - p[np.arange(len(test)), level]
    inside = np.clip(np.minimum(high, 0.95) - np.maximum(low, 0.05), 0, None) / (high - low)
    assert inside.mean() == pytest.approx(0.9, abs=0.02)


def test_levels_that_nobody_gave_have_room():
    model = BPMF(2, levels=range(1, 8), n_sweeps=20, burn_in=5, random_state=0).fit(X, Y)
    assert np.all(np.diff(model.boundaries_) > 0)
    p = model.predict_proba(X[:50])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert p[:, 5:].mean() < 0.02


def test_new_users_are_drawn_from_their_conditional_distribution(model):
    """A draw less its mean, times Lᵀ of its precision L Lᵀ, is standard normal, and the same for all users."""
    rng = np.random.default_rng(0)
    pairs = np.array([(u, i) for u in range(300) for i in range(u % 7)])
    y = rng.integers(1, 6, len(pairs)).astype(float)
    folded = model.fold_in(pairs, y, known="replace")
    noise = []
    for u in (1, 2, 6, 20, 299):
        row = folded.users_.ids.tolist().index(u)
        own = pairs[:, 0] == u
        for s in range(20):
            V, mean, Lambda = (model.samples_[name][s].astype(float) for name in ("V", "user_mean", "user_precision"))
            features = V[pairs[own, 1]]
            A = Lambda + 2 * features.T @ features
            b = Lambda @ mean + 2 * features.T @ (y[own] - model.mean_)
            noise.append(np.linalg.cholesky(A).T @ (folded.samples_["U"][s, row] - np.linalg.solve(A, b)))
    noise = np.array(noise).reshape(5, 20, 3)
    np.testing.assert_allclose(noise, noise[:1].repeat(5, axis=0), atol=1e-3)
    assert abs(noise[0].mean()) < 0.5
    assert 0.7 < noise[0].std() < 1.3
    assert np.array_equal(folded.samples_["V"], model.samples_["V"])


def test_learned_precision_is_that_of_the_noise():
    """Ratings 1..9 of rank one, with noise of standard deviation one half before they are rounded."""
    rng = np.random.default_rng(5)
    u, v = rng.normal(0, 1.2, 200), rng.normal(0, 1.2, 100)
    scores = 5 + np.outer(u, v) + 0.5 * rng.normal(size=(200, 100))
    pairs = np.argwhere((rng.random(scores.shape) < 0.4) & (np.abs(scores - 5) < 4))
    y = np.round(scores[pairs[:, 0], pairs[:, 1]])
    model = BPMF(1, precision="learn", n_sweeps=60, burn_in=30, random_state=0).fit(pairs, y)
    assert model.samples_["noise_precision"].mean() == pytest.approx(1 / (0.25 + 1 / 12), rel=0.15)


def test_it_overfits_less_than_its_mode():
    """With as many factors as ratings of an item, the posterior still predicts; the least squares solution does not."""
    pairs, y = planted(60, 50, density=0.5, noise=0.5)
    test = np.random.default_rng(0).random(len(y)) < 0.3
    bayes = BPMF(15, n_sweeps=80, burn_in=30, random_state=0).fit(pairs[~test], y[~test])
    mode = ALS(15, 0.5, alpha_bias=None, random_state=0).fit(pairs[~test], y[~test])
    assert bayes.score(pairs[test], y[test]) > mode.score(pairs[test], y[test]) + 0.05
    assert -bayes.score(pairs[test], y[test]) < 0.7 * np.abs(np.median(y[~test]) - y[test]).mean()
