"""What a recommender says of ratings: all of it comes from its rating model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import InvalidInputError
from cofactor.typing import Pairs

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel

__all__ = ["PredictsByItsPart"]


class PredictsByItsPart:
    """Predictions of the rating model, so that one model recommends and predicts."""

    rating_model_: RatingModel | None

    def predict(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[np.float64]:
        """Predict ratings, as `RatingModel.predict` of the rating model does.

        Parameters
        ----------
        X, time
            As there.

        Returns
        -------
        ndarray of shape (n,), float64
            Ratings on the original scale.
        """
        return self._predicting().predict(X, time=time)

    def predict_proba(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[Any]:
        """Return the probability of every level, once the item is taken.

        Parameters
        ----------
        X, time
            As in `RatingModel.predict_proba`.

        Returns
        -------
        ndarray of shape (n, R)
        """
        return np.asarray(self._predicting().predict_proba(X, time=time))

    def decision_function(self, X: Pairs, *, time: ArrayLike | None = None) -> NDArray[Any]:
        """Return scores of the rating model: for one user, a higher one means an item better liked once taken.

        Parameters
        ----------
        X, time
            As in `RatingModel.decision_function`.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._predicting().decision_function(X, time=time)

    def score(self, X: Pairs, y: ArrayLike, *, time: ArrayLike | None = None) -> float:
        """Return minus the mean absolute error of `predict`."""
        return self._predicting().score(X, y, time=time)

    def _predicting(self) -> RatingModel:
        """Return the rating model, or refuse to predict without."""
        check_is_fitted(self)
        if self.rating_model_ is None:
            raise InvalidInputError(
                "this Recommender was fitted to takes alone, and predicts no ratings",
                advice="recommend ranks items by P(take); fit it to ratings to predict them",
            )
        return self.rating_model_
