"""Inner products of all rows of two tables, each of which has the bits that it would have alone."""

from cofactor.kernels.compile import ordered
from cofactor.kernels.lanes import LANES, filled, load_from, total

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
