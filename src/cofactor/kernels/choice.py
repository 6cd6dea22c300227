"""Likelihoods of what users took, each item waiting for a time of its own: see `cofactor.problems.choice`.

Item j of a user has come in time with the odds q (e^λ - 1), log λ = a + c·ℓ_j. With o = 1 - (1 - q)(1 - e^-λ) and
w = λ / (1 - e^-λ), P = q λ / (w o) and 1 - P = e^-λ / o, and log λ moves log P by w (1 - P), log (1 - P) by -w P.
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
def choices_of_rows(lo, hi, features, marks, shares, slopes, values, gradients, curvatures):  # type: ignore[no-untyped-def]
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
        a = np.log(n_came / (q * total))
        for _ in range(_ROUNDS):  # the a of the highest likelihood, by scoring
            alpha = np.exp(a)
            score, information = 0.0, 0.0
            for j in range(n_came):
                wait, left, over = _terms(alpha * rates[j], q)
                score += wait * left / over
                information += wait * left / over * (q * alpha * rates[j] / over)
            for j in range(n_came, n):
                wait, left, over = _terms(alpha * rates[j], q)
                score -= q * alpha * rates[j] / over
                information += wait * left / over * (q * alpha * rates[j] / over)
            step = max(min(score / max(information, 1e-300), 1.0), -1.0)
            a += step
            if a > _MOST or abs(step) < 1e-8:
                break
        a = min(a, _MOST)
        alpha = np.exp(a)

        for j in range(n):
            rates[j] *= alpha
        for j in range(n_came):
            wait, left, over = _terms(rates[j], q)
            losses[j] = logarithm(wait * over / q) - a - u[j]
            pulls[j] = wait * left / over
            spreads[j] = pulls[j] * q * rates[j] / over
        for j in range(n_came, n):
            wait, left, over = _terms(rates[j], q)
            losses[j] = logarithm(over) + rates[j]
            pulls[j] = -q * rates[j] / over
            spreads[j] = -pulls[j] * wait * left / over
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


@inlined
def _terms(rate, q):  # type: ignore[no-untyped-def]
    """Return w, e^-λ and o."""
    left = exponential(-min(rate, _FAR))
    wait = 1 + rate * (0.5 + rate / 12) if rate < _SMALL else rate / (1 - left)
    return wait, left, 1 - (1 - q) * (1 - left)
