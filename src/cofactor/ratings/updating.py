"""New ratings, users and items taken into a fitted model: rows that they concern are learned anew, the rest is kept."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import Argument, InvalidInputError
from cofactor.model.commit import committed, learned_names
from cofactor.model.size import refuse_too_large
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import entries_of_rows
from cofactor.ratings.features import FeatureTable, refuse_foreign, unknown_features
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.folding import new_ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.merging import among
from cofactor.typing import Pairs, RatingValues, SideFeatures, SideName

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel

__all__ = [
    "Joint",
    "joined_parts",
    "take_in",
    "update",
    "without_its_ratings",
]

_Model = TypeVar("_Model", bound="RatingModel")


@dataclass(frozen=True)
class Joint:
    """Where the users, or items, of a model and of a part stand among those of both.

    Attributes
    ----------
    side : {"user", "item"}
    ids : IdMap
        Those of both.
    old, new : ndarray of int
        Where those of the model stand, and those of the part.
    """

    side: SideName
    ids: IdMap
    old: NDArray[np.int32]
    new: NDArray[np.int32]

    def rows(self, ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of both in a new array; those of the part in the place of the model's.

        Examples
        --------
        >>> joint = Joint("user", IdMap(["a", "b", "c"]), np.array([0, 2]), np.array([1, 2]))
        >>> joint.rows(np.array([1.0, 3.0]), np.array([20.0, 30.0]))
        array([ 1., 20., 30.])
        """
        out = np.zeros((len(self.ids), *ours.shape[1:]), dtype=ours.dtype)
        out[self.old] = ours
        out[self.new] = theirs
        return out

    def spread(self, ours: NDArray[Any], axis: int = 0) -> NDArray[Any]:
        """Return what a model has for each, along an axis, among zeros for those who are new."""
        shape = list(ours.shape)
        shape[axis] = len(self.ids)
        out = np.moveaxis(np.zeros(shape, dtype=ours.dtype), axis, 0)
        out[self.old] = np.moveaxis(ours, axis, 0)
        return np.ascontiguousarray(np.moveaxis(out, 0, axis))

    def rows_of_samples(self, ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
        """Return likewise samples (S, n + 1, ...) of rows, the last of which, a cold one's, stays as it is."""
        out = np.zeros((len(ours), len(self.ids) + 1, *ours.shape[2:]), dtype=ours.dtype)
        out[:, self.old], out[:, self.new], out[:, -1] = ours[:, :-1], theirs[:, :-1], ours[:, -1]
        return out

    def ragged(
        self,
        ours: tuple[NDArray[np.int64], NDArray[Any]],
        theirs: tuple[NDArray[np.int64], NDArray[Any]],
        axis: int = 0,
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return likewise rows of several lengths: offsets, and entries along an axis."""
        counts = self.rows(np.diff(ours[0]), np.diff(theirs[0]))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        kept = np.setdiff1d(self.old, self.new)
        shape = list(ours[1].shape)
        shape[axis] = int(indptr[-1])
        out = np.moveaxis(np.zeros(shape, dtype=ours[1].dtype), axis, 0)
        for where, rows, (start, entries) in ((self.old, kept, ours), (self.new, self.new, theirs)):
            chosen = np.isin(where, rows)
            _, source = entries_of_rows(start, np.flatnonzero(chosen))
            _, target = entries_of_rows(indptr, where[chosen])
            out[target] = np.moveaxis(entries, axis, 0)[source]
        return indptr, np.moveaxis(out, 0, axis)


def update(
    model: _Model,
    X: Pairs,
    y: RatingValues,
    time: ArrayLike | None,
    user_features: SideFeatures | None,
    item_features: SideFeatures | None,
) -> _Model:
    """See `RatingModel.update`."""
    check_is_fitted(model)
    model._fitted_on()
    return take_in(model, *new_ratings(model, X, y, time), user_features, item_features)


def take_in(
    model: _Model,
    both: Ratings,
    new: Ratings,
    user_features: SideFeatures | None = None,
    item_features: SideFeatures | None = None,
) -> _Model:
    """Take new ratings into a model, as `update` does, from what `new_ratings` read: all ratings, and the new ones."""
    known, _ = model._fitted_on()
    of_users = _features(model, "user", user_features, both.users)
    of_items = _features(model, "item", item_features, both.items)
    given = FitInput(both, whole=both, update=known.n_updates + 1, user_features=of_users, item_features=of_items)
    refuse_too_large(model, model._fit_bytes(both), both.n_ratings)
    with committed(model, keep=learned_names(model)) as grown:
        _take(grown, both, new, given)
        grown.ratings_, grown.updates_ = both, known.after(new.n_ratings)
        grown._settle(both)
    return model


def _features(model: RatingModel, side: SideName, given: SideFeatures | None, ids: IdMap) -> FeatureTable | None:
    """Return a table of features, where the model was fitted with such; there it is needed, for some of the ids."""
    name = f"{side}_features"
    if given is None and model._knows_features(side):
        raise InvalidInputError(
            f"this model was fitted with features of {side}s, and does not keep them",
            argument=name,
            advice=("give ", Argument(name), f" of the {side}s with new ratings"),
        )
    if given is not None and not model._knows_features(side):
        raise unknown_features(name)
    if given is None:
        return None
    table = FeatureTable.read(given, name)
    refuse_foreign(table, ids)
    return table


def _take(model: RatingModel, both: Ratings, new: Ratings, given: FitInput) -> None:
    """Join new users and items to a model, and learn their rows, and all that have new ratings, anew."""
    new_users = IdMap(new.users.ids[model.users_.index(new.users.ids) < 0])
    new_items = IdMap(new.items.ids[model.items_.index(new.items.ids) < 0])
    users = IdMap(new.users.ids[(new.user_counts > 0) | (new_users.index(new.users.ids) >= 0)])
    items = IdMap(new.items.ids[(new.item_counts > 0) | (new_items.index(new.items.ids) >= 0)])

    def of(**ids: IdMap) -> FitInput:
        return replace(given, ratings=among(both, **ids))

    if len(new_users):
        _join(model, model._folded_in(of(users=new_users, items=model.items_)), "user", both.users)
    if len(new_items):
        _join(model, model._items_folded_in(of(items=new_items)), "item", both.items)
    _join(model, model._items_folded_in(of(items=items)), "item", both.items)
    _join(model, model._folded_in(of(users=users)), "user", both.users)


def without_its_ratings(part: _Model) -> _Model:
    """Return a new part of a model, whose ratings the whole keeps, after these have been taken from it."""
    part.ratings_ = None
    return part


def joined_parts(ours: Sequence[_Model], theirs: Sequence[_Model], joint: Joint) -> list[_Model]:
    """Return copies of the parts of a model, to each of which that of another one is joined."""
    joined = [copy.copy(part) for part in ours]
    for part, other in zip(joined, theirs, strict=True):
        part._join(other, joint)
        setattr(part, f"{joint.side}s_", joint.ids)
    return joined


def _join(model: RatingModel, part: RatingModel, side: SideName, ids: IdMap) -> None:
    """Join a part to a model, by the ids of both."""
    ours, theirs = (getattr(each, f"{side}s_").ids for each in (model, part))
    model._join(part, Joint(side, ids, ids.index(ours), ids.index(theirs)))
    setattr(model, f"{side}s_", ids)
