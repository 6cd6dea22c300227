"""Jester, a set of continuous ratings."""

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets import registry
from cofactor.datasets.binning import BinBy, Bins
from cofactor.datasets.cells import numbers_of
from cofactor.datasets.readers.text import read_text
from cofactor.datasets.table import Table, TableOptions
from cofactor.datasets.types import RatingDataset
from cofactor.errors import InvalidInputError, Place
from cofactor.files import read_bytes

__all__ = ["load_jester"]

_NOT_RATED = 99.0
_LIMITS = (-10.0, 10.0)
_N_JOKES = 100


def load_jester(
    data_home: str | os.PathLike[str] | None = None,
    bins: Bins | None = None,
    bin_by: BinBy = "auto",
) -> RatingDataset:
    """Load part 1 of Jester: 24,983 users, 100 jokes, 1,810,455 continuous ratings from -10 to 10.

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder to look in, see `cofactor.datasets.locate`; by default the usual places.
    bins : int or array-like, optional
        Number of bins, or their edges; the ratings then become the levels 1..R as in `bin_ratings`. By default they
        stay continuous and ``scale`` is None, which methods for levels refuse.
    bin_by : {"auto", "width", "quantile"}, default="auto"
        How to cut, as in `bin_edges`; bins of equal width, the default, go from -10 to 10.

    Returns
    -------
    RatingDataset
        Users 1..24983 (row of the file) and items 1..100 (number of the joke), user by user.

    Raises
    ------
    DatasetNotFoundError
        If the file is in none of the places; the message names them.
    ValueError
        If the file is malformed; the message names the line. If `bins` is invalid.

    Notes
    -----
    K. Goldberg, T. Roeder, D. Gupta, C. Perkins: Eigentaste: a constant time collaborative
    filtering algorithm. Information Retrieval 4(2), 2001. The file has one line per user: the number of
    ratings, then one cell per joke in which 99 stands for "not rated".

    Examples
    --------
    >>> from cofactor.datasets import load_jester
    >>> load_jester(bins=5)
    RatingDataset('jester-1': 1810455 ratings, 24983 users, 100 items, scale 1 to 5 in 5 levels)
    """
    folder = registry.locate("jester-1", data_home)
    table = _table(registry.find_file("jester-1", "ratings", folder))
    counts, *columns = (numbers_of(table, k) for k in range(table.n_columns))
    ratings = np.column_stack(columns)
    rated = ratings != _NOT_RATED
    _check(table, counts, ratings, rated)
    users, items = np.nonzero(rated)
    y = ratings[rated]
    data = RatingDataset(
        name="jester-1",
        X=np.column_stack((users, items)).astype(np.int64) + 1,
        y=y,
        scale=None,
        description=registry.KNOWN["jester-1"].description,
    )
    if bins is None:
        return data
    by_width = isinstance(bins, int | np.integer) and bin_by in ("auto", "width")
    return data.binned(bins, bin_by, limits=_LIMITS if by_width else None)


def _table(path: Path) -> Table:
    """Read the file: a column with the numbers of ratings, and a column for each joke."""
    options = TableOptions(lambda first, second: False, "the ratings of a user", ",")
    table = read_text(read_bytes(path), str(path), options)
    if table.n_columns != _N_JOKES + 1:
        raise InvalidInputError(
            f"expected {_N_JOKES + 1} columns separated by commas, found {table.n_columns}", place=Place(str(path), 1)
        )
    table.load(range(table.n_columns))
    return table


def _check(table: Table, counts: NDArray[np.float64], ratings: NDArray[np.float64], rated: NDArray[np.bool_]) -> None:
    low, high = _LIMITS
    bad = np.argwhere(rated & ~((ratings >= low) & (ratings <= high)))
    if len(bad):
        row, joke = bad[0].tolist()
        raise InvalidInputError(
            f"the rating of joke {joke + 1} is {ratings[row, joke]:g}, "
            f"expected {low:g} to {high:g}, or {_NOT_RATED:g} for not rated",
            place=table.place(row),
        )
    wrong = np.flatnonzero(counts != rated.sum(axis=1))
    if len(wrong):
        row = int(wrong[0])
        raise InvalidInputError(
            f"column 1 counts {counts[row]:g} ratings, but {rated[row].sum()} are there", place=table.place(row)
        )
