"""Alternating least squares against NumPy's least squares."""

import numpy as np
import pytest
from tests.together import together

from cofactor.metrics.scale import nearest_levels
from cofactor.ratings import ALS

from ..reference import factors, planted, scores_of

X, Y = planted()


def objective(model: ALS) -> float:
    """J of the docstring."""
    U, V, b, c = factors(model)
    _, _, x = scores_of(model)
    total = np.sum((model.ratings_.values - model.mean_ - x) ** 2) + model.alpha_ * (np.sum(U**2) + np.sum(V**2))
    return float(total + (model.alpha_bias or 0) * (np.sum(b**2) + np.sum(c**2)))


def ridge_row(features: np.ndarray, targets: np.ndarray, weights: list[float]) -> np.ndarray:
    """Minimise ‖targets - features w‖² + Σ weights w² as one least squares problem."""
    rows = np.vstack([features, np.diag(np.sqrt(weights))])
    return np.linalg.lstsq(rows, np.concatenate([targets, np.zeros(len(weights))]), rcond=None)[0]


@together("solver", ["exact", "cg"])
@together("alpha_bias", [None, 0.7])
@together(("dtype", "precision"), [("float32", 1e-5), ("float64", 1e-12)])
def test_objective_falls_and_is_the_one_of_the_formula(solver, alpha_bias, dtype, precision):
    model = ALS(4, 0.8, solver=solver, alpha_bias=alpha_bias, dtype=dtype, random_state=0).fit(X, Y)
    assert model.objective_ == pytest.approx(objective(model), rel=precision)
    assert np.all(np.diff(model.history_) <= 0)
    assert model.mean_ == np.mean(Y)


@together("alpha_bias", [None, 0.7])
@together("folded", [False, True], ids=["items after fit", "users after fold-in"])
def test_rows_are_ridge_regressions(alpha_bias, folded):
    """The last half round solves for the items, and fold-in for the users."""
    model = ALS(4, 0.8, alpha_bias=alpha_bias, dtype="float64", random_state=0).fit(X, Y)
    if folded:
        model = model.fold_in(X, Y, known="replace")
    U, V, b, c = factors(model)
    own, other, own_bias, other_bias, side = (U, V, b, c, 0) if folded else (V, U, c, b, 1)
    for k in range(len(own)):
        here = X[:, side] == k
        partners = X[here, 1 - side]
        targets = Y[here] - model.mean_ - other_bias[partners]
        features, weights = other[partners], [0.8] * 4
        if alpha_bias is not None:
            features, weights = np.column_stack([features, np.ones(len(partners))]), [*weights, alpha_bias]
        expected = ridge_row(features, targets, weights)
        np.testing.assert_allclose(own[k], expected[:4], atol=1e-9)
        assert own_bias[k] == pytest.approx(expected[4] if alpha_bias is not None else 0, abs=1e-9)


def test_conjugate_gradients_converge_to_the_same_solution():
    """Enough factors leave one minimum: ½ ‖residuals‖² plus a trace norm."""
    settings = {"dtype": "float64", "tol": 1e-12, "max_iter": 5000, "random_state": 0}
    exact, cg = (ALS(30, 2.0, solver=solver, **settings).fit(X, Y) for solver in ("exact", "cg"))
    assert cg.objective_ == pytest.approx(exact.objective_, rel=1e-8)
    np.testing.assert_allclose(cg.decision_function(X), exact.decision_function(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore:.*all factors are zero")
def test_biases_alone_are_a_ridge_regression_on_indicators():
    model = ALS(2, 1e6, alpha_bias=0.7, dtype="float64", tol=1e-14, max_iter=2000, random_state=0).fit(X, Y)
    indicators = np.hstack([np.eye(40)[X[:, 0]], np.eye(30)[X[:, 1]]])
    expected = ridge_row(indicators, Y - Y.mean(), [0.7] * 70)
    assert np.abs(model.U_ @ model.V_.T).max() < 1e-6
    np.testing.assert_allclose(model.user_bias_, expected[:40], atol=1e-5)
    np.testing.assert_allclose(model.item_bias_, expected[40:], atol=1e-5)
    unknown = model.decision_function([(-1, 3), (5, -1), (-1, -1)])
    np.testing.assert_allclose(unknown, model.mean_ + np.array([model.item_bias_[3], model.user_bias_[5], 0]))


def test_without_biases():
    model = ALS(4, 0.8, alpha_bias=None, random_state=0).fit(X, Y)
    assert not model.user_bias_.any()
    assert not model.item_bias_.any()


def test_the_prediction_is_the_nearest_level():
    scale = np.array([1.0, 2.0, 4.0, 8.0, 9.0])
    model = ALS(4, 0.8, random_state=0).fit(X, scale[Y.astype(int) - 1])
    pairs = np.argwhere(np.ones((40, 30)))
    estimates = model.decision_function(pairs)
    assert np.array_equal(model.predict(pairs), scale[nearest_levels(estimates, scale) - 1])
    assert np.corrcoef(model.decision_function(X), scale[Y.astype(int) - 1])[0, 1] > 0.95


@together("dtype", ["float32", "float64"])
def test_half_way_between_two_levels_the_upper_one_is_taken(dtype):
    model = ALS(1, 1.0, dtype=dtype, levels=[1, 2, 3], random_state=0).fit([(0, 0), (0, 1)], [1, 3])
    model.U_[...], model.user_bias_[...], model.item_bias_[...] = 0, 0, [-0.5, 0.5]
    assert model.decision_function([(0, 0), (0, 1), (0, -1)]).tolist() == [1.5, 2.5, 2.0]
    assert model.predict([(0, 0), (0, 1), (0, -1)]).tolist() == [2, 3, 2]
    model.item_bias_[...] = [-0.500001, 9]
    assert model.predict([(0, 0), (0, 1)]).tolist() == [1, 3]


@together("solver", ["exact", "cg"])
@together("alpha", [1e-30, 1e-12])
def test_almost_no_penalty_with_more_factors_than_ratings(solver, alpha):
    """Normal equations are singular to working precision then; the result must stay finite and fit the ratings."""
    model = ALS(30, alpha, solver=solver, alpha_bias=None, max_iter=300, tol=1e-2, random_state=0).fit(X, Y)
    assert np.isfinite(model.objective_)
    assert np.all(np.diff(model.history_) <= 0)
    assert np.mean(model.predict(X) == Y) > 0.95


def test_planted_ratings_are_recovered():
    pairs, y = planted(60, 50, density=0.5, noise=0.0)
    rng = np.random.default_rng(0)
    test = rng.random(len(y)) < 0.2
    model = ALS(2, 0.1, max_iter=1000, random_state=0).fit(pairs[~test], y[~test])
    assert -model.score(pairs[test], y[test]) < 0.4
    assert np.abs(np.median(y[~test]) - y[test]).mean() > 1.1
