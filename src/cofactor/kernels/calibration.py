"""Sums of logistic regressions of labels on scores: one pass over a table of scores, without tables of its size."""

import math

import numpy as np

from cofactor.kernels.compile import exact


@exact
def _chance(z):  # type: ignore[no-untyped-def]
    """Return 1 / (1 + exp(-z)), without overflow."""
    e = math.exp(-abs(z))
    return 1 / (1 + e) if z >= 0 else e / (1 + e)


@exact
def platt_sums(scores, weights, middle, unit, slope, offset, far, out):  # type: ignore[no-untyped-def]
    """Add to `out`, shape (5, L), what Newton's step of p = σ(slope s + offset) needs of each label.

    The rows are Σ w p s, Σ w p, Σ w p (1 - p) s², Σ w p (1 - p) s and Σ w p (1 - p), with s = (score - middle) / unit,
    over scores within ±far; NaN is left out too.
    """
    for i in range(scores.shape[0]):
        w = weights[i]
        for k in range(scores.shape[1]):
            s = np.float64(scores[i, k])
            if not abs(s) < far:
                continue
            s = (s - middle) / unit
            p = _chance(slope[k] * s + offset[k])
            v = w * p * (1 - p)
            out[0, k] += w * p * s
            out[1, k] += w * p
            out[2, k] += v * s * s
            out[3, k] += v * s
            out[4, k] += v


@exact
def rows_of_logits(logits, far, out):  # type: ignore[no-untyped-def]
    """Write for each row its largest logit, the next one, the label of the largest, and log Σ p, into out, (n, 4).

    Logits beyond ±far are left out. A row without two others gets -far for what it lacks.
    """
    for i in range(logits.shape[0]):
        first, second, best, total = -far, -far, -1, 0.0
        for k in range(logits.shape[1]):
            z = np.float64(logits[i, k])
            if not abs(z) < far:
                continue
            total += _chance(z)
            if z > first:
                first, second, best = z, first, k
            elif z > second:
                second = z
        out[i, 0], out[i, 1], out[i, 2] = first, second, best
        out[i, 3] = math.log(max(total, 1e-9))


@exact
def context_sums(logits, rows, weights, beta, far, by_row, hessian):  # type: ignore[no-untyped-def]
    """Add Σ w p x of each row to by_row, (n, 4), and Σ w p (1 - p) x xᵀ of all to the other output.

    x is [logit, largest other logit, log Σ p, 1]. All labels of a row but the most likely one share all of x but the
    logit, so five sums stand for them.
    """
    ones = np.empty(5)
    for i in range(logits.shape[0]):
        p0, p1, v0, v1, v2 = 0.0, 0.0, 0.0, 0.0, 0.0
        first = beta[1] * rows[i, 0] + beta[2] * rows[i, 3] + beta[3]
        for k in range(logits.shape[1]):
            z = np.float64(logits[i, k])
            if not abs(z) < far:
                continue
            if k == rows[i, 2]:
                p = _chance(beta[0] * z + beta[1] * rows[i, 1] + beta[2] * rows[i, 3] + beta[3])
                v = p * (1 - p)
                ones[0], ones[1], ones[2], ones[3], ones[4] = p, p * z, v, v * z, v * z * z
                _add_row(ones, rows[i, 1], rows[i, 3], weights[i], by_row[i], hessian)
                continue
            p = _chance(beta[0] * z + first)
            v = p * (1 - p)
            p0 += p
            p1 += p * z
            v0 += v
            v1 += v * z
            v2 += v * z * z
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
def apply_context(logits, rows, beta, far):  # type: ignore[no-untyped-def]
    """Replace logits within ±far by what the context of their rows makes of them."""
    for i in range(logits.shape[0]):
        for k in range(logits.shape[1]):
            z = logits[i, k]
            if abs(z) < far:
                other = rows[i, 1] if k == rows[i, 2] else rows[i, 0]
                logits[i, k] = beta[0] * z + beta[1] * other + beta[2] * rows[i, 3] + beta[3]
