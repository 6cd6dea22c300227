"""Draws for items: from sums over users, and for new ones, whose users' thresholds are given."""

import numpy as np

from cofactor.kernels.compile import exact, kernel
from cofactor.kernels.gibbs import (
    FAR,
    add_entries,
    begin_equations,
    draw_latent,
    draw_row,
    draw_solution,
    level_masses,
    score,
)
from cofactor.kernels.random import stream


@kernel
def column_equations(  # type: ignore[no-untyped-def]
    lo, hi, first, indptr, indices, position, targets, weights, other, precision, shift, biased, out
):
    """Write what the prior and the entries of the columns lo..hi say of their rows: column j to row j - first.

    Arguments are those of `gibbs.draw_rows`, but that `shift` begins with column `first`. The p (p + 1) / 2 numbers of
    the lower triangle of A come first, row by row, then the p of b.
    """
    p = other.shape[1]
    gram = np.empty((p + 1, p + 1))
    for j in range(lo, hi):
        here = slice(indptr[j], indptr[j + 1])
        where = position[here]
        w = weights[where] if len(weights) > 1 else weights
        begin_equations(precision, shift[j - first], gram)
        add_entries(targets[where], w, other, indices[here], biased, gram)
        k = 0
        for a in range(p + 1):
            for b in range(min(a + 1, p)):
                out[j - first, k] = gram[a, b]
                k += 1


@kernel
def draw_solutions(lo, hi, key, equations, out):  # type: ignore[no-untyped-def]
    """Draw the rows lo..hi given `column_equations`, each as `gibbs.draw_row` does."""
    p = out.shape[1]
    gram = np.empty((p + 1, p + 1))
    for j in range(lo, hi):
        k = 0
        for a in range(p + 1):
            for b in range(min(a + 1, p)):
                gram[a, b] = equations[j, k]
                k += 1
        draw_solution(stream(key, j), gram, out[j])


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
    gram = np.empty((p + 1, p + 1))
    for j in range(lo, hi):
        here = slice(indptr[j], indptr[j + 1])
        users, mean, root = indices[here], means[here], roots[here]
        n = len(users)
        # the boundaries of all these users, one after another, and where that above each rating stands
        theta = np.empty(n * (n_thresholds + 2))
        upper = np.empty(n, dtype=np.int64)
        for k in range(n):
            first = k * (n_thresholds + 2)
            theta[first] = -FAR
            theta[first + n_thresholds + 1] = FAR
            for r in range(n_thresholds):
                theta[first + 1 + r] = root[k] * (thresholds[users[k], r] - mean[k])
            upper[k] = first + levels[indptr[j] + k]
        state = stream(key, 0)
        v = first_rows[j].copy()
        x, z, weights = np.empty(n), np.empty(n), np.empty(n)
        for k in range(n):
            weights[k] = root[k] * root[k]
        left, mass, side = np.empty(n), np.empty(n), np.empty(n)
        for _ in range(n_cycles):
            for k in range(n):
                x[k] = root[k] * score(v, other[users[k]], True)
            level_masses(x, upper, theta, left, mass, side)
            state = draw_latent(state, x, left, mass, side, z)
            for k in range(n):
                z[k] /= root[k]
            state = draw_row(state, z, weights, other, users, precision, shifts[j], True, gram, v)
        for a in range(p):
            out[j, a] = v[a]
