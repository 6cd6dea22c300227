"""Models of labels: instances × labels, from features.

`MODELS` is the registry; a new model is one file and one line in it. Contract tests, the command line and
`cofactor.load` walk it.
"""

from cofactor.labels.base import LabelModel
from cofactor.labels.embedding.cplst import CPLST
from cofactor.labels.embedding.cssp import CSSP
from cofactor.labels.embedding.faie import FAiE
from cofactor.labels.embedding.plst import PLST
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.thresholds import Threshold, learn_threshold, micro_f1_curve
from cofactor.labels.transformation.binary_relevance import BinaryRelevance

#: Every model by its class name.
MODELS: dict[str, type[LabelModel]] = {model.__name__: model for model in (PLST, CPLST, CSSP, FAiE, BinaryRelevance)}

__all__ = [
    "CPLST",
    "CSSP",
    "MODELS",
    "PLST",
    "BinaryRelevance",
    "FAiE",
    "FeatureSpace",
    "LabelModel",
    "Threshold",
    "learn_threshold",
    "micro_f1_curve",
]
