"""A tree of labels that a conditional random field has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.labels.base import FitInput
from cofactor.labels.crf.fields import TreeField, check_tree
from cofactor.problems.tree_likelihood import LabelTree


class OfTree:
    """A tree of labels: a part of `TreeCRF` and `ChainCRF`."""

    constant_: NDArray[np.int8]
    order_: NDArray[np.int64]
    parents_: NDArray[np.int64]

    def edges(self) -> NDArray[np.int64]:
        """Return the edges of the tree, as `cofactor.plots.plot_label_structure` takes them.

        Returns
        -------
        ndarray of shape (L' - 1, 2)
            Each label but the root and its parent, as positions among the L' labels that vary in training.

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
        return np.column_stack([below, self.parents_[below]]) if len(below) else np.empty((0, 2), dtype=np.int64)

    def _fit_bytes(self, data: FitInput) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        return 8 * (5 * n * L + 25 * D * L + L * L)

    def _field(self) -> TreeField:
        return TreeField(LabelTree(self.order_, self.parents_))

    def _check_field(self) -> None:
        check_tree(self.order_, self.parents_, int(np.count_nonzero(self.constant_ == 0)))
