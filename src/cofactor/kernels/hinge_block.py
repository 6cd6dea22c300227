"""Many linear support vector machines with the squared hinge on the same sparse rows, by dual coordinate descent.

Each is the minimum of

    1/2 |w|² + sum_i c_i max(0, 1 - z_i x_i w)²,   the last number of x_i is 1,

and in the dual, where w = sum_i a_i z_i x_i, of

    1/2 |w|² + sum_i (a_i² / (4 c_i) - a_i),   a_i >= 0.

A step takes one a_i to its minimum, and half as far beyond: this over-relaxation saves a third of the passes, and less
than as far again keeps the method convergent. All problems take their steps for a row together, so that the row is read
once, and its products with all w are one loop over neighbouring numbers, which is vectorized. A row that lies far
beyond the margin is left out until the others have converged. (Hsieh et al., "A dual coordinate descent method for
large-scale linear SVM", ICML 2008: what liblinear does for one problem.)
"""

import numpy as np

from cofactor.kernels.compile import ordered

_BEYOND = np.float32(1.5)  #: times the step to the minimum


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
def _swap(a, b, tables):  # type: ignore[no-untyped-def]
    """Swap two columns of each table."""
    for table in tables:
        for i in range(len(table)):
            table[i, a], table[i, b] = table[i, b], table[i, a]


@ordered
def _copy_column(table, a, out, b):  # type: ignore[no-untyped-def]
    for i in range(len(table)):
        out[i, b] = table[i, a]


@ordered
def fit_hinge_block(indptr, indices, data, z, costs, limits, tol, max_iter, coef, reached):  # type: ignore[no-untyped-def]
    """Put the minimum of each problem into a column of `coef`, shape (D + 1, B), and whether it was reached.

    The problems are permuted while they are solved, so `z` and `limits` come back in another order.

    Parameters
    ----------
    indptr, indices, data
        A CSR matrix of n rows and D columns, float32.
    z : ndarray of shape (n, B), float32
        1 or -1; 0 where the row does not belong to the problem.
    costs : ndarray of shape (n,), float32
        c > 0.
    limits : ndarray of shape (B,), int64
        How many of the columns of the matrix are features of the problem, the first ones.
    tol : float
        Largest difference between two projected derivatives in the minimum.
    max_iter : int
        Largest number of passes over the rows.
    reached : ndarray of shape (B,), uint8
    """
    n, lanes = z.shape
    D = len(coef) - 1
    W = np.zeros((D + 1, lanes), np.float32)
    alpha = np.zeros((n, lanes), np.float32)
    squares = np.ones((n, lanes), np.float32)
    active = np.empty((n, lanes), np.uint8)
    rows = np.arange(n)
    place = np.arange(lanes)
    left_out = np.zeros(lanes, np.int64)
    bound = np.full(lanes, np.inf, np.float32)
    top = np.empty(lanes, np.float32)
    low = np.empty(lanes, np.float32)
    score = np.empty(lanes, np.float32)
    step = np.empty(lanes, np.float32)
    least = limits.min()
    for i in range(n):
        for a in range(indptr[i], indptr[i + 1]):
            square = data[a] * data[a]
            for b in range(lanes):
                squares[i, b] += square if indices[a] < limits[b] else np.float32(0)
        for b in range(lanes):
            active[i, b] = z[i, b] != 0
    state = np.uint64(88172645463325252)
    m = n
    for _ in range(max_iter):
        state = _shuffle(rows, m, state)
        for b in range(lanes):
            top[b] = -np.inf
            low[b] = np.inf
        r = 0
        while r < m:
            i = rows[r]
            for b in range(lanes):
                score[b] = W[D, b]
            for a in range(indptr[i], indptr[i + 1]):
                x = data[a]
                w = W[indices[a]]
                for b in range(lanes):
                    score[b] += x * w[b]
            ridge = np.float32(0.5) / costs[i]
            moved = False
            stays = False
            for b in range(lanes):
                step[b] = 0
                if active[i, b] == 0:
                    continue
                old = alpha[i, b]
                slope = z[i, b] * score[b] - np.float32(1) + ridge * old
                if old == 0 and slope > bound[b]:
                    active[i, b] = 0
                    left_out[b] += 1
                    continue
                stays = True
                projected = slope if old > 0 else min(slope, np.float32(0))
                top[b] = max(top[b], projected)
                low[b] = min(low[b], projected)
                if projected != 0:
                    alpha[i, b] = max(old - _BEYOND * slope / (squares[i, b] + ridge), np.float32(0))
                    step[b] = z[i, b] * (alpha[i, b] - old)
                    moved = True
            if moved:
                for b in range(lanes):
                    W[D, b] += step[b]
                for a in range(indptr[i], indptr[i + 1]):
                    x = data[a]
                    w = W[indices[a]]
                    if indices[a] < least:
                        for b in range(lanes):
                            w[b] += x * step[b]
                    else:
                        for b in range(lanes):
                            w[b] += x * step[b] if indices[a] < limits[b] else np.float32(0)
            if stays:
                r += 1
            else:
                m -= 1
                rows[r], rows[m] = rows[m], rows[r]
        for b in range(lanes - 1, -1, -1):
            if top[b] - low[b] > tol:
                bound[b] = top[b] if top[b] > 0 else np.float32(np.inf)
            elif left_out[b] > 0:
                m = n
                bound[b] = np.inf
                left_out[b] = 0
                for i in range(n):
                    active[i, b] = z[i, b] != 0
            else:
                _copy_column(W, b, coef, place[b])
                reached[place[b]] = 1
                lanes -= 1
                _swap(b, lanes, (W, alpha, squares, z))
                for i in range(n):
                    active[i, b] = active[i, lanes]
                place[b], left_out[b], bound[b], limits[b] = place[lanes], left_out[lanes], bound[lanes], limits[lanes]
        if lanes == 0:
            return
    for b in range(lanes):
        _copy_column(W, b, coef, place[b])
