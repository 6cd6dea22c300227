"""When something was rated or observed: what callers give as times, in seconds since 1970."""

from __future__ import annotations

import inspect
import warnings
from datetime import UTC, date, datetime, time
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from cofactor.checks import as_list, refuse_masked
from cofactor.columns import find_timestamp
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError
from cofactor.frames import as_frame, as_series
from cofactor.model.convergence import callers_level
from cofactor.text import is_number, plural, seconds_of_date

_EPOCH = datetime(1970, 1, 1)
_YEAR_1990, _YEAR_2200 = 631_152_000, 7_258_118_400  # in seconds
_UNITS = {"milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
_LOOKED_AT = 1_000_000  # times, of more than twice as many, that tell the unit
_EXACT_FLOAT = 2.0**53  # whole floats beyond this may stand for several integers
_EXACT_FLOAT32 = 2.0**24
_FOR_TEXT = "make dates of it, such as pandas.to_datetime(...), or numbers of seconds since 1970"


def seconds_of(values: Any, n: int | None = None, name: str = "time") -> NDArray[np.float64]:
    """Return times as seconds since 1970, in UTC.

    Any finite time will do, also one before 1970 or in the future: models look at differences of times alone, and what
    they learn must not depend on the day on which they do.

    Parameters
    ----------
    values : array-like of shape (n,)
        Numbers of seconds since 1970; datetime64; a series of dates or of times, of pandas or polars; or objects
        of ``datetime``. Times with a zone are converted, those without are UTC.
    n : int, optional
        How many there must be.
    name : str, default="time"
        What messages call them.

    Returns
    -------
    ndarray of shape (n,), float64

    Raises
    ------
    InvalidInputError
        If some are missing or infinite, some with a zone and others without, or if they are not `n`.
    InvalidTypeError
        If they are something else, such as text.

    Warns
    -----
    InputWarning
        If they are float32 and too large for it. If they are likely to be milliseconds, microseconds or nanoseconds:
        half of them or more, read as seconds, are thousands of years from now.

    Examples
    --------
    >>> from datetime import datetime, timedelta, timezone
    >>> seconds_of(np.array(["1970-01-02", "1969-12-31T23:59:58.5"], dtype="datetime64[ms]")).tolist()
    [86400.0, -1.5]
    >>> seconds_of([datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=1)))]).tolist()
    [3600.0]
    """
    refuse_masked(values, name)
    found = _as_array(as_list(values, name), name)
    if found.ndim != 1 or (n is not None and len(found) != n):
        many = "one-dimensional" if n is None else f"of shape ({n},), one for each row"
        raise InvalidInputError(f"{name} must be {many}; found shape {found.shape}", argument=name)
    seconds, numbers = _read(found, name)
    missing, infinite = np.flatnonzero(np.isnan(seconds)), np.flatnonzero(np.isinf(seconds))
    for bad, what in ((missing, "missing"), (infinite, "infinite")):
        if bad.size:
            where = f" for {bad.size} of {plural(len(seconds), 'row')}, the first is row {bad[0]}"
            raise InvalidInputError(
                f"{name} is {what}{where if len(seconds) > 1 else ''}",
                argument=name,
                advice="every row needs a finite time: leave these rows out"
                if len(seconds) > 1
                else "give a finite one",
            )
    if found.dtype.kind == "f" and found.dtype.itemsize < 8 and np.abs(seconds).max(initial=0) > _EXACT_FLOAT32:
        text = f" is of {found.dtype}, which cannot hold seconds since 1970: they are rounded, to 64 s or more; "
        warnings.warn(
            InputWarning((Argument(name), text, "make them float64 from the start")), stacklevel=callers_level()
        )
    if numbers:
        _warn_of_other_units(seconds, name)
    return seconds


def split_times(X: Any, time: Any = None) -> tuple[Any, Any]:
    """Return pairs of user id and item id, and their times, which a third column of X may hold.

    Parameters
    ----------
    X : array of shape (n, 2) or (n, 3), list of pairs or of triples, frame of two or three columns
        Of a frame with three columns the time is the one called timestamp, time or date, wherever it stands.
    time : array-like of shape (n,), optional
        The times, where X does not hold them.

    Returns
    -------
    pairs : like X
        X itself if it has no such column.
    times : array-like, or None
        As they are; see `seconds_of`.

    Raises
    ------
    InvalidInputError
        If there are times in X and beside it, or only some rows have one.

    Examples
    --------
    >>> split_times([("ann", "Up", 20), ("bob", "Up", 30)])
    ([('ann', 'Up'), ('bob', 'Up')], [20, 30])
    >>> split_times([("ann", "Up")])
    ([('ann', 'Up')], None)
    """
    pairs, times = _split(X)
    return pairs, the_times(times, time)


def the_times(own: Any, beside: Any) -> Any:
    """Return the times that X has, or those beside it; refuse to choose."""
    if beside is not None and own is not None:
        raise InvalidInputError(
            "X has a third column of times, and there are others beside it", argument="time", advice="give one of them"
        )
    return own if beside is None else beside


def likely_seconds(values: NDArray[Any]) -> bool:
    """Whether a column is one of times for sure: of dates, or of numbers half of which are 1990 or later as seconds.

    Examples
    --------
    >>> likely_seconds(np.array([881250949, 875747190])), likely_seconds(np.array([0.5, 120.0]))
    (True, False)
    """
    if values.dtype.kind == "M" or not values.size:
        return True
    try:
        return float(np.median(values.astype(np.float64))) >= _YEAR_1990
    except (TypeError, ValueError):
        return isinstance(values[0], date)


def _split(X: Any) -> tuple[Any, Any]:
    frame = as_frame(X)
    if frame is not None:
        names = frame.columns
        position = find_timestamp([str(name) for name in names], 3, ()) if len(names) == 3 else None
        if position is None:
            return X, None
        pairs = frame.select([name for name in names if name != names[position]])
        return pairs.to_native(), times_of_column(frame[names[position]])
    if isinstance(X, list | tuple):
        two_columns = isinstance(X, tuple) and len(X) == 2  # an error, told by others
        if two_columns or not _is_triple(next(iter(X), None)):
            return X, None
        odd = next((row for row in X if not _is_triple(row)), None)
        if odd is not None:
            raise InvalidInputError(
                f"X must be a list of (user, item, time) like its first row, found {odd!r} in it", argument="X"
            )
        return [tuple(row[:2]) for row in X], [row[2] for row in X]
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[1] == 3 and hasattr(X, "__array__"):
        table = np.asarray(X)
        return table[:, :2], table[:, 2]
    return X, None


def timed_pairs(X: Any, time: Any = None) -> tuple[Any, NDArray[np.float64] | None]:
    """Return pairs and their times as `split_times` does, times in seconds since 1970.

    Parameters
    ----------
    X, time
        As in `split_times`.

    Examples
    --------
    >>> timed_pairs([("ann", "Up", 20)])
    ([('ann', 'Up')], array([20.]))
    """
    pairs, times = split_times(X, time)
    return pairs, None if times is None else seconds_of(times, len(pairs))


def with_times(X: Any, seconds: NDArray[np.float64]) -> Any:
    """Return pairs with a third column of times, from which `split_times` gets both back.

    Parameters
    ----------
    X : array of shape (n, 2), list of pairs, or frame of two columns
    seconds : ndarray of shape (n,), float64

    Examples
    --------
    >>> with_times([("ann", "Up"), ("bob", "Up")], np.array([20.0, 30.0]))
    [('ann', 'Up', 20.0), ('bob', 'Up', 30.0)]
    """
    frame = as_frame(X)
    if frame is not None:
        if hasattr(X, "assign"):  # of pandas, whose index a series of its own would have to share
            return X.assign(timestamp=seconds)
        return frame.with_columns(nw.new_series("timestamp", seconds, backend=frame.implementation)).to_native()
    if isinstance(X, list | tuple):
        return [(*pair, time) for pair, time in zip(X, seconds.tolist(), strict=True)]
    table = np.asarray(X)
    exact = table.dtype.kind in "iuf" and np.all(np.abs(table.astype(np.float64)) <= _EXACT_FLOAT)
    return np.column_stack([table if exact else table.astype(object), seconds])


def pairs_for(model: Any, X: Any, seconds: NDArray[np.float64] | None) -> Any:
    """Return pairs as an estimator takes them: with a third column of times if there are any and its `fit` knows time.

    Parameters
    ----------
    model : estimator
        Or a search around one.
    X
        Pairs, see `with_times`.
    seconds : ndarray of shape (n,), float64, or None
    """
    return X if seconds is None or not _takes_times(model) else with_times(X, seconds)


def _takes_times(model: Any) -> bool:
    inside = getattr(model, "estimator", None)
    return _takes_times(inside) if hasattr(inside, "fit") else "time" in inspect.signature(model.fit).parameters


def times_of_column(column: nw.Series[Any]) -> Any:
    """Return a column of a frame as it is; of text the seconds since 1970 that it stands for.

    Text are numbers, or dates of ISO 8601, which are of UTC where they name no zone; another one is an error.
    """
    if not isinstance(column.dtype, nw.String | nw.Categorical | nw.Enum):
        return column.to_native()
    cells = column.to_list()
    seconds = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        try:
            seconds[row] = np.nan if is_missing(cell) else float(cell) if is_number(cell) else seconds_of_date(cell)
        except ValueError:
            raise InvalidTypeError(
                f"column {column.name!r} of X must hold times, found {cell!r} in row {row}",
                argument="X",
                advice=_FOR_TEXT,
            ) from None
    return seconds


def _is_triple(row: Any) -> bool:
    return isinstance(row, list | tuple | np.ndarray) and len(row) == 3


def _as_array(values: Any, name: str) -> NDArray[Any]:
    series = as_series(values)
    if series is not None:
        kind = series.dtype
        if isinstance(kind, nw.Datetime) and kind.time_zone is not None:
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return series.to_numpy()
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise InvalidInputError(f"{name} must be one-dimensional ({error})", argument=name) from error
    if found.dtype.kind in "US" and isinstance(values, list | tuple):  # NumPy makes text of numbers beside text
        return np.array(values, dtype=object)
    return found


def _read(found: NDArray[Any], name: str) -> tuple[NDArray[np.float64], bool]:
    """Return seconds, NaN where there is no time, and whether they were numbers."""
    kind = found.dtype.kind
    if kind in "iuf":
        return found.astype(np.float64), True
    if kind == "M":
        return (found - np.datetime64(0, "s")) / np.timedelta64(1, "s"), False
    if kind == "O":
        return _of_objects(found.tolist(), name)
    raise _no_times(name, "text" if kind in "USTa" else str(found.dtype))


def _of_objects(values: list[Any], name: str) -> tuple[NDArray[np.float64], bool]:
    if set(map(type, values)) <= {int, float}:
        return np.array(values, dtype=np.float64), True
    there = [value for value in values if not is_missing(value)]
    dates = [value for value in there if isinstance(value, date | np.datetime64)]
    if len(dates) not in (0, len(there)):
        raise InvalidInputError(f"{name} holds dates as well as other values", argument=name, advice="give one kind")
    odd = next((value for value in there if isinstance(value, str | bytes | bool)), None)
    if odd is not None:
        raise _no_times(name, f"{odd!r}")
    zoned = sum(isinstance(value, datetime) and value.utcoffset() is not None for value in dates)
    if zoned not in (0, len(dates)):
        raise InvalidInputError(
            f"{name} has a time zone in {zoned} of {len(dates)} rows, and none in the others",
            argument=name,
            advice="give all of them a zone, such as value.replace(tzinfo=datetime.UTC)",
        )
    try:
        seconds = [np.nan if is_missing(value) else _of_object(value) for value in values]
    except (TypeError, ValueError) as error:
        raise _no_times(name, f"{error}") from error
    return np.array(seconds, dtype=np.float64), not dates


def _of_object(value: Any) -> float:
    if isinstance(value, np.datetime64):
        return float((value - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
    if isinstance(value, datetime):
        return (value - (_EPOCH if value.utcoffset() is None else _EPOCH.replace(tzinfo=UTC))).total_seconds()
    if isinstance(value, date):
        return (datetime.combine(value, time()) - _EPOCH).total_seconds()
    return float(value)


def is_missing(value: Any) -> bool:
    """Whether it is None, NaN, NaT, or the NA of pandas, which answers neither yes nor no."""
    differs = value is None or value != value
    return not isinstance(differs, bool | np.bool_) or bool(differs)


def _no_times(name: str, found: str) -> InvalidTypeError:
    return InvalidTypeError(
        f"{name} must hold numbers of seconds since 1970, or dates; found {found}", argument=name, advice=_FOR_TEXT
    )


def _warn_of_other_units(seconds: NDArray[np.float64], name: str) -> None:
    some = seconds[:: 1 + seconds.size // _LOOKED_AT]
    median = abs(float(np.median(some))) if seconds.size else 0.0
    for unit, many in _UNITS.items():
        if _YEAR_1990 <= median / many <= _YEAR_2200:
            text = f" is likely to be in {unit}: as seconds, half of the times are thousands of years from now"
            advice = f"; divide by {many:,}, since times are seconds since 1970"
            warnings.warn(InputWarning((Argument(name), text, advice)), stacklevel=callers_level())
