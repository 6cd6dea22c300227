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
        (lambda X, Y: (FeatureSpace(X), Y), "not as a FeatureSpace"),
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


# ------------------------------------------------------------------ new labels


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [{}, {"n": 60, "D": 90}, {"D": 130, "density": 0.1}], ids=["dense", "wide", "sparse"])
def test_new_labels_are_those_of_a_fit_to_all(sizes, weighted, tmp_path):
    X, Y = planted(**sizes)
    first, later = slice(len(Y) - 20), slice(len(Y) - 20, None)
    w = np.random.default_rng(1).integers(1, 4, len(Y)) / 2 if weighted else np.ones(len(Y))
    model = LabelRidge(updatable=True, random_state=0).fit(X[first], Y[first, :2], w[first], label_names=NAMES[:2])
    before = model.decision_function(X)
    new = pd.DataFrame(Y[first, 2:], columns=NAMES[2:])
    assert model.add_labels(X[first], new, w[first]) is model
    assert model.label_names_.tolist() == NAMES
    scores = model.decision_function(X)
    assert np.array_equal(scores[:, :2], before)
    again = refitted(model, X[first], Y[first], w[first])
    np.testing.assert_allclose(scores, again.decision_function(X), rtol=1e-8, atol=1e-9)
    assert len(model.sums_) == 1  # the labels share a Gram matrix
    model.save(tmp_path / "model")
    model = cofactor.load(tmp_path / "model").update(X[later], Y[later], w[later])
    again = refitted(model, X, Y, w)
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), rtol=1e-8, atol=1e-9)


def test_probabilities_of_others_stay_where_labels_are_added(tmp_path):
    """The context of a row is that of the labels it was learned with, though a new one is on everywhere else."""
    rng = np.random.default_rng(0)
    one = np.eye(4)[rng.integers(0, 4, 300)]
    X = one + 0.8 * rng.normal(size=one.shape)
    model = LabelRidge(kernel="linear", random_state=0).fit(X, one, label_names=NAMES)
    assert model.decision_.calibration.context is not None
    before, tags = model.predict_proba(X), model.predict(X)
    model.add_labels(X, (X[:, :1] > -0.5).astype(int), label_names=["often"]).save(tmp_path / "model")
    for found in (model, cofactor.load(tmp_path / "model")):
        assert np.array_equal(found.predict_proba(X)[:, :4], before)
        assert np.array_equal(found.predict(X)[:, :4], tags)
    model.drop_labels(["often"])
    assert np.array_equal(model.predict_proba(X), before)
    header, arrays = read_model(tmp_path / "model")
    header["learned"]["decision_"]["map"]["calibration"]["map"]["in_context"] = 9
    write_model(tmp_path / "forged", header, arrays)
    with pytest.raises(ModelFileError, match="context of the calibration is of 9 labels, of 5"):
        cofactor.load(tmp_path / "forged")


def test_a_label_that_is_known_on_other_instances_is_learned_from_these():
    X, Y = planted()
    old, own, later = slice(150), slice(100, 250), slice(250, None)
    model = LabelRidge(updatable=True).fit(X[old], Y[old, :3], label_names=NAMES[:3])
    model.add_labels(X[own], Y[own, 3:], label_names=["snow"]).update(X[later], Y[later])
    of_all = refitted(model, np.r_[X[old], X[later]], np.r_[Y[old, :3], Y[later, :3]]).decision_function(X)
    of_one = refitted(model, np.r_[X[own], X[later]], np.r_[Y[own, 3:], Y[later, 3:]]).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), np.c_[of_all, of_one], rtol=1e-8, atol=1e-9)
    model.drop_labels(NAMES[:3]).update(X[:9], Y[:9, 3:])
    rows = np.r_[100:300, :9]
    of_one = refitted(model, X[rows], Y[rows, 3:]).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), of_one, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"kernel": "linear"}, {"n_components": 2}, {"class_weight": "balanced"}])
def test_models_without_sums_take_new_labels(settings):
    X, Y = planted()
    model = LabelRidge(random_state=0, **settings).fit(X, Y[:, 1:], label_names=NAMES[1:])
    before = model.decision_function(X)
    model.add_labels(X, pd.DataFrame({"sea": Y[:, 0]}))
    assert np.array_equal(model.decision_function(X)[:, :3], before)
    assert np.mean((model.decision_function(X)[:, 3] > 0) == Y[:, 0]) > 0.8
    assert abs(model.predict_proba(X)[:, 3].mean() - Y[:, 0].mean()) < 0.05
    assert model.predict(X).shape == Y.shape
    assert model.n_components_ <= 4


def test_too_many_features_for_a_gram_matrix(monkeypatch):
    X, Y = planted(n=200, D=130, density=0.1)
    monkeypatch.setattr(FeatureSpace, "largest", 50)
    model = LabelRidge(random_state=0).fit(X, Y[:, :3], label_names=NAMES[:3])
    model.add_labels(X, Y[:, 3:], label_names=["snow"])
    again = LabelRidge(alpha=model.alpha_, scale=model.scaling_.kind, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-3)


@pytest.mark.parametrize(
    "how", [{"decide_for": "macro"}, {"threshold": "per-label"}, {"threshold": 0.1}, {"threshold": "top-k"}, {}]
)
def test_what_is_decided_of_each_label_comes_with_it(how, tmp_path):
    X, Y = planted()
    model = LabelRidge(kernel="linear", random_state=0, **how).fit(X, Y[:, :3], label_names=NAMES[:3])
    before = model.threshold_
    model.add_labels(X, Y[:, 3:], label_names=["snow"]).save(tmp_path / "model")
    now = cofactor.load(tmp_path / "model").threshold_
    if np.ndim(before):
        whole = LabelRidge(kernel="linear", random_state=0, **how).fit(X, Y)
        assert np.array_equal(now[:3], before)
        assert abs(now[3] - whole.threshold_[3]) < 0.15
    else:
        assert now == before
    if model.decision_.calibration is not None:
        model.set_decision(precision=0.6, each_label=True)
        assert model.threshold_.shape == (4,)
        assert np.isfinite(model.predict_set(X)).all()


def test_cuts_that_were_given_must_be_given_for_new_labels_too():
    X, Y = planted()
    model = LabelRidge(random_state=0).fit(X, Y[:, :3], label_names=NAMES[:3])
    model.set_decision(precision=0.7, each_label=True).add_labels(X, Y[:, 3:], label_names=["snow"])
    assert model.threshold_.shape == (4,)
    model.set_decision(cuts=[0.1, 0.2, 0.3, 0.4])
    with pytest.raises(InvalidInputError, match="new ones have none"):
        model.add_labels(X, Y[:, :1], label_names=["more"])
    assert model.label_names_.tolist() == NAMES


@pytest.mark.parametrize("listed", [False, True], ids=["columns", "tags"])
def test_tables_hold_new_labels_from_then_on(listed, tmp_path):
    X, Y = planted()
    columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
    for path, k in (("old.csv", 3), ("new.csv", 4)):
        of_labels = {name: Y[:, j] for j, name in enumerate(NAMES[:k])}
        tags = {"tags": ["|".join(np.array(NAMES[:k])[row > 0]) for row in Y[:, :k]]}
        pd.DataFrame(columns | (tags if listed else of_labels)).to_csv(tmp_path / path, index=False)
    how = {"labels": "tags", "label_sep": "|"} if listed else {"labels": NAMES[:3]}
    model = LabelRidge(updatable=True, random_state=0).fit(load_labels(tmp_path / "old.csv", **how))
    names = [*model.label_names_.tolist(), "snow"]
    model.add_labels(pd.DataFrame(columns), pd.DataFrame({"snow": Y[:, 3]}))
    found = load_labels(tmp_path / "new.csv", schema=model.schema_)
    assert list(found.label_names) == names
    model.update(found)
    assert model.sums_[0].weight == 600


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, y.rename(columns={"snow": "sea"})), "the model knows 'sea' already"),
        (lambda X, y: (X, y.to_numpy()), "new labels need names"),
        (lambda X, y: (X, 0 * y), "'snow': on for all of the instances or for none"),
        (lambda X, y: (X, y.astype(float).mask(y == 0)), "nan"),
        (lambda X, y: (X.iloc[:, 1:], y), "f0"),
        (lambda X, y: (X[:9], y), "rows"),
        (lambda X, y: (FeatureSpace(X), y), "not as a FeatureSpace"),
        (lambda X, y: (X, 2 * y - 1), "-1 and 1"),
        (lambda X, y: (X, None), "y"),
    ],
)
def test_labels_that_cannot_be_added_leave_the_model_as_it_was(change, message):
    X, Y = planted()
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    tags = pd.DataFrame(Y, columns=NAMES)
    model = LabelRidge(updatable=True).fit(frame, tags[NAMES[:3]])
    before = states(model)
    with pytest.raises(InvalidInputError, match=message):
        model.add_labels(*change(frame, tags[["snow"]]))
    assert states(model) == before


def test_a_fit_that_chose_nothing_takes_no_new_labels():
    X, Y = planted()
    with pytest.raises(InvalidInputError, match="no label varied in the fit"):
        LabelRidge().fit(X, 0 * Y).add_labels(X, Y[:, :1], label_names=["more"])


@pytest.mark.parametrize("name", ["", None, np.nan, True])
def test_a_new_name_is_a_text_or_a_whole_number(name):
    X, Y = planted()
    model = LabelRidge(alpha=1.0, kernel="linear").fit(X, Y, label_names=NAMES)
    with pytest.raises(InvalidInputError, match="expected texts or whole numbers as new names"):
        model.rename_labels({"sea": name})
    assert model.label_names_.tolist() == NAMES
