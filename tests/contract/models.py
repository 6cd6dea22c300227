"""The models under contract: every class of `MODELS`, with settings that fit fast, and data for them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from cofactor.ratings import (
    ALS,
    BPMF,
    GPLVM,
    HMF,
    IPMMMF,
    MMMF,
    PMF,
    PMMMF,
    URP,
    Attitude,
    BinaryMMMF,
    Ensemble,
    GibbsIPMMMF,
    GibbsMMMF,
    OrdinalProbit,
    RatingModel,
    RatingNMF,
    RatingSVD,
)
from cofactor.solvers import Progress

FIVE = (1.0, 2.0, 3.0, 4.0, 5.0)


@dataclass(frozen=True)
class Case:
    """An unfitted model, and the scale of the data it gets."""

    model: RatingModel
    scale: tuple[float, ...] = FIVE


CASES: dict[str, Case] = {
    "BinaryMMMF": Case(BinaryMMMF(3, 1.0, random_state=0), (-1.0, 1.0)),
    "MMMF": Case(MMMF(3, 1.0, random_state=0)),
    "MMMF of the thesis": Case(MMMF(3, 1.0, alpha_bias=None, alpha_thresholds=0, random_state=0)),
    "HMF": Case(HMF(3, 1.0, tol=0.01, random_state=0)),
    "PMMMF": Case(PMMMF(3, 1.0, random_state=0)),
    "ALS": Case(ALS(3, 1.0, random_state=0)),
    "ALS by cg, no biases": Case(ALS(3, 1.0, alpha_bias=None, solver="cg", random_state=0)),
    "PMF": Case(PMF(3, 1.0, random_state=0)),
    "PMF by sgd": Case(PMF(3, 1.0, solver="sgd", max_iter=5000, random_state=0)),
    "PMF, logistic, lbfgs": Case(PMF(3, 1.0, link="logistic", solver="lbfgs", tol=1e-5, random_state=0)),
    "RatingNMF": Case(RatingNMF(3, 1.0, random_state=0)),
    "RatingNMF, kl": Case(RatingNMF(3, 0.1, loss="kl", tol=1e-3, random_state=0)),
    "RatingSVD": Case(RatingSVD(3, damping=1.0, random_state=0)),
    "RatingSVD, item means": Case(RatingSVD(3, fill="item-mean", random_state=0)),
    "IPMMMF": Case(IPMMMF(3, 0.5, tol=0.01, random_state=0)),
    "IPMMMF, learned prior": Case(IPMMMF(3, 1.0, item_prior="learned", alpha_bias=1.0, tol=3e-3, random_state=0)),
    "OrdinalProbit": Case(OrdinalProbit(3, n_implicit=4, n_sweeps=16, burn_in=8, random_state=0)),
    "OrdinalProbit, sparse link": Case(OrdinalProbit(3, implicit="sparse", n_sweeps=16, burn_in=8, random_state=0)),
    "BPMF": Case(BPMF(3, n_sweeps=16, burn_in=8, random_state=0)),
    "BPMF, precision of the paper": Case(BPMF(3, precision=2.0, n_sweeps=16, burn_in=8, random_state=0)),
    "Attitude": Case(Attitude(9, 0.3, tol=1e-3, random_state=0)),
    "URP": Case(URP(8, 0.3, concentration=0.5, tol=1e-3, random_state=0)),
    "URP, learned concentration": Case(URP(8, 0.3, concentration="learn", tol=1e-3, random_state=0)),
    "GPLVM": Case(GPLVM(3, 1.0, eta0=0.1, random_state=0)),
    "GPLVM, sum of kernels": Case(GPLVM(3, 1.0, kernel="sum", eta0=0.1, random_state=0)),
    "GibbsMMMF": Case(GibbsMMMF(3, n_sweeps=16, burn_in=8, random_state=0)),
    "GibbsMMMF, fixed prior": Case(
        GibbsMMMF(3, prior="fixed", biases=False, width=9.0, hinge_weight=0.1, n_sweeps=16, burn_in=8, random_state=0)
    ),
    "GibbsIPMMMF": Case(GibbsIPMMMF(8, width=2.0, hinge_weight=0.6, n_sweeps=24, burn_in=8, random_state=0)),
    "GibbsIPMMMF, learned prior": Case(
        GibbsIPMMMF(
            8, prior="learned", biases=False, width=1.0, hinge_weight=0.5, n_sweeps=24, burn_in=8, random_state=0
        )
    ),
    "Ensemble": Case(Ensemble(MMMF(3, 1.0), 2, random_state=0)),
    "Ensemble of HMF, bagging": Case(Ensemble(HMF(3, 1.0, tol=0.05), 2, method="bagging", random_state=0)),
}

#: Runs a test for each case; the test gets its name.
every = pytest.mark.parametrize("name", CASES)

#: Runs a test for the first case of each class: of what a class does whatever its settings are.
every_class = pytest.mark.parametrize(
    "name", {type(case.model): name for name, case in reversed(CASES.items())}.values()
)

#: The case that stands for all models whose class inherits what a test is about.
PROBE = "MMMF"


def overriding(*methods: str, unless: str = PROBE) -> list[str]:
    """Return the probe, and one case for each other implementation of the methods among classes and their members.

    What `RatingModel` does itself for every model, such as reading ratings, is tested on the probe, and again only
    where a class (or a base of it) replaces one of the methods that do it.
    """
    unknown = [method for method in methods if not callable(getattr(RatingModel, method, None))]
    assert not unknown, f"RatingModel has no {unknown}: name the methods which do what this test is about"
    found: dict[tuple[object, ...], str] = {}
    for name in (unless, *CASES):
        model = CASES[name].model
        inner = [value for value in model.get_params(deep=False).values() if isinstance(value, BaseEstimator)]
        for kind in (type(model), *map(type, inner)):
            found.setdefault(tuple(_code(kind, method) for method in methods), name)
    return list(dict.fromkeys(found.values()))


def _code(kind: type, method: str) -> object:
    """Return the function that a class runs as a method."""
    function = getattr(kind, method)
    return getattr(function, "__func__", function)


def probed(*methods: str) -> Any:
    """Run a test for the probe, and for a case of each class which overrides one of the methods."""
    return pytest.mark.parametrize("name", overriding(*methods))


def having(parameter: str) -> Any:
    """Run a test for each case whose model, or members, take a parameter."""
    return pytest.mark.parametrize("name", [name for name in CASES if takes(name, parameter)])


def _key(model: RatingModel, parameter: str) -> str:
    """Return the name by which a model, or its members, take a parameter; empty if they do not."""
    own = model.get_params()
    return next((key for key in (parameter, f"estimator__{parameter}") if key in own), "")


def every_class_having(*parameters: str) -> Any:
    """Run a test for the first case of each class that takes one of the parameters, or whose members do.

    A fit that is direct, and one that draws nothing, have no steps to report and no seed to depend on.
    """
    names = every_class.args[1]
    return pytest.mark.parametrize("name", [name for name in names if takes(name, *parameters)])


def takes(name: str, *parameters: str) -> bool:
    """Return whether the model of a case, or its members, take one of the parameters."""
    return any(_key(CASES[name].model, parameter) for parameter in parameters)


#: Parameters of which a model has one whose fit takes steps, and reports each; another fit is direct.
STEPS = ("max_iter", "n_sweeps")


def fresh(name: str, **params: Any) -> RatingModel:
    """Return an unfitted model of a case; parameters it lacks go to the members of an ensemble.

    What these lack too is left out: not every model has a precision to choose, or a penalty.
    """
    model = clone(CASES[name].model)
    return model.set_params(**{key: v for k, v in params.items() if (key := _key(model, k))})


def planted(
    scale: tuple[float, ...], n_users: int = 30, n_items: int = 24, density: float = 0.6, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return index pairs and ratings of a noisy matrix of rank 2 with equally frequent levels, rows shuffled."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, 2)) @ rng.normal(size=(2, n_items))
    scores += 0.3 * rng.normal(size=scores.shape)
    inner = np.quantile(scores, np.arange(1, len(scale)) / len(scale))
    levels = np.searchsorted(inner, scores)
    X = rng.permutation(np.argwhere(rng.random(scores.shape) < density))
    return X, np.array(scale)[levels[X[:, 0], X[:, 1]]]


@lru_cache
def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of ids (users 100, 101, ..., items 0, 7, 14, ...) and ratings; not to be changed."""
    X, y = planted(CASES[name].scale)
    X = X * [1, 7] + [100, 0]
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y


@lru_cache
def fitted(name: str) -> RatingModel:
    """Return the case's model, fitted on its data; not to be changed."""
    return fresh(name).fit(*data(name))


@lru_cache
def with_chosen_alpha(name: str) -> tuple[RatingModel, list[Progress]]:
    """Return the case's model after a short fit that chooses alpha, not to be changed; and the progress it reported."""
    seen: list[Progress] = []
    return fresh(name, alpha="auto", max_iter=2).set_params(callback=seen.append).fit(*data(name)), seen


def all_pairs(model: RatingModel) -> np.ndarray:
    """Return every pair of a user and an item of the model."""
    users, items = model.users_.ids, model.items_.ids
    return np.array([(u, i) for u in users for i in items], dtype=np.result_type(users, items))


def bits(model: RatingModel) -> dict[str, tuple[str, bytes]]:
    """Return all arrays a model learned, so that == compares them to the bit."""
    _, arrays = model._to_state()
    return {name: (f"{a.dtype}{a.shape}", a.tobytes()) for name, a in arrays.items() if "ratings." not in name}


def simple_models(model: RatingModel) -> list[Any]:
    """Return the models with one pair of factors that a model consists of."""
    parts = getattr(model, parts_of(model)) if parts_of(model) else []
    return [simple for part in parts for simple in simple_models(part)] if parts else [model]


def parts_of(model: RatingModel) -> str:
    """Return the name of the attribute with the models that a model consists of; empty if there are none."""
    return next((name for name in ("members_", "stages_") if hasattr(model, name)), "")
