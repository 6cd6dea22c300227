"""Probabilistic matrix factorization, fitted by the mode of its posterior."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from cofactor.checks import check_flag, number, one_of
from cofactor.errors import Argument
from cofactor.losses import LogisticSquared, Squared
from cofactor.model.convergence import warn_if_unfinished, warn_of_unsolved
from cofactor.model.estimator import learned, param
from cofactor.problems import LeastSquaresProblem, LinkedProblem
from cofactor.problems.each_row import minimise_rows
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.base import FactorModel
from cofactor.ratings.interaction_model import FitInput, Tags, With
from cofactor.ratings.reasons import products
from cofactor.ratings.scoring import (
    Boundaries,
    CommonBoundaries,
    FactorScorer,
    FactorScores,
    absolute_errors,
    midpoints,
)
from cofactor.solvers import Result, SolverMismatchError, alternating_least_squares, lbfgs
from cofactor.solvers.result import Callback
from cofactor.solvers.sgd import stochastic_gradient

if TYPE_CHECKING:
    from cofactor.ratings.factors.in_shards import Solved

#: Fold-in through the logistic map is iterative; it ends with less than this share of the objective to gain.
_FOLD_IN_TOL = 1e-8


class PMF(FactorModel):
    r"""Probabilistic matrix factorization: ratings scatter around products of Gaussian factors.

    .. math::

        J(U, V) = \sum_{(i,j) \in \Omega} (y_{ij} - g(U_i V_j^T))^2
        + \alpha \Big(\sum_i w_i \|U_i\|^2 + \sum_j w_j \|V_j\|^2\Big)

    J is twice the negative logarithm of the posterior, but for constants and the variance of the noise, under
    :math:`y_{ij} \sim N(g(U_i V_j^T), \sigma^2)` and :math:`U_i, V_j \sim N(0, (\sigma^2 / \alpha w) I)`.
    `decision_function` is the estimated rating g, `predict` the nearest level of the scale.

    ===================  ============================================================================================
    link="identity"      g(x) = µ + x, with µ the mean rating
    link="logistic"      g(x) = (R - 1) / (1 + e^-(x + o)) for ratings mapped evenly from the lowest and highest level
                         to 0 and R - 1; the offset o makes g(0) their mean. The paper maps to 0 and 1, which only
                         divides J and alpha by (R - 1)², and has o = 0
    weighted=False       w = 1, the paper's model
    weighted=True        w is the number of ratings of the user or item (Zhou et al. 2008, "ALS-WR"; the sum over
                         single ratings that is usual with stochastic gradients has the same objective)
    ===================  ============================================================================================

    There are no biases: what users and items have in common must be learned by factors. `ALS` is the same model
    with them.

    Parameters
    ----------
    n_factors : int, default=10
        Number d of factors. The paper has 30 on Netflix; on validation ratings of MovieLens 100K more than 10 are no
        better.
    alpha : float or "auto", default="auto"
        Weight of the penalty, above 0 and at most 1e12. "auto" chooses it by the absolute error in
        validation (see `select_alpha`). On MovieLens 100K about 8, and about 0.15 if weighted.
    weighted : bool, default=False
        Whether the penalty of a user or item counts once for each rating.
    link : {"identity", "logistic"}, default="identity"
        The map g.
    solver : {"als", "lbfgs", "sgd"}, default="als"
        Least squares over users and items in turn (identity only), quasi-Newton steps, or steps along the gradients
        of single ratings in random order, which is the paper's but for its batches and momentum. "sgd" is a single
        thread's work.
    eta0 : float, default=0.1
        First step length of "sgd", above 0 and at most 1; halved whenever a pass raises J. No step goes farther than
        nine tenths of the way to where its rating is fitted exactly.
    max_iter : int, default=500
        Largest number of rounds, iterations, or passes over the ratings.
    tol : float, default=1e-4
        Converged when the objective fell by less than this share of itself per round.
    {dtype}
    {levels}
    {duplicates}
    {unknown}
        All of them get the mean rating.
    {random_state}
        It is the seed of the start, of the order of stochastic steps, and of validation splits.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_
        See `FactorModel`; biases are zero.
    mean_ : float
        Mean rating µ.
    alpha_, validation_, objective_, history_, certificate_, n_iter_
        See `FactorModel`.

    References
    ----------
    R. Salakhutdinov and A. Mnih, "Probabilistic matrix factorization", NIPS 2007.
    Y. Zhou, D. Wilkinson, R. Schreiber and R. Pan, "Large-scale parallel collaborative filtering for the Netflix
    prize", AAIM 2008.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = PMF(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    #: "sgd" steps once for each rating.
    tags = Tags(
        weights=With("solver", ("als", "lbfgs")),
        shards=True,
        similar=True,
        vectors=True,
        explain=With("link", ("identity",)),
    )

    n_factors: int = param(default=10, kw_only=False)
    weighted: bool = param(check_flag, default=False)
    link: str = param(one_of(["identity", "logistic"]), default="identity")
    solver: str = param(one_of(["als", "lbfgs", "sgd"]), default="als")
    eta0: float = param(number(low=0, inclusive=False, high=1), default=0.1)
    max_iter: int = param(default=500)
    tol: float = param(default=1e-4)

    boundaries_: NDArray[np.float64] = learned("levels-1")
    mean_: float = learned()

    #: There are no biases.
    alpha_bias: float | None = None

    def _check_together(self) -> None:
        if self.solver == "als" and self.link == "logistic":
            raise SolverMismatchError(
                (
                    *(Argument("solver", "als"), " solves linear equations, which ", Argument("link", "logistic")),
                    *(" has not: take ", Argument("solver", "lbfgs"), " or 'sgd'"),
                ),
                argument="solver",
            )

    def _alpha_unit(self, ratings: Ratings) -> float:
        """Return one over the mean number of ratings of a row or column, where the penalty counts them."""
        return sum(ratings.shape) / (2 * ratings.n_ratings) if self.weighted else 1.0

    def _validation_errors(self, found: NDArray[Any], true: NDArray[Any]) -> NDArray[Any]:
        return absolute_errors(found, true, len(self.scale_))

    @property
    def _factor_scores(self) -> FactorScores:
        """Estimated ratings or, through the logistic map, what is mapped to them."""
        offset = self.mean_ if self.link == "identity" else None
        return FactorScores(self.U_, self.V_, self.user_bias_, self.item_bias_, offset)

    @property
    def _boundaries(self) -> Boundaries:
        """Half way between levels."""
        return CommonBoundaries(self.boundaries_)

    def first_arrays(self, ratings: Ratings, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return small random factors, and the seed of the order of stochastic steps."""
        return super().first_arrays(ratings, generator) | {"seed": generator.integers(2**32, size=1)}

    def _solver_by_parts(self) -> tuple[str, Callable[..., Solved]]:
        from cofactor.ratings.factors.in_shards import solve_least_squares

        return "als", partial(solve_least_squares, by_count=self.weighted)

    def solve(
        self,
        ratings: Ratings,
        alpha: float,
        start: Mapping[str, NDArray[Any]],
        *,
        tol: float | None = None,
        callback: Callback | None = None,
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        """Minimise J at `alpha` from the arrays `start`; set factors."""
        self.boundaries_ = midpoints(self.scale_)
        self.mean_ = ratings.mean_of(ratings.scale)
        d = start["U"].shape[1]
        settings: dict[str, Any] = {
            "max_iter": self.max_iter, "tol": self.tol if tol is None else max(tol, self.tol), "callback": callback,
        }  # fmt: skip
        if self.solver == "als":
            linear = self._linear_problem(ratings, alpha, d)
            result = alternating_least_squares(linear, linear.pack(start), **settings)
            arrays = linear.arrays(result.x)
        else:
            problem = self._linked_problem(ratings, alpha, d)
            if self.solver == "lbfgs":
                result = lbfgs(problem, problem.pack(start), **settings)
            else:
                rng = np.random.default_rng(start["seed"])
                result = stochastic_gradient(problem, problem.pack(start), eta0=self.eta0, rng=rng, **settings)
            arrays = problem.arrays(result.x)
        arrays = {name: np.array(array) for name, array in arrays.items()} | {"seed": start["seed"]}
        self.U_, self.V_ = arrays["U"], arrays["V"]
        self.user_bias_, self.item_bias_ = arrays["b"], arrays["c"]
        return result, arrays

    def _linear_problem(self, ratings: Ratings, alpha: float, d: int) -> LeastSquaresProblem:
        targets = ratings.values - self.mean_
        return LeastSquaresProblem(
            ratings, targets, d, alpha, None, "exact", self.dtype, self.weighted, weights=ratings.weights
        )

    def _linked_problem(
        self, ratings: Ratings, alpha: float, d: int, fixed: Mapping[str, NDArray[Any]] | None = None
    ) -> LinkedProblem:
        if self.link == "identity":
            targets, loss = ratings.values - self.mean_, Squared()
        else:
            targets, loss = self._mapped(ratings.values), self._logistic_loss()  # type: ignore[assignment]
        return LinkedProblem(ratings, targets, d, alpha, loss, self.weighted, fixed, self.dtype, ratings.weights)

    def _mapped(self, values: Any) -> Any:
        """Return ratings mapped to 0..R-1, so that alpha means the same on all scales."""
        return (values - self.scale_[0]) * ((len(self.scale_) - 1) / (self.scale_[-1] - self.scale_[0]))

    def _logistic_loss(self) -> LogisticSquared:
        top = len(self.scale_) - 1
        # Where all ratings are equal, the mean may lie at an end of the scale, where the map has no inverse.
        share = np.clip(self._mapped(self.mean_) / top, 0.01, 0.99)
        return LogisticSquared(0, top, float(logit(share)))

    @property
    def scorer_(self) -> FactorScorer:
        """See `RatingModel`."""
        return replace(super().scorer_, estimate=None if self.link == "identity" else self._estimate)

    def _estimate(self, scores: NDArray[Any]) -> NDArray[Any]:
        """Return ratings on their own scale from scores of the logistic map."""
        low, high = float(self.scale_[0]), float(self.scale_[-1])
        return low + self._logistic_loss().estimate(scores) * ((high - low) / (len(self.scale_) - 1))

    def contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """See `InteractionModel`."""
        ratings, V = self.require_ratings(()), self.V_
        entries = slice(ratings.indptr[user], ratings.indptr[user + 1])
        own = ratings.indices[entries]
        weights = np.ones(len(own)) if ratings.weights is None else ratings.weights[entries]
        ridge = self.alpha_ * (weights.sum() if self.weighted else 1.0)
        targets = ratings.values[entries] - self.mean_
        return products(ridge * np.eye(V.shape[1]), V[own], weights, V[items])[0] * (weights * targets)

    def _fold_in(self, given: FitInput) -> None:
        """Find the new users' modes, items held fixed: ridge regressions, exactly, if the link is the identity."""
        n, d = len(given.ratings.users), self.V_.shape[1]
        self.U_ = self._modes(given, {"U": np.zeros((n, d)), "V": self.V_}, "U")
        self.user_bias_ = np.zeros(n, self.V_.dtype)

    def _fold_in_items(self, given: FitInput) -> None:
        """Find the items' modes, users held fixed, likewise."""
        m, d = len(given.ratings.items), self.U_.shape[1]
        self.V_ = self._modes(given, {"U": self.U_, "V": np.zeros((m, d))}, "V")
        self.item_bias_ = np.zeros(m, self.U_.dtype)

    def _modes(self, given: FitInput, start: Mapping[str, NDArray[Any]], free: str) -> NDArray[Any]:
        """Minimise J over the one of U and V which is free, and return it."""
        ratings, d = given.ratings, start["U"].shape[1]
        if self.link == "identity":
            linear = self._linear_problem(ratings, self.alpha_, d)
            x = linear.pack(start)
            update = linear.update_rows if free == "U" else linear.update_columns
            update(x)
            return np.array(linear.arrays(x)[free])
        fixed = {name: array for name, array in start.items() if name != free}
        problem = self._linked_problem(ratings, self.alpha_, d, fixed)
        if free == "U":
            found, n_unsolved = minimise_rows(problem, start, max(self.max_iter, 500))
            warn_of_unsolved(n_unsolved, len(ratings.users), self, given.name)
            return found["U"]
        result = lbfgs(problem, problem.pack(start), max_iter=max(self.max_iter, 500), tol=min(self.tol, _FOLD_IN_TOL))
        warn_if_unfinished(result, self, name=given.name)
        return np.array(problem.arrays(result.x)[free])
