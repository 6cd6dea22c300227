"""Ratings with one more user and one more item, both cold: only the prior says something about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.column_entries import ColumnEntries, OfColumns
from cofactor.ratings.data import Ratings

__all__ = ["WithCold"]


@dataclass(frozen=True)
class WithCold(OfColumns):
    """Ratings by rows and columns with one item more, and mostly one user more, who have no ratings.

    Samplers draw for them too, and so a model has samples of users and items that it does not know.

    Attributes
    ----------
    indptr, indices, levels, col_indptr, col_indices, to_csr
        See `Ratings`.
    columns : ColumnEntries
        The entries by item; those of the cold item are none.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    levels: NDArray[np.uint8]
    columns: ColumnEntries

    @cached_property
    def col_indptr(self) -> NDArray[np.int64]:
        """Offsets of items."""
        return np.append(self.columns.indptr, self.indices.size)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.indptr) - 1, len(self.col_indptr) - 1

    @classmethod
    def of(cls, ratings: Ratings, user: bool = True) -> WithCold:
        """Return these ratings with a cold item, and perhaps a cold user, without a copy of long arrays."""
        indptr = np.append(ratings.indptr, ratings.indptr[-1]) if user else ratings.indptr
        return cls(indptr, ratings.indices, ratings.levels, ratings.columns)
