"""Weights of the instances that have a label, beside those that have it not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from tests.together import together

from cofactor import load
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels import BinaryRelevance, LabelRidge

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
Y = (X @ rng.normal(size=(4, 3)) + 0.7 * rng.normal(size=(150, 3)) > 1.5).astype(int)
KNOWN = rng.random(Y.shape) < 0.8
ON = [4.0, 1.0, 9.0]
PLAIN = {"scale": "none", "threshold": 0}


@together("mask", [None, KNOWN], ids=["all known", "partly known"])
@together("model", [LabelRidge(2.0, **PLAIN), BinaryRelevance(Ridge(2.0), **PLAIN)])
def test_each_label_has_weights_of_its_own(model, mask) -> None:
    weights = rng.random(150) + 0.5
    found = model.set_params(class_weight=ON).fit(X, Y, weights, mask=mask).decision_function(X)
    for k, on in enumerate(ON):
        rows = np.ones(150, dtype=bool) if mask is None else mask[:, k]
        each = (weights * np.where(Y[:, k], on, 1))[rows]
        alone = Ridge(2.0).fit(X[rows], Y[rows, k], each)
        np.testing.assert_allclose(found[:, k], alone.predict(X) - 0.5, atol=1e-6)


def test_balanced_is_that_of_scikit_learn() -> None:
    learner = LogisticRegression(tol=1e-8)
    model = BinaryRelevance(learner, class_weight="balanced", **PLAIN).fit(X, Y)
    for k in range(3):
        alone = LogisticRegression(tol=1e-8, class_weight="balanced").fit(X, Y[:, k])
        np.testing.assert_allclose(model.decision_function(X)[:, k], alone.decision_function(X), atol=1e-4)
    ridge = LabelRidge(**PLAIN)
    missed = [(ridge.set_params(class_weight=how).fit(X, Y).predict(X) < Y).sum() for how in (None, "balanced")]
    assert missed[1] < 0.5 * missed[0]


@pytest.mark.parametrize("model", [LabelRidge(kernel="linear"), BinaryRelevance()])
def test_weights_go_with_labels_by_name_where_some_are_constant(model, tmp_path) -> None:
    frame = pd.DataFrame(Y, columns=["sea", "sun", "ski"])
    with_constant = frame.assign(none=0)[["none", "sea", "sun", "ski"]]
    model.set_params(random_state=0, class_weight=ON)
    expected = model.fit(X, frame)
    chances = expected.predict_proba(X)
    named = clone(model).set_params(class_weight={"ski": 9, "sea": 4}).fit(X, with_constant)
    np.testing.assert_allclose(named.predict_proba(X)[:, 1:], chances, atol=1e-6)
    named.save(tmp_path / "m.cofactor")
    np.testing.assert_array_equal(load(tmp_path / "m.cofactor").predict_proba(X), named.predict_proba(X))
    share = Y.mean(axis=0)  # probabilities are those of the data, whatever the weights
    assert np.abs(chances.mean(axis=0) - share).max() < 0.05


@together(
    ("model", "given", "message"),
    [
        (LabelRidge(), "heavy", "class_weight='heavy': expected 'balanced', a number for each label, or a dict"),
        (LabelRidge(), [1.0, 2.0], r"class_weight=.*there are 2 weights for 3 labels"),
        (LabelRidge(), [1.0, 0.0, 2.0], "expected finite numbers above 0"),
        (LabelRidge(), {0: 1, 1: 5}, r"0 and 1 may be labels here, .* such as \[5\] \* 3 where"),
        (BinaryRelevance(), {"sea": 2}, "there is no label 'sea'"),
        (BinaryRelevance(), [[1.0, 2.0]], "expected 'balanced', a number for each label"),
        (BinaryRelevance(KNeighborsClassifier()), "balanced", "KNeighborsClassifier takes no weights of instances"),
    ],
)
def test_refusals(model, given, message) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
        model.set_params(class_weight=given).fit(X, Y)


def test_a_dict_of_classes_is_told_from_one_of_labels() -> None:
    named = LabelRidge(class_weight={0: 4, 1: 1}, **PLAIN).fit(X, Y, label_names=[1, 2, 0]).decision_function(X)
    numbered = LabelRidge(class_weight={2: 4}, **PLAIN).fit(X, Y).decision_function(X)
    np.testing.assert_array_equal(named, numbered)
    LabelRidge(class_weight={}, **PLAIN).fit(X, Y)
