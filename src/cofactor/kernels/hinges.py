"""Gibbs draws for hinge losses at all thresholds, which latent scales turn into squares (Polson & Scott 2011).

For a rating of level y, T_r is +1 where y ≤ r and -1 elsewhere, and ζ_r = ℓ - T_r (θ_r - x). Then

    exp(-2c max(0, ζ)) = ∫ (2πλ)^-½ exp(-(λ + cζ)² / (2λ)) dλ,    1/λ | ζ ~ inverse Gaussian (1 / (c|ζ|), 1)

so that, given λ, the loss of all thresholds of a rating is ½ W (x - t)² with W = Σ_r ω_r, ω = c²/λ. Rows, streams and
blocks are those of `kernels.gibbs`.

Users may have binary features under the Indian buffet process, whose number changes. Given scales of hinges, a rating's
loss is ½ W (x - t)², where x is the sum of an item's weights v_k over the features that the user has. The rows are
drawn one after the other, since each changes how many have a feature.
"""

import math

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import exact
from cofactor.kernels.gibbs import score
from cofactor.kernels.gibbs_rows import draw_row, own_table, room_of_rows, set_scores
from cofactor.kernels.normal import exponential
from cofactor.kernels.random import inverse_gaussians, normal, stream, uniform
from cofactor.kernels.ridge import prior_equations

#: Smallest c|ζ|, and largest 1/λ: at a kink of a hinge the latter has no mean, and a row of such weights no digits.
_KINK = 1e-8
_MOST = 1e10


@exact
def draw_scales_and_thresholds(  # type: ignore[no-untyped-def]
    state, x, levels, centre, precision, c, width, theta, weights, targets, room
):
    """Draw λ of a user's ratings given x and θ, and then θ, whose prior is N(centre, 1 / precision).

    Write the weights W and targets t that the ratings have in x afterwards, and ω_r into the rows of `room` of shape
    (R + 1, n), the last two of which are to work in; return the stream, and minus the loss at the new θ.
    """
    n = len(x)
    value = 0.0
    weights[:] = 0
    targets[:] = 0
    for r in range(len(theta)):
        t, omega = theta[r], room[r]
        for k in range(n):
            sign = 1.0 if levels[k] <= r + 1 else -1.0
            omega[k] = 1 / max(c * abs(width - sign * (t - x[k])), _KINK)
        state = inverse_gaussians(state, omega, room[-2], room[-1])
        total, shift = precision[r], precision[r] * centre[r]
        for k in range(n):
            omega[k] = c * c * min(room[-2, k], _MOST)
        for k in range(n):  # apart from what is stored: see `compile.FASTMATH`
            sign = 1.0 if levels[k] <= r + 1 else -1.0
            total += omega[k]
            shift += sign * c + omega[k] * (x[k] + sign * width)
        state, g = normal(state)
        t = shift / total + g / np.sqrt(total)
        theta[r] = t
        for k in range(n):
            sign = 1.0 if levels[k] <= r + 1 else -1.0
            w = omega[k]
            weights[k] += w
            targets[k] += w * (t - sign * width) - sign * c
        for k in range(n):
            sign = 1.0 if levels[k] <= r + 1 else -1.0
            value -= max(width - sign * (t - x[k]), 0.0)
    for k in range(n):
        targets[k] /= weights[k]
    return state, 2 * c * value


@exact
def draw_hinge_rows(  # type: ignore[no-untyped-def]
    lo, hi, key, indptr, indices, levels, own, table, centre, precision, c, width,
    thresholds, weights, targets, value,
):  # fmt: skip
    """Draw λ and θ of the rows lo..hi, as `draw_scales_and_thresholds` does.

    `table` has the rows of the other side, see `pad_features`.
    """
    for i in range(lo, hi):
        here = slice(indptr[i], indptr[i + 1])
        n = indptr[i + 1] - indptr[i]
        x = empty(n)
        room = empty((len(centre) + 2, n))
        set_scores(indptr[i], indptr[i + 1], indices, table, own[i], x)
        _, value[i] = draw_scales_and_thresholds(
            stream(key, i), x, levels[here], centre, precision, c, width, thresholds[i], weights[here], targets[here],
            room,
        )  # fmt: skip


@exact
def _diagonal_equations(precision):  # type: ignore[no-untyped-def]
    """Return `prior_equations` where coordinates are independent."""
    p = len(precision)
    table = zeros((p, p))
    for a in range(p):
        table[a, a] = precision[a]
    return prior_equations(table)


@exact
def fold_hinge_rows(  # type: ignore[no-untyped-def]
    lo, hi, key, indptr, indices, levels, other, biased, row_precision, row_mean, centre, precision, c, width,
    first_rows, first_thresholds, n_cycles, out, thresholds,
):  # fmt: skip
    """Draw rows and thresholds of new users under one sample of all that belongs to items and to the prior.

    Each user's chain starts at those given, and has `n_cycles` cycles. All have the same stream: what is drawn for
    a user does not depend on who else is there.
    """
    p = other.shape[1]
    in_place, of_rows = empty(0, np.int32), room_of_rows(p, 0.0)
    prior = _diagonal_equations(row_precision)
    for i in range(lo, hi):
        here = slice(indptr[i], indptr[i + 1])
        items = indices[here]
        n = len(items)
        state = stream(key, 0)
        u = first_rows[i].copy()
        shift = row_precision * row_mean[i]
        theta = first_thresholds[i].copy()
        table, rows = own_table(items, other, biased, 0.0)
        x, weights, targets, room = empty(n), empty(n), empty(n), empty((len(centre) + 2, n))
        for _ in range(n_cycles):
            set_scores(0, n, rows, table, u, x)
            state, _ = draw_scales_and_thresholds(
                state, x, levels[here], centre, precision, c, width, theta, weights, targets, room
            )
            for k in range(n):
                weights[k] = np.sqrt(weights[k])
            state = draw_row(state, 0, n, rows, in_place, targets, weights, table, prior, shift, of_rows, u)
        for a in range(p):
            out[i, a] = u[a]
        for r in range(len(theta)):
            thresholds[i, r] = theta[r]


@exact
def fold_hinge_columns(  # type: ignore[no-untyped-def]
    lo, hi, key, indptr, indices, levels, other, thresholds, biased, row_precision, row_mean, c, width,
    first_rows, n_cycles, out,
):  # fmt: skip
    """Draw rows of items lo..hi under one sample of all that belongs to users and to the prior.

    A cycle draws the scales λ given the item's row, then the row given these; each item's chain starts at the row
    given. All have the same stream: what is drawn for an item does not depend on which others are there.
    """
    p = other.shape[1]
    in_place, of_rows = empty(0, np.int32), room_of_rows(p, 0.0)
    prior = _diagonal_equations(row_precision)
    for j in range(lo, hi):
        here = slice(indptr[j], indptr[j + 1])
        users, y = indices[here], levels[here]
        n = len(users)
        state = stream(key, 0)
        v = first_rows[j].copy()
        shift = row_precision * row_mean[j]
        weights, targets, omega, room = empty(n), empty(n), empty(n), empty(n)
        x = empty(n)
        table, rows = own_table(users, other, biased, 0.0)
        for _ in range(n_cycles):
            set_scores(0, n, rows, table, v, x)
            weights[:] = 0
            targets[:] = 0
            for r in range(thresholds.shape[1]):
                for k in range(n):
                    sign = 1.0 if y[k] <= r + 1 else -1.0
                    omega[k] = 1 / max(c * abs(width - sign * (thresholds[users[k], r] - x[k])), _KINK)
                state = inverse_gaussians(state, omega, omega, room)
                for k in range(n):
                    sign = 1.0 if y[k] <= r + 1 else -1.0
                    w = c * c * min(omega[k], _MOST)
                    weights[k] += w
                    targets[k] += w * (thresholds[users[k], r] - sign * width) - sign * c
            for k in range(n):
                targets[k] /= weights[k]
                weights[k] = np.sqrt(weights[k])
            state = draw_row(state, 0, n, rows, in_place, targets, weights, table, prior, shift, of_rows, v)
        for a in range(p):
            out[j, a] = v[a]


@exact
def mean_margins(lo, hi, users, items, U, V, thresholds, biased, out):  # type: ignore[no-untyped-def]
    """Write the mean of x - θ_r over samples, along the first axis of U, V and thresholds, for the pairs lo..hi."""
    S, n_thresholds = len(U), thresholds.shape[2]
    total = zeros((hi - lo, n_thresholds))
    for s in range(S):
        for k in range(hi - lo):
            i = users[lo + k]
            x = np.float64(score(U[s, i], V[s, items[lo + k]], biased))
            for r in range(n_thresholds):
                total[k, r] += x - thresholds[s, i, r]
    for k in range(hi - lo):
        for r in range(n_thresholds):
            out[lo + k, r] = total[k, r] / S


@exact
def hinge_probabilities(lo, hi, users, items, draws, U, V, thresholds, biased, c, width, out):  # type: ignore[no-untyped-def]
    """Write the mean over samples of exp(-2c Σ_r max(0, ζ_r)), made to sum to one over levels, for the pairs lo..hi.

    `draws` holds the numbers of the samples to take.
    """
    S, n_thresholds = len(draws), thresholds.shape[2]
    n = hi - lo
    p = empty((n_thresholds + 1, n))
    mean = zeros((n_thresholds + 1, n))
    x, theta, total = empty(n), empty(n), empty(n)
    for s in draws:
        for k in range(n):
            x[k] = score(U[s, users[lo + k]], V[s, items[lo + k]], biased)
            total[k] = 0
        for r in range(n_thresholds):  # p_{r+1} / p_r, the difference of the losses of two levels at one threshold
            for k in range(n):
                theta[k] = thresholds[s, users[lo + k], r] - x[k]
            ratio = p[r + 1]
            for k in range(n):
                ratio[k] = 2 * c * (max(width - theta[k], 0.0) - max(width + theta[k], 0.0))
        # In logarithms, against the largest: then nothing overflows.
        for k in range(n):
            p[0, k] = 0
            x[k] = 0
        for r in range(1, n_thresholds + 1):
            for k in range(n):
                p[r, k] += p[r - 1, k]
                x[k] = max(x[k], p[r, k])
        for r in range(n_thresholds + 1):
            for k in range(n):
                e = exponential(max(p[r, k] - x[k], -700.0))
                p[r, k] = e
                total[k] += e
        for r in range(n_thresholds + 1):
            for k in range(n):
                mean[r, k] += p[r, k] / total[k]
    for r in range(n_thresholds + 1):
        for k in range(n):
            out[lo + k, r] = mean[r, k] / S


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
