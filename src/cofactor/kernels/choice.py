"""Likelihoods of what users took, each item waiting for a time of its own: see `cofactor.problems.choice`.

Item j of a user has come in time with the probability r x, x = 1 - e^-λ, log λ = a + c·ℓ_j, and a part q of what came is
held out. With v = 1 - r x and o = v + q r x, P = q r x / o and 1 - P = v / o. With w = λ / x, log λ moves log P by
w e^-λ / o, and log (1 - P) by -q r λ e^-λ / (v o).
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
    """Write what users lo..hi say of their slopes c, each with the a that suits its takes best.

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
    mean, items = np.empty(K), np.empty(m, dtype=np.int64)
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
        low, high, earlier, before = -np.inf, np.inf, np.nan, np.nan
        for _ in range(_ROUNDS):  # the a of the highest likelihood, by scoring once, then by secants in a bracket
            alpha = np.exp(a)
            score, information = 0.0, 0.0
            for j in range(n_came):
                _, _, _, came, missed = _terms(alpha * rates[j], q, reach)
                score += came
                information += came * missed
            for j in range(n_came, n):
                _, _, _, came, missed = _terms(alpha * rates[j], q, reach)
                score -= missed
                information += came * missed
            if score > 0:
                low = a
            else:
                high = a
            slope = (before - score) / (a - earlier)
            step = score / max(slope if slope > 0 else information, 1e-300)
            following = a + max(min(step, 1.0), -1.0)
            if not low <= following <= high:
                following = (low + high) / 2
            earlier, before, a = a, score, following
            if a > _MOST or abs(a - earlier) < 1e-8:
                break
        a = min(a, _MOST)
        alpha = np.exp(a)

        for j in range(n):
            rates[j] *= alpha
        for j in range(n_came):
            wait, over, _, came, missed = _terms(rates[j], q, reach)
            losses[j] = logarithm(wait * over / (q * reach)) - a - u[j]
            pulls[j], spreads[j] = came, came * missed
        for j in range(n_came, n):
            _, over, never, came, missed = _terms(rates[j], q, reach)
            losses[j] = logarithm(over) - logarithm(never)
            pulls[j], spreads[j] = -missed, came * missed
        value, information = 0.0, 0.0
        for j in range(n):
            value -= losses[j]
        for j in range(n):
            information += spreads[j]
        values[i] = value
        for k in range(K):
            pull, centre = 0.0, 0.0
            for j in range(n):
                pull += pulls[j] * own[k, j]
            for j in range(n):
                centre += spreads[j] * own[k, j]
            gradients[i, k] = pull
            mean[k] = centre
        for k in range(K):
            for h in range(k + 1):
                product = 0.0
                for j in range(n):
                    product += spreads[j] * own[k, j] * own[h, j]
                if information > 0:
                    product -= mean[k] * mean[h] / information
                curvatures[i, k, h] = product
                curvatures[i, h, k] = product


@kernel
def saturate_rows(lo, hi, utilities, seen, counts, reach):  # type: ignore[no-untyped-def]
    """Replace log λ of users lo..hi, up to a constant of each, by log(-log(1 - r x)), where r x is as likely as counts say.

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
                    rate = alpha * rates[j]
                    left = exponential(-min(rate, _FAR))
                    never = left + (1 - reach) * (1 - left)
                    odds += reach * (1 - left) / never
                    slope += reach * rate * left / (never * never)
            step = (np.log(counts[i]) - np.log(odds)) * odds / max(slope, 1e-300)
            step = max(min(step, 1.0), -1.0)
            a += step
            if a > _MOST or abs(step) < 1e-6:
                break
        alpha = np.exp(min(a, _MOST))
        for j in range(m):
            rate = alpha * rates[j]
            left = exponential(-min(rate, _FAR))
            came = reach * (rate * (1 - 0.5 * rate) if rate < _SMALL else 1 - left)
            hazard = came * (1 + 0.5 * came) if came < _SMALL else -logarithm(left + (1 - reach) * (1 - left))
            utilities[i, j] = logarithm(max(hazard, 1e-300))


@inlined
def _terms(rate, q, reach):  # type: ignore[no-untyped-def]
    """Return w, o and v, and how much log λ moves log P and -log (1 - P)."""
    left = exponential(-min(rate, _FAR))
    wait = 1 + rate * (0.5 + rate / 12) if rate < _SMALL else rate / (1 - left)
    came = reach * rate / wait
    over, never = 1 - (1 - q) * came, left + (1 - reach) * (rate / wait)
    return wait, over, never, wait * left / over, q * reach * rate * (left / never) / over
