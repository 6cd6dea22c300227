"""Frames of pandas and polars that hold ratings beside the ids."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from cofactor.columns import frame_columns
from cofactor.errors import InvalidInputError
from cofactor.typing import Frame

__all__ = ["is_frame", "split_frame"]


def is_frame(X: Any) -> bool:
    """Whether something is a frame that has its data in memory."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def split_frame(X: Frame) -> tuple[Frame, Any]:
    """Return the two columns of ids of a frame, and its column of ratings.

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

    Raises
    ------
    InvalidInputError
        If it is not clear which columns these are.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"stars": [4, 2], "movieId": ["Up", "Alien"], "userId": [7, 7]})
    >>> pairs, y = split_frame(frame)
    >>> pairs.columns, y.to_list()
    (['userId', 'movieId'], [4, 2])
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
    return frame.select(user, item).to_native(), frame[rating].to_native()
