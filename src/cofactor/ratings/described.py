"""Models that learn what features say of users and items, and so know new ones by features alone."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import Argument, InvalidInputError
from cofactor.model.times import pairs_for
from cofactor.ratings.base import RatingModel
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interaction_model import Factored
from cofactor.ratings.interactions import is_data_set
from cofactor.ratings.similar import covariance, directions
from cofactor.typing import Ids, Pairs, RatingValues, SideFeatures, SparseTable

if TYPE_CHECKING:
    from cofactor.ratings.features import FeatureTable

__all__ = [
    "DescribedModel",
    "PairQuery",
    "new_rows",
    "table_of",
    "tables_of",
    "takes_features",
    "with_new_items",
    "with_new_users",
]


def table_of(given: SideFeatures | None, argument: str) -> FeatureTable | None:
    """Return the features that a caller gave, checked; None without."""
    if given is None:
        return None
    from cofactor.ratings.features import FeatureTable

    return FeatureTable.read(given, argument)


def tables_of(
    X: Any, user_features: SideFeatures | None, item_features: SideFeatures | None
) -> tuple[FeatureTable | None, FeatureTable | None]:
    """Return features of users and of items, checked: those that are given, or that a data set has.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from cofactor.datasets import make_ratings
    >>> data = replace(make_ratings(3, 2, 1, random_state=0), features={"item_features": {0: [2.5], 1: [3.0]}})
    >>> tables_of(data, None, None)[1].values.tolist()
    [[2.5], [3.0]]
    """
    own = getattr(X, "features", {}) if is_data_set(X) else {}
    users = own.get("user_features") if user_features is None else user_features
    items = own.get("item_features") if item_features is None else item_features
    return table_of(users, "user_features"), table_of(items, "item_features")


class DescribedModel(Factored, RatingModel):
    """A rating model that takes features of users and items, and folds in items as well as users."""

    def fit(
        self,
        X: Pairs,
        y: RatingValues = None,
        *,
        time: ArrayLike | None = None,
        sample_weight: ArrayLike | SparseTable | None = None,
        user_features: SideFeatures | None = None,
        item_features: SideFeatures | None = None,
    ) -> Self:
        """Learn from ratings, and from what else is known of users and items.

        Parameters
        ----------
        X, y, time
            As in `RatingModel.fit`.
        {rating_weight}
        {side_features}

        Returns
        -------
        self
        """
        return self._learn(self._given(X, y, time, sample_weight, user_features, item_features))

    def _given(self, X: Any, y: Any, time: Any, sample_weight: Any, user_features: Any, item_features: Any) -> FitInput:
        """Return what to learn from, checked as the parameters are."""
        users, items = tables_of(X, user_features, item_features)
        self._check_params()
        return FitInput(self._read(X, y, time, sample_weight), user_features=users, item_features=items)

    def _known_by_features(self, new_items: SideFeatures) -> Self:
        from cofactor.ratings.features import FeatureTable, unknown_features

        if not self._knows_features("item"):
            raise unknown_features("new_items")
        table = FeatureTable.read(new_items, "new_items")
        new = table.among(new_rows(self.items_, table))
        if not len(new.ids):
            raise InvalidInputError((Argument("new_items"), " holds no item that is new"), argument="new_items")
        return self.fold_in_items(item_features=new)

    def similar_items(
        self,
        items: Ids,
        n: int = 10,
        *,
        candidates: Iterable[Any] | None = None,
        min_ratings: int = 5,
        new_items: SideFeatures | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Find the items that the same users like, also of new items which only features describe.

        The similarity of two items is the correlation of their scores over users, see `PMF.similar_items`.

        Parameters
        ----------
        items : array-like of shape (k,)
            Item ids, of training or of `new_items`.
        n, candidates, min_ratings
            As there; only items of training are found.
        new_items : mapping, frame, or tuple, optional
            The same columns as the `item_features` of `fit`, of items that only these describe. Rows of
            items of training are passed over.

        Returns
        -------
        ids : ndarray of shape (k, n)
        similarities : ndarray of shape (k, n)

        Raises
        ------
        InvalidInputError
            If an item is known in neither way, or the model learned without features of items.

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> y = [5 if u % 2 == i % 2 else 1 for u, i in X]
        >>> genres = {i: ["drama" if i % 2 else "comedy"] for i in range(6)}
        >>> model = ALS(2, 1.0, random_state=0).fit(X, y, item_features=genres)
        >>> sorted(model.similar_items(["new"], 3, new_items={"new": ["drama"]})[0][0].tolist())
        [1, 3, 5]
        """
        if new_items is None:
            return super().similar_items(items, n, candidates=candidates, min_ratings=min_ratings)
        from cofactor.ratings.features import FeatureTable

        check_is_fitted(self)
        self._refuse_fold_in("item")
        part = with_new_items(self, FeatureTable.read(new_items, "new_items"))
        known_and_new = np.vstack([self.V_, part.V_])

        def vectors() -> NDArray[np.float64]:
            return directions(known_and_new, covariance(self.U_))

        return self._similar("item", vectors, items, n, candidates, min_ratings, part.items_)


@dataclass(frozen=True)
class PairQuery:
    """Pairs of user and item, and for each part of them the model that knows it.

    Attributes
    ----------
    n_pairs : int
    parts : list of tuple
        Which pairs are in the part, these pairs, and the model.
    """

    n_pairs: int
    parts: list[tuple[NDArray[np.bool_], NDArray[Any], Any]]

    @classmethod
    def of(
        cls,
        model: Any,
        X: NDArray[Any],
        users: FeatureTable | None,
        items: FeatureTable | None,
        times: NDArray[np.float64] | None = None,
    ) -> PairQuery:
        """Fold in those who are new, as far as features describe them.

        Parameters
        ----------
        model : RatingModel
            Fitted.
        X : ndarray of shape (n, 2)
            Pairs of user and item.
        users, items : FeatureTable or None
            Features of users and of items.
        times : ndarray of shape (n,), optional
            When they are asked for; models that know time need it.

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
        >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
        >>> genres = table_of({i: ["drama" if i % 2 else "comedy"] for i in range(8)}, "item_features")
        >>> model = ALS(2, 0.1, random_state=0).fit(X, y, item_features=genres)
        >>> PairQuery.of(model, np.array([(0, 5), (0, 7), (1, 7)]), None, genres).answers("predict")
        array([1., 2., 3.])
        """
        new = np.zeros((len(X), 2), dtype=np.bool_)
        for side, (table, known) in enumerate(((users, model.users_), (items, model.items_))):
            if table is not None:
                at = table.ids.index(X[:, side])
                new[:, side] = (at >= 0) & new_rows(known, table)[at]
        parts = []
        for of_users, of_items in itertools.product((False, True), repeat=2):
            rows = (new == [of_users, of_items]).all(axis=1)
            if rows.any():
                part = model
                if of_users and users is not None:
                    part = with_new_users(part, users)
                if of_items and items is not None:
                    part = with_new_items(part, items)
                parts.append((rows, pairs_for(part, X[rows], None if times is None else times[rows]), part))
        return cls(len(X), parts)

    def answers(self, method: str) -> NDArray[Any]:
        """Return what a method of the models says of all pairs."""
        found = [getattr(model, method)(pairs) for _, pairs, model in self.parts]
        whole = np.empty((self.n_pairs, *found[0].shape[1:]), dtype=found[0].dtype)
        for (rows, _, _), values in zip(self.parts, found, strict=True):
            whole[rows] = values
        return whole

    def n_unknown(self) -> int:
        """Return how many pairs have a user or an item that their model does not know."""
        return sum(
            int(((model.users_.index(pairs[:, 0]) < 0) | (model.items_.index(pairs[:, 1]) < 0)).sum())
            for _, pairs, model in self.parts
        )


def takes_features(model: Any) -> bool:
    """Return whether a model can be fitted with features of users and items; of a `Recommender` its rating model.

    Examples
    --------
    >>> from cofactor.ratings import ALS, URP, Recommender
    >>> takes_features(ALS()), takes_features(URP())
    (True, False)
    >>> takes_features(Recommender()), takes_features(Recommender(ratings=URP()))
    (True, False)
    """
    of_parts = getattr(model, "_takes_features", None)
    return isinstance(model, DescribedModel) if of_parts is None else bool(of_parts())


def new_rows(known: IdMap, table: FeatureTable) -> NDArray[np.bool_]:
    """Return whose features are not those of known users, or items, in the order of the table."""
    return known.index(table.ids.ids) < 0


def with_new_users(model: Any, table: FeatureTable) -> Any:
    """Return a model of the users of a table whom it does not know yet; it knows them by features alone."""
    return model.fold_in(user_features=table.among(new_rows(model.users_, table)))


def with_new_items(model: Any, table: FeatureTable) -> Any:
    """Return a model of the items of a table which it does not know yet; it knows them by features alone."""
    if not isinstance(model, DescribedModel):
        from cofactor.ratings.features import unknown_features

        raise unknown_features(table.argument)
    return model.fold_in_items(item_features=table.among(new_rows(model.items_, table)))
