"""Ways to split rows into training and test rows: at random, by time, by user, by labels, or as given.

Every splitter of ratings takes X, the pairs of user id and item id (array of shape (n, 2), list of pairs, or frame of
two columns; times may be in a third one), and yields sorted arrays of row numbers. Those of labels, which are spread
evenly, or kept together by groups, are splitters of scikit-learn's kind. The same ``random_state`` gives the same
split, on any number of threads. The names of all are in `cofactor.model.named_splits`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit, ShuffleSplit
from sklearn.utils import check_consistent_length, check_random_state, indexable

from cofactor.checks import check_number, make_generator
from cofactor.columns import check_pair_names, find_timestamp, names_pairs
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.frames import as_frame, as_series
from cofactor.kernels.stratify import pair_keys, stratify
from cofactor.model.times import is_missing, likely_seconds, seconds_of, split_times
from cofactor.text import plural

Rows: TypeAlias = NDArray[np.int64]
"""Numbers of rows."""


def column_of(values: Any, n: int, argument: str) -> NDArray[Any]:
    """Return n values that can be sorted, none of which is missing."""
    series = as_series(values)
    table = np.asarray(values) if series is None else series.to_numpy()
    if table.shape != (n,):
        raise InvalidInputError(
            f"{argument} has shape {table.shape}, expected ({n},): one for each row", argument=argument
        )
    if table.dtype.kind == "O":
        missing = np.array([is_missing(value) for value in table.tolist()], dtype=bool)
        if not missing.any():
            kinds = {isinstance(value, str) for value in table.tolist()}
            table = table.astype(str) if kinds == {True} else _comparable(table, argument)
    else:
        missing = np.isnat(table) if table.dtype.kind in "mM" else table != table
    if np.any(missing):
        raise InvalidInputError(
            f"{argument}: missing for {plural(int(np.sum(missing)), 'row')}, the first is {int(np.argmax(missing))}",
            argument=argument,
        )
    return table


def _comparable(table: NDArray[Any], argument: str) -> NDArray[Any]:
    """Return objects as numbers or dates."""
    found = np.array(table.tolist())
    if found.dtype.kind not in "biufmM":
        try:
            return seconds_of(table, name=argument)
        except InvalidTypeError as error:
            raise InvalidInputError(
                f"{argument} must be numbers, dates or strings, not a mixture", argument=argument
            ) from error
    return found


def n_rows(X: Any) -> int:
    """Return the number of rows of a table, or of a list of them."""
    (X,) = indexable(X)
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


def check_part(test_size: Any) -> None:
    """Refuse what is no part of the rows."""
    check_number("test_size", test_size, low=0, inclusive=False)
    if test_size >= 1:
        raise InvalidInputError("expected a part of the rows, below 1", argument="test_size", found=test_size)


def held_out_counts(counts: Rows, test_size: Any) -> Rows:
    """Return how many rows of each user to hold out: a part of them, rounded, or a number; at most all but one.

    Examples
    --------
    >>> held_out_counts(np.array([1, 2, 10, 100]), 0.2), held_out_counts(np.array([1, 2, 10]), 5)
    (array([ 0,  1,  2, 20]), array([0, 1, 5]))
    """
    if isinstance(test_size, Integral):
        check_number("test_size", test_size, low=1, whole=True)
        wanted = np.full_like(counts, int(test_size))
    else:
        check_part(test_size)
        wanted = np.maximum(np.floor(test_size * counts + 0.5 + 1e-9).astype(np.int64), 1)
    return np.minimum(wanted, counts - 1)


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
            test = users.sample_row_of_each(users.with_two, rng)
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
            test = users.sample_row_of_each(held_out, rng)
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

    def sample_row_of_each(self, users: Rows, rng: np.random.RandomState) -> Rows:
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
            f"{plural(n_test, 'user is', 'users are')} to be held out, but users with two ratings, one to fold in "
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
            held_out = sample_of_each(users, sizes, rng)
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
            tested = sample_of_each(users, np.where(new, sizes, 0), rng)
            of_new = new[users.codes]
            yield np.flatnonzero(~of_new), np.flatnonzero(of_new & ~tested), np.flatnonzero(tested)


def sample_of_each(users: RowsOfUsers, sizes: Rows, rng: np.random.RandomState) -> NDArray[np.bool_]:
    """Return which rows to hold out: so many random ones of each user."""
    shuffled = np.lexsort((rng.random_sample(users.n_rows), users.codes))
    codes = users.codes[shuffled]
    chosen = np.arange(users.n_rows) - users.starts[codes] < sizes[codes]
    found = np.zeros(users.n_rows, dtype=np.bool_)
    found[shuffled[chosen]] = True
    return found


class TimeSplit(BaseCrossValidator):
    """Train on what came before, test on what came next: splits of ratings, or of instances, by time.

    The rows in order of time are cut into ``n_splits + 1`` blocks of about the same size. Split k trains on the
    first k blocks and tests on the next one. Rows of the same time are never cut apart: all of them are in the
    later block. Or one moment parts the rows: those before it train, those from it on test.

    Parameters
    ----------
    n_splits : int, default=3
        Number of splits, at least 1.
    times : array-like of shape (n,), optional
        Time of each row: numbers, dates (datetime64), or strings that sort, such as ISO dates. By default those of X,
        if it holds ratings that have times (see `split`), otherwise rows are in order of time. `evaluate` and `compare`
        give those of the data.
    test_size : float, optional
        Part of the rows in each test block; by default 1 / (n_splits + 1). The first training block is what is
        left.
    at : number, date or str, optional
        The moment that parts the rows, in place of blocks: then there is one split.

    Raises
    ------
    InvalidInputError
        If times are missing, or so many are the same that a block would be empty; if all are before `at`, or none.

    Examples
    --------
    >>> for train, test in TimeSplit(2, times=[2020, 2019, 2021, 2019, 2020, 2021]).split(np.zeros(6)):
    ...     print(train, test)
    [1 3] [0 4]
    [0 1 3 4] [2 5]
    >>> [(train, test)] = TimeSplit(at=2021, times=[2020, 2019, 2021, 2019, 2020, 2021]).split(np.zeros(6))
    >>> print(train, test)
    [0 1 3 4] [2 5]
    """

    def __init__(
        self,
        n_splits: int = 3,
        *,
        times: ArrayLike | None = None,
        test_size: float | None = None,
        at: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.times = times
        self.test_size = test_size
        self.at = at

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; X, y and groups are ignored."""
        return int(self.n_splits) if self.at is None else 1

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield sorted training and test rows of each split.

        Parameters
        ----------
        X : array-like, sparse matrix or array, or frame, of n rows
            Features, or pairs of user id and item id. The third column of pairs, or that of a frame which is called
            timestamp, time or date, is the time of each row if the splitter has none.
        y : array-like of shape (n,) or (n, n_labels), optional
            Ratings; or labels, then X holds features, and none of them is a time.
        groups : ignored
            For scikit-learn's interface.

        Raises
        ------
        InvalidInputError
            If it is not clear whether the third column of numbers in X is a time or a feature.
        """
        given = _times_in(X, y) if self.times is None else self.times
        if self.at is not None:
            yield self._parted(n_rows(X), given)
            return
        check_number("n_splits", self.n_splits, low=1, whole=True)
        n, k = n_rows(X), int(self.n_splits)
        order, starts = np.arange(n), np.arange(n)
        if given is not None:
            times = column_of(given, n, "times")
            order = np.argsort(times, kind="stable")
            starts = np.searchsorted(times[order], times[order])  # where the instances of the same time begin
        cuts = [*(starts[place] for place in self._places(n, k)), n]
        if min(np.diff([0, *cuts])) < 1:
            raise InvalidInputError(
                f"{len(set(starts.tolist()))} different times are too few, or too unevenly spread, for {k} splits",
                argument="n_splits",
                advice="take fewer splits",
            )
        for first, last in pairwise(cuts):
            yield np.sort(order[:first]), np.sort(order[first:last])

    def _parted(self, n: int, given: Any) -> tuple[Rows, Rows]:
        """Return the rows before the moment, and those from it on."""
        if given is None or self.test_size is not None:
            lacking = "times are missing, which it parts" if given is None else "test_size says so too"
            raise InvalidInputError(f"the moment to split at, but {lacking}", argument="at", found=self.at)
        times, at = column_of(given, n, "times"), column_of([self.at], 1, "at")
        if times.dtype.kind != "U":
            try:
                at = at.astype("datetime64[us]") if at.dtype.kind == "U" else at
            except ValueError:
                raise InvalidInputError(
                    "expected a number, or a date such as 2020-12-31", argument="at", found=self.at
                ) from None
            times, at = seconds_of(times, name="times"), seconds_of(at, name="at")
        elif at.dtype.kind != "U":
            raise InvalidInputError("expected text, as the times are", argument="at", found=self.at)
        later = times >= at
        if later.all() or not later.any():
            every = "from it on" if later.all() else "before it"
            raise InvalidInputError(
                f"all {n} rows are {every}", argument="at", found=self.at, advice="take a moment between"
            )
        return np.flatnonzero(~later), np.flatnonzero(later)

    def _places(self, n: int, k: int) -> list[int]:
        """Return where in the order of time the test blocks would begin if all times differed."""
        if self.test_size is None:
            height = n / (k + 1)
        else:
            check_part(self.test_size)
            height = float(self.test_size) * n
        places = [round(n - height * (k - fold)) for fold in range(k)]
        if not 0 < places[0] <= n - k:
            raise InvalidInputError(
                f"{n} rows are too few for {k} splits"
                + ("" if self.test_size is None else f" that test {self.test_size:g} of them each"),
                argument="n_splits",
                advice="take fewer splits",
            )
        return places


class UserLast(BaseCrossValidator):
    """Hold out the last ratings of each user, by time: what users do next, from all that they, and others, did.

    A user with n ratings gives the part `test_size` of them, rounded, but at least one; or so many ratings, if it is a
    whole number; in both cases at most n - 1. So all test users are in training, and who has a single rating is in
    training only. Of ratings at the same time the later rows count as later. The training part may hold ratings of
    others that are later than some in the test part; that of `TimeSplit` holds none.

    Parameters
    ----------
    test_size : float or int, default=0.2
        Part, or number, of the ratings of each user to hold out.
    times : array-like of shape (n,), optional
        Time of each rating, see `cofactor.model.times.seconds_of`. By default that in a third column of X; `evaluate`
        and `compare` give those of the data.

    Raises
    ------
    InvalidInputError
        If times are missing, or no user has two ratings.

    Examples
    --------
    >>> X = [("ann", "Up"), ("bob", "Up"), ("ann", "Alien"), ("bob", "Brazil"), ("eve", "Up"), ("ann", "Heat")]
    >>> [(train, test)] = UserLast(1, times=[30, 5, 20, 5, 9, 10]).split(X)
    >>> print(train, test)
    [1 2 4 5] [0 3]
    """

    def __init__(self, test_size: float = 0.2, *, times: ArrayLike | None = None) -> None:
        self.test_size = test_size
        self.times = times

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return 1: users have one last part; X, y and groups are ignored."""
        return 1

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield sorted training and test rows.

        Parameters
        ----------
        X : array of shape (n, 2) or (n, 3), list of pairs or triples, or frame
            User id and item id of each rating, perhaps with its time.
        y, groups : ignored
            For scikit-learn's interface.
        """
        pairs, times = split_times(X)
        users, times = RowsOfUsers(pairs, y), times if self.times is None else self.times
        if times is None:
            raise InvalidInputError(
                "times are missing, which say what is last",
                argument="times",
                advice="give them to the splitter, or in a third column of X",
            )
        seconds = seconds_of(times, users.n_rows, "times")
        by_user = np.lexsort((seconds, users.codes))  # of equal times the rows keep their order
        codes = users.codes[by_user]
        left = users.starts[codes] + users.counts[codes] - np.arange(users.n_rows)  # from this rating on
        held_out = left <= held_out_counts(users.counts, self.test_size)[codes]
        yield np.sort(by_user[~held_out]), np.sort(by_user[held_out])


def _times_in(X: Any, y: Any) -> Any:
    """Return the times that ratings have in X; None for pairs without times, and for features."""
    if len(getattr(y, "shape", ())) == 2 or (isinstance(y, list | tuple) and y and np.iterable(y[0])):
        return None  # labels
    frame = as_frame(X)
    if frame is not None:
        names = [str(name) for name in frame.columns]
        position = find_timestamp(names, len(names), ()) if len(names) == 3 or names_pairs(names) else None
        return None if position is None else frame[frame.columns[position]].to_native()
    pairs, times = split_times(X)
    if times is None:
        return None
    column, first = np.asarray(times), np.asarray(pairs[:1], dtype=object).ravel()
    if any(isinstance(one, str) for one in first) or likely_seconds(column):
        return column
    raise InvalidInputError(
        "X has three columns of numbers, of which the third may be a time or a feature",
        argument="times",
        advice="say so: times=X[:, 2], or times=range(len(X)) if the rows are in order of time",
    )


class GivenSplits(BaseCrossValidator):
    """Splits that a caller made: training and test rows of each.

    Wherever a splitter is taken, so is a list of such pairs; this class is what becomes of it.

    Parameters
    ----------
    parts : iterable of tuple (train, test), or one such tuple of arrays
        Row numbers, counted from 0, or masks of all rows. Rows in neither of the two are left out.

    Raises
    ------
    InvalidTypeError
        If these are no pairs of rows.
    InvalidInputError
        If a part is empty, or a row does not exist, is there twice, or is in both parts.

    Examples
    --------
    >>> splits = GivenSplits([([0, 1], [2]), ([True, False, True], [False, True, False])])
    >>> splits
    GivenSplits(2)
    >>> for train, test in splits.split(np.zeros(3)):
    ...     print(train, test)
    [0 1] [2]
    [0 2] [1]
    """

    def __init__(self, parts: Any) -> None:
        self.parts = [tuple(map(np.asarray, part)) for part in _listed(parts)]

    def __repr__(self) -> str:
        return f"GivenSplits({len(self.parts)})"

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; X, y and groups are ignored."""
        return len(self.parts)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield sorted training and test rows of each split; y and groups are ignored.

        Parameters
        ----------
        X : array-like, sparse matrix or array, or frame, of n rows
            Only their number matters.
        y, groups : ignored
            For scikit-learn's interface.
        """
        n = n_rows(X)
        for k, (first, second) in enumerate(self.parts):
            train, test = _rows(first, n, f"training rows of split {k}"), _rows(second, n, f"test rows of split {k}")
            both = np.intersect1d(train, test)
            if both.size:
                raise InvalidInputError(
                    f"split {k} has {both.size} rows in both of its parts, the first is row {both[0]}",
                    argument="splits",
                )
            yield train, test


def _listed(parts: Any) -> list[Any]:
    """Return pairs as a list; refuse what does not look like pairs."""
    if isinstance(parts, tuple) and len(parts) == 2 and all(isinstance(one, np.ndarray) for one in parts):
        return [parts]
    listed = list(parts) if isinstance(parts, Iterable) and not isinstance(parts, str) else []
    if not listed or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in listed):
        raise InvalidTypeError(f"expected pairs of training and test rows, found {parts!r}", argument="splits")
    return listed


def _rows(given: NDArray[Any], n: int, name: str) -> Rows:
    """Return sorted row numbers."""
    if given.ndim != 1 or given.dtype.kind not in "biu":
        raise InvalidInputError(
            f"the {name} must be row numbers, or a mask; found {given.dtype} of shape {given.shape}", argument="splits"
        )
    if given.dtype.kind == "b":
        if given.shape != (n,):
            raise InvalidInputError(f"the {name} are a mask of {given.size} rows, and there are {n}", argument="splits")
        given = np.flatnonzero(given)
    rows: Rows = np.unique(given).astype(np.int64)
    if not rows.size or rows[0] < 0 or rows[-1] >= n:
        found = f"from {rows[0]} to {rows[-1]}" if rows.size else "none"
        raise InvalidInputError(f"expected {name} from 0 to {n - 1}, found {found}", argument="splits")
    if rows.size < given.size:
        raise InvalidInputError(f"{given.size - rows.size} of the {name} are there more than once", argument="splits")
    return rows


#: Most pairs of labels that stratification of the second order lists: 800 MB in all.
_MOST_PAIRS = 50_000_000


class _LabelSplitter(BaseCrossValidator):
    """Deals units, instances or groups of them, out to parts which should have their share of each label."""

    n_splits: int
    order: int
    random_state: Any

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits; X, y and groups are ignored."""
        return int(self.n_splits)

    @abstractmethod
    def _test_parts(self, labels: sparse.csr_array, groups: Any) -> Iterator[NDArray[np.bool_]]:
        """Yield which rows are for testing."""

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[NDArray[np.bool_]]:
        check_number("n_splits", self.n_splits, low=self._least_splits, whole=True)
        check_number("order", self.order, low=1, high=2, whole=True)
        yield from self._test_parts(_ones(y), groups)

    _least_splits = 2

    def _dealt(
        self,
        labels: sparse.csr_array,
        shares: NDArray[np.float64],
        rng: np.random.Generator,
        weights: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Return the part of each unit; `labels` holds for each on how many of its instances labels are."""
        n = labels.shape[0]
        lot = rng.permutation(n)
        if weights is not None:  # the largest groups first, since later ones can make up for them
            lot = lot[np.argsort(-weights[lot], kind="stable")]
        table = sparse.csr_array(labels[lot])
        by_label = sparse.csc_array(table)
        folds = np.empty(n, np.int64)
        stratify(
            *(np.asarray(part, dtype=np.int64) for part in (table.indptr, table.indices, table.data)),
            *(np.asarray(part, dtype=np.int64) for part in (by_label.indptr, by_label.indices)),
            np.ones(n, np.int64) if weights is None else weights[lot],
            shares,
            rng.random(n),
            folds,
        )
        dealt = np.empty_like(folds)
        dealt[lot] = folds
        return dealt

    def _strata(self, labels: sparse.csr_array) -> sparse.csr_array:
        """Return what is spread evenly: labels, or pairs of labels."""
        return labels if self.order == 1 else _pairs(labels)


class StratifiedLabelKFold(_LabelSplitter):
    """Folds with about the same share of every label: iterative stratification.

    The instances of the label that has the fewest left are dealt out first, each to the fold that lacks most of this
    label; of equal folds to the one that has least of it, then to the one that lacks most instances; then by lot.
    Instances without labels fill up. So a label on k instances is on one of each of k folds, wherever instances of
    other labels leave a choice; among random folds many rare labels have test folds without them, where F1 is not
    defined.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    order : {1, 2}, default=1
        1 spreads labels evenly; 2 spreads pairs of labels that occur together evenly (a label alone is a pair of
        itself), which takes more time and memory: all pairs of all instances are listed.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of instances, and of lots.

    Raises
    ------
    InvalidInputError
        If y is no table of labels, or there are fewer instances than folds.

    Notes
    -----
    Folds may differ by a few instances, since labels count first. That of equal folds the one with least of a label
    comes first is not in the source; it only matters to parts of unequal size, as those of `StratifiedLabelHoldout`.
    An unknown label, NaN, counts as off. Sparse y stays
    sparse: 100,000 instances with ten of 1,000 labels each are split in less than a second, with ``order=2`` in a few.

    References
    ----------
    K. Sechidis, G. Tsoumakas & I. Vlahavas, "On the stratification of multi-label data", ECML PKDD 2011,
    doi:10.1007/978-3-642-23808-6_10; P. Szymański & T. Kajdanowicz, "A network perspective on stratification of
    multi-label data", LIDTA 2017.

    Examples
    --------
    >>> y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> for train, test in StratifiedLabelKFold(2, random_state=0).split(y, y):
    ...     print(y[test].sum(axis=0), len(test))
    [2 1] 3
    [2 1] 3
    """

    def __init__(self, n_splits: int = 5, *, order: int = 1, random_state: Any = None) -> None:
        self.n_splits = n_splits
        self.order = order
        self.random_state = random_state

    def _test_parts(self, labels: sparse.csr_array, groups: Any) -> Iterator[NDArray[np.bool_]]:
        k = int(self.n_splits)
        _check_enough("instances", labels.shape[0], k)
        folds = self._dealt(self._strata(labels), np.full(k, 1 / k), make_generator(self.random_state))
        for fold in range(k):
            yield folds == fold


class StratifiedLabelHoldout(_LabelSplitter):
    """A random part held out, with about its share of every label; see `StratifiedLabelKFold`.

    It has a label that is on in k instances where k · test_size is a half or more, unless instances of other labels
    leave no choice: with a quarter for testing from two instances on, with a fifth from three. A label on fewer is in
    training alone.

    Parameters
    ----------
    test_size : float, default=0.2
        Part of the instances to hold out, above 0 and below 1.
    n_splits : int, default=3
        Number of independent splits.
    order : {1, 2}, default=1
        Whether labels or pairs of labels are spread.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Examples
    --------
    >>> y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> [(train, test)] = StratifiedLabelHoldout(0.5, n_splits=1, random_state=0).split(y, y)
    >>> y[test].sum(axis=0)
    array([2, 1])
    """

    _least_splits = 1

    def __init__(self, test_size: float = 0.2, n_splits: int = 3, *, order: int = 1, random_state: Any = None) -> None:
        self.test_size = test_size
        self.n_splits = n_splits
        self.order = order
        self.random_state = random_state

    def _test_parts(self, labels: sparse.csr_array, groups: Any) -> Iterator[NDArray[np.bool_]]:
        check_part(self.test_size)
        _check_enough("instances", labels.shape[0], 2)
        rng, strata = make_generator(self.random_state), self._strata(labels)
        for _ in range(int(self.n_splits)):
            test = self._dealt(strata, np.array([1 - self.test_size, self.test_size]), rng) == 1
            if test.all() or not test.any():  # of a few instances the rounded part may be nothing
                test[rng.integers(len(test))] ^= True
            yield test


class GroupedLabelKFold(_LabelSplitter):
    """Folds that keep groups of instances together, such as pictures of one patient, and spread labels evenly.

    No group is both in training and in test. Groups are dealt out as instances are by `StratifiedLabelKFold`, the
    largest first, with the counts of their labels; so labels are spread as evenly as the groups allow.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    groups : array-like of shape (n,), optional
        Group of each instance: numbers or strings, none missing. ``split(X, y, groups)`` takes them as well, and these
        count then.
    order : {1, 2}, default=1
        Whether labels or pairs of labels are spread.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Raises
    ------
    InvalidInputError
        If there are no groups, fewer than folds, or not one for each instance.

    Examples
    --------
    >>> y = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [0, 0], [0, 0]])
    >>> patients = ["ann", "ann", "bob", "eve", "bob", "eve"]
    >>> [test for _, test in GroupedLabelKFold(3, random_state=0).split(y, y, patients)]
    [array([3, 5]), array([0, 1]), array([2, 4])]
    """

    def __init__(
        self, n_splits: int = 5, *, groups: ArrayLike | None = None, order: int = 1, random_state: Any = None
    ) -> None:
        self.n_splits = n_splits
        self.groups = groups
        self.order = order
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Rows, Rows]]:
        """Yield sorted training and test rows of each split.

        Parameters
        ----------
        X : array-like, sparse matrix or array, or frame, of shape (n, D)
            Only its number of rows matters.
        y : array-like, sparse matrix or array, or frame, of shape (n, L)
            The labels.
        groups : array-like of shape (n,), optional
            Group of each instance; by default the parameter.
        """
        yield from super().split(X, y, self.groups if groups is None else groups)

    def _test_parts(self, labels: sparse.csr_array, groups: Any) -> Iterator[NDArray[np.bool_]]:
        k = int(self.n_splits)
        n_groups, codes = _numbered(groups, labels.shape[0])
        _check_enough("groups", n_groups, k)
        members = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), (n_groups, len(codes)))
        weights = np.bincount(codes, minlength=n_groups)
        strata = sparse.csr_array(members @ self._strata(labels))
        folds = self._dealt(strata, np.full(k, 1 / k), make_generator(self.random_state), weights)[codes]
        for fold in range(k):
            yield folds == fold


# ---------------------------------------------------------------- what is split


def _ones(y: Any) -> sparse.csr_array:
    """Return where labels are on, of a table of 0 and 1, or of -1 and 1; what is unknown (NaN) is not on."""
    if y is None:
        raise InvalidInputError("y is missing: labels are spread over the parts, pass them", argument="y")
    table: Any
    if sparse.issparse(y):
        table = y
        if table.ndim != 2:
            raise _no_table(table.shape)
        on: Any = sparse.csr_array(table, copy=True)
        on.sum_duplicates()
        on.data = (on.data > 0).astype(np.int64)
        on.eliminate_zeros()
        return on
    frame = as_frame(y)
    try:
        table = np.asarray(y) if frame is None else frame.to_numpy()
        table = table if table.dtype.kind in "biuf" else table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y must be a table of 0 and 1 ({error})", argument="y") from error
    if table.ndim != 2:
        raise _no_table(table.shape)
    return sparse.csr_array(table > 0, dtype=np.int64)


def _no_table(shape: tuple[int, ...]) -> InvalidInputError:
    return InvalidInputError(
        f"y has shape {shape}, expected a table (n instances, L labels)",
        argument="y",
        advice="of one label pass y.reshape(-1, 1), or take scikit-learn's StratifiedKFold",
    )


def _pairs(labels: sparse.csr_array) -> sparse.csr_array:
    """Return which pairs i <= j of labels each row has; columns are the pairs that occur."""
    lengths = np.diff(labels.indptr).astype(np.int64)
    per_row = lengths * (lengths + 1) // 2
    total = int(per_row.sum())
    if total > _MOST_PAIRS:
        raise InvalidInputError(
            f"the instances have {total:,} pairs of labels, and at most {_MOST_PAIRS:,} are listed",
            argument="order",
            found=2,
            advice=(Argument("order", 1), " spreads labels alone"),
        )
    keys = np.empty(total, np.int64)
    ordered = labels.sorted_indices()
    pair_keys(*(np.asarray(part, dtype=np.int64) for part in (ordered.indptr, ordered.indices)), labels.shape[1], keys)
    distinct, numbers = np.unique(keys, return_inverse=True)
    indptr = np.concatenate([[0], np.cumsum(per_row)])
    return sparse.csr_array((np.ones(total, np.int64), numbers, indptr), (labels.shape[0], len(distinct)))


def _numbered(groups: Any, n: int) -> tuple[int, NDArray[np.int64]]:
    """Return the number of groups, and the number of the group of each instance."""
    if groups is None:
        raise InvalidInputError(
            "groups are missing, which say what instances belong together",
            argument="groups",
            advice="give it to the splitter, or to split(X, y, groups)",
        )
    distinct, codes = np.unique(column_of(groups, n, "groups"), return_inverse=True)
    return len(distinct), codes


def _check_enough(what: str, n: int, n_parts: int) -> None:
    if n < n_parts:
        raise InvalidInputError(f"there are {n} {what} for {n_parts} parts", argument="n_splits", advice="take fewer")
