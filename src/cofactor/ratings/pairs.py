"""Pairs of user id and item id, and times beside them: columns from whatever holds them."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import listed
from cofactor.columns import check_pair_names, frame_of
from cofactor.errors import InvalidInputError
from cofactor.masks import refuse_masked
from cofactor.model.times import split_times
from cofactor.ratings.ids import id_column
from cofactor.typing import Pairs

__all__ = ["pair_columns", "timed_columns"]


def pair_columns(X: Pairs) -> tuple[NDArray[Any], NDArray[Any]]:
    """Split pairs into the column of user ids and the column of item ids.

    Parameters
    ----------
    X : array of shape (n, 2), list of pairs, pandas or polars frame of two columns
        User id and item id of each row. Times in a third column are passed over.

    Returns
    -------
    users, items : ndarray of shape (n,)
        Ids as int64, float64 or objects, checked for missing numbers.

    Raises
    ------
    ValueError
        If X does not hold pairs, a frame names its columns item and user in this order, or a number is NaN or
        infinite.

    Examples
    --------
    >>> pair_columns([("ann", 7), ("bob", 9)])
    (array(['ann', 'bob'], dtype=object), array([7, 9]))
    """
    users, items, _ = timed_columns(X)
    return users, items


def timed_columns(X: Pairs, time: Any = None) -> tuple[NDArray[Any], NDArray[Any], Any]:
    """Split pairs into the columns of user ids, of item ids, and of times.

    Parameters
    ----------
    X
        As in `pair_columns`, perhaps with times in a third column, see `cofactor.model.times.split_times`.
    time : array-like of shape (n,), optional
        The times, where X does not hold them.

    Returns
    -------
    users, items : ndarray of shape (n,)
    times : array-like of shape (n,) or None
        As they are, see `cofactor.model.times.seconds_of`.

    Examples
    --------
    >>> timed_columns([("ann", 7, 20), ("bob", 9, 10)])
    (array(['ann', 'bob'], dtype=object), array([7, 9]), [20, 10])
    """
    refuse_masked(X, "X")
    X, times = split_times(listed(X, "X") if frame_of(X) is None else X, time)
    frame = frame_of(X)
    columns: Sequence[Any]
    if frame is not None:
        if len(frame.columns) != 2:
            raise InvalidInputError(
                f"X must have two columns, user ids and item ids; found {frame.columns}",
                argument="X",
                advice="select these two, with the time as a third column for a model that knows time",
            )
        check_pair_names(frame.columns)
        columns = [frame[:, 0].to_numpy(), frame[:, 1].to_numpy()]
    elif isinstance(X, list | tuple):
        columns = _columns_of_list(X)
    else:
        table = np.asarray(X)
        if table.ndim != 2 or table.shape[1] != 2:
            raise InvalidInputError(_wrong_shape(X, table.shape), argument="X")
        columns = [table[:, 0], table[:, 1]]
    users, items = (id_column(columns[k], f"the {role} ids of X") for k, role in enumerate(("user", "item")))
    return users, items, times


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
    if hasattr(X, "collect"):
        return f"{found}: call .collect() on a lazy frame first"
    if len(shape) == 2 and shape[0] == 2:
        return f"{found}: transpose it, X.T"
    return f"{found}. For a table of users × items, pass a scipy sparse matrix"
