r"""Gibbs draws of binary features of users under the Indian buffet process, whose number changes.

Given scales of hinges (`kernels.hinges`), a rating's loss is ½ W (x - t)², where x is the sum of an item's weights v_k
over the features that the user has. The rows are drawn one after the other, since each changes how many have a feature.
"""

import math

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import exact
from cofactor.kernels.hinges import draw_scales_and_thresholds
from cofactor.kernels.random import normal, stream, uniform

#: Most features that a row may get in one draw: of a Poisson distribution with a mean far below one.
_MOST_NEW = 10

#: Log-odds beyond this are certain.
_CERTAIN = 35.0


@exact
def flip_features(state, z, logits, F, W, residual, skip):  # type: ignore[no-untyped-def]
    """Draw the features z of a row one by one; return the stream.

    Row k of `F` is the weight of feature k for each rating, W are weights and `residual` is t - x, which is kept up to
    date. `logits` are the prior log-odds; features with `skip` stay as they are.
    """
    n = len(W)
    for k in range(len(F)):
        if skip[k]:
            continue
        f = F[k]
        here = z[k]
        odds = logits[k]
        total = 0.0
        for j in range(n):  # the residual without this feature, less half of its weight
            total += W[j] * f[j] * (residual[j] + (here - 0.5) * f[j])
        odds = min(max(odds + total, -_CERTAIN), _CERTAIN)
        state, u = uniform(state)
        there = 1.0 if u * (1 + np.exp(-odds)) < 1 else 0.0
        if there != here:
            z[k] = there
            for j in range(n):
                residual[j] += (here - there) * f[j]
    return state


@exact
def number_of_new(state, rate, variance, W, residual, most):  # type: ignore[no-untyped-def]
    """Draw how many features a row alone has, their weights integrated out; return the stream and the number.

    The prior is Poisson with mean `rate`, cut off at `most`. With κ of them x gains N(0, κσ²) for each rating.
    """
    logs = empty(most + 1)
    best = -np.inf
    for q in range(most + 1):
        v = q * variance
        value = q * np.log(rate) - math.lgamma(q + 1.0)
        for j in range(len(W)):
            spread = 1 + v * W[j]
            g = W[j] * residual[j]
            value += 0.5 * (v * g * g / spread - np.log(spread))
        logs[q] = value
        best = max(best, value)
    total = 0.0
    for q in range(most + 1):
        logs[q] = np.exp(logs[q] - best)
        total += logs[q]
    state, u = uniform(state)
    u *= total
    number = 0
    while number < most and u >= logs[number]:
        u -= logs[number]
        number += 1
    return state, number


@exact
def new_weights(state, V, columns, variance, items, W, residual):  # type: ignore[no-untyped-def]
    """Draw all items' weights of the features in `columns`, which one row alone has; return the stream.

    Those of the row's items given its ratings: precision I/σ² + W 11ᵀ, linear term W (t - x) 1. Others from the prior.
    """
    q = len(columns)
    sigma = np.sqrt(variance)
    for j in range(len(V)):
        for a in range(q):
            state, g = normal(state)
            V[j, columns[a]] = sigma * g
    for k in range(len(items)):
        row = V[items[k]]
        spread = 1 + q * variance * W[k]
        total = 0.0
        for a in range(q):
            total += row[columns[a]]
        shift = variance * W[k] * residual[k] / spread - (1 - 1 / np.sqrt(spread)) / q * total
        for a in range(q):
            row[columns[a]] += shift
    return state


@exact
def draw_features(  # type: ignore[no-untyped-def]
    key, order, indptr, indices, targets, weights, Z, V, counts, d, concentration, variance, biased
):
    """Draw the features of all rows, in this order, and the weights of those that only one row has.

    `counts` says how many rows have each of the first d columns, those for features; a column that none has is free.
    With `biased`, the last column of V is a bias.
    """
    n = len(order)
    rate = concentration / n
    skip, logits = zeros(d, np.bool_), empty(d)
    columns = empty(_MOST_NEW, np.int64)
    for i in order:
        state = stream(key, i)
        items = indices[indptr[i] : indptr[i + 1]]
        W = weights[indptr[i] : indptr[i + 1]]
        z = Z[i]
        for a in range(d):
            others = counts[a] - z[a]
            skip[a] = others == 0
            if not skip[a]:
                logits[a] = np.log(others / (n - others))
            counts[a] = others
        F, residual = empty((d, len(items))), empty(len(items))
        for k in range(len(items)):
            v = V[items[k]]
            x = v[d] if biased else 0.0
            for a in range(d):
                if not skip[a] or z[a] > 0:
                    F[a, k] = v[a]
            for a in range(d):  # apart from what is stored: see `compile.FASTMATH`
                x += z[a] * v[a]
            residual[k] = targets[indptr[i] + k] - x
        state = flip_features(state, z[:d], logits, F, W, residual, skip)
        n_free = 0
        for a in range(d):
            if skip[a]:  # features that no other row has are dropped, and drawn anew
                if z[a] > 0:
                    for k in range(len(items)):
                        residual[k] += F[a, k]
                    z[a] = 0
                if n_free < _MOST_NEW:
                    columns[n_free] = a
                    n_free += 1
        state, n_new = number_of_new(state, rate, variance, W, residual, n_free)
        if n_new > 0:
            new_weights(state, V, columns[:n_new], variance, items, W, residual)
            z[columns[:n_new]] = 1
        for a in range(d):
            counts[a] += z[a]


@exact
def fold_features(  # type: ignore[no-untyped-def]
    lo, hi, key, indptr, indices, levels, other, biased, d, logits, centre, precision, c, width,
    first_features, first_thresholds, n_cycles, out, thresholds,
):  # fmt: skip
    """Draw features and thresholds of new users under one sample of items and thresholds' prior.

    Each user's chain starts at those given. `logits` are the prior log-odds of the d features, none of which is new.
    All have the same stream: what is drawn for
    a user does not depend on who else is there.
    """
    skip = zeros(d, np.bool_)
    for i in range(lo, hi):
        here = slice(indptr[i], indptr[i + 1])
        items = indices[here]
        n = len(items)
        state = stream(key, 0)
        F, base = empty((d, n)), empty(n)
        for k in range(n):
            v = other[items[k]]
            base[k] = v[d] if biased else 0
            for a in range(d):
                F[a, k] = v[a]
        x, residual, weights, targets = empty(n), empty(n), empty(n), empty(n)
        room = empty((len(centre) + 2, n))
        theta = first_thresholds[i].copy()
        z = first_features[i].copy()
        for k in range(n):
            x[k] = base[k]
        for a in range(d):
            for k in range(n):
                x[k] += z[a] * F[a, k]
        for _ in range(n_cycles):
            state, _ = draw_scales_and_thresholds(
                state, x, levels[here], centre, precision, c, width, theta, weights, targets, room
            )
            for k in range(n):
                residual[k] = targets[k] - x[k]
            state = flip_features(state, z, logits, F, weights, residual, skip)
            for k in range(n):
                x[k] = targets[k] - residual[k]
        for a in range(d):
            out[i, a] = z[a]
        for r in range(len(theta)):
            thresholds[i, r] = theta[r]
