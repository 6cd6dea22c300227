"""CSV, TSV and Parquet with columns of labels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import issparse
from tests.together import together

from cofactor.datasets import load_labels, read_label_table
from cofactor.errors import InvalidInputError


@pytest.fixture
def write(tmp_path):
    def write(text, name="file.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


TEXT = 'id,wind,sky,calm,tag_sea,"tag_sun, or ""sol"""\np,3.5,grey,no,1,0\nq,0,blue,yes,1,1\nr,1,grey,no,0,0\n'


@pytest.mark.parametrize("labels", ["tag_", -2, ["tag_sea", 'tag_sun, or "sol"']])
@together("sep", [",", "\t", ";"])
def test_ways_to_say_which_are_labels(write, labels, sep):
    frame = pd.read_csv(write(TEXT))
    path = write(frame.to_csv(sep=sep, index=False), "file.txt")
    data = read_label_table(path, labels, drop=["id"])
    assert data.label_names == ("tag_sea", 'tag_sun, or "sol"')
    assert data.feature_names == ("wind", "sky=blue", "sky=grey", "calm")
    assert data.X.tolist() == [[3.5, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]]
    assert data.Y.toarray().tolist() == [[1, 0], [1, 1], [0, 0]]
    assert (data.nominal, data.train_rows) == (("sky",), None)


def test_parquet_says_the_same(write, tmp_path):
    frame = pd.read_csv(write(TEXT)).drop(columns="id")
    frame["sky"] = frame["sky"].astype("category")
    frame["tag_sea"] = frame["tag_sea"].astype(bool)
    frame.to_parquet(tmp_path / "file.parquet")
    data, expected = (
        read_label_table(tmp_path / "file.parquet", "tag_"),
        read_label_table(write(TEXT), "tag_", drop=["id"]),
    )
    assert data.feature_names == expected.feature_names
    np.testing.assert_array_equal(data.X, expected.X)
    np.testing.assert_array_equal(data.Y.toarray(), expected.Y.toarray())


@given(
    X=arrays(np.float64, (4, 3), elements=st.floats(allow_nan=False, allow_infinity=False)),
    Y=arrays(np.bool_, (4, 2)),
    suffix=st.sampled_from([".csv", ".csv.gz", ".parquet"]),
)
@settings(max_examples=40)
def test_round_trip(X, Y, suffix, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"labels{suffix}"
    frame = pd.DataFrame(np.hstack([X, Y.astype(float)]), columns=["a", "b", "c", "l1", "l2"])
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    data = read_label_table(path, "l", sparse=False)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y.toarray(), Y)


def test_without_a_header(write):
    data = read_label_table(write("1,2.5,0,1\n0,3,1,1\n"), -2)
    assert (data.feature_names, data.label_names) == (("c0", "c1"), ("c2", "c3"))
    assert read_label_table(write("1,2.5,0\n"), 1).label_names == ("c0",)


def test_codes_of_labels(write):
    text = "x,a,b,c,d,e\n1,1,yes,TRUE,-1,1\n2,0,no,FALSE,1,1\n"
    assert read_label_table(write(text), ["a", "b", "c", "d", "e"]).Y.toarray().tolist() == [
        [1, 1, 1, 0, 1],
        [0, 0, 0, 1, 1],
    ]


def test_a_mostly_empty_table_is_sparse(write):
    text = "a,b,c,d,e,l\n" + "0,0,0,1,0,1\n" * 3
    assert issparse(read_label_table(write(text), ["l"]).X)
    assert not issparse(read_label_table(write(text), ["l"], sparse=False).X)


def test_without_labels(write):
    data = load_labels(write("a,b\n1,2\n3,4\n"), [])
    assert (data.n_labels, data.X.tolist()) == (0, [[1, 2], [3, 4]])


def test_other_values_at_predict(write):
    train = read_label_table(write("x,sky,l\n1,grey,0\n2,blue,1\n"), ["l"])
    test = read_label_table(write("sky,x\nred,5\nblue,6\n"), [])
    with pytest.warns(UserWarning, match="'sky=red' did not occur in training"):
        assert test.align(train.feature_names).tolist() == [[5, 0, 0], [6, 1, 0]]


@together(
    ("text", "labels", "message"),
    [
        ("x,l\n1,0\n-inf,1\n", ["l"], "line 3, column 'x': expected a finite number, found -inf"),
        ("x,l\n1,0\n2\n", ["l"], "line 3: expected 2 columns as in line 1, found 1"),
        ("x,l\n1,0\n2,0.5\n", ["l"], "line 3, column 'l': expected a label, 0/1, .*found 0.5"),
        ("x,l\n1,0\n2,nan\n", ["l"], "line 3, column 'l': expected a label, 0/1, .*found no value"),
        ("x,l\n1,0\n2,-1\n", ["l"], "line 3, column 'l': expected a label, 0/1, .*found -1"),
        ("x,l\n1,no\n2,maybe\n", ["l"], "line 3, column 'l': expected a label, 0/1, .*found 'maybe'"),
        ("x,l\n1,0\n2,no\n", ["l"], "line 3, column 'l': expected a label, 0/1, .*found 'no'"),
        ("x,l\n1,0\n", ["m"], "has no column 'm', which labels names"),
        ("x,l\n1,0\n", "tag_", "no column begins with labels='tag_'; there are x, l"),
        ("x,l\n1,0\n", None, "which of the 2 columns are labels"),
        ("x,l\n1,0\n", 2, "2 labels among 2 columns; expected 1 to 1"),
        ("x,l\n1,0\n", ["x", "l"], "all 2 columns are labels or dropped"),
        ("x,x,l\n1,2,0\n", ["l"], "two columns are named 'x'"),
        ("x,l\n", ["l"], "only a header"),
        ("", ["l"], "the file is empty, expected lines with features and labels"),
    ],
)
def test_faults_name_file_line_and_column(write, text, labels, message):
    with pytest.raises(ValueError, match=f"file.csv.*{message}"):
        read_label_table(write(text), labels)


def test_faults_in_parquet(tmp_path):
    path = tmp_path / "file.parquet"
    pd.DataFrame({"x": [1.0, np.inf], "l": [0, 1]}).to_parquet(path)
    with pytest.raises(ValueError, match="file.parquet, row 2, column 'x': expected a finite number, found inf"):
        read_label_table(path, ["l"])
    pd.DataFrame({"x": [1.0, 2.0], "l": [0, None]}).to_parquet(path)
    with pytest.raises(ValueError, match="row 2, column 'l': .*found no value"):
        read_label_table(path, ["l"])
    pd.DataFrame({"x": [1.0], "l": ["maybe"]}).to_parquet(path)
    with pytest.raises(ValueError, match="row 1, column 'l': expected a label, .*found 'maybe'"):
        read_label_table(path, ["l"])
    pd.DataFrame({"x": pd.to_datetime(["2020-01-01"]), "l": [1]}).to_parquet(path)
    with pytest.raises(ValueError, match="column 'x': has type timestamp.*expected numbers"):
        read_label_table(path, ["l"])


def test_text_with_too_many_values_is_refused(write):
    """Every value would be a feature: names of rows, and free text."""
    text = "id,x,l\n" + "".join(f"p{k},1,0\n" for k in range(20))
    with pytest.raises(InvalidInputError, match=r"nearly every row.*drop=\['id'\].*id='id'.*max_values=20"):
        read_label_table(write(text), ["l"])
    assert read_label_table(write(text), ["l"], max_values=20).n_features == 21
    many = "town,l\n" + "".join(f"t{k % 251},0\n" for k in range(502))
    with pytest.raises(
        InvalidInputError, match=r"'town' is text with 251 different values in 502 rows \(more than 250\)"
    ):
        read_label_table(write(many), ["l"])
    assert read_label_table(write(many.replace("t250", "t0")), ["l"]).n_features == 250


PAGES = "name,f1,f2,tag_0,tag_1,tag_2,text\np,1,2,0,1,0,a b\nq,2,3,1,0,1,c d\n"


@pytest.mark.parametrize(
    ("labels", "drop", "expected"),
    [
        ("tag_", ["tag_0", "text"], ["tag_1", "tag_2"]),
        (-2, ["tag_2", "text"], ["tag_0", "tag_1"]),
        (2, ["f1", "f2", "text"], ["tag_0", "tag_1"]),
        (["tag_2", "tag_0"], ["tag_1", "text"], ["tag_2", "tag_0"]),
    ],
)
def test_columns_that_are_dropped_are_no_labels(write, labels, drop, expected):
    """Drop was ignored for labels, without a word; numbers of labels counted the id and what was dropped."""
    data = read_label_table(write(PAGES), labels, drop=drop, id="name")
    assert list(data.label_names) == expected
    assert not {"name", *drop} & {*data.feature_names, *data.label_names}


def test_labels_that_cannot_be_among_the_columns_left(write):
    for labels, message in [
        (["tag_0"], "column 'tag_0' cannot be both label \\(labels\\) and left out \\(drop\\)"),
        ("tag_0", "no column that is left begins with labels='tag_0'; there are f1, f2, tag_1, tag_2"),
        (0, r"0 labels among 4 columns \(without those left out, and the id\); expected 1 to 3"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            read_label_table(write(PAGES), labels, drop=["tag_0", "text"], id="name")


def test_weights_of_rows_are_read_again_by_a_schema(write):
    table = write("x,y,w\n1,0,2\n2,1,3\n")
    train = read_label_table(table, ["y"], weights="w")
    again = read_label_table(table, schema=train.schema, weights="w")
    assert again.weights.tolist() == train.weights.tolist() == [2, 3]
    assert read_label_table(table, schema=train.schema).feature_names == ("x",)


def test_a_schema_reads_another_table_alike(write):
    train = read_label_table(write(TEXT), "tag_", id="id", drop=["wind"])
    assert (train.ids.tolist(), train.feature_names) == (["p", "q", "r"], ("sky=blue", "sky=grey", "calm"))
    assert train.take(np.array([2, 0])).ids.tolist() == ["r", "p"]
    new = write('calm,tag_sea,sky,id,"tag_sun, or ""sol"""\nyes,1,grey,7,0\n', "new.csv")
    same = read_label_table(new, schema=train.schema)
    assert (same.feature_names, same.label_names) == (train.feature_names, train.label_names)
    assert (same.X.tolist(), same.Y.toarray().tolist(), same.ids.tolist()) == ([[0, 1, 1]], [[1, 0]], [7])
    assert read_label_table(new, (), schema=train.schema).n_labels == 0
    assert load_labels(new, schema=train.schema).X.tolist() == same.X.tolist()
    with pytest.raises(InvalidInputError, match="new.csv: has no column 'place', which id names"):
        read_label_table(new, "tag_", id="place")
    with pytest.raises(InvalidInputError, match="column 'tag_sea' is a label, and cannot be id"):
        read_label_table(new, ["tag_sea"], id="tag_sea")


def test_a_label_without_value_says_what_to_do(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("f,tag a,tag b\n1,0,1\n2,,1\n3,1,0\n")
    with pytest.raises(InvalidInputError, match=r"line 3.*found no value; write 0 if it is off; missing='ignore'"):
        load_labels(path, labels="tag")


@pytest.mark.parametrize("labels", [["tag_a", "tag_b"], "tag_", -2, None])
def test_labels_named_again_beside_a_schema(labels):
    """They were both labels and left out."""
    frame = pd.DataFrame({"x": [1, 2], "tag_a": [0, 1], "tag_b": [1, 1]})
    train = read_label_table(frame, "tag_")
    again = read_label_table(frame, labels, schema=train.schema)
    assert (again.feature_names, again.label_names) == (train.feature_names, train.label_names)
    assert read_label_table(frame, ["tag_b"], schema=train.schema).label_names == ("tag_b",)
    listed = pd.DataFrame({"x": [1, 2], "tags": ["a|b", "b"]})
    schema = read_label_table(listed, "tags", label_sep="|").schema
    assert read_label_table(listed, ["tags"], schema=schema).label_names == ("a", "b")
