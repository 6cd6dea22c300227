"""Sums of three Ornstein–Uhlenbeck processes, filtered and drawn at the moments when a user rated.

A moment has n ratings, whose residuals have the mean ȳ with variance 1/n about the sum of the processes. `fade` is
1 - ρ for the time since the moment before and each process, where ρ is the correlation between the two; 1 at the first
moment. It keeps its precision where ρ is nearly one. Users' moments stand one after another, `indptr` says where.

New users are drawn where the items which they rated, and all that belongs to priors, are given.
"""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.cholesky import factorize
from cofactor.kernels.compile import exact
from cofactor.kernels.gibbs import (
    SINGLE,
    add_shares,
    draw_thresholds_and_latent,
    most,
    room_for,
    score,
    set_probabilities,
)
from cofactor.kernels.gibbs_rows import begin_draws, draw_again, own_table, room_of_rows, set_scores
from cofactor.kernels.random import normal, stream, uniform
from cofactor.kernels.ridge import prior_equations

#: Number of processes.
K = 3


@exact
def fades(lo, hi, gaps, times, out):  # type: ignore[no-untyped-def]
    """Write 1 - e^{-Δ/ℓ} for the gaps Δ of the moments lo..hi and the time ℓ of each process."""
    for t in range(lo, hi):
        for k in range(len(times)):
            out[t, k] = -np.expm1(-gaps[t] / times[k])


@exact
def moment_means(lo, hi, indptr, indices, own, other, z, moment, moments, counts, out):  # type: ignore[no-untyped-def]
    """Write the mean residual z - x of each moment of the rows lo..hi; `moment` is that of each rating."""
    for i in range(lo, hi):
        here, first = slice(indptr[i], indptr[i + 1]), moments[i]
        rest, items = z[here].copy(), indices[here]
        for k in range(len(rest)):
            rest[k] -= score(own[i], other[items[k]], True)
        there = slice(first, moments[i + 1])
        set_moment_means(rest, moment[here], first, counts[there], out[there])


@exact
def set_moment_means(residuals, moment, first, counts, means):  # type: ignore[no-untyped-def]
    """Write the mean residual of each moment of one user, whose first one has the number `first`."""
    for t in range(len(means)):
        means[t] = 0
    for k in range(len(residuals)):
        means[moment[k] - first] += residuals[k]
    for t in range(len(means)):
        means[t] /= counts[t]


@exact
def filter_moments(fade, counts, means, variances, expected, covariance):  # type: ignore[no-untyped-def]
    """Filter the moments of one user by Kalman's recursion; return the log-likelihood of the means.

    Written are mean (n, K) and covariance (n, K, K) of the processes at each moment given the means up to it, unless
    `expected` is empty. `variances` are the stationary ones of the processes.
    """
    m, P, w = zeros(K), zeros((K, K)), empty(K)
    kept = len(expected) > 0
    value = 0.0
    for t in range(len(means)):
        total, S = 0.0, 1 / counts[t]
        for k in range(K):
            rho = 1 - fade[t, k]
            m[k] *= rho
            total += m[k]
            for a in range(k):
                P[k, a] *= rho * (1 - fade[t, a])
                P[a, k] = P[k, a]
            P[k, k] = rho * rho * P[k, k] + fade[t, k] * (1 + rho) * variances[k]
        for k in range(K):
            w[k] = P[k, 0]
            for a in range(1, K):
                w[k] += P[k, a]
            S += w[k]
        error = means[t] - total
        value -= 0.5 * (np.log(S) + error * error / S)
        for k in range(K):
            gain = w[k] / S
            m[k] += gain * error
            for a in range(k + 1):
                P[k, a] -= gain * w[a]
        if kept:
            for k in range(K):
                expected[t, k] = m[k]
                for a in range(k + 1):
                    covariance[t, k, a] = P[k, a]
                    covariance[t, a, k] = P[k, a]
    return value


@exact
def draw_backward(state, fade, variances, expected, covariance, out):  # type: ignore[no-untyped-def]
    """Draw the processes at all moments of one user, from the last to the first; return the stream.

    What comes after a moment are three scalar observations of it, s' = ρ s + N(0, q) for each process with
    q = (1 - ρ²) σ², which no inversion is needed for. `expected` and `covariance`, as filtered, are replaced.
    """
    w = empty(K)
    n = len(out)
    for t in range(n - 1, -1, -1):
        m, P = expected[t], covariance[t]
        if t + 1 < n:
            for k in range(K):
                rho = 1 - fade[t + 1, k]
                S = rho * rho * P[k, k] + fade[t + 1, k] * (1 + rho) * variances[k]
                error = out[t + 1, k] - rho * m[k]
                for a in range(K):
                    w[a] = rho * P[a, k]
                for a in range(K):
                    gain = w[a] / S
                    m[a] += gain * error
                    for b in range(K):
                        P[a, b] -= gain * w[b]
        factorize(P, K)
        for k in range(K):
            state, w[k] = normal(state)
        for k in range(K):
            out[t, k] = m[k]
            for a in range(k + 1):
                out[t, k] += P[k, a] * w[a]
    return state


@exact
def draw_multiplier(state, fade, counts, means, squares, spread, reach, n_tries, g, value):  # type: ignore[no-untyped-def]
    """Draw the multiplier g of a user's variances by Metropolis steps, the processes integrated out.

    `squares` are the variances where g is one, `value` the log-likelihood at g, and log g ~ N(0, spread). Return the
    stream, g, the share of proposals accepted and the log-likelihood.
    """
    none, nothing = empty((0, K)), empty((0, K, K))
    if len(means) == 0:
        state, x = normal(state)
        return state, np.exp(np.sqrt(spread) * x), 0.3, 0.0
    now, n_accepted = np.log(g), 0
    for _ in range(n_tries):
        state, x = normal(state)
        trial = now + reach * x
        new = filter_moments(fade, counts, means, np.exp(trial) * squares, none, nothing)
        state, u = uniform(state)
        if np.log(u) < new - value + 0.5 * (now * now - trial * trial) / spread:
            now, value = trial, new
            n_accepted += 1
    return state, np.exp(now), n_accepted / n_tries, value


@exact
def filter_rows(lo, hi, indptr, fade, counts, means, squares, g, value):  # type: ignore[no-untyped-def]
    """Write the log-likelihood of the moments of each of the rows lo..hi."""
    none, nothing = empty((0, K)), empty((0, K, K))
    for i in range(lo, hi):
        here = slice(indptr[i], indptr[i + 1])
        value[i] = filter_moments(fade[here], counts[here], means[here], g[i] * squares, none, nothing)


@exact
def draw_drift_rows(  # type: ignore[no-untyped-def]
    lo, hi, key, indptr, fade, counts, means, squares, spread, reach, n_tries, g, value, accepted, out
):
    """Draw multiplier and processes of each of the rows lo..hi, given the log-likelihoods at the present ones."""
    for i in range(lo, hi):
        here = slice(indptr[i], indptr[i + 1])
        own, n, y = fade[here], counts[here], means[here]
        state = stream(key, i)
        state, g[i], accepted[i], value[i] = draw_multiplier(
            state, own, n, y, squares, spread, reach[i], n_tries, g[i], value[i]
        )
        draw_processes(state, own, n, y, g[i] * squares, out[here])


@exact
def draw_processes(state, fade, counts, means, variances, out):  # type: ignore[no-untyped-def]
    """Draw the processes of one user given the variances; return the stream."""
    expected, covariance = empty((len(means), K)), empty((len(means), K, K))
    filter_moments(fade, counts, means, variances, expected, covariance)
    return draw_backward(state, fade, variances, expected, covariance, out)


@exact
def bridge(before, after, left, right, times, variances):  # type: ignore[no-untyped-def]
    """Return mean and variance of the sum of the processes at a time between two moments where they are known.

    `before` and `after` are the seconds since the one, where the processes are `left`, and to the other, `right`;
    infinite where there is none. With a and b the correlations with them, each process has the mean
    (a (1 - b²) s_L + b (1 - a²) s_R) / (1 - a² b²) and the variance σ² (1 - a²) (1 - b²) / (1 - a² b²).
    """
    mean, variance = 0.0, 0.0
    for k in range(K):
        fade_a, fade_b = -np.expm1(-before / times[k]), -np.expm1(-after / times[k])
        a, b = 1 - fade_a, 1 - fade_b
        rest_a, rest_b = fade_a * (1 + a), fade_b * (1 + b)
        whole = rest_a + a * a * rest_b
        mean += (a * rest_b * left[k] + b * rest_a * right[k]) / whole
        variance += variances[k] * (rest_a * (rest_b / whole))
    return mean, variance


@exact
def neighbours(users, seconds, indptr, moments, left, right, before, after):  # type: ignore[no-untyped-def]
    """Write for users at times the moments around them and the seconds since the one, and to the other.

    A moment at the very time is the left one. Where there is none it is -1, at an infinite distance. User -1 has none.
    """
    for v in range(len(users)):
        left[v], right[v], before[v], after[v] = -1, -1, np.inf, np.inf
        if users[v] < 0:
            continue
        first, last = indptr[users[v]], indptr[users[v] + 1]
        place, behind = first, last
        while place < behind:  # the first of the user that is later
            middle = (place + behind) >> 1
            if moments[middle] <= seconds[v]:
                place = middle + 1
            else:
                behind = middle
        if place > first:
            left[v], before[v] = place - 1, seconds[v] - moments[place - 1]
        if place < last:
            right[v], after[v] = place, moments[place] - seconds[v]


@exact
def drift_of_visits(users, left, right, before, after, drift, multipliers, scales, times, means, roots):  # type: ignore[no-untyped-def]
    """Write mean m and 1/√(1 + v) for users at times under one sample, v the variance of their drift."""
    nothing = zeros(K, drift.dtype)
    variances = empty(K)
    for k in range(len(users)):
        g = multipliers[users[k]]
        for a in range(K):
            variances[a] = g * (np.float64(scales[a]) * scales[a])
        known_left = drift[left[k]] if left[k] >= 0 else nothing
        known_right = drift[right[k]] if right[k] >= 0 else nothing
        means[k], variance = bridge(before[k], after[k], known_left, known_right, times, variances)
        roots[k] = 1 / np.sqrt(1 + variance)


@exact
def drifting_probabilities(  # type: ignore[no-untyped-def]
    users, left, right, before, after, items, draws, U, V, thresholds, drift, multipliers, scales, times, out
):
    """Write the probability of every level for pairs at times, as `level_probabilities` does for others.

    It is the mean over samples of Φ((θ_r - x - m) / √(1 + v)) over levels, with the drift of mean m and variance v.
    """
    n = len(users)
    below_level = zeros((thresholds.shape[2], n))
    x, mean, root = empty(n), empty(n), empty(n)
    for s in draws:
        drift_of_visits(users, left, right, before, after, drift[s], multipliers[s], scales[s], times[s], mean, root)
        for k in range(n):
            x[k] = score(U[s, users[k]], V[s, items[k]], True) + mean[k]
        add_shares(users, thresholds[s], x, root, below_level)
    set_probabilities(below_level, len(draws), out)


#: Metropolis steps for thresholds, and for the multiplier of a drift, in a cycle.
_TRIES = np.array([3, 2])


@exact
def fold_ordinal_rows(  # type: ignore[no-untyped-def]
    lo, hi, key, indptr, indices, levels, moments, moment, counts, gaps, other, precision, shifts, gap_mean,
    gap_precision, squares, times, spread, first_rows, first_gaps, first_moved, first_multipliers, n_cycles,
    out, thresholds, multipliers, drift,
):  # fmt: skip
    """Draw rows and thresholds of new users under one sample of all that belongs to items and to the prior.

    Each user's chain starts at the rows and log-gaps given; the reach of its proposals is adapted in the first half of
    the cycles. All have the same stream: what is drawn for a user does not depend on who else is there. Unless `times`
    is empty, multipliers and processes of their drift are drawn too, given `squares`, `times` and `spread` as in
    `kernels.drift`, from the multipliers given and what each rating is moved by at first.
    """
    p = other.shape[1]
    one = empty(1, np.float32)
    one[0] = 1
    prior, room = prior_equations(precision), room_of_rows(p, SINGLE)
    theta, of_levels = empty(len(gap_mean) + 2), room_for(most(lo, hi, indptr), len(gap_mean))
    for i in range(lo, hi):
        here = slice(indptr[i], indptr[i + 1])
        items = indices[here]
        n = len(items)
        state = stream(key, 0)
        u = first_rows[i].copy()
        gaps_of_levels = first_gaps[i].copy()
        table, rows = own_table(items, other, True, SINGLE)
        begin_draws(one, table, prior, shifts[i], room)
        x, z, moved = empty(n, np.float32), empty(n, np.float32), zeros(n)
        reach = 1.0
        drifts = len(times) > 0
        first, last = (moments[i], moments[i + 1]) if drifts else (0, 0)
        fade, processes, means = empty((last - first, K)), zeros((last - first, K)), empty(last - first)
        fades(0, last - first, gaps[first:last], times, fade)
        g, g_reach = 1.0, 1.0
        if drifts:
            for k in range(n):
                moved[k] = first_moved[indptr[i] + k]
            g = first_multipliers[i]
        for cycle in range(n_cycles):
            set_scores(0, n, rows, table, u, x)
            for k in range(n):
                x[k] += moved[k]
            state, accepted, _ = draw_thresholds_and_latent(
                state, x, levels[here], gaps_of_levels, gap_mean, gap_precision, reach, _TRIES[0], theta, z, of_levels
            )
            if cycle < n_cycles // 2:
                reach *= np.exp((accepted - 0.3) / np.sqrt(cycle + 1))
            for k in range(n):
                z[k] -= moved[k]
            state = draw_again(state, z, one, table, shifts[i], room, u)
            if drifts:
                set_scores(0, n, rows, table, u, x)
                for k in range(n):
                    z[k] += moved[k] - x[k]
                set_moment_means(z, moment[here], first, counts[first:last], means)
                state, g, accepted = _draw_drift(
                    state, fade, counts[first:last], means, squares, spread, g_reach, g, processes
                )
                if cycle < n_cycles // 2:
                    g_reach *= np.exp((accepted - 0.4) / np.sqrt(cycle + 1))
                for k in range(n):
                    at = moment[indptr[i] + k] - first
                    moved[k] = processes[at, 0] + processes[at, 1] + processes[at, 2]
        for a in range(p):
            out[i, a] = u[a]
        for r in range(thresholds.shape[1]):
            thresholds[i, r] = theta[r + 1]
        if drifts:
            multipliers[i] = g
            for t in range(last - first):
                for k in range(K):
                    drift[first + t, k] = processes[t, k]


@exact
def _draw_drift(state, fade, counts, means, squares, spread, reach, g, processes):  # type: ignore[no-untyped-def]
    """Draw multiplier and processes of one user; return the stream, the multiplier and the share accepted."""
    value = filter_moments(fade, counts, means, g * squares, empty((0, K)), empty((0, K, K)))
    state, g, accepted, _ = draw_multiplier(state, fade, counts, means, squares, spread, reach, _TRIES[1], g, value)
    return draw_processes(state, fade, counts, means, g * squares, processes), g, accepted
