"""Explanations of every label model: contributions sum to scores, of dense and sparse features, and after loading."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

import cofactor
from cofactor.errors import InvalidInputError
from cofactor.labels import PLST, BinaryRelevance, FeatureSpace, LabelModel, MLkNN

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


def test_what_is_no_sum_is_not_explained():
    X, Y = data()
    model = BinaryRelevance.paper(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    with pytest.raises(InvalidInputError, match="the scores of BinaryRelevance are no sum over features or instances"):
        model.explain(X)
