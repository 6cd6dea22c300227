"""Every form of features and labels is taken, and predictions have the form of the labels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.labels import FeatureSpace

from .models import (
    CASES,
    NAMES,
    bits,
    data,
    decided,
    dense_of,
    every,
    every_class,
    fitted,
    fresh,
    overriding,
    planted,
    probed,
)

FORMATS = ["csr_array", "csr_matrix", "csc_array", "csc_matrix", "coo_array", "coo_matrix", "lil_array"]


LABELS = {
    **{dtype.__name__: lambda Y, d=dtype: Y.astype(d) for dtype in (bool, np.int8, np.uint8, np.float32, np.float64)},
    "signs": lambda Y: (2 * Y - 1).astype(np.int8),
    "signs in floats": lambda Y: 2.0 * Y - 1,
    **{form: getattr(sparse, form) for form in FORMATS},
    "sparse signs": lambda Y: sparse.csr_array(2 * Y - 1),
    "Fortran order": np.asfortranarray,
}


@probed("fit", "predict", "_receive")
@together("form", LABELS)
def test_predictions_have_the_form_of_the_labels(name, form):
    X, Y = data()
    given = LABELS[form](Y)
    model = fresh(name).fit(X, given)
    predicted = model.predict(X)
    assert type(predicted) is type(given)
    assert predicted.dtype == given.dtype
    assert bits(model) == bits(fitted(name))
    assert np.array_equal(dense_of(predicted), fitted(name).predict(X))
    assert set(np.unique(predicted.toarray() if sparse.issparse(predicted) else predicted)) <= set(
        np.unique(given.toarray() if sparse.issparse(given) else given)
    )
    assert model.score(X, given) == fitted(name).score(X, Y)


@probed("fit", "predict", "_receive")
def test_pandas_frames(name):
    X, Y = data()
    index = [f"row {k}" for k in range(len(X))]
    table = pd.DataFrame(X, columns=list("abcdefg"), index=index)
    model = fresh(name).fit(table, pd.DataFrame(Y == 1, columns=NAMES, index=index))
    predicted = model.predict(table)
    assert isinstance(predicted, pd.DataFrame)
    assert list(predicted.columns) == NAMES == model.label_names_.tolist()
    assert list(predicted.index) == index
    assert set(predicted.dtypes) == {np.dtype(bool)}
    assert bits(model) == bits(fitted(name))
    assert np.array_equal(predicted.to_numpy(), fitted(name).predict(X) == 1)
    assert model.feature_names_in_.tolist() == list("abcdefg")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[list("gfedcba")])


@probed("fit", "predict", "_receive")
def test_polars_frames(name):
    X, Y = data()
    table = pl.DataFrame(X, schema=list("abcdefg"))
    model = fresh(name).fit(table, pl.DataFrame(Y.astype(np.int8), schema=NAMES))
    predicted = model.predict(table)
    assert isinstance(predicted, pl.DataFrame)
    assert predicted.columns == NAMES
    assert set(predicted.dtypes) == {pl.Int8}
    assert np.array_equal(predicted.to_numpy(), fitted(name).predict(X))


@probed("fit", "_receive", "score", "fit_threshold")
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_labels_of_a_frame_are_matched_by_name(name, frame):
    X, Y = data()
    labels = frame(dict(zip(NAMES, Y.T, strict=True)))
    turned = labels[NAMES[::-1]]
    model, again = (fresh(name).fit(X, labels) for _ in range(2))
    score = model.score(X, labels)
    assert model.score(X, turned) == model.score(X, Y) == model.score(X, pd.DataFrame(Y)) == score
    model.fit_threshold(X, labels, "per-label")
    assert np.array_equal(again.fit_threshold(X, turned, "per-label").threshold_, model.threshold_)
    assert len(set(model.threshold_)) > 1
    strange = frame(dict(zip(["strange", *NAMES[1:]], Y.T, strict=True)))
    for call in (model.score, model.fit_threshold):
        with pytest.raises(InvalidInputError, match="no label 'rock, hard'; label 'strange' was not there in training"):
            call(X, strange)
        with pytest.raises(InvalidInputError, match="no label 'rock, hard'; expected 6 labels as trained"):
            call(X, labels[NAMES[1:]])
    assert fitted(name).score(X, strange) == fitted(name).score(X, Y)  # fitted without names: by position


@probed("fit", "predict", "_receive")
def test_lists(name):
    X, Y = data()
    model = fresh(name).fit(X.tolist(), Y.tolist())
    assert bits(model) == bits(fitted(name))
    assert np.array_equal(model.predict(X.tolist()), fitted(name).predict(X))


#: Models see sparse features as a CSR array: that one is for each of them, the other formats are read by the base.
SPARSE_FEATURES = dict.fromkeys(
    [
        *((name, "csr_array") for name in CASES),
        *((name, form) for name in overriding("fit", "predict", "_features") for form in FORMATS),
    ]
)


@pytest.mark.parametrize(("name", "form"), SPARSE_FEATURES)
def test_sparse_features_are_as_good_as_dense_ones(name, form):
    """Products of the two are rounded otherwise, and solvers stop within their tolerance of each other.

    In single precision that would move an error of training, and with it a vote, to the other side of its limit.
    """
    X, Y = data()
    table = getattr(sparse, form)(X)
    exact = {"dtype": "float64"} if "dtype" in fresh(name).get_params() else {}
    dense = fresh(name, **exact).fit(X, Y) if exact else fitted(name)
    model = fresh(name, **exact).fit(table, Y)
    expected = dense.decision_function(X)
    for features in (table, X):
        assert np.allclose(model.decision_function(features), expected, rtol=1e-4, atol=1e-4 * np.std(expected))
    assert np.allclose(dense.decision_function(table), expected, rtol=1e-9, atol=1e-9)
    assert np.array_equal(table.toarray(), X)  # it is as it was


@probed("fit", "predict", "_receive")
def test_a_sparse_array_that_is_not_canonical(name):
    X, Y = data()
    table = sparse.csr_array(X)
    double = sparse.csr_array(
        (np.repeat(table.data / 2, 2), np.repeat(table.indices, 2)[::1], 2 * table.indptr), shape=X.shape
    )
    before = double.data.copy(), double.indices.copy()
    model = fresh(name).fit(double, Y)
    assert bits(model) == bits(fresh(name).fit(table, Y))
    assert np.array_equal(double.data, before[0])
    assert np.array_equal(double.indices, before[1])


@probed("fit", "predict", "_receive")
def test_features_of_other_types_and_orders(name):
    X, Y = data()
    assert bits(fresh(name).fit(np.asfortranarray(X), Y)) == bits(fitted(name))
    whole = (10 * X).round().astype(int)
    assert bits(fresh(name).fit(whole, Y)) == bits(fresh(name).fit(whole.astype(float), Y))


@every_class
def test_a_feature_space_in_place_of_features(name):
    X, Y = data()
    space = FeatureSpace(X, fit_intercept=fresh(name).get_params().get("fit_intercept", True))
    model = fresh(name).fit(space, Y)
    assert bits(model) == bits(fitted(name))
    assert np.array_equal(model.predict(space), fitted(name).predict(X))


@probed("predict", "decision_function", "_blocks")
@pytest.mark.parametrize("rule", ["global", "per-label", "top-k", "cardinality"])
def test_blocks_of_rows_change_nothing(name, rule, monkeypatch):
    X, Y = data()
    model = fresh(name, threshold=rule).fit(X, Y)
    whole, scores = model.predict(X), model.decision_function(X)
    monkeypatch.setattr("cofactor.labels.base._SCORES_PER_BLOCK", 7 * Y.shape[1])
    assert np.allclose(model.decision_function(X), scores, rtol=1e-12, atol=1e-12)
    assert np.mean(model.predict(X) != whole) < 0.01


@probed("predict", "decision_function", "_decoded", "_blocks", "_all_probabilities")
def test_all_that_is_said_of_instances_at_once(name, monkeypatch):
    new, model = planted(seed=1)[0], decided(name)
    monkeypatch.setattr("cofactor.labels.base._SCORES_PER_BLOCK", 7 * len(NAMES))
    scores, on, chances = map(np.concatenate, zip(*model.iter_predictions(new, probabilities=True), strict=True))
    assert np.array_equal(scores, model.decision_function(new))
    assert np.array_equal(on, dense_of(model.predict(new)))
    assert np.array_equal(chances, model.predict_proba(new))
    in_sets = [said.on for said in model.iter_predictions(new, coverage=0.8)]
    assert np.array_equal(np.concatenate(in_sets), dense_of(model.predict_set(new, coverage=0.8)))


@every
def test_predictions_are_scores_above_the_threshold(name):
    new, truth = planted(seed=1)
    model = fitted(name)
    assert model.threshold_ == 0
    assert np.array_equal(model.predict(new), model.decision_function(new) > 0)
    assert dense_of(truth).shape == model.predict(new).shape


@probed("fit", "predict", "_decoded")
def test_predictions_are_scores_above_a_threshold_that_is_given(name):
    X, Y = data()
    new, _ = planted(seed=1)
    model = fitted(name)
    other = fresh(name, threshold=0.07).fit(X, Y)
    assert np.array_equal(other.decision_function(new), model.decision_function(new))
    assert np.array_equal(other.predict(new), model.decision_function(new) > 0.07)


@every
def test_better_than_guessing(name):
    X, Y = data()
    guess = np.tile(Y.mean(axis=0) > 0.5, (len(Y), 1))
    assert np.mean(fitted(name).predict(X) != Y) < 0.8 * np.mean(guess != Y)
    assert fitted(name).score(X, Y) > 0.6
