"""Ridge regressions, one for each row of a sparse matrix: exact, or by a few conjugate gradient steps.

**Normal equations.** The equations of a row with p features are the sums of the products of all pairs of its features
and the target, which counts as feature p. Sums over `_CHUNK` entries are in the precision of the features, beyond that
in double precision; for a row with fewer entries than features they are in double precision at once, since only the
ridge keeps its equations regular. They are solved in double precision.

Features come as a table of `pad_features`. Tables of equations G hold p + 1 rows of whole `LANES` of double precision,
from the diagonal on, one after another; what is below the diagonal is not read. They are solved by G = L D Lᵀ: unlike
with roots of pivots, the way from one row to the next has no division and no root but 1 / D.

**Conjugate gradients.** Row i minimises Σ_k r_k² (t_k - o_{j_k} - F_{j_k}·w)² + c_i w·diag(ridge)·w over w, k running
over its stored entries, r_k being the `roots` of their weights (one for all if there is only one) and c_i the `shares`
of the row. For their exact solutions see `ridge_exact`.

**All cells.** Where unobserved cells count, row i minimises uᵀ(base + ridge_i I + Σ_k w_k F_k F_kᵀ)u - 2 u·Σ_k w_k F_k
over its stored entries; `base` is the part of all items, observed or not, and `values` holds the weights w, one for all
if there is only one. Vectors, and the rows F of a row's entries, are tables of sixteen columns, padded with zeros, see
`padded`: on 5 million interactions and 64 factors it was almost four times as fast as loops over the factors.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import fused, inlined, kernel, ordered
from cofactor.kernels.lanes import (
    AHEAD,
    LANES,
    LINE,
    doubled,
    fetch_lanes,
    fetch_number,
    filled,
    load,
    padded_zeros,
    spread,
    store,
    total,
)

_EPS, _TINY = (float(one) for one in (np.finfo(np.float64).eps, np.finfo(np.float64).tiny))
_CHUNK = 64  #: entries whose features are copied to one place, which stays in a first-level cache


def pad_features(
    features: NDArray[Any], p: int, offsets: NDArray[Any] | None = None, dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    """Return the features of each column as whole rows of `LANES` numbers that begin at a line of memory.

    Parameters
    ----------
    features : ndarray of shape (m, d)
    p : int
        d, or d + 1 for a constant feature behind the others.
    offsets : ndarray of shape (m,), optional
        What is taken off targets: minus this follows the p features.
    dtype : dtype, default=float64

    Returns
    -------
    ndarray of shape (m * ceil((p + 1) / LANES), LANES)

    Examples
    --------
    >>> table = pad_features(np.ones((2, 3)), 4, np.array([5.0, 6.0]))
    >>> table.shape, table[1, :6]
    ((2, 16), array([ 1.,  1.,  1.,  1., -6.,  0.]))
    """
    m, d = features.shape
    table = padded_zeros(m, p + 1, dtype)
    table[:, :d] = features
    table[:, d:p] = 1
    if offsets is not None:
        np.negative(offsets, out=table[:, p], casting="same_kind")
    return table.reshape(-1, LANES)


@ordered
def ridge_exact(lo, hi, indptr, indices, targets, roots, table, ridge, shares, out):  # type: ignore[no-untyped-def]
    """Write the minimisers of rows lo..hi; zero for a row without entries.

    Row i minimises Σ_k r_k² (t_k - o_{j_k} - F_{j_k}·w)² + c_i w·diag(ridge)·w over w, k running over its stored
    entries, r_k being the `roots` of their weights (one for all if there is only one), F and o those of `table`, and
    c_i the `shares` of the row.
    """
    p, eps = len(ridge), np.finfo(out.dtype).eps
    G, T, W = room(p)
    F, few = copies(p, table.dtype.type(0)), copies(p, 0.0)
    g, w, in_place = square(G, p), W.reshape(-1), empty(0, np.int32)
    for i in range(lo, hi):
        start, end = indptr[i], indptr[i + 1]
        if start == end:
            for f in range(p):
                out[i, f] = 0
            continue
        clear(G, p)
        if end - start < p:
            add_entries(start, end, p, indices, in_place, targets, roots, table, few, G)
        else:
            add_entries(start, end, p, indices, in_place, targets, roots, table, F, G)
        for f in range(p):
            g[f, f] += shares[i] * ridge[f]
        factorize(G, p, p * eps, T, W)
        solve(p, T, W)
        for f in range(p):
            out[i, f] = w[f]


@ordered
def ridge_of_interactions(  # type: ignore[no-untyped-def]
    lo, hi, indptr, indices, roots, table, base, n_few, rotated, lengths, axes, ridge, out, least
):
    """Write the minimisers of rows lo..hi, and what each row's part of J then is; zero for a row without entries.

    Row i minimises u·(base + ridge_i I + Σ_k r_k² F_k F_kᵀ)u - 2 u·Σ_k r_k² F_k over its stored entries. Rows of at
    most `n_few` are solved in the number of their entries: see `_solve_for_few`.
    """
    p = out.shape[1]
    G, T, W = room(p)
    prior, F, few = prior_equations(base), copies(p, table.dtype.type(0)), copies(p, 0.0)
    g, w, b, nothing = square(G, p), W.reshape(-1), empty(p), zeros(p)
    in_place, taken = empty(0, np.int32), empty(1, table.dtype)
    taken[0] = 1
    Z, sums, scales = _aligned(p * lines(n_few), 0.0), _aligned(2 * lines(p), 0.0), empty(p)
    for i in range(lo, hi):
        start, end = indptr[i], indptr[i + 1]
        least[i] = 0
        if start == end:
            for f in range(p):
                out[i, f] = 0
            continue
        if end - start <= n_few:
            for f in range(p):
                scales[f] = 1 / np.sqrt(lengths[f] + ridge[i])
            least[i] = _solve_for_few(start, end, indices, roots, rotated, scales, axes, Z, G, T, W, sums)
            u = sums.reshape(-1)
            for f in range(p):
                out[i, f] = u[f]
            continue
        begin_equations(prior, nothing, G)
        if end - start < p:
            add_entries(start, end, p, indices, in_place, taken, roots, table, few, G)
        else:
            add_entries(start, end, p, indices, in_place, taken, roots, table, F, G)
        for f in range(p):
            b[f] = g[f, p]
            g[f, f] += ridge[i]
        factorize(G, p, p * _EPS, T, W)
        solve(p, T, W)
        said = 0.0
        for f in range(p):
            said += w[f] * b[f]
        least[i] = -said
        for f in range(p):
            out[i, f] = w[f]


@ordered
def _solve_for_few(start, end, indices, roots, rotated, scales, axes, Z, G, T, W, sums):  # type: ignore[no-untyped-def]
    """Write the minimiser of a row with n entries as the first numbers of `sums`, and return the row's part of J.

    With base = Q diag(λ) Qᵀ, s = (λ + ridge)^-½ and Z = r F Q s, u = Q s Zᵀ y where (I + Z Zᵀ) y = r: n equations, not
    as many as factors. The `axes` are Qᵀ, and `rotated` are F Q.
    """
    n, p = end - start, len(scales)
    L, D, used = lines(n), lines(p), (p + LANES - 1) // LANES
    z, x, several = Z.reshape(-1), rotated.reshape(-1), len(roots) > 1
    for k in range(p * L):
        store(Z, k, filled(0.0))
    for k in range(n):
        root, own = np.float64(roots[start + k] if several else roots[0]), np.int64(indices[start + k]) * D * LANES
        for f in range(p):
            z[f * L * LANES + k] = root * scales[f] * x[own + f]
    K, T = G[: L * LANES * L], T[: L * LANES * L]
    clear(K, n)
    for a in range(0, n, 8):
        for b in range(a // LANES, L):
            _add_products(p, L, a, b, Z, K)
    g, y, u = square(K, n), W.reshape(-1), sums.reshape(-1)
    for k in range(n):
        g[k, k] += 1
        g[k, n] = roots[start + k] if several else roots[0]
    factorize(K, n, n * _EPS, T, W)
    solve(n, T, W)
    said = 0.0
    for b in range(2 * D):
        store(sums, b, filled(0.0))
    for k in range(n):
        root, own = np.float64(roots[start + k] if several else roots[0]), np.int64(indices[start + k]) * D
        said += root * (root - y[k])
        c = filled(root * y[k])
        for b in range(used):
            store(sums, D + b, load(sums, D + b) + c * doubled(load(rotated, own + b)))
    for f in range(p):
        c = filled(u[D * LANES + f] * scales[f] * scales[f])
        for b in range(used):
            store(sums, b, load(sums, b) + c * load(axes, f * D + b))
    return -said


@ordered
def prior_equations(precision):  # type: ignore[no-untyped-def]
    """Return the equations of rows that have no entries, and whose prior has the mean zero."""
    p = len(precision)
    G, _, _ = room(p)
    g = square(G, p)
    for a in range(p):
        for b in range(a, p):
            g[a, b] = precision[a, b]
    return G


@ordered
def begin_equations(prior, shift, G):  # type: ignore[no-untyped-def]
    """Write what the prior says of a row."""
    p = len(shift)
    L, g = lines(p), square(G, p)
    for a in range(p + 1):
        for b in range(a // LANES, L):
            store(G, a * L + b, load(prior, a * L + b))
    for a in range(p):
        g[a, p] = shift[a]


@inlined
def lines(p):  # type: ignore[no-untyped-def]
    """Return how many times `LANES` numbers hold p features and a target."""
    return (p + LANES) // LANES


@inlined
def square(G, p):  # type: ignore[no-untyped-def]
    """Return equations as a matrix of numbers."""
    return G.reshape(lines(p) * LANES, lines(p) * LANES)


@ordered
def room(p):  # type: ignore[no-untyped-def]
    """Return tables for the equations of a row, and for what solves them: see `factorize`."""
    L = lines(p)
    return _aligned(L * LANES * L, 0.0), _aligned(L * LANES * L, 0.0), _aligned(2 * L, 0.0)


@ordered
def copies(p, zero):  # type: ignore[no-untyped-def]
    """Return a table for the features and targets of some entries, in the precision of `zero`."""
    return _aligned(_CHUNK * lines(p), zero)


@ordered
def _aligned(n, zero):  # type: ignore[no-untyped-def]
    """Return n rows of zeros that begin at a line of memory: a register is filled at once then."""
    raw = zeros(n * LANES + LINE, zero)
    first = (-raw.ctypes.data % LINE) // raw.itemsize
    return raw[first : first + n * LANES].reshape(n, LANES)


@ordered
def clear(G, p):  # type: ignore[no-untyped-def]
    """Set equations to zero."""
    L = lines(p)
    for a in range(p + 1):
        for b in range(a // LANES, L):
            store(G, a * L + b, filled(0.0))


@ordered
def add_entries(start, end, p, indices, position, targets, roots, table, F, G):  # type: ignore[no-untyped-def]
    """Add the products over the entries start..end-1 to G, in the precision of F over a chunk of them.

    `position` says where in targets and roots an entry stands; none of it: where it is. There may be one target, or
    root, for all.
    """
    L = lines(p)
    rows, last = F.reshape(_CHUNK, L * LANES), len(indices) - 1
    for first in range(start, end, _CHUNK):
        n = min(_CHUNK, end - first)
        for k in range(n):
            e = first + k
            ahead, own = np.int64(indices[min(e + AHEAD, last)]) * L, np.int64(indices[e]) * L
            at = np.int64(e)
            if len(position) > 0:
                at = np.int64(position[e])
                fetch_number(targets, position[min(e + AHEAD, last)])
            root = roots[at] if len(roots) > 1 else roots[0]
            x = filled(table.dtype.type(root))
            for b in range(L):
                fetch_lanes(table, ahead + b)
                store(F, k * L + b, x * load(table, own + b))
            # Fused by hand: what stands there is a product too, and which of the two is rounded would be open.
            rows[k, p] = fused(root, targets[at] if len(targets) > 1 else targets[0], rows[k, p])
        for a in range(0, p, 8):
            for b in range(a // LANES, L):
                _add_products(n, L, a, b, F, G)


@ordered
def add_targets(p, targets, roots, table, b):  # type: ignore[no-untyped-def]
    """Add to b what `add_entries` adds to column p, of entries that are the rows of a table."""
    L = lines(p)
    offsets = table.reshape(-1)
    for first in range(0, len(targets), _CHUNK):
        end = min(first + _CHUNK, len(targets))
        for a in range(L):
            s = filled(table.dtype.type(0))
            for k in range(first, end):
                root = table.dtype.type(roots[k] if len(roots) > 1 else roots[0])
                target = root * (offsets[k * L * LANES + p] + targets[k])
                s += filled(table.dtype.type(target)) * (filled(root) * load(table, k * L + a))
            store(b, a, load(b, a) + doubled(s))


@ordered
def _add_products(n, L, a, b, F, G):  # type: ignore[no-untyped-def]
    """Add to G the products of the columns a..a+7 of n rows with their columns 16b..16b+15."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = filled(F.dtype.type(0))
    at, c = a // LANES, a % LANES
    for k in range(n):
        x = load(F, k * L + b)
        s0 += spread(F, at, c) * x
        s1 += spread(F, at, c + 1) * x
        s2 += spread(F, at, c + 2) * x
        s3 += spread(F, at, c + 3) * x
        s4 += spread(F, at, c + 4) * x
        s5 += spread(F, at, c + 5) * x
        s6 += spread(F, at, c + 6) * x
        s7 += spread(F, at, c + 7) * x
        at += L
    g = a * L + b
    store(G, g, load(G, g) + doubled(s0))
    store(G, g + L, load(G, g + L) + doubled(s1))
    store(G, g + 2 * L, load(G, g + 2 * L) + doubled(s2))
    store(G, g + 3 * L, load(G, g + 3 * L) + doubled(s3))
    store(G, g + 4 * L, load(G, g + 4 * L) + doubled(s4))
    store(G, g + 5 * L, load(G, g + 5 * L) + doubled(s5))
    store(G, g + 6 * L, load(G, g + 6 * L) + doubled(s6))
    store(G, g + 7 * L, load(G, g + 7 * L) + doubled(s7))


@ordered
def factorize(G, p, eps, T, W):  # type: ignore[no-untyped-def]
    """Write Lᵀ to T, where G = L D Lᵀ, and to W, one after another, D⁻¹ L⁻¹ b and D⁻¹; b is column p of G.

    A pivot of less than `eps` times its diagonal entry is raised to that, see `cholesky.factorize`. G is overwritten.
    """
    L = lines(p)
    g, w, r = square(G, p), W.reshape(-1)[: L * LANES], W.reshape(-1)[L * LANES :]
    for i in range(p):
        least = max(g[i, i] * eps, _TINY)
        for b in range(i // LANES, L):
            even, odd = load(G, i * L + b), filled(0.0)
            for j in range(0, i - 1, 2):
                even -= spread(T, j * L, i) * load(G, j * L + b)
                odd -= spread(T, j * L + L, i) * load(G, j * L + L + b)
            if i % 2:
                even -= spread(T, i * L - L, i) * load(G, i * L - L + b)
            store(G, i * L + b, even + odd)
        r[i] = 1 / max(g[i, i], least)
        for b in range(i // LANES, L):
            store(T, i * L + b, filled(r[i]) * load(G, i * L + b))
        w[i] = r[i] * g[i, p]


@ordered
def project(p, b, T, W):  # type: ignore[no-untyped-def]
    """Replace D⁻¹ L⁻¹ b of W by that of another b, which is overwritten: see `factorize`."""
    L = lines(p)
    x, w, r = b.reshape(-1), W.reshape(-1)[: L * LANES], W.reshape(-1)[L * LANES :]
    for i in range(p):
        x_i = x[i]
        w[i] = r[i] * x_i
        for a in range(i // LANES, L):
            store(b, a, load(b, a) - filled(x_i) * load(T, i * L + a))


@ordered
def solve(p, T, W):  # type: ignore[no-untyped-def]
    """Replace the first p numbers x of W by L⁻ᵀ x: see `factorize`."""
    t, w = square(T, p), W.reshape(-1)
    for i in range(p - 1, 0, -1):
        x = w[i]
        for j in range(i):
            w[j] -= x * t[j, i]


@kernel
def add_outer(F, gram):  # type: ignore[no-untyped-def]
    """Add FᵀF to the lower triangle of `gram`, four rows of F at a time."""
    n, d = F.shape
    k = 0
    while k + 3 < n:
        f0 = F[k]
        f1 = F[k + 1]
        f2 = F[k + 2]
        f3 = F[k + 3]
        for a in range(d):
            row = gram[a]
            for b in range(a + 1):
                row[b] += f0[a] * f0[b] + f1[a] * f1[b] + f2[a] * f2[b] + f3[a] * f3[b]
        k += 4
    while k < n:
        f = F[k]
        for a in range(d):
            row = gram[a]
            for b in range(a + 1):
                row[b] += f[a] * f[b]
        k += 1


@kernel
def _times(F, p, out):  # type: ignore[no-untyped-def]
    """Write out = F p."""
    for k in range(len(out)):
        row = F[k]
        s = p[0] * 0
        for f in range(len(p)):
            s += row[f] * p[f]
        out[k] = s


@kernel
def _add_transposed(F, q, out):  # type: ignore[no-untyped-def]
    """Add Fᵀ q to `out`."""
    for k in range(len(q)):
        row = F[k]
        t = q[k]
        for f in range(len(out)):
            out[f] += t * row[f]


@kernel
def ridge_cg(lo, hi, indptr, indices, targets, roots, offsets, features, ridge, shares, n_steps, out):  # type: ignore[no-untyped-def]
    """Improve the minimisers of rows lo..hi by conjugate gradient steps from what `out` holds."""
    d = features.shape[1]
    for i in range(lo, hi):
        start = indptr[i]
        n = indptr[i + 1] - start
        w = out[i]
        if n == 0:
            w[:] = 0
            continue
        F = empty((n, d), features.dtype)
        q = empty(n, features.dtype)
        for k in range(n):
            j = indices[start + k]
            root = roots[start + k] if len(roots) > 1 else roots[0]
            for f in range(d):
                F[k, f] = root * features[j, f]
        _times(F, w, q)
        for k in range(n):
            root = roots[start + k] if len(roots) > 1 else roots[0]
            q[k] = root * (targets[start + k] - offsets[indices[start + k]]) - q[k]
        own = shares[i] * ridge
        r = -own * w
        _add_transposed(F, q, r)
        p = r.copy()
        squared = np.sum(r * r)
        for _ in range(n_steps):
            if squared <= 1e-20:
                break
            _times(F, p, q)
            A_p = own * p
            _add_transposed(F, q, A_p)
            t = squared / np.sum(p * A_p)
            for f in range(d):
                w[f] += t * p[f]
                r[f] -= t * A_p[f]
            following = np.sum(r * r)
            for f in range(d):
                p[f] = r[f] + (following / squared) * p[f]
            squared = following


def padded(square: np.ndarray) -> np.ndarray:
    """Return a square matrix as a table of sixteen columns, each of its rows padded with zeros; so is their number.

    Examples
    --------
    >>> padded(np.ones((3, 3))).shape, padded(np.ones((20, 20))).shape
    ((16, 16), (64, 16))
    """
    d = len(square)
    width = -(-d // LANES) * LANES
    out = np.zeros((width, width), dtype=np.float32)
    out[:d, :d] = square
    return out.reshape(-1, LANES)


@ordered
def ridge_of_interactions_cg(lo, hi, indptr, indices, values, features, base, ridge, n_steps, out, least):  # type: ignore[no-untyped-def]
    """Improve the minimisers of rows lo..hi from what `out` holds; write what each row's part of J then is."""
    d = features.shape[1]
    L = (d + LANES - 1) // LANES
    F, t, q = _room(lo, hi, indptr, L)
    work = zeros((5, L, LANES), np.float32)
    w, b, r, p, A_p = work[0], work[1], work[2], work[3], work[4]
    flat = w.reshape(-1)
    for i in range(lo, hi):
        n = indptr[i + 1] - indptr[i]
        if n == 0:
            least[i] = 0
            _copy(flat[:0], out[i])
            continue
        _gather(indptr[i], n, L, indices, values, features, F, t)
        _copy(out[i], flat)
        _residual(n, L, F, t, base, ridge[i], w, q, b, r)
        for k in range(L):
            store(p, k, load(r, k))
        squared = _dot(r, r)
        for _ in range(n_steps):
            if squared <= 1e-20:
                break
            _apply(n, L, F, t, base, ridge[i], p, q, A_p)
            step = filled(squared / _dot(p, A_p))
            for k in range(L):
                store(w, k, load(w, k) + step * load(p, k))
                store(r, k, load(r, k) - step * load(A_p, k))
            following = _dot(r, r)
            share = filled(following / squared)
            for k in range(L):
                store(p, k, load(r, k) + share * load(p, k))
            squared = following
        _copy(flat, out[i])
        least[i] = -np.float64(_dot(w, b)) - np.float64(_dot(w, r))


@ordered
def gradient_of_interactions(lo, hi, indptr, indices, values, features, base, ridge, at, out, least):  # type: ignore[no-untyped-def]
    """Write half the gradients of rows lo..hi at `at`, and what each row's part of J is."""
    L = (features.shape[1] + LANES - 1) // LANES
    F, t, q = _room(lo, hi, indptr, L)
    work = zeros((3, L, LANES), np.float32)
    w, b, r = work[0], work[1], work[2]
    flat = w.reshape(-1)
    for i in range(lo, hi):
        n = indptr[i + 1] - indptr[i]
        _gather(indptr[i], n, L, indices, values, features, F, t)
        _copy(at[i], flat)
        _residual(n, L, F, t, base, ridge[i], w, q, b, r)
        least[i] = -np.float64(_dot(w, b)) - np.float64(_dot(w, r))
        for k in range(L):
            store(r, k, filled(np.float32(0)) - load(r, k))
        _copy(r.reshape(-1), out[i])


@ordered
def _room(lo, hi, indptr, L):  # type: ignore[no-untyped-def]
    """Return room for the entries of the longest of some rows."""
    most = 0
    for i in range(lo, hi):
        most = max(most, indptr[i + 1] - indptr[i])
    return zeros((most * L, LANES), np.float32), empty(most, np.float32), empty(most, np.float32)


@ordered
def _copy(source, target):  # type: ignore[no-untyped-def]
    """Copy numbers; what the source is short of is zero, what is longer than the target is left out."""
    n = min(len(source), len(target))
    for f in range(n):
        target[f] = source[f]
    for f in range(n, len(target)):
        target[f] = 0


@ordered
def _gather(start, n, L, indices, values, features, F, t):  # type: ignore[no-untyped-def]
    """Bring the rows of entries together, and their weights."""
    d = features.shape[1]
    flat = F.reshape(-1)
    for k in range(n):
        row = features[indices[start + k]]
        own = flat[k * L * LANES : k * L * LANES + d]
        for f in range(d):
            own[f] = row[f]
        t[k] = values[start + k] if len(values) > 1 else values[0]


@ordered
def _residual(n, L, F, t, base, ridge, w, q, b, r):  # type: ignore[no-untyped-def]
    """Write b = Σ_k w_k F_k and what is left of it, b - A w."""
    for k in range(L):
        store(b, k, filled(np.float32(0)))
    _add_rows(n, L, F, t, b)
    _apply(n, L, F, t, base, ridge, w, q, r)
    for k in range(L):
        store(r, k, load(b, k) - load(r, k))


@ordered
def _apply(n, L, F, t, base, ridge, p, q, out):  # type: ignore[no-untyped-def]
    """Write A p = (base + ridge I + Σ_k w_k F_k F_kᵀ) p."""
    share = filled(np.float32(ridge))
    for k in range(L):
        store(out, k, share * load(p, k))
    _add_rows(L * LANES, L, base, p.reshape(-1), out)
    _products(n, L, F, t, p, q)
    _add_rows(n, L, F, q, out)


@ordered
def _products(n, L, F, t, p, q):  # type: ignore[no-untyped-def]
    """Write q_k = w_k F_k·p, four entries at a time."""
    k = 0
    while k + 3 < n:
        s0 = filled(np.float32(0))
        s1 = s0
        s2 = s0
        s3 = s0
        at = k * L
        for c in range(L):
            x = load(p, c)
            s0 += load(F, at + c) * x
            s1 += load(F, at + L + c) * x
            s2 += load(F, at + 2 * L + c) * x
            s3 += load(F, at + 3 * L + c) * x
        q[k] = t[k] * total(s0)
        q[k + 1] = t[k + 1] * total(s1)
        q[k + 2] = t[k + 2] * total(s2)
        q[k + 3] = t[k + 3] * total(s3)
        k += 4
    while k < n:
        s0 = filled(np.float32(0))
        for c in range(L):
            s0 += load(F, k * L + c) * load(p, c)
        q[k] = t[k] * total(s0)
        k += 1


@ordered
def _add_rows(n, L, F, q, out):  # type: ignore[no-untyped-def]
    """Add Σ_k q_k F_k to `out`, four entries at a time."""
    k = 0
    while k + 3 < n:
        q0 = filled(q[k])
        q1 = filled(q[k + 1])
        q2 = filled(q[k + 2])
        q3 = filled(q[k + 3])
        at = k * L
        for c in range(L):
            x = load(out, c)
            x += load(F, at + c) * q0
            x += load(F, at + L + c) * q1
            x += load(F, at + 2 * L + c) * q2
            x += load(F, at + 3 * L + c) * q3
            store(out, c, x)
        k += 4
    while k < n:
        q0 = filled(q[k])
        for c in range(L):
            store(out, c, load(out, c) + load(F, k * L + c) * q0)
        k += 1


@ordered
def _dot(x, y):  # type: ignore[no-untyped-def]
    s = filled(np.float32(0))
    for c in range(len(x)):
        s += load(x, c) * load(y, c)
    return total(s)
