"""Files which are damaged, forged or out of all proportion, through all readers.

A reader may refuse a file by `InvalidInputError`, and must do so in seconds and in bounded memory. The suite tries a
sample of changed files; ``COFACTOR_HOSTILE=50000`` tries so many, ``COFACTOR_HOSTILE_FIRST`` is the first seed.
"""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array, csr_array
from tests.hostile.mutations import failures, mutated

from cofactor.datasets import (
    LabelChunks,
    load_jester,
    load_labels,
    load_movielens,
    read_arff,
    read_label_names,
    read_label_table,
    read_libsvm,
    read_mat,
    read_pairs,
    read_ratings,
    write_chunks,
)
from cofactor.datasets.formats import open_data
from cofactor.errors import InvalidInputError
from cofactor.service.rating_files import read_titles

N_TRIALS = int(os.environ.get("COFACTOR_HOSTILE", "250"))
FIRST = int(os.environ.get("COFACTOR_HOSTILE_FIRST", "0"))

RATINGS = b"user,item,rating,time\nann,12,4,881250949\nbob,12,3.5,891717742\nann,7,1,878887116\n"
VOTES = b"user,item,rating\nann,12,yes\nbob,12,no\nann,7,Yes\n"
ARFF = b"""% beach
@relation 'beach: -C 2'
@attribute sea {0,1}
@attribute 'sun, or "sol"' {no,yes}
@attribute wind numeric
@attribute sky {clear, 'light grey',dark}
@data
1,no,3.5,clear
0,yes,0,'light grey'
1,yes,-2e3,dark
"""
SPARSE_ARFF = b"""@relation 'beach: -C -1'
@attribute wind real
@attribute sky {clear,grey}
@attribute sea {0,1}
@data
{0 1.5,1 grey,2 1}
{2 1}
{}
"""
XML = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="x"><label name="sea"><label name="surf"/></label></labels>'
)
NOTES = b'body,age,sky,tags\n"Red sea, red sun",3.5,grey,a|b\nRed sun,NA,blue,\n"sea\n sun",2,,b||a\n'
LABELS = b'wind,sky,is_sea,"is_sun, or sol"\n3.5,grey,1,0\n0,blue,1,1\n2,blue,0,1\n'
SVM = b"0,1 2:0.5 7:1e-3\n1 0:1 3:2.25\n 4:-1\n0 1:3 # sea\n"
SIZED = b"3 8 2\n0,1 2:0.5 7:1e-3\n0:1 3:2.25\n1 4:-1\n"
MOVIES = b'movieId,title,genres\n1,"Toy Story, or so (1995)",Comedy\n2,Heat,Crime\n'
STARS = b"userId,movieId,rating,timestamp\n1,1,4.0,964982703\n2,2,3.5,964982704\n"
JESTER = b"".join(b",".join([b"2", b"-7.5", b"9.95", *[b"99"] * 98]) + b"\n" for _ in range(3))

X = np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.25], [3.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
Y = np.array([[1, 0], [0, 0], [1, 1], [0, 1]])


def mat(X: Any, Y: Any, packed: bool) -> bytes:
    stream = io.BytesIO()
    savemat(stream, {"X": X, "Y": Y, "note": "beach"}, do_compression=packed)
    return stream.getvalue()


def parquet(**columns: Any) -> bytes:
    stream = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def chunked(X: Any, Y: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        write_chunks(Path(folder, "f.parquet"), [(X, Y)])
        return Path(folder, "f.parquet").read_bytes()


def iterate(path: Path, **options: Any) -> None:
    for _ in LabelChunks(path, 2, **options):
        pass


def films(path: Path) -> None:
    ratings = path.with_name("ratings.csv")
    ratings.write_bytes(STARS)
    path.rename(path.with_name("movies.csv"))
    load_movielens("latest-small", path.parent)


def jokes(path: Path) -> None:
    path.rename(path.with_name("jester-data-1.csv"))
    load_jester(path.parent, bins=5)


@lru_cache
def cases() -> list[tuple[bytes, Callable[[Path], Any]]]:
    """Valid files, each with a reader."""
    notes = {"body": ["Red sea", "red sea", "sun"], "age": [1, 2, None], "sky": ["grey", "blue", None]}
    frame = pd.DataFrame({**notes, "tags": ["a|b", "a", ""]})
    schema = load_labels(frame, "tags", label_sep="|", text="body").schema
    lists = chunked(csr_array(X), csr_array(Y))
    columns = chunked(X, Y)
    stars = parquet(user=["ann", "bob", "ann"], item=[1, 2, 3], rating=[4.0, 3.5, 1.0], time=[1, 2, 3])
    words = parquet(wind=[0.5, 1.5], sky=pa.array(["grey", "blue"]).dictionary_encode(), is_sea=[True, False])
    return [
        (RATINGS, read_ratings),
        (RATINGS, read_pairs),
        (RATINGS, lambda path: read_ratings(path, bins=2)),
        (RATINGS, lambda path: read_ratings(path, bins=2, bin_by="log")),
        (RATINGS, lambda path: read_ratings(path, bins=2, bin_by="quantile", drop_rating=1)),
        (VOTES, read_ratings),
        (VOTES, lambda path: read_ratings(path, scale=["no", "yes"])),
        (RATINGS.replace(b",", b"::"), read_ratings),
        (RATINGS.replace(b",", b" "), lambda path: read_ratings(path, ids="each")),
        (b'"ann","sea, or sol",4\n"bob",7,3\n', lambda path: read_ratings(path, ids="str")),
        (gzip.compress(RATINGS), read_ratings),
        (RATINGS.decode().encode("utf-16"), lambda path: read_ratings(path, encoding="utf-16")),
        (stars, read_ratings),
        (stars, read_pairs),
        (ARFF, read_arff),
        (ARFF, load_labels),
        (SPARSE_ARFF, read_arff),
        (gzip.compress(SPARSE_ARFF), load_labels),
        (XML, read_label_names),
        (LABELS, lambda path: read_label_table(path, "is_")),
        (LABELS, lambda path: read_label_table(path, -1)),
        (NOTES, lambda path: load_labels(path, "tags", label_sep="|", text="body", ngrams=2)),
        (NOTES, lambda path: load_labels(path, schema=schema)),
        (words, lambda path: read_label_table(path, "is_")),
        (SVM, read_libsvm),
        (SIZED, read_libsvm),
        (SVM, iterate),
        (SIZED, load_labels),
        (gzip.compress(SIZED), iterate),
        (lists, iterate),
        (columns, iterate),
        (lists, load_labels),
        (columns, load_labels),
        (words.replace(b"grey", b"gr\xffy"), lambda path: iterate(path, labels="is_", drop=["sky"])),
        (mat(X, Y, False), read_mat),
        (mat(X, Y, True), read_mat),
        (mat(csc_array(X), csc_array(Y * 1.0), False), read_mat),
        (mat(csc_array(X), csc_array(Y * 1.0), True), load_labels),
        (MOVIES, films),
        (JESTER, jokes),
        (RATINGS, open_data),
    ]


def read_changed(seed: int) -> None:
    """Change one of the files by a seed, and read it."""
    data, read = cases()[seed % len(cases())]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "f.dat")
        path.write_bytes(mutated(data, np.random.default_rng(seed)))
        with suppress(InvalidInputError):
            read(path)


def test_valid_files_are_read(tmp_path):
    for k, (data, read) in enumerate(cases()):
        path = tmp_path / str(k) / "f.dat"
        path.parent.mkdir()
        path.write_bytes(data)
        read(path)


@pytest.mark.timeout(0 if N_TRIALS > 1000 else 300)
@pytest.mark.processes
def test_changed_files_are_read_or_refused():
    assert failures(read_changed, range(FIRST, FIRST + N_TRIALS)) == []


def refused(read: Callable[[Path], Any], path: Path, data: bytes) -> str:
    """Return the message by which a reader refuses a file; it must name the file."""
    path.write_bytes(data)
    with pytest.raises(InvalidInputError) as error:
        read(path)
    assert path.name in str(error.value)
    return str(error.value)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("values", [b" " * 4000, b"a" + b" " * 4000 + b"b", b"'" + b" " * 4000, b"a," * 4000])
def test_time_for_nominal_values_grows_with_their_number(values, tmp_path):
    arff = b"@relation r\n@attribute a {" + values + b"\n@data\n1\n"
    assert "line 2" in refused(read_arff, tmp_path / "f.arff", arff)


@pytest.mark.timeout(10)
def test_time_for_equal_names_grows_with_their_number(tmp_path):
    names = [*map(str, range(30_000))]
    table = ",".join([f"c{name}" for name in names] * 2) + "\n" + ",".join(["1"] * 60_000) + "\n"
    message = refused(lambda path: read_label_table(path, -1, max_values=30), tmp_path / "f.csv", table.encode())
    assert "two columns are named 'c0'" in message
    values = ",".join([*names, *names[-2:]])
    arff = f"@relation r\n@attribute a {{{values}}}\n@data\n1\n"
    assert "'29998' is listed twice" in refused(read_arff, tmp_path / "f.arff", arff.encode())


@pytest.mark.parametrize("read", [read_libsvm, iterate])
def test_columns_out_of_proportion(read, tmp_path, monkeypatch):
    path = tmp_path / "f.svm"
    assert "line 1: announces 100000000000 features, and more than" in refused(read, path, b"1 100000000000 2\n0 0:1\n")
    assert "announces 5000000 labels" in refused(read, path, b"1 3 5000000\n0 0:1\n")
    message = refused(read, path, b"0 0:1\n1 16777216:1\n")
    assert "line 2: the index 16777216 is out of all proportion" in message
    assert "give n_features or set the environment variable COFACTOR_MAX_COLUMNS" in message
    path.write_bytes(b"1 7 2\n0 0:1\n")
    monkeypatch.setenv("COFACTOR_MAX_COLUMNS", "6")
    with pytest.raises(InvalidInputError, match="announces 7 features, and more than 6 columns"):
        read(path)
    assert read(path, n_features=7) is None or read(path, n_features=7).n_features == 7
    monkeypatch.setenv("COFACTOR_MAX_COLUMNS", "7")
    read(path)
    monkeypatch.setenv("COFACTOR_MAX_COLUMNS", "²")
    with pytest.raises(InvalidInputError, match="COFACTOR_MAX_COLUMNS='²': expected a whole number"):
        read(path)


@pytest.mark.parametrize("read", [read_ratings, read_libsvm, iterate, read_arff, read_mat])
def test_what_unpacks_out_of_proportion(read, tmp_path, monkeypatch):
    content = (SIZED if read in (read_libsvm, iterate) else b"1,2,3\n") + b"\n" * (5 << 14)
    data = mat(np.zeros((400, 400)), np.eye(400), True) if read is read_mat else gzip.compress(content)
    monkeypatch.setenv("COFACTOR_MAX_UNPACKED", str(1 << 16))
    message = refused(read, tmp_path / "f.gz", data)
    assert "is out of all proportion, and more than 65,536 bytes unpacked are refused" in message
    assert "COFACTOR_MAX_UNPACKED" in message
    monkeypatch.delenv("COFACTOR_MAX_UNPACKED")
    with suppress(InvalidInputError):  # of the ARFF reader
        read(tmp_path / "f.gz")


def test_cells_out_of_proportion(tmp_path, monkeypatch):
    monkeypatch.setenv("COFACTOR_MAX_CELLS", "300")
    values = ",".join(f"v{k}" for k in range(30))
    rows = "".join(f"v{k},1\n" for k in range(19)) + "v0,0\n"
    arff = f"@relation 'r: -C -1'\n@attribute a {{{values}}}\n@attribute y {{0,1}}\n@data\n{rows}"
    message = refused(partial(read_arff, max_values=30), tmp_path / "f.arff", arff.encode())
    assert "make 30 columns of 2 attributes, and more than 300 cells are refused" in message
    table = "a,y\n" + rows
    assert "values of column 'a'" in refused(
        lambda path: read_label_table(path, -1, max_values=30), tmp_path / "f.csv", table.encode()
    )
    svm = b"1 2 2\n0 0:1\n".replace(b"2 2", b"400 2")
    assert "400 cells" in refused(lambda path: read_libsvm(path, sparse=False), tmp_path / "f.svm", svm)
    read_libsvm(tmp_path / "f.svm")
    stars = parquet(user=[1] * 101, item=list(range(101)), rating=[1.0] * 101)
    assert "has 303 cells" in refused(read_ratings, tmp_path / "f.parquet", stars)
    monkeypatch.setenv("COFACTOR_MAX_CELLS", "303")
    assert len(read_ratings(tmp_path / "f.parquet").y) == 101


@pytest.mark.processes
def test_long_text_in_many_rows_is_held_once(tmp_path):
    users = pa.DictionaryArray.from_arrays(np.zeros(100_000, dtype=np.int32), pa.array(["x" * 100_000]))
    stars = parquet(user=users, item=np.arange(100_000), rating=[1.0, 2.0] * 50_000)
    (tmp_path / "f.parquet").write_bytes(stars)  # .3 MB, and 10 GB if each row had its own text

    assert not failures(partial(_read_ratings_of_one_user, tmp_path / "f.parquet"), [0])


def _read_ratings_of_one_user(path: Path, seed: int) -> None:
    assert read_ratings(path).n_users == 1


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("row", [4, 5, 1000, -1])
def test_rows_outside_of_a_sparse_matrix(row, packed, tmp_path):
    matrix = csc_array(X)
    matrix.indices[1] = row
    message = refused(read_mat, tmp_path / "f.mat", mat(matrix, Y, packed))
    assert "damaged or cut short (X has an entry outside of its 4 rows)" in message


def test_sides_and_columns_of_a_sparse_matrix(tmp_path):
    whole = mat(csc_array(X), Y, False)
    shape, path = np.array([4, 3], dtype="<i4").tobytes(), tmp_path / "f.mat"
    for sides, message in (
        ((2**31 - 1, 3), "2147483647, 3) for 7 entries, and more than 4,194,304 columns"),
        ((4, 4), "columns do not fit"),
        ((-4, 3), "has the shape"),
    ):
        forged = whole.replace(shape, np.array(sides, dtype="<i4").tobytes(), 1)
        assert message in refused(read_mat, path, forged)


@pytest.mark.parametrize("name", [b"UTF-99", b"rot13", b"shift_jis", b"idna", b"base64"])
def test_unknown_encodings_of_xml(name, tmp_path):
    message = refused(read_label_names, tmp_path / "f.xml", XML.replace(b"utf-8", name))
    assert "is not a well-formed XML file" in message


@pytest.mark.parametrize("encoding", ["base64", "rot13", "idna", "punycode", "utf-7", "x\0"])
def test_odd_encodings_of_text(encoding, tmp_path):
    (tmp_path / "f.csv").write_bytes(b"a,b,3\n+2AA-,\x81,2\n")
    with pytest.raises(InvalidInputError):
        read_ratings(tmp_path / "f.csv", encoding=encoding)


def test_cells_which_are_too_long(tmp_path):
    long = b"9" * 200_000
    for text, line in ((b"1,2,3\n4,%s,5\n", 2), (b"1,2,3\n1,2,3\n4,%s\n", 3), (b'1,2,3\n"%s\n', 2)):
        assert f"f.csv, line {line}" in refused(read_ratings, tmp_path / "f.csv", text % long)
    for reader in (read_libsvm, iterate):
        assert "line 2" in refused(reader, tmp_path / "f.svm", b"1 3:1\n%s 4:1\n" % long)
        assert "line 1" in refused(reader, tmp_path / "f.svm", b"%s 2 3\n1 3:1\n" % long)


@pytest.mark.parametrize("ids", ["auto", "each", "str"])
def test_ids_of_more_digits_than_python_turns_into_numbers(ids, tmp_path):
    (tmp_path / "f.csv").write_bytes(b"1,%s,3\n2,7,4\n" % (b"9" * 5000))
    assert read_ratings(tmp_path / "f.csv", ids=ids).X[0, 1] == "9" * 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'movieId,title,genres\n1,"Toy', "line 2: unexpected end of data; is a quotation mark missing"),
        (b"movieId,title,genres\n%s,Heat,Crime\n" % (b"9" * 5000), "line 2: expected an item id and a title"),
        (b"movieId,title,genres\n1,%s,Crime\n" % (b"x" * 200_000), "line 2: field larger"),
    ],
)
def test_titles(text, message, tmp_path):
    (tmp_path / "ratings.csv").write_bytes(STARS)
    assert message in refused(lambda path: load_movielens("latest-small", path.parent), tmp_path / "movies.csv", text)


def test_titles_of_recommendations(tmp_path):
    long = b"7," + b"x" * 200_000 + b"\n"
    assert "field larger" in refused(lambda path: read_titles(str(path), "utf-8"), tmp_path / "titles.csv", long)


@pytest.mark.parametrize("cell", [b"", b"x", b"nan", b"inf", b"1e999", b"9" * 5000, b'"', b"\xff"])
def test_cells_of_jester(cell, tmp_path):
    for place in (b"2", b"-7.5"):
        data = JESTER.replace(place, cell, 1)
        message = refused(lambda path: load_jester(path.parent), tmp_path / "jester-data-1.csv", data)
        assert "line 1" in message


@pytest.mark.parametrize("read", [read_ratings, read_pairs])
def test_text_in_parquet_which_is_not_utf8(read, tmp_path):
    data = parquet(user=["aaaa", "bbbb"], item=[1, 2], rating=[1.0, 2.0]).replace(b"aaaa", b"a\xffaa")
    assert "Parquet file is damaged" in refused(read, tmp_path / "f.parquet", data)


@pytest.mark.parametrize(
    "stored", [b"{", b"[]", b"7", b'{"features": 3}', b"\xff", b'{"features": [1], "labels": [2]}']
)
@pytest.mark.parametrize("read", [iterate, load_labels, open_data])
def test_odd_names_in_parquet(read, stored, tmp_path):
    lists = pa.list_(pa.int32()), pa.list_(pa.float64()), pa.list_(pa.int32())
    fields = [pa.field(name, kind) for name, kind in zip(("indices", "values", "labels"), lists, strict=True)]
    table = pa.table([[[0, 2]], [[1.0, 2.0]], [[1]]], schema=pa.schema(fields, metadata={b"cofactor": stored}))
    pa.parquet.write_table(table, tmp_path / "f.parquet")
    read(tmp_path / "f.parquet")


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.list_(pa.int32())), pa.list_(pa.int32(), 2), pa.list_(pa.string()), pa.string(), pa.date32()]
)
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("read", [iterate, load_labels])
def test_odd_lists_in_parquet(read, at, kind, tmp_path):
    kinds = [pa.list_(pa.int32()), pa.list_(pa.float64()), pa.list_(pa.int32())]
    kinds[at] = kind
    columns = [pa.nulls(2, kind) if k == at else pa.array([[0], [1]], kind) for k, kind in enumerate(kinds)]
    pa.parquet.write_table(pa.table(columns, names=["indices", "values", "labels"]), tmp_path / "f.parquet")
    with pytest.raises(InvalidInputError):
        read(tmp_path / "f.parquet")


@pytest.mark.parametrize("kind", [pa.timestamp("us", tz="No/Where"), pa.timestamp("ns"), pa.uint64(), pa.date64()])
def test_odd_times_in_parquet(kind, tmp_path):
    times = pa.array([2**63 - 1, 1], pa.uint64() if kind == pa.uint64() else pa.int64()).cast(kind, safe=False)
    table = pa.table({"user": [1, 2], "item": [1, 2], "rating": [1.0, 2.0], "time": times})
    pa.parquet.write_table(table, tmp_path / "f.parquet")
    with suppress(InvalidInputError):
        read_ratings(tmp_path / "f.parquet")
