"""Labels of a fitted model are called otherwise, or forgotten, and all others stay what they are."""

import copy

import numpy as np
import pandas as pd
import pytest

import cofactor
from cofactor import labels
from cofactor.datasets import load_labels
from cofactor.errors import InvalidInputError, InvalidTypeError

from .models import NAMES, PROBE, bits, data, decided, every, fitted, fresh, more_data


def named(name: str) -> labels.LabelModel:
    return fresh(name).fit(*data(), label_names=NAMES)


def scores_beside(model: labels.LabelModel, kept: list[int]) -> np.ndarray:
    return model.decision_function(data()[0])[:, kept]


@every
def test_a_label_is_forgotten_or_the_model_says_that_it_needs_all(name, tmp_path):
    model, kept = copy.deepcopy(fitted(name)), [0, 2, 5]
    before = scores_beside(model, kept)
    if not model.capabilities.separate_labels:
        with pytest.raises(InvalidInputError, match=r"depends on others.*; fit it again without them; .*LabelRidge"):
            model.drop_labels([1])
        assert bits(model) == bits(fitted(name))
        return
    assert model.drop_labels([1, 3, 4]) is model
    assert model.label_names_.tolist() == kept
    # A product with fewer columns is rounded otherwise.
    np.testing.assert_allclose(model.decision_function(data()[0]), before, rtol=1e-9, atol=1e-12)
    assert model.predict(data()[0]).shape == (len(before), 3)
    model.save(tmp_path / "model")
    assert bits(cofactor.load(tmp_path / "model")) == bits(model)


@pytest.mark.parametrize("name", ["PLST", "LabelRidge", "MLkNN"])
def test_how_the_others_are_decided_stays(name):
    whole, kept = decided(name), [1, 2, 4, 5]
    model = copy.deepcopy(whole).drop_labels([NAMES[0], NAMES[3]])
    X = more_data()[0]
    assert model.label_names_.tolist() == [NAMES[k] for k in kept]
    assert np.array_equal(model.threshold_, whole.threshold_[kept])
    calibration, of_all = model.decision_.calibration, whole.decision_.calibration
    assert np.array_equal(calibration.slope, of_all.slope[kept])
    if of_all.context is None:  # else probabilities look at the labels that are there
        np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X)[:, kept], rtol=1e-9)
    model.set_decision(precision=0.6, each_label=True)
    whole = copy.deepcopy(whole).set_decision(precision=0.6, each_label=True)
    assert np.array_equal(model.threshold_, whole.threshold_[kept])
    assert np.all(np.isfinite(model.predict_set(X, coverage=0.8)))


def test_labels_that_never_varied_may_be_all_that_is_left(tmp_path):
    X, Y = data()
    Y = np.column_stack([Y[:, 0], np.ones(len(Y)), np.zeros(len(Y))])
    model = fresh(PROBE, threshold="auto").fit(X, Y, label_names=["a", "on", "off"]).drop_labels(["a"])
    model.save(tmp_path / "model")
    for one in (model, cofactor.load(tmp_path / "model")):
        assert one.predict(X[:2]).tolist() == [[1, 0], [1, 0]]
        assert one.predict_proba(X[:2]).tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize("name", [PROBE, "ClassifierChain"])
def test_labels_are_called_otherwise(name, tmp_path):
    model = named(name)
    before = bits(model)
    model.rename_labels({NAMES[0]: NAMES[1], NAMES[1]: NAMES[0], NAMES[4]: "fresh"})
    called = [NAMES[1], NAMES[0], *NAMES[2:4], "fresh", NAMES[5]]
    assert model.label_names_.tolist() == called
    assert bits(model) == before
    model.save(tmp_path / "model")
    assert cofactor.load(tmp_path / "model").label_names_.tolist() == called
    Y = pd.DataFrame(data()[1], columns=called)
    assert model.score(data()[0], Y) == model.score(data()[0], data()[1])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"what": "else"}, "no label of the model"),
        ({NAMES[0]: NAMES[4]}, "occurs twice"),
        ({NAMES[0]: "a", NAMES[1]: "a"}, "occurs twice"),
        ({NAMES[0]: "\ud800"}, "label names"),
    ],
)
def test_names_that_cannot_be_leave_the_model_as_it_was(names, message):
    model = named(PROBE)
    with pytest.raises(InvalidInputError, match=message):
        model.rename_labels(names)
    assert model.label_names_.tolist() == NAMES


def test_what_is_no_mapping_and_no_label_is_refused():
    model = named(PROBE)
    with pytest.raises(InvalidTypeError, match="new names by old ones"):
        model.rename_labels([NAMES[0]])
    with pytest.raises(InvalidInputError, match="no label of the model"):
        model.drop_labels(["what"])
    with pytest.raises(InvalidInputError, match="at least one label must be left"):
        model.drop_labels(NAMES)
    assert model.label_names_.tolist() == NAMES


@pytest.mark.parametrize("listed", [False, True], ids=["columns", "tags"])
@pytest.mark.filterwarnings("ignore:.*left out")
def test_tables_are_read_by_the_names_of_now(listed, tmp_path):
    X, Y = data()
    columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
    for path, names in (("old.csv", ["sea", "sun", "ski"]), ("new.csv", ["ocean", "sun", "ski"])):
        tags = ["|".join(np.array(names)[row > 0]) for row in Y[:, :3]]
        of_labels = {"tags": tags} if listed else {name: Y[:, k] for k, name in enumerate(names)}
        pd.DataFrame(columns | of_labels).to_csv(tmp_path / path, index=False)
    how = {"labels": "tags", "label_sep": "|"} if listed else {"labels": ["sea", "sun", "ski"]}
    model = fresh(PROBE).fit(load_labels(tmp_path / "old.csv", **how))
    before = model.decision_function(load_labels(tmp_path / "old.csv", **how))[:, model.label_names_ != "sun"]
    model.rename_labels({"sea": "ocean"}).drop_labels(["sun"])
    model.save(tmp_path / "model")
    model = cofactor.load(tmp_path / "model")
    found = load_labels(tmp_path / "new.csv", schema=model.schema_)
    assert sorted(found.label_names) == sorted(model.label_names_) == ["ocean", "ski"]
    assert found.feature_names == tuple(columns)
    np.testing.assert_allclose(model.decision_function(found), before, rtol=1e-9, atol=1e-12)
    if not listed:
        with pytest.raises(InvalidInputError, match="is no label"):
            model.rename_labels({"ocean": "f0"})
