"""Many linear support vector machines with the squared hinge on the same sparse rows, by dual coordinate descent.

Each is the minimum of

    1/2 |w|² + sum_i c_i max(0, 1 - z_i x_i w)²,   the last number of x_i is 1,

and in the dual, where w = sum_i a_i z_i x_i, of

    1/2 |w|² + sum_i (a_i² / (4 c_i) - a_i),   a_i >= 0.

A step takes one a_i to its minimum, and half as far beyond: this over-relaxation saves a third of the passes, and less
than as far again keeps the method convergent. Sixteen problems take their steps for a row together, so that the row is
read once, and its products with all w are sums in one register. A row that lies far beyond the margin of a problem is
left out until all have converged; of more problems together fewer rows could be left out. (Hsieh et al., "A dual
coordinate descent method for large-scale linear SVM", ICML 2008: what liblinear does for one problem.)
"""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import ordered
from cofactor.kernels.lanes import LANES, any_nonzero, filled, load, store, where_positive

_BEYOND = np.float32(1.5)  #: times the step to the minimum
_BOUND, _ALL, _TOP, _LOW = range(4)  # rows of what is known of each problem


@ordered
def _shuffle(rows, m, state):  # type: ignore[no-untyped-def]
    """Bring the first m rows into a random order, and return the next state of the generator (xorshift)."""
    for r in range(m - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        other = np.int64(state % np.uint64(r + 1))
        rows[r], rows[other] = rows[other], rows[r]
    return state


@ordered
def _sweep(table, tails, z, ridges, squares, takes, rows, m, active, known, alpha, W):  # type: ignore[no-untyped-def]
    """Take a step for each of the first m rows, drop those that no problem needs, and return how many are left.

    A row is dropped from a problem whose largest derivative of the last sweep, ``known[_BOUND]``, is below its own;
    ``known[_ALL]`` is 0 then. The largest and smallest projected derivatives come into ``known[_TOP]`` and
    ``known[_LOW]``.
    """
    indptr, indices, data = table
    zero, one, beyond, D = filled(np.float32(0)), filled(np.float32(1)), filled(_BEYOND), len(W) - 1
    bound, seen, top, low = load(known, _BOUND), load(known, _ALL), zero, zero
    r = 0
    while r < m:
        i = rows[r]
        first, tail, last = indptr[i], tails[i], indptr[i + 1]
        score = load(W, D)
        for a in range(first, last):
            score += filled(data[a]) * load(W, indices[a])
        old, sign, on = load(alpha, i), load(z, i), load(active, i)
        slope = sign * score - one + filled(ridges[i]) * old
        stays = where_positive(old, on, where_positive(slope - bound, zero, on))
        store(active, i, stays)
        seen = where_positive(on - stays, zero, seen)
        if any_nonzero(stays):
            r += 1
        else:
            m -= 1
            rows[r], rows[m] = rows[m], rows[r]
        slope *= stays
        projected = where_positive(old, slope, min(slope, zero))
        top, low = max(top, projected), min(low, projected)
        step = max(zero - beyond * slope / load(squares, i), zero - old)
        if any_nonzero(step):
            store(alpha, i, old + step)
            step *= sign
            store(W, D, load(W, D) + step)
            for a in range(first, tail):
                store(W, indices[a], load(W, indices[a]) + filled(data[a]) * step)
            for a in range(tail, last):
                store(W, indices[a], load(W, indices[a]) + filled(data[a]) * step * load(takes, indices[a]))
    store(known, _ALL, seen)
    store(known, _TOP, top)
    store(known, _LOW, low)
    return m


@ordered
def fit_hinge_block(table, z, costs, limits, tol, max_iter, W, reached):  # type: ignore[no-untyped-def]
    """Put the minimum of each problem into a column of W, and whether it was reached.

    Parameters
    ----------
    table : tuple of indptr, indices, data
        A CSR matrix of n rows and D columns, whose indices ascend; int64, uint32, float32.
    z : ndarray of shape (n, LANES), float32
        1 or -1; 0 where the row does not belong to the problem.
    costs : ndarray of shape (n,), float32
        c > 0.
    limits : ndarray of shape (LANES,), int64
        How many of the columns of the matrix are features of the problem, the first ones.
    tol : float
        Largest difference between two projected derivatives in the minimum.
    max_iter : int
        Largest number of passes over the rows.
    W : ndarray of shape (D + 1, LANES), float32
        Zeros.
    reached : ndarray of shape (LANES,), uint8
        Zeros.
    """
    n, D, one = len(z), len(W) - 1, np.float32(1)
    ridges, tails = np.float32(0.5) / costs, empty(n, np.int64)
    takes, squares = empty((D, LANES), np.float32), empty((n, LANES), np.float32)
    alpha, active = zeros((n, LANES), np.float32), empty((n, LANES), np.float32)
    works, known = zeros((1, LANES), np.float32), empty((4, LANES), np.float32)
    for j in range(D):
        for b in range(LANES):
            takes[j, b] = one if j < limits[b] else 0
    _measure(table, ridges, takes, limits.min(), squares, tails)
    rows, m, state = np.arange(n), 0, np.uint64(88172645463325252)
    for _ in range(max_iter):
        if works.max() == 0:  # what is to be reached still looks at all rows again
            if reached.min() == 1:
                break
            m = n
            for b in range(LANES):
                works[0, b] = 1 - reached[b]
                known[_BOUND, b] = np.inf
                known[_ALL, b] = 1
            for i in range(n):
                store(active, i, load(works, 0) * load(z, i) * load(z, i))
        state = _shuffle(rows, m, state)
        m = _sweep(table, tails, z, ridges, squares, takes, rows, m, active, known, alpha, W)
        for b in range(LANES):
            known[_BOUND, b] = known[_TOP, b] if known[_TOP, b] > 0 else np.inf
            if works[0, b] and known[_TOP, b] - known[_LOW, b] <= tol:
                works[0, b] = 0
                reached[b] = known[_ALL, b] > 0
                for i in range(n):
                    active[i, b] = 0


@ordered
def _measure(table, ridges, takes, least, squares, tails):  # type: ignore[no-untyped-def]
    """Put second derivatives into `squares`, and into `tails` where features begin that not all problems have."""
    indptr, indices, data = table
    for i in range(len(ridges)):
        tails[i] = indptr[i]
        square = filled(np.float32(1) + ridges[i])
        for a in range(indptr[i], indptr[i + 1]):
            tails[i] += 1 if indices[a] < least else 0
            square += filled(data[a] * data[a]) * load(takes, indices[a])
        store(squares, i, square)
