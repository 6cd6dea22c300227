"""Numbers of true, predicted and common labels, from which all measures of label sets follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import InvalidInputError
from cofactor.metrics.ranked import divided
from cofactor.metrics.tables import as_label_sets, check_columns, check_same_shape, of_known, split_unknown

__all__ = ["LabelCounts", "Totals", "label_counts"]


class Totals(NamedTuple):
    """Number of true, of predicted and of common labels, and of known entries, for each row (or label)."""

    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    common: NDArray[np.int64]
    known: NDArray[np.int64]

    def f1(self) -> NDArray[np.float64]:
        """Return 2 common / (true + predicted), NaN where that is 0 / 0."""
        return divided(2 * self.common, self.true + self.predicted)


@dataclass(frozen=True)
class LabelCounts:
    """All that the set measures need: totals of rows and of labels."""

    rows: Totals
    labels: Totals

    def together(self) -> Totals:
        """Return the totals of all entries, as those of a single row."""
        return Totals(*[part.sum(keepdims=True) for part in self.rows])


def label_counts(Y: Any, predicted: Any) -> LabelCounts:
    """Count labels; sparse throughout, unless some are not known.

    Examples
    --------
    >>> label_counts([[1, 0, 1], [0, 0, 1]], [[1, 1, 0], [0, 0, 1]]).rows.common
    array([1, 1])
    """
    check_columns(Y, predicted, ("Y", "predicted"))
    Y, known = split_unknown(Y)
    true, found = as_label_sets(Y), as_label_sets(predicted, "predicted")
    check_same_shape(true.shape, found.shape, ("Y", "predicted"))
    n, n_labels = true.shape
    entries = np.full(n, n_labels), np.full(n_labels, n)
    if known is not None:
        rows, columns = (np.flatnonzero(known.any(axis=axis)) for axis in (1, 0))
        if not known.any():
            raise InvalidInputError("holds no label that is known", argument="Y")
        entries = known.sum(axis=1)[rows], known.sum(axis=0)[columns]
        true, found = true[rows][:, columns], of_known(found, known)[rows][:, columns]
    tables = (true, found, true.multiply(found).tocsr())

    def totals(count: Callable[[sparse.csr_array], NDArray[np.int64]], known: NDArray[np.int64]) -> Totals:
        on, predicted, common = map(count, tables)
        return Totals(on, predicted, common, known)

    return LabelCounts(
        rows=totals(lambda table: np.diff(table.indptr).astype(np.int64), entries[0]),
        labels=totals(lambda table: np.bincount(table.indices, minlength=table.shape[1]), entries[1]),
    )
