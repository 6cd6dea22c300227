"""Users by their attitudes (Marlin 2003, Marlin & Zemel 2004): each a mixture of them, or a set whose odds multiply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, logit, psi

from cofactor.checks import make_generator, number, one_of, positive_weight, whole
from cofactor.kernels import mixtures, products
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.estimator import learned, param
from cofactor.problems.base import PartialProblem
from cofactor.problems.profiles import AttitudeProblem, ProfileProblem, odds_of
from cofactor.ratings.base import RatingModel, outcome
from cofactor.ratings.blocks import each_cut
from cofactor.ratings.data import Ratings
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.scoring import PROBABILITY_DECISIONS, ProbabilityScorer
from cofactor.solvers import lbfgs
from cofactor.solvers.descent import repeat_updates

_WEIGHT = 5.0  #: ratings that the marginal of all items counts in that of one


def level_marginal(ratings: Ratings) -> NDArray[np.float64]:
    """Return the share of every level among all ratings, shape (R,), one more of each counted, so none is 0."""
    return (ratings.level_counts + 1.0) / (ratings.n_ratings + ratings.n_levels)


def item_marginals(ratings: Ratings, marginal: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the share of every level among each item's ratings, shape (m, R), five with the shares of all items added.

    Parameters
    ----------
    ratings : Ratings
    marginal : ndarray of shape (R,), optional
        The shares of all items; by default those of these.

    Examples
    --------
    >>> ratings = Ratings.from_pairs([(0, 0), (1, 0), (0, 1)], [1, 2, 2])
    >>> level_marginal(ratings)
    array([0.4, 0.6])
    >>> item_marginals(ratings)[1]
    array([0.33333333, 0.66666667])
    """
    m, R = len(ratings.items), ratings.n_levels
    cells = ratings.indices.astype(np.int64) * R + ratings.levels - 1
    counts = np.bincount(cells, minlength=m * R).reshape(m, R)
    shares = level_marginal(ratings) if marginal is None else marginal
    return (counts + _WEIGHT * shares) / (ratings.item_counts + _WEIGHT)[:, None]


#: Sweeps before the concentrations are learned: while attitudes are alike, the likeliest concentrations are infinite.
_WARM_UP = 20
_URP_ENTRIES = 5_000
_FOLD_IN = (1e-10, 10_000)  #: tolerance and most rounds of fold-in


@dataclass(frozen=True, eq=False)
class URPScorer(ProbabilityScorer):
    """Probabilities of levels by the arrays of `URP`."""

    gamma: NDArray[np.float64]
    beta: NDArray[np.float64]
    concentration: NDArray[np.float64]
    marginal: NDArray[np.float64]

    def probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        out = np.empty((len(users), len(self.scale)))
        mixtures.mixture(users, items, self.gamma, self.beta, self.concentration, self.marginal, out)
        return out


class URP(RatingModel):
    r"""Users as mixtures of attitudes: for each item a user draws one, and it a level.

    .. math::

        \theta_i \sim \mathrm{Dirichlet}(a), \qquad z_{ij} \sim \theta_i, \qquad
        P(y_{ij} = r \mid z_{ij} = k) = \beta_{jrk}

    with K attitudes k. What is minimised is minus the variational bound of the ratings' likelihood, with
    :math:`q(\theta_i) = \mathrm{Dirichlet}(\gamma_i)`, plus a penalty which smooths rare levels:

    .. math::

        J(\gamma, \beta, a) = - \sum_i \mathrm{E}_q \Big[ \ln \frac{p(\theta_i \mid a)}{q(\theta_i)} \Big]
        - \sum_{(i,j) \in \Omega} \ln \sum_k e_{ik} \beta_{j y_{ij} k} - \alpha \sum_{jrk} p_{jr} \ln \beta_{jrk},
        \qquad \ln e_{ik} = \psi(\gamma_{ik}) - \psi(\textstyle\sum_k \gamma_{ik})

    and :math:`p_{jr}` the smoothed share of level r among the ratings of item j. The probability of a level is
    :math:`\sum_k \gamma_{ik} \beta_{jrk} / \sum_k \gamma_{ik}`, and `predict` takes the median, as the paper does.

    The paper (Marlin 2003) has no penalty; without one, levels that no user gave to a rare item get probability 0. It
    also learns a. That fits the ratings closer, but on MovieLens 100K predicts new ones worse than a fixed one, since
    a then falls towards 0 and every user keeps to one attitude.

    The bound has many optima: each user begins with half of the weight on one attitude, chosen by random directions in
    the space of items. Averages of several fits are much better than one, and ``Ensemble(URP(), 10)`` forms them.

    **Probabilities** are too sure on sparse data: intervals of 90 % cover .889 of the test ratings of Douban, with 41
    ratings a user, and .836 of those of Flixster, with ten. Take those of `OrdinalProbit` where they matter.

    Parameters
    ----------
    n_factors : int, default=4
        Number K of attitudes; not more than there are users. On validation ratings of MovieLens 100K 3 to 4 were the
        best for one fit, 4 to 5 for an average; 8 were worse by .015.
    alpha : float, default=2.0
        Weight of the penalty: this many ratings are added to each item's ratings under each attitude, with the levels
        that the item gets from all users. Above 0; 1 to 4 did equally well.
    concentration : float or "learn", default=2.0
        The a_k, alike for all attitudes: how many of each attitude a user has before rating; 1.5 to 3 did equally well.
        "learn" begins with 1 and, after 20 sweeps, takes a Newton step in each; J then also holds
        :math:`\sum_k (a_k - \ln a_k)`, which keeps a away from 0 where users are few.
    {decision}
    max_iter : int, default=500
        Largest number of sweeps.
    tol : float, default=1e-5
        Converged when J fell by less than this share of itself per sweep.
    {levels}
    {duplicates}
    {unknown}
    {random_state}
        It is the seed of the start.
    {callback}
    {verbose}

    Attributes
    ----------
    gamma_ : ndarray of shape (n_users, K)
        Parameters of the users' Dirichlet distributions.
    beta_ : ndarray of shape (n_items, R, K)
        Probability of every level under every attitude.
    concentration_ : ndarray of shape (K,)
        The a_k, for unknown users.
    marginal_ : ndarray of shape (R,)
        Shares of the levels among all ratings, for unknown items.
    objective_, history_, seconds_ : float, list of float, list of float
        J at the end; at the start and after every sweep, and when (the latter is not saved).
    certificate_ : float
        Norm of the gradient of J by the logarithms of γ, β and a.
    n_iter_ : int
        Number of sweeps.

    References
    ----------
    B. Marlin, "Modeling user rating profiles for collaborative filtering", NIPS 2003.
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, compares with it in table 3.19.

    Examples
    --------
    >>> X = [(u, i) for u in range(8) for i in range(8) if (u, i) != (0, 7)]
    >>> y = [1 + 4 * (u % 2 == i % 2) for u, i in X]
    >>> model = URP(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 7), (0, 6), (1, 7)])
    array([1., 5., 5.])
    """

    tags = Tags(probabilities=True)

    n_factors: int = param(whole(), default=4, kw_only=False, grid=[3, 4, 5])
    alpha: float = param(positive_weight(), default=2.0, kw_only=False, grid=[1.0, 2.0, 4.0])
    concentration: float | str = param(positive_weight("learn"), default=2.0)
    decision: str = param(one_of(PROBABILITY_DECISIONS), default="median")
    max_iter: int = param(whole(), default=500)
    tol: float = param(number(low=0), default=1e-5)

    gamma_: NDArray[np.float64] = learned("users profiles", dtype=np.float64)
    beta_: NDArray[np.float64] = learned("items levels profiles", dtype=np.float64)
    concentration_: NDArray[np.float64] = learned("profiles", dtype=np.float64)
    marginal_: NDArray[np.float64] = learned("levels", dtype=np.float64)
    objective_, history_, certificate_, n_iter_ = outcome()

    def _fit(self, given: FitInput) -> None:
        ratings = given.ratings
        generator = make_generator(self.random_state)
        K = min(self.n_factors, len(ratings.users))
        learn = self.concentration == "learn"
        a = np.full(K, 1.0 if learn else float(self.concentration))
        marginals = item_marginals(ratings)
        problem = ProfileProblem(
            ratings, ratings.levels, self.alpha * marginals, K, warm_up=_WARM_UP if learn else self.max_iter
        )
        start = problem.start(first_profiles(ratings, marginals, a, generator), a)
        result = repeat_updates(
            problem, start, max_iter=self.max_iter, tol=self.tol, callback=given.monitor.stage(type(self).__name__)
        )
        arrays = problem.arrays(result.x)
        self.gamma_, self.beta_, self.concentration_ = arrays["gamma"], arrays["beta"], arrays["concentration"]
        self.marginal_ = level_marginal(ratings)
        self._set_result(result)

    @property
    def scorer_(self) -> URPScorer:
        """See `RatingModel`."""
        decision = PROBABILITY_DECISIONS[self.decision]
        arrays = self.gamma_, self.beta_, self.concentration_, self.marginal_
        return URPScorer(self.scale_, decision, *arrays)

    def _fold_in(self, given: FitInput) -> None:
        """Find the new users' γ; β and a are fixed. A user begins with equal shares."""
        ratings = given.ratings
        a = self.concentration_
        gamma = a + ratings.user_counts[:, None] / len(a)
        given_to_all = ratings.indptr, ratings.indices, ratings.levels, a, self.beta_, *_FOLD_IN, gamma
        each_cut(lambda lo, hi: mixtures.fold_users(lo, hi, *given_to_all), ratings.indptr, _URP_ENTRIES)
        self.gamma_ = gamma

    def _fold_in_items(self, given: FitInput) -> None:
        """Find the items' β, users held fixed; J is convex in it. An item begins alike for all attitudes."""
        ratings = given.ratings
        prior = self.alpha * item_marginals(ratings, self.marginal_)
        gamma = self.gamma_
        weights = np.exp(psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))
        beta = np.repeat((prior / prior.sum(axis=1, keepdims=True))[:, :, None], gamma.shape[1], axis=2)
        entries = ratings.col_indptr, ratings.col_indices, ratings.levels[ratings.to_csr]
        given_to_all = *entries, weights, prior, *_FOLD_IN, beta
        each_cut(lambda lo, hi: mixtures.fold_items(lo, hi, *given_to_all), ratings.col_indptr, _URP_ENTRIES)
        self.beta_ = beta


def first_profiles(
    ratings: Ratings, marginals: NDArray[np.float64], a: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return a first γ: half of each user's weight on one attitude, the rest evenly on all.

    Attitudes get random directions in the space of items, and a user goes to the one with which the residuals of the
    user's levels, from the items' means, agree most. On MovieLens 100K it is as good a start as k-means of users by
    their singular vectors, and the fits differ more, which helps averages of them.
    """
    K, m = len(a), len(ratings.items)
    means = marginals @ np.arange(1.0, ratings.n_levels + 1)
    residuals = ratings.levels - means[ratings.indices]
    table = sparse.csr_array((residuals, ratings.indices, ratings.indptr), shape=ratings.shape)
    agreement: NDArray[np.float64] = np.asarray(table @ generator.normal(size=(m, K)))
    nearest = np.argmax(agreement, axis=1)
    share = np.full((len(nearest), K), 0.5 / K)
    share[np.arange(len(nearest)), nearest] += 0.5
    return np.asarray(a + ratings.user_counts[:, None] * share)


_START_SCALE = 0.1  #: standard deviation of b at the start
_ATTITUDE_ENTRIES = 2_000
_ITEMS_TOL = 1e-8  #: share of the objective that the fold-in of items may still have to gain in an iteration
_LEAST = 1e-12  #: how near to 0 or 1 the probability of a factor is taken to be


@dataclass(frozen=True, eq=False)
class AttitudeScorer(ProbabilityScorer):
    """Probabilities of levels by the arrays of `Attitude`."""

    expression: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    factors: NDArray[np.float64]
    base: NDArray[np.float64]
    marginal: NDArray[np.float64]

    def probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        out = np.empty((len(users), len(self.scale)))
        some, place = np.unique(items, return_inverse=True)
        odds, growth = odds_of(self.base[some]), np.expm1(self.factors[some])
        place = np.where(items < 0, -1, place).astype(np.int32)
        products.pair_shares(users, place, self.expression, odds, growth, self.frequencies, self.marginal, out)
        return out


class Attitude(RatingModel):
    r"""Users as sets of binary factors; those a user expresses multiply the odds of an item's levels.

    .. math::

        a_{ik} \sim \mathrm{Bernoulli}(\pi_k), \qquad
        P(y_{ij} = r \mid a_i) = \frac{\exp(b^0_{jr} + \sum_k a_{ik} b_{jrk})}
        {\sum_s \exp(b^0_{js} + \sum_k a_{ik} b_{jsk})}

    with K factors k. What is minimised is minus a bound of the ratings' likelihood, in which
    :math:`\mu_{ik} = q(a_{ik} = 1)` and the mean of the logarithm of the denominator is replaced by the logarithm of
    its mean, plus penalties:

    .. math::

        J(\mu, b, b^0, \pi) = \sum_{(i,j) \in \Omega} \Big[ \ln \sum_r t_{ijr} - b^0_{j y_{ij}}
        - \sum_k \mu_{ik} b_{j y_{ij} k} \Big] + \sum_{ik} \mathrm{KL}(\mu_{ik} \,\|\, \pi_k)
        - \sum_k \ln \pi_k (1 - \pi_k) + \tfrac{\alpha}{2} \big( \|b\|^2 + \|b^0 - \ln p\|^2 \big)

    with :math:`t_{ijr} = e^{b^0_{jr}} \prod_k (1 - \mu_{ik} + \mu_{ik} e^{b_{jrk}})` and :math:`p_{jr}` the smoothed
    share of level r among the ratings of item j. The probability of a level is :math:`t_{ijr} / \sum_s t_{ijs}`, and
    `predict` takes the median.

    The model is that of Marlin & Zemel (2004). Ours are the penalties, the prior of π (Beta with parameters 2 and 2),
    the bound and that all is minimised together, by L-BFGS.

    **Probabilities** are too sure on sparse data: intervals of 90 % cover .895 of the test ratings of Douban, with 41
    ratings a user, and .849 of those of Flixster, with ten. Take those of `OrdinalProbit` where they matter.

    Parameters
    ----------
    n_factors : int, default=5
        Number K of factors. On validation ratings of MovieLens 100K 4 to 10 did equally well.
    alpha : float, default=8.0
        Weight of the penalties, above 0 and at most 1e12; 6 to 10 did equally well, 20 was worse by .01.
    {decision}
    {max_iter}
    tol : float, default=1e-5
        Converged when J fell by less than this share of itself per iteration.
    {levels}
    {duplicates}
    {unknown}
    {random_state}
        It is the seed of the start.
    {callback}
    {verbose}

    Attributes
    ----------
    expression_ : ndarray of shape (n_users, K)
        μ, the probability that a user expresses a factor.
    frequencies_ : ndarray of shape (K,)
        π, for unknown users.
    factors_ : ndarray of shape (n_items, R, K)
        b.
    base_ : ndarray of shape (n_items, R)
        b⁰.
    marginal_ : ndarray of shape (R,)
        Shares of the levels among all ratings, for unknown items.
    objective_, history_, seconds_ : float, list of float, list of float
        J at the end; at the start and after every iteration, and when (the latter is not saved).
    certificate_ : float
        Norm of the gradient of J by the logits of μ, b and b⁰.
    n_iter_ : int
        Number of iterations.

    References
    ----------
    B. Marlin and R. Zemel, "The multiple multiplicative factor model for collaborative filtering", ICML 2004.
    B. Marlin, "Collaborative filtering: a machine learning perspective", master's thesis, University of Toronto, 2004.
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, compares with it in table 3.19.

    Examples
    --------
    >>> X = [(u, i) for u in range(8) for i in range(8) if (u, i) != (0, 7)]
    >>> y = [1 + 4 * (u % 2 == i % 2) for u, i in X]
    >>> model = Attitude(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 7), (0, 6), (1, 7)])
    array([1., 5., 5.])
    """

    tags = Tags(probabilities=True)

    n_factors: int = param(whole(), default=5, kw_only=False, grid=[4, 5, 10])
    alpha: float = param(positive_weight(), default=8.0, kw_only=False, grid=[6.0, 8.0, 10.0])
    decision: str = param(one_of(PROBABILITY_DECISIONS), default="median")
    max_iter: int = param(whole(), default=500)
    tol: float = param(number(low=0), default=1e-5)

    expression_: NDArray[np.float64] = learned("users profiles", dtype=np.float64)
    frequencies_: NDArray[np.float64] = learned("profiles", dtype=np.float64)
    factors_: NDArray[np.float64] = learned("items levels profiles", dtype=np.float64)
    base_: NDArray[np.float64] = learned("items levels", dtype=np.float64)
    marginal_: NDArray[np.float64] = learned("levels", dtype=np.float64)
    objective_, history_, certificate_, n_iter_ = outcome()

    def _fit_bytes(self, ratings: Ratings) -> int:
        n, m = ratings.shape
        return 8 * self.n_factors * (n + m * ratings.n_levels)

    def _fit(self, given: FitInput) -> None:
        ratings = given.ratings
        generator = make_generator(self.random_state)
        base = np.log(item_marginals(ratings))
        problem = AttitudeProblem(ratings, ratings.levels, base, self.n_factors, self.alpha)
        # Undecided users and small factors; zero factors would be a stationary point. Users and items without
        # ratings have what the priors say.
        shapes = problem.layout.shapes
        start = {
            "logits": logit(generator.uniform(0.3, 0.7, shapes["logits"])) * (ratings.user_counts > 0)[:, None],
            "shift": np.zeros(shapes["shift"]),
            "factors": generator.normal(0, _START_SCALE, shapes["factors"]) * (ratings.item_counts > 0)[:, None, None],
        }
        result = lbfgs(
            problem,
            problem.pack(start),
            max_iter=self.max_iter,
            tol=self.tol,
            callback=given.monitor.stage(type(self).__name__),
        )
        arrays = problem.layout.views(result.x)
        self.frequencies_ = problem.frequencies(result.x)
        self.expression_ = expit(arrays["logits"])
        self.expression_[ratings.user_counts == 0] = self.frequencies_
        self.factors_, self.base_ = np.array(arrays["factors"]), base + arrays["shift"]
        self.marginal_ = level_marginal(ratings)
        self._set_result(result)

    @property
    def scorer_(self) -> AttitudeScorer:
        """See `RatingModel`."""
        decision = PROBABILITY_DECISIONS[self.decision]
        arrays = self.expression_, self.frequencies_, self.factors_, self.base_, self.marginal_
        return AttitudeScorer(self.scale_, decision, *arrays)

    def _fold_in(self, given: FitInput) -> None:
        """Find the new users' μ by exact steps, one factor after another; b, b⁰ and π are fixed."""
        ratings = given.ratings
        prior = logit(self.frequencies_)
        logits = np.tile(prior, (len(ratings.users), 1))
        odds, growth = odds_of(self.base_), np.expm1(self.factors_)
        entries = ratings.indptr, ratings.indices, ratings.levels
        given_to_all = *entries, prior, odds, self.factors_, growth, *_FOLD_IN, logits
        each_cut(lambda lo, hi: products.express(lo, hi, *given_to_all), ratings.indptr, _ATTITUDE_ENTRIES)
        self.expression_ = expit(logits)
        self.expression_[ratings.user_counts == 0] = self.frequencies_

    def _fold_in_items(self, given: FitInput) -> None:
        """Minimise J over the items' b and b⁰; users and π are fixed."""
        ratings = given.ratings
        base = np.log(item_marginals(ratings, self.marginal_))
        problem = AttitudeProblem(ratings, ratings.levels, base, len(self.frequencies_), self.alpha)
        shapes = problem.layout.shapes
        # Users who are certain have finite logits too; the term of π then is the same at all points.
        logits = logit(np.clip(self.expression_, _LEAST, 1 - _LEAST))
        x = problem.pack({"logits": logits, "shift": np.zeros(shapes["shift"]), "factors": np.zeros(shapes["factors"])})
        part = PartialProblem(problem, x, {name: np.ones(shapes[name]) for name in ("shift", "factors")})
        result = lbfgs(part, part.start, max_iter=self.max_iter, tol=_ITEMS_TOL)
        warn_if_unfinished(result, self, name=given.name)
        arrays = problem.layout.views(part.filled(result.x))
        self.factors_, self.base_ = np.array(arrays["factors"]), base + arrays["shift"]
