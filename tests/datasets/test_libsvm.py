"""libsvm multi-label and extreme-classification text: both ways of parsing, sizes, bases, bad lines."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file
from tests.together import together

from cofactor.datasets import read_libsvm, write_libsvm
from cofactor.datasets.readers import svmlight
from cofactor.files import opened


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "file.svm"
        path.write_text(text)
        return path

    return write


rows = st.lists(
    st.tuples(
        st.lists(st.integers(0, 40), unique=True, max_size=4),
        st.dictionaries(
            st.integers(0, 99), st.floats(allow_nan=False, allow_infinity=False, width=32).filter(bool), max_size=6
        ),
    ),
    min_size=1,
    max_size=12,
)


def line_of(labels, pairs, blank=" "):
    words = [f"{j}:{v!r}" for j, v in pairs.items()]
    return blank.join([",".join(map(str, labels)), *words] if labels else words)


@given(rows=rows, keep_blank=st.booleans(), blank=st.sampled_from([" ", "  ", "\t"]))
@settings(max_examples=60)
def test_the_fast_way_equals_the_careful_one(rows, keep_blank, blank):
    ordered = [(sorted(labels), dict(sorted(pairs.items()))) for labels, pairs in rows]
    ordered = [row for row in ordered if any(row) or not keep_blank]
    text = "".join(line_of(*row, blank) + "\n" for row in ordered).encode()
    fast = svmlight._fast(text, 1, keep_blank)
    careful = svmlight._careful(text, 1, "file", keep_blank)
    assert fast is not None
    for name in ("n_labels", "labels", "n_entries", "indices", "values", "lines"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(careful, name), err_msg=name)


@given(text=st.text("019.:,-+eE #\n\t\rx", max_size=40))
@example(" 0.")  # a label is an integer after blanks, too
@settings(max_examples=400)
def test_what_the_fast_way_accepts_the_careful_one_reads_alike(text):
    data = text.encode() + b"\n"
    fast = svmlight._fast(data, 1, True)
    try:
        careful = svmlight._careful(data, 1, "file", True)
    except ValueError:
        assert fast is None
        return
    if fast is not None:
        owner = np.repeat(np.arange(len(careful.n_labels)), careful.n_labels)
        in_order = replace(careful, labels=careful.labels[np.lexsort((careful.labels, owner))])
        for name in ("n_labels", "labels", "n_entries", "indices", "values", "lines"):
            np.testing.assert_array_equal(getattr(fast, name), getattr(in_order, name), err_msg=name)


@given(
    value=st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.decimals(allow_nan=False, allow_infinity=False, places=12).map(str),
        st.sampled_from(
            ["0.1", "1e22", "1e23", "123456789012345", "1234567890123456", "00.5", "5.", ".5", "-0", "1e-400"]
        ),
    )
)
@settings(max_examples=120)
def test_every_number_is_rounded_as_python_does(value):
    block = svmlight.parse(f"0:{value}\n".encode(), 1, "file", False)
    assert block.values.tolist() == [float(value)]


@given(rows=rows, header=st.booleans(), size=st.integers(1, 60))
@settings(max_examples=25)
def test_round_trip_in_blocks_of_any_size(rows, header, size, tmp_path_factory):
    X, Y = np.zeros((len(rows), 100)), np.zeros((len(rows), 41))
    for i, (labels, pairs) in enumerate(rows):
        Y[i, labels] = 1
        X[i, list(pairs)] = list(pairs.values())
    path = tmp_path_factory.getbasetemp() / "f.svm"
    write_libsvm(path, X, csr_array(Y), header=header)
    data = read_libsvm(path, **({} if header else {"n_features": 100, "n_labels": 41, "zero_based": False}))
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.Y.toarray(), Y)
    with opened(path) as stream:
        sizes, blocks = svmlight.read_blocks(stream, "file", size)
        assert sum(len(block.lines) for block in blocks) == len(rows)
        assert (sizes is not None) == header


def test_float32_is_written_with_its_own_digits(tmp_path):
    X = csr_array(np.array([[0.1, 0.0], [1 / 3, 2.0]], dtype=np.float32))
    write_libsvm(tmp_path / "f.svm", X, np.ones((2, 1)))
    assert (tmp_path / "f.svm").read_text().split("\n")[1:3] == ["0 0:0.1", "0 0:0.33333334 1:2.0"]
    assert (read_libsvm(tmp_path / "f.svm").X.toarray().astype(np.float32) == X.toarray()).all()


def test_equals_scikit_learn(write):
    path = write("1,3 5:0.2 7:1e-3\n2 1:1\n1 2:3 # a remark\n3,2 4:-.5\n")
    X, y = load_svmlight_file(str(path), multilabel=True)
    data = read_libsvm(path)
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())
    assert [tuple((row.nonzero()[0] + 1).astype(float)) for row in data.Y.toarray()] == [
        tuple(sorted(labels)) for labels in y
    ]


def test_instances_without_labels_or_features(write):
    data = read_libsvm(write("4 3 2\n0 0:1\n 1:2 2:3\n\n1\n"))
    assert data.Y.toarray().tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]
    assert data.X.toarray().tolist() == [[1, 0, 0], [0, 2, 3], [0, 0, 0], [0, 0, 0]]
    plain = read_libsvm(write("\n2 1:1\n\n1:4 # c\n"))  # without sizes, blank lines are none
    assert plain.Y.toarray().tolist() == [[0, 1], [0, 0]]


def test_bases(write):
    path = write("1 1:1\n3 4:1\n")
    assert read_libsvm(path).X.shape == (2, 4)
    assert read_libsvm(path).n_labels == 3
    assert read_libsvm(path, zero_based=True).X.shape == (2, 5)
    assert read_libsvm(path, n_features=9, n_labels=7).Y.shape == (2, 7)
    assert read_libsvm(write("0 1:1\n3 4:1\n")).Y.shape == (2, 4)  # labels from 0, indices from 1
    with pytest.raises(ValueError, match="zero_based='no': not known"):
        read_libsvm(path, zero_based="no")


def test_gzip(tmp_path):
    path = tmp_path / "f.txt.gz"
    path.write_bytes(gzip.compress(b"1 2 2\n0 0:1\n"))
    assert read_libsvm(path).X.shape == (1, 2)
    path.write_bytes(gzip.compress(b"1 2 2\n0 0:1\n" * 50)[:-9])
    with pytest.raises(ValueError, match="gzip file is cut short"):
        read_libsvm(path)


@together(
    ("text", "message"),
    [
        ("1 1:1\n1 2:x\n", "line 2: expected a finite number after the colon, found 'x'"),
        ("1 1:1\n1 2:nan\n", "line 2: expected a finite number"),
        ("1 1:1\n1 2:1e999\n", "line 2: expected a finite number"),
        ("1 1:1\n1 2:\n", "line 2: expected a finite number after the colon, found ''"),
        ("1 1:1\n1 2:3 4\n", "line 2: expected index:value, found '4'; labels are joined by commas"),
        ("1 1:1\n1 2 3:4\n", "line 2: expected index:value, found '2'"),
        ("1, 2:3\n", "line 1: expected a label.*found none"),
        ("-1 2:3\n", "line 1: expected a label, which is an integer from 0, found '-1'"),
        ("1.5 2:3\n", "line 1: expected a label"),
        ("1 -2:3\n", "line 1: expected an index"),
        ("1 qid:3\n", "line 1: expected an index"),
        ("1 99999999999:3\n", "line 1: the index 99999999999 is larger than"),
        ("1 2:3 2:4\n", "line 1: the index 2 occurs twice"),
        ("1 2:3\n\n1,1 2:4\n", "line 3: the label 1 occurs twice"),
        ("2 3 2\n0 0:1\n", "announces 2 rows, found 1; is the file cut short?"),
        ("1 3 2\n0 0:1\n\n\n1 0:1\n", "line 5: more rows than the 1 which the first line announces"),
        ("1 3 2\n0 3:1\n", "line 2: the index 3 is outside of 0 to 2; give n_features or zero_based"),
        ("1 3 2\n2 0:1\n", "line 2: the label 2 is outside of 0 to 1; give n_labels"),
        ("0 3 2\n", "the file holds no instances, only sizes"),
        ("0 1:1\n\n1 1:1 2000000000:1\n", "line 3: the index 2000000000 is out of all proportion"),
        ("0 1:1\n1000000000 1:1\n", "line 2: the label 1000000000 is out of all proportion"),
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
    ],
)
def test_faults_name_file_and_line(write, text, message):
    with pytest.raises(ValueError, match=f"file.svm.*{message}"):
        read_libsvm(write(text))


def test_options_which_contradict_the_file(write):
    path = write("1 3 2\n0 0:1\n")
    with pytest.raises(ValueError, match="line 1: announces 3 features, but it should be n_features=4"):
        read_libsvm(path, n_features=4)
    with pytest.raises(ValueError, match="n_labels=-1: must be at least 0"):
        read_libsvm(write("1 1:1\n"), n_labels=-1)
    with pytest.raises(ValueError, match="line 1: the index 4 is outside of 1 to 3"):
        read_libsvm(write("1 4:1\n2 1:1\n"), n_features=3)


def test_what_cannot_be_written(tmp_path):
    path = tmp_path / "f.svm"
    with pytest.raises(ValueError, match="X has 2 rows, Y has 3"):
        write_libsvm(path, np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="Y: labels must be 0/1, -1/.1 or booleans, found 0.5"):
        write_libsvm(path, np.eye(2), np.eye(2) / 2)
    with pytest.raises(ValueError, match="X is NaN or infinite"):
        write_libsvm(path, np.full((1, 1), np.nan), np.eye(1))
    with pytest.raises(ValueError, match="zero_based=False contradicts header=True"):
        write_libsvm(path, np.eye(2), np.eye(2), zero_based=False)
    assert not path.exists()
