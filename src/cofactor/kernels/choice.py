"""Likelihoods of what users took, each item waiting for a time of its own: see `cofactor.problems.choice`.

Item j of a user has come in time with the probability r x, x = 1 - e^-λ, log λ = a + c·ℓ_j, and a part q of what came
is held out. With v = 1 - r x and o = v + q r x, P = q r x / o and 1 - P = v / o, whose log-odds log λ moves by
w = λ e^-λ / (x v). The a of a user is such that as many come as did.
"""

import numpy as np

from cofactor.kernels.compile import inlined, kernel
from cofactor.kernels.normal import exponential, logarithm

_OPEN = 0  # of what a table of marks says of an item: it may be taken
_CAME = 2  # it was taken next
_ROUNDS = 50  # of the search for a user's own rate, which needs four or so
_MOST = 20.0  # the highest log λ of any item: of a user who took all there was it has no end
_SMALL = 1e-3  # a λ up to which w is three terms of its series
_FAR = 700.0  # beyond, e^-λ is 0


@kernel
def choices_of_rows(lo, hi, features, marks, shares, reach, slopes, values, gradients, curvatures):  # type: ignore[no-untyped-def]
    """Write what users lo..hi say of their slopes c.

    Parameters
    ----------
    lo, hi : int
    features : ndarray of shape (K, n, m), float32
        ℓ.
    marks : ndarray of shape (n, m), uint8
        0 what may be taken, 1 what was taken before, 2 what came.
    shares, slopes : ndarray of shape (n,) and (n, K)
        q and c.
    reach : float
        r.
    values, gradients, curvatures : ndarray of shape (n,), (n, K) and (n, K, K)
        Written: log-likelihood, its gradient, and Fisher's information about c.
    """
    K, _, m = features.shape
    own = np.empty((K, m), dtype=np.float32)  # features of what came, and after it of what may be taken still
    u, rates, losses, pulls, spreads = np.empty(m), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    moves, items = np.empty(m), np.empty(m, dtype=np.int64)
    for i in range(lo, hi):
        q = shares[i]
        n_came = n = 0
        for mark in (_CAME, _OPEN):
            for j in range(m):
                if marks[i, j] == mark:
                    items[n] = j
                    n += 1
            if mark == _CAME:
                n_came = n
        for k in range(K):
            for j in range(n):
                own[k, j] = features[k, i, items[j]]
        values[i] = 0
        for k in range(K):
            gradients[i, k] = 0
            for h in range(K):
                curvatures[i, k, h] = 0
        if n_came == 0:
            continue

        for j in range(n):
            u[j] = 0
        for k in range(K):
            slope = slopes[i, k]
            for j in range(n):
                u[j] += slope * own[k, j]
        top = -np.inf
        for j in range(n):
            top = max(top, u[j])
        for j in range(n):
            u[j] -= top
        for j in range(n):
            rates[j] = exponential(max(u[j], -_FAR))
        total = 0.0
        for j in range(n):
            total += rates[j]
        a = np.log(n_came / (q * reach * total))
        low, high = -np.inf, np.inf
        for _ in range(_ROUNDS):  # the a by which as many come as did, by Newton's method in a bracket
            alpha = np.exp(a)
            excess, slope = -float(n_came), 0.0
            for j in range(n):
                x, w, over, never = _terms(alpha * rates[j], reach, q)
                excess += q * reach * x / over
                slope += q * reach * x * never / (over * over) * w
            if excess < 0:
                low = a
            else:
                high = a
            following = a - max(min(excess / max(slope, 1e-300), 1.0), -1.0)
            if not low <= following <= high:
                following = (low + high) / 2
            step, a = following - a, following
            if a > _MOST or abs(step) < 1e-8:
                break
        a = min(a, _MOST)
        alpha = np.exp(a)

        for j in range(n):
            rates[j] *= alpha
        for j in range(n):
            x, w, over, never = _terms(rates[j], reach, q)
            p = q * reach * x / over
            left = never / over
            losses[j] = logarithm(over) - logarithm(never)
            pulls[j], spreads[j], moves[j] = -p * w, p * left * w * w, p * left * w
        for j in range(n_came):
            x, w, over, never = _terms(rates[j], reach, q)
            losses[j] = logarithm(over / (q * reach * x / rates[j])) - a - u[j]
            pulls[j] += w
        value, moved = 0.0, 0.0
        for j in range(n):
            value -= losses[j]
        for j in range(n):
            moved += moves[j]
        values[i] = value
        for k in range(K):
            centre = 0.0
            for j in range(n):
                centre += moves[j] * own[k, j]
            if moved > 0:
                centre /= moved  # a falls by it for each c_k more
                for j in range(n):
                    own[k, j] -= centre
            pull = 0.0
            for j in range(n):
                pull += pulls[j] * own[k, j]
            gradients[i, k] = pull
        for k in range(K):
            for h in range(k + 1):
                product = 0.0
                for j in range(n):
                    product += spreads[j] * own[k, j] * own[h, j]
                curvatures[i, k, h] = product
                curvatures[i, h, k] = product


@kernel
def saturate_rows(lo, hi, utilities, seen, counts, reach):  # type: ignore[no-untyped-def]
    """Replace log λ of users lo..hi, up to a constant of each, by log(-log(1 - r x)), with r x as likely as counts say.

    Parameters
    ----------
    lo, hi : int
    utilities : ndarray of shape (n, m), float32
        Changed in place, but for users without takes.
    seen : ndarray of shape (n, m), bool
        What was taken.
    counts : ndarray of shape (n,), int64
        How many were: of what may be taken, r x / (1 - r x) sums to it, the odds that an item came, if it is not known.
    reach : float
        r.
    """
    m = utilities.shape[1]
    rates = np.empty(m)
    for i in range(lo, hi):
        top = -np.inf
        for j in range(m):
            if not seen[i, j]:
                top = max(top, utilities[i, j])
        if counts[i] == 0 or top == -np.inf:
            continue
        total = 0.0
        for j in range(m):
            rates[j] = exponential(max(min(utilities[i, j] - top, _MOST), -_FAR))
        for j in range(m):
            total += 0.0 if seen[i, j] else rates[j]
        a = np.log(counts[i] / (reach * total))
        for _ in range(_ROUNDS):
            alpha = np.exp(a)
            odds, slope = 0.0, 0.0
            for j in range(m):
                if not seen[i, j]:
                    x, w, _, never = _terms(alpha * rates[j], reach, 0.0)
                    odds += reach * x / never
                    slope += reach * x / never * w
            step = (np.log(counts[i]) - np.log(odds)) * odds / max(slope, 1e-300)
            step = max(min(step, 1.0), -1.0)
            a += step
            if a > _MOST or abs(step) < 1e-6:
                break
        alpha = np.exp(min(a, _MOST))
        for j in range(m):
            x, _, _, never = _terms(alpha * rates[j], reach, 0.0)
            came = reach * x
            hazard = came * (1 + came * (0.5 + came / 3)) if came < _SMALL else -logarithm(never)
            utilities[i, j] = logarithm(max(hazard, 1e-300))


@inlined
def _terms(rate, reach, q):  # type: ignore[no-untyped-def]
    """Return x, w, o and v."""
    left = exponential(-min(rate, _FAR))
    part = 1 - rate * (0.5 - rate / 6) if rate < _SMALL else (1 - left) / rate
    x = rate * part
    never = left + (1 - reach) * x
    return x, left / (part * never), 1 - (1 - q) * reach * x, never
