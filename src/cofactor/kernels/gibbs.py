"""Draws from the conditional distributions of factors and thresholds, row by row.

The same functions serve users (CSR) and items (CSC). `lo, hi` is the range of rows; `indptr, indices` the pattern;
arrays over ratings are in the order of the rows, and `position` says where in them a column entry stands (an empty
array: where it is). Each row has its own stream of random numbers, `stream(key, row)`.
"""

import numpy as np

from cofactor.kernels.cholesky import factorize, solve_lower, solve_upper
from cofactor.kernels.compile import kernel
from cofactor.kernels.normal import below
from cofactor.kernels.random import normal, stream, truncated_normal, uniform
from cofactor.kernels.rows import add_outer

#: Stands for an infinite threshold: no probability is left beyond it.
FAR = 1e3


@kernel
def draw_rows(lo, hi, key, indptr, indices, position, targets, weights, other, precision, shift, biased, out):  # type: ignore[no-untyped-def]
    """Draw rows w_i ~ N(A⁻¹b, A⁻¹) with A = P + Σ_j ω φφᵀ and b = s_i + Σ_j ω φ t over the entries of the row.

    P and s_i are the prior's precision and its product with the prior's mean. φ is row j of `other`; with `biased`, its
    last column is the other side's bias, which is taken from the target t, and φ has a one there. A `weights` of length
    one is the same ω for all.
    """
    p = other.shape[1]
    gram = np.empty((p, p))
    w = np.empty(p)
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        for a in range(p):
            w[a] = shift[i, a]
            for b in range(a + 1):
                gram[a, b] = precision[a, b]
        F = np.empty((n, p))
        for k in range(n):
            e = position[start + k] if len(position) > 0 else start + k
            root = np.sqrt(weights[e] if len(weights) > 1 else weights[0])
            row = other[indices[start + k]]
            t = root * targets[e]
            for a in range(p):
                F[k, a] = root * row[a]
            if biased:
                t -= root * row[p - 1]
                F[k, p - 1] = root
            for a in range(p):
                w[a] += t * F[k, a]
        add_outer(F, gram)
        factorize(gram, p)
        solve_lower(gram, w, p)
        state = stream(key, i)
        for a in range(p):
            state, g = normal(state)
            w[a] += g
        solve_upper(gram, w, p)
        for a in range(p):
            out[i, a] = w[a]


@kernel
def score(u, v, biased):  # type: ignore[no-untyped-def]
    """Return u·v, where with `biased` the last columns are biases, which are added."""
    d = len(u) - 1 if biased else len(u)
    s = u[d] + v[d] if biased else 0.0
    for f in range(d):
        s += u[f] * v[f]
    return s


@kernel
def boundaries(gaps, out):  # type: ignore[no-untyped-def]
    """Write θ_0 … θ_R for log-gaps a: θ_1 = a_1, θ_r = θ_{r-1} + exp(a_r), and infinity on both sides."""
    R = len(gaps) + 1
    out[0] = -FAR
    out[R] = FAR
    out[1] = gaps[0]
    for r in range(1, R - 1):
        out[r + 1] = out[r] + np.exp(gaps[r])


@kernel
def level_masses(x, levels, theta, left, mass, flipped):  # type: ignore[no-untyped-def]
    """Write the probability of each rating's level, P = Φ(θ_y - x) - Φ(θ_{y-1} - x), and that on its left.

    On its right where `flipped`, whichever is smaller. Return the sum of log P.
    """
    total = 0.0
    for k in range(len(x)):
        y = levels[k]
        a = theta[y - 1] - x[k]
        b = theta[y] - x[k]
        flip = a + b > 0
        if flip:
            a, b = -b, -a
        low = below(max(a, -37.0)) if a > -37 else 0.0
        high = below(max(b, -37.0)) if b <= 0 else 1 - below(-b)
        left[k] = low
        mass[k] = max(high - low, 1e-300)
        flipped[k] = flip
        total += np.log(mass[k])
    return total


@kernel
def draw_ordinal_rows(  # type: ignore[no-untyped-def]
    lo,
    hi,
    key,
    indptr,
    indices,
    levels,
    own,
    other,
    gaps,
    gap_mean,
    gap_precision,
    proposal,
    n_tries,
    z,
    accepted,
    value,
):
    """Draw the log-gaps of users' thresholds by Metropolis steps, the latent z integrated out, and then z.

    The proposal adds N(0, proposal_i²) to all log-gaps of a user at once. Write the share of proposals accepted and the
    log-likelihood of each row.
    """
    n_gaps = gaps.shape[1]
    theta = np.empty(n_gaps + 2)
    trial = np.empty(n_gaps)
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        y = levels[start : start + n]
        state = stream(key, i)
        x = np.empty(n)
        for k in range(n):
            x[k] = score(own[i], other[indices[start + k]], True)
        left, mass, flipped = np.empty(n), np.empty(n), np.empty(n, dtype=np.bool_)
        left1, mass1, flipped1 = np.empty(n), np.empty(n), np.empty(n, dtype=np.bool_)
        boundaries(gaps[i], theta)
        now = level_masses(x, y, theta, left, mass, flipped)
        n_accepted = 0
        for _ in range(n_tries):
            change = 0.0
            for r in range(n_gaps):
                state, g = normal(state)
                trial[r] = gaps[i, r] + proposal[i] * g
                change += gap_precision[r] * ((gaps[i, r] - gap_mean[r]) ** 2 - (trial[r] - gap_mean[r]) ** 2)
            boundaries(trial, theta)
            new = level_masses(x, y, theta, left1, mass1, flipped1)
            state, u = uniform(state)
            if np.log(u) < new - now + 0.5 * change:
                now = new
                n_accepted += 1
                gaps[i] = trial
                left, left1 = left1, left
                mass, mass1 = mass1, mass
                flipped, flipped1 = flipped1, flipped
        accepted[i] = n_accepted / max(n_tries, 1)
        value[i] = now
        for k in range(n):
            state, u = uniform(state)
            z[start + k] = x[k] + truncated_normal(u, left[k], mass[k], flipped[k])


@kernel
def prior_means(lo, hi, features, weights, mean, out):  # type: ignore[no-untyped-def]
    """Write out_i = µ + f_i W for the rows lo..hi; column i of `features` is f_i."""
    K, p = weights.shape
    for i in range(lo, hi):
        for a in range(p):
            out[i, a] = mean[a]
    for k in range(K):
        for i in range(lo, hi):
            f = features[k, i]
            for a in range(p):
                out[i, a] += f * weights[k, a]


@kernel
def feature_sums(lo, hi, features, rows, mean, out):  # type: ignore[no-untyped-def]
    """Write out_k = Σ_i f_ik (w_i - µ) for the features lo..hi."""
    for k in range(lo, hi):
        for a in range(rows.shape[1]):
            out[k, a] = 0
        for i in range(features.shape[1]):
            f = features[k, i]
            for a in range(rows.shape[1]):
                out[k, a] += f * (rows[i, a] - mean[a])
