"""What models with weights of pairs of labels tell of these: all of them, and the tree or chain that a plot shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.correlation import maximum_spanning_tree


def pair_weights(self: Any) -> NDArray[np.float64]:
    """Return what each pair of labels adds to the score of a label set where both are alike.

    Returns
    -------
    ndarray of shape (L, L)
        Symmetric, 0 on the diagonal, for pairs without a weight, and for labels that are constant in training. Where
        features weigh the pairs, these are the weights for features of 0. With four states it is what the weights say
        beyond those of single labels: (v00 + v11 - v10 - v01) / 2. Of chains that vote it is their mean.

    Examples
    --------
    >>> from cofactor.labels import CML
    >>> X = np.repeat([[0.0], [1.0]], 4, axis=0)
    >>> CML.paper(2.0).fit(X, X.repeat(2, axis=1)).pair_weights().round(2)
    array([[0.  , 1.01],
           [1.01, 0.  ]])
    """
    check_is_fitted(self)
    varying = np.flatnonzero(self.constant_ == 0)
    table = np.zeros((len(self.constant_), len(self.constant_)))
    if len(varying):
        table[np.ix_(varying, varying)] = self._pair_table()
    return table


def edges(self: Any) -> NDArray[np.int64]:
    """Return the edges of the tree of labels, as `cofactor.plots.plot_label_structure` takes them.

    Returns
    -------
    ndarray of shape (L' - 1, 2)
        Pairs of positions among all labels: of a tree or chain each label but the root and its parent; else the tree of
        the pairs whose weights (`pair_weights`) are furthest from 0, the first one of all furthest. Labels that are
        constant in training have no edges.

    Examples
    --------
    >>> from cofactor.labels import CML, ChainCRF
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 5, X > 5])
    >>> ChainCRF.paper(order=[2, 0, 1]).fit(X, y).edges()
    array([[0, 2],
           [1, 0]])
    >>> CML.paper().fit(X, y).edges()
    array([[0, 1],
           [1, 2]])
    """
    check_is_fitted(self)
    varying = np.flatnonzero(self.constant_ == 0)
    return varying[self._tree_edges()] if len(varying) else np.empty((0, 2), dtype=np.int64)


def strongest_edges(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the edges of the tree of labels whose weights are furthest from 0, among weights (L, L) of pairs.

    Examples
    --------
    >>> strongest_edges(np.array([[0.0, 0.1, -0.3], [0.1, 0.0, 0.2], [-0.3, 0.2, 0.0]]))
    array([[0, 2],
           [1, 2]])
    """
    return maximum_spanning_tree(np.abs(table))
