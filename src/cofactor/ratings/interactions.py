"""Interactions as they come in: users, items, values, times and weights, read once from whatever holds them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cofactor.checks import as_list, as_weights, check_sparse, refuse_masked
from cofactor.columns import (
    ROLES,
    check_pair_names,
    find_count,
    find_kind,
    find_timestamp,
    frame_columns,
    has_role,
    names_ratings,
)
from cofactor.errors import InputWarning, InvalidInputError, InvalidTypeError
from cofactor.frames import as_array, as_frame, as_series, collect, ordered_codes
from cofactor.model.convergence import callers_level
from cofactor.model.times import seconds_of, split_times, the_times, times_of_column
from cofactor.rating_scale import RatingScale
from cofactor.ratings.ids import IdMap, id_column
from cofactor.text import is_number, plural, some_of
from cofactor.typing import Pairs, RatingValues

_NESTED = nw.List, nw.Array, nw.Struct

#: What to do with words as ratings.
FOR_WORDS = (
    "give a number for each word, such as y = [{'down': 1, 'up': 2}[word] for word in y], say their order, such as "
    "y = pandas.Categorical(y, ['down', 'up'], ordered=True), or read a file of words with "
    "cofactor.datasets.read_ratings(path, scale=['down', 'up'])"
)


@dataclass(frozen=True, eq=False)
class Interactions:
    """One row for each time that a user rated, or interacted with, an item.

    Attributes
    ----------
    users, items : ndarray of shape (n,)
        Ids; of a sparse matrix the numbers of rows and columns.
    values : array-like of shape (n,), or None
        Ratings or counts as they are given, see `rating_values`; None where there are none.
    times : ndarray of shape (n,), float64, or None
        In seconds since 1970.
    weights : ndarray of shape (n,), float64, at least 0, or None
        None also where all are 1.
    kinds : array-like of shape (n,), or None
        Kinds of events, where counts are asked for.
    says : {"ratings", "counts", ""}
        What X says that its values are, by the name of a column or as a data set.
    scale, rating_scale
        Those of a data set, or of values that are an ordered categorical.
    shape : tuple of two int, or None
        That of a sparse matrix.
    """

    users: NDArray[Any]
    items: NDArray[Any]
    values: Any = None
    times: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    kinds: Any = None
    says: Literal["ratings", "counts", ""] = ""
    scale: Any = None
    rating_scale: RatingScale | None = None
    shape: tuple[int, int] | None = None

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any = None,
        time: Any = None,
        sample_weight: Any = None,
        kind: Any = None,
        *,
        counts: bool = False,
    ) -> Self:
        """Read the columns from whatever holds them.

        Parameters
        ----------
        X : pairs, frame, scipy sparse matrix, data set, or None
            Nothing where it is None.
        y, time, sample_weight, kind
            Columns which X does not hold. Weights of a sparse matrix are in the order of ``X.tocoo()``, or a matrix.
        counts : bool, default=False
            Whether values are counts, which may be missing, and not ratings.

        Examples
        --------
        >>> found = Interactions.read([("ann", 7, 20), ("bob", 9, 10)], [4, 2])
        >>> found.users, found.items, found.times
        (array(['ann', 'bob'], dtype=object), array([7, 9]), array([20., 10.]))
        """
        X = collect(X)
        if X is None:
            return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        holds = is_data_set(X) or sparse.issparse(X)
        if holds and y is not None:
            raise InvalidInputError(
                f"y must be None where X is a {type(X).__name__}, which holds the {'counts' if counts else 'ratings'} "
                "itself",
                argument="y",
            )
        given = weights_of_entries(X, sample_weight)
        if is_data_set(X):
            return cls._of_data_set(X, time, given, kind, counts)
        if sparse.issparse(X):
            if kind is not None:
                raise InvalidInputError("needs pairs, of which each is an event", argument="kind")
            found = cls._of_sparse(X, time)
        elif y is None and (frame := as_frame(X)) is not None:
            found = cls._of_frame(frame, time, kind, counts)
        elif y is None and not counts:
            raise InvalidInputError(
                "y is missing: pass the ratings of the pairs X, or one scipy sparse matrix of users × items",
                argument="y",
                advice="items without ratings are for models of interactions, such as Recommender",
            )
        else:
            found = cls._of_pairs(X, y, time, kind, counts)
        weights = as_weights(given, len(found.users), "interaction" if counts else "rating")
        graded = None if counts else _graded(found.values)
        return replace(found, weights=weights, **({} if graded is None else graded))

    @classmethod
    def _of_data_set(cls, data: Any, time: Any, sample_weight: Any, kind: Any, counts: bool) -> Self:
        says: Literal["ratings", "counts"] = "counts" if getattr(data, "holds_interactions", False) else "ratings"
        kinds = _the_kinds(getattr(data, "kinds", None) if says == "counts" else None, kind)
        time = getattr(data, "timestamps", None) if time is None else time
        found = cls.read(data.X, data.y, time, sample_weight, kinds, counts=counts)
        scales: dict[str, Any] = {name: getattr(data, name, None) for name in ("scale", "rating_scale")}
        return replace(found, says=says, **scales)

    @classmethod
    def _of_sparse(cls, X: Any, time: Any) -> Self:
        check_sparse(X, "X")
        entries = sparse.coo_array(X)
        times = None if time is None else seconds_of(time, len(entries.data))
        return cls(entries.row, entries.col, entries.data, times, shape=entries.shape)

    @classmethod
    def _of_frame(cls, frame: nw.DataFrame[Any], time: Any, kind: Any, counts: bool) -> Self:
        roles = FrameRoles.of(frame, counts=counts)
        roles.tell(frame)
        kinds = _the_kinds(None if roles.kind is None else frame[:, roles.kind].to_native(), kind)
        the_times(roles.time, time)
        users, items = _id_columns(frame[:, place] for place in (roles.user, roles.item))
        times = roles.times(frame) if time is None else time
        seconds = None if times is None else seconds_of(times, len(users))
        return cls(users, items, roles.values(frame), seconds, kinds=kinds, says=roles.says)

    @classmethod
    def _of_pairs(cls, X: Any, y: Any, time: Any, kind: Any, counts: bool) -> Self:
        if counts and (frame := as_frame(X)) is not None and (place := place_of_kinds(frame.columns)) is not None:
            kind = _the_kinds(frame[:, place].to_native(), kind)
            X = frame[:, [k for k in range(len(frame.columns)) if k != place]].to_native()
        users, items, times = read_pairs(X, time)
        y = as_list(y, "y")
        seconds = None if times is None else seconds_of(times, len(users))
        if times is not time and not counts and np.array_equal(times, y):
            raise InvalidInputError(
                "the third column of X, which is for times, holds the ratings",
                argument="X",
                advice="pass the first two columns as X and the ratings as y",
            )
        named = counts and find_count([str(getattr(y, "name", ""))]) is not None
        return cls(users, items, y, seconds, kinds=kind, says="counts" if named else "")

    def indexed(
        self, items: IdMap | None, unknown_items: Literal["error", "drop"], one: str = "rating"
    ) -> tuple[IdMap, IdMap, NDArray[np.int32], NDArray[np.int32]]:
        """Return users and items, and the index of both in each row.

        The index of an item that is not among `items` is -1, if some are and the others are to be dropped.
        """
        n_users, n_items = (None, None) if self.shape is None else self.shape
        users = IdMap(self.users, "the user ids of X") if n_users is None else IdMap.of_range(n_users)
        if items is None:
            items = IdMap(self.items, "the item ids of X") if n_items is None else IdMap.of_range(n_items)
        rows, columns = users.index(self.users), items.index(self.items)
        if unknown_items == "error" or not (columns >= 0).any():
            unknown = np.flatnonzero(columns < 0)
            if unknown.size:
                some, none = "remove them", "give items of training: there are none, and so nothing to go by"
                raise InvalidInputError(
                    f"{plural(unknown.size, f'{one} is', f'{one}s are')} of items which the model does not know, for "
                    f"example {some_of(self.items[unknown])}",
                    argument="X",
                    advice=some if unknown.size < columns.size else none,
                )
        return users, items, rows, columns


@dataclass(frozen=True)
class FrameRoles:
    """Where in a frame the column of each role stands.

    Attributes
    ----------
    user, item : int
    value : int or None
        Ratings or counts.
    time, kind : int or None
    says : {"ratings", "counts", ""}
        Whether some column is called as ratings are, or that of the values as counts are.
    """

    user: int
    item: int
    value: int | None = None
    time: int | None = None
    kind: int | None = None
    says: Literal["ratings", "counts", ""] = ""

    @classmethod
    def of(cls, frame: nw.DataFrame[Any], *, counts: bool = False) -> Self:
        """Find the columns by their names, as in files (see `cofactor.columns.frame_columns`).

        Raises
        ------
        InvalidInputError
            If it is not clear which columns these are.
        """
        return cls._counted(frame) if counts else cls._rated(frame)

    @classmethod
    def _rated(cls, frame: nw.DataFrame[Any]) -> Self:
        columns = frame.columns
        try:
            user, item, rating = (columns.index(name) for name in frame_columns(frame).values())
        except InvalidInputError:
            names = ", ".join(map(str, columns)) or "none"
            raise InvalidInputError(
                "y is missing, and it is not clear which columns of the frame X are user, item and rating; found "
                f"{names}",
                argument="X",
                advice="give them these names, or pass the two columns of ids as X and the ratings as y",
            ) from None
        return cls(user, item, rating, _place_of_times(columns, (user, item, rating)), says="ratings")

    @classmethod
    def _counted(cls, frame: nw.DataFrame[Any]) -> Self:
        columns = frame.columns
        names = list(map(str, columns))
        kind = place_of_kinds(columns)
        others = [place for place in range(len(names)) if place != kind]
        if len(others) == 2:
            check_pair_names([columns[place] for place in others])
            return cls(others[0], others[1], kind=kind)
        found = frame_columns(frame[:, others], rating=False)
        user, item = (columns.index(name) for name in found.values())
        count = find_count(names, (user, item))
        taken = [user, item] if count is None else [user, item, count]
        time = _place_of_times(columns, taken)
        rated = count is None and names_ratings(names, ())
        return cls(user, item, count, time, kind, "ratings" if rated else "" if count is None else "counts")

    def tell(self, frame: nw.DataFrame[Any]) -> None:
        """Warn of columns that are known by their places alone, and of one that may hold counts and is not read."""
        columns, names = frame.columns, list(map(str, frame.columns))
        rating = self.value if self.says == "ratings" else None
        places = [self.user, self.item, *([] if rating is None else [rating])]
        others = [place for place in range(len(names)) if place not in (*places, self.value, self.time, self.kind)]
        called = [has_role(names, place, role) for place, role in zip(places, ROLES, strict=False)]
        found, roles = (", ".join(map(str, those)) for those in ([columns[k] for k in places], ROLES[: len(places)]))
        if len(names) > 2 and not any(called) and all(isinstance(name, str) for name in columns):
            warn_of(
                f"the names of columns {found} of X do not say what they hold: by their order they are read as "
                f"{roles}; rename them so, in the order that is meant"
            )
        elif called[0] != called[1]:
            place, role = (self.item, "item") if called[0] else (self.user, "user")
            warn_of(
                f"column {columns[place]!r} of X is read as {role}s, by its place; call it {role!r} if it holds such"
            )
        elif rating is not None and not called[2] and (others or isinstance(columns[rating], str)):
            warn_of(
                f"column {columns[rating]!r} of X is read as ratings, by its place; call it 'rating' if it holds "
                "ratings, else leave it out: models such as Recommender learn from users and items alone, and from how "
                "often something was taken"
            )
        if not self.says and len(others) == 1 and frame[:, others[0]].dtype.is_numeric():
            how = "call it 'count' if it says how often"
            warn_of(f"column {columns[others[0]]!r} of X is not read, and each pair counts once; {how}")

    def pairs(self, frame: nw.DataFrame[Any]) -> Any:
        """Return the columns of ids as a frame of the user's own kind."""
        return frame[:, [self.user, self.item]].to_native()

    def values(self, frame: nw.DataFrame[Any]) -> Any:
        """Return the ratings or counts; None where there are none."""
        return None if self.value is None else frame[:, self.value].to_native()

    def times(self, frame: nw.DataFrame[Any]) -> Any:
        """Return numbers or dates; None where there is no column of times, or, with a warning, some cannot be read."""
        if self.time is None:
            return None
        column = frame[:, self.time]
        values, missing = column.to_numpy(), column.is_null().to_numpy()
        missing = missing | np.isnan(values) if values.dtype.kind == "f" else missing
        if missing.any():
            gaps = plural(int(missing.sum()), "rating")
            warn_of(
                f"column {column.name!r} of X has no time for {gaps}, so that none is used; leave these ratings out"
            )
            return None
        if column.dtype.is_numeric() or isinstance(column.dtype, nw.Datetime | nw.Date):
            return column.to_native()
        try:
            return seconds_of(times_of_column(column), name=f"column {column.name!r} of X")
        except InvalidInputError as error:
            warn_of(f"{error}; until then no times are used")
            return None


def place_of_kinds(columns: Sequence[Any]) -> int | None:
    """Return which column holds kinds of events, beside two others and no ratings."""
    names = list(map(str, columns))
    return None if len(names) <= 2 or names_ratings(names, ()) else find_kind(names)


def _place_of_times(columns: Sequence[Any], taken: Sequence[int]) -> int | None:
    return find_timestamp(list(map(str, columns)), len(columns), taken)


def warn_of(text: str) -> None:
    """Warn the caller of something in X."""
    warnings.warn(InputWarning(text), stacklevel=callers_level())


def is_data_set(X: Any) -> bool:
    """Whether something is a data set, with attributes X and y; so may a frame have them, as the names of columns."""
    return hasattr(X, "X") and hasattr(X, "y") and not hasattr(X, "columns")


def split_xy(X: Any, time: Any = None) -> tuple[Any, Any, Any]:
    """Return the pairs, the ratings and the times of a data set, or of a frame with columns of them, as they are.

    Parameters
    ----------
    X : data set with attributes X and y, frame, or pairs alone
    time : array-like of shape (n,), optional
        Times, where X has others or none.

    Returns
    -------
    pairs, y, times
        y is None where X holds no ratings.

    Examples
    --------
    >>> import polars as pl
    >>> pairs, y, times = split_xy(pl.DataFrame({"user": [7, 7], "item": ["Up", "Alien"], "rating": [4, 2]}))
    >>> pairs.columns, y.to_list(), times
    (['user', 'item'], [4, 2], None)
    >>> split_xy([(7, "Up")])
    ([(7, 'Up')], None, None)
    """
    X = collect(X)
    if is_data_set(X):
        return X.X, X.y, getattr(X, "timestamps", None) if time is None else time
    frame = as_frame(X)
    if frame is None:
        return X, None, time
    try:
        roles = FrameRoles.of(frame)
    except InvalidInputError:
        return X, None, time
    roles.tell(frame)
    return roles.pairs(frame), roles.values(frame), roles.times(frame) if time is None else time


def read_pairs(X: Pairs, time: Any = None) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Split pairs into the columns of user ids, of item ids, and of times.

    Parameters
    ----------
    X : array of shape (n, 2), list of pairs, frame of two columns
        User id and item id of each row, perhaps with times in a third column, see `cofactor.model.times.split_times`.
    time : array-like of shape (n,), optional
        The times, where X does not hold them.

    Returns
    -------
    users, items : ndarray of shape (n,)
        Ids as int64, float64 or objects, checked for missing numbers.
    times : array-like of shape (n,) or None
        As they are, see `cofactor.model.times.seconds_of`.

    Raises
    ------
    ValueError
        If X does not hold pairs, a frame names its columns item and user in this order, or a number is NaN or
        infinite.

    Examples
    --------
    >>> read_pairs([("ann", 7, 20), ("bob", 9, 10)])
    (array(['ann', 'bob'], dtype=object), array([7, 9]), [20, 10])
    """
    refuse_masked(X, "X")
    X = collect(X)
    if isinstance(X, Mapping):
        raise InvalidTypeError(
            f"X is a {type(X).__name__}", argument="X", advice="if it holds columns, pass pandas.DataFrame(X)"
        )
    X, times = split_times(as_list(X, "X") if as_frame(X) is None else X, time)
    frame = as_frame(X)
    columns: Sequence[Any]
    if frame is not None:
        if len(frame.columns) != 2:
            raise InvalidInputError(
                f"X must have two columns, user ids and item ids; found {frame.columns}",
                argument="X",
                advice="select these two, with the time as a third column for a model that knows time",
            )
        check_pair_names(frame.columns)
        columns = [frame[:, 0], frame[:, 1]]
    elif isinstance(X, list | tuple):
        columns = _columns_of_list(X)
    else:
        table = np.asarray(X)
        if table.ndim != 2 or table.shape[1] != 2:
            raise InvalidInputError(_wrong_shape(X, table.shape), argument="X")
        columns = [table[:, 0], table[:, 1]]
    return *_id_columns(columns), times


def _id_columns(columns: Iterable[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    users, items = (_ids(column, f"the {role} ids of X") for role, column in zip(ROLES, columns, strict=False))
    return users, items


def _ids(column: Any, what: str) -> NDArray[Any]:
    if not isinstance(column, nw.Series):
        return id_column(column, what)
    if isinstance(column.dtype, _NESTED):
        kind = type(column.dtype).__name__.lower()
        raise InvalidInputError(
            f"{what} are {kind}s, in column {column.name!r}",
            argument="X",
            advice="give one id in each row, such as by explode() of pandas or polars, or UNNEST in a query",
        )
    return id_column(as_array(column), what)


def _columns_of_list(X: Sequence[Any]) -> Sequence[Any]:
    if not X:
        return [], []
    if isinstance(X, tuple) and len(X) == 2 and isinstance(X[0], Sized) and len(X[0]) != 2:
        raise InvalidInputError(
            "X is a tuple of two columns: pass rows of (user, item), such as list(zip(users, items))", argument="X"
        )
    odd = next((pair for pair in X if not isinstance(pair, list | tuple | np.ndarray) or len(pair) != 2), None)
    if odd is not None:
        raise InvalidInputError(f"X must be a list of (user, item) pairs, found {odd!r} in it", argument="X")
    return [pair[0] for pair in X], [pair[1] for pair in X]


def _wrong_shape(X: Any, shape: tuple[int, ...]) -> str:
    found = f"X must have shape (n, 2), rows of user id and item id; found {type(X).__name__} of shape {shape}"
    if len(shape) == 2 and shape[0] == 2:
        return f"{found}: transpose it, X.T"
    return f"{found}. For a table of users × items, pass a scipy sparse matrix"


def weights_of_entries(X: Any, sample_weight: Any) -> ArrayLike | None:
    """Return weights in the order of the entries of a sparse matrix X; those of a matrix stand where the entries do.

    Parameters
    ----------
    X : scipy sparse matrix, or anything else
    sample_weight : scipy sparse matrix of the shape of X, or anything else, which is returned as it is
        Where it stores nothing the weight is 0; what it stores twice adds up.

    Examples
    --------
    >>> plays = sparse.coo_array(([5, 2, 3], ([1, 0, 0], [0, 2, 1])))
    >>> weights_of_entries(plays.astype(bool), plays), weights_of_entries(plays, [5, 2, 3])
    (array([3., 2., 5.]), [5, 2, 3])
    """
    if not sparse.issparse(sample_weight):
        return cast("ArrayLike | None", sample_weight)
    shape = cast(Any, sample_weight).shape
    if not sparse.issparse(X) or cast(Any, X).shape != shape:
        raise InvalidInputError(
            f"sample_weight is a sparse matrix of shape {shape}, and so must be X",
            argument="sample_weight",
            advice="give a weight for each row of X",
        )
    check_sparse(X, "X")
    check_sparse(sample_weight, "sample_weight")
    stored: Any = sparse.csr_array(cast(Any, sample_weight), dtype=np.float64)
    entries = sparse.coo_array(cast(Any, X))
    return np.asarray(stored[entries.row, entries.col]) if entries.nnz else np.zeros(0)


def _graded(y: Any) -> dict[str, Any] | None:
    """Return the values, the scale and the rating scale of ratings that are an ordered categorical; None of others.

    Categories that are increasing numbers are the scale; others are levels 1, 2, ..., in their order.

    Examples
    --------
    >>> import polars as pl
    >>> found = _graded(pl.Series(["ok", "bad"], dtype=pl.Enum(["bad", "ok", "good"])))
    >>> found["values"].tolist(), found["scale"].tolist(), found["rating_scale"].names()
    ([2.0, 1.0], [1.0, 2.0, 3.0], ['bad', 'ok', 'good'])
    """
    ordered = ordered_codes(y)
    if ordered is None:
        return None
    categories, codes = ordered
    rating_scale, scale = None, np.arange(1.0, len(categories) + 1)
    numbers = [float(one) if is_number(str(one)) else np.nan for one in categories]
    if (np.diff(numbers) > 0).all() and np.isfinite(numbers).all():
        scale = np.array(numbers)
    else:
        rating_scale = RatingScale(tuple(scale.tolist()), words=tuple(map(str, categories)))
    return {"values": np.append(scale, np.nan)[codes], "scale": scale, "rating_scale": rating_scale}


def as_numbers(y: Any, rating_scale: RatingScale | None = None) -> Any:
    """Return the values of an ordered categorical, by the words of a model that has such; other ratings as they are."""
    graded = _graded(y)
    if graded is None:
        return y
    return graded["values"] if rating_scale is None else recoded(graded["values"], graded["rating_scale"], rating_scale)


def other_words(own: RatingScale, rating_scale: RatingScale) -> InvalidInputError:
    """Return the error for levels that stand for something else than those of a model, such as bins of other edges."""
    return InvalidInputError(
        f"the levels of these ratings stand for {', '.join(own.names())}, but those of training for "
        f"{', '.join(rating_scale.names())}",
        argument="X",
        advice="read them with scale=model.rating_scale_",
    )


def recoded(values: Any, own: RatingScale | None, rating_scale: RatingScale) -> Any:
    """Return ratings that are words as the levels of a rating scale, whatever order or number of words they came with.

    Examples
    --------
    >>> words = RatingScale((1, 2, 3), words=("bad", "ok", "good"))
    >>> recoded(np.array([1.0, 2.0]), RatingScale((1, 2), words=("ok", "good")), words).tolist()
    [2.0, 3.0]
    >>> recoded(["good", "bad"], None, words).tolist()
    [3.0, 1.0]
    """
    if own is not None and own != rating_scale and not (own.words and rating_scale.words):
        raise other_words(own, rating_scale)
    if not rating_scale.words:
        return values
    if own is not None and own != rating_scale:
        there = np.isfinite(np.asarray(values, dtype=np.float64))
        words = [own.words[place] for place in np.asarray(values)[there].astype(np.intp) - 1]
        known = {word.casefold() for word in rating_scale.words}
        if any(word.casefold() not in known for word in words):
            raise other_words(own, rating_scale)
        found = np.full(len(there), np.nan)
        found[there] = rating_scale.levels_of(words)
        return found
    texts = not isinstance(values, np.ndarray) or values.dtype.kind in "OU"
    if own is None and texts and len(values) and all(isinstance(one, str) for one in values):
        return rating_scale.levels_of(list(values))
    return values


def rating_values(y: RatingValues, n_rows: int) -> NDArray[np.float64]:
    """Return the ratings as finite float64, one for each row of X."""
    refuse_masked(y, "y")
    y = as_list(y, "y")
    series = as_series(y)
    try:
        found = np.asarray(y) if series is None else as_array(series)
        nested = series is not None and isinstance(series.dtype, _NESTED)
        if nested or found.dtype.kind not in "biufO":
            raise InvalidTypeError(f"found {series.dtype if series is not None and nested else found.dtype}")
        values = found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"y must hold numbers ({error})", argument="y", advice=FOR_WORDS) from error
    if values.ndim != 1:
        raise InvalidInputError(
            f"y must be one-dimensional, found shape {values.shape}: pass y.ravel() or one column", argument="y"
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        those = plural(bad.size, "rating that is", "ratings that are")
        raise InvalidInputError(
            f"y holds {those} NaN or infinite, the first in row {bad[0]}: remove them", argument="y"
        )
    if values.size != n_rows:
        raise InvalidInputError(
            f"X has {plural(n_rows, 'row')} but y has {plural(values.size, 'rating')}: they must agree", argument="y"
        )
    return values


def refuse_none(values: NDArray[np.float64]) -> None:
    """Refuse to learn from nothing."""
    if not values.size:
        raise InvalidInputError("X is empty: at least one rating is needed", argument="X")


def _the_kinds(own: Any, beside: Any) -> Any:
    """Return the kinds that X has, or those beside it; refuse to choose."""
    if own is not None and beside is not None:
        raise InvalidInputError("X has kinds of its own, beside which others stand", argument="kind")
    return beside if own is None else own
