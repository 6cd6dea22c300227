"""A share of the ratings of each user, or of each of some new users, is held out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.evaluation import NewUsers, PerUserHoldout, splitter_of
from cofactor.model.named_splits import folds_in, parts_of

user_lists = st.lists(st.integers(0, 6), min_size=1, max_size=60)


def pairs_of(users):
    return np.column_stack([users, np.arange(len(users))])


def held_out(n, test_size):
    wanted = test_size if isinstance(test_size, int) else max(1, int(np.floor(test_size * n + 0.5)))
    return min(wanted, n - 1)


@given(user_lists, st.sampled_from([0.2, 0.5, 1, 3]), st.integers(0, 99))
def test_each_user_gives_a_share(users, test_size, seed):
    X = pairs_of(users)
    if np.bincount(users).max() < 2:
        with pytest.raises(InvalidInputError, match="no user of X has two ratings"):
            next(PerUserHoldout(test_size, random_state=seed).split(X))
        return
    for train, test in PerUserHoldout(test_size, 2, seed).split(X):
        assert np.array_equal(np.sort([*train, *test]), np.arange(len(X)))
        assert (np.diff(train) > 0).all()
        for user, n in zip(*np.unique(users, return_counts=True), strict=True):
            assert (X[test, 0] == user).sum() == held_out(n, test_size)


@given(user_lists, st.sampled_from([0.2, 0.5, 2]), st.integers(0, 99))
def test_new_users_are_nowhere_in_training(users, test_size, seed):
    X = pairs_of(users)
    with_two = np.flatnonzero(np.bincount(users) >= 2)
    if with_two.size < 2:
        return
    for train, fold_in, test in NewUsers(2 if len(set(users)) > 2 else 1, test_size, 2, seed).split_fold_in(X):
        assert np.array_equal(np.sort([*train, *fold_in, *test]), np.arange(len(X)))
        new = set(X[test, 0].tolist())
        assert new == set(X[fold_in, 0].tolist())
        assert len(new) == (2 if len(set(users)) > 2 else 1)
        assert not new & set(X[train, 0].tolist())
        for user in new:
            assert (X[test, 0] == user).sum() == held_out(users.count(user), test_size)


def test_the_seed_decides():
    X = pairs_of(np.repeat(np.arange(30), 10))
    for splitter in (PerUserHoldout, NewUsers):
        first, again, other = (list(splitter(random_state=seed).split(X)) for seed in (1, 1, 2))
        assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, again, strict=True))
        assert not np.array_equal(first[0][1], other[0][1])
        assert not np.array_equal(first[0][1], first[1][1])


def test_every_rating_has_the_same_chance():
    X = pairs_of(np.repeat(np.arange(40), 5))
    counts = sum(np.bincount(test, minlength=len(X)) for _, test in PerUserHoldout(0.2, 400, 0).split(X))
    assert abs(counts / 400 - 0.2).max() < 0.09  # 4.5 standard errors
    assert counts.sum() == 400 * 40


def test_by_name():
    X = pd.DataFrame({"user": np.repeat(["ann", "bob", "eve"], 5), "item": np.arange(15)})
    given_splitter = PerUserHoldout(0.4, 2, 7)
    named = splitter_of("per-user", n_splits=2, random_state=7, test_size=0.4)
    for a, b in zip(given_splitter.split(X), named.split(X), strict=True):
        assert np.array_equal(a[1], b[1])
    assert folds_in("new-users")
    named = splitter_of("new-users", n_splits=1, random_state=7, test_size=2, test_users=1)
    [(train, fold_in, test)] = parts_of(named, X, None)
    assert (train.size, fold_in.size, test.size) == (10, 3, 2)
    assert np.array_equal(next(NewUsers(1, 2, 1, 7).split(X))[1], test)


@together("test_size", [0, 1.0, -0.5, 0.0])
def test_bad_shares(test_size):
    with pytest.raises(InvalidInputError, match="test_size"):
        next(PerUserHoldout(test_size).split(pairs_of([1, 1, 2, 2])))


def test_bad_users():
    with pytest.raises(InvalidInputError, match="lower test_users"):
        next(NewUsers(2).split(pairs_of([1, 1, 2, 3])))
    with pytest.raises(InvalidInputError, match="X has one user only"):
        next(NewUsers().split(pairs_of([1, 1])))
