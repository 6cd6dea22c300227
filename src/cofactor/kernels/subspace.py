"""Small symmetric eigenproblems and products of tall matrices, in a fixed order of sums."""

import numpy as np

from cofactor.kernels.arrays import zeros
from cofactor.kernels.compile import kernel


@kernel
def cross_products(A, B):  # type: ignore[no-untyped-def]
    """Return AᵀB for two matrices of as many rows, float64."""
    out = zeros((A.shape[1], B.shape[1]))
    for i in range(len(A)):
        b = B[i]
        for e in range(A.shape[1]):
            a = A[i, e]
            row = out[e]
            for f in range(len(b)):
                row[f] += a * b[f]
    return out


@kernel
def add_products(lo, hi, A, B, out):  # type: ignore[no-untyped-def]
    """Add A B to rows lo..hi of `out`, A being narrow."""
    for i in range(lo, hi):
        o = out[i]
        for e in range(A.shape[1]):
            a = A[i, e]
            row = B[e]
            for f in range(len(o)):
                o[f] += a * row[f]


@kernel
def eigenvectors(A, values, vectors):  # type: ignore[no-untyped-def]
    """Write the eigenvalues of a symmetric matrix, largest first, and its eigenvectors as rows; A is destroyed.

    Cyclic Jacobi rotations (Golub & Van Loan 2013, section 8.5), until none of the other entries counts against the
    two diagonal ones beside it.
    """
    d = len(A)
    work = np.eye(d)
    tiny = np.finfo(A.dtype).tiny
    for _ in range(60):
        rotated = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                off = A[p, q]
                if abs(off) <= 1e-16 * np.sqrt(abs(A[p, p])) * np.sqrt(abs(A[q, q])) or abs(off) <= tiny:
                    continue
                rotated = True
                half = 0.5 * (A[q, q] - A[p, p]) / off
                t = 1 / (abs(half) + np.sqrt(1 + half * half))
                if half < 0:
                    t = -t
                c = 1 / np.sqrt(1 + t * t)
                s = t * c
                for k in range(d):
                    a = A[k, p]
                    b = A[k, q]
                    A[k, p] = c * a - s * b
                    A[k, q] = s * a + c * b
                row_p = A[p]
                row_q = A[q]
                own_p = work[p]
                own_q = work[q]
                for k in range(d):
                    a = row_p[k]
                    b = row_q[k]
                    row_p[k] = c * a - s * b
                    row_q[k] = s * a + c * b
                    a = own_p[k]
                    b = own_q[k]
                    own_p[k] = c * a - s * b
                    own_q[k] = s * a + c * b
                A[p, q] = 0
                A[q, p] = 0
        if not rotated:
            break
    used = zeros(d, np.bool_)
    for r in range(d):
        best = -1
        for p in range(d):
            if not used[p] and (best < 0 or A[p, p] > A[best, best]):
                best = p
        used[best] = True
        values[r] = A[best, best]
        for k in range(d):
            vectors[r, k] = work[best, k]
