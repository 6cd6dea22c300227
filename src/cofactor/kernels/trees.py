"""Decision trees: the sum of what all trees of a forest say of each row, and trees that split for all labels at once.

All nodes of all trees stand in the same arrays. Children come after their parent, and a leaf has -1 as its left child,
so a walk ends in as many steps as there are nodes, at most. Callers check that before they come here.

**Growing.** A tree is that of scikit-learn, bit by bit, with the same random numbers. What is added to the impurity of
a node for a label that none or all of its instances have is exactly 0, so such labels are left out. Counts are whole
numbers, so it does not matter in which order instances are counted.

Arrays that several kernels share go together: `columns` are the features as a CSC matrix (pointers, rows, values),
`rows` the labels as a CSR matrix (pointers, columns). `room` has space to work in (see `TreeWorkspace`).
"""

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.arrays import zeros
from cofactor.kernels.compile import exact


@exact
def add_leaf_values(X, roots, left, right, feature, threshold, values, out):  # type: ignore[no-untyped-def]
    """Add to row i of `out` the values of the leaf that row i of X reaches, for one tree after the other.

    A row goes left where its feature, in single precision as in training, is at most the threshold.
    """
    for t in range(len(roots)):
        for i in range(len(X)):
            node = roots[t]
            while left[node] >= 0:
                below = X[i, feature[node]] <= threshold[node]
                node = np.int64(left[node] if below else right[node])
            for k in range(out.shape[1]):
                out[i, k] += values[node, k]


@exact
def add_leaf_values_of_sparse(  # type: ignore[no-untyped-def]
    indptr, indices, data, n_features, roots, left, right, feature, threshold, values, out
):
    """Do the same for the rows of a CSR matrix without doubled entries."""
    row = zeros(n_features, np.float32)
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            row[indices[a]] = data[a]
        for t in range(len(roots)):
            node = roots[t]
            while left[node] >= 0:
                node = np.int64(left[node] if row[feature[node]] <= threshold[node] else right[node])
            for k in range(out.shape[1]):
                out[i, k] += values[node, k]
        for a in range(indptr[i], indptr[i + 1]):
            row[indices[a]] = 0


@exact
def find_leaves(X, roots, left, right, feature, threshold, out):  # type: ignore[no-untyped-def]
    """Write the leaf of each tree that each row of X reaches; rows go as in `add_leaf_values`."""
    for t in range(len(roots)):
        for i in range(len(X)):
            node = roots[t]
            while left[node] >= 0:
                below = X[i, feature[node]] <= threshold[node]
                node = np.int64(left[node] if below else right[node])
            out[i, t] = node


@exact
def find_leaves_of_sparse(  # type: ignore[no-untyped-def]
    indptr, indices, data, n_features, roots, left, right, feature, threshold, out
):
    """Do the same for the rows of a CSR matrix without doubled entries."""
    row = zeros(n_features, np.float32)
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            row[indices[a]] = data[a]
        for t in range(len(roots)):
            node = roots[t]
            while left[node] >= 0:
                node = np.int64(left[node] if row[feature[node]] <= threshold[node] else right[node])
            out[i, t] = node
        for a in range(indptr[i], indptr[i + 1]):
            row[indices[a]] = 0


_TABLE = 256  # the terms of entropies of nodes with fewer instances than this stand in a table
_LARGEST_RANDOM = 2147483647
_NEAR = np.float32(1e-7)  # values that are no further apart count as equal
_LN2 = math.log(2.0)
_EPS = float(np.finfo(np.float64).eps)


class TreeWorkspace(NamedTuple):
    """Space in which one tree after the other is grown."""

    samples: NDArray[np.int64]  # (n,), instances; those of a node lie side by side
    place: NDArray[np.int64]  # (n,), where an instance lies
    counts: NDArray[np.int64]  # (n,), how often it counts
    features: NDArray[np.int64]  # (D,), those known to be constant in the node first
    constant: NDArray[np.int64]  # (D,), those that are constant in the nodes above
    present: NDArray[np.int64]  # (L,), labels that some instances of the node have, and others have not
    total: NDArray[np.int64]  # (L,), how many instances of the node have a label
    on_left: NDArray[np.int64]  # (L,), and how many on the left of a split
    values: NDArray[np.float32]  # (n,), values of a feature in a node that are not 0
    found: NDArray[np.int64]  # (n,), the instances that have them
    terms: NDArray[np.float64]  # (256, 256), p log2 p for p = c / n in row n and column c
    best: NDArray[np.float64]  # (5,), gain, threshold, impurity on the left and on the right, and instances on the left
    stack: NDArray[np.int64]  # (n + 1, 6), nodes that are still to be split
    pure: NDArray[np.float64]  # (n + 1,), their impurity; that of the root stands here before a tree is grown
    moved: NDArray[np.int64]  # (n,), instances that the best split puts on the other side than 0

    @classmethod
    def of(cls, n: int, D: int, L: int) -> Self:
        """Return space for n instances, D features, and L labels."""
        whole: Any = [np.zeros(size, np.int64) for size in (n, n, n, D, D, L, L, L, n, n)]
        terms, stack = np.zeros((_TABLE, _TABLE)), np.zeros((n + 1, 6), np.int64)
        fill_terms(terms)
        rest: Any = [np.zeros(n, np.float32), whole[8], terms, np.zeros(5), stack, np.zeros(n + 1), whole[9]]
        return cls(*whole[:8], *rest)


@exact
def fill_terms(terms):  # type: ignore[no-untyped-def]
    """Write p log2 p for p = c / n into row n and column c."""
    for n in range(2, len(terms)):
        for c in range(1, n):
            p = c / n
            terms[n, c] = p * (math.log(p) / _LN2)


@exact
def grow(columns, rows, room, limits, random, nodes, leaf_of):  # type: ignore[no-untyped-def]
    """Grow a tree, and return its number of nodes.

    limits are how many features a node looks at, the largest depth, the least number of instances in a leaf, whether
    splits are at random places, and whether the impurity is that of Gini. random holds the state of the generator.
    nodes (left, right, feature, threshold, impurity, weight) take what is found, leaf_of the leaf of each instance that
    counts.
    """
    left, right, feature, threshold, impurity, weight = nodes
    samples, counts, total, present, best, stack, pure = (
        room.samples, room.counts, room.total, room.present, room.best, room.stack, room.pure
    )  # fmt: skip
    n_samples, heavy = 0, 0
    for i in range(len(counts)):
        heavy += counts[i]
    for i in range(len(counts)):
        room.place[i] = -1
        if counts[i] > 0:
            samples[n_samples] = i
            room.place[i] = n_samples
            n_samples += 1
    for f in range(len(room.features)):
        room.features[f] = f
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 5] = 0, n_samples, 0, -1, 0
    n_stacked, n_nodes = 1, 0
    while n_stacked:
        n_stacked -= 1
        start, end, depth, parent = (
            stack[n_stacked, 0], stack[n_stacked, 1], stack[n_stacked, 2], stack[n_stacked, 3]
        )  # fmt: skip
        size, n_present = _count(rows, room, start, end)
        here, known = pure[n_stacked], stack[n_stacked, 5]
        f, n_moved = -1, 0
        if depth < limits[1] and end - start >= max(2, 2 * limits[2]) and here > _EPS:
            f, known, n_moved = _split(columns, rows, room, start, end, size, n_present, known, limits, random)
        if f >= 0:
            gain = here - (size - best[4]) / size * best[3] - best[4] / size * best[2]
            if size / heavy * gain + _EPS < 0.0:
                f = -1
        left[n_nodes], right[n_nodes], feature[n_nodes], threshold[n_nodes] = -1, -1, f, 0.0
        impurity[n_nodes], weight[n_nodes] = here, size
        if parent >= 0:
            if stack[n_stacked, 4]:
                left[parent] = n_nodes
            else:
                right[parent] = n_nodes
        if f >= 0:
            threshold[n_nodes] = best[1]
            middle = _part(room, start, end, n_moved, best[1] >= 0)
            for side in range(2):
                stack[n_stacked, 0] = start if side else middle
                stack[n_stacked, 1] = middle if side else end
                stack[n_stacked, 2], stack[n_stacked, 3] = depth + 1, n_nodes
                stack[n_stacked, 4], stack[n_stacked, 5] = side, known
                pure[n_stacked] = best[3 - side]
                n_stacked += 1
        else:
            for p in range(start, end):
                leaf_of[samples[p]] = n_nodes
        for a in range(n_present):
            total[present[a]] = 0
        n_nodes += 1
    return n_nodes


@exact
def _count(rows, room, start, end):  # type: ignore[no-untyped-def]
    """Count the labels of a node in `total`; write those that not all instances have into `present`, rising.

    Return how much the instances count, and how many labels are present.
    """
    starts, labels = rows
    size, n_present = 0, 0
    for p in range(start, end):
        i = room.samples[p]
        size += room.counts[i]
        for a in range(starts[i], starts[i + 1]):
            room.total[labels[a]] += room.counts[i]
    for label in range(len(room.total)):
        if room.total[label] == size:
            room.total[label] = 0
        elif room.total[label]:
            room.present[n_present] = label
            n_present += 1
    return size, n_present


@exact
def _term(c, n, terms):  # type: ignore[no-untyped-def]
    if n < len(terms):
        return terms[n, c]
    if c == 0 or c == n:
        return 0.0
    p = c / n
    return p * (math.log(p) / _LN2)


@exact
def _impurities(room, n_present, size, size_right, gini):  # type: ignore[no-untyped-def]
    """Write into `best` the mean impurities of both sides if they are the best so far; return whether they are."""
    of_left, of_right, size_left = 0.0, 0.0, size - size_right
    if gini:
        left, right = np.float64(size_left), np.float64(size_right)
        for a in range(n_present):
            c = np.float64(room.on_left[room.present[a]])
            of_left += 1.0 - ((left - c) * (left - c) + c * c) / (left * left)
            c = room.total[room.present[a]] - c
            of_right += 1.0 - ((right - c) * (right - c) + c * c) / (right * right)
    else:
        for a in range(n_present):
            on = room.on_left[room.present[a]]
            of_left -= _term(size_left - on, size_left, room.terms)
            of_left -= _term(on, size_left, room.terms)
            on = room.total[room.present[a]] - on
            of_right -= _term(size_right - on, size_right, room.terms)
            of_right -= _term(on, size_right, room.terms)
    of_left, of_right = of_left / len(room.total), of_right / len(room.total)
    gain = -np.float64(size_right) * of_right - np.float64(size_left) * of_left
    better = gain > room.best[0]
    if better:
        room.best[0], room.best[2], room.best[3], room.best[4] = gain, of_left, of_right, size_left
    return better


@exact
def _random(state):  # type: ignore[no-untyped-def]
    """Return the next whole number below 2^31 of the generator that scikit-learn's trees have."""
    s = state[0] + (state[0] == 0)
    s ^= (s << 13) & 0xFFFFFFFF
    s ^= s >> 17
    s ^= (s << 5) & 0xFFFFFFFF
    state[0] = s
    return s & _LARGEST_RANDOM


@exact
def _split(columns, rows, room, start, end, size, n_present, n_known, limits, random):  # type: ignore[no-untyped-def]
    """Write the best split into `best`; return its feature or -1, how many features are constant, how many are moved.

    Features are drawn as scikit-learn draws them.
    """
    features, constant = room.features, room.constant
    last, n_visited, n_found, n_drawn, best_feature, n_moved = len(features), 0, 0, 0, -1, 0
    room.best[0] = -np.inf
    while last > n_known + n_found and (n_visited < limits[0] or n_visited <= n_found + n_drawn):
        n_visited += 1
        j = n_drawn + _random(random) % (last - n_found - n_drawn)
        if j < n_known:
            features[n_drawn], features[j] = features[j], features[n_drawn]
            n_drawn += 1
            continue
        j += n_found
        f = features[j]
        m = _values(columns, f, room, start, end)
        low = high = np.float32(0.0) if m < end - start else room.values[0]
        for a in range(m):
            low, high = min(low, room.values[a]), max(high, room.values[a])
        if high <= low + _NEAR:
            features[j], features[n_known + n_found] = features[n_known + n_found], f
            n_found += 1
            continue
        last -= 1
        features[last], features[j] = f, features[last]
        cut = np.nan
        if limits[3]:
            cut = (np.float64(high) - low) * np.float64(_random(random)) / _LARGEST_RANDOM + low
            if cut == high:
                cut = np.float64(low)
            m = _halves(room, m, cut)
        else:
            _sort(room.values, room.found, m)
        if _best_cut(rows, room, start, end, m, size, n_present, limits):
            best_feature = f
            if limits[3]:
                room.best[1] = cut
            n_moved = 0
            for a in range(m):
                if limits[3] or (room.values[a] > room.best[1]) == (room.best[1] >= 0):
                    room.moved[n_moved] = room.found[a]
                    n_moved += 1
    for a in range(n_known):  # siblings must find them in this order
        features[a] = constant[a]
    for a in range(n_known, n_known + n_found):
        constant[a] = features[a]
    return best_feature, n_known + n_found, n_moved


@exact
def _values(columns, f, room, start, end):  # type: ignore[no-untyped-def]
    """Write the values of a feature in a node that are not 0, and their instances; return how many there are."""
    starts, indices, data = columns
    first, behind, m = starts[f], starts[f + 1], 0
    full = behind - first == len(room.place)  # every instance has a value
    if not full and behind - first < (end - start) * math.log2(behind - first + 2.0):
        for a in range(first, behind):
            if start <= room.place[indices[a]] < end and data[a] != 0:
                room.values[m], room.found[m] = data[a], indices[a]
                m += 1
        return m
    for p in range(start, end):
        i = room.samples[p]
        at = first + i
        if not full:
            at, high = first, behind
            while at < high:
                middle = (at + high) // 2
                if indices[middle] < i:
                    at = middle + 1
                else:
                    high = middle
            if at == behind or indices[at] != i:
                continue
        if data[at] != 0:
            room.values[m], room.found[m] = data[at], i
            m += 1
    return m


@exact
def _halves(room, m, cut):  # type: ignore[no-untyped-def]
    """Keep of the values those that are not on the side of 0 of `cut`, as 1 or -1; return how many these are."""
    kept = 0
    for a in range(m):
        if (room.values[a] > cut) == (cut >= 0):
            room.values[kept], room.found[kept] = np.float32(1.0 if cut >= 0 else -1.0), room.found[a]
            kept += 1
    return kept


@exact
def _sort(values, found, n):  # type: ignore[no-untyped-def]
    """Sort values, and what is found with them; there is nothing to do for features that are 0 or 1."""
    gap = 0
    for a in range(1, n):
        if values[a] < values[a - 1]:
            gap = n
    while gap > 1:
        gap = max(1, (5 * gap - 1) // 11)
        for a in range(gap, n):
            value, what, b = values[a], found[a], a
            while b >= gap and values[b - gap] > value:
                values[b], found[b] = values[b - gap], found[b - gap]
                b -= gap
            values[b], found[b] = value, what


@exact
def _best_cut(rows, room, start, end, m, size, n_present, limits):  # type: ignore[no-untyped-def]
    """Write the best split of a feature, whose values that are not 0 are sorted, if it is the best so far.

    Return whether it is.
    """
    n, size_right, n_left, a, better, zeros = end - start, size, 0, 0, False, end - start - m
    before = np.float32(0.0)
    for b in range(n_present):
        room.on_left[room.present[b]] = 0
    while n_left < n:
        of_zeros = zeros > 0 and (a == m or room.values[a] > 0)
        value = np.float32(0.0) if of_zeros else room.values[a]
        apart = n_left >= limits[2] and n - n_left >= limits[2] and value > before + _NEAR
        if apart and _impurities(room, n_present, size, size_right, limits[4]):
            room.best[1] = before / 2.0 + value / 2.0
            better = True
        before = value
        first, behind, sign = a, a + 1, 1
        if of_zeros:  # all are on the left but those whose values are above 0
            n_left += zeros
            zeros, behind, sign, size_right = 0, m, -1, 0
            for b in range(n_present):
                room.on_left[room.present[b]] = room.total[room.present[b]]
        else:
            n_left += 1
            a += 1
        for b in range(first, behind):
            i = room.found[b]
            size_right -= sign * room.counts[i]
            for c in range(rows[0][i], rows[0][i + 1]):
                room.on_left[rows[1][c]] += sign * room.counts[i]
    return better


@exact
def _part(room, start, end, n_moved, zeros_left):  # type: ignore[no-untyped-def]
    """Order the instances of a node so that those on the left come first; return where the others begin."""
    for a in range(n_moved):
        room.place[room.moved[a]] = -2
    a, b = start, end
    while a < b:
        if (room.place[room.samples[a]] != -2) == zeros_left:
            a += 1
        else:
            b -= 1
            room.samples[a], room.samples[b] = room.samples[b], room.samples[a]
    for p in range(start, end):
        room.place[room.samples[p]] = p
    return a
