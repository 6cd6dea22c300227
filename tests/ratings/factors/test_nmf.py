"""Non-negative factorization: the objective never rises, closed forms of rank one, fold-in by its conditions."""

import numpy as np
import pytest
from scipy.optimize import nnls

from cofactor.losses import BetaDivergence, Squared
from cofactor.ratings import RatingNMF

from ..reference import planted

X, Y = planted()
FULL = np.argwhere(np.ones((12, 9)))
LOSSES = [
    {"loss": "squared"},
    {"loss": "squared", "solver": "multiplicative"},
    {"loss": "kl"},
    {"loss": "itakura-saito"},
    *({"loss": "beta", "beta": beta} for beta in (0.5, 1.5, 2.0, 3.0, 4.5)),
]


def loss_of(settings: dict) -> Squared | BetaDivergence:
    orders = {"kl": 1.0, "itakura-saito": 0.0}
    name = settings["loss"]
    return Squared() if name == "squared" else BetaDivergence(orders.get(name, settings.get("beta", 1.5)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("alpha", [1e-9, 0.3, 30.0])
@pytest.mark.parametrize("settings", LOSSES, ids=str)
def test_the_objective_is_the_formula_s_and_never_rises(settings, alpha):
    model = RatingNMF(4, alpha, dtype="float64", max_iter=60, tol=0, random_state=0, **settings).fit(X, Y)
    scores = np.sum(model.U_[X[:, 0]] * model.V_[X[:, 1]], axis=1)
    expected = loss_of(settings).value(Y, scores).sum() + alpha * (np.sum(model.U_**2) + np.sum(model.V_**2))
    assert model.objective_ == pytest.approx(float(expected), rel=1e-10)
    assert np.all(np.diff(model.history_) <= 0)
    # It ended because of max_iter, not because an update raised it; or all factors are at their lower end.
    assert model.n_iter_ == 60 or np.diff(model.history_)[-1] > -1e-10 * model.objective_
    assert model.U_.min() >= 0
    assert model.V_.min() >= 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("settings", [LOSSES[k] for k in (0, 1, 2, 4, 7)], ids=str)
def test_the_end_is_a_stationary_point(settings):
    first, last = (
        RatingNMF(2, 0.5, dtype="float64", max_iter=n, tol=0, random_state=0, **settings).fit(X, Y) for n in (1, 1500)
    )
    assert last.certificate_ < 1e-2 * first.certificate_


def test_squared_loss_of_rank_one_is_the_leading_singular_pair():
    y = 1.0 + (FULL[:, 0] * 5 + FULL[:, 1] * 3) % 4
    P, sigma, Qt = np.linalg.svd(y.reshape(12, 9))
    expected = (sigma[0] * np.outer(P[:, 0], Qt[0])).ravel()
    for solver in ("hals", "multiplicative"):
        model = RatingNMF(1, 1e-9, solver=solver, dtype="float64", tol=1e-12, random_state=0).fit(FULL, y)
        np.testing.assert_allclose(model.decision_function(FULL), expected, rtol=1e-5)


def test_kl_of_rank_one_is_the_product_of_sums():
    y = 1.0 + (FULL[:, 0] * 5 + FULL[:, 1] * 3) % 4
    table = y.reshape(12, 9)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)).ravel() / table.sum()
    model = RatingNMF(1, 1e-10, loss="kl", dtype="float64", tol=1e-13, random_state=0).fit(FULL, y)
    np.testing.assert_allclose(model.decision_function(FULL), expected, rtol=1e-6)


def test_missing_ratings_are_not_zeros():
    """A matrix of rank one is found again from a third of it; zeros would halve its entries at least."""
    rng = np.random.default_rng(0)
    pairs = np.argwhere(np.ones((30, 30)))
    truth = np.array([1.0, 2.0])[rng.integers(2, size=30)][pairs[:, 0]] * rng.integers(1, 3, size=30)[pairs[:, 1]]
    seen = rng.random(900) < 0.3
    for settings in ({}, {"loss": "kl"}):
        model = RatingNMF(1, 1e-6, tol=1e-8, random_state=0, **settings).fit(pairs[seen], truth[seen])
        np.testing.assert_allclose(model.decision_function(pairs), truth, rtol=1e-2)


def test_a_user_is_folded_in_by_non_negative_least_squares():
    model = RatingNMF(3, 0.5, dtype="float64", random_state=0).fit(X, Y)
    items, y = np.array([2, 5, 11, 17]), np.array([5.0, 1.0, 4.0, 1.0])
    folded = model.fold_in([("new", i) for i in items], y)
    rows = np.vstack([model.V_[items], np.sqrt(0.5) * np.eye(3)])
    np.testing.assert_allclose(folded.U_[0], nnls(rows, np.append(y, np.zeros(3)))[0], atol=1e-5)


@pytest.mark.parametrize("settings", [{"loss": "kl"}, {"loss": "beta", "beta": 1.5}], ids=str)
def test_fold_in_meets_the_conditions_of_the_optimum(settings):
    model = RatingNMF(3, 0.2, dtype="float64", max_iter=2000, random_state=0, **settings).fit(X, Y)
    items, y = np.array([2, 5, 11, 17]), np.array([5.0, 1.0, 4.0, 1.0])
    u, V = model.fold_in([("new", i) for i in items], y).U_[0], model.V_[items]
    slope = loss_of(settings).derivative(y, V @ u) @ V + 0.4 * u
    assert np.all(slope > -1e-3)
    np.testing.assert_allclose(slope * u, 0, atol=1e-3)


def test_cold_users_and_items_have_mean_factors():
    model = RatingNMF(3, 0.5, dtype="float64", random_state=0).fit(X, Y)
    U, V = model.U_.mean(axis=0), model.V_.mean(axis=0)
    found = model.decision_function([("nobody", 4), (7, "nothing"), ("nobody", "nothing")])
    np.testing.assert_allclose(found, [U @ model.V_[4], model.U_[7] @ V, U @ V])


def test_where_ratings_count_from():
    assert RatingNMF(2, 1.0, random_state=0).fit(X, Y).origin_ == 0
    assert RatingNMF(2, 1.0, random_state=0).fit(X, Y - 1).origin_ == -1
    shifted = RatingNMF(2, 1.0, random_state=0).fit(X, 2 * Y - 10)
    assert shifted.origin_ == -10
    given = RatingNMF(2, 1.0, origin=1, random_state=0).fit(X, Y)
    assert given.origin_ == 1
    assert given.decision_function(X).min() >= 1
    with pytest.raises(ValueError, match="origin=2: the lowest level is 1.*lower origin"):
        RatingNMF(origin=2).fit(X, Y)
    with pytest.raises(ValueError, match="takes targets above 0: lower origin"):
        RatingNMF(origin=1, loss="itakura-saito").fit(X, Y)


def test_candidates_of_alpha_suit_the_loss():
    squared, kl = (RatingNMF(2, loss=loss, max_iter=2000, random_state=0).fit(X, Y) for loss in ("squared", "kl"))
    assert squared.validation_.alphas.max() == pytest.approx(10**2.5)
    assert kl.validation_.alphas.max() == pytest.approx(10**2.5 / (2 * Y.mean()))
