"""What a fit does and does not: determinism, constant labels, thresholds, atomicity, progress."""

import copy
import gc
import weakref

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from cofactor.kernels.threads import library_limit
from cofactor.labels import MODELS
from cofactor.labels.calibration import CONSTANT_SCORE
from cofactor.labels.decisions import TARGET_METRICS
from cofactor.metrics.labels import hamming_loss, micro_f1
from cofactor.solvers import Progress

from .models import (
    CLASSES,
    ONE_BY_ONE,
    PROBE,
    beside_constants,
    bits,
    data,
    decided,
    every,
    every_class,
    fitted,
    fitted_beside_constants,
    fresh,
    more_data,
    overriding,
    probed,
)

#: Cases on which all rules and aims are tried: how the others turn scores into labels is inherited.
DECIDING = overriding("fit_threshold", "predict", "_held_out")

#: Cuts that a fit learns: all kinds for the probe, one for each other way to held-out scores.
LEARNED_CUTS = dict.fromkeys(
    [
        *((name, "per-label") for name in overriding("fit", "_held_out")),
        *((PROBE, rule) for rule in ("global", "top-k", "cardinality")),
    ]
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("half_held_out")
def test_same_bits_where_everything_is_chosen(name):
    X, Y = data()
    # The one number that is never chosen, and makes fits long.
    settings = {"n_estimators": 3} if hasattr(MODELS[name](), "n_estimators") else {}
    with library_limit(1):
        first, second = (MODELS[name](**settings, random_state=0).fit(X[:48], Y[:48, :3]) for _ in range(2))
    assert bits(first) == bits(second)


#: One kind for every class, all of them for the probe.
SEEDS = dict.fromkeys(
    [
        *((name, np.random.RandomState) for name in CLASSES),
        *((name, make) for name in overriding("fit") for make in (np.random.default_rng, np.int64)),
    ]
)


@pytest.mark.parametrize(("name", "make"), SEEDS)
def test_every_kind_of_random_state(name, make):
    first, second = (fresh(name, random_state=make(3)).fit(*data()) for _ in range(2))
    assert bits(first) == bits(second)


@every
def test_order_of_rows_hardly_matters(name):
    X, Y = data()
    order = np.random.default_rng(5).permutation(len(Y))
    scores = fresh(name).fit(X[order], Y[order]).decision_function(X)
    expected = fitted(name).decision_function(X)
    assert np.mean((scores > 0) != (expected > 0)) < (0.05 if name in ONE_BY_ONE else 0.02)
    assert np.abs(scores - expected).mean() < (0.1 if name in ONE_BY_ONE else 0.02) * expected.std()


@every
def test_single_and_double_precision_agree(name):
    X, Y = data()
    scores = fresh(name).fit(X.astype(np.float32), Y).decision_function(X.astype(np.float32))
    expected = fitted(name).decision_function(X)
    assert np.abs(scores - expected).max() < 0.05 * expected.std()


@every
def test_fitting_again_starts_anew_and_keeps_no_reference_to_its_input(name):
    X, Y = (a.copy() for a in data())
    watched = [weakref.ref(X), weakref.ref(Y)]
    model = copy.copy(fitted(name))
    before = repr(model.get_params())
    assert model.fit(X, Y) is model
    assert repr(model.get_params()) == before
    del X, Y
    for generation in (1, 2):  # the oldest takes half a second: only for what circles keep
        if any(ref() is not None for ref in watched):
            gc.collect(generation)
    assert all(ref() is None for ref in watched), f"{model} holds X or y as given: _fit must keep copies"
    assert bits(model) == bits(fitted(name))


@probed("fit", "_receive")
def test_invalid_data_leave_a_fitted_model_as_it_was(name):
    X, Y = data()
    model = fresh(name).fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), Y)
    with pytest.raises(ValueError, match="y holds 0.5"):
        model.fit(X, Y / 2)
    assert bits(model) == bits(fitted(name))
    assert np.array_equal(model.predict(X), fitted(name).predict(X))


class StopError(Exception):
    """Raised by a callback."""


def stop(progress: Progress) -> None:
    raise StopError(progress.stage)


@every
def test_an_exception_in_the_callback_comes_out_and_changes_nothing(name):
    X, Y = data()
    seen: list[Progress] = []
    assert bits(fresh(name, callback=seen.append, verbose=1).fit(X, Y)) == bits(fitted(name))
    assert all(type(p) is Progress and p.stage and p.elapsed >= 0 for p in seen)
    for stage in {p.stage for p in seen}:
        steps = [(p.iteration, p.max_iter) for p in seen if p.stage == stage]
        assert [done for done, _ in steps] == list(range(1, len(steps) + 1))
        assert {most for _, most in steps} == {steps[0][1]}
        assert len(steps) <= steps[0][1]
    if not seen:
        return  # a direct method reports no progress
    model = fresh(name, callback=stop)
    with pytest.raises(StopError):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model = copy.deepcopy(fitted(name)).set_params(callback=stop)
    with pytest.raises(StopError):
        model.fit(X[:50], Y[:50])
    assert bits(model) == bits(fitted(name))


@every
@pytest.mark.usefixtures("half_held_out")
def test_a_callback_that_returns_true_ends_the_fit(name):
    """No warning says that it ended too early."""
    X, Y = data()
    seen: list[Progress] = []

    def enough(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iteration >= 2

    settings = {"tol": 0.0} if hasattr(fresh(name), "tol") else {}
    model = fresh(name, callback=enough, **settings).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    if hasattr(model, "n_iter_"):
        assert {p.iteration for p in seen} == {1, 2}
        assert model.n_iter_ == 2
        # The copy whose scores teach the cut comes last; what follows the end does one step.
        seen.clear()
        cut = fresh(name, threshold="global", callback=enough, **settings).fit(X, Y)
        assert cut.n_iter_ == 2
        assert {p.iteration for p in seen if "held-out" in p.stage} <= {1}
        assert cut.predict(X).shape == Y.shape


@every
def test_constant_labels_are_repeated_not_learned(name):
    X, wide = data()[0], beside_constants()
    model = copy.deepcopy(fitted_beside_constants(name))
    assert model.constant_.tolist() == [1, 0, 0, 0, -1, 0, 0, 0]
    varying = model.constant_ == 0
    scores = model.decision_function(X)
    assert np.array_equal(scores[:, varying], fitted(name).decision_function(X))
    assert np.all(scores[:, 0] == CONSTANT_SCORE)
    assert np.all(scores[:, 4] == -CONSTANT_SCORE)
    for rule in ("cardinality", "global", "per-label") if name in DECIDING else ("cardinality",):
        predicted = model.fit_threshold(X, wide, rule).predict(X)
        assert predicted[:, 0].all()
        assert not predicted[:, 4].any()


@pytest.mark.parametrize(("name", "rule"), LEARNED_CUTS)
def test_a_fit_that_learns_a_threshold_repeats_constant_labels(name, rule):
    X, Y = data()
    wide = np.hstack([np.ones((len(Y), 1), int), Y, np.zeros((len(Y), 1), int)])
    predicted = fresh(name, threshold=rule).fit(X, wide).predict(X)
    assert predicted[:, 0].all()
    assert not predicted[:, -1].any()


@pytest.mark.filterwarnings("ignore:n_neighbors=")
@every
def test_nothing_but_constant_labels(name, tmp_path):
    X, Y = data()
    constant = np.tile([1, 0], (len(X), 1))
    for rule in (0, "cardinality", "global", "per-label") if name in DECIDING else (0, "cardinality"):
        model = fresh(name, threshold=rule).fit(X, constant)
        assert np.array_equal(model.predict(X[:5]), constant[:5])
    assert np.array_equal(fresh(name).fit(X[:1], Y[:1]).predict(X), np.tile(Y[0], (len(X), 1)))


@every_class
@pytest.mark.usefixtures("half_held_out")
def test_a_threshold_to_learn_changes_no_score(name):
    X, Y = data()
    model = fresh(name, threshold="global").fit(X, Y)
    assert np.array_equal(model.decision_function(X), fitted(name).decision_function(X))
    assert np.array_equal(model.predict(X), model.decision_function(X) > model.threshold_)
    assert model.score(X, Y) > fitted(name).score(X, Y) - 0.1


@probed("fit", "_held_out")
def test_learned_thresholds_keep_their_promises(name):
    X, Y = more_data()
    new, truth = X + 0.01, Y
    plain = fresh(name).fit(X, Y)
    cuts = {rule: fresh(name, threshold=rule).fit(X, Y) for rule in ("global", "per-label", "top-k", "cardinality")}
    for model in cuts.values():
        assert np.array_equal(model.decision_function(X), plain.decision_function(X))
    assert np.ndim(cuts["global"].threshold_) == 0
    assert cuts["per-label"].threshold_.shape == (Y.shape[1],)
    assert np.all(cuts["top-k"].predict(new).sum(axis=1) == cuts["top-k"].threshold_)
    assert abs(cuts["cardinality"].predict(new).sum(axis=1).mean() - Y.sum(axis=1).mean()) < 0.5
    assert cuts["global"].score(new, truth) > plain.score(new, truth) - 0.05


@pytest.mark.filterwarnings("ignore:n_neighbors=")
@pytest.mark.parametrize(("name", "rule"), LEARNED_CUTS)
def test_few_instances_to_learn_a_threshold_on(name, rule):
    X, Y = data()
    assert fresh(name, threshold=rule).fit(X[:4], Y[:4]).predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="give 2 or more, not 1"):
        fresh(name, threshold=rule).fit(X[:1], Y[:1])


@every_class
def test_decisions_by_probabilities(name):
    X, Y = more_data()
    assert hasattr(fresh(name, scale="auto", threshold="auto"), "predict_proba")
    model = decided(name)
    p, scores = model.predict_proba(X), model.decision_function(X)
    assert p.shape == Y.shape
    assert p.min() >= 0
    assert p.max() <= 1
    assert np.array_equal(model.predict(X), p > model.threshold_)
    if model.decision_.calibration.context is None:  # then probabilities of a label rank instances as its scores do
        for column in range(Y.shape[1]):
            assert (np.diff(p[np.argsort(scores[:, column]), column]) >= 0).all()


@pytest.mark.parametrize("name", DECIDING)
def test_each_aim_is_reached(name):
    X, Y = more_data()
    model = copy.deepcopy(decided(name))
    scores, reached = model.decision_function(X), {}
    for aim in TARGET_METRICS:
        model.set_params(decide_for=aim).fit_threshold(X, Y)
        assert model.decision_.name == aim
        assert np.array_equal(model.decision_function(X), scores)
        reached[aim] = model.predict(X)
    micro = {aim: micro_f1(Y, predicted) for aim, predicted in reached.items()}
    assert micro["micro"] >= micro["hamming"]  # the best of all cuts; sets of each instance may be better still
    assert micro["micro"] > max(micro.values()) - 0.01
    assert hamming_loss(Y, reached["hamming"]) < hamming_loss(Y, reached["macro"]) + 0.02


@probed("fit", "_held_out")
def test_settings_of_the_paper(name):
    X, Y = data()
    model = fresh(name)
    paper = type(model).paper(**model.get_params(deep=False))
    assert bits(paper.fit(X, Y)) == bits(fitted(name))
    assert type(model).paper().get_params()["threshold"] == type(model)._paper.get("threshold", 0)
    assert type(model).paper().get_params()["scale"] == "none"
    assert type(model)().get_params()["threshold"] == "auto"
    assert type(model)().get_params()["scale"] == "auto"
    with pytest.raises(ValueError, match="expected one of 'micro' .micro-F1., 'macro'"):
        fresh(name, decide_for="f1").fit(X, Y)
    with pytest.raises(ValueError, match="scale"):
        fresh(name, scale="l2").fit(X, Y)


@pytest.mark.parametrize("few", [2, 3, 5, 8])
def test_few_instances_to_decide_on(few):
    X, Y = data()
    for aim in TARGET_METRICS:
        model = fresh(PROBE, scale="auto", threshold="auto", decide_for=aim).fit(X[:few], Y[:few])
        assert np.isfinite(model.predict_proba(X)).all()
        assert model.predict(X).shape == Y.shape
    constant = np.tile([1, 0, 1, 0, 1, 0], (few, 1))
    model.fit(X[:few], constant)
    assert np.array_equal(model.predict_proba(X[:few]), constant)
    assert np.array_equal(model.predict(X[:few]), constant)
