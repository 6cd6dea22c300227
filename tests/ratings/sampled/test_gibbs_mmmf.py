"""Max-margin factorization by Gibbs samplers: decisions, fold-in, settings, and what the priors gain."""

from functools import lru_cache

import numpy as np
import pytest
from tests.together import together

import cofactor
from cofactor.ratings import GibbsIPMMMF, GibbsMMMF, RatingModel

DECISIONS = ("count", "median", "mode", "mean")

MODELS = {
    "GibbsMMMF": GibbsMMMF(4, n_sweeps=120, burn_in=40, random_state=0),
    "GibbsIPMMMF": GibbsIPMMMF(16, n_sweeps=120, burn_in=40, random_state=0),
}
both = together("name", MODELS)


@lru_cache
def planted() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training and held-out pairs and levels of a noisy table of rank 2; users' levels differ in width."""
    rng = np.random.default_rng(0)
    U, V = rng.normal(size=(150, 2)), rng.normal(size=(60, 2))
    x = U @ V.T + 0.4 * rng.normal(size=(150, 60)) + rng.normal(0, 0.3, 60)
    theta = np.array([-1.5, -0.5, 0.5, 1.5]) * rng.gamma(20, 1 / 20, (150, 1))
    y = 1.0 + (x[..., None] > theta[:, None]).sum(axis=2)
    pairs = rng.permutation(np.argwhere(rng.random(x.shape) < 0.5))
    values = y[tuple(pairs.T)]
    return pairs[500:], values[500:], pairs[:500], values[:500]


@lru_cache
def fitted(name: str) -> RatingModel:
    X, y, _, _ = planted()
    return MODELS[name].fit(X, y)


@both
def test_held_out_ratings(name):
    _, y, new, truth = planted()
    error = np.abs(fitted(name).predict(new) - truth).mean()
    assert error < {"GibbsMMMF": 0.55, "GibbsIPMMMF": 0.65}[name] * np.abs(np.median(y) - truth).mean()


@both
def test_count_is_the_rule_on_mean_margins(name):
    model, (_, _, new, _) = fitted(name), planted()
    margins = model.margins(new)
    np.testing.assert_array_equal(model.predict(new), 1 + (margins > 0).sum(axis=1))
    U, V, theta = (model.samples_[key].astype(float) for key in ("U", "V", "thresholds"))
    i, j = model.users_.index(new[:, 0]), model.items_.index(new[:, 1])
    x = (U[:, i, :-1] * V[:, j, :-1]).sum(axis=2) + U[:, i, -1] + V[:, j, -1]
    np.testing.assert_allclose(margins, (x[..., None] - theta[:, i]).mean(axis=0), atol=1e-4)


@both
def test_decisions_agree_mostly(name):
    model, (_, _, new, truth) = fitted(name), planted()
    p = model.predict_proba(new)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    try:
        found = {decision: model.set_params(decision=decision).predict(new) for decision in DECISIONS}
        margins = model.set_params(decision="median").margins(new)
    finally:
        model.set_params(decision="count")
    np.testing.assert_allclose(margins, 0.5 - np.cumsum(p, axis=1)[:, :-1], atol=1e-12)
    np.testing.assert_array_equal(found["mode"], 1 + p.argmax(axis=1))
    for decision in DECISIONS:
        assert np.mean(found[decision] == found["count"]) > 0.75
        assert np.abs(found[decision] - truth).mean() < 1.15 * np.abs(found["count"] - truth).mean()


@both
def test_users_of_the_training_are_found_again(name):
    model, (X, y, new, truth) = fitted(name), planted()
    folded = model.fold_in(X, y, known="replace")
    a, b = model.margins(new).ravel(), folded.margins(new).ravel()
    assert np.corrcoef(a, b)[0, 1] > 0.97
    assert np.abs(folded.predict(new) - truth).mean() < 1.15 * np.abs(model.predict(new) - truth).mean()


def test_only_the_product_of_weight_and_width_matters_with_the_learned_prior():
    """The prior of scales is weak, so twice the margin at half the weight is about the same model."""
    X, y, new, _ = planted()
    one, two = (
        GibbsMMMF(4, hinge_weight=1.2 / k, width=k, n_sweeps=120, burn_in=40, random_state=0).fit(X, y) for k in (1, 2)
    )
    assert np.mean(one.predict(new) == two.predict(new)) > 0.85
    assert np.std(two.margins(new)) == pytest.approx(2 * np.std(one.margins(new)), rel=0.15)


def test_who_rated_what_is_for_learned_priors():
    X, y, new, truth = planted()
    with pytest.raises(ValueError, match="implicit='low-rank' with prior='fixed'.*prior='learned'"):
        GibbsMMMF(implicit="low-rank", prior="fixed").fit(X, y)
    model = GibbsMMMF(4, implicit="low-rank", n_implicit=5, n_sweeps=60, burn_in=20, random_state=0).fit(X, y)
    assert model.samples_["user_weights"].shape == (40, 5, 5)
    assert np.abs(model.predict(new) - truth).mean() < 1.15 * np.abs(fitted("GibbsMMMF").predict(new) - truth).mean()
    folded = model.fold_in(X, y, known="replace")
    assert np.corrcoef(folded.margins(new).ravel(), model.margins(new).ravel())[0, 1] > 0.97


def test_users_folded_in_are_saved_without_what_ratings_by_others_say(tmp_path):
    X, y, _, _ = planted()
    model = GibbsMMMF(4, implicit="low-rank", n_implicit=5, n_sweeps=8, burn_in=4, random_state=0).fit(X, y)
    new = [("new", 0), ("new", 1)]
    folded = model.fold_in(new, [2, 5])
    folded.save(tmp_path / "model")
    assert np.array_equal(cofactor.load(tmp_path / "model").margins(new), folded.margins(new))


def test_settings_of_the_paper():
    X, y, new, truth = planted()
    for model in (
        GibbsMMMF(20, prior="fixed", biases=False, width=9.0, hinge_weight=0.1, n_sweeps=50, burn_in=10),
        GibbsIPMMMF(30, biases=False, width=9.0, hinge_weight=0.1, n_sweeps=50, burn_in=10),
    ):
        model.set_params(random_state=0).fit(X, y)
        assert np.abs(model.predict(new) - truth).mean() < 0.75 * np.abs(np.median(y) - truth).mean()
        assert (model.samples_["threshold_mean"] == 27.0 * (np.arange(1, 5) - 2.5)).all()


def test_features_are_zero_or_one_and_their_number_is_learned():
    samples = fitted("GibbsIPMMMF").samples_
    assert set(np.unique(samples["U"])) == {0.0, 1.0}
    np.testing.assert_allclose(samples["U"][..., :-1].sum(axis=1), samples["shares"] * 152, rtol=1e-5)
    assert len(np.unique(np.count_nonzero(samples["shares"], axis=1))) > 1
