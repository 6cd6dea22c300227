"""PMF: the objective and its gradient by the formula, three solvers, one optimum; ALS without biases as oracle."""

import numpy as np
import pytest
from tests.together import together

from cofactor.ratings import ALS, PMF

from ..reference import planted

X, Y = planted()


def estimate(model: PMF, scores: np.ndarray) -> np.ndarray:
    """g of the docstring, for ratings on the scale 1..5."""
    if model.link == "identity":
        return model.mean_ + scores
    offset = np.log((model.mean_ - 1) / (5 - model.mean_))
    return 1 + 4 / (1 + np.exp(-scores - offset))


def objective(model: PMF, U: np.ndarray, V: np.ndarray) -> float:
    """J of the docstring."""
    shares = (np.bincount(X[:, 0]), np.bincount(X[:, 1])) if model.weighted else (np.ones(40), np.ones(30))
    gaps = Y - estimate(model, np.sum(U[X[:, 0]] * V[X[:, 1]], axis=1))
    penalty = sum(float(np.sum(w[:, None] * A**2)) for w, A in zip(shares, (U, V), strict=True))
    return float(np.sum(gaps**2)) + model.alpha_ * penalty


@together(("link", "solver"), [("identity", "als"), ("identity", "lbfgs"), ("logistic", "lbfgs")])
@together("weighted", [False, True])
def test_objective_falls_to_a_stationary_point_of_the_formula(link, solver, weighted):
    settings = {"dtype": "float64", "tol": 1e-14, "max_iter": 5000, "random_state": 0}
    model = PMF(4, 0.1 if weighted else 1.0, weighted=weighted, link=link, solver=solver, **settings).fit(X, Y)
    U, V = model.U_, model.V_
    assert model.objective_ == pytest.approx(objective(model, U, V), rel=1e-12)
    assert np.all(np.diff(model.history_) <= 0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        directions = rng.normal(size=U.shape), rng.normal(size=V.shape)
        ends = [objective(model, U + h * directions[0], V + h * directions[1]) for h in (1e-5, -1e-5)]
        slope = (ends[0] - ends[1]) / 2e-5
        curvature = (sum(ends) - 2 * model.objective_) / 1e-10
        assert abs(slope) < 1e-4 * curvature


def test_without_options_it_is_als_without_biases():
    settings = {"dtype": "float64", "random_state": 0}
    model, other = PMF(4, 0.8, **settings).fit(X, Y), ALS(4, 0.8, alpha_bias=None, **settings).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))


def test_weights_by_counts_are_plain_ones_where_all_counts_are_equal():
    pairs = np.argwhere(np.ones((12, 12)))
    y = 1.0 + (pairs[:, 0] * 7 + pairs[:, 1] * 5) % 11 % 4
    weighted = PMF(3, 0.1, weighted=True, dtype="float64", random_state=0).fit(pairs, y)
    plain = PMF(3, 1.2, dtype="float64", random_state=0).fit(pairs, y)
    np.testing.assert_allclose(weighted.decision_function(pairs), plain.decision_function(pairs), rtol=1e-10)


@together("link", ["identity", "logistic"])
@together("weighted", [False, True])
def test_stochastic_steps_come_to_the_optimum_of_the_others(link, weighted):
    """Enough factors leave one minimum of the linear model: a squared loss plus a trace norm."""
    alpha = 0.2 if weighted else 2.0
    settings = {"weighted": weighted, "link": link, "dtype": "float64", "random_state": 0}
    exact = PMF(20, alpha, solver="lbfgs", tol=1e-12, max_iter=5000, **settings).fit(X, Y)
    steps = PMF(20, alpha, solver="sgd", tol=1e-7, max_iter=3000, **settings).fit(X, Y)
    assert steps.objective_ == pytest.approx(exact.objective_, rel=2e-3)
    assert np.all(np.diff(steps.history_) <= 0)
    assert np.corrcoef(steps.decision_function(X), exact.decision_function(X))[0, 1] > 0.999


def test_long_steps_do_not_diverge():
    model = PMF(4, 0.8, solver="sgd", eta0=1.0, max_iter=5000, random_state=0).fit(X, Y)
    assert model.objective_ < 1.2 * PMF(4, 0.8, random_state=0).fit(X, Y).objective_


@together("weighted", [False, True])
def test_a_user_is_folded_in_by_a_ridge_regression(weighted):
    model = PMF(3, 0.5, weighted=weighted, dtype="float64", random_state=0).fit(X, Y)
    items, y = np.array([2, 5, 11, 17]), np.array([5.0, 1.0, 4.0, 2.0])
    folded = model.fold_in([("new", i) for i in items], y)
    V = model.V_[items]
    ridge = 0.5 * (len(items) if weighted else 1) * np.eye(3)
    np.testing.assert_allclose(folded.U_[0], np.linalg.solve(V.T @ V + ridge, V.T @ (y - model.mean_)), rtol=1e-10)


def test_logistic_estimates_stay_on_the_scale_and_do_not_depend_on_its_values():
    model = PMF(4, 0.1, link="logistic", solver="lbfgs", random_state=0).fit(X, Y)
    every = np.argwhere(np.ones((40, 30)))
    scores = model.decision_function(every)
    assert 1 < scores.min() < 1.5
    assert 4.5 < scores.max() < 5
    unknown = model.decision_function([("nobody", 3)])
    assert unknown[0] == pytest.approx(model.mean_, rel=1e-6)
    stretched = PMF(4, 0.1, link="logistic", solver="lbfgs", random_state=0).fit(X, 10 * Y - 30)
    np.testing.assert_allclose(stretched.decision_function(every), 10 * scores - 30, atol=0.5)
    assert stretched.objective_ == pytest.approx(model.objective_, rel=1e-3)


def test_candidates_of_alpha_suit_the_weights():
    plain, weighted = (PMF(3, weighted=w, random_state=0).fit(X, Y).validation_.alphas for w in (False, True))
    mean_count = 2 * len(Y) / 70
    assert plain.max() == pytest.approx(10**2.5)
    assert weighted.max() == pytest.approx(10**2.5 / mean_count)


def test_planted_ratings_are_recovered():
    pairs, y = planted(60, 50, density=0.5, noise=0.0)
    test = np.random.default_rng(0).random(len(y)) < 0.2
    for settings in ({}, {"solver": "sgd"}, {"link": "logistic", "solver": "lbfgs"}):
        model = PMF(2, 0.1, max_iter=2000, random_state=0, **settings).fit(pairs[~test], y[~test])
        assert -model.score(pairs[test], y[test]) < 0.45
