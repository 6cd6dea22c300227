"""Splits and protocols for measuring models, and comparisons of many."""

from cofactor.evaluation.cells import Cell, Result, cell, tidy
from cofactor.evaluation.labels import decodings, evaluate_labels, fold_means
from cofactor.evaluation.protocols import PROTOCOLS, FoldInScorer, evaluate
from cofactor.evaluation.running import Interrupted, RunProgress, run_cells
from cofactor.evaluation.splits import Holdout, KFold, StrongGeneralization, WeakGeneralization
from cofactor.evaluation.store import ResultStore, StoreError

__all__ = [
    "PROTOCOLS",
    "Cell",
    "FoldInScorer",
    "Holdout",
    "Interrupted",
    "KFold",
    "Result",
    "ResultStore",
    "RunProgress",
    "StoreError",
    "StrongGeneralization",
    "WeakGeneralization",
    "cell",
    "decodings",
    "evaluate",
    "evaluate_labels",
    "fold_means",
    "run_cells",
    "tidy",
]
