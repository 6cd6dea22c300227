"""How probable are average ranks as uneven as these by chance? Exact for few data sets, approximated for more.

If all methods are equally good, then on each data set every order of its ranks is as probable as any other, whatever
ties there are, and the data sets do not depend on one another. As much of this as matters to Friedman's statistic is
how far the sums of ranks lie from their mean: the sum of squares of these deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, log2, prod

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["chance_of_ranks"]

_WORK = 2_000_000  #: vectors of sums that an exact p may take, some tenths of a second

Ints = NDArray[np.int32]


def chance_of_ranks(ranks: NDArray[np.float64]) -> tuple[float, bool]:
    """Return the probability of rank sums so uneven, or more so, by chance; and whether it is exact.

    Parameters
    ----------
    ranks : ndarray of shape (n_data, n_methods)
        The ranks on each data set; tied methods share the average of theirs.

    Returns
    -------
    (float, bool)
        Where counting takes too long, the sum of squares is taken for a multiple of a beta variable with the mean and
        the variance that it has. Near 0.05 this is off by a few thousandths, by more only where most methods are tied.

    References
    ----------
    E. J. G. Pitman, "Significance tests which may be applied to samples from any populations III", Biometrika 29
    (1938); M. G. Kendall & B. Babington Smith, Annals of Mathematical Statistics 10 (1939).

    Examples
    --------
    Three data sets of 6³ orders, of which one in 36 is as uneven as the first and one in six as the second:

    >>> chance_of_ranks(np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3]]))
    (0.02777777777777..., True)
    >>> chance_of_ranks(np.array([[1.0, 2, 3], [1, 2, 3], [1, 3, 2]]))
    (0.1944444444444..., True)
    """
    deviations = np.rint(2 * ranks).astype(np.int32) - (ranks.shape[1] + 1)  # doubled: ties make halves
    reached = int((deviations.sum(axis=0).astype(np.int64) ** 2).sum())
    rows = sorted((np.sort(row) for row in deviations if row.any()), key=_n_orders, reverse=True)
    exact = _counted(rows, reached)
    return (_approximated(rows, reached), False) if exact is None else (exact, True)


def _counted(rows: Sequence[Ints], reached: int) -> float | None:
    """Return the part of all orders whose sum of squares is at least the one reached; None if they are too many.

    Sums of ranks that are a permutation of one another have equal futures, so they are kept sorted, and each once. For
    the same reason the first row may keep its order.
    """
    if not rows:  # all methods are tied on every data set
        return 1.0
    sums, counts, work = rows[0][None], np.ones(1), 0
    for row in rows[1:]:
        n_orders = _n_orders(row)
        work += len(sums) * n_orders
        if work > _WORK:
            return None
        sums = (sums[:, None] + _orders(row)).reshape(-1, len(row))
        sums.sort(axis=1)
        sums, counts = _merged(sums, np.repeat(counts, n_orders))
    # So little work reaches no count above 1e300; those below 2**53 are exact, so that 1 of 20 is not above 0.05.
    uneven = (sums.astype(np.int64) ** 2).sum(axis=1) >= reached
    return float(counts[uneven].sum() / counts.sum())


def _approximated(rows: Sequence[Ints], reached: int) -> float:
    """Return an approximation by the mean and the variance of the sum of squares."""
    squares = np.array([float(row @ row) for row in rows])
    largest = np.sqrt(squares).sum() ** 2  # if all rows pointed the same way
    mean = squares.sum() / largest
    variance = 2 * (squares.sum() ** 2 - (squares**2).sum()) / (len(rows[0]) - 1) / largest**2
    both = mean * (1 - mean) / variance - 1  # the sum of the two parameters of the beta distribution
    p = float(stats.beta.sf(reached / largest, mean * both, (1 - mean) * both))
    return max(p, 1 / prod(map(_n_orders, rows[1:])))  # the order found is one of so many


def _n_orders(row: Ints) -> int:
    """Return in how many orders the ranks of a row can stand; those of tied methods are the same."""
    return factorial(len(row)) // prod(map(factorial, np.unique(row, return_counts=True)[1].tolist()))


def _orders(row: Ints) -> Ints:
    """Return these orders, each once."""
    values, left = np.unique(row, return_counts=True)
    orders, left = np.empty((1, 0), dtype=row.dtype), left[None]
    for _ in row:
        old, taken = np.nonzero(left)
        orders = np.column_stack([orders[old], values[taken]])
        left = left[old] - np.eye(len(values), dtype=left.dtype)[taken]
    return orders


def _merged(sums: Ints, counts: NDArray[np.float64]) -> tuple[Ints, NDArray[np.float64]]:
    """Return every row of sums once, with the sum of its counts."""
    digits = sums - sums.min()
    base = int(digits.max()) + 1
    width = int(62 / log2(base))  # so many columns are the digits of one integer
    parts = [digits[:, start : start + width] for start in range(0, sums.shape[1], width)]
    keys = [part @ base ** np.arange(part.shape[1], dtype=np.int64) for part in parts]
    order = np.lexsort(keys)
    changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    starts = np.flatnonzero(np.append(True, changes))
    return sums[order[starts]], np.add.reduceat(counts[order], starts)
