"""Sums of logistic regressions of labels on scores: one pass over a table of scores, without tables of its size.

Loops over the labels of a row have no branches, so that they are vectorized; sums over them are loops of their own.
"""

import math

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import exact

_FACTORS = 1000  # numbers between 1 and 2 whose product is below the largest number


@exact
def _decay(z):  # type: ignore[no-untyped-def]
    """Return exp(-|z|) to thirteen digits, and no less than exp(-64): the series of |z| / 256, squared eight times."""
    x = -min(abs(z), 64.0) * (1 / 256)
    e = 1 + x * (1 / 10 + x * (1 / 110))
    e = 1 + x * (1 / 8 + x * (1 / 72) * e)
    e = 1 + x * (1 / 6 + x * (1 / 42) * e)
    e = 1 + x * (1 / 4 + x * (1 / 20) * e)
    e = 1 + x * (1 / 2 + x * (1 / 6) * e)
    e = 1 + x * e
    for _ in range(8):
        e *= e
    return e


@exact
def _chance(z):  # type: ignore[no-untyped-def]
    """Return 1 / (1 + exp(-z))."""
    e = _decay(z)
    rare = e / (1 + e)
    return 1 - rare if z >= 0 else rare


@exact
def platt_sums(scores, weights, middle, unit, slope, offset, far, out):  # type: ignore[no-untyped-def]
    """Add to `out`, shape (5, L), what Newton's step of p = σ(slope s + offset) needs of each label.

    The rows are Σ w p s, Σ w p, Σ w p (1 - p) s², Σ w p (1 - p) s and Σ w p (1 - p), with s = (score - middle) / unit,
    over scores within ±far; NaN is left out too.
    """
    ps, p_, vss, vs, v_ = out[0], out[1], out[2], out[3], out[4]
    per_unit = 1 / unit
    for i in range(scores.shape[0]):
        row, weight = scores[i], weights[i]
        for k in range(len(row)):
            usable = abs(row[k]) < far
            w = weight if usable else 0.0
            s = (np.float64(row[k]) - middle) * per_unit if usable else 0.0
            p = _chance(slope[k] * s + offset[k])
            v = w * p * (1 - p)
            ps[k] += w * p * s
            p_[k] += w * p
            vss[k] += v * s * s
            vs[k] += v * s
            v_[k] += v


@exact
def rows_of_logits(logits, far, out):  # type: ignore[no-untyped-def]
    """Write for each row its largest logit, the next one, the label of the largest, and log Σ p, into out, (n, 4).

    Logits beyond ±far are left out. A row without two others gets -far for what it lacks.
    """
    chances = empty(logits.shape[1])
    for i in range(logits.shape[0]):
        row = logits[i]
        for k in range(len(row)):
            chances[k] = _chance(np.float64(row[k])) if abs(row[k]) < far else 0.0
        first, second, best, total = -far, -far, -1, 0.0
        for k in range(len(row)):
            total += chances[k]
            if row[k] > second and row[k] < far:
                z = np.float64(row[k])
                if z > first:
                    first, second, best = z, first, k
                else:
                    second = z
        out[i, 0], out[i, 1], out[i, 2] = first, second, best
        out[i, 3] = math.log(max(total, 1e-9))


@exact
def _in_context(row, context, beta, far, out):  # type: ignore[no-untyped-def]
    """Write what the context of a row makes of its logits; those beyond ±far stay as they are."""
    common = beta[2] * context[3] + beta[3]
    first = beta[1] * context[0] + common
    best = int(context[2])
    top = np.float64(row[best]) if best >= 0 else 0.0
    for k in range(len(row)):
        z = np.float64(row[k])
        out[k] = beta[0] * z + first if abs(z) < far else z
    if best >= 0:
        out[best] = beta[0] * top + beta[1] * context[1] + common


@exact
def apply_context(logits, rows, beta, far):  # type: ignore[no-untyped-def]
    """Replace logits within ±far by what the context of their rows makes of them."""
    for i in range(logits.shape[0]):
        _in_context(logits[i], rows[i], beta, far, logits[i])


@exact
def context_sums(logits, rows, weights, beta, far, by_row, hessian):  # type: ignore[no-untyped-def]
    """Add Σ w p x of each row to by_row, (n, 4), and Σ w p (1 - p) x xᵀ of all to the other output.

    x is [logit, largest other logit, log Σ p, 1]. All labels of a row but the most likely one share all of x but the
    logit, so five sums stand for them.
    """
    ones, chances = empty(5), empty(logits.shape[1])
    for i in range(logits.shape[0]):
        row, best = logits[i], int(rows[i, 2])
        _in_context(row, rows[i], beta, far, chances)
        for k in range(len(row)):
            chances[k] = _chance(chances[k]) if abs(row[k]) < far else 0.0
        if best >= 0:
            z, p = np.float64(row[best]), chances[best]
            v = p * (1 - p)
            ones[0], ones[1], ones[2], ones[3], ones[4] = p, p * z, v, v * z, v * z * z
            _add_row(ones, rows[i, 1], rows[i, 3], weights[i], by_row[i], hessian)
            chances[best] = 0.0
        p0, p1, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(len(row)):
            p = chances[k]
            logit = np.float64(row[k]) if p > 0 else 0.0
            v = p * (1 - p)
            p0 += p
            p1 += p * logit
            v0 += v
            v1 += v * logit
            v2 += v * logit * logit
        ones[0], ones[1], ones[2], ones[3], ones[4] = p0, p1, v0, v1, v2
        _add_row(ones, rows[i, 0], rows[i, 3], weights[i], by_row[i], hessian)


@exact
def _add_row(sums, other, total, w, gradient, hessian):  # type: ignore[no-untyped-def]
    """Add what labels with the same other logit and log Σ p give, from Σ p, Σ p z, Σ v, Σ v z and Σ v z²."""
    x = (0.0, other, total, 1.0)
    gradient[0] += w * sums[1]
    hessian[0, 0] += w * sums[4]
    for a in range(1, 4):
        gradient[a] += w * sums[0] * x[a]
        hessian[0, a] += w * sums[3] * x[a]
        hessian[a, 0] += w * sums[3] * x[a]
        for b in range(1, 4):
            hessian[a, b] += w * sums[2] * x[a] * x[b]


@exact
def log_partition(logits, rows, beta, far, out):  # type: ignore[no-untyped-def]
    """Write Σ log(1 + exp(z)) of each row, with z the logits within ±far in the context of the row."""
    decays = empty(logits.shape[1])
    for i in range(logits.shape[0]):
        row = logits[i]
        _in_context(row, rows[i], beta, far, decays)
        total, factors = 0.0, 1.0
        for k in range(len(row)):
            total += decays[k] if decays[k] > 0 and abs(row[k]) < far else 0.0
        for k in range(len(row)):
            decays[k] = _decay(decays[k]) if abs(row[k]) < far else 0.0
        for k in range(len(row)):
            factors *= 1 + decays[k]
            if k % _FACTORS == 0:
                total += math.log(factors)
                factors = 1.0
        out[i] = total + math.log(factors)


@exact
def logit_histogram(logits, weights, end, out):  # type: ignore[no-untyped-def]
    """Add the weight of each logit to its place among len(out) equal steps from -end to end; NaN is left out."""
    last = len(out) - 1
    per_logit = last / (2 * end)
    places = empty(logits.shape[1], np.int64)
    for i in range(logits.shape[0]):
        row = logits[i]
        for k in range(len(row)):
            z = min(max(np.float64(row[k]), -end), end) if row[k] == row[k] else 2 * end
            places[k] = np.int64((z + end) * per_logit)
        for k in range(len(row)):
            if places[k] <= last:
                out[places[k]] += weights[i]
