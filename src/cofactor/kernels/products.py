"""Users as sets of expressed factors, each of which multiplies the odds of levels (see `ratings.Attitude`).

`odds` (m, R) holds exp(b0), `factors` (m, R, K) holds b and `growth` exp(b) - 1; `mu` (n, K) the probabilities that a
user expresses a factor. The mean weight of level r of item j for user i is t_r = odds_jr Π_k (1 + μ_ik growth_jrk), and
p_r = t_r / Σ_s t_s.
"""

import math

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel

_LEAST, _MOST = 1e-200, 1e200  #: outside, products may have left the range of numbers


@kernel
def level_shares(mu, odds, growth, p):  # type: ignore[no-untyped-def]
    """Write p_r for one user and item; return ln Σ_r t_r."""
    total = 0.0
    for r in range(len(p)):
        t = odds[r]
        row = growth[r]
        for k in range(len(mu)):
            t *= 1 + mu[k] * row[k]
        p[r] = t
    for r in range(len(p)):
        total += p[r]
    if _LEAST < total < _MOST:
        inverse = 1 / total
        for r in range(len(p)):
            p[r] *= inverse
        return math.log(total)
    return _shares_of_logs(mu, odds, growth, p)


@kernel
def _shares_of_logs(mu, odds, growth, p):  # type: ignore[no-untyped-def]
    """Do as `level_shares`, by sums of logarithms: slower, and safe for any number of factors."""
    highest = -np.inf
    for r in range(len(p)):
        s = math.log(odds[r])
        for k in range(len(mu)):
            s += math.log1p(mu[k] * growth[r, k])
        p[r] = s
        highest = max(highest, s)
    total = 0.0
    for r in range(len(p)):
        total += math.exp(p[r] - highest)
    whole = highest + math.log(total)
    for r in range(len(p)):
        p[r] = math.exp(p[r] - whole)
    return whole


@kernel
def user_pass(lo, hi, indptr, indices, levels, mu, odds, factors, growth, losses, slopes):  # type: ignore[no-untyped-def]
    """For users lo..hi write Σ_j (ln Σ_r t_r - b0_y - Σ_k μ_k b_yk) over their ratings, and its slopes by μ."""
    K = mu.shape[1]
    p = empty(odds.shape[1])
    for i in range(lo, hi):
        loss = 0.0
        m = mu[i]
        s = slopes[i]
        for k in range(K):
            s[k] = 0
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            y = levels[entry] - 1
            loss += level_shares(m, odds[j], growth[j], p) - math.log(odds[j, y])
            b = factors[j, y]
            said = 0.0
            for k in range(K):
                said += m[k] * b[k]
            loss -= said
            for k in range(K):
                s[k] -= b[k]
            for r in range(len(p)):
                g = growth[j, r]
                for k in range(K):
                    s[k] += p[r] * g[k] / (1 + m[k] * g[k])
        losses[i] = loss


@kernel
def item_pass(lo, hi, indptr, indices, levels, mu, odds, growth, odds_slopes, slopes):  # type: ignore[no-untyped-def]
    """For items lo..hi write the slopes of the same sum over all ratings by b0 and by b."""
    K = mu.shape[1]
    p = empty(odds.shape[1])
    for j in range(lo, hi):
        odds_slopes[j] = 0
        slopes[j] = 0
        for entry in range(indptr[j], indptr[j + 1]):
            m = mu[indices[entry]]
            y = levels[entry] - 1
            level_shares(m, odds[j], growth[j], p)
            odds_slopes[j, y] -= 1
            s = slopes[j, y]
            for k in range(K):
                s[k] -= m[k]
            for r in range(len(p)):
                odds_slopes[j, r] += p[r]
                g = growth[j, r]
                s = slopes[j, r]
                for k in range(K):
                    s[k] += p[r] * m[k] * (1 + g[k]) / (1 + m[k] * g[k])


@kernel
def express(lo, hi, indptr, indices, levels, prior, odds, factors, growth, tol, max_iter, logits):  # type: ignore[no-untyped-def]
    """For users lo..hi improve the logits of μ, factor by factor, until no μ moves by more than `tol`.

    Each step takes ln Σ_r t_r for its tangent where it stands: as Σ_r t_r is linear in μ_k, the best μ_k for that bound
    has a closed form, and the bound itself does not fall. `prior` holds the logits of π.
    """
    K = logits.shape[1]
    R = odds.shape[1]
    mu = empty(K)
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        x = logits[i]
        p = empty((n, R))
        for k in range(K):
            mu[k] = 1 / (1 + math.exp(-x[k]))
        for e in range(n):
            j = indices[start + e]
            level_shares(mu, odds[j], growth[j], p[e])
        for _ in range(max_iter):
            move = 0.0
            for k in range(K):
                x[k] = prior[k] + _evidence(start, n, indices, levels, factors, growth, mu[k], k, p)
                following = 1 / (1 + math.exp(-x[k]))
                _reweight(start, n, indices, growth, mu[k], following, k, p)
                move = max(move, abs(following - mu[k]))
                mu[k] = following
            if move <= tol:
                break


@kernel
def _evidence(start, n, indices, levels, factors, growth, mu, k, p):  # type: ignore[no-untyped-def]
    """Return Σ_j [b_yk - Σ_r p_r growth_rk / (1 + μ growth_rk)]."""
    total = 0.0
    for e in range(n):
        j = indices[start + e]
        total += factors[j, levels[start + e] - 1, k]
        for r in range(p.shape[1]):
            g = growth[j, r, k]
            total -= p[e, r] * g / (1 + mu * g)
    return total


@kernel
def _reweight(start, n, indices, growth, mu, following, k, p):  # type: ignore[no-untyped-def]
    """Bring the level shares of a user's entries from μ_k to its new value."""
    for e in range(n):
        j = indices[start + e]
        total = 0.0
        for r in range(p.shape[1]):
            g = growth[j, r, k]
            total += p[e, r] * (1 + following * g) / (1 + mu * g)
        for r in range(p.shape[1]):
            g = growth[j, r, k]
            p[e, r] *= (1 + following * g) / (1 + mu * g) / total


@kernel
def pair_shares(users, items, mu, odds, growth, unknown_user, unknown_item, out):  # type: ignore[no-untyped-def]
    """Write p (n, R) for pairs; an index of -1 stands for the μ, or the shares of levels, given."""
    for q in range(len(users)):
        j = items[q]
        if j < 0:
            for r in range(out.shape[1]):
                out[q, r] = unknown_item[r]
        elif users[q] < 0:
            level_shares(unknown_user, odds[j], growth[j], out[q])
        else:
            level_shares(mu[users[q]], odds[j], growth[j], out[q])
