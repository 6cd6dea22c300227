"""Models of ratings: users × items, on a discrete scale.

`MODELS` is the registry: a new model is one file, its import here, and its name in `MODELS`. Contract
tests, the command line and `cofactor.load` find all models there. Models of interactions, whatever the rating, have a
registry of their own, `cofactor.ratings.ranking.MODELS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import Registry, exports

if TYPE_CHECKING:
    from cofactor.ratings import ranking as ranking
    from cofactor.ratings.base import RatingModel as RatingModel
    from cofactor.ratings.data import Ratings as Ratings
    from cofactor.ratings.data import as_ratings as as_ratings
    from cofactor.ratings.ensemble import Ensemble as Ensemble
    from cofactor.ratings.factors.als import ALS as ALS
    from cofactor.ratings.factors.bmmmf import BinaryMMMF as BinaryMMMF
    from cofactor.ratings.factors.hmf import HMF as HMF
    from cofactor.ratings.factors.ipmmmf import IPMMMF as IPMMMF
    from cofactor.ratings.factors.mmmf import MMMF as MMMF
    from cofactor.ratings.factors.nmf import RatingNMF as RatingNMF
    from cofactor.ratings.factors.pmf import PMF as PMF
    from cofactor.ratings.factors.pmmmf import PMMMF as PMMMF
    from cofactor.ratings.factors.svd import RatingSVD as RatingSVD
    from cofactor.ratings.ids import IdMap as IdMap
    from cofactor.ratings.ids import IdSelection as IdSelection
    from cofactor.ratings.profiles.attitudes import URP as URP
    from cofactor.ratings.profiles.attitudes import Attitude as Attitude
    from cofactor.ratings.profiles.gplvm import GPLVM as GPLVM
    from cofactor.ratings.ranking import BPR as BPR
    from cofactor.ratings.ranking import EASE as EASE
    from cofactor.ratings.ranking import ImplicitALS as ImplicitALS
    from cofactor.ratings.ranking import ImplicitModel as ImplicitModel
    from cofactor.ratings.ranking import ItemKNN as ItemKNN
    from cofactor.ratings.ranking import LogisticMF as LogisticMF
    from cofactor.ratings.ranking import Popularity as Popularity
    from cofactor.ratings.ranking import Recommender as Recommender
    from cofactor.ratings.ranking import RP3beta as RP3beta
    from cofactor.ratings.reasons import Reasons as Reasons
    from cofactor.ratings.reranking import Rules as Rules
    from cofactor.ratings.sampled.bpmf import BPMF as BPMF
    from cofactor.ratings.sampled.gibbs_mmmf import GibbsIPMMMF as GibbsIPMMMF
    from cofactor.ratings.sampled.gibbs_mmmf import GibbsMMMF as GibbsMMMF
    from cofactor.ratings.sampled.ordinal_probit import OrdinalProbit as OrdinalProbit
    from cofactor.ratings.sharded import ShardedRatings as ShardedRatings
    from cofactor.ratings.sharding import append_files as append_files
    from cofactor.ratings.sharding import shard_files as shard_files
    from cofactor.ratings.similar import Embeddings as Embeddings
    from cofactor.ratings.topn import Recommendations as Recommendations

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


__getattr__, __dir__, __all__ = exports(__name__, before="sklearn.base")
