"""Models whose score is an estimated rating, decoded to the nearest level."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.model.checks import check_number
from cofactor.model.state import check_array
from cofactor.ratings.base import RatingModel
from cofactor.ratings.factors import FactorModel


class EstimateModel(RatingModel):
    """A model whose score estimates the rating itself; `predict` returns the nearest level, of two the upper one.

    Subclasses call `_set_boundaries` when they learn.

    Attributes
    ----------
    boundaries_ : ndarray of shape (R - 1,)
        Half way between neighbouring levels, less the smallest step of float64: a score half way counts as above.
    """

    _learned: ClassVar[tuple[str, ...]] = ("boundaries_",)

    boundaries_: NDArray[np.float64]

    def _set_boundaries(self) -> None:
        """Put boundaries half way between levels."""
        self.boundaries_ = np.nextafter((self.scale_[1:] + self.scale_[:-1]) / 2, -np.inf)

    def _margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._scores(users, items)[:, None] - self.boundaries_)

    def _absolute_errors(self, found: NDArray[Any], true: NDArray[Any]) -> NDArray[Any]:
        """Return how many levels estimates are off, as a share of the most possible: an error for `select_alpha`.

        Shares of wrong levels hardly change with alpha where a loss cares for large errors above all.
        """
        return np.asarray(np.abs(found - true.astype(np.int64)) / (len(self.scale_) - 1))

    def _check_learned(self) -> None:
        super()._check_learned()
        check_array("boundaries_", self.boundaries_, (len(self.scale_) - 1,))


class CentredFactorModel(EstimateModel, FactorModel):
    """A `FactorModel` of ratings less their mean: the estimate is µ + U_i·V_j + b_i + c_j.

    Attributes
    ----------
    mean_ : float
        µ.
    """

    _learned = (*FactorModel._learned, *EstimateModel._learned, "mean_")

    mean_: float

    def _scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        return super()._scores(users, items) + self.mean_

    def _score_block(self, users: NDArray[Any]) -> NDArray[Any]:
        return super()._score_block(users) + self.mean_

    def _check_learned(self) -> None:
        super()._check_learned()
        check_number("mean_", self.mean_, low=-np.inf)
