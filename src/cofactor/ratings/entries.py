"""Entries of a sparse table by rows: their order, repeated pairs, levels, and checks of all these.

Entries by columns are made of the rows when they are first asked for, or mapped from files.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.kernels import observed
from cofactor.limits import blocks
from cofactor.metrics.scale import as_scale, nearest_levels
from cofactor.text import counted

__all__ = [
    "ColumnEntries",
    "OfColumns",
    "StoredColumnEntries",
    "by_user_and_item",
    "check_duplicates",
    "check_levels",
    "check_offsets",
    "check_range",
    "check_rows",
    "check_variety",
    "counts",
    "entries_of_rows",
    "inferred_scale",
    "latest_of",
    "latest_values",
    "mean_levels",
    "narrow",
    "offsets",
    "refuse_duplicates",
    "refuse_interactions",
    "refuse_one_level",
    "repeated_pairs",
    "sides_of",
]


#: Where more than this part of the ratings repeat a pair, the ids may come from wrong columns.
SUSPICIOUS_SHARE = 0.25
#: Where more than this part of the ratings have one level, there is hardly anything to learn.
ONE_SIDED_SHARE = 0.95
#: What to do with words as ratings.
FOR_WORDS = (
    "give a number for each word, such as y = [{'down': 1, 'up': 2}[word] for word in y], say their order, such as "
    "y = pandas.Categorical(y, ['down', 'up'], ordered=True), or read a file of words with "
    "cofactor.datasets.read_ratings(path, scale=['down', 'up'])"
)
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
        cut = ratings.coding is not None and ratings.coding.edges and share < 1
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
    repeats = counted(users.size, "rating repeats", "ratings repeat")
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
