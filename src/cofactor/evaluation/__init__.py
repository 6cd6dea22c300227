"""Splits and protocols for measuring models, and comparisons of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from sklearn.model_selection import KFold

    from cofactor.evaluation.comparison import METRICS, Comparison, compare
    from cofactor.evaluation.labels import decodings, evaluate_labels, fold_means
    from cofactor.evaluation.protocols import FoldInScorer, evaluate
    from cofactor.evaluation.recommendations import RecommendationScores, evaluate_recommendations
    from cofactor.evaluation.running import Cell, Interrupted, RunProgress, cell, run_cells
    from cofactor.evaluation.scalings import SCALINGS, best_scaling
    from cofactor.evaluation.significance import (
        Conclusions,
        Friedman,
        Nemenyi,
        Posterior,
        Scores,
        Wilcoxon,
        conclude,
        correlated_t,
        friedman,
        holm,
        nemenyi,
        signed_rank,
        what_applies,
        wilcoxon_holm,
    )
    from cofactor.evaluation.store import Result, ResultStore, StoreError, tidy
    from cofactor.evaluation.tables import MeanTable, mean_table, split_scores
    from cofactor.model.label_splits import GroupedLabelKFold, StratifiedLabelHoldout, StratifiedLabelKFold
    from cofactor.model.named_splits import LABEL_PROTOCOLS, PROTOCOLS, splitter_of
    from cofactor.model.selection.grid import select_parameters
    from cofactor.model.selection.judges import Choice
    from cofactor.model.selection.path import Validation, select_alpha
    from cofactor.model.selection.search import Search
    from cofactor.model.selection.trials import out_of_fold_scores, try_all
    from cofactor.model.splits import (
        GivenSplits,
        Holdout,
        NewUsers,
        PerUserHoldout,
        StrongGeneralization,
        TimeSplit,
        UserLast,
        WeakGeneralization,
    )

__all__ = [
    "LABEL_PROTOCOLS",
    "METRICS",
    "PROTOCOLS",
    "SCALINGS",
    "Cell",
    "Choice",
    "Comparison",
    "Conclusions",
    "FoldInScorer",
    "Friedman",
    "GivenSplits",
    "GroupedLabelKFold",
    "Holdout",
    "Interrupted",
    "KFold",
    "MeanTable",
    "Nemenyi",
    "NewUsers",
    "PerUserHoldout",
    "Posterior",
    "RecommendationScores",
    "Result",
    "ResultStore",
    "RunProgress",
    "Scores",
    "Search",
    "StoreError",
    "StratifiedLabelHoldout",
    "StratifiedLabelKFold",
    "StrongGeneralization",
    "TimeSplit",
    "UserLast",
    "Validation",
    "WeakGeneralization",
    "Wilcoxon",
    "best_scaling",
    "cell",
    "compare",
    "conclude",
    "correlated_t",
    "decodings",
    "evaluate",
    "evaluate_labels",
    "evaluate_recommendations",
    "fold_means",
    "friedman",
    "holm",
    "mean_table",
    "nemenyi",
    "out_of_fold_scores",
    "run_cells",
    "select_alpha",
    "select_parameters",
    "signed_rank",
    "split_scores",
    "splitter_of",
    "tidy",
    "try_all",
    "what_applies",
    "wilcoxon_holm",
]

__getattr__, __dir__ = exports(__name__)
