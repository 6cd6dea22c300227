"""Explanations of every label model: contributions sum to scores, of dense and sparse features, and after loading."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

import cofactor
from cofactor.datasets import LabelDataset
from cofactor.errors import InvalidInputError
from cofactor.labels import (
    MLCHMF,
    MODELS,
    PLST,
    BinaryRelevance,
    FeatureSpace,
    LabelModel,
    LabelPowerset,
    LabelRidge,
    MLkNN,
    base,
    ridge,
)
from cofactor.persistence import ModelFileError, read_model, write_model

from .models import CASES, NAMES, data, dense_of, fitted, planted

#: Cases of the models that say of which terms their scores are the sum.
explained = pytest.mark.parametrize(
    "name", [name for name, model in CASES.items() if type(model)._score_parts is not LabelModel._score_parts]
)


def sums(model, X, **asked) -> dict[tuple[int, object], tuple[float, float]]:
    """Return score and sum of contributions of each label of each instance."""
    columns = model.explain(X, **asked).columns
    found: dict[tuple[int, object], tuple[float, float]] = {}
    for instance, label, score, share in zip(
        *(columns[name].tolist() for name in ("instance", "label", "score", "contribution")), strict=True
    ):
        found[instance, label] = (score, found.get((instance, label), (0.0, 0.0))[1] + share)
    return found


@explained
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_contributions_sum_to_scores(name, form):
    model, X = fitted(name), form(planted(12, seed=1)[0])
    scores, on = model.decision_function(X), dense_of(model.predict(X))
    own = sums(model, X, n_terms=2)
    assert set(own) == {(i, int(j)) for i, j in np.argwhere(on)}
    every_label = sums(model, X, labels=range(len(NAMES)))
    assert len(every_label) == scores.size
    for found in (own, every_label):
        for (i, j), (score, total) in found.items():
            assert score == scores[i, j]
            assert total == pytest.approx(score, rel=1e-5, abs=1e-6)


@explained
def test_a_loaded_model_explains_the_same(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    X = data()[0][:3]
    loaded = cofactor.load(tmp_path / "model")
    assert loaded.explain(X).records() == fitted(name).explain(X).records()


def test_features_have_names_and_their_own_values():
    X, Y = data()
    frame = pd.DataFrame(X, columns=[f"word {j}" for j in range(X.shape[1])])
    model = PLST.paper(random_state=0).fit(frame, Y, label_names=NAMES)
    found = model.explain(frame[:5], NAMES[:2], n_terms=3)
    first = [row for row in found.records() if (row["instance"], row["kind"]) == (0, "feature")]
    assert len(first) == 6
    assert all(row["value"] == X[0, int(row["term"].split()[1])] for row in first)
    for group in found.groups():
        sizes = [abs(term["contribution"]) for term in group["terms"] if term["kind"] == "feature"]
        assert sizes == sorted(sizes, reverse=True)
        assert [term["kind"] for term in group["terms"][-2:]] in (["rest", "intercept"], ["feature", "intercept"])
    scores = [group["score"] for group in found.groups() if group["instance"] == 0]
    assert scores == sorted(scores, reverse=True)
    text = found.text(1).splitlines()
    assert text[0].startswith("instance 0: ")
    assert text[-1] == "... and 9 more labels"
    assert any("word " in line and " = " in line for line in text)
    frames = pd.DataFrame(found.columns), pl.DataFrame(found.records(), infer_schema_length=None, strict=False)
    assert len(frames[0]) == len(frames[1]) == len(found)


def test_the_strongest_feature_of_a_planted_map():
    """Labels follow feature 3 alone: it speaks for them where it is large, against them where it is small."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    model = BinaryRelevance.paper(Ridge()).fit(X, (X[:, [3]] > 0).astype(int))
    for group in model.explain(X[:20], labels=[0]).groups():
        strongest = group["terms"][0]
        assert strongest["term"] == 3
        assert np.sign(strongest["contribution"]) == np.sign(strongest["value"])


def test_neighbours_that_have_the_label_speak_for_it():
    X, Y = data()
    model = MLkNN.paper(5).fit(X, Y)
    for group in model.explain(X[:10]).groups():
        for term in group["terms"]:
            if term["kind"] == "instance":
                assert (term["contribution"] != 0) == bool(model.Y_.toarray()[term["term"], group["label"]])


@pytest.mark.parametrize("name", ["ridge", "mlknn", "mlchmf"])
@pytest.mark.parametrize("ids", [np.array([f"song {k}" for k in range(60)], dtype=object), np.arange(60) + 1000])
def test_training_instances_have_the_ids_of_their_data(name, ids, tmp_path, monkeypatch):
    X, Y = planted(60, seed=0)
    named = tuple(map(str, range(X.shape[1]))), tuple(NAMES)
    data = LabelDataset("songs", X, sparse.csr_array(Y.astype(np.int32)), *named, ids=ids)
    model = {"ridge": LabelRidge(kernel="rbf"), "mlknn": MLkNN(5), "mlchmf": MLCHMF(random_state=0)}[name]
    weights = (np.arange(60) > 9).astype(int)
    numbered = clone(model).fit(X, Y, weights, label_names=NAMES)
    model.fit(data, sample_weight=weights).save(tmp_path / "model")
    rows, terms = (
        [row["term"] for row in one.explain(given, NAMES[:2]).records() if row["kind"] == "instance"]
        for one, given in ((numbered, X), (cofactor.load(tmp_path / "model"), data))
    )
    assert terms == ids[rows].tolist()
    whole = numbered.explain(X, NAMES[:2]).columns
    monkeypatch.setattr(base, "_EXPLAINED_PER_BLOCK", 7)
    parts = numbered.explain(X, NAMES[:2]).columns
    assert parts["instance"].tolist() == whole["instance"].tolist()
    assert np.abs(parts["contribution"] - whole["contribution"]).max() < 1e-9
    assert min(rows) > 9  # the others weigh nothing
    header, arrays = read_model(tmp_path / "model")
    if ids.dtype == object:
        header["learned"]["instance_ids_"]["texts"].pop()
    else:
        arrays["learned.instance_ids_"] = arrays["learned.instance_ids_"][1:]
    write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="instance_ids_|instances_"):
        cofactor.load(tmp_path / "model")


@pytest.mark.parametrize("exact", [True, False])
def test_what_an_instance_contributes_to_a_kernel_is_about_its_label(exact, monkeypatch):
    """The coefficients of close instances cancel: here they are ten to a thousand times the score."""
    monkeypatch.setattr(ridge, "EXACT", 500 if exact else 100)
    monkeypatch.setattr(ridge, "_LANDMARKS", 150)
    X = np.random.default_rng(0).normal(size=(420, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]) > 0, X[:, 0] * X[:, 1] > 0.3])
    model = LabelRidge(kernel="rbf", n_components=2).fit(X[:400], Y[:400])
    assert np.abs(model._kernel(model.scaling_.apply(X[400:])) @ np.abs(model.dual_coef_)).max() > 10
    found = model.explain(X[400:], [0, 1], n_terms=400)
    shares = found.columns["contribution"][found.columns["kind"] == "instance"]
    assert np.abs(shares).max() < 1
    totals = sums(model, X[400:], labels=[0, 1])
    assert all(total == pytest.approx(score, abs=1e-6) for score, total in totals.values())
    if exact:
        K = ridge.kernel(model.landmarks_, model.landmarks_, model.gamma_)
        values = ridge.kernel_contributions(K[:1], K, model.kernel_alpha_, model.dual_coef_)[1] / model.kernel_share_
        assert np.abs(np.ptp(values - Y[:400], axis=0)).max() < 1e-6  # labels minus an intercept


def test_constant_labels_and_spaces():
    X, Y = data()
    space = FeatureSpace(X)
    model = PLST.paper().fit(space, np.column_stack([Y, np.ones(len(Y), int), np.zeros(len(Y), int)]))
    terms = {group["label"]: group["terms"] for group in model.explain(space, [6, 7]).groups() if not group["instance"]}
    assert terms[6] == [{"kind": "intercept", "term": None, "value": None, "contribution": 1e9}]
    assert terms[7][0]["contribution"] == -1e9
    text = model.explain(X[:1], [6, 7]).text()
    assert text == "instance 0: 6, which all training instances had\ninstance 0: 7, which no training instances had"
    assert len(PLST.paper().fit(X, np.zeros_like(Y)).explain(X)) == 0


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"labels": ["rok, hard"]}, "labels='rok, hard': no label of the model: did you mean rock, hard"),
        ({"n_terms": 0}, "n_terms=0: "),
        ({"n_terms": 1.5}, "n_terms=1.5: "),
    ],
)
def test_bad_input(asked, message):
    X, Y = data()
    model = PLST.paper().fit(X, Y, label_names=NAMES)
    with pytest.raises(InvalidInputError, match=message):
        model.explain(X, **asked)


def test_what_is_no_sum_is_not_explained(monkeypatch):
    monkeypatch.setattr(LabelModel, "_kinds", staticmethod(MODELS.values))  # without the classes that other tests make
    X, Y = data()
    model = BinaryRelevance.paper(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    assert hasattr(BinaryRelevance(), "explain")
    assert not hasattr(LabelPowerset(), "explain")
    with pytest.raises(AttributeError, match="this BinaryRelevance are no sum over features") as caught:
        _ = model.explain
    reason = str(caught.value)
    able = {name for name, kind in MODELS.items() if kind._score_parts is not LabelModel._score_parts}
    assert set(reason.split("; ")[1].replace(",", "").split()) & set(MODELS) == able - {"BinaryRelevance"}
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "labels.md").read_text()
    assert set(re.findall(r"`(\w+)`", re.search(r"\n(`LabelRidge`, (?:.|\n)*?) can explain", guide)[1])) == able
