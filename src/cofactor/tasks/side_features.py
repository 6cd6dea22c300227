"""Features of users and of items from files: given to a fit, and to a fitted model for those who are new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets import load_side_features, read_side_features
from cofactor.datasets.load import SETS_WITH_FEATURES
from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.ratings import MODELS, IdMap, Ratings
from cofactor.ratings.features import FeatureTable, PairQuery, new_rows, takes_features
from cofactor.tasks.matching import match_ids
from cofactor.tasks.models import short_names
from cofactor.tasks.places import about

__all__ = ["SIDES", "asked", "check_taking", "features_of", "only_new", "side_features"]

#: Options that name files of features, and the ids of a model which they are about.
SIDES = {"user_features": "users_", "item_features": "items_"}


def features_of(data: Ratings, options: Mapping[str, Any]) -> dict[str, FeatureTable]:
    """Return the features that options name, by the arguments of `fit`.

    Parameters
    ----------
    data : Ratings
        The ratings to which they belong.
    options : mapping from str to object
        user_features and item_features: files, or names of known data sets; encoding.
    """
    sides = (("user_features", data.users), ("item_features", data.items))
    return {
        argument: _read(options[argument], argument, ids, options)
        for argument, ids in sides
        if options.get(argument) is not None
    }


def check_taking(models: Mapping[str, Any], features: Mapping[str, FeatureTable]) -> tuple[Text, ...]:
    """Refuse features that no model takes; return a note about those models that do not.

    Parameters
    ----------
    models : mapping from str to RatingModel
        By what messages call them.
    features : mapping from str to FeatureTable
        As `features_of` returns them.
    """
    without = [name for name, model in models.items() if not takes_features(model)]
    if not features or not without:
        return ()
    argument, names = next(iter(features)), ", ".join(without)
    none = "takes" if len(without) == 1 else "take"
    if len(without) == len(models):
        taking = [name for name, kind in short_names(MODELS).items() if kind.tags.features is True]
        others = ", ".join(["recommender", *taking])
        raise InvalidInputError((Argument(argument), f": {names} {none} no features; {others} do"), argument=argument)
    return (f"{names} {none} no features, and is fitted to the ratings alone",)


def side_features(model: Any, argument: str, options: Mapping[str, Any]) -> FeatureTable | None:
    """Return the features of users, or items, that an option names; None without it.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    argument : {"user_features", "item_features"}
        Whose features.
    options : mapping from str to object
        As for `features_of`.
    """
    if options.get(argument) is None:
        return None
    return _read(options[argument], argument, getattr(model, SIDES[argument]), options)


def only_new(model: Any, table: FeatureTable) -> FeatureTable:
    """Return the features of those who were not in training; there must be some.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    table : FeatureTable
        As `side_features` returns it.
    """
    new = new_rows(getattr(model, SIDES[table.argument]), table)
    if not new.any():
        whom = "users" if table.argument == "user_features" else "items"
        raise InvalidInputError((Argument(table.argument), f" holds only {whom} that were in training"))
    return table.among(new)


def asked(
    model: Any, X: NDArray[Any], options: Mapping[str, Any], times: NDArray[np.float64] | None = None
) -> PairQuery:
    """Return pairs with the models that know them; those who are new are folded in if files of features have them.

    Parameters
    ----------
    model, X, times
        As `PairQuery.of` takes them.
    options : mapping from str to object
        As for `features_of`.
    """
    tables = users, items = [side_features(model, argument, options) for argument in SIDES]
    matched = X
    for side, table in enumerate(tables):
        if table is not None:
            matched = matched.astype(object)
            matched[:, side] = match_ids(X[:, side], table.ids)
    return PairQuery.of(model, matched, users, items, times)


def _read(file: str, argument: str, known: IdMap, options: Mapping[str, Any]) -> FeatureTable:
    """Read features of a file, or of a known data set; ids in the form which is known."""
    with about(file):
        if file in SETS_WITH_FEATURES:
            table = dict(zip(SIDES, load_side_features(file), strict=True))[argument]
            if table is None:
                raise InvalidInputError(f"has no {argument.replace('_', ' ')}")
            ids: Any = [str(one) for one in table[0].tolist()]
            columns = table[1]
        else:
            ids, columns = read_side_features(file, encoding=options.get("encoding") or "utf-8", ids="str")
        return FeatureTable.read((match_ids(ids, known), columns), argument)
