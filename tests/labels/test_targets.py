"""Decisions that users ask for: precision, recall, costs, cuts of their own, and how many labels there are."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import cofactor
from cofactor.datasets import make_labels
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels import LEML, PLST, ClassifierChain, LabelRidge
from cofactor.labels.targets import NEVER, SHARES, learn_target_cuts
from cofactor.metrics import micro_precision, micro_recall

NAMES = ["sea", "sun", "sky", "fog"]
EDGES = np.append(-1e9, np.arange(-199, 201) / 20)  # logits at which cuts may lie


@pytest.fixture(scope="module")
def data() -> Any:
    return make_labels(600, 10, 4, n_groups=1, random_state=3)[0]


@pytest.fixture
def model(data: Any) -> LabelRidge:
    return LabelRidge(random_state=0).fit(data.X[:300], data.Y[:300].toarray(), label_names=NAMES)


def wilson(hits: float, n: float) -> float:
    z, p = 1.6449, hits / n
    centre, half = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return float((centre - half) / (1 + z**2 / n))


def cut_by_hand(z: np.ndarray, on: np.ndarray, w: np.ndarray, kind: str, share: float) -> float | None:
    """Try all edges: the lowest that shows a precision, the highest that shows a recall, and those that part alike."""
    found, above = [], z >= EDGES[:, None]
    for k, those in enumerate(above):
        hits, n = w[those & on].sum(), w[those].sum() if kind == "precision" else w[on].sum()
        if n > 0 and wilson(hits, n) >= share:
            found.append(k)
    if not found:
        return None
    best = found[0] if kind == "precision" else found[-1]
    alike = np.flatnonzero(above.sum(axis=1) == above[best].sum())
    low, high = np.maximum(EDGES[alike[[0, -1]]], -10)
    return float(1 / (1 + np.exp(-(low + high) / 2))) if alike[-1] else 0.0


@pytest.mark.parametrize("kind", ["precision", "recall"])
@pytest.mark.parametrize("share", [0.6, 0.8, 0.95])
def test_cuts_are_those_that_trying_all_finds(kind: str, share: float) -> None:
    generator = np.random.default_rng(1)
    z = generator.normal(0, 3, size=(200, 3)).astype(np.float32)
    z[:, 2] -= 6  # a rare label
    on, w = generator.random(z.shape) < 1 / (1 + np.exp(-2 * z)), generator.uniform(0.5, 1.5, 200)
    cuts = learn_target_cuts(z, sparse.csr_array(on), w)[int(kind == "recall"), int(np.searchsorted(SHARES, share))]
    every = cut_by_hand(z.ravel(), on.ravel(), np.repeat(w, 3), kind, share)
    assert cuts[3] == pytest.approx(every, abs=1e-6)
    for k in range(3):
        expected = cut_by_hand(z[:, k], on[:, k], w, kind, share)
        expected = expected if expected is not None else NEVER if kind == "precision" else every
        assert cuts[k] == pytest.approx(expected, abs=1e-6)


def test_new_instances_have_the_precision_that_is_asked_for() -> None:
    """The bound is above the truth in one of twenty samples; forty samples of calibrated scores keep to that."""
    kept = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        z = generator.normal(0, 2, size=(20_300, 2))
        on = generator.random(z.shape) < 1 / (1 + np.exp(-z))
        cut = learn_target_cuts(z[:300], sparse.csr_array(on[:300]), np.ones(300))[0, 40, -1]  # .9
        found = on[300:][1 / (1 + np.exp(-z[300:])) > cut]
        kept.append(not len(found) or found.mean() >= 0.9)
    assert np.mean(kept) >= 0.8


def test_decisions_after_the_fit(model: LabelRidge, data: Any) -> None:
    X, Y = data.X[300:], data.Y[300:].toarray()
    chances, learned = model.predict_proba(X), model.predict(X)
    assert micro_precision(Y, learned) < 0.85
    assert micro_precision(Y, model.set_decision(precision=0.9).predict(X)) >= 0.88
    at_each = model.set_decision(precision=0.9, each_label=True)
    assert np.array_equal(at_each.predict(X), chances > at_each.threshold_)
    assert micro_recall(Y, model.set_decision(recall=0.9).predict(X)) >= 0.88
    assert np.array_equal(model.set_decision(costs=(1, 3)).predict(X), chances > 0.25)
    assert np.array_equal(model.set_decision(costs=([1, 1, 1, 9], 3)).predict(X), chances > [0.25, 0.25, 0.25, 0.75])
    assert np.array_equal(model.set_decision(cuts=0.3).predict(X), chances > 0.3)
    cuts = [0.1, 0.2, 0.3, 0.4]
    for given in (cuts, np.array(cuts), dict(zip(NAMES, cuts, strict=True)), pd.Series(cuts, NAMES)):
        assert np.array_equal(model.set_decision(cuts=given).predict(X), chances > cuts)
    assert np.array_equal(model.set_decision(cuts={"fog": 0.9}).predict(X), chances > [0.1, 0.2, 0.3, 0.9])
    assert np.array_equal(model.predict_proba(X), chances)


def test_how_many_labels(model: LabelRidge, data: Any) -> None:
    X = data.X[300:]
    chances, learned = model.predict_proba(X), model.predict(X) > 0
    ranks = np.argsort(np.argsort(-chances, axis=1), axis=1)
    few = model.set_decision(at_most=1).predict(X) > 0
    assert np.array_equal(few, learned & (ranks == 0))  # one cut for all labels: the likeliest are on
    two = model.set_decision(at_least=2).predict(X) > 0
    assert np.array_equal(two, learned | (ranks < 2))
    one = model.set_decision(precision=0.95, at_least=1, at_most=1)
    assert np.array_equal(one.predict(X) > 0, ranks == 0)
    assert one.decision_.words.endswith("; at least 1 label; at most 1 label")
    assert np.array_equal(model.set_decision(at_most=0).predict(X), np.zeros_like(learned))


def test_labels_that_cannot_show_a_precision_are_never_on(data: Any) -> None:
    Y = data.Y.toarray().copy()
    Y[:, 3] = 0
    Y[:24, 3] = 1  # twenty-four right ones are too few
    model = LabelRidge(random_state=0).fit(data.X, Y).set_decision(precision=0.9, each_label=True)
    assert model.decision_.abstains.tolist()[3]
    assert not model.predict(data.X)[:, 3].any()
    assert f"{model.decision_.abstains.sum()} label" in model.decision_.words
    assert not LabelRidge(random_state=0).fit(data.X, Y).decision_.abstains.any()


def test_a_precision_that_nothing_shows_is_told(data: Any) -> None:
    Y = np.random.default_rng(0).random((300, 3)) < 0.2
    with pytest.warns(InputWarning, match="shows a precision of 0.9 on held-out instances, so that nothing"):
        model = LabelRidge(random_state=0, decide_for={"precision": 0.9}).fit(data.X[:300], Y)
    assert not model.predict(data.X).any()


def test_as_a_parameter(model: LabelRidge, data: Any, tmp_path: Path) -> None:
    wanted = {"precision": 0.9, "at_most": 2}
    asked = clone(LabelRidge(random_state=0, decide_for=wanted))
    asked.fit(data.X[:300], data.Y[:300].toarray(), label_names=NAMES)
    expected = model.set_decision(**wanted).predict(data.X)
    assert np.array_equal(asked.predict(data.X), expected)
    asked.save(tmp_path / "asked")
    again = cofactor.load(tmp_path / "asked")
    assert again.get_params()["decide_for"] == wanted
    assert again.decision_.words == asked.decision_.words == model.decision_.words
    assert np.array_equal(again.predict(data.X), expected)
    assert np.array_equal(
        again.set_decision(recall=0.8).predict(data.X), model.set_decision(recall=0.8).predict(data.X)
    )
    grid = GridSearchCV(LabelRidge(random_state=0), {"decide_for": ["micro", {"precision": 0.9}]}, cv=2)
    assert grid.fit(data.X[:100], data.Y[:100].toarray()).best_params_ == {"decide_for": "micro"}


def test_decisions_for_one_question(model: LabelRidge, data: Any) -> None:
    learned = model.predict(data.X)
    (found,) = model.iter_predictions(data.X, decision={"precision": 0.9})
    assert np.array_equal(found.on, model.set_decision(precision=0.9).predict(data.X) > 0)
    assert not np.array_equal(found.on, learned > 0)


@pytest.mark.parametrize("kind", [LEML, ClassifierChain])
def test_other_models_and_labels_that_are_not_known(kind: Any, data: Any) -> None:
    model = kind(random_state=0).fit(data.X, data.Y.toarray())
    assert micro_precision(data.Y, model.set_decision(precision=0.8).predict(data.X)) > 0.75
    if "missing" in model.get_params():
        Y = np.where(np.random.default_rng(0).random((600, 4)) < 0.3, np.nan, data.Y.toarray())
        found = kind(random_state=0, missing="ignore").fit(data.X, Y).set_decision(precision=0.8).predict(data.X)
        assert micro_precision(data.Y, found) > 0.75


def test_constant_labels_stay_as_they_are(data: Any) -> None:
    Y = data.Y.toarray().copy()
    Y[:, 0], Y[:, 1] = 1, 0
    model = LabelRidge(random_state=0).fit(data.X, Y)
    found = model.set_decision(precision=0.99, each_label=True, at_least=3).predict(data.X)
    assert found[:, 0].all()
    assert not found[:, 1].any()
    alone = LabelRidge(random_state=0).fit(data.X, np.ones((600, 2), int)).set_decision(precision=0.9)
    assert alone.predict(data.X).all()


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"precision": 0.9, "recall": 0.9}, "precision and recall: a decision has one of"),
        ({"precision": 0.2}, "precision=0.2: expected a number of at least 0.5"),
        ({"recall": 1.0}, "recall=1.0: expected a number of at least 0.5 and at most 0.99"),
        ({"at_least": 3, "at_most": 2}, "at_most=2: expected a whole number of at least 3"),
        ({"at_most": 1.5}, "at_most=1.5: expected a whole number"),
        ({"each_label": True, "at_most": 2}, "each_label=True: is about a precision or a recall"),
        ({"costs": 3}, "costs=3: expected two numbers"),
        ({"costs": (1, 0)}, "expected numbers above 0"),
        ({"costs": (1, [1, 2])}, "expected a number, or 4 of them, one for each label"),
        ({"cuts": {"see": 0.5}}, "no label of the model: did you mean sea"),
        ({"cuts": [0.5, 0.5]}, "expected a number, or 4 of them"),
        ({"cuts": 1.5}, "expected probabilities, from 0 to 1"),
        ({"cuts": "high"}, "expected a number, or 4 of them"),
    ],
)
def test_what_cannot_be_asked_for(model: LabelRidge, wanted: dict[str, Any], message: str) -> None:
    before = model.decision_
    with pytest.raises((InvalidInputError, TypeError), match=message.replace("(", r"\(")):
        model.set_decision(**wanted)
    assert model.decision_ is before
    with pytest.raises((InvalidInputError, TypeError)):
        LabelRidge(decide_for=wanted).fit(np.eye(40, 3), np.tile(np.eye(2, dtype=int), (20, 2)), label_names=NAMES)


def test_a_decision_needs_probabilities(data: Any) -> None:
    with pytest.raises(InvalidInputError, match="learned no probabilities.*fit it with threshold='auto'"):
        LabelRidge(threshold=0.5).fit(data.X, data.Y).set_decision(precision=0.9)
    with pytest.raises(InvalidInputError, match="threshold='global' does not look at it"):
        LabelRidge(threshold="global", decide_for={"precision": 0.9}).fit(data.X, data.Y)
    with pytest.raises(InvalidInputError, match="decide_for='presicion': expected one of"):
        LabelRidge(decide_for={"presicion": 0.9}).fit(data.X, data.Y)


@pytest.mark.parametrize("change", ["shape", "range", "wanted", "nothing wanted"])
def test_damaged_decisions_are_refused(model: LabelRidge, change: str) -> None:
    state = model.set_decision(precision=0.9).decision_.to_state()
    if change == "shape":
        state["calibration"] = {**state["calibration"], "target_cuts": np.zeros((2, 50, 4), np.float32)}
    elif change == "range":
        state["calibration"] = {**state["calibration"], "target_cuts": np.full((2, 50, 5), 7, np.float32)}
    else:
        state["wanted"] = {} if change == "nothing wanted" else {"at_most": -1}
    with pytest.raises(InvalidInputError):
        type(model.decision_).from_state(state).check(4)


@pytest.mark.parametrize(
    "wanted", [{"costs": (1, 5)}, {"costs": (1, [5, 2, 3])}, {"cuts": [0.2, 0.4, 0.6]}, {"cuts": {"a": 0.2}}]
)
def test_a_model_that_was_asked_to_decide_so_comes_back_from_its_file(wanted, tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 4))
    model = PLST(alpha=1.0, decide_for=wanted).fit(X, X[:, :3] > 0, label_names=["a", "b", "c"])
    model.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params()["decide_for"].keys() == wanted.keys()
    again = clone(loaded).fit(X, X[:, :3] > 0, label_names=["a", "b", "c"])
    assert np.array_equal(again.predict(X), model.predict(X))
