"""Labels and features as models see them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from tests.together import together

from cofactor import load, save
from cofactor.errors import InvalidInputError
from cofactor.labels import BinaryRelevance
from cofactor.labels.data import LabelForm, as_known_labels, as_labels, dense
from cofactor.labels.features import LARGEST, SMALLEST, as_features
from cofactor.persistence import read_model, write_model

Y = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1], [1, 1, 1]])


@pytest.mark.parametrize(
    ("given", "form"),
    [
        (Y, LabelForm("array", "int64", False)),
        (Y == 1, LabelForm("array", "bool", False)),
        (Y.astype(np.float32), LabelForm("array", "float32", False)),
        (Y.astype(object), LabelForm("array", "int64", False)),
        (2 * Y - 1, LabelForm("array", "int64", True)),
        (Y.tolist(), LabelForm("array", "int64", False)),
        (sparse.csr_array(Y), LabelForm("csr_array", "int64", False)),
        (sparse.csc_matrix(Y == 1), LabelForm("csc_matrix", "bool", False)),
        (sparse.dok_array(Y), LabelForm("dok_array", "int64", False)),
        (sparse.csr_array(2.0 * Y - 1), LabelForm("csr_array", "float64", True)),
        (pd.DataFrame(Y, dtype="int8"), LabelForm("pandas", "int8", False)),
        (pd.DataFrame(Y, dtype="Int64"), LabelForm("pandas", "int64", False)),
        (pl.DataFrame(Y == 1), LabelForm("polars", "bool", False)),
    ],
    ids=repr,
)
def test_labels_and_their_form(given, form):
    labels, found, _ = as_labels(given)
    assert found == form
    assert type(labels) is sparse.csr_array
    assert labels.dtype == np.float32
    assert labels.has_canonical_format
    assert np.all(labels.data == 1)
    assert np.array_equal(labels.toarray(), Y)
    assert np.array_equal(dense(labels), Y)
    assert dense(labels, np.float32).dtype == np.float32


@together("container", ["array", "pandas", "polars", "csr_array", "csr_matrix", "csc_array", "lil_matrix"])
@together("dtype", ["bool", "int8", "float64"])
@together("signs", [False, True])
def test_what_is_cast_comes_back(container, dtype, signs):
    if signs and dtype == "bool":
        return  # truth values have no sign
    form, names = LabelForm(container, dtype, signs), np.array(["a", "b, c", "d"], dtype=object)
    on = sparse.csr_array(Y == 1) if form.is_sparse else Y == 1
    labels, again, found = as_labels(form.cast(on, names))
    assert again == form
    assert np.array_equal(labels.toarray(), Y)
    assert container not in ("pandas", "polars") or found.tolist() == names.tolist()


def test_duplicates_and_stored_zeros_of_a_sparse_matrix():
    given = sparse.coo_array(([1, 0, 1], ([0, 1, 2], [2, 0, 1])), shape=(3, 3)).tocsr()
    assert given.nnz == 3
    assert as_labels(given)[0].nnz == 2
    assert given.nnz == 3
    twice = sparse.csr_array(([1, 1], ([0, 0], [1, 1])), shape=(2, 2)).tocoo()
    twice = sparse.coo_array((np.array([1, 1]), (np.array([0, 0]), np.array([1, 1]))), shape=(2, 2))
    with pytest.raises(ValueError, match="y holds 2"):
        as_labels(twice)


def test_names():
    assert as_labels(Y)[2].tolist() == [0, 1, 2]
    assert as_labels(Y, ("x", np.int64(3), "3"))[2].tolist() == ["x", 3, "3"]
    assert as_labels(pd.DataFrame(Y, columns=["x", "y", "z"]), ["a", "b", "c"])[2].tolist() == ["a", "b", "c"]


def test_half_a_character_is_no_name(tmp_path):
    """No answer could hold it, and no file that somebody may have forged."""
    frame, odd = pd.DataFrame(Y.astype(float), columns=["p", "q", "r"]), ["x", "y\ud800", "z"]
    model = BinaryRelevance()
    for X, names in ((frame, odd), (frame.set_axis(pd.Index(odd, dtype=object), axis=1), ["x", "y", "z"])):
        with pytest.raises(InvalidInputError, match=r"names.* hold 'y.*', which has half a character"):
            model.fit(X, Y, label_names=names)
    save(model.fit(frame, Y, label_names=["x", "y", "z"]), tmp_path / "model")
    for key in ("label_names", "feature_names"):
        header, arrays = read_model(tmp_path / "model")
        write_model(tmp_path / "forged", {**header, key: odd}, arrays)
        with pytest.raises(InvalidInputError, match="half a character"):
            load(tmp_path / "forged")


@together("names", [None, ["a", "b", "c"]])
def test_columns_of_equal_names(names):
    frame = pd.DataFrame(Y, columns=["x", "y", "x"])
    if names is None:
        with pytest.raises(InvalidInputError, match="label names must differ: 'x' occurs twice"):
            as_labels(frame)
    else:
        assert np.array_equal(as_labels(frame, names)[0].toarray(), Y)


@together(
    ("given", "holds"),
    [
        ([{"a"}, {"b", "c"}], ""),
        ([["a"], ["b", "c"]], ""),
        ([[0, "a"], [1, 1]], r", but holds 'a' \(row 0, label 1\)"),
        (pd.DataFrame({"p": [0, 1], "q": [1, {2}]}), r", but holds \{2\} \(row 1, label 'q'\)"),
    ],
    ids=["sets", "lists", "a text", "a set in a frame"],
)
def test_what_is_no_table_of_labels(given, holds):
    with pytest.raises(
        InvalidInputError, match=rf"of 0 and 1{holds}; scikit-learn's Multi\w+ makes one .* names; take"
    ):
        as_labels(given)


@together("names", [None, ["r", "s"]])
def test_refusals_name_the_label(names):
    wrong = pd.DataFrame({"p": [0, 1], "q": [1, 2]})
    with pytest.raises(InvalidInputError, match=rf"y holds 2 \(row 1, label '{'q' if names is None else 's'}'\)"):
        as_labels(wrong, names)
    with pytest.raises(InvalidInputError, match=rf"y holds nan \(row 1, label '{'q' if names is None else 's'}'\)"):
        as_known_labels(wrong.replace(2, np.nan), names)


def test_features_are_not_copied_without_need():
    for dtype in (np.float32, np.float64):
        X = np.ones((3, 2), dtype)
        assert as_features(X) is X
        assert as_features(sparse.csr_array(X)).dtype == dtype
    assert as_features([[1, 2]]).dtype == np.float64
    assert type(as_features(sparse.csc_matrix(X))) is sparse.csr_array


@together("container", ["pickle", "csr", "csr_frame", "frame_array"])
def test_a_form_that_does_not_exist(container):
    with pytest.raises(ValueError, match="cannot come back as"):
        LabelForm(container, "int64", False)
    with pytest.raises(ValueError, match="cannot have the dtype"):
        LabelForm("array", "object", False)


@together("form", [np.asarray, sparse.csr_array])
def test_the_range_of_features(form):
    for largest in (LARGEST, -LARGEST, SMALLEST, 0.0):
        assert as_features(form([[largest, 0.0]])).shape == (1, 2)
    for beyond in (1.01 * LARGEST, -1.01 * LARGEST, 1e308):
        with pytest.raises(
            InvalidInputError, match=r"\(row 1, column 0\): features must lie between -1e\+15 and 1e\+15"
        ):
            as_features(form([[1.0, 2.0], [beyond, beyond]]), reset=False)
    tiny = form([[0.5 * SMALLEST, 0.0]])
    with pytest.raises(InvalidInputError, match="nothing further from 0 than 5e-16.*multiply them"):
        as_features(tiny)
    assert as_features(tiny, reset=False).shape == (1, 2)  # there is nothing to learn from it


def test_scikit_learn_may_be_told_to_assume_finite_features():
    with sklearn.config_context(assume_finite=True):
        assert np.isnan(as_features([[np.nan]])).all()
