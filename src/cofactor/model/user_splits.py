"""Splits that hold out a share of the ratings of each user, or of each of some new users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseShuffleSplit
from sklearn.utils import check_random_state

from cofactor.model.rows import Rows, held_out_counts
from cofactor.model.splits import RowsOfUsers, n_held_out_users

__all__ = ["NewUsers", "PerUserHoldout"]


class PerUserHoldout(BaseShuffleSplit):
    """Hold out a random share of the ratings of each user: what else known users interact with.

    A user with n ratings gives the part `test_size` of them, rounded, but at least one; or so many ratings, if it is a
    whole number; in both cases at most n - 1. So all test users are in training, and who has a single rating is in
    training only. `UserLast` is the same by time, which says more of what users do next.

    Parameters
    ----------
    test_size : float or int, default=0.2
        Part, or number, of the ratings of each user to hold out.
    n_splits : int, default=3
        Number of independent splits.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> X = [(user, item) for user in ("ann", "bob") for item in range(5)]
    >>> for train, test in PerUserHoldout(0.4, n_splits=1, random_state=0).split(X):
    ...     print(train, test)
    [0 1 2 5 7 8] [3 4 6 9]
    """

    def __init__(self, test_size: float = 0.2, n_splits: int = 3, random_state: Any = None) -> None:
        super().__init__(n_splits=n_splits, random_state=random_state)
        self.test_size = test_size

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield sorted training and test rows of each split.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each rating.
        y, groups : ignored
            For scikit-learn's interface.

        Raises
        ------
        InvalidInputError
            If no user has two ratings.
        """
        users = RowsOfUsers(X, y)
        sizes = held_out_counts(users.counts, self.test_size)
        rng = check_random_state(self.random_state)
        for _ in range(self.get_n_splits()):
            held_out = some_of_each(users, sizes, rng)
            yield np.flatnonzero(~held_out), np.flatnonzero(held_out)


class NewUsers(BaseShuffleSplit):
    """Hold out users: train on the others, fold the new ones in from a share of their ratings, and test on the rest.

    The held-out users are drawn among those with at least two ratings. Unlike `StrongGeneralization`, which tests one
    rating of each, it tests a share of the ratings of each, as recommendations for new users need it. Protocols are
    measured with `split_fold_in`; ``split`` yields training and test rows alone.

    Parameters
    ----------
    test_users : float or int, default=0.1
        Part, or number, of the users to hold out. A part is one of all users, rounded up.
    test_size : float or int, default=0.2
        Part, or number, of the ratings of each of them to test, as in `PerUserHoldout`; the others are folded in.
    n_splits : int, default=3
        Number of independent splits.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> X = [(user, item) for user in range(10) for item in range(5)]
    >>> for train, fold_in, test in NewUsers(2, 0.4, n_splits=1, random_state=0).split_fold_in(X):
    ...     print(train.size, fold_in, test)
    40 [11 13 14 42 43 44] [10 12 40 41]
    """

    def __init__(
        self, test_users: float = 0.1, test_size: float = 0.2, n_splits: int = 3, random_state: Any = None
    ) -> None:
        super().__init__(n_splits=n_splits, random_state=random_state)
        self.test_users = test_users
        self.test_size = test_size

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows of the training users, and the test rows of the new ones.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each rating.
        y, groups : ignored
            For scikit-learn's interface.
        """
        for train, _, test in self.split_fold_in(X, y):
            yield train, test

    def split_fold_in(self, X: Any, y: Any = None) -> Iterator[tuple[Rows, Rows, Rows]]:
        """Yield training, fold-in and test rows of each split: sorted, and together all rows.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each rating.
        y : ignored
            For symmetry with ``split``.

        Raises
        ------
        InvalidInputError
            If ``test_users`` is out of range, or too few users have two ratings.
        """
        users = RowsOfUsers(X, y)
        n_new = n_held_out_users(self.test_users, users)
        sizes = held_out_counts(users.counts, self.test_size)
        rng = check_random_state(self.random_state)
        for _ in range(self.get_n_splits()):
            new = np.zeros(users.counts.size, dtype=np.bool_)
            new[rng.permutation(users.with_two)[:n_new]] = True
            tested = some_of_each(users, np.where(new, sizes, 0), rng)
            of_new = new[users.codes]
            yield np.flatnonzero(~of_new), np.flatnonzero(of_new & ~tested), np.flatnonzero(tested)


def some_of_each(users: RowsOfUsers, sizes: Rows, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Return which rows to hold out: so many random ones of each user."""
    shuffled = np.lexsort((rng.random_sample(users.n_rows), users.codes))
    codes = users.codes[shuffled]
    chosen = np.arange(users.n_rows) - users.starts[codes] < sizes[codes]
    found = np.zeros(users.n_rows, dtype=np.bool_)
    found[shuffled[chosen]] = True
    return found
