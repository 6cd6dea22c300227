"""Draws of thresholds and latent scores of ratings, row by row, and what samples say of levels.

`lo, hi` is the range of rows; `indptr, indices` the pattern; arrays over ratings are in the order of the rows. Each row
has its own stream of random numbers, `stream(key, row)`.
"""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.cholesky import factorize, solve_upper
from cofactor.kernels.compile import exact, fused, inlined, kernel
from cofactor.kernels.gibbs_rows import begin_draws, draw_again, own_table, room_of_rows, set_scores
from cofactor.kernels.lanes import fetch
from cofactor.kernels.normal import cdf
from cofactor.kernels.normal_single import FARTHEST, LEAST, below, quantiles, sum_of_logarithms
from cofactor.kernels.random import normal, single_uniforms, stream, uniform
from cofactor.kernels.ridge import prior_equations

#: Stands for an infinite threshold: no probability is left beyond it.
INFINITE = 1e3

#: A zero in the precision of scores, latent scores and probabilities of levels.
SINGLE = np.float32(0)
_ONE = np.float32(1)


#: Entries of a row are padded with zeros to a multiple of this, so that loops over them have no remainder.
PAD = 32


@kernel
def add_products(F, n, gram):  # type: ignore[no-untyped-def]
    """Add F Fᵀ, of the first n columns of F, to the lower triangle of `gram`.

    Two rows by four at a time, so that a number is loaded once for several products.
    """
    p = len(F)
    for a in range(0, p - 1, 2):
        f0, f1 = F[a], F[a + 1]
        b = 0
        while b + 3 <= a:
            g0, g1, g2, g3 = F[b], F[b + 1], F[b + 2], F[b + 3]
            s0 = s1 = s2 = s3 = 0.0
            t0 = t1 = t2 = t3 = 0.0
            for k in range(n):
                s0 += f0[k] * g0[k]
                s1 += f0[k] * g1[k]
                s2 += f0[k] * g2[k]
                s3 += f0[k] * g3[k]
                t0 += f1[k] * g0[k]
                t1 += f1[k] * g1[k]
                t2 += f1[k] * g2[k]
                t3 += f1[k] * g3[k]
            gram[a, b] += s0
            gram[a, b + 1] += s1
            gram[a, b + 2] += s2
            gram[a, b + 3] += s3
            gram[a + 1, b] += t0
            gram[a + 1, b + 1] += t1
            gram[a + 1, b + 2] += t2
            gram[a + 1, b + 3] += t3
            b += 4
        while b <= a + 1:
            g0 = F[b]
            s0 = t0 = 0.0
            for k in range(n):
                s0 += f0[k] * g0[k]
                t0 += f1[k] * g0[k]
            if b <= a:
                gram[a, b] += s0
            gram[a + 1, b] += t0
            b += 1
    if p % 2 == 1:
        f0 = F[p - 1]
        for b in range(p):
            g0 = F[b]
            s0 = 0.0
            for k in range(n):
                s0 += f0[k] * g0[k]
            gram[p - 1, b] += s0


@inlined
def score(u, v, biased):  # type: ignore[no-untyped-def]
    """Return u·v, where with `biased` the last columns are biases, which are added.

    The order of the sum is written out, in four parts at once: left to the compiler, it is another one wherever this is
    compiled into its caller.
    """
    d = len(u) - 1 if biased else len(u)
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    f = 0
    while f + 3 < d:
        s0 = fused(u[f], v[f], s0)
        s1 = fused(u[f + 1], v[f + 1], s1)
        s2 = fused(u[f + 2], v[f + 2], s2)
        s3 = fused(u[f + 3], v[f + 3], s3)
        f += 4
    while f < d:
        s0 = fused(u[f], v[f], s0)
        f += 1
    s = (s0 + s1) + (s2 + s3)
    return s + (u[d] + v[d]) if biased else s


@kernel
def boundaries(gaps, out):  # type: ignore[no-untyped-def]
    """Write θ_0 … θ_R for log-gaps a: θ_1 = a_1, θ_r = θ_{r-1} + exp(a_r), and infinity on both sides."""
    R = len(gaps) + 1
    out[0] = -INFINITE
    out[R] = INFINITE
    out[1] = gaps[0]
    for r in range(1, R - 1):
        out[r + 1] = out[r] + np.exp(gaps[r])


@exact
def room_for_levels(n_most):  # type: ignore[no-untyped-def]
    """Return room for what `level_masses` says of so many ratings, one after another."""
    return empty((3, n_most), np.float32)


@exact
def level_masses(x, levels, theta, room):  # type: ignore[no-untyped-def]
    """Write the probability of each rating's level, P = Φ(θ_y - x) - Φ(θ_{y-1} - x), and that on its left.

    On its right where the side, written too, is -1: there the right tail is the smaller one. Return the sum of log P.
    """
    n = len(x)
    left, mass, side = room[0, :n], room[1, :n], room[2, :n]
    for k in range(n):  # apart from the arithmetic, which is vectorized then
        left[k] = theta[levels[k] - 1]
        mass[k] = theta[levels[k]]
    for k in range(n):
        a = left[k] - x[k]
        b = mass[k] - x[k]
        turn = a + b > SINGLE
        low = max(-b if turn else a, -FARTHEST)
        high = -a if turn else b
        left[k] = below(low)
        tail = below(max(-abs(high), -FARTHEST))
        mass[k] = max((tail if high <= SINGLE else _ONE - tail) - left[k], LEAST)
        side[k] = -_ONE if turn else _ONE
    return sum_of_logarithms(mass)


@exact
def draw_latent(state, x, room, z):  # type: ignore[no-untyped-def]
    """Draw z ~ N(x, 1) between the thresholds of each rating's level, given `level_masses`; return the stream.

    What lies on the left is replaced.
    """
    n = len(x)
    left, mass, side = room[0, :n], room[1, :n], room[2, :n]
    state = single_uniforms(state, z)
    for k in range(n):
        left[k] = fused(z[k], mass[k], left[k])
    quantiles(left, z)
    for k in range(n):
        z[k] = fused(side[k], z[k], x[k])
    return state


@inlined
def _rounded(x, out):  # type: ignore[no-untyped-def]
    """Return numbers in the precision of `out`, where they are written."""
    for k in range(len(x)):
        out[k] = x[k]
    return out


@exact
def set_scales(levels, gap_mean, gap_precision, scales, widths):  # type: ignore[no-untyped-def]
    """Write by how much proposals change the thresholds of a user, and how wide the gaps are that this changes.

    Thresholds are moved, each by a normal step of its own, since ratings tell more of where a threshold lies than of
    where all of them lie together, and hardly couple two of them: a rating says of those beside it about what a normal
    draw says of its mean. Log-gaps change as they would at average gaps, so that the way back is as likely.
    """
    n_gaps = len(gap_mean)
    widths[0] = 1.0
    for r in range(1, n_gaps):
        widths[r] = np.exp(gap_mean[r])
    for r in range(n_gaps):
        scales[r] = gap_precision[r] / (widths[r] * widths[r])
        if r + 1 < n_gaps:
            scales[r] += gap_precision[r + 1] / (widths[r + 1] * widths[r + 1])
    for y in range(1, n_gaps + 2):
        count = 0
        for k in range(len(levels)):
            count += levels[k] == y
        if y <= n_gaps:
            scales[y - 1] += count
        if y >= 2:
            scales[y - 2] += count
    for r in range(n_gaps):
        scales[r] = 1 / np.sqrt(scales[r])


@exact
def room_for(n_most, n_gaps):  # type: ignore[no-untyped-def]
    """Return room for `draw_thresholds_and_latent` of a user with no more than so many ratings."""
    return (room_for_levels(n_most), room_for_levels(n_most)), empty((3, n_gaps)), empty(n_gaps + 2, np.float32)


@exact
def most(lo, hi, indptr):  # type: ignore[no-untyped-def]
    """Return how many entries the longest of some rows has."""
    n = 0
    for i in range(lo, hi):
        n = max(n, indptr[i + 1] - indptr[i])
    return n


@exact
def draw_thresholds_and_latent(  # type: ignore[no-untyped-def]
    state, x, levels, gaps, gap_mean, gap_precision, reach, n_tries, theta, z, room
):
    """Draw the log-gaps of a user's thresholds by Metropolis steps, the latent z integrated out, and then z.

    A proposal changes all log-gaps at once, as `set_scales` says, times `reach`. `room` is that of `room_for`. Return
    the stream, the share of proposals accepted and the log-likelihood.
    """
    (at, other), of_gaps, single = room
    n_gaps = len(gaps)
    trial, scales, widths = of_gaps[0], of_gaps[1], of_gaps[2]
    set_scales(levels, gap_mean, gap_precision, scales, widths)
    boundaries(gaps, theta)
    now = level_masses(x, levels, _rounded(theta, single), at)
    n_accepted = 0
    for _ in range(n_tries):
        change, last = 0.0, 0.0
        for r in range(n_gaps):
            state, g = normal(state)
            step = reach * scales[r] * g
            trial[r] = gaps[r] + (step - last) / widths[r]
            last = step
            change += gap_precision[r] * ((gaps[r] - gap_mean[r]) ** 2 - (trial[r] - gap_mean[r]) ** 2)
        boundaries(trial, theta)
        new = level_masses(x, levels, _rounded(theta, single), other)
        state, u = uniform(state)
        if np.log(u) < new - now + 0.5 * change:
            now = new
            n_accepted += 1
            for r in range(n_gaps):
                gaps[r] = trial[r]
            at, other = other, at
    boundaries(gaps, theta)
    state = draw_latent(state, x, at, z)
    return state, n_accepted / max(n_tries, 1), now


@exact
def draw_ordinal_rows(  # type: ignore[no-untyped-def]
    lo, hi, key, indptr, indices, levels, own, table, drift,
    gaps, gap_mean, gap_precision, reach, n_tries, thresholds, z, accepted, value,
):  # fmt: skip
    """Draw thresholds and z of the rows lo..hi, each as `draw_thresholds_and_latent` does.

    `table` has the rows of the other side, with their biases, see `pad_features`. `drift` is what is added to the score
    of each rating, an array of them, or an empty one for nothing.
    """
    n_most, n_gaps = most(lo, hi, indptr), gaps.shape[1]
    scores, theta, room = empty(n_most, np.float32), empty(n_gaps + 2), room_for(n_most, n_gaps)
    for i in range(lo, hi):
        start, end = indptr[i], indptr[i + 1]
        x = scores[: end - start]
        set_scores(start, end, indices, table, own[i], x)
        if len(drift) > 0:
            for k in range(len(x)):
                x[k] += drift[start + k]
        _, accepted[i], value[i] = draw_thresholds_and_latent(
            stream(key, i), x, levels[start:end], gaps[i], gap_mean, gap_precision, reach[i], n_tries, theta,
            z[start:end], room,
        )  # fmt: skip
        for r in range(n_gaps):
            thresholds[i, r] = theta[r + 1]


@exact
def add_shares(users, thresholds, x, roots, below_level):  # type: ignore[no-untyped-def]
    """Add Φ(√α (θ_r - x)) of some pairs to `below_level`, (R - 1, n), given thresholds, x and √α.

    Thresholds are those of each user, or one row for all.
    """
    theta = empty(len(x))
    for r in range(len(below_level)):
        for k in range(len(x)):
            theta[k] = thresholds[users[k] if len(thresholds) > 1 else 0, r]
        total = below_level[r]
        for k in range(len(x)):
            total[k] += cdf(roots[k] * (theta[k] - x[k]))


@exact
def set_probabilities(below_level, n_samples, out):  # type: ignore[no-untyped-def]
    """Write the probability of every level, (n, R), from sums over samples of the probabilities to lie below."""
    n_thresholds, n = below_level.shape
    for k in range(n):
        before = 0.0
        for r in range(n_thresholds):
            share = below_level[r, k] / n_samples
            out[k, r] = share - before
            before = share
        out[k, n_thresholds] = 1 - before


@exact
def level_probabilities(lo, hi, users, items, draws, U, V, thresholds, roots, biased, out):  # type: ignore[no-untyped-def]
    """Write the probability of every level for the pairs lo..hi, the mean over samples of Φ(√α (θ_r - x)) over levels.

    Samples along the first axis of U, V, thresholds and `roots`, the √α, of which `draws` holds the numbers of those to
    take; thresholds of each user, or one row for all; with `biased`, the last columns of U and V are biases.
    """
    n = hi - lo
    below_level = zeros((thresholds.shape[2], n))
    x, root = empty(n), empty(n)
    for a, s in enumerate(draws):
        root[:] = roots[s]
        after = V[draws[min(a + 1, len(draws) - 1)]]
        for k in range(n):
            fetch(after, items[lo + k])
            x[k] = score(U[s, users[lo + k]], V[s, items[lo + k]], biased)
        add_shares(users[lo:hi], thresholds[s], x, root, below_level)
    set_probabilities(below_level, len(draws), out[lo:hi])


@exact
def level_moments(lo, hi, indptr, indices, levels, weights, own, other, out):  # type: ignore[no-untyped-def]
    """Write Σ w, Σ w x and Σ w x² of the scores x = u·v of the entries of each level, (R, 3), of the rows lo..hi.

    Levels count from 1; w may be a single number for all.
    """
    out[:] = 0
    for i in range(lo, hi):
        for k in range(indptr[i], indptr[i + 1]):
            w = weights[k] if len(weights) > 1 else weights[0]
            x, r = score(own[i], other[indices[k]], False), levels[k] - 1
            out[r, 0] += w
            out[r, 1] += w * x
            out[r, 2] += w * x * x


@kernel
def wishart(inverse, bartlett, noise, precision, shift):  # type: ignore[no-untyped-def]
    """Write Λ = T Tᵀ, a draw from the Wishart distribution of the scale M⁻¹, and T⁻ᵀ ξ, a draw from N(0, Λ⁻¹).

    T = C⁻ᵀ B, where M = C Cᵀ is `inverse`, whose lower triangle is replaced. B is lower triangular, with the square
    root of a χ² draw of ν - a degrees of freedom at (a, a), a = 0, 1, ..., and standard normal draws below (Bartlett's
    decomposition). ξ is standard normal `noise`, which is replaced as well.
    """
    d = len(noise)
    factorize(inverse, d)
    solve_upper(bartlett, noise, d)
    T = empty((d, d))
    column = empty(d)
    for a in range(d):
        shift[a] = 0
        for b in range(a + 1):
            shift[a] += inverse[a, b] * noise[b]
        for b in range(d):
            column[b] = bartlett[b, a]
        solve_upper(inverse, column, d)
        for b in range(d):
            T[b, a] = column[b]
    precision[:] = 0
    add_products(T, d, precision)
    for a in range(d):
        for b in range(a):
            precision[b, a] = precision[a, b]


@kernel
def prior_means(lo, hi, features, weights, mean, out):  # type: ignore[no-untyped-def]
    """Write out_i = µ + f_i W for the rows lo..hi; column i of `features` is f_i."""
    K, p = weights.shape
    column = empty(hi - lo)
    for a in range(p):
        column[:] = mean[a]
        for k in range(K):
            f = features[k, lo:hi]
            for i in range(hi - lo):
                column[i] += f[i] * weights[k, a]
        for i in range(hi - lo):
            out[lo + i, a] = column[i]


@kernel
def feature_sums(lo, hi, features, rows, mean, out):  # type: ignore[no-untyped-def]
    """Write out_a = Σ_i f_i (w_ia - µ_a) for the columns lo..hi of w; row i of `features` is f_i."""
    out[lo:hi] = 0
    for i in range(len(rows)):
        f = features[i]
        for a in range(lo, hi):
            rest = rows[i, a] - mean[a]
            total = out[a]
            for k in range(len(f)):
                total[k] += f[k] * rest


@exact
def column_sums(rows, out):  # type: ignore[no-untyped-def]
    """Write the sum of each column, added up row by row."""
    n, p = rows.shape
    out[:] = 0
    for i in range(n):
        for a in range(p):
            out[a] += rows[i, a]


@exact
def column_squares(rows, mean, out):  # type: ignore[no-untyped-def]
    """Write the sum of the squares of each column less its mean, likewise."""
    n, p = rows.shape
    out[:] = 0
    for i in range(n):
        for a in range(p):
            x = rows[i, a] - mean[a]
            out[a] += x * x


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
            theta[first] = -INFINITE
            theta[first + n_thresholds + 1] = INFINITE
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


@exact
def samples_of(table, rows, out):  # type: ignore[no-untyped-def]
    """Write out[s, k] = table[rows[k], s]; rows from the end are counted back, as in NumPy."""
    for k in range(len(rows)):
        i = rows[k]
        for s in range(table.shape[1]):
            for f in range(table.shape[2]):
                out[s, k, f] = table[i, s, f]
