r"""Maximum entropy discrimination for a factorization with binary user features.

**Item rows** all come from one unknown Gaussian, in the variational bound.

.. math::

    v_j \sim N(\mu, \Omega^{-1}), \quad \mu \sim N(0, \Omega^{-1}), \quad \Omega \sim W(d, I); \qquad
    q(v_j) = N(\Lambda_j, \Xi), \quad q(\mu) = N(\mu', (\beta' \Omega)^{-1}), \quad q(\Omega) = W(\tau, S^{-1})

with :math:`\tau = d + m`, :math:`\beta' = 1 + m` and :math:`\Xi = S / \tau` at their best.

**Binary features** have a stick-breaking prior. Sticks :math:`\nu_k \sim \mathrm{Beta}(a, 1)`, probabilities
:math:`\pi_k = \prod_{l \le k} \nu_l`, features :math:`z_{ik} \sim \mathrm{Bernoulli}(\pi_k)`; :math:`q(\nu_k) =
\mathrm{Beta}(\gamma_{1k}, \gamma_{2k})`. The expected :math:`\ln(1 - \pi_k)` has no closed form; its lower bound
:math:`L_k` by a multinomial distribution over the stick that broke (Doshi-Velez, Miller, Van Gael & Teh 2009) stands in
for it, so what is minimised bounds the divergence from above.
"""

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln

from cofactor.kernels import maxmargin
from cofactor.kernels.cholesky import factorize
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.problems.base import PenalizedProblem
from cofactor.problems.observed import Entries

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


def gaussian_divergence(mean: Array, scatter: Array, m: int) -> float:
    """Return KL of q(µ, Ω), and that of m rows with Λ_j = µ' and Ξ = S / τ.

    A row elsewhere adds ½ (Λ_j - µ')ᵀ Ξ⁻¹ (Λ_j - µ').
    """
    d = len(mean)
    tau, beta = d + m, 1 + m
    inverse = np.linalg.inv(root(scatter, m))  # of the root of S / τ
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


_ENTRIES_PER_BLOCK = 5_000
#: Passes over the ratings of a row in one update; the next update goes on from there. With 20 a fit takes twice as
#: long.
_UPDATE_PASSES = 4
_STICK_STEPS = 3


class MaxEntropyProblem(PenalizedProblem):
    r"""Hinges of expected scores at every threshold, plus the divergence from the prior.

    .. math::

        J = \sum_{(i,j) \in \Omega} \sum_{r=1}^{R-1}
        \max(0, \ell - T^r_{ij} (\varrho_{ir} - \psi_i \cdot \Lambda_j - c_j))
        + \alpha \, \mathrm{KL}(q \,\|\, \mathrm{prior}) + \frac{\alpha_c}{2} \|c\|^2

    The arrays are named U (ψ), V (Λ), own (ϱ), gamma (γ), and, if there are any, c (item biases), mean and scatter (of
    the items' Gaussian, where it is learned). Blocks: items (V, c), their Gaussian, sticks (γ), users (U, own). No
    block's update raises J.

    Parameters
    ----------
    entries : Entries
        Where the ratings are.
    levels : ndarray of shape (n_entries,)
        1..R in row order.
    n_levels : int
        R.
    n_factors : int
        Number K of features at which the infinite sequence is cut off.
    alpha : float
        Weight of the divergence: 1/C.
    alpha_bias : float or None
        α_c; None for no biases.
    width : float
        ℓ.
    concentration : float
        Of the sticks, Beta(concentration, 1).
    learn_items : bool
        Whether the items' factors come from an unknown Gaussian with a normal-Wishart prior; if not, from N(0, I).
    tol : float
        A row is solved when its duality gap is at most a tenth of this share of its objective.

    Attributes
    ----------
    gap : float
        Bound on how far the problems of all users and items were above their minima when last solved, summed.
    """

    def __init__(
        self,
        entries: Entries,
        levels: np.ndarray,
        n_levels: int,
        n_factors: int,
        alpha: float,
        alpha_bias: float | None,
        width: float,
        concentration: float,
        learn_items: bool,
        tol: float,
    ) -> None:
        n, m = entries.shape
        shapes: dict[str, tuple[int, ...]] = {
            "U": (n, n_factors), "V": (m, n_factors), "own": (n, n_levels - 1), "gamma": (2, n_factors),
        }  # fmt: skip
        if alpha_bias is not None:
            shapes["c"] = (m,)
        if learn_items:
            shapes |= {"mean": (n_factors,), "scatter": (n_factors, n_factors)}
        super().__init__(shapes, {}, False, np.float64)
        self.entries, self.alpha, self.alpha_bias = entries, alpha, alpha_bias
        self.width, self.concentration, self.learn_items = float(width), float(concentration), learn_items
        self.cost, self.row_tol = 1 / alpha, 0.1 * tol
        self.variance = threshold_variance(width)
        self.centres = np.tile(threshold_centres(n_levels, width), (n, 1))
        self.levels = levels
        self._item_duals = np.zeros(len(levels))
        self._user_duals = np.zeros((len(levels), n_levels - 1))
        self._item_gaps, self._user_gaps = np.zeros(m), np.zeros(n)
        self._row_cuts = cut_rows(entries.indptr, _ENTRIES_PER_BLOCK)
        self._col_cuts = cut_rows(entries.col_indptr, _ENTRIES_PER_BLOCK)
        self._divergences, self._hinges = np.zeros(n), np.zeros(n)

    @cached_property
    def levels_by_column(self) -> np.ndarray:
        """Levels in the order of columns."""
        return self.levels[self.entries.to_csr]

    # ---------------------------------------------------------------- what a solver sees

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the arrays as views of `x`."""
        return self.layout.views(x)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J without the hinges; updates of blocks do not need its gradient, which is set to NaN."""
        gradient[...] = np.nan
        a = self.arrays(x)
        n, m = self.entries.shape
        self._evaluate_rows(a)
        total = float(np.add.reduce(self._divergences))
        total += sticks_divergence(a["gamma"], n, self.concentration)
        if self.learn_items:
            total += gaussian_divergence(a["mean"], a["scatter"], m)
            whitened = np.einsum("jk,lk->jl", a["V"] - a["mean"], np.linalg.inv(root(a["scatter"], m)))
        else:
            whitened = a["V"]
        total += 0.5 * float(np.add.reduce(whitened**2, axis=None))
        bias = 0.0 if self.alpha_bias is None else 0.5 * self.alpha_bias * float(np.add.reduce(a["c"] ** 2))
        return self.alpha * total + bias

    def nonsmooth_value(self, x: np.ndarray) -> float:
        """Return the hinges at the point where `value_gradient` was last called."""
        return float(np.add.reduce(self._hinges))

    def prox(self, x: np.ndarray, step: float, out: np.ndarray) -> None:
        """Refuse: the hinges are coupled through the scores, so there is no proximal map in closed form."""
        raise NotImplementedError("hinges of scores have no proximal map in closed form")

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return how much J can still fall, at most, in the blocks of users and of items as last solved."""
        return self.gap

    @property
    def gap(self) -> float:
        """Sum of all rows' duality gaps."""
        return self.alpha * float(np.add.reduce(self._item_gaps) + np.add.reduce(self._user_gaps))

    # ---------------------------------------------------------------- blocks

    def update(self, x: np.ndarray) -> None:
        """Renew one block after the other, in place; the users last, so that fold-in of a user gives the same again."""
        self.update_items(x)
        if self.learn_items:
            self.update_gaussian(x)
        self.update_sticks(x)
        self.update_users(x)

    def update_items(self, x: np.ndarray, max_passes: int = _UPDATE_PASSES) -> None:
        """Minimise J over V and c: one support vector machine for each item."""
        a, e = self.arrays(x), self.entries
        features, offsets, rows = a["U"], np.zeros(len(a["U"])), a["V"].copy()
        if self.learn_items:  # in coordinates where the items' Gaussian is N(0, I)
            L = root(a["scatter"], e.shape[1])
            offsets = np.add.reduce(features * a["mean"], axis=1)
            features = np.einsum("ik,kl->il", features, L)
            rows = np.einsum("jk,lk->jl", rows - a["mean"], np.linalg.inv(L))
        if self.alpha_bias is not None:  # the weight of a constant feature
            size = np.sqrt(self.alpha / self.alpha_bias)
            features = np.column_stack([features, np.full(len(features), size)])
            rows = np.column_stack([rows, a["c"] / size])
        features, rows = np.ascontiguousarray(features), np.ascontiguousarray(rows)

        def block(k: int) -> None:
            maxmargin.linear_rows(
                self._col_cuts[k], self._col_cuts[k + 1], e.col_indptr, e.col_indices, self.levels_by_column,
                features, offsets, a["own"], self.width, self.cost, self.row_tol, max_passes,
                self._item_duals, rows, self._item_gaps,
            )  # fmt: skip

        parallel_for(block, len(self._col_cuts) - 1)
        if self.alpha_bias is not None:
            a["c"][...] = size * rows[:, -1]
            rows = np.ascontiguousarray(rows[:, :-1])
        a["V"][...] = np.einsum("jl,kl->jk", rows, L) + a["mean"] if self.learn_items else rows

    def update_gaussian(self, x: np.ndarray) -> None:
        """Lower J over the mean and the scatter of the items' Gaussian."""
        a = self.arrays(x)
        a["mean"][...], a["scatter"][...] = best_gaussian(a["V"], a["scatter"])

    def update_sticks(self, x: np.ndarray) -> None:
        """Lower J over γ."""
        a = self.arrays(x)
        ones = np.add.reduce(a["U"], axis=0)
        for _ in range(_STICK_STEPS):
            a["gamma"][...] = best_sticks(a["gamma"], ones, len(a["U"]), self.concentration)

    def update_users(self, x: np.ndarray, max_passes: int = _UPDATE_PASSES) -> None:
        """Minimise J over U and own: one convex problem for each user."""
        a, e = self.arrays(x), self.entries
        logits, c = prior_logits(a["gamma"]), a.get("c", np.zeros(len(a["V"])))

        def block(k: int) -> None:
            maxmargin.binary_rows(
                self._row_cuts[k], self._row_cuts[k + 1], e.indptr, e.indices, self.levels, a["V"], c, logits,
                self.centres, self.variance, self.width, self.cost, self.row_tol, max_passes,
                self._user_duals, a["U"], a["own"], self._user_gaps,
            )  # fmt: skip

        parallel_for(block, len(self._row_cuts) - 1)

    def _evaluate_rows(self, a: Mapping[str, np.ndarray]) -> None:
        """Write the divergence of each user's features and thresholds, and the sum of their hinges."""
        e = self.entries
        logits, c = prior_logits(a["gamma"]), a.get("c", np.zeros(len(a["V"])))

        def block(k: int) -> None:
            maxmargin.row_losses(
                self._row_cuts[k], self._row_cuts[k + 1], e.indptr, e.indices, self.levels, a["V"], c, logits,
                self.centres, self.variance, self.width, a["U"], a["own"], self._divergences, self._hinges,
            )  # fmt: skip

        parallel_for(block, len(self._row_cuts) - 1)


def threshold_centres(n_levels: int, width: float) -> np.ndarray:
    """Return prior means of the thresholds: two margins apart, around zero.

    Examples
    --------
    >>> threshold_centres(5, 1.0)
    array([-3., -1.,  1.,  3.])
    """
    return 2 * width * (np.arange(1, n_levels) - n_levels / 2)


def threshold_variance(width: float) -> float:
    """Return the prior variance of a threshold, whose deviation is one and a half margins."""
    return (1.5 * width) ** 2
