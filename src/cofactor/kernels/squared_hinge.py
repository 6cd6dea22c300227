"""Linear support vector machines with the squared hinge, by Newton's method: exact, in few steps.

The objective is that of liblinear, whose intercept is penalized like the other coefficients,

    1/2 |w|² + sum_i c_i max(0, 1 - z_i x_i w)²,   the last number of x_i is 1.

It is piecewise quadratic: once the rows within the margin no longer change, a step ends in the minimum. A step solves
equations with as many unknowns as there are features, or rows within the margin, whichever are fewer.
"""

import numpy as np

from cofactor.kernels.compile import exact, kernel

#: Halvings of the interval in which the length of a step is sought.
_HALVINGS = 40


@kernel
def _target(inside, z, costs):  # type: ignore[no-untyped-def]
    """Return the minimum of the squared errors of the rows within the margin, with the penalty."""
    m, d = inside.shape
    if m < d:
        gram = inside @ inside.T
        for i in range(m):
            gram[i, i] += 0.5 / costs[i]
        return inside.T @ np.linalg.solve(gram, z)
    scaled = np.empty_like(inside)
    for i in range(m):
        weight = 2 * costs[i]
        for j in range(d):
            scaled[i, j] = weight * inside[i, j]
    hessian = inside.T @ scaled
    for j in range(d):
        hessian[j, j] += 1.0
    return np.linalg.solve(hessian, scaled.T @ z)


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
    margins = np.zeros(m)
    within = np.arange(m)
    n = m
    for _ in range(max_iter):
        inside, signs, weights = np.empty((n, d)), np.empty(n), np.empty(n)
        for k in range(n):
            i = within[k]
            signs[k] = z[i]
            weights[k] = costs[i]
            for j in range(d):
                inside[k, j] = X[i, j]
        direction = _target(inside, signs, weights)
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
