"""Frames of pandas and polars that hold ratings beside the ids."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from cofactor.datasets.columns import ALIASES, ROLES, plain
from cofactor.errors import InvalidInputError

__all__ = ["is_frame", "split_frame"]


def is_frame(X: Any) -> bool:
    """Whether something is a frame that has its data in memory."""
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def split_frame(X: Any) -> tuple[Any, Any]:
    """Return the two columns of ids of a frame, and its column of ratings.

    Columns are known by their names, such as user, userId, item, movieId, rating and stars; others are left out.

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
        If not every role has exactly one column with a name for it.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"stars": [4, 2], "movieId": ["Up", "Alien"], "userId": [7, 7]})
    >>> pairs, y = split_frame(frame)
    >>> pairs.columns, y.to_list()
    (['userId', 'movieId'], [4, 2])
    """
    frame = nw.from_native(X, eager_only=True)
    names = list(frame.columns)
    found = {role: [name for name in names if plain(str(name)) in ALIASES[role]] for role in ROLES}
    for role, columns in found.items():
        if len(columns) != 1:
            told = "no column" if not columns else f"several columns ({', '.join(map(str, columns))})"
            raise InvalidInputError(
                f"y is missing, and the frame X has {told} for the {role}; its columns are "
                f"{', '.join(map(str, names)) or 'none'}",
                argument="X",
                advice="name one each user, item and rating, or pass the two columns of ids as X and the ratings as y",
            )
    user, item, rating = (columns[0] for columns in found.values())
    return frame.select(user, item).to_native(), frame[rating].to_native()
