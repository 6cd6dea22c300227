"""Bayesian ordinal probit factorization, with thresholds of every user and priors from what each user rated.

Users may drift in time: then samples are of their drift, and predictions are made at times.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_flag, one_of, whole
from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.drift import K, drift_of_visits, drifting_probabilities, fold_ordinal_rows, neighbours
from cofactor.kernels.gibbs import fold_ordinal_columns
from cofactor.model.estimator import learned, param
from cofactor.model.state import check_array, member
from cofactor.problems.drift import Drift, RatingMoments
from cofactor.problems.ordinal_probit import OrdinalProbitPosterior, OrdinalUsers, log_gaps
from cofactor.problems.priors import BiasedPrior
from cofactor.problems.users import Users
from cofactor.ratings.data import Ratings, as_ratings, merged
from cofactor.ratings.interaction_model import FitInput, RowMerge
from cofactor.ratings.lookup import Lookup, TimedUsers
from cofactor.ratings.reasons import products, with_constant, without_each
from cofactor.ratings.sampled.base import SampledModel, UserPlan
from cofactor.ratings.sampled.chains import FitChains, checksum
from cofactor.ratings.sampled.fold_in import ConditionalChains, PaddedRatings, padded
from cofactor.ratings.sampled.probit import LOG_ROOT, TAGS, PosteriorMeans, ProbitDraws, expectation_slopes
from cofactor.ratings.sampled.samples import SampledScorer, Samples, SampleSubset
from cofactor.ratings.scoring import Criterion, Expectation
from cofactor.ratings.shard_folder import StoredUsers
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.side_information import FeatureMap, RowPattern
from cofactor.samplers import Posterior, State
from cofactor.text import plural
from cofactor.typing import Ids, Pairs, RatingValues, SideFeatures, SideName, SparseTable

#: Arrays of a sample, and of the state of a chain besides, and the names of their axes: see `SampledModel`.
DRIFT = {
    "drift_scale": "process", "drift_time": "process", "drift": "moment process", "drift_multiplier": "user",
    "drift_spread": "1",
}  # fmt: skip
DRIFT_OF_STATE = {
    "drift_reach": "2 process", "drift_accepted": "2 process",
    "drift_multiplier_reach": "training", "drift_multiplier_accepted": "training",
}  # fmt: skip

#: Those of a sample which predictions need.
_PREDICTING = "drift", "drift_multiplier", "drift_scale", "drift_time"


class DriftIndex(NamedTuple):
    """Users at times: their indices, the moments around them, and the seconds between."""

    users: NDArray[np.int32]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]

    def under(self, sample: Samples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return mean m and :math:`1 / \sqrt{1 + v}` of the drift of each under a sample, v its variance."""
        means, roots = np.empty(len(self.users)), np.empty(len(self.users))
        drift_of_visits(*self, *(sample[name] for name in _PREDICTING), means, roots)
        return means, roots

    def under_each(self, samples: Samples) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the same under each of S samples, (S, n)."""
        drifts = [self.under({name: samples[name][s] for name in _PREDICTING}) for s in range(len(samples["drift"]))]
        return np.array([means for means, _ in drifts]), np.array([roots for _, roots in drifts])


@dataclass(frozen=True)
class RatingTimes:
    """When users rated, which a model keeps, and the end of its training.

    Attributes
    ----------
    indptr : ndarray of shape (n_users + 2,), int64
        The moments of user i are ``indptr[i]:indptr[i + 1]``; the last user is a cold one, who has none.
    seconds : ndarray of shape (n_moments,), float64
        See `RatingMoments`.
    now : float
        The latest time in training: that of a prediction for which no other is given.
    """

    indptr: NDArray[np.int64]
    seconds: NDArray[np.float64]
    now: float

    @property
    def lengths(self) -> dict[str, int]:
        """Lengths of the axes of `DRIFT`."""
        return {"moment": len(self.seconds), "process": K}

    @classmethod
    def of(cls, moments: RatingMoments, now: float = -np.inf) -> Self:
        """Return the past of ratings, which ended `now` or later."""
        return cls(moments.indptr, moments.seconds, float(max(moments.seconds.max(initial=now), now)))

    def index(self, users: NDArray[np.int32] | TimedUsers) -> DriftIndex:
        """Return where users at times stand among their moments; plain indices are users at the end of training."""
        if not isinstance(users, TimedUsers):
            users = TimedUsers(users, np.full(len(users), self.now))
        n = len(users)
        around = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
        neighbours(users.users, np.floor(users.seconds), self.indptr, self.seconds, *around)
        return DriftIndex(users.users, *around)

    def to_state(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of arrays and numbers."""
        return {"indptr": self.indptr, "seconds": self.seconds, "now": self.now}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned; what does not fit is refused, and `check` has to follow."""
        indptr, seconds = state["indptr"], state["seconds"]
        if not isinstance(indptr, np.ndarray) or indptr.dtype != np.int64 or indptr.ndim != 1:
            raise InvalidInputError("offsets of moments must be whole numbers")
        if indptr[0] != 0 or (np.diff(indptr) < 0).any():
            raise InvalidInputError("offsets of moments must begin with 0 and not fall")
        check_array("seconds of moments", seconds, (int(indptr[-1]),), np.float64)
        return cls(indptr, seconds, member(state, "now", float))

    def check(self, n_users: int) -> None:
        """Refuse what was read from a file, if it is not of so many users."""
        if len(self.indptr) != n_users + 2:
            raise InvalidInputError(f"offsets of moments must be {n_users + 2} whole numbers")

    def joined(
        self, other: RatingTimes, merge: RowMerge, drift: NDArray[np.float32], of_other: NDArray[np.float32]
    ) -> tuple[RatingTimes, NDArray[np.float32]]:
        """Return the past of the users of both, and samples of their drift at these moments."""
        ours, theirs = ((one.indptr[:-1], one.seconds) for one in (self, other))
        indptr, seconds = merge.ragged(ours, theirs)
        _, drift = merge.ragged((ours[0], drift), (theirs[0], of_other), axis=1)
        return RatingTimes(np.append(indptr, indptr[-1]), seconds, max(self.now, other.now)), drift


def moments_of(ratings: Ratings) -> RatingMoments:
    """Return the moments of ratings, with a cold user at the end."""
    return RatingMoments.of(PaddedRatings.of(ratings).indptr, times_of(ratings))


def times_of(ratings: Ratings) -> NDArray[np.float64]:
    """Return the time of each rating; without times, say what to give."""
    if ratings.times is None and ratings.n_ratings:
        raise InvalidInputError(
            "a model of drift in time needs the time of each rating, and the ratings have none",
            argument="time",
            advice=("give them with ", Argument("time")),
        )
    return np.zeros(0) if ratings.times is None else ratings.times


@dataclass(frozen=True)
class DriftDraws(ProbitDraws):
    r"""Samples of scores, thresholds, and of the drift of every user, which predict for users at times.

    Between moments of training the drift has the mean and variance of `kernels.drift.bridge`, and so the probability to
    lie below :math:`\theta_r` is :math:`\Phi((\theta_r - x - m) / \sqrt{1 + v})`. Plain indices of users stand for
    these users at the end of training.

    Attributes
    ----------
    past : RatingTimes
    drifts : mapping of str to ndarray
        Samples of ``drift``, and of what it depends on.
    """

    past: RatingTimes
    drifts: Samples

    def probabilities(
        self, users: NDArray[Any] | TimedUsers, items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """See `Draws`."""
        out = np.empty((len(users), self.thresholds.shape[2] + 1))
        drifts = (self.drifts[name] for name in _PREDICTING)
        drifting_probabilities(*self.past.index(users), items, samples, self.U, self.V, self.thresholds, *drifts, out)
        return out

    def coarse_scores(
        self, users: NDArray[Any] | TimedUsers, items: NDArray[Any], criterion: Criterion, samples: NDArray[np.int64]
    ) -> NDArray[Any]:
        """See `Draws`."""
        if not isinstance(criterion, Expectation):
            return super().coarse_scores(users, items, criterion, samples)
        places = self.past.index(users)
        thresholds = self.thresholds[:, places.users].astype(np.float64)
        means, roots = np.empty(thresholds.shape[1]), np.ones(thresholds.shape[:2])
        drifts = [self.drifts[name] for name in _PREDICTING]
        for s in samples:
            drift_of_visits(*places, *(array[s] for array in drifts), means, roots[s])
            thresholds[s] -= means[:, None]
        numbers, U = np.arange(len(users), dtype=np.int32), self.U.take(places.users, axis=1)
        own = thresholds.astype(np.float32, order="C")
        return self._expectations(numbers, items, samples, criterion, U, own, roots)


class FoldInDrift:
    """What `kernels.drift.fold_ordinal_rows` needs for the drift of new users; for none, of a model without.

    Parameters
    ----------
    past : RatingTimes or None
        Of the model.
    ratings : Ratings
        Of the new users.
    chains : ConditionalChains
        Of theirs.

    Attributes
    ----------
    past : RatingTimes or None
        Of the new users.
    times : tuple of ndarray
        What is known of their moments.
    prior : tuple of ndarray
        Variances and times of the processes under each sample, and the variances of log-multipliers.
    first : tuple
        Where chains begin: the drift in each rating, and the multipliers, under each sample.
    shapes : dict of str to tuple
        What is drawn besides multipliers.
    """

    def __init__(self, past: RatingTimes | None, ratings: Ratings, chains: ConditionalChains) -> None:
        samples, S = chains.samples, len(chains.samples)
        self.past, self.shapes = past, dict[str, tuple[int, ...]]()
        self.prior: tuple[NDArray[np.float64], ...] = np.zeros((S, 0)), np.zeros((S, 0)), np.ones(S)
        drifts, multipliers = [np.zeros(ratings.n_ratings)] * S, np.ones((S, len(chains.before)))
        moments = RatingMoments.of(np.zeros(1, dtype=np.int64), np.zeros(0))
        if past is not None:
            moments = moments_of(ratings)
            self.past = RatingTimes.of(moments, past.now)
            self.shapes = {"drift": (len(moments.seconds), K)}
            scales, times, spread = (
                samples[f"drift_{name}"].astype(np.float64) for name in ("scale", "time", "spread")
            )
            self.prior = scales**2, times, spread[:, 0]
            if chains.update:
                places = past.index(TimedUsers(chains.before[ratings.row_of_entry], times_of(ratings)))
                drifts = [places.under(sample)[0] for sample in samples]
                multipliers = chains.begin(samples.whole["drift_multiplier"], multipliers, axis=1)
        self.first = drifts, multipliers
        self.times = moments.indptr, moments.of_entry, moments.counts, moments.gaps

    def kernel(self, *arguments: Any) -> None:
        """Call the kernel, which writes multipliers, and what `shapes` says, after rows and thresholds."""
        unused = (np.zeros(0, dtype=np.float32), np.zeros((0, K), dtype=np.float32)) if self.past is None else ()
        fold_ordinal_rows(*arguments, *unused)


#: What the mask of ratings says of an item by a rating of each user, in the folder of shards.
_PROJECTION = "links_.1.projection"

#: Root of the number of ratings for each factor of "auto", and the most factors; features of the mask for each factor.
_ROOT, _MOST, _FEATURES = 16.0, 48, 2

_SHADOW = "shadow_"  #: begins the names of arrays of shadow users in chains

_FAR = 40.0  #: an infinite threshold


def _check_shadow(name: str, is_shadow: Any) -> None:
    """Refuse shadow users without any whom they could follow."""
    if np.all(is_shadow):
        raise InvalidInputError(f"{name} says of all users that they are shadow users")


class OrdinalProbit(SampledModel):
    r"""Ordinal probit factorization, drawn from its posterior by a Gibbs sampler: the most accurate model here.

    .. math::

        y_{ij} = r \iff \theta_{i,r-1} < z_{ij} \le \theta_{ir}, \quad
        z_{ij} \sim N(U_i \cdot V_j + b_i + c_j, 1)

    with priors of :math:`(U_i, b_i)` and :math:`(V_j, c_j)` regressed on features :math:`f_i, g_j`,

    .. math::

        (U_i, b_i) \sim N(\mu_U + f_i W_U, \Lambda_U^{-1}), \quad
        (V_j, c_j) \sim N(\mu_V + g_j W_V, \Lambda_V^{-1})

    where factors may be correlated, and biases are independent of them (`cofactor.problems.priors.BiasedPrior`),
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
    U_, V_, user_bias_, item_bias_ : ndarray
        Posterior means, and what they are good for: see `PosteriorMeans`. Drift is not part of them.
    thresholds_ : ndarray of shape (n_users, R - 1)
        Posterior means of the boundaries between the levels for each user. A user's bias and thresholds are known
        together only: ratings tell how far one lies from the others.
    links_ : tuple of two FeatureMap
        What the features of users and of items are made of; None for a side that cannot be folded in any more.
    is_shadow_ : ndarray of shape (n,), bool
        Which users were not in training, but followed it as shadow users (see `fit`).
    past_ : RatingTimes or None
        When users rated, with ``time=True``.

    Notes
    -----
    A user's thresholds are drawn by Metropolis steps with z integrated out, after which z is drawn anew: in this order
    the partially collapsed sampler is right (van Dyk & Park 2008). Whatever leaves the likelihood as it is is drawn in
    moves of its own (`cofactor.problems.ordinal_probit`), with which chains agree. Ordinal probit by latent normals is
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
    >>> model = OrdinalProbit(2, n_sweeps=80, burn_in=20, implicit=None, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    >>> model.predict_proba([(0, 5)]).round(2)
    array([[0.88, 0.1 , 0.02, 0.  ]])

    New users, and items, can be known by their features alone.

    >>> groups = {u: [u % 2] for u in range(6)}
    >>> model = OrdinalProbit(2, implicit=None, random_state=0).fit(X, y, user_features=groups)
    >>> model.fold_in(user_features={"new": [1]}).predict([("new", 3), ("new", 4)])
    array([3., 1.])
    """

    tags = TAGS

    n_factors: int | str = param(whole(also=["auto"]), default="auto", grid=[10, "auto", 40])
    implicit: str | None = param(one_of(["low-rank", "sparse", None]), default="low-rank")
    n_implicit: int | str = param(whole(also=["auto"]), default="auto")
    time: bool = param(check_flag, default=False)

    links_: tuple[FeatureMap | None, FeatureMap | None] = learned(kind=FeatureMap, many=True)
    means_: PosteriorMeans = learned(kind=PosteriorMeans)
    n_factors_: int = learned(check=whole())
    n_implicit_: int = learned(check=whole())
    is_shadow_: NDArray[np.bool_] = learned("users", dtype=np.bool_, check=_check_shadow)
    past_: RatingTimes | None = learned(kind=RatingTimes, optional=True, default=None)

    _sampled: ClassVar[dict[str, str]] = {
        "U": "user factor", "V": "item factor", "thresholds": "user boundary",
        "gap_mean": "boundary", "gap_precision": "boundary",
        "user_mean": "factor", "user_precision": "factor factor", "user_weights": "user_feature factor",
        "item_mean": "factor", "item_precision": "factor factor", "item_weights": "item_feature factor",
    }  # fmt: skip

    _state_only: ClassVar[dict[str, str]] = {
        "user_weight_precision": "2", "item_weight_precision": "2",
        "gaps": "training boundary", "reach": "training", "accepted": "training", "value": "training",
    }  # fmt: skip

    #: Of 200 users of MovieLens 100K, folded in from half of theirs, three times over, the log-loss of the others is
    #: 1.1880, 1.1867, 1.1857 and 1.1843 with 20, 40, 60 and 200 samples. Drift is known less well by a draw than a row:
    #: RMSE .880, .875 and .874 with 20, 80 and 200 (without time .886, .883, .883). Chains that go on under the next
    #: sample, with a few cycles each, are quicker, but their draws depend on each other.
    _n_fold_in_samples: ClassVar[int] = 40

    def _fit_bytes(self, ratings: Ratings) -> int:
        n_drifts = K * len(moments_of(ratings).seconds) if self.time and isinstance(ratings, Ratings) else 0
        return super()._fit_bytes(ratings) + n_drifts * self._bytes_of_number

    def _rank(self, ratings: Ratings | ShardedRatings) -> int:
        return self._ranks(ratings).factors

    def _ranks(self, ratings: Ratings | ShardedRatings) -> Rank:
        """Return the numbers of factors and of features of the mask for such ratings."""
        return Rank.of(ratings, self.n_factors, self.n_implicit)

    @property
    def _n_factors(self) -> int:
        return self.n_factors_

    @property
    def _biased(self) -> bool:
        return True

    @property
    def thresholds_(self) -> NDArray[np.float32]:
        """Boundaries between the levels for each user."""
        check_is_fitted(self)
        return self.samples_["thresholds"][:, :-1].mean(axis=0, dtype=np.float64).astype(np.float32)

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
            given = replace(given, shadow=_read_shadow(shadow, given.ratings, self.duplicates, unknown))
        return self.learn(given)

    def _knows_drift(self) -> bool:
        if self.time:
            return True
        raise InvalidInputError(
            "this model does not know time", argument="time", advice=("fit it with ", Argument("time", True))
        )

    @available_if(_knows_drift)
    def drift(self, users: Ids, time: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        r"""Return how far the scores of users lie from their mean over all times: the posterior of :math:`s_i(t)`.

        Only models with ``time=True`` have it.

        Parameters
        ----------
        users : array-like of shape (n,)
            Ids of users whom the model knows.
        time : array-like of shape (n,), number, or date
            When, for each of them, or one time for all.

        Returns
        -------
        mean, deviation : ndarray of shape (n,)
            Posterior mean and standard deviation, in units of the noise of a rating.

        Examples
        --------
        Users who were in another mood on each of two days.

        >>> from cofactor.ratings import OrdinalProbit
        >>> X = [(u, i) for u in range(8) for i in range(12)]
        >>> day = [(u + i + i * i * u // 3) % 2 for u, i in X]
        >>> y, times = [4 - 3 * d for d in day], [86400 * d for d in day]
        >>> model = OrdinalProbit(1, n_sweeps=80, burn_in=20, implicit=None, time=True, random_state=0)
        >>> model = model.fit(X, y, time=times)
        >>> first, second = (model.drift(range(8), time)[0] for time in (0, 86400))
        >>> bool(first.mean() > 0 > second.mean())
        True
        """
        check_is_fitted(self)
        assert self.past_ is not None
        rows = Lookup(self.users_, self.items_).known(users)
        places = self.past_.index(self.scorer_.at(rows, time))
        total, squares = np.zeros(len(rows)), np.zeros(len(rows))
        samples = self.samples_
        for s in range(len(samples["U"])):
            means, roots = places.under({name: array[s] for name, array in samples.items()})
            total += means
            squares += means**2 + 1 / roots**2 - 1
        mean = total / len(samples["U"])
        return mean, np.sqrt(np.maximum(squares / len(samples["U"]) - mean**2, 0))

    def _prepare(self, given: FitInput) -> UserPlan:
        ratings, rank = given.ratings, self._ranks(given.ratings)
        sides, before = self._side_information(given, self.implicit, rank.implicit)
        moments = moments_of(ratings) if self.time else None
        self.n_factors_, self.n_implicit_, self.links_ = rank.factors, rank.implicit, sides.links
        self.past_ = None if moments is None else RatingTimes.of(moments)
        self.is_shadow_ = np.zeros(ratings.shape[0], dtype=np.bool_)
        p, (_, m), level_counts = rank.factors + 1, ratings.shape, ratings.level_counts
        items, followers = BiasedPrior("item", p, sides.items), None
        if given.shadow is not None:
            of_shadow = self._link("user", given.shadow).features(RowPattern.users(given.shadow), given.user_features)
            followers = padded(given.shadow), BiasedPrior("user", p, of_shadow)

        def posterior(users: Users) -> Posterior:
            shadow = None
            if followers is not None:
                opened, prior = followers
                shadow = OrdinalUsers(partial(opened, 0), prior, _SHADOW)
            return OrdinalProbitPosterior(users, level_counts, m + 1, items, shadow=shadow)

        make = partial(_users_of_shard, padded(ratings), sides.users, p, moments)
        more = {_PROJECTION: sides.links[1].projection}
        return UserPlan(OrdinalUsers, make, BiasedPrior("user", p, totals=sides.totals), posterior, before, more)

    def _fit(self, given: FitInput) -> None:
        super()._fit(given)
        if given.shadow is not None:
            self.ratings_ = merged(given.ratings, given.shadow)
            self.users_ = self.ratings_.users
            self.is_shadow_ = given.shadow.users.index(self.users_.ids) >= 0
            self.samples_ = with_shadow(self.samples_, self.is_shadow_)

    def _set_chains(self, given: FitInput, fit: FitChains, stored: StoredUsers | None = None) -> None:
        super()._set_chains(given, fit, stored)
        if stored is not None and _PROJECTION in stored.arrays:
            of_users, of_items = cast("tuple[FeatureMap, FeatureMap]", self.links_)
            self.links_ = of_users, replace(of_items, projection=stored.arrays[_PROJECTION])

    def _target(self, given: FitInput) -> dict[str, Any]:
        rank = self._ranks(given.ratings)  # a number says the same as "auto" where that comes to it
        target = super()._target(given) | {"n_factors": rank.factors, "n_implicit": rank.implicit}
        if given.shadow is not None:
            target["the shadow users"] = checksum(given.shadow)
        if self.time and given.ratings.times is not None:
            target["the times"] = zlib.crc32(given.ratings.times.tobytes())
        return target

    @property
    def scorer_(self) -> SampledScorer:
        """See `RatingModel`."""
        return replace(super().scorer_, now=None if self.past_ is None else self.past_.now)

    @property
    def _sample_axes(self) -> dict[str, str]:
        return self._sampled if self.past_ is None else self._sampled | DRIFT

    @property
    def _state_axes(self) -> dict[str, str]:
        of_training = {name: axes for name, axes in self._state_only.items() if axes.startswith("training")}
        shadow = {_SHADOW + name: axes.replace("training", "shadow") for name, axes in of_training.items()}
        drift = {} if self.past_ is None else DRIFT_OF_STATE
        return self._state_only | (shadow if self.is_shadow_.any() else {}) | drift

    def _draws(self, samples: Samples) -> ProbitDraws:
        U, V, thresholds = (samples[name] for name in ("U", "V", "thresholds"))
        roots = np.ones(len(U))
        if self.past_ is None:
            return ProbitDraws(U, V, thresholds, roots, True)
        return DriftDraws(U, V, thresholds, roots, True, self.past_, samples)

    def contributions(self, user: int, items: NDArray[Any], numbers: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """Return how much lower the expected rating would be without each of the user's ratings.

        Thresholds and drift of the user stay as they are.

        Parameters
        ----------
        user : int
        items : ndarray of int
            Indices.
        numbers : ndarray of shape (R,), optional
            What belongs to each level, in place of the rating, of whose mean it is asked.

        Returns
        -------
        ndarray of shape (k, n)
        """
        ratings, samples = self.require_ratings(()), self.samples_
        entries = slice(ratings.indptr[user], ratings.indptr[user + 1])
        own, levels = ratings.indices[entries], ratings.levels[entries].astype(np.int64)
        U, V = samples["U"][:, user, :, None].astype(np.float64), samples["V"]
        thresholds = samples["thresholds"][:, user].astype(np.float64)
        known, wanted = (V[:, which].astype(np.float64) for which in (own, items))
        F, G = with_constant(known, in_place=True), with_constant(wanted, in_place=True)
        x, scores = (F @ U)[..., 0] + known[..., -1], (G @ U)[..., 0] + wanted[..., -1]
        roots = np.ones((len(scores), 1))
        if self.past_ is not None and ratings.times is not None:
            times = np.append(ratings.times[entries], self.past_.now)
            visits = TimedUsers(np.full(len(times), user, dtype=np.int32), times)
            means, roots = self.past_.index(visits).under_each(samples)
            x, scores, roots = x + means[:, :-1], scores + means[:, -1:], roots[:, -1:]
        gradients, informations = _level_derivatives(x, levels, thresholds)
        between, leverages = products(samples["user_precision"].astype(np.float64), F, informations, G)
        changes = without_each(between, leverages, gradients, informations)
        slopes = expectation_slopes(scores, thresholds, roots, self.scale_ if numbers is None else numbers)
        return np.asarray((slopes[..., None] * changes).mean(axis=0))

    # ---------------------------------------------------------------- new users and items

    def _fold_in(self, given: FitInput) -> None:
        """Run a short chain for each user under each of some samples of items and priors."""
        ratings, chains, p = given.ratings, self._chains_of(given, "user"), self.n_factors_ + 1
        data, n, samples = PaddedRatings.of(ratings), len(ratings.users) + 1, chains.samples
        features = self._link("user", ratings).features(RowPattern.users(ratings), given.user_features)
        prior = BiasedPrior("user", p, features)
        state, drift = _of_prior(prior, samples), FoldInDrift(self.past_, ratings, chains)
        precision, means = prior.precision(state), prior.means(state, n)
        gaps, gap_precision = (samples[f"gap_{name}"].astype(np.float64) for name in ("mean", "precision"))
        each = zip(
            samples["V"], precision, np.einsum("sab,snb->sna", precision, means), gaps, gap_precision,
            *drift.prior, chains.begin(samples.whole["U"], means, axis=1),
            chains.begin(samples.whole["thresholds"], gaps[:, None], log_gaps, axis=1), *drift.first,
            strict=True,
        )  # fmt: skip
        shared, n_cycles = (data.indices, data.levels, *drift.times), chains.n_cycles
        self._draw_rows(given, chains, drift.kernel, ((*shared, *own, n_cycles) for own in each), drift.shapes)
        self.past_, self.is_shadow_ = drift.past, np.zeros(len(ratings.users), dtype=bool)
        self._forget_link(1)

    def _fold_in_items(self, given: FitInput) -> None:
        """Run a short chain for each item under each of some samples, with rows, thresholds and drift of the users."""
        ratings, chains, p = given.ratings, self._chains_of(given, "item"), self.n_factors_ + 1
        data, m, samples = PaddedRatings.of(ratings), len(ratings.items) + 1, chains.samples
        side = RowPattern.items(ratings).restrict_columns(~self.is_shadow_)
        prior = BiasedPrior("item", p, self._link("item", ratings).features(side, given.item_features))
        state, levels = _of_prior(prior, samples), data.levels[data.to_csr]
        drifts = [(np.zeros(len(levels)), np.ones(len(levels)))] * len(samples)
        if self.past_ is not None:
            places = self.past_.index(TimedUsers(data.col_indices, times_of(ratings)[data.to_csr]))
            drifts = [places.under(sample) for sample in samples]
        first, n_cycles = chains.begin(samples.whole["V"], prior.means(state, m), axis=1), chains.n_cycles
        of_users = zip(samples["U"], samples["thresholds"], drifts, strict=True)
        of_items = zip(prior.precision(state), prior.shifts(state, m), first, strict=True)
        arguments = (
            (data.col_indices, levels, U, thresholds, means, roots.astype(np.float32), *own, n_cycles)
            for (U, thresholds, (means, roots)), own in zip(of_users, of_items, strict=True)
        )
        self._draw_rows(given, chains, fold_ordinal_columns, arguments)
        self._forget_link(0)

    def _merge_rows(self, part: Self, merge: RowMerge) -> None:
        super()._merge_rows(part, merge)
        if self.past_ is not None and part.past_ is not None and merge.side == "user":
            drifts = self.samples_["drift"], part.samples_["drift"]
            self.past_, self.samples_["drift"] = self.past_.joined(part.past_, merge, *drifts)
        self._widen_link(merge)
        if merge.side == "user":
            self.is_shadow_ = np.zeros(len(merge.ids), dtype=bool)

    def _widen_link(self, merge: RowMerge) -> None:
        """Make room for new items in the features of users, or for new users in those of items: they add nothing there.

        Nothing was learned of what it says that somebody rated them. Shadow users count as all others from now on.
        """
        k, name = (1, "item_weights") if merge.side == "user" else (0, "user_weights")
        learned_from = ~self.is_shadow_ if merge.side == "user" else np.ones(len(merge.old), dtype=np.bool_)
        link = self.links_[k]
        if link is None or not link.tied:
            return
        where = merge.old[learned_from]
        if link.n_sparse:
            weights = self.samples_[name]
            mask, own = weights[:, : link.n_sparse], weights[:, link.n_sparse :]
            wide = np.zeros((len(weights), len(merge.ids), weights.shape[2]), dtype=weights.dtype)
            wide[:, where] = mask
            self.samples_[name] = np.concatenate([wide, own], axis=1)
        grown = link.with_columns(where, len(merge.ids))
        self.links_ = (self.links_[0], grown) if k else (grown, self.links_[1])

    def _link(self, side: SideName, ratings: Ratings | None = None) -> FeatureMap:
        """Return the link of users or items, for rows with such ratings if any."""
        link = self.links_[0 if side == "user" else 1]
        if link is None or (link.foreign and ratings is not None and ratings.n_ratings):
            own, other = ("users", "items") if side == "user" else ("items", "users")
            raise InvalidInputError(
                f"this model came from folding in {other}, and features which tell who rated what of those in "
                f"training mean nothing to it: fold {own} in with the model that was fitted, from ratings of the "
                f"{other} it knows; for ratings of new {other}, fit a new model, or one with implicit=None"
            )
        return link

    def _forget_link(self, side: int) -> None:
        """After the other side has been folded in: features which stand for its ratings mean nothing any more."""
        links = [link.among_others() if link is not None and k == side else link for k, link in enumerate(self.links_)]
        self.links_ = (links[0], links[1])

    # ---------------------------------------------------------------- saving

    @property
    def _n_training(self) -> int:
        return int((~self.is_shadow_).sum())

    def _samples_of_chains(self) -> dict[str, NDArray[Any]]:
        if not self.is_shadow_.any():
            return self.samples_
        return without_shadow(self.samples_, self._of_users, self.is_shadow_)

    def _check_learned(self) -> None:
        super()._check_learned()
        if self.past_ is not None:
            self.past_.check(len(self.users_))

    def _lengths(self) -> dict[str, int]:
        lengths = super()._lengths() | {"shadow": int(self.is_shadow_.sum()) + 1}
        return lengths if self.past_ is None else lengths | self.past_.lengths


@dataclass(frozen=True)
class Rank:
    """Numbers of factors, and of features that tell who rated what.

    Attributes
    ----------
    factors, implicit : int
    """

    factors: int
    implicit: int

    @classmethod
    def of(cls, ratings: Ratings | ShardedRatings, n_factors: int | str, n_implicit: int | str) -> Self:
        """Return the numbers given, and instead of "auto" those that the ratings are worth.

        That is the root of the number of ratings divided by 16, but no more factors than 48, or than there are users
        or items; and twice as many features.

        Examples
        --------
        >>> ratings = Ratings.from_pairs([(u, i) for u in range(30) for i in range(60)], [1, 2, 3] * 600)
        >>> Rank.of(ratings, "auto", "auto"), Rank.of(ratings, 8, "auto"), Rank.of(ratings, "auto", 5)
        (Rank(factors=3, implicit=6), Rank(factors=8, implicit=6), Rank(factors=3, implicit=5))
        """
        most = min(_MOST, *ratings.shape)
        worth = max(min(round(math.sqrt(ratings.n_ratings) / _ROOT), most), 1)
        factors: Any = worth if n_factors == "auto" else n_factors
        implicit: Any = _FEATURES * worth if n_implicit == "auto" else n_implicit
        return cls(int(factors), int(implicit))


def _of_prior(prior: BiasedPrior, samples: SampleSubset) -> State:
    """Return the parameters of a prior in samples, in double precision."""
    names = [name for name in samples.whole if name.startswith(f"{prior.name}_")]
    return {name: samples[name].astype(np.float64) for name in names}


def _level_derivatives(
    x: NDArray[Any], levels: NDArray[np.int64], thresholds: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first derivative by x of log(Φ(θ_y - x) - Φ(θ_{y-1} - x)), and minus the second one.

    Examples
    --------
    >>> g, w = _level_derivatives(np.zeros((1, 2)), np.array([1, 2]), np.zeros((1, 1)))
    >>> g.round(4).tolist(), w.round(4).tolist()
    ([[-0.7979, 0.7979]], [[0.6366, 0.6366]])
    """
    far = np.full((len(thresholds), 1), _FAR)
    ends = np.concatenate([-far, thresholds, far], axis=1)
    low, high = np.clip(ends[:, levels - 1] - x, -_FAR, _FAR), np.clip(ends[:, levels] - x, -_FAR, _FAR)
    turned = low + high > 0  # both tails are taken on the left, where they are precise
    a, b = np.where(turned, -high, low), np.where(turned, -low, high)
    upper, gap = log_ndtr(b), log_ndtr(a) - log_ndtr(b)
    log_mass = upper + np.log(-np.expm1(np.minimum(gap, -1e-12)))
    at_low, at_high = (np.exp(-0.5 * z * z - LOG_ROOT - log_mass) for z in (low, high))
    gradients = at_low - at_high
    informations = gradients**2 - low * at_low + high * at_high
    return gradients, np.clip(informations, 1e-9, 1 - 1e-9)


# -------------------------------------------------------------------- shadow users: drawn, and nothing flows back


def _read_shadow(given: Any, training: Ratings, duplicates: Any, unknown_items: Any) -> Ratings:
    """Return the ratings of shadow users, for the items of training.

    Parameters
    ----------
    given : tuple (X, y), Ratings, or data set
    training : Ratings
    duplicates, unknown_items
        As in `Ratings.from_pairs`.

    Examples
    --------
    >>> training = as_ratings([("ann", "Up"), ("bob", "Up"), ("bob", "Alien")], [3, 1, 2])
    >>> _read_shadow(([("zoe", "Up")], [2]), training, "error", "drop")
    Ratings(1 user, 2 items, 1 rating on 1, 2, 3)
    """
    X, y = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    try:
        shadow = as_ratings(X, y, training.rating_scale or training.scale, duplicates, training.items, unknown_items)
    except InvalidInputError as error:
        raise type(error)(("shadow: ", *error.problem), argument="shadow", advice=error.advice) from error
    known = training.users.index(shadow.users.ids) >= 0
    if known.any():
        first = shadow.users.ids[known].tolist()[0]
        raise InvalidInputError(
            f"shadow holds {plural(int(known.sum()), 'user')} of X, the first is {first!r}: users in "
            "training cannot be shadow users; give all ratings of a user in one of them, and other users other ids",
            argument="shadow",
        )
    return shadow


def with_shadow(samples: dict[str, NDArray[Any]], is_shadow: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return samples in which shadow users stand among the others, as chains do not have them."""
    whole = {name: array for name, array in samples.items() if not name.startswith(_SHADOW)}
    for name in samples.keys() - whole.keys():
        own, of_training = samples[name], samples[name.removeprefix(_SHADOW)]
        rows = np.empty((len(own), len(is_shadow) + 1, *own.shape[2:]), dtype=own.dtype)
        rows[:, :-1][:, is_shadow], rows[:, :-1][:, ~is_shadow] = own[:, :-1], of_training[:, :-1]
        rows[:, -1] = of_training[:, -1]
        whole[name.removeprefix(_SHADOW)] = rows
    return whole


def without_shadow(
    samples: dict[str, NDArray[Any]], of_users: list[str], is_shadow: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    """Return samples as chains have them, shadow users apart: what `with_shadow` was given.

    Examples
    --------
    >>> rows = np.arange(4.0).reshape(1, 4, 1)  # the last one is of a cold user
    >>> apart = without_shadow({"U": rows}, ["U"], np.array([False, True, False]))
    >>> apart["U"].ravel().tolist(), apart["shadow_U"].ravel().tolist()
    ([0.0, 2.0, 3.0], [1.0, 3.0])
    >>> with_shadow(apart, np.array([False, True, False]))["U"].ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    apart = dict(samples)
    for name in of_users:
        for key, chosen in ((name, ~is_shadow), (_SHADOW + name, is_shadow)):
            apart[key] = samples[name][:, np.append(chosen, True)]
    return apart


def _users_of_shard(
    opened: Callable[[int], PaddedRatings],
    features: Callable[[int], Any],
    n_columns: int,
    moments: RatingMoments | None,
    k: int,
) -> OrdinalUsers:
    """Return the users of a shard."""
    prior, drift = BiasedPrior("user", n_columns, features(k)), None if moments is None else Drift(moments)
    return OrdinalUsers(partial(opened, k), prior, drift=drift)
