"""A tree of labels that a conditional random field has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cofactor.labels.base import FitInput
from cofactor.labels.crf.fields import TreeField, check_tree
from cofactor.problems.tree_likelihood import LabelTree


class OfTree:
    """A tree of labels: a part of `TreeCRF` and `ChainCRF`."""

    constant_: NDArray[np.int8]
    order_: NDArray[np.int64]
    parents_: NDArray[np.int64]

    def _fit_bytes(self, data: FitInput) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        return 8 * (5 * n * L + 25 * D * L + L * L)

    def _field(self) -> TreeField:
        return TreeField(LabelTree(self.order_, self.parents_))

    def _check_field(self) -> None:
        check_tree(self.order_, self.parents_, int(np.count_nonzero(self.constant_ == 0)))
