"""Ratings with one more user and one more item, both cold: only the prior says something about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.data import Ratings

__all__ = ["WithCold"]


@dataclass(frozen=True)
class WithCold:
    """Ratings by rows and columns with one item more, and mostly one user more, who have no ratings.

    Samplers draw for them too, and so a model has samples of users and items that it does not know.

    Attributes
    ----------
    indptr, indices, levels, col_indptr, col_indices, to_csr
        See `Ratings`.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    levels: NDArray[np.uint8]
    col_indptr: NDArray[np.int64]
    col_indices: NDArray[np.int32]
    to_csr: NDArray[np.int32] | NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.indptr) - 1, len(self.col_indptr) - 1

    @classmethod
    def of(cls, ratings: Ratings, user: bool = True) -> WithCold:
        """Return these ratings with a cold item, and perhaps a cold user, without a copy of long arrays."""
        col_indptr = np.append(ratings.col_indptr, ratings.col_indptr[-1])
        indptr = np.append(ratings.indptr, ratings.indptr[-1]) if user else ratings.indptr
        return cls(indptr, ratings.indices, ratings.levels, col_indptr, ratings.col_indices, ratings.to_csr)
