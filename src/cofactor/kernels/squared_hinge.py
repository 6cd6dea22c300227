"""Linear support vector machines with the squared hinge: exact in few Newton steps, or many by dual coordinate descent.

The objective is that of liblinear, whose intercept is penalized like the other coefficients,

    1/2 |w|² + sum_i c_i max(0, 1 - z_i x_i w)²,   the last number of x_i is 1.

**Newton.** It is piecewise quadratic: once the rows within the margin no longer change, a step ends in the minimum. A
step solves equations with as many unknowns as there are features, or rows within the margin, whichever are fewer. The
second derivatives are summed over all rows within the margin once; later steps add and take away the rows that came or
went.

**Dual coordinate descent.** In the dual, where w = sum_i a_i z_i x_i, the objective is

    1/2 |w|² + sum_i (a_i² / (4 c_i) - a_i),   a_i >= 0.

A step takes one a_i to its minimum, and half as far beyond: this over-relaxation saves a third of the passes, and less
than as far again keeps the method convergent. Sixteen problems take their steps for a row together, so that the row is
read once, and its products with all w are sums in one register. A row that lies far beyond the margin of a problem is
left out until all have converged; of more problems together fewer rows could be left out. (Hsieh et al., "A dual
coordinate descent method for large-scale linear SVM", ICML 2008: what liblinear does for one problem.)
"""

from typing import Any

import numpy as np
from numba import types
from numba.np import linalg

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import exact, kernel, ordered
from cofactor.kernels.lanes import LANES, any_nonzero, filled, load, store, where_positive

#: Halvings of the interval in which the length of a step is sought.
_HALVINGS = 40

#: Share of its mean diagonal that is added to a matrix before equations are solved: beside collinear rows far from 0
#: the penalty is lost in rounding.
_RIDGE = 1e-14

# What `np.linalg.solve` calls, and, given where to put them, products do: the code around it takes long to compile.
_linalg: Any = linalg
_gesv: Any = _linalg._LAPACK().numba_xgesv(types.float64)
_PIVOT: Any = _linalg.F_INT_nptype
_DOUBLE = ord("d")


@kernel
def _solved(A, b):  # type: ignore[no-untyped-def]
    """Return the solution x of A x = b for A, symmetric with a positive diagonal, which is made a little larger."""
    d = len(A)
    trace = 0.0
    for j in range(d):
        trace += A[j, j]
    share = _RIDGE * trace / d
    for j in range(d):
        A[j, j] += share
    columns, x, pivots, finite = empty((d, d)), empty(d), empty(d, _PIVOT), True
    for j in range(d):
        x[j] = b[j]
        finite = finite and abs(b[j]) < np.inf
        for k in range(d):
            columns[k, j] = A[j, k]
            finite = finite and abs(A[j, k]) < np.inf
    if not finite or _gesv(_DOUBLE, d, 1, columns.ctypes, d, pivots.ctypes, x.ctypes, d) != 0:
        raise np.linalg.LinAlgError("equations are singular, or not finite")
    return x


@kernel
def _target_of_few(X, within, z, costs):  # type: ignore[no-untyped-def]
    """Return the minimum of the squared errors of some rows, with the penalty, from their inner products."""
    n, d = len(within), X.shape[1]
    inside, signs = empty((n, d)), empty(n)
    for k in range(n):
        signs[k] = z[within[k]]
        for j in range(d):
            inside[k, j] = X[within[k], j]
    gram, target = empty((n, n)), empty(d)
    np.dot(inside, inside.T, gram)
    for k in range(n):
        gram[k, k] += 0.5 / costs[within[k]]
    np.dot(inside.T, _solved(gram, signs), target)
    return target


@kernel
def _count_in(X, z, costs, within, counted, hessian, right):  # type: ignore[no-untyped-def]
    """Bring the derivatives of the squared errors from the rows that are `counted` to those within the margin."""
    m, d = X.shape
    wanted = zeros(m, np.uint8)
    for i in within:
        wanted[i] = 1
    changes = 0
    for i in range(m):
        changes += wanted[i] != counted[i]
    if changes >= len(within):
        changes = len(within)
        for j in range(d):
            right[j] = 0.0
            for k in range(d):
                hessian[j, k] = 1.0 if j == k else 0.0
        for i in range(m):
            counted[i] = 0
    rows, scaled, signs = empty((changes, d)), empty((changes, d)), empty(changes)
    k = 0
    for i in range(m):
        if wanted[i] != counted[i]:
            weight = 2 * costs[i] if wanted[i] else -2 * costs[i]
            signs[k] = z[i]
            for j in range(d):
                rows[k, j] = X[i, j]
                scaled[k, j] = weight * X[i, j]
            counted[i] = wanted[i]
            k += 1
    if changes > 0:
        table, vector = empty((d, d)), empty(d)
        np.dot(rows.T, scaled, table)
        np.dot(scaled.T, signs, vector)
        _add_table(table, hessian)
        _add(1.0, vector, right)


@kernel
def _slope(t, start, direction, margins, change, costs):  # type: ignore[no-untyped-def]
    """Return the derivative of the objective by t at start + t direction."""
    total = 0.0
    for j in range(len(start)):
        total += (start[j] + t * direction[j]) * direction[j]
    for i in range(len(margins)):
        gap = 1 - margins[i] - t * change[i]
        if gap > 0:
            total -= 2 * costs[i] * gap * change[i]
    return total


@kernel
def _length(start, direction, margins, change, costs):  # type: ignore[no-untyped-def]
    """Return the length of a step: 1, or where the objective is least before that."""
    if _slope(1.0, start, direction, margins, change, costs) <= 0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _slope(middle, start, direction, margins, change, costs) > 0:
            high = middle
        else:
            low = middle
    return high


@exact
def _add(t, x, out):  # type: ignore[no-untyped-def]
    for j in range(len(out)):
        out[j] += t * x[j]


@exact
def _add_table(x, out):  # type: ignore[no-untyped-def]
    for j in range(len(out)):
        for k in range(out.shape[1]):
            out[j, k] += x[j, k]


@exact
def _divide(x, t):  # type: ignore[no-untyped-def]
    for j in range(len(x)):
        x[j] /= t


@kernel
def _put_within(margins, within):  # type: ignore[no-untyped-def]
    """Write the rows within the margin to the front of `within`; return their number, and whether it held them."""
    n = 0
    same = True
    for i in range(len(margins)):
        if margins[i] < 1:
            same = same and within[n] == i
            within[n] = i
            n += 1
    return n, same


@kernel
def fit_squared_hinge(X, z, costs, max_iter, w):  # type: ignore[no-untyped-def]
    """Put the minimum into `w`, shape (d,), which comes as zeros, and return whether it was reached.

    Parameters
    ----------
    X : ndarray of shape (m, d), float64
        The rows to learn from; their last number is 1.
    z, costs : ndarray of shape (m,)
        1 or -1, and c > 0, of each of them.
    max_iter : int
        Largest number of steps.
    """
    m, d = X.shape
    margins, change, within = zeros(m), empty(m), empty(m, np.int64)
    for i in range(m):
        within[i] = i
    n = m
    counted, hessian, right = zeros(m, np.uint8), zeros((d, d)), zeros(d)
    for j in range(d):
        hessian[j, j] = 1.0
    for _ in range(max_iter):
        if n < d:
            direction = _target_of_few(X, within[:n], z, costs)
        else:
            _count_in(X, z, costs, within[:n], counted, hessian, right)
            direction = _solved(hessian.copy(), right)
        for j in range(d):
            direction[j] -= w[j]
        np.dot(X, direction, change)
        for i in range(m):
            change[i] *= z[i]
        length = _length(w, direction, margins, change, costs)
        _add(length, direction, w)
        _add(length, change, margins)
        largest = longest = 0.0
        for j in range(d):
            longest = max(longest, abs(direction[j]))
            largest = max(largest, abs(w[j]))
        before = n
        n, same = _put_within(margins, within)
        if length == 1.0 and n == before and same:
            return True
        if length * longest <= 1e-13 * largest:
            return True
        if n == 0:  # the objective falls until the first row is at the margin
            first = 0
            for i in range(m):
                if margins[i] < margins[first]:
                    first = i
            reach = margins[first]
            _divide(w, reach)
            _divide(margins, reach)
            within[0] = first
            n = 1
    return False


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
