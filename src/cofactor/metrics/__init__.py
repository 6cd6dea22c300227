"""Measures of how good predictions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.metrics.by_label import LabelTable as LabelTable
    from cofactor.metrics.by_label import LabelTally as LabelTally
    from cofactor.metrics.by_label import report_by_label as report_by_label
    from cofactor.metrics.catalogue import catalogue_coverage as catalogue_coverage
    from cofactor.metrics.catalogue import distinct_items as distinct_items
    from cofactor.metrics.catalogue import interaction_calibration_bins as interaction_calibration_bins
    from cofactor.metrics.catalogue import item_popularity as item_popularity
    from cofactor.metrics.catalogue import share_interval as share_interval
    from cofactor.metrics.catalogue import user_diversities as user_diversities
    from cofactor.metrics.catalogue import user_novelties as user_novelties
    from cofactor.metrics.catalogue import user_popularities as user_popularities
    from cofactor.metrics.catalogue import user_popularity_lifts as user_popularity_lifts
    from cofactor.metrics.directions import greater_is_better as greater_is_better
    from cofactor.metrics.labels import LABEL_METRICS as LABEL_METRICS
    from cofactor.metrics.labels import LabelMetric as LabelMetric
    from cofactor.metrics.labels import accuracy as accuracy
    from cofactor.metrics.labels import example_f1 as example_f1
    from cofactor.metrics.labels import example_mcc as example_mcc
    from cofactor.metrics.labels import f_beta as f_beta
    from cofactor.metrics.labels import hamming_loss as hamming_loss
    from cofactor.metrics.labels import label_accuracy as label_accuracy
    from cofactor.metrics.labels import label_report as label_report
    from cofactor.metrics.labels import macro_f1 as macro_f1
    from cofactor.metrics.labels import macro_mcc as macro_mcc
    from cofactor.metrics.labels import micro_f1 as micro_f1
    from cofactor.metrics.labels import micro_mcc as micro_mcc
    from cofactor.metrics.labels import micro_precision as micro_precision
    from cofactor.metrics.labels import micro_recall as micro_recall
    from cofactor.metrics.labels import subset_accuracy as subset_accuracy
    from cofactor.metrics.probabilities import PROBABILITY_METRICS as PROBABILITY_METRICS
    from cofactor.metrics.probabilities import CalibrationBins as CalibrationBins
    from cofactor.metrics.probabilities import calibration_bins as calibration_bins
    from cofactor.metrics.probabilities import expected_calibration_error as expected_calibration_error
    from cofactor.metrics.probabilities import label_calibration_bins as label_calibration_bins
    from cofactor.metrics.probabilities import label_calibration_error as label_calibration_error
    from cofactor.metrics.probabilities import label_log_loss as label_log_loss
    from cofactor.metrics.probabilities import log_loss as log_loss
    from cofactor.metrics.probabilities import probability_report as probability_report
    from cofactor.metrics.probabilities import ranked_probability_score as ranked_probability_score
    from cofactor.metrics.ranking import average_precision as average_precision
    from cofactor.metrics.ranking import coverage as coverage
    from cofactor.metrics.ranking import label_propensities as label_propensities
    from cofactor.metrics.ranking import ndcg_at_k as ndcg_at_k
    from cofactor.metrics.ranking import one_error as one_error
    from cofactor.metrics.ranking import precision_at_k as precision_at_k
    from cofactor.metrics.ranking import propensity_scored_precision_at_k as propensity_scored_precision_at_k
    from cofactor.metrics.ranking import ranking_loss as ranking_loss
    from cofactor.metrics.ratings import RATING_METRICS as RATING_METRICS
    from cofactor.metrics.ratings import confusion_matrix as confusion_matrix
    from cofactor.metrics.ratings import error_by_level as error_by_level
    from cofactor.metrics.ratings import frobenius_relative_error as frobenius_relative_error
    from cofactor.metrics.ratings import mean_absolute_error as mean_absolute_error
    from cofactor.metrics.ratings import normalized_mean_absolute_error as normalized_mean_absolute_error
    from cofactor.metrics.ratings import rating_report as rating_report
    from cofactor.metrics.ratings import root_mean_squared_error as root_mean_squared_error
    from cofactor.metrics.ratings import zero_one_error as zero_one_error
    from cofactor.metrics.topn import user_aucs as user_aucs
    from cofactor.metrics.topn import user_average_precisions as user_average_precisions
    from cofactor.metrics.topn import user_hits as user_hits
    from cofactor.metrics.topn import user_ndcgs as user_ndcgs
    from cofactor.metrics.topn import user_precisions as user_precisions
    from cofactor.metrics.topn import user_recalls as user_recalls
    from cofactor.metrics.topn import user_reciprocal_ranks as user_reciprocal_ranks
    from cofactor.metrics.user_means import UserMean as UserMean
    from cofactor.metrics.user_means import user_difference as user_difference
    from cofactor.metrics.user_means import user_mean as user_mean


__getattr__, __dir__, __all__ = exports(__name__)
