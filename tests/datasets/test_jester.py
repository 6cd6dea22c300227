"""Jester and the binning of continuous ratings."""

import gzip
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.together import together

from cofactor.datasets import bin_ratings, load_jester, load_ratings


@pytest.fixture(scope="module")
def jester(data_dir):
    return load_jester(data_dir)


def test_counts_and_range(jester):
    data = jester
    assert (data.n_users, data.n_items, data.n_ratings) == (24983, 100, 1_810_455)
    assert (data.y.min(), data.y.max()) == (-9.95, 10.0)
    assert data.scale is None
    assert data.X[0].tolist() == [1, 1]
    assert data.y[:5].tolist() == [-7.82, 8.79, -9.66, -8.16, -7.52]


def test_agrees_with_a_parse_by_hand(data_dir, jester):
    raw = gzip.decompress((data_dir / "jester" / "jester-data-1.csv.gz").read_bytes()).decode()
    data = jester
    for user in (1, 500, 24983):
        cells = [float(c) for c in raw.split("\n")[user - 1].split(",")][1:]
        expected = {joke: y for joke, y in enumerate(cells, start=1) if y != 99}
        mine = data.X[:, 0] == user
        assert dict(zip(data.X[mine, 1].tolist(), data.y[mine].tolist(), strict=True)) == expected


def test_binned(data_dir, jester, tmp_path):
    with gzip.open(data_dir / "jester" / "jester-data-1.csv.gz") as lines:  # cuts need no more than some users
        (tmp_path / "jester-data-1.csv").write_bytes(b"".join(islice(lines, 500)))
    y = jester.y[jester.X[:, 0] <= 500]
    data = load_ratings("jester-1", tmp_path, bins=4)
    assert data.scale.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(data.y, 1 + (y >= -5) + (y >= 0) + (y >= 5))
    edges = load_jester(tmp_path, bins=[-10, 0, 10])
    np.testing.assert_array_equal(edges.y, 1 + (y >= 0))
    with pytest.raises(ValueError, match="outside the edges -5 to 5"):
        load_jester(tmp_path, bins=[-5, 0, 5])


def line(n_rated=2, **changed):
    cells = ["99"] * 100
    cells[0], cells[7] = "1.5", "-3"
    for joke, value in changed.items():
        cells[int(joke[1:]) - 1] = value
    return ",".join([str(n_rated), *cells]) + "\n"


def test_small_file(tmp_path):
    (tmp_path / "jester-data-1.csv").write_text(line() + line(3, j100="9.5"))
    data = load_jester(tmp_path)
    assert data.X.tolist() == [[1, 1], [1, 8], [2, 1], [2, 8], [2, 100]]
    assert data.y.tolist() == [1.5, -3, 1.5, -3, 9.5]


@together(
    ("text", "message"),
    [
        (line() + line(3), "line 2: column 1 counts 3 ratings, but 2 are there"),
        (line() + line(3, j5="10.5"), "line 2: the rating of joke 5 is 10.5, expected -10 to 10, or 99"),
        (line(3, j5="nan"), "line 1: the rating of joke 5 is nan"),
        (line() + line(3, j5="x"), "line 2, column 6: expected a number, found 'x'"),
        (line() + "1,2,3\n", "line 2: expected 101 columns as in line 1, found 3"),
        ("1,2,3\n" + line(), "line 1: expected 101 columns separated by commas, found 3"),
        ("", "the file is empty"),
    ],
)
def test_malformed(text, message, tmp_path):
    (tmp_path / "jester-data-1.csv").write_text(text)
    with pytest.raises(ValueError, match=f"jester-data-1.csv.*{message}"):
        load_jester(tmp_path)


def test_bin_edges_belong_to_the_upper_bin_except_the_last():
    levels, scale = bin_ratings([0, 0.99, 1, 2, 3], bins=[0, 1, 2, 3])
    assert levels.tolist() == [1, 1, 2, 3, 3]
    assert scale.tolist() == [1, 2, 3]


def test_bin_scale_gives_the_values():
    levels, scale = bin_ratings([-1.0, 1.0], bins=2, scale=[-5, 5])
    assert (levels.tolist(), scale.tolist()) == ([-5, 5], [-5, 5])


@given(
    st.lists(st.floats(-100, 100), min_size=1, max_size=50),
    st.lists(st.integers(-50, 50), min_size=3, max_size=8, unique=True),
)
def test_binning_is_numpy_histogram(values, edges):
    edges = sorted(edges)
    y = np.clip(values, edges[0], edges[-1])
    levels, scale = bin_ratings(y, edges)
    counts, _ = np.histogram(y, bins=edges)
    assert np.bincount(levels.astype(int), minlength=len(edges))[1:].tolist() == counts.tolist()
    assert len(scale) == len(edges) - 1


@together(
    ("kwargs", "message"),
    [
        ({"y": [1.0], "bins": 1}, "bins=1: must be at least 2"),
        ({"y": [1.0], "bins": 3}, "only 1 distinct rating"),
        ({"y": [1.0], "bins": 3, "limits": (1, 1)}, "low < high"),
        ({"y": [], "bins": 3}, "y is empty"),
        ({"y": [1.0, np.nan], "bins": 3}, "y must be finite, found nan"),
        ({"y": [[1.0]], "bins": 3}, "one dimension"),
        ({"y": [1.0], "bins": [0, 1]}, "at least three increasing edges"),
        ({"y": [1.0], "bins": [0, 2, 1]}, "at least three increasing edges"),
        ({"y": [5.0], "bins": [0, 1, 2]}, "the rating 5 is outside the edges 0 to 2"),
        ({"y": [-1.0], "bins": 2, "limits": (0, 1)}, "the rating -1 is outside the edges 0 to 1"),
        ({"y": [1.0], "bins": [0, 1, 2], "limits": (0, 1)}, "limits goes with a number of bins"),
        ({"y": [1.0], "bins": [0, 1, 2], "scale": [1]}, ".*: must hold 2 increasing values"),
        ({"y": [1.0], "bins": [0, 1, 2], "scale": [2, 1]}, ".*: must hold 2 increasing values"),
    ],
)
def test_bad_bins(kwargs, message):
    with pytest.raises(ValueError, match=message):
        bin_ratings(**kwargs)
