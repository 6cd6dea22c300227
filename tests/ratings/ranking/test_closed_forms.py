"""EASE, implicit ALS and the conditional logit against their equations, written down in NumPy."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import linalg, optimize, sparse
from scipy.special import expit
from sklearn.base import clone

from cofactor.datasets import load_ratings
from cofactor.errors import InvalidInputError
from cofactor.evaluation import PerUserHoldout
from cofactor.kernels.threads import thread_limit
from cofactor.model.progress import Monitor
from cofactor.problems.choice import ChoiceProblem, at_knot, inclusion_probabilities, log_shares, soft_log
from cofactor.problems.implicit import ImplicitLogisticProblem, SampledLogisticProblem
from cofactor.ratings import BPR, EASE, ImplicitALS, ItemKNN, LogisticMF, Popularity, Recommender, RP3beta
from cofactor.ratings.interaction_model import FitInput
from cofactor.ratings.ranking.counts import as_interactions, strengths
from cofactor.ratings.ranking.ease import _inverse
from cofactor.ratings.ranking.held_out import HeldOut

from .models import interactions_of, table_of


@pytest.mark.parametrize(("solver", "tolerance"), [("primal", 1e-5), ("dual", 1e-5), ("low-rank", 1e-5)])
def test_ease_is_the_closed_form(solver: str, tolerance: float) -> None:
    X = table_of(interactions_of())
    P = np.linalg.inv(X.T @ X + 2.0 * np.eye(X.shape[1]))
    W = -P / np.diag(P)
    np.fill_diagonal(W, 0)
    model = EASE(alpha=2.0, solver=solver, popularity_weight=0).fit(interactions_of())
    pairs = [(u, i) for u in model.users_.ids for i in model.items_.ids]
    np.testing.assert_allclose(model.decision_function(pairs).reshape(X.shape), X @ W, atol=tolerance)
    if solver == "primal":
        assert not np.diag(model.weights_["W"]).any()


@pytest.mark.parametrize("how", [{"solver": "primal"}, {"solver": "dual"}, {"recency": 2.0}])
def test_ease_is_tuned_as_if_what_was_held_out_of_a_user_were_not_there(how: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.1, 0.5, 40)
    several = np.argwhere(rng.random((10, 40)) < chance)
    once = np.column_stack([np.arange(10, 1500), rng.choice(40, 1490, p=chance / chance.sum())])  # nothing is held out
    pairs, times = np.concatenate([several, once]), rng.random(len(several) + len(once))
    users, items = pairs.T
    whole = as_interactions(pairs, times=times)
    model = EASE(alpha=3.0, popularity_weight=0.0, **how)
    held_out = HeldOut.of(whole, 0, latest="recency" in how)
    found = model.tune(held_out, Monitor(None, False))
    for place in (0, 4):
        user = whole.users.ids[held_out.users[place]]
        kept = (users != user) | np.isin(items, whole.items.ids[held_out.seen[place]])
        alone = clone(model).fit(pairs[kept], time=times[kept])
        open_ = np.flatnonzero(~held_out.seen[place])
        scores = alone.decision_function([(user, item) for item in whole.items.ids[open_]])
        np.testing.assert_allclose(found.table[place, open_], model.log_interactions(scores[None])[0], rtol=1e-4)
    fitted = clone(model).fit(pairs, time=times)
    of_it = clone(model).learn(FitInput(whole, solution=found.solution))
    np.testing.assert_array_equal(of_it.decision_function(pairs), fitted.decision_function(pairs))


def test_ease_of_many_items_is_the_closed_form_in_single_precision() -> None:
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((2500, 2060)) < np.geomspace(0.1, 0.003, 2060)).astype(np.float32))
    found = EASE(alpha=20.0).fit(X)
    some = np.arange(0, 2060, 20)
    P = linalg.solve((X.T @ X).toarray() + 20 * np.eye(2060), np.eye(2060)[:, some], assume_a="pos")
    W = -P / P[some, np.arange(len(some))]
    W[some, np.arange(len(some))] = 0
    assert found.solver_ == "primal"
    np.testing.assert_allclose(found.weights_["W"][:, some], W, atol=1e-5 * np.abs(W).max())
    with thread_limit(1):
        assert np.array_equal(EASE(alpha=20.0).fit(X).weights_["W"], found.weights_["W"])


@pytest.mark.parametrize(("n_items", "dtype"), [(5, np.float32), (519, np.float64), (1200, np.float32)])
def test_what_cannot_be_inverted_is_refused(n_items: int, dtype: type) -> None:
    """Two items of the same users, with an alpha lost in rounding; and numbers that are none."""
    rng = np.random.default_rng(0)
    X = (rng.random((2 * n_items, n_items)) < 0.2).astype(dtype)
    X[:, -1] = X[:, 0]
    gram = X.T @ X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of products with numbers that are none
        warnings.simplefilter("error", linalg.LinAlgWarning)
        for alpha in (1e-300, float(np.finfo(dtype).eps)):
            with pytest.raises((InvalidInputError, linalg.LinAlgWarning), match="alpha|ill-conditioned"):
                _inverse(gram, alpha)
        for row, column in ((0, 0), (-1, 0), (-1, -2)):
            for number in (np.nan, np.inf):
                damaged = gram.copy()
                damaged[row, column] = damaged[column, row] = number
                with pytest.raises(ValueError, match="infs or NaNs"):
                    _inverse(damaged, 1.0)
        whole = gram.astype(np.float64) + np.eye(n_items)
        np.testing.assert_allclose(_inverse(gram, 1.0) @ whole, np.eye(n_items), atol=1e-3)


@pytest.mark.parametrize("n_items", [5, 519])
def test_items_that_go_together_need_an_alpha(n_items: int) -> None:
    X = np.random.default_rng(0).random((3 * n_items, n_items)) < 0.2
    X[:, -1] = X[:, 0]
    with pytest.raises(InvalidInputError, match="cannot be inverted"):
        EASE(alpha=1e-300).fit(np.argwhere(X))


def test_ease_takes_as_many_vectors_as_interactions_are_worth() -> None:
    """Items of two tastes need few; to know which two of 400 items go together, nearly all pairs must be told apart."""
    rng = np.random.default_rng(0)
    of_taste = np.kron(np.eye(2), np.ones((250, 200))) * 0.1 + 0.001
    pairs = np.repeat(rng.random((500, 200)).argsort(axis=1) < 8, 2, axis=1)
    found = {}
    for name, X in {"tastes": rng.random((500, 400)) < of_taste, "pairs": pairs}.items():
        model = EASE(solver="low-rank", random_state=0).fit(np.argwhere(X))
        found[name] = model.weights_["V"].shape[1]
        assert model.update([(0, 1), (1, 0)]).weights_["V"].shape[1] == found[name]
    assert found["tastes"] < found["pairs"]


def test_alpha_is_that_with_which_held_out_interactions_stand_highest() -> None:
    """One below and one above gain no more."""
    interactions = as_interactions(interactions_of(60, 30))
    model = EASE(random_state=0).fit(interactions)
    tried = dict[str, float]()
    again = EASE(random_state=0, callback=lambda seen: tried.update({seen.stage: seen.objective})).fit(interactions)
    assert again.alpha_ == model.alpha_
    best = min(tried.values())
    assert len(tried) >= 3
    assert tried[f"trying alpha {model.alpha_:.3g}"] == best
    for k in (0.5, 2):
        assert tried[f"trying alpha {k * model.alpha_:.3g}"] >= best


def test_what_is_held_out_is_a_tenth_of_each_user_by_chance() -> None:
    interactions = as_interactions(interactions_of(400))
    held_out = HeldOut.of(interactions, 0)
    n_out = np.bincount(held_out.users[held_out.chosen[0]], minlength=len(interactions.users))
    assert np.array_equal(n_out, interactions.user_counts - held_out.train.user_counts)
    assert np.abs(n_out - 0.1 * interactions.user_counts).max() < 1
    assert n_out.sum() == pytest.approx(0.1 * interactions.n_ratings, rel=0.15)
    assert np.array_equal(held_out.users, np.flatnonzero(n_out))
    assert np.array_equal(held_out.counts, held_out.seen.sum(axis=1))
    assert not held_out.seen[held_out.chosen].any()


def test_slopes_grow_as_features_lose_their_noise() -> None:
    held_out, rng = HeldOut.of(as_interactions(interactions_of(400)), 0), np.random.default_rng(0)
    truth, noise, more = (rng.normal(0, s, (len(held_out.users), held_out.seen.shape[1])) for s in (1, 0.4**0.5, 0.3))
    before, after = (truth + noise + more).astype(np.float32) / 1.49, (truth + noise).astype(np.float32)
    assert held_out.sharpening(before, after / 1.49) == pytest.approx(1.49 / 1.4, rel=0.02)  # variances of features
    assert held_out.sharpening(before, before / 1.1) == pytest.approx(1.1, rel=1e-3)
    assert held_out.sharpening(before, np.zeros_like(before)) == 1


def test_alpha_is_looked_for_among_the_most_popular_items() -> None:
    held_out = HeldOut.of(as_interactions(interactions_of(60, 30)), 0)
    few = held_out.of_most_popular(10)
    assert sorted(few.train.item_counts) == sorted(held_out.train.item_counts)[-10:]
    assert 0 < len(few.chosen[0]) < len(held_out.chosen[0])
    assert np.array_equal(few.seen.sum(axis=0), np.bincount(few.train.rows(few.users)[1], minlength=10))
    assert not few.seen[few.chosen].any()
    X = np.random.default_rng(0).random((800, 1600)) < 0.01
    tried = set[str]()
    model = EASE(random_state=0, popularity_weight=0, callback=lambda seen: tried.add(seen.stage)).fit(np.argwhere(X))
    assert f"trying alpha {model.alpha_:.3g}" in tried
    assert len(tried) >= 3


def test_slopes_are_those_of_items_with_interactions() -> None:
    """An item of which all interactions are held out cannot be recommended, and says nothing of slopes."""
    rng = np.random.default_rng(0)
    n, m, rare = 400, 60, 3000
    score = rng.normal(size=(n, m)).astype(np.float32)
    common = np.argwhere(rng.random((n, m)) < expit(2.0 * score - 1.0))
    alone = np.column_stack([rng.integers(n, size=rare), m + np.arange(rare)])  # items with one interaction each
    found = {}
    for name, X in (("common", common), ("all", np.concatenate([common, alone]))):
        interactions = as_interactions(X)
        held_out = HeldOut.of(interactions, 0)
        feature = np.full((len(held_out.users), len(interactions.items)), -6.0, dtype=np.float32)
        is_common = interactions.items.ids < m
        feature[:, is_common] = score[np.ix_(interactions.users.ids[held_out.users], interactions.items.ids[is_common])]
        known = np.flatnonzero(held_out.train.item_counts)
        assert len(known) < len(interactions.items) or name == "common"
        feature[:, np.setdiff1d(np.arange(len(interactions.items)), known)] = -12.0
        choice, _ = held_out.best([feature])
        found[name] = choice.weights
    slopes = {name: weights[0] + weights[1] / 2 for name, weights in found.items()}
    assert slopes["common"] == pytest.approx(2.0, rel=0.15)
    assert slopes["all"] == pytest.approx(2.0, rel=0.15)


def test_scores_that_are_no_numbers_gain_nothing() -> None:
    held_out = HeldOut.of(as_interactions(interactions_of(60, 30)), 0)
    wrong = np.full(held_out.seen.shape, np.nan, dtype=np.float32)
    assert held_out.gain(wrong) < held_out.gain(np.zeros_like(wrong)) + 1e-9
    assert held_out.gain(wrong) < 0.5


def test_the_latest_that_are_held_out_are_a_fifth_of_each_user() -> None:
    pairs = [(u, i) for u in range(30) for i in range(1 + u)]
    interactions = as_interactions(pairs, times=np.arange(len(pairs), dtype=float))
    held_out = HeldOut.of(interactions, 0, latest=True)
    counts, n_out = interactions.user_counts, np.bincount(held_out.users[held_out.chosen[0]], minlength=30)
    assert np.array_equal(n_out, np.where(counts > 1, np.maximum(np.round(0.2 * counts), 1), 0))
    for u, item in zip(*held_out.chosen, strict=True):
        assert item >= held_out.counts[u]


@pytest.mark.parametrize("solver", ["exact", "cg"])
def test_rounds_of_als_lower_the_objective_and_solve_the_normal_equations(solver: str) -> None:
    X = table_of(interactions_of())
    n, m = X.shape
    seen: list[float] = []
    model = ImplicitALS(3, 0.02, unobserved=0.2, popularity_weight=0, solver=solver, tol=0, random_state=0)
    model.set_params(max_iter=60, callback=lambda progress: seen.append(progress.objective)).fit(interactions_of())
    assert (np.diff(seen) <= 1e-5 * abs(seen[0])).all()
    U, V = model.U_.astype(float), model.V_.astype(float)
    S = U @ V.T
    ridges = [0.02 * (X.sum(axis=1) + 0.2 * m), 0.02 * (X.sum(axis=0) + 0.2 * n)]
    penalty = sum(r @ np.sum(A * A, axis=1) for r, A in zip(ridges, (U, V), strict=True))
    J = np.sum(X * (1 - S) ** 2) + 0.2 * np.sum(S**2) + penalty
    assert model.objective_ == pytest.approx(J, rel=1e-5)
    for A, B, T, ridge in ((U, V, X, ridges[0]), (V, U, X.T, ridges[1])):
        for row, chosen, r in zip(A, T, ridge, strict=True):
            lhs = (B.T * chosen) @ B + 0.2 * B.T @ B + r * np.eye(3)
            np.testing.assert_allclose(lhs @ row, chosen @ B, atol=2e-2)


def test_a_row_folded_in_solves_its_equations() -> None:
    model = ImplicitALS(3, 0.01, unobserved=0.4, random_state=0).fit(interactions_of())
    V, chosen = model.V_.astype(float), [0, 4]
    new = model.fold_in([("new", 0), ("new", 28)], sample_weight=[1, 10])
    w = np.array([1, 1 + np.log(10)])
    lhs = (V[chosen].T * w) @ V[chosen] + 0.4 * V.T @ V + 0.01 * (w.sum() + 0.4 * len(V)) * np.eye(3)
    np.testing.assert_allclose(lhs @ new.U_[0], w @ V[chosen], rtol=1e-5)


@pytest.fixture(params=["alike", "by activity", "with precisions"])
def choice(request: pytest.FixtureRequest) -> ChoiceProblem:
    rng = np.random.default_rng(0)
    seen = rng.random((7, 9)) < 0.3
    rows, columns = np.nonzero(~seen & (rng.random(seen.shape) < 0.3))
    activity = rng.uniform(0.2, 4, 7) if request.param == "by activity" else None
    features = [rng.normal(size=seen.shape).astype(np.float32) for _ in range(2)]
    precisions = np.array([0.0, 3.0]) if request.param == "with precisions" else None
    return ChoiceProblem(features, seen, (rows, columns), activity, precisions)


def test_items_that_come_are_as_likely_as_by_brute_force(choice: ChoiceProblem) -> None:
    at = np.array([0.7, -0.4, 0.3])
    activity = np.ones(7) if choice.activity is None else choice.activity
    utilities = sum(w * f for w, f in zip(at, choice.features, strict=False)).astype(float)
    utilities *= (activity ** at[2])[:, None]
    came = np.zeros(choice.seen.shape, dtype=bool)
    came[choice.chosen] = True
    total = -(at[2] ** 2) / (2 * 0.3**2) - (0 if choice.precisions is None else choice.precisions @ at[:2] ** 2 / 2)
    for u in np.flatnonzero(came.any(axis=1)):
        mine, others = utilities[u, came[u]], utilities[u, ~came[u] & ~choice.seen[u]]
        both, n = np.append(mine, others), len(mine)
        a = optimize.brentq(lambda a, v=both, n=n: expit(a + v).sum() - n, -30, 30, xtol=1e-12)
        total += np.log(expit(a + mine)).sum() + np.log(expit(-a - others)).sum()
    value, gradient, information = choice.derivatives(at[:2], at[2])
    assert value == pytest.approx(total / len(choice.chosen[0]), rel=1e-6)
    assert np.log(np.exp(log_shares(utilities, choice.seen)).sum(axis=1)) == pytest.approx(0, abs=1e-6)
    h = 1e-3
    for k, e in enumerate(np.eye(3) * h):
        steps = [choice.derivatives((at + t * e)[:2], (at + t * e)[2])[0] for t in (-2, -1, 1, 2)]
        assert gradient[k] == pytest.approx(np.array([1, -8, 8, -1]) @ steps / (12 * h), abs=1e-6)
    assert np.linalg.eigvalsh(information).min() >= 0


def test_information_is_that_of_slopes_beside_a_rate_of_each_user() -> None:
    rng = np.random.default_rng(0)
    ell, slope, came = rng.normal(size=6).astype(np.float32), 0.5, np.arange(6) < 2
    a = optimize.brentq(lambda a: float(expit(a + slope * ell.astype(float)).sum() - 2), -5, 5, xtol=1e-12)
    p = expit(a + slope * ell)
    w = p * (1 - p)
    left = ell - w @ ell / w.sum()
    one = ChoiceProblem([ell[None]], np.zeros((1, 6), dtype=bool), (np.zeros(2, int), np.arange(2)))
    _, gradient, information = one.derivatives(np.array([slope]))
    assert gradient[0] == pytest.approx((came - p) @ left / 2, rel=1e-5)
    assert information[0, 0] == pytest.approx(w @ left**2 / 2, rel=1e-5)


def test_slopes_that_fall_with_activity_are_found_in_a_random_part() -> None:
    rng = np.random.default_rng(0)
    n, m, activity = 1000, 300, np.repeat([0.5, 2.0], 500)
    features = rng.normal(size=(n, m)).astype(np.float32)
    odds = np.exp(2.0 * (activity**-0.4)[:, None] * features - np.repeat([5.0, 2.5], 500)[:, None])
    came = rng.random((n, m)) < odds / (1 + odds)
    held = came & (rng.random((n, m)) < 0.2)
    found = ChoiceProblem([features], came & ~held, np.nonzero(held), activity).maximize()
    assert found.weights[0] == pytest.approx(2.0, abs=0.06)
    assert found.exponent == pytest.approx(-0.4, abs=0.08)


def test_items_are_as_likely_as_they_are_missing() -> None:
    """What is likely to come hardly gets likelier: a tenth of what is recorded says so, and what a fifth of all is."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3000, 100)).astype(np.float32)
    chances = np.exp(1.5 * np.minimum(features, 1) - 2.2)
    came = rng.random(features.shape) < chances
    known = came & (rng.random(features.shape) < 0.8)
    held, missing = known & (rng.random(features.shape) < 0.1), came & ~known
    off = {}
    for columns in ((features,), at_knot(features, float(np.median(features[held])))):
        found = ChoiceProblem(columns, known & ~held, np.nonzero(held)).maximize()
        utilities = sum(np.float32(c) * column for c, column in zip(found.weights, columns, strict=True))
        p = inclusion_probabilities(np.exp(log_shares(np.asarray(utilities), known)), missing.sum(axis=1))
        np.testing.assert_allclose(p.sum(axis=1), missing.sum(axis=1), rtol=1e-5)
        off[len(columns)] = max(
            abs(missing[inside].sum() / p[inside].sum() - 1)
            for inside in ((p > low) & (p <= high) & ~known for low, high in pairwise((0.02, 0.05, 0.1, 0.2, 1)))
        )
    assert off[2] < 0.1 < 0.2 < off[1]


def test_what_comes_later_is_as_likely_as_its_odds() -> None:
    shares = np.array([[0.5, 0.3, 0.1], [0.2, 0.2, 0.2], [0.2, 0.2, 0.2]])  # and a rest of .1 and .4
    n = np.array([2, 1, 0])
    p = inclusion_probabilities(shares, n, ordered=True)
    t = (p / (1 - p))[:2] / shares[:2]
    np.testing.assert_allclose(t, t[:, :1] * np.ones(3), rtol=1e-6)
    np.testing.assert_allclose(p[:2].sum(axis=1) + t[:, 0] * [0.1, 0.4], n[:2], rtol=1e-6)
    assert not p[2].any()


def test_what_could_hardly_come_and_did_has_a_likelihood() -> None:
    features, seen = np.array([[0.0, -2000.0, 1.0]], dtype=np.float32), np.zeros((1, 3), dtype=bool)
    value, gradient, information = ChoiceProblem([features], seen, (np.array([0]), np.array([1]))).derivatives(
        np.ones(1)
    )
    ell = np.array([0.0, 1.0])  # of those that could come, and did not
    a = optimize.brentq(lambda a: float(expit(a + ell).sum() - 1), -5, 5, xtol=1e-12)
    p = expit(a + ell)
    centre = p * (1 - p) @ ell / (p * (1 - p)).sum()
    assert value == pytest.approx(-2000 + a + np.log1p(-p).sum(), rel=1e-6)
    assert gradient[0] == pytest.approx(-2000 - centre - p @ (ell - centre), rel=1e-6)
    assert np.isfinite(information).all()


def test_a_user_who_has_all_that_is_left_says_nothing() -> None:
    features, seen = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32), np.zeros((3, 4), dtype=bool)
    some = (np.array([0, 1, 1]), np.array([2, 0, 3]))
    alone = ChoiceProblem([features[:2]], seen[:2], some).derivatives(np.ones(1))
    both = (np.append(some[0], [2] * 4), np.append(some[1], range(4)))
    found = ChoiceProblem([features], seen, both).derivatives(np.ones(1))
    for one, other in zip(alone, found, strict=True):
        assert 7 * np.ravel(other)[0] == pytest.approx(
            3 * np.ravel(one)[0], abs=1e-3
        )  # beside δ, which n says nothing of


def test_scoring_ends_where_the_gradient_does(choice: ChoiceProblem) -> None:
    found = choice.maximize()
    best, gradient, _ = choice.derivatives(found.weights, found.exponent)
    assert found.value == best
    assert np.abs(gradient).max() < 1e-3
    twice = ChoiceProblem([choice.features[0]] * 2, choice.seen, choice.chosen).maximize()  # a singular information
    assert np.isfinite(twice.weights).all()


def test_soft_log_is_finite_and_increasing() -> None:
    s = np.linspace(-3, 3, 2001)
    found = soft_log(s, 0.02)
    expected = np.log(0.02) + np.log(np.logaddexp(0, s / 0.02))
    below = s < -0.5  # where the logarithm of log(1 + eᵗ) is lost in double precision
    np.testing.assert_allclose(found[~below], expected[~below], atol=1e-4)
    assert (np.diff(found) > 0).all()
    assert np.isfinite(soft_log(np.array([-1e6, 1e6]), 0.02)).all()


@pytest.mark.parametrize("each", [None, 1e9, 3.0], ids=["all cells", "a sample of all", "a sample"])
def test_logistic_mf_descends_along_its_gradient(each: float | None) -> None:
    interactions, rng = as_interactions(interactions_of(12, 9)), np.random.default_rng(0)
    X, w = table_of(interactions_of(12, 9)), rng.uniform(0.5, 3, interactions.n_ratings)
    settings = interactions, w, 2, 0.7
    problem = ImplicitLogisticProblem(*settings) if each is None else SampledLogisticProblem(*settings, each)
    x = rng.normal(size=problem.size).astype(np.float32)
    a = {name: array.astype(float) for name, array in problem.arrays(x).items()}
    S, W = a["U"] @ a["V"].T + a["b"][:, None] + a["c"], np.ones_like(X)
    W[interactions.pairs()] = w
    penalty = 0.35 * sum(np.sum(a[name] ** 2) for name in "UVb")
    J = np.sum(W * np.where(X > 0, np.logaddexp(0, -S), np.logaddexp(0, S))) + penalty
    gradient, other = np.empty_like(x), np.empty_like(x)
    value = problem.value_gradient(x, gradient)
    if each != 3:
        assert value == pytest.approx(J, rel=1e-5)
    for step in rng.normal(size=(4, problem.size)).astype(np.float32):
        values = [problem.value_gradient(x + np.float32(t) * step, other) for t in (-0.02, -0.01, 0.01, 0.02)]
        assert np.dot([1, -8, 8, -1], values) / 0.12 == pytest.approx(float(gradient @ step), rel=0.01, abs=0.05)


def test_a_sample_of_cells_stands_for_all_of_them() -> None:
    interactions, each = as_interactions(interactions_of(300, 200)), 2.0
    n, m = interactions.shape
    problem = SampledLogisticProblem(interactions, np.ones(interactions.n_ratings), 2, 1.0, each)
    nothing, gradients = np.zeros(problem.size, dtype=np.float32), np.empty((2, problem.size), dtype=np.float32)
    for n_threads, gradient in zip((1, 3), gradients, strict=True):
        with thread_limit(n_threads):
            n_cells = problem.value_gradient(nothing, gradient) / np.log(2)  # each has log(1 + e⁰)
    assert np.array_equal(*gradients)
    shares = np.minimum(
        1, each * np.outer(interactions.user_counts, np.maximum(interactions.item_counts, 1)) / interactions.n_ratings
    )
    assert n_cells == pytest.approx(n * m, abs=4 * np.sqrt((1 / shares - 1).sum()))


def test_logistic_mf_learns_from_a_sample_where_cells_are_many() -> None:
    rng, n = np.random.default_rng(0), 6_000
    users = np.repeat(np.arange(n), 8)
    items = 3 * np.floor(n / 3 * rng.random(len(users)) ** 3).astype(int) + users % 3
    X = sparse.csr_array((np.ones(len(users)), (users, items)), shape=(n, n))
    model = LogisticMF(3, 1.0, max_iter=30, random_state=0).fit(X)
    lists = model.recommend(np.arange(90))[0]
    assert np.mean(lists % 3 == np.arange(90)[:, None] % 3) > 0.95


@pytest.mark.parametrize("model", [LogisticMF(random_state=0), BPR(random_state=0)], ids=repr)
def test_no_list_is_worse_than_popularity_where_interactions_are_few(model: LogisticMF | BPR) -> None:
    rng = np.random.default_rng(0)
    shares = np.arange(1, 301) ** -0.9
    tastes = np.exp(0.8 * rng.normal(size=(1500, 2)) @ rng.normal(size=(2, 300))) * shares
    X = np.concatenate([[(u, i) for i in rng.choice(300, 8, False, p / p.sum())] for u, p in enumerate(tastes)])
    train = rng.random(len(X)) < 0.6
    held_out = np.zeros((1500, 300), dtype=np.bool_)
    held_out[tuple(X[~train].T)] = True

    def hits(model: LogisticMF | BPR | Popularity) -> float:
        fitted = model.fit(X[train])
        return float(held_out[fitted.users_.ids[:, None], fitted.recommend(n=10)[0].astype(int)].mean())

    popular, weak = hits(Popularity()), clone(model).set_params(alpha=0.003)
    assert hits(weak) < popular
    assert hits(model) > popular
    assert model.alpha_ > 0.003
    assert weak.alpha_ == 0.003


def test_logistic_mf_folds_in_rows_where_the_gradient_is_zero() -> None:
    model = LogisticMF(3, 0.7, tol=1e-6, random_state=0).fit(interactions_of())
    X, counts = [("a", 0), ("a", 28), ("a", 3), ("b", 5), ("c", "unheard of")], [1, 10, 2, 1, 1]
    new = model.fold_in(X, counts)
    seen, w = np.zeros((3, len(model.items_))), np.ones((3, len(model.items_)))
    seen[new.ratings_.pairs()], w[new.ratings_.pairs()] = 1, strengths(new.ratings_, "log")
    U, b = new.U_.astype(float), new.user_bias_.astype(float)
    slopes = w * (expit(U @ model.V_.T + b[:, None] + model.item_bias_) - seen)
    np.testing.assert_allclose(slopes @ model.V_ + 0.7 * U, 0, atol=2e-5)
    np.testing.assert_allclose(slopes.sum(axis=1) + 0.7 * b, 0, atol=2e-5)
    alone = model.fold_in(X[:3], counts[:3])
    assert np.array_equal(alone.U_[0], new.U_[0])


@pytest.mark.parametrize(
    "model",
    [
        ItemKNN(100, shrinkage=2.0, popularity_weight=0),
        RP3beta(100, alpha=0.7, beta=0.4, popularity_weight=0),
    ],
    ids=repr,
)
def test_neighbours_are_sums_of_products(model: ItemKNN | RP3beta) -> None:
    X = table_of(interactions_of())
    n, m = X.sum(axis=1, keepdims=True), X.sum(axis=0)
    if isinstance(model, ItemKNN):
        W = X.T @ X / (np.sqrt(np.outer(m, m)) + 2)
    else:
        W = ((X / m) ** 0.7).T @ ((X / n) ** 0.7) / m**0.4
    np.fill_diagonal(W, 0)
    found = clone(model).fit(interactions_of())
    np.testing.assert_allclose(found.weights_.toarray(), W, rtol=1e-4)
    few = clone(model).set_params(n_neighbors=4).fit(interactions_of()).weights_.toarray()
    axis = 0 if isinstance(model, ItemKNN) else 1
    assert ((few > 0).sum(axis=axis) == 4).all()
    assert np.allclose(
        few.sum(axis=axis), np.sort(W, axis=axis).take(range(-4, 0), axis=axis).sum(axis=axis), rtol=1e-4
    )


@pytest.mark.evidence
def test_interactions_of_movielens_are_ranked_as_well_as_was_measured(data_dir: Path) -> None:
    data = load_ratings("ml-100k", data_dir)
    half = data.X[:, 0] % 2 == 0
    X = data.X[half]
    train, held = next(PerUserHoldout(0.2, n_splits=1, random_state=10).split(X, data.y[half]))
    users, items = np.unique(X[:, 0]), np.unique(X[train, 1])
    relevant = np.zeros((len(users), len(items)), dtype=bool)
    known = held[np.isin(X[held, 1], items)]
    relevant[np.searchsorted(users, X[known, 0]), np.searchsorted(items, X[known, 1])] = True
    discounts = 1 / np.log2(np.arange(2, 12))
    windows = {(0.21, 0.23): Popularity(), (0.445, 0.47): Recommender(ratings=None, random_state=0)}
    for (least, most), model in windows.items():
        found = model.fit(X[train]).recommend(users, n=10)
        best = found[0] if isinstance(found, tuple) else found.items
        hits = relevant[:, np.searchsorted(items, model.items_.ids)]
        gains = np.take_along_axis(hits, model.items_.index(best.ravel()).reshape(best.shape), axis=1)
        ideal = np.cumsum(discounts)[np.minimum(relevant.sum(axis=1), 10) - 1]
        assert least < np.mean(gains @ discounts / ideal) < most


@pytest.mark.parametrize("solver", ["primal", "dual"])
def test_ease_of_large_counts_is_the_closed_form(solver: str) -> None:
    rng = np.random.default_rng(0)
    C = (rng.random((60, 40)) < 0.3) * np.exp(rng.random((60, 40)) * np.log(1000)).round()
    P = np.linalg.inv(C.T @ C + 100 * np.eye(40))
    W = -P / np.diag(P)
    np.fill_diagonal(W, 0)
    users, items = np.nonzero(C)
    model = EASE(100.0, solver=solver, popularity_weight=0, counts="linear").fit(
        np.c_[users, items], sample_weight=C[users, items]
    )
    pairs = [(u, i) for u in range(60) for i in range(40)]
    found = model.decision_function(pairs).reshape(C.shape)
    assert np.abs(found - C @ W).max() < 1e-4 * np.abs(C @ W).max()
