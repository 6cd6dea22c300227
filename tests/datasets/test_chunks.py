"""Chunks of libsvm text and Parquet: the same rows whatever their number, and bounded memory."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse, random_array, vstack
from tests.children import answer_of
from tests.together import together

from cofactor.datasets import LabelChunks, load_labels, make_labels, write_chunks, write_libsvm


def make(n, seed=0, density=0.2):
    rng = np.random.default_rng(seed)
    X = csr_array(random_array((n, 30), density=density, format="csr", rng=rng))
    return X, csr_array((random_array((n, 8), density=0.3, rng=rng) > 0).astype(np.int32))


def whole(chunks):
    Xs, Ys = zip(*chunks, strict=True)
    X = vstack(Xs).toarray() if issparse(Xs[0]) else np.vstack(Xs)
    return X, vstack(Ys).toarray(), [X.shape[0] for X in Xs]


@given(
    pieces=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    rows=st.integers(1, 50),
    kind=st.sampled_from(["sparse.parquet", "dense.parquet", "text.txt"]),
)
@settings(max_examples=20)
def test_round_trip_in_chunks_of_any_size(pieces, rows, kind, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / kind
    parts = [make(n, seed) for seed, n in enumerate(pieces)]
    if kind == "dense.parquet":
        parts = [(X.toarray(), Y) for X, Y in parts]
    assert write_chunks(path, iter(parts)) == sum(pieces)
    chunks = LabelChunks(path, rows)
    X, Y, sizes = whole(chunks)
    np.testing.assert_array_equal(X, whole(parts)[0])
    np.testing.assert_array_equal(Y, whole(parts)[1])
    assert set(sizes[:-1]) <= {rows}
    assert (chunks.n_rows, chunks.n_features, chunks.n_labels) == (sum(pieces), 30, 8)
    np.testing.assert_array_equal(whole(chunks)[0], X)  # a second pass
    data = load_labels(path, sparse=False)  # all at once
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y.toarray(), Y)
    assert (data.feature_names, data.label_names) == (chunks.feature_names, chunks.label_names)


def test_forms_and_precision(tmp_path):
    X, Y = make(20)
    for dtype in (np.float32, np.float64):
        for name, part, is_sparse in (("a", X, True), ("b", X.toarray(), False)):
            path = tmp_path / f"{name}.parquet"
            write_chunks(
                path, [(part.astype(dtype), Y)], feature_names=[f"f{k}" for k in range(30)], label_names="abcdefgh"
            )
            chunks = LabelChunks(path)
            ((Xc, Yc),) = chunks
            assert issparse(Xc) == is_sparse
            assert (Xc.dtype, Yc.dtype, type(Yc)) == (dtype, np.int32, csr_array)
            assert (chunks.feature_names[3], chunks.label_names) == ("f3", tuple("abcdefgh"))


def test_plain_libsvm_needs_a_pass_beforehand_unless_told(tmp_path):
    X, Y = make(50)
    path = tmp_path / "f.svm.gz"
    write_libsvm(tmp_path / "f.svm", X, Y, header=False)
    path.write_bytes(gzip.compress((tmp_path / "f.svm").read_bytes()))
    for options in ({}, {"n_features": 30, "n_labels": 8, "zero_based": False}):
        chunks = LabelChunks(path, 7, **options)
        np.testing.assert_array_equal(whole(chunks)[0], X.toarray())
        np.testing.assert_array_equal(whole(chunks)[1], Y.toarray())
        assert chunks.n_rows is None


def test_parquet_of_other_programs(tmp_path):
    frame = pd.DataFrame({"id": ["p", "q"], "a": [1, 2], "b": [0.5, 1], "l_x": [True, False], "l_y": [0, 1]})
    frame.to_parquet(tmp_path / "f.parquet")
    ((X, Y),) = LabelChunks(tmp_path / "f.parquet", labels="l_", drop=["id"])
    assert (X.tolist(), Y.toarray().tolist(), X.dtype) == ([[1, 0.5], [2, 1]], [[1, 0], [0, 1]], np.float64)
    lists = pa.table(
        {
            "indices": [[0, 4], [], [2]],
            "values": [[1.0, 2.0], [], [3.0]],
            "labels": pa.array([[1], [0, 3], []], pa.large_list(pa.int64())),
        }
    )
    pa.parquet.write_table(lists, tmp_path / "l.parquet", row_group_size=2)
    X, Y, sizes = whole(LabelChunks(tmp_path / "l.parquet", 2))
    assert X.tolist() == [[1, 0, 0, 0, 2], [0] * 5, [0, 0, 3, 0, 0]]
    assert (Y.tolist(), sizes) == ([[0, 1, 0, 0], [1, 0, 0, 1], [0] * 4], [2, 1])
    assert LabelChunks(tmp_path / "l.parquet", n_features=9, n_labels=7).n_features == 9
    assert load_labels(tmp_path / "l.parquet").X.shape == (3, 5)


@together(
    ("columns", "options", "message"),
    [
        ({"a": [1.0], "l": [1]}, {}, "which of the 2 columns are labels"),
        ({"a": [1.0], "l": [1]}, {"labels": "tag"}, "no column begins with labels='tag'"),
        ({"a": [1.0], "l": [1]}, {"labels": ["m"]}, "has no column 'm'"),
        ({"a": ["x"], "l": [1]}, {"labels": "l"}, "column 'a': has type .*chunks need features of numbers"),
        ({"a": [1.0, None], "l": [1, 0]}, {"labels": "l"}, "row 2, column 'a': no value"),
        ({"a": [1.0, np.inf], "l": [1, 0]}, {"labels": "l"}, "row 2, column 'a': expected a finite number, found inf"),
        ({"a": [1.0, 2.0], "l": [1, 3]}, {"labels": "l"}, "row 2, column 'l': expected a label, .*found 3"),
        (
            {"indices": [[0]], "values": [[1.0, 2.0]], "labels": [[0]]},
            {},
            "row 1: indices and values have different lengths",
        ),
        ({"indices": [[0], None], "values": [[1.0], []], "labels": [[0], []]}, {}, "row 2, column 'indices': no value"),
        (
            {"indices": [[0], [3]], "values": [[1.0], [1.0]], "labels": [[0], []]},
            {"n_features": 3, "n_labels": 1},
            "row 2: the index 3 is outside of 0 to 2",
        ),
        (
            {"indices": [[0], [1, 1]], "values": [[1.0], [1.0, 1.0]], "labels": [[0], []]},
            {},
            "row 2: the index 1 occurs twice",
        ),
        (
            {"indices": [[0], [1]], "values": [[1.0], [np.nan]], "labels": [[0], []]},
            {},
            "row 2: a value is NaN or infinite",
        ),
        ({"indices": [[0.5]], "values": [[1.0]], "labels": [[0]]}, {}, "indices and labels must be lists of integers"),
    ],
)
def test_faults_in_parquet(tmp_path, columns, options, message):
    path = tmp_path / "file.parquet"
    table = pa.table({name: pa.array(values, from_pandas=False) for name, values in columns.items()})
    pa.parquet.write_table(table, path)
    with pytest.raises(ValueError, match=f"file.parquet.*{message}"):
        list(LabelChunks(path, **options))


def test_faults_of_files(tmp_path):
    X, Y = make(2000)
    path = tmp_path / "file.parquet"
    write_chunks(path, [(X, Y)])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="damaged or cut short"):
        LabelChunks(path)
    path.write_text("3 30 8\n0 0:1\n0 x:1\n0 1:1\n")
    with pytest.raises(ValueError, match="file.parquet, line 3: expected an index"):
        list(LabelChunks(path))
    with pytest.raises(ValueError, match="labels and drop are for Parquet"):
        LabelChunks(path, labels="l")
    with pytest.raises(ValueError, match="standard input cannot be read"):
        LabelChunks("-")
    with pytest.raises(TypeError, match="expected the path of a file, found a list; give .*to fit itself"):
        LabelChunks([(X, Y)])
    for first in ("f,tag_a\n1.5,0\n", "0.5,1\n", "@relation tags\n"):
        other = tmp_path / "s.csv"
        other.write_text(first)
        with pytest.raises(ValueError, match=r"s\.csv: is neither libsvm text nor Parquet"):
            LabelChunks(other)
    with pytest.raises(ValueError, match="chunk_rows=0: must be at least 1"):
        LabelChunks(path, 0)
    with pytest.raises(FileNotFoundError):
        LabelChunks(tmp_path / "none")


@pytest.mark.parametrize("suffix", [".txt", ".parquet"])
def test_what_cannot_be_written_leaves_nothing(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    X, Y = make(5)
    with pytest.raises(ValueError, match="there are no chunks"):
        write_chunks(path, [])
    with pytest.raises(ValueError, match="a chunk has 29 features and 8 labels"):
        write_chunks(path, [(X, Y), (X[:, :29], Y)])
    with pytest.raises(ValueError, match="labels must be"):
        write_chunks(path, [(X, Y * 2)])
    with pytest.raises(ValueError, match="names"):
        write_chunks(path, [(X, Y)], feature_names=["a"])
    assert list(tmp_path.iterdir()) == []


PEAKS = """
from pathlib import Path
from cofactor.datasets import LabelChunks
found = []
for path in paths:
    n_rows = sum(X.shape[0] for X, Y in LabelChunks(path, 2000))
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    found.append((n_rows, int(status["VmHWM"].split()[0])))
answer.send(found)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("suffix", [".txt", ".parquet"])
@pytest.mark.evidence
@pytest.mark.processes
def test_memory_does_not_grow_with_the_file(tmp_path, suffix):
    """The peak after reading 20,000 rows, then 60,000, grows by less than 10 MB; these take 24 MB more."""
    data, _ = make_labels(2500, 500, 20, density=0.1, random_state=0)
    X = data.X.copy()
    X.data = np.round(X.data, 3)
    paths = [tmp_path / f"{times}{suffix}" for times in (8, 24)]
    for path in paths:
        if suffix == ".txt":  # the same text again and again, since writing numbers takes long
            write_libsvm(tmp_path / "part", X, data.Y)
            lines = (tmp_path / "part").read_text().partition("\n")[2]
            path.write_text(f"{2500 * int(path.stem)} 500 20\n" + lines * int(path.stem))
        else:
            write_chunks(path, ((X, data.Y) for _ in range(int(path.stem))))
    (n, peak), (n_more, peak_more) = answer_of(PEAKS, paths=paths)
    assert (n, n_more) == (20_000, 60_000)
    assert peak_more < peak + 10_000
