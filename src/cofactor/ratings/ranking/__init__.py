"""Implicit-feedback models: who interacts with what, learned from clicks, plays, purchases, or which items were rated.

`MODELS` is the registry: a new model is one file, its import here, and its name in `MODELS` and `__all__`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cofactor.lazy import Registry, exports

if TYPE_CHECKING:
    from cofactor.ratings.ranking.base import ImplicitModel
    from cofactor.ratings.ranking.bpr import BPR
    from cofactor.ratings.ranking.counts import as_interactions
    from cofactor.ratings.ranking.ease import EASE
    from cofactor.ratings.ranking.implicit_als import ImplicitALS
    from cofactor.ratings.ranking.logistic_mf import LogisticMF
    from cofactor.ratings.ranking.neighbours import ItemKNN, RP3beta
    from cofactor.ratings.ranking.popularity import Popularity
    from cofactor.ratings.ranking.recommender import Recommender
    from cofactor.ratings.topn import Recommendations

#: Every model by its class name.
MODELS: Registry[type[Any]] = Registry.of(
    __name__, "Popularity", "EASE", "ImplicitALS", "ItemKNN", "RP3beta", "LogisticMF", "BPR", "Recommender"
)

__all__ = [
    "BPR",
    "EASE",
    "MODELS",
    "ImplicitALS",
    "ImplicitModel",
    "ItemKNN",
    "LogisticMF",
    "Popularity",
    "RP3beta",
    "Recommendations",
    "Recommender",
    "as_interactions",
]

__getattr__, __dir__ = exports(__name__, before="sklearn.base")
