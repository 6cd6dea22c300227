"""A loaded model predicts what the saved one predicted; a damaged file is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cofactor
from cofactor.persistence import ModelFileError, read_model, write_model

from .models import (
    CLASSES,
    NAMES,
    PROBE,
    bits,
    data,
    decided,
    every_class,
    fitted,
    fitted_beside_constants,
    fresh,
    more_data,
    overriding,
    probed,
)

#: Decisions by probabilities for every class; a cut for each label for those that read or write files in another way;
#: all kinds for the probe.
RULES = dict.fromkeys(
    [
        *((name, "auto") for name in CLASSES),
        *((name, "per-label") for name in overriding("save", "_to_state", "_from_state")),
        *((PROBE, rule) for rule in (0, 0.1, "global", "top-k", "cardinality")),
    ]
)


@pytest.mark.parametrize(("name", "rule"), RULES)
def test_a_loaded_model_is_the_saved_one(name, rule, tmp_path):
    X, Y = more_data()
    chosen = {"threshold": rule, "scale": "auto"}
    model = decided(name) if rule == "auto" else fresh(name, **chosen).fit(X, Y, label_names=NAMES)
    model.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert bits(loaded) == bits(model)
    assert repr(loaded) == repr(model)
    assert loaded.label_names_.tolist() == NAMES
    assert np.array_equal(loaded.threshold_, model.threshold_)
    for features in (X[:40], sparse.csr_array(X[:40])):
        assert np.array_equal(loaded.predict(features), model.predict(features))
        assert np.array_equal(loaded.decision_function(features), model.decision_function(features))
        if isinstance(rule, str):
            assert np.array_equal(loaded.predict_proba(features), model.predict_proba(features))
    loaded.save(tmp_path / "again")
    # It holds every parameter, as its repr shows, and nothing that a fit would begin with.
    plain = loaded.set_params(**{key: fresh(name).get_params()[key] for key in ("scale", "threshold", "decide_for")})
    assert bits(plain.fit(*data())) == bits(fitted(name))


@probed("save", "_to_state", "_from_state")
@pytest.mark.parametrize(
    "form",
    [
        lambda Y: Y == 1,
        lambda Y: 2 * Y.astype(np.int8) - 1,
        sparse.csc_matrix,
        lambda Y: pd.DataFrame(Y, columns=NAMES),
    ],
    ids=["bool", "signs", "csc_matrix", "pandas"],
)
def test_the_form_of_labels_survives(name, form, tmp_path):
    X, Y = data()
    model = fresh(name).fit(X, form(Y))
    model.save(tmp_path / "model")
    a, b = (m.predict(X) for m in (cofactor.load(tmp_path / "model"), model))
    assert type(a) is type(b)
    if isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b)
    else:
        assert a.dtype == b.dtype
        assert (a != b).sum() == 0


@probed("save", "_to_state", "_from_state")
def test_names_of_features_survive(name, tmp_path):
    X, Y = data()
    table = pd.DataFrame(X, columns=list("abcdefg"))
    fresh(name).fit(table, Y).save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(table), fitted(name).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table[list("gfedcba")])


@every_class
def test_a_model_of_constant_labels_survives(name, tmp_path):
    X, _ = data()
    constant = np.tile([1, 0], (len(X), 1))
    fresh(name).fit(X, constant).save(tmp_path / "model")
    assert np.array_equal(cofactor.load(tmp_path / "model").predict(X), constant)
    model = fitted_beside_constants(name)
    model.save(tmp_path / "model")
    assert np.array_equal(cofactor.load(tmp_path / "model").predict(X), model.predict(X))


@probed("save", "_to_state", "_from_state")
def test_a_truncated_file(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    for length in {0, 4, 100, len(whole) // 2, len(whole) - 1}:
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ModelFileError):
            cofactor.load(tmp_path / "cut")


@probed("save", "_to_state", "_from_state")
def test_parts_that_do_not_fit_together(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    magic = {"map": {"rule": "magic", "threshold": 0, "calibration": None}}
    pickled = {"map": {"container": "pickle", "dtype": "int64", "signs": False}}
    for changed in (
        {"learned": header["learned"] | {"decision_": magic}},
        {"learned": {"fit": 3}},
        {"learned": header["learned"] | {"form_": pickled}},
        {"learned": header["learned"] | {"scaling_": None}},
        {"params": {"nonsense": 1}},
    ):
        write_model(tmp_path / "forged", {**header, **changed}, arrays)
        with pytest.raises(ModelFileError):
            cofactor.load(tmp_path / "forged")


@every_class
def test_sizes_that_do_not_fit_together(name, tmp_path):
    fitted(name).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    for changed, replaced in (
        ({"n_features": 3}, {}),
        ({"label_names": ["a"]}, {}),
        ({"learned": {}}, {}),
        ({}, {"learned.constant_": np.zeros(4, np.int8)}),
    ):
        write_model(tmp_path / "forged", {**header, **changed}, {**arrays, **replaced})
        with pytest.raises(ModelFileError):
            cofactor.load(tmp_path / "forged")


@probed("save", "_to_state", "_from_state")
def test_calibration_and_scale_that_do_not_fit(name, tmp_path):
    fresh(name, threshold="auto", decide_for="macro", scale="standard").fit(*more_data()).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    decision, scaling = (header["learned"][part]["map"] for part in ("decision_", "scaling_"))
    parts = decision["calibration"]["map"]

    def damaged(part, of, **changed):
        return {"learned": header["learned"] | {part: {"map": of | changed}}}

    at = "learned.decision_.calibration"
    damages = [
        (damaged("decision_", decision, calibration=None), {}),
        (damaged("decision_", decision, calibration={"map": {**parts, "slope": None}}), {}),
        (damaged("decision_", decision, calibration={"map": {**parts, "more": 1.0}}), {}),
        (damaged("decision_", decision, rule="micro"), {}),
        (damaged("scaling_", scaling, kind="rows"), {}),
        ({}, {f"{at}.slope": -arrays[f"{at}.slope"]}),
        ({}, {f"{at}.offset": np.full(6, np.nan)}),
        ({}, {f"{at}.slope": np.ones(5)}),
        ({}, {"learned.decision_.threshold": np.full(6, 1.0)}),
        ({}, {"learned.scaling_.factor": np.ones(3)}),
    ]
    for changed, replaced in damages:
        write_model(tmp_path / "bad", {**header, **changed}, {**arrays, **replaced})
        with pytest.raises(ModelFileError):
            cofactor.load(tmp_path / "bad")
