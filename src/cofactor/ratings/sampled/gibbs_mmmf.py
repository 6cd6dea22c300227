"""Max-margin matrix factorizations drawn from their pseudo-posteriors under hinge losses (Xu, Zhu & Zhang 2013)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_flag, number, one_of, whole
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.hinges import (
    fold_features,
    fold_hinge_columns,
    fold_hinge_rows,
    hinge_probabilities,
    mean_margins,
)
from cofactor.model.estimator import learned, param
from cofactor.model.state import last_length
from cofactor.problems.max_margin import BuffetPosterior, FixedPrior, HingePosterior, HingeUsers, ThresholdPrior
from cofactor.problems.priors import LinkedPrior
from cofactor.ratings.data import Ratings
from cofactor.ratings.interaction_model import FitInput, RowMerge, Tags
from cofactor.ratings.sampled.base import SampledModel, UserPlan
from cofactor.ratings.sampled.chains import FitChains
from cofactor.ratings.sampled.fold_in import ConditionalChains, PaddedRatings, padded
from cofactor.ratings.sampled.samples import Draws, Sample, SampledScorer, Samples
from cofactor.ratings.scoring import COUNT, PROBABILITY_DECISIONS
from cofactor.ratings.shard_folder import StoredUsers
from cofactor.ratings.side_information import FeatureMap, Features, RowPattern
from cofactor.samplers import Posterior
from cofactor.typing import SideName

#: Distance of the fixed prior's thresholds, and their deviation, in margins.
_SPACING, _DEVIATION = 3.0, 1.5

#: Largest margin and weight of the loss, far above any that makes sense.
_MOST = 1e6


class HingeModel(SampledModel):
    """A model of scores, and of thresholds of every user, drawn from a pseudo-posterior of hinge losses."""

    _sampled: ClassVar[dict[str, str]] = {
        "U": "user factor", "V": "item factor", "thresholds": "user boundary",
        "threshold_mean": "boundary", "threshold_precision": "boundary",
    }  # fmt: skip

    _state_only: ClassVar[dict[str, str]] = {"value": "training"}

    hinge_weight: float = param(number(low=0, inclusive=False, high=_MOST), default=0.6)
    biases: bool = param(check_flag, default=True)
    prior: str = param(one_of(["learned", "fixed"]), default="learned")
    width: float = param(number(low=0, inclusive=False, high=_MOST), default=1.0)
    decision: str = param(one_of(["count", *PROBABILITY_DECISIONS]), default="count")

    @property
    def _biased(self) -> bool:
        return self.biases

    @property
    def _hinges(self) -> tuple[float, float]:
        """Half the weight of the hinges, and their margin."""
        return self.hinge_weight / 2, float(self.width)

    @property
    def _threshold_prior(self) -> ThresholdPrior:
        return ThresholdPrior(_SPACING * self.width, _DEVIATION * self.width, self.prior == "learned")

    @property
    def scorer_(self) -> SampledScorer:
        """See `RatingModel`."""
        if self.decision != "count":
            return super().scorer_
        return CountScorer(self.scale_, COUNT, self.samples_, self._of_users, self._draws)

    def _draws(self, samples: Samples) -> HingeDraws:
        return HingeDraws(samples["U"], samples["V"], samples["thresholds"], self.biases, *self._hinges)

    def _draw_users(
        self,
        given: FitInput,
        chains: ConditionalChains,
        kernel: Callable[..., object],
        of_sample: Callable[[Sample], tuple[NDArray[Any], tuple[Any, Any], NDArray[Any]]],
    ) -> None:
        """Run a short chain for each new user under each of some samples.

        `of_sample` returns items, what the kernel needs of the prior of rows, and where the rows begin.
        """
        data, samples = PaddedRatings.of(given.ratings), chains.samples

        def arguments(sample: Sample) -> tuple[Any, ...]:
            items, prior, first = of_sample(sample)
            mean, precision = (sample[f"threshold_{name}"].astype(float) for name in ("mean", "precision"))
            thresholds = chains.begin(sample["thresholds"], mean[None])
            own = items, self.biases, *prior, mean, precision, *self._hinges, first, thresholds
            return data.indices, data.levels, *own, chains.n_cycles

        self._draw_rows(given, chains, kernel, map(arguments, samples))

    def _draw_items(
        self,
        given: FitInput,
        chains: ConditionalChains,
        of_sample: Callable[[Sample, NDArray[Any]], tuple[Any, ...]],
        kernel: Callable[..., object] = fold_hinge_columns,
    ) -> None:
        """Run a short chain for each new item under each of some samples, with rows and thresholds of the users.

        `of_sample` returns rows of the users, precision and means of the items' rows, where these begin, and what else
        the kernel needs.
        """
        data, samples = PaddedRatings.of(given.ratings), chains.samples
        levels = data.levels[data.to_csr]

        def arguments(sample: Sample, users: NDArray[Any], thresholds: NDArray[Any]) -> tuple[Any, ...]:
            users, precision, means, first, *more = of_sample(sample, users)
            own = users, thresholds, self.biases, precision, means, *self._hinges, first
            return data.col_indices, levels, *own, chains.n_cycles, *more

        self._draw_rows(given, chains, kernel, map(arguments, samples, samples["U"], samples["thresholds"]))


class CountScorer(SampledScorer):
    """Levels by the mean margins over samples, rather than by probabilities."""

    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the mean over samples of x - θ_r."""
        return self.by_users(lambda draws, *pairs: draws.mean_margins(*pairs), users, items)


@dataclass(frozen=True)
class HingeDraws(Draws):
    r"""Samples of scores :math:`x_{ij}` and thresholds :math:`\theta_{ir}` that no likelihood ties to levels.

    Attributes
    ----------
    U, V, thresholds : ndarray, float32
        Samples along the first axis.
    biased : bool
        Whether the last columns of U and V are biases.
    c : float
        Half the weight of the hinges.
    width : float
        Their margin ℓ.
    """

    U: NDArray[np.float32]
    V: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    biased: bool
    c: float
    width: float

    def mean_margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean over samples of x - θ_r, shape (n, R - 1)."""
        out = np.empty((len(users), self.thresholds.shape[2]))
        mean_margins(0, len(users), users, items, self.U, self.V, self.thresholds, self.biased, out)
        return out

    def probabilities(
        self, users: NDArray[Any], items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        r"""Return the probability of every level, shape (n, R), by samples with these numbers.

        It is the mean over them of :math:`\exp(-C \sum_r \max(0, \ell - T^r (\theta_{ir} - x_{ij})))`, made to sum
        to one over levels.
        """
        out = np.empty((len(users), self.thresholds.shape[2] + 1))
        arrays = self.U, self.V, self.thresholds
        hinge_probabilities(0, len(users), users, items, samples, *arrays, self.biased, self.c, self.width, out)
        return out


class GibbsMMMF(HingeModel):
    r"""Max-margin matrix factorization, drawn from a pseudo-posterior by a Gibbs sampler instead of minimised.

    .. math::

        p(U, V, \theta) \propto \exp\Bigl(-C \sum_{(i,j) \in \Omega} \sum_{r=1}^{R-1} \max\bigl(0, \ell - T^r_{ij}
        (\theta_{ir} - x_{ij})\bigr)\Bigr) \, p_0(U) \, p_0(V) \, p_0(\theta), \qquad
        T^r_{ij} = \begin{cases} +1 & y_{ij} \le r \\ -1 & y_{ij} > r \end{cases}

    with :math:`x_{ij} = U_i \cdot V_j + b_i + c_j`: the loss of `MMMF` takes the place of a log-likelihood. What is
    known before is, by default,

    .. math::

        (U_i, b_i) \sim N(\mu_U, \mathrm{diag}(\tau_U)^{-1}), \quad
        (V_j, c_j) \sim N(\mu_V, \mathrm{diag}(\tau_V)^{-1}), \quad \theta_{ir} \sim N(\rho_r, 1 / \tau_r)

    with all of µ, τ, ρ drawn too. So the scale of U, V and θ is free, and only :math:`C \ell` matters.

    `predict` counts the boundaries that lie below the score in the mean over samples,
    :math:`1 + \#\{r : E[x_{ij} - \theta_{ir}] > 0\}`, for which the order of a user's thresholds does not matter.
    `predict_proba` is the mean over samples of the same exponential as above, made to sum to one over the levels.
    These are **no calibrated likelihoods**: in training nothing makes them sum to one.

    **The paper's settings** are ``n_factors=100, prior="fixed", biases=False, width=9`` with 50 sweeps, 10 of them
    burn-in, and C between .01 and .18 by validation. The fixed prior has :math:`U, V \sim N(0, I)` and
    :math:`\rho_r = 3 \ell (r - R / 2), \tau_r = (1.5 \ell)^{-2}`.

    **Probabilities** follow from a pseudo-likelihood of hinges, and are nearly calibrated, no more: the top level had
    .184 on test ratings of Douban, of which .207 gave it (Flixster: .206 for .216); intervals of 90 % covered .907 and
    .891.

    Parameters
    ----------
    n_factors : int, default=20
        Number d of factors. On held-out training ratings of MovieLens 100K, 20 and 30 were as good, and 10 were .005
        worse in mean absolute error.
    hinge_weight : float, default=0.6
        C, above 0 and at most 1e6. On the same ratings .5 to .6 was best, and .4 and .7 were .01 to .02 worse.
    biases : bool, default=True
        Whether users and items have biases b, c.
    prior : {"learned", "fixed"}, default="learned"
        Whether means and precisions are drawn, or those of the paper.
    width : float, default=1.0
        Margin ℓ on either side of a threshold. With the learned prior a larger one is nothing but a larger C.
    implicit : {"low-rank", None}, default=None
        Means of the learned prior regressed on who rated what, as in `OrdinalProbit`; the paper has none of this.
    n_implicit : int, default=30
        Number of singular vectors of the mask; the mask's rank, where that is less.
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
        See `SampledModel`. Samples are of ``U`` and ``V`` (with biases as last columns, if there are any),
        ``thresholds``, and of the priors' parameters, which fold-in and `update` need.
    user_projection_ : ndarray of shape (m, K) or None
        What a rating of an item adds to a user's features, with ``implicit``.
    item_projection_ : ndarray of shape (n, K) or None
        What a rating by a user adds to an item's features, likewise; None after `fold_in`.

    References
    ----------
    M. Xu, J. Zhu and B. Zhang, "Fast max-margin matrix factorization with data augmentation", ICML 2013. Learned
    priors, biases and who rated what are added here.
    N. Polson and S. Scott, "Data augmentation for support vector machines", Bayesian Analysis 6 (1), 2011,
    doi:10.1214/11-BA601: hinges as mixtures of squares.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = GibbsMMMF(2, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    tags = Tags(shards=True, probabilities=True)

    hinge_weight: float = param(default=0.6, grid=[0.4, 0.5, 0.6, 0.7])
    implicit: str | None = param(one_of(["low-rank", None]), default=None)
    n_implicit: int = param(whole(), default=30)

    user_projection_: NDArray[np.float32] | None = learned("items user_features", dtype=np.float32, optional=True)
    item_projection_: NDArray[np.float32] | None = learned("users item_features", dtype=np.float32, optional=True)

    _sampled: ClassVar[dict[str, str]] = HingeModel._sampled | {
        "user_mean": "factor", "user_precision": "factor", "user_weights": "feature factor",
        "item_mean": "factor", "item_precision": "factor", "item_weights": "feature factor",  # as many as for users
    }  # fmt: skip

    _state_only: ClassVar[dict[str, str]] = HingeModel._state_only | {
        "user_weight_precision": "factor", "item_weight_precision": "factor",
    }  # fmt: skip

    def _check_together(self) -> None:
        super()._check_together()
        if self.implicit is not None and self.prior == "fixed":
            implicit = Argument("implicit", self.implicit)
            raise InvalidInputError(
                (
                    *(implicit, " with ", Argument("prior", "fixed")),
                    *(": features of the prior need ", Argument("prior", "learned")),
                ),
                argument="implicit",
            )

    def _prepare(self, given: FitInput) -> UserPlan:
        ratings, row_prior, thresholds = given.ratings, self._row_prior, self._threshold_prior
        sides, before = self._side_information(given, self.implicit, self.n_implicit)
        of_users, of_items = sides.links
        self.user_projection_, self.item_projection_ = of_users.projection, of_items.projection
        make = partial(_users_of_shard, padded(ratings), row_prior, sides.users, *self._hinges, self.biases)
        (_, m), n_levels, items = ratings.shape, ratings.n_levels, row_prior("item", sides.items)
        return UserPlan(
            HingeUsers,
            make,
            row_prior("user", None, sides.totals),
            lambda users: HingePosterior(users, m + 1, n_levels, items, thresholds),
            before,
            {"item_projection_": of_items.projection},
        )

    def _set_chains(self, given: FitInput, fit: FitChains, stored: StoredUsers | None = None) -> None:
        super()._set_chains(given, fit, stored)
        if stored is not None:
            self.item_projection_ = stored.arrays.get("item_projection_")

    @property
    def _row_prior(self) -> Callable[..., LinkedPrior | FixedPrior]:
        """What makes the prior of the rows of users, or items, from their features."""
        return partial(_row_prior, self.prior == "fixed", self._n_factors + self.biases)

    def _fold_in(self, given: FitInput) -> None:
        chains, n = self._chains_of(given, "user"), len(given.ratings.users) + 1
        prior = self._row_prior("user", self._features("user", RowPattern.users(given.ratings)))

        def of_sample(sample: Sample) -> tuple[NDArray[Any], tuple[Any, Any], NDArray[Any]]:
            means = prior.means(sample, n).astype(float)
            return sample["V"], (sample["user_precision"].astype(float), means), chains.begin(sample["U"], means)

        self._draw_users(given, chains, fold_hinge_rows, of_sample)
        self.item_projection_ = None  # it is about ratings by the users of training

    def _fold_in_items(self, given: FitInput) -> None:
        chains, m = self._chains_of(given, "item"), len(given.ratings.items) + 1
        prior = self._row_prior("item", self._features("item", RowPattern.items(given.ratings)))

        def of_sample(sample: Sample, U: NDArray[Any]) -> tuple[Any, ...]:
            means = prior.means(sample, m).astype(float)
            return U.astype(float), sample["item_precision"].astype(float), means, chains.begin(sample["V"], means)

        self._draw_items(given, chains, of_sample)

    def _features(self, side: SideName, rows: RowPattern) -> Features:
        """Return the features of users, or items, with such ratings."""
        projection = self.user_projection_ if side == "user" else self.item_projection_
        return FeatureMap(f"{side}_features", projection=projection).features(rows, None)

    def _merge_rows(self, part: Self, merge: RowMerge) -> None:
        super()._merge_rows(part, merge)
        # To features which tell who rated what, new users and items add nothing: the weights do not know them.
        if merge.side == "user" and self.item_projection_ is not None:
            self.item_projection_ = merge.spread(self.item_projection_)
        if merge.side == "item" and self.user_projection_ is not None:
            self.user_projection_ = merge.spread(self.user_projection_)

    def _lengths(self) -> dict[str, int]:
        return super()._lengths() | {"feature": last_length(self.user_projection_)}


def _row_prior(
    fixed: bool, length: int, side: SideName, features: Features, totals: tuple[Any, Any] | None = None
) -> LinkedPrior | FixedPrior:
    if fixed:
        return FixedPrior(side, length)
    return LinkedPrior(side, length, features if isinstance(features, np.ndarray) else None, totals=totals)


def _users_of_shard(
    opened: Callable[[int], PaddedRatings],
    row_prior: Callable[..., Any],
    features: Callable[[int], Any],
    c: float,
    width: float,
    biased: bool,
    k: int,
) -> HingeUsers:
    """Return the users of a shard."""
    return HingeUsers(partial(opened, k), row_prior("user", features(k)), c=c, width=width, biased=biased)


#: Largest concentration, far above any that makes sense.


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
