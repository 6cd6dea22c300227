"""Sums of logistic regressions of labels on scores: one pass over a table of scores, without tables of its size.

Loops over the labels of a row have no branches, so that they are vectorized; sums over them are loops of their own.
"""

import math

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import exact

KNEE = -1.0  #: logit about which the slope of the curve changes from one end to the other


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
def _softplus(z):  # type: ignore[no-untyped-def]
    """Return log(1 + exp(z)), with the series of log(1 + e) = 2 artanh(e / (2 + e)), to thirteen digits of it."""
    e = _decay(z)
    y = e / (2 + e)
    q = y * y
    t = 1 / 25 + q * (1 / 27)
    t = 1 / 21 + q * (1 / 23 + q * t)
    t = 1 / 17 + q * (1 / 19 + q * t)
    t = 1 / 13 + q * (1 / 15 + q * t)
    t = 1 / 9 + q * (1 / 11 + q * t)
    t = 1 / 5 + q * (1 / 7 + q * t)
    t = 1 + q * (1 / 3 + q * t)
    return max(z, 0.0) + 2 * y * t


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
    common = beta[3] * context[3] + beta[4]
    first = beta[2] * context[0] + common
    best = int(context[2])
    top = np.float64(row[best]) if best >= 0 else 0.0
    bend = beta[1] - beta[0]
    if bend == 0:
        for k in range(len(row)):
            z = np.float64(row[k])
            out[k] = beta[0] * z + first if abs(z) < far else z
    else:
        for k in range(len(row)):
            z = np.float64(row[k])
            out[k] = beta[0] * z + bend * _softplus(z - KNEE) + first if abs(z) < far else z
    if best >= 0:
        out[best] = beta[0] * top + bend * _softplus(top - KNEE) + beta[2] * context[1] + common


@exact
def apply_context(logits, rows, beta, far):  # type: ignore[no-untyped-def]
    """Replace logits within ±far by what the context of their rows makes of them."""
    for i in range(logits.shape[0]):
        _in_context(logits[i], rows[i], beta, far, logits[i])


@exact
def context_sums(logits, rows, weights, beta, far, bent, by_row, hessian):  # type: ignore[no-untyped-def]
    """Add Σ w p x of each row to by_row, (n, 5), and Σ w p (1 - p) x xᵀ of all to the other output.

    x is [z - h, h, largest other logit, log Σ p, 1] for a label of logit z, with h = log(1 + exp(z - KNEE)). All labels
    of a row but the most likely one share all of x but the first two, so nine sums stand for them. For a curve that is
    not bent the sum of the first two is enough: h is 0 then.
    """
    n_labels = logits.shape[1]
    sums, chances, rises = np.zeros(9), empty(n_labels), empty(n_labels)
    for i in range(logits.shape[0]):
        row, best = logits[i], int(rows[i, 2])
        _in_context(row, rows[i], beta, far, chances)
        for k in range(n_labels):
            usable = abs(row[k]) < far
            chances[k] = _chance(chances[k]) if usable else 0.0
            rises[k] = 0.0
        if bent:
            for k in range(n_labels):
                rises[k] = _softplus(np.float64(row[k]) - KNEE) if abs(row[k]) < far else 0.0
        if best >= 0:
            _add_label(np.float64(row[best]), rises[best], chances[best], sums)
            _add_row(sums, rows[i, 1], rows[i, 3], weights[i], by_row[i], hessian)
            chances[best] = 0.0
        for k in range(n_labels):
            _add_label(np.float64(row[k]) if chances[k] > 0 else 0.0, rises[k], chances[k], sums)
        _add_row(sums, rows[i, 0], rows[i, 3], weights[i], by_row[i], hessian)


@exact
def _add_label(z, h, p, sums):  # type: ignore[no-untyped-def]
    """Add p, p a, p h, v, v a, v h, v a², v a h and v h², with v = p (1 - p) and a = z - h."""
    a, v = z - h, p * (1 - p)
    sums[0] += p
    sums[1] += p * a
    sums[2] += p * h
    sums[3] += v
    sums[4] += v * a
    sums[5] += v * h
    sums[6] += v * a * a
    sums[7] += v * a * h
    sums[8] += v * h * h


@exact
def _add_row(sums, other, total, w, gradient, hessian):  # type: ignore[no-untyped-def]
    """Add what labels with the same other logit and log Σ p give; their sums begin at 0 again."""
    x = (other, total, 1.0)
    for a in range(2):
        gradient[a] += w * sums[1 + a]
        for b in range(2):
            hessian[a, b] += w * sums[6 + a + b]
        for b in range(3):
            hessian[a, 2 + b] += w * sums[4 + a] * x[b]
            hessian[2 + b, a] += w * sums[4 + a] * x[b]
    for a in range(3):
        gradient[2 + a] += w * sums[0] * x[a]
        for b in range(3):
            hessian[2 + a, 2 + b] += w * sums[3] * x[a] * x[b]
    sums[:] = 0.0


@exact
def log_partition(logits, rows, beta, far, out):  # type: ignore[no-untyped-def]
    """Write Σ log(1 + exp(z)) of each row, with z the logits within ±far in the context of the row."""
    terms = empty(logits.shape[1])
    for i in range(logits.shape[0]):
        row, total = logits[i], 0.0
        _in_context(row, rows[i], beta, far, terms)
        for k in range(len(row)):
            terms[k] = _softplus(terms[k]) if abs(row[k]) < far else 0.0
        for k in range(len(row)):
            total += terms[k]
        out[i] = total


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
