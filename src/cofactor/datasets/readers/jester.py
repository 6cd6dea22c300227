"""Jester, a set of continuous ratings, and the binning which makes levels of such ratings."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.datasets import registry
from cofactor.datasets.cells import numbers_of
from cofactor.datasets.readers.text import read_text
from cofactor.datasets.table import Table, TableOptions
from cofactor.datasets.types import RatingDataset
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import read_bytes

__all__ = ["bin_ratings", "load_jester"]

_NOT_RATED = 99.0
_LIMITS = (-10.0, 10.0)
_N_JOKES = 100


def bin_ratings(
    y: ArrayLike,
    bins: int | Sequence[float] | NDArray,
    scale: ArrayLike | None = None,
    *,
    limits: tuple[float, float] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Turn continuous ratings into R levels.

    With edges :math:`e_0 < e_1 < ... < e_R`, a rating y has level r, the r with :math:`e_{r-1} <= y < e_r`;
    the last bin includes its upper edge, y = e_R (the convention of `numpy.histogram`).

    Parameters
    ----------
    y : array-like of shape (n,)
        Finite ratings.
    bins : int or array-like of shape (R + 1,)
        Number R >= 2 of bins of equal width, or their increasing edges.
    scale : array-like of shape (R,), optional
        Increasing values of the levels; by default 1..R.
    limits : (float, float), optional
        First and last edge of bins of equal width; by default the smallest and largest rating. Give them
        if the scale is known, so that the bins do not depend on the sample.

    Returns
    -------
    y : ndarray of shape (n,), float64
        ``scale[level - 1]`` for each rating.
    scale : ndarray of shape (R,), float64

    Raises
    ------
    ValueError
        If a rating is not finite or outside the edges, or `bins`, `scale` or `limits` do not fit together.

    Examples
    --------
    >>> from cofactor.datasets import bin_ratings
    >>> levels, scale = bin_ratings([-10, -2.1, -2, 1.9, 10], bins=5, limits=(-10, 10))
    >>> levels.tolist()
    [1.0, 2.0, 3.0, 3.0, 5.0]
    """
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 1:
        raise InvalidInputError((Argument("y"), f" must have one dimension, found shape {values.shape}"), argument="y")
    if not np.isfinite(values).all():
        raise InvalidInputError(
            (Argument("y"), f" must be finite, found {values[~np.isfinite(values)][0]}"), argument="y"
        )
    edges = _edges(values, bins, limits)
    n_levels = len(edges) - 1
    levels = np.arange(1.0, n_levels + 1) if scale is None else np.array(scale, dtype=np.float64)
    if levels.shape != (n_levels,) or not np.all(np.diff(levels) > 0):
        raise InvalidInputError(
            f"must hold {n_levels} increasing values, one for each bin", argument="scale", found=levels.tolist()
        )
    outside = (values < edges[0]) | (values > edges[-1])
    if outside.any():
        raise InvalidInputError(
            f"the rating {values[outside][0]:g} is outside the edges {edges[0]:g} to {edges[-1]:g}", argument="bins"
        )
    index = np.minimum(np.searchsorted(edges, values, side="right") - 1, n_levels - 1)
    return levels[index], levels


def _edges(
    values: NDArray[np.float64], bins: int | Sequence[float] | NDArray, limits: tuple[float, float] | None
) -> NDArray[np.float64]:
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if bins < 2:
            raise InvalidInputError("must be at least 2", argument="bins", found=bins)
        if limits is None and len(values) == 0:
            raise InvalidInputError(
                (Argument("y"), " is empty"),
                argument="y",
                advice=("give ", Argument("limits"), ", or ", Argument("bins"), " as edges"),
            )
        low, high = limits if limits is not None else (values.min(), values.max())
        if not low < high:
            raise InvalidInputError(
                f"bins of equal width need limits low < high, found {low:g} and {high:g}", argument="limits"
            )
        return np.linspace(low, high, int(bins) + 1)
    if limits is not None:
        raise InvalidInputError(
            (Argument("limits"), " goes with a number of bins; edges already say where the bins end"),
            argument="limits",
        )
    edges = np.array(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 3 or not np.all(np.diff(edges) > 0):
        raise InvalidInputError(
            (Argument("bins"), " must be a number of bins, or at least three increasing edges"), argument="bins"
        )
    return edges


def load_jester(
    data_home: str | os.PathLike[str] | None = None,
    bins: int | Sequence[float] | NDArray | None = None,
) -> RatingDataset:
    """Load part 1 of Jester: 24,983 users, 100 jokes, 1,810,455 continuous ratings from -10 to 10.

    Parameters
    ----------
    data_home : str or path-like, optional
        Folder to look in, see `cofactor.datasets.locate`; by default the usual places.
    bins : int or array-like, optional
        Number of bins of equal width between -10 and 10, or the edges of the bins; the ratings then become
        the levels 1..R as in `bin_ratings`. By default they stay continuous and ``scale`` is None, which
        methods for levels refuse.

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
    scale = None
    if bins is not None:
        is_count = isinstance(bins, int | np.integer)
        y, scale = bin_ratings(y, bins, limits=_LIMITS if is_count else None)
    return RatingDataset(
        name="jester-1",
        X=np.column_stack((users, items)).astype(np.int64) + 1,
        y=y,
        scale=scale,
        description=registry.KNOWN["jester-1"].description,
    )


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
