"""Linear support vector machines with the squared hinge, by Newton's method: exact, in few steps.

The objective is that of liblinear, whose intercept is penalized like the other coefficients,

    1/2 |w|² + sum_i c_i max(0, 1 - z_i x_i w)²,   the last number of x_i is 1.

It is piecewise quadratic: once the rows within the margin no longer change, a step ends in the minimum. A step solves
equations with as many unknowns as there are features, or rows within the margin, whichever are fewer. The second
derivatives are summed over all rows within the margin once; later steps add and take away the rows that came or went.
"""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import exact, kernel

#: Halvings of the interval in which the length of a step is sought.
_HALVINGS = 40

#: Share of its mean diagonal that is added to a matrix before equations are solved: beside collinear rows far from 0
#: the penalty is lost in rounding.
_RIDGE = 1e-14


@kernel
def _solved(A, b):  # type: ignore[no-untyped-def]
    """Return the solution x of A x = b for A, symmetric with a positive diagonal, which is made a little larger."""
    d = len(A)
    share = _RIDGE * np.trace(A) / d
    for j in range(d):
        A[j, j] += share
    return np.linalg.solve(A, b)


@kernel
def _target_of_few(X, within, z, costs):  # type: ignore[no-untyped-def]
    """Return the minimum of the squared errors of some rows, with the penalty, from their inner products."""
    n, d = len(within), X.shape[1]
    inside, signs = empty((n, d)), empty(n)
    for k in range(n):
        signs[k] = z[within[k]]
        for j in range(d):
            inside[k, j] = X[within[k], j]
    gram = inside @ inside.T
    for k in range(n):
        gram[k, k] += 0.5 / costs[within[k]]
    return inside.T @ _solved(gram, signs)


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
    _add_table(rows.T @ scaled, hessian)
    _add(1.0, scaled.T @ signs, right)


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
    margins = zeros(m)
    within = np.arange(m)
    n = m
    counted, hessian, right = zeros(m, np.uint8), np.eye(d), zeros(d)
    for _ in range(max_iter):
        if n < d:
            direction = _target_of_few(X, within[:n], z, costs)
        else:
            _count_in(X, z, costs, within[:n], counted, hessian, right)
            direction = _solved(hessian.copy(), right)
        for j in range(d):
            direction[j] -= w[j]
        change = X @ direction
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
