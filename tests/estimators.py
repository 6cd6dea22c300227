"""Checks of scikit-learn: all of them for models that stand for their base class, for others those about themselves."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

#: Checks of what a base class does for all its models: it reads and refuses features, labels, ratings and weights,
#: gives predictions their form, remembers what it was fitted to, and is pickled. All other checks are run for each
#: class, also those that scikit-learn may add.
OF_THE_BASE = {
    "check_all_zero_sample_weights_error",
    "check_array_api_input",
    "check_classifier_data_not_an_array",
    "check_classifier_multioutput",
    "check_classifier_not_supporting_multiclass",
    "check_classifiers_classes",
    "check_classifiers_multilabel_output_format_decision_function",
    "check_classifiers_multilabel_output_format_predict",
    "check_classifiers_multilabel_output_format_predict_proba",
    "check_classifiers_multilabel_representation_invariance",
    "check_classifiers_regression_target",
    "check_complex_data",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_f_contiguous_array_estimator",
    "check_fit1d",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_score_takes_y",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_regressor_data_not_an_array",
    "check_requires_y_none",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
    "check_supervised_y_2d",
    "check_supervised_y_no_nan",
}


def check_all(model: Any, expected: Container[str] = (), left_out: Container[str] = ()) -> tuple[list[str], set[str]]:
    """Run the checks of scikit-learn on a model, but for some that are left out.

    Returns a line for each check that failed and is not expected to; and the names of those that passed.
    """
    failed, passed = [], set()
    for estimator, check in estimator_checks_generator(model):
        name = name_of(check)
        if name in left_out:
            continue
        try:
            check(estimator)
        except SkipTest:
            continue
        except Exception as error:
            if name not in expected:
                failed.append(f"{name}: {error!r}")
        else:
            passed.add(name)
    return failed, passed


def name_of(check: Any) -> str:
    """Return the name of a check some of whose arguments were given."""
    while isinstance(check, partial):
        check = check.func
    return str(check.__name__)


def set_defaults(monkeypatch: pytest.MonkeyPatch, kind: Any, **defaults: Any) -> None:
    """Let the constructor of a class have other defaults until the test ends."""
    for name, default in defaults.items():
        monkeypatch.setitem(kind._params, name, replace(kind._params[name], default=default))
