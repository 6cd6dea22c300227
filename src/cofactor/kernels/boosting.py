"""Boosting of many labels by stumps: the best cut of each feature, and sums of weights on both sides of a cut.

Columns of features are stored as in CSC, entries of a column by their value, numbers that are 0 left out. Every
instance has a weight for each label; CSR arrays say which labels are on.
"""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel

#: Losses that differ by less are equal, and the lowest cut counts: rounding errors depend on the order of instances.
ROUNDING = 1e-10
_NOTHING = 1e-14  #: what differences of sums of weights leave behind, where all weights have the sum 1 or 2


@kernel
def best_cuts(  # type: ignore[no-untyped-def]
    lo, hi, indptr, rows, values, weights, y_indptr, y_indices, total, total_on, ranking, losses, cuts
):
    """Write for features lo..hi the cut with the least loss, and the loss; infinity for constant ones.

    With P and Q the weight of a label, on and off, on one side of the cut, the loss is the sum over sides and labels of
    √(P Q); with `ranking`, of -|P - Q|. Sums begin at the lowest negative value, or the highest positive one; what lies
    on the other side is the rest of the total.
    """
    n, L = weights.shape
    heavy = empty(L)
    on = empty(L)
    for f in range(lo, hi):
        start = indptr[f]
        stop = indptr[f + 1]
        losses[f] = np.inf
        cuts[f] = np.inf
        zeros = n - (stop - start)
        middle = start
        while middle < stop and values[middle] < 0:
            middle += 1
        for step in range(stop - start):
            below = start + step < middle
            a = start + step if below else stop - 1 - (start + step - middle)
            if step == 0 or start + step == middle:
                heavy[:] = 0.0
                on[:] = 0.0
            i = rows[a]
            for k in range(L):
                heavy[k] += weights[i, k]
            for b in range(y_indptr[i], y_indptr[i + 1]):
                on[y_indices[b]] += weights[i, y_indices[b]]
            here = values[a]
            beyond = here
            if below:
                if a + 1 < middle:
                    beyond = values[a + 1]
                elif zeros > 0:
                    beyond = 0.0
                elif middle < stop:
                    beyond = values[middle]
            elif a > middle:
                beyond = values[a - 1]
            elif zeros > 0:
                beyond = 0.0
            if beyond == here:
                continue
            loss = 0.0
            if ranking:
                for k in range(L):
                    one = 2 * on[k] - heavy[k]
                    loss -= abs(one) + abs(2 * total_on[k] - total[k] - one)
            else:
                for k in range(L):
                    p = on[k]
                    q = heavy[k] - p
                    r = total_on[k] - p
                    s = total[k] - total_on[k] - q
                    p = p if p > _NOTHING else 0.0
                    q = q if q > _NOTHING else 0.0
                    r = r if r > _NOTHING else 0.0
                    s = s if s > _NOTHING else 0.0
                    loss += np.sqrt(p * q) + np.sqrt(r * s)
            cut = 0.5 * here + 0.5 * beyond
            if cut >= max(here, beyond):
                cut = min(here, beyond)
            if loss < losses[f] - ROUNDING or (loss <= losses[f] + ROUNDING and cut < cuts[f]):
                losses[f] = loss
                cuts[f] = cut


@kernel
def side_sums(above, weights, y_indptr, y_indices, heavy, on):  # type: ignore[no-untyped-def]
    """Write for both sides of a cut the weight of each label, and that of the instances which have it."""
    heavy[:] = 0.0
    on[:] = 0.0
    for i in range(len(weights)):
        side = above[i]
        for k in range(weights.shape[1]):
            heavy[side, k] += weights[i, k]
        for b in range(y_indptr[i], y_indptr[i + 1]):
            on[side, y_indices[b]] += weights[i, y_indices[b]]


@kernel
def reweigh(above, factor, factor_on, weights, y_indptr, y_indices):  # type: ignore[no-untyped-def]
    """Multiply the weights of each side by its factors: where labels are on by `factor_on` beside `factor`."""
    for i in range(len(weights)):
        side = above[i]
        for k in range(weights.shape[1]):
            weights[i, k] *= factor[side, k]
        for b in range(y_indptr[i], y_indptr[i + 1]):
            weights[i, y_indices[b]] *= factor_on[side, y_indices[b]]


@kernel
def step_terms(above, factor, terms, y_indptr, y_indices, sums):  # type: ignore[no-untyped-def]
    """Multiply the terms of labels that are off by the factor of their side, divide those that are on by it.

    Write the sums of both into the two columns of `sums`. Only their product counts: where the first has gone far, it
    moves to the second.
    """
    L = terms.shape[1]  # below, labels that are on have negative terms for a moment
    for i in range(len(terms)):
        side = above[i]
        for b in range(y_indptr[i], y_indptr[i + 1]):
            k = y_indices[b]
            terms[i, k] /= factor[side, k] * factor[side, k]
        for k in range(L):
            terms[i, k] *= factor[side, k]
        whole, on = 0.0, 0.0
        for b in range(y_indptr[i], y_indptr[i + 1]):
            on += terms[i, y_indices[b]]
        for b in range(y_indptr[i], y_indptr[i + 1]):
            terms[i, y_indices[b]] *= -1.0
        for k in range(L):
            whole += max(terms[i, k], 0.0)
        move = whole if whole > 1e100 or 0.0 < whole < 1e-100 else 1.0
        for k in range(L if move != 1.0 else 0):
            terms[i, k] /= move
        for b in range(y_indptr[i], y_indptr[i + 1]):
            terms[i, y_indices[b]] *= -move * move if move != 1.0 else -1.0
        sums[i, 0] = whole / move
        sums[i, 1] = on * move


@kernel
def pair_weights(terms, share, share_on, y_indptr, y_indices, weights):  # type: ignore[no-untyped-def]
    """Write terms times the share of their instance: of labels that are off, and of those that are on."""
    for i in range(len(terms)):
        for k in range(terms.shape[1]):
            weights[i, k] = terms[i, k] * share[i]
        for b in range(y_indptr[i], y_indptr[i + 1]):
            weights[i, y_indices[b]] = terms[i, y_indices[b]] * share_on[i]
