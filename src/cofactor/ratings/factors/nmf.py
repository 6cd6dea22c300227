"""Non-negative matrix factorization of observed ratings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cofactor.checks import number, one_of
from cofactor.errors import Argument, InvalidInputError
from cofactor.losses import BetaDivergence, ItakuraSaito, KullbackLeibler, Squared
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.problems import NonnegativeProblem
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.base import FactorModel
from cofactor.ratings.interaction_model import FitInput
from cofactor.ratings.scoring import Boundaries, CommonBoundaries, FactorScores, absolute_errors, midpoints
from cofactor.solvers import Result, SolverMismatchError
from cofactor.solvers.descent import repeat_updates
from cofactor.solvers.result import Callback
from cofactor.text import plural

_FOLD_IN_TOL = 1e-6  #: largest move of a new user's factors in the last sweep, as a share of the largest one
_FOLD_IN_SWEEPS = 20_000


class RatingNMF(FactorModel):
    r"""Non-negative matrix factorization of the observed ratings.

    .. math::

        J(U, V) = \sum_{(i,j) \in \Omega} \ell(y_{ij} - o, U_i V_j^T) + \alpha (\|U\|_F^2 + \|V\|_F^2),
        \qquad U, V \ge 0

    This is equation (2.16) of Kumar (2018) with the sum over observed ratings only: a missing one is not zero.
    `decision_function` is the estimated rating o + U_i·V_j, `predict` the nearest level of the scale. Each factor adds
    to ratings and none takes away, so factors read as parts.

    ====================  ===========================================================================================
    loss="squared"        ℓ(y, x) = (y - x)²
    loss="kl"             ℓ(y, x) = y ln(y/x) - y + x
    loss="itakura-saito"  ℓ(y, x) = y/x - ln(y/x) - 1
    loss="beta"           the β-divergence; β = 2 is half the squared loss, 1 and 0 are the two above
    ====================  ===========================================================================================

    Multiplicative updates (Lee & Seung 2000) minimise a function that lies above J and touches it, so J never rises;
    for β < 1 and β > 2 this takes the exponent of Févotte & Idier (2011), and with a penalty the root of a scalar
    equation for each entry. Coordinate steps ("HALS", Cichocki & Phan 2009) minimise over one entry at a time and get
    there in fewer rounds.

    Parameters
    ----------
    n_factors : int, default=10
        Number d of factors. On validation ratings of MovieLens 100K 6 to 10 do best.
    alpha : float or "auto", default="auto"
        Weight of the penalty, above 0 and at most 1e12. "auto" chooses it by the absolute error in validation (see
        `select_alpha`). On MovieLens 100K about 6, and 0.7 with ``loss="kl"``.
    loss : {"squared", "kl", "itakura-saito", "beta"}, default="squared"
        The loss ℓ.
    beta : float, default=1.5
        Order of the β-divergence, at least 0, if ``loss="beta"``.
    solver : {"auto", "hals", "multiplicative"}, default="auto"
        Coordinate steps, for the squared loss only, or multiplicative updates; "auto" takes the former where it can.
    origin : float or None, default=None
        The rating o from which U_i·V_j counts, below all levels or, for β >= 1, at the lowest one. None is 0 if that
        is below all levels, or else one mean distance between levels below the lowest one.
    max_iter : int, default=500
        Largest number of rounds.
    tol : float, default=1e-4
        Converged when the objective fell by less than this share of itself per round.
    {dtype}
    {levels}
    {duplicates}
    {unknown}
        They have the mean factors of those that were.
    {random_state}
        It is the seed of the start and of validation splits.
    {callback}
    {verbose}

    Attributes
    ----------
    U_, V_
        See `FactorModel`; biases are zero.
    common_user_, common_item_ : ndarray of shape (d,)
        Means of the factors of those who have ratings.
    origin_ : float
        o.
    alpha_, validation_, objective_, history_, certificate_, n_iter_
        See `FactorModel`.

    References
    ----------
    D. Lee and H. S. Seung, "Algorithms for non-negative matrix factorization", NIPS 2000.
    C. Févotte and J. Idier, "Algorithms for nonnegative matrix factorization with the β-divergence", Neural Computation
    23 (9), 2011.
    A. Cichocki and A.-H. Phan, "Fast local algorithms for large scale nonnegative matrix and tensor factorizations",
    IEICE Transactions on Fundamentals E92-A (3), 2009.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = RatingNMF(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    n_factors: int = param(default=10, kw_only=False)
    loss: str = param(one_of(["squared", "kl", "itakura-saito", "beta"]), default="squared")
    beta: float = param(number(low=0), default=1.5)
    solver: str = param(one_of(["auto", "hals", "multiplicative"]), default="auto")
    origin: float | None = param(number(low=-np.inf, also=[None]), default=None)
    max_iter: int = param(default=500)
    tol: float = param(default=1e-4)

    boundaries_: NDArray[np.float64] = learned("levels-1")
    origin_: float = learned()
    common_user_: NDArray[Any] = learned("d")
    common_item_: NDArray[Any] = learned("d")

    #: There are no biases.
    alpha_bias: float | None = None

    def _check_together(self) -> None:
        if self.solver == "hals" and self.loss != "squared":
            raise SolverMismatchError(
                (
                    *(Argument("solver", "hals"), " solves quadratic equations, which ", Argument("loss", self.loss)),
                    *(" has not: take ", Argument("solver", "multiplicative"), " or ", Argument("loss", "squared")),
                ),
                argument="solver",
            )

    def _loss(self) -> Squared | BetaDivergence:
        losses: dict[str, Squared | BetaDivergence] = {
            "squared": Squared(),
            "kl": KullbackLeibler(),
            "itakura-saito": ItakuraSaito(),
        }
        return BetaDivergence(self.beta) if self.loss == "beta" else losses[self.loss]

    def _origin(self) -> float:
        """Return o, below all levels."""
        lowest = float(self.scale_[0])
        if self.origin is None:
            step = float(self.scale_[-1] - lowest) / (len(self.scale_) - 1)
            return 0.0 if lowest > 0 else lowest - step
        origin, loss = float(self.origin), self._loss()
        if origin > lowest or (isinstance(loss, BetaDivergence) and loss.beta < 1 and origin == lowest):
            raise InvalidInputError(
                f"the lowest level is {lowest:g}, and this loss takes targets "
                f"{'above' if origin == lowest else 'of at least'} 0: lower origin",
                argument="origin",
                found=self.origin,
            )
        return origin

    def _alpha_unit(self, ratings: Ratings) -> float:
        """Return the curvature of the loss at the mean rating, as a share of that of the squared loss."""
        mean = ratings.values.mean() - self._origin()
        return float(self._loss().curvature(mean, mean)) / 2

    def _validation_errors(self, found: NDArray[Any], true: NDArray[Any]) -> NDArray[Any]:
        return absolute_errors(found, true, len(self.scale_))

    @property
    def _factor_scores(self) -> FactorScores:
        """Estimated ratings."""
        return FactorScores(
            self.U_, self.V_, self.user_bias_, self.item_bias_, self.origin_, self.common_user_, self.common_item_
        )

    @property
    def _boundaries(self) -> Boundaries:
        """Half way between levels."""
        return CommonBoundaries(self.boundaries_)

    def first_arrays(self, ratings: Ratings, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return random factors above 0 whose mean product is the mean target."""
        n, m = ratings.shape
        d = min(self.n_factors, n, m)
        size = 2 * np.sqrt((ratings.values.mean() - self._origin()) / d)
        return {
            "U": size * generator.uniform(size=(n, d)) * (ratings.user_counts > 0)[:, None],
            "V": size * generator.uniform(size=(m, d)) * (ratings.item_counts > 0)[:, None],
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
        """Minimise J at `alpha` from the arrays `start`; set factors."""
        self.boundaries_, self.origin_ = midpoints(self.scale_), self._origin()
        problem = self._problem(ratings, alpha, start["U"].shape[1])
        result = repeat_updates(
            problem,
            np.maximum(problem.pack(start), problem.least),
            max_iter=self.max_iter,
            tol=self.tol if tol is None else max(tol, self.tol),
            callback=callback,
        )
        arrays = {name: np.array(array) for name, array in problem.arrays(result.x).items()}
        self.U_, self.V_ = arrays["U"].copy(), arrays["V"].copy()  # the next fit goes on from `arrays`, without means
        self.user_bias_, self.item_bias_ = arrays["b"], arrays["c"]
        rated = ratings.user_counts > 0, ratings.item_counts > 0
        self.common_user_, self.common_item_ = (
            A[some].mean(axis=0, dtype=float).astype(A.dtype) for A, some in zip((self.U_, self.V_), rated, strict=True)
        )
        self.U_[~rated[0]], self.V_[~rated[1]] = self.common_user_, self.common_item_
        return result, arrays

    def _problem(
        self, ratings: Ratings, alpha: float, d: int, fixed: Mapping[str, NDArray[Any]] | None = None
    ) -> NonnegativeProblem:
        multiplicative = self.solver == "multiplicative" or self.loss != "squared"
        targets = ratings.values - self.origin_
        return NonnegativeProblem(ratings, targets, d, alpha, self._loss(), multiplicative, fixed, self.dtype)

    def _fold_in(self, given: FitInput) -> None:
        """Minimise J over the new users' factors, items held fixed, from the mean user on."""
        ratings = given.ratings
        problem = self._problem(ratings, self.alpha_, self.V_.shape[1], {"V": self.V_})
        self.U_ = self._minimized(problem, problem.update_rows, "U", self.common_user_, ratings.user_counts)
        self.user_bias_ = np.zeros(len(self.U_), self.V_.dtype)

    def _fold_in_items(self, given: FitInput) -> None:
        """Minimise J over the items' factors, users held fixed, from the mean item on."""
        ratings = given.ratings
        problem = self._problem(ratings, self.alpha_, self.U_.shape[1], {"U": self.U_})
        self.V_ = self._minimized(problem, problem.update_columns, "V", self.common_item_, ratings.item_counts)
        self.item_bias_ = np.zeros(len(self.V_), self.U_.dtype)

    def _minimized(
        self,
        problem: NonnegativeProblem,
        update: Callable[[NDArray[Any], float, int], int],
        name: str,
        mean: NDArray[Any],
        counts: NDArray[Any],
    ) -> NDArray[Any]:
        """Return the factors of this name that minimise J, from the mean row on, which rows without ratings keep."""
        x = problem.pack({name: np.tile(mean, (len(counts), 1))})
        unfinished = update(x, _FOLD_IN_TOL, _FOLD_IN_SWEEPS)
        self._warn_if_moving(unfinished, len(counts), "user" if name == "U" else "item")
        rows = np.array(problem.arrays(x)[name])
        rows[counts == 0] = mean
        return rows

    def _warn_if_moving(self, unfinished: int, n: int, word: str) -> None:
        if unfinished:
            warnings.warn(
                f"{plural(unfinished, word)} of {n:,} still moved after {_FOLD_IN_SWEEPS:,} updates: raise "
                f"alpha={self.alpha_:g}",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )
