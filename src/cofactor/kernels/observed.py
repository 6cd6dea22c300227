"""Loops over the observed entries of a sparse matrix, row by row.

The same functions serve rows (CSR) and columns (CSC). `lo, hi` is the range of rows; `indptr, indices` the sparsity
pattern; arrays over entries are indexed by the position of an entry in the pattern.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from cofactor.kernels.compile import inlined, kernel
from cofactor.kernels.lanes import AHEAD, fetch

FAR = 1 << 18  #: numbers of V that lie near wherever they are


@inlined
def ask(k, indices, V):  # type: ignore[no-untyped-def]
    """Ask for the rows of V of the four entries some way beyond entry k; some may be asked for twice."""
    for entry in range(k + AHEAD, k + AHEAD + 4):
        fetch(V, indices[min(entry, len(indices) - 1)])


@cache
def passes(width: int = 0) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the kernels `scores` and `accumulate` for factors of `width` columns; for any number of columns if 0.

    With the width known to the compiler both take about three quarters of the time at d = 100, but each new width takes
    a second or two to compile, once on a machine.

    Both take four entries at a time: four rows of V for one sweep over the row in hand.
    """

    @kernel
    def scores(lo, hi, indptr, indices, U, V, b, c, out):  # type: ignore[no-untyped-def]
        """Write x_ij = U_i·V_j + b_i + c_j for the stored entries of rows lo..hi."""
        d = width if width > 0 else U.shape[1]
        far = len(V) * d > FAR
        for i in range(lo, hi):
            u = U[i]
            k = indptr[i]
            end = indptr[i + 1]
            while k + 3 < end:
                if far:
                    ask(k, indices, V)
                j0 = indices[k]
                j1 = indices[k + 1]
                j2 = indices[k + 2]
                j3 = indices[k + 3]
                v0 = V[j0]
                v1 = V[j1]
                v2 = V[j2]
                v3 = V[j3]
                s0 = b[i] + c[j0]
                s1 = b[i] + c[j1]
                s2 = b[i] + c[j2]
                s3 = b[i] + c[j3]
                for f in range(d):
                    s0 += u[f] * v0[f]
                    s1 += u[f] * v1[f]
                    s2 += u[f] * v2[f]
                    s3 += u[f] * v3[f]
                out[k] = s0
                out[k + 1] = s1
                out[k + 2] = s2
                out[k + 3] = s3
                k += 4
            while k < end:
                v = V[indices[k]]
                s = b[i] + c[indices[k]]
                for f in range(d):
                    s += u[f] * v[f]
                out[k] = s
                k += 1

    @kernel
    def accumulate(lo, hi, indptr, indices, weights, V, out):  # type: ignore[no-untyped-def]
        """Write out_i = Σ_k w_ik V_k over the stored entries of each row."""
        d = width if width > 0 else V.shape[1]
        far = len(V) * d > FAR
        for i in range(lo, hi):
            o = out[i]
            for f in range(d):
                o[f] = 0
            k = indptr[i]
            end = indptr[i + 1]
            while k + 3 < end:
                if far:
                    ask(k, indices, V)
                w0 = weights[k]
                w1 = weights[k + 1]
                w2 = weights[k + 2]
                w3 = weights[k + 3]
                v0 = V[indices[k]]
                v1 = V[indices[k + 1]]
                v2 = V[indices[k + 2]]
                v3 = V[indices[k + 3]]
                for f in range(d):
                    o[f] += w0 * v0[f] + w1 * v1[f] + w2 * v2[f] + w3 * v3[f]
                k += 4
            while k < end:
                w = weights[k]
                v = V[indices[k]]
                for f in range(d):
                    o[f] += w * v[f]
                k += 1

    return scores, accumulate


@kernel
def counting_sort(keys, places, order):  # type: ignore[no-untyped-def]
    """Write the stable order that sorts keys; `places`, where each key begins in it, are moved to where it ends."""
    for k in range(len(keys)):
        key = keys[k]
        order[places[key]] = k
        places[key] += 1


@kernel
def by_column(indptr, indices, places, rows, entries):  # type: ignore[no-untyped-def]
    """Write the row, and the position among the entries by row, of each entry by column; `places` as above."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            rows[places[j]] = i
            entries[places[j]] = k
            places[j] += 1


@kernel
def row_sums(lo, hi, indptr, weights, out):  # type: ignore[no-untyped-def]
    """Write out_i = Σ_k w_ik over the stored entries of each row."""
    for i in range(lo, hi):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += weights[k]
        out[i] = s


@kernel
def weighted_squares(counts, A):  # type: ignore[no-untyped-def]
    """Return Σ_i n_i A_if² for each column f, float64."""
    out = np.zeros(A.shape[1])
    for i in range(len(A)):
        n = counts[i]
        a = A[i]
        for f in range(len(a)):
            out[f] += n * a[f] * a[f]
    return out


@kernel
def gather(start, stop, order, source, out):  # type: ignore[no-untyped-def]
    """Write out_k = source_order(k) for start <= k < stop."""
    for k in range(start, stop):
        out[k] = source[order[k]]


@kernel
def append_columns(starts, rows, order, levels, values, first_row, places, indices, targets):  # type: ignore[no-untyped-def]
    """Append the entries of columns in a shard to those of the shards before, and move `places` behind them.

    Column c has the entries starts[c] to starts[c + 1] - 1 by column of the shard, whose first row is `first_row`.
    """
    for c in range(len(places)):
        at = places[c]
        for k in range(starts[c], starts[c + 1]):
            indices[at] = first_row + rows[k]
            targets[at] = values[levels[order[k]]]
            at += 1
        places[c] = at


@kernel
def pair_scores(start, stop, rows, columns, U, V, b, c, out):  # type: ignore[no-untyped-def]
    """Write x = U_i·V_j + b_i + c_j for the listed pairs (i, j); what belongs to an index of -1 counts as zero."""
    d = U.shape[1]
    for k in range(start, stop):
        i = rows[k]
        j = columns[k]
        s = c.dtype.type(0)
        if i >= 0:
            s += b[i]
        if j >= 0:
            s += c[j]
        if i >= 0 and j >= 0:
            u = U[i]
            v = V[j]
            for f in range(d):
                s += u[f] * v[f]
        out[k] = s


@kernel
def all_scores(rows, U, V, b, c, out):  # type: ignore[no-untyped-def]
    """Write x = U_i·V_j + b_i + c_j for the listed rows i and all columns j; same bits as `pair_scores`."""
    d = U.shape[1]
    for k in range(len(rows)):
        i = rows[k]
        u = U[i]
        o = out[k]
        for j in range(len(V)):
            v = V[j]
            s = b[i] + c[j]
            for f in range(d):
                s += u[f] * v[f]
            o[j] = s
