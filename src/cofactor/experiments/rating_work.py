"""What the experiments with ratings measure: each public function here is the work of cells.

All take ``method``, the class name of a model, ``data``, the name of a data set or of the recipe `made`, ``split``, a
name for people, and ``seed``, which decides data that are made, the split, and where the model starts.

The key of a cell holds the source of this module and of all that it imports, so no claims, pictures or published
numbers are imported here.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cofactor.datasets import RatingDataset, load_ratings, make_ratings
from cofactor.errors import InvalidInputError
from cofactor.evaluation import Holdout, StrongGeneralization, WeakGeneralization
from cofactor.kernels.threads import thread_limit
from cofactor.metrics import rating_report
from cofactor.ratings import MODELS, RatingModel

Settings = Mapping[str, Any]

#: What makes a model the thesis's: no biases, and thresholds which nothing holds together.
THESIS: dict[str, dict[str, Any]] = {
    "MMMF": {"n_factors": 100, "alpha_bias": None, "alpha_thresholds": 0},
    "HMF": {"n_factors": 100, "alpha_bias": None},
    "PMMMF": {"n_factors": 100, "alpha_bias": None},
    "ALS": {"n_factors": 100, "alpha_bias": None, "solver": "cg"},
    "BinaryMMMF": {"n_factors": 100, "alpha_bias": None},
}

#: The same in the plane, for pictures.
IN_PLANE: dict[str, dict[str, Any]] = {
    method: THESIS[method] | {"n_factors": 2, "dtype": "float64"} for method in ("BinaryMMMF", "MMMF", "PMMMF")
}


# ---------------------------------------------------------------- data and models


def load(data: str, seed: int, made: Settings | None = None) -> RatingDataset:
    """Return a data set of the registry or, where a recipe is given, one that `make_ratings` makes from it."""
    return _registered(data) if made is None else _complete(json.dumps(made), seed)[0]


@lru_cache(maxsize=2)
def _registered(name: str) -> RatingDataset:
    return load_ratings(name)


@lru_cache(maxsize=2)
def _complete(recipe: str, seed: int) -> tuple[RatingDataset, NDArray[np.float64]]:
    return make_ratings(**json.loads(recipe), random_state=seed, return_complete=True)


def _scale(source: RatingDataset) -> NDArray[np.float64]:
    if source.scale is None:
        raise InvalidInputError(f"the ratings of {source.name} have no levels")
    return source.scale


def model(method: str, seed: int, settings: Settings) -> RatingModel:
    """Return a model that is not fitted yet."""
    return MODELS[method](random_state=seed, **settings)


def _both_errors(
    fitted: RatingModel, source: RatingDataset, train: NDArray[np.int64], test: NDArray[np.int64]
) -> dict[str, float]:
    """Return all errors on the test rows, and MAE and NMAE on the training rows."""
    errors = rating_report(source.y[test], fitted.predict(source.X[test]), _scale(source))
    on_train = rating_report(source.y[train], fitted.predict(source.X[train]), _scale(source))
    return errors | {f"train_{name}": on_train[name] for name in ("mae", "nmae")}


# ---------------------------------------------------------------- errors


def holdout_errors(
    method: str, data: str, split: str, seed: int, *, settings: Settings, made: Settings | None = None
) -> dict[str, float]:
    """Fit to a random 80 % of the ratings; return errors on the other 20 %, and training errors.

    Examples
    --------
    >>> errors = holdout_errors("ALS", "toy", "", 0, settings={"alpha": 1.0}, made={"n_users": 40, "n_items": 30})
    >>> sorted(errors)
    ['fre', 'mae', 'nmae', 'rmse', 'train_mae', 'train_nmae', 'zero_one']
    """
    source = load(data, seed, made)
    train, test = next(Holdout(n_splits=1, random_state=seed).split(source.X))
    fitted = model(method, seed, settings).fit(source.X[train], source.y[train])
    return _both_errors(fitted, source, train, test)


def errors_tuned(
    method: str,
    data: str,
    split: str,
    seed: int,
    *,
    settings: Settings,
    metric: str,
    low: float,
    high: float,
    made: Settings | None = None,
) -> dict[str, float]:
    """As `holdout_errors`, at the alpha whose training error lies between `low` and `high`.

    It is found by bisection on its logarithm: the training error grows with alpha, and no test rating is looked at.
    Where no alpha does it, as with few factors, the one that comes nearest is taken and ``reached`` is 0.
    """
    source = load(data, seed, made)
    train, test = next(Holdout(n_splits=1, random_state=seed).split(source.X))
    below, above = -1.0, 3.0  # powers of ten
    best: tuple[float, float, RatingModel] | None = None
    while above - below > _CLOSE and (best is None or best[0] > 0):
        middle = (below + above) / 2
        fitted = model(method, seed, {**settings, "alpha": 10**middle}).fit(source.X[train], source.y[train])
        error = rating_report(source.y[train], fitted.predict(source.X[train]), _scale(source))[metric]
        miss = max(low - error, error - high, 0.0)
        if best is None or miss < best[0]:
            best = miss, 10**middle, fitted
        below, above = (middle, above) if error < low else (below, middle)
    assert best is not None
    miss, alpha, fitted = best
    return _both_errors(fitted, source, train, test) | {"alpha": alpha, "reached": float(miss == 0)}


_CLOSE = 0.03  #: powers of ten between which the bisection ends


def errors_at_stage(
    method: str, data: str, split: str, seed: int, *, stage: int, exponent: int, settings: Settings
) -> dict[str, float]:
    """Return the zero-one error of one stage of HMF on one held-out rating of each user, at alpha = 10^(exponent/16).

    The ratings up to the stage's boundary are -1, those above it +1: equation (3.17) of Kumar's thesis.
    """
    source = load(data, seed)
    signs = np.where(source.y <= _scale(source)[stage - 1], -1.0, 1.0)
    train, test = _one_of_each_user(data, seed)
    fitted = model(method, seed, {**settings, "alpha": 10 ** (exponent / 16)}).fit(source.X[train], signs[train])
    return {"zero_one": float(np.mean(fitted.predict(source.X[test]) != signs[test]))}


@lru_cache(maxsize=4)
def _one_of_each_user(data: str, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return next(WeakGeneralization(1, random_state=seed).split(load(data, seed).X))


def errors_of_groups(
    method: str, data: str, split: str, seed: int, *, settings: Settings, new_users: int, variant: str = ""
) -> dict[str, float]:
    """Fit once; return the errors for known users ("weak:...") and for users folded in ("strong:...").

    So many users are left out of training; they are folded in from all but one of their ratings, and that one is
    predicted. Of each of the others one rating is held out and predicted.
    """
    source = load(data, seed)
    X, y = source.X, source.y
    others, known, strong = next(StrongGeneralization(new_users, 1, random_state=seed).split_fold_in(X))
    inner, outer = next(WeakGeneralization(1, random_state=seed).split(X[others]))
    train, weak = others[inner], others[outer]
    began = time.perf_counter()
    fitted = model(method, seed, settings).fit(X[train], y[train])
    seconds = time.perf_counter() - began
    folded = fitted.fold_in(X[known], y[known])
    found = {"weak": (fitted, weak), "strong": (folded, strong)}
    reports = {
        name: rating_report(y[rows], one.predict(X[rows]), _scale(source)) for name, (one, rows) in found.items()
    }
    errors = {f"{name}:{metric}": error for name, report in reports.items() for metric, error in report.items()}
    return errors | {"fit_seconds": seconds}


# ---------------------------------------------------------------- cost and recovery


def seconds_to_fit(method: str, data: str, split: str, seed: int, *, settings: Settings) -> dict[str, float]:
    """Return processor seconds of a fit to all ratings on one thread, and iterations; kernels are compiled before."""
    source = load(data, seed)
    alone = {"n_jobs": 1} if method == "HMF" else {}
    with thread_limit(1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model(method, seed, {**settings, **alone, "max_iter": 2}).fit(source.X, source.y)
        one = model(method, seed, {**settings, **alone})
        began = time.process_time()
        one.fit(source.X, source.y)
        seconds = time.process_time() - began
    return {"fit_seconds": seconds, "n_iter": float(one.n_iter_)}


def recovery_errors(
    method: str, data: str, split: str, seed: int, *, share: float, settings: Settings, made: Settings
) -> dict[str, float]:
    """Fit to a share of the entries of a known matrix; return the relative error on those not seen, and on all.

    Entries that were seen keep their value in the completed matrix, as in equation (3.18) of
    Kumar's thesis.
    """
    source, complete = _complete(json.dumps({**made, "density": share}), seed)
    fitted = model(method, seed, settings).fit(source.X, source.y)
    pairs = np.column_stack(np.unravel_index(np.arange(complete.size), complete.shape))
    completed = fitted.predict(pairs).reshape(complete.shape)
    unseen = np.ones(complete.shape, dtype=bool)
    unseen[source.X[:, 0], source.X[:, 1]] = False
    completed[~unseen] = complete[~unseen]
    errors = rating_report(complete[unseen], completed[unseen], _scale(source))
    whole = rating_report(complete.ravel(), completed.ravel(), _scale(source))
    return {"fre": errors["fre"], "mae": errors["mae"], "whole_fre": whole["fre"]}
