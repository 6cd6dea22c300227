"""Diagnostics of sampled models: what is measured does not depend on how factors are turned, and agrees with ArviZ."""

import numpy as np
import pytest

import cofactor
from cofactor.datasets import make_ratings
from cofactor.ratings import BPMF, OrdinalProbit
from cofactor.ratings.sampled.chains import identified
from cofactor.samplers.diagnostics import require_arviz

DATA = make_ratings(60, 40, 3, density=0.4, random_state=0)


@pytest.fixture(scope="module")
def model():
    model = OrdinalProbit(2, n_implicit=3, n_sweeps=60, burn_in=20, thin=2, n_chains=2, random_state=0)
    return model.fit(DATA.X, DATA.y)


def test_inference_data_holds_draws_by_chain(model):
    data = model.to_arviz()
    assert dict(data.posterior.sizes)["chain"] == 2
    assert dict(data.posterior.sizes)["draw"] == 20
    assert set(data.posterior) >= {"interaction", "thresholds", "user_precision", "gap_mean", "gap_precision"}
    assert not {"U", "V", "user_mean", "user_weights"} & set(data.posterior)
    thresholds = model.samples_["thresholds"][:, :-1].mean(axis=1, dtype=float).reshape(2, 20, 4)
    np.testing.assert_allclose(data.posterior["thresholds"], thresholds)
    for chain, values in zip(model.chains_, data.sample_stats["total_log_likelihood"].to_numpy(), strict=True):
        assert values.tolist() == chain.log_likelihood[21::2]
    for chain, values in zip(model.chains_, data.warmup_sample_stats["total_log_likelihood"].to_numpy(), strict=True):
        assert values.tolist() == chain.log_likelihood[:20]


def test_interaction_is_that_of_all_pairs(model):
    U, V = (model.samples_[name][:, :-1, :2].astype(float) for name in "UV")
    direct = [np.sqrt(np.square(u @ v.T).mean()) for u, v in zip(U, V, strict=True)]
    np.testing.assert_allclose(model.to_arviz().posterior["interaction"].to_numpy().ravel(), direct)


def test_nothing_depends_on_how_factors_are_turned():
    random = np.random.default_rng(0)
    turn = np.linalg.qr(random.normal(size=(3, 3)))[0]
    U, V = random.normal(size=(5, 7, 3)), random.normal(size=(5, 4, 3))
    P = np.array([np.cov(random.normal(size=(3, 9))) for _ in range(5)])
    sides = {"U": "user", "V": "item"}
    one = identified({"U": U, "V": V, "user_precision": P, "noise_precision": np.ones((5, 1))}, sides, 3)
    other = identified({"U": U @ turn, "V": V @ turn, "user_precision": turn.T @ P @ turn}, sides, 3)
    assert set(one) - set(other) == {"noise_precision"}
    for name, values in other.items():
        np.testing.assert_allclose(values, one[name], rtol=1e-12)
    assert one["noise_precision"].shape == (5,)


def test_diagnostics_are_those_of_arviz(model):
    arviz = require_arviz()
    found = model.diagnostics()
    assert found.quantities[:3] == ("log-likelihood", "interaction", "gap_mean[1]")
    assert (found.n_chains, found.n_draws) == (2, 20)
    rows = {name: (r_hat, ess) for name, _, _, r_hat, ess in found.rows()}
    posterior = model.to_arviz().posterior
    assert rows["thresholds[2]"][0] == pytest.approx(float(arviz.rhat(posterior)["thresholds"][1]))
    assert rows["interaction"][1] == pytest.approx(float(arviz.ess(posterior)["interaction"]))
    assert np.isfinite(found.r_hat).all()


def test_chains_that_have_not_met_are_seen():
    settings = {"n_chains": 3, "random_state": 0}
    apart = OrdinalProbit(2, implicit=None, n_sweeps=6, burn_in=0, **settings).fit(DATA.X, DATA.y).diagnostics()
    met = BPMF(2, precision=2.0, n_sweeps=200, burn_in=50, **settings).fit(DATA.X, DATA.y).diagnostics()
    assert apart.r_hat[0] > 1.3 > 1.05 > met.r_hat[0]
    assert apart.ess[0] < 40 < 200 < met.ess[0]


def test_going_on_saving_and_one_chain(tmp_path):
    model = OrdinalProbit(2, implicit=None, n_sweeps=12, burn_in=4, warm_start=True, random_state=1)
    model.fit(DATA.X, DATA.y).fit(DATA.X, DATA.y)
    found = model.diagnostics()
    assert (found.n_chains, found.n_draws) == (1, 20)
    assert np.isnan(found.r_hat).all()
    assert np.isfinite(found.ess).all()
    model.set_params(burn_in=20)  # no longer that of the samples
    assert model.diagnostics().n_draws == 20
    model.set_params(burn_in=4).save(tmp_path / "m.cofactor")
    assert str(cofactor.load(tmp_path / "m.cofactor").diagnostics()) == str(found)
    model.set_params(thin=3, n_sweeps=2).fit(DATA.X, DATA.y).save(tmp_path / "m.cofactor")
    again = cofactor.load(tmp_path / "m.cofactor")
    likelihood = again.to_arviz().sample_stats["total_log_likelihood"].to_numpy()[0]
    assert likelihood.tolist() == [again.chains_[0].log_likelihood[sweep - 1] for sweep in range(7, 27, 3)]
    model.save(tmp_path / "lean.cofactor", n_samples=5)
    for without in (
        cofactor.load(tmp_path / "lean.cofactor"),
        model.fold_in(DATA.X[:50], DATA.y[:50], known="replace"),
    ):
        with pytest.raises(ValueError, match="not the chains they come from"):
            without.diagnostics()


def test_a_precision_that_is_set_is_not_diagnosed():
    settings = {"n_sweeps": 20, "burn_in": 5, "n_chains": 2, "random_state": 0}
    fixed = BPMF(2, precision=2.0, **settings).fit(DATA.X, DATA.y)
    learned = BPMF(2, precision="learn", **settings).fit(DATA.X, DATA.y)
    assert "noise_precision" not in fixed.diagnostics().quantities
    assert set(learned.diagnostics().quantities) == {
        "log-likelihood", "interaction", "user_precision", "item_precision", "noise_precision",
    }  # fmt: skip
