"""Infinite probabilistic max-margin matrix factorization by variational inference (Xu, Zhu & Zhang 2012)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import number, one_of
from cofactor.errors import InvalidInputError
from cofactor.model.estimator import learned, param
from cofactor.problems.max_entropy import MaxEntropyProblem, best_gaussian, best_sticks, prior_logits, threshold_centres
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.base import FactorModel
from cofactor.ratings.factors.loss_fit import mean_thresholds, threshold_sums, without_rounding
from cofactor.ratings.interaction_model import FitInput
from cofactor.ratings.scoring import FactorScores
from cofactor.solvers.descent import repeat_updates
from cofactor.solvers.result import Callback, Result

#: Passes over a new user's ratings in fold-in, where there are no further rounds.
_FOLD_IN_PASSES = 20_000
_GAUSSIAN_ROUNDS = 20  #: in which mean and covariance of the items' Gaussian come to rest, given the items

#: Deviation of items' factors at the start, in margins. The first users' step then gives users clear features; from
#: small factors, or random features, the features of all users become the same (Λ = 0 is a stationary point).
_START_SCALE = 5.0

#: Largest margin and concentration, far above any that makes sense.
_MOST = 1e6


class IPMMMF(FactorModel):
    r"""Infinite probabilistic max-margin matrix factorization: users have or lack features, items weigh them.

    .. math::

        J(q) = \sum_{(i,j) \in \Omega} \sum_{r=1}^{R-1} \max\bigl(0, \ell - T^r_{ij}
        (\varrho_{ir} - \psi_i \cdot \Lambda_j - c_j)\bigr) + \alpha \, \mathrm{KL}(q \,\|\, p)
        + \frac{\alpha_b}{2} \|c\|^2, \qquad T^r_{ij} = \begin{cases} +1 & y_{ij} \le r \\ -1 & y_{ij} > r \end{cases}

    over distributions q of features :math:`z_{ik} \in \{0, 1\}`, items' factors :math:`v_j` and thresholds
    :math:`\theta_{ir}`, which meet the loss through their means ψ, Λ, ϱ only. The prior p is

    .. math::

        \nu_k \sim \mathrm{Beta}(a, 1), \quad z_{ik} \sim \mathrm{Bernoulli}\Bigl(\prod_{l \le k} \nu_l\Bigr), \quad
        v_j \sim N(0, I), \quad \theta_{ir} \sim N\bigl(2 \ell (r - R / 2), (1.5 \ell)^2\bigr)

    an Indian buffet process cut off at `n_factors` features. With ``item_prior="learned"`` it is
    :math:`v_j \sim N(\mu, \Omega^{-1})` with a normal-Wishart prior on µ and Ω: the paper's iBPMMMF. The expected
    logarithm of :math:`1 - \prod \nu_l` is replaced by its multinomial bound, so J is an upper bound too.

    Each round goes through four blocks, and none of them raises J: items are linear support vector machines, solved in
    the dual; their Gaussian, if learned, and the Beta distributions of the sticks have closed forms; and ψ and ϱ of a
    user are found together, in the dual of their convex problem. (One at a time, as in the paper, they get stuck where
    kinks of hinges meet.) The level is 1 + #{r : x > ϱ_r}, for which the order of ϱ does not matter.

    **The paper's settings** are ``n_factors=100, width=9, concentration=3`` without biases, and :math:`\alpha = 1 / C`
    between 5.6 and 100 by validation. The defaults here were chosen on validation ratings within the training part of
    MovieLens 100K, where the MAE is .674 to .677 on average over three splits for 30 or 50 features, widths from 1.5
    to 3 and `alpha` from 9 to 11; item biases do not change it. On the first split it is .667 with the defaults and
    .672 with the paper's settings at ``alpha=10``. A learned prior fits the training ratings too closely, since it lets
    items' factors grow almost for nothing: it needs a larger `alpha`, 17, and then has .677 there.

    Parameters
    ----------
    n_factors : int, default=30
        Number of features at which the infinite sequence is cut off; no more than there are users or items are used.
    alpha : float or "auto", default=10.0
        Weight of the divergence, 1/C of the paper, above 0 and at most 1e12. "auto" chooses it by validation (see
        `select_alpha`), which takes some fifty times as long as a fit.
    alpha_bias : float or None, default=None
        Weight of the item biases' penalty; None for no biases, as in the paper.
    item_prior : {"fixed", "learned"}, default="fixed"
        What is known of items' factors before: their distribution (iPMMMF), or only its prior (iBPMMMF).
    width : float, default=2.0
        Margin ℓ on either side of a threshold. The deviation of items' factors being 1, it says how many of them make
        a margin. The paper has 9.
    concentration : float, default=3.0
        a; the larger, the more features a user has.
    max_iter : int, default=100
        Largest number of rounds.
    tol : float, default=1e-4
        Converged when the objective fell by less than this share of itself per round.
    dtype : {"float32", "float64"}, default="float32"
        Precision of what is learned; it is found in double precision.
    {levels}
    {duplicates}
    {unknown}
        An unknown user has every feature with the probability in `prior_`.
    {random_state}
        It is the seed of the start and of validation splits.
    {callback}
    {verbose}

    Attributes
    ----------
    U_ : ndarray of shape (n_users, n_factors)
        ψ, the probability that a user has a feature.
    V_ : ndarray of shape (n_items, n_factors)
        Λ, the expected weight of a feature.
    user_bias_, item_bias_
        See `FactorModel`.
    thresholds_, common_thresholds_
        ϱ in increasing order, and their means over users: see `FactorModel`.
    sticks_ : ndarray of shape (2, n_factors)
        Parameters γ of the Beta distributions of the sticks.
    prior_ : ndarray of shape (n_factors,)
        Probability of the features of a user without ratings.
    alpha_, validation_, objective_, history_, n_iter_
        See `FactorModel`.
    certificate_ : float
        By how much the objective may still fall with other users' or other items' arrays alone, at most.

    References
    ----------
    M. Xu, J. Zhu and B. Zhang, "Nonparametric max-margin matrix factorization for collaborative prediction", NIPS 2012.
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, compares with it in table 3.19.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = IPMMMF(n_factors=4, alpha=0.5, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    n_factors: int = param(default=30, kw_only=False)
    alpha: float | str = param(default=10.0, kw_only=False, grid=[6.0, 9.0, 12.0, 17.0])
    alpha_bias: float | None = param(default=None)
    item_prior: str = param(one_of(["fixed", "learned"]), default="fixed")
    width: float = param(number(low=0, inclusive=False, high=_MOST), default=2.0)
    concentration: float = param(number(low=0, inclusive=False, high=_MOST), default=3.0)
    max_iter: int = param(default=100)
    tol: float = param(default=1e-4)

    thresholds_: NDArray[Any] = learned("users levels-1", finite=False)
    common_thresholds_: NDArray[Any] = learned("levels-1", finite=False)
    sticks_: NDArray[np.float64] = learned("2 d", dtype=np.float64)

    @property
    def prior_(self) -> NDArray[np.float64]:
        """Probability of the features of a user without ratings."""
        return np.asarray(1 / (1 + np.exp(-prior_logits(self.sticks_))))

    def first_arrays(self, ratings: Ratings, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return where a fit begins: features between unlikely and likely, thresholds and sticks as in the prior."""
        n, m = ratings.shape
        d = min(self.n_factors, n, m)
        sticks = np.stack([np.full(d, float(self.concentration)), np.ones(d)])
        return {
            "U": np.full((n, d), 0.5),
            "V": generator.normal(0, _START_SCALE * self.width, (m, d)),
            "own": np.tile(threshold_centres(ratings.n_levels, self.width), (n, 1)),
            "gamma": best_sticks(sticks, np.full(d, n / 2), n, self.concentration),
            "c": np.zeros(m),
            "mean": np.zeros(d),
            "scatter": (d + m) * np.eye(d),
        }

    def solve(
        self,
        ratings: Ratings,
        alpha: float,
        start: Mapping[str, NDArray[Any]],
        *,
        tol: float | None = None,
        callback: Callback | None = None,
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        """Minimise J at `alpha` from the arrays `start`; set factors, biases, thresholds and sticks."""
        tol = self.tol if tol is None else tol
        problem = self._problem(ratings, alpha, start["U"].shape[1], tol)
        x = problem.pack(start)
        problem.update_users(x)  # a random start has factors of items only
        result = repeat_updates(problem, x, max_iter=self.max_iter, tol=tol, callback=callback)
        result = self._finished(problem, result)
        arrays = dict(start) | {name: np.array(array) for name, array in problem.arrays(result.x).items()}
        self.V_, self.item_bias_ = arrays["V"].astype(self.dtype), arrays["c"].astype(self.dtype)
        self.sticks_ = arrays["gamma"]
        self._set_users(ratings, arrays)
        self.common_thresholds_ = mean_thresholds(threshold_sums(self.thresholds_[ratings.user_counts > 0]))
        self.thresholds_[ratings.user_counts == 0] = self.common_thresholds_
        _, self.V_ = without_rounding(self.U_, self.V_)
        return result, arrays

    def _problem(self, ratings: Ratings, alpha: float, d: int, tol: float) -> MaxEntropyProblem:
        return MaxEntropyProblem(
            ratings, ratings.levels, ratings.n_levels, d, alpha, self.alpha_bias, self.width, self.concentration,
            self.item_prior == "learned", tol,
        )  # fmt: skip

    def _finished(self, problem: MaxEntropyProblem, result: Result) -> Result:
        """Return a result whose users are solved as well as new ones are in fold-in."""
        x = result.x.copy()
        problem.update_users(x, _FOLD_IN_PASSES)
        objective = problem.value_gradient(x, np.empty_like(x)) + problem.nonsmooth_value(x)
        return replace(result, x=x, objective=objective, certificate=problem.gap)

    def _set_users(self, ratings: Ratings, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.U_ = arrays["U"].astype(self.dtype)
        self.thresholds_ = np.sort(arrays["own"], axis=1).astype(self.dtype)
        self.user_bias_ = np.zeros(len(ratings.users), dtype=self.dtype)

    def _fold_in(self, given: FitInput) -> None:
        """Solve the new users' convex problems; items and sticks are fixed."""
        ratings = given.ratings
        n, d = len(ratings.users), self.V_.shape[1]
        problem = self._problem(ratings, self.alpha_, d, self.tol)
        start = {
            "U": np.full((n, d), 0.5),
            "V": self.V_,
            "c": self.item_bias_,
            "own": np.tile(threshold_centres(ratings.n_levels, self.width), (n, 1)),
            "gamma": self.sticks_,
        }
        unused = {"mean": np.zeros(d), "scatter": np.eye(d)}
        x = problem.pack(start | unused)
        problem.update_users(x, _FOLD_IN_PASSES)
        self._set_users(ratings, problem.arrays(x))
        self.thresholds_[ratings.user_counts == 0] = self.common_thresholds_

    def _fold_in_items(self, given: FitInput) -> None:
        """Solve the items' support vector machines; users, and the Gaussian of all items, are fixed."""
        ratings = given.ratings
        m, d = len(ratings.items), self.U_.shape[1]
        problem = self._problem(ratings, self.alpha_, d, self.tol)
        mean, scatter = self._gaussian()
        users = {"U": self.U_, "own": self.thresholds_, "gamma": self.sticks_}
        items = {"V": np.zeros((m, d)), "c": np.zeros(m), "mean": mean, "scatter": scatter * (d + m)}
        x = problem.pack(users | items)
        problem.update_items(x, _FOLD_IN_PASSES)
        arrays = problem.arrays(x)
        self.V_ = arrays["V"].astype(self.dtype)
        self.item_bias_ = np.array(arrays.get("c", np.zeros(m)), dtype=self.dtype)

    def _gaussian(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return mean and covariance of the items' Gaussian, where it is learned, given the items."""
        m, d = self.V_.shape
        V = self.V_.astype(np.float64)
        mean, scatter = np.zeros(d), (d + m) * np.eye(d)
        for _ in range(_GAUSSIAN_ROUNDS):
            mean, scatter = best_gaussian(V, scatter)
        return mean, scatter / (d + m)

    @property
    def _factor_scores(self) -> FactorScores:
        """Scores, in which unknown users have the features that the prior gives them."""
        prior = self.prior_.astype(self.U_.dtype)
        return FactorScores(self.U_, self.V_, self.user_bias_, self.item_bias_, cold_user=prior)

    def _check_learned(self) -> None:
        super()._check_learned()
        if not (self.sticks_ > 0).all():
            raise InvalidInputError("sticks_ must be above 0")
