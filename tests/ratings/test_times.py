"""Times of ratings: what is accepted, what is refused, and that they stay with their ratings."""

import datetime as dt
import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.model_selection import cross_validate
from tests.together import together

import cofactor
from cofactor.datasets import RatingDataset
from cofactor.errors import InputWarning
from cofactor.model.times import seconds_of, split_times
from cofactor.ratings import ALS, MODELS, OrdinalProbit, Ratings, as_ratings
from cofactor.ratings.data import merged, restrict, without_ratings

PAIRS = [("bob", 20), ("ann", 10), ("bob", 10), ("eve", 30)]
VALUES = [3, 5, 1, 4]
TIMES = [1_600_000_000.0, -3600.0, 0.5, 4_000_000_000.0]  # one before 1970, one in the future
DATES = [dt.datetime(1970, 1, 1) + dt.timedelta(seconds=time) for time in TIMES]
ZONE = dt.timezone(dt.timedelta(hours=5.5))
AWARE = [date.replace(tzinfo=dt.UTC).astimezone(ZONE) for date in DATES]
BY_USER = [TIMES[k] for k in (1, 2, 0, 3)]  # ann; bob's 10 and 20; eve


# ---------------------------------------------------------------- what is accepted


@together(
    "times",
    [
        TIMES,
        np.array(TIMES),
        np.array(TIMES, dtype=object),
        pl.Series(TIMES),
        DATES,
        AWARE,
        [AWARE[0], *(one.astimezone(dt.UTC) for one in AWARE[1:])],
        np.array(DATES, dtype="datetime64[us]"),
        np.array(DATES, dtype="datetime64[ns]"),
        [np.datetime64(date) for date in DATES],
        [pd.Timestamp(date) for date in DATES],
        pd.to_datetime(DATES),
        pd.to_datetime(DATES).tz_localize("UTC").tz_convert("Asia/Kolkata"),
        pd.Series(DATES, index=[7, 5, 5, 1]),
        pd.Series(pd.to_datetime(DATES).tz_localize("UTC").tz_convert("Asia/Kolkata")),
        pd.Series(AWARE, dtype=object),
        pl.Series(DATES),
        pl.Series(DATES).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Kolkata"),
    ],
    ids=str.split(
        "list array objects polars dates aware zones us ns datetime64 timestamps index zoned-index pandas-dates "
        "pandas-zoned pandas-objects polars-dates polars-zoned"
    ),
)
def test_every_form_of_times_gives_the_same_seconds(times):
    found = seconds_of(times, 4)
    assert found.dtype == np.float64
    assert found.tolist() == TIMES


def test_days_and_whole_numbers():
    days = [dt.date(1970, 1, 2), dt.date(1969, 12, 31)]
    for form in (days, pl.Series(days), np.array(days, dtype="datetime64[D]")):
        assert seconds_of(form).tolist() == [86400.0, -86400.0]
    assert seconds_of(np.array([3, 2], dtype=np.uint64)).tolist() == [3, 2]
    assert seconds_of(time for time in (3, 2)).tolist() == [3, 2]
    assert seconds_of([dt.datetime.fromisoformat("0001-01-01T00:00:00+14:00")])[0] == -62_135_647_200
    assert seconds_of(pd.Series([3, 2], dtype="Int64")).tolist() == [3, 2]


@together(
    ("times", "message"),
    [
        (
            [1.0, np.nan, None, 2.0],
            "time is missing for 2 of 4 rows, the first is row 1; every row needs a finite time: leave these",
        ),
        ([DATES[0], None, pd.NaT, DATES[1]], "missing for 2 of 4 rows"),
        (np.array([0, "NaT", 0, 0], dtype="datetime64[s]"), "missing for 1 of 4 rows"),
        (pd.Series([1, None, None, None], dtype="Int64"), "missing for 3 of 4 rows"),
        (pl.Series([DATES[0], None, None, None]), "missing for 3 of 4 rows"),
        (pd.Series([1, pd.NA, 2, 3], dtype=object), "missing for 1 of 4 rows"),
        ([1.0, 2.0, np.inf, 3.0], "infinite for 1 of 4 rows, the first is row 2; every row needs a finite time: leave"),
        (TIMES[:3], r"of shape \(4,\), one for each row; found shape \(3,\)"),
        (np.ones((4, 1)), r"found shape \(4, 1\)"),
        ([[1], [2, 3], [4], [5]], "time must be one-dimensional"),
        ({1, 2, 3, 4}, "time is a set, which has no order"),
        ([DATES[0], *AWARE[1:]], "has a time zone in 3 of 4 rows, and none in the others; give all of them a zone"),
        ([DATES[0], 1.0, 2.0, 3.0], "dates as well as other values"),
        (
            np.array(["2020-01-01"] * 4),
            "seconds since 1970, or dates; found text; make dates of it, such as pandas.to_datetime",
        ),
        ([1, "2", 3, 4], "found '2'"),
        ([True] * 4, "found bool"),
        (np.ones(4, dtype="timedelta64[s]"), "found timedelta64"),
        ([object()] * 4, "found .*float"),
        (np.ma.masked_equal([1.0, 2.0, 3.0, 4.0], 3), "masked array without a value in row 2"),
    ],
)
def test_bad_times_are_refused_at_the_door(times, message):
    with pytest.raises(ValueError, match=message):
        as_ratings(PAIRS, VALUES, times=times)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("column", [["1970-01-02", "1970-01-01 00:00:01Z"], [dt.date(1970, 1, 2), dt.date(1970, 1, 1)]])
def test_dates_and_text_in_frames(kind, column):
    frame = kind({"user": [1, 1], "item": [5, 5], "rating": [4, 2], "date": column})
    expected = as_ratings([(1, 5), (1, 5)], [4, 2], [2, 4], "last", times=[2, 1]).values.tolist()
    found = as_ratings(frame, None, [2, 4], "last")
    assert (found.values.tolist(), found.times.tolist()) == (expected, [86400.0])
    assert split_times(kind({"user": [1], "item": [5], "date": ["1970-01-02"]}))[1].tolist() == [86400.0]


@pytest.mark.parametrize("column", [["2020-01-01", "31/12/1997"], [True, False], [dt.timedelta(1), dt.timedelta(2)]])
def test_times_of_frames_that_cannot_be_read_are_told(column):
    frame = pd.DataFrame({"user": [1, 2], "item": [5, 5], "rating": [4, 2], "date": column})
    with pytest.warns(InputWarning, match="column 'date' of X must hold .*found .*until then no times are used"):
        assert as_ratings(frame, None).times is None


def test_times_too_large_for_their_type():
    with pytest.warns(InputWarning, match="time is of float32, which cannot hold seconds since 1970: they are rounded"):
        seconds_of(np.array([883603013.0], dtype=np.float32))
    assert seconds_of(np.array([60.0], dtype=np.float32)).tolist() == [60.0]
    with pytest.raises(ValueError, match=r"^time is missing; give a finite one$"):
        seconds_of([np.nan])


@pytest.mark.parametrize(("old", "new"), [(None, [5.0]), ([1.0, 2.0, 3.0, 4.0], None)])
def test_a_merge_tells_that_times_are_forgotten(old, new):
    model = ALS(1, 1.0, levels=[1, 2, 3, 4, 5]).fit(PAIRS, VALUES, time=old)
    with pytest.warns(InputWarning, match="known='merge' forgets all times, since the .* have none") as told:
        folded = model.fold_in([("bob", 30)], [2], time=new, known="merge")
    assert folded.ratings_.times is None
    assert len(told) == 1


@pytest.mark.parametrize(("unit", "many"), [("milliseconds", 1e3), ("microseconds", 1e6), ("nanoseconds", 1e9)])
def test_other_units_are_suspected(unit, many):
    with pytest.warns(InputWarning, match=f"time is likely to be in {unit}.*; divide by {many:,.0f}"):
        assert seconds_of(np.array([0, 1_600_000_000, 4_000_000_000]) * many)[0] == 0


# ---------------------------------------------------------------- they stay with their ratings


@pytest.mark.parametrize(
    "given",
    [
        (PAIRS, VALUES, TIMES),
        ([(*pair, time) for pair, time in zip(PAIRS, TIMES, strict=True)], VALUES),
        ([(*pair, date) for pair, date in zip(PAIRS, AWARE, strict=True)], VALUES),
        (np.array([(*pair, time) for pair, time in zip(PAIRS, TIMES, strict=True)], dtype=object), VALUES),
        (pd.DataFrame(PAIRS, columns=["user", "item"]).assign(Date=DATES), VALUES),
        (pl.DataFrame(PAIRS, schema=["u", "i"], orient="row").select(pl.Series("time", TIMES), "u", "i"), VALUES),
        (pd.DataFrame(PAIRS, columns=["user", "item"]).assign(timestamp=AWARE, rating=VALUES),),
        (RatingDataset("x", np.array(PAIRS, object), np.array(VALUES, float), None, timestamps=np.array(TIMES)),),
    ],
    ids=["times", "triples", "triples of dates", "array", "pandas", "polars", "whole frame", "data set"],
)
def test_times_of_each_entry_by_user(given):
    X, y, times = (*given, None, None)[:3]
    ratings = as_ratings(X, y, times=times)
    assert ratings.times.tolist() == BY_USER
    assert ratings.values.tolist() == [5, 1, 3, 4]


def test_ids_are_the_same_with_a_third_column():
    X = np.array([[7, 2, 50], [3, 2, 40]])
    assert as_ratings(X, [1, 2]).users.ids.tolist() == [3, 7]
    assert as_ratings(X, [1, 2]).users.ids.dtype == np.int64
    with pytest.raises(ValueError, match="third column of times, and there are others beside it; give one of them"):
        as_ratings(X, [1, 2], times=[1, 2])
    with pytest.raises(
        ValueError, match=r"X must be a list of \(user, item, time\) like its first row, found \(3, 2\)"
    ):
        as_ratings([(7, 2, 50), (3, 2)], [1, 2])
    ratings = as_ratings(X, [1, 2])
    with pytest.raises(ValueError, match="X is a Ratings: build it with times"):
        as_ratings(ratings, times=[1, 2])


def test_times_of_a_sparse_matrix():
    matrix = sparse.csr_array([[0, 3], [2, 1]])
    ratings = Ratings.from_sparse(matrix, times=[30, 20, 10])
    assert (ratings.values.tolist(), ratings.times.tolist()) == ([3, 2, 1], [30, 20, 10])


def test_the_latest_of_several_and_the_time_of_a_mean():
    X, y, times = [(1, 7), (1, 7), (2, 7), (1, 7), (2, 7)], [1, 3, 2, 5, 4], [9.0, 9.0, 5.0, 3.0, 6.0]
    last = as_ratings(X, y, [1, 2, 3, 4, 5], "last", times=times)
    assert (last.values.tolist(), last.times.tolist()) == ([3, 4], [9, 6])  # at the same time, the last row
    mean = as_ratings(X, y, [1, 2, 3, 4, 5], "mean", times=times)
    assert (mean.values.tolist(), mean.times.tolist()) == ([3, 3], [9, 6])


def test_parts_and_unions_keep_times():
    ratings = as_ratings(PAIRS, VALUES, [1, 2, 3, 4, 5], times=TIMES)
    assert ratings.subset(ratings.values < 5).times.tolist() == BY_USER[1:]
    assert ratings.at_boundary(2).times.tolist() == BY_USER
    some = restrict(ratings, users=type(ratings.users)(["bob", "eve"]))
    assert some.times.tolist() == BY_USER[1:]
    later = as_ratings([("bob", 10), ("bob", 20)], [2, 2], ratings.scale, times=[7.0, 7.0])
    both = merged(ratings, later)  # what is merged counts, also where its time is earlier
    assert (both.values.tolist(), both.times.tolist()) == ([5, 2, 2, 4], [TIMES[1], 7, 7, TIMES[3]])
    nothing = without_ratings(ratings.users, ratings.items, ratings.scale)
    assert merged(nothing, ratings).times.tolist() == BY_USER
    assert merged(ratings, as_ratings([("bob", 10)], [2], ratings.scale)).times is None
    dropped = as_ratings(PAIRS, VALUES, items=type(ratings.items)([10]), unknown_items="drop", times=TIMES)
    assert dropped.times.tolist() == BY_USER[:2]


# ---------------------------------------------------------------- models


def planted():
    rng = np.random.default_rng(0)
    cells = rng.permutation(12 * 9)[:70]
    return np.column_stack([cells // 9, cells % 9]), rng.integers(1, 6, 70), rng.integers(10**9, 10**9 + 500, 70)


def test_a_model_without_time_keeps_times_and_learns_nothing_from_them(tmp_path):
    X, y, times = planted()
    plain, timed = ALS(2, 1.0, random_state=0).fit(X, y), ALS(2, 1.0, random_state=0).fit(X, y, time=times)
    with_column = np.column_stack([X, times])
    assert np.array_equal(timed.predict(X), plain.predict(with_column))
    assert np.array_equal(timed.decision_function(X), plain.decision_function(X))
    assert plain.ratings_.times is None
    assert np.array_equal(timed.ratings_.times, as_ratings(with_column, y).times)
    timed.save(tmp_path / "timed")
    assert np.array_equal(cofactor.load(tmp_path / "timed").ratings_.times, timed.ratings_.times)
    plain.save(tmp_path / "plain")  # as files were before there were times
    assert cofactor.load(tmp_path / "plain").ratings_.times is None
    new = timed.fold_in([(0, 3), ("zoe", 4)], [1, 5], time=[2e9, 2e9], known="merge")
    assert new.ratings_.times.max() == 2e9
    assert new.ratings_.times.min() == min(times[X[:, 0] == 0])
    assert timed.fold_in([("zoe", 4)], [5]).ratings_.times is None


def test_every_model_takes_times():
    for model in MODELS.values():
        for method in (model.fit, model.fold_in):
            assert inspect.signature(method).parameters["time"].kind is inspect.Parameter.KEYWORD_ONLY


def test_a_file_with_other_times_is_refused():
    X, y, times = planted()
    header, arrays = ALS(2, 1.0, random_state=0).fit(X, y, time=times)._to_state()
    for bad in (arrays["ratings.times"][1:], arrays["ratings.times"].astype(np.float32), np.full(70, np.nan)):
        with pytest.raises(ValueError, match="the times of the ratings are not a finite number of seconds for each"):
            ALS._from_state(header, arrays | {"ratings.times": bad}, {})


def test_folding_items_in_keeps_times():
    X, y, times = planted()
    model = OrdinalProbit(2, implicit=None, n_sweeps=8, burn_in=3, random_state=0).fit(X, y, time=times)
    assert model.ratings_.times.min() == times.min()
    new = model.fold_in_items([(1, "new"), (0, "new"), (99, "new")], [1, 5, 5], time=[20, 10, 5])
    assert new.ratings_.times.tolist() == [10, 20]


def test_cross_validation_of_scikit_learn_splits_times():
    X, y, times = planted()
    found = cross_validate(ALS(2, 1.0), X, y, params={"time": times}, cv=2, return_estimator=True)
    by_column = cross_validate(ALS(2, 1.0), np.column_stack([X, times]), y, cv=2, return_estimator=True)
    for one, other in zip(found["estimator"], by_column["estimator"], strict=True):
        assert np.array_equal(one.ratings_.times, other.ratings_.times)
        assert set(one.ratings_.times) < set(times)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ALS(2, 1.0).fit(X, y, time=np.full(70, 5.0))  # all equal
