"""Features of users and of items from files: given to a fit, and to a fitted model for those who are new."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.readers.side_features import read_side_features
from cofactor.errors import Argument, InvalidInputError
from cofactor.model.times import pairs_for
from cofactor.ratings import IdMap, Ratings
from cofactor.ratings.features import FeatureTable, unknown_features
from cofactor.tasks.base import about
from cofactor.tasks.matching import match_ids

__all__ = ["Asked", "features_of_training", "only_new", "side_features", "with_new_items"]

#: Options that name files of features, and the ids of a model which they are about.
_SIDES = {"user_features": "users_", "item_features": "items_"}


def features_of_training(model: Any, data: Ratings, options: Mapping[str, Any]) -> dict[str, FeatureTable]:
    """Return the features that options ask a fit, or an update, to use, by its arguments.

    Parameters
    ----------
    model : RatingModel
        To be fitted, or updated.
    data : Ratings
        To which, or with which.
    options : mapping from str to object
        user_features and item_features: files; encoding.
    """
    found = {}
    for argument, ids in (("user_features", data.users), ("item_features", data.items)):
        if options.get(argument) is None:
            continue
        if argument not in signature(model.fit).parameters:
            taken = f": {type(model).__name__} takes no features; ordinal-probit does"
            raise InvalidInputError((Argument(argument), taken), argument=argument)
        found[argument] = _read(options[argument], argument, ids, options)
    return found


def side_features(model: Any, argument: str, options: Mapping[str, Any]) -> FeatureTable | None:
    """Return the features of users, or items, that an option names; None without it.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    argument : {"user_features", "item_features"}
        Whose features.
    options : mapping from str to object
        As for `features_of_training`.
    """
    if options.get(argument) is None:
        return None
    return _read(options[argument], argument, getattr(model, _SIDES[argument]), options)


def only_new(model: Any, table: FeatureTable) -> FeatureTable:
    """Return the features of those who were not in training; there must be some.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    table : FeatureTable
        As `side_features` returns it.
    """
    new = _is_new(model, table)
    if not new.any():
        whom = "users" if table.argument == "user_features" else "items"
        raise InvalidInputError((Argument(table.argument), f" holds only {whom} that were in training"))
    return replace(table, ids=IdMap(table.ids.ids[new]), values=table.values[new])


def with_new_items(model: Any, table: FeatureTable) -> Any:
    """Return a model of the new items that features alone describe.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    table : FeatureTable
        As `side_features` returns it.
    """
    if not hasattr(model, "fold_in_items"):
        raise unknown_features(table.argument)
    return model.fold_in_items(item_features=only_new(model, table))


@dataclass(frozen=True)
class Asked:
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
        cls, model: Any, X: NDArray[Any], options: Mapping[str, Any], times: NDArray[np.float64] | None = None
    ) -> Asked:
        """Fold in those who are new, if options name files of features that have them.

        Parameters
        ----------
        model : RatingModel
            Fitted.
        X : ndarray of shape (n, 2)
            Pairs of user and item.
        options : mapping from str to object
            As for `features_of_training`.
        times : ndarray of shape (n,), optional
            When they are asked for; models that know time need it.
        """
        users, items = tables = [side_features(model, argument, options) for argument in _SIDES]
        matched, new = X, np.zeros(X.shape, dtype=np.bool_)
        for side, table in enumerate(tables):
            if table is not None:
                matched = matched.astype(object)
                ids = match_ids(X[:, side], table.ids)
                at = table.ids.index(ids)
                matched[:, side], new[:, side] = ids, (at >= 0) & _is_new(model, table)[at]
        parts = []
        for of_users, of_items in itertools.product((False, True), repeat=2):
            rows = (new == [of_users, of_items]).all(axis=1)
            if rows.any():
                part = model
                if of_users and users is not None:
                    part = model.fold_in(user_features=only_new(model, users))
                if of_items and items is not None:
                    part = with_new_items(part, items)
                parts.append((rows, pairs_for(part, matched[rows], None if times is None else times[rows]), part))
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


def _is_new(model: Any, table: FeatureTable) -> NDArray[np.bool_]:
    """Return whose features are not those of training, in the order of the table."""
    known: IdMap = getattr(model, _SIDES[table.argument])
    return known.index(table.ids.ids) < 0


def _read(file: str, argument: str, known: IdMap, options: Mapping[str, Any]) -> FeatureTable:
    """Read features; ids in the form which is known."""
    texts, values, names = read_side_features(file, encoding=options.get("encoding") or "utf-8", ids="str")
    with about(file):
        return replace(FeatureTable.read((match_ids(texts, known), values), argument), names=names)
