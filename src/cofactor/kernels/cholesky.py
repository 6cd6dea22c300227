"""Small symmetric positive definite systems: A = L Lᵀ, and the two triangular solves.

For d up to a few hundred, inside loops over rows. Own loops instead of BLAS: its threads would fight with ours, and its
sums depend on their number.
"""

import numpy as np

from cofactor.kernels.compile import kernel


@kernel
def factorize(A, d, eps=0.0):  # type: ignore[no-untyped-def]
    """Replace the lower triangle of the first d rows of A by that of L, where A = L Lᵀ; the upper one is not read.

    A pivot of less than `eps` times its diagonal entry is raised to that, as a little more ridge would do, so that a
    solution cannot outgrow the precision in which it is kept. No `eps` counts below d times the precision of A.
    """
    eps = max(eps, d * np.finfo(A.dtype).eps)
    for j in range(d):
        row = A[j]
        s = row[j]
        least = max(s * eps, np.finfo(A.dtype).tiny)
        for k in range(j):
            s -= row[k] * row[k]
        pivot = np.sqrt(max(s, least))
        row[j] = pivot
        for i in range(j + 1, d):
            other = A[i]
            t = other[j]
            for k in range(j):
                t -= other[k] * row[k]
            other[j] = t / pivot


@kernel
def solve_lower(L, x, d):  # type: ignore[no-untyped-def]
    """Solve L y = x in place: x is the right-hand side on entry and y afterwards."""
    for i in range(d):
        row = L[i]
        t = x[i]
        for k in range(i):
            t -= row[k] * x[k]
        x[i] = t / row[i]


@kernel
def solve_upper(L, x, d):  # type: ignore[no-untyped-def]
    """Solve Lᵀ y = x in place: x is the right-hand side on entry and y afterwards."""
    for i in range(d - 1, -1, -1):
        row = L[i]
        t = x[i] / row[i]
        x[i] = t
        for k in range(i):
            x[k] -= t * row[k]


@kernel
def draw_normal(A, b, noise):  # type: ignore[no-untyped-def]
    """Replace b by a draw from N(A⁻¹b, A⁻¹), given standard normal noise; the lower triangle of A is replaced too."""
    d = len(b)
    factorize(A, d)
    solve_lower(A, b, d)
    for k in range(d):
        b[k] += noise[k]
    solve_upper(A, b, d)
