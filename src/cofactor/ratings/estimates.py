"""Models whose score is an estimated rating, decoded to the nearest level."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels import observed
from cofactor.model.checks import check_number
from cofactor.model.state import check_array
from cofactor.ratings.base import RatingModel
from cofactor.ratings.factors.base import FactorModel


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


class OriginFactorModel(EstimateModel, FactorModel):
    """A `FactorModel` whose factors do not vanish for an average user: the estimate is o + U_i·V_j + b_i + c_j.

    Attributes
    ----------
    origin_ : float
        The rating o from which scores count.
    common_user_, common_item_ : ndarray of shape (d,)
        Factors of users and items about whom nothing is known.
    """

    _learned = (*FactorModel._learned, *EstimateModel._learned, "origin_", "common_user_", "common_item_")

    origin_: float
    common_user_: NDArray[Any]
    common_item_: NDArray[Any]

    def _scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        out = np.empty(len(users), dtype=self.V_.dtype)
        # Index -1 takes the row after the last one.
        U, V = np.vstack([self.U_, self.common_user_]), np.vstack([self.V_, self.common_item_])
        b, c = np.append(self.user_bias_, U.dtype.type(0)), np.append(self.item_bias_, V.dtype.type(0))
        rows, columns = np.where(users < 0, len(U) - 1, users), np.where(items < 0, len(V) - 1, items)
        observed.pair_scores(0, len(users), rows, columns, U, V, b, c, out)
        return out + self.V_.dtype.type(self.origin_)

    def _score_block(self, users: NDArray[Any]) -> NDArray[Any]:
        return super()._score_block(users) + self.V_.dtype.type(self.origin_)

    def _check_learned(self) -> None:
        super()._check_learned()
        check_number("origin_", self.origin_, low=-np.inf)
        for name in ("common_user_", "common_item_"):
            check_array(name, getattr(self, name), self.V_.shape[1:], self.V_.dtype)
