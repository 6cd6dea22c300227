"""Bayesian personalized ranking: gradient steps on pairs of an item that a user has and one that the user lacks."""

import numpy as np

from cofactor.kernels.compile import kernel
from cofactor.kernels.random import stream, uniform


@kernel
def rank_pairs(  # type: ignore[no-untyped-def]
    key, n_steps, rate, alpha, rows, indptr, indices, weights, others, U, V, c, moves_items
):
    """Take gradient steps, each on a random entry and a random one of `others` that its row lacks, in one fixed order.

    Of -w log σ(x_ij - x_ik) + alpha/2 (‖U_i‖² + ‖V_j‖² + ‖V_k‖² + c_j² + c_k²), x = U·V + c. Items stay where they are
    unless `moves_items` is true. Returns the mean loss.
    """
    state = stream(key, 0)
    n, m, d = len(indices), len(others), V.shape[1]
    total = 0.0
    for _ in range(n_steps):
        state, u = uniform(state)
        e = min(int(u * n), n - 1)
        i, j = rows[e], indices[e]
        state, u = uniform(state)
        k = others[min(int(u * m), m - 1)]
        at = np.searchsorted(indices[indptr[i] : indptr[i + 1]], k)
        if at < indptr[i + 1] - indptr[i] and indices[indptr[i] + at] == k:
            continue
        x = c[j] - c[k]
        a, b, v = U[i], V[j], V[k]
        for f in range(d):
            x += a[f] * (b[f] - v[f])
        slope = weights[e] / (1 + np.exp(x))
        total += weights[e] * np.log1p(np.exp(-x))
        step = rate * slope
        shrink = 1 - rate * alpha
        for f in range(d):
            own = a[f]
            a[f] = shrink * own + step * (b[f] - v[f])
            if moves_items:
                b[f] = shrink * b[f] + step * own
                v[f] = shrink * v[f] - step * own
        if moves_items:
            c[j] = shrink * c[j] + step
            c[k] = shrink * c[k] - step
    return total / max(n_steps, 1)
