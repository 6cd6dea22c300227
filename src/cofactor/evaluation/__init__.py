"""Splits and protocols for measuring rating models."""

from cofactor.evaluation.protocols import PROTOCOLS, FoldInScorer, evaluate
from cofactor.evaluation.splits import Holdout, KFold, StrongGeneralization, WeakGeneralization

__all__ = [
    "PROTOCOLS",
    "FoldInScorer",
    "Holdout",
    "KFold",
    "StrongGeneralization",
    "WeakGeneralization",
    "evaluate",
]
