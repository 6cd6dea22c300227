"""Ridge regressions, one for each row of a sparse matrix: exact, or a few conjugate gradient steps.

Row i minimises Σ_k (t_k - o_{j_k} - F_{j_k}·w)² + w·diag(ridge)·w over w, k running over its stored entries.
"""

import numpy as np

from cofactor.kernels.compile import kernel


@kernel
def ridge_exact(lo, hi, indptr, indices, targets, offsets, features, ridge, out):  # type: ignore[no-untyped-def]
    """Write the minimisers of rows lo..hi, from the normal equations; zero for a row without entries."""
    d = features.shape[1]
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        if n == 0:
            out[i, :] = 0
            continue
        F = np.empty((n, d), dtype=features.dtype)
        t = np.empty(n, dtype=features.dtype)
        for k in range(n):
            j = indices[start + k]
            F[k] = features[j]
            t[k] = targets[start + k] - offsets[j]
        gram = np.dot(F.T, F)
        for f in range(d):
            gram[f, f] += ridge[f]
        out[i] = np.linalg.solve(gram, np.dot(F.T, t))


@kernel
def ridge_cg(lo, hi, indptr, indices, targets, offsets, features, ridge, n_steps, out):  # type: ignore[no-untyped-def]
    """Improve the minimisers of rows lo..hi by conjugate gradient steps from what `out` holds."""
    d = features.shape[1]
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        if n == 0:
            out[i, :] = 0
            continue
        F = np.empty((n, d), dtype=features.dtype)
        rest = np.empty(n, dtype=features.dtype)
        for k in range(n):
            j = indices[start + k]
            F[k] = features[j]
            rest[k] = targets[start + k] - offsets[j]
        w = out[i].copy()
        r = np.dot(F.T, rest - np.dot(F, w)) - ridge * w
        p = r.copy()
        squared = np.dot(r, r)
        for _ in range(n_steps):
            if squared <= 1e-20:
                break
            q = np.dot(F.T, np.dot(F, p)) + ridge * p
            t = squared / np.dot(p, q)
            w += t * p
            r -= t * q
            following = np.dot(r, r)
            p = r + (following / squared) * p
            squared = following
        out[i] = w
