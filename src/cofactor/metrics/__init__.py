"""Measures of how good predictions are."""

from cofactor.metrics.ratings import (
    RATING_METRICS,
    confusion_matrix,
    frobenius_relative_error,
    mean_absolute_error,
    normalized_mean_absolute_error,
    rating_report,
    root_mean_squared_error,
    zero_one_error,
)

__all__ = [
    "RATING_METRICS",
    "confusion_matrix",
    "frobenius_relative_error",
    "mean_absolute_error",
    "normalized_mean_absolute_error",
    "rating_report",
    "root_mean_squared_error",
    "zero_one_error",
]
