"""Gaussian processes over the items of one user: covariances, their inverses, gradients and predictions.

The process of a user with the items j has the covariance

    K_jk = s exp(-γ ‖x_j - x_k‖² / 2) + l x_j·x_k + b + σ² [j = k],

and ``kappa`` holds s, γ, l, b, σ² in this order, s or l zero where a kernel has no such part. All sums of a user are
taken by one thread in fixed order. A user with n ratings costs n³ operations for an inverse and a third of that for
an elimination, eight pivots at a time so that an entry is fetched once for eight of them.
"""

import math

from cofactor.kernels.arrays import empty, zeros
from cofactor.kernels.compile import kernel, ordered
from cofactor.kernels.normal import exponential

#: Entries of `kappa`.
N_KAPPA = 5

_PIVOTS = 8  #: `_update` is written out for this number
_QUERIES = 16  #: right-hand sides solved at once
_FAR = -700.0  #: exponent which stands for all below it
_LOG_2_PI = math.log(2 * math.pi)


@kernel
def padded(n):  # type: ignore[no-untyped-def]
    """Return the next multiple of four."""
    return n + (-n) % 4


@kernel
def _invert_pivots(A, lo, width, D):  # type: ignore[no-untyped-def]
    """Write the inverse of a diagonal block of A to D, zero beyond `width`; return the logarithm of its determinant."""
    D[:] = 0
    for p in range(width):
        for q in range(p + 1):
            D[p, q] = A[lo + p, lo + q]
            D[q, p] = D[p, q]
    logdet = 0.0
    for p in range(width):
        # Covariances are far from singular, because of the noise; the bound only keeps rounding out of the logarithm.
        pivot = max(D[p, p], 1e-30)
        logdet += math.log(pivot)
        D[p, p] = 1.0
        for q in range(width):
            D[p, q] /= pivot
        for r in range(width):
            if r != p:
                t = D[r, p]
                D[r, p] = 0.0
                for q in range(width):
                    D[r, q] -= t * D[p, q]
    return logdet


@ordered
def _subtract_four(r0, r1, r2, r3, w0, w1, w2, w3, b0, b1, b2, b3):  # type: ignore[no-untyped-def]
    """Subtract the combinations w of four rows b from four rows r: four by four, all in registers."""
    w00, w01, w02, w03 = w0[0], w0[1], w0[2], w0[3]
    w10, w11, w12, w13 = w1[0], w1[1], w1[2], w1[3]
    w20, w21, w22, w23 = w2[0], w2[1], w2[2], w2[3]
    w30, w31, w32, w33 = w3[0], w3[1], w3[2], w3[3]
    for j in range(len(r0)):
        c0, c1, c2, c3 = b0[j], b1[j], b2[j], b3[j]
        r0[j] = r0[j] - w00 * c0 - w01 * c1 - w02 * c2 - w03 * c3
        r1[j] = r1[j] - w10 * c0 - w11 * c1 - w12 * c2 - w13 * c3
        r2[j] = r2[j] - w20 * c0 - w21 * c1 - w22 * c2 - w23 * c3
        r3[j] = r3[j] - w30 * c0 - w31 * c1 - w32 * c2 - w33 * c3


@kernel
def _subtract(A, start, W, B):  # type: ignore[no-untyped-def]
    """Subtract W B from what lies from row and column `start` on, up to the diagonal."""
    for i in range(start - start % 4, len(A), 4):
        # Slices of single rows, which are contiguous, and whose loop begins at zero, so that no index can be negative.
        r0, r1, r2, r3 = A[i][start : i + 4], A[i + 1][start : i + 4], A[i + 2][start : i + 4], A[i + 3][start : i + 4]
        for p in range(0, _PIVOTS, 4):
            _subtract_four(
                r0, r1, r2, r3,
                W[i][p:], W[i + 1][p:], W[i + 2][p:], W[i + 3][p:],
                B[p][start:], B[p + 1][start:], B[p + 2][start:], B[p + 3][start:],
            )  # fmt: skip


@kernel
def eliminate(A, n, inverse):  # type: ignore[no-untyped-def]
    """Eliminate the first n pivots of a symmetric matrix [[K, Zᵀ], [Z, S]] in place; return log det K.

    Lower triangles count; what stands above the diagonal is not used, and is overwritten. The number of rows of A is a
    multiple of four (see `padded`); rows beyond Z may be zero. Afterwards the rows of Z hold Z K⁻¹ if `inverse`,
    S - Z K⁻¹ Zᵀ stands in the place of S, and -K⁻¹ in that of K. Without `inverse`, K is left as its factors: diagonal
    blocks of eight hold the inverse of theirs in K = L D⁻¹ Lᵀ, what is below them L, and Z holds Z L⁻ᵀ D.
    """
    n_rows = len(A)
    B = zeros((_PIVOTS, n_rows), A.dtype)
    W = zeros((n_rows, _PIVOTS), A.dtype)
    D = empty((_PIVOTS, _PIVOTS))
    d = empty((_PIVOTS, _PIVOTS), A.dtype)
    logdet = 0.0
    for lo in range(0, n, _PIVOTS):
        width = min(_PIVOTS, n - lo)
        hi = lo + width
        logdet += _invert_pivots(A, lo, width, D)
        for p in range(_PIVOTS):
            for q in range(_PIVOTS):
                d[p, q] = D[p, q]
        B[:] = 0
        if inverse:
            for p in range(width):
                for i in range(lo):
                    B[p, i] = A[lo + p, i]
        for i in range(hi, n_rows):
            for p in range(width):
                B[p, i] = A[i, lo + p]
        start = 0 if inverse else hi
        for i in range(start, n_rows):
            w = W[i]
            w[:] = 0
            for q in range(width):
                t = B[q, i]
                for p in range(_PIVOTS):
                    w[p] += t * d[q, p]
        # Rows and columns of the pivots themselves are zero in W and B, so that they need no exception.
        _subtract(A, start, W, B)
        sign = -1.0 if inverse else 1.0
        for p in range(width):
            if inverse:
                for j in range(lo):
                    A[lo + p, j] = W[j, p]
            for q in range(p + 1):
                A[lo + p, lo + q] = sign * D[p, q]
        for i in range(hi, n_rows):
            for p in range(width):
                A[i, lo + p] = W[i, p]
    return logdet


@kernel
def gather(V, items):  # type: ignore[no-untyped-def]
    """Return the positions of items as columns."""
    XT = empty((V.shape[1], len(items)), V.dtype)
    for i in range(len(items)):
        x = V[items[i]]
        for f in range(len(x)):
            XT[f, i] = x[f]
    return XT


@kernel
def covariances(x, XT, kappa, e, k):  # type: ignore[no-untyped-def]
    """Write the covariances of x with the first columns of XT, as many as `e` is long; e is the part of s alone."""
    n = len(e)
    s, linear, b = kappa[0], kappa[2], kappa[3]
    for j in range(n):
        e[j] = 0
        k[j] = b
    if s > 0:
        for f in range(len(x)):
            t = x[f]
            row = XT[f]
            for j in range(n):
                u = t - row[j]
                e[j] += u * u
        g = -kappa[1] / 2
        for j in range(n):
            e[j] = s * exponential(max(g * e[j], _FAR))
            k[j] += e[j]
    if linear > 0:
        for f in range(len(x)):
            t = linear * x[f]
            row = XT[f]
            for j in range(n):
                k[j] += t * row[j]


@kernel
def _process(V, items, kappa, size, E):  # type: ignore[no-untyped-def]
    """Return positions, and a matrix of `size` rows, padded, with K in its corner; E gets the part of s."""
    n = len(items)
    XT = gather(V, items)
    A = zeros((padded(size), padded(size)), V.dtype)
    for i in range(n):
        covariances(V[items[i]], XT, kappa, E[min(i, len(E) - 1)][: i + 1], A[i][: i + 1])
        A[i, i] += kappa[4]
    return XT, A


@kernel
def user_gradient(V, items, y, kappa, rows, dlog):  # type: ignore[no-untyped-def]
    """Return log N(y; 0, K), and write its gradient: by the positions to `rows`, by log kappa to `dlog`.

    With a = K⁻¹ y and G = (a aᵀ - K⁻¹) / 2 the gradient is Σ_jk G_jk ∂K_jk.
    """
    n = len(items)
    d = V.shape[1]
    E = empty((n, n), V.dtype)
    XT, A = _process(V, items, kappa, n + 1, E)
    for i in range(n):
        A[n, i] = y[i]
    logdet = eliminate(A, n, True)
    a = A[n]
    loglik = -0.5 * (logdet - a[n] + n * _LOG_2_PI)
    GX, WX = zeros((d, n), V.dtype), zeros((d, n), V.dtype)
    sums = zeros(n, V.dtype)
    g = empty(n, V.dtype)
    half = V.dtype.type(0.5)
    total = trace = total_s = 0.0
    for i in range(n):
        # Each pair of items once, the diagonal by half: all is counted for the row and for the column.
        row = A[i]
        t = half * a[i]
        for j in range(i + 1):
            g[j] = t * a[j] + half * row[j]
        g[i] *= half
        trace += 2 * g[i]
        u = g[0] * 0
        for j in range(i + 1):
            u += g[j]
        total += 2 * u
        if kappa[2] > 0:
            _add_symmetric(g[: i + 1], XT, GX)
        if kappa[0] > 0:
            e = E[i]
            u = g[0] * 0
            for j in range(i + 1):
                g[j] *= e[j]
                sums[j] += g[j]
            for j in range(i + 1):  # apart from what is stored: see `compile.FASTMATH`
                u += g[j]
            sums[i] += u
            total_s += 2 * u
            _add_symmetric(g[: i + 1], XT, WX)
    squares = products = 0.0
    for i in range(n):
        for f in range(d):
            x = XT[f, i]
            rows[i, f] = 2 * (kappa[1] * (WX[f, i] - x * sums[i]) + kappa[2] * GX[f, i])
        for f in range(d):
            x = XT[f, i]
            squares -= x * (WX[f, i] - x * sums[i])
            products += x * GX[f, i]
    dlog[0] = total_s
    dlog[1] = -kappa[1] * squares  # Σ W_jk ‖x_j - x_k‖² = 2 Σ_j x_j·(x_j Σ_k W_jk - Σ_k W_jk x_k)
    dlog[2] = kappa[2] * products
    dlog[3] = kappa[3] * total
    dlog[4] = kappa[4] * trace
    return loglik


@kernel
def _add_symmetric(g, XT, out):  # type: ignore[no-untyped-def]
    """Add the products of the last row and column of a symmetric matrix with the columns of XT."""
    n = len(g)
    for f in range(len(XT)):
        x = XT[f]
        o = out[f]
        t = x[n - 1]
        u = g[0] * 0
        for j in range(n):
            u += g[j] * x[j]
        for j in range(n):
            o[j] += g[j] * t
        o[n - 1] += u


@kernel
def add_rows(items, rows, out):  # type: ignore[no-untyped-def]
    """Add each row to that of its item, in order."""
    for e in range(len(items)):
        row = out[items[e]]
        for f in range(rows.shape[1]):
            row[f] += rows[e, f]


@kernel
def momentum_steps(  # type: ignore[no-untyped-def]
    users, indptr, items, rows, dlog, shares, V, velocity, steps, logs, log_velocity, log_steps, momentum, low, high
):
    """Take a step with momentum for each of the users, one after the other, along gradients already known.

    A user's step bears a share of each of their items' penalties, and each item has a step length of its own. All
    positions move on with their velocities.
    """
    V, velocity = V.ravel(), velocity.ravel()
    d = rows.shape[1]
    for u in users:
        for i in range(len(velocity)):
            velocity[i] *= momentum
        for e in range(indptr[u], indptr[u + 1]):
            share, step = shares[items[e]], steps[items[e]]
            at = items[e] * d
            for f in range(d):
                velocity[at + f] += step * (rows[e, f] - share * V[at + f])
        for i in range(len(velocity)):
            V[i] += velocity[i]
        for p in range(len(logs)):
            log_velocity[p] = momentum * log_velocity[p] + log_steps[p] * dlog[u, p]
            logs[p] = min(max(logs[p] + log_velocity[p], low), high)


@kernel
def held_out_losses(lo, hi, users, items, targets, indptr, rated, y, V, kappa, out):  # type: ignore[no-untyped-def]
    """Write minus the log densities of held-out ratings lo..hi, each given the ratings `rated` of its user."""
    for p in range(lo, hi):
        start, stop = indptr[users[p]], indptr[users[p] + 1]
        n = stop - start
        E = empty((1, n), V.dtype)
        XT, A = _process(V, rated[start:stop], kappa, n + 2, E)
        for k in range(n):
            A[n, k] = y[start + k]
        x = V[items[p]]
        covariances(x, XT, kappa, E[0], A[n + 1][:n])
        eliminate(A, n, False)
        variance = prior_variance(x, kappa) + kappa[4] + float(A[n + 1, n + 1])
        error = targets[p] + A[n + 1, n]
        out[p] = 0.5 * (math.log(variance) + error * error / variance + _LOG_2_PI)


@kernel
def prior_variance(x, kappa):  # type: ignore[no-untyped-def]
    """Return the variance of the process at x, without noise."""
    length = 0.0
    for f in range(len(x)):
        length += x[f] * x[f]
    return kappa[0] + kappa[2] * length + kappa[3]


@kernel
def weights(lo, hi, indptr, rated, y, V, kappa, out):  # type: ignore[no-untyped-def]
    """Write K⁻¹ y of the users lo..hi."""
    for u in range(lo, hi):
        start, stop = indptr[u], indptr[u + 1]
        n = stop - start
        _, A = _process(V, rated[start:stop], kappa, n + 1, empty((1, n), V.dtype))
        for k in range(n):
            A[n, k] = y[start + k]
        eliminate(A, n, False)
        a = A[n][:n]
        for i in range(n - 1, -1, -1):
            row = A[i][: i - i % _PIVOTS]
            t = a[i]
            for j in range(len(row)):
                a[j] -= t * row[j]
        for k in range(n):
            out[start + k] = a[k]


@kernel
def pair_means(users, items, indptr, rated, weights, V, kappa, out):  # type: ignore[no-untyped-def]
    """Write the means of the users' processes at items; an unknown item stands at zero, an unknown user's are zero."""
    d = V.shape[1]
    origin = zeros(d, V.dtype)
    before = -1
    XT = empty((d, 0), V.dtype)
    e, k = empty(0, V.dtype), empty(0, V.dtype)
    for p in range(len(users)):
        u = users[p]
        out[p] = 0
        if u < 0:
            continue
        start, n = indptr[u], indptr[u + 1] - indptr[u]
        if u != before:
            XT = gather(V, rated[start : start + n])
            e, k = empty(n, V.dtype), empty(n, V.dtype)
            before = u
        x = V[items[p]] if items[p] >= 0 else origin
        covariances(x, XT, kappa, e, k)
        a = weights[start : start + n]
        t = 0.0
        for j in range(n):
            t += k[j] * a[j]
        out[p] = t


@kernel
def pair_variances(users, items, indptr, rated, V, kappa, out):  # type: ignore[no-untyped-def]
    """Write the variances of users' ratings of items, noise included, unknown ones as in `pair_means`.

    A run of pairs of the same user costs one elimination.
    """
    lo = 0
    while lo < len(users):
        u = users[lo]
        hi = lo + 1
        while hi < len(users) and users[hi] == u:
            hi += 1
        own = rated[indptr[u] : indptr[u + 1]] if u >= 0 else rated[:0]
        _variances(items[lo:hi], own, V, kappa, out[lo:hi])
        lo = hi


@kernel
def _variances(items, rated, V, kappa, out):  # type: ignore[no-untyped-def]
    """Write the variances of one user's ratings, as many at a time as fit into a row: σ² + k - ‖D^½ L⁻¹ k‖²."""
    n = len(rated)
    E = empty((1, n), V.dtype)
    XT, A = _process(V, rated, kappa, n, E)
    eliminate(A, n, False)
    origin = zeros(V.shape[1], V.dtype)
    k = empty(n, V.dtype)
    T = zeros((n, _QUERIES), V.dtype)
    explained = empty(_QUERIES, V.dtype)
    for lo in range(0, len(items), _QUERIES):
        width = min(_QUERIES, len(items) - lo)
        for q in range(width):
            j = items[lo + q]
            x = V[j] if j >= 0 else origin
            covariances(x, XT, kappa, E[0], k)
            for i in range(n):
                T[i, q] = k[i]
            out[lo + q] = prior_variance(x, kappa) + kappa[4]
        for i in range(n):
            t = T[i]
            first = i - i % _PIVOTS
            for j in range(first):
                c = A[i, j]
                s = T[j]
                for q in range(_QUERIES):
                    t[q] -= c * s[q]
        explained[:] = 0
        for i in range(n):
            t = T[i]
            for j in range(i - i % _PIVOTS, i + 1):
                c = A[i, j] if j == i else 2 * A[i, j]
                s = T[j]
                for q in range(_QUERIES):
                    explained[q] += c * s[q] * t[q]
        for q in range(width):
            out[lo + q] -= explained[q]
