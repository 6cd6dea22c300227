"""Splits by time, splits that were made before, and models that know time under both."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, ShuffleSplit, cross_validate
from tests.together import together

from cofactor.datasets import RatingDataset
from cofactor.evaluation import (
    FoldInScorer,
    GivenSplits,
    Holdout,
    Search,
    StrongGeneralization,
    TimeSplit,
    UserLast,
    compare,
    evaluate,
)
from cofactor.model.times import split_times, with_times
from cofactor.ratings import ALS

X = np.array([(user, item) for user in range(9) for item in range(8)])
Y = 1.0 + (X[:, 0] * 7 + X[:, 1] * 3) % 5
TIMES = np.random.default_rng(0).integers(0, 20, len(X)) * 86400.0


class TimeProbe(BaseEstimator):
    """Predict the hour; refuse pairs without one, which a model that knows time may do."""

    def __init__(self, offset: float = 0.0, levels: object = None) -> None:
        self.offset = offset
        self.levels = levels

    def fit(self, X, y, *, time=None):
        self.trained_ = self._days(X)
        assert len(self.trained_) == len(y)
        return self

    def fold_in(self, X, y, *, time=None):
        self._days(X)
        return self

    def predict(self, X):
        return self._days(X) + self.offset

    @staticmethod
    def _days(X):
        pairs, times = split_times(X)
        assert np.shape(pairs)[1] == 2
        return np.asarray(times, dtype=float) / 86400


# ---------------------------------------------------------------- the last ratings of each user


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40),
    st.one_of(st.integers(1, 6), st.floats(0.01, 0.99)),
)
def test_user_last_by_sorting_each_user(rows, size):
    users, times = np.array(rows).T
    pairs = np.column_stack([users, np.arange(len(rows))])
    if np.bincount(users).max() < 2:
        with pytest.raises(ValueError, match="no user of X has two ratings"):
            next(UserLast(size, times=times).split(pairs))
        return
    [(train, test)] = UserLast(size, times=times).split(pairs)
    expected = []
    for user in set(users):
        mine = sorted(np.flatnonzero(users == user), key=lambda row: (times[row], row))
        n = size if isinstance(size, int) else max(int(size * len(mine) + 0.5 + 1e-9), 1)
        expected += mine[len(mine) - min(n, len(mine) - 1) :]
    assert test.tolist() == sorted(expected)
    assert np.array_equal(np.sort([*train, *test]), np.arange(len(rows)))
    assert set(users[test]) <= set(users[train])


def test_one_rating_a_user_is_for_training():
    [(train, test)] = UserLast(3, times=[1, 2, 3, 4]).split([("ann", 1), ("bob", 1), ("eve", 1), ("eve", 2)])
    assert (train.tolist(), test.tolist()) == ([0, 1, 2], [3])
    with pytest.raises(ValueError, match="no user of X has two ratings"):
        next(UserLast(times=[1, 2]).split([("ann", 1), ("bob", 1)]))


def test_times_all_equal_go_by_rows():
    [(_, test)] = UserLast(1, times=np.full(4, 7)).split([(1, 1), (2, 1), (1, 2), (2, 2)])
    assert test.tolist() == [2, 3]


@together(
    "form",
    [
        lambda X: with_times(X, TIMES),
        lambda X: [(user, item, time) for (user, item), time in zip(X.tolist(), TIMES, strict=True)],
        lambda X: pd.DataFrame(X, columns=["user", "item"]).assign(date=pd.to_datetime(TIMES, unit="s")),
        lambda X: with_times(pl.DataFrame(X, schema=["user", "item"]), TIMES),
        lambda X: with_times(pd.DataFrame(X, columns=["user", "item"], index=range(100, 100 + len(X))), TIMES),
    ],
    ids=["array", "list", "dates", "polars", "pandas"],
)
def test_times_in_a_third_column(form):
    [expected] = UserLast(times=TIMES).split(X)
    [found] = UserLast().split(form(X))
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]
    assert evaluate(ALS(2, 1.0), form(X), Y, "user-last")[0]["n_test"] == len(expected[1])


LATE = TIMES + 900_000_000


@together(
    ("table", "y"),
    [
        (with_times(X, LATE), Y),
        (with_times(X, LATE), None),
        ([(f"u{user}", item, time) for (user, item), time in zip(X.tolist(), LATE, strict=True)], Y),
        (with_times(X, LATE.astype("M8[s]").astype(object)), Y),
        (with_times(pl.DataFrame(X, schema=["user", "item"]), LATE), Y),
        (pd.DataFrame(X, columns=["user", "item"]).assign(rating=Y, date=pd.to_datetime(LATE, unit="s")), None),
    ],
    ids=["array", "no y", "words", "dates", "polars", "ratings"],
)
def test_blocks_go_by_the_times_in_X(table, y):
    for settings in ({"n_splits": 2}, {"at": LATE.mean()}):
        found = [part.tolist() for parts in TimeSplit(**settings).split(table, y) for part in parts]
        expected = [part.tolist() for parts in TimeSplit(**settings, times=LATE).split(X) for part in parts]
        assert found == expected


def test_features_are_no_times():
    features, labels = np.random.default_rng(0).random((12, 3)), np.eye(12)[:, :2]
    expected = [part.tolist() for parts in TimeSplit(2).split(np.zeros(12)) for part in parts]
    for table in (features, pd.DataFrame(features, columns=["a", "b", "time"]), features.tolist()):
        for y in (labels, labels.tolist(), sparse.csr_array(labels)):
            assert [part.tolist() for parts in TimeSplit(2).split(table, y) for part in parts] == expected
    wide = pd.DataFrame(np.random.default_rng(0).random((12, 4)), columns=["a", "b", "c", "time"])
    assert [part.tolist() for parts in TimeSplit(2).split(wide) for part in parts] == expected
    for y in (None, np.ones(12)):
        with pytest.raises(ValueError, match=r"third may be a time or a feature; say so: times=X\[:, 2\]"):
            list(TimeSplit(2).split(features, y))


def test_ratings_without_times_are_not_split_by_rows():
    for splitter in (TimeSplit(2), TimeSplit(at=3), UserLast()):
        with pytest.raises(ValueError, match=f"has no times, by which {type(splitter).__name__} splits; give them"):
            evaluate(ALS(2, 1.0), X, Y, splitter)


@together(
    ("splitter", "message"),
    [
        (UserLast(), "times are missing, which say what is last; give them to the splitter, or in a third column of X"),
        (UserLast(times=TIMES[1:]), r"times must be of shape \(72,\)"),
        (UserLast(times=[np.nan, *TIMES[1:]]), "times is missing for 1 of 72 rows"),
        (UserLast(1.5, times=TIMES), "test_size=1.5: expected a part of the rows, below 1"),
        (UserLast(0, times=TIMES), "test_size=0: expected a whole number of at least 1"),
        (TimeSplit(at=3), "at=3: the moment to split at, but times are missing"),
        (TimeSplit(at=3, times=TIMES, test_size=0.1), "at=3: the moment to split at, but test_size says so too"),
        (TimeSplit(at=-1, times=TIMES), "at=-1: all 72 rows are from it on; take a moment between"),
        (TimeSplit(at="2020-01-01", times=TIMES), "at='2020-01-01': all 72 rows are before it"),
        (TimeSplit(at="soon", times=TIMES), "at='soon': expected a number, or a date such as 2020-12-31"),
        (TimeSplit(at=3, times=["2020"] * 72), "at=3: expected text, as the times are"),
    ],
)
def test_refusals(splitter, message):
    with pytest.raises(ValueError, match=message):
        list(splitter.split(X))


@together("at", [864000, "1970-01-11", dt.datetime(1970, 1, 11), np.datetime64("1970-01-11")])
def test_one_moment_parts_the_rows(at):
    for times in (TIMES, pd.to_datetime(TIMES, unit="s"), [dt.datetime.fromtimestamp(t, dt.UTC) for t in TIMES]):
        splitter = TimeSplit(at=at, times=times)
        [(train, test)] = splitter.split(X)
        assert splitter.get_n_splits() == 1
        assert np.array_equal(train, np.flatnonzero(TIMES < 864000))
        assert np.array_equal(test, np.flatnonzero(TIMES >= 864000))
    [(train, _)] = TimeSplit(at="b", times=["a", "b", "c"]).split(np.zeros(3))
    assert train.tolist() == [0]


# ---------------------------------------------------------------- splits that were made before


def test_pairs_of_rows_are_splits():
    parts = list(ShuffleSplit(3, test_size=0.25, random_state=0).split(X))
    masks = [tuple(np.isin(np.arange(len(X)), rows) for rows in pair) for pair in parts]
    lists = [tuple(rows.tolist() for rows in pair) for pair in parts]
    expected = evaluate(ALS(2, 1.0, random_state=0), X, Y, Holdout(0.25, 3, 0))
    for form in (parts, masks, lists, iter(parts), GivenSplits(parts)):
        found = evaluate(ALS(2, 1.0, random_state=0), X, Y, form)
        assert [one["rmse"] for one in found] == [one["rmse"] for one in expected]
    [one] = evaluate(ALS(2, 1.0, random_state=0), X, Y, parts[0])
    assert one["rmse"] == expected[0]["rmse"]
    search = Search(ALS(2, random_state=0), {"alpha": [1.0]}, metric="rmse", validation=parts).fit(X, Y)
    assert search.results_[0].value == pytest.approx(np.mean([one["rmse"] for one in expected]))


@together(
    ("parts", "message"),
    [
        ([([0, 1], [1, 2])], "split 0 has 1 rows in both of its parts, the first is row 1"),
        ([([0, 0], [1])], "1 of the training rows of split 0 are there more than once"),
        ([([0], [])], "the test rows of split 0 must be row numbers, or a mask; found float64"),
        ([([0], np.zeros(72, bool))], "expected test rows of split 0 from 0 to 71, found none"),
        ([([-1], [1])], "expected training rows of split 0 from 0 to 71, found from -1 to -1"),
        ([([True, False], [1])], "the training rows of split 0 are a mask of 2 rows, and there are 72"),
        ([([0], [1.5])], "row numbers, or a mask; found float64"),
        ([[0, 1, 2]], r"or pairs of training and test rows; found \[\[0, 1, 2\]\]"),
        ([], r"or pairs of training and test rows; found \[\]"),
    ],
)
def test_bad_pairs_of_rows(parts, message):
    with pytest.raises(ValueError, match=message):
        evaluate(ALS(2, 1.0), X, Y, parts)


# ---------------------------------------------------------------- models that know time get it


@together("protocol", ["holdout", "strong", "time", "user-last", UserLast(2), TimeSplit(at=10 * 86400)])
def test_a_model_that_knows_time_gets_it(protocol):
    errors = [one["mae"] for one in evaluate(TimeProbe(), X, Y, protocol, n_splits=2, time=TIMES)]
    assert errors == [one["mae"] for one in evaluate(TimeProbe(), with_times(X, TIMES), Y, protocol, n_splits=2)]
    data = RatingDataset("toy", X, Y, None, timestamps=TIMES.astype(int))
    methods = {"probe": TimeProbe(), "plain": ALS(2, 1.0, random_state=0)}
    comparison = compare(methods, data, splits=protocol, n_splits=2)
    assert not comparison.failed
    assert [one.measures["mae"] for one in comparison.results if one.method == "probe"] == errors
    name = protocol if isinstance(protocol, str) else type(protocol).__name__
    assert comparison.table().protocol == name
    assert f" {name} split" in str(comparison.table())
    assert comparison.results[0].split.startswith(name)


def test_a_comparison_on_given_splits():
    comparison = compare(
        {"a": ALS(2, 1.0), "b": ALS(2, 9.0)}, {"toy": (with_times(X, TIMES), Y)}, splits=[([0, 1, 9], [2])]
    )
    assert "one given split (rank)" in str(comparison.table())
    assert comparison.facts["splits"] == "GivenSplits(1)"


def test_grids_and_searches_get_times():
    grid = {"offset": [0.0, 100.0]}
    search = Search(TimeProbe(), grid, validation="time", n_splits=2).fit(X, Y, time=TIMES)
    assert search.best_params_ == {"offset": 0.0}
    [row] = evaluate(Search(TimeProbe(), grid), X, Y, "user-last", time=TIMES)
    assert row["parameters"] == {"offset": 0.0}
    [row] = evaluate(GridSearchCV(TimeProbe(), grid, scoring="r2", cv=2), X, Y, "user-last", time=TIMES)
    data = {"toy": (with_times(X, TIMES), Y)}
    assert not compare({"probe": TimeProbe()}, data, splits="user-last", grids={"probe": grid}).failed


def test_cross_validate_by_time():
    timed = with_times(X, TIMES)
    for cv in (TimeSplit(2, times=TIMES), UserLast(), Holdout(n_splits=2, random_state=0)):
        found = cross_validate(TimeProbe(), timed, Y, cv=cv, scoring="r2", return_estimator=True)
        for (train, _), model in zip(cv.split(timed), found["estimator"], strict=True):
            assert np.array_equal(model.trained_, TIMES[train] / 86400)
    strong = StrongGeneralization(2, n_splits=1, random_state=0)
    assert len(cross_validate(TimeProbe(), timed, Y, cv=strong, scoring=FoldInScorer(timed, Y))["test_score"]) == 1
