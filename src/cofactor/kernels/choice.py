"""Likelihoods of what users took, each item waiting for a time of its own: see `cofactor.problems.choice`.

Item j of a user has come in time with the odds q (e^λ - 1), log λ = a + c·ℓ_j. Nothing overflows in
P = q(1 - e^-λ) / (e^-λ + q(1 - e^-λ)), and P grows by P(1 - P) w with log λ, w = λ / (1 - e^-λ).
"""

import numpy as np

from cofactor.kernels.compile import ordered

_OPEN = 0  # of what a table of marks says of an item: it may be taken
_CAME = 2  # it was taken next
_ROUNDS = 50  # of the search for a user's own rate, which needs four or so
_MOST = 20.0  # the highest log λ of any item: of a user who took all there was it has no end
_SMALL = 1e-3  # a λ, as most are, up to which three terms of a series are as good as e^-λ, and much faster
_PRODUCT = 1e-200  # down to which probabilities are multiplied before a logarithm is taken


@ordered
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
    weights = np.empty(m)
    mean = np.empty(K)
    for i in range(lo, hi):
        values[i] = 0
        gradients[i] = 0
        curvatures[i] = 0
        n_came, total, top = _weigh(features[:, i], marks[i], slopes[i], weights)
        if n_came == 0:
            continue
        q = shares[i]
        a = min(_rate(marks[i], weights, q, np.log(n_came / (q * total))), _MOST)
        alpha = np.exp(a)
        mean[:] = 0
        information, value, product = 0.0, 0.0, 1.0
        for j in range(m):
            if marks[i, j] != _OPEN and marks[i, j] != _CAME:
                continue
            p, w, left = _chance(alpha * weights[j], q)
            if marks[i, j] == _CAME:
                u = a - top  # the logarithm of λ, however small that is
                for k in range(K):
                    u += slopes[i, k] * features[k, i, j]
                value += u + np.log(q / (w * (1 - (1 - q) * alpha * weights[j] / w)))
                pull = left * w
            else:
                product *= left
                pull = -p * w
            if product < _PRODUCT:
                value += np.log(product)
                product = 1.0
            v = p * left * w * w
            information += v
            for k in range(K):
                own = features[k, i, j]
                gradients[i, k] += pull * own
                mean[k] += v * own
                for h in range(k + 1):
                    curvatures[i, k, h] += v * own * features[h, i, j]
        values[i] = value + np.log(product)
        for k in range(K):
            for h in range(k + 1):
                if information > 0:
                    curvatures[i, k, h] -= mean[k] * mean[h] / information
                curvatures[i, h, k] = curvatures[i, k, h]


@ordered
def _weigh(features, marks, slopes, weights):  # type: ignore[no-untyped-def]
    """Write e^(c·ℓ) of open items as shares of the highest; return how many came, the sum, and log of the highest."""
    K, m = features.shape
    n_came, top = 0, -np.inf
    for j in range(m):
        if marks[j] == _OPEN or marks[j] == _CAME:
            u = 0.0
            for k in range(K):
                u += slopes[k] * features[k, j]
            weights[j] = u
            top = max(top, u)
            n_came += marks[j] == _CAME
    total = 0.0
    for j in range(m):
        if marks[j] == _OPEN or marks[j] == _CAME:
            weights[j] = np.exp(weights[j] - top)
            total += weights[j]
    return n_came, total, top


@ordered
def _rate(marks, weights, q, a):  # type: ignore[no-untyped-def]
    """Return the a of the highest likelihood, by scoring."""
    for _ in range(_ROUNDS):
        alpha = np.exp(a)
        score, information = 0.0, 0.0
        for j in range(len(marks)):
            if marks[j] == _OPEN or marks[j] == _CAME:
                p, w, left = _chance(alpha * weights[j], q)
                score += (left if marks[j] == _CAME else -p) * w
                information += p * left * w * w
        step = max(min(score / max(information, 1e-300), 1.0), -1.0)
        a += step
        if a > _MOST or abs(step) < 1e-8:
            break
    return a


@ordered
def _chance(rate, q):  # type: ignore[no-untyped-def]
    """Return the probability to have come, λ / (1 - e^-λ), and the probability to be left."""
    if rate < _SMALL:
        came = rate * (1 - rate * (0.5 - rate / 6))
        waited = 1 + rate * (0.5 + rate / 12)
    else:
        came = -np.expm1(-rate)
        waited = rate / came
    over = 1 - came + q * came
    return q * came / over, waited, (1 - came) / over
