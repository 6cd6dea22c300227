"""New ratings, users and items taken into a fitted model: rows that they concern are learned anew, the rest is kept."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import InvalidInputError
from cofactor.model.commit import committed, learned_names
from cofactor.model.size import refuse_too_large
from cofactor.model.state import member
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import entries_of_rows
from cofactor.ratings.features import FeatureTable, refuse_foreign, unknown_features
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.folding import new_ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.merging import among
from cofactor.ratings.shard_work import in_memory
from cofactor.typing import Pairs, RatingValues, SideFeatures, SideName

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel

__all__ = [
    "Joint",
    "SideName",
    "Updates",
    "joined_parts",
    "refit_due",
    "take_in",
    "update",
    "updates_of",
    "without_its_ratings",
]

_Model = TypeVar("_Model", bound="RatingModel")


#: Share of ratings that came since the last fit from which another fit is due. On MovieLens 100K daily updates by a
#: sixth of the ratings still cost nothing that could be measured: RMSE of `OrdinalProbit` .004 below that of a refit,
#: with a standard error of .003, of `ALS` .000 ± .003.
_DUE = 0.1


@dataclass(frozen=True)
class Updates:
    """What was taken into a model since it was fitted.

    Attributes
    ----------
    n_fitted : int
        Ratings of the last fit.
    n_updates : int
        Updates since.
    n_new : int
        Ratings that these gave, those which took the place of earlier ones too.

    Examples
    --------
    >>> Updates(90).after(5), Updates(90).after(5).due, Updates(90).after(5).after(5).due
    (Updates(n_fitted=90, n_updates=1, n_new=5), False, True)
    """

    n_fitted: int
    n_updates: int = 0
    n_new: int = 0

    def after(self, n_ratings: int) -> Self:
        """Return what it is after another update."""
        return replace(self, n_updates=self.n_updates + 1, n_new=self.n_new + n_ratings)

    @property
    def due(self) -> bool:
        """Whether a tenth or more of all ratings are new."""
        return self.n_new >= _DUE * (self.n_fitted + self.n_new)

    def to_state(self) -> dict[str, int]:
        """Return the attributes as a dictionary."""
        return {"n_fitted": self.n_fitted, "n_updates": self.n_updates, "n_new": self.n_new}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned; what is no number of ratings or updates is refused."""
        found = {name: member(dict(state), name, int) for name in ("n_fitted", "n_updates", "n_new")}
        if min(found.values()) < 0 or found["n_fitted"] < 1:
            raise InvalidInputError(f"numbers of ratings and updates must not be negative, found {found}")
        return cls(**found)


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
    y: RatingValues = None,
    *,
    time: ArrayLike | None = None,
    user_features: SideFeatures | None = None,
    item_features: SideFeatures | None = None,
) -> _Model:
    """Take new ratings, and with them new users and items, into the model, as after another day.

    New users are folded in from their ratings of items that the model knows, then new items from the ratings by all;
    then the rows of all items with new ratings are learned anew from all ratings of theirs, users held fixed, and last
    the rows of all users with new ratings, items held fixed. All other rows, and what all rows share (the weight
    of a penalty, priors, means), stay what they were, to the bit (users of a `GPLVM` have no rows of their own: what it
    predicts for them moves with the items they rated). So a user's row is that of a fold-in with the new
    items: ``fold_in(X, known="merge")``. Of a model with samples every sample is updated.

    `ratings_` are all ratings then, of a pair that was rated before the new one alone, whatever their times are.
    Several updates are not the same as one with all their ratings, nor does their order say nothing: each learns from
    what the ones before it left. The same updates in the same order give the same model.

    What all rows share is still that of the ratings of the fit, so one day a fit to all is due:
    ``model.fit(model.ratings_)``. `refit_due_` is True from where a tenth of all ratings came after the fit. That is on
    the safe side: on MovieLens 100K thirty daily updates, with a sixth of the ratings, lost nothing against a refit
    that could be measured (``benchmarks/updates.py``). Of `OrdinalProbit` a day's update took a quarter of the time
    of a refit there, of `ALS` and `MMMF` a tenth.

    Parameters
    ----------
    X, y
        New ratings as in `fit`, on the model's scale, by users and of items it knows or not. Rows and columns of a
        sparse matrix are the users and items of those numbers, if the model was fitted to such a matrix.
    {time}
        A model that knows time needs them.
    user_features, item_features : mapping, frame, or tuple (ids, array), optional
        Features of the users, and items, with new ratings, in the columns of `fit`, where the model was fitted with
        such: it does not keep them. Those without a row get the column means of training.

    Returns
    -------
    self
        An update that fails leaves the model as it was.

    Raises
    ------
    InvalidInputError
        If the model was saved without its ratings, comes from a fold-in, or if the ratings are not valid.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> X = [(u, i) for u in range(6) for i in range(6)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = ALS(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.update([("new", 0), ("new", 1), (1, "film"), (3, "film"), (2, "film")], [2, 4, 3, 3, 1]).predict(
    ...     [("new", 3), ("new", "film"), (5, "film"), (0, "film")]
    ... )
    array([3., 3., 3., 1.])
    >>> model.refit_due_, model.ratings_.n_ratings
    (True, 41)
    """
    check_is_fitted(model)
    updates_of(model)
    return take_in(model, *new_ratings(model, X, y, time), user_features, item_features)


def take_in(
    model: _Model,
    both: Ratings,
    new: Ratings,
    user_features: SideFeatures | None = None,
    item_features: SideFeatures | None = None,
) -> _Model:
    """Take new ratings into a model, as `update` does, from what `new_ratings` read: all ratings, and the new ones."""
    known, _ = updates_of(model)
    of_users = _features(model, "user", user_features, both.users)
    of_items = _features(model, "item", item_features, both.items)
    given = FitInput(both, whole=both, update=known.n_updates + 1, user_features=of_users, item_features=of_items)
    refuse_too_large(model, model._fit_bytes(both), both.n_ratings)
    with committed(model, keep=learned_names(model)) as grown:
        _take(grown, both, new, given)
        grown.ratings_, grown.updates_ = both, known.after(new.n_ratings)
        grown._settle(both)
    return model


def refit_due(model: RatingModel) -> bool:
    """Whether so much was taken in since the last fit that another one is worth its time: see `update`."""
    check_is_fitted(model)
    return model.updates_ is not None and model.updates_.due


def updates_of(model: Any) -> tuple[Updates, Ratings]:
    """Return what a model took in so far, and its ratings; refuse one that lacks those it was learned from."""
    advice = ("new ratings have nothing to be merged with; ",)
    ratings = in_memory(model._require_ratings(advice), "update")
    if model.updates_ is None:
        raise InvalidInputError(
            "this model comes from a fold-in, and has other ratings than those it was learned from",
            advice="update the model that was fitted",
        )
    return model.updates_, ratings


def _features(model: RatingModel, side: SideName, given: SideFeatures | None, ids: IdMap) -> FeatureTable | None:
    """Return a table of features, where the model was fitted with such; there it is needed, for some of the ids."""
    name = f"{side}_features"
    if given is None and model._knows_features(side):
        raise InvalidInputError(
            f"this model was fitted with features of {side}s, and does not keep them",
            argument=name,
            advice=f"give those of the {side}s with new ratings",
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
