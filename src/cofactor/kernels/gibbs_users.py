"""Draws for new users, where the items which they rated, and all that belongs to priors, are given."""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import exact
from cofactor.kernels.drift import K, draw_multiplier, draw_processes, fades, filter_moments, set_moment_means
from cofactor.kernels.gibbs import SINGLE, draw_thresholds_and_latent, most, room_for
from cofactor.kernels.gibbs_rows import begin_draws, draw_again, own_table, room_of_rows, set_scores
from cofactor.kernels.normal_equations import prior_equations
from cofactor.kernels.random import stream

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
    one = np.ones(1, np.float32)
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
                    moved[k] = processes[moment[indptr[i] + k] - first].sum()
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
