"""Votes of pairs of labels, of which only those are asked that decide (see `CalibratedLabelRanking`)."""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel


@kernel
def quick_votes(X, coef, intercept, on, asked):  # type: ignore[no-untyped-def]
    """Write which labels have more votes than the virtual one, and how many learners were asked, for each row of X.

    Row p of `coef` belongs to the pair p of the labels (0, 1), (0, 2), ..., (1, 2), ...; then come those of each label
    against the virtual one, L. The player which has lost the fewest votes so far, the virtual one first, meets of those
    whom it has not met the one which has lost the fewest. If it has met all of them, no other can have fewer: it is on,
    or it is the virtual one, and all others are off.
    """
    n, L = on.shape
    D = X.shape[1]
    n_pairs = L * (L - 1) // 2
    lost = empty(L + 1)
    left = empty(L + 1, np.int64)
    met = empty((L + 1, L + 1), np.uint8)
    for i in range(n):
        lost[:] = 0.0
        left[:] = L
        met[:] = 0
        while True:
            a = L
            for j in range(L):
                if on[i, j] == 0 and lost[j] < lost[a]:
                    a = j
            if left[a] == 0:
                if a == L:
                    break
                on[i, a] = 1
                continue
            b = -1
            for j in range(L, -1, -1):
                if j != a and met[a, j] == 0 and (b < 0 or lost[j] < lost[b]):
                    b = j
            first = min(a, b)
            second = max(a, b)
            p = n_pairs + first if second == L else first * (2 * L - first - 1) // 2 + second - first - 1
            score = intercept[p]
            for f in range(D):
                score += X[i, f] * coef[p, f]
            if score > 0:
                lost[second] += 1.0
            elif score < 0 or second == L:
                lost[first] += 1.0
            else:
                lost[first] += 0.5
                lost[second] += 0.5
            met[a, b] = 1
            met[b, a] = 1
            left[a] -= 1
            left[b] -= 1
            asked[i] += 1
