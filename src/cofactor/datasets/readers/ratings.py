"""Ratings, pairs and interactions from files of the user's own: CSV, TSV, ``::``-separated text and Parquet.

Text may be gzip-compressed and may come from standard input (``-``). Everything that cannot be read raises an error
which names the file and the line, what was expected and what was found. Files of any size are read batch by batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.columns import (
    ALIASES,
    Column,
    ColumnsError,
    explicit_timestamp,
    find_count,
    find_timestamp,
    guess_header,
    has_index,
    has_role,
    is_time,
    names_ratings,
    normalize_header,
    refuse_other_tables,
    resolve_columns,
    why_interactions,
)
from cofactor.datasets.formats import open_data
from cofactor.datasets.levels import BinBy, Bins, looks_like_ratings, warn_of_counts, warn_of_zeros
from cofactor.datasets.table import (
    IdMode,
    Offset,
    Table,
    TableOptions,
    numbers_of,
    pairs_of,
    times_of,
)
from cofactor.datasets.types import InteractionDataset, RatingDataset
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.files import PathLike, data_name
from cofactor.limits import MAX_LEVELS
from cofactor.rating_scale import RatingScale
from cofactor.schema import Words, truth_of
from cofactor.text import is_number, plural, shorten

#: Levels: numbers, words, or what those of other ratings stand for.
Scale: TypeAlias = ArrayLike | Sequence[str] | RatingScale

_MOST_WORDS = 7  #: of a column of words which may be levels


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
    scale: Scale | None = None,
    bins: Bins | None = None,
    bin_by: BinBy = "auto",
    drop_rating: float | Sequence[float] | None = None,
    ids: IdMode = "auto",
    name: str | None = None,
) -> RatingDataset:
    r"""Read ratings from a text or Parquet file.

    Parameters
    ----------
    path : str or path-like
        Text (plain or gzip) or Parquet; the content decides which, not the suffix. ``"-"`` is standard input.
    user, item, rating : str or int, optional
        Name of a column, or its position counted from 0. By default the columns are found by their names, in
        any spelling of case, spaces and underscores (``user``, ``userId``, ``user_id``, ``movieId``,
        ``rating``, ``stars``, ...); where there is no header, or none of its names is known, they are the
        first three. If only some names are known, and these are at unusual places, an error asks for the
        other columns. A matrix with a column for each item is an error, too.
    timestamp : str or int, optional
        Column of times: seconds since 1970, or dates of ISO 8601 such as 2020-12-31 or 2020-12-31T23:59:59+01:00, of
        UTC where they name no zone. By default ``timestamp`` (or ``time``, ``date``, ...) if the header has it, or the
        fourth of four columns without header, provided that it holds such; otherwise the data have no times.
    sep : str, optional
        Separator; by default found from the first line: ``::``, tab, comma, semicolon, ``|`` or spaces.
        With a single character, cells may be quoted as in CSV.
    header : bool, optional
        Whether the first line names the columns; by default it does if it holds no number.
    encoding : str, default "utf-8"
        Encoding of a text file.
    scale : array-like of shape (R,), sequence of str, or RatingScale, optional
        The possible ratings in increasing order; a rating which is not on it is an error. Words, such as ``["down",
        "up"]``, become the levels 1..R. The ``rating_scale`` of other ratings, or of a model, makes the same levels of
        these. By default the distinct ratings of the file if there are at most 101, otherwise None (continuous); words
        for off and on (False/True, no/yes, ...) are 0 and 1.
    bins : int or array-like, optional
        Cut continuous ratings, or counts, into so many levels, or at these edges: see `RatingDataset.binned`.
    bin_by : {"auto", "width", "quantile", "log"}, default="auto"
        How to cut, see `bin_edges`.
    drop_rating : float or sequence of float, optional
        Ratings that mean that there is none, such as 0 in data whose scale begins with 1: they are left out, and
        counted in ``n_dropped``.
    ids : {"auto", "int", "str", "each"}, default "auto"
        ``"auto"``: a column of ids which all look like integers becomes int64, any other one stays text.
        ``"int"``: other ids are an error. ``"str"``: ids stay text. ``"each"``: the ids which look like
        integers become integers, the others of the same column stay text. "007", "+7" and "7.0" do not look
        like integers: they are different names from "7". Blanks around ids are left out.
    name : str, optional
        Name of the data set; by default the file name.

    Returns
    -------
    RatingDataset
        In the order of the file. Pairs which occur twice are kept; `fit` decides what to do with them.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is empty, truncated, wrongly encoded or malformed, or holds a rating which is not a finite
        number on the scale; the message names the line. If both `scale` and `bins` are given.

    Warns
    -----
    InputWarning
        If most ratings are 0, the next level is far away or rare, and neither `scale` nor `drop_rating` is given. If
        there are more than 20 distinct ratings, or more than 10 whole ones from 1 on, most of them near the lowest, as
        of counts, without `scale` or `bins`: `read_interactions` reads counts. If a number of `bins` leaves some of
        them empty. If ids differ in the blanks around them only. If the first column has no name and holds whole
        numbers, as pandas writes its index, and others are known by their places alone: they are counted after it. If
        the header calls the third column by a name that is not known, such as price, and `rating` is not given.

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
    table = opened(path, sep, header, encoding, ids, rated=True)
    positions = positions_of(table, {"user": user, "item": item, "rating": rating}, timestamp)
    how: dict[str, Any] = {"scale": scale, "bins": bins, "bin_by": bin_by, "drop_rating": drop_rating}
    how |= {"timed": timestamp is not None, "guessed": rating is None}
    return ratings_in(table, positions, ids, name or data_name(path), **how)


def ratings_in(
    table: Table,
    positions: Mapping[str, int],
    ids: IdMode,
    name: str,
    *,
    timed: bool,
    guessed: bool,
    scale: Scale | None = None,
    bins: Bins | None = None,
    bin_by: BinBy = "auto",
    drop_rating: float | Sequence[float] | None = None,
) -> RatingDataset:
    """Return the ratings of a table: see `read_ratings`; `timed` says whether times were asked for.

    Parameters
    ----------
    table : Table
        As `opened` returns it.
    positions : mapping of str to int
        As `positions_of` returns them.
    ids, scale, bins, bin_by, drop_rating
        As in `read_ratings`.
    name : str
        Of the data set.
    timed : bool
    guessed : bool
        Whether no column of ratings was asked for.
    """
    if scale is not None and bins is not None:
        raise InvalidInputError((Argument("scale"), " and ", Argument("bins"), " exclude each other: give one of them"))
    if bins is None and bin_by != "auto":
        number = ("say also how many levels, such as ", Argument("bins", 5))
        raise InvalidInputError(
            "says how to cut, but not into how many levels", argument="bin_by", found=bin_by, advice=number
        )
    y, rating_scale, _ = rating_numbers(table, positions["rating"], scale, drop_rating)
    table.forget(positions["rating"])
    X, times = pairs_of(table, positions, ids), times_in(table, positions, asked=timed)
    if rating_scale is not None and drop_rating is not None:
        words = ", ".join(rating_scale.words)
        raise InvalidInputError((Argument("drop_rating"), f" is for numbers; these are {words}"))
    levels = scale if rating_scale is None else rating_scale.scale
    data = RatingDataset(
        name=name,
        X=X,
        y=y,
        scale=None if levels is None or isinstance(levels, RatingScale) else np.array(levels, dtype=np.float64),
        timestamps=times,
        description=f"{plural(len(y), 'rating')} read from {table.file}, {origin(table.names, positions)}",
        rating_scale=rating_scale,
    )
    if drop_rating is not None:
        data = data.without(drop_rating)
    if bins is not None:
        try:
            return data.binned(bins, bin_by)
        except InvalidInputError as error:
            raise error.at(Place(table.file)) from None
    if isinstance(scale, RatingScale) and scale.edges:
        return replace(data, y=scale.levels_of(data.y), scale=np.array(scale.scale, float), rating_scale=scale)
    if scale is None and drop_rating is None:
        warn_of_zeros(y)
        if guessed:
            _warn_of_guess(table, positions["rating"])
    if data.scale is not None:
        return data
    found = np.unique(data.y)
    if len(found) > MAX_LEVELS:
        return data
    position = positions["rating"]
    warn_of_counts(data.y, found, position if table.names is None else table.names[position])
    return replace(data, scale=found)


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
    r"""Read pairs of user and item whose ratings are to be predicted.

    Other columns (a rating, a time) are ignored.

    Parameters
    ----------
    path, user, item, sep, header, encoding, ids
        As in `read_ratings`. Give ``ids="each"`` where one odd id must not turn all others into text, and
        ``ids="str"`` for a model which was trained on text ids. By default the first line names the columns if
        it holds no number, and either it holds a known name or the second line holds a number.

    Returns
    -------
    ndarray of shape (n, 2)
        User id and item id; int64 where all ids are integers, otherwise object.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, ValueError
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
    table = opened(path, sep, header, encoding, ids)
    return pairs_of(table, positions_of(table, {"user": user, "item": item}, timed=False), ids)


def read_timed_pairs(
    path: PathLike,
    user: Column | None = None,
    item: Column | None = None,
    timestamp: Column | None = None,
    *,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    ids: IdMode = "auto",
) -> tuple[NDArray, NDArray[np.int64] | None]:
    r"""Read pairs of user and item as `read_pairs` does, and the times for which they are to be predicted.

    Parameters
    ----------
    path, user, item, timestamp, sep, header, encoding, ids
        As in `read_ratings` and `read_pairs`.

    Returns
    -------
    X : ndarray of shape (n, 2)
        User id and item id.
    times : ndarray of shape (n,), int64, or None
        Seconds since 1970; None where the file has no times.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, ValueError
        As in `read_ratings`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "wanted.csv")
    >>> _ = path.write_text("user,item,date\n1,10,1970-01-02\n")
    >>> read_timed_pairs(path)
    (array([[ 1, 10]]), array([86400]))
    >>> folder.cleanup()
    """
    table = opened(path, sep, header, encoding, ids)
    positions = positions_of(table, {"user": user, "item": item}, timestamp)
    return pairs_of(table, positions, ids), times_in(table, positions, asked=timestamp is not None)


def opened(
    path: PathLike,
    sep: str | None,
    header: bool | None,
    encoding: str,
    ids: IdMode,
    *,
    rated: bool | None = False,
) -> Table:
    """Return the table of a file, of which no column is read yet.

    Parameters
    ----------
    path, sep, header, encoding, ids
        As in `read_ratings`; `ids` is checked here.
    rated : bool or None, default=False
        As in `table_options`.
    """
    if ids not in ("auto", "int", "str", "each"):
        raise InvalidInputError(
            "not known", argument="ids", found=ids, advice="expected 'auto', 'int', 'str' or 'each'"
        )
    return open_data(path).table(table_options(sep, header, encoding, rated=rated))


def table_options(sep: str | None, header: bool | None, encoding: str, *, rated: bool | None) -> TableOptions:
    """Return how to read a table of ratings, or of pairs.

    Parameters
    ----------
    sep, header, encoding
        As in `read_ratings`.
    rated : bool or None
        Whether rows hold ratings, so that some cell of a row is a number. None if that is to be found out: rows of more
        than two cells may.
    """

    def is_header(first: Sequence[str], second: Sequence[str]) -> bool:
        numbers = rated if rated is not None else len(first) > 2 and not any(map(is_time, first))
        return guess_header(first, second, numbers) if header is None else header

    content = "a user, an item and a rating" if rated else "a user and an item"
    return TableOptions(is_header, content, sep, encoding)


def positions_of(
    table: Table, wanted: Mapping[str, Column | None], timestamp: Column | None = None, *, timed: bool = True
) -> dict[str, int]:
    """Return the positions of columns for each role, of times if they are wanted and there, and read these columns.

    Parameters
    ----------
    table : Table
        As `opened` returns it.
    wanted : mapping of str to column or None
        Roles, and the columns asked for; None for those that are found by their names.
    timestamp : str or int, optional
        Column of times.
    timed : bool, default=True
        Whether times are looked for where no column of them is given.
    """
    refuse_other_tables(table.names, table.first_row, wanted, table.file)
    positions = resolve_columns(table.names, table.n_columns, wanted, table.file, table.first_row)
    by_place = [role for role in wanted if wanted[role] is None and not has_role(table.names, positions[role], role)]
    if by_place and has_index(table.names, table.first_row):
        text = "the first column has no name and holds whole numbers, as pandas writes its index: it is passed over"
        warnings.warn(InputWarning(f"{table.file}: {text}"), stacklevel=3)
    if timestamp is not None:
        positions["timestamp"] = explicit_timestamp(table.names, table.n_columns, timestamp, table.file)
    elif timed:
        position = find_timestamp(table.names, table.n_columns, positions.values())
        if position is not None:
            positions["timestamp"] = position
    table.load(list(positions.values()))
    return positions


def times_in(table: Table, positions: Mapping[str, int], *, asked: bool) -> NDArray[np.int64] | None:
    """Return the times of the rows, None if there are none; what is no time is an error where they were asked for."""
    return times_of(table, positions["timestamp"], asked) if "timestamp" in positions else None


def origin(header: Sequence[str] | None, positions: Mapping[str, int]) -> str:
    """Say which column was taken for each role: by its name, or by its position counted from 0."""
    return ", ".join(f"{role} from column {repr(header[k]) if header else k}" for role, k in positions.items())


def rating_numbers(
    table: Table, position: int, scale: Scale | None, drop_rating: float | Sequence[float] | None
) -> tuple[NDArray[np.float64], RatingScale | None, NDArray[np.bool_]]:
    """Return ratings as finite numbers, on the scale if it has numbers; what words stand for; and which are dropped."""
    rating_scale: RatingScale | None = None
    if isinstance(scale, RatingScale):
        rating_scale = scale if scale.words else None
    else:
        words = () if scale is None else np.asarray(scale, dtype=object).ravel().tolist()
        if words and all(isinstance(word, str) for word in words):
            rating_scale = RatingScale(tuple(range(1, len(words) + 1)), words=tuple(words))
    found = table.cells(position)
    if isinstance(found, Words) and rating_scale is None and not any(map(is_number, found.values)):
        rating_scale = _words_known(found, table, position, scale)
    if rating_scale is not None:
        y = _by_words(found if isinstance(found, Words) else table.words(position), rating_scale, table, position)
        return y, rating_scale, np.zeros(len(y), dtype=bool)
    y = numbers_of(table, position) if isinstance(found, Words) else found
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        row = int(bad[0])
        raise InvalidInputError(f"the rating is {y[row]}, expected a finite number", place=table.place(row, position))
    dropped = np.isin(y, () if drop_rating is None else drop_rating)
    if scale is not None and not isinstance(scale, RatingScale):
        _check_on_scale(scale, y, dropped, table, position)
    return y, None, dropped


def _words_known(found: Words, table: Table, position: int, scale: Scale | None) -> RatingScale | None:
    """Return what words for off and on stand for; None for cells that are no words for ratings."""
    truth = truth_of(tuple(found.values))
    if truth is not None and scale is None and set(truth) == {0, 1}:
        shown = {value: word for word, value in zip(found.values, truth, strict=True)}
        return RatingScale((0.0, 1.0), words=(shown[0], shown[1]))
    if 2 <= len(found.values) <= _MOST_WORDS and all(found.values):
        words = sorted(found.values)
        raise InvalidInputError(
            f"the ratings are words, {' and '.join(map(repr, words))}",
            argument="rating",
            advice=("give them in order from low to high, such as ", Argument("scale", words)),
            place=table.column_place(position),
        )
    return None


def _by_words(found: Words, rating_scale: RatingScale, table: Table, position: int) -> NDArray[np.float64]:
    known = {word.casefold() for word in rating_scale.words}
    row = found.first_row(lambda cell: cell.casefold() not in known)
    if row is not None:
        raise InvalidInputError(
            f"the rating is {found.at(row)!r}, expected one of {', '.join(rating_scale.words)}",
            place=table.place(row, position),
        )
    return rating_scale.levels_of(found.values)[found.codes]


def _warn_of_guess(table: Table, position: int) -> None:
    """Warn of ratings that are known by their place alone, in a file that calls them by another name."""
    name = "" if table.names is None else table.names[position]
    if name and not has_role(table.names, position, "rating") and not is_number(name):
        guess = f"{table.file}: column {name!r} is read as ratings, by its place; "
        how = " says that it holds such; if it does not, the file says only what users interacted with"
        warnings.warn(InputWarning((guess, Argument("rating", name), how)), stacklevel=4)


def _check_on_scale(
    scale: ArrayLike, y: NDArray[np.float64], dropped: NDArray[np.bool_], table: Table, position: int
) -> None:
    levels = np.array(scale, dtype=np.float64)
    if levels.ndim != 1 or len(levels) == 0 or not np.all(np.diff(levels) > 0):
        raise InvalidInputError("expected a sequence of increasing ratings", argument="scale", found=scale)
    off = ~np.isin(y, levels) & ~dropped
    if off.any():
        row, expected = int(np.argmax(off)), ", ".join(f"{level:g}" for level in levels)
        raise InvalidInputError(
            f"the rating {y[row]:g} is not on the scale {expected}", place=table.place(row, position)
        )


def read_interactions(
    path: PathLike,
    user: Column | None = None,
    item: Column | None = None,
    count: Column | None = None,
    timestamp: Column | None = None,
    *,
    kind: Column | None = None,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    ids: IdMode = "auto",
    name: str | None = None,
) -> InteractionDataset:
    r"""Read who interacted with what from a text or Parquet file: clicks, plays, purchases, or what was rated at all.

    Parameters
    ----------
    path, user, item, timestamp, sep, header, encoding, ids, name
        As in `read_ratings`. Other columns, also ratings, say nothing here. Without header, the third of three columns
        holds times if its first cell is one.
    count : str or int, optional
        Column that says how often each pair occurred: numbers, at least 0. By default one that is called count, plays,
        clicks, views, purchases or the like, and otherwise each row is one interaction.
    kind : str or int, optional
        Column of the kind of each event: view, cart, purchase. By default one that is called event, event_type, action,
        behavior, kind or the like, where there are no ratings.

    Returns
    -------
    InteractionDataset
        In the order of the file. Models add up the counts of pairs that occur twice; where there is no count, but a
        column of ratings, an item that was rated again counts once, when it was rated last (``n_dropped`` says how
        many ratings are left out so).

    Raises
    ------
    FileNotFoundError, IsADirectoryError, InvalidInputError
        As in `read_ratings`; also if a count is negative or not finite, or `count` names a column of ratings.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "plays.csv")
    >>> _ = path.write_text("who,song,plays\nann,Help,4\nbob,Help,1\n")
    >>> data = read_interactions(path)
    >>> data.X.tolist(), data.y.tolist()
    ([['ann', 'Help'], ['bob', 'Help']], [4.0, 1.0])
    >>> folder.cleanup()
    """
    table = opened(path, sep, header, encoding, ids, rated=None)
    _, by_name = why_interactions(table.names, table.first_row)
    columns = {"user": user, "item": item, "count": count, "timestamp": timestamp, "kind": kind}
    return _interactions(table, columns, by_name, ids, name or data_name(path))


def read_ratings_or_interactions(
    path: PathLike,
    user: Column | None = None,
    item: Column | None = None,
    timestamp: Column | None = None,
    *,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    ids: IdMode = "auto",
    name: str | None = None,
    **rating: Any,
) -> tuple[RatingDataset, str]:
    r"""Read what a file holds: ratings, or interactions where its columns show that there are no ratings.

    Parameters
    ----------
    path, user, item, timestamp, sep, header, encoding, ids, name
        As in `read_ratings`.
    **rating
        rating, scale, bins, bin_by and drop_rating as in `read_ratings`: any of them but `scale` says that there are
        ratings.

    Returns
    -------
    data : RatingDataset or InteractionDataset
    why : str
        Why these are interactions; empty for ratings.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "clicks.csv")
    >>> _ = path.write_text("user,item\nann,Up\nbob,Up\n")
    >>> read_ratings_or_interactions(path)
    (InteractionDataset('clicks.csv': 2 interactions, 2 users, 1 item), 'there is no column beside users and items')
    >>> folder.cleanup()
    """
    scale = rating.pop("scale", None)
    asked = {key: value for key, value in rating.items() if value is not None and (key, value) != ("bin_by", "auto")}
    table = opened(path, sep, header, encoding, ids, rated=True if asked else None)
    called = name or data_name(path)
    why, by_name = ("", {}) if asked else why_interactions(table.names, table.first_row, timed=timestamp is not None)
    if why:
        columns = {"user": user, "item": item, "count": None, "timestamp": timestamp, "kind": None}
        return _interactions(table, columns, by_name, ids, called), why
    column = asked.pop("rating", None)
    positions = positions_of(table, {"user": user, "item": item, "rating": column}, timestamp)
    how: dict[str, Any] = {"timed": timestamp is not None, "guessed": column is None, "scale": scale}
    data = ratings_in(table, positions, ids, called, **how, **asked)
    _refuse_rows_alone(table, {"user": user, "item": item}, positions, data.X)
    if scale is None and not asked and data.n_ratings and (data.y == data.y[0]).all():
        known = data.rating_scale
        shown = f"{data.y[0]:g}" if known is None or not known.words else known.named(data.y[:1])[0]
        ones = np.ones(data.n_ratings)
        text = data.description.replace("rating", "interaction", 1)
        interactions = InteractionDataset(called, data.X, ones, None, timestamps=data.timestamps, description=text)
        return interactions, f"all ratings are {shown}"
    return data, ""


def _interactions(
    table: Table, columns: dict[str, Any], by_name: dict[str, Any], ids: IdMode, name: str
) -> InteractionDataset:
    """Return the interactions of a table; `columns` were asked for, and `by_name` are those that their names show."""
    known = {role: by_name.get(role) if asked is None else asked for role, asked in columns.items()}
    timestamp = known.pop("timestamp")
    wanted = {role: column for role, column in known.items() if role in ("user", "item") or column is not None}
    positions = positions_of(table, wanted, timestamp)
    X = pairs_of(table, positions, ids)
    _refuse_rows_alone(table, columns, positions, X)  # before gaps among what may be no counts
    counts = np.ones(len(X))
    if "count" in positions:
        counts = numbers_of(table, positions["count"])
        _check_counts(counts, table, positions["count"])
    times = times_in(table, positions, asked=columns["timestamp"] is not None)
    named = table.words(positions["kind"]) if "kind" in positions else None
    n_rows = len(X)
    if "count" not in positions and named is None and names_ratings(table.names, table.first_row):
        last = _last_of_each(X, times)
        X, counts, times = X[last], counts[last], None if times is None else times[last]
    kinds = None if named is None else np.array(named.values)[named.codes]
    text = f"{plural(len(X), 'interaction')} read from {table.file}, {origin(table.names, positions)}"
    left = find_count(table.names or (), positions.values()) if "count" not in positions else None
    if left is not None and table.names is not None:
        text += f"; column {table.names[left]!r} is not read, and each row counts once, unless you name it as the count"
    more: dict[str, Any] = {"timestamps": times, "description": text, "n_dropped": n_rows - len(X), "kinds": kinds}
    return InteractionDataset(name, X, counts, None, **more)


def _refuse_rows_alone(
    table: Table, asked: Mapping[str, Column | None], positions: Mapping[str, int], X: NDArray[Any]
) -> None:
    """Refuse users and items which their places alone made such, if each occurs once: nothing can be learned of them.

    The first columns of a table of features may be a number and a title. Tables of few columns may hold no more.
    """
    places = [positions[role] for role in ("user", "item")]
    named = any(has_role(table.names, positions[role], role) or asked[role] is not None for role in ("user", "item"))
    if named or table.names is None or table.n_columns < _FEWEST_OF_FEATURES or len(X) < 2:
        return
    if all(int(_numbered(ids).max()) == len(X) - 1 for ids in X.T):
        user, item = (table.names[place] for place in places)
        raise ColumnsError(
            f"looks like a table of features: each value of its columns {user!r} and {item!r} occurs once, and none is "
            f"called user, item or the like ({shorten(table.names)})",
            advice=("if it is a long table, say which columns to take with ", Argument("user"), ", ", Argument("item")),
            place=Place(table.file),
        )


def _last_of_each(X: NDArray[Any], times: NDArray[np.int64] | None) -> NDArray[np.intp]:
    """Return the rows of pairs when they came last, by time or else by their order, in the order of the file.

    Examples
    --------
    >>> X = np.array([[1, 7], [2, 7], [1, 7]])
    >>> _last_of_each(X, None).tolist(), _last_of_each(X, np.array([9, 5, 8])).tolist()
    ([1, 2], [0, 1])
    """
    users, items = (_numbered(column) for column in X.T)
    pairs = users * (int(items.max(initial=0)) + 1) + items
    order = np.arange(len(X)) if times is None else np.argsort(times, kind="stable")
    _, first_from_end = np.unique(pairs[order][::-1], return_index=True)
    return np.sort(order[::-1][first_from_end])


def _numbered(ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return a number for each id, the same for the same id; ids may be of several types."""
    if ids.dtype != object:
        return np.unique(ids, return_inverse=True)[1].astype(np.int64)
    number = {one: k for k, one in enumerate(dict.fromkeys(ids.tolist()))}
    return np.fromiter(map(number.__getitem__, ids.tolist()), np.int64, len(ids))


def _check_counts(counts: Any, table: Table, position: int) -> None:
    """Refuse what is no count, and ratings given as counts."""
    bad = np.flatnonzero(~(np.isfinite(counts) & (counts >= 0)))
    if bad.size:
        k = int(bad[0])
        negative = "leave out pairs without an interaction; of likes and dislikes a model of ratings learns"
        advice: Any = (negative, ": ", Argument("rating"), " names their column") if counts[k] < 0 else ""
        raise InvalidInputError(
            f"the count is {counts[k]:g}, expected a number of at least 0",
            advice=advice,
            place=table.place(k, position),
        )
    named = table.names is not None and normalize_header(table.names[position]) not in ALIASES["rating"]
    if not named and looks_like_ratings(counts):
        found = ", ".join(f"{one:g}" for one in np.unique(counts))
        advice = ("leave ", Argument("count"), " out")
        raise InvalidInputError(
            f"these look like ratings, not counts: {found}", advice=advice, place=table.column_place(position)
        )
    if counts.size and not counts.any():
        raise InvalidInputError("all counts are 0: there are no interactions", place=table.column_place(position))


_RATING = Argument("rating")
_FEWEST_OF_FEATURES = 4  #: columns of a table that may be one of features


@dataclass(frozen=True)
class BatchOptions:
    """How to read files of ratings; the parameters are those of `read_ratings`."""

    user: Column | None = None
    item: Column | None = None
    rating: Column | None = None
    timestamp: Column | None = None
    sep: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    scale: Scale | None = None
    drop_rating: float | Sequence[float] | None = None


@dataclass(frozen=True)
class RatingBatch:
    """Some ratings of a file.

    Attributes
    ----------
    users, items : pyarrow.Array
        Integers or text, as `Table.id_cells` returns them.
    values : ndarray of shape (n,), float64
        Finite.
    times : ndarray of shape (n,), int64, or None
        Seconds since 1970.
    rows : ndarray of shape (n,)
        Which row of the table each is.
    table : Table
        What was read.
    positions : mapping of str to int
        Columns of the table by role.
    after : Offset
        Where reading goes on.
    """

    users: Any
    items: Any
    values: NDArray[np.float64]
    times: NDArray[np.int64] | None
    rows: NDArray[np.int64]
    table: Table
    positions: Mapping[str, int]
    after: Offset

    def place(self, row: int, role: str | None = None) -> Place:
        """Return where one of these ratings stands, or a cell of it."""
        return self.table.place(int(self.rows[row]), None if role is None else self.positions[role])


def rating_batches(
    path: PathLike, options: BatchOptions, after: Offset | None = None, *, timed: bool | None = None
) -> Iterator[RatingBatch]:
    """Read ratings from a text or Parquet file, some at a time.

    Parameters
    ----------
    path : path-like
        As for `read_ratings`, but not standard input.
    options : BatchOptions
        How to read it. Ratings which are words need a scale.
    after : Offset, optional
        Where to go on; by default from the beginning.
    timed : bool, optional
        Whether earlier batches of this file had times. If not, none are looked for; if so, what is no time is an error.

    Yields
    ------
    RatingBatch
        In the order of the file; of no more than 16 MB of text, or about a million rows of Parquet.

    Raises
    ------
    InvalidInputError
        If the file is malformed, or a rating is no finite number, or not on the scale; the message names the place. If
        its columns show that it holds interactions, and nobody said which one has ratings.
    """
    o = options
    wanted = {"user": o.user, "item": o.item, "rating": o.rating}
    as_table = table_options(o.sep, o.header, o.encoding, rated=True)

    def choose(table: Table) -> Mapping[str, int]:
        if o.rating is None and o.drop_rating is None:
            _refuse_interactions(table)
        return positions_of(table, wanted, o.timestamp)

    for chunk in open_data(path).table_chunks(as_table, choose, after):
        table, positions = chunk.table, chunk.positions
        values, rating_scale, dropped = rating_numbers(table, positions["rating"], o.scale, o.drop_rating)
        if rating_scale is not None and o.scale is None:
            words = ("give them in order from low to high, such as ", Argument("scale", list(rating_scale.words)))
            place = table.column_place(positions["rating"])
            raise InvalidInputError("the ratings are words", advice=words, place=place)
        kept = np.flatnonzero(~dropped)
        users, items = (table.id_cells(positions[role]) for role in ("user", "item"))
        times = None
        if timed is not False:
            times = times_in(table, positions, asked=timed or o.timestamp is not None)
        timed = times is not None
        if len(kept) < len(values):
            users, items = users.take(kept), items.take(kept)
            values, times = values[kept], None if times is None else times[kept]
        yield RatingBatch(users, items, values, times, kept, table, positions, chunk.after)


def _refuse_interactions(table: Table) -> None:
    """Refuse a table whose columns show what users interacted with, and not how they liked it."""
    why, _ = why_interactions(table.names, table.first_row)
    if why:
        elsewhere = "interactions are learned from in memory: give the file itself to cofactor fit, or in Python"
        named = "or, if one of the columns says how much users liked items, name it with "
        raise InvalidInputError(
            f"holds interactions and no ratings, since {why}",
            advice=(
                f"shards are of ratings, and {elsewhere} read_interactions(file) to a Recommender; {named}",
                _RATING,
            ),
            place=Place(table.file),
        )
