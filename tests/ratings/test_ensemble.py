"""Ensembles: averages by hand, one member, bagging."""

from pathlib import Path

import numpy as np
import pytest
from tests.together import together

import cofactor
from cofactor.ratings import ALS, HMF, MMMF, PMMMF, URP, BinaryMMMF, Ensemble, OrdinalProbit

from .reference import planted

X, Y = planted()
EVERY = np.argwhere(np.ones((40, 30)))


@pytest.mark.parametrize("member", [MMMF(3, 1.0), ALS(3, 1.0), HMF(3, 1.0), HMF(3, 1.0, decoding="count")], ids=repr)
def test_the_level_is_decoded_from_the_mean_of_margins(member):
    model = Ensemble(member, 3, random_state=0).fit(X, Y)
    assert len(model.members_) == 3
    mean = np.mean([m.margins(EVERY) for m in model.members_], axis=0)
    np.testing.assert_allclose(model.margins(EVERY), mean, atol=1e-5)
    if isinstance(member, HMF) and member.decoding == "first":
        expected = np.where((mean < 0).any(axis=1), 1 + (mean < 0).argmax(axis=1), 5)
    elif isinstance(member, HMF):
        expected = 1 + (mean >= 0).sum(axis=1)
    else:
        expected = 1 + (mean > 0).sum(axis=1)
    assert np.array_equal(model.predict(EVERY), expected)
    scores = np.mean([m.decision_function(EVERY) for m in model.members_], axis=0)
    np.testing.assert_allclose(model.decision_function(EVERY), scores, atol=1e-5)


@pytest.mark.parametrize("member", [MMMF(3, 1.0), PMMMF(3, 1.0), ALS(3, 1.0), HMF(3, 1.0)], ids=repr)
def test_one_member_alone_is_that_member(member):
    model = Ensemble(member, 1, random_state=0).fit(X, Y)
    (only,) = model.members_
    assert np.array_equal(model.predict(EVERY), only.predict(EVERY))
    assert np.array_equal(model.decision_function(EVERY), only.decision_function(EVERY))
    for seed in (only.random_state, only.random_state + 1):
        alone = type(member)(3, 1.0, random_state=seed).fit(X, Y)
        same = np.array_equal(model.decision_function(EVERY), alone.decision_function(EVERY))
        assert same == (seed == only.random_state)


def test_of_bi_level_models():
    model = Ensemble(BinaryMMMF(3, 1.0), 3, random_state=0).fit(X, Y > 3)
    mean = np.mean([m.decision_function(EVERY) for m in model.members_], axis=0)
    assert np.array_equal(model.predict(EVERY), (mean >= 0).astype(float))


def test_members_differ_by_their_starts():
    model = Ensemble(MMMF(3, 1.0), 4, random_state=0).fit(X, Y)
    assert len({m.V_.tobytes() for m in model.members_}) == 4
    assert len({m.random_state for m in model.members_}) == 4
    assert all(m.ratings_ is None and m.users_ is model.users_ for m in model.members_)


def test_an_average_is_better_than_its_members():
    pairs, y = planted(80, 60, density=0.4, noise=0.5)
    test = np.random.default_rng(0).random(len(y)) < 0.2
    model = Ensemble(MMMF(6, 1.0), 8, random_state=0).fit(pairs[~test], y[~test])
    errors = [-member.score(pairs[test], y[test]) for member in model.members_]
    assert -model.score(pairs[test], y[test]) < np.mean(errors) - 0.01


def test_bagging_shows_each_member_a_part(monkeypatch):
    seen = []
    fit = MMMF._fit

    def note(self, given):
        seen.append(given.ratings)
        fit(self, given)

    monkeypatch.setattr(MMMF, "_fit", note)
    model = Ensemble(MMMF(3, 1.0), 4, method="bagging", max_samples=0.7, random_state=0).fit(X, Y)
    assert [part.n_ratings for part in seen] == [round(0.7 * len(Y))] * 4
    known = {(u, i): y for (u, i), y in zip(X.tolist(), Y, strict=True)}
    parts = [{(u, i) for u, i in zip(*part.pairs(), strict=True)} for part in seen]
    for part, pairs in zip(seen, parts, strict=True):
        assert len(pairs) == part.n_ratings  # drawn without replacement
        assert all(known[u, i] == y for (u, i), y in zip(zip(*part.pairs(), strict=True), part.values, strict=True))
    assert all(a != b for k, a in enumerate(parts) for b in parts[:k])
    assert model.users_ is seen[0].users


def test_bagging_of_everything_is_no_bagging():
    a = Ensemble(MMMF(3, 1.0), 2, method="bagging", max_samples=1.0, random_state=0).fit(X, Y)
    b = Ensemble(MMMF(3, 1.0), 2, random_state=0).fit(X, Y)
    assert np.array_equal(a.decision_function(EVERY), b.decision_function(EVERY))


def test_alpha_is_chosen_once_for_all_members():
    model = Ensemble(ALS(3), 3, random_state=0).fit(X, Y)
    alphas = {m.alpha_ for m in model.members_}
    assert len(alphas) == 1
    assert all(m.validation_ is None for m in model.members_)
    first = ALS(3, random_state=model.members_[0].random_state).fit(X, Y)
    assert alphas == {first.alpha_}
    stages = Ensemble(HMF(3), 2, random_state=0).fit(*planted(n_levels=3))  # two of them
    assert stages.members_[0].alphas_ == stages.members_[1].alphas_


def test_the_default_member():
    model = Ensemble(n_members=2, random_state=0).fit(X, Y)
    assert [type(m) for m in model.members_] == [MMMF, MMMF]
    assert model.members_[0].U_.shape == (40, 8)
    assert model.get_params()["estimator"] is None


def test_the_estimator_itself_is_not_fitted():
    member = MMMF(3, 1.0)
    Ensemble(member, 2, random_state=0).fit(X, Y)
    assert not hasattr(member, "U_")
    assert member.random_state is None


def test_infinite_margins_count_as_ten():
    """A member that saw no rating of some level for a user has an infinite boundary there."""
    pairs, y = planted(31, 40, density=0.7)
    kept = ~((pairs[:, 0] % 2 == 0) & (y == 5))
    model = Ensemble(PMMMF(3, 1.0), 2, random_state=0).fit(pairs[kept], y[kept])
    own = model.members_[0].margins(EVERY[:30])
    assert np.isneginf(own[:, 3]).all()
    assert np.all(model.margins(EVERY[:30])[:, 3] == -10)
    assert np.isfinite(model.margins(EVERY[:900])).all()
    assert not np.any(model.predict(EVERY[:30]) == 5)


def test_levels_belong_to_the_ensemble():
    wide = [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match=r"estimator has levels=\[0, 1, 2, 3, 4, 5\]: pass them to Ensemble"):
        Ensemble(MMMF(3, 1.0, levels=wide), 2).fit(X, Y)
    model = Ensemble(MMMF(3, 1.0, levels=wide), 2, levels=wide, random_state=0).fit(X, Y)
    assert model.members_[1].scale_.tolist() == wide


def test_ensembles_of_ensembles():
    model = Ensemble(Ensemble(ALS(2, 1.0), 2), 2, random_state=0).fit(X, Y)
    inner = [part for member in model.members_ for part in member.members_]
    assert len({part.V_.tobytes() for part in inner}) == 4
    mean = np.mean([part.decision_function(X) for part in inner], axis=0)
    np.testing.assert_allclose(model.decision_function(X), mean, atol=1e-5)


# ---------------------------------------------------------------- probabilities

PROBIT = OrdinalProbit(2, n_implicit=3, n_sweeps=12, burn_in=6)


@pytest.mark.parametrize(
    ("member", "method"), [(PROBIT, "starts"), (URP(3, tol=1e-3), "bagging"), (Ensemble(PROBIT, 2), "starts")], ids=str
)
def test_probabilities_are_the_mean_of_those_of_members(member, method, tmp_path: Path):
    model = Ensemble(member, 3, method=method, random_state=0).fit(X, Y)
    p = model.predict_proba(EVERY)
    each = [m.predict_proba(EVERY) for m in model.members_]
    np.testing.assert_allclose(p, np.mean(each, axis=0), rtol=1e-12)
    assert not np.allclose(each[0], each[1])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.array_equal(model.predict(EVERY), 1 + (np.cumsum(p, axis=1) < 0.5 - 1e-12).sum(axis=1))
    np.testing.assert_allclose(model.decision_function(EVERY), p @ model.scale_, rtol=1e-6)
    model.save(tmp_path / "model")
    assert np.array_equal(cofactor.load(tmp_path / "model").predict_proba(EVERY), p)
    new = X[:, 0] < 5
    folded = model.fold_in(X[new], Y[new], known="replace")
    mean = np.mean([m.predict_proba(X[new]) for m in folded.members_], axis=0)
    np.testing.assert_allclose(folded.predict_proba(X[new]), mean, rtol=1e-12)


def test_members_drawn_from_a_posterior_are_pooled():
    model = Ensemble(PROBIT, 3, random_state=0).fit(X, Y)
    pooled = model.members_[0]
    expected = model.predict_proba(EVERY)
    pooled.samples_ = {k: np.concatenate([m.samples_[k] for m in model.members_]) for k in pooled.samples_}
    np.testing.assert_allclose(pooled.predict_proba(EVERY), expected, atol=1e-7)


@together("decision", ["mode", "mean"])
def test_decisions_of_members_are_made_on_mean_probabilities(decision):
    member = OrdinalProbit(2, n_implicit=3, n_sweeps=12, burn_in=6, decision=decision)
    model = Ensemble(member, 3, random_state=0).fit(X, Y)
    p = model.predict_proba(EVERY)
    expected = 1 + p.argmax(axis=1) if decision == "mode" else np.round(p @ model.scale_)
    assert np.array_equal(model.predict(EVERY), expected)


@together("model", [Ensemble(), Ensemble(MMMF(3, 1.0), 2), Ensemble(Ensemble(HMF(2, 1.0), 1), 1)])
def test_probabilities_are_not_offered_where_members_have_none(model):
    for m in (model, model.fit(X, Y)) if model.estimator is not None else (model,):
        assert not hasattr(m, "predict_proba")
        with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
            m.predict_proba(EVERY)
    assert hasattr(Ensemble(PROBIT), "predict_proba")
