"""Splitters and protocols: what is held out, how often, and that nothing leaks into training."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, cross_validate
from tests.together import together

from cofactor.evaluation import (
    PROTOCOLS,
    FoldInScorer,
    Holdout,
    KFold,
    NewUsers,
    PerUserHoldout,
    StrongGeneralization,
    TimeSplit,
    UserLast,
    WeakGeneralization,
    evaluate,
)
from cofactor.metrics import root_mean_squared_error
from cofactor.model.splits import pair_numbers

user_lists = st.lists(st.integers(0, 8), min_size=1, max_size=60)


class UserMean(BaseEstimator):
    """Predict the mean rating of a user plus an offset; records what it was shown."""

    def __init__(self, offset=0.0, levels=None):
        self.offset = offset
        self.levels = levels

    def fit(self, X, y):
        assert len(X) == len(y)
        self.seen_ = [tuple(pair) for pair in np.asarray(X, dtype=object).tolist()]
        self.values_ = np.asarray(y)
        self.global_ = float(np.mean(y))
        self.means_ = {}
        for user in {user for user, _ in self.seen_}:
            self.means_[user] = np.mean([v for (u, _), v in zip(self.seen_, y, strict=True) if u == user])
        return self

    def fold_in(self, X, y):
        new = UserMean(self.offset, self.levels).fit(X, y)
        new.trained_on_ = self
        return new

    def predict(self, X):
        users = np.asarray(X, dtype=object)[:, 0].tolist()
        return np.array([self.means_.get(user, self.global_) for user in users]) + self.offset


def pairs_of(users):
    return np.column_stack([users, np.arange(len(users))])


def grid(n_users=12, n_items=6):
    X = np.array([(user, item) for user in range(n_users) for item in range(n_items)])
    y = 1.0 + (X[:, 0] * 7 + X[:, 1] * 3) % 5
    return X, y


# ------------------------------------------------------------------------------------------- splitters


@given(user_lists, st.integers(0, 5))
def test_weak_holds_out_one_rating_of_each_user_with_two(users, seed):
    users = np.array(users)
    counts = np.bincount(users)
    splitter = WeakGeneralization(n_splits=2, random_state=seed)
    if counts.max() < 2:
        with pytest.raises(ValueError, match="no user of X has two ratings"):
            next(splitter.split(pairs_of(users)))
        return
    splits = list(splitter.split(pairs_of(users)))
    assert len(splits) == 2
    for train, test in splits:
        assert sorted(users[test]) == np.flatnonzero(counts >= 2).tolist()
        assert np.union1d(train, test).tolist() == list(range(users.size))
        assert train.size + test.size == users.size
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()


@given(st.lists(st.integers(0, 8), min_size=3, max_size=60), st.integers(1, 8), st.integers(0, 5))
def test_strong_parts(users, test_users, seed):
    users = np.array(users)
    counts = np.bincount(users)
    eligible = np.flatnonzero(counts >= 2)
    splitter = StrongGeneralization(test_users, n_splits=2, random_state=seed)
    if test_users > eligible.size or test_users >= np.count_nonzero(counts):
        with pytest.raises(ValueError, match=r"test_users|two ratings"):
            next(splitter.split(pairs_of(users)))
        return
    both = zip(splitter.split_fold_in(pairs_of(users)), splitter.split(pairs_of(users)), strict=True)
    for (train, fold_in, test), short in both:
        assert np.array_equal(short[0], train)
        assert np.array_equal(short[1], test)
        held_out = users[test]
        assert len(set(held_out)) == test.size == test_users
        assert set(held_out) <= set(eligible)
        assert set(users[fold_in]) == set(held_out)
        assert not set(users[train]) & set(held_out)
        assert sorted([*train, *fold_in, *test]) == list(range(users.size))


@together("make", [WeakGeneralization, StrongGeneralization, Holdout])
def test_seeds_and_forms_of_input(make):
    X, _ = grid()
    names = [(f"user {u:02}", int(i)) for u, i in X]
    forms = [
        X,
        X.tolist(),
        X.astype(float),
        names,
        np.array(names, dtype=object),
        np.array(names),
        pd.DataFrame(names, columns=["u", "i"]),
        pl.DataFrame(names, schema=["u", "i"], orient="row"),
    ]

    def rows(form, seed):
        return [[part.tolist() for part in split] for split in make(n_splits=3, random_state=seed).split(form)]

    first = rows(X, 0)
    assert all(rows(form, 0) == first for form in forms)
    assert rows(X, 1) != first
    assert first[0] != first[1] != first[2]
    splitter = make(random_state=5)
    assert splitter.get_n_splits() == splitter.get_n_splits(X) == 3
    assert repr(splitter).startswith(make.__name__ + "(")
    assert "random_state=5" in repr(splitter)


def test_users_that_do_not_compare_are_told_apart():
    X = [(1, "a"), ("1", "a"), (1, "b"), ("1", "b"), ((2,), "c")]
    _, test = next(WeakGeneralization(random_state=0).split(X))
    assert sorted(str(type(X[row][0])) for row in test) == ["<class 'int'>", "<class 'str'>"]


def test_weak_draws_every_rating_of_a_user_equally_often():
    users = np.repeat([0, 1], [4, 8])
    splits = WeakGeneralization(n_splits=4000, random_state=0).split(pairs_of(users))
    drawn = np.bincount(np.concatenate([test for _, test in splits]), minlength=12)
    expected = np.repeat([1000, 500], [4, 8])
    assert np.abs(drawn - expected).max() < 4 * np.sqrt(1000)


def test_strong_draws_every_user_equally_often():
    users = np.repeat(np.arange(10), 3)
    splits = StrongGeneralization(0.3, n_splits=2000, random_state=0).split(pairs_of(users))
    drawn = np.bincount(np.concatenate([users[test] for _, test in splits]), minlength=10)
    assert drawn.sum() == 6000
    assert np.abs(drawn - 600).max() < 4 * np.sqrt(600)


@together("share", [Fraction(1, 10), Fraction(7, 100), Fraction(3, 10), Fraction(1, 3), Fraction(99, 100)])
@together("n_users", [10, 30, 100, 101])
def test_part_of_the_users_is_rounded_up(share, n_users):
    X = pairs_of(np.repeat(np.arange(n_users), 2))
    expected = -(-share.numerator * n_users // share.denominator)
    splitter = StrongGeneralization(float(share), n_splits=1, random_state=0)
    if expected == n_users:
        with pytest.raises(ValueError, match="some of"):
            next(splitter.split(X))
    else:
        assert next(splitter.split(X))[1].size == expected


@together("test_users", [0, -1, 12, 0.0, 1.0, 1.5, -0.2])
def test_bad_test_users(test_users):
    with pytest.raises(ValueError, match="test_users must be a part between 0 and 1 or a number from 1 to 11"):
        next(StrongGeneralization(test_users).split(grid()[0]))


@together(
    ("X", "message"),
    [
        (np.ones((3, 4)), r"found ndarray of shape \(3, 4\)"),
        (np.ones(3), r"found ndarray of shape \(3,\)"),
        (["ab", "cd"], "found list"),
        ([(1, 2), (1, 2, 3)], "found list"),
        (pd.DataFrame({"u": [1]}), r"found DataFrame of shape \(1, 1\)"),
        ([], "X is empty"),
        (np.empty((0, 2)), "X is empty"),
    ],
)
@together("splitter", [WeakGeneralization(), StrongGeneralization()])
def test_bad_pairs(splitter, X, message):
    with pytest.raises(ValueError, match=message):
        next(splitter.split(X))


def test_y_of_another_length():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(WeakGeneralization().split(grid()[0], [1, 2]))


def test_holdout_sizes():
    X, _ = grid()
    assert [(a.size, b.size) for a, b in Holdout(0.25, 2, 0).split(X)] == [(54, 18)] * 2
    assert [b.size for _, b in Holdout(7, 1, 0).split(X)] == [7]


def test_pair_numbers_join_tables():
    users, pairs = pair_numbers([("b", 1), ("a", 2), ("b", 2)], np.array([("a", 2), ("c", 1)], dtype=object))
    assert users.tolist() == [1, 0, 1, 0, 2]
    assert len(set(pairs.tolist())) == 4
    assert pairs[1] == pairs[3]


# ------------------------------------------------------------------------------------------- scikit-learn


@together("cv", [WeakGeneralization(2, 0), StrongGeneralization(3, 2, 0), Holdout(0.2, 2, 0)])
def test_cross_validate(cv):
    X, y = grid()
    result = cross_validate(
        UserMean(), X, y, cv=cv, scoring="neg_mean_absolute_error", return_estimator=True, return_indices=True
    )
    for score, fitted, train, test in zip(
        result["test_score"], result["estimator"], *result["indices"].values(), strict=True
    ):
        assert fitted.seen_ == [tuple(pair) for pair in X[train].tolist()]
        assert score == -np.abs(y[test] - fitted.predict(X[test])).mean()


@together("form", [np.asarray, np.ndarray.tolist, pd.DataFrame, lambda X: pl.DataFrame(X, schema=["u", "i"])])
def test_fold_in_scorer_folds_in_all_other_ratings_of_the_test_users(form):
    X, y = grid()
    cv = StrongGeneralization(3, n_splits=4, random_state=1)
    shown = form(X)
    scores = cross_validate(UserMean(), shown, y, cv=cv, scoring=FoldInScorer(shown, y))["test_score"]
    expected = []
    for _, fold_in, test in cv.split_fold_in(X):
        means = [y[fold_in][X[fold_in, 0] == X[row, 0]].mean() for row in test]
        expected.append(-np.abs(y[test] - means).mean())
    np.testing.assert_allclose(scores, expected, rtol=1e-14)


def test_fold_in_scorer_in_a_grid_search():
    X, y = grid()
    scorer = FoldInScorer(X, y, root_mean_squared_error)
    assert repr(scorer) == "FoldInScorer(72 ratings, root_mean_squared_error)"
    search = GridSearchCV(UserMean(), {"offset": [-2, 0, 2]}, scoring=scorer, cv=StrongGeneralization(4, 3, 0))
    search.fit(X, y)
    assert search.best_params_ == {"offset": 0}


def test_fold_in_scorer_needs_other_ratings():
    with pytest.raises(ValueError, match="nothing to fold in"):
        FoldInScorer([(1, 1), (2, 1)], [3, 4])(UserMean(), [(1, 1)], [3])


# ------------------------------------------------------------------------------------------- evaluate


@together("protocol", PROTOCOLS)
def test_evaluate_measures_each_split(protocol):
    X, y = grid()
    model = UserMean(levels=[1, 2, 3, 4, 5])
    times = X[:, 1] * 7 % 5
    results = evaluate(model, X, y, protocol, n_splits=2, random_state=3, time=times)
    assert not hasattr(model, "seen_")
    splitter = {
        "holdout": Holdout(0.2, 2, 3),
        "weak": WeakGeneralization(2, 3),
        "strong": StrongGeneralization(0.1, 2, 3),
        "kfold": KFold(2, shuffle=True, random_state=3),
        "time": TimeSplit(2, times=times, test_size=0.2),
        "user-last": UserLast(times=times),
        "per-user": PerUserHoldout(0.2, 2, 3),
        "new-users": NewUsers(0.1, 0.2, 2, 3),
    }[protocol]
    assert len(results) == splitter.get_n_splits(X)
    for result, (train, *_, test) in zip(results, splitter.split(X), strict=True):
        fitted = UserMean().fit(X[train], y[train])
        if protocol in ("strong", "new-users"):
            others = np.setdiff1d(np.arange(len(X)), [*train, *test])
            fitted = fitted.fold_in(X[others], y[others])
        error = np.abs(y[test] - fitted.predict(X[test]))
        assert result["mae"] == pytest.approx(error.mean(), rel=1e-14)
        assert result["nmae"] == pytest.approx(error.mean() / 1.6, rel=1e-14)
        assert result["rmse"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-14)
        assert (result["n_train"], result["n_test"]) == (train.size, test.size)
        assert result["fit_seconds"] > 0
        assert result["predict_seconds"] > 0
        assert ("fold_in_seconds" in result) == (protocol in ("strong", "new-users"))


def test_evaluate_takes_splitters_and_its_own_scale():
    X, y = grid()
    strong = evaluate(UserMean(), X, y, StrongGeneralization(2, n_splits=1, random_state=0))
    assert [result["n_test"] for result in strong] == [2]
    assert "fold_in_seconds" in strong[0]
    five = evaluate(UserMean(), X, y, "weak", n_splits=1)[0]
    nine = evaluate(UserMean(), X, y, "weak", n_splits=1, scale=range(1, 10))[0]
    assert five["nmae"] / nine["nmae"] == pytest.approx((80 / 27) / 1.6)
    assert five["mae"] == nine["mae"]


def test_evaluate_refuses_bad_arguments():
    X, y = grid()
    with pytest.raises(ValueError, match="protocol='loo' is not known; expected one of holdout, weak, strong, kfold"):
        evaluate(UserMean(), X, y, "loo")
    with pytest.raises(TypeError, match="found 3"):
        evaluate(UserMean(), X, y, 3)
    with pytest.raises(ValueError, match="n_splits=0: expected a whole number of at least"):
        evaluate(UserMean(), X, y, n_splits=0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        evaluate(UserMean(), X, y[:-1])
    with pytest.raises(TypeError, match="BaseEstimator has no method fold_in"):
        evaluate(BaseEstimator(), X, y, "strong")


def test_one_user_cannot_be_split_by_users():
    with pytest.raises(ValueError, match="X has one user only"):
        next(StrongGeneralization().split([(1, 1), (1, 2)]))
