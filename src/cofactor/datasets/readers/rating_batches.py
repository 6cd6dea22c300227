"""Ratings from files of any size: batch by batch, in bounded memory, with what `read_ratings` accepts and refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.columns import Column, why_interactions
from cofactor.datasets.formats import read_pieces
from cofactor.datasets.readers.pieces import Mark
from cofactor.datasets.readers.ratings import (
    Scale,
    check_on_scale,
    positions_of,
    rating_numbers,
    table_options,
    times_in,
)
from cofactor.datasets.table import Table
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike

__all__ = ["BatchOptions", "RatingBatch", "rating_batches"]

_RATING = Argument("rating")


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
    after : Mark
        Where reading goes on.
    """

    users: Any
    items: Any
    values: NDArray[np.float64]
    times: NDArray[np.int64] | None
    rows: NDArray[np.int64]
    table: Table
    positions: Mapping[str, int]
    after: Mark

    def place(self, row: int, role: str | None = None) -> Place:
        """Return where one of these ratings stands, or a cell of it."""
        return self.table.place(int(self.rows[row]), None if role is None else self.positions[role])


def rating_batches(
    path: PathLike, options: BatchOptions, after: Mark | None = None, *, timed: bool | None = None
) -> Iterator[RatingBatch]:
    """Read ratings from a text or Parquet file, some at a time.

    Parameters
    ----------
    path : path-like
        As for `read_ratings`, but not standard input.
    options : BatchOptions
        How to read it. Ratings which are words need a scale.
    after : Mark, optional
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

    for piece in read_pieces(path, as_table, choose, after):
        table, positions = piece.table, piece.positions
        values, coding = rating_numbers(table, positions["rating"], o.scale)
        if coding is not None and o.scale is None:
            words = ("give them in order from low to high, such as ", Argument("scale", list(coding.words)))
            place = table.column_place(positions["rating"])
            raise InvalidInputError("the ratings are words", advice=words, place=place)
        kept = np.arange(len(values))
        dropped = np.zeros(len(values), dtype=bool)
        if o.drop_rating is not None:
            dropped = np.isin(values, o.drop_rating)
            kept = np.flatnonzero(~dropped)
        if coding is None and o.scale is not None:
            check_on_scale(np.asarray(o.scale), values, dropped, table, positions["rating"])
        users, items = (table.id_cells(positions[role]) for role in ("user", "item"))
        times = None
        if timed is not False:
            times = times_in(table, positions, asked=timed or o.timestamp is not None)
        timed = times is not None
        if len(kept) < len(values):
            users, items = users.take(kept), items.take(kept)
            values, times = values[kept], None if times is None else times[kept]
        yield RatingBatch(users, items, values, times, kept, table, positions, piece.after)


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
