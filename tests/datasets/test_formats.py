"""A new format of files is one module and one line in the table of formats: shown with toys."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from cofactor.datasets import LabelDataset, load_labels, read_pairs, read_ratings
from cofactor.datasets.formats import FORMATS, Format, open_data
from cofactor.datasets.readers import svmlight
from cofactor.errors import InvalidInputError


def documented_format():
    """Return the format of tables which docs/architecture.md shows: lines of JSON."""
    page = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    code, line = (block for block in blocks if "read_lines" in block)
    names = {}
    exec(compile(code, "architecture.md", "exec"), names)
    return eval(line, {"Format": Format, "lines": SimpleNamespace(**names)})


def read_toy(path, *, sparse="auto", name=None):
    """Features and labels in two lines; what the module of a format of labels would hold."""
    features, labels = (json.loads(line) for line in path.read_text().splitlines()[1:])
    X, Y = np.array(features, dtype=float), csr_array(np.array(labels, dtype=np.int32))
    return LabelDataset(name or path.name, X, Y, ("a", "b"), ("tag",))


@pytest.fixture
def known():
    """The table of formats, for the time of a test."""
    before = list(FORMATS)
    yield FORMATS
    FORMATS[:] = before


@pytest.fixture
def lines(known):
    known.insert(-1, documented_format())


@pytest.fixture
def toy(known):
    known.insert(0, Format("toy", lambda start: start.startswith(b"TOY\n"), holds="labels", labels=read_toy))


def test_a_format_of_tables_holds_ratings_pairs_and_labels(lines, tmp_path):
    path = tmp_path / "ratings.jsonl"
    rows = [{"user": "ann", "film": 1, "stars": 4.5}, {"user": "bob", "film": 2, "stars": 3}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert (open_data(path).format, open_data(path).holds) == ("lines", None)
    data = read_ratings(path)
    assert (data.X.tolist(), data.y.tolist()) == ([["ann", 1], ["bob", 2]], [4.5, 3])
    assert read_pairs(path).tolist() == [["ann", 1], ["bob", 2]]
    path.write_text('{"a": 1, "sky": "grey", "tag": true}\n{"a": 2, "sky": "blue", "tag": false}')
    data = load_labels(path, "tag")
    assert (data.feature_names, data.X.tolist()) == (("a", "sky=blue", "sky=grey"), [[1, 0, 1], [2, 1, 0]])
    assert data.Y.toarray().tolist() == [[1], [0]]


def test_faults_in_it_are_named_like_all_others(lines, tmp_path):
    path = tmp_path / "ratings.jsonl"
    path.write_text('{"user": 1, "item": 1, "rating": 4}\n{"user": 1, "item": null, "rating": 4}')
    with pytest.raises(InvalidInputError, match=r"ratings\.jsonl, row 2, column 'item': no value") as caught:
        read_ratings(path)
    assert caught.value.place.file == str(path)


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("[1, 2]", r"line 3: expected an object, such as {\"user\": 1}, found \[1, 2\]"),
        ("{", "line 3: not JSON: "),
        ('{"user": 1, "item": 2, "rating": "good"}', "values of one column differ in kind: "),
    ],
)
def test_faults_of_a_line(lines, tmp_path, last, message):
    path = tmp_path / "ratings.jsonl"
    path.write_text(f'{{"user": 1, "item": 1, "rating": 4}}\n\n{last}')
    with pytest.raises(InvalidInputError, match=message):
        read_ratings(path)


def test_empty_lines_are_left_out(lines, tmp_path):
    path = tmp_path / "ratings.jsonl"
    path.write_text('{"user": 1, "item": 1, "rating": 4}\n\n{"user": 1, "item": 2, "rating": 5}\n \n')
    assert read_ratings(path).y.tolist() == [4, 5]


def test_a_format_of_labels(toy, tmp_path):
    path = tmp_path / "beach"
    path.write_text("TOY\n[[1, 2], [3, 4]]\n[[1], [0]]")
    assert (open_data(path).format, open_data(path).holds) == ("toy", "labels")
    assert load_labels(path).X.tolist() == load_labels(path, format="toy").X.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(InvalidInputError, match="is for ARFF files and tables"):
        load_labels(path, "tag")


def test_every_format_says_how_it_is_read():
    assert FORMATS[-1].recognises(b"")  # a file of no other format is text
    assert len({known.name for known in FORMATS}) == len(FORMATS)
    for known in FORMATS:
        assert known.may_hold_labels or known.holds in ("model", "names of labels")
    assert next(known for known in FORMATS if known.name == "libsvm").chunks is svmlight.open_chunks
