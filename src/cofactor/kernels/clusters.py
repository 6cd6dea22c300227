"""Where k-means starts: rows of a CSR matrix, given as `rows` (pointers, columns, values), cut into parts."""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import exact


@exact
def divide(rows, order, ends, scatters, n_features, steps):  # type: ignore[no-untyped-def]
    """Cut rows into as many parts as `ends` has places: `order` gets them part by part, `ends` where each ends.

    The part with the largest sum of squared distances from its mean is cut in two, at the mean and across its longest
    axis, which power iteration finds in at most `steps` steps: it stops where no row changes sides.
    """
    n = len(order)
    mean, axis, scores, waiting = zeros(n_features), zeros(n_features), zeros(n), empty(n, np.int64)
    for i in range(n):
        order[i] = i
    ends[0], scatters[0] = n, 0.0
    for n_parts in range(1, len(ends)):
        widest = 0
        for part in range(1, n_parts):
            if scatters[part] > scatters[widest]:
                widest = part
        begin, end = 0 if widest == 0 else ends[widest - 1], ends[widest]
        _scatter(rows, order, begin, end, mean)
        _longest_axis(rows, order, begin, end, mean, axis, scores, steps)
        middle, n_waiting = begin, 0
        for p in range(begin, end):
            if scores[p] > 0:
                waiting[n_waiting] = order[p]
                n_waiting += 1
            else:
                order[middle] = order[p]
                middle += 1
        for p in range(n_waiting):
            order[middle + p] = waiting[p]
        if middle in (begin, end):  # the rows differ by less than rounding errors
            middle = begin + 1
        for part in range(n_parts, widest, -1):
            ends[part], scatters[part] = ends[part - 1], scatters[part - 1]
        ends[widest] = middle
        scatters[widest] = _scatter(rows, order, begin, middle, mean)
        scatters[widest + 1] = _scatter(rows, order, middle, end, mean)


@exact
def _scatter(rows, order, begin, end, mean):  # type: ignore[no-untyped-def]
    """Write the mean of a part; return the sum of squared distances from it, or -1 if the part is a single row."""
    starts, columns, values = rows
    for f in range(len(mean)):
        mean[f] = 0.0
    squares = 0.0
    for p in range(begin, end):
        for a in range(starts[order[p]], starts[order[p] + 1]):
            value = np.float64(values[a])
            squares += value * value
        for a in range(starts[order[p]], starts[order[p] + 1]):
            mean[columns[a]] += np.float64(values[a])
    size = end - begin
    for f in range(len(mean)):
        mean[f] /= size
    for f in range(len(mean)):
        squares -= size * mean[f] * mean[f]
    return squares if size > 1 else -1.0


@exact
def _longest_axis(rows, order, begin, end, mean, axis, scores, steps):  # type: ignore[no-untyped-def]
    """Write centred coordinates along nearly the longest axis, whose largest weight is positive, into `scores`.

    Power iteration begins with the row that is farthest from the mean.
    """
    starts, columns, values = rows
    far, farthest = begin, -np.inf
    for p in range(begin, end):
        squares = 0.0
        for a in range(starts[order[p]], starts[order[p] + 1]):
            squares += values[a] * (values[a] - 2 * mean[columns[a]])
        if squares > farthest:
            far, farthest = p, squares
    for f in range(len(axis)):
        axis[f] = -mean[f]
    for a in range(starts[order[far]], starts[order[far] + 1]):
        axis[columns[a]] += values[a]
    for step in range(steps + 1):
        shift, total, turned = 0.0, 0.0, 0
        for f in range(len(axis)):
            shift += mean[f] * axis[f]
        for p in range(begin, end):
            score = -shift
            for a in range(starts[order[p]], starts[order[p] + 1]):
                score += values[a] * axis[columns[a]]
            turned += step == 0 or (score > 0) != (scores[p] > 0)
            scores[p] = score
            total += score
        if step == steps or turned == 0:
            break
        for f in range(len(axis)):
            axis[f] = -total * mean[f]
        for p in range(begin, end):
            for a in range(starts[order[p]], starts[order[p] + 1]):
                axis[columns[a]] += scores[p] * values[a]
        length = 0.0
        for f in range(len(axis)):
            length += axis[f] * axis[f]
        for f in range(len(axis)):
            axis[f] /= np.sqrt(length) if length > 0 else 1.0
    largest = 0
    for f in range(len(axis)):
        if abs(axis[f]) > abs(axis[largest]):
            largest = f
    if axis[largest] < 0:
        for p in range(begin, end):
            scores[p] = -scores[p]
