"""Splits and protocols for measuring models, and comparisons of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from sklearn.model_selection import KFold as KFold

    from cofactor.evaluation.comparison import METRICS as METRICS
    from cofactor.evaluation.comparison import Comparison as Comparison
    from cofactor.evaluation.comparison import compare as compare
    from cofactor.evaluation.labels import decodings as decodings
    from cofactor.evaluation.labels import evaluate_labels as evaluate_labels
    from cofactor.evaluation.labels import fold_means as fold_means
    from cofactor.evaluation.protocols import FoldInScorer as FoldInScorer
    from cofactor.evaluation.protocols import evaluate as evaluate
    from cofactor.evaluation.protocols import ranking_scorer as ranking_scorer
    from cofactor.evaluation.recommendations import RecommendationScores as RecommendationScores
    from cofactor.evaluation.recommendations import evaluate_recommendations as evaluate_recommendations
    from cofactor.evaluation.running import Cell as Cell
    from cofactor.evaluation.running import Interrupted as Interrupted
    from cofactor.evaluation.running import RunProgress as RunProgress
    from cofactor.evaluation.running import cell as cell
    from cofactor.evaluation.running import run_cells as run_cells
    from cofactor.evaluation.scalings import SCALINGS as SCALINGS
    from cofactor.evaluation.scalings import best_scaling as best_scaling
    from cofactor.evaluation.significance import ComparisonPosterior as ComparisonPosterior
    from cofactor.evaluation.significance import Conclusions as Conclusions
    from cofactor.evaluation.significance import Friedman as Friedman
    from cofactor.evaluation.significance import Nemenyi as Nemenyi
    from cofactor.evaluation.significance import Scores as Scores
    from cofactor.evaluation.significance import Wilcoxon as Wilcoxon
    from cofactor.evaluation.significance import conclude as conclude
    from cofactor.evaluation.significance import correlated_t as correlated_t
    from cofactor.evaluation.significance import friedman as friedman
    from cofactor.evaluation.significance import holm as holm
    from cofactor.evaluation.significance import nemenyi as nemenyi
    from cofactor.evaluation.significance import signed_rank as signed_rank
    from cofactor.evaluation.significance import what_applies as what_applies
    from cofactor.evaluation.significance import wilcoxon_holm as wilcoxon_holm
    from cofactor.evaluation.store import ResultStore as ResultStore
    from cofactor.evaluation.store import Run as Run
    from cofactor.evaluation.store import StoreError as StoreError
    from cofactor.evaluation.store import tidy as tidy
    from cofactor.evaluation.tables import MeanTable as MeanTable
    from cofactor.evaluation.tables import mean_table as mean_table
    from cofactor.evaluation.tables import split_scores as split_scores
    from cofactor.model.named_splits import LABEL_PROTOCOLS as LABEL_PROTOCOLS
    from cofactor.model.named_splits import PROTOCOLS as PROTOCOLS
    from cofactor.model.named_splits import splitter_of as splitter_of
    from cofactor.model.selection.grid import select_parameters as select_parameters
    from cofactor.model.selection.judges import Choice as Choice
    from cofactor.model.selection.path import Validation as Validation
    from cofactor.model.selection.path import select_alpha as select_alpha
    from cofactor.model.selection.search import Search as Search
    from cofactor.model.selection.trials import out_of_fold_scores as out_of_fold_scores
    from cofactor.model.selection.trials import try_all as try_all
    from cofactor.model.splits import GivenSplits as GivenSplits
    from cofactor.model.splits import GroupedLabelKFold as GroupedLabelKFold
    from cofactor.model.splits import Holdout as Holdout
    from cofactor.model.splits import NewUsers as NewUsers
    from cofactor.model.splits import PerUserHoldout as PerUserHoldout
    from cofactor.model.splits import StratifiedLabelHoldout as StratifiedLabelHoldout
    from cofactor.model.splits import StratifiedLabelKFold as StratifiedLabelKFold
    from cofactor.model.splits import StrongGeneralization as StrongGeneralization
    from cofactor.model.splits import TimeSplit as TimeSplit
    from cofactor.model.splits import UserLast as UserLast
    from cofactor.model.splits import WeakGeneralization as WeakGeneralization


__getattr__, __dir__, __all__ = exports(__name__)
