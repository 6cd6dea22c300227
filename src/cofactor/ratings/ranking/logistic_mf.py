"""Logistic matrix factorization: the probability that a user interacts with an item at all."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone

from cofactor.checks import make_generator, number, positive_weight, whole
from cofactor.kernels.logistic_rows import logistic_rows
from cofactor.kernels.threads import library_limit, parallel_for
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor
from cofactor.problems.choice import soft_log
from cofactor.problems.implicit import ImplicitLogisticProblem, SampledLogisticProblem
from cofactor.ratings.data import Ratings
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.ranking.base import ImplicitFactorModel
from cofactor.ratings.ranking.held_out import HeldOut, Trials, Tuned, climb
from cofactor.ratings.reasons import products, with_constant, without_each
from cofactor.ratings.scoring import FactorScores
from cofactor.solvers import lbfgs

#: Factors that "auto" takes: so many times this power of the number of interactions.
_FACTORS, _POWER = 0.43, 0.3

#: Where "auto" begins, with biases 16 numbers, and how many iterations tell.
_FEW, _FIRST, _ITERATIONS = 14, 9.0, 20

#: Up to how many factors it goes on, and by how much twice as many must be better.
_MANY, _WORTH = 56, 1.01

#: Users times items up to which all cells count; beyond, how many for each interaction, and in all: a gigabyte.
_CELLS, _EACH, _MOST = 1 << 25, 32, 1 << 28


class LogisticMF(ImplicitFactorModel):
    r"""Factors of users and items, with a logistic loss of all cells, with an interaction or without.

    .. math::

        J = \sum_{(u,j) \in \Omega} w_{uj} \log(1 + e^{-x_{uj}}) + \sum_{(u,j) \notin \Omega} \log(1 + e^{x_{uj}})
        + \tfrac{\alpha}{2} (\|U\|^2 + \|V\|^2 + \|b\|^2), \qquad x_{uj} = U_u \cdot V_j + b_u + c_j

    with Ω the interactions, w = 1, or more for large `counts`. It is minimised by L-BFGS, and by Newton's method for
    rows of new users, items held fixed.

    Up to 33 million users times items, all cells count. Beyond, a random sample S stands for those outside of Ω, as

    .. math::

        \sum_{(u,j) \in S} \frac{1}{\pi_{uj}} \log(1 + e^{x_{uj}}), \qquad
        \pi_{uj} = \min\Big(1, 32\, \frac{n_u m_j}{|\Omega|}\Big)

    with π the probability by which each cell is drawn, and :math:`n_u, m_j` the numbers of interactions of a user and
    of an item. The expectation of J stays as it is, and the time of a fit follows the interactions: up to 32 cells for
    each.

    Parameters
    ----------
    n_factors : int or "auto", default="auto"
        Number d of factors. "auto" is 14, or 28 or 56 where held-out interactions come to stand a hundredth higher in
        lists; where alpha is given, it takes :math:`.43\, |\Omega|^{.3}`: see the notes.
    alpha : float or "auto", default="auto"
        Weight of the penalty, above 0. "auto" holds out a tenth of the interactions of each user, and doubles or halves
        alpha from 9 on while these come to stand higher in lists, by the mean of 1 / log2(1 + rank), after 20
        iterations; a step of √2 ends the search.
    max_iter : int, default=40
        Largest number of iterations.
    tol : float, default=1e-5
        The fit ends when J fell by less than this share of itself per iteration.
    {counts}
    {random_state}
        It is the seed of what is held out, and of the start.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_ : ndarray of shape (n_users, d) and (n_items, d), float32
        Factors.
    user_bias_, item_bias_ : ndarray of shape (n_users,) and (n_items,), float32
        b and c.
    alpha_ : float
        That of the fit; the number of factors is that of the columns of U.
    objective_ : float
        J at the end.
    n_iter_ : int
        Number of iterations.
    users_, items_, ratings_, popularity_, updates_
        See `ImplicitModel`.

    Notes
    -----
    nDCG@10 of held-out interactions (80/20 of each user, all unseen items ranked, one split), with alpha = 3 and by
    default. The shops, of 20,000 users and 5,000 items and of 50,000 and 20,000, are made up; the rules were found on
    these, MovieLens, Steam and Flixster, and not on the others:

    ============  ==========  =========  ======  ===========
    set           Popularity  alpha = 3  "auto"  d and alpha
    ============  ==========  =========  ======  ===========
    ML-100K       .223        .434       .442    14, 6.4
    latest-small  .190        .328       .327    14, 9
    Steam         .170        .343       .396    56, 6.4
    shop          .151        .062       .160    14, 36
    larger shop   .121                   .126    14, 51
    BookCrossing  .040        .056       .065    14, 4.5
    Epinions      .042        .130       .132    14, 4.5
    Flixster      .013        .073       .107    56, 4.5
    Douban        .009        .112       .114    14, 3.2
    ============  ==========  =========  ======  ===========

    Steam, Epinions, BookCrossing and the shops have more than 33 million cells. With alpha = 9 and 14 factors all cells
    of Steam gave .373, samples of 32, 64 and 128 for each interaction .369, .369 and .370, in an eighth to a quarter of
    the time.

    How many factors "auto" takes where alpha is given was found with alpha = 3 for `Recommender`, on a fifth of the
    interactions of each user held out of training, by nDCG@10 of what was liked together with `EASE` and
    `OrdinalProbit` (MovieLens 100K and latest-small: means of two splits):

    ====  =====  =======  ============  =======
    d     alpha  ML-100K  latest-small  ML-1M
    ====  =====  =======  ============  =======
    8     3      .2601    .2110
    12    3      .2605    .2108
    16    3      .2546    .2094         .2512
    20    3                             .2514
    24    3      .2529    .2094         .2535
    32    3                             .2511
    48    3                             .2463
    12    6      .2587    .2101
    16    6      .2542    .2080         .2503
    24    6      .2518    .2085         .2509
    16    12     .2538    .2086         .2473
    auto  3      12       12            24
    ====  =====  =======  ============  =======

    One standard error of a difference is about .0015, .001 and .001.

    References
    ----------
    C. C. Johnson, "Logistic matrix factorization for implicit feedback data", NIPS workshop 2014; there gradient steps
    alternate between users and items.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
    >>> model = LogisticMF(n_factors=2, alpha=0.5, random_state=0).fit(X)
    >>> model.recommend([0], n=1)[0].tolist()
    [[4]]
    """

    tags = Tags(similar=True, vectors=True, explain=True, additive=False)

    n_factors: int | str = param(whole(also=["auto"]), default="auto")
    alpha: float | str = param(positive_weight("auto"), default="auto", kw_only=False)
    max_iter: int = param(default=40)
    tol: float = param(number(low=0), default=1e-5)

    user_bias_: NDArray[np.float32] = learned("users", dtype=np.float32)
    alpha_: float = learned()
    objective_: float = learned()
    n_iter_: int = learned()

    def _rank(self, interactions: Ratings) -> int:
        """Return the number of factors for such interactions."""
        if self.n_factors == "auto":
            return max(1, round(_FACTORS * interactions.n_ratings**_POWER))
        return super()._rank(interactions)

    def _fit_bytes(self, interactions: Ratings) -> int:
        sampled = np.prod(interactions.shape, dtype=np.int64) > _CELLS
        return super()._fit_bytes(interactions) + 4 * min(_EACH * interactions.n_ratings, _MOST) * int(sampled)

    def _fit(self, given: FitInput) -> None:
        interactions, generator, chosen = given.ratings, make_generator(self.random_state), self
        if isinstance(self.alpha, str):
            held_out = HeldOut.of(interactions, int(generator.integers(2**31)))
            chosen = clone(self).set_params(**self.tune(held_out, given.monitor)[0])
        self.alpha_, n = float(chosen.alpha), len(interactions.users)
        U, V, _ = self._start(interactions, chosen._rank(interactions), generator)
        share = np.clip(self.popularity_, 0.5 / max(n, 1), 1 - 0.5 / max(n, 1))
        self.user_bias_ = np.zeros(n, dtype=np.float32)
        self._solve(given, U, V, np.log(share / (1 - share)).astype(np.float32), self.max_iter)

    def tune(self, held_out: HeldOut, monitor: Monitor) -> Tuned:
        """Choose alpha, then how many factors."""
        given = FitInput(held_out.train)
        max_iter = min(_ITERATIONS, self.max_iter) if isinstance(self.alpha, str) else self.max_iter

        def learn(n_factors: int, alpha: float) -> NDArray[np.float32]:
            settings: dict[str, Any] = {"n_factors": n_factors, "alpha": alpha, "max_iter": max_iter}
            return self._log_interactions_without(held_out, callback=None, verbose=0, **settings)

        trials = Trials(held_out, learn, monitor)
        if not isinstance(self.alpha, str):
            trials.gain(n_factors=self._rank(given.ratings), alpha=float(self.alpha))
            return Tuned({}, trials.table)
        most = min(*given.ratings.shape, _MANY)
        few = min(_FEW, most) if isinstance(self.n_factors, str) else int(self.n_factors)
        if not len(held_out.users):
            trials.gain(n_factors=few, alpha=_FIRST)
            return Tuned(trials.best, trials.table)

        def gain(alpha: float) -> float:
            return trials.gain(n_factors=few, alpha=alpha)

        alpha = climb(gain, climb(gain, _FIRST, 2), 0.5**0.5, 1)
        best, table = trials.best, trials.table
        many = few if isinstance(self.n_factors, str) else most
        while 2 * many <= most:  # all of them: twice as many may be no better, and four times as many be
            many *= 2
            if trials.gain(n_factors=many, alpha=alpha) >= _WORTH * trials.gain(**best):
                best, table = trials.best, trials.table
        return Tuned(best, table)

    def refit(self, given: FitInput, before: Self) -> None:
        """See `ImplicitModel`."""
        users = given.ratings.users
        self.user_bias_ = np.zeros(len(users), dtype=np.float32)
        self.user_bias_[users.index(before.users_.ids)] = before.user_bias_
        super().refit(given, before)

    def _solve(self, given: FitInput, U: NDArray[Any], V: NDArray[Any], c: NDArray[Any], max_iter: int) -> None:
        problem = self._problem(given.ratings, V.shape[1])
        start = problem.pack({"U": U, "V": V, "b": self.user_bias_, "c": c})
        with library_limit(1, "blas"):
            result = lbfgs(problem, start, max_iter=max_iter, tol=self.tol, callback=given.monitor.stage(""))
        arrays = {name: np.array(array) for name, array in problem.arrays(result.x).items()}
        self._set_factors(arrays["U"], arrays["V"], arrays["c"])
        self.user_bias_ = arrays["b"]
        self.objective_, self.n_iter_ = result.objective, result.n_iter

    def _problem(self, interactions: Ratings, d: int) -> ImplicitLogisticProblem:
        settings = interactions, self._strengths(interactions), d, self.alpha_
        if np.prod(interactions.shape, dtype=np.int64) <= _CELLS:
            return ImplicitLogisticProblem(*settings)
        return SampledLogisticProblem(*settings, each=min(_EACH, _MOST / interactions.n_ratings))

    def _fold_in(self, given: FitInput) -> None:
        """Minimise J by the row of each user, by Newton's method from the bias that they would have without factors."""
        interactions, n = given.ratings, len(given.ratings.users)
        weights = self._strengths(interactions)
        masses = np.bincount(interactions.row_of_entry, weights, minlength=n)
        m, d = self.V_.shape
        features, rows = np.ones((d + 1, m), dtype=np.float32), np.zeros((n, d + 1))
        features[:-1] = self.V_.T
        rows[:, -1] = np.log(np.maximum(masses, 0.5) / expit(self.item_bias_).sum())
        entries = interactions.indptr, interactions.indices, weights
        settings = self.alpha_, self.max_iter, float(self.tol)

        def user(i: int) -> None:
            logistic_rows(i, i + 1, *entries, features, self.item_bias_, *settings, rows)

        parallel_for(user, n)
        self.U_, self.user_bias_ = (np.array(part, dtype=np.float32) for part in (rows[:, :-1], rows[:, -1]))

    def contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """See `InteractionModel`: how much lower scores are with each unobserved, by a step of Newton's method."""
        own, weights = self._own_strengths(user)
        F = with_constant(self.V_)
        p = expit(self._score_range(np.array([user]), 0, len(F))[0].astype(np.float64))
        curvatures = p * (1 - p)
        every = curvatures.copy()
        every[own] *= weights
        H = self.alpha_ * np.eye(F.shape[1]) + (F * every[:, None]).T @ F
        between, leverages = products(H, F[own], np.zeros(len(own)), F[items])
        gradients = weights * (1 - p[own]) + p[own]
        return without_each(between, leverages, gradients, (weights - 1) * curvatures[own])

    @property
    def _factor_scores(self) -> FactorScores:
        return FactorScores(self.U_, self.V_, self.user_bias_, self.item_bias_)

    def log_interactions(self, scores: NDArray[Any]) -> NDArray[np.float32]:
        """Return the logarithm of the probability, hardly below that of .0001: smaller ones are not known so well."""
        return soft_log(expit(scores), 0.0002)
