"""Weights of pairs of labels, and the tree of the labels that a plot shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cofactor.correlation import maximum_spanning_tree


def strongest_edges(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the edges of the tree of labels whose weights are furthest from 0, among weights (L, L) of pairs.

    Examples
    --------
    >>> strongest_edges(np.array([[0.0, 0.1, -0.3], [0.1, 0.0, 0.2], [-0.3, 0.2, 0.0]]))
    array([[0, 2],
           [1, 2]])
    """
    return maximum_spanning_tree(np.abs(table))


def table_of_all(table: NDArray[np.float64], constant: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return weights of pairs of the labels that vary as weights of pairs of all, 0 for constant ones.

    Examples
    --------
    >>> table_of_all(np.array([[0.0, 0.5], [0.5, 0.0]]), np.array([0, 1, 0]))
    array([[0. , 0. , 0.5],
           [0. , 0. , 0. ],
           [0.5, 0. , 0. ]])
    """
    varying = np.flatnonzero(constant == 0)
    whole = np.zeros((len(constant), len(constant)))
    whole[np.ix_(varying, varying)] = table
    return whole
