"""Regression of rows on sparse features, coefficient by coefficient; factors are independent of each other."""

import numpy as np

from cofactor.kernels.compile import kernel


@kernel
def sparse_means(lo, hi, indptr, indices, values, weights, mean, out):  # type: ignore[no-untyped-def]
    """Write out_i = µ + f_i W for the rows lo..hi of sparse features (CSR)."""
    p = weights.shape[1]
    for i in range(lo, hi):
        row = out[i]
        for a in range(p):
            row[a] = mean[a]
        for e in range(indptr[i], indptr[i + 1]):
            f = values[e]
            w = weights[indices[e]]
            for a in range(p):
                row[a] += f * w[a]


@kernel
def draw_weights(col_indptr, col_indices, col_values, squares, rest, tau, omega, noise, weights):  # type: ignore[no-untyped-def]
    """Draw the coefficients w_k of one factor in turn, each given the others; features by columns (CSC).

    `rest` is the residual of the rows, w_i - µ - f_i W, and is kept so. `squares` holds Σ_i f_ik², `noise` standard
    normal numbers.
    """
    for k in range(len(weights)):
        here = slice(col_indptr[k], col_indptr[k + 1])
        rows, f = col_indices[here], col_values[here]
        total = omega + tau * squares[k]
        s = squares[k] * weights[k]
        for e in range(len(rows)):
            s += f[e] * rest[rows[e]]
        new = tau * s / total + noise[k] / np.sqrt(total)
        change = new - weights[k]
        for e in range(len(rows)):
            rest[rows[e]] -= f[e] * change
        weights[k] = new
