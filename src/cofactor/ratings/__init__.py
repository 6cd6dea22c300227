"""Models of ratings: users × items, on a discrete scale.

`MODELS` is the registry: a new model is one file, its import here, and its name in `MODELS` and `__all__`. Contract
tests, the command line and `cofactor.load` find all models there. Models of interactions, whatever the rating, have a
registry of their own, `cofactor.ratings.ranking.MODELS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import Registry, exports

if TYPE_CHECKING:
    from cofactor.ratings import ranking
    from cofactor.ratings.base import RatingModel
    from cofactor.ratings.data import Ratings, as_ratings
    from cofactor.ratings.ensemble import Ensemble
    from cofactor.ratings.factors.als import ALS
    from cofactor.ratings.factors.bmmmf import BinaryMMMF
    from cofactor.ratings.factors.hmf import HMF
    from cofactor.ratings.factors.ipmmmf import IPMMMF
    from cofactor.ratings.factors.mmmf import MMMF
    from cofactor.ratings.factors.nmf import RatingNMF
    from cofactor.ratings.factors.pmf import PMF
    from cofactor.ratings.factors.pmmmf import PMMMF
    from cofactor.ratings.factors.svd import RatingSVD
    from cofactor.ratings.ids import IdMap, IdSelection
    from cofactor.ratings.profiles.attitudes import URP, Attitude
    from cofactor.ratings.profiles.gplvm import GPLVM
    from cofactor.ratings.ranking import (
        BPR,
        EASE,
        ImplicitALS,
        ImplicitModel,
        ItemKNN,
        LogisticMF,
        Popularity,
        Recommender,
        RP3beta,
    )
    from cofactor.ratings.reasons import Reasons
    from cofactor.ratings.reranking import Rules
    from cofactor.ratings.sampled.bpmf import BPMF
    from cofactor.ratings.sampled.gibbs_mmmf import GibbsIPMMMF, GibbsMMMF
    from cofactor.ratings.sampled.ordinal_probit import OrdinalProbit
    from cofactor.ratings.sharded import ShardedRatings
    from cofactor.ratings.sharding import append_files, shard_files
    from cofactor.ratings.similar import Vectors
    from cofactor.ratings.topn import Recommendations

#: Every model by its class name.
MODELS: Registry[type[RatingModel]] = Registry.of(
    __name__,
    "BinaryMMMF",
    "MMMF",
    "HMF",
    "PMMMF",
    "ALS",
    "PMF",
    "RatingNMF",
    "RatingSVD",
    "BPMF",
    "OrdinalProbit",
    "IPMMMF",
    "GibbsMMMF",
    "GibbsIPMMMF",
    "URP",
    "Attitude",
    "GPLVM",
    "Ensemble",
)

__all__ = [
    "ALS",
    "BPMF",
    "BPR",
    "EASE",
    "GPLVM",
    "HMF",
    "IPMMMF",
    "MMMF",
    "MODELS",
    "PMF",
    "PMMMF",
    "URP",
    "Attitude",
    "BinaryMMMF",
    "Ensemble",
    "GibbsIPMMMF",
    "GibbsMMMF",
    "IdMap",
    "IdSelection",
    "ImplicitALS",
    "ImplicitModel",
    "ItemKNN",
    "LogisticMF",
    "OrdinalProbit",
    "Popularity",
    "RP3beta",
    "RatingModel",
    "RatingNMF",
    "RatingSVD",
    "Ratings",
    "Reasons",
    "Recommendations",
    "Recommender",
    "Rules",
    "ShardedRatings",
    "Vectors",
    "append_files",
    "as_ratings",
    "ranking",
    "shard_files",
]

__getattr__, __dir__ = exports(__name__, before="sklearn.base")
