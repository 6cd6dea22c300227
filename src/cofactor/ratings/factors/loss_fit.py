"""Factorizations learned by minimising a loss on observed entries plus ridge penalties with a solver."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import one_of
from cofactor.errors import Argument
from cofactor.losses import MARGIN_LOSSES, EntryLoss
from cofactor.model.convergence import warn_if_unfinished, warn_of_unsolved
from cofactor.model.estimator import learned, param
from cofactor.penalties import L2, Penalty, RegressedL2
from cofactor.problems.observed import ObservedProblem, RowsPart, ShardProblem
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.base import FactorModel, linked_penalties, penalties_around
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.solvers import SOLVERS, Result, SolverMismatchError
from cofactor.solvers.parts import Answer, Parts, SerialExecutor
from cofactor.solvers.result import Callback

if TYPE_CHECKING:
    from cofactor.problems.least_squares import PenaltyFactories
    from cofactor.ratings.factors.in_shards import Solved, Start
    from cofactor.ratings.sharded import ShardedRatings

Arrays = Mapping[str, NDArray[Any]]

#: Products of factors below this are negligible, where the margin is 1: a strong penalty drives them towards zero, and
#: what is left depends on rounding and on where the solver stopped.
NEGLIGIBLE = 1e-3

#: What is kept of users, by attribute.
_OF_USERS = ("U_", "user_bias_", "thresholds_", "planes_")


class LossFactorization(FactorModel):
    """A factorization that minimises a margin loss on observed entries plus ridge penalties.

    Subclasses name the loss and its targets, the free arrays of users with their penalties, and boundaries.
    """

    tags = Tags(weights=True, shards=True, similar=True, vectors=True)

    n_factors: int = param(default=100)
    margin: str = param(one_of(MARGIN_LOSSES), default="smooth-hinge")
    solver: str = param(one_of(SOLVERS), default="lbfgs")
    max_iter: int = param(default=500)
    tol: float = param(default=1e-5)

    thresholds_: NDArray[Any] = learned("users levels-1", finite=False)
    common_thresholds_: NDArray[Any] = learned("levels-1", finite=False)

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _loss(self, n_levels: int) -> EntryLoss:
        """Return the loss."""

    def _targets(self, ratings: Ratings) -> NDArray[Any]:
        """Return the targets of the loss in the order of the entries."""
        return ratings.levels

    def _user_penalties(self) -> dict[str, Penalty | None]:
        """Return the free arrays b and own, as far as the model has them, with their penalties."""
        return {}

    @abstractmethod
    def _user_thresholds(self, ratings: Ratings, arrays: Arrays) -> NDArray[Any]:
        """Return the boundaries of the users in `ratings`; factors and biases are set already."""

    @abstractmethod
    def _common_thresholds(self, level_counts: NDArray[np.int64], sums: Arrays) -> NDArray[Any]:
        """Return the boundaries for unknown users; `sums` are the `threshold_sums` of the users with ratings."""

    # ---------------------------------------------------------------- learning

    def _check_together(self) -> None:
        if not MARGIN_LOSSES[self.margin].smooth:
            smooth = " or ".join(repr(name) for name, loss in MARGIN_LOSSES.items() if loss.smooth)
            raise SolverMismatchError(
                (Argument("margin", self.margin), f" has no gradient, which every solver here needs: take {smooth}"),
                argument="margin",
            )

    def solve(
        self,
        ratings: Ratings,
        alpha: float,
        start: Arrays,
        *,
        tol: float | None = None,
        callback: Callback | None = None,
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        """Minimise J at `alpha` from the arrays `start`; set factors, biases and thresholds.

        The objective of the result is that of what the model keeps.
        """
        penalties = _with_features(self._penalties(alpha), linked_penalties(start, self._linked))
        problem = self._problem(ratings, penalties, start, {})
        result, arrays = self._minimise(problem, start, tol, callback)
        rows = RowsPart(0, arrays)
        self._finish(ratings, arrays, SerialExecutor(lambda k: rows, 1))
        self.__dict__.update(rows.kept)
        if not isinstance(penalties.get("own"), RegressedL2):
            self.thresholds_[ratings.user_counts == 0] = self.common_thresholds_
        kept = {**arrays, "U": self.U_, "V": self.V_, "own": self.thresholds_}
        return _at(problem, problem.pack(kept), result), {**start, **arrays}

    def _solver_by_parts(self) -> tuple[str, Callable[..., Solved]]:
        return "lbfgs", type(self)._solve_shards

    def _solve_shards(
        self,
        start: Start,
        ratings: ShardedRatings,
        alpha: float,
        *,
        tol: float | None = None,
        callback: Callback | None = None,
    ) -> Solved:
        """Minimise the same objective over ratings in shards, where rows of users are."""
        from cofactor.ratings.factors.in_shards import Solved, minimise_by_parts

        penalties = self._penalties(alpha)
        loss = self._loss(ratings.n_levels)
        problem = ShardProblem(ratings, self._targets, loss, penalties, np.dtype(self.dtype))
        result, arrays, parts = minimise_by_parts(problem, self, start, ratings, alpha, tol, callback)
        some = copy.copy(self)
        some._finish(ratings, arrays, parts)
        columns = {"V": some.V_, "c": some.item_bias_}
        kept = partial(_kept_loss, problem, columns, some.common_thresholds_)
        objective = float(parts.total({"op": "keep", "keep": kept})["value"])
        objective += sum(p.value(columns[name]) for name, p in problem.of_columns.items() if p is not None)
        learned = {name: getattr(some, name) for name in ("V_", "item_bias_", "common_thresholds_")}
        return Solved(learned, _kept_of, replace(result, objective=objective), parts)

    def _finish(self, ratings: Ratings | ShardedRatings, columns: Arrays, parts: Parts) -> None:
        """Set what is kept of items, and the thresholds of unknown users; let parts make what is kept of users."""
        longest = max(float(answer["longest"]) for answer in parts.each({"op": "arrays", "then": _longest_of}))
        negligible = longest * _longest_row(columns["V"]) < NEGLIGIBLE
        self.V_, self.item_bias_ = np.zeros_like(columns["V"]) if negligible else columns["V"], columns["c"]
        keep = partial(copy.copy(self)._users_of_shard, ratings, negligible)
        sums = parts.total({"op": "keep", "keep": keep})
        common = self._common_thresholds(ratings.level_counts, sums)
        self.common_thresholds_ = common.astype(self.dtype, copy=False)

    def _users_of_shard(
        self, ratings: Ratings | ShardedRatings, negligible: bool, k: int, rows: Arrays
    ) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        """Return what is kept of the users of a shard, and the `threshold_sums` of those with ratings.

        Zeros are kept of their factors where all products of factors are negligible.
        """
        some, shard, U = copy.copy(self), ratings.shard(k), rows["U"]
        some._set_users(shard, {**rows, "U": np.zeros_like(U) if negligible else U})
        return _kept_of(k, some.__dict__), threshold_sums(some.thresholds_[shard.user_counts > 0])

    def _set_users(self, ratings: Ratings, arrays: Arrays, common: NDArray[Any] | None = None) -> None:
        """Set the arrays of users, of whom those without ratings have common thresholds, where these are known."""
        self.U_ = arrays["U"]
        self.user_bias_ = arrays["b"] if "b" in arrays else np.zeros(len(self.U_), self.dtype)
        self.thresholds_ = self._user_thresholds(ratings, arrays).astype(self.dtype, copy=False)
        if common is not None:
            self.thresholds_[ratings.user_counts == 0] = common

    def _fold_in(self, given: FitInput) -> None:
        """Minimise J over the new users' arrays; what belongs to items, and the mean thresholds, are fixed."""
        from cofactor.problems.each_row import minimise_rows

        ratings = given.ratings
        n, d = len(ratings.users), self.V_.shape[1]
        penalties: dict[str, Penalty | None] = {"U": L2(self.alpha_)}
        penalties |= {k: L2(p.alpha) if p is not None else None for k, p in self._user_penalties().items()}
        start: Arrays = {"U": np.zeros((n, d)), "b": np.zeros(n), "own": np.zeros((n, ratings.n_levels - 1))}
        means = self._means(given, "user_features")
        penalties, start = _with_features(penalties, penalties_around(means)), {**start, **means}
        fixed = {"V": self.V_, "c": self.item_bias_}
        if "own" in penalties:
            fixed["common"] = self.common_thresholds_
        problem = self._problem(ratings, penalties, start, fixed)
        found, n_unsolved = minimise_rows(problem, start, self.max_iter)
        warn_of_unsolved(n_unsolved, n, self, given.name)
        arrays = {**problem.arrays(problem.pack(start)), **found}
        if "own" in arrays:
            arrays["own"] = arrays["own"] + self.common_thresholds_
        self._set_users(ratings, arrays, None if "own" in means else self.common_thresholds_)

    def _fold_in_items(self, given: FitInput) -> None:
        """Minimise J over the items' arrays; what belongs to users is fixed."""
        self._fold_items_in_by(given, None)

    def _fold_items_in_by(self, given: FitInput, loss: EntryLoss | None) -> None:
        """Minimise J over the items' arrays, perhaps with another loss: one that keeps users' arrays where they are."""
        ratings = given.ratings
        m, d = len(ratings.items), self.U_.shape[1]
        penalties = {name: p for name, p in self._penalties(self.alpha_).items() if name in ("V", "c")}
        means = self._means(given, "item_features")
        penalties = _with_features(penalties, penalties_around(means))
        fixed = {"U": self.U_, "b": self.user_bias_}
        if "own" in self._user_penalties():
            fixed["own"] = self.thresholds_
        start: Arrays = {"V": np.zeros((m, d)), "c": np.zeros(m), **means}
        result, arrays = self._minimise(self._problem(ratings, penalties, start, fixed, loss), start, None, None)
        warn_if_unfinished(result, self, name=given.name)
        self.V_, self.item_bias_ = arrays["V"], arrays["c"]

    def _penalties(self, alpha: float) -> dict[str, Penalty | None]:
        """Return the free arrays with their penalties."""
        penalties: dict[str, Penalty | None] = {"U": L2(alpha), "V": L2(alpha)}
        if self.alpha_bias is not None:
            penalties["c"] = L2(self.alpha_bias)
        return penalties | self._user_penalties()

    def _problem(
        self,
        ratings: Ratings,
        penalties: Mapping[str, Penalty | None],
        start: Arrays,
        fixed: Arrays,
        loss: EntryLoss | None = None,
    ) -> ObservedProblem:
        return ObservedProblem(
            ratings,
            self._targets(ratings),
            loss or self._loss(ratings.n_levels),
            {name: start[name].shape for name in penalties},
            {name: penalty for name, penalty in penalties.items() if penalty is not None},
            fixed,
            self.dtype,
            ratings.weights,
        )

    def _minimise(
        self, problem: ObservedProblem, start: Arrays, tol: float | None, callback: Callback | None
    ) -> tuple[Result, dict[str, NDArray[Any]]]:
        result = SOLVERS[self.solver](
            problem,
            problem.pack(start),
            max_iter=self.max_iter,
            tol=self.tol if tol is None else tol,
            callback=callback,
        )
        arrays = problem.arrays(result.x)
        # Copies of free arrays: views would keep the whole vector of parameters alive for one small array.
        return result, arrays | {name: np.array(arrays[name]) for name in problem.layout.shapes}


def _with_features(penalties: Mapping[str, Penalty | None], drawn: PenaltyFactories) -> dict[str, Penalty | None]:
    """Return penalties, those of some arrays replaced by others of the same weight."""
    return {
        name: drawn[name](penalty.alpha) if name in drawn and penalty is not None else penalty
        for name, penalty in penalties.items()
    }


def _at(problem: ObservedProblem, x: NDArray[Any], result: Result) -> Result:
    """Return the outcome with the objective and the certificate at x, where that is not the point found."""
    if np.array_equal(x, result.x):
        return result
    gradient = np.empty_like(x)
    value = problem.value_gradient(x, gradient) + problem.nonsmooth_value(x)
    return replace(result, x=x, objective=value, certificate=problem.certificate(x, gradient))


def _kept_of(k: int, arrays: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return what is kept of the users of a shard, by attribute."""
    return {name: arrays[name] for name in _OF_USERS if name in arrays}


def _kept_loss(
    problem: ShardProblem, columns: Arrays, common: NDArray[Any], k: int, rows: Arrays
) -> tuple[dict[str, NDArray[Any]], Answer]:
    """Return what is kept of the users of a shard, those without ratings with common thresholds, and their objective.

    Parameters
    ----------
    problem : ShardProblem
    columns : mapping from str to ndarray
        Arrays of columns, as they are kept.
    common : ndarray
        Mean thresholds.
    k, rows
        Number and arrays of the shard.
    """
    kept = _kept_of(k, rows)
    arrays = {"U": kept["U_"], "b": kept["user_bias_"], "own": kept["thresholds_"]}
    part = problem.of_shard(k, arrays, columns, common)
    arrays["own"][np.diff(part.entries.indptr) == 0] = common
    x = part.pack(arrays)
    return kept, {"value": np.array(part.losses(part.arrays(x), {}) + part.smooth_value(x))}


def without_rounding(U: NDArray[Any], V: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return factors, or exact zeros where all their products are negligible."""
    if _longest_row(U) * _longest_row(V) < NEGLIGIBLE:
        return np.zeros_like(U), np.zeros_like(V)
    return U, V


def _longest_row(factors: NDArray[Any]) -> float:
    """Return the largest norm of a row."""
    return float(np.linalg.norm(factors, axis=1).max())


def _longest_of(k: int, rows: Arrays) -> dict[str, NDArray[Any]]:
    """Return the largest norm of the factors of a user of a shard."""
    return {"longest": np.array(_longest_row(rows["U"]))}


def threshold_sums(thresholds: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return what `mean_thresholds` needs of the boundaries of some users; those of others may be added."""
    finite = np.isfinite(thresholds)
    return {
        "sum": np.where(finite, thresholds, 0).sum(axis=0, dtype=float),
        "finite": finite.sum(axis=0),
        "below": np.isneginf(thresholds).sum(axis=0),
        "users": np.array(len(thresholds)),
    }


def mean_thresholds(sums: Arrays) -> NDArray[Any]:
    """Return the mean of users' boundaries, over those users for whom a boundary is finite.

    A boundary that is infinite for everyone stays so: below all levels if it comes before the finite ones, or, where
    none is finite, if it is for most users.

    Parameters
    ----------
    sums : mapping from str to ndarray
        See `threshold_sums`.
    """
    known = sums["finite"] > 0
    mean = sums["sum"] / np.maximum(sums["finite"], 1)
    below = sums["below"] > sums["users"] / 2
    first = int(np.argmax(known)) if known.any() else np.count_nonzero(below)
    mean[~known] = np.where(np.flatnonzero(~known) < first, -np.inf, np.inf)
    return np.maximum.accumulate(mean)
