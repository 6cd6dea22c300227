"""Nearest neighbours of instances, dense or sparse, block by block."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import InvalidInputError
from cofactor.kernels.nearest import nearest, sparse_products
from cofactor.kernels.threads import parallel_for
from cofactor.labels.features import is_sparse

__all__ = ["nearest_rows"]

_PRODUCTS_PER_BLOCK = 1 << 21  #: inner products in memory at the same time: 16 MB
_ROWS_PER_TASK = 16


def nearest_rows(
    known: Any, queries: Any, k: int, *, exclude_self: bool = False, products_per_block: int = _PRODUCTS_PER_BLOCK
) -> NDArray[np.int64]:
    r"""Return the k nearest rows of `known` for every row of `queries`, in Euclidean distance.

    Rows are centred, which changes no distance. Then :math:`\|t\|^2 - 2 \, x \cdot t` is compared: the squared distance
    of x and t without :math:`\|x\|^2`. Products are computed in float64 and compared in float32. So rows whose squared
    distances differ by less than about 1e-7 ‖x‖², such as duplicates, are equally near in any order of summation, and
    dense and sparse features have the same neighbours. Of equally near rows the one with the lower number comes first.

    Parameters
    ----------
    known, queries : ndarray or csr_array of shape (n, D), (m, D)
        Features. If the known rows are sparse, this takes O(Σ_f n_f m_f) operations, where feature f has n_f and m_f
        stored entries. If they are dense, sparse queries are made dense block by block.
    k : int
        Number of neighbours, 0 <= k <= n, or n - 1 with `exclude_self`.
    exclude_self : bool, default=False
        Whether `queries` are the known rows, so that no row is its own neighbour. A duplicate of a row may be its
        neighbour: rows are left out by their numbers, not by a distance of 0.
    products_per_block : int, default=2097152
        Largest number of inner products in memory at the same time, but at least one row.

    Returns
    -------
    ndarray of shape (m, k), int64
        Row numbers, the nearest first.

    Raises
    ------
    InvalidInputError
        If there are not k rows to choose from.

    Examples
    --------
    >>> known = np.array([[0.0], [1.0], [3.0], [1.0]])
    >>> nearest_rows(known, np.array([[0.9]]), 3)
    array([[1, 3, 0]])
    >>> nearest_rows(known, known, 1, exclude_self=True).ravel()
    array([1, 3, 1, 1])
    """
    n, m = known.shape[0], queries.shape[0]
    if not 0 <= k <= n - exclude_self:
        raise InvalidInputError(f"there are {n - exclude_self} rows to choose neighbours from", argument="k", found=k)
    found = np.empty((m, k), np.int64)
    if k == 0:
        return found
    if is_sparse(known):
        squares, write_products = _sparse(known, queries)
    else:
        squares, write_products = _dense(known, queries)
    skip = np.arange(m) if exclude_self else np.full(m, -1)
    per_block = max(1, products_per_block // n)
    products = np.empty((min(per_block, m), n))
    for first in range(0, m, per_block):
        block = slice(first, min(first + per_block, m))
        here = products[: block.stop - first]
        write_products(block, here)
        _select(here, squares, skip[block], found[block])
    return found


def _select(products: NDArray[Any], squares: NDArray[Any], skip: NDArray[Any], found: NDArray[Any]) -> None:
    """Write the numbers of the nearest rows of a block of queries to `found`."""

    def task(t: int) -> None:
        part = slice(t * _ROWS_PER_TASK, (t + 1) * _ROWS_PER_TASK)
        nearest(products[part], squares, skip[part], found[part])

    parallel_for(task, -(-len(products) // _ROWS_PER_TASK))


def _dense(known: NDArray[Any], queries: Any) -> tuple[NDArray[Any], Any]:
    """Return the squared lengths of the centred known rows, and a function that writes a block of inner products."""
    centre = known.mean(axis=0, dtype=np.float64)
    T = known - centre

    def write(block: slice, out: NDArray[Any]) -> None:
        rows = queries[block].toarray() if is_sparse(queries) else queries[block]
        np.matmul(rows - centre, T.T, out=out)

    return np.einsum("ij,ij->i", T, T), write


def _sparse(known: Any, queries: Any) -> tuple[NDArray[Any], Any]:
    """Return what `_dense` does without centring the rows, so that they stay sparse; this changes no comparison."""
    T = known.astype(np.float64).tocsc()
    Q = sparse.csr_array(queries, dtype=np.float64)
    centre = T.mean(axis=0)
    # With this term the compared values differ as those of centred rows do, so they are rounded in the same way.
    start = 0.5 * (centre @ centre) - Q @ centre
    squares = np.bincount(T.indices, weights=T.data**2, minlength=T.shape[0])

    def write(block: slice, out: NDArray[Any]) -> None:
        def task(t: int) -> None:
            lo, hi = block.start + t * _ROWS_PER_TASK, min(block.start + (t + 1) * _ROWS_PER_TASK, block.stop)
            part = out[lo - block.start : hi - block.start]
            sparse_products(lo, hi, start, Q.indptr, Q.indices, Q.data, T.indptr, T.indices, T.data, part)

        parallel_for(task, -(-len(out) // _ROWS_PER_TASK))

    return squares, write
