"""Bayesian ordinal probit factorization, with thresholds of every user and priors from what each user rated."""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import check_choice, check_flag, check_number
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.drift import K
from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.drift import Drift, Moments
from cofactor.problems.ordinal_probit import OrdinalProbitPosterior
from cofactor.ratings.data import Ratings
from cofactor.ratings.described import DescribedModel
from cofactor.ratings.features import FeatureTable
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.links import Features, Link, Side, link_sides
from cofactor.ratings.merging import Joint
from cofactor.ratings.sampled.alignment import MeanScores
from cofactor.ratings.sampled.base import Plan, SampledModel
from cofactor.ratings.sampled.by_user import Samples
from cofactor.ratings.sampled.cold import WithCold
from cofactor.ratings.sampled.draws import ProbitDraws
from cofactor.ratings.sampled.drifting import DriftDraws, Past, drift, moments_of
from cofactor.ratings.sampled.in_shards import fit_ordinal_probit_in_shards
from cofactor.ratings.sampled.probit_rows import draw_items, draw_users, join_links, join_past
from cofactor.ratings.sampled.rank import Rank
from cofactor.ratings.sampled.reasons import ordinal_reasons
from cofactor.ratings.sampled.shadow import check_shadow, joined, parted, read_shadow, with_shadow
from cofactor.ratings.sampled.warm_start import checksum
from cofactor.samplers import Chain
from cofactor.solvers.result import Callback
from cofactor.typing import Pairs, RandomState, RatingValues, SideFeatures, SideName, SparseTable


class OrdinalProbit(MeanScores, DescribedModel, SampledModel):
    r"""Ordinal probit factorization, drawn from its posterior by a Gibbs sampler: the most accurate model here.

    .. math::

        y_{ij} = r \iff \theta_{i,r-1} < z_{ij} \le \theta_{ir}, \quad
        z_{ij} \sim N(U_i \cdot V_j + b_i + c_j, 1)

    with priors of :math:`(U_i, b_i)` and :math:`(V_j, c_j)` regressed on features :math:`f_i, g_j`,

    .. math::

        (U_i, b_i) \sim N(\mu_U + f_i W_U, \Lambda_U^{-1}), \quad
        (V_j, c_j) \sim N(\mu_V + g_j W_V, \Lambda_V^{-1})

    where factors may be correlated, and biases are independent of them (`cofactor.problems.biased_prior.BiasedPrior`),
    and thresholds of every user, ordered by their log-gaps :math:`\theta_{i1} = a_{i1}, \theta_{ir} = \theta_{i,r-1} +
    e^{a_{ir}}, a_{ir} \sim N(m_r, s_r^2)`. All of :math:`\mu, \Lambda, W, m, s` are drawn too, so no weight of a
    penalty has to be chosen. The features tell who rated what (not how): the leading singular vectors of the mask of
    ratings. In MovieLens this alone lowers the mean absolute error by a hundredth, most for users and items with many
    ratings.

    With ``time=True`` the score of a rating given at the time t is :math:`U_i \cdot V_j + b_i + c_j + s_i(t)`, where
    the drift :math:`s_i = s_{i1} + s_{i2} + s_{i3}` of each user is a sum of Ornstein–Uhlenbeck processes,

    .. math::

        \mathrm{Cov}(s_{ik}(t), s_{ik}(t')) = g_i \sigma_k^2 e^{-|t - t'| / \ell_k}, \quad
        \log g_i \sim N(0, \omega^2)

    with deviations :math:`\sigma_k`, times :math:`\ell_k` (seconds, hours and months by their priors, see
    `cofactor.problems.drift.Drift`) and :math:`\omega^2` drawn as well. A prediction at t knows the drift at the
    moments before and after it, and so :math:`P(y \le r) = \Phi((\theta_{ir} - x_{ij} - m) / \sqrt{1 + v})` with its
    mean m and variance v there.

    `predict` is the median level of the posterior by default, `predict_proba` gives the levels' probabilities, and
    `decision_function` the posterior mean of the rating.

    Parameters
    ----------
    n_factors : int or "auto", default="auto"
        Number d of factors. "auto" takes as many as the ratings are worth: the root of their number divided by 16, at
        most 48 (see the notes).
    implicit : {"low-rank", "sparse", None}, default="low-rank"
        Features of the priors: who rated what, by the leading singular vectors of the mask of ratings, or by the mask
        itself, each row divided by the square root of its number of ratings; or none, as in the models of the
        literature. "sparse" has a weight for every user and item and factor; it is slower, and keeps larger samples.
    n_implicit : int or "auto", default="auto"
        Number of singular vectors of the mask for "low-rank"; the mask's rank, where that is less. "auto" takes twice
        as many as it would take factors.
    time : bool, default=False
        Whether users drift: `fit` and `fold_in` then need the time of each rating, and predictions theirs.
    {n_sweeps}
    {burn_in}
    {thin}
        A sample takes about 4 ((n + m)(d + 1) + n (R - 1)) bytes for n users, m items, R levels; with ``time=True``, 12
        bytes more for each second in which a user rated: 100 MB for 200 samples of MovieLens 100K.
    {n_chains}
    {decision}
    {max_seconds}
    {warm_start}
        200 sweeps and 100 more are, to the bit, 300.
    {n_jobs}
        Tasks are chains.
    {levels}
    {duplicates}
    {unknown}
        Cold users and items count as drawn from the prior.
    {random_state}
        Draws depend on nothing but seed, chain, sweep and row.
    {callback}
        Its objective is minus the log-likelihood.
    {verbose}

    Attributes
    ----------
    samples_, chains_, n_iter_
        See `SampledModel`. Samples are of ``U`` and ``V`` (with the biases as last columns), ``thresholds``, and of the
        priors' parameters, which fold-in and `update` need.
    n_factors_, n_implicit_ : int
        Number of factors, and of singular vectors of the mask, that were asked for, or chosen by "auto".
    U_, V_, user_bias_, item_bias_, thresholds_ : ndarray
        Posterior means, and what they are good for: see `MeanFactors`. Drift is not part of them.
    links_ : tuple of two Link
        What the features of users and of items are made of; None for a side that cannot be folded in any more.
    is_shadow_ : ndarray of shape (n,), bool
        Which users were not in training, but followed it as shadow users (see `fit`).
    past_ : Past or None
        When users rated, with ``time=True``.

    Notes
    -----
    A user's thresholds are drawn by Metropolis steps with z integrated out, after which z is drawn anew: in this order
    the partially collapsed sampler is right (van Dyk & Park 2008). Whatever leaves the likelihood as it is is drawn in
    moves of its own (`cofactor.problems.ordinal_moves`), with which chains agree. Ordinal probit by latent normals is
    due to Albert & Chib (1993), as factorization to Paquet, Thomson & Winther (2012); factors regressed on features to
    Agarwal & Chen (2009), and on the pattern of ratings to Salakhutdinov & Mnih (2007), as constrained PMF.

    The rule for the number of factors was found on ratings held out of training. Log-loss there, with twice as many
    singular vectors of the mask as factors, unless it says otherwise (ML-100K, latest-small: a tenth of 80 % of the
    ratings, two splits; few ratings: 3,000 and 10,000 of ML-100K, three splits; ML-1M: a tenth, one split, 200 sweeps):

    ===========  ============  ============  ============  ============  ============
    d            3,000         10,000        ML-100K       latest-small  ML-1M
    ===========  ============  ============  ============  ============  ============
    2            **1.381**     1.310
    4            1.384         **1.307**
    7            1.391         1.310
    10           1.397         1.310         1.1808 (30)   1.5697 (30)
    16           1.410         1.313         1.1794        **1.5658**
    24                                       1.1783        1.5669
    32                                       **1.1768**
    48                                                                   1.1130
    64                                                                   **1.1123**
    "auto"       3             6             17            17            48
    ===========  ============  ============  ============  ============  ============

    Twice the factors of "auto" take half as long again for ML-100K, and gain little. With 20 factors there, 40, 80 and
    120 singular vectors had 1.1784, 1.1776 and 1.1789. On test ratings (80/20, three splits) the RMSE is .8685; it was
    .8725 under a prior with independent precisions of ten factors and 30 singular vectors.

    References
    ----------
    J. Albert and S. Chib, "Bayesian analysis of binary and polychotomous response data", JASA 88, 1993,
    doi:10.1080/01621459.1993.10476321.
    D. van Dyk and T. Park, "Partially collapsed Gibbs samplers: theory and methods", JASA 103, 2008,
    doi:10.1198/016214508000000409.
    U. Paquet, B. Thomson and O. Winther, "A hierarchical model for ordinal matrix factorization", Statistics and
    Computing 22, 2012, doi:10.1007/s11222-011-9264-x.
    D. Agarwal and B.-C. Chen, "Regression-based latent factor models", KDD 2009, doi:10.1145/1557019.1557029.
    R. Salakhutdinov and A. Mnih, "Probabilistic matrix factorization", NIPS 2007.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = OrdinalProbit(2, implicit=None, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    >>> model.predict_proba([(0, 5)]).round(2)
    array([[0.94, 0.06, 0.01, 0.  ]])

    New users, and items, can be known by their features alone.

    >>> groups = {u: [u % 2] for u in range(6)}
    >>> model = OrdinalProbit(2, implicit=None, random_state=0).fit(X, y, user_features=groups)
    >>> model.fold_in(user_features={"new": [1]}).predict([("new", 3), ("new", 4)])
    array([3., 1.])
    """

    _sampled: ClassVar[dict[str, str]] = {"U": "user", "V": "item", "thresholds": "user"}

    _sums: ClassVar[bool] = False

    _learned: ClassVar[tuple[str, ...]] = (
        *SampledModel._learned, "n_factors_", "n_implicit_", "links_", "is_shadow_", "past_",
    )  # fmt: skip

    _optional: ClassVar[tuple[str, ...]] = (*SampledModel._optional, "past_")

    n_factors_: int
    n_implicit_: int
    links_: tuple[Link | None, Link | None]
    is_shadow_: NDArray[np.bool_]
    past_: Past | None = None

    def __init__(
        self,
        n_factors: int | str = "auto",
        *,
        implicit: str | None = "low-rank",
        n_implicit: int | str = "auto",
        time: bool = False,
        n_sweeps: int = 300,
        burn_in: int = 100,
        thin: int = 1,
        n_chains: int = 1,
        decision: str = "median",
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        levels: ArrayLike | None = None,
        duplicates: str = "error",
        unknown: str = "fallback",
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_factors = n_factors
        self.implicit = implicit
        self.n_implicit = n_implicit
        self.time = time
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.decision = decision
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.levels = levels
        self.duplicates = duplicates
        self.unknown = unknown
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def default_grid(self) -> dict[str, list[Any]]:
        """See `RatingModel.default_grid`."""
        return {"n_factors": [10, "auto", 40]}

    def _check_params(self) -> None:
        super()._check_params()
        check_number("n_factors", self.n_factors, low=1, whole=True, also=["auto"])
        check_number("n_implicit", self.n_implicit, low=1, whole=True, also=["auto"])
        check_choice("implicit", self.implicit, ("low-rank", "sparse", None))
        check_flag("time", self.time)

    def _fit_bytes(self, ratings: Ratings) -> int:
        drifts = K * len(moments_of(ratings).seconds) if self.time else 0
        return (self._n_rows(ratings) * self._rank(ratings).factors + drifts) * self._bytes_of_number

    def _rank(self, ratings: Ratings) -> Rank:
        """Return the numbers of factors and of features of the mask for such ratings."""
        return Rank.of(ratings, self.n_factors, self.n_implicit)

    @property
    def _n_columns(self) -> int:
        return self.n_factors_

    def _numbers_of_user(self, ratings: Ratings) -> int:
        return self._rank(ratings).factors + ratings.n_levels  # a bias and R - 1 thresholds

    def fit(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        user_features: SideFeatures | None = None,
        item_features: SideFeatures | None = None,
        shadow: Pairs | tuple[Pairs, RatingValues] | None = None,
    ) -> Self:
        """Learn from ratings, and from what else is known of users and items.

        An interrupt from the keyboard, and a warm start, do what `SampledModel` says.

        Parameters
        ----------
        X, y, time
            As in `RatingModel.fit`.
        sample_weight : None
            Refused: a power of the likelihood of a level is no likelihood of a latent normal, unless it is a whole one.
        {side_features}
            They join the features :math:`f_i, g_j`.
        shadow : tuple (X, y), Ratings, or data set, optional
            Ratings of *shadow users*, who are to be predicted for but not learned from, as for strong generalization.
            In every sweep their factors and thresholds are drawn from the items as they are then; nothing flows back:
            without them, all others are the same to the bit. Afterwards the model knows them like any user, and their
            ratings. In comparison with `fold_in`, which visits 40 of the samples, they have a draw for each sample;
            they must be known before the fit, and take part of its time. Ratings of items without ratings in training
            are left out, unless ``unknown="error"``; features of theirs are read from `user_features`. No shadow user
            may be in X: rows of two sparse matrices are the same users. Not with ``time=True``.

        Returns
        -------
        self
        """
        given = self._given(X, y, time, sample_weight, user_features, item_features)
        if shadow is not None:
            if self.time:
                with_time = ("shadow users do not go with ", Argument("time", True), ": fold them in after the fit")
                raise InvalidInputError(with_time, argument="shadow")
            unknown = "error" if self.unknown == "error" else "drop"
            given = replace(given, shadow=read_shadow(shadow, given.ratings, self.duplicates, unknown))
        return self._learn(given)

    drift = drift

    _fit_shards = fit_ordinal_probit_in_shards

    def _plan(self, given: FitInput) -> Plan:
        rank = self._rank(given.ratings)
        self.n_factors_, self.n_implicit_ = rank.factors, rank.implicit
        (users, of_users), (items, of_items) = link_sides(given.ratings, self.implicit, rank.implicit, given.features)
        self.links_ = (users, items)
        moments = moments_of(given.ratings) if self.time else None
        self.past_ = None if moments is None else Past.of(moments)
        features, tables = (of_users, of_items), zip(("user", "item"), given.features, strict=True)
        posterior = partial(self._posterior, given.ratings, features, moments, given.shadow, given.user_features)
        return Plan(posterior, tuple(side for side, table in tables if table is not None))

    def _posterior(
        self,
        ratings: Ratings,
        features: tuple[Features, Features],
        moments: Moments | None,
        shadow: Ratings | None,
        user_table: FeatureTable | None,
    ) -> OrdinalProbitPosterior:
        """Return the posterior of the ratings, with features of users and items, times, and shadow users who follow."""
        p, followers = self.n_factors_ + 1, None
        users, items = (BiasedPrior(name, p, f) for name, f in zip(("user", "item"), features, strict=True))
        if shadow is not None:
            of_shadow = self._own_link(0, shadow).features(Side.users(shadow), user_table)
            followers = WithCold.of(shadow), BiasedPrior("user", p, of_shadow)
        data, drift = WithCold.of(ratings), None if moments is None else Drift(moments)
        return OrdinalProbitPosterior.of(data, ratings.n_levels, users, items, shadow=followers, drift=drift)

    def _fit(self, given: FitInput) -> None:
        super()._fit(given)
        self.is_shadow_ = np.zeros(len(given.ratings.users), dtype=bool)
        if given.shadow is not None:
            self.ratings_, self.is_shadow_ = with_shadow(given.ratings, given.shadow)
            self.users_, self.samples_ = self.ratings_.users, joined(self.samples_, self.is_shadow_)

    def _target_of_features(self, given: FitInput) -> dict[str, Any]:
        rank = self._rank(given.ratings)  # a number says the same as "auto" where that comes to it
        target = super()._target_of_features(given) | {"n_factors": rank.factors, "n_implicit": rank.implicit}
        if given.shadow is not None:
            target["the shadow users"] = checksum(given.shadow)
        if self.time and given.ratings.times is not None:
            target["the times"] = zlib.crc32(given.ratings.times.tobytes())
        return target

    @property
    def _now(self) -> float | None:
        return None if self.past_ is None else self.past_.now

    @property
    def _sides(self) -> dict[str, str]:
        return self._sampled if self.past_ is None else self._sampled | {"drift_multiplier": "user"}

    def _draws(self, samples: Samples) -> ProbitDraws:
        U, V, thresholds = (samples[name] for name in ("U", "V", "thresholds"))
        roots = np.ones(len(U))
        if self.past_ is None:
            return ProbitDraws(U, V, thresholds, roots, True)
        drifts = (samples[f"drift{name}"] for name in ("", "_multiplier", "_scale", "_time"))
        return DriftDraws(U, V, thresholds, roots, True, self.past_, *drifts)

    def _contributions(
        self, user: int, items: NDArray[Any], numbers: NDArray[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return changes of the expected rating, or of another number that belongs to each level."""
        return ordinal_reasons(self, user, items, self.scale_ if numbers is None else numbers)

    def _fold_in(self, given: FitInput) -> None:
        draw_users(self, given)
        self.is_shadow_ = np.zeros(len(given.ratings.users), dtype=bool)
        self._forget_link(1)

    def _fold_in_items(self, given: FitInput) -> None:
        draw_items(self, given)
        self._forget_link(0)

    def _join(self, part: Self, joint: Joint) -> None:
        super()._join(part, joint)
        join_past(self, part, joint)
        join_links(self, joint)
        if joint.side == "user":
            self.is_shadow_ = np.zeros(len(joint.ids), dtype=bool)

    def _knows_features(self, side: SideName) -> bool:
        """Whether features of users, or of items, were given in training."""
        return self._own_link(0 if side == "user" else 1).standard is not None

    def _own_link(self, side: int, ratings: Ratings | None = None) -> Link:
        """Return the link of users (0) or items (1), for rows with such ratings if any."""
        link = self.links_[side]
        if link is None or (link.foreign and ratings is not None and ratings.n_ratings):
            words = ("users", "items") if side == 0 else ("items", "users")
            raise InvalidInputError(
                f"this model came from folding in {words[1]}, and features which tell who rated what of those in "
                f"training mean nothing to it: fold {words[0]} in with the model that was fitted, from ratings of the "
                f"{words[1]} it knows; for ratings of new {words[1]}, fit a new model, or one with implicit=None"
            )
        return link

    def _forget_link(self, side: int) -> None:
        """After the other side has been folded in: features which stand for its ratings mean nothing any more."""
        links = [link.among_others() if link is not None and k == side else link for k, link in enumerate(self.links_)]
        self.links_ = (links[0], links[1])

    # ---------------------------------------------------------------- saving

    def _saved(self) -> dict[str, Any]:
        links = [None if link is None else link.to_state() for link in self.links_]
        return super()._saved() | {"links_": links, "past_": None if self.past_ is None else self.past_.to_state()}

    def _restore(self, saved: dict[str, Any]) -> None:
        past = None if saved["past_"] is None else Past.from_state(saved["past_"], len(self.users_))
        super()._restore(saved | {"past_": past})
        check_shadow(self.is_shadow_, len(self.users_))
        links, n_columns = [], (len(self.items_), int((~self.is_shadow_).sum()))
        for state, argument, n in zip(saved["links_"], ("user_features", "item_features"), n_columns, strict=True):
            links.append(None if state is None else Link.from_state(argument, state, n))
        self.links_ = (links[0], links[1])
        if self.is_shadow_.any():
            of_users = [name for name, side in self._sampled.items() if side == "user"]
            for chain in self.chains_:
                chain.samples = parted(chain.samples, of_users, self.is_shadow_)

    def _check_learned(self) -> None:
        for name in ("n_factors", "n_implicit"):
            check_number(f"{name}_", getattr(self, f"{name}_"), low=1, whole=True)
        super()._check_learned()
        self._check_states()
        for name, link in zip(("user", "item"), self.links_, strict=True):
            K = self.samples_[f"{name}_weights"].shape[1]
            if link is not None and link.n_features != K:
                raise InvalidInputError(
                    f"there are weights of {K} features of {name}s, but the link makes {link.n_features}"
                )

    def _sample_shapes(self) -> dict[str, tuple[int, ...]]:
        p, boundaries = (self.n_factors_ + 1,), (len(self.scale_) - 1,)
        shapes: dict[str, tuple[int, ...]] = {
            "U": p, "V": p, "thresholds": boundaries, "gap_mean": boundaries, "gap_precision": boundaries,
        }  # fmt: skip
        for side in ("user", "item"):
            weights = self.samples_.get(f"{side}_weights")
            K = 0 if weights is None or weights.ndim != 3 else weights.shape[1]
            shapes |= {f"{side}_mean": p, f"{side}_precision": 2 * p, f"{side}_weights": (K, *p)}
        return shapes if self.past_ is None else shapes | self.past_.sample_shapes()

    def _state_shapes(self, chain: Chain) -> dict[str, tuple[int, ...]]:
        boundaries = len(self.scale_) - 1
        shapes: dict[str, tuple[int, ...]] = {"user_weight_precision": (2,), "item_weight_precision": (2,)}
        n_shadow = int(self.is_shadow_.sum())
        for prefix, n in (("", len(self.users_) - n_shadow + 1), ("shadow_", n_shadow + 1)):
            if n > 1 or not prefix:
                shapes |= {f"{prefix}gaps": (n, boundaries)}
                shapes |= {f"{prefix}{name}": (n,) for name in ("reach", "accepted", "value")}
        return shapes if self.past_ is None else shapes | self.past_.state_shapes()
