"""Nearest neighbours: inner products of sparse rows, and the smallest entries of a row in a defined order."""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel


@kernel
def sparse_products(lo, hi, start, indptr, indices, data, col_indptr, col_rows, col_data, out):  # type: ignore[no-untyped-def]
    """Write start[i] + x·t for the rows x lo..hi of a CSR matrix and all rows t of another one, given by columns."""
    for i in range(lo, hi):
        row = out[i - lo]
        row[:] = start[i]
        for a in range(indptr[i], indptr[i + 1]):
            x = data[a]
            column = indices[a]
            for b in range(col_indptr[column], col_indptr[column + 1]):
                row[col_rows[b]] += x * col_data[b]


@kernel
def nearest(products, squares, skip, indices):  # type: ignore[no-untyped-def]
    """Write the places t of the smallest squares[t] - 2 products[i, t] of each row i, the nearest first.

    Compared in float32, of equal ones the lower t comes first; t = skip[i] is left out.
    """
    k = indices.shape[1]
    best = empty(k, np.float32)
    for i in range(len(products)):
        row = products[i]
        places = indices[i]
        best[:] = np.inf
        places[:] = -1
        worst = np.float32(np.inf)
        for t in range(len(row)):
            distance = np.float32(squares[t] - 2 * row[t])
            if (distance < worst or places[k - 1] < 0) and t != skip[i]:
                at = k - 1
                while at > 0 and (places[at - 1] < 0 or best[at - 1] > distance):
                    best[at] = best[at - 1]
                    places[at] = places[at - 1]
                    at -= 1
                best[at] = distance
                places[at] = t
                if places[k - 1] >= 0:
                    worst = best[k - 1]
