"""Ridge regressions, one for each row of a sparse matrix, by a few conjugate gradient steps.

Row i minimises Σ_k r_k² (t_k - o_{j_k} - F_{j_k}·w)² + c_i w·diag(ridge)·w over w, k running over its stored entries,
r_k being the `roots` of their weights (one for all if there is only one) and c_i the `shares` of the row. For their
exact solutions see `normal_equations`.
"""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel


@kernel
def add_outer(F, gram):  # type: ignore[no-untyped-def]
    """Add FᵀF to the lower triangle of `gram`, four rows of F at a time."""
    n, d = F.shape
    k = 0
    while k + 3 < n:
        f0 = F[k]
        f1 = F[k + 1]
        f2 = F[k + 2]
        f3 = F[k + 3]
        for a in range(d):
            row = gram[a]
            for b in range(a + 1):
                row[b] += f0[a] * f0[b] + f1[a] * f1[b] + f2[a] * f2[b] + f3[a] * f3[b]
        k += 4
    while k < n:
        f = F[k]
        for a in range(d):
            row = gram[a]
            for b in range(a + 1):
                row[b] += f[a] * f[b]
        k += 1


@kernel
def _times(F, p, out):  # type: ignore[no-untyped-def]
    """Write out = F p."""
    for k in range(len(out)):
        row = F[k]
        s = p[0] * 0
        for f in range(len(p)):
            s += row[f] * p[f]
        out[k] = s


@kernel
def _add_transposed(F, q, out):  # type: ignore[no-untyped-def]
    """Add Fᵀ q to `out`."""
    for k in range(len(q)):
        row = F[k]
        t = q[k]
        for f in range(len(out)):
            out[f] += t * row[f]


@kernel
def ridge_cg(lo, hi, indptr, indices, targets, roots, offsets, features, ridge, shares, n_steps, out):  # type: ignore[no-untyped-def]
    """Improve the minimisers of rows lo..hi by conjugate gradient steps from what `out` holds."""
    d = features.shape[1]
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        w = out[i]
        if n == 0:
            w[:] = 0
            continue
        F = empty((n, d), features.dtype)
        q = empty(n, features.dtype)
        for k in range(n):
            j = indices[start + k]
            root = roots[start + k] if len(roots) > 1 else roots[0]
            for f in range(d):
                F[k, f] = root * features[j, f]
        _times(F, w, q)
        for k in range(n):
            root = roots[start + k] if len(roots) > 1 else roots[0]
            q[k] = root * (targets[start + k] - offsets[indices[start + k]]) - q[k]
        own = shares[i] * ridge
        r = -own * w
        _add_transposed(F, q, r)
        p = r.copy()
        squared = np.sum(r * r)
        for _ in range(n_steps):
            if squared <= 1e-20:
                break
            _times(F, p, q)
            A_p = own * p
            _add_transposed(F, q, A_p)
            t = squared / np.sum(p * A_p)
            for f in range(d):
                w[f] += t * p[f]
                r[f] -= t * A_p[f]
            following = np.sum(r * r)
            for f in range(d):
                p[f] = r[f] + (following / squared) * p[f]
            squared = following
