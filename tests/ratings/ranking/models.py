"""The implicit-feedback models under test, with settings that fit fast, and interactions for them."""

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone

from cofactor.ratings import BPR, EASE, ImplicitALS, ItemKNN, LogisticMF, Popularity, Recommender, RP3beta
from cofactor.ratings.ranking import MODELS

MODELS_UNDER_TEST: dict[str, Any] = {
    "Popularity": Popularity(),
    "EASE": EASE(alpha=3.0, random_state=0),
    "EASE, auto": EASE(random_state=0),
    "EASE, dual": EASE(alpha=3.0, solver="dual", random_state=0),
    "EASE, low rank": EASE(alpha=3.0, solver="low-rank", n_factors=5, random_state=0),
    "ImplicitALS": ImplicitALS(3, random_state=0),
    "ImplicitALS by cg": ImplicitALS(3, solver="cg", random_state=0),
    "ItemKNN": ItemKNN(8, shrinkage=1),
    "RP3beta": RP3beta(8),
    "LogisticMF": LogisticMF(3, 1.0, random_state=0),
    "BPR": BPR(3, max_iter=400, random_state=0),
    "Recommender": Recommender([EASE(), ImplicitALS(3)], None, random_state=0),
}
assert {type(model).__name__ for model in MODELS_UNDER_TEST.values()} == set(MODELS), "each model needs a case above"

IMPLICIT = [name for name in MODELS_UNDER_TEST if not name.startswith("Recommender")]


@lru_cache
def interactions_of(n_users: int = 40, n_items: int = 30, seed: int = 0) -> np.ndarray:
    """Return pairs of ids (users 100, 101, ..., items 0, 7, 14, ...) of users with one of three tastes; read-only."""
    rng = np.random.default_rng(seed)
    users, items = np.indices((n_users, n_items))
    chance = np.where(users % 3 == items % 3, 0.5, 0.08) * np.linspace(1.5, 0.3, n_items)
    X = rng.permutation(np.argwhere(rng.random(chance.shape) < chance)) * [1, 7] + [100, 0]
    X.setflags(write=False)
    return X


def table_of(X: np.ndarray) -> np.ndarray:
    """Return interactions as a dense table of users × items, for all ids in them."""
    users, items = (np.unique(column, return_inverse=True)[1] for column in X.T)
    table = np.zeros((users.max() + 1, items.max() + 1))
    table[users, items] = 1
    return table


@lru_cache
def fitted(name: str) -> Any:
    """Return the model, fitted to `interactions_of()`; not to be changed."""
    return clone(MODELS_UNDER_TEST[name]).fit(interactions_of())


def bits(model: Any) -> dict[str, bytes]:
    """Return all arrays of a model, so that == compares them to the bit."""
    return {name: array.tobytes() for name, array in model._to_state()[1].items()}
