"""Interactions of users, from files of two columns, of counts, or of ratings whatever these say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.columns import ALIASES, Column, names_ratings, plain, why_interactions
from cofactor.datasets.cells import IdMode, numbers_of
from cofactor.datasets.readers.looks import looks_like_ratings
from cofactor.datasets.readers.ratings import opened, origin, pairs_in, positions_of, ratings_in, times_in
from cofactor.datasets.table import Table
from cofactor.datasets.types import InteractionDataset, RatingDataset
from cofactor.errors import Argument, InvalidInputError
from cofactor.files import PathLike, data_name
from cofactor.text import counted

__all__ = ["read_interactions", "read_ratings_or_interactions"]


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
    _, told = why_interactions(table.names, table.first_row)
    columns = {"user": user, "item": item, "count": count, "timestamp": timestamp, "kind": kind}
    return _interactions(table, columns, told, ids, name or data_name(path))


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
    why, told = ("", {}) if asked else why_interactions(table.names, table.first_row, timed=timestamp is not None)
    if why:
        columns = {"user": user, "item": item, "count": None, "timestamp": timestamp, "kind": None}
        return _interactions(table, columns, told, ids, called), why
    column = asked.pop("rating", None)
    positions = positions_of(table, {"user": user, "item": item, "rating": column}, timestamp)
    how: dict[str, Any] = {"timed": timestamp is not None, "guessed": column is None, "scale": scale}
    data = ratings_in(table, positions, ids, called, **how, **asked)
    if scale is None and not asked and data.n_ratings and (data.y == data.y[0]).all():
        shown = f"{data.y[0]:g}" if data.coding is None or not data.coding.words else data.coding.named(data.y[:1])[0]
        ones = np.ones(data.n_ratings)
        text = data.description.replace("rating", "interaction", 1)
        interactions = InteractionDataset(called, data.X, ones, None, timestamps=data.timestamps, description=text)
        return interactions, f"all ratings are {shown}"
    return data, ""


def _interactions(
    table: Table, columns: dict[str, Any], told: dict[str, Any], ids: IdMode, name: str
) -> InteractionDataset:
    """Return the interactions of a table; `columns` were asked for, and `told` are those that their names show."""
    asked_count, timestamp = columns["count"], columns["timestamp"]
    extra = {
        "count": told.get("count") if asked_count is None else asked_count,
        "kind": told.get("kind") if columns["kind"] is None else columns["kind"],
    }
    count = extra["count"]
    given = {role: column for role, column in extra.items() if column is not None}
    wanted = {"user": columns["user"], "item": columns["item"], **given}
    positions = positions_of(table, wanted, told.get("timestamp") if timestamp is None else timestamp)
    X = pairs_in(table, positions, ids)
    counts = np.ones(len(X))
    if count is not None:
        counts = numbers_of(table, positions["count"])
        _check_counts(counts, table, positions["count"])
    times = times_in(table, positions, asked=timestamp is not None)
    named = table.words(positions["kind"]) if "kind" in positions else None
    n_rows = len(X)
    if count is None and named is None and names_ratings(table.names, table.first_row):
        last = _last_of_each(X, times)
        X, counts, times = X[last], counts[last], None if times is None else times[last]
    kinds = None if named is None else np.array(named.values)[named.codes]
    text = f"{counted(len(X), 'interaction')} read from {table.file}, {origin(table.names, positions)}"
    more: dict[str, Any] = {"timestamps": times, "description": text, "n_dropped": n_rows - len(X), "kinds": kinds}
    return InteractionDataset(name, X, counts, None, **more)


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
    named = table.names is not None and plain(table.names[position]) not in ALIASES["rating"]
    if not named and looks_like_ratings(counts):
        found = ", ".join(f"{one:g}" for one in np.unique(counts))
        advice = ("leave ", Argument("count"), " out")
        raise InvalidInputError(
            f"these look like ratings, not counts: {found}", advice=advice, place=table.column_place(position)
        )
    if counts.size and not counts.any():
        raise InvalidInputError("all counts are 0: there are no interactions", place=table.column_place(position))
