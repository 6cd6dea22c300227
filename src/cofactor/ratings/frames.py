"""Frames of pandas and polars that hold ratings beside the ids."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_choice
from cofactor.columns import find_timestamp, frame_columns
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.frames import as_frame
from cofactor.model.callers import callers_level
from cofactor.model.times import seconds_of, times_of_column
from cofactor.text import counted
from cofactor.typing import Frame

__all__ = ["apart", "frame_of", "is_data_set", "is_frame", "split_frame", "times_of_frame", "warn_of"]


def frame_of(columns: Mapping[str, NDArray[Any]], kind: str) -> Frame:
    """Return columns as a frame, or table, of pandas, polars or pyarrow.

    Examples
    --------
    >>> frame_of({"item": np.array(["Up"]), "score": np.array([2.0])}, "polars").columns
    ['item', 'score']
    """
    check_choice("kind", kind, ("pandas", "polars", "pyarrow"))
    plain = {name: column.tolist() for name, column in columns.items()}
    return nw.from_dict(plain, backend=cast(Any, kind)).to_native()


def is_frame(X: Any) -> bool:
    """Whether something is a frame that has its data in memory."""
    return as_frame(X) is not None


def is_data_set(X: Any) -> bool:
    """Whether something is a data set, with attributes X and y; so may a frame have them, as the names of columns."""
    return hasattr(X, "X") and hasattr(X, "y") and not hasattr(X, "columns")


def split_frame(X: Frame) -> tuple[Frame, Any, Any]:
    """Return the two columns of ids of a frame, its column of ratings, and that of times.

    Columns are known by their names, as in files (see `cofactor.columns.frame_columns`).

    Parameters
    ----------
    X : frame of pandas or polars

    Returns
    -------
    pairs : frame of two columns
        User ids and item ids.
    y : series
        Ratings.
    times : series or None
        Numbers or dates, also as text, from a column that is named as one of times; None where there is none, or some
        cannot be read.

    Raises
    ------
    InvalidInputError
        If it is not clear which columns these are.

    Warns
    -----
    InputWarning
        If some times are missing, or cannot be read.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"stars": [4, 2], "movieId": ["Up", "Alien"], "userId": [7, 7]})
    >>> pairs, y, times = split_frame(frame)
    >>> pairs.columns, y.to_list(), times
    (['userId', 'movieId'], [4, 2], None)
    """
    frame = nw.from_native(X, eager_only=True)
    try:
        user, item, rating = frame_columns(X).values()
    except InvalidInputError:
        names = ", ".join(map(str, frame.columns)) or "none"
        raise InvalidInputError(
            f"y is missing, and it is not clear which columns of the frame X are user, item and rating; found {names}",
            argument="X",
            advice="give them these names, or pass the two columns of ids as X and the ratings as y",
        ) from None
    return frame.select(user, item).to_native(), frame[rating].to_native(), times_of_frame(frame, (user, item, rating))


def times_of_frame(frame: nw.DataFrame[Any], taken: tuple[Any, ...]) -> Any:
    """Return the column of times of a frame, others being taken; None where there is none, or some cannot be read."""
    names = [str(name) for name in frame.columns]
    position = find_timestamp(names, len(names), [frame.columns.index(name) for name in taken])
    if position is None:
        return None
    column = frame[frame.columns[position]]
    values, missing = column.to_numpy(), column.is_null().to_numpy()
    missing = missing | np.isnan(values) if values.dtype.kind == "f" else missing
    if missing.any():
        gaps = counted(int(missing.sum()), "rating")
        warn_of(f"column {column.name!r} of X has no time for {gaps}, so that none is used; leave these ratings out")
        return None
    if column.dtype.is_numeric() or isinstance(column.dtype, nw.Datetime | nw.Date):
        return column.to_native()
    try:
        return seconds_of(times_of_column(column), name=f"column {column.name!r} of X")
    except InvalidInputError as error:
        warn_of(f"{error}; until then no times are used")
        return None


def warn_of(text: str) -> None:
    """Warn the caller of something in a frame."""
    warnings.warn(InputWarning(text), stacklevel=callers_level())


def apart(X: Any, time: Any = None) -> tuple[Any, Any, Any]:
    """Return the pairs, the ratings and the times of a data set, or of a frame with columns of them.

    Parameters
    ----------
    X : data set with attributes X and y, frame of pandas or polars, or pairs alone
    time : array-like of shape (n,), optional
        Times, where X has others or none.

    Returns
    -------
    pairs, y, times
        y is None where X holds no ratings.

    Examples
    --------
    >>> import polars as pl
    >>> pairs, y, times = apart(pl.DataFrame({"user": [7, 7], "item": ["Up", "Alien"], "rating": [4, 2]}))
    >>> pairs.columns, y.to_list(), times
    (['user', 'item'], [4, 2], None)
    >>> apart([(7, "Up")])
    ([(7, 'Up')], None, None)
    """
    if is_data_set(X):
        pairs, y, own = X.X, X.y, getattr(X, "timestamps", None)
    elif _holds_ratings(X):
        pairs, y, own = split_frame(X)
    else:
        return X, None, time
    return pairs, y, own if time is None else time


def _holds_ratings(X: Any) -> bool:
    if not is_frame(X):
        return False
    try:
        frame_columns(X)
    except InvalidInputError:
        return False
    return True
