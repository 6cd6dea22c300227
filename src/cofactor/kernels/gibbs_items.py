"""Draws for new items, where their users' rows and thresholds are given."""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import exact
from cofactor.kernels.gibbs import FAR, SINGLE, draw_latent, level_masses, room_for_levels
from cofactor.kernels.gibbs_rows import begin_draws, draw_again, own_table, room_of_rows, set_scores
from cofactor.kernels.normal_equations import prior_equations
from cofactor.kernels.random import stream


@exact
def fold_ordinal_columns(  # type: ignore[no-untyped-def]
    lo, hi, key, indptr, indices, levels, other, thresholds, means, roots, precision, shifts, first_rows,
    n_cycles, out,
):  # fmt: skip
    """Draw rows of the new items lo..hi under one sample of all that belongs to users and to the prior.

    A cycle draws z given the item's row, then the row given z; each item's chain starts at the row given. All have the
    same stream: what is drawn for an item does not depend on which others are there.

    z has the mean x + m and the precision α, of which `means` and `roots` have m and √α for each rating. Drawn is √α
    (z - m), which has unit variance.
    """
    p = other.shape[1]
    n_thresholds = thresholds.shape[1]
    prior, room = prior_equations(precision), room_of_rows(p, SINGLE)
    for j in range(lo, hi):
        here = slice(indptr[j], indptr[j + 1])
        users, mean, root = indices[here], means[here], roots[here]
        n = len(users)
        # the boundaries of all these users, one after another, and where that above each rating stands
        theta = empty(n * (n_thresholds + 2), np.float32)
        upper = empty(n, np.int64)
        for k in range(n):
            first = k * (n_thresholds + 2)
            theta[first] = -FAR
            theta[first + n_thresholds + 1] = FAR
            for r in range(n_thresholds):
                theta[first + 1 + r] = root[k] * (thresholds[users[k], r] - mean[k])
            upper[k] = first + levels[indptr[j] + k]
        state = stream(key, 0)
        v = first_rows[j].copy()
        x, z, of_levels = empty(n, np.float32), empty(n, np.float32), room_for_levels(n)
        table, rows = own_table(users, other, True, SINGLE)
        begin_draws(root, table, prior, shifts[j], room)
        for _ in range(n_cycles):
            set_scores(0, n, rows, table, v, x)
            for k in range(n):
                x[k] *= root[k]
            level_masses(x, upper, theta, of_levels)
            state = draw_latent(state, x, of_levels, z)
            for k in range(n):
                z[k] /= root[k]
            state = draw_again(state, z, root, table, shifts[j], room, v)
        for a in range(p):
            out[j, a] = v[a]
