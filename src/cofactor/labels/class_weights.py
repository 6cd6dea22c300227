"""Weights of instances by label: of those that have it, beside those that have it not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.features import column_means
from cofactor.labels.training_data import TrainingData
from cofactor.text import shorten

BALANCED = "balanced"


class ClassWeights(NamedTuple):
    """Weights of each label where it is off, and where it is on, shape (L,)."""

    off: NDArray[np.float64]
    on: NDArray[np.float64]

    def of(self, labels: NDArray[Any], columns: Any) -> NDArray[np.float64]:
        """Return the weights of some columns of labels, dense ones, of the same shape.

        Examples
        --------
        >>> ClassWeights(np.ones(2), np.array([3.0, 5.0])).of(np.array([[1, 0], [1, 1]]), slice(2))
        array([[3., 1.],
               [3., 5.]])
        """
        return np.where(np.asarray(labels) > 0, self.on[columns], self.off[columns])


def check_class_weight(name: str, class_weight: Any) -> None:
    """Refuse a `class_weight` that is no weight of labels.

    Examples
    --------
    >>> check_class_weight("class_weight", {"sea": -1.0})
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: class_weight={'sea': -1.0}: expected finite numbers above 0
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return
    given = list(class_weight.values()) if isinstance(class_weight, Mapping) else class_weight
    try:
        values = None if isinstance(given, str) else np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        values = None
    if values is None or values.ndim != 1:
        raise InvalidTypeError(
            "expected 'balanced', a number for each label, or a dict of numbers by names of labels",
            argument=name,
            found=class_weight,
        )
    if not (np.isfinite(values) & (values > 0)).all():
        raise InvalidInputError("expected finite numbers above 0", argument=name, found=class_weight)


def resolved_weights(model: Any) -> dict[str, Any]:
    """Return the parameter `class_weight` for copies that learn from the labels that vary alone; nothing for None."""
    each = _in_order(model)
    return {} if each is None else {"class_weight": each}


def _in_order(model: Any) -> list[float] | str | None:
    """Return weights of the labels that vary in training, in their order; None and "balanced" as they are."""
    given, names, constant = model.class_weight, model.label_names_, model.constant_
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        if given and set(given) <= {0, 1} and names.tolist() == list(range(len(names))):
            ratio = given.get(1, 1.0) / given.get(0, 1.0)
            raise InvalidInputError(
                "0 and 1 may be labels here, or 'off' and 'on' as scikit-learn has it",
                argument="class_weight",
                found=given,
                advice=f"give a list of {len(names)} weights, one for each label, such as [{ratio:g}] * {len(names)} "
                "where each label shall weigh so much more where it is on",
            )
        by_name = {str(name): float(weight) for name, weight in given.items()}
        extra = [name for name in by_name if name not in set(map(str, names))]
        if extra:
            raise InvalidInputError(f"there is no label {shorten(extra)}", argument="class_weight", found=given)
        each = [by_name.get(str(name), 1.0) for name in names]
    else:
        each = np.asarray(given, dtype=np.float64).tolist()
    if len(each) != len(constant):
        raise InvalidInputError(
            f"there are {len(each)} weights for {len(constant)} labels", argument="class_weight", found=given
        )
    return [each[k] for k in np.flatnonzero(constant == 0)]


def class_weights(model: Any, data: TrainingData) -> ClassWeights | None:
    """Return the weights that the parameter `class_weight` of a model gives to the labels of data; None for none.

    Parameters
    ----------
    model : LabelModel
        With `label_names_` and `constant_` of all labels.
    data : TrainingData
        With the labels that vary.
    """
    each = _in_order(model)
    if each is None:
        return None
    if not isinstance(each, str):
        return ClassWeights(np.ones(len(each)), np.array(each))
    share = column_means(data.expected_labels(), data.weights)
    return ClassWeights(0.5 / (1 - share), 0.5 / share)
