"""Similar items and users of a recommender: by its exposure models, that is by what users take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.ranking.base import ExposureModel
from cofactor.ratings.ranking.factors import FactorExposure
from cofactor.ratings.similar import Alike, Vectors, directions_of_takes, directions_of_users, similar_rows
from cofactor.typing import Ids

__all__ = ["AlikeByItsParts"]


class AlikeByItsParts(Alike):
    """Similar items and users by the first exposure model that has factors, else by the takes themselves."""

    exposures_: list[ExposureModel]
    users_: IdMap
    _require_ratings: Callable[..., Ratings]

    def _item_directions(self) -> NDArray[np.float64]:
        """See `Arrangeable`: those of the first exposure model that has factors, else of the takes."""
        with_factors = self._first_with_factors()
        return super()._item_directions() if with_factors is None else with_factors._item_directions()

    def similar_users(
        self, users: Ids, n: int = 10, *, candidates: Iterable[Any] | None = None, min_ratings: int = 5
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Find the users who take alike, by factors where a model of who takes what has some; see `ALS.similar_users`.

        Parameters
        ----------
        users, n, candidates, min_ratings
            As there.

        Returns
        -------
        ids : ndarray of shape (k, n)
        similarities : ndarray of shape (k, n)

        Examples
        --------
        >>> from cofactor.ratings import Recommender
        >>> X = [(u, i) for u in range(8) for i in range(8) if u % 2 == i % 2 and u != i]
        >>> model = Recommender(random_state=0).fit(X)
        >>> sorted(model.similar_users([1], 3, min_ratings=0)[0][0].tolist())
        [3, 5, 7]
        """
        check_is_fitted(self)
        return similar_rows(self, "user", self._user_directions, users, n, candidates, min_ratings)

    def user_vectors(self) -> Vectors:
        """Return a vector of length 1 of each user, whose inner products are the similarities of `similar_users`."""
        check_is_fitted(self)
        return Vectors(self.users_.ids, self._user_directions().astype(np.float32))

    def _user_directions(self) -> NDArray[np.float64]:
        """Return those of the first exposure model that has factors, else of the takes."""
        part = self._first_with_factors()
        if part is not None:
            return directions_of_users(part)
        return directions_of_takes(self._require_ratings(()), "user")

    def _first_with_factors(self) -> FactorExposure | None:
        return next((part for part in self.exposures_ if isinstance(part, FactorExposure)), None)
