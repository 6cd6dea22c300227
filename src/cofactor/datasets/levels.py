"""Levels of ratings: what numbers look like (stars, counts, no rating), and bins, by which they become levels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.columns import Column
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.limits import MAX_LEVELS
from cofactor.rating_scale import RatingScale
from cofactor.text import plural

Bins: TypeAlias = int | Sequence[float] | NDArray
BinBy: TypeAlias = Literal["auto", "width", "quantile", "log"]

#: Zeros may mean "no rating" where they are most of the ratings, and the next one is much rarer, or far away.
_MOST, _RARER = 0.5, 0.1
#: Distinct ratings, which may be counts: of any numbers, and of whole ones from 1 on.
_MANY, _MANY_WHOLE = 20, 10
_ENOUGH = 20  # values, so that their frequencies say something
_MOST_STARS = 10.0  # the highest rating of usual scales
_FEW = 0.2  # share of ones below which small whole numbers are no counts
#: Bins of equal width are not taken by themselves where one of them holds a larger part of the ratings.
_SKEWED = 0.75


def bin_edges(
    y: ArrayLike, bins: Bins, bin_by: BinBy = "auto", *, limits: tuple[float, float] | None = None
) -> NDArray[np.float64]:
    """Return the edges of bins, which `bin_ratings` takes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Finite ratings.
    bins : int or array-like of shape (R + 1,)
        Number R of bins, 2 to 101, or their increasing edges.
    bin_by : {"auto", "width", "quantile", "log"}, default="auto"
        How to cut, if `bins` is a number.

        * ``"width"``: bins of equal width.
        * ``"quantile"``: as many ratings in each bin as possible. Equal ratings are never parted: where one of them is
          very frequent it has a bin of its own, and the others share the rest.
        * ``"log"``: equal ratios of ratings; where there are zeros, of ratings plus one. Not for negative ratings.
        * ``"auto"``: equal width, unless one bin would hold more than three quarters of the ratings, as with counts of
          plays; then quantiles.
    limits : (float, float), optional
        First and last edge of bins of equal width; by default the smallest and largest rating. Give them if the scale
        is known, so that the bins do not depend on the sample.

    Returns
    -------
    ndarray of shape (R + 1,), float64
        Increasing.

    Raises
    ------
    InvalidInputError
        If a rating is not finite, there are fewer distinct ratings than bins (unless `limits` are given), or `bins`,
        `bin_by` or `limits` do not fit together.

    Examples
    --------
    >>> plays = [1, 1, 1, 2, 2, 3, 5, 9, 40, 1000]
    >>> bin_edges(plays, 3).tolist()  # equal width would put nine of ten into one bin
    [1.0, 2.0, 9.0, 1000.0]
    >>> bin_edges(plays, 3, "log").round(3).tolist()
    [1.0, 10.0, 100.0, 1000.0]
    >>> bin_edges(plays, 3, "width").tolist()
    [1.0, 334.0, 667.0, 1000.0]
    """
    values = _finite(y)
    if bin_by not in get_args(BinBy):
        raise InvalidInputError(
            f"expected one of {', '.join(map(repr, get_args(BinBy)))}", argument="bin_by", found=bin_by
        )
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool):
        return _given(bins, bin_by, limits)
    n = int(bins)
    if n < 2 or n > MAX_LEVELS:
        limit = "at least 2" if n < 2 else f"at most {MAX_LEVELS}"
        raise InvalidInputError(f"must be {limit}", argument="bins", found=bins)
    if limits is None and len(values) == 0:
        raise InvalidInputError(
            (Argument("y"), " is empty"),
            argument="y",
            advice=("give ", Argument("limits"), ", or ", Argument("bins"), " as edges"),
        )
    if limits is not None and bin_by in ("quantile", "log"):
        raise InvalidInputError((Argument("limits"), " is for bins of equal width"), argument="limits")
    if limits is None:
        _check_distinct(values, n)
    if bin_by == "quantile":
        return _quantiles(values, n)
    edges = _logarithmic(values, n) if bin_by == "log" else _equal(values, n, limits)
    if not np.isfinite(edges).all() or not np.all(np.diff(edges) > 0):
        low, high = limits or (values.min(), values.max())
        far = f"ratings from {low:g} to {high:g} are too close, or too far apart, for {n} bins"
        raise InvalidInputError(far, argument="bins")
    if bin_by == "auto" and limits is None and _skewed(values, edges):
        return _quantiles(values, n)
    return edges


def bin_ratings(
    y: ArrayLike,
    bins: Bins,
    scale: ArrayLike | None = None,
    *,
    bin_by: BinBy = "auto",
    limits: tuple[float, float] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Turn continuous ratings, or counts, into R levels.

    With edges :math:`e_0 < e_1 < ... < e_R`, a rating y has level r, the r with :math:`e_{r-1} <= y < e_r`;
    the last bin includes its upper edge, y = e_R (the convention of `numpy.histogram`).

    Parameters
    ----------
    y : array-like of shape (n,)
        Finite ratings.
    bins : int or array-like of shape (R + 1,)
        Number R >= 2 of bins, or their increasing edges, such as those of `bin_edges`.
    scale : array-like of shape (R,), optional
        Increasing values of the levels; by default 1..R.
    bin_by : {"auto", "width", "quantile", "log"}, default="auto"
        How to cut, if `bins` is a number: see `bin_edges`.
    limits : (float, float), optional
        As in `bin_edges`.

    Returns
    -------
    y : ndarray of shape (n,), float64
        ``scale[level - 1]`` for each rating.
    scale : ndarray of shape (R,), float64

    Raises
    ------
    InvalidInputError
        If a rating is not finite or outside the edges, or `bins`, `scale`, `bin_by` or `limits` do not fit together.

    See Also
    --------
    RatingDataset.binned : keeps the edges with the data, and so with a model that is fitted to them.

    Examples
    --------
    >>> from cofactor.datasets import bin_ratings
    >>> levels, scale = bin_ratings([-10, -2.1, -2, 1.9, 10], bins=5, limits=(-10, 10))
    >>> levels.tolist()
    [1.0, 2.0, 3.0, 3.0, 5.0]
    """
    values = _finite(y)
    edges = bin_edges(values, bins, bin_by, limits=limits)
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
    return levels[np.searchsorted(edges[1:-1], values, side="right")], levels


def _finite(y: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(y, dtype=np.float64)
    if values.ndim != 1:
        raise InvalidInputError((Argument("y"), f" must have one dimension, found shape {values.shape}"), argument="y")
    if not np.isfinite(values).all():
        raise InvalidInputError(
            (Argument("y"), f" must be finite, found {values[~np.isfinite(values)][0]}"), argument="y"
        )
    return values


def _given(bins: Bins, bin_by: str, limits: tuple[float, float] | None) -> NDArray[np.float64]:
    """Return edges that the caller gave."""
    for name, given in (("limits", limits is not None), ("bin_by", bin_by != "auto")):
        if given:
            raise InvalidInputError(
                (Argument(name), " goes with a number of bins; edges already say where the bins end"), argument=name
            )
    edges = np.array(bins, dtype=np.float64)
    if edges.ndim != 1 or len(edges) < 3 or not np.all(np.diff(edges) > 0):
        raise InvalidInputError(
            (Argument("bins"), " must be a number of bins, or at least three increasing edges"), argument="bins"
        )
    if len(edges) > MAX_LEVELS + 1:
        raise InvalidInputError(f"{len(edges) - 1} bins, at most {MAX_LEVELS} are possible", argument="bins")
    return edges


def _equal(values: NDArray[np.float64], n: int, limits: tuple[float, float] | None) -> NDArray[np.float64]:
    low, high = limits if limits is not None else (values.min(), values.max())
    if not low < high:
        raise InvalidInputError(
            f"bins of equal width need limits low < high, found {low:g} and {high:g}", argument="limits"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return cast(NDArray[np.float64], np.linspace(low, high, n + 1))


def _skewed(values: NDArray[np.float64], edges: NDArray[np.float64]) -> bool:
    counts, _ = np.histogram(values, edges)
    return bool(counts.max() > _SKEWED * len(values))


def _quantiles(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Fill one bin after the other with its part of the ratings that are left, at least one distinct rating each."""
    distinct, counts = np.unique(values, return_counts=True)
    up_to = np.concatenate([[0], np.cumsum(counts)])
    starts = [0]
    for left in range(n, 1, -1):  # bins still to be filled, this one included
        start = starts[-1]
        wanted = up_to[start] + (up_to[-1] - up_to[start]) / left
        end = int(np.searchsorted(up_to, wanted))
        if end > start + 1 and wanted - up_to[end - 1] < up_to[end] - wanted:
            end -= 1
        starts.append(min(max(end, start + 1), len(distinct) - left + 1))
    edges = np.append(distinct[starts], distinct[-1])
    if starts[-1] == len(distinct) - 1:  # the largest rating alone: its bin begins below it
        edges[-2] = distinct[-2] / 2 + distinct[-1] / 2
    return edges


def _logarithmic(values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    low, high = values.min(), values.max()
    if low < 0:
        raise InvalidInputError(
            (Argument("bin_by", "log"), f" needs ratings from 0 on, found {low:g}"),
            argument="bin_by",
            advice=("take ", Argument("bin_by", "quantile")),
        )
    shift = 0.0 if low > 0 else 1.0
    with np.errstate(over="ignore"):
        edges = np.exp(np.linspace(np.log(low + shift), np.log(high + shift), n + 1)) - shift
    edges[0], edges[-1] = low, high
    return edges


def _check_distinct(values: NDArray[np.float64], n: int) -> None:
    """Refuse more bins than distinct ratings: some would be empty, whatever the cut."""
    found = len(np.unique(values))
    if found >= n:
        return
    most = Argument("bins", found)
    raise InvalidInputError(
        f"only {plural(found, 'distinct rating')}, too few for {n} bins",
        argument="bins",
        advice=("take ", most, " or fewer") if found > 2 else ("take ", most) if found == 2 else "",
    )


def warn_of_empty(known: RatingScale, y: NDArray[np.float64]) -> None:
    """Warn of levels of bins that hold no rating."""
    empty = [name for level, name in zip(known.scale, known.names(), strict=True) if not (y == level).any()]
    if not empty:
        return
    shown = ", ".join(empty[:3]) + (", ..." if len(empty) > 3 else "")
    which = f"{len(empty)} of {len(known.scale)} levels {'holds' if len(empty) == 1 else 'hold'} no rating: {shown}"
    advice = ("; take fewer bins, or ", Argument("bin_by", "quantile"))
    warnings.warn(InputWarning((which, *advice)), stacklevel=3)


def looks_like_ratings(values: Any) -> bool:
    """Whether these are stars rather than counts: few levels up to ten, in halves, or the lowest one a rare one.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers.

    Examples
    --------
    >>> stars, plays = np.repeat([1.0, 2, 3, 4, 5], [6, 11, 27, 34, 21]), np.repeat([1.0, 2, 3, 4], [60, 20, 10, 9])
    >>> looks_like_ratings(stars), looks_like_ratings(plays), looks_like_ratings(stars / 2)
    (True, False, True)
    """
    levels, counts = np.unique(values[values > 0], return_counts=True)
    if len(values) < _ENOUGH or not 3 <= len(levels) <= 2 * _MOST_STARS or levels[-1] > _MOST_STARS:
        return False
    if (levels % 0.5 != 0).any():
        return False  # weights of some kind
    return bool((levels % 1 != 0).any() or counts[0] < _FEW * counts.sum())


def warn_of_zeros(y: NDArray[np.float64]) -> None:
    """Warn if 0 seems to mean that there is no rating: most are 0, and the next level is far away or rare."""
    if np.count_nonzero(y == 0) < _MOST * len(y):
        return
    levels, counts = np.unique(y, return_counts=True)
    if not 4 <= len(levels) <= MAX_LEVELS or levels[0] != 0:
        return
    gap = levels[1] > np.diff(levels[1:]).min()
    if not gap and counts[1] > _RARER * counts[0]:
        return
    share = f"{counts[0] / len(y) * 100:.1f} % of the ratings are 0, far from the others"
    advice = (": if 0 means that there is no rating, leave these out with ", Argument("drop_rating", 0))
    warnings.warn(InputWarning((share, *advice)), stacklevel=4)


def warn_of_counts(y: NDArray[np.float64], levels: NDArray[np.float64], column: Column) -> None:
    """Warn of ratings that look like counts; of columns of this name, or at this position."""
    if not _look_like_counts(y, levels):
        return
    low, high = levels[0], levels[-1]
    found = f"the ratings look like counts, with {len(levels)} distinct ones, most near {low:g} and some up to {high:g}"
    read = ("; ", Argument("count", column), " takes them as such, of clicks, plays or purchases, and ")
    cut = (Argument("bins", 5), " with ", Argument("bin_by", "quantile"), " makes levels of them")
    warnings.warn(InputWarning((found, *read, *cut)), stacklevel=4)


def _look_like_counts(y: NDArray[np.float64], levels: NDArray[np.float64]) -> bool:
    """Whether there are many levels with a long tail.

    That is: three quarters lie in the lowest fifth of the range; or, of whole numbers from 1 on, half in its lowest
    quarter.

    Examples
    --------
    >>> plays, marks = np.array([1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 9, 14, 30, 41.0]), np.arange(1.0, 13)
    >>> _look_like_counts(plays, np.unique(plays)), _look_like_counts(marks, marks)
    (True, False)
    """
    low, high = levels[0], levels[-1]
    if low == 1 and len(levels) > _MANY_WHOLE and not (levels % 1).any():
        return bool(np.median(y) <= low + (high - low) / 4)
    return len(levels) > _MANY and bool(np.quantile(y, 0.75) <= low + (high - low) / 5)
