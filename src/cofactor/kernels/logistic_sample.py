"""The logistic loss of what was taken and of a sample of what was not: see `cofactor.problems.implicit_logistic`.

Columns are in the order of how often they were taken, most often first.
"""

import numpy as np

from cofactor.kernels.compile import inlined, kernel
from cofactor.kernels.lanes import AHEAD, LANES, fetch, filled, load_from, store_at, total
from cofactor.kernels.normal_single import exponential
from cofactor.kernels.random import stream, uniform

_LEAST = np.float32(-80)  # below which eˣ is 0 beside 1
_ZERO, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)
_SERIES = (np.float32(1 / 13), np.float32(1 / 11), np.float32(1 / 9), np.float32(1 / 7), np.float32(1 / 5), np.float32(1 / 3))


@kernel
def draw_cells(lo, hi, key, masses, of_columns, indptr, indices, starts, cells):  # type: ignore[no-untyped-def]
    """Draw which columns of each row count as not taken; write their numbers to `starts`, or themselves to `cells`.

    Column j is drawn with the probability min(1, 1 / mass), where its mass is of_columns[j] / masses[i], which rises
    with j.

    Parameters
    ----------
    lo, hi : int
    key : uint64
    masses : ndarray of shape (n,)
    of_columns : ndarray of shape (m,), increasing
    indptr, indices : ndarray
        What was taken, increasing in each row.
    starts : ndarray of shape (n + 1,), int64
        Where the cells of each row begin, if there is room for them in `cells`; else written: their number.
    cells : ndarray, int32
    """
    m = len(of_columns)
    for i in range(lo, hi):
        state, own, last = stream(key, i), indptr[i], indptr[i + 1]
        n, j = starts[i] if len(cells) else 0, 0
        while j < m:
            bound = min(masses[i] / of_columns[j], 1.0)
            if bound < 1:
                state, u = uniform(state)
                j += int(min(np.log(u) / np.log1p(-bound), float(m)))
                if j >= m:
                    break
                state, u = uniform(state)
                if u * bound > masses[i] / of_columns[j]:
                    j += 1
                    continue
            while own < last and indices[own] < j:
                own += 1
            if own == last or indices[own] != j:
                if len(cells):
                    cells[n] = j
                n += 1
            j += 1
        if not len(cells):
            starts[i + 1] = n


@inlined
def _ask(k, indices, B, out):  # type: ignore[no-untyped-def]
    j = indices[min(k + AHEAD, len(indices) - 1)]
    fetch(B, j)
    fetch(out, j)


@kernel
def _set_losses(x, weights, slopes):  # type: ignore[no-untyped-def]
    """Replace scores by weighted losses log(1 + eˣ) and write weighted slopes; of negative weights log(1 + e⁻ˣ)."""
    for k in range(len(x)):
        w = abs(weights[k])
        y = x[k] if weights[k] > 0 else -x[k]
        e = exponential(max(-abs(y), _LEAST))
        t = e / (_TWO + e)
        s = t * t
        p = _SERIES[0] * s + _SERIES[1]
        p = p * s + _SERIES[2]
        p = p * s + _SERIES[3]
        p = p * s + _SERIES[4]
        p = p * s + _SERIES[5]
        p = p * s + _ONE
        x[k] = w * (max(y, _ZERO) + _TWO * t * p)
        slopes[k] = weights[k] * ((_ONE if y > 0 else e) / (_ONE + e))


@kernel
def sampled_losses(  # type: ignore[no-untyped-def]
    lo, hi, masses, of_columns, indptr, indices, weights, starts, cells, A, B, of_rows, out
):
    """Return the loss of rows lo..hi at scores A·B; write its derivatives by rows of A, and add those by B to `out`.

    Parameters
    ----------
    lo, hi : int
    masses, of_columns : ndarray
        A cell that is not taken counts max(1, of_columns[j] / masses[i]).
    indptr, indices, weights : ndarray
        What was taken, by rows.
    starts, cells : ndarray
        What else counts, by rows.
    A, B : ndarray of shape (n, width) and (m, width), float32
        Tables of whole `LANES`.
    of_rows, out : ndarray, float32
        Tables of the same shapes.
    """
    width = A.shape[1]
    most = 0
    for i in range(lo, hi):
        most = max(most, indptr[i + 1] - indptr[i] + starts[i + 1] - starts[i])
    columns, all_x = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.float32)
    all_weights, all_slopes = np.empty(most, dtype=np.float32), np.empty(most, dtype=np.float32)
    value = 0.0
    for i in range(lo, hi):
        n = 0
        for k in range(indptr[i], indptr[i + 1]):
            columns[n] = indices[k]
            all_weights[n] = -weights[k]
            n += 1
        for k in range(starts[i], starts[i + 1]):
            j = cells[k]
            columns[n] = j
            all_weights[n] = max(of_columns[j] / masses[i], 1.0)
            n += 1
        x, slopes = all_x[:n], all_slopes[:n]
        u = np.int64(i) * width
        k = 0
        while k + 3 < n:
            for ahead in range(4):
                fetch(B, columns[min(k + ahead + AHEAD, n - 1)])
            v0, v1, v2, v3 = columns[k] * width, columns[k + 1] * width, columns[k + 2] * width, columns[k + 3] * width
            s0 = s1 = s2 = s3 = filled(_ZERO)
            for f in range(0, width, LANES):
                a = load_from(A, u + f)
                s0 += a * load_from(B, v0 + f)
                s1 += a * load_from(B, v1 + f)
                s2 += a * load_from(B, v2 + f)
                s3 += a * load_from(B, v3 + f)
            x[k], x[k + 1], x[k + 2], x[k + 3] = total(s0), total(s1), total(s2), total(s3)
            k += 4
        while k < n:
            s0 = filled(_ZERO)
            for f in range(0, width, LANES):
                s0 += load_from(A, u + f) * load_from(B, columns[k] * width + f)
            x[k] = total(s0)
            k += 1
        _set_losses(x, all_weights[:n], slopes)
        loss = 0.0
        for k in range(n):
            loss += x[k]
        value += loss
        for f in range(0, width, LANES):
            a, s0, s1 = load_from(A, u + f), filled(_ZERO), filled(_ZERO)
            k = 0
            while k + 1 < n:
                fetch(out, columns[min(k + AHEAD, n - 1)])
                fetch(out, columns[min(k + 1 + AHEAD, n - 1)])
                v0, v1 = columns[k] * width + f, columns[k + 1] * width + f
                w0, w1 = filled(slopes[k]), filled(slopes[k + 1])
                s0 += w0 * load_from(B, v0)
                s1 += w1 * load_from(B, v1)
                store_at(out, v0, load_from(out, v0) + w0 * a)
                store_at(out, v1, load_from(out, v1) + w1 * a)
                k += 2
            while k < n:
                v0, w0 = columns[k] * width + f, filled(slopes[k])
                s0 += w0 * load_from(B, v0)
                store_at(out, v0, load_from(out, v0) + w0 * a)
                k += 1
            store_at(of_rows, u + f, s0 + s1)
    return value
