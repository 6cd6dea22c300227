"""Infinite max-margin matrix factorization drawn from its pseudo-posterior (Xu, Zhu & Zhang 2013)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import number
from cofactor.kernels.buffet import fold_features
from cofactor.kernels.hinges import fold_hinge_columns
from cofactor.model.estimator import param
from cofactor.problems.buffet_posterior import BuffetPosterior
from cofactor.ratings.data import Ratings
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.sampled.hinges import HingeModel
from cofactor.ratings.sampled.padded import PaddedRatings
from cofactor.ratings.sampled.samples import Sample
from cofactor.samplers import Posterior

#: Largest concentration, far above any that makes sense.
_MOST = 1e6


class GibbsIPMMMF(HingeModel):
    r"""Infinite max-margin matrix factorization by a Gibbs sampler: users have or lack features, items weigh them.

    .. math::

        p(Z, V, \theta) \propto \exp\Bigl(-C \sum_{(i,j) \in \Omega} \sum_{r=1}^{R-1} \max\bigl(0, \ell - T^r_{ij}
        (\theta_{ir} - x_{ij})\bigr)\Bigr) \, p_0(Z) \, p_0(V) \, p_0(\theta), \qquad
        x_{ij} = \sum_k z_{ik} V_{jk} + c_j

    with :math:`T^r_{ij} = +1` where :math:`y_{ij} \le r` and -1 elsewhere, and :math:`z_{ik} \in \{0, 1\}` from an
    Indian buffet process: a user has a feature that m of n others have with odds m : (n + 1 - m), and a number of
    new features that is Poisson distributed with mean a / (n + 1). So the number of features is learned. The rest is

    .. math::

        V_{jk} \sim N(0, \sigma^2), \quad c_j \sim N(0, \sigma_c^2), \quad \theta_{ir} \sim N(\rho_r, 1 / \tau_r)

    with σ = σ_c = 1, :math:`\rho_r = 3 \ell (r - R / 2)` and :math:`\tau_r = (1.5 \ell)^{-2}`.

    `IPMMMF` is the variational form. Predictions are as in `GibbsMMMF`: `predict` counts the boundaries below the
    score in the mean over samples, and probabilities are **no calibrated likelihoods**.

    **The paper's settings** are ``biases=False, width=9, concentration=3`` with 50 sweeps, 10 of them burn-in, and C by
    validation.

    **Probabilities** follow from a pseudo-likelihood of hinges, and are not calibrated: the top level had .073 on test
    ratings of Flixster, of which .216 gave it, and intervals of 90 % covered .640 (Douban: .172 for .207, and .890).
    Take those of `OrdinalProbit` where they matter.

    Parameters
    ----------
    n_factors : int, default=50
        Most features that there is room for: where all are taken, none is new.
    hinge_weight : float, default=0.15
        C, above 0 and at most 1e6. On held-out training ratings of MovieLens 100K .13 to .17 were as good, and .2 was
        .01 worse in mean absolute error; at ℓ = 9 the best was .01 worse too, at C = .1.
    concentration : float, default=3.0
        a; the larger, the more features a user has.
    biases : bool, default=True
        Whether items have biases c.
    prior : {"fixed", "learned"}, default="fixed"
        Whether σ, ρ and τ are those above, or drawn too: :math:`\sigma^{-2}, \sigma_c^{-2} \sim \mathrm{Gamma}(1, 1)`,
        and a normal-gamma prior of ρ and τ. A learned σ grows, and users have fewer features: on held-out training
        ratings of MovieLens 100K that was a little less accurate.
    width : float, default=4.0
        Margin ℓ on either side of a threshold. With the fixed prior it says how many features make a margin; with the
        learned one a larger ℓ is nothing but a larger C, and ``width=1, hinge_weight=0.5`` are good.
    {n_sweeps}
    {burn_in}
    {thin}
        A sample takes about 4 ((n + m) d + n (R - 1)) bytes for n users, m items, R levels.
    {n_chains}
    decision : {"count", "median", "mode", "mean"}, default="count"
        How `predict` chooses a level: by counting boundaries, or from the levels' probabilities.
    {max_seconds}
    {warm_start}
    {n_jobs}
        Tasks are chains.
    {levels}
    {duplicates}
    {unknown}
        Cold users and items count as drawn from the prior.
    {random_state}
        Draws depend on nothing but seed, chain, sweep and row.
    {callback}
        Its objective is the weighted loss.
    {verbose}

    Attributes
    ----------
    samples_, chains_, n_iter_
        See `SampledModel`. Samples are of ``U``, the features of users, and ``V`` (columns that no user has are zero;
        with biases there is one more, of zeros and of c), of ``thresholds``, ``shares``, how likely one more
        user is to have each feature, and of the prior of thresholds.

    Notes
    -----
    Users come in random order, one after the other, since each changes how many have a feature; this step uses one
    thread. Features that only one user has are drawn anew together, number and weights. New users who are folded in
    have no features of their own.

    References
    ----------
    M. Xu, J. Zhu and B. Zhang, "Fast max-margin matrix factorization with data augmentation", ICML 2013. Learned priors
    and biases are added here.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = GibbsIPMMMF(8, width=2.0, hinge_weight=1.0, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    n_factors: int = param(default=50, kw_only=False)
    hinge_weight: float = param(default=0.15, grid=[0.1, 0.15, 0.25])
    concentration: float = param(number(low=0, inclusive=False, high=_MOST), default=3.0)
    prior: str = param(default="fixed")
    width: float = param(default=4.0)
    thin: int = param(default=2)

    _sampled: ClassVar[dict[str, str]] = HingeModel._sampled | {"shares": "feature", "item_precision": "factor"}

    _state_only: ClassVar[dict[str, str]] = HingeModel._state_only | {"counts": "feature"}

    def _prepare(self, given: FitInput) -> Callable[[], Posterior]:
        return partial(self._posterior, given.ratings)

    def _posterior(self, ratings: Ratings) -> BuffetPosterior:
        c, width = self._hinges
        return BuffetPosterior(
            PaddedRatings.of(ratings),
            ratings.n_levels,
            self._threshold_prior,
            n_columns=self.n_factors,
            concentration=self.concentration,
            learned=self.prior == "learned",
            c=c,
            width=width,
            biased=self.biases,
        )

    def _fold_in(self, given: FitInput) -> None:
        chains = self._chains_of(given, "user")

        def of_sample(sample: Sample) -> tuple[NDArray[Any], tuple[Any, Any], NDArray[Any]]:
            used, shares = self._in_use(sample)
            U, V = (np.compress(used, sample[name], axis=1).astype(float) for name in "UV")
            logits = np.log(shares / (1 - shares))
            likely = np.append(logits > 0, np.zeros(int(self.biases)))
            first = chains.begin(U, likely[None])[:, : len(shares)].copy()
            return V, (len(shares), logits), first

        self._draw_users(given, chains, fold_features, of_sample)

    def _fold_in_items(self, given: FitInput) -> None:
        chains, m = self._chains_of(given, "item"), len(given.ratings.items) + 1

        def of_sample(sample: Sample, U: NDArray[Any]) -> tuple[Any, ...]:
            used, _ = self._in_use(sample)
            U, V = (np.compress(used, rows, axis=1).astype(float) for rows in (U, sample["V"]))
            none = np.zeros((m, U.shape[1]))
            return U, sample["item_precision"][used].astype(float), none, chains.begin(V, none), np.flatnonzero(used)

        def of_features_in_use(lo: int, hi: int, key: Any, indptr: Any, *arguments: Any) -> None:
            *rest, used, out = arguments
            own = np.empty((m, len(used)), np.float32)
            fold_hinge_columns(lo, hi, key, indptr, *rest, own)
            out[lo:hi, used] = own[lo:hi]

        self._draw_items(given, chains, of_sample, of_features_in_use)

    def _in_use(self, sample: Sample) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Return which columns are features in use, or biases; and how likely one more user is to have each feature."""
        used = sample["shares"] > 0
        return np.append(used, np.ones(int(self.biases), dtype=bool)), sample["shares"][used].astype(float)

    def _lengths(self) -> dict[str, int]:
        return super()._lengths() | {"feature": self._n_factors}
