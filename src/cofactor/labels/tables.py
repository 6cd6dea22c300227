"""Data sets, and frames with the columns of a table, as features and labels of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.labels.features import CheckedFeatures, as_features, check_n_features
from cofactor.recipe import Recipe

__all__ = ["UnpackedData", "features_to_score", "is_dataset", "unpack_dataset"]


class UnpackedData(NamedTuple):
    """What a `cofactor.datasets.LabelDataset` holds, as far as a model learns from it."""

    features: Any
    labels: Any
    label_names: Any
    weights: Any
    mask: Any


def unpack_dataset(X: Any, y: Any, label_names: Any, weights: Any, mask: Any) -> UnpackedData:
    """Return features, labels and what is known of them; of a data set which was given alone, as ``fit(data)``.

    Parameters
    ----------
    X, y, label_names, weights, mask
        What `LabelModel.fit` was given.
    """
    if y is None and is_dataset(X):
        names = X.label_names if label_names is None else label_names
        labels, known = (X.Y, X.known) if mask is None else (X.targets, mask)
        return UnpackedData(X, labels, names, X.weights if weights is None else weights, known)
    return UnpackedData(X, y, label_names, weights, mask)


def is_dataset(X: Any) -> bool:
    """Return whether it is a `LabelDataset`; this module does not load its module, which takes a second."""
    return all(hasattr(X, name) for name in ("X", "targets", "weights", "feature_names", "recipe"))


def features_to_score(X: Any, model: Any) -> CheckedFeatures:
    """Return checked features in the order of training.

    Parameters
    ----------
    X : Features or LabelDataset
        A data set, and a frame with the columns of the table which the model was fitted to, are matched by name.
    model : LabelModel
        Fitted.

    Raises
    ------
    InvalidInputError
        If a feature is missing, or was not there in training.
    """
    matched = _matched(X, model)
    if matched is None and hasattr(model, "recipe_") and not hasattr(X, "columns"):
        matched = X  # rows of the data it was fitted to, perhaps, which have no names in an array
        _refuse_texts(X, model.recipe_)
    if matched is None:
        return as_features(X, model, reset=False)
    check_n_features(matched, model)
    features = as_features(matched, reset=False)
    check_n_features(features, model)  # of lists, which do not say their shape
    return features


def _refuse_texts(X: Any, recipe: Recipe) -> None:
    """Refuse texts alone: they do not say of which column of the table they are."""
    alone = isinstance(X, Sequence) or len(getattr(X, "shape", ())) == 1  # arrays and series have one axis
    text = next((str(one) for one in X if isinstance(one, str)), None) if alone else None
    if text is not None:
        columns = ", ".join(map(repr, recipe.features))
        raise InvalidInputError(
            f"the model was fitted to a table, and these are texts without columns; found {text!r}",
            argument="X",
            advice=f"pass a frame with the columns of training, {columns}",
        )


def _matched(X: Any, model: Any) -> Any:
    """Return the features of a data set, or those that the recipe of a model makes of a frame; None for others."""
    names: NDArray[Any] | None = getattr(model, "feature_names_in_", None)
    recipe = getattr(model, "recipe_", None)
    if is_dataset(X):
        return X.X if names is None else X.align(names.tolist())
    columns = getattr(X, "columns", None)
    if recipe is None or names is None or columns is None or list(map(str, columns)) == names.tolist():
        return None
    given = set(map(str, columns))
    if not given.intersection(recipe.features) and given.intersection(names.tolist()):
        return None  # its features by their names, perhaps in another order: there is a message for it
    from cofactor.datasets import read_label_table  # loads Arrow, which few programs need

    return read_label_table(X, [], recipe=recipe).X
