"""Likelihoods of users' items, given how many: see `cofactor.problems.choice`.

Item j of a user is among them with the log-odds u_j = a + c·ℓ_j, where a is such that as many are expected as came.
"""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import exact, kernel
from cofactor.kernels.normal import exponential, logarithm

_OPEN = 0  # of what a table of marks says of an item: it may come
_CAME = 2  # it came next
_ROUNDS = 50  # of the search for a user's own rate, which needs four or so
_FAR = 700.0  # beyond, e^-|u| is 0


@exact
def add_bent(features, outer, slope, bend, knot, out):  # type: ignore[no-untyped-def]
    """Add outer_i (slope · x + bend · max(x - knot, 0)) to each row of `out`, where x are features."""
    for i in range(len(out)):
        a, b = outer[i] * slope, outer[i] * bend
        own, row = features[i], out[i]
        for j in range(len(row)):
            x = own[j]
            row[j] += a * x + b * max(x - knot, np.float32(0))


@kernel
def choices_of_rows(lo, hi, features, marks, slopes, values, gradients, curvatures):  # type: ignore[no-untyped-def]
    """Write what users lo..hi say of their slopes c.

    Parameters
    ----------
    lo, hi : int
    features : ndarray of shape (K, n, m), float32
        ℓ.
    marks : ndarray of shape (n, m), uint8
        0 what may come, 1 what the user had before, 2 what came.
    slopes : ndarray of shape (n, K)
        c.
    values, gradients, curvatures : ndarray of shape (n,), (n, K) and (n, K, K)
        Written: log-likelihood, its gradient, and Fisher's information about c.
    """
    K, _, m = features.shape
    own = empty((K, m), np.float32)  # features of what came, and after it of what may still come
    u, odds, chances, spreads, losses = empty(m), empty(m), empty(m), empty(m), empty(m)  # odds as multiples of e^a
    items = empty(m, np.int64)
    for i in range(lo, hi):
        n_came = n = 0
        for mark in (_CAME, _OPEN):
            for j in range(m):
                if marks[i, j] == mark:
                    items[n] = j
                    n += 1
            if mark == _CAME:
                n_came = n
        values[i] = 0
        for k in range(K):
            gradients[i, k] = 0
            for h in range(K):
                curvatures[i, k, h] = 0
        if n_came in (0, n):  # nothing is said
            continue
        for k in range(K):
            for j in range(n):
                own[k, j] = features[k, i, items[j]]
        for j in range(n):
            u[j] = 0
        for k in range(K):
            slope = slopes[i, k]
            for j in range(n):
                u[j] += slope * own[k, j]
        top = -np.inf
        for j in range(n):
            top = max(top, u[j])
        total = 0.0
        for j in range(n):
            u[j] -= top
        for j in range(n):
            odds[j] = exponential(max(u[j], -_FAR))
        for j in range(n):
            total += odds[j]
        a = np.log(n_came / total)
        low, high = a, np.inf  # odds are above probabilities
        for _ in range(_ROUNDS):  # Newton's method in a bracket
            rate = exponential(max(min(a, _FAR), -_FAR))
            excess, slope = -float(n_came), 0.0
            for j in range(n):
                x = rate * odds[j]
                p = x / (1 + x)
                excess += p
                slope += p / (1 + x)
            if excess < 0:
                low = a
            else:
                high = a
            following = a - max(min(excess / max(slope, 1e-300), 1.0), -1.0)
            if not low <= following <= high:
                following = (low + high) / 2
            step, a = following - a, following
            if abs(step) < 1e-8:
                break
        spread = 0.0
        rate = exponential(max(min(a, _FAR), -_FAR))
        for j in range(n):
            x = 1 + rate * odds[j]
            chances[j] = rate * odds[j] / x
            spreads[j] = chances[j] / x
            losses[j] = logarithm(x)
        value = 0.0
        for j in range(n):
            spread += spreads[j]
            value -= losses[j]
        for j in range(n_came):
            value += a + u[j]
        values[i] = value
        for k in range(K):
            centre = pull = 0.0
            for j in range(n):
                centre += spreads[j] * own[k, j]
            centre /= max(spread, 1e-300)  # a falls by it for each c_k more
            for j in range(n):
                own[k, j] -= centre
            for j in range(n):
                pull -= chances[j] * own[k, j]
            for j in range(n_came):
                pull += own[k, j]
            gradients[i, k] = pull
        for k in range(K):
            for h in range(k + 1):
                product = 0.0
                for j in range(n):
                    product += spreads[j] * own[k, j] * own[h, j]
                curvatures[i, k, h] = product
                curvatures[i, h, k] = product
