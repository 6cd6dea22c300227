"""Factorizations learned from ratings in shards: rows of users live with the shards."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cofactor.checks import make_generator
from cofactor.errors import InvalidInputError
from cofactor.model.convergence import warn_if_unfinished
from cofactor.problems.in_shards import ShardProblem, ShardVectors, UserPart
from cofactor.problems.least_squares_in_shards import ColumnsInShards, LeastSquaresPart, ShardLeastSquares
from cofactor.problems.observed import Entries
from cofactor.problems.samples_in_shards import generators_of_shards
from cofactor.ratings.boundaries import half_way
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.choice_in_shards import Solved, choose_alpha_in_shards
from cofactor.ratings.factors.loss_fit import NEGLIGIBLE, all_penalties, longest_row
from cofactor.ratings.factors.rows_in_shards import RowsByLoss, longest_of, of_rows, set_users
from cofactor.ratings.factors.start import first_items, first_users
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.shard_folder import OfItems
from cofactor.ratings.sharded import ShardedRatings
from cofactor.solvers.descent import descend
from cofactor.solvers.lbfgs import quasi_newton
from cofactor.solvers.parts import Answer, Rounds
from cofactor.solvers.result import Callback, Trace

if TYPE_CHECKING:
    from cofactor.ratings.factors.base import FactorModel

__all__ = ["fit_in_shards", "fit_least_squares_in_shards"]

#: What a fit finds that is not of users, by attribute, as far as a model has it.
_OF_ITEMS = ("V_", "item_bias_", "common_thresholds_", "boundaries_", "mean_")

#: Number of stored pairs: that of `lbfgs` where curvatures are known.
_MEMORY = 2


def fit_in_shards(model: Any, given: FitInput) -> None:
    """Minimise the objective of `solve_by_loss` over ratings in shards; set all that a fit sets."""
    _check(model, given, "lbfgs")
    _fit(model, given, _solve_by_loss)


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
    _check(model, given, solver)
    _fit(model, given, partial(_solve_least_squares, by_count))


@dataclass(frozen=True)
class _Start:
    """Where fits of a model begin.

    Attributes
    ----------
    items : mapping from str to ndarray
        Arrays of items.
    generators : list of Generator
        With which each shard makes the arrays of its users.
    own : ndarray of shape (R - 1,)
        Thresholds of each user.
    """

    items: Mapping[str, NDArray[Any]]
    generators: list[np.random.Generator]
    own: NDArray[Any]

    @classmethod
    def of(cls, model: FactorModel, ratings: ShardedRatings, generator: np.random.Generator) -> _Start:
        """Return that of a fit to some ratings."""
        d = min(model.n_factors, *ratings.shape)
        generators = generators_of_shards(generator, np.diff(ratings.bounds), d)
        own = first_users(np.ones(1, np.int64), d, ratings.n_levels, np.random.default_rng(0))["own"][0]
        return cls(first_items(ratings.item_counts, d, generator), generators, own)


def _fit(model: Any, given: FitInput, solve: Callable[..., Solved]) -> None:
    """Choose alpha where it is not given, minimise, and set all that a fit sets."""
    ratings: Any = given.ratings
    generator = make_generator(model.random_state)
    start = _Start.of(model, ratings, generator)
    lean = clone(model).set_params(callback=None)
    lean.scale_ = ratings.scale
    ready: Any = partial(solve, lean, start)
    alpha, model.validation_ = model.alpha, None
    if alpha == "auto":
        model.validation_ = choose_alpha_in_shards(lean, ratings, ready, generator, given.monitor)
        alpha = model.validation_.best
    found = ready(ratings, float(alpha), callback=given.monitor.stage(type(model).__name__))
    for name in _OF_ITEMS:
        if hasattr(found.model, name):
            setattr(model, name, getattr(found.model, name))
    set_users(model, ratings, found.parts, found.finish)
    found.parts.done()
    result = found.result
    model.alpha_, model.links_ = float(alpha), (None, None)
    model.objective_, model.certificate_, model.n_iter_ = result.objective, result.certificate, result.n_iter
    model.history_, model.seconds_ = result.history, result.seconds
    warn_if_unfinished(result, model, name=given.name)


def _solve_by_loss(
    lean: Any,
    start: _Start,
    ratings: ShardedRatings,
    alpha: float,
    *,
    tol: float | None = None,
    callback: Callback | None = None,
) -> Solved:
    """Minimise the objective of `solve_by_loss` at `alpha`."""
    R, d = ratings.n_levels, start.items["V"].shape[1]
    tol = lean.tol if tol is None else tol
    opened, penalties = _Opened(ratings, lean), all_penalties(lean, alpha)
    problem = ShardProblem(opened, lean._loss(R), penalties, np.dtype(lean.dtype))
    parts = ratings.parts(partial(_part, problem, R, d, start.generators), lean, _step(alpha, tol))
    own = start.own if "own" in penalties else np.zeros(0)
    vectors = ShardVectors(
        parts,
        problem,
        start.items,
        ratings.shape[0],
        ratings.item_counts,
        ratings.shape[0] * own,
        _MEMORY,
        partial(Trace, max_iter=lean.max_iter, tol=tol, callback=callback),
    )
    result = quasi_newton(vectors, vectors.trace)
    model, rows = _by_loss(lean, ratings, parts, vectors.arrays())
    columns = {"V": model.V_, "c": model.item_bias_}
    objective = float(parts.told(lambda: {"op": "arrays", "then": _Kept(problem, rows, columns)})["value"])
    objective += sum(p.value(columns[name]) for name, p in problem.of_columns.items() if p is not None)
    return Solved(model, rows, replace(result, objective=objective), parts)


def _solve_least_squares(
    by_count: bool,
    lean: Any,
    start: _Start,
    ratings: ShardedRatings,
    alpha: float,
    *,
    tol: float | None = None,
    callback: Callback | None = None,
) -> Solved:
    """Minimise the objective of `ALS`, or of `PMF`, at `alpha`; to no finer tolerance than theirs."""
    d, tol = start.items["V"].shape[1], max(tol or 0, lean.tol)
    model = copy.copy(lean)
    model.boundaries_ = half_way(ratings.scale)
    model.mean_ = float(ratings.level_counts @ ratings.scale) / ratings.n_ratings
    values = np.append(0.0, ratings.scale - model.mean_).astype(lean.dtype)
    problem = ShardLeastSquares(
        _Levels(ratings), values, ratings.bounds, ratings.item_counts, d, alpha, lean.alpha_bias, by_count
    )
    make = partial(_least_squares_part, problem, ratings.n_levels, start.generators)
    parts = ratings.parts(make, lean, _step(alpha, tol))
    columns = ColumnsInShards(parts, problem)
    trace = Trace(columns, lean.max_iter, tol, callback)
    result = descend(columns, columns.pack(start.items), columns.update, trace)
    found = columns.arrays(result.x)
    model.V_, model.item_bias_ = np.array(found["V"]), np.array(found["c"])
    return Solved(model, of_rows, result, parts)


def _step(alpha: float, tol: float) -> str:
    """Return what tells a minimisation from others of a fit."""
    return f"alpha {alpha!r} to {tol!r}"


def _check(model: FactorModel, given: FitInput, solver: str) -> None:
    """Refuse what a fit in shards cannot do."""
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

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return entries and levels of the items first..last-1."""
        return self.ratings.of_items(k, first, last)


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


@dataclass(frozen=True)
class _Kept:
    """The objective of the users of a shard at what a model keeps of them, given the arrays of columns."""

    problem: ShardProblem
    rows: RowsByLoss
    columns: Mapping[str, NDArray[Any]]

    def __call__(self, k: int, rows: Mapping[str, NDArray[Any]]) -> Answer:
        kept = self.rows(k, rows)
        arrays = {"U": kept["U_"], "b": kept["user_bias_"], "own": kept["thresholds_"]}
        problem = self.problem.of_shard(k, arrays, self.columns, self.rows.common)
        x = problem.pack(arrays)
        return {"value": np.array(problem.losses(problem.arrays(x), {}) + problem.smooth_value(x))}


def _by_loss(
    lean: Any, ratings: ShardedRatings, parts: Rounds, columns: dict[str, NDArray[Any]]
) -> tuple[Any, RowsByLoss]:
    """Return a model with what a minimisation found for columns, and what makes the arrays of users."""
    model = copy.copy(lean)
    model.V_, model.item_bias_ = columns["V"], columns["c"]
    rows = RowsByLoss(ratings, model)
    longest = max(float(answer["longest"]) for answer in parts.each({"op": "arrays", "then": longest_of}))
    if longest * longest_row(columns["V"]) < NEGLIGIBLE:
        model.V_, rows = np.zeros_like(model.V_), replace(rows, negligible=True)
    common = model._common_thresholds(ratings, lambda: parts.told(lambda: {"op": "arrays", "then": rows.sums}))
    model.common_thresholds_ = common.astype(model.dtype, copy=False)
    return model, replace(rows, common=model.common_thresholds_)
