"""Weights of instances, or of ratings, as a caller gives them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.limits import LARGEST, SMALLEST
from cofactor.masks import refuse_masked


def as_weights(sample_weight: ArrayLike | None, n: int, what: str = "instance") -> NDArray[np.float64] | None:
    """Return checked weights of n instances; None if there are none, or if all are 1.

    Parameters
    ----------
    sample_weight : array-like of shape (n,), or None
    n : int
        Number of instances.
    what : str, default="instance"
        What has the weights, for messages.

    Returns
    -------
    ndarray of shape (n,), float64, or None

    Raises
    ------
    InvalidInputError
        If there are not n weights, if one is negative or not finite, if all are 0, or if the
        largest is so large or small that sums of squares are lost in rounding.

    Examples
    --------
    >>> as_weights([2, 0, 1], 3), as_weights([1, 1, 1], 3)
    (array([2., 0., 1.]), None)
    """
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    try:
        weights = np.asarray(sample_weight)
        if weights.dtype.kind == "c":
            raise TypeError("not complex ones")
        weights = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"sample_weight must be numbers ({error})", argument="sample_weight") from error
    if weights.shape != (n,):
        raise InvalidInputError(
            f"sample_weight has shape {weights.shape}, expected ({n},): a weight for each {what}",
            argument="sample_weight",
        )
    bad = np.flatnonzero(~(weights >= 0) | ~np.isfinite(weights))
    if len(bad):
        raise InvalidInputError(
            f"sample_weight holds {weights[bad[0]]:g} ({what} {bad[0]}): weights must be finite and not negative",
            argument="sample_weight",
        )
    if not weights.any():
        raise InvalidInputError("the weights in sample_weight are all zero", argument="sample_weight")
    if not SMALLEST <= weights.max() <= LARGEST:
        raise InvalidInputError(
            f"the largest weight in sample_weight is {weights.max():g}, expected one from {SMALLEST:g} to {LARGEST:g}",
            argument="sample_weight",
            advice="multiply all weights by a number",
        )
    return None if (weights == 1).all() else weights


def relative_weights(weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Return weights divided by the mean of those above 0, for what must not depend on their unit.

    Parameters
    ----------
    weights : ndarray of shape (n,), at least 0, or None

    Examples
    --------
    >>> relative_weights(np.array([1e-8, 3e-8]))
    array([0.5, 1.5])
    """
    return None if weights is None else weights / weights[weights > 0].mean()
