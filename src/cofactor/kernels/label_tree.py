"""Sums and best label sets of a tree of labels.

A label set t has the score sum_l f_l t_l + sum_l a_l t_l t_p(l), where p(l) is the parent of label l in the tree.
`order` lists the labels from the root on, so that each comes after its parent; the root has the parent -1.
"""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import ordered


@ordered
def _softplus(x):  # type: ignore[no-untyped-def]
    """Return log(1 + e^x), and its derivative."""
    small = np.exp(-abs(x))
    share = small / (1 + small)
    return max(x, 0.0) + np.log1p(small), (1 - share if x > 0 else share)


@ordered
def sum_trees(F, order, parents, a, weights, chances, both):  # type: ignore[no-untyped-def]
    """Return the weighted sum of the logarithms of the sums of e^score over all label sets, for some instances.

    Parameters
    ----------
    F : ndarray of shape (n, L)
        Scores f of the labels of each instance.
    order, parents : ndarray of shape (L,), int64
    a : ndarray of shape (L,)
        Scores of labels that are on with their parents.
    weights : ndarray of shape (n,)
        Of the instances.
    chances : ndarray of shape (n, L)
        Probabilities of labels are put here.
    both : ndarray of shape (L,)
        The weighted sum of probabilities that a label and its parent are on is put here.
    """
    n, L = F.shape
    odds = empty(L)
    with_parent = empty(L)
    without = empty(L)
    total = 0.0
    for j in range(L):
        both[j] = 0
    for i in range(n):
        for j in range(L):
            odds[j] = F[i, j]
        log_sum = 0.0
        for r in range(L - 1, -1, -1):
            j = order[r]
            up, without[j] = _softplus(odds[j])
            log_sum += up
            if r > 0:
                message, with_parent[j] = _softplus(odds[j] + a[j])
                odds[parents[j]] += message - up
        for r in range(L):
            j = order[r]
            if r == 0:
                chances[i, j] = without[j]
            else:
                on = chances[i, parents[j]]
                chances[i, j] = on * with_parent[j] + (1 - on) * without[j]
                both[j] += weights[i] * on * with_parent[j]
        total += weights[i] * log_sum
    return total


@ordered
def best_of_trees(F, order, parents, a, best):  # type: ignore[no-untyped-def]
    """Put the label sets of the largest scores into `best`, shape (n, L), uint8; see `sum_trees`."""
    n, L = F.shape
    odds = empty(L)
    for i in range(n):
        for j in range(L):
            odds[j] = F[i, j]
        for r in range(L - 1, 0, -1):
            j = order[r]
            odds[parents[j]] += max(odds[j] + a[j], 0.0) - max(odds[j], 0.0)
        for r in range(L):
            j = order[r]
            bonus = a[j] if r > 0 and best[i, parents[j]] else 0.0
            best[i, j] = odds[j] + bonus > 0
