"""Loops over the observed entries of a sparse matrix, row by row.

The same functions serve rows (CSR) and columns (CSC). `lo, hi` is the range of rows; `indptr, indices` the sparsity
pattern; arrays over entries are indexed by the position of an entry in the pattern.
"""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import inlined, kernel
from cofactor.kernels.lanes import AHEAD, LANES, fetch, filled, load_from, store_at, total

CACHED = 1 << 18  #: numbers of V that a cache holds


@inlined
def _ask(k, indices, V):  # type: ignore[no-untyped-def]
    """Ask for the rows of V of the four entries some way beyond entry k; some may be asked for twice."""
    for entry in range(k + AHEAD, k + AHEAD + 4):
        fetch(V, indices[min(entry, len(indices) - 1)])


@kernel
def pad_rows(lo, hi, A, table):  # type: ignore[no-untyped-def]
    """Copy the rows lo..hi-1 of A to a table of `pad_to_lanes`."""
    for i in range(lo, hi):
        a, row = A[i], table[i]
        for f in range(len(a)):
            row[f] = a[f]


# `scores` and `accumulate` take four entries at a time: four rows of V for one sweep over the row in hand. They also do
# what comes before: after a kernel a thread waits for Python's lock, which another may hold.

#: No order of entries: see `accumulate`.
IN_PLACE = np.empty(0, np.int32)


@kernel
def scores(lo, hi, indptr, indices, A, U, V, b, c, out):  # type: ignore[no-untyped-def]
    """Write x_ij = A_i·V_j + b_i + c_j for the stored entries of rows lo..hi, which are copied to U first.

    U and V are of `pad_to_lanes`; A may be U itself.
    """
    width = U.shape[1]
    far = len(V) * width > CACHED
    zero = filled(U.dtype.type(0))
    for i in range(lo, hi):
        for f in range(A.shape[1]):
            U[i, f] = A[i, f]
        u = np.int64(i) * width
        k = indptr[i]
        end = indptr[i + 1]
        while k + 3 < end:
            if far:
                _ask(k, indices, V)
            j0, j1, j2, j3 = indices[k], indices[k + 1], indices[k + 2], indices[k + 3]
            v0, v1, v2, v3 = np.int64(j0) * width, np.int64(j1) * width, np.int64(j2) * width, np.int64(j3) * width
            s0 = s1 = s2 = s3 = zero
            for f in range(0, width, LANES):
                x = load_from(U, u + f)
                s0 += x * load_from(V, v0 + f)
                s1 += x * load_from(V, v1 + f)
                s2 += x * load_from(V, v2 + f)
                s3 += x * load_from(V, v3 + f)
            out[k] = total(s0) + (b[i] + c[j0])
            out[k + 1] = total(s1) + (b[i] + c[j1])
            out[k + 2] = total(s2) + (b[i] + c[j2])
            out[k + 3] = total(s3) + (b[i] + c[j3])
            k += 4
        while k < end:
            j0 = indices[k]
            v0 = np.int64(j0) * width
            s0 = zero
            for f in range(0, width, LANES):
                s0 += load_from(U, u + f) * load_from(V, v0 + f)
            out[k] = total(s0) + (b[i] + c[j0])
            k += 1


@kernel
def accumulate(lo, hi, indptr, indices, order, source, weights, V, out):  # type: ignore[no-untyped-def]
    """Write out_i = Σ_k w_ik V_k over the stored entries of each row; V is of `pad_to_lanes`, `out` is not.

    Weights are written before, w_k = source_order(k), unless `order` is empty.
    """
    if len(order) > 0:
        for k in range(indptr[lo], indptr[hi]):
            weights[k] = source[order[k]]
    d = out.shape[1]
    width = V.shape[1]
    far = len(V) * width > CACHED
    sums = empty(width, V.dtype)
    for i in range(lo, hi):
        for f in range(width):
            sums[f] = 0
        k = indptr[i]
        end = indptr[i + 1]
        while k + 3 < end:
            if far:
                _ask(k, indices, V)
            w0, w1, w2, w3 = filled(weights[k]), filled(weights[k + 1]), filled(weights[k + 2]), filled(weights[k + 3])
            v0, v1 = np.int64(indices[k]) * width, np.int64(indices[k + 1]) * width
            v2, v3 = np.int64(indices[k + 2]) * width, np.int64(indices[k + 3]) * width
            for f in range(0, width, LANES):
                s = load_from(sums, f) + w0 * load_from(V, v0 + f) + w1 * load_from(V, v1 + f)
                store_at(sums, f, s + (w2 * load_from(V, v2 + f) + w3 * load_from(V, v3 + f)))
            k += 4
        while k < end:
            w0, v0 = filled(weights[k]), np.int64(indices[k]) * width
            for f in range(0, width, LANES):
                store_at(sums, f, load_from(sums, f) + w0 * load_from(V, v0 + f))
            k += 1
        o = out[i]
        for f in range(d):
            o[f] = sums[f]


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
    out = zeros(A.shape[1])
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
def append_columns(starts, rows, levels, values, first_row, places, indices, targets):  # type: ignore[no-untyped-def]
    """Append the entries of columns in a shard to those of the shards before, and move `places` behind them.

    Column c has the entries starts[c] to starts[c + 1] - 1 of `rows`, which count from `first_row`, and of `levels`.
    """
    for c in range(len(places)):
        at = places[c]
        for k in range(starts[c], starts[c + 1]):
            indices[at] = first_row + rows[k]
            targets[at] = values[levels[k]]
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
