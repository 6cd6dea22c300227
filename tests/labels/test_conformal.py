"""Sets of labels of a stated coverage: the rule by brute force, coverage on new instances, forms, files, refusals."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cofactor
from cofactor.errors import InvalidInputError
from cofactor.labels import CML, PLST, LabelRidge
from cofactor.labels.calibration import CONSTANT_SCORE, COVERS, STEPS, learn_set_cuts


def drawn(n: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    W = np.random.default_rng(99).normal(size=(6, 8))
    return X, (X @ W + 2 * rng.normal(size=(n, 8)) > 1.5).astype(int)


@pytest.fixture(scope="module")
def model() -> LabelRidge:
    return LabelRidge(kernel="linear", random_state=0).fit(*drawn(400))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("allowed", [0, 60, 100, 333, 1000])
def test_cuts_are_the_largest_whose_mean_loss_is_allowed(allowed: int, weighted: bool) -> None:
    rng = np.random.default_rng(allowed)
    logits = rng.integers(-4, 5, size=(30, 4)) / 2.0  # with ties
    Y = (rng.random((30, 4)) < 0.4).astype(float)
    logits[3, 1], Y[3, 1], logits[4, 2], Y[4, 2] = -CONSTANT_SCORE, 1, CONSTANT_SCORE, 1
    w = rng.integers(1, 4, 30).astype(float) if weighted else np.ones(30)
    found = learn_set_cuts(logits, sparse.csr_array(Y), w)[:, allowed]
    levels = np.array([-CONSTANT_SCORE / 2, *np.unique(logits[np.abs(logits) < CONSTANT_SCORE]), CONSTANT_SCORE / 2])
    for cut, cover in zip(found, COVERS, strict=True):
        best = levels[0]
        for t in levels:
            missed = ((logits < t) & (Y > 0)).sum(axis=1)
            loss = missed > 0 if cover == "all" else missed / np.maximum(Y.sum(axis=1), 1)
            if w @ loss + w.max() <= allowed / STEPS * (w.sum() + w.max()) * (1 + 1e-12):
                best = t
        on = Y > 0
        assert np.array_equal((logits < cut) & on, (logits < best) & on)


def test_new_instances_are_covered_as_often_as_asked() -> None:
    held = []
    for seed in range(12):
        X, Y = drawn(700, seed)
        fitted = LabelRidge(kernel="linear", alpha=1.0, scale="none", random_state=0).fit(X[:300], Y[:300])
        for cover in COVERS:
            missed = ((fitted.predict_set(X[300:], coverage=0.8, cover=cover) < Y[300:]).sum(axis=1)).astype(float)
            held.append(1 - np.mean(missed > 0 if cover == "all" else missed / np.maximum(Y[300:].sum(axis=1), 1)))
    all_of_it, share = np.mean(np.reshape(held, (12, 2)), axis=0)
    assert 0.78 < all_of_it < 0.83
    assert 0.78 < share < 0.83


def test_few_held_out_instances_are_calibrated_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A calibration knows the instances that taught it, so with many labels its sets would be too small for others."""
    rng = np.random.default_rng(0)
    W, covered = rng.normal(size=(4, 60)), np.zeros((2, 10))
    for seed, few in itertools.product(range(10), (0, 256)):
        monkeypatch.setattr("cofactor.labels.calibration._CROSS_FITTED", few)
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(560, 4))
        Y = (X @ W + 2 * rng.normal(size=(560, 60)) > 2.5).astype(int)
        sets = PLST.paper(threshold="auto", random_state=0).fit(X[:60], Y[:60]).predict_set(X[60:], coverage=0.8)
        covered[int(few > 0), seed] = (~(sets < Y[60:]).any(axis=1)).mean()
    seen, crossed = covered.mean(axis=1)
    assert seen < 0.75
    assert 0.77 < crossed < 0.86


def test_sets_grow_with_the_coverage_up_to_all_labels(model: LabelRidge) -> None:
    X, _ = drawn(50, 5)
    sets = [np.asarray(model.predict_set(X, coverage=c)) > 0 for c in (0, 0.3, 0.6, 0.9, 0.99, 1)]
    assert all((a <= b).all() for a, b in itertools.pairwise(sets))
    assert sets[-1].all()
    assert not sets[0].all()
    assert (np.asarray(model.predict_set(X, cover="share")) <= np.asarray(model.predict_set(X))).all()


def test_sets_have_the_form_of_y() -> None:
    X, Y = drawn(120)
    frame = pd.DataFrame(Y, columns=list("abcdefgh"))
    found = PLST(random_state=0).fit(X, frame).predict_set(X)
    assert list(found.columns) == list(frame.columns)
    assert sparse.issparse(PLST(random_state=0).fit(X, sparse.csr_array(Y)).predict_set(X))


def test_a_file_keeps_them(model: LabelRidge, tmp_path: Path) -> None:
    X, _ = drawn(50, 6)
    model.save(tmp_path / "m.cofactor")
    assert np.array_equal(cofactor.load(tmp_path / "m.cofactor").predict_set(X), model.predict_set(X))


def test_a_forged_file_is_refused(model: LabelRidge) -> None:
    header, arrays = model._to_state()
    name = next(name for name, array in arrays.items() if array.shape == (2, STEPS + 1))
    with pytest.raises(InvalidInputError, match="rise"):
        LabelRidge._from_state(header, arrays | {name: arrays[name][:, ::-1].copy()})


def test_other_rules_have_sets_too() -> None:
    X, Y = drawn(200)
    fitted = PLST(threshold="global", random_state=0).fit(X, Y)
    assert (fitted.predict_set(X) >= Y).all(axis=1).mean() > 0.8


def test_what_cannot_be_is_refused(model: LabelRidge) -> None:
    X, Y = drawn(40)
    with pytest.raises(InvalidInputError, match="coverage"):
        model.predict_set(X, coverage=90)
    with pytest.raises(InvalidInputError, match="cover"):
        model.predict_set(X, cover="some")
    with pytest.raises(InvalidInputError, match="threshold='auto'"):
        PLST(threshold=0).fit(X, Y).predict_set(X)


def test_a_model_of_label_sets_learns_the_cuts_afterwards():
    X, Y = drawn(80)
    model = CML(threshold="joint").fit(X[:40], Y[:40, :3])
    with pytest.raises(InvalidInputError, match="learned no probabilities .*; fit it with threshold='auto'"):
        model.predict_set(X)
    sets = model.fit_threshold(X[40:], Y[40:, :3], "auto").predict_set(X[40:], coverage=0.8)
    assert np.mean((sets >= Y[40:, :3]).all(axis=1)) >= 0.8


def test_constant_labels_have_no_sets():
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(InvalidInputError, match="all labels were constant in training"):
        PLST().fit(X, np.zeros((40, 2))).predict_set(X)
