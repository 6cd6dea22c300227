"""Ratings as sparse rows and columns, built and checked once, then shared by every model.

Entries by columns are made of the rows when they are first asked for, or mapped from files.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import as_weights
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError
from cofactor.kernels import observed
from cofactor.limits import blocks
from cofactor.metrics.scale import as_scale, nearest_levels, to_levels
from cofactor.model.state import check_array
from cofactor.rating_scale import RatingScale
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interactions import (
    FOR_WORDS,
    Interactions,
    other_words,
    rating_values,
    recoded,
    refuse_none,
    weights_of_entries,
)
from cofactor.text import plural, some_of
from cofactor.typing import Pairs, RatingValues, SparseTable

#: Where more than this part of the ratings repeat a pair, the ids may come from wrong columns.
SUSPICIOUS_SHARE = 0.25
#: Where more than this part of the ratings have one level, there is hardly anything to learn.
ONE_SIDED_SHARE = 0.95
_COUNTED = 1 << 16  #: Least number of entries that are counted at a time; with more keys as many as these.
_ENOUGH = 20  #: ratings, so that a share says something


def repeated_pairs(indptr: NDArray[np.int64], indices: NDArray[Any]) -> NDArray[np.bool_]:
    """Return whether each entry but the first is of the same pair as the one before it; both are sorted.

    Examples
    --------
    >>> repeated_pairs(np.array([0, 1, 4]), np.array([2, 2, 5, 5])).tolist()
    [False, False, True]
    """
    repeated = indices[1:] == indices[:-1]
    first = indptr[(indptr > 0) & (indptr < len(indices))]
    repeated[first - 1] = False
    return repeated


def latest_of(repeated: NDArray[np.bool_], times: NDArray[np.float64] | None) -> NDArray[np.intp]:
    """Return the place of the latest entry of each pair; without times, or at equal ones, of its last one.

    Parameters
    ----------
    repeated : ndarray of shape (n - 1,), bool
        Whether each entry but the first is of the same pair as the one before it.
    times : ndarray of shape (n,) or None

    Examples
    --------
    >>> repeated = np.array([True, False, True])
    >>> latest_of(repeated, None).tolist(), latest_of(repeated, np.array([9.0, 8.0, 5.0, 5.0])).tolist()
    ([1, 3], [0, 3])
    """
    ends = np.flatnonzero(np.append(~repeated, True))
    if times is None:
        return ends
    pair = np.append(0, np.cumsum(~repeated))
    return np.asarray(np.lexsort((times, pair))[ends])


def latest_values(
    pairs: NDArray[np.int64], values: NDArray[np.float64], times: NDArray[Any] | None
) -> NDArray[np.float64]:
    """Give all ratings of one pair the value of its latest one; without times, or at equal ones, of its last one.

    Their order stays, so that a model of ratings without repeated pairs is the same to the bit.

    Examples
    --------
    >>> latest_values(np.array([7, 8, 7]), np.array([3.0, 4.0, 5.0]), np.array([20, 20, 10])).tolist()
    [3.0, 4.0, 3.0]
    """
    distinct, number = np.unique(pairs, return_inverse=True)
    order = np.arange(len(pairs)) if times is None else np.argsort(times, kind="stable")
    latest = np.empty(len(distinct), dtype=np.intp)
    latest[number[order]] = order  # of equal places the last one counts
    return values[latest[number]]


def check_levels(name: str, value: Any) -> None:
    """Refuse a parameter that is neither a scale nor None."""
    if value is None:
        return
    if any(isinstance(level, str) for level in np.ravel(np.asarray(value, dtype=object))):
        raise InvalidInputError("expected increasing numbers", argument=name, found=value, advice=FOR_WORDS)
    try:
        as_scale(value)
    except ValueError as error:
        raise InvalidInputError(f"{error}", argument=name, found=value) from error


def inferred_scale(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distinct ratings as a scale, at least two of them."""
    distinct = np.zeros(0)
    for some in blocks(values.size):
        distinct = np.union1d(distinct, values[some][~np.isin(values[some], distinct)])
    refuse_one_level(distinct)
    return as_scale(distinct)


def refuse_interactions(X: Any, model: str) -> None:
    """Refuse interactions without ratings where a model of ratings is to learn: they do not say what users like."""
    of_ratings = not sparse.issparse(X) and hasattr(X, "levels") and hasattr(X, "scale")
    all_ones = of_ratings and np.array_equal(X.scale, [0, 1]) and bool((np.asarray(X.levels) == 2).all())
    if all_ones or getattr(X, "holds_interactions", False):
        raise InvalidInputError(
            f"these are interactions, without ratings, and {model} learns from how much users like items",
            argument="X",
            advice="from interactions Recommender, EASE, ImplicitALS and the other models of cofactor.ratings.ranking "
            "learn",
        )


def refuse_one_level(
    distinct: NDArray[Any],
    cutting: str | Argument = "cofactor.datasets.read_ratings(bins=5) or bin_ratings",
    likes: Sequence[str | Argument] = (
        "; from likes, clicks or purchases alone models of implicit feedback learn, such as EASE, or a Recommender",
    ),
) -> None:
    """Refuse ratings of one level: nothing tells them apart. Shells say what cuts counts, and reads likes, there."""
    if distinct.size != 1:
        return
    found = distinct[0] if isinstance(distinct[0], str) else f"{distinct[0]:g}"
    raise InvalidInputError(
        f"all ratings are {found}: with a single level there is nothing to learn, whatever the scale",
        argument="y",
        advice=(
            "add what users like less (thumbs down, skips), or count how often they came, and cut the counts with ",
            cutting,
            *likes,
        ),
    )


def check_variety(ratings: Any) -> Any:
    """Return ratings to learn from; warn if hardly any of them is of another level than the others."""
    counts = ratings.level_counts
    most = int(counts.argmax())
    share, level = counts[most] / max(ratings.n_ratings, 1), ratings.scale[most]
    if share > ONE_SIDED_SHARE and ratings.n_ratings >= _ENOUGH:
        # Whole percents: the parts of a split give the same text, which is then told once.
        part, else_ = ("all", "nothing") if share == 1 else (f"more than {int(100 * share)} % of the", "little")
        cut = ratings.rating_scale is not None and ratings.rating_scale.edges and share < 1
        advice = ("; read with ", Argument("bin_by", "quantile"), " they have levels of similar size") if cut else ()
        text = f"{part} ratings are {level:g}, so that models predict {else_} else"
        warnings.warn(InputWarning((text, *advice)), stacklevel=4)
    return ratings


def by_user_and_item(
    user_index: NDArray[Any], n_users: int, item_index: NDArray[Any], n_items: int
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return offsets of users, and the order in which entries stand by user, those of a user by item.

    Entries of the same pair keep their order.

    Examples
    --------
    >>> [a.tolist() for a in by_user_and_item(np.array([1, 0, 1]), 2, np.array([1, 0, 0]), 2)]
    [[0, 1, 3], [1, 2, 0]]
    """
    by_item, _ = _counting_sort(item_index, n_items)
    by_user, indptr = _counting_sort(user_index[by_item], n_users)
    return indptr, by_item[by_user]


def _counting_sort(keys: NDArray[Any], n_keys: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the stable order that sorts keys 0..n_keys-1, and the offset of each key in it."""
    starts, order = offsets(keys, n_keys), np.empty(keys.size, dtype=narrow(keys.size))
    observed.counting_sort(keys, starts.copy(), order)
    return order, starts


def narrow(n: int) -> type[np.signedinteger[Any]]:
    """Return the integers that number n entries."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def entries_of_rows(indptr: NDArray[np.int64], rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the offsets of the entries of some rows, in this order, and which entries these are.

    Examples
    --------
    >>> entries_of_rows(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([0, 3, 5]), array([2, 3, 4, 0, 1]))
    """
    starts, counts = indptr[rows], indptr[rows + 1] - indptr[rows]
    chosen = np.concatenate([[0], np.cumsum(counts)])
    return chosen, np.arange(chosen[-1]) + np.repeat(starts - chosen[:-1], counts)


def offsets(rows: NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    """Return the offset of each row among entries sorted by row, and their number."""
    return np.concatenate([[0], np.cumsum(counts(rows, n_rows))])


def counts(keys: NDArray[Any], n_keys: int) -> NDArray[np.int64]:
    """Return how many entries have each key 0..n_keys-1, without a copy of all keys as wide integers.

    Examples
    --------
    >>> counts(np.array([1, 3, 1], dtype=np.int32), 5).tolist()
    [0, 2, 0, 1, 0]
    """
    found, size = np.zeros(n_keys, dtype=np.int64), max(n_keys, _COUNTED)
    for first in range(0, keys.size, size):
        found += np.bincount(keys[first : first + size], minlength=n_keys)
    return found


def sides_of(levels: NDArray[np.uint8], boundary: int) -> NDArray[np.uint8]:
    """Return 1 for levels up to a boundary, and 2 above."""
    return (levels > boundary).astype(np.uint8) + np.uint8(1)


def mean_levels(
    levels: NDArray[np.uint8], repeated: NDArray[np.bool_], scale: NDArray[np.float64]
) -> NDArray[np.uint8]:
    """Give every entry of a run of duplicates the level nearest to their mean."""
    starts = np.flatnonzero(np.append(True, ~repeated))
    lengths = np.diff(np.append(starts, levels.size))
    means = np.add.reduceat(scale[levels - 1], starts) / lengths
    return np.repeat(nearest_levels(means, scale), lengths)


def check_rows(
    n_users: int,
    n_items: int,
    n_levels: int,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    levels: NDArray[Any],
    times: NDArray[Any] | None = None,
) -> None:
    """Refuse rows which no `Ratings` could have: kernels do not check indices."""
    types = indptr.dtype == np.int64 and indices.dtype == np.int32 and levels.dtype == np.uint8
    if not types or indptr.shape != (n_users + 1,) or indices.ndim != 1 or indices.shape != levels.shape:
        raise InvalidInputError("the arrays of the ratings have wrong types or shapes")
    check_offsets(indptr, 0, indices.size)
    same_row = np.ones(max(indices.size - 1, 0), dtype=np.bool_)
    starts = indptr[1:-1]
    same_row[starts[(starts > 0) & (starts < indices.size)] - 1] = False
    if ((indices < 0) | (indices >= n_items)).any() or (np.diff(indices)[same_row] <= 0).any():
        raise InvalidInputError(f"the ratings' item indices do not increase within 0 to {n_items - 1} for each user")
    if ((levels < 1) | (levels > n_levels)).any():
        raise InvalidInputError(f"levels of the ratings are not within 1 to {n_levels}")
    if times is not None and not (
        times.dtype == np.float64 and times.shape == levels.shape and np.isfinite(times).all()
    ):
        raise InvalidInputError("the times of the ratings are not a finite number of seconds for each")


def check_offsets(offsets: NDArray[np.int64], first: int, last: int) -> None:
    """Refuse offsets of users' or items' ratings which do not go from the first to the last rating."""
    if offsets[0] != first or offsets[-1] != last or (offsets[1:] < offsets[:-1]).any():
        raise InvalidInputError(f"the offsets do not increase from {first} to {last}")


def check_range(numbers: NDArray[np.integer[Any]], low: int, high: int) -> None:
    """Refuse numbers outside of a range from 0 or 1 on. Those below 0 are large ones without a sign: one look tells.

    Examples
    --------
    >>> check_range(np.array([3, -1]), 0, 5)
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: a number is not within 0 to 5
    """
    unsigned = numbers.view(f"u{numbers.itemsize}")
    if unsigned.size and (unsigned.max() > high or (low and unsigned.min() < low)):
        raise InvalidInputError(f"a number is not within {low} to {high}")


def check_duplicates(duplicates: Any) -> None:
    """Refuse what does not say what becomes of repeated pairs."""
    if duplicates not in ("error", "last", "mean"):
        raise InvalidInputError("expected 'error', 'last' or 'mean'", argument="duplicates", found=duplicates)


def refuse_duplicates(users: NDArray[Any], items: NDArray[Any], n_ratings: int) -> None:
    """Refuse entries which repeat a pair, of which the ids are given."""
    many = n_ratings >= _ENOUGH and users.size > n_ratings * SUSPICIOUS_SHARE
    repeats = plural(users.size, "rating repeats", "ratings repeat")
    advice = "remove them, or pass ", Argument("duplicates", "last"), " or ", Argument("duplicates", "mean")
    columns = "; with so many, check that the columns of X are user ids and item ids" if many else ""
    raise InvalidInputError(
        f"{repeats} a (user, item) pair of X, for example ({users.tolist()[0]!r}, {items.tolist()[0]!r})",
        argument="duplicates",
        advice=(*advice, columns),
    )


#: Held while entries are made, so that threads which ask at the same time make them once.
_MAKING = Lock()


class ColumnEntries:
    """The entries of sorted rows by columns, of which each part is made when it is first asked for, and kept then.

    Parameters
    ----------
    row_indptr : ndarray of shape (n_rows + 1,), int64
        Offsets of rows.
    row_indices : ndarray of shape (n_entries,), int32
        Column of each entry, increasing within a row.
    n_columns : int

    Examples
    --------
    >>> columns = ColumnEntries(np.array([0, 2, 3]), np.array([0, 2, 2], dtype=np.int32), 3)
    >>> columns.indptr.tolist(), columns.indices.tolist(), columns.to_csr.tolist()
    ([0, 1, 1, 3], [0, 0, 1], [0, 1, 2])
    """

    def __init__(self, row_indptr: NDArray[np.int64], row_indices: NDArray[np.int32], n_columns: int) -> None:
        self._row_indptr, self._row_indices, self._n_columns = row_indptr, row_indices, n_columns

    @cached_property
    def indptr(self) -> NDArray[np.int64]:
        """Offsets of columns."""
        return offsets(self._row_indices, self._n_columns)

    @property
    def indices(self) -> NDArray[np.int32]:
        """Row of each column entry, increasing within a column."""
        return self._both()[0]

    @property
    def to_csr(self) -> NDArray[Any]:
        """Position of each column entry among the entries by row."""
        return self._both()[1]

    def _both(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        with _MAKING:
            return self._made

    @cached_property
    def _made(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        n = self._row_indices.size
        rows, positions = np.empty(n, dtype=np.int32), np.empty(n, dtype=narrow(n))
        observed.by_column(self._row_indptr, self._row_indices, self.indptr.copy(), rows, positions)
        return rows, positions


class StoredColumnEntries(ColumnEntries):
    """The same that was made before, and is read when it is first asked for.

    Parameters
    ----------
    read : callable
        Returns ``"col_indptr"``, ``"col_indices"`` or ``"to_csr"``.
    """

    def __init__(self, read: Callable[[str], NDArray[Any]]) -> None:
        self._read = read

    @cached_property
    def indptr(self) -> NDArray[np.int64]:
        """Offsets of columns."""
        return self._read("col_indptr")

    @cached_property
    def _made(self) -> tuple[NDArray[np.int32], NDArray[Any]]:
        return self._read("col_indices"), self._read("to_csr")

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as arrays."""
        arrays = {"col_indptr": self.indptr, "col_indices": self.indices, "to_csr": self.to_csr}
        return StoredColumnEntries, (arrays.__getitem__,)


class OfColumns:
    """What has entries by columns, under the names that problems know them by."""

    columns: ColumnEntries

    @property
    def col_indices(self) -> NDArray[np.int32]:
        """Row of each column entry, increasing within a column."""
        return self.columns.indices

    @property
    def to_csr(self) -> NDArray[np.int32] | NDArray[np.int64]:
        """Position of each column entry among the entries by row (int64 beyond 2³¹ entries)."""
        return self.columns.to_csr


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
    rating_scale : RatingScale or None
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
    rating_scale: RatingScale | None = None
    times: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    kind_weights: Mapping[str, float] | None = None

    @classmethod
    def from_pairs(
        cls,
        X: Pairs,
        y: RatingValues = None,
        scale: ArrayLike | RatingScale | None = None,
        duplicates: Duplicates = "error",
        items: IdMap | None = None,
        unknown_items: Literal["error", "drop"] = "error",
        times: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
    ) -> Self:
        """Build ratings from pairs of ids.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame, as in `RatingModel.fit`
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
        sample_weight : array-like of shape (n,), optional
            How much each rating counts, at least 0. Ratings of weight 0 are left out; users, items and scale remain.

        Returns
        -------
        Ratings
            Checked ratings, independent of the order of the rows where the ids can be sorted.

        Raises
        ------
        ValueError
            If X or y has the wrong shape, is empty, or holds missing ids, duplicates, or ratings that are not
            finite or not on the scale; if the scale has fewer than 2 or more than 101 levels; if some times are
            missing; if weights are given to repeated pairs, whose ratings become one.
        """
        return cls._from_interactions(
            Interactions.read(X, y, times, sample_weight), scale, duplicates, items, unknown_items
        )

    @classmethod
    def from_sparse(
        cls,
        matrix: SparseTable,
        scale: ArrayLike | None = None,
        duplicates: Duplicates = "error",
        items: IdMap | None = None,
        times: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
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
        sample_weight : array-like of shape (nnz,), or sparse matrix of the same shape, optional
            As in `from_pairs`, in the same order.

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
        return cls._from_interactions(Interactions.read(matrix, None, times, sample_weight), scale, duplicates, items)

    @classmethod
    def _from_interactions(
        cls,
        given: Interactions,
        scale: ArrayLike | RatingScale | None,
        duplicates: Duplicates,
        items: IdMap | None,
        unknown_items: Literal["error", "drop"] = "error",
    ) -> Self:
        """Build ratings from interactions, which hold some."""
        users, items, rows, columns = given.indexed(items, unknown_items)
        values, own = given.values, given.rating_scale
        if isinstance(scale, RatingScale):
            values, own, scale = recoded(values, own, scale), scale, scale.scale
        elif scale is not None and own is not None and own.words and own.scale != tuple(as_scale(scale)):
            raise InvalidInputError(
                f"the ratings are the words {', '.join(own.words)}, and the levels {some_of(as_scale(scale))}",
                argument="y",
                advice="give the number of each word",
            )
        values = rating_values(values, len(rows))
        scale = given.scale if scale is None else scale
        times, weights = given.times, given.weights
        del given  # whose ids are not needed any more
        refuse_none(values)
        known = columns >= 0
        if not known.all():
            rows, columns, values = rows[known], columns[known], values[known]
            times, weights = (None if one is None else one[known] for one in (times, weights))
        found = cls.from_entries(users, items, rows, columns, values, scale, duplicates, times, weights)
        own = None if own is None or own.scale != tuple(found.scale) else own
        return replace(found._weighted(found.weights), rating_scale=own)

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
        weights: NDArray[np.float64] | None = None,
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
        weights : ndarray of shape (n,), float64, optional
            How much it counts.
        """
        check_duplicates(duplicates)
        scale = inferred_scale(values) if scale is None else as_scale(scale)
        levels = to_levels(values, scale)
        indptr, order = by_user_and_item(user_index, len(users), item_index, len(items))
        columns, levels = item_index[order], levels[order]
        times, weights = (None if one is None else one[order] for one in (times, weights))
        repeated = repeated_pairs(indptr, columns)
        if repeated.any():
            rows = user_index[order]
            if duplicates == "error":
                refuse_duplicates(users.ids[rows[1:][repeated]], items.ids[columns[1:][repeated]], values.size)
            if weights is not None:
                raise InvalidInputError(
                    "X repeats (user, item) pairs, whose ratings become one, and that has not one weight",
                    argument="sample_weight",
                    advice="give each pair once, with the weight that it is to have",
                )
            if duplicates == "mean":
                levels = mean_levels(levels, repeated, scale)
            latest = latest_of(repeated, times)
            rows, columns, levels = rows[latest], columns[latest], levels[latest]
            times = None if times is None else times[latest]
            indptr = offsets(rows, len(users))
        return cls._from_rows(users, items, scale, indptr, columns, levels, times, weights)

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
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Rebuild ratings from their rows, as a saved model holds them.

        Parameters
        ----------
        users, items, scale, indptr, indices, levels, times, weights
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
        if weights is not None:
            check_array("weights of the ratings", weights, levels.shape, np.float64)
            if not (weights > 0).all():
                raise InvalidInputError("weights of the ratings must be above 0")
        return cls._from_rows(users, items, scale, indptr, indices, levels, times, weights)

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
        return replace(self, scale=np.array([-1.0, 1.0]), levels=sides_of(self.levels, level), rating_scale=None)

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
        weights: NDArray[np.float64] | None,
    ) -> Self:
        """Return ratings of sorted rows, whose entries by column are made when they are asked for."""
        narrow = indices.astype(np.int32, copy=False)
        columns = ColumnEntries(indptr, narrow, len(items))
        return cls(users, items, scale, indptr, narrow, levels, columns, times=times, weights=weights)

    def __repr__(self) -> str:
        n, m = self.shape
        parts = plural(n, "user"), plural(m, "item"), plural(self.n_ratings, "rating")
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
        times, weights = (None if one is None else one[mask] for one in (self.times, self.weights))
        kept = self.indices[mask], self.levels[mask], times, weights
        found = self._from_rows(self.users, self.items, self.scale, indptr, *kept)
        return replace(found, rating_scale=self.rating_scale)

    def reweighted(self, weights: ArrayLike | None) -> Self:
        """Return the ratings with other weights; those of weight 0 are left out, their users and items remain.

        Parameters
        ----------
        weights : array-like of shape (n_ratings,), or None
            At least 0, in the order of the entries by user. Weights which are all 1 are none.
        """
        return self._weighted(as_weights(weights, self.n_ratings, "rating"))

    def _weighted(self, weights: NDArray[np.float64] | None) -> Self:
        if weights is not None and not weights.all():
            kept = weights > 0
            return self.subset(kept)._weighted(weights[kept])
        return replace(self, weights=None if weights is None or (weights == 1).all() else weights)

    def shard(self, k: int) -> Self:
        """Return these ratings: they are the only shard."""
        return self

    def mean_of(self, numbers: NDArray[Any]) -> float:
        """Return the weighted mean over ratings of numbers that belong to the levels."""
        values = numbers[self.levels - 1]
        return float(values.mean() if self.weights is None else np.average(values, weights=self.weights))

    def check_items(self, items: IdMap | None) -> None:
        """Refuse other items than those of a model."""
        if items is not None and items != self.items:
            raise InvalidInputError("X has other items than the model: build it with items=model.items_", argument="X")

    @cached_property
    def key(self) -> str:
        """What tells ratings from others: users, items, values, times and weights, whatever order they came in."""
        digest = hashlib.sha256()
        for ids in (self.users.ids, self.items.ids):
            digest.update(repr(ids.tolist()).encode("utf-8", "surrogatepass"))
        for array in (self.indptr, self.indices, self.values, self.times, self.weights):
            digest.update(b"-" if array is None else array.tobytes())
        return digest.hexdigest()[:16]

    def check_rating_scale(self, rating_scale: RatingScale | None) -> None:
        """Refuse levels that stand for something else than those of a model, such as bins of other edges."""
        if self.rating_scale is not None and self.rating_scale.words and rating_scale is None:
            raise InvalidInputError(
                f"the ratings are the words {', '.join(self.rating_scale.words)}, and those of training were numbers",
                argument="y",
                advice="give the number of each word",
            )
        if self.rating_scale is not None and rating_scale is not None and self.rating_scale != rating_scale:
            raise other_words(self.rating_scale, rating_scale)


def as_ratings(
    X: Pairs,
    y: RatingValues = None,
    scale: ArrayLike | RatingScale | None = None,
    duplicates: Duplicates = "error",
    items: IdMap | None = None,
    unknown_items: Literal["error", "drop"] = "error",
    times: ArrayLike | None = None,
    sample_weight: ArrayLike | SparseTable | None = None,
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
        As in `Ratings.from_pairs`. A data set's own scale is used where none is given; a `RatingScale` is that of
        levels which stand for words, by which ratings are read that are such words.
    times : array-like of shape (n,), optional
        As in `Ratings.from_pairs`, or `Ratings.from_sparse`. A data set's own times are used where none are given.
    sample_weight : array-like of shape (n,), or sparse matrix of the shape of X, optional
        As in `Ratings.from_pairs`; for a `Ratings` in the order of its entries by user, and in place of its own.

    Returns
    -------
    Ratings
        ``X`` itself if it is a `Ratings`, and no weights are given.

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
    if not isinstance(X, Ratings):
        return Ratings.from_pairs(X, y, scale, duplicates, items, unknown_items, times, sample_weight)
    if y is not None:
        raise InvalidInputError("y must be None where X is a Ratings, which holds the ratings itself", argument="y")
    scale = scale.scale if isinstance(scale, RatingScale) else scale
    if scale is not None and not np.array_equal(as_scale(scale), X.scale):
        raise InvalidInputError(
            f"X has the scale {some_of(X.scale)} but {some_of(as_scale(scale))} is required: rebuild it",
            argument="X",
        )
    X.check_items(items)
    if times is not None:
        raise InvalidInputError(
            "X is a Ratings: build it with times, Ratings.from_pairs(..., times=...)", argument="time"
        )
    return X if sample_weight is None else X.reweighted(weights_of_entries(X, sample_weight))


def merged(earlier: Ratings, later: Ratings) -> Ratings:
    """Return the ratings of both, by the users and of the items of both; a pair that both have gets the later rating.

    Parameters
    ----------
    earlier, later : Ratings
        On the same scale. The ratings in `later` count as later whatever their times are. The result has times where
        both have; ratings without weights weigh 1 where the others have some.

    Examples
    --------
    >>> a = Ratings.from_pairs([("ann", "Up"), ("ann", "Alien")], [1, 2], scale=[1, 2, 3])
    >>> b = Ratings.from_pairs([("ann", "Up"), ("bob", "Heat")], [3, 3], scale=[1, 2, 3])
    >>> both = merged(a, b)
    >>> both.items.ids.tolist(), both.shape, both.levels.tolist()
    (['Alien', 'Heat', 'Up'], (2, 3), [2, 3, 3])
    """
    users, items = union(earlier.users, later.users), union(earlier.items, later.items)
    parts = (earlier, later)
    rows = np.concatenate([users.index(part.users.ids)[part.row_of_entry] for part in parts])
    columns = np.concatenate([items.index(part.items.ids)[part.indices] for part in parts])
    values = np.concatenate([part.values for part in parts])
    pairs, n = rows.astype(np.int64) * len(items) + columns, earlier.n_ratings
    kept = np.append(~np.isin(pairs[:n], pairs[n:]), np.ones(later.n_ratings, dtype=np.bool_))
    timed = all(part.times is not None or not part.n_ratings for part in parts)
    known = [part.times for part in parts if part.times is not None]
    times = np.concatenate(known)[kept] if timed and known else None
    weights = None
    if any(part.weights is not None for part in parts):
        every = [np.ones(part.n_ratings) if part.weights is None else part.weights for part in parts]
        weights = np.concatenate(every)[kept]
    entries = rows[kept], columns[kept], values[kept]
    both = Ratings.from_entries(users, items, *entries, earlier.scale, times=times, weights=weights)
    return replace(both, rating_scale=later.rating_scale or earlier.rating_scale)


def restrict(ratings: Ratings, users: IdMap | None = None, items: IdMap | None = None) -> Ratings:
    """Return the ratings by some users and of some items; those without ratings remain.

    Parameters
    ----------
    ratings : Ratings
    users, items : IdMap, optional
        Of whom; by default all. Ids that the ratings do not know are left out.

    Examples
    --------
    >>> a = Ratings.from_pairs([("ann", "Up"), ("bob", "Alien")], [1, 2], scale=[1, 2, 3])
    >>> restrict(a, users=IdMap(["bob", "eve"]))
    Ratings(1 user, 2 items, 1 rating on 1, 2, 3)
    """
    chosen_users, chosen_items = _both(ratings.users, users), _both(ratings.items, items)
    rows = chosen_users.index(ratings.users.ids)[ratings.row_of_entry]
    columns = chosen_items.index(ratings.items.ids)[ratings.indices]
    keep = (rows >= 0) & (columns >= 0)
    some = rows[keep], columns[keep], ratings.values[keep]
    times, weights = (None if one is None else one[keep] for one in (ratings.times, ratings.weights))
    found = Ratings.from_entries(chosen_users, chosen_items, *some, ratings.scale, times=times, weights=weights)
    return replace(found, rating_scale=ratings.rating_scale)


def without_ratings(users: IdMap, items: IdMap, scale: NDArray[np.float64]) -> Ratings:
    """Return no ratings of these users and items."""
    none = np.zeros(0, dtype=np.int32)
    return Ratings.from_entries(users, items, none, none, np.zeros(0), scale)


def union(first: IdMap, second: IdMap) -> IdMap:
    """Return the ids of both."""
    if (first.index(second.ids) >= 0).all():
        return first
    return IdMap([*first.ids.tolist(), *second.ids.tolist()])


def _both(known: IdMap, wanted: IdMap | None) -> IdMap:
    """Return those ids which are wanted."""
    return known if wanted is None else IdMap(known.ids[wanted.index(known.ids) >= 0])
