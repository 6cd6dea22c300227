"""Ratings as sparse rows and columns, built and checked once, then shared by every model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import check_sparse
from cofactor.coding import Coding
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.metrics.scale import as_scale, to_levels
from cofactor.model.times import seconds_of, the_times
from cofactor.ratings.column_entries import ColumnEntries, OfColumns
from cofactor.ratings.entries import (
    by_user_and_item,
    check_duplicates,
    check_rows,
    check_y_is_needed,
    counts,
    entries_of_rows,
    indexed,
    inferred_scale,
    latest_of,
    mean_levels,
    offsets,
    rating_values,
    refuse_duplicates,
    refuse_none,
    refuse_unknown,
    repeated_pairs,
    sides_of,
)
from cofactor.ratings.frames import is_data_set, is_frame, split_frame
from cofactor.ratings.ids import IdMap
from cofactor.text import counted, some_of
from cofactor.typing import Pairs, RatingValues, SparseTable

__all__ = ["Ratings", "as_ratings"]

Duplicates = Literal["error", "last", "mean"]


@dataclass(frozen=True, eq=False, repr=False)
class Ratings(OfColumns):
    r"""Ratings of users for items on a discrete scale, by rows, and by columns where these are asked for.

    Build it with `from_pairs`, `from_sparse` or `as_ratings`; it is never changed afterwards, so treat its
    arrays as read-only. A rating is stored as its level, the rank :math:`1 \dots R` on the scale.

    In memory it takes 5 bytes a rating: 4 for `indices` and 1 for `levels`; with `times` 8 more, with `weights` 8 more.
    `col_indices` and `to_csr` are made when one of them is first asked for, as most fits do, and take 8 more from then
    on; `row_of_entry` takes 4 more likewise. Each user takes 8 beside its id, and each item 8 once `col_indptr` was
    asked for. To build it takes up to 33 bytes a rating besides what it is built of (measured on ten million ratings).
    What does not fit into memory, `cofactor.ratings.ShardedRatings` holds.

    Attributes
    ----------
    users, items : IdMap
        Ids of the rows and of the columns.
    scale : ndarray of shape (R,), float64
        The increasing values a rating can take.
    indptr : ndarray of shape (n_users + 1,), int64
        The entries of user i are ``indptr[i]:indptr[i + 1]``.
    indices : ndarray of shape (n_ratings,), int32
        Item index of each entry, increasing within a user.
    levels : ndarray of shape (n_ratings,), uint8
        Level of each entry, 1..R.
    columns : ColumnEntries
        The entries by item, which copies that differ in levels share.
    coding : Coding or None
        What the levels stand for, where a data set says so.
    times : ndarray of shape (n_ratings,), float64, or None
        When each entry was rated, in seconds since 1970, in the order of the entries by user; None where it is not
        known.
    weights : ndarray of shape (n_ratings,), float64, above 0, or None
        How often each entry counts, likewise; None where all count once.
    kind_weights : mapping of str to float, or None
        What an event of each kind counted in these weights, the target first; None where there are no kinds.

    Examples
    --------
    >>> pairs = [("ann", "Up"), ("bob", "Up"), ("ann", "Alien")]
    >>> ratings = Ratings.from_pairs(pairs, [4, 2, 5], scale=[1, 2, 3, 4, 5])
    >>> ratings
    Ratings(2 users, 2 items, 3 ratings on 1, 2, 3, 4, 5)
    >>> ratings.indices.tolist(), ratings.levels.tolist()
    ([0, 1, 1], [5, 4, 2])
    """

    users: IdMap
    items: IdMap
    scale: NDArray[np.float64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    levels: NDArray[np.uint8]
    columns: ColumnEntries
    coding: Coding | None = None
    times: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    kind_weights: Mapping[str, float] | None = None

    @classmethod
    def from_pairs(
        cls,
        X: Pairs,
        y: RatingValues = None,
        scale: ArrayLike | None = None,
        duplicates: Duplicates = "error",
        items: IdMap | None = None,
        unknown_items: Literal["error", "drop"] = "error",
        times: ArrayLike | None = None,
    ) -> Self:
        """Build ratings from pairs of ids.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, pandas or polars frame
            User id and item id of each rating. A frame has two columns; or columns for user, item and rating, if y is
            not given. A third column holds times, in a frame one called timestamp, time or date.
        y : array-like of shape (n,), optional
            The ratings, where X does not hold them.
        scale : array-like of shape (R,), optional
            The increasing values a rating can take. By default the distinct values of ``y``.
        duplicates : {"error", "last", "mean"}, default="error"
            What to do with several ratings of one user for one item: refuse them, keep the last one (the latest, if
            there are times; of those at the same time the last one), or take their mean, rounded to the nearest level,
            upwards halfway between two levels, at the time of the latest one.
        items : IdMap, optional
            The items, where they are given by a model.
        unknown_items : {"error", "drop"}, default="error"
            What to do with ratings of items that are not among `items`. Users stay, also those whose ratings are
            all dropped.
        times : array-like of shape (n,), optional
            Time of each rating: numbers of seconds since 1970, or dates, see `cofactor.model.times.seconds_of`. By
            default those of X, if it holds any; a frame which holds the ratings may have a column timestamp, time or
            date for them.

        Returns
        -------
        Ratings
            Checked ratings, independent of the order of the rows where the ids can be sorted.

        Raises
        ------
        ValueError
            If X or y has the wrong shape, is empty, or holds missing ids, duplicates, or ratings that are not
            finite or not on the scale; if the scale has fewer than 2 or more than 101 levels; if some times are
            missing.
        """
        if y is None and is_frame(X):
            X, y, found = split_frame(X)
            times = the_times(found, times)
        users, items, user_index, item_index, given = indexed(X, items, unknown_items, times)
        values = rating_values(y, len(item_index))
        refuse_none(values)
        seconds = None if given is None else seconds_of(given, values.size)
        if given is not times and np.array_equal(given, values):
            raise InvalidInputError(
                "the third column of X, which is for times, holds the ratings",
                argument="X",
                advice="pass the first two columns as X and the ratings as y",
            )
        known = item_index >= 0
        if not known.all():
            user_index, item_index, values = user_index[known], item_index[known], values[known]
            seconds = None if seconds is None else seconds[known]
        return cls.from_entries(users, items, user_index, item_index, values, scale, duplicates, seconds)

    @classmethod
    def from_sparse(
        cls,
        matrix: SparseTable,
        scale: ArrayLike | None = None,
        duplicates: Duplicates = "error",
        items: IdMap | None = None,
        times: ArrayLike | None = None,
    ) -> Self:
        """Build ratings from a scipy sparse matrix or array of users × items.

        Each stored entry is a rating, a stored zero too. Ids are row and column numbers; empty rows and
        columns are users and items without ratings.

        Parameters
        ----------
        matrix : scipy sparse matrix or array of shape (n_users, n_items)
            The ratings.
        scale, duplicates, items
            As in `from_pairs`. Entries stored twice are duplicates; they are not added up.
        times : array-like of shape (nnz,), optional
            Time of each stored entry, in the order of ``matrix.tocoo().data``.

        Returns
        -------
        Ratings
            Checked ratings.
        """
        shape = getattr(matrix, "shape", ())
        if not sparse.issparse(matrix) or len(shape) != 2:
            found = f"{type(matrix).__name__} of shape {shape}"
            raise InvalidTypeError(
                f"matrix must be a two-dimensional scipy sparse matrix or array, found {found}", argument="matrix"
            )
        check_sparse(matrix, "X")
        entries = sparse.coo_array(cast(Any, matrix))
        n_users, n_items = entries.shape
        if items is None:
            items = IdMap.of_range(n_items)
        users = IdMap.of_range(n_users)
        item_index = items.index(entries.col)
        refuse_unknown(item_index, entries.col)
        values = rating_values(entries.data, len(item_index))
        refuse_none(values)
        seconds = None if times is None else seconds_of(times, values.size)
        return cls.from_entries(users, items, entries.row, item_index, values, scale, duplicates, seconds)

    @classmethod
    def from_entries(
        cls,
        users: IdMap,
        items: IdMap,
        user_index: NDArray[Any],
        item_index: NDArray[Any],
        values: NDArray[np.float64],
        scale: ArrayLike | None,
        duplicates: Duplicates = "error",
        times: NDArray[np.float64] | None = None,
    ) -> Self:
        """Build ratings from the indices and the value of each entry, in any order; there may be none.

        Parameters
        ----------
        users, items : IdMap
            What the indices count.
        user_index, item_index : ndarray of shape (n,)
            Row and column of each entry.
        values : ndarray of shape (n,)
            Its rating.
        scale, duplicates
            As in `from_pairs`.
        times : ndarray of shape (n,), float64, optional
            When it was given, in seconds since 1970.
        """
        check_duplicates(duplicates)
        scale = inferred_scale(values) if scale is None else as_scale(scale)
        levels = to_levels(values, scale)
        indptr, order = by_user_and_item(user_index, len(users), item_index, len(items))
        columns, levels = item_index[order], levels[order]
        times = None if times is None else times[order]
        repeated = repeated_pairs(indptr, columns)
        if repeated.any():
            rows = user_index[order]
            if duplicates == "error":
                refuse_duplicates(users.ids[rows[1:][repeated]], items.ids[columns[1:][repeated]], values.size)
            if duplicates == "mean":
                levels = mean_levels(levels, repeated, scale)
            latest = latest_of(repeated, times)
            rows, columns, levels = rows[latest], columns[latest], levels[latest]
            times = None if times is None else times[latest]
            indptr = offsets(rows, len(users))
        return cls._from_rows(users, items, scale, indptr, columns, levels, times)

    @classmethod
    def from_csr(
        cls,
        users: IdMap,
        items: IdMap,
        scale: NDArray[np.float64],
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        levels: NDArray[np.uint8],
        times: NDArray[np.float64] | None = None,
    ) -> Self:
        """Rebuild ratings from their rows, as a saved model holds them.

        Parameters
        ----------
        users, items, scale, indptr, indices, levels, times
            The attributes of the same names.

        Returns
        -------
        Ratings

        Raises
        ------
        ValueError
            If the arrays do not fit together.
        """
        check_rows(len(users), len(items), scale.size, indptr, indices, levels, times)
        return cls._from_rows(users, items, scale, indptr, indices, levels, times)

    def at_boundary(self, level: int) -> Self:
        """Return the bi-level ratings at a boundary: -1 for levels up to `level`, +1 above.

        This is equation (3.17) of Kumar (2018).

        Parameters
        ----------
        level : int
            The boundary q = 1..R-1.

        Returns
        -------
        Ratings
            On the scale -1, 1, sharing all index arrays, also those by column that are made later.
        """
        return replace(self, scale=np.array([-1.0, 1.0]), levels=sides_of(self.levels, level), coding=None)

    @classmethod
    def _from_rows(
        cls,
        users: IdMap,
        items: IdMap,
        scale: NDArray[np.float64],
        indptr: NDArray[np.int64],
        indices: NDArray[Any],
        levels: NDArray[np.uint8],
        times: NDArray[np.float64] | None,
    ) -> Self:
        """Return ratings of sorted rows, whose entries by column are made when they are asked for."""
        narrow = indices.astype(np.int32, copy=False)
        columns = ColumnEntries(indptr, narrow, len(items))
        return cls(users, items, scale, indptr, narrow, levels, columns, times=times)

    def __repr__(self) -> str:
        n, m = self.shape
        parts = counted(n, "user"), counted(m, "item"), counted(self.n_ratings, "rating")
        return f"Ratings({', '.join(parts)} on {some_of(self.scale, 10)})"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and number of items."""
        return len(self.users), len(self.items)

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return self.levels.size

    @property
    def n_levels(self) -> int:
        """Number R of levels of the scale."""
        return self.scale.size

    @property
    def values(self) -> NDArray[np.float64]:
        """Ratings on the original scale, in the order of the entries by user."""
        return self.scale[self.levels - 1]

    @property
    def col_indptr(self) -> NDArray[np.int64]:
        """Where the column entries of each item begin, and their number: shape (n_items + 1,)."""
        return self.columns.indptr

    @property
    def user_counts(self) -> NDArray[np.int64]:
        """Number of ratings of each user."""
        return np.diff(self.indptr)

    @property
    def item_counts(self) -> NDArray[np.int64]:
        """Number of ratings of each item."""
        return np.diff(self.col_indptr)

    @property
    def level_counts(self) -> NDArray[np.int64]:
        """Number of ratings of each level, shape (R,)."""
        return counts(self.levels, self.n_levels + 1)[1:]

    @cached_property
    def row_of_entry(self) -> NDArray[np.int32]:
        """User index of each entry, in the order of the entries by user."""
        return np.repeat(np.arange(len(self.users), dtype=np.int32), self.user_counts)

    def pairs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return user index and item index of every entry, in the order of the entries by user."""
        return self.row_of_entry, self.indices

    def seen(self, user: int) -> NDArray[np.int32]:
        """Return the item indices that the user of this index has rated, increasing."""
        return self.indices[self.indptr[user] : self.indptr[user + 1]]

    def rows(self, users: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]:
        """Return the entries of some users.

        Parameters
        ----------
        users : array-like of shape (m,)
            User indices, in any order.

        Returns
        -------
        indptr : ndarray of shape (m + 1,), int64
            The entries of the k-th of these users are ``indptr[k]:indptr[k + 1]``.
        indices : ndarray, int32
            Item indices.
        levels : ndarray, uint8
            Levels.
        """
        indptr, entries = entries_of_rows(self.indptr, np.asarray(users, dtype=np.int64))
        return indptr, self.indices[entries], self.levels[entries]

    def subset(self, mask: NDArray[np.bool_]) -> Self:
        """Return the ratings where the mask is true, with the same users, items and scale.

        Parameters
        ----------
        mask : ndarray of shape (n_ratings,), bool
            Which entries to keep, in the order of the entries by user.

        Returns
        -------
        Ratings
            The kept ratings; users and items without ratings remain.
        """
        if mask.dtype != np.bool_ or mask.shape != self.levels.shape:
            raise InvalidInputError(
                f"mask must be boolean of shape {self.levels.shape}, found {mask.dtype} of shape {mask.shape}",
                argument="mask",
            )
        indptr = np.append(0, np.cumsum(mask))[self.indptr]
        kept = self.indices[mask], self.levels[mask], None if self.times is None else self.times[mask]
        weights = None if self.weights is None else self.weights[mask]
        some = self._from_rows(self.users, self.items, self.scale, indptr, *kept)
        return replace(some, coding=self.coding, weights=weights)


def refuse_other_items(ratings: Ratings, items: IdMap | None) -> None:
    """Refuse ratings of other items than those of a model."""
    if items is not None and items != ratings.items:
        raise InvalidInputError("X has other items than the model: build it with items=model.items_", argument="X")


def as_ratings(
    X: Pairs,
    y: RatingValues = None,
    scale: ArrayLike | None = None,
    duplicates: Duplicates = "error",
    items: IdMap | None = None,
    unknown_items: Literal["error", "drop"] = "error",
    times: ArrayLike | None = None,
) -> Ratings:
    """Return ratings from whatever holds them.

    Parameters
    ----------
    X : Ratings, scipy sparse matrix, frame, pairs as for `Ratings.from_pairs`, or a data set with attributes X and y
        The ratings, or the user and item ids of them. A frame holds the ratings too if it has columns for user, item
        and rating.
    y : array-like of shape (n,), optional
        The ratings, where X holds pairs of ids only.
    scale, duplicates, items, unknown_items
        As in `Ratings.from_pairs`. A data set's own scale is used where none is given.
    times : array-like of shape (n,), optional
        As in `Ratings.from_pairs`, or `Ratings.from_sparse`. A data set's own times are used where none are given.

    Returns
    -------
    Ratings
        ``X`` itself if it is a `Ratings`.

    Raises
    ------
    ValueError
        If y is missing or superfluous, a `Ratings` has not the required scale or items, or the data are not
        valid (see `Ratings.from_pairs`).

    Examples
    --------
    >>> as_ratings([(1, 10), (1, 11), (2, 10)], [3, 1, 2]).shape
    (2, 2)
    """
    dataset = is_data_set(X)
    check_y_is_needed(X, y, isinstance(X, Ratings) or sparse.issparse(X) or dataset)
    if isinstance(X, Ratings):
        if scale is not None and not np.array_equal(as_scale(scale), X.scale):
            raise InvalidInputError(
                f"X has the scale {some_of(X.scale)} but {some_of(as_scale(scale))} is required: rebuild it",
                argument="X",
            )
        refuse_other_items(X, items)
        if times is not None:
            raise InvalidInputError(
                "X is a Ratings: build it with times, Ratings.from_pairs(..., times=...)", argument="time"
            )
        return X
    if sparse.issparse(X):
        return Ratings.from_sparse(cast(Any, X), scale, duplicates, items, times)
    if dataset:
        data: Any = X
        own, coding, stamps = (getattr(data, name, None) for name in ("scale", "coding", "timestamps"))
        own, times = (mine if given is None else given for mine, given in ((own, scale), (stamps, times)))
        found = Ratings.from_pairs(data.X, data.y, own, duplicates, items, unknown_items, times)
        return replace(found, coding=None if coding is None or coding.scale != tuple(found.scale) else coding)
    return Ratings.from_pairs(X, y, scale, duplicates, items, unknown_items, times)
