r"""Binary features under a stick-breaking prior, in the variational bound.

Sticks :math:`\nu_k \sim \mathrm{Beta}(a, 1)`, probabilities :math:`\pi_k = \prod_{l \le k} \nu_l`, features
:math:`z_{ik} \sim \mathrm{Bernoulli}(\pi_k)`; :math:`q(\nu_k) = \mathrm{Beta}(\gamma_{1k}, \gamma_{2k})`. The expected
:math:`\ln(1 - \pi_k)` has no closed form; its lower bound :math:`L_k` by a multinomial distribution over the stick that
broke (Doshi-Velez, Miller, Van Gael & Teh 2009) stands in for it, so what is minimised bounds the divergence from
above.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma

Array = NDArray[np.float64]


def expected_logs(gamma: Array) -> tuple[Array, Array]:
    """Return E ln ν_k and E ln(1 - ν_k) for the parameters γ of shape (2, K)."""
    total = digamma(gamma.sum(axis=0))
    return digamma(gamma[0]) - total, digamma(gamma[1]) - total


def log_bounds(gamma: Array) -> tuple[Array, Array, Array]:
    """Return E ln π_k, the best bound L_k on E ln(1 - π_k), and its terms e_s: L_k = ln Σ_{s <= k} exp e_s.

    Examples
    --------
    With one stick the bound is exact:

    >>> on, off, _ = log_bounds(np.array([[3.0], [1.0]]))
    >>> np.allclose([on[0], off[0]], [digamma(3) - digamma(4), digamma(1) - digamma(4)])
    True
    """
    log_on, log_off = expected_logs(gamma)
    on = np.cumsum(log_on)
    terms = log_off + on - log_on
    return on, np.logaddexp.accumulate(terms), terms


def prior_logits(gamma: Array) -> Array:
    """Return ln(p/(1-p)) of the features of a cold user."""
    on, off, _ = log_bounds(gamma)
    return on - off


def best_sticks(gamma: Array, expected_ones: Array, n: int, concentration: float) -> Array:
    """Return the γ which minimises the bound, where the multinomials of L_k are the best ones for the given γ.

    Parameters
    ----------
    gamma : ndarray of shape (2, K)
        The γ for which the multinomials are computed.
    expected_ones : ndarray of shape (K,)
        Σ_i ψ_ik.
    n : int
        Number of rows.
    concentration : float
        a.
    """
    _, off, terms = log_bounds(gamma)
    broke = np.tril(np.exp(np.minimum(terms - off[:, None], 0)))  # row k: which of the sticks 1..k
    zeros = n - expected_ones
    later = np.tril(broke.sum(axis=1, keepdims=True) - np.cumsum(broke, axis=1), -1)
    ones = np.cumsum(expected_ones[::-1])[::-1]
    return np.stack(
        [
            concentration + ones + np.add.reduce(zeros[:, None] * later, axis=0),
            1 + np.add.reduce(zeros[:, None] * broke, axis=0),
        ]
    )


def sticks_divergence(gamma: Array, n: int, concentration: float) -> float:
    """Return Σ_k KL(q(ν_k) | prior), plus what the bound adds for n rows whose ψ is that of the prior."""
    log_on, log_off = expected_logs(gamma)
    on, off, _ = log_bounds(gamma)
    divergence = (
        -np.log(concentration)
        - betaln(gamma[0], gamma[1])
        + (gamma[0] - concentration) * log_on
        + (gamma[1] - 1) * log_off
    )
    return float(np.add.reduce(divergence) - n * np.add.reduce(np.logaddexp(on, off)))
