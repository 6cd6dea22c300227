"""Frames of pandas and polars that hold ratings beside the ids."""

from __future__ import annotations

from typing import Any

import narwhals as nw
from numpy.typing import NDArray

from cofactor.columns import find_timestamp, frame_columns
from cofactor.errors import InvalidInputError
from cofactor.typing import Frame

__all__ = ["is_frame", "split_frame"]


def is_frame(X: Any) -> bool:
    """Whether something is a frame that has its data in memory."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def split_frame(X: Frame) -> tuple[Frame, Any, NDArray[Any] | None]:
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
    times : ndarray or None
        Numbers or dates from a column that is named as one of times; None where there is none, or one has a gap.

    Raises
    ------
    InvalidInputError
        If it is not clear which columns these are.

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
    return frame.select(user, item).to_native(), frame[rating].to_native(), _times(frame, (user, item, rating))


def _times(frame: nw.DataFrame[Any], taken: tuple[Any, ...]) -> NDArray[Any] | None:
    names = [str(name) for name in frame.columns]
    position = find_timestamp(names, len(names), [frame.columns.index(name) for name in taken])
    if position is None:
        return None
    column = frame[frame.columns[position]]
    if not (column.dtype.is_numeric() or column.dtype.is_temporal()) or column.is_null().any():
        return None
    times = column.to_numpy()
    return None if times.dtype.kind not in "iufM" or (times != times).any() else times
