"""Implicit-feedback models: who interacts with what, learned from clicks, plays, purchases, or which items were rated.

`MODELS` is the registry: a new model is one file, its import here, and its name in `MODELS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cofactor.lazy import Registry, exports

if TYPE_CHECKING:
    from cofactor.ratings.ranking.base import ImplicitModel as ImplicitModel
    from cofactor.ratings.ranking.bpr import BPR as BPR
    from cofactor.ratings.ranking.counts import as_interactions as as_interactions
    from cofactor.ratings.ranking.ease import EASE as EASE
    from cofactor.ratings.ranking.implicit_als import ImplicitALS as ImplicitALS
    from cofactor.ratings.ranking.logistic_mf import LogisticMF as LogisticMF
    from cofactor.ratings.ranking.neighbours import ItemKNN as ItemKNN
    from cofactor.ratings.ranking.neighbours import RP3beta as RP3beta
    from cofactor.ratings.ranking.popularity import Popularity as Popularity
    from cofactor.ratings.ranking.recommender import Recommender as Recommender
    from cofactor.ratings.topn import Recommendations as Recommendations

#: Every model by its class name.
MODELS: Registry[type[Any]] = Registry.of(
    __name__, "Popularity", "EASE", "ImplicitALS", "ItemKNN", "RP3beta", "LogisticMF", "BPR", "Recommender"
)


__getattr__, __dir__, __all__ = exports(__name__, before="sklearn.base")
