"""Iterative stratification: units are dealt out to folds, those of the rarest label first."""

import numpy as np

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import exact


@exact
def _sift_up(heap, place, left, at):  # type: ignore[no-untyped-def]
    """Move the label at a place of the heap up until none above it has more units left."""
    label = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        above = heap[parent]
        if left[above] < left[label] or (left[above] == left[label] and above < label):
            break
        heap[at] = above
        place[above] = at
        at = parent
    heap[at] = label
    place[label] = at


@exact
def _sift_down(heap, place, left, size, at):  # type: ignore[no-untyped-def]
    """Move the label at a place of the heap down until none below it has fewer units left."""
    label = heap[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        below = heap[child]
        if child + 1 < size:
            other = heap[child + 1]
            if left[other] < left[below] or (left[other] == left[below] and other < below):
                child += 1
                below = other
        if left[label] < left[below] or (left[label] == left[below] and label < below):
            break
        heap[at] = below
        place[below] = at
        at = child
    heap[at] = label
    place[label] = at


@exact
def _claim(wanted, taken, size_wanted, sizes, fold):  # type: ignore[no-untyped-def]
    """Return how much a fold lacks of a label, how little it has of it, and how many instances it lacks."""
    return wanted[fold] - taken[fold], -taken[fold], size_wanted[fold] - sizes[fold]


@exact
def _fold_of(wanted, taken, size_wanted, sizes, draw):  # type: ignore[no-untyped-def]
    """Return the fold with the greatest claim; of equal ones one by lot."""
    best, ties = _claim(wanted, taken, size_wanted, sizes, 0), 1
    for fold in range(1, len(sizes)):
        claim = _claim(wanted, taken, size_wanted, sizes, fold)
        if claim > best:
            best, ties = claim, 1
        elif claim == best:
            ties += 1
    chosen = min(int(draw * ties), ties - 1)
    for fold in range(len(sizes)):
        if _claim(wanted, taken, size_wanted, sizes, fold) == best:
            if chosen == 0:
                break
            chosen -= 1
    return fold


@exact
def stratify(indptr, indices, counts, starts, units, weights, shares, draws, folds):  # type: ignore[no-untyped-def]
    """Write the fold of each unit.

    A unit is an instance, or a group of them. ``indptr, indices, counts`` say which labels a unit has, and on how many
    of its instances; ``starts, units`` which units have a label, in the order in which they are dealt out; ``weights``
    how many instances a unit has; ``shares`` which part of everything each fold is to get; ``draws`` are uniform
    numbers that break ties. Of labels with as many instances left, the lower number comes first.
    """
    n_labels, n_folds = len(starts) - 1, len(shares)
    left = zeros(n_labels, np.int64)
    for k in range(len(indices)):
        left[indices[k]] += counts[k]
    wanted = empty((n_labels, n_folds))
    for label in range(n_labels):
        for fold in range(n_folds):
            wanted[label, fold] = shares[fold] * left[label]
    taken = zeros((n_labels, n_folds), np.int64)
    sizes = zeros(n_folds, np.int64)
    size_wanted = shares * weights.sum()
    folds[:] = -1

    heap = empty(n_labels, np.int64)
    place = np.full(n_labels, -1, np.int64)
    size = 0
    for label in range(n_labels):
        if left[label] > 0:
            heap[size] = label
            place[label] = size
            size += 1
            _sift_up(heap, place, left, size - 1)
    while size > 0:
        rarest = heap[0]
        size -= 1
        place[rarest] = -1
        if size > 0:
            heap[0] = heap[size]
            _sift_down(heap, place, left, size, 0)
        for k in range(starts[rarest], starts[rarest + 1]):
            unit = units[k]
            if folds[unit] >= 0:
                continue
            fold = _fold_of(wanted[rarest], taken[rarest], size_wanted, sizes, draws[unit])
            folds[unit] = fold
            sizes[fold] += weights[unit]
            for j in range(indptr[unit], indptr[unit + 1]):
                label = indices[j]
                taken[label, fold] += counts[j]
                left[label] -= counts[j]
                if place[label] >= 0:
                    _sift_up(heap, place, left, place[label])
    for unit in range(len(folds)):  # those without a label fill up
        if folds[unit] < 0:
            fold = _fold_of(size_wanted, sizes, size_wanted, sizes, draws[unit])
            folds[unit] = fold
            sizes[fold] += weights[unit]


@exact
def pair_keys(indptr, indices, n_labels, keys):  # type: ignore[no-untyped-def]
    """Write i * n_labels + j for each pair i <= j of labels of each row; a label alone is the pair of itself."""
    at = 0
    for row in range(len(indptr) - 1):
        for a in range(indptr[row], indptr[row + 1]):
            for b in range(a, indptr[row + 1]):
                keys[at] = np.int64(indices[a]) * n_labels + indices[b]
                at += 1
