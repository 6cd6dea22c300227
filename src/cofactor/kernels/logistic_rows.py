"""Logistic regressions of rows in which every column counts: those of stored entries as 1, all others as 0.

Row i minimises J(u) = Σ_k w_k log(1 + exp(-x_k)) + Σ_j log(1 + exp(x_j)) + α/2 |u|², k running over its stored entries
and j over all other columns, with the scores x = c + uF.
"""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.cholesky import factorize, solve_lower, solve_upper
from cofactor.kernels.compile import kernel, ordered
from cofactor.kernels.gibbs import PAD, add_products
from cofactor.kernels.normal import exponential, logarithm

#: Columns that are multiplied at a time: thirty rows of them are about what the fastest memory holds.
_ROOM = 4 * PAD

#: A step must lower J by this share of what the slope promises; by less only if rounding hides it.
_DECREASE, _ROUNDING = 1e-4, 1e-13

_MOST_HALVES = 40


@ordered
def set_scores(features, offsets, u, x):  # type: ignore[no-untyped-def]
    """Write x = c + uF, four rows of F at a time."""
    for j in range(len(x)):
        x[j] = offsets[j]
    a = 0
    while a + 3 < len(u):
        u0, u1, u2, u3 = u[a], u[a + 1], u[a + 2], u[a + 3]
        f0, f1, f2, f3 = features[a], features[a + 1], features[a + 2], features[a + 3]
        for j in range(len(x)):
            x[j] = (((x[j] + u0 * f0[j]) + u1 * f1[j]) + u2 * f2[j]) + u3 * f3[j]
        a += 4
    while a < len(u):
        f = features[a]
        for j in range(len(x)):
            x[j] += u[a] * f[j]
        a += 1


@ordered
def set_losses(items, weights, x, losses, slopes, curvatures):  # type: ignore[no-untyped-def]
    """Write what each score loses, with first and second derivatives."""
    for j in range(len(x)):
        odds = exponential(max(-abs(x[j]), -700.0))
        share = 1 / (1 + odds)
        losses[j] = max(x[j], 0.0) + logarithm(1 + odds)
        slopes[j] = share if x[j] > 0 else odds * share
        curvatures[j] = (odds * share) * share
    for k in range(len(items)):
        j = items[k]
        losses[j] = weights[k] * (losses[j] - x[j])
        slopes[j] = weights[k] * (slopes[j] - 1)
        curvatures[j] *= weights[k]


@kernel
def _total(losses, alpha, u):  # type: ignore[no-untyped-def]
    loss, squares = 0.0, 0.0
    for j in range(len(losses)):
        loss += losses[j]
    for a in range(len(u)):
        squares += u[a] * u[a]
    return loss + 0.5 * alpha * squares


@kernel
def _set_step(features, alpha, u, slopes, curvatures, F, gram, step):  # type: ignore[no-untyped-def]
    """Write the step of Newton's method; return the slope of J along it.

    Hessian and gradient are products of one table: the columns of F and, below, first derivatives, weighed by roots of
    the second ones.
    """
    p = len(u)
    for a in range(p):
        for b in range(a):
            gram[a, b] = 0
        gram[a, a] = alpha
        gram[p, a] = alpha * u[a]
    root = empty(_ROOM)
    for first in range(0, len(slopes), _ROOM):
        here = min(_ROOM, len(slopes) - first)
        for j in range(here):
            root[j] = np.sqrt(curvatures[first + j])
        for a in range(p):
            f, own = F[a], features[a, first : first + here]
            for j in range(here):
                f[j] = root[j] * own[j]
        f = F[p]
        for j in range(here):
            f[j] = slopes[first + j] / max(root[j], 1e-160)  # both are zero where a weight is
        for a in range(p + 1):
            for j in range(here, _ROOM):
                F[a, j] = 0
        add_products(F, _ROOM, gram)
    for a in range(p):
        step[a] = -gram[p, a]
    factorize(gram, p)
    solve_lower(gram, step, p)
    solve_upper(gram, step, p)
    slope = 0.0
    for a in range(p):
        slope += gram[p, a] * step[a]
    return slope


@kernel
def logistic_rows(lo, hi, indptr, indices, weights, features, offsets, alpha, max_iter, tol, out):  # type: ignore[no-untyped-def]
    """Replace the rows lo..hi of `out` by minimisers, which Newton's method finds from where they are.

    `features` is F, (p, m), and `offsets` are c. A row ends with the first step that promises to lower J by less than
    this share `tol` of it.
    """
    p, m = features.shape
    F, gram = empty((p + 1, _ROOM)), empty((p + 1, p + 1))
    u, trial, step = empty(p), empty(p), empty(p)
    x, losses, slopes, curvatures = empty(m), empty(m), empty(m), empty(m)
    for i in range(lo, hi):
        items, w = indices[indptr[i] : indptr[i + 1]], weights[indptr[i] : indptr[i + 1]]
        for a in range(p):
            u[a] = out[i, a]
        set_scores(features, offsets, u, x)
        set_losses(items, w, x, losses, slopes, curvatures)
        value = _total(losses, alpha, u)
        for _ in range(max_iter):
            slope = _set_step(features, alpha, u, slopes, curvatures, F, gram, step)
            last = -0.5 * slope < tol * value
            t, new = 1.0, value
            for _ in range(_MOST_HALVES):
                for a in range(p):
                    trial[a] = u[a] + t * step[a]
                set_scores(features, offsets, trial, x)
                set_losses(items, w, x, losses, slopes, curvatures)
                new = _total(losses, alpha, trial)
                if new <= value + _DECREASE * t * slope + _ROUNDING * value:
                    break
                t /= 2
            else:
                break
            value = new
            for a in range(p):
                u[a] = trial[a]
            if last:
                break
        for a in range(p):
            out[i, a] = u[a]
