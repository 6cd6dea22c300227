"""What a file is, found from its beginning."""

import gzip
import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from cofactor.datasets import write_chunks
from cofactor.datasets.formats import open_data
from cofactor.ratings import ALS

TEXTS = {
    "arff": (b"% a comment\n@relation 'beach: -C 2'\n@attribute sea {0,1}\n", "labels"),
    "libsvm": (b"1,3 5:0.2 7:1\n", "labels"),
    "xml": (
        b'<?xml version="1.0"?>\n<labels xmlns="http://mulan.sourceforge.net/labels"><label name="sea"/></labels>',
        "names of labels",
    ),
    "table": (b"user,item,rating\nann,12,4\n", None),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_formats_of_text(name, packed, tmp_path):
    content, holds = TEXTS[name]
    path = tmp_path / "file.dat"
    path.write_bytes(gzip.compress(content) if packed else content)
    found = open_data(path)
    assert (found.kind, found.format, found.holds, found.compressed) == ("file", name, holds, packed)


@pytest.mark.parametrize(
    ("first", "separator"),
    [(b"1::1193::5::978300760", "::"), (b"1\t2\t3", "\t"), (b"1;2;3", ";"), (b"1|2|3", "|"), (b"1 2 3 4", " ")],
)
def test_tables_and_their_separators(first, separator, tmp_path):
    path = tmp_path / "ratings.dat"
    path.write_bytes(first + b"\n" + first)
    found = open_data(path)
    assert (found.format, found.holds, found.separator) == ("table", None, separator)


def test_sizes_alone_may_be_a_rating(tmp_path):
    for name, holds in (("a.txt", None), ("a.svm", "labels"), ("a.svm.gz", "labels")):
        content = b"3 3 2\n"
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        found = open_data(tmp_path / name)
        assert (found.format, found.holds, found.has_sizes) == ("libsvm", holds, True)
    (tmp_path / "a.txt").write_bytes(b"3 3 2\n0 1:2\n")
    assert open_data(tmp_path / "a.txt").holds == "labels"


def test_binary_formats(tmp_path):
    savemat(tmp_path / "a.mat", {"X": np.eye(3), "Y": np.eye(3)})
    assert (open_data(tmp_path / "a.mat").format, open_data(tmp_path / "a.mat").holds) == ("mat", "labels")
    pd.DataFrame({"user": [1], "item": [2], "rating": [3]}).to_parquet(tmp_path / "ratings.parquet")
    found = open_data(tmp_path / "ratings.parquet")
    assert (found.format, found.holds) == ("parquet", None)
    write_chunks(tmp_path / "labels.parquet", [(np.eye(3), np.eye(3)[:, :2])])
    assert (open_data(tmp_path / "labels.parquet").format, open_data(tmp_path / "labels.parquet").holds) == (
        "parquet",
        "labels",
    )
    ALS(n_factors=2).fit([[1, 2], [2, 2], [2, 3]], [1, 2, 3]).save(tmp_path / "model.cofactor")
    assert (open_data(tmp_path / "model.cofactor").format, open_data(tmp_path / "model.cofactor").holds) == (
        "model",
        "model",
    )


def test_what_is_no_file(tmp_path):
    assert (open_data("emotions").kind, open_data("emotions").holds) == ("known", "labels")
    assert (open_data("ml-100k").kind, open_data("ml-100k").holds, open_data("ml-100k").known.name) == (
        "known",
        "ratings",
        "ml-100k",
    )
    assert open_data(tmp_path).kind == "folder"
    assert open_data(tmp_path / "nothing").kind == "missing"


@pytest.mark.parametrize("content", [b"", b"\x1f\x8bdamaged", b"PAR1damaged", b"\xff\xfe\x00", b"\x80\n"])
def test_empty_and_damaged_files_are_left_to_their_readers(content, tmp_path):
    (tmp_path / "file").write_bytes(content)
    assert open_data(tmp_path / "file").holds is None


@pytest.mark.parametrize("content", [b"1,3 5:0.2\n" * 9999, gzip.compress(b"1,3 5:0.2\n" * 9999)])
def test_standard_input_is_not_used_up(content, monkeypatch):
    stream = io.BufferedReader(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    found = open_data("-")
    assert (found.kind, found.format, found.holds) == ("stdin", "libsvm", "labels")
    assert stream.read() == content


def test_a_first_line_which_is_cut_off(monkeypatch, tmp_path):
    line = b"1,3 " + b" ".join(b"%d:0.5" % k for k in range(20_000))
    for cut in (65_536, 8_190, 8_191, 8_192):
        stream = io.BufferedReader(io.BytesIO(line), buffer_size=cut)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
        assert open_data("-").format == "libsvm"
    (tmp_path / "wide.dat").write_bytes(line)
    assert open_data(tmp_path / "wide.dat").format == "libsvm"
    (tmp_path / "short.dat").write_bytes(b"1 2:3")
    assert open_data(tmp_path / "short.dat").format == "libsvm"


def test_standard_input_that_cannot_be_looked_into(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(seekable=lambda: False)))
    assert (open_data("-").format, open_data("-").holds) == ("", None)
