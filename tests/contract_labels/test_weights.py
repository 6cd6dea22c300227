"""Weight 2 counts as two instances, weight 0 as none; all models take whole numbers, some take any weights."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from tests.together import together

from cofactor import labels
from cofactor.errors import InvalidInputError
from cofactor.labels.decisions import RULES

from .models import CASES, bits, data, fitted, fresh, probed

WEIGHTS = np.random.default_rng(3).integers(0, 4, len(data()[0]))

#: Settings with which models converge far enough that two ways to the same minimum agree.
TIGHT = {
    "LEML": {"tol": 1e-9, "max_iter": 20_000},
    "LEML of logistic loss": {"tol": 1e-12, "max_iter": 20_000},
    "OMF": {"tol": 1e-9, "max_iter": 20_000},
}
ANY = [name for name in CASES if CASES[name].capabilities.weights == "any"]
WHOLE = [name for name in CASES if name not in ANY]
FORMS: dict[str, Any] = {"dense": np.asarray, "sparse": sparse.csr_array}


def tight(name: str) -> Any:
    return fresh(name, **TIGHT.get(name, {}))


def test_the_ridge_family_takes_any_weights() -> None:
    assert {"PLST", "CPLST", "CSSP", "FAiE", "LEML", "OMF"} <= set(ANY)
    assert {CASES[name].capabilities.weights for name in CASES} == {"any", "whole"}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, "dense") for name in CASES),
        *((name, "sparse") for name in (*ANY, WHOLE[0])),  # the base repeats instances for the others
    ],
)
def test_weight_2_is_an_instance_twice_and_weight_0_none(name: str, form: str) -> None:
    (X, Y), taken = data(), FORMS[form]
    weighted = tight(name).fit(taken(X), Y, sample_weight=WEIGHTS).decision_function(X)
    repeated = tight(name).fit(taken(np.repeat(X, WEIGHTS, axis=0)), np.repeat(Y, WEIGHTS, axis=0)).decision_function(X)
    without = fitted(name).decision_function(X)
    assert np.abs(weighted - repeated).max() < 2e-3 * repeated.std()
    assert np.abs(weighted - without).max() > 0.05 * without.std()


@pytest.mark.parametrize("name", [*ANY, WHOLE[0]])
def test_weights_of_1_change_no_bit(name: str) -> None:
    assert bits(fresh(name).fit(*data(), sample_weight=np.ones(len(data()[0])))) == bits(fitted(name))


@pytest.mark.parametrize("name", ["PLST", "CPLST", "CSSP", "CSSP of 0/1", "FAiE", "FAiE of 0/1", "LEML"])
@pytest.mark.parametrize("rows", [80, 5], ids=["more rows than columns", "more columns than rows"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_fractions_weigh_in_proportion(name: str, rows: int, form: Any) -> None:
    """Half the weights and half the penalty have the same minimum as the whole ones."""
    X, Y = data()[0][:rows], data()[1][:rows]
    model = tight(name)
    penalties = {"alpha", "beta", "estimator__alpha"} & set(model.get_params())
    halves = {key: model.get_params()[key] / 2 for key in penalties}
    whole = np.maximum(WEIGHTS[:rows], 1)
    expected = model.fit(form(X), Y, sample_weight=whole).decision_function(X)
    found = clone(model).set_params(**halves).fit(form(X), Y, sample_weight=whole / 2).decision_function(X)
    assert np.abs(found - expected).max() < 2e-3 * expected.std()


@pytest.mark.parametrize("loss", ["squared", "logistic", "smooth-hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_solver_of_leml_counts_weights(loss: str, fit_intercept: bool) -> None:
    X, Y = data()
    settings = {"loss": loss, "solver": "lbfgs", "fit_intercept": fit_intercept, "tol": 1e-12, "max_iter": 20_000}
    weighted = labels.LEML.paper(6, **settings).fit(X, Y, sample_weight=WEIGHTS).decision_function(X)
    rows = np.repeat(np.arange(len(X)), WEIGHTS)
    repeated = labels.LEML.paper(6, **settings).fit(X[rows], Y[rows]).decision_function(X)
    assert np.abs(weighted - repeated).max() < 2e-3 * repeated.std()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", [(50, 6), (6, 50)])
def test_a_weighted_space_is_scikit_learns_ridge(fit_intercept: bool, form: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    X, T, w = rng.normal(size=shape), rng.normal(size=(shape[0], 3)), rng.random(shape[0]) + 0.1
    space = labels.FeatureSpace(form(X), fit_intercept=fit_intercept, sample_weight=w)
    coef, intercept = space.ridge(T, 0.7)
    ridge = Ridge(0.7, fit_intercept=fit_intercept).fit(X, T, sample_weight=w)
    np.testing.assert_allclose(coef, ridge.coef_.T, atol=1e-9)
    np.testing.assert_allclose(intercept, np.broadcast_to(ridge.intercept_, 3), atol=1e-9)
    root = np.sqrt(w)[:, None]
    gap = root * (T - (w @ T / w.sum() if fit_intercept else 0) - (X - space.mean) @ coef)
    centred = root * (T - (w @ T / w.sum() if fit_intercept else 0))
    np.testing.assert_allclose(space.explained(T, 0.7), centred.T @ (centred - gap), atol=1e-8)
    B = space.hat_factor(0.7)
    np.testing.assert_allclose(B @ (B.T @ centred), centred - gap, atol=1e-8)


def test_a_space_brings_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = data()
    w = np.maximum(WEIGHTS, 1)
    space = labels.FeatureSpace(X, sample_weight=w)
    for model in (fresh("PLST"), labels.BinaryRelevance.paper(Ridge())):
        given = clone(model).fit(space, Y).decision_function(X)
        np.testing.assert_allclose(given, clone(model).fit(X, Y, sample_weight=w).decision_function(X), atol=1e-9)
    with pytest.raises(ValueError, match="decomposed with its weights"):
        fresh("PLST").fit(space, Y, sample_weight=w)
    with pytest.raises(ValueError, match="above 0"):
        labels.FeatureSpace(X, sample_weight=WEIGHTS)


@pytest.mark.parametrize("rule", RULES)
def test_learned_thresholds_count_weights(rule: str) -> None:
    X, Y = data()
    few = fresh("PLST", threshold=rule).fit(X, Y, sample_weight=(np.arange(len(X)) < 40).astype(float))
    assert np.array_equal(few.threshold_, fresh("PLST", threshold=rule).fit(X[:40], Y[:40]).threshold_)
    model = fresh("PLST").fit(X, Y)
    again = model.fit_threshold(X, Y, rule, sample_weight=WEIGHTS).threshold_
    repeated = model.fit_threshold(np.repeat(X, WEIGHTS, axis=0), np.repeat(Y, WEIGHTS, axis=0), rule).threshold_
    assert np.array_equal(again, repeated)


#: Models that choose their penalties by themselves.
CHOOSING: dict[str, Any] = {
    name: labels.MODELS[name]()
    for name in (
        *("LabelRidge", "PLST", "CPLST", "CSSP", "FAiE", "LEML", "BinaryRelevance"),
        *("CML", "CMLF", "TreeCRF", "ChainCRF", "ChainCRFEnsemble"),
    )
}
CHOOSING["ChainCRFEnsemble"].set_params(n_estimators=2)
CHOOSING["LEML of logistic loss"] = labels.LEML(loss="logistic")
CHOOSING["TreeCRF of gains"] = labels.TreeCRF(structure="likelihood-gain")


@pytest.mark.parametrize(
    ("name", "case"),
    [(name, "dense") for name in CHOOSING]
    + [(name, case) for name in ("LabelRidge", "PLST", "LEML") for case in ("sparse", "partly known")],
)
@pytest.mark.usefixtures("half_held_out")
def test_only_the_ratios_of_weights_count(name: str, case: str) -> None:
    X, Y = data()[0], data()[1][:, :4]
    rng = np.random.default_rng(5)
    weights = rng.random(len(X)) + 0.1
    wide = sparse.csr_array(np.hstack([X, (rng.random((len(X), 110)) < 0.1) * rng.random((len(X), 110))]))
    mask = rng.random(Y.shape) < 0.8 if case == "partly known" else None

    def predicted(weights: np.ndarray) -> Any:
        shown = wide if case == "sparse" else X
        model = clone(CHOOSING[name]).set_params(random_state=0).fit(shown, Y, weights, mask=mask)
        return model.decision_function(shown), model.predict_proba(shown), model.predict(shown)

    scores, chances, on = predicted(weights)
    found = predicted(weights * 2.0**-37)  # nothing is rounded otherwise: L-BFGS stops short of the optimum
    np.testing.assert_allclose(found[0], scores, atol=1e-7)
    np.testing.assert_allclose(found[1], chances, atol=1e-7)
    np.testing.assert_array_equal(found[2], on)


def test_weights_that_repeat_instances_beyond_memory_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="sample_weight: whole numbers that sum to 8,000,000,000 repeat"):
        fresh("MLkNN").fit(*data(), sample_weight=np.full(80, 1e8))


@probed("fit", "_receive")
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(79), "expected .80,.: a weight for each instance"),
        (np.ones((80, 1)), "expected .80,."),
        (np.full(80, -1.0), r"holds -1 \(instance 0\)"),
        (np.full(80, np.nan), "holds nan"),
        (np.zeros(80), "are all zero"),
        (np.full(80, 1e-300), "largest weight in sample_weight is 1e-300.*multiply"),
        (np.full(80, 1e300), "largest weight in sample_weight is 1e.300.*multiply"),
        (["a"] * 80, "must be numbers"),
    ],
)
def test_weights_that_make_no_sense(name: str, weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fresh(name).fit(*data(), sample_weight=weights)


@together("name", WHOLE)
def test_fractions_are_refused_where_instances_are_repeated(name: str) -> None:
    with pytest.raises(ValueError, match=f"holds 0.5, but {type(CASES[name]).__name__} repeats instances"):
        fresh(name).fit(*data(), sample_weight=np.full(80, 0.5))


def test_the_score_counts_weights() -> None:
    X, Y = data()
    model = fitted("PLST")
    assert model.score(X, Y, WEIGHTS) == pytest.approx(
        model.score(np.repeat(X, WEIGHTS, axis=0), np.repeat(Y, WEIGHTS, axis=0))
    )
    with pytest.raises(InvalidInputError, match="they must agree"):
        model.score(X, Y[:-1], WEIGHTS[:-1])
    assert set(labels.MODELS) == {type(case).__name__ for case in CASES.values()}
