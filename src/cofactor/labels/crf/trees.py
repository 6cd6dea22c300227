"""A tree of labels that a conditional random field has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.labels.base import FitInput
from cofactor.labels.crf.fields import TreeField, check_tree
from cofactor.problems.tree_likelihood import LabelTree


def edges(self: Any) -> NDArray[np.int64]:
    """Return the edges of the tree, as `cofactor.plots.plot_label_structure` takes them.

    Returns
    -------
    ndarray of shape (L' - 1, 2)
        Each label but the root and its parent, as positions among all labels. Labels that are constant in training
        have no edges.

    Examples
    --------
    >>> from cofactor.labels import ChainCRF
    >>> X = np.arange(8.0)[:, None]
    >>> ChainCRF.paper(order=[2, 0, 1]).fit(X, np.hstack([X > 3, X < 4, X > 5])).edges()
    array([[0, 2],
           [1, 0]])
    """
    check_is_fitted(self)
    below = getattr(self, "order_", np.empty(0, dtype=np.int64))[1:]
    if not len(below):
        return np.empty((0, 2), dtype=np.int64)
    return np.flatnonzero(self.constant_ == 0)[np.column_stack([below, self.parents_[below]])]


class Tree:
    """The `Structure` of `TreeCRF` and `ChainCRF`: a tree of labels."""

    def check_params(self, model: Any) -> None:
        """Refuse parameters out of their range."""

    def takes_weights(self, model: Any) -> str:
        """Return "any", since the losses of an instance are multiplied by its weight."""
        return "any"

    def fit_bytes(self, model: Any, data: FitInput) -> int:
        """Return how many bytes a fit takes at least."""
        (n, D), L = data.features.shape, data.labels.shape[1]
        return 8 * (5 * n * L + 25 * D * L + L * L)

    def settled(self, model: Any) -> dict[str, Any]:
        """Return parameters with which a part of the data is fitted."""
        return {}

    def field(self, model: Any) -> TreeField:
        """Return the field of a fitted model."""
        return TreeField(LabelTree(model.order_, model.parents_))

    def check(self, model: Any) -> None:
        """Refuse attributes of a file of which no field can be made."""
        check_tree(model.order_, model.parents_, int(np.count_nonzero(model.constant_ == 0)))
