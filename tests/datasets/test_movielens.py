"""MovieLens: published counts, agreement with an independent copy, and the layouts in circulation."""

import gzip
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import scipy.io
from scipy.sparse import csr_array
from tests.together import together

from cofactor.datasets import DatasetNotFoundError, load_movielens, load_ratings

COUNTS = {
    "100k": (943, 1682, 100_000, [6110, 11370, 27145, 34174, 21201], 1682),
    "1m": (6040, 3706, 1_000_209, [56174, 107557, 261197, 348971, 226310], 3883),
    "latest-small": (
        610,
        9724,
        100_836,
        [1370, 2811, 1791, 7551, 5550, 20047, 13136, 26818, 8551, 13211],
        9742,
    ),
}


@cache
def known(name, folder):
    """A known set, read once for all tests."""
    return load_movielens(name, folder)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name, data_dir):
    n_users, n_items, n_ratings, levels, n_titles = COUNTS[name]
    data = known(name, data_dir)
    assert (data.n_users, data.n_items, data.n_ratings) == (n_users, n_items, n_ratings)
    assert data.level_counts().tolist() == levels
    assert len(data.item_names) == n_titles
    assert data.X.dtype == np.int64
    assert data.y.dtype == np.float64
    assert data.name == f"ml-{name}"
    assert {*data.X[:, 1].tolist()} <= data.item_names.keys()


def test_scales(data_dir):
    assert known("100k", data_dir).scale.tolist() == [1, 2, 3, 4, 5]
    assert known("latest-small", data_dir).scale.tolist() == [0.5 * k for k in range(1, 11)]


def test_first_and_last_rows_of_100k(data_dir):
    data = known("100k", data_dir)
    assert data.X[0].tolist() == [196, 242]
    assert (data.y[0], data.timestamps[0]) == (3.0, 881250949)
    assert data.X[-1].tolist() == [12, 203]
    assert (data.y[-1], data.timestamps[-1]) == (3.0, 879959583)


def test_1m_agrees_with_the_matlab_copy(data_dir):
    data = known("1m", data_dir)
    expected = scipy.io.loadmat(data_dir / "movielens" / "ml-1m" / "movielens_1m.mat")["X"].tocsr()
    found = csr_array((data.y, (data.X - 1).T), expected.shape)
    assert len(data.y) == expected.nnz  # so that no pair is there twice
    assert (found != expected).nnz == 0
    assert data.timestamps is None


@together(
    ("name", "item", "title"),
    [
        ("100k", 543, "Misérables, Les (1995)"),
        ("100k", 1682, "Scream of Stone (Schrei aus Stein) (1991)"),
        ("1m", 1117, "Eighth Day, The (Le Huitième jour ) (1996)"),
        ("1m", 649, "Cold Fever (Á köldum klaka) (1994)"),
        ("latest-small", 29, "City of Lost Children, The (Cité des enfants perdus, La) (1995)"),
        ("latest-small", 7789, "11'09\"01 - September 11 (2002)"),
    ],
)
def test_titles_with_accents_and_quotes(name, item, title, data_dir):
    assert known(name, data_dir).item_names[item] == title


def test_names_with_and_without_prefix(data_dir):
    assert load_ratings("ml-100k", data_dir).y.sum() == load_movielens("ml-100k", data_dir).y.sum() == 352_986
    with pytest.raises(ValueError, match="'20m'.*100k, 1m, latest-small"):
        load_movielens("20m")


ROWS = [(1, 1193, 5, 978300760), (1, 661, 3, 978302109), (2, 1357, 5, 978298709)]


@pytest.mark.parametrize("sep", ["::", ",", "\t"])
@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_form_of_1m(sep, times, packed, newline, tmp_path):
    width = 4 if times else 3
    text = "".join(sep.join(map(str, row[:width])) + newline for row in ROWS).encode()
    folder = tmp_path / "movielens" / "ml-1m"
    folder.mkdir(parents=True)
    if packed:
        (folder / "ratings.dat.gz").write_bytes(gzip.compress(text))
    else:
        (folder / "ratings.dat").write_bytes(text)
    data = load_movielens("1m", tmp_path)
    assert data.X.tolist() == [[1, 1193], [1, 661], [2, 1357]]
    assert data.y.tolist() == [5.0, 3.0, 5.0]
    assert (data.timestamps is None) if not times else (data.timestamps.tolist() == [r[3] for r in ROWS])
    assert data.scale.tolist() == [1, 2, 3, 4, 5]
    assert data.item_names == {}


@pytest.mark.parametrize("place", ["movielens/ml-1m", "ml-1m", "."])
def test_data_home_may_be_the_root_or_the_folder_itself(place, tmp_path):
    (tmp_path / place).mkdir(parents=True, exist_ok=True)
    (tmp_path / place / "ratings.csv").write_text("userId,movieId,rating\n4,5,2\n")
    assert load_movielens("1m", tmp_path).X.tolist() == [[4, 5]]


def test_titles_saved_again_as_utf8(tmp_path):
    (tmp_path / "ratings.dat").write_text("1::2::3\n")
    for encoding in ("latin-1", "utf-8"):
        (tmp_path / "movies.dat").write_bytes("2::Misérables, Les (1995)::Drama\n".encode(encoding))
        assert load_movielens("1m", tmp_path).item_names == {2: "Misérables, Les (1995)"}


@together(
    ("text", "message"),
    [
        ("1::2::3::4\n1::2::x::4\n", r"ratings.dat, line 2, column 3: expected a number, found 'x'"),
        ("1::2::3::4\n1::2::3\n", r"ratings.dat, line 2: expected 4 columns as in line 1, found 3"),
        ("1::2::3::4\n1::2::3::4::5\n1::2::3\n", r"line 2: expected 4 columns as in line 1, found 5"),
        ("1::2::3::4\n\n1::two::3::4\n", r"line 3, column 2: the item id must be an integer, found 'two'"),
        ("1::2::3::4\n1::3::6::4\n", r"line 2, column 3: the rating 6 is not on the scale 1, 2, 3, 4, 5"),
        ("1::2::3::4\n1::3::3.5::4\n", r"line 2, column 3: the rating 3.5 is not on the scale"),
        ("1::2::3::4\n1::3::nan::4\n", r"line 2, column 3: the rating is nan, expected a finite number"),
        ("", r"ratings.dat: the file is empty"),
    ],
)
def test_malformed_ratings_name_file_and_line(text, message, tmp_path):
    (tmp_path / "ratings.dat").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_movielens("1m", tmp_path)


@pytest.mark.parametrize(
    ("content", "line"), [("1::Toy Story::x\nJumanji\n", 2), ("one::Toy Story::x\n", 1), ("\n::x::y\n", 2)]
)
def test_malformed_titles_name_file_and_line(content, line, tmp_path):
    (tmp_path / "ratings.dat").write_text("1::2::3\n")
    (tmp_path / "movies.dat").write_text(content)
    with pytest.raises(ValueError, match=rf"movies.dat, line {line}: expected an item id and a title"):
        load_movielens("1m", tmp_path)


def test_missing_data_tells_what_to_put_where(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"put u\.data and u\.item \(plain or \.gz\)") as caught:
        load_movielens("100k", tmp_path)
    assert str(tmp_path / "movielens" / "ml-100k") in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)


def test_bins_are_refused_for_sets_with_levels(data_dir):
    with pytest.raises(ValueError, match="bins is for continuous ratings"):
        load_ratings("ml-100k", data_dir, bins=3)
    with pytest.raises(ValueError, match="'netflix' is not known; expected one of ml-100k"):
        load_ratings("netflix", data_dir)


def test_loading_imports_nothing_heavy(data_dir):
    code = (
        "import sys; import cofactor.datasets as d; d.load_movielens('100k', sys.argv[1]); "
        "heavy = {'numba', 'sklearn', 'pandas', 'polars', 'pooch', 'requests', 'matplotlib', 'rich', 'typer'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code, str(data_dir)], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
