"""A cut for each instance, for models whose scores rank the labels of an instance, and say nothing across instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_cuts_of", "cut_regression"]

_BEYOND = 0.1  # how far the lowest and the highest cut of an instance lie beyond its outputs


def cut_regression(outputs: NDArray[np.float64], on: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the regression of the best cuts of instances on their outputs by least squares, its intercept last."""
    known = np.column_stack([outputs, np.ones(len(outputs))])
    return np.asarray(np.linalg.lstsq(known, best_cuts_of(outputs, on), rcond=None)[0])


def best_cuts_of(outputs: NDArray[np.float64], on: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return for each instance the cut of its outputs with the fewest wrong labels, the lowest of several.

    Examples
    --------
    >>> best_cuts_of(np.array([[0.5, -0.5, 0.1], [0.2, 0.0, 0.4]]), np.array([[True, False, True], [True, True, True]]))
    array([-0.2, -0.1])
    """
    order = np.argsort(outputs, axis=1, kind="stable")
    ranked, on = np.take_along_axis(outputs, order, axis=1), np.take_along_axis(on, order, axis=1)
    start = np.zeros((len(on), 1), dtype=np.int64)
    missed = np.hstack([start, np.cumsum(on, axis=1)])
    wrong = missed + (~on).sum(axis=1)[:, None] - np.hstack([start, np.cumsum(~on, axis=1)])
    middles = (ranked[:, 1:] + ranked[:, :-1]) / 2
    cuts = np.hstack([ranked[:, :1] - _BEYOND, middles, ranked[:, -1:] + _BEYOND])
    return np.take_along_axis(cuts, np.argmin(wrong, axis=1)[:, None], axis=1)[:, 0]
