"""Regularized least squares by alternating minimisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import one_of
from cofactor.model.estimator import learned, param
from cofactor.problems.least_squares import LeastSquaresProblem, PenaltyFactories
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.base import FactorModel, FactorRegression, Links, linked_penalties, penalties_around
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.reasons import products, with_constant
from cofactor.ratings.scoring import Boundaries, CommonBoundaries, FactorScores, midpoints
from cofactor.solvers import Result, alternating_least_squares
from cofactor.solvers.result import Callback

if TYPE_CHECKING:
    from cofactor.ratings.factors.in_shards import Solved


class ALS(FactorModel):
    r"""Regularized least squares with biases, minimised over users and over items in turn.

    .. math::

        J(U, V, b, c) = \sum_{(i,j) \in \Omega} (y_{ij} - \mu - U_i V_j^T - b_i - c_j)^2
        + \alpha (\|U\|_F^2 + \|V\|_F^2) + \alpha_b (\|b\|^2 + \|c\|^2)

    with µ the mean rating. `decision_function` is the estimated rating, `predict` the nearest level of the scale.
    Kumar (2018) compares with it in table 4.1; there it has no biases (``alpha_bias=None``).

    With features F of users the penalty :math:`\alpha \|U\|_F^2` becomes

    .. math:: \alpha \min_G \big(\|U - F G\|_F^2 + \|G\|_F^2\big),

    a ridge regression of the factors on the features, likewise that of b, and with features of items those of V and c.
    Each half step solves for G first, then for U exactly; J never rises. New users and items without ratings have the
    factors and biases that the regression says.

    Parameters
    ----------
    n_factors : int, default=10
        Number d of factors.
    {validated_alpha}
    alpha_bias : float or None, default=3.0
        Weight of the biases' penalty; None for no biases.
    solver : {"exact", "cg"}, default="exact"
        Normal equations for each user and item, or three conjugate gradient steps from the last solution, which
        is faster from about fifty factors on.
    max_iter : int, default=100
        Largest number of rounds.
    tol : float, default=1e-4
        Converged when the objective fell by less than this share of itself per round.
    {dtype}
    {levels}
    {duplicates}
    {unknown}
    {random_state}
        It is the seed of the start and of validation splits.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_, user_bias_, item_bias_
        See `FactorModel`.
    mean_ : float
        Mean rating µ.
    alpha_, validation_, objective_, history_, certificate_, n_iter_, links_
        See `FactorModel`.

    References
    ----------
    Y. Koren, R. Bell and C. Volinsky, "Matrix factorization techniques for recommender systems", Computer 42 (8), 2009,
    doi:10.1109/MC.2009.263.
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, section 4.3.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = ALS(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])

    New items are known by their features alone.

    >>> genres = {i: ["drama" if i % 2 else "comedy"] for i in range(6)}
    >>> model = ALS(n_factors=2, alpha=0.1, random_state=0).fit(X, y, item_features=genres)
    >>> model.fold_in_items(item_features={"new": ["drama"]}).predict([(0, "new"), (1, "new")])
    array([2., 3.])
    """

    tags = Tags(weights=True, features=True, shards=True, similar=True, vectors=True, explain=True)

    n_factors: int = param(default=10, kw_only=False)
    solver: str = param(one_of(["exact", "cg"]), default="exact")
    max_iter: int = param(default=100)
    tol: float = param(default=1e-4)

    boundaries_: NDArray[np.float64] = learned("levels-1")
    mean_: float = learned()
    links_: Links = learned(kind=FactorRegression, many=True)

    def _solver_by_parts(self) -> tuple[str, Callable[..., Solved]]:
        from cofactor.ratings.factors.in_shards import solve_least_squares

        return "exact", solve_least_squares

    @property
    def _factor_scores(self) -> FactorScores:
        """Estimated ratings."""
        return FactorScores(self.U_, self.V_, self.user_bias_, self.item_bias_, self.mean_)

    @property
    def _boundaries(self) -> Boundaries:
        """Half way between levels."""
        return CommonBoundaries(self.boundaries_)

    def solve(
        self,
        ratings: Ratings,
        alpha: float,
        start: Mapping[str, NDArray[Any]],
        *,
        tol: float | None = None,
        callback: Callback | None = None,
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        """Minimise J at `alpha` from the arrays `start`; set factors and biases."""
        self.boundaries_ = midpoints(self.scale_)
        self.mean_ = ratings.mean_of(ratings.scale)
        drawn = linked_penalties(start, self._linked)
        problem = self._problem(ratings, alpha, start["U"].shape[1], drawn)
        result = alternating_least_squares(
            problem,
            problem.pack(start),
            max_iter=self.max_iter,
            tol=self.tol if tol is None else tol,
            callback=callback,
        )
        arrays = {name: np.array(array) for name, array in problem.arrays(result.x).items()}
        self.U_, self.V_ = arrays["U"], arrays["V"]
        self.user_bias_, self.item_bias_ = arrays["b"], arrays["c"]
        return result, {**start, **arrays}

    @property
    def _linked(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (("U",), ("V",)) if self.alpha_bias is None else (("U", "b"), ("V", "c"))

    def _problem(self, ratings: Ratings, alpha: float, d: int, drawn: PenaltyFactories) -> LeastSquaresProblem:
        row_solver: Literal["exact", "cg"] = "exact" if self.solver == "exact" else "cg"
        targets = ratings.values - self.mean_
        return LeastSquaresProblem(
            ratings, targets, d, alpha, self.alpha_bias, row_solver, self.dtype, drawn=drawn, weights=ratings.weights
        )

    def contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """See `InteractionModel`."""
        ratings = self.require_ratings(())
        entries = slice(ratings.indptr[user], ratings.indptr[user + 1])
        own = ratings.indices[entries]
        ridge, F = np.full(self.V_.shape[1], self.alpha_), self.V_
        if self.alpha_bias is not None:
            ridge, F = np.append(ridge, self.alpha_bias), with_constant(self.V_)
        targets = ratings.values[entries] - self.mean_ - self.item_bias_[own]
        weights = np.ones(len(own)) if ratings.weights is None else ratings.weights[entries]
        return products(np.diag(ridge), F[own], weights, F[items])[0] * (weights * targets)

    def _fold_in(self, given: FitInput) -> None:
        """Solve the new users' ridge regressions exactly; one half step does it."""
        ratings = given.ratings
        means = self._means(given, "user_features")
        arrays = self._half_step(ratings, means, {"V": self.V_, "c": self.item_bias_})
        self.U_, self.user_bias_ = arrays["U"], arrays["b"]

    def _fold_in_items(self, given: FitInput) -> None:
        """Solve the new items' ridge regressions exactly, likewise."""
        ratings = given.ratings
        means = self._means(given, "item_features")
        arrays = self._half_step(ratings, means, {"U": self.U_, "b": self.user_bias_})
        self.V_, self.item_bias_ = arrays["V"], arrays["c"]

    def _half_step(
        self, ratings: Ratings, means: Mapping[str, NDArray[Any]], fixed: Mapping[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        """Return all arrays, those which are not fixed at their optimum."""
        (n, m), d = ratings.shape, self.V_.shape[1]
        problem = self._problem(ratings, self.alpha_, d, penalties_around(means))
        zero = {"U": np.zeros((n, d)), "V": np.zeros((m, d)), "b": np.zeros(n), "c": np.zeros(m)}
        x = problem.pack(zero | {**fixed})
        problem.row_solver = "exact"
        (problem.update_rows if "V" in fixed else problem.update_columns)(x)
        return {name: np.array(array) for name, array in problem.arrays(x).items()}
