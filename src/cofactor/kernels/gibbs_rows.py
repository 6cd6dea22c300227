"""Draws of rows of factors from their conditional distribution, given the rows of the other side and their products.

Row i has the distribution N(A⁻¹b, A⁻¹) with A = P + Σ_k ω_k φφᵀ and b = s + Σ_k ω_k φ t_k, where φ is what `table` has
of the entry's column, see `pad_features`, t is the target less what the table takes off it, and P and s are the
precision of the prior and its product with the prior's mean. Weights ω come by their `roots`, one for all if there is
only one.

The same functions serve users (CSR) and items (CSC). `lo, hi` is the range of rows; `indptr, indices` the pattern;
targets and roots are in the order of users, and `position` says where in them a column entry stands (an empty array:
where it is). Products of entries are in the precision of the table, over some of them at a time, what is drawn from
their sums is in double precision: see `normal_equations`. Each row has its own stream of random numbers,
`stream(key, row)`.
"""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import exact, ordered
from cofactor.kernels.lanes import AHEAD, LANES, fetch_lanes, filled, fma, load, total
from cofactor.kernels.normal import quantiles
from cofactor.kernels.random import stream, uniforms
from cofactor.kernels.ridge import (
    add_entries,
    add_targets,
    begin_equations,
    copies,
    factorize,
    lines,
    prior_equations,
    project,
    room,
    solve,
    square,
)


@ordered
def room_of_rows(p, zero):  # type: ignore[no-untyped-def]
    """Return room to draw rows of p numbers in: for equations, solutions, noise; and entries of `zero`'s precision."""
    G, T, W = room(p)
    return (G, T, W, empty((2, lines(p) * LANES))), copies(p, zero)


@exact
def set_scores(start, end, indices, table, own, x):  # type: ignore[no-untyped-def]
    """Write the scores that a row has with the entries start..end-1: φ·w, plus what the table takes off targets."""
    p = len(own)
    L = lines(p)
    W, last = zeros((L, LANES), table.dtype), len(indices) - 1
    w = W.reshape(-1)
    for a in range(p):
        w[a] = own[a]
    w[p] = -1
    for e in range(start, end):
        ahead, at = np.int64(indices[min(e + AHEAD, last)]) * L, np.int64(indices[e]) * L
        s = filled(table.dtype.type(0))
        for b in range(L):
            fetch_lanes(table, ahead + b)
            s = fma(load(W, b), load(table, at + b), s)
        x[e - start] = total(s)


@exact
def own_table(indices, other, biased, zero):  # type: ignore[no-untyped-def]
    """Return a table, as of `pad_features`, of the rows that some entries belong to, and where in it each is.

    With `biased`, their last column is a bias: it is taken off targets, and a one stands in its place. The table is in
    the precision of `zero`.
    """
    n, p = len(indices), other.shape[1]
    L = lines(p)
    table, rows = zeros((n * L, LANES), zero), empty(n, np.int32)
    wide = table.reshape(n, L * LANES)
    for k in range(n):
        rows[k] = k
        own = other[indices[k]]
        for a in range(p):
            wide[k, a] = own[a]
        if biased:
            wide[k, p - 1] = 1
            wide[k, p] = -own[p - 1]
    return table, rows


@ordered
def draw_solution(state, room, out):  # type: ignore[no-untyped-def]
    """Draw a row given its equations, which are replaced; return the stream.

    Of more random numbers than are needed, whole registers are made.
    """
    G, T, W, _ = room
    factorize(G, len(out), 0.0, T, W)
    return _draw_projected(state, room, out)


@ordered
def _draw_projected(state, room, out):  # type: ignore[no-untyped-def]
    """Draw a row given its factorized equations; return the stream."""
    _, T, W, noise = room
    p = len(out)
    w, r = W.reshape(-1)[:p], W.reshape(-1)[noise.shape[1] :]
    state = uniforms(state, noise[0])
    quantiles(noise[0], noise[1])
    for a in range(p):
        w[a] += np.sqrt(r[a]) * noise[1, a]
    solve(p, T, W)
    for a in range(p):
        out[a] = w[a]
    return state


@ordered
def draw_row(state, start, end, indices, position, targets, roots, table, prior, shift, room, out):  # type: ignore[no-untyped-def]
    """Draw the row of the entries start..end-1; return the stream.

    `prior` is that of `prior_equations`, `room` that of `room_of_rows`.
    """
    of_solution, F = room
    G = of_solution[0]
    begin_equations(prior, shift, G)
    add_entries(start, end, len(out), indices, position, targets, roots, table, F, G)
    return draw_solution(state, of_solution, out)


@ordered
def begin_draws(roots, table, prior, shift, room):  # type: ignore[no-untyped-def]
    """Factorize the equations of a row for many draws in which its targets alone change.

    Its entries are the rows of a table, as `own_table` returns it. The rest is as for `draw_row`.
    """
    (G, T, W, _), F = room
    p = len(shift)
    n = len(table) // lines(p)
    in_place, rows, targets = empty(0, np.int32), empty(n, np.int32), zeros(n, table.dtype)
    for k in range(n):
        rows[k] = k
    begin_equations(prior, shift, G)
    add_entries(0, n, p, rows, in_place, targets, roots, table, F, G)
    factorize(G, p, 0.0, T, W)


@ordered
def draw_again(state, targets, roots, table, shift, room, out):  # type: ignore[no-untyped-def]
    """Draw a row for other targets, after `begin_draws`, from the distribution of `draw_row`; return the stream."""
    of_solution, _ = room
    _, T, W, _ = of_solution
    p = len(out)
    b = zeros((lines(p), LANES))
    for a in range(p):
        b.reshape(-1)[a] = shift[a]
    add_targets(p, targets, roots, table, b)
    project(p, b, T, W)
    return _draw_projected(state, of_solution, out)


@ordered
def draw_rows(lo, hi, key, indptr, indices, position, targets, roots, table, precision, shift, out):  # type: ignore[no-untyped-def]
    """Draw the rows lo..hi, each as `draw_row` does."""
    prior, room = prior_equations(precision), room_of_rows(out.shape[1], table.dtype.type(0))
    for i in range(lo, hi):
        draw_row(
            stream(key, i), indptr[i], indptr[i + 1], indices, position, targets, roots, table, prior, shift[i],
            room, out[i],
        )  # fmt: skip


@ordered
def fold_rows(lo, hi, key, indptr, indices, targets, roots, other, precision, shift, out):  # type: ignore[no-untyped-def]
    """Draw the rows of new users, or items, lo..hi, each as `draw_row` does, given the rows of the other side.

    All have the same stream: what is drawn for a user does not depend on who else is there.
    """
    prior, room, in_place = prior_equations(precision), room_of_rows(out.shape[1], 0.0), empty(0, np.int32)
    row = empty(out.shape[1])
    for i in range(lo, hi):
        here = slice(indptr[i], indptr[i + 1])
        table, rows = own_table(indices[here], other, False, 0.0)
        draw_row(
            stream(key, 0), 0, len(rows), rows, in_place, targets[here],
            roots[here] if len(roots) > 1 else roots, table, prior, shift[i], room, row,
        )  # fmt: skip
        for a in range(len(row)):
            out[i, a] = row[a]


@ordered
def column_equations(  # type: ignore[no-untyped-def]
    lo, hi, first, indptr, indices, position, targets, roots, table, precision, shift, out
):
    """Write what the prior and the entries of the columns lo..hi say of their rows: column j to row j - first.

    Arguments are those of `draw_rows`, but that `shift` begins with column `first`. The p (p + 1) / 2 numbers of the
    lower triangle of A come first, row by row, then the p of b.
    """
    p = shift.shape[1]
    (G, _, _, _), F = room_of_rows(p, table.dtype.type(0))
    g, prior = square(G, p), prior_equations(precision)
    for j in range(lo, hi):
        begin_equations(prior, shift[j - first], G)
        add_entries(indptr[j], indptr[j + 1], p, indices, position, targets, roots, table, F, G)
        k = 0
        for a in range(p + 1):
            for b in range(min(a + 1, p)):
                out[j - first, k] = g[b, a]
                k += 1


@ordered
def draw_solutions(lo, hi, key, equations, out):  # type: ignore[no-untyped-def]
    """Draw the rows lo..hi given `column_equations`, each as `draw_row` does."""
    p = out.shape[1]
    room, _ = room_of_rows(p, 0.0)
    g = square(room[0], p)
    for j in range(lo, hi):
        k = 0
        for a in range(p + 1):
            for b in range(min(a + 1, p)):
                g[b, a] = equations[j, k]
                k += 1
        draw_solution(stream(key, j), room, out[j])
