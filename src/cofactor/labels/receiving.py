"""What a label model is given: checked, noted in the model, and scaled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_text
from cofactor.labels.chunks import are_chunks, check_takes_chunks, read_chunks, refuse_labels_beside
from cofactor.labels.data import check_coding, in_trained_order
from cofactor.labels.decoding import first_decoder
from cofactor.labels.features import CheckedFeatures, as_features, check_n_features
from cofactor.labels.fit_input import FitInput, check_lengths, check_whole, weights_of
from cofactor.labels.known import as_known_labels, check_known, known_in_order, refused_unknown, warn_of_one_sided
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.scaling import AUTO, choose_scaling, compared_scalings, learn_scaling, stream_scaling
from cofactor.labels.tables import features_to_learn, features_to_score, is_dataset, taken_apart
from cofactor.model.progress import Monitor
from cofactor.weights import relative_weights

__all__ = ["received", "received_features", "scaled", "space_for"]


def received(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    label_names: Iterable[Any] | None = None,
    mask: Any = None,
    reset: bool = True,
    weights: str | None = None,
    monitor: Monitor | None = None,
) -> FitInput:
    """Check the data of a fit and note their form; without `reset` they must have the form noted before.

    Instances of weight 0, or without any known label, are left out. With `reset`, no label counts as constant
    afterwards, and the cut is 0 if `threshold` is a rule that is still to be learned: the state in which `partial_fit`
    starts; features are not scaled yet. `weights` says which weights are taken, "any" or "whole"; by default the
    model's `takes_weights`.
    """
    X, y, label_names, sample_weight, mask = taken_apart(X, y, label_names, sample_weight, mask)
    features: Any
    if y is not None:
        refuse_labels_beside(X)
    if reset and y is None and are_chunks(X):
        check_takes_chunks(model, mask)
        features, labels, form, names, columns = read_chunks(X, label_names)
        model.n_features_in_, known = features.shape[1], None
        if columns is not None:
            model.feature_names_in_ = columns
    else:
        features = model._features(X, reset=reset)
        missing = model.missing if model._takes_unknown else "ignore"
        labels, form, names, known = as_known_labels(y, label_names, mask, missing=missing)
        check_lengths(features, labels)
    if known is not None and not model._takes_unknown:
        raise refused_unknown(known, type(model).__name__, names)
    check_known(known, names)
    warn_of_one_sided(labels, known, names)
    if reset:
        model.form_, model.label_names_ = form, names
        model.constant_ = np.zeros(len(names), dtype=np.int8)
        model.decision_, model.calibration_ = first_decoder(model.threshold), None
    else:
        model.form_ = check_coding(form, model.form_)
        given = names if form.is_frame or label_names is not None else None
        labels = in_trained_order(labels, given, model.label_names_)
        known = known_in_order(known, given, model.label_names_)
    space = X if isinstance(X, FeatureSpace) else None
    weight = weights_of(sample_weight, labels.shape[0], space)
    if (weights or model.takes_weights) == "whole":
        check_whole(weight, type(model).__name__)
    ids = getattr(X, "ids", None) if is_dataset(X) else None
    called = getattr(model, "feature_names_in_", None)
    check_text(() if called is None else called, "names of features")
    check_text(() if ids is None else ids, "ids of instances")
    watched = monitor or Monitor(None, False)
    data = FitInput(features, labels, weight, watched, space, known=known, ids=ids, feature_names=called)
    data = data.without_zero_weights().known_somehow()
    model._warn_of_limits(data)
    return data


def received_features(model: Any, X: Any, *, reset: bool) -> CheckedFeatures:
    """Return checked features, with `reset` as in `as_features`; without it they are scaled as in training."""
    if not reset:
        check_is_fitted(model)
    if not isinstance(X, FeatureSpace):
        return features_to_learn(X, model) if reset else model.scaling_.apply(features_to_score(X, model))
    if reset:
        model.n_features_in_ = X.shape[1]
    check_n_features(X, model)
    return X.X


def scaled(model: Any, data: FitInput, *, stream: bool = False) -> FitInput:
    """Choose the scaling of a model, and return the data scaled; a `FeatureSpace` is scaled already."""
    if data.space is not None:
        model.scaling_ = data.space.scaling_for(model.scale)
        return data
    weights = relative_weights(data.weights)
    if stream:
        model.scaling_ = stream_scaling(model.scale, data.features, data.weights)
    elif model.scale != AUTO:
        model.scaling_ = learn_scaling(model.scale, data.features, weights)
    else:
        labels, of_dense = data.expected_labels(), model._dense_scales()
        model.scaling_, best = compared_scalings(data.features, labels, weights, of_dense=of_dense)
        return data.scaled(model.scaling_, best)
    return data.scaled(model.scaling_)


def space_for(X: Any, y: Any, *, scale: str, fit_intercept: bool) -> FeatureSpace:
    """Return features decomposed for several fits to the same labels, scaled as each of them would scale them.

    Examples
    --------
    >>> space_for([[0.0, 3.0], [0.0, 4.0]], [[1], [0]], scale="rows", fit_intercept=True).X
    array([[0., 1.],
           [0., 1.]])
    """
    features = as_features(X)
    labels, _, _, known = as_known_labels(y, missing="ignore")
    scaling = choose_scaling(features, FitInput(features, labels, known=known).expected_labels(), scale=scale)
    return FeatureSpace(features, fit_intercept=fit_intercept, scale=scaling)
