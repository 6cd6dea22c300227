"""Ways to split ratings into training and test rows.

Every splitter of ratings takes X, the pairs of user id and item id (array of shape (n, 2), list of pairs, or frame of
two columns; times may be in a third one), and yields sorted arrays of row numbers. The same ``random_state`` gives the
same split. Splits that hold out a share of each user are in
`cofactor.model.user_splits`, those by time in `cofactor.model.time_splits`, those of labels in
`cofactor.model.label_splits`, the names of all in `cofactor.model.named_splits`.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseShuffleSplit, ShuffleSplit
from sklearn.utils import check_consistent_length, check_random_state

from cofactor.columns import check_pair_names
from cofactor.errors import InvalidInputError
from cofactor.frames import as_frame
from cofactor.model.rows import Rows
from cofactor.model.times import split_times
from cofactor.text import counted

__all__ = [
    "Holdout",
    "Parts",
    "RowsOfUsers",
    "StrongGeneralization",
    "WeakGeneralization",
    "n_held_out_users",
]

Parts = tuple[Rows, Rows | None, Rows]
"""Training, fold-in (None where there is none) and test rows."""


class Holdout(ShuffleSplit):
    """Hold out a random part of the ratings: scikit-learn's ``ShuffleSplit`` with this library's defaults.

    Parameters
    ----------
    test_size : float or int, default=0.2
        Part, or number, of the ratings to hold out.
    n_splits : int, default=3
        Number of independent splits.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> [(train.size, test.size) for train, test in Holdout(n_splits=1).split([(0, 0)] * 10)]
    [(8, 2)]
    """

    def __init__(self, test_size: float = 0.2, n_splits: int = 3, random_state: Any = None) -> None:
        super().__init__(n_splits=n_splits, test_size=test_size, random_state=random_state)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield sorted training and test rows of each split; ``groups`` is ignored."""
        for train, test in super().split(X, y, groups):
            yield np.sort(train), np.sort(test)


class WeakGeneralization(BaseShuffleSplit):
    """Hold out one random rating of each user who has at least two: new ratings of known users.

    Parameters
    ----------
    n_splits : int, default=3
        Number of independent splits.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Notes
    -----
    The weak generalization protocol of Kumar's thesis, section 3.6. Users with a single rating are for
    training only.

    Examples
    --------
    >>> X = [("ann", "Up"), ("bob", "Up"), ("ann", "Alien"), ("bob", "Brazil"), ("eve", "Up")]
    >>> for train, test in WeakGeneralization(n_splits=2, random_state=0).split(X):
    ...     print(train, test)
    [0 1 4] [2 3]
    [0 1 4] [2 3]
    """

    def __init__(self, n_splits: int = 3, random_state: Any = None) -> None:
        super().__init__(n_splits=n_splits, random_state=random_state)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield training and test rows of each split.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each rating.
        y, groups : ignored
            For scikit-learn's interface.

        Yields
        ------
        train, test : ndarray of int64
            Sorted row numbers, together all rows.

        Raises
        ------
        ValueError
            If no user has two ratings.
        """
        users = RowsOfUsers(X, y)
        rng = check_random_state(self.random_state)
        for _ in range(self.get_n_splits()):
            test = users.one_row_each(users.with_two, rng)
            yield _others(users.n_rows, test), test


class StrongGeneralization(BaseShuffleSplit):
    """Hold out users: train on all ratings of the others, then predict one rating of each held-out user.

    The held-out users G are drawn among those with at least two ratings. The model never sees them in
    ``fit``; it learns about them by fold-in from all their ratings but one, and predicts that one.
    `split_fold_in` yields these three parts, and ``evaluate(..., protocol="strong")`` uses them.
    ``split`` yields training and test rows only. In ``cross_validate`` or ``GridSearchCV`` pair it with
    `FoldInScorer`, which folds the users of the test rows in; other scorers see only the predictions for
    unknown users, the fallback of the model.

    Parameters
    ----------
    test_users : float or int, default=0.1
        Part, or number, of the users to hold out. A part is one of all users, rounded up.
    n_splits : int, default=3
        Number of independent splits.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Notes
    -----
    The strong generalization protocol of Kumar's thesis, section 3.6.

    Examples
    --------
    >>> X = [(user, item) for user in range(10) for item in range(4)]
    >>> for train, fold_in, test in StrongGeneralization(2, n_splits=1, random_state=0).split_fold_in(X):
    ...     print(train.size, fold_in, test)
    32 [ 8 10 11 32 33 34] [ 9 35]
    """

    def __init__(self, test_users: float = 0.1, n_splits: int = 3, random_state: Any = None) -> None:
        super().__init__(n_splits=n_splits, random_state=random_state)
        self.test_users = test_users

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield the rows of the training users, and one row of each held-out user.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each rating.
        y, groups : ignored
            For scikit-learn's interface.

        Yields
        ------
        train, test : ndarray of int64
            Sorted row numbers; the fold-in rows are in neither.
        """
        for train, _, test in self.split_fold_in(X, y):
            yield train, test

    def split_fold_in(self, X: Any, y: Any = None) -> Iterator[tuple[Rows, Rows, Rows]]:
        """Yield training, fold-in and test rows of each split.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each rating.
        y : ignored
            For symmetry with ``split``.

        Yields
        ------
        train : ndarray of int64
            All rows of the users who are not held out.
        fold_in : ndarray of int64
            All rows but one of each held-out user.
        test : ndarray of int64
            One row of each held-out user. The three are sorted and together are all rows.

        Raises
        ------
        ValueError
            If ``test_users`` is out of range, or too few users have two ratings.
        """
        users = RowsOfUsers(X, y)
        n_test = n_held_out_users(self.test_users, users)
        rng = check_random_state(self.random_state)
        for _ in range(self.get_n_splits()):
            held_out = np.sort(rng.permutation(users.with_two)[:n_test])
            test = users.one_row_each(held_out, rng)
            chosen = np.zeros(users.counts.size, dtype=np.bool_)
            chosen[held_out] = True
            fold_in = chosen[users.codes]
            train = np.flatnonzero(~fold_in)
            fold_in[test] = False
            yield train, np.flatnonzero(fold_in), test


class RowsOfUsers:
    """The rows of X sorted by user, so that one of each can be drawn without a loop."""

    def __init__(self, X: Any, y: Any) -> None:
        self.codes = _encode(_column(X, 0))
        self.n_rows = self.codes.size
        if y is not None:
            check_consistent_length(self.codes, y)
        if not self.n_rows:
            raise InvalidInputError("X is empty: there is nothing to split")
        self.counts = np.bincount(self.codes)
        self.order = np.argsort(self.codes, kind="stable")
        self.starts = np.cumsum(self.counts) - self.counts
        self.with_two = np.flatnonzero(self.counts >= 2)
        if not self.with_two.size:
            raise InvalidInputError("no user of X has two ratings: one each for training and test are needed")

    def one_row_each(self, users: Rows, rng: np.random.RandomState) -> Rows:
        """Return a random row of each of some users, sorted."""
        counts = self.counts[users]
        # A product just below 1 times a large count may round up to the count itself.
        picks = np.minimum((rng.random_sample(users.size) * counts).astype(np.int64), counts - 1)
        return np.sort(self.order[self.starts[users] + picks])


def n_held_out_users(test_users: Any, users: RowsOfUsers) -> int:
    """Return the number of users to hold out, of whom each has two ratings; refuse what leaves none for training."""
    n_users = users.counts.size
    if n_users < 2:
        raise InvalidInputError(
            "X has one user only, but some must be held out (test_users) and some remain for training"
        )
    whole = isinstance(test_users, Integral)
    n_test = int(test_users) if whole else int(np.ceil(test_users * n_users - 1e-9))
    if not 0 < n_test < n_users or not (whole or 0 < test_users < 1):
        raise InvalidInputError(
            f"test_users must be a part between 0 and 1 or a number from 1 to {n_users - 1} (some of "
            f"{n_users} users must remain for training), found {test_users!r}"
        )
    if n_test > users.with_two.size:
        raise InvalidInputError(
            f"{counted(n_test, 'user is', 'users are')} to be held out, but users with two ratings, one to fold in "
            f"and one to test, are only {users.with_two.size}: lower test_users"
        )
    return n_test


def _others(n_rows: int, rows: Rows) -> Rows:
    left = np.ones(n_rows, dtype=np.bool_)
    left[rows] = False
    return np.flatnonzero(left)


def _column(X: Any, k: int) -> NDArray[Any]:
    """Return column k of pairs of ids."""
    X, _ = split_times(X)
    frame = as_frame(X)
    if frame is not None:
        shape: tuple[int, ...] = frame.shape
    elif isinstance(X, list | tuple):
        lengths = {len(pair) if isinstance(pair, list | tuple | np.ndarray) else 0 for pair in X}
        shape = (len(X), lengths.pop() if len(lengths) == 1 else 0) if X else (0, 2)
    else:
        shape = np.shape(X)
    if len(shape) != 2 or shape[1] != 2:
        raise InvalidInputError(
            f"X must hold (user, item) pairs, shape (n, 2), found {type(X).__name__} of shape {shape}"
        )
    if frame is not None:
        check_pair_names(frame.columns)
        return frame[:, k].to_numpy()
    if isinstance(X, list | tuple):
        return np.fromiter((pair[k] for pair in X), dtype=object, count=len(X))
    column: NDArray[Any] = np.asarray(X)[:, k]
    return column


def pair_numbers(*tables: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the users, and the (user, item) pairs, of several tables of pairs together.

    Parameters
    ----------
    *tables : array of shape (n, 2), list of pairs, or frame of two columns
        User id and item id of each row.

    Returns
    -------
    users, pairs : ndarray of int64
        One number for each row, of the tables one after the other: equal users, and equal pairs, have equal
        numbers.

    Examples
    --------
    >>> users, pairs = pair_numbers([("ann", 1), ("bob", 1)], [("bob", 1)])
    >>> users.tolist(), pairs.tolist()
    ([0, 1, 1], [0, 1, 1])
    """
    users, items = (_encode(np.concatenate([_column(X, k) for X in tables])) for k in (0, 1))
    return users, users * (items.max(initial=0) + 1) + items


def _encode(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Number ids 0, 1, ... in sorted order, or in order of first appearance if they cannot be sorted."""
    if ids.dtype.kind in "iubf":
        return np.asarray(np.unique(ids, return_inverse=True)[1], dtype=np.int64)
    keys = ids.tolist()
    distinct = list(dict.fromkeys(keys))
    try:
        distinct.sort()
    except TypeError:
        distinct = list(dict.fromkeys(keys))  # a sort that fails may leave them half sorted
    position = {key: k for k, key in enumerate(distinct)}
    return np.fromiter((position[key] for key in keys), dtype=np.int64, count=len(keys))
