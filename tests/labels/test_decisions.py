"""Cuts against brute force: every cut that makes a difference is tried."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_score
from tests.skeletons import block_of
from tests.together import together

import cofactor
from cofactor.datasets import make_labels
from cofactor.errors import InvalidInputError
from cofactor.labels import LabelRidge, decisions
from cofactor.labels.calibration import CONSTANT_SCORE
from cofactor.labels.decisions import (
    RULES,
    Decision,
    Threshold,
    TopK,
    _lowest_worth,
    best_cut,
    check_threshold,
    learn_threshold,
    micro_f1_curve,
    rule_of,
)
from cofactor.model.docs import PARAMETERS
from cofactor.service.options import OPTIONS


def scored(seed: int, n: int = 30, n_labels: int = 5, ties: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < [0.5, 0.3, 0.1, 0.9, 0.4][:n_labels]).astype(int)
    Y[0], Y[1] = 1, 0
    scores = rng.normal(size=Y.shape) + Y
    return scores.round(1) if ties else scores, Y


def micro_f1(predicted: np.ndarray, Y: np.ndarray) -> float:
    return f1(predicted, Y)


def f1(predicted: np.ndarray, Y: np.ndarray) -> float:
    return float(2 * np.sum(predicted & (Y == 1)) / max(1, predicted.sum() + Y.sum()))


@together("ties", [False, True])
@together("seed", range(5))
def test_global_cut_is_the_best(seed, ties):
    scores, Y = scored(seed, ties=ties)
    cut = learn_threshold("global", scores, sparse.csr_array(Y))
    best = max(micro_f1(scores > c, Y) for c in [*np.unique(scores), -np.inf])
    assert micro_f1(cut.apply(scores), Y) == pytest.approx(best)
    assert best == pytest.approx(f1_score(Y, cut.apply(scores), average="micro"))
    assert not np.isin(cut.value, scores)


@together("seed", range(5))
def test_scores_far_below_the_best_cut_need_not_be_sorted(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(200, 5)).round(1 + seed)
    Y = (rng.random(scores.shape) < 0.6 * (scores > 1.5)).astype(int)
    scores[:3, 3] = CONSTANT_SCORE
    assert _lowest_worth(scores.ravel(), Y.ravel() > 0) > scores.min()
    cuts, f1 = micro_f1_curve(scores, sparse.csr_array(Y))
    assert best_cut(scores, sparse.csr_array(Y)) == cuts[np.argmax(f1)]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_cut_of_each_label_is_the_best(seed, ties, monkeypatch):
    scores, Y = scored(seed, ties=ties)
    cuts = learn_threshold("per-label", scores, sparse.csr_array(Y))
    on = cuts.apply(scores)
    for k in range(Y.shape[1]):
        best = max(f1(scores[:, k] > c, Y[:, k]) for c in [*np.unique(scores[:, k])[:-1], -np.inf])
        assert f1_score(Y[:, k], on[:, k]) == pytest.approx(best)
    monkeypatch.setattr("cofactor.labels.decisions._PER_BLOCK", 2 * len(Y))
    assert np.array_equal(learn_threshold("per-label", scores, sparse.csr_array(Y)).value, cuts.value)


@pytest.mark.parametrize("seed", range(5))
def test_number_of_labels_is_the_best(seed, monkeypatch):
    scores, Y = scored(seed)
    cut = learn_threshold("top-k", scores, sparse.csr_array(Y))
    ranks = np.argsort(np.argsort(-scores, axis=1), axis=1)
    by_k = [micro_f1(ranks < k, Y) for k in range(1, Y.shape[1] + 1)]
    assert cut.value == 1 + int(np.argmax(by_k))
    assert np.array_equal(cut.apply(scores), ranks < cut.value)
    monkeypatch.setattr("cofactor.labels.decisions._PER_BLOCK", 2 * Y.shape[1])
    assert learn_threshold("top-k", scores, sparse.csr_array(Y)).value == cut.value


@together("seed", range(5))
def test_cardinality_is_met(seed):
    scores, Y = scored(seed)
    cut = learn_threshold("cardinality", scores, sparse.csr_array(Y))
    assert cut.apply(scores).sum() == Y.sum()


def test_ties_keep_cardinality_from_being_met_exactly():
    scores = np.array([[1.0, 1.0, 1.0, 0.0]])
    for n_on, expected in ((1, 0), (2, 3), (3, 3), (4, 4)):
        Y = sparse.csr_array(np.arange(4)[None, :] < n_on)
        assert learn_threshold("cardinality", scores, Y).apply(scores).sum() == expected


@together("rule", RULES)
def test_constant_labels_move_no_cut(rule):
    scores, Y = scored(0)
    n = len(Y)
    wide = np.hstack([np.full((n, 1), CONSTANT_SCORE), scores, np.full((n, 1), -CONSTANT_SCORE)])
    truth = np.hstack([np.ones((n, 1), int), Y, np.zeros((n, 1), int)])
    truth[3, -1] = 1  # in the training part of this fold the label never occurred
    cut = learn_threshold(rule, wide, sparse.csr_array(truth))
    on = cut.apply(wide)
    assert on[:, 0].all()
    assert rule == "top-k" or not on[:, -1].any()
    if rule == "per-label":
        assert np.array_equal(cut.value[1:-1], learn_threshold(rule, scores, sparse.csr_array(Y)).value)
        assert cut.value[[0, -1]].tolist() == [0, 0]
    elif rule == "global":
        best = max(micro_f1(wide > c, truth) for c in np.unique(scores))
        assert micro_f1(on, truth) == pytest.approx(best)


@together("rule", [rule for rule in RULES if rule != "top-k"])  # a label that is always on is one of the k
def test_constant_labels_do_not_change_what_the_others_get(rule):
    scores, Y = scored(0)
    found = learn_threshold(rule, scores, sparse.csr_array(Y))
    value = np.concatenate([[0], found.value, [0]]) if np.ndim(found.value) else found.value
    wide = np.pad(scores, ((0, 0), (1, 1)))
    wide[:, 0], wide[:, -1] = CONSTANT_SCORE, -CONSTANT_SCORE
    assert np.array_equal(rule_of(rule, value).apply(wide)[:, 1:-1], found.apply(scores))


def test_how_many_labels_is_shown_as_no_cut():
    """The number alone, as that of a cut is shown, would be taken for one."""
    assert [Decision(TopK(k)).words for k in (1, 2)] == [
        "by the highest scores, 1 label an instance",
        "by the highest scores, 2 labels an instance",
    ]
    assert not Decision(Threshold(2.0)).words


@together("rule", RULES)
def test_whoever_must_know_a_rule_does(rule):
    """One that is new needs a branch that learns it, a file that is read, texts and an option of the shell."""
    scores, Y = scored(0)
    found = learn_threshold(rule, scores, sparse.csr_array(Y))
    assert found.name == rule
    assert type(rule_of(found.name, found.value)) is type(found)
    assert rule in OPTIONS["threshold"].help
    for text in ("threshold", "set_threshold", "field_threshold"):
        assert f'"{rule}"' in PARAMETERS[text].splitlines()[0]
    assert f'"{rule}"  ' in learn_threshold.__doc__


def test_the_rule_that_the_documentation_shows(monkeypatch):
    names: dict[str, Any] = {"__name__": __name__}
    exec(block_of("adding-a-method.md", "class Gap"), names)
    monkeypatch.setattr(decisions, "_KINDS", (*decisions._KINDS, names["Gap"]))
    scores, Y = scored(0)
    learned = names["learn_gap"](scores, sparse.csr_array(Y), None)
    worth = [micro_f1(rule_of("gap", gap).apply(scores), Y) for gap in np.linspace(0, np.ptp(scores), 200)]
    assert micro_f1(learned.apply(scores), Y) >= max(worth)
    again = Decision.from_state(Decision(learned).to_state())
    assert again.words == f"by scores, up to {learned.value:.3g} below the best of an instance"
    wide = np.pad(scores, ((0, 0), (1, 1)))
    wide[:, 0], wide[:, -1] = CONSTANT_SCORE, -CONSTANT_SCORE
    expected = np.pad(learned.apply(scores), ((0, 0), (1, 1)))
    expected[:, 0] = True
    assert np.array_equal(again.predict(wide), expected)
    assert again.predict(wide[:, [0, -1]]).tolist() == [[True, False]] * len(Y)
    for forged in (-1.0, np.inf, np.nan, np.zeros(5)):
        with pytest.raises(InvalidInputError, match="cannot have the value"):
            rule_of("gap", forged)


def test_a_label_whose_fold_had_none_takes_the_others_scores():
    """Some scores of a label are -FAR since no instance of a fold had it; its cut comes from the other scores."""
    scores = np.array([[-CONSTANT_SCORE], [0.4], [0.2], [-0.3]])
    Y = sparse.csr_array([[1], [1], [1], [0]])
    assert learn_threshold("per-label", scores, Y).value.tolist() == pytest.approx([-0.05])
    everything = learn_threshold("per-label", scores, sparse.csr_array([[1], [1], [1], [1]]))
    assert everything.apply(scores).ravel().tolist() == [False, True, True, True]


@together("dtype", [np.float32, np.float64])
def test_cuts_between_neighbouring_numbers(dtype):
    low = np.array(0.1, dtype)
    scores = np.array([[low], [np.nextafter(low, dtype(1))]])
    Y = sparse.csr_array([[0], [1]])
    for rule in ("global", "per-label", "cardinality"):
        assert learn_threshold(rule, scores, Y).apply(scores).ravel().tolist() == [False, True]
        everything = learn_threshold(rule, scores, sparse.csr_array([[1], [1]]))
        assert everything.apply(scores).all()


def test_curve_is_micro_f1_at_each_cut():
    scores, Y = scored(3, n=60, ties=True)
    cuts, f1 = micro_f1_curve(scores, sparse.csr_array(Y), None)
    assert np.all(np.diff(cuts) < 0)
    assert np.allclose(f1, [micro_f1(scores > c, Y) for c in cuts])
    assert f1[0] == 0
    assert len(cuts) == len(np.unique(scores)) + 1
    few, f1_few = micro_f1_curve(scores, sparse.csr_array(Y), 10)
    assert len(few) <= 10
    assert f1_few.max() == f1.max()
    assert learn_threshold("global", scores, sparse.csr_array(Y)).value == cuts[np.argmax(f1)]


def test_a_score_on_the_cut_is_off():
    assert Threshold(0.0).apply(np.array([[-0.1, 0.0, 0.1]])).tolist() == [[False, False, True]]
    assert TopK(2).apply(np.array([[0.0, 1.0, 0.0, 0.0]])).tolist() == [[True, True, False, False]]


@together(
    ("rule", "value"),
    [
        ("magic", 0.0), ("fixed", np.zeros(3)), ("per-label", 0.0), ("global", np.nan), ("top-k", 1.5),
        ("top-k", np.zeros(2)), ("fixed", None), ("fixed", "0"), ("fixed", True),
        ("top-k", -1),
    ],
)  # fmt: skip
def test_rules_that_make_no_sense(rule, value):
    with pytest.raises(ValueError, match="rule"):
        rule_of(rule, value)


def test_only_a_model_decodes_jointly():
    assert Decision.from_state({"rule": "joint", "threshold": None, "calibration": None}).rule is None
    with pytest.raises(InvalidInputError, match="cannot have the value"):
        Decision.from_state({"rule": "joint", "threshold": 0.0, "calibration": None})
    check_threshold("joint", joint=True)
    with pytest.raises(ValueError, match="expected a finite number, or one of 'auto', 'global'"):
        check_threshold("joint")
    for wrong in (True, np.nan, np.inf, None):
        with pytest.raises(InvalidInputError, match="expected a finite number, or one of 'auto', 'global'"):
            check_threshold(wrong)
    with pytest.raises(InvalidInputError, match=r"apply it to scores: TopK\(5\)"):
        check_threshold(TopK(5))
    with pytest.raises(InvalidInputError, match="; decide_for='macro' decides so, with threshold='auto'"):
        check_threshold("macro")
    with pytest.raises(ValueError, match="call predict"):
        Decision(None).predict(np.zeros((2, 2)))


@together("ties", [False, True])
@together("rule", RULES)
def test_an_instance_of_weight_2_counts_as_two(rule, ties):
    scores, Y = scored(4, n=40, ties=ties)
    weight = np.random.default_rng(0).integers(1, 4, len(Y))
    weighted = learn_threshold(rule, scores, sparse.csr_array(Y), weight.astype(float))
    repeated = learn_threshold(rule, np.repeat(scores, weight, axis=0), sparse.csr_array(np.repeat(Y, weight, axis=0)))
    assert np.array_equal(weighted.value, repeated.value)
    alike = learn_threshold(rule, scores, sparse.csr_array(Y), np.full(len(Y), 0.25))
    assert np.array_equal(alike.value, learn_threshold(rule, scores, sparse.csr_array(Y)).value)


FORMS = {
    "list": lambda Y: Y.tolist(),
    "booleans": lambda Y: Y > 0,
    "signs": lambda Y: 2 * Y - 1,
    "csc": sparse.csc_array,
    "frame": pd.DataFrame,
}


@together("form", FORMS)
def test_labels_may_have_every_form(form):
    scores, Y = scored(3)
    given, table = FORMS[form](Y), sparse.csr_array(Y)
    for rule in RULES:
        weights = np.arange(1, len(Y) + 1)
        for weight in (None, weights):
            found = learn_threshold(rule, scores.tolist(), given, None if weight is None else weight.tolist())
            assert np.array_equal(found.value, learn_threshold(rule, scores, table, weight).value)
    assert np.array_equal(micro_f1_curve(scores, given), micro_f1_curve(scores, table))


def test_scores_and_labels_that_do_not_fit():
    scores, Y = scored(3)
    for call in (micro_f1_curve, lambda scores, Y: learn_threshold("global", scores, Y)):
        with pytest.raises(InvalidInputError, match=r"scores has shape \(30, 5\) but Y has \(30, 4\)"):
            call(scores, Y[:, :4])
        with pytest.raises(InvalidInputError, match="scores holds 1 NaN, the first in row 0, column 0"):
            call(np.where(scores == scores[0, 0], np.nan, scores), Y)
        with pytest.raises(InvalidInputError, match="Y"):
            call(scores, Y + 1)
    with pytest.raises(InvalidInputError, match="sample_weight has shape"):
        learn_threshold("global", scores, Y, [1.0])


def test_the_fit_says_how_good_its_decision_is_on_held_out_instances(tmp_path):
    """As good as cross-validation says; what was asked for later was not tried."""
    data, _ = make_labels(300, 20, 5, random_state=0)
    model = LabelRidge(random_state=0).fit(data)
    held_out = model.decision_.held_out_f1
    folds = cross_val_score(LabelRidge(random_state=0), data.X, data.Y.toarray(), cv=5)
    assert held_out == pytest.approx(folds.mean(), abs=0.05)
    model.save(tmp_path / "m.cofactor")
    assert cofactor.load(tmp_path / "m.cofactor").decision_.held_out_f1 == held_out
    assert LabelRidge(threshold=0.0, random_state=0).fit(data).decision_.held_out_f1 is None
    unknown = data.Y.toarray().astype(float)
    unknown[::7, 2] = np.nan
    partly = LabelRidge(missing="ignore", random_state=0).fit(data.X, unknown)
    assert partly.decision_.held_out_f1 == pytest.approx(held_out, abs=0.1)
    assert model.set_decision(recall=0.8).decision_.held_out_f1 is None
    assert partly.fit_threshold(data.X, data.Y, 0.1).decision_.held_out_f1 is None
