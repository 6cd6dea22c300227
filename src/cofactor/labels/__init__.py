"""Models of labels: instances × labels, from features.

`MODELS` is the registry: a new model is one file, its import here, and its name in `MODELS` and `__all__`. The
contract tests, the command line and `cofactor.load` find all models there. `TRANSFORMERS` holds reductions of the
features which use the labels; in a `Pipeline` they come before a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cofactor.lazy import Registry, exports

if TYPE_CHECKING:
    from cofactor.labels.adaptation.boosting import AdaBoostMH, AdaBoostMR
    from cofactor.labels.adaptation.bpmll import BPMLL
    from cofactor.labels.adaptation.iblr import IBLR
    from cofactor.labels.adaptation.neighbours import BRkNN, KNNVote, MLkNN
    from cofactor.labels.adaptation.trees import MLDecisionTree, MLForest
    from cofactor.labels.base import FitInput, LabelModel
    from cofactor.labels.crf.cml import CML, CMLF
    from cofactor.labels.crf.trees import ChainCRF, ChainCRFEnsemble, TreeCRF
    from cofactor.labels.decisions import Decision, Rule, Threshold, TopK, learn_threshold, micro_f1_curve
    from cofactor.labels.embedding.compressed_sensing import CompressedSensing
    from cofactor.labels.embedding.cplst import CPLST
    from cofactor.labels.embedding.cssp import CSSP
    from cofactor.labels.embedding.faie import FAiE
    from cofactor.labels.embedding.feature_label_cca import FeatureLabelCCA
    from cofactor.labels.embedding.grople import GroPLE
    from cofactor.labels.embedding.label_pca import LabelPCA
    from cofactor.labels.embedding.leml import LEML
    from cofactor.labels.embedding.mlchmf import MLCHMF
    from cofactor.labels.embedding.mme import MME
    from cofactor.labels.embedding.nonnegative import ANMF, MNMF
    from cofactor.labels.embedding.omf import OMF
    from cofactor.labels.embedding.plst import PLST
    from cofactor.labels.reduction.linear import CCA, MLDA, MLSI
    from cofactor.labels.reduction.mddm import MDDM
    from cofactor.labels.reduction.mnmtf import MNMTF
    from cofactor.labels.reduction.nmf import FeatureNMF
    from cofactor.labels.regression import FeatureSpace
    from cofactor.labels.ridge import LabelRidge
    from cofactor.labels.scaling import Scaling
    from cofactor.labels.specific.lift import LIFT
    from cofactor.labels.specific.llsf import LLSF, LLSFDL
    from cofactor.labels.specific.ssjdr import SSJDR
    from cofactor.labels.transformation.binary_relevance import BinaryRelevance
    from cofactor.labels.transformation.calibrated_ranking import CalibratedLabelRanking
    from cofactor.labels.transformation.chains import ClassifierChain, EnsembleOfChains
    from cofactor.labels.transformation.homer import HOMER
    from cofactor.labels.transformation.label_clustering import LabelClustering
    from cofactor.labels.transformation.meta_labels import MetaLabels
    from cofactor.labels.transformation.powersets import LabelPowerset, RAkEL
    from cofactor.labels.transformation.probabilistic_chain import ProbabilisticChain
    from cofactor.labels.transformation.stacked_2br import Stacked2BR
    from cofactor.model.explanations import Explanation

#: Every model by its class name.
MODELS: Registry[type[LabelModel]] = Registry.of(
    __name__,
    "LabelRidge",
    "OMF",
    "MLCHMF",
    "GroPLE",
    "LEML",
    "PLST",
    "LabelPCA",
    "CPLST",
    "FeatureLabelCCA",
    "CSSP",
    "FAiE",
    "CompressedSensing",
    "MME",
    "ANMF",
    "MNMF",
    "MLkNN",
    "BRkNN",
    "KNNVote",
    "IBLR",
    "BinaryRelevance",
    "ClassifierChain",
    "EnsembleOfChains",
    "ProbabilisticChain",
    "LabelPowerset",
    "RAkEL",
    "LabelClustering",
    "CalibratedLabelRanking",
    "AdaBoostMH",
    "AdaBoostMR",
    "BPMLL",
    "HOMER",
    "MetaLabels",
    "Stacked2BR",
    "LIFT",
    "LLSF",
    "LLSFDL",
    "SSJDR",
    "CML",
    "CMLF",
    "TreeCRF",
    "ChainCRF",
    "ChainCRFEnsemble",
    "MLDecisionTree",
    "MLForest",
)

#: Every transformer by its class name.
TRANSFORMERS: Registry[type[Any]] = Registry.of(__name__, "MNMTF", "MDDM", "MLSI", "MLDA", "CCA", "FeatureNMF")

__all__ = [
    "ANMF",
    "BPMLL",
    "CCA",
    "CML",
    "CMLF",
    "CPLST",
    "CSSP",
    "HOMER",
    "IBLR",
    "LEML",
    "LIFT",
    "LLSF",
    "LLSFDL",
    "MDDM",
    "MLCHMF",
    "MLDA",
    "MLSI",
    "MME",
    "MNMF",
    "MNMTF",
    "MODELS",
    "OMF",
    "PLST",
    "SSJDR",
    "TRANSFORMERS",
    "AdaBoostMH",
    "AdaBoostMR",
    "BRkNN",
    "BinaryRelevance",
    "CalibratedLabelRanking",
    "ChainCRF",
    "ChainCRFEnsemble",
    "ClassifierChain",
    "CompressedSensing",
    "Decision",
    "EnsembleOfChains",
    "Explanation",
    "FAiE",
    "FeatureLabelCCA",
    "FeatureNMF",
    "FeatureSpace",
    "FitInput",
    "GroPLE",
    "KNNVote",
    "LabelClustering",
    "LabelModel",
    "LabelPCA",
    "LabelPowerset",
    "LabelRidge",
    "MLDecisionTree",
    "MLForest",
    "MLkNN",
    "MetaLabels",
    "ProbabilisticChain",
    "RAkEL",
    "Rule",
    "Scaling",
    "Stacked2BR",
    "Threshold",
    "TopK",
    "TreeCRF",
    "learn_threshold",
    "micro_f1_curve",
]

__getattr__, __dir__ = exports(__name__, before="sklearn.base")
