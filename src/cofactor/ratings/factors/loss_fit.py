"""Factorizations learned by minimising a loss on observed entries plus ridge penalties with a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_choice
from cofactor.errors import Argument
from cofactor.losses import MARGIN_LOSSES, EntryLoss
from cofactor.model.convergence import warn_if_unfinished, warn_of_unsolved
from cofactor.penalties import L2, Penalty, RegressedL2
from cofactor.problems import ObservedProblem
from cofactor.ratings.data import Ratings
from cofactor.ratings.factors.linked import Drawn, FactorLink, around, linked_penalties, means_of
from cofactor.ratings.fit_input import FitInput
from cofactor.solvers import SOLVERS, Result, SolverMismatchError
from cofactor.solvers.result import Callback

__all__ = [
    "LossFactorization",
    "all_penalties",
    "check_loss_params",
    "fold_in_by_loss",
    "fold_items_in_by_loss",
    "longest_row",
    "mean_thresholds",
    "solve_by_loss",
    "threshold_sums",
    "without_rounding",
]

Arrays = Mapping[str, NDArray[Any]]

#: Products of factors below this are negligible, where the margin is 1: a strong penalty drives them towards zero, and
#: what is left depends on rounding and on where the solver stopped.
NEGLIGIBLE = 1e-3


class LossFactorization(Protocol):
    """What the functions of this module need of a model."""

    U_: NDArray[Any]
    V_: NDArray[Any]
    user_bias_: NDArray[Any]
    item_bias_: NDArray[Any]
    thresholds_: NDArray[Any]
    common_thresholds_: NDArray[Any]
    alpha_: float
    links_: tuple[FactorLink | None, FactorLink | None]
    alpha_bias: float | None
    margin: str
    solver: str
    max_iter: int
    tol: float
    dtype: str

    @property
    def _linked(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the arrays of users, and of items, of which features say something."""

    def _loss(self, n_levels: int) -> EntryLoss:
        """Return the loss."""

    def _targets(self, ratings: Ratings) -> NDArray[Any]:
        """Return the targets of the loss in the order of the entries."""

    def _user_penalties(self) -> dict[str, Penalty | None]:
        """Return the free arrays b and own, as far as the model has them, with their penalties."""

    def _user_thresholds(self, ratings: Ratings, arrays: Arrays) -> NDArray[Any]:
        """Return the boundaries of the users in `ratings`; factors and biases are set already."""

    def _common_thresholds(self, ratings: Ratings, sums: Callable[[], Arrays]) -> NDArray[Any]:
        """Return the boundaries for unknown users; `sums` has the `threshold_sums` of the users with ratings."""


def check_loss_params(model: LossFactorization) -> None:
    """Refuse a loss or a solver that does not exist, and a loss that no solver here can take."""
    check_choice("margin", model.margin, MARGIN_LOSSES)
    if not MARGIN_LOSSES[model.margin].smooth:
        smooth = " or ".join(repr(name) for name, loss in MARGIN_LOSSES.items() if loss.smooth)
        raise SolverMismatchError(
            (Argument("margin", model.margin), f" has no gradient, which every solver here needs: take {smooth}"),
            argument="margin",
        )
    check_choice("solver", model.solver, SOLVERS)


def solve_by_loss(
    model: LossFactorization,
    ratings: Ratings,
    alpha: float,
    start: Arrays,
    tol: float | None,
    callback: Callback | None,
) -> tuple[Result, dict[str, NDArray[Any]]]:
    """Minimise the objective at `alpha` from the arrays `start`; set factors, biases and thresholds of the model.

    The objective of the result is that of what the model keeps.
    """
    penalties = _with_features(all_penalties(model, alpha), linked_penalties(start, model._linked))
    problem = _problem(model, ratings, penalties, start, {})
    result, arrays = _minimise(model, problem, start, tol, callback)
    model.U_, model.V_ = without_rounding(arrays["U"], arrays["V"])
    model.user_bias_, model.item_bias_ = arrays["b"], arrays["c"]
    rated = ratings.user_counts > 0
    model.thresholds_ = model._user_thresholds(ratings, arrays).astype(model.dtype, copy=False)
    common = model._common_thresholds(ratings, lambda: threshold_sums(model.thresholds_[rated]))
    model.common_thresholds_ = common.astype(model.dtype, copy=False)
    if not isinstance(penalties.get("own"), RegressedL2):
        model.thresholds_[~rated] = model.common_thresholds_
    kept = {**arrays, "U": model.U_, "V": model.V_, "own": model.thresholds_}
    return _at(problem, problem.pack(kept), result), {**start, **arrays}


def all_penalties(model: LossFactorization, alpha: float) -> dict[str, Penalty | None]:
    """Return the free arrays with their penalties."""
    penalties: dict[str, Penalty | None] = {"U": L2(alpha), "V": L2(alpha)}
    if model.alpha_bias is not None:
        penalties["c"] = L2(model.alpha_bias)
    return penalties | model._user_penalties()


def fold_in_by_loss(model: LossFactorization, given: FitInput) -> None:
    """Minimise the same objective by each new user's arrays; V, c and the mean thresholds are fixed."""
    from cofactor.problems.each_row import minimise_rows

    ratings = given.ratings
    n, d = len(ratings.users), model.V_.shape[1]
    penalties: dict[str, Penalty | None] = {"U": L2(model.alpha_)}
    penalties |= {k: L2(p.alpha) if p is not None else None for k, p in model._user_penalties().items()}
    start: Arrays = {"U": np.zeros((n, d)), "b": np.zeros(n), "own": np.zeros((n, ratings.n_levels - 1))}
    means = means_of(model.links_[0], ratings, given.user_features, "user_features")
    penalties, start = _with_features(penalties, around(means)), {**start, **means}
    fixed = {"V": model.V_, "c": model.item_bias_}
    if "own" in penalties:
        fixed["common"] = model.common_thresholds_
    problem = _problem(model, ratings, penalties, start, fixed)
    found, n_unsolved = minimise_rows(problem, start, model.max_iter)
    warn_of_unsolved(n_unsolved, n, model, given.name)
    arrays = {**problem.arrays(problem.pack(start)), **found}
    model.U_, model.user_bias_ = arrays["U"], arrays["b"]
    if "own" in arrays:
        arrays["own"] = arrays["own"] + model.common_thresholds_
    model.thresholds_ = model._user_thresholds(ratings, arrays).astype(model.dtype, copy=False)
    if "own" not in means:
        model.thresholds_[ratings.user_counts == 0] = model.common_thresholds_


def fold_items_in_by_loss(model: LossFactorization, given: FitInput, loss: EntryLoss | None = None) -> None:
    """Minimise the same objective, or that of another loss, over V and c of the given items; users' arrays are fixed.

    Parameters
    ----------
    model : LossFactorization
    given : FitInput
    loss : EntryLoss, optional
        In place of the model's, where that would let users' arrays move.
    """
    ratings = given.ratings
    m, d = len(ratings.items), model.U_.shape[1]
    penalties: dict[str, Penalty | None] = {"V": L2(model.alpha_)}
    if model.alpha_bias is not None:
        penalties["c"] = L2(model.alpha_bias)
    means = means_of(model.links_[1], ratings, given.item_features, "item_features")
    penalties = _with_features(penalties, around(means))
    fixed = {"U": model.U_, "b": model.user_bias_}
    if "own" in model._user_penalties():
        fixed["own"] = model.thresholds_
    start: Arrays = {"V": np.zeros((m, d)), "c": np.zeros(m), **means}
    result, arrays = _minimise(model, _problem(model, ratings, penalties, start, fixed, loss), start, None, None)
    warn_if_unfinished(result, model, name=given.name)
    model.V_, model.item_bias_ = arrays["V"], arrays["c"]


def _with_features(penalties: Mapping[str, Penalty | None], drawn: Drawn) -> dict[str, Penalty | None]:
    """Return penalties, those of some arrays replaced by others of the same weight."""
    return {
        name: drawn[name](penalty.alpha) if name in drawn and penalty is not None else penalty
        for name, penalty in penalties.items()
    }


def _problem(
    model: LossFactorization,
    ratings: Ratings,
    penalties: Mapping[str, Penalty | None],
    start: Arrays,
    fixed: Arrays,
    loss: EntryLoss | None = None,
) -> ObservedProblem:
    return ObservedProblem(
        ratings,
        model._targets(ratings),
        loss or model._loss(ratings.n_levels),
        {name: start[name].shape for name in penalties},
        {name: penalty for name, penalty in penalties.items() if penalty is not None},
        fixed,
        model.dtype,
        ratings.weights,
    )


def _minimise(
    model: LossFactorization, problem: ObservedProblem, start: Arrays, tol: float | None, callback: Callback | None
) -> tuple[Result, dict[str, NDArray[Any]]]:
    result = SOLVERS[model.solver](
        problem,
        problem.pack(start),
        max_iter=model.max_iter,
        tol=model.tol if tol is None else tol,
        callback=callback,
    )
    arrays = problem.arrays(result.x)
    # Copies of free arrays: views would keep the whole vector of parameters alive for one small array.
    return result, arrays | {name: np.array(arrays[name]) for name in problem.layout.shapes}


def _at(problem: ObservedProblem, x: NDArray[Any], result: Result) -> Result:
    """Return the outcome with the objective and the certificate at x, where that is not the point found."""
    if np.array_equal(x, result.x):
        return result
    gradient = np.empty_like(x)
    value = problem.value_gradient(x, gradient) + problem.nonsmooth_value(x)
    return replace(result, x=x, objective=value, certificate=problem.certificate(x, gradient))


def without_rounding(U: NDArray[Any], V: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return factors, or exact zeros where all their products are negligible."""
    if longest_row(U) * longest_row(V) < NEGLIGIBLE:
        return np.zeros_like(U), np.zeros_like(V)
    return U, V


def longest_row(factors: NDArray[Any]) -> float:
    """Return the largest norm of a row."""
    return float(np.linalg.norm(factors, axis=1).max())


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
