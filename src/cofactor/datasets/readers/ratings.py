"""Ratings from files of the user's own: CSV, TSV, ``::``-separated text and Parquet.

Text may be gzip-compressed and may come from standard input (``-``). Everything that cannot be read raises
an error which names the file and the line, what was expected and what was found; nothing is guessed silently.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.datasets.columns import (
    Column,
    IdMode,
    explicit_timestamp,
    find_timestamp,
    guess_header,
    ids_from_text,
    numbers_from_text,
    refuse_matrix,
    resolve_columns,
    stack_pairs,
)
from cofactor.datasets.readers import parquet
from cofactor.datasets.readers.text_tables import TextTable, numeric_columns, split_table, text_columns
from cofactor.datasets.types import RatingDataset
from cofactor.errors import InvalidInputError
from cofactor.files import PathLike, display_name, read_bytes, to_utf8
from cofactor.text import counted

__all__ = ["MAX_INFERRED_LEVELS", "read_pairs", "read_ratings"]

MAX_INFERRED_LEVELS = 101  # a percent scale; more distinct ratings than that count as continuous


def read_ratings(
    path: PathLike,
    user: Column | None = None,
    item: Column | None = None,
    rating: Column | None = None,
    timestamp: Column | None = None,
    *,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    scale: ArrayLike | None = None,
    ids: IdMode = "auto",
    name: str | None = None,
) -> RatingDataset:
    r"""Read ratings from a text or Parquet file.

    Parameters
    ----------
    path : str or path-like
        Text (plain or gzip) or Parquet; the content decides which, not the suffix. ``"-"`` is standard input.
    user, item, rating : str or int, optional
        Name of a column, or its position counted from 0. By default the columns are known by name in any
        spelling of case, spaces and underscores (``user``, ``userId``, ``user_id``, ``movieId``,
        ``rating``, ``stars``, ...); where there is no header, or none of its names is known, they are the
        first three. A header of which only a part is known, in unusual places, is an error which asks for
        the other columns, as is a matrix with a column for each item.
    timestamp : str or int, optional
        Column of integer times. By default ``timestamp`` (or ``time``, ...) if the header has it, or the
        fourth of four columns without header, provided that it holds integers; otherwise the data have no
        times.
    sep : str, optional
        Separator; by default found from the first line: ``::``, tab, comma, semicolon, ``|`` or spaces.
        With a single character, cells may be quoted as in CSV.
    header : bool, optional
        Whether the first line names the columns; by default it does if it holds no number.
    encoding : str, default "utf-8"
        Encoding of a text file.
    scale : array-like of shape (R,), optional
        The possible ratings in increasing order; a rating which is not on it is an error. By default the
        distinct ratings of the file if these are at most 101, else None (continuous).
    ids : {"auto", "int", "str", "each"}, default "auto"
        ``"auto"``: a column of ids which all look like integers becomes int64, any other one stays text.
        ``"int"``: other ids are an error. ``"str"``: ids stay text. ``"each"``: every id for itself.
        "007", "+7" and "7.0" do not look like integers: they are different names from "7".
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    RatingDataset
        In the order of the file. Pairs which occur twice are kept: what to do with them is decided by `fit`.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is empty, truncated, wrongly encoded or malformed, or holds a rating which is not a finite
        number on the scale; the message names the line.
    ImportError
        If the file is Parquet and pyarrow is not installed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets import read_ratings
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "stars.csv")
    >>> _ = path.write_text("user,movie,stars\nann,12,4\nbob,12,3.5\n")
    >>> data = read_ratings(path)
    >>> data.X.tolist(), data.y.tolist(), data.scale.tolist()
    ([['ann', 12], ['bob', 12]], [4.0, 3.5], [3.5, 4.0])
    >>> folder.cleanup()
    """
    wanted = {"user": user, "item": item, "rating": rating}
    columns = _read(path, wanted, timestamp, sep, header, encoding, ids)
    label = display_name(path)
    y = columns.ratings
    assert y is not None
    if len(y) and not np.isfinite(y).all():
        k = int(np.flatnonzero(~np.isfinite(y))[0])
        raise InvalidInputError(f"{columns.where(k)}: the rating is {y[k]}, expected a finite number")
    levels = _check_scale(scale, columns) if scale is not None else _infer_scale(y)
    return RatingDataset(
        name=name or ("stdin" if os.fspath(path) == "-" else Path(path).name),
        X=stack_pairs(columns.users, columns.items),
        y=y,
        scale=levels,
        timestamps=columns.timestamps,
        description=f"{counted(len(y), 'rating')} read from {label}, {columns.origin}",
    )


def read_pairs(
    path: PathLike,
    user: Column | None = None,
    item: Column | None = None,
    *,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    ids: IdMode = "auto",
) -> NDArray:
    r"""Read pairs of user and item, for which ratings shall be predicted.

    Other columns (a rating, a time) may be there and are ignored.

    Parameters
    ----------
    path, user, item, sep, header, encoding, ids
        As in `read_ratings`. Give ``ids="each"`` where one odd id must not turn all others into text, and
        ``ids="str"`` for a model which was trained on text ids. Without `header`, the first line names
        the columns if it holds no number and either a known name or a number under it.

    Returns
    -------
    ndarray of shape (n, 2)
        User id and item id; int64 where all ids are integers, otherwise object.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, ValueError, ImportError
        As in `read_ratings`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets import read_pairs
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "wanted.tsv")
    >>> _ = path.write_text("1\t10\n1\t12\n")
    >>> read_pairs(path)
    array([[ 1, 10],
           [ 1, 12]])
    >>> folder.cleanup()
    """
    columns = _read(path, {"user": user, "item": item}, None, sep, header, encoding, ids)
    return stack_pairs(columns.users, columns.items)


@dataclass(frozen=True)
class _Columns:
    """The columns of a file, with what is needed to name the place of a fault."""

    users: NDArray
    items: NDArray
    ratings: NDArray[np.float64] | None
    timestamps: NDArray[np.int64] | None
    name: str
    lines: Sequence[int] | NDArray[np.int64]
    origin: str
    unit: str = "line"

    def where(self, row: int) -> str:
        return f"{self.name}, {self.unit} {self.lines[row]}"


def _read(
    path: PathLike,
    wanted: Mapping[str, Column | None],
    timestamp: Column | None,
    sep: str | None,
    header: bool | None,
    encoding: str,
    ids: IdMode,
) -> _Columns:
    if ids not in ("auto", "int", "str", "each"):
        raise InvalidInputError(f"ids={ids!r} is not known; expected 'auto', 'int', 'str' or 'each'")
    name = display_name(path)
    data = read_bytes(path)
    content = "a user, an item and a rating" if "rating" in wanted else "a user and an item"
    if data.startswith(parquet.MAGIC):
        table = parquet.read(data, name, content)
        refuse_matrix(table.names, table.first_row, wanted, name)
        positions = _positions(table.names, len(table.names), wanted, timestamp, name)
        users, items = (parquet.ids(table, positions[role], ids, role) for role in ("user", "item"))
        ratings = parquet.numbers(table, positions["rating"]) if "rating" in positions else None
        times = parquet.times(table, positions["timestamp"], timestamp) if "timestamp" in positions else None
        origin = _origin(table.names, positions)
        return _Columns(users, items, ratings, times, name, range(1, len(users) + 1), origin, "row")
    text = split_table(
        to_utf8(data, name, encoding),
        name,
        sep,
        lambda first, second: guess_header(first, second, "rating" in wanted) if header is None else header,
        content,
    )
    refuse_matrix(text.header, text.first_row, wanted, name)
    positions = _positions(text.header, text.n_columns, wanted, timestamp, name)
    return _from_text(text, positions, ids, timestamp)


def _positions(
    header: Sequence[str] | None,
    n_columns: int,
    wanted: Mapping[str, Column | None],
    timestamp: Column | None,
    name: str,
) -> dict[str, int]:
    positions = resolve_columns(header, n_columns, wanted, name)
    if timestamp is not None:
        positions["timestamp"] = explicit_timestamp(header, n_columns, timestamp, name)
    elif "rating" in wanted:
        position = find_timestamp(header, n_columns, positions.values())
        if position is not None:
            positions["timestamp"] = position
    return positions


def _origin(header: Sequence[str] | None, positions: Mapping[str, int]) -> str:
    """Tell which column was taken for what: by its name, or by its number counted from 0."""
    return ", ".join(f"{role} from column {repr(header[k]) if header else k}" for role, k in positions.items())


def _from_text(table: TextTable, positions: Mapping[str, int], ids: IdMode, timestamp: Column | None) -> _Columns:
    kinds = {"user": "i8", "item": "i8", "rating": "f8", "timestamp": "i8"}
    roles = list(positions)
    origin = _origin(table.header, positions)
    if ids != "str":
        found = numeric_columns(table, [positions[r] for r in roles], [kinds[r] for r in roles])
        if found is not None:
            fast = dict(zip(roles, found, strict=True))
            lines = range(table.first_line, table.first_line + len(fast["user"]))
            parts = fast["user"], fast["item"], fast.get("rating"), fast.get("timestamp")
            return _Columns(*parts, table.name, lines, origin)
    cells, line_of = text_columns(table, [positions[r] for r in roles])
    text = dict(zip(roles, cells, strict=True))
    numbers = line_of.tolist()
    ratings = None
    if "rating" in text:
        ratings = numbers_from_text(text["rating"], table.column_name(positions["rating"]), table.name, numbers)
    times = None
    if "timestamp" in text:
        times = _text_times(text["timestamp"], timestamp, table, numbers)
    users = ids_from_text(text["user"], ids, "user", table.name, numbers)
    items = ids_from_text(text["item"], ids, "item", table.name, numbers)
    return _Columns(users, items, ratings, times, table.name, numbers, origin)


def _text_times(
    cells: Sequence[str], asked: Column | None, table: TextTable, lines: Sequence[int]
) -> NDArray[np.int64] | None:
    if asked is not None:
        return ids_from_text(cells, "int", "timestamp", table.name, lines)
    if "" in cells:
        return None
    times = ids_from_text(cells, "auto", "timestamp", table.name, lines)
    return times if times.dtype == np.int64 else None


def _infer_scale(y: NDArray[np.float64]) -> NDArray[np.float64] | None:
    levels = np.unique(y)
    return levels if len(levels) <= MAX_INFERRED_LEVELS else None


def _check_scale(scale: ArrayLike, columns: _Columns) -> NDArray[np.float64]:
    levels = np.array(scale, dtype=np.float64)
    if levels.ndim != 1 or len(levels) == 0 or not np.all(np.diff(levels) > 0):
        raise InvalidInputError("scale must be a 1-d sequence of increasing ratings")
    y = columns.ratings
    assert y is not None
    off = np.flatnonzero(~np.isin(y, levels))
    if len(off):
        expected = ", ".join(f"{level:g}" for level in levels)
        raise InvalidInputError(
            f"{columns.where(int(off[0]))}: the rating {y[off[0]]:g} is not on the scale {expected}"
        )
    return levels
