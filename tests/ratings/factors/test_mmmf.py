"""Maximum margin matrix factorization: objective, thresholds, decoding."""

import numpy as np
import pytest
from tests.together import together

from cofactor.ratings import MMMF, ShardedRatings, as_ratings

from ..reference import MARGINS, SLOPES, ordinal_objective, planted, scores_of

X, Y = planted()
THESIS = {"alpha_bias": None, "alpha_thresholds": 0}


def tight(**params):
    settings = {"n_factors": 5, "alpha": 1.0, "dtype": "float64", "tol": 1e-12, "max_iter": 20000, "random_state": 0}
    return MMMF(**settings | params)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@together("construction", ["all", "immediate"])
@together(
    ("margin", "alpha_bias", "alpha_thresholds", "shards"),
    [
        *((margin, 0.7, 0.05, 0) for margin in MARGINS),
        *(("smooth-hinge", *rest) for rest in ((None, 0, 0), (None, 1.0, 0), (0.7, 5.0, 0), (0.7, 0.05, 2))),
    ],
)
def test_the_objective_is_that_of_what_is_returned(margin, construction, alpha_bias, alpha_thresholds, shards):
    """Finished or not, in whatever order thresholds stand, and where no rating bears on some (corrections.md, C7)."""
    for max_iter in (20, 2000):
        model = MMMF(
            5, 0.3, margin=margin, construction=construction, alpha_bias=alpha_bias, alpha_thresholds=alpha_thresholds,
            dtype="float64", tol=1e-4, max_iter=max_iter, random_state=0,
        )  # fmt: skip
        data = as_ratings(X, Y)
        model.fit(ShardedRatings.from_ratings(data, shards) if shards else data)
        model.ratings_ = data
        assert model.objective_ == pytest.approx(ordinal_objective(model), rel=1e-9)


def test_fold_in_of_training_users_leaves_crossed_thresholds_where_they_are():
    """A row is solved to 1e-8 of its loss at the start, some 40: its scores to the root of that, over alpha."""
    model = tight(alpha=0.3, construction="immediate", alpha_thresholds=0.05).fit(X, Y)
    assert np.any(np.diff(model.thresholds_, axis=1) < 0)
    folded = model.fold_in(X, Y, known="replace")
    assert ordinal_objective(folded) <= model.objective_ * (1 + 1e-6)
    np.testing.assert_allclose(folded.decision_function(X), model.decision_function(X), atol=0.01)


def test_objective_in_single_precision():
    model = MMMF(5, 1.0, random_state=0).fit(X, Y)
    assert model.objective_ == pytest.approx(ordinal_objective(model), rel=1e-5)
    assert np.all(np.diff(model.history_) <= 0)


@together("construction", ["all", "immediate"])
def test_the_gradient_vanishes_at_the_solution(construction):
    """(3.14)-(3.16), with the derivatives by item bias and by the pull of the thresholds."""
    model = tight(construction=construction, alpha_bias=0.7, alpha_thresholds=2.0).fit(X, Y)
    users, levels, x = scores_of(model)
    items, h = model.ratings_.indices, SLOPES["smooth-hinge"]
    C, by_threshold = np.zeros((40, 30)), 2.0 * (model.thresholds_ - model.thresholds_.mean(axis=0))
    for i, j, level, score in zip(users, items, levels, x, strict=True):
        for r in range(1, 5):
            if construction == "immediate" and r not in (level - 1, level):
                continue
            T = 1 if r >= level else -1
            slope = T * h(T * (model.thresholds_[i, r - 1] - score))
            by_threshold[i, r - 1] += slope
            C[i, j] -= slope
    norms = [
        np.linalg.norm(g)
        for g in (
            C @ model.V_ + model.U_, C.T @ model.U_ + model.V_, C.sum(axis=0) + 0.7 * model.item_bias_, by_threshold,
        )
    ]  # fmt: skip
    assert max(norms) < 2e-3


@together(("construction", "alpha_thresholds"), [("all", 0), ("all", 5.0), ("immediate", 5.0)])
def test_thresholds_are_sorted_and_finite(construction, alpha_thresholds):
    model = MMMF(5, 0.3, construction=construction, alpha_thresholds=alpha_thresholds, tol=1e-4, random_state=0)
    model.fit(X, Y)
    assert model.thresholds_.shape == (40, 4)
    assert np.isfinite(model.thresholds_).all()
    assert np.all(np.diff(model.thresholds_, axis=1) >= 0)
    assert np.all(np.diff(model.common_thresholds_) >= 0)


@together("user_levels", [(4, 5), (1, 2), (3,), (2, 4)])
def test_thresholds_that_no_rating_bears_on_stand_at_the_end_of_their_half_line(user_levels):
    """corrections.md, C7: below all levels of the user at min x - 1, above all at max x + 1."""
    own = np.array([(99, j) for j in range(20)])
    ratings = np.tile(user_levels, 20)[:20].astype(float)
    model = tight(**THESIS).fit(np.vstack([X, own]), np.concatenate([Y, ratings]))
    x = model.decision_function(own)
    theta = model.thresholds_[model.users_.index([99])[0]]
    for r in range(1, 5):
        if r < min(user_levels):
            assert theta[r - 1] == pytest.approx(x.min() - 1, abs=1e-12)
        if r >= max(user_levels):
            assert theta[r - 1] == pytest.approx(x.max() + 1, abs=1e-12)
    everything = model.predict([(99, j) for j in range(30)])
    inside = (model.decision_function([(99, j) for j in range(30)]) > x.min() - 1) & (
        model.decision_function([(99, j) for j in range(30)]) <= x.max() + 1
    )
    assert np.all((everything >= min(user_levels)) & (everything <= max(user_levels)) | ~inside)
    assert inside.sum() >= 20


def test_the_level_is_one_more_than_the_number_of_thresholds_below_the_score():
    """corrections.md, C6, recomputed from the learned arrays."""
    for params in ({}, THESIS, {"construction": "immediate"}):
        model = tight(**params).fit(X, Y)
        pairs = np.argwhere(np.ones((40, 30)))
        x = (model.U_ @ model.V_.T + model.item_bias_)[pairs[:, 0], pairs[:, 1]]
        np.testing.assert_allclose(model.decision_function(pairs), x, atol=1e-12)
        expected = 1 + (x[:, None] > model.thresholds_[pairs[:, 0]]).sum(axis=1)
        assert np.array_equal(model.predict(pairs), expected)
        assert np.mean(model.predict(X) == Y) > 0.9
        assert set(expected) == {1, 2, 3, 4, 5}


def test_the_settings_of_the_thesis_have_no_biases():
    model = MMMF(5, 1.0, **THESIS, random_state=0).fit(X, Y)
    assert not model.user_bias_.any()
    assert not model.item_bias_.any()
    assert MMMF(5, 1.0, random_state=0).fit(X, Y).item_bias_.any()


def test_a_strong_pull_gives_all_users_the_same_thresholds():
    model = tight(alpha_thresholds=1e6, tol=1e-9).fit(X, Y)
    assert np.ptp(model.thresholds_, axis=0).max() < 1e-3
    assert np.ptp(tight(alpha_thresholds=1.0).fit(X, Y).thresholds_, axis=0).min() > 0.1
    np.testing.assert_allclose(model.common_thresholds_, model.thresholds_.mean(axis=0), atol=1e-9)


def test_unknown_users_have_the_mean_thresholds():
    model = tight().fit(X, Y)
    items = [(-1, j) for j in range(30)]
    expected = 1 + (model.item_bias_[:, None] > model.common_thresholds_).sum(axis=1)
    assert np.array_equal(model.predict(items), expected)


def test_every_start_reaches_the_same_optimum_when_there_are_enough_factors():
    objectives = [tight(n_factors=30, random_state=seed).fit(X, Y).objective_ for seed in range(3)]
    assert max(objectives) == pytest.approx(min(objectives), rel=1e-6)


def test_immediate_and_all_thresholds_are_different_models():
    """They coincide only where there is one threshold."""
    two = (Y > 3) + 1.0
    models = {c: tight(construction=c).fit(X, two) for c in ("all", "immediate")}
    assert np.array_equal(models["all"].U_, models["immediate"].U_)
    five = {c: tight(construction=c).fit(X, Y) for c in ("all", "immediate")}
    assert five["immediate"].objective_ < five["all"].objective_
    errors = {c: np.abs(model.predict(X) - Y).mean() for c, model in five.items()}
    assert max(errors.values()) < 0.15
