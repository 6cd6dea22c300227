"""Non-negative factors: least squares for many right-hand sides, and rows of masked factorizations."""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel
from cofactor.kernels.ridge import add_outer


@kernel
def nonnegative_rows(lo, hi, gram, cross, tol, max_sweeps, out):  # type: ignore[no-untyped-def]
    """Improve rows lo..hi of `out` until they minimise ½ v·Gv - q·v over v >= 0, q the same row of `cross`.

    Cyclic coordinate descent which keeps the slope Gv - q current: a coordinate which stays at 0 costs one comparison.
    A row is done when no slope of a free coordinate, and no negative slope of a coordinate at 0, exceeds `tol` times
    the largest |q|. Coordinates without curvature stay 0. Returns how many rows were not done after `max_sweeps`.
    """
    J = gram.shape[0]
    slope = empty(J)
    unfinished = 0
    for i in range(lo, hi):
        v = out[i]
        size = 0.0
        for j in range(J):
            slope[j] = -cross[i, j]
            size = max(size, abs(cross[i, j]))
            if gram[j, j] <= 0:
                v[j] = 0
        for j in range(J):
            if v[j] != 0:
                row = gram[j]
                for k in range(J):
                    slope[k] += v[j] * row[k]
        done = False
        for _ in range(max_sweeps):
            worst = 0.0
            for j in range(J):
                s = slope[j]
                curvature = gram[j, j]
                if curvature <= 0 or (v[j] == 0 and s >= 0):
                    continue
                worst = max(worst, abs(s))
                following = max(v[j] - s / curvature, 0.0)
                move = following - v[j]
                if move != 0:
                    v[j] = following
                    row = gram[j]
                    for k in range(J):
                        slope[k] += move * row[k]
            if worst <= tol * size:
                done = True
                break
        if not done:
            unfinished += 1
    return unfinished


@kernel
def coordinate_rows(lo, hi, indptr, indices, targets, V, ridge, tol, max_sweeps, out):  # type: ignore[no-untyped-def]
    """Improve rows lo..hi of `out` as minimisers of Σ_k (t_k - u·V_{j_k})² + ridge ‖u‖² over u >= 0.

    k runs over the stored entries of a row. Cyclic coordinate descent which keeps the slopes current; a row is done
    when a sweep moved no coordinate by more than `tol` times the largest one. Rows without entries become zero. Returns
    how many rows were not done after `max_sweeps`.
    """
    d = V.shape[1]
    u = empty(d)
    slope = empty(d)
    gram = empty((d, d))
    unfinished = 0
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        if n == 0:
            out[i] = 0
            continue
        F = empty((n, d))
        slope[:] = 0
        for k in range(n):
            v = V[indices[start + k]]
            t = targets[start + k]
            own = F[k]
            for f in range(d):
                own[f] = v[f]
                slope[f] -= t * v[f]
        gram[:] = 0
        add_outer(F, gram)
        for e in range(d):
            gram[e, e] += ridge
            for f in range(e):
                gram[f, e] = gram[e, f]
        for e in range(d):
            u[e] = out[i, e]
            row = gram[e]
            for f in range(d):
                slope[f] += u[e] * row[f]
        done = False
        for _ in range(max_sweeps):
            largest = 0.0
            size = 0.0
            for e in range(d):
                row = gram[e]
                following = max(u[e] - slope[e] / row[e], 0.0) if row[e] > 0 else 0.0
                move = following - u[e]
                if move != 0:
                    u[e] = following
                    for f in range(d):
                        slope[f] += move * row[f]
                largest = max(largest, abs(move))
                size = max(size, following)
            if largest <= tol * size:
                done = True
                break
        if not done:
            unfinished += 1
        for f in range(d):
            out[i, f] = u[f]
    return unfinished


@kernel
def ratio_root(positive, negative, pull, beta):  # type: ignore[no-untyped-def]
    """Return the root ρ > 0 of positive ρ^a - negative ρ^b + pull ρ, where a = max(β - 1, 0) and b = min(β - 2, 0).

    At `pull` = 0 it is (negative / positive)^(1 / (a - b)). Otherwise Newton's method in log ρ, where the equation is
    convex and increasing, comes down to it from the lesser of two upper bounds.
    """
    if negative <= 0:
        return 0.0
    a = max(beta - 1, 0.0)
    b = min(beta - 2, 0.0)
    if pull <= 0:
        return (negative / max(positive, 1e-300)) ** (1 / (a - b))
    if beta == 2:
        return negative / (positive + pull)
    s = np.log(negative / pull) / (1 - b)
    if positive > 0:
        s = min(s, np.log(negative / positive) / (a - b))
    goal = np.log(negative)
    for _ in range(60):
        first = positive * np.exp(a * s)
        second = pull * np.exp(s)
        total = first + second
        move = (np.log(total) - goal - b * s) / ((a * first + second) / total - b)
        s -= move
        if abs(move) <= 1e-10:
            break
    return np.exp(s)


@kernel
def multiplicative_rows(lo, hi, indptr, indices, targets, V, ridge, beta, least, tol, max_sweeps, out):  # type: ignore[no-untyped-def]
    """Improve rows lo..hi of `out` as minimisers of Σ_k ℓ(t_k, u·V_{j_k}) + ½ ridge ‖u‖² over u >= `least`.

    ℓ is the β-divergence, and k runs over the stored entries of a row. Each sweep multiplies u by the minimiser of a
    function that touches the objective at u and lies above it (Févotte & Idier 2011), whose terms have one coordinate
    each. Stopping, rows without entries and the number returned are as in `coordinate_rows`.
    """
    d = V.shape[1]
    u = empty(d)
    negative = empty(d)
    positive = empty(d)
    unfinished = 0
    for i in range(lo, hi):
        if indptr[i] == indptr[i + 1]:
            out[i] = least
            continue
        for f in range(d):
            u[f] = max(out[i, f], least)
        done = False
        for _ in range(max_sweeps):
            negative[:] = 0
            positive[:] = 0
            for k in range(indptr[i], indptr[i + 1]):
                v = V[indices[k]]
                x = 0.0
                for f in range(d):
                    x += u[f] * v[f]
                x = max(x, 1e-12)
                if beta == 2:
                    power = 1.0
                elif beta == 1:
                    power = 1 / x
                elif beta == 0:
                    power = 1 / (x * x)
                else:
                    power = x ** (beta - 2)
                p = x * power
                q = targets[k] * power
                for f in range(d):
                    positive[f] += p * v[f]
                    negative[f] += q * v[f]
            largest = 0.0
            size = 0.0
            for f in range(d):
                following = max(u[f] * ratio_root(positive[f], negative[f], ridge * u[f], beta), least)
                largest = max(largest, abs(following - u[f]))
                size = max(size, following)
                u[f] = following
            if largest <= tol * size:
                done = True
                break
        if not done:
            unfinished += 1
        for f in range(d):
            out[i, f] = u[f]
    return unfinished
