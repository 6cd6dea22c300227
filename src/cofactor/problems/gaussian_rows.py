r"""Rows that all come from one unknown Gaussian, in the variational bound.

.. math::

    v_j \sim N(\mu, \Omega^{-1}), \quad \mu \sim N(0, \Omega^{-1}), \quad \Omega \sim W(d, I); \qquad
    q(v_j) = N(\Lambda_j, \Xi), \quad q(\mu) = N(\mu', (\beta' \Omega)^{-1}), \quad q(\Omega) = W(\tau, S^{-1})

with :math:`\tau = d + m`, :math:`\beta' = 1 + m` and :math:`\Xi = S / \tau` at their best.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from cofactor.kernels.cholesky import factorize, solve_lower

Array = NDArray[np.float64]


def best_gaussian(rows: Array, scatter: Array) -> tuple[Array, Array]:
    """Return the best µ' and S for the means Λ of the rows, where Ξ is that of the given S."""
    m, d = rows.shape
    mean = np.add.reduce(rows, axis=0) / (1 + m)
    inner = np.einsum("jk,jl->kl", rows, rows)
    return mean, np.eye(d) + m / (d + m) * scatter + inner - (1 + m) * np.outer(mean, mean)


def root(scatter: Array, m: int) -> Array:
    """Return the lower triangular L with L Lᵀ = Ξ = S / τ."""
    d = len(scatter)
    L = scatter / (d + m)
    factorize(L, d)
    return np.tril(L)


def inverse_of_root(L: Array) -> Array:
    """Return L⁻¹."""
    d = len(L)
    columns = np.eye(d)
    for column in columns:  # a row in memory, a column of the inverse
        solve_lower(L, column, d)
    return np.ascontiguousarray(columns.T)


def gaussian_divergence(mean: Array, scatter: Array, m: int) -> float:
    """Return KL of q(µ, Ω), and that of m rows with Λ_j = µ' and Ξ = S / τ.

    A row elsewhere adds ½ (Λ_j - µ')ᵀ Ξ⁻¹ (Λ_j - µ').
    """
    d = len(mean)
    tau, beta = d + m, 1 + m
    inverse = inverse_of_root(root(scatter, m))  # of the root of S / τ
    log_det = 2 * float(np.log(np.diag(inverse)).sum())  # ln |τ S⁻¹|
    shape = np.arange(d) / 2
    spread = float(np.add.reduce(digamma(tau / 2 - shape)))
    rows = d * np.log(tau / 2) - spread + d / beta
    centre = d * np.log(beta) - d + d / beta + float(np.add.reduce((inverse @ mean) ** 2))
    wishart = (
        -d * (log_det - d * np.log(tau))
        + float(np.add.reduce(inverse**2, axis=None))
        - tau * d
        + 2 * float(np.add.reduce(gammaln(d / 2 - shape) - gammaln(tau / 2 - shape)))
        + m * spread
    )
    return float(m * rows + centre + wishart) / 2
