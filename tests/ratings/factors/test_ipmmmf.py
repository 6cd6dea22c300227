"""IPMMMF as a whole: the objective falls from round to round, new users, and traps where all users become alike."""

import numpy as np
import pytest

from cofactor.problems.max_entropy import MaxEntropyProblem, threshold_centres
from cofactor.ratings import IPMMMF

from ..reference import planted

X, Y = planted()


@pytest.mark.parametrize(("item_prior", "alpha_bias"), [("fixed", None), ("learned", 1.0)])
def test_no_block_of_a_fit_raises_the_objective(item_prior, alpha_bias, monkeypatch):
    history: list[float] = []
    for name in ("update_items", "update_gaussian", "update_sticks", "update_users"):
        block = getattr(MaxEntropyProblem, name)

        def watched(self, x, *args, block=block):
            block(self, x, *args)
            history.append(self.value_gradient(x, np.empty_like(x)) + self.nonsmooth_value(x))

        monkeypatch.setattr(MaxEntropyProblem, name, watched)
    model = IPMMMF(6, 1.0, item_prior=item_prior, alpha_bias=alpha_bias, max_iter=500, random_state=0).fit(X, Y)
    assert len(history) == model.n_iter_ * (4 if item_prior == "learned" else 3) + 2
    assert np.all(np.diff(history) <= 1e-10 * history[0])
    assert np.all(np.diff(model.history_) <= 0)
    assert model.objective_ == history[-1] <= model.history_[-1]
    assert model.objective_ < 0.5 * model.history_[0]


@pytest.mark.parametrize("item_prior", ["fixed", "learned"])
@pytest.mark.parametrize(("n_users", "seed"), [(40, 0), (400, 1)])
def test_users_do_not_become_alike(item_prior, seed, n_users):
    """With features random at the start, and many users for an item, all of them went to Λ = 0."""
    pairs, y = planted(n_users, 10, density=0.6)
    model = IPMMMF(3, 0.5, item_prior=item_prior, tol=1e-3, max_iter=500, random_state=seed).fit(pairs, y)
    assert model.U_.std(axis=0).min() > 0.1
    assert np.abs(model.V_).max(axis=0).min() > 1
    assert -model.score(pairs, y) < 0.6 * np.abs(np.median(y) - y).mean()


def test_a_penalty_too_large_is_told():
    with pytest.warns(UserWarning, match="all factors are zero: alpha=1e\\+06 is too large"):
        model = IPMMMF(3, 1e6, random_state=0).fit(X, Y)
    assert not model.V_.any()


def test_features_beyond_those_needed_are_rare():
    """The prior makes later features less likely, and the sticks learn how many there are."""
    model = IPMMMF(20, 3.0, concentration=1.0, random_state=0).fit(X, Y)
    assert np.all(np.diff(model.prior_) <= 0)
    assert np.all(model.sticks_ > 0)
    assert model.prior_.shape == (20,)


def test_learned_arrays_are_what_they_are_called():
    model = IPMMMF(6, 1.0, random_state=0).fit(X, Y)
    assert np.all((model.U_ >= 0) & (model.U_ <= 1))
    assert np.all(np.diff(model.thresholds_, axis=1) >= 0)
    assert not model.user_bias_.any()
    assert not model.item_bias_.any()
    users, items = X.T
    scores = np.einsum("kd,kd->k", model.U_[users], model.V_[items])
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-3)
    assert np.array_equal(model.predict(X), 1 + np.sum(scores[:, None] > model.thresholds_[users], axis=1))


def test_an_unknown_user_has_the_features_of_the_prior():
    model = IPMMMF(6, 1.0, alpha_bias=1.0, random_state=0).fit(X, Y)
    everything = [(-1, j) for j in range(30)]
    expected = model.V_ @ model.prior_ + model.item_bias_
    np.testing.assert_allclose(model.decision_function(everything), expected, rtol=1e-4, atol=1e-4)
    margins = model.margins(everything) - model.decision_function(everything)[:, None]
    np.testing.assert_allclose(margins, np.tile(-model.common_thresholds_, (30, 1)), atol=1e-4)
    folded = model.fold_in([("new", 0), ("lost", 999)], [4, 4])
    np.testing.assert_allclose(folded.U_[folded.users_.index(["lost"])[0]], model.prior_, rtol=1e-5)


def test_only_the_ratio_of_margin_and_factors_matters():
    """Twice the margin is half the deviation of the prior: scores double where alpha does what it did before."""
    centres = threshold_centres(5, 2.0)
    assert np.array_equal(2 * centres, threshold_centres(5, 4.0))
    wide, narrow = (IPMMMF(6, 1.0, width=w, random_state=0).fit(X, Y) for w in (4.0, 2.0))
    assert np.abs(wide.decision_function(X)).mean() > 1.3 * np.abs(narrow.decision_function(X)).mean()


def test_planted_ratings_are_recovered():
    pairs, y = planted(60, 50, density=0.5, noise=0.0)
    test = np.random.default_rng(0).random(len(y)) < 0.2
    model = IPMMMF(8, 1.0, random_state=0).fit(pairs[~test], y[~test])
    assert -model.score(pairs[test], y[test]) < 0.55
    assert np.abs(np.median(y[~test]) - y[test]).mean() > 1.1
