"""Blocks of predictions, cut so that the memory of each keeps to one budget, whatever the number of items or levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.cooccurrences import inner_products
from cofactor.kernels.threads import cut_rows, parallel_for, thread_limit

#: A function of users and items by index, a number for each pair.
Pairwise: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]

#: What one block of predictions may take, in all models. Every thread works on one block.
BLOCK_BYTES: Final = 8 << 20

#: Arrays with a float64 for each pair and level that predictions of any model hold at the same time, at most.
_ARRAYS: Final = 4

_NEAR: Final = 1 << 16  # numbers of a table that stay in a second-level cache while other rows pass
_FEW: Final = 4  # rows that one pass over a table serves

_COLUMNS: Final = 1024  # items of a tile, at least, if there are so many: enough to make the calls for it worth while

#: Pairs of a block whose scores are those of interactions: 4 MB for each implicit-feedback model.
INTERACTIONS_PER_BLOCK: Final = 1 << 20


def pairs_per_block(n_levels: int) -> int:
    """Return of how many pairs of a user and an item a block may be, if ratings have so many levels.

    Examples
    --------
    >>> pairs_per_block(5)
    52428
    """
    return max(1, BLOCK_BYTES // (8 * _ARRAYS * n_levels))


def tile_shape(n_users: int, n_pairs: int, n_items: int = 0) -> tuple[int, int]:
    """Return for how many users, and how many items, `n_items` at least, scores are computed at a time.

    Examples
    --------
    >>> tile_shape(1000, 52428), tile_shape(2, 52428)
    ((51, 1028), (2, 26214))
    """
    width = max(_COLUMNS, n_items)
    height = max(1, min(n_users, n_pairs // width))
    return height, max(width, n_pairs // height)


def rows_of(index: NDArray[Any]) -> NDArray[Any] | slice:
    """Return rows to select: a slice, of which no copy is made, where an index counts on by one.

    Examples
    --------
    >>> rows_of(np.array([3, 4, 5])), rows_of(np.array([3, 5, 4]))
    (slice(3, 6, None), array([3, 5, 4]))
    """
    if not len(index) or not (index[1:] - index[:-1] == 1).all():
        return index
    return slice(int(index[0]), int(index[-1]) + 1)


def each_block(task: Callable[[int, int], object], n: int, size: int) -> None:
    """Call `task(lo, hi)` for every block of at most `size` of n things, on all threads.

    Examples
    --------
    >>> each_block(lambda lo, hi: print(lo, hi), 5, 5)
    0 5
    """

    def block(k: int) -> object:
        return task(k * size, min((k + 1) * size, n))

    parallel_for(block, -(-n // size))


def each_cut(task: Callable[[int, int], object], indptr: NDArray[Any], n_entries: int) -> None:
    """Call `task(lo, hi)` for rows next to each other, of about so many entries together, on all threads.

    Examples
    --------
    >>> each_cut(lambda lo, hi: print(lo, hi), np.array([0, 3, 5]), 9)
    0 2
    """
    cuts = cut_rows(indptr, n_entries)
    parallel_for(lambda k: task(cuts[k], cuts[k + 1]), len(cuts) - 1)


def products_of_rows(rows: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return the inner products of rows, each of a user, with others: they do not depend on who else is asked about.

    Examples
    --------
    >>> products_of_rows(np.eye(2), np.array([[3.0, 4.0]])).tolist()
    [[3.0], [4.0]]
    """
    rows, others = np.ascontiguousarray(rows), np.ascontiguousarray(others)
    out = np.empty((len(rows), len(others)), dtype=others.dtype)
    size = max(1, _NEAR // max(others.shape[1], 1))
    with thread_limit(None if len(rows) <= _FEW else 1):  # of many users, each thread has a block of its own
        each_block(lambda lo, hi: inner_products(rows, others, lo, hi, out), len(others), size)
    return out
