"""Stochastic gradient steps of a factorization, one for each observed entry."""

import numpy as np

from cofactor.kernels.compile import kernel

#: A step goes at most this share of the way to where the entry is fitted exactly; longer ones overshoot.
LARGEST_SHARE = 0.9


@kernel
def entry_steps(order, rows, columns, targets, link, U, V, ridge_u, ridge_v, step):  # type: ignore[no-untyped-def]
    """Take a step for each entry of `order`, in place, along minus the gradient of its share of half the objective.

    The share of entry (i, j) is ½ (y - g(U_i·V_j))² + ½ ridge_u_i ‖U_i‖² + ½ ridge_v_j ‖V_j‖² with
    g(x) = low + span / (1 + e^-(x + offset)), (low, span, offset) = `link`; g(x) = x where span is 0.
    """
    low, span, offset = link
    d = U.shape[1]
    for at in range(len(order)):
        k = order[at]
        i = rows[k]
        j = columns[k]
        u = U[i]
        v = V[j]
        s = 0.0
        u_squared = 0.0
        v_squared = 0.0
        for f in range(d):
            s += u[f] * v[f]
            u_squared += u[f] * u[f]
            v_squared += v[f] * v[f]
        slope = 1.0
        if span > 0:
            p = 1 / (1 + np.exp(-(s + offset)))
            slope = span * p * (1 - p)
            s = low + span * p
        curvature = slope * slope * (u_squared + v_squared) + max(ridge_u[i], ridge_v[j])
        t = min(step, LARGEST_SHARE / curvature) if curvature > 0 else step
        pull = t * slope * (targets[k] - s)
        keep_u = 1 - t * ridge_u[i]
        keep_v = 1 - t * ridge_v[j]
        for f in range(d):
            a = u[f]
            b = v[f]
            u[f] = keep_u * a + pull * b
            v[f] = keep_v * b + pull * a
