"""New instances and labels come into a fitted LabelRidge as if it were fitted again with the same settings."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cofactor
from cofactor.datasets import load_labels
from cofactor.errors import InvalidInputError
from cofactor.labels import FeatureSpace, LabelRidge
from cofactor.persistence import ModelFileError, read_model, write_model

NAMES = ["sea", "sun", "ski", "snow"]


def planted(n=300, D=12, seed=0, density=1.0):
    """Return features, far from 0 where they are dense, and labels of which the last is off in the first half."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    X = X + 5 if density == 1 else X * (rng.random((n, D)) < density)
    Y = ((X - X.mean(axis=0)) @ rng.normal(size=(D, 4)) + rng.normal(size=(n, 4)) > 0).astype(int)
    Y[: n // 2, 3] = 0
    return (X if density == 1 else sparse.csr_array(X)), Y


def refitted(model, X, Y, sample_weight=None, names=None):
    """Return a fit to all instances with the settings that a model chose."""
    space = FeatureSpace(X, sample_weight=sample_weight, scale=model.scaling_)
    return LabelRidge(alpha=model.alpha_, kernel="linear", n_components=1.0).fit(space, Y, label_names=names)


def states(model):
    header, arrays = model._to_state()
    return repr(header), {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "sizes",
    [{}, {"n": 60, "D": 90}, {"D": 130, "density": 0.1}, {"n": 80, "D": 130, "density": 0.1}],
    ids=["dense", "wide", "sparse", "sparse and wide"],
)
def test_updates_are_a_fit_to_all_instances(sizes, weighted, tmp_path):
    X, Y = planted(**sizes)
    n = len(Y)
    w = np.random.default_rng(1).integers(1, 4, n) / 2 if weighted else np.ones(n)
    first, second, third = slice(n // 2), slice(n // 2, n - 9), slice(n - 9, None)
    model = LabelRidge(updatable=True, random_state=0).fit(X[first], Y[first], w[first])
    assert model.constant_.tolist() == [0, 0, 0, -1]
    model.update(X[second], Y[second], w[second]).save(tmp_path / "model")
    model = cofactor.load(tmp_path / "model").update(X[third], Y[third], w[third])
    again = refitted(model, X, Y, w)
    assert model.constant_.tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-6, atol=1e-9)
    loaded = cofactor.load(tmp_path / "model")
    assert loaded.predict_proba(X).shape == (n, 4)


def test_what_was_chosen_stays_until_a_refit_is_due():
    X, Y = planted(220)
    model = LabelRidge(updatable=True, random_state=0).fit(X[:200], Y[:200])
    before = copy.copy(model)
    assert not model.refit_due_
    model.update(X[200:220], Y[200:220])
    assert not model.refit_due_  # 20 of 220
    for name in ("alpha_", "scaling_", "decision_"):
        assert getattr(model, name) is getattr(before, name)
    assert model.update(X[:5], Y[:5]).refit_due_  # 25 of 225
    assert not model.fit(X, Y).refit_due_
    assert not LabelRidge(kernel="linear").fit(X, Y).refit_due_


def test_labels_that_all_had_may_lack_later():
    X, Y = planted()
    Y = np.column_stack([Y[:, :2], np.r_[np.ones(200), np.zeros(100)]])
    model = LabelRidge(updatable=True).fit(X[:200], Y[:200])
    assert model.constant_.tolist() == [0, 0, 1]
    assert model.update(X[:9], Y[:9]).constant_.tolist() == [0, 0, 1]
    model = LabelRidge(updatable=True).fit(X[:200], Y[:200]).update(X[200:], Y[200:])
    np.testing.assert_allclose(model.decision_function(X), refitted(model, X, Y).decision_function(X), atol=1e-9)


def test_names_and_columns_come_in_any_order():
    X, Y = planted()
    columns = [f"f{j}" for j in range(X.shape[1])]
    frame, tags = pd.DataFrame(X, columns=columns), pd.DataFrame(Y, columns=NAMES)
    model = LabelRidge(updatable=True).fit(frame[:250], tags[:250])
    other = copy.deepcopy(model).update(frame[250:], Y[250:, ::-1], label_names=NAMES[::-1])
    model.update(frame[250:], tags.iloc[250:, ::-1])
    assert states(other) == states(model)
    np.testing.assert_allclose(model.decision_function(frame), refitted(model, X, Y).decision_function(X), atol=1e-9)


def test_labels_are_dropped_and_renamed_between_updates(tmp_path):
    X, Y = planted()
    model = LabelRidge(updatable=True).fit(X[:200], Y[:200], label_names=NAMES)
    model.drop_labels(["sun"]).rename_labels({"ski": "skiing"}).save(tmp_path / "model")
    left, names = Y[:, [0, 2, 3]], ["sea", "skiing", "snow"]
    model = cofactor.load(tmp_path / "model").update(X[200:], left[200:], label_names=names)
    np.testing.assert_allclose(model.decision_function(X), refitted(model, X, left).decision_function(X), atol=1e-9)
    for known in (NAMES, ["sea", "ski", "snow"]):
        with pytest.raises(InvalidInputError, match="was not there in training"):
            model.update(X, Y[:, : len(known)], label_names=known)


def test_a_fit_to_chunks_can_be_updated():
    X, Y = planted()
    model = LabelRidge(updatable=True, scale="standard").fit([(X[:90], Y[:90]), (X[90:200], Y[90:200])])
    model.update(X[200:], Y[200:])
    np.testing.assert_allclose(model.decision_function(X), refitted(model, X, Y).decision_function(X), atol=1e-8)


def test_a_table_of_texts_is_read_as_in_training(tmp_path):
    texts = ["waves at the beach", "snow on the slope", "beach and waves", "rain and snow", "high waves", "fresh snow"]
    rows = pd.DataFrame({"text": texts * 4, "tags": ["sea", "ski", "sea", "ski|rain", "sea", "ski"] * 4})
    rows[:18].to_csv(tmp_path / "old.csv", index=False)
    rows[18:].assign(text=rows.text[18:] + " unheard").to_csv(tmp_path / "new.csv", index=False)
    model = LabelRidge(updatable=True).fit(load_labels(tmp_path / "old.csv", "tags", label_sep="|", text="text"))
    new = load_labels(tmp_path / "new.csv", schema=model.schema_)
    whole = load_labels(tmp_path / "old.csv", schema=model.schema_)
    model.update(new)
    X, Y = sparse.vstack([whole.X, new.X]), sparse.vstack([whole.Y, new.Y])
    np.testing.assert_allclose(model.decision_function(X), refitted(model, X, Y).decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X.to_numpy()[:, 1:], Y), "features"),
        (lambda X, Y: (X.rename(columns={"f0": "other"}), Y), "other"),
        (lambda X, Y: (X, Y.rename(columns={"sun": "moon"})), "label 'moon' was not there in training"),
        (lambda X, Y: (X, Y[["sea", "sun", "ski"]]), "no label 'snow'"),
        (lambda X, Y: (X, Y.assign(more=1)), "label 'more' was not there in training"),
        (lambda X, Y: (X, Y.astype(float).mask(Y == 0)), "nan"),
        (lambda X, Y: (X, 2 * Y - 1), "-1 and 1"),
        (lambda X, Y: (X, 3 * Y), "labels must be 0 and 1"),
        (lambda X, Y: (X[:-1], Y), "rows"),
        (lambda X, Y: (X[:0], Y[:0]), "0 sample"),
        (lambda X, Y: (X * np.inf, Y), "inf|nan"),
        (lambda X, Y: (X, Y, -np.ones(len(Y))), "sample_weight"),
    ],
)
def test_what_does_not_fit_leaves_the_model_as_it_was(change, message):
    X, Y = planted()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    tags = pd.DataFrame(Y, columns=NAMES)
    model = LabelRidge(updatable=True).fit(frame[:200], tags[:200])
    before = states(model)
    with pytest.raises(InvalidInputError, match=message):
        model.update(*change(frame[200:], tags[200:]))
    assert states(model) == before


def test_only_a_model_that_kept_sums_can_be_updated():
    X, Y = planted()
    for model in (LabelRidge().fit(X, Y), LabelRidge(updatable=True).fit(X, np.zeros_like(Y))):
        with pytest.raises(InvalidInputError, match="kept no sums.*updatable=True"):
            model.update(X, Y)


@pytest.mark.parametrize(
    "params", [{"kernel": "rbf"}, {"n_components": 2}, {"missing": "ignore"}, {"class_weight": "balanced"}]
)
def test_settings_that_look_at_single_instances_are_refused(params):
    with pytest.raises(InvalidInputError, match=f"{next(iter(params))}=.*single instances"):
        LabelRidge(updatable=True, **params).fit(*planted())


def test_unknown_labels_and_too_many_features_are_refused(monkeypatch):
    X, Y = planted()
    with pytest.raises(InvalidInputError, match="updatable=True: where labels are not known"):
        LabelRidge(updatable=True).fit(X, Y, mask=np.arange(Y.size).reshape(Y.shape) > 0)
    monkeypatch.setattr(FeatureSpace, "largest", 11)
    with pytest.raises(InvalidInputError, match="updatable=True: .* 12 features are more than 11"):
        LabelRidge(updatable=True).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gram", lambda a: a[:-1]),
        ("gram", lambda a: a * np.nan),
        ("mean", lambda a: a[:-1]),
        ("cross", lambda a: a[:, :-1].copy()),
        ("label_mean", lambda a: a.astype(np.float32)),
        ("labels", lambda a: a + 1),
        ("labels", lambda a: 0 * a),
        ("labels", lambda a: a * 1.0),
    ],
)
def test_forged_sums_are_refused(name, change, tmp_path):
    LabelRidge(updatable=True).fit(*planted()).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    key = f"learned.sums_.0.{name}"
    write_model(tmp_path / "model", header, arrays | {key: change(arrays[key])})
    with pytest.raises(ModelFileError):
        cofactor.load(tmp_path / "model")
