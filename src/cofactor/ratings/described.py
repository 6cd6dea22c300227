"""Models that learn what features say of users and items, and so know new ones by features alone."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from cofactor.ratings.base import RatingModel
from cofactor.ratings.features import FeatureTable
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.folding import new_items
from cofactor.typing import Pairs, RatingValues, SideFeatures

__all__ = ["DescribedModel", "table_of"]


def table_of(given: SideFeatures | None, argument: str) -> FeatureTable | None:
    """Return the features that a caller gave, checked; None without."""
    return None if given is None else FeatureTable.read(given, argument)


class DescribedModel(RatingModel):
    """A rating model that takes features of users and items, and folds in items as well as users."""

    @abstractmethod
    def _fold_in_items(self, given: FitInput) -> None:
        """Replace what belongs to items by what is given of new ones; users stay."""

    def fit(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        user_features: SideFeatures | None = None,
        item_features: SideFeatures | None = None,
    ) -> Self:
        """Learn from ratings, and from what else is known of users and items.

        Parameters
        ----------
        X, y, time
            As in `RatingModel.fit`.
        {side_features}

        Returns
        -------
        self
        """
        users, items = table_of(user_features, "user_features"), table_of(item_features, "item_features")
        self._check_params()
        return self._learn(FitInput(self._read(X, y, time), user_features=users, item_features=items))

    def fold_in_items(
        self,
        X: Pairs | None = None,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        item_features: SideFeatures | None = None,
        known: str = "error",
    ) -> Self:
        """Return a model for items which were not in training, users held fixed.

        Parameters
        ----------
        X, y : optional
            Ratings of the new items by users of this model, as in `fit`. Ratings by others are left out, unless
            ``unknown="error"``.
        time : array-like of shape (n,), optional
            As in `fit`.
        item_features : mapping, frame, or tuple, optional
            The same columns as in `fit`, of new items. Items without ratings are known by them alone, but for those of
            training, whose rows count only if they are in X too. Items without a row get the column means of training.
        known : {"error", "merge", "replace"}, default="error"
            As in `fold_in`, of items in X, or without X of those in `item_features`.

        Returns
        -------
        RatingModel
            Of the same class, with the same methods, knowing the same users and the new items only.

        Examples
        --------
        >>> from cofactor.ratings import OrdinalProbit
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> y = [1 + 3 * (u % 2 == i % 2) for u, i in X]
        >>> genres = {i: ["drama" if i % 2 else "comedy"] for i in range(6)}
        >>> model = OrdinalProbit(2, implicit=None, random_state=0).fit(X, y, item_features=genres)
        >>> model.fold_in_items(item_features={"new": ["drama"]}).predict([(0, "new"), (1, "new")])
        array([1., 4.])
        """
        check_is_fitted(self)
        table = table_of(item_features, "item_features")
        ratings = new_items(self, X, y, known, table, time)
        new = copy.copy(self)
        new.items_, new.ratings_ = ratings.items, ratings
        new._fold_in_items(FitInput(ratings, item_features=table))
        return new
