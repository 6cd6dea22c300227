"""Splits by time, of ratings and of instances: train on what came before, test on what came later."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from cofactor.checks import check_number
from cofactor.columns import find_timestamp, names_pairs
from cofactor.errors import InvalidInputError
from cofactor.frames import as_frame
from cofactor.model.rows import Rows, check_part, column_of, held_out_counts, n_rows
from cofactor.model.splits import RowsOfUsers
from cofactor.model.times import likely_seconds, seconds_of, split_times

__all__ = ["TimeSplit", "UserLast"]


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
