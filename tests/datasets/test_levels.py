"""From what files hold to levels: bins, words, ratings that mean none, and data of one level."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.together import together

from cofactor import load
from cofactor.datasets import RatingDataset, bin_edges, bin_ratings, read_ratings
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.rating_scale import RatingScale
from cofactor.ratings import ALS, as_ratings


@pytest.fixture
def plays():
    """Counts of which half are 1, and one is 100,000."""
    rng = np.random.default_rng(0)
    y = np.ceil(rng.pareto(0.9, 3000) + 0.01)
    y[0] = 100_000
    X = np.array([(user, item) for user in range(60) for item in range(50)])
    return RatingDataset("plays", X, y, None)


def write(tmp_path, ratings, name="ratings.csv"):
    path = tmp_path / name
    lines = [f"{k % 7},{k // 7},{rating}\n" for k, rating in enumerate(ratings)]
    path.write_text("user,item,rating\n" + "".join(lines))
    return path


# ---------------------------------------------------------------- bins


def test_counts_are_not_cut_into_bins_of_equal_width(plays):
    with pytest.warns(InputWarning, match="levels hold no rating"):
        by_width = plays.binned(5, "width").level_counts()
    assert by_width[0] / 3000 > 0.999
    for data in (plays.binned(5), plays.binned(5, "quantile")):
        assert data.level_counts()[1:].min() > 0.1 * 3000
        assert data.level_counts()[0] == (plays.y == 1).sum()  # equal ratings are never parted
    logs = plays.binned(5, "log")
    np.testing.assert_allclose(np.diff(np.log(logs.rating_scale.edges)), np.log(10))
    assert bin_ratings(plays.y, 5)[0].tolist() == plays.binned(5).y.tolist()


def test_ratings_without_a_tail_are_cut_at_equal_widths():
    y = np.random.default_rng(0).normal(size=500)
    assert bin_edges(y, 5).tolist() == bin_edges(y, 5, "width").tolist()


@given(st.lists(st.integers(0, 30), min_size=2, max_size=60), st.integers(2, 6), st.sampled_from(["quantile", "log"]))
@settings(max_examples=60)
def test_bins_hold_all_ratings_in_order(y, n, by):
    if len(set(y)) < n:
        with pytest.raises(InvalidInputError, match="too few for"):
            bin_edges(y, n, by)
        return
    edges = bin_edges(y, n, by)
    assert (np.diff(edges) > 0).all()
    levels, scale = bin_ratings(y, n, bin_by=by)
    assert scale.tolist() == list(range(1, n + 1))
    assert levels.tolist() == np.digitize(y, edges[1:-1]).__add__(1).tolist()
    if by == "quantile":
        assert set(levels) == set(scale)


@together(
    ("arguments", "message"),
    [
        (([1, 2, 1000], 5), "^only 3 distinct ratings, too few for 5 bins; take bins=3 or fewer$"),
        (([1, 2, 1000], 5, "width"), "only 3 distinct ratings, too few for 5 bins"),
        (([1, 2, 1000], 5, "log"), "only 3 distinct ratings, too few for 5 bins"),
        (([1, 2, 3], 5, "quantile"), "only 3 distinct ratings, too few for 5 bins"),
        (([1, 1, 3], 3), "only 2 distinct ratings, too few for 3 bins; take bins=2$"),
        (([7, 7], 3, "log"), "^only 1 distinct rating, too few for 3 bins$"),
        (([-1, 2, 3], 2, "log"), "bin_by='log' needs ratings from 0 on, found -1; take bin_by='quantile'"),
        (([1, 2, 3], 2, "median"), "bin_by='median': expected one of 'auto', 'width', 'quantile', 'log'"),
        (([1, 2, 3], [0, 1, 3], "log"), "bin_by goes with a number of bins"),
        (([-1.7e308, 0, 1.7e308], 3), "ratings from -1.7e.308 to 1.7e.308 are too close, or too far apart, for 3 bins"),
        (([1, 1 + 2**-52], 2), "are too close, or too far apart, for 2 bins"),
        (([1, 1 + 2**-52], 2, "log"), "are too close, or too far apart, for 2 bins"),
        (([1, 2, 3], 102), "bins=102: must be at most 101"),
        (([1, 2, 3], np.arange(200)), "199 bins, at most 101"),
    ],
)
def test_bins_that_are_refused(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        bin_edges(*arguments)


def test_empty_levels_are_told_and_errors_of_bins_name_the_file(tmp_path):
    path = write(tmp_path, [1, 1, 2, 1000, 700])
    told = r"1 of 4 levels holds no rating: \[250.75, 500.5\); take fewer bins, or bin_by='quantile'"
    with pytest.warns(InputWarning, match=told):
        read_ratings(path, bins=4, bin_by="width")
    for bins, message in (
        (9, "only 4 distinct ratings, too few for 9 bins"),
        ([1, 2, 3], "the rating 1000 is outside"),
    ):
        with pytest.raises(InvalidInputError, match=f"ratings.csv: {message}"):
            read_ratings(path, bins=bins)


def test_counts_that_are_read_as_levels_are_told(tmp_path):
    counts = [1, 2, 3, 4] * 30 + list(range(5, 25)) + [5000]
    told = (
        "look like counts, with 25 distinct ones, .* up to 5000; count='{}' takes them as such, .* makes levels of them"
    )
    with pytest.warns(InputWarning, match=told.format("rating")):
        read_ratings(write(tmp_path, counts))
    (tmp_path / "x.csv").write_text("\n".join(f"{k},7,{max(1, k - 9)}" for k in range(21)))
    with pytest.warns(InputWarning, match="up to 11; count=2 takes them"):  # fewer, but whole and from 1 on
        read_ratings(tmp_path / "x.csv")
    assert len(read_ratings(write(tmp_path, list(range(1, 13)) * 9)).scale) == 12  # marks
    assert len(read_ratings(write(tmp_path, counts), bins=5, bin_by="quantile").scale) == 5
    assert len(read_ratings(write(tmp_path, [*range(101), *[90] * 400])).scale) == 101  # a scale from 0 to 100


@together(
    ("fit", "message"),
    [
        (lambda X: ALS().fit(X, ["up", "down"]), "y must hold numbers .*; give a number for each word, such as y = "),
        (lambda X: ALS(levels=["down", "up"]).fit(X, [1, 2]), "^levels=.*: expected increasing numbers; give a number"),
        (lambda X: ALS().fit(X, [7, 7]), r"cut the counts with cofactor.datasets.read_ratings\(bins=5\)"),
    ],
)
def test_advice_on_words_and_constant_ratings(fit, message):
    with pytest.raises(InvalidInputError, match=message):
        fit([(1, 1), (1, 2)])


def test_ids_that_differ_in_blanks_only_are_told(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("user,item,rating\n =1+1,a,3\n=1+1,b,4\n=1+1, c,4\n")
    with pytest.warns(InputWarning, match="column 'user': the user id ' =1\\+1' counts as '=1\\+1': blanks around"):
        data = read_ratings(path)
    assert data.X.tolist() == [["=1+1", "a"], ["=1+1", "b"], ["=1+1", "c"]]


def test_a_model_keeps_what_its_levels_stand_for(plays, tmp_path):
    data = plays.binned(4)
    model = ALS(2, 1.0, random_state=0).fit(data)
    model.save(tmp_path / "m", ratings=False)
    again = load(tmp_path / "m")
    assert again.rating_scale_ == model.rating_scale_ == data.rating_scale
    new = RatingDataset("new", plays.X[:5], plays.y[:5] * 10**6, None)
    with pytest.raises(InvalidInputError, match=r"the levels of these ratings stand for \[0, 1\), .* training"):
        again.fold_in(new.binned([0, 1, 2, 3, 1e12]))
    assert again.rating_scale_.levels_of(new.y).tolist() == [4.0] * 5  # beyond the last edge
    open_ended = plays.binned([-np.inf, 2, 10, np.inf])
    ALS(2, 1.0, random_state=0).fit(open_ended).save(tmp_path / "o")
    assert load(tmp_path / "o").rating_scale_ == open_ended.rating_scale
    assert ALS(2, 1.0).fit(data.X, data.y).rating_scale_ is None


def test_files_are_read_with_the_bins_of_a_model(tmp_path):
    path = write(tmp_path, [1, 1, 2, 2, 9, 40, 800])
    data = read_ratings(path, bins=3, bin_by="quantile")
    assert data.rating_scale.names() == ["[1, 2)", "[2, 40)", "[40, 800]"]
    other = read_ratings(write(tmp_path, [3, 5000], "other.csv"), scale=data.rating_scale)
    assert (other.y.tolist(), other.rating_scale) == ([2.0, 3.0], data.rating_scale)
    zero = read_ratings(write(tmp_path, [0, 3, 5000], "zero.csv"), scale=data.rating_scale, drop_rating=0)
    assert (zero.y.tolist(), zero.scale.tolist(), zero.n_dropped) == ([2.0, 3.0], [1, 2, 3], 1)
    assert read_ratings(path, bins=[0, 5, 1000]).y.tolist() == [1, 1, 1, 1, 2, 2, 2]
    alone = "bin_by='log': says how to cut, but not into how many levels; say also how many levels, such as bins=5"
    for wrong, message in (({"scale": [1, 2]}, "scale and bins exclude each other"), ({}, alone)):
        with pytest.raises(InvalidInputError, match=message):
            read_ratings(path, bin_by="log", **wrong, **({"bins": 3} if wrong else {}))


@together(
    "state",
    [
        None,
        [],
        {"scale": [1, 2], "edges": [1, 2], "words": []},
        {"scale": [1, 2], "edges": [3, 2, 1], "words": []},
        {"scale": [1, 2], "edges": [], "words": ["a", "A"]},
        {"scale": [1, 2], "edges": [], "words": [1, 2]},
        {"scale": [1, "inf"], "edges": [], "words": ["a", "b"]},
        {"scale": [1, 2], "edges": [], "words": ["a", "b"], "more": []},
    ],
)
def test_codings_from_damaged_files_are_refused(state):
    with pytest.raises(InvalidInputError, match="rating scale"):
        RatingScale.of_state(state)


# ---------------------------------------------------------------- words


@pytest.mark.parametrize("words", [("False", "True"), ("no", "yes"), ("OFF", "on")])
def test_words_for_off_and_on_are_ratings(words, tmp_path):
    data = read_ratings(write(tmp_path, [words[1], words[0], words[1]]))
    assert (data.y.tolist(), data.scale.tolist()) == ([1, 0, 1], [0, 1])
    assert data.rating_scale.named([1, 0]).tolist() == [words[1], words[0]]


def test_truth_values_of_parquet_are_ratings(tmp_path):
    columns = {"user": [1, 1, 2], "item": [1, 2, 1], "rating": [True, False, True]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert read_ratings(tmp_path / "t.parquet").y.tolist() == [1, 0, 1]


def test_words_are_levels_in_the_order_that_is_given(tmp_path):
    path = write(tmp_path, ["up", "down", " Up "])
    with pytest.raises(InvalidInputError, match=r"the ratings are words, 'Up' and 'down' and 'up'; .*from low to high"):
        read_ratings(path)
    data = read_ratings(path, scale=["down", "up"])
    assert (data.y.tolist(), data.scale.tolist(), data.rating_scale.words) == ([2, 1, 2], [1, 2], ("down", "up"))
    with pytest.raises(InvalidInputError, match="line 2, .*: the rating is 'up', expected one of low, down"):
        read_ratings(path, scale=["low", "down"])
    with pytest.raises(InvalidInputError, match="drop_rating is for numbers; these are down, up"):
        read_ratings(path, scale=["down", "up"], drop_rating=1)
    with pytest.raises(InvalidInputError, match="line 4, column 'rating': expected a number, found 'x'"):
        read_ratings(write(tmp_path, [1, 2, "x"]))


# ---------------------------------------------------------------- ratings that mean none


def test_dropped_ratings_are_counted(tmp_path):
    path = write(tmp_path, [0, 0, 7, 0, 9, 8])
    data = read_ratings(path, drop_rating=0)
    assert (data.y.tolist(), data.scale.tolist(), data.n_dropped) == ([7, 9, 8], [7, 8, 9], 3)
    assert data.X.tolist() == [[2, 0], [4, 0], [5, 0]]
    assert read_ratings(path, drop_rating=[0, 9], scale=[7, 8]).n_dropped == 4
    with pytest.raises(InvalidInputError, match="drop_rating=.*: all ratings are among these"):
        read_ratings(path, drop_rating=[0, 7, 8, 9])
    with pytest.warns(InputWarning, match="drop_rating=3: no rating is left out"):
        assert read_ratings(path, drop_rating=3).n_dropped == 0


@pytest.mark.parametrize(
    ("ratings", "warned"),
    [
        ([0] * 30 + [5, 6, 7, 8, 9, 9, 10] * 3, True),  # a gap
        ([0] * 30 + [1, 2, 2, 8, 8, 9, 9, 10, 10], True),  # a rare level
        ([0] * 30 + [1] * 15 + [2] * 7 + [3] * 2, False),  # counts
        ([0] * 30 + [1] * 3, False),
        ([0] * 3 + [5, 6, 7, 8, 9], False),
    ],
)
def test_zeros_that_may_mean_no_rating(ratings, warned, tmp_path):
    path = write(tmp_path, ratings)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read_ratings(path)
        read_ratings(path, drop_rating=0)
        read_ratings(path, scale=range(11))
    assert len(found) == warned
    assert all("leave these out with drop_rating=0" in str(one.message) for one in found)


# ---------------------------------------------------------------- one level


def test_ratings_of_one_level_are_refused():
    X = np.array([(user, item) for user in range(10) for item in range(10)])
    with pytest.raises(InvalidInputError, match="all ratings are 1: .*thumbs down, .* implicit feedback"):
        ALS(2, 1.0).fit(X, np.ones(100))
    with pytest.warns(InputWarning, match="all ratings are 1, so that models predict nothing else"):
        ALS(2, 1.0, levels=[1, 2, 3, 4, 5]).fit(X, np.ones(100))


@together(("others", "part"), [(1, "more than 99 % of the"), (4, "more than 96 % of the"), (5, None)])
def test_a_level_that_has_nearly_all_ratings(others, part):
    X = np.array([(user, item) for user in range(10) for item in range(10)])
    y = np.where(np.arange(100) < others, 1.0, 5.0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", InputWarning)
        ALS(2, 1.0).fit(X, y)
    assert [str(one.message).split(",")[0] for one in found] == ([f"{part} ratings are 5"] if part else [])


def test_one_limit_of_levels_for_files_and_models(tmp_path):
    data = read_ratings(write(tmp_path, range(101)))
    assert as_ratings(data).n_levels == 101
    data = read_ratings(write(tmp_path, range(102)))
    assert data.scale is None
    with pytest.raises(InvalidInputError, match="102 distinct values, at most 101 are possible: .*bin_ratings"):
        as_ratings(data)
    assert read_ratings(write(tmp_path, range(102)), bins=5).level_counts().sum() == 102
