"""The logistic loss of all cells of a block of rows in one pass, or of entries and a sample of the other cells.

Of a sample, columns are in the order of their numbers of entries, the largest first. A cell (i, j) that has no entry is
drawn with the probability min(1, a_i / b_j), and stands for max(1, b_j / a_i) of them. See
`cofactor.problems.implicit`.
"""

import numpy as np

from cofactor.kernels.arrays import empty
from cofactor.kernels.compile import kernel
from cofactor.kernels.lanes import AHEAD, LANES, fetch, filled, load_from, store_at, total
from cofactor.kernels.normal import sum_of_logarithms
from cofactor.kernels.normal_single import exponential, log_of_one_and
from cofactor.kernels.random import stream, uniform

_MOST = np.float32(60)  # the highest score: eˣ must be finite
_LEAST = np.float32(-80)  # below which eˣ is 0 beside 1

_ONE, _ZERO = np.float32(1), np.float32(0)


@kernel
def logistic_cells(lo, hi, scores, of_rows, of_columns, indptr, indices, weights, of_biases):  # type: ignore[no-untyped-def]
    """Replace products of factors by the slopes of the loss at their scores; return the loss of the rows lo..hi.

    Parameters
    ----------
    lo, hi : int
    scores : ndarray of shape (hi - lo, m), float32
        U·V, then the derivatives of the loss by the scores.
    of_rows, of_columns : ndarray of shape (n,) and (m,), float32
        Biases.
    indptr, indices, weights : ndarray
        The interactions, by rows, and how much each counts.
    of_biases : ndarray of shape (n,), float32
        Written: the sum of the slopes of each row.
    """
    m = len(of_columns)
    whole = empty(m, np.float32)
    value = 0.0
    for i in range(lo, hi):
        own, bias = scores[i - lo], of_rows[i]
        for j in range(m):
            odds = exponential(min(max(own[j] + bias + of_columns[j], _LEAST), _MOST))
            whole[j] = _ONE + odds
            own[j] = odds / (_ONE + odds)
        value += sum_of_logarithms(whole)  # log(1 + eˣ) of all cells, as if there were no interactions
        for k in range(indptr[i], indptr[i + 1]):
            p, w = own[indices[k]], weights[k]
            value -= w * np.log(np.float64(p)) + np.log(np.float64(whole[indices[k]]))
        for k in range(indptr[i], indptr[i + 1]):
            own[indices[k]] = weights[k] * (own[indices[k]] - _ONE)
        total = 0.0
        for j in range(m):
            total += own[j]
        of_biases[i] = total
    return value


@kernel
def draw_cells(lo, hi, key, a, b, indptr, indices, counts):  # type: ignore[no-untyped-def]
    """Return the columns of cells drawn in the rows lo..hi, one row after the other, int32.

    Parameters
    ----------
    lo, hi : int
    key : uint64
    a, b : ndarray of shape (n,) and (m,)
        b increases.
    indptr, indices : ndarray
        The entries by rows, in order of columns.
    counts : ndarray of shape (n,), int64
        Written: how many cells each row has.
    """
    m, n = len(b), 0
    cells = empty(1024, np.int32)
    for i in range(lo, hi):
        state, entry, last = stream(key, i), indptr[i], indptr[i + 1]
        before, j = n, 0
        while j < m:
            bound = a[i] / b[j]
            if bound < 1:  # go on to the next one that would be drawn if all had this probability
                state, u = uniform(state)
                j += int(min(np.log(u) / np.log1p(-bound), float(m)))
                if j >= m:
                    break
                state, u = uniform(state)
                if u * bound > a[i] / b[j]:
                    j += 1
                    continue
            while entry < last and indices[entry] < j:
                entry += 1
            if entry == last or indices[entry] != j:
                if n == len(cells):
                    more = empty(2 * n, np.int32)
                    for k in range(n):
                        more[k] = cells[k]
                    cells = more
                cells[n] = j
                n += 1
            j += 1
        counts[i] = n - before
    return cells[:n]


@kernel
def _set_losses(x, weights, slopes):  # type: ignore[no-untyped-def]
    """Replace scores x by w log(1 + eˣ), or -w log(1 + e⁻ˣ) for weights w below 0, and write slopes."""
    for k in range(len(x)):
        w = weights[k]
        y = x[k] if w > 0 else -x[k]
        e = exponential(max(-abs(y), _LEAST))
        x[k] = abs(w) * (max(y, _ZERO) + log_of_one_and(e))
        slopes[k] = w * ((_ONE if y > 0 else e) / (_ONE + e))


@kernel
def sampled_losses(  # type: ignore[no-untyped-def]
    lo, hi, a, b, indptr, indices, weights, starts, cells, A, B, of_rows, of_columns
):
    """Return the loss of the rows lo..hi at scores A·B; write its gradients by A, and add those by B.

    Parameters
    ----------
    lo, hi : int
    a, b : ndarray of shape (n,) and (m,)
    indptr, indices, weights : ndarray
        The entries by rows.
    starts, cells : ndarray
        The cells drawn, by rows.
    A, B : ndarray of shape (n, width) and (m, width), float32
        Tables of whole `LANES`.
    of_rows, of_columns : ndarray of the same shapes, float32
        Gradients.
    """
    width, most = A.shape[1], 0
    for i in range(lo, hi):
        most = max(most, (indptr[i + 1] - indptr[i]) + (starts[i + 1] - starts[i]))
    columns = empty(most, np.int64)
    w, x, slopes = empty(most, np.float32), empty(most, np.float32), empty(most, np.float32)
    value = 0.0
    for i in range(lo, hi):
        n = 0
        for k in range(indptr[i], indptr[i + 1]):
            columns[n], w[n] = indices[k], -weights[k]
            n += 1
        for k in range(starts[i], starts[i + 1]):
            columns[n], w[n] = cells[k], max(b[cells[k]] / a[i], 1.0)
            n += 1
        _set_scores(A, B, i, columns[:n], x)
        _set_losses(x[:n], w[:n], slopes)
        loss = 0.0
        for k in range(n):
            loss += x[k]
        value += loss
        row = np.int64(i) * width
        for f in range(0, width, LANES):
            own, s0, s1 = load_from(A, row + f), filled(_ZERO), filled(_ZERO)
            k = 0
            while k < n:
                fetch(of_columns, columns[min(k + AHEAD, n - 1)])
                v0, v1 = columns[k] * width + f, columns[min(k + 1, n - 1)] * width + f
                w0, w1 = filled(slopes[k]), filled(slopes[k + 1] if k + 1 < n else _ZERO)
                s0 += w0 * load_from(B, v0)
                s1 += w1 * load_from(B, v1)
                store_at(of_columns, v0, load_from(of_columns, v0) + w0 * own)
                store_at(of_columns, v1, load_from(of_columns, v1) + w1 * own)
                k += 2
            store_at(of_rows, row + f, s0 + s1)
    return value


@kernel
def _set_scores(A, B, i, columns, x):  # type: ignore[no-untyped-def]
    """Write products of a row of A with rows of B."""
    n, width = len(columns), A.shape[1]
    row = np.int64(i) * width
    for first in range(0, n, 4):
        k0, k1, k2, k3 = first, min(first + 1, n - 1), min(first + 2, n - 1), min(first + 3, n - 1)
        for ahead in range(first + AHEAD, first + AHEAD + 4):
            fetch(B, columns[min(ahead, n - 1)])
        v0, v1, v2, v3 = columns[k0] * width, columns[k1] * width, columns[k2] * width, columns[k3] * width
        s0 = s1 = s2 = s3 = filled(_ZERO)
        for f in range(0, width, LANES):
            own = load_from(A, row + f)
            s0 += own * load_from(B, v0 + f)
            s1 += own * load_from(B, v1 + f)
            s2 += own * load_from(B, v2 + f)
            s3 += own * load_from(B, v3 + f)
        x[k0], x[k1], x[k2], x[k3] = total(s0), total(s1), total(s2), total(s3)
