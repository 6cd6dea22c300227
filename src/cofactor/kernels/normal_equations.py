"""Normal equations of rows of a sparse matrix: ridge regressions, and what draws of rows begin with.

The equations of a row with p features are the sums of the products of all pairs of its features and the target, which
counts as feature p. Sums over `_CHUNK` entries are in the precision of the features, beyond that in double precision;
for a row with fewer entries than features they are in double precision at once, since only the ridge keeps its
equations regular. They are solved in double precision.

Features come as a table of `lined_up`. Tables of equations, G, hold p + 1 rows of whole `LANES` of double precision,
from the diagonal on, one after another; what is below the diagonal is not read. They are solved by G = L D Lᵀ: unlike
with roots of pivots, the way from one row to the next has no division and no root but 1 / D.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import fused, inlined, ordered
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
)

_CHUNK = 64  #: entries whose features are copied to one place, which stays in a first-level cache


def lined_up(
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
    >>> table = lined_up(np.ones((2, 3)), 4, np.array([5.0, 6.0]))
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
    in_place = empty(0, np.int32)
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
        _solve(G, p, ridge, shares[i], eps, T, W, out[i])


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
    in_place, taken = empty(0, np.int32), np.ones(1, table.dtype)
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
        factorize(G, p, p * np.finfo(np.float64).eps, T, W)
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
    factorize(K, n, n * np.finfo(np.float64).eps, T, W)
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
def _solve(G, p, ridge, share, eps, T, W, out):  # type: ignore[no-untyped-def]
    """Write the minimiser of a row from its equations, which are overwritten."""
    g, w = square(G, p), W.reshape(-1)
    for f in range(p):
        g[f, f] += share * ridge[f]
    factorize(G, p, p * eps, T, W)
    solve(p, T, W)
    for f in range(p):
        out[f] = w[f]


@ordered
def factorize(G, p, eps, T, W):  # type: ignore[no-untyped-def]
    """Write Lᵀ to T, where G = L D Lᵀ, and to W, one after another, D⁻¹ L⁻¹ b and D⁻¹; b is column p of G.

    A pivot of less than `eps` times its diagonal entry is raised to that, see `cholesky.factorize`. G is overwritten.
    """
    L = lines(p)
    g, w, r = square(G, p), W.reshape(-1)[: L * LANES], W.reshape(-1)[L * LANES :]
    for i in range(p):
        least = max(g[i, i] * eps, np.finfo(np.float64).tiny)
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
