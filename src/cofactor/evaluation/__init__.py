"""Splits and protocols for measuring models."""

from cofactor.evaluation.labels import decodings, evaluate_labels, fold_means
from cofactor.evaluation.protocols import PROTOCOLS, FoldInScorer, evaluate
from cofactor.evaluation.splits import Holdout, KFold, StrongGeneralization, WeakGeneralization

__all__ = [
    "PROTOCOLS",
    "FoldInScorer",
    "Holdout",
    "KFold",
    "StrongGeneralization",
    "WeakGeneralization",
    "decodings",
    "evaluate",
    "evaluate_labels",
    "fold_means",
]
