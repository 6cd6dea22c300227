"""Stochastic gradient steps: of two matrices that share codes, of observed entries, and of pairs of items.

Two matrices have rows x ≈ P h and y ≈ Q h. A step P ← c P + b (x - P h) hᵀ changes all of P, but it is P (c I - b h hᵀ)
+ b x hᵀ. Therefore P is kept as a product A M with a small square M: the first term changes M alone, the second only
those rows of A where x is not zero. N is the inverse of M, and G = PᵀP is kept current, so that a row costs O(nnz s +
s²) besides the solution for its code.

Pairs are an item that a user has and one that the user lacks: Bayesian personalized ranking.
"""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.cholesky import factorize, solve_lower, solve_upper
from cofactor.kernels.compile import kernel
from cofactor.kernels.random import stream, uniform

#: A step takes away at most this share of P along h, so that c I - b h hᵀ keeps an inverse. A step of 1 / ‖h‖² fits x
#: exactly, longer ones overshoot.
LARGEST_SHARE = 0.9


@kernel
def project(indices, values, A, M, sums, out):  # type: ignore[no-untyped-def]
    """Write out = (A M)ᵀ x for a sparse x; return ‖x‖²."""
    d = len(out)
    sums[:] = 0
    squared = 0.0
    for k in range(len(indices)):
        a = A[indices[k]]
        value = values[k]
        squared += value * value
        for f in range(d):
            sums[f] += value * a[f]
    out[:] = 0
    for e in range(d):
        row = M[e]
        t = sums[e]
        for f in range(d):
            out[f] += t * row[f]
    return squared


@kernel
def step(indices, values, squared, u, h, c, b, A, M, N, G, p, v):  # type: ignore[no-untyped-def]
    """Take the step P ← c P + b (x - P h) hᵀ for P = A M, with u = Pᵀx and ‖x‖² = `squared` given.

    G = PᵀP moves along by its rank-two rule, with p = Pᵀ(x - P h) (corrections.md, C51a). Returns the factor by which
    the condition of M grew at most.
    """
    d = len(h)
    length = 0.0
    for f in range(d):
        length += h[f] * h[f]
    if length > 0:
        b = min(b, LARGEST_SHARE * c / length)
    rest = c - b * length
    residual = squared
    for e in range(d):
        row = G[e]
        t = u[e]
        for f in range(d):
            t -= row[f] * h[f]
        p[e] = t
        residual -= h[e] * (u[e] + t)
    residual = max(residual, 0.0)
    v[:] = 0
    for e in range(d):
        row = N[e]
        t = h[e]
        for f in range(d):
            v[f] += t * row[f]
    for e in range(d):
        own_m = M[e]
        own_n = N[e]
        own_g = G[e]
        t = 0.0
        for f in range(d):
            t += own_m[f] * h[f]
        t *= b
        w = b * h[e] / rest
        along_h = c * b * p[e] + b * b * residual * h[e]
        along_p = c * b * h[e]
        for f in range(d):
            own_m[f] = c * own_m[f] - t * h[f]
            own_n[f] = (own_n[f] + w * v[f]) / c
            own_g[f] = c * c * own_g[f] + along_h * h[f] + along_p * p[f]
    for k in range(len(indices)):
        a = A[indices[k]]
        t = b * values[k] / rest
        for f in range(d):
            a[f] += t * v[f]
    return c / rest


@kernel
def sweep(order, first, X, Y, features, labels, conditions, weight, ridge, decay, inverse_step, worst):  # type: ignore[no-untyped-def]
    """Take one step for each row of `order` from `first` on, until M of a side is too ill-conditioned to go on.

    The code of a row comes first: h = (ridge I + (1-a) PᵀP + a QᵀQ)⁻¹ ((1-a) Pᵀx + a Qᵀy), a = `weight`; then P and Q
    move by the step length γ = 1 / inverse_step, and `inverse_step` grows by `decay`, which is the share of the ridge
    that belongs to one row (corrections.md, C43 to C47).

    Parameters
    ----------
    order, first
        Rows to visit, and where among them to begin.
    X, Y : tuple of ndarray
        (indptr, indices, values) of the two sparse matrices.
    features, labels : tuple of ndarray
        (A, M, N, G) of P and of Q.
    conditions : ndarray of shape (2,)
        Bounds on the condition of the two M, 1 where M is the unit matrix; changed in place.
    weight, ridge, decay, inverse_step : float
        a, λ, λ/n and 1/γ.
    worst : float
        No step is taken where one of `conditions` is as large as this.

    Returns
    -------
    position, inverse_step : int, float
        Where among `order` to go on, and 1/γ there.
    """
    x_indptr, x_indices, x_values = X
    y_indptr, y_indices, y_values = Y
    A_P, M_P, N_P, G_P = features
    A_Q, M_Q, N_Q, G_Q = labels
    d = len(G_P)
    system = empty((d, d))
    u_P, u_Q, h, p, v = empty(d), empty(d), empty(d), empty(d), empty(d)
    k = first
    while k < len(order) and conditions[0] < worst and conditions[1] < worst:
        i = order[k]
        xi, xv = x_indices[x_indptr[i] : x_indptr[i + 1]], x_values[x_indptr[i] : x_indptr[i + 1]]
        yi, yv = y_indices[y_indptr[i] : y_indptr[i + 1]], y_values[y_indptr[i] : y_indptr[i + 1]]
        x_squared = project(xi, xv, A_P, M_P, p, u_P)
        y_squared = project(yi, yv, A_Q, M_Q, p, u_Q)
        for e in range(d):
            for f in range(e + 1):
                system[e, f] = (1 - weight) * G_P[e, f] + weight * G_Q[e, f]
            system[e, e] += ridge
            h[e] = (1 - weight) * u_P[e] + weight * u_Q[e]
        factorize(system, d)
        solve_lower(system, h, d)
        solve_upper(system, h, d)
        gamma = 1 / inverse_step
        c = 1 - min(gamma * decay, 0.5)
        conditions[0] *= step(xi, xv, x_squared, u_P, h, c, gamma * (1 - weight), A_P, M_P, N_P, G_P, p, v)
        conditions[1] *= step(yi, yv, y_squared, u_Q, h, c, gamma * weight, A_Q, M_Q, N_Q, G_Q, p, v)
        inverse_step += decay
        k += 1
    return k, inverse_step


#: A step goes at most this share of the way to where the entry is fitted exactly; longer ones overshoot.


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
        at, behind = indptr[i], indptr[i + 1]
        while at < behind:  # the first of the row that is not below k
            middle = (at + behind) >> 1
            if indices[middle] < k:
                at = middle + 1
            else:
                behind = middle
        if at < indptr[i + 1] and indices[at] == k:
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
