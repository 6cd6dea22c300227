"""Max-margin matrix factorization drawn from its pseudo-posterior (Xu, Zhu & Zhang 2013)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import one_of, whole
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.hinges import fold_hinge_rows
from cofactor.model.estimator import learned, param
from cofactor.model.state import last_length
from cofactor.problems.hinge_posterior import FixedPrior, HingePosterior, HingeUsers
from cofactor.problems.priors import LinkedPrior
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.links import Features, Link, Side
from cofactor.ratings.merging import RowMerge
from cofactor.ratings.sampled.base import UserPlan
from cofactor.ratings.sampled.hinges import HingeModel
from cofactor.ratings.sampled.padded import PaddedRatings, padded
from cofactor.ratings.sampled.samples import Sample
from cofactor.typing import SideName


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
        sides, before = self._linked_sides(given, self.implicit, self.n_implicit)
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

    def _fit_shards(self, given: FitInput) -> None:
        self._fit_in_shards(given)
        if self.stored_users_ is not None:
            self.item_projection_ = self.stored_users_.arrays.get("item_projection_")

    @property
    def _row_prior(self) -> Callable[..., LinkedPrior | FixedPrior]:
        """What makes the prior of the rows of users, or items, from their features."""
        return partial(_row_prior, self.prior == "fixed", self._n_factors + self.biases)

    def _fold_in(self, given: FitInput) -> None:
        chains, n = self._chains_of(given, "user"), len(given.ratings.users) + 1
        prior = self._row_prior("user", self._features("user", Side.users(given.ratings)))

        def of_sample(sample: Sample) -> tuple[NDArray[Any], tuple[Any, Any], NDArray[Any]]:
            means = prior.means(sample, n).astype(float)
            return sample["V"], (sample["user_precision"].astype(float), means), chains.begin(sample["U"], means)

        self._draw_users(given, chains, fold_hinge_rows, of_sample)
        self.item_projection_ = None  # it is about ratings by the users of training

    def _fold_in_items(self, given: FitInput) -> None:
        chains, m = self._chains_of(given, "item"), len(given.ratings.items) + 1
        prior = self._row_prior("item", self._features("item", Side.items(given.ratings)))

        def of_sample(sample: Sample, U: NDArray[Any]) -> tuple[Any, ...]:
            means = prior.means(sample, m).astype(float)
            return U.astype(float), sample["item_precision"].astype(float), means, chains.begin(sample["V"], means)

        self._draw_items(given, chains, of_sample)

    def _features(self, side: SideName, rows: Side) -> Features:
        """Return the features of users, or items, with such ratings."""
        projection = self.user_projection_ if side == "user" else self.item_projection_
        return Link(f"{side}_features", projection=projection).features(rows, None)

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
