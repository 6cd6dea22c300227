"""Models of labels: instances × labels, from features.

`MODELS` is the registry: a new model is one file, its import here, and its name in `MODELS`. The
contract tests, the command line and `cofactor.load` find all models there. `TRANSFORMERS` holds reductions of the
features which use the labels; in a `Pipeline` they come before a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cofactor.lazy import Registry, exports

if TYPE_CHECKING:
    from cofactor.labels.adaptation.boosting import AdaBoostMH as AdaBoostMH
    from cofactor.labels.adaptation.boosting import AdaBoostMR as AdaBoostMR
    from cofactor.labels.adaptation.bpmll import BPMLL as BPMLL
    from cofactor.labels.adaptation.iblr import IBLR as IBLR
    from cofactor.labels.adaptation.neighbours import BRkNN as BRkNN
    from cofactor.labels.adaptation.neighbours import KNNVote as KNNVote
    from cofactor.labels.adaptation.neighbours import MLkNN as MLkNN
    from cofactor.labels.adaptation.trees import MLDecisionTree as MLDecisionTree
    from cofactor.labels.adaptation.trees import MLForest as MLForest
    from cofactor.labels.base import LabelModel as LabelModel
    from cofactor.labels.base import TrainingData as TrainingData
    from cofactor.labels.crf.cml import CML as CML
    from cofactor.labels.crf.cml import CMLF as CMLF
    from cofactor.labels.crf.trees import ChainCRF as ChainCRF
    from cofactor.labels.crf.trees import ChainCRFEnsemble as ChainCRFEnsemble
    from cofactor.labels.crf.trees import TreeCRF as TreeCRF
    from cofactor.labels.decisions import Decision as Decision
    from cofactor.labels.decisions import Rule as Rule
    from cofactor.labels.decisions import Threshold as Threshold
    from cofactor.labels.decisions import TopK as TopK
    from cofactor.labels.decisions import learn_threshold as learn_threshold
    from cofactor.labels.decisions import micro_f1_curve as micro_f1_curve
    from cofactor.labels.embedding.compressed_sensing import CompressedSensing as CompressedSensing
    from cofactor.labels.embedding.cplst import CPLST as CPLST
    from cofactor.labels.embedding.cssp import CSSP as CSSP
    from cofactor.labels.embedding.faie import FAiE as FAiE
    from cofactor.labels.embedding.feature_label_cca import FeatureLabelCCA as FeatureLabelCCA
    from cofactor.labels.embedding.grople import GroPLE as GroPLE
    from cofactor.labels.embedding.label_pca import LabelPCA as LabelPCA
    from cofactor.labels.embedding.leml import LEML as LEML
    from cofactor.labels.embedding.mlchmf import MLCHMF as MLCHMF
    from cofactor.labels.embedding.mme import MME as MME
    from cofactor.labels.embedding.nonnegative import ANMF as ANMF
    from cofactor.labels.embedding.nonnegative import MNMF as MNMF
    from cofactor.labels.embedding.omf import OMF as OMF
    from cofactor.labels.embedding.plst import PLST as PLST
    from cofactor.labels.reduction.linear import CCA as CCA
    from cofactor.labels.reduction.linear import MLDA as MLDA
    from cofactor.labels.reduction.linear import MLSI as MLSI
    from cofactor.labels.reduction.mddm import MDDM as MDDM
    from cofactor.labels.reduction.mnmtf import MNMTF as MNMTF
    from cofactor.labels.reduction.nmf import FeatureNMF as FeatureNMF
    from cofactor.labels.regression import FeatureSpace as FeatureSpace
    from cofactor.labels.ridge import LabelRidge as LabelRidge
    from cofactor.labels.scaling import Scaling as Scaling
    from cofactor.labels.specific.lift import LIFT as LIFT
    from cofactor.labels.specific.llsf import LLSF as LLSF
    from cofactor.labels.specific.llsf import LLSFDL as LLSFDL
    from cofactor.labels.specific.ssjdr import SSJDR as SSJDR
    from cofactor.labels.transformation.binary_relevance import BinaryRelevance as BinaryRelevance
    from cofactor.labels.transformation.calibrated_ranking import CalibratedLabelRanking as CalibratedLabelRanking
    from cofactor.labels.transformation.chains import ClassifierChain as ClassifierChain
    from cofactor.labels.transformation.chains import EnsembleOfChains as EnsembleOfChains
    from cofactor.labels.transformation.homer import HOMER as HOMER
    from cofactor.labels.transformation.label_clustering import LabelClustering as LabelClustering
    from cofactor.labels.transformation.meta_labels import MetaLabels as MetaLabels
    from cofactor.labels.transformation.powersets import LabelPowerset as LabelPowerset
    from cofactor.labels.transformation.powersets import RAkEL as RAkEL
    from cofactor.labels.transformation.probabilistic_chain import ProbabilisticChain as ProbabilisticChain
    from cofactor.labels.transformation.stacked_2br import Stacked2BR as Stacked2BR
    from cofactor.model.explanations import Explanation as Explanation

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


__getattr__, __dir__, __all__ = exports(__name__, before="sklearn.base")
