"""Factorizations learned from ratings in shards: rows of users live with the shards."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cofactor.checks import make_generator
from cofactor.errors import Argument, InvalidInputError
from cofactor.model.convergence import warn_if_unfinished
from cofactor.problems.in_shards import ShardProblem, ShardVectors, UserPart
from cofactor.problems.least_squares_in_shards import ColumnsInShards, LeastSquaresPart, ShardLeastSquares
from cofactor.problems.observed import Entries
from cofactor.problems.samples_in_shards import generators_of_shards
from cofactor.ratings.boundaries import half_way
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.loss_fit import NEGLIGIBLE, all_penalties, longest_row
from cofactor.ratings.factors.rows_in_shards import RowsByLoss, longest_of, of_rows, set_users
from cofactor.ratings.factors.start import first_items, first_users
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.shard_work import key_of
from cofactor.ratings.sharded import ShardedRatings
from cofactor.solvers.descent import descend
from cofactor.solvers.lbfgs import quasi_newton
from cofactor.solvers.parts import Rounds
from cofactor.solvers.result import Result, Trace

if TYPE_CHECKING:
    from cofactor.ratings.factors.base import FactorModel

__all__ = ["fit_in_shards", "fit_least_squares_in_shards"]

#: Number of stored pairs: that of `lbfgs` where curvatures are known.
_MEMORY = 2


def fit_in_shards(model: Any, given: FitInput) -> None:
    """Minimise the objective of `solve_by_loss` over ratings in shards; set all that a fit sets."""
    ratings: Any = given.ratings
    _check(model, given, "lbfgs")
    alpha, R, d = float(model.alpha), ratings.n_levels, min(model.n_factors, *ratings.shape)
    generator = make_generator(model.random_state)
    generators = generators_of_shards(generator, np.diff(ratings.bounds), d)
    shared = first_items(ratings.item_counts, d, generator)
    opened, penalties = _Opened(ratings, clone(model).set_params(callback=None)), all_penalties(model, alpha)
    problem = ShardProblem(opened, model._loss(R), penalties, np.dtype(model.dtype))
    parts = ratings.parts(partial(_part, problem, R, d, generators), key_of(model))
    own = first_users(np.ones(1, np.int64), d, R, generator)["own"][0] if "own" in penalties else np.zeros(0)
    trace = partial(Trace, max_iter=model.max_iter, tol=model.tol, callback=given.monitor.stage(type(model).__name__))
    vectors = ShardVectors(
        parts, problem, shared, ratings.shape[0], ratings.item_counts, ratings.shape[0] * own, _MEMORY, trace
    )
    result = quasi_newton(vectors, vectors.trace)
    _set_by_loss(model, ratings, parts, vectors.arrays())
    _set_outcome(model, given, result, parts)


def fit_least_squares_in_shards(model: Any, given: FitInput, solver: str = "exact", by_count: bool = False) -> None:
    """Minimise the objective of `ALS`, or of `PMF`, over ratings in shards; set all that a fit sets.

    Parameters
    ----------
    model : ALS or PMF
    given : FitInput
    solver : str, default="exact"
        What the model calls this way to solve it.
    by_count : bool, default=False
        Whether penalties of users and items count once for each rating.
    """
    ratings: Any = given.ratings
    _check(model, given, solver)
    alpha, d = float(model.alpha), min(model.n_factors, *ratings.shape)
    generator = make_generator(model.random_state)
    generators = generators_of_shards(generator, np.diff(ratings.bounds), d)
    shared = first_items(ratings.item_counts, d, generator)
    model.boundaries_ = half_way(ratings.scale)
    model.mean_ = float(ratings.level_counts @ ratings.scale) / ratings.n_ratings
    values = np.append(0.0, ratings.scale - model.mean_).astype(model.dtype)
    problem = ShardLeastSquares(
        _Levels(ratings), values, ratings.bounds, ratings.item_counts, d, alpha, model.alpha_bias, by_count
    )
    make = partial(_least_squares_part, problem, ratings.n_levels, generators)
    parts = ratings.parts(make, key_of(model))
    columns = ColumnsInShards(parts, problem)
    trace = Trace(columns, model.max_iter, model.tol, given.monitor.stage(type(model).__name__))
    result = descend(columns, columns.pack(shared), columns.update, trace)
    found = columns.arrays(result.x)
    model.V_, model.item_bias_ = np.array(found["V"]), np.array(found["c"])
    set_users(model, ratings, parts, of_rows)
    _set_outcome(model, given, result, parts)


def _set_outcome(model: Any, given: FitInput, result: Result, parts: Rounds) -> None:
    """Set what is known of the fit itself."""
    parts.done()
    model.alpha_, model.validation_, model.links_ = float(model.alpha), None, (None, None)
    model.objective_, model.certificate_, model.n_iter_ = result.objective, result.certificate, result.n_iter
    model.history_, model.seconds_ = result.history, result.seconds
    warn_if_unfinished(result, model, name=given.name)


def _check(model: FactorModel, given: FitInput, solver: str) -> None:
    """Refuse what a fit in shards cannot do."""
    if model.alpha == "auto":
        raise InvalidInputError(
            (Argument("alpha", "auto"), " is chosen by fits of data in memory"),
            argument="alpha",
            advice=(
                "fit a part of the ratings, one of the files or in Python X.shard(0), with ",
                *(Argument("alpha", "auto"), " first, and give the one found"),
            ),
        )
    if model.solver != solver:
        raise InvalidInputError(f"ratings in shards take {solver!r}", argument="solver", found=model.solver)
    if any(table is not None for table in given.features):
        raise InvalidInputError("ratings in shards take no features of users or items", argument="X")


class HasTargets(Protocol):
    """What says the targets of ratings."""

    def _targets(self, ratings: Ratings) -> NDArray[Any]:
        """Return the targets of the loss in the order of the entries."""


@dataclass(frozen=True)
class _Opened:
    """The entries and targets of any shard."""

    ratings: ShardedRatings
    model: HasTargets

    def __call__(self, k: int) -> tuple[Ratings, NDArray[Any]]:
        shard = self.ratings.shard(k)
        return shard, self.model._targets(shard)


@dataclass(frozen=True)
class _Levels:
    """The entries of any shard and their levels."""

    ratings: ShardedRatings

    def __call__(self, k: int) -> tuple[Ratings, NDArray[Any]]:
        shard = self.ratings.shard(k)
        return shard, shard.levels


def _part(problem: ShardProblem, n_levels: int, d: int, generators: list[np.random.Generator], k: int) -> UserPart:
    """Return the rows of shard k at the start."""
    return UserPart(k, problem, _first_of(problem.open, k, d, n_levels, generators), _MEMORY)


def _least_squares_part(
    problem: ShardLeastSquares, n_levels: int, generators: list[np.random.Generator], k: int
) -> LeastSquaresPart:
    """Return the rows of shard k at the start."""
    return LeastSquaresPart(k, problem, _first_of(problem.open, k, problem.n_factors, n_levels, generators))


def _first_of(
    open_: Callable[[int], tuple[Entries, Any]], k: int, d: int, n_levels: int, generators: list[np.random.Generator]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the users of shard k at the start."""
    entries, _ = open_(k)
    return first_users(np.diff(entries.indptr), d, n_levels, copy.deepcopy(generators[k]))


def _set_by_loss(model: Any, ratings: ShardedRatings, parts: Rounds, columns: dict[str, NDArray[Any]]) -> None:
    """Set what a minimisation found for columns, and then what it found for rows."""
    lean = clone(model).set_params(callback=None)
    lean.V_, lean.item_bias_, lean.scale_ = columns["V"], columns["c"], ratings.scale
    rows = RowsByLoss(ratings, lean)
    longest = max(float(answer["longest"]) for answer in parts.each({"op": "arrays", "then": longest_of}))
    if longest * longest_row(columns["V"]) < NEGLIGIBLE:
        lean.V_, rows = np.zeros_like(lean.V_), replace(rows, negligible=True)
    model.V_, model.item_bias_ = lean.V_, lean.item_bias_
    common = model._common_thresholds(ratings, lambda: parts.told(lambda: {"op": "arrays", "then": rows.sums}))
    model.common_thresholds_ = common.astype(model.dtype, copy=False)
    set_users(model, ratings, parts, replace(rows, common=model.common_thresholds_))
