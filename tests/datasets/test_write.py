"""Writing tables: content, all or nothing, Parquet both ways."""

import csv
import errno
import gzip
import io
import os
import stat
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.together import together

from cofactor import files as _bytes
from cofactor.datasets import load_labels, read_pairs, read_ratings, write_blocks, write_table
from cofactor.errors import InputWarning, InvalidInputError, InvalidTypeError

COLUMNS = {
    "user": np.array(["ann", "bob, jr"], dtype=object),
    "item": np.array([1, 2]),
    "rating": [3.5, 0.1 + 0.2],
}


def test_text_formats(tmp_path):
    write_table(tmp_path / "a.csv", COLUMNS)
    assert (tmp_path / "a.csv").read_bytes() == b'user,item,rating\nann,1,3.5\n"bob, jr",2,0.30000000000000004\n'
    write_table(tmp_path / "a.TSV", COLUMNS)
    assert (tmp_path / "a.TSV").read_text() == "user\titem\trating\nann\t1\t3.5\nbob, jr\t2\t0.30000000000000004\n"
    write_table(tmp_path / "a.csv.gz", COLUMNS)
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == (tmp_path / "a.csv").read_bytes()


def test_missing_numbers_are_empty_cells(tmp_path):
    for safe in (False, True):
        write_table(tmp_path / "a.csv", {"name": ["x", "y"], "value": [np.nan, 0.5]}, safe_csv=safe)
        assert pd.read_csv(tmp_path / "a.csv").equals(pd.DataFrame({"name": ["x", "y"], "value": [np.nan, 0.5]}))
        assert "nan" not in (tmp_path / "a.csv").read_text()


@pytest.mark.parametrize("name", ["tag a|b|c", "tag\ta", "tag a::b", "tag a;b;c", 'tag "a", b'])
def test_separators_in_names_do_not_part_columns(name, tmp_path):
    write_table(tmp_path / "a.csv", {"x": [0.5, 1.5, 2.0], name: [1, 0, 1]})
    assert load_labels(tmp_path / "a.csv", "tag").label_names == (name,)


def test_standard_output(capsys):
    write_table("-", {"item": [1], "score": np.array([0.5], dtype=np.float32)})
    assert capsys.readouterr().out == "item,score\n1,0.5\n"


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.pq"])
@given(
    users=st.lists(st.text(alphabet="ab,\"'\té", min_size=1).map(lambda s: f"u{s}u"), min_size=1, max_size=6),
    seed=st.integers(0, 10**6),
)
@settings(max_examples=25)
def test_round_trip(name, users, seed, tmp_path_factory):
    path = tmp_path_factory.mktemp("trip") / name
    rng = np.random.default_rng(seed)
    items = rng.integers(-(2**62), 2**62, size=len(users))
    y = rng.standard_normal(len(users))
    write_table(path, {"user": users, "item": items, "rating": y})
    data = read_ratings(path)
    assert data.X.tolist() == [list(pair) for pair in zip(users, items.tolist(), strict=True)]
    np.testing.assert_array_equal(data.y, y)
    assert os.listdir(path.parent) == [name]


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("t.xlsx", {"a": [1]}, r"t\.xlsx: cannot tell the format from the suffix; use \.csv"),
        ("t", {"a": [1]}, "cannot tell the format"),
        ("t.parquet.gz", {"a": [1]}, "cannot tell the format"),
        ("t.csv", {}, "columns is empty"),
        ("t.csv", {"a": [1], "b": [1, 2]}, "same length, found a: 1, b: 2"),
        ("t.csv", {"a": [[1]]}, "column 'a' has shape"),
        ("t.parquet", {"a": np.array([1, "x"], dtype=object)}, "Parquet cannot hold a column of mixed types"),
    ],
)
def test_bad_tables_leave_nothing(name, columns, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_table(tmp_path / name, columns)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_table_in_blocks_is_the_table(name, tmp_path):
    whole = {"a;b": np.array(["x", "y", "=z"], dtype=object), "v": np.array([1.5, np.nan, 3.0])}
    assert write_blocks(tmp_path / name, ({k: c[i : i + 2] for k, c in whole.items()} for i in (0, 2))) == 3
    write_table(tmp_path / f"whole-{name}", whole)
    read = pd.read_parquet if "parquet" in name else pd.read_csv
    pd.testing.assert_frame_equal(read(tmp_path / name), read(tmp_path / f"whole-{name}"))
    if "csv" in name:
        assert pd.read_csv(tmp_path / name, header=None).shape == (4, 2)  # one header


def test_a_block_of_other_types_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="mixed types"):
        write_blocks(tmp_path / "t.parquet", [{"a": [1, 2]}, {"a": ["x"]}])
    assert list(tmp_path.iterdir()) == []


def test_missing_folder_and_folder_in_place_of_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="the folder .* does not exist; make it first"):
        write_table(tmp_path / "no" / "t.csv", {"a": [1]})
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_table(tmp_path / "t.csv", {"a": [1]})


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_interrupted_write_keeps_the_old_file(error, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def write():
        with _bytes.replacing(path) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_mode_of_the_file(tmp_path):
    old = os.umask(0o027)
    try:
        write_table(tmp_path / "new.csv", {"a": [1]})
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o640
    (tmp_path / "new.csv").chmod(0o604)
    write_table(tmp_path / "new.csv", {"a": [2]})
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o604


def test_links_are_followed_and_pipes_are_written_to(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(tmp_path / "link.csv", {"a": [1]})
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == "a\n1\n"
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    write_table(tmp_path / "loop.csv", {"a": [1]})
    assert (tmp_path / "loop.csv").read_text() == "a\n1\n"
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write_table(pipe, {"a": [1]})
    reader.join(5)
    assert got == ["a\n1\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_parquet_types(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame(
        {
            "userId": pd.Categorical(["ann", "bob"]),
            "movieId": np.array([3.0, 4.0]),
            "rating": np.array([1, 5], dtype=np.int8),
            "timestamp": pd.to_datetime(["1970-01-01 00:00:05", "1970-01-02 00:00:00"]),
        }
    )
    frame.to_parquet(path)
    data = read_ratings(path)
    assert data.X.tolist() == [["ann", 3], ["bob", 4]]
    assert data.y.tolist() == [1, 5]
    assert data.timestamps.tolist() == [5, 86400]
    assert read_pairs(path, ids="str").tolist() == [["ann", "3"], ["bob", "4"]]


def test_parquet_times_with_gaps_count_only_when_asked_for(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"user": [1, 2], "item": [1, 2], "rating": [3, 4], "time": [5, None]}), path)
    with pytest.warns(InputWarning, match="row 2, column 'time': no value, so that no times are used"):
        assert read_ratings(path).timestamps is None
    with pytest.raises(ValueError, match="row 2, column 'time': no value"):
        read_ratings(path, timestamp="time")


@pytest.mark.parametrize("column", [[1.5, 86400.0], ["1970-01-01T00:00:01", "1970-01-02"], [1, 86400]])
def test_times_of_parquet_are_whole_seconds(tmp_path, column):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"user": [1, 2], "item": [1, 2], "rating": [3, 4], "time": column}), path)
    assert read_ratings(path).timestamps.tolist() == [1, 86400]


@together(
    ("columns", "message"),
    [
        ({"user": [1, None], "item": [1, 2], "rating": [1.0, 2.0]}, "row 2, column 'user': no value"),
        ({"user": [1, 2], "item": [1, 2], "rating": [1.0, None]}, "row 2, column 'rating': no value"),
        (
            {"user": [1, 2], "item": [1, 2], "rating": [1.0, np.nan]},
            "row 2, column 'rating': the rating is nan, expected a finite",
        ),
        (
            {"user": [1, 2.5], "item": [1, 2], "rating": [1.0, 2.0]},
            "row 2, column 'user': the id 2.5 is no whole number",
        ),
        ({"user": [1, 2], "item": [True, False], "rating": [1.0, 2.0]}, "column 'item': has type bool"),
        (
            {"user": [1, 2], "item": [1, 2], "rating": ["4", "5"]},
            "column 'rating': is text, expected numbers",
        ),
        ({"user": [1], "item": [""], "rating": [4]}, "the item id is empty"),
        ({"user": pa.array([2**64 - 1], pa.uint64()), "item": [1], "rating": [4]}, "beyond 64-bit integers"),
        ({"user": [1], "film_title": ["x"]}, "no column for the rating"),
    ],
)
def test_bad_parquet(columns, message, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(ValueError, match=rf"t\.parquet.*{message}"):
        read_ratings(path)


def test_truncated_and_empty_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(path, {"user": [1], "item": [2], "rating": [3]})
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    with pytest.raises(ValueError, match=r"t\.parquet: the Parquet file is damaged or cut short"):
        read_ratings(path)
    pq.write_table(pa.table({"user": pa.array([], pa.int64())}), path)
    with pytest.raises(ValueError, match="the file is empty"):
        read_ratings(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_full_disk_is_named():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"), _bytes.replacing("/dev/full") as stream:
        stream.write(b"x")


def test_errors_name_the_file_and_not_the_temporary_one(tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(errno.EACCES, "Permission denied", os.fspath(source), None, os.fspath(target))

    monkeypatch.setattr(_bytes.os, "replace", refuse)
    path = tmp_path / "model.cofactor"
    with pytest.raises(PermissionError) as caught, _bytes.replacing(path) as stream:
        stream.write(b"x")
    assert caught.value.filename == os.fspath(path)
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- text that spreadsheets take for formulas

HOSTILE = ["=cmd|' /C calc'!A0", "+1+1", "-2", "@SUM(A1)", "\tx", "\rx", " =1", "\uff1d1", "a\x1b[31m", 'q"=1', "b;=1"]


def test_formulas_come_back_exactly_unless_asked_for(tmp_path):
    columns = {"=user": HOSTILE, "@item": list(range(len(HOSTILE))), "rating": np.linspace(-1, 1, len(HOSTILE))}
    write_table(tmp_path / "t.csv", columns)
    data = read_ratings(tmp_path / "t.csv", "=user", "@item", "rating")
    assert data.X[:, 0].tolist() == [text.strip() for text in HOSTILE]
    np.testing.assert_array_equal(data.y, columns["rating"])
    with open(tmp_path / "t.csv", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == list(columns)
    assert [row[0] for row in rows] == HOSTILE


@pytest.mark.parametrize("name", ["t.csv", "t.tsv.gz"])
def test_safe_cells_are_no_formulas_and_numbers_stay(name, tmp_path):
    numbers = [-0.1 - 0.2, *range(len(HOSTILE) - 1)]
    write_table(tmp_path / name, {"=user": HOSTILE, "n": numbers}, safe_csv=True)
    content = (tmp_path / name).read_bytes()
    text = (gzip.decompress(content) if name.endswith("gz") else content).decode()
    header, *rows = csv.reader(io.StringIO(text), delimiter="\t" if "tsv" in name else ",")
    assert header == ["'=user", "n"]
    assert [row[0] for row in rows] == [
        *(
            "'=cmd|' /C calc'!A0",
            "'+1+1",
            "'-2",
            "'@SUM(A1)",
            "' x",
            "' x",
            "' =1",
            "'\uff1d1",
            "a [31m",
            'q"=1',
            "b;=1",
        )
    ]
    assert [float(row[1]) for row in rows] == numbers
    assert '"b;=1"' in text  # one cell, whatever separator a spreadsheet expects


def test_parquet_is_safe_as_it_is(tmp_path):
    with pytest.raises(InvalidInputError, match=r"t\.parquet: is Parquet, .*; leave out safe_csv=True"):
        write_table(tmp_path / "t.parquet", {"user": ["a"]}, safe_csv=True)
    assert not os.listdir(tmp_path)


def test_frames_of_every_library_are_written_alike(tmp_path) -> None:
    columns = {"user": ["ann", "bob"], "rating": [3.5, 4.0], "many": [1, 2]}
    frame = pl.DataFrame(columns)
    write_table(tmp_path / "mapping.csv", columns)
    expected = (tmp_path / "mapping.csv").read_text()
    for table in (pd.DataFrame(columns), frame, frame.lazy(), frame.to_arrow()):
        write_table(tmp_path / "frame.csv", table)
        assert (tmp_path / "frame.csv").read_text() == expected
    with pytest.raises(InvalidTypeError, match="is a list, expected a mapping"):
        write_table(tmp_path / "frame.csv", [1, 2])
