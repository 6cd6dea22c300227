"""What all models with one pair of factor matrices share: scores, fitting by a solver, fold-in."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.kernels import observed
from cofactor.losses import MARGIN_LOSSES, EntryLoss
from cofactor.model.checks import check_choice, check_number, make_generator
from cofactor.model.convergence import warn_if_unfinished
from cofactor.model.progress import Monitor
from cofactor.model.selection.path import Validation, select_alpha
from cofactor.model.state import check_array
from cofactor.penalties import L2, Penalty
from cofactor.problems import ObservedProblem
from cofactor.ratings.base import RatingModel
from cofactor.ratings.data import Ratings
from cofactor.solvers import SOLVERS, Result, SolverMismatchError
from cofactor.solvers.result import Callback

#: Standard deviation of the entries of U and V at the start. Zero is a stationary point, so it must not be tiny;
#: on MovieLens 100K, .05 to .3 reach the same objective in the same number of iterations.
START_SCALE = 0.1

#: Largest product of factors, where the margin is 1, which says nothing: a strong penalty drives them towards zero, and
#: what is left of them is rounding, and where the solver stopped on its way.
NEGLIGIBLE = 1e-3

#: Largest weight of a penalty; above it, squares of gradients leave the range of float32.
_MOST_ALPHA = 1e12


class FactorModel(RatingModel):
    """A model x_ij = U_i·V_j + b_i + c_j.

    Attributes
    ----------
    U_ : ndarray of shape (n_users, d)
    V_ : ndarray of shape (n_items, d)
        Factors.
    user_bias_ : ndarray of shape (n_users,)
    item_bias_ : ndarray of shape (n_items,)
        Biases; zero where the model has none.
    """

    _learned: ClassVar[tuple[str, ...]] = ("U_", "V_", "user_bias_", "item_bias_")

    U_: NDArray[Any]
    V_: NDArray[Any]
    user_bias_: NDArray[Any]
    item_bias_: NDArray[Any]

    def _scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        out = np.empty(len(users), dtype=self.V_.dtype)
        observed.pair_scores(0, len(users), users, items, self.U_, self.V_, self.user_bias_, self.item_bias_, out)
        return out

    def _score_block(self, users: NDArray[Any]) -> NDArray[Any]:
        table = np.empty((len(users), len(self.V_)), dtype=self.V_.dtype)
        observed.all_scores(users, self.U_, self.V_, self.user_bias_, self.item_bias_, table)
        return table

    def _check_learned(self) -> None:
        super()._check_learned()
        n, m = len(self.users_), len(self.items_)
        d = self.V_.shape[-1] if isinstance(self.V_, np.ndarray) and self.V_.ndim else 0
        check_array("V_", self.V_, (m, d))
        for name, shape in {"U_": (n, d), "user_bias_": (n,), "item_bias_": (m,)}.items():
            check_array(name, getattr(self, name), shape, self.V_.dtype)


class ThresholdModel(FactorModel):
    """A `FactorModel` with boundaries θ_i between levels, for each user his own.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_users, R - 1)
        Boundaries between the levels, increasing.
    common_thresholds_ : ndarray of shape (R - 1,)
        Boundaries for unknown users.
    """

    _learned = (*FactorModel._learned, "thresholds_", "common_thresholds_")

    thresholds_: NDArray[Any]
    common_thresholds_: NDArray[Any]

    def _margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        boundaries = self.thresholds_[users]
        boundaries[users < 0] = self.common_thresholds_
        return self._scores(users, items)[:, None] - boundaries

    def _check_learned(self) -> None:
        super()._check_learned()
        n_thresholds = len(self.scale_) - 1
        check_array("thresholds_", self.thresholds_, (len(self.users_), n_thresholds))
        check_array("common_thresholds_", self.common_thresholds_, (n_thresholds,))


class TunedModel(FactorModel):
    """A `FactorModel` with a penalty weight `alpha`, given or chosen by validation, and an iterative fit.

    Attributes
    ----------
    alpha_ : float
        Weight of the penalty used: `alpha`, or the one chosen.
    validation_ : Validation or None
        Validation errors along alpha, where it was chosen.
    objective_ : float
        Objective reached.
    history_, seconds_ : list of float
        Objective at the start and after every iteration, and when (the latter is not saved).
    certificate_ : float
        Norm of the gradient at the solution.
    n_iter_ : int
        Number of iterations.
    """

    _learned = (
        *FactorModel._learned,
        "alpha_", "validation_", "objective_", "history_", "certificate_", "n_iter_",
    )  # fmt: skip

    alpha_: float
    validation_: Validation | None

    #: What warnings call the model, where it is part of another one.
    _called: str = ""

    n_factors: int
    alpha: Any
    alpha_bias: float | None
    solver: str
    max_iter: int
    tol: float
    dtype: str
    random_state: Any
    callback: Callback | None
    verbose: int

    @abstractmethod
    def solve(
        self,
        ratings: Ratings,
        alpha: float,
        start: Mapping[str, NDArray[Any]],
        *,
        tol: float | None = None,
        callback: Callback | None = None,
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        """Minimise the objective at `alpha` from the arrays `start`; set factors, biases and thresholds."""

    def _alpha_unit(self, ratings: Ratings) -> float:
        """Return what candidates of alpha are multiples of."""
        return 1.0

    def _validation_errors(self, found: NDArray[Any], true: NDArray[Any]) -> NDArray[Any]:
        """Return the errors by which alpha is chosen, from levels found and true: here 1 for a wrong one."""
        return found != true

    def _check_params(self) -> None:
        super()._check_params()
        check_number("n_factors", self.n_factors, low=1, whole=True)
        if not isinstance(self.alpha, str):
            check_number("alpha", self.alpha, low=0, inclusive=False, high=_MOST_ALPHA)
        elif self.alpha != "auto":
            raise InvalidInputError("expected a number above 0 or 'auto'", argument="alpha", found=self.alpha)
        if self.alpha_bias is not None:
            check_number("alpha_bias", self.alpha_bias, low=0, inclusive=False, high=_MOST_ALPHA)
        check_choice("dtype", self.dtype, ("float32", "float64"))
        check_number("max_iter", self.max_iter, low=1, whole=True)
        check_number("tol", self.tol, low=0)

    def _fit_ratings(self, ratings: Ratings, monitor: Monitor) -> None:
        generator = make_generator(self.random_state)
        start = self.first_arrays(ratings, generator)
        self.validation_ = None
        alpha = self.alpha
        if alpha == "auto":
            self.validation_ = select_alpha(self, ratings, start, generator, monitor, self._alpha_unit(ratings))
            alpha = self.validation_.best
        self.alpha_ = float(alpha)
        result, _ = self.solve(ratings, self.alpha_, start, callback=monitor.stage(type(self).__name__))
        self.objective_, self.certificate_, self.n_iter_ = result.objective, result.certificate, result.n_iter
        self.history_, self.seconds_ = result.history, result.seconds
        warn_if_unfinished(result, self, stacklevel=4, name=self._called)
        # With biases a model without factors is still one, and usual for rare levels; without, everybody is alike.
        alike = self.alpha_bias is None and not (self.U_.any() and self.V_.any())
        if alike and self.validation_ is None and np.count_nonzero(ratings.level_counts) > 1:
            warnings.warn(
                f"{self._called or type(self).__name__}: all factors are zero: alpha={self.alpha_:g} is too large",
                UserWarning,
                stacklevel=3,
            )

    def _check_learned(self) -> None:
        super()._check_learned()
        check_number("alpha_", self.alpha_, low=0, inclusive=False)
        if self.validation_ is not None:
            self.validation_ = Validation.from_plain(self.validation_)

    def first_arrays(self, ratings: Ratings, generator: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Return where a fit begins: small random factors, no biases, thresholds a margin of one apart.

        More factors than users or items add nothing (the product has no higher rank), so there are at most as many.
        """
        n, m = ratings.shape
        d, R = min(self.n_factors, n, m), ratings.n_levels
        # Nothing but the penalty bears on who has no ratings: zero is the optimum, and the start stays there.
        return {
            "U": generator.normal(0, START_SCALE, (n, d)).astype(np.float32) * (ratings.user_counts > 0)[:, None],
            "V": generator.normal(0, START_SCALE, (m, d)).astype(np.float32) * (ratings.item_counts > 0)[:, None],
            "b": np.zeros(n),
            "c": np.zeros(m),
            "own": np.tile(np.arange(1, R) - R / 2, (n, 1)),
        }


class LossModel(TunedModel, ThresholdModel):
    """A `ThresholdModel` learned by minimising a loss on observed entries plus ridge penalties with a solver.

    Subclasses give the loss, the targets, which arrays are free, and the thresholds for the factors found.
    """

    _learned = (*TunedModel._learned, "thresholds_", "common_thresholds_")

    margin: str

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _loss(self, n_levels: int) -> EntryLoss:
        """Return the loss."""

    @abstractmethod
    def _user_thresholds(self, ratings: Ratings, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Return the boundaries of the users in `ratings`, increasing; factors and biases are set already."""

    def _common_thresholds(self, ratings: Ratings) -> NDArray[Any]:
        """Return the boundaries for unknown users; those of the users in `ratings` are set already."""
        return mean_thresholds(self.thresholds_[ratings.user_counts > 0])

    def _targets(self, ratings: Ratings) -> NDArray[Any]:
        """Return the targets of the loss in the order of the entries."""
        return ratings.levels

    def _user_penalties(self) -> dict[str, Penalty | None]:
        """Return the free arrays b and own, as far as the model has them, with their penalties."""
        return {}

    # ---------------------------------------------------------------- fitting

    def _check_params(self) -> None:
        super()._check_params()
        check_choice("margin", self.margin, MARGIN_LOSSES)
        if not MARGIN_LOSSES[self.margin].smooth:
            smooth = " or ".join(repr(name) for name, loss in MARGIN_LOSSES.items() if loss.smooth)
            raise SolverMismatchError(
                f"margin={self.margin!r} has no gradient, which every solver here needs: take {smooth}"
            )
        check_choice("solver", self.solver, SOLVERS)

    def solve(
        self,
        ratings: Ratings,
        alpha: float,
        start: Mapping[str, NDArray[Any]],
        *,
        tol: float | None = None,
        callback: Callback | None = None,
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        """Minimise the objective at `alpha` from the arrays `start`; set factors, biases and thresholds."""
        penalties: dict[str, Penalty | None] = {"U": L2(alpha), "V": L2(alpha)}
        if self.alpha_bias is not None:
            penalties["c"] = L2(self.alpha_bias)
        penalties |= self._user_penalties()
        result, arrays = self._minimise(ratings, penalties, start, {}, tol, callback)
        self.U_, self.V_ = without_rounding(arrays["U"], arrays["V"])
        self.user_bias_, self.item_bias_ = arrays["b"], arrays["c"]
        rated = ratings.user_counts > 0
        self.thresholds_ = self._user_thresholds(ratings, arrays).astype(self.dtype, copy=False)
        self.common_thresholds_ = self._common_thresholds(ratings).astype(self.dtype, copy=False)
        self.thresholds_[~rated] = self.common_thresholds_
        return result, arrays

    def _fold_in_ratings(self, ratings: Ratings) -> None:
        """Minimise the same objective over the new users' arrays; V, c and the mean thresholds are fixed."""
        n, d = len(ratings.users), self.V_.shape[1]
        penalties: dict[str, Penalty | None] = {"U": L2(self.alpha_)}
        penalties |= {k: L2(p.alpha) if p is not None else None for k, p in self._user_penalties().items()}
        shift = np.zeros((n, ratings.n_levels - 1))
        start = {"U": np.zeros((n, d)), "b": np.zeros(n), "own": shift}
        fixed = {"V": self.V_, "c": self.item_bias_, "common": self.common_thresholds_}
        if "own" not in penalties:
            del fixed["common"]
        result, arrays = self._minimise(ratings, penalties, start, fixed, None, None)
        warn_if_unfinished(result, self, stacklevel=4, name=self._called)
        self.U_, self.user_bias_ = arrays["U"], arrays["b"]
        if "own" in arrays:
            arrays["own"] = arrays["own"] + self.common_thresholds_
        self.thresholds_ = self._user_thresholds(ratings, arrays).astype(self.dtype, copy=False)
        self.thresholds_[ratings.user_counts == 0] = self.common_thresholds_

    def _minimise(
        self,
        ratings: Ratings,
        penalties: Mapping[str, Penalty | None],
        start: Mapping[str, NDArray[Any]],
        fixed: Mapping[str, NDArray[Any]],
        tol: float | None,
        callback: Callback | None,
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        problem = ObservedProblem(
            ratings,
            self._targets(ratings),
            self._loss(ratings.n_levels),
            {name: start[name].shape for name in penalties},
            {name: penalty for name, penalty in penalties.items() if penalty is not None},
            fixed,
            self.dtype,
        )
        result = SOLVERS[self.solver](
            problem,
            problem.pack(start),
            max_iter=self.max_iter,
            tol=self.tol if tol is None else tol,
            callback=callback,
        )
        arrays = problem.arrays(result.x)
        # Copies of free arrays: views would keep the whole vector of parameters alive for one small array.
        return result, arrays | {name: np.array(arrays[name]) for name in penalties}


def without_rounding(U: NDArray[Any], V: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return factors, or exact zeros where all their products are negligible."""
    longest = [float(np.linalg.norm(factor, axis=1).max()) for factor in (U, V)]
    if longest[0] * longest[1] < NEGLIGIBLE:
        return np.zeros_like(U), np.zeros_like(V)
    return U, V


def mean_thresholds(thresholds: NDArray[Any]) -> NDArray[Any]:
    """Return the mean of users' boundaries, over those users for whom a boundary is finite.

    A boundary that is infinite for everyone stays so: below all levels if it comes before the finite ones, or, where
    none is finite, if it is for most users.
    """
    finite = np.isfinite(thresholds)
    known = finite.any(axis=0)
    counts = np.maximum(finite.sum(axis=0), 1)
    mean = np.where(finite, thresholds, 0).sum(axis=0, dtype=float) / counts
    below = np.isneginf(thresholds).sum(axis=0) > len(thresholds) / 2
    first = int(np.argmax(known)) if known.any() else np.count_nonzero(below)
    mean[~known] = np.where(np.flatnonzero(~known) < first, -np.inf, np.inf)
    return np.maximum.accumulate(mean).astype(thresholds.dtype)
