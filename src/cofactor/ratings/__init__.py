"""Models of ratings: users × items, on a discrete scale.

`MODELS` is the registry; a new model is one file and one line in it. Contract tests, the command line and
`cofactor.load` walk it.
"""

from cofactor.ratings.als import ALS
from cofactor.ratings.base import RatingModel
from cofactor.ratings.bmmmf import BinaryMMMF
from cofactor.ratings.data import IdMap, Ratings, as_ratings
from cofactor.ratings.ensemble import Ensemble
from cofactor.ratings.gplvm import GPLVM
from cofactor.ratings.hmf import HMF
from cofactor.ratings.mmmf import MMMF
from cofactor.ratings.pmf import PMF
from cofactor.ratings.pmmmf import PMMMF
from cofactor.ratings.urp import URP

#: Every model by its class name.
MODELS: dict[str, type[RatingModel]] = {
    model.__name__: model for model in (BinaryMMMF, MMMF, HMF, PMMMF, ALS, PMF, URP, GPLVM, Ensemble)
}

__all__ = [
    "ALS",
    "GPLVM",
    "HMF",
    "MMMF",
    "MODELS",
    "PMF",
    "PMMMF",
    "URP",
    "BinaryMMMF",
    "Ensemble",
    "IdMap",
    "RatingModel",
    "Ratings",
    "as_ratings",
]
