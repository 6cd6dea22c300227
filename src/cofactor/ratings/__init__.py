"""Models of ratings: users × items, on a discrete scale.

`MODELS` is the registry; a new model is one file and one line in it. Contract tests, the command line and
`cofactor.load` walk it.
"""

from cofactor.ratings.als import ALS
from cofactor.ratings.attitude import Attitude
from cofactor.ratings.base import RatingModel
from cofactor.ratings.bmmmf import BinaryMMMF
from cofactor.ratings.bpmf import BPMF
from cofactor.ratings.data import IdMap, Ratings, as_ratings
from cofactor.ratings.ensemble import Ensemble
from cofactor.ratings.gibbs_ipmmmf import GibbsIPMMMF
from cofactor.ratings.gibbs_mmmf import GibbsMMMF
from cofactor.ratings.gplvm import GPLVM
from cofactor.ratings.hmf import HMF
from cofactor.ratings.ipmmmf import IPMMMF
from cofactor.ratings.mmmf import MMMF
from cofactor.ratings.nmf import RatingNMF
from cofactor.ratings.ordinal_probit import OrdinalProbit
from cofactor.ratings.pmf import PMF
from cofactor.ratings.pmmmf import PMMMF
from cofactor.ratings.svd import RatingSVD
from cofactor.ratings.urp import URP

#: Every model by its class name.
MODELS: dict[str, type[RatingModel]] = {
    model.__name__: model
    for model in (
        BinaryMMMF,
        MMMF,
        HMF,
        PMMMF,
        ALS,
        PMF,
        RatingNMF,
        RatingSVD,
        BPMF,
        OrdinalProbit,
        IPMMMF,
        GibbsMMMF,
        GibbsIPMMMF,
        URP,
        Attitude,
        GPLVM,
        Ensemble,
    )
}

__all__ = [
    "ALS",
    "BPMF",
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
    "OrdinalProbit",
    "RatingModel",
    "RatingNMF",
    "RatingSVD",
    "Ratings",
    "as_ratings",
]
