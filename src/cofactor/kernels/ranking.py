"""Roughly the expected rating of many items under a probit model: fast enough to look at every item of a catalogue."""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import fused, inlined, kernel, ordered
from cofactor.kernels.lanes import AHEAD, LANES, fetch, filled, fma, load_from, total

_ITEMS = 512  # at a time: their factors under one sample stay in a second-level cache, for all users
_NONE = np.float32(0)

#: Φ(t) - 1/2 as t P(t²) for |t| up to `_END`, and constant beyond: the least largest error, 1.7e-4, for six terms.
_END = np.float32(3.4)
_P0, _P1, _P2, _P3, _P4, _P5 = (
    np.float32(c)
    for c in (
        0.3982819193087538,
        -0.06480487265266019,
        0.008716963597425707,
        -0.0007640256181054418,
        3.8006402130120024e-05,
        -8.014686581809657e-07,
    )
)


@ordered
def rough_expectations(users, items, draws, U, V, thresholds, roots, weights, biased, out):  # type: ignore[no-untyped-def]
    """Write Σ_r weights_r p_r for some users and items in float32, by some of the samples.

    `items` has a row for each user, with as many columns as `out`, or one row for all of them. p_r is the mean over
    `draws`, numbers of samples, of what `gibbs.level_probabilities` takes the mean of over all, with errors up to
    1.7e-4 in each probability of a level or a lower one. `thresholds` and `roots` have for each sample what belongs to
    each user, or what belongs to all.
    """
    d = V.shape[2] - 1 if biased else V.shape[2]
    n_thresholds = thresholds.shape[2]
    gains = empty(n_thresholds, np.float32)
    base = weights[0]
    for r in range(n_thresholds):
        gains[r] = (weights[r + 1] - weights[r]) / len(draws)
        base += (weights[r + 1] - weights[r]) / 2
    out[:] = base
    room = empty(_ITEMS, np.float32)
    for group in range(len(items)):
        first, end = (0, len(users)) if len(items) == 1 else (group, group + 1)
        for lo in range(0, items.shape[1], _ITEMS):
            here = items[group, lo : lo + _ITEMS]
            x = room[: len(here)]
            for s in draws:
                for row in range(first, end):
                    i = users[row]
                    _set_scores(U[s, i], V[s], here, d, x)
                    root = np.float32(roots[s, i if roots.shape[1] > 1 else 0])
                    theta = thresholds[s, i if thresholds.shape[1] > 1 else 0]
                    for r in range(n_thresholds):
                        if gains[r] != 0:
                            _add_share_above(gains[r], theta[r], root, x, out[row, lo : lo + len(here)])


@ordered
def _set_scores(u, V, items, d, x):  # type: ignore[no-untyped-def]
    """Write the scores of items for a user of d factors, and perhaps a bias."""
    for k in range(len(items)):
        fetch(V, items[min(k + AHEAD, len(items) - 1)])
        v = V[items[k]]
        x[k] = _product(u, v, d)
        if len(u) > d:
            x[k] += u[d] + v[d]


@inlined
def _product(u, v, d):  # type: ignore[no-untyped-def]
    """Return the sum of the first d products, in the same order wherever this is compiled into its caller."""
    sums = filled(_NONE)
    f = 0
    while f + LANES <= d:
        sums = fma(load_from(u, f), load_from(v, f), sums)
        f += LANES
    product = total(sums)
    while f < d:
        product = fused(u[f], v[f], product)
        f += 1
    return product


@ordered
def _add_share_above(gain, threshold, root, x, out):  # type: ignore[no-untyped-def]
    """Add gain (Φ(root (x - threshold)) - 1/2)."""
    for k in range(len(out)):
        t = min(max(root * (x[k] - threshold), -_END), _END)
        q = t * t
        p = _P5 * q + _P4
        p = p * q + _P3
        p = p * q + _P2
        p = p * q + _P1
        p = p * q + _P0
        out[k] += gain * (t * p)


@kernel
def places(lo, hi, scores, left_out, rows, columns, out):  # type: ignore[no-untyped-def]
    """Write at which place of its row each entry lo..hi stands, the mean one among equals; NaN is the last."""
    for k in range(lo, hi):
        values, closed = scores[rows[k]], left_out[rows[k]]
        own = values[columns[k]]
        above = from_own = 0
        for j in range(len(values)):
            above += not closed[j] and values[j] > own
            from_own += not closed[j] and values[j] >= own
        out[k] = (above + from_own + 1) / 2 if own == own else len(values)


@ordered
def keep_best(scores, start, best, where):  # type: ignore[no-untyped-def]
    """For each row, bring the largest of its scores, those of the columns `start` and following, among its best.

    Each row of `best` is a heap of the largest scores so far, the least at the root, with their columns in `where`. It
    begins as -inf and -1. Columns come in ascending order, and of equal scores the lower column is the better one. What
    is -inf or NaN is left out.
    """
    for row in range(len(scores)):
        values, columns = best[row], where[row]
        for k in range(scores.shape[1]):
            if scores[row, k] > values[0]:
                _replace_root(np.float64(scores[row, k]), start + k, values, columns)


@ordered
def _replace_root(value, column, values, columns):  # type: ignore[no-untyped-def]
    n = len(values)
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= n:
            break
        right = child + 1
        if right < n and _is_worse(values[right], columns[right], values[child], columns[child]):
            child = right
        if not _is_worse(values[child], columns[child], value, column):
            break
        values[parent], columns[parent] = values[child], columns[child]
        parent = child
    values[parent], columns[parent] = value, column


@ordered
def _is_worse(value, column, other, other_column):  # type: ignore[no-untyped-def]
    return value < other or (value == other and column > other_column)
