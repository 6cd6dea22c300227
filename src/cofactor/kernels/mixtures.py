"""Users as mixtures of attitudes, each attitude a distribution of levels for every item (see `ratings.URP`).

`beta` has shape (m, R, K): the probability of level r of item j under each attitude. `gamma` (n, K) holds the
parameters of users' Dirichlet distributions, `log_e` (n, K) the means of the logarithms of their shares,
ψ(γ_ik) - ψ(Σ_k γ_ik). The share of attitude k in the entry (i, j) is ϕ_ijk ∝ exp(log_e_ik) β_{j,y_ij,k}.
"""

import math

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel, ordered

_FAR = 10.0  #: from here on the asymptotic series below are exact to working precision


@kernel
def digamma(x):  # type: ignore[no-untyped-def]
    """Return ψ(x) = d ln Γ(x) / dx for x > 0: recurrence ψ(x) = ψ(x + 1) - 1/x, then the asymptotic series."""
    total = 0.0
    while x < _FAR:
        total -= 1 / x
        x += 1
    s = 1 / (x * x)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132 - s * (691 / 32760 - s / 12))))))
    return total + math.log(x) - 0.5 / x - series


@kernel
def trigamma(x):  # type: ignore[no-untyped-def]
    """Return ψ'(x) for x > 0: recurrence ψ'(x) = ψ'(x + 1) + 1/x², then the asymptotic series."""
    total = 0.0
    while x < _FAR:
        total += 1 / (x * x)
        x += 1
    s = 1 / (x * x)
    series = s * (1 / 6 - s * (1 / 30 - s * (1 / 42 - s * (1 / 30 - s * (5 / 66 - s * (691 / 2730 - s * 7 / 6))))))
    return total + (1 + 0.5 / x + series) / x


@kernel
def _mean_logs(gamma, out):  # type: ignore[no-untyped-def]
    """Write ψ(γ_k) - ψ(Σ γ) and return Σ γ."""
    total = 0.0
    for k in range(len(gamma)):
        total += gamma[k]
    whole = digamma(total)
    for k in range(len(gamma)):
        out[k] = digamma(gamma[k]) - whole
    return total


@kernel
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@ordered
def _add_shares(weights, b, out):  # type: ignore[no-untyped-def]
    """Add the shares of one entry, weights_k b_k / Σ_k weights_k b_k, to `out`; return that sum.

    The sum is a kernel of its own: beside a store, the compiler would leave it to the addresses at run time whether the
    terms are added in another order.
    """
    total = _dot(weights, b)
    inverse = 1 / total
    for k in range(len(out)):
        out[k] += weights[k] * b[k] * inverse
    return total


@kernel
def user_pass(lo, hi, indptr, indices, levels, gamma, beta, log_e, sums, bound):  # type: ignore[no-untyped-def]
    """For users lo..hi write log_e, Σ_j ϕ_ijk to `sums`, and their part of the bound, α's part left out, to `bound`."""
    K = gamma.shape[1]
    weights = empty(K)
    for i in range(lo, hi):
        total = _mean_logs(gamma[i], log_e[i])
        value = -math.lgamma(total)
        for k in range(K):
            weights[k] = math.exp(log_e[i, k])
            sums[i, k] = 0
            value += math.lgamma(gamma[i, k]) - gamma[i, k] * log_e[i, k]
        for entry in range(indptr[i], indptr[i + 1]):
            value += math.log(_add_shares(weights, beta[indices[entry], levels[entry] - 1], sums[i]))
        bound[i] = value


@kernel
def item_pass(lo, hi, indptr, indices, levels, weights, beta, prior, counts):  # type: ignore[no-untyped-def]
    """For items lo..hi write prior_jr + Σ_{i: y_ij = r} ϕ_ijk to `counts` (m, R, K); `weights` is exp(log_e)."""
    for j in range(lo, hi):
        for r in range(counts.shape[1]):
            for k in range(counts.shape[2]):
                counts[j, r, k] = prior[j, r]
        for entry in range(indptr[j], indptr[j + 1]):
            r = levels[entry] - 1
            _add_shares(weights[indices[entry]], beta[j, r], counts[j, r])


@kernel
def user_slopes(lo, hi, gamma, target, out):  # type: ignore[no-untyped-def]
    """Write the gradient of the bound by ln γ for users lo..hi; `target` is the best γ for the shares at hand."""
    for i in range(lo, hi):
        total = 0.0
        gap = 0.0
        for k in range(gamma.shape[1]):
            total += gamma[i, k]
            gap += target[i, k] - gamma[i, k]
        common = trigamma(total) * gap
        for k in range(gamma.shape[1]):
            g = gamma[i, k]
            out[i, k] = g * (trigamma(g) * (target[i, k] - g) - common)


@kernel
def fold_users(lo, hi, indptr, indices, levels, alpha, beta, tol, max_iter, gamma):  # type: ignore[no-untyped-def]
    """For users lo..hi repeat γ ← α + Σ_j ϕ_ij, from what `gamma` holds, until no entry moves by more than `tol`."""
    K = gamma.shape[1]
    weights = empty(K)
    following = empty(K)
    for i in range(lo, hi):
        for _ in range(max_iter):
            _mean_logs(gamma[i], weights)
            for k in range(K):
                weights[k] = math.exp(weights[k])
                following[k] = alpha[k]
            for entry in range(indptr[i], indptr[i + 1]):
                _add_shares(weights, beta[indices[entry], levels[entry] - 1], following)
            move = 0.0
            for k in range(K):
                move = max(move, abs(following[k] - gamma[i, k]))
                gamma[i, k] = following[k]
            if move <= tol:
                break


@kernel
def fold_items(lo, hi, indptr, indices, levels, weights, prior, tol, max_iter, beta):  # type: ignore[no-untyped-def]
    """For items lo..hi repeat β ← prior_r + Σ_{i: y_ij = r} ϕ_ij, scaled, until no entry moves by more than `tol`.

    It goes on from what `beta` holds; `weights` is exp(log_e).
    """
    R, K = beta.shape[1], beta.shape[2]
    following = empty((R, K))
    for j in range(lo, hi):
        for _ in range(max_iter):
            for r in range(R):
                for k in range(K):
                    following[r, k] = prior[j, r]
            for entry in range(indptr[j], indptr[j + 1]):
                r = levels[entry] - 1
                _add_shares(weights[indices[entry]], beta[j, r], following[r])
            move = 0.0
            for k in range(K):
                total = 0.0
                for r in range(R):
                    total += following[r, k]
                for r in range(R):
                    new = following[r, k] / total
                    move = max(move, abs(new - beta[j, r, k]))
                    beta[j, r, k] = new
            if move <= tol:
                break


@kernel
def mixture(users, items, gamma, beta, unknown_user, unknown_item, out):  # type: ignore[no-untyped-def]
    """Write Σ_k γ_ik β_jrk / Σ_k γ_ik, (n, R), for pairs; an index of -1 stands for the γ, or the levels, given."""
    for p in range(len(users)):
        g = gamma[users[p]] if users[p] >= 0 else unknown_user
        for r in range(out.shape[1]):
            if items[p] < 0:
                out[p, r] = unknown_item[r]
                continue
            b = beta[items[p], r]
            total = 0.0
            whole = 0.0
            for k in range(len(g)):
                total += g[k] * b[k]
                whole += g[k]
            out[p, r] = total / whole
