"""Features of users and items as a caller gives them, and models of those who are new, known by features alone."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cofactor.model.times import pairs_for
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interactions import is_data_set
from cofactor.typing import SideFeatures

if TYPE_CHECKING:
    from cofactor.ratings.features import FeatureTable

__all__ = [
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
    return hasattr(model, "can") and bool(model.can("features"))


def new_rows(known: IdMap, table: FeatureTable) -> NDArray[np.bool_]:
    """Return whose features are not those of known users, or items, in the order of the table."""
    return known.index(table.ids.ids) < 0


def with_new_users(model: Any, table: FeatureTable) -> Any:
    """Return a model of the users of a table whom it does not know yet; it knows them by features alone."""
    return model.fold_in(user_features=table.among(new_rows(model.users_, table)))


def with_new_items(model: Any, new_items: SideFeatures) -> Any:
    """Return a model of the same users, and of the items of a table which it does not know but by these features."""
    from cofactor.ratings.features import FeatureTable, unknown_features

    argument = getattr(new_items, "argument", "new_items")
    model.require("features", argument)
    if not model.knows_features("item"):
        raise unknown_features(argument)
    table = FeatureTable.read(new_items, argument)
    return model.fold_in_items(item_features=table.among(new_rows(model.items_, table)))
