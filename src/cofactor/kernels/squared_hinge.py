"""Linear support vector machines with the squared hinge, by Newton's method: exact, in few steps.

The objective is that of liblinear, whose intercept is penalized like the other coefficients,

    1/2 |w|² + sum_i c_i max(0, 1 - z_i x_i w)²,   the last number of x_i is 1.

It is piecewise quadratic: once the rows within the margin no longer change, a step ends in the minimum. A step solves
equations with as many unknowns as there are features, or rows within the margin, whichever are fewer.
"""

import numpy as np

from cofactor.kernels.compile import kernel

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


@kernel
def fit_squared_hinge(X, rows, z, costs, n_columns, max_iter, w):  # type: ignore[no-untyped-def]
    """Put the minimum into `w`, shape (n_columns + 1,), which comes as zeros, and return whether it was reached.

    Parameters
    ----------
    X : ndarray of shape (n, D), float64
    rows : ndarray of shape (m,), int64
        The rows to learn from.
    z, costs : ndarray of shape (m,)
        1 or -1, and c > 0, of each of them.
    n_columns : int
        How many of the columns of X are features, the first ones.
    max_iter : int
        Largest number of steps.
    """
    m = len(rows)
    seen = np.ones((m, n_columns + 1))
    for i in range(m):
        seen[i, :n_columns] = X[rows[i], :n_columns]
    margins = np.zeros(m)
    within = np.arange(m)
    for _ in range(max_iter):
        direction = _target(seen[within], z[within], costs[within]) - w
        change = z * (seen @ direction)
        length = _length(w, direction, margins, change, costs)
        w += length * direction
        margins += length * change
        found = np.flatnonzero(margins < 1)
        if length == 1.0 and len(found) == len(within) and np.all(found == within):
            return True
        if length * np.max(np.abs(direction)) <= 1e-13 * np.max(np.abs(w)):
            return True
        if len(found) == 0:  # the objective falls until the first row is at the margin
            found = np.array([np.argmin(margins)])
            w /= margins[found[0]]
            margins /= margins[found[0]]
        within = found
    return False
