"""Files of a recommender, which hold its parts, and its ratings once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.model.state import check_array
from cofactor.ratings.base import RatingModel
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.ranking.base import ExposureModel
from cofactor.ratings.ranking.cold import ColdItems
from cofactor.ratings.ranking.takes import TAKEN, as_takes
from cofactor.ratings.saved import Saved
from cofactor.ratings.saving import without_ratings_of

__all__ = ["SavedInParts"]


class SavedInParts(Saved):
    """Saving of exposure models and a rating model of the same ratings."""

    users_: IdMap
    items_: IdMap
    scale_: NDArray[np.float64]
    exposures_: list[ExposureModel]
    rating_model_: RatingModel | None
    ratings_: Ratings | None
    weights_: NDArray[np.float64]
    exponent_: float
    knots_: NDArray[np.float64]
    usual_takes_: float
    tried_: dict[str, list[Any]]
    cold_: ColdItems | None

    def _saved(self) -> dict[str, Any]:
        """Return what a file holds; the ratings stand in it once, not in each part."""
        whole = super()._saved()
        whole["exposures_"] = [without_ratings_of(part) for part in self.exposures_]
        if self.rating_model_ is not None:
            whole["rating_model_"] = without_ratings_of(self.rating_model_)
        whole["cold_"] = None if self.cold_ is None else self.cold_.to_state()
        return whole

    def _restore(self, saved: dict[str, Any]) -> None:
        state = saved["cold_"]
        super()._restore({**saved, "cold_": None if state is None else ColdItems.from_state(state)})

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together."""
        parts = self.exposures_
        if not isinstance(parts, list) or not parts or not all(isinstance(part, ExposureModel) for part in parts):
            raise InvalidInputError("the exposures of a Recommender must be models of exposure")
        if self.rating_model_ is not None and not isinstance(self.rating_model_, RatingModel):
            raise InvalidInputError("the rating model of a Recommender must be one")
        models: list[Any] = [*parts, *([] if self.rating_model_ is None else [self.rating_model_])]
        if any(model.users_ != self.users_ or model.items_ != self.items_ for model in models):
            raise InvalidInputError("the parts of a Recommender must have its users and items")
        scale = TAKEN if self.rating_model_ is None else self.rating_model_.scale_
        if not np.array_equal(scale, self.scale_):
            raise InvalidInputError("the parts of a Recommender must have its scale")
        check_array("knots_", self.knots_, (len(parts),), np.float64)
        check_array("weights_", self.weights_, (len(parts), 2), np.float64)
        check_number("exponent_", self.exponent_, low=-np.inf)
        if not isinstance(self.tried_, dict) or set(self.tried_) != {"model", "settings", "gain", "weight"}:
            raise InvalidInputError("what a Recommender tried must be a table")
        if not all(isinstance(column, list) for column in self.tried_.values()):
            raise InvalidInputError("what a Recommender tried must be lists")
        check_number("usual_takes_", self.usual_takes_, low=0, inclusive=False)
        if self.cold_ is not None:
            self.cold_.check(len(self.items_))

    @classmethod
    def _from_state(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any]) -> Self:
        new = super()._from_state(header, arrays, models)
        if new.ratings_ is not None:
            takes = as_takes(new.ratings_)
            for part in new.exposures_:
                part.ratings_ = takes
            if new.rating_model_ is not None:
                new.rating_model_.ratings_ = new.ratings_
        return new
