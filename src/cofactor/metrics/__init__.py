"""Measures of how good predictions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.metrics.by_label import LabelTable, LabelTally, report_by_label
    from cofactor.metrics.catalogue import (
        catalogue_coverage,
        distinct_items,
        interaction_calibration_bins,
        item_popularity,
        share_interval,
        user_diversities,
        user_novelties,
        user_popularities,
        user_popularity_lifts,
    )
    from cofactor.metrics.directions import greater_is_better
    from cofactor.metrics.labels import (
        LABEL_METRICS,
        LabelMetric,
        accuracy,
        example_f1,
        example_mcc,
        hamming_loss,
        label_accuracy,
        label_report,
        macro_f1,
        macro_mcc,
        micro_f1,
        micro_mcc,
        subset_accuracy,
    )
    from cofactor.metrics.probabilities import (
        PROBABILITY_METRICS,
        CalibrationBins,
        calibration_bins,
        expected_calibration_error,
        label_calibration_bins,
        label_calibration_error,
        label_log_loss,
        log_loss,
        probability_report,
        ranked_probability_score,
    )
    from cofactor.metrics.ranking import (
        average_precision,
        coverage,
        label_propensities,
        ndcg_at_k,
        one_error,
        precision_at_k,
        propensity_scored_precision_at_k,
        ranking_loss,
    )
    from cofactor.metrics.ratings import (
        RATING_METRICS,
        confusion_matrix,
        error_by_level,
        frobenius_relative_error,
        mean_absolute_error,
        normalized_mean_absolute_error,
        rating_report,
        root_mean_squared_error,
        zero_one_error,
    )
    from cofactor.metrics.topn import (
        user_aucs,
        user_average_precisions,
        user_hits,
        user_ndcgs,
        user_precisions,
        user_recalls,
        user_reciprocal_ranks,
    )
    from cofactor.metrics.user_means import UserMean, user_difference, user_mean

__all__ = [
    "LABEL_METRICS",
    "PROBABILITY_METRICS",
    "RATING_METRICS",
    "CalibrationBins",
    "LabelMetric",
    "LabelTable",
    "LabelTally",
    "UserMean",
    "accuracy",
    "average_precision",
    "calibration_bins",
    "catalogue_coverage",
    "confusion_matrix",
    "coverage",
    "distinct_items",
    "error_by_level",
    "example_f1",
    "example_mcc",
    "expected_calibration_error",
    "frobenius_relative_error",
    "greater_is_better",
    "hamming_loss",
    "interaction_calibration_bins",
    "item_popularity",
    "label_accuracy",
    "label_calibration_bins",
    "label_calibration_error",
    "label_log_loss",
    "label_propensities",
    "label_report",
    "log_loss",
    "macro_f1",
    "macro_mcc",
    "mean_absolute_error",
    "micro_f1",
    "micro_mcc",
    "ndcg_at_k",
    "normalized_mean_absolute_error",
    "one_error",
    "precision_at_k",
    "probability_report",
    "propensity_scored_precision_at_k",
    "ranked_probability_score",
    "ranking_loss",
    "rating_report",
    "report_by_label",
    "root_mean_squared_error",
    "share_interval",
    "subset_accuracy",
    "user_aucs",
    "user_average_precisions",
    "user_difference",
    "user_diversities",
    "user_hits",
    "user_mean",
    "user_ndcgs",
    "user_novelties",
    "user_popularities",
    "user_popularity_lifts",
    "user_precisions",
    "user_recalls",
    "user_reciprocal_ranks",
    "zero_one_error",
]

__getattr__, __dir__ = exports(__name__)
