"""Products of rows: inner products of two tables, co-occurrences of items, and weighted sums of rows.

Inner products have the bits that each row would have alone. In the others `indptr, indices` is the sparsity pattern and
`values` what each stored entry weighs, as in `observed`.
"""

import numpy as np

from cofactor.kernels.compile import ordered
from cofactor.kernels.lanes import LANES, filled, load, load_from, store, total

# BLAS multiplies one row by other loops than several, and the last columns by others than the first ones. This is as
# fast for one row, or sixteen, and has half the speed for hundreds.


@ordered
def inner_products(A, B, lo, hi, out):  # type: ignore[no-untyped-def]
    """Write columns lo to hi - 1 of A Bᵀ, of contiguous tables of one dtype: all numbers are added up in one order.

    Four rows of A and two of B are read at a time; beyond the end, the last one again.
    """
    n, d = A.shape
    whole = d // LANES * LANES
    x = A.reshape(n * d)
    y = B.reshape(len(B) * d)
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        for j in range(lo, hi, 2):
            j1 = min(j + 1, hi - 1)
            s = t = s1 = t1 = s2 = t2 = s3 = t3 = filled(A.dtype.type(0))
            for f in range(0, whole, LANES):
                left, right = load_from(y, j * d + f), load_from(y, j1 * d + f)
                row = load_from(x, i * d + f)
                s += row * left
                t += row * right
                row = load_from(x, i1 * d + f)
                s1 += row * left
                t1 += row * right
                row = load_from(x, i2 * d + f)
                s2 += row * left
                t2 += row * right
                row = load_from(x, i3 * d + f)
                s3 += row * left
                t3 += row * right
            out[i, j], out[i, j1] = total(s), total(t)
            out[i1, j], out[i1, j1] = total(s1), total(t1)
            out[i2, j], out[i2, j1] = total(s2), total(t2)
            out[i3, j], out[i3, j1] = total(s3), total(t3)
    for f in range(whole, d):
        for i in range(n):
            for j in range(lo, hi):
                out[i, j] += A[i, f] * B[j, f]


@ordered
def co_occurrences(lo, hi, col_indptr, col_indices, to_csr, indptr, indices, left, right, out):  # type: ignore[no-untyped-def]
    """Write rows lo..hi of LᵀR into `out`, L and R having the same pattern: what each item co-occurs with."""
    for j in range(lo, hi):
        row = out[j - lo]
        for k in range(len(row)):
            row[k] = 0
        for e in range(col_indptr[j], col_indptr[j + 1]):
            i = col_indices[e]
            x = left[to_csr[e]]
            for k in range(indptr[i], indptr[i + 1]):
                row[indices[k]] += x * right[k]


@ordered
def sums_of_rows(lo, hi, indptr, indices, values, W, first, out):  # type: ignore[no-untyped-def]
    """Write row i of X W, for rows i from lo to hi, into out[i], of W the columns from `first` on."""
    width = out.shape[1]
    for i in range(lo, hi):
        o = out[i]
        for k in range(width):
            o[k] = 0
        e = indptr[i]
        while e + 3 < indptr[i + 1]:
            _add_four(values[e : e + 4], W, indices[e : e + 4], first, o)
            e += 4
        while e < indptr[i + 1]:
            _add_one(values[e], W[indices[e]], first, o)
            e += 1


@ordered
def sums_by_lanes(lo, hi, indptr, indices, values, W, out):  # type: ignore[no-untyped-def]
    """Do as `sums_of_rows` for a W of a multiple of sixteen columns, float32: W and `out` are tables, see `lanes`."""
    L = len(out) // (len(indptr) - 1)
    for i in range(lo, hi):
        for c in range(L):
            store(out, i * L + c, filled(np.float32(0)))
        e = indptr[i]
        while e + 3 < indptr[i + 1]:
            x0 = filled(values[e])
            x1 = filled(values[e + 1])
            x2 = filled(values[e + 2])
            x3 = filled(values[e + 3])
            a = indices[e] * L
            b = indices[e + 1] * L
            g = indices[e + 2] * L
            h = indices[e + 3] * L
            for c in range(L):
                s = load(out, i * L + c)
                s += load(W, a + c) * x0
                s += load(W, b + c) * x1
                s += load(W, g + c) * x2
                s += load(W, h + c) * x3
                store(out, i * L + c, s)
            e += 4
        while e < indptr[i + 1]:
            x0 = filled(values[e])
            a = indices[e] * L
            for c in range(L):
                store(out, i * L + c, load(out, i * L + c) + load(W, a + c) * x0)
            e += 1


@ordered
def _add_one(x, row, first, out):  # type: ignore[no-untyped-def]
    for k in range(len(out)):
        out[k] += x * row[first + k]


@ordered
def _add_four(x, W, rows, first, out):  # type: ignore[no-untyped-def]
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    a, b, c, d = W[rows[0]], W[rows[1]], W[rows[2]], W[rows[3]]
    for k in range(len(out)):
        out[k] = (((out[k] + x0 * a[first + k]) + x1 * b[first + k]) + x2 * c[first + k]) + x3 * d[first + k]
