"""Whose ratings a fold-in learns from: those of new users or items, and of known ones if the caller says how."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_choice
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.model.callers import callers_level
from cofactor.ratings.data import Ratings, as_ratings
from cofactor.ratings.features import FeatureTable, unknown_features
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interactions import Interactions, rating_values
from cofactor.ratings.lookup import Lookup
from cofactor.ratings.merging import among, merged, without_ratings
from cofactor.ratings.shard_work import in_memory
from cofactor.ratings.sharded import ShardedRatings
from cofactor.text import counted, some_of
from cofactor.typing import SideFeatures

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel
    from cofactor.ratings.ranking.base import ExposureModel

__all__ = ["KNOWN", "new_items", "new_ratings", "new_users", "settled", "warn_of_lost_times"]

#: What may become of users, or items, that were in training.
KNOWN = ("error", "merge", "replace")

#: What to do about ratings that a model does not take, by the parameter which was set when it was made.
_ADVICE = {
    "scale": "correct them; a model that is to know other levels must be fitted with them",
    "duplicates": "remove them, or let the model choose: set_params(duplicates='last'), or 'mean'",
}


def new_users(
    model: RatingModel, X: Any, y: Any, user_features: SideFeatures | None, known: str, time: Any = None
) -> FitInput:
    """Return what the users to fold in are known by.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    X, y
        Ratings as in `RatingModel.fold_in`; both None where users are known by features alone.
    user_features : mapping, frame, or tuple (ids, array), or None
        Their features.
    known : {"error", "merge", "replace"}
        What to do with users that were in training.
    time : array-like, optional
        Times of the ratings.
    """
    check_is_fitted(model)
    table = None if user_features is None else FeatureTable.read(user_features, "user_features")
    if table is not None and not model._knows_features("user"):
        raise unknown_features("user_features")
    return FitInput(_of_users(model, X, y, known, table, time), user_features=table)


def _of_users(model: RatingModel, X: Any, y: Any, known: str, table: FeatureTable | None, time: Any) -> Ratings:
    """Return the ratings of the users to fold in, of the items of a model."""
    _check(X, y, known, table)
    items, scale = model.items_, model.scale_
    if sparse.issparse(X):
        Lookup(model.users_, items).check_columns(X)
    if X is None and table is not None:
        return settled(model, without_ratings(table.ids, items, scale), known, "users")
    with _advising():
        new = as_ratings(
            X,
            y,
            scale=scale,
            duplicates=model.duplicates,  # type: ignore[arg-type]
            items=items,
            unknown_items="error" if model.unknown == "error" else "drop",
            times=time,
        )
    new.check_coding(model.coding_)
    if sparse.issparse(X):
        return new  # rows have no ids, so they are new users
    if table is not None:
        new = merged(without_ratings(_others(table.ids, model.users_), items, scale), new)
    return settled(model, new, known, "users")


def new_items(
    model: RatingModel, X: Any, y: Any, known: str, table: FeatureTable | None = None, time: Any = None
) -> Ratings:
    """Return the ratings of the items to fold in, by the users of a model.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    X, y
        As in `Ratings.from_pairs`, or a sparse matrix of users × new items, whose ids are column numbers; both None
        where items are known by features alone.
    known : {"error", "merge", "replace"}
        What to do with items that were in training.
    table : FeatureTable, optional
        Features of items.
    time : array-like, optional
        Times of the ratings.
    """
    check_is_fitted(model)
    _check(X, y, known, table)
    users, scale = model.users_, model.scale_
    if X is None and table is not None:
        return settled(model, without_ratings(users, table.ids, scale), known, "items")
    given = Interactions.read(X, y, time)
    items = IdMap(given.items, "the item ids of X")
    rows, columns = users.index(given.users), items.index(given.items)
    values = rating_values(given.values, len(rows))
    ours = rows >= 0
    if not ours.any() or (model.unknown == "error" and not ours.all()):
        bad = np.asarray(given.users, dtype=object)[~ours].tolist()
        raise InvalidInputError(
            f"{counted(len(bad), 'rating')} of X by users that were not in training, the first by "
            f"{bad[0]!r}: leave them out, or fit a new model"
            if bad
            else "X is empty: at least one rating, or an item with features, is needed",
            argument="X",
        )
    duplicates: Any = model.duplicates
    seconds = None if given.times is None else given.times[ours]
    with _advising():
        new = Ratings.from_entries(users, items, rows[ours], columns[ours], values[ours], scale, duplicates, seconds)
    if table is not None:
        new = merged(without_ratings(users, _others(table.ids, model.items_), scale), new)
    return new if sparse.issparse(X) else settled(model, new, known, "items")


@contextmanager
def _advising() -> Iterator[None]:
    """Within the block, advice about levels and repeated pairs is what a fold-in can follow: the model has them."""
    try:
        yield
    except InvalidInputError as error:
        if not error.advice or error.argument not in _ADVICE:
            raise
        raise InvalidInputError(error.problem, argument=error.argument, advice=_ADVICE[error.argument]) from None


def _check(X: Any, y: Any, known: str, table: FeatureTable | None) -> None:
    """Refuse to fold in nobody, and to merge or replace what has no ids."""
    if X is None and (table is None or y is not None):
        raise InvalidInputError("X is missing: give ratings, or features of those without ratings", argument="X")
    check_known(X, known)


def check_known(X: Any, known: str) -> None:
    """Refuse to merge or replace what has no ids."""
    check_choice("known", known, KNOWN)
    if sparse.issparse(X) and known != "error":
        raise InvalidInputError(
            ("a sparse matrix has no ids, so all it holds is new, and ", Argument("known", known), " finds nobody"),
            argument="known",
            advice="pass pairs of user id and item id",
        )


def _others(ids: IdMap, known: IdMap) -> IdMap:
    """Return the ids which are not known."""
    return IdMap(ids.ids[known.index(ids.ids) < 0])


def settled(
    model: RatingModel | ExposureModel,
    new: Ratings,
    known: str,
    side: Literal["users", "items"],
    join: Callable[[Ratings, Ratings], Ratings] | None = None,
) -> Ratings:
    """Return the ratings that count, where the model knows some of the users, or items.

    Parameters
    ----------
    model : RatingModel or ExposureModel
    new : Ratings
    known : {"error", "merge", "replace"}
    side : {"users", "items"}
    join : callable, optional
        Merges earlier ratings and new ones; by default the later one of a pair counts.
    """
    given: IdMap = getattr(new, side)
    ours: IdMap = getattr(model, f"{side}_")
    known_before = ours.index(given.ids) >= 0
    old = given.ids[known_before]
    ours.warn_if_alike(given.ids[~known_before], side[:-1], callers_level())
    merge, replace = Argument("known", "merge"), Argument("known", "replace")
    if not len(old) and known == "merge":
        others = counted(len(ours), f"other {side[:-1]}", form=",")
        advice = f"if it comes from a fold-in, the {side} of training are known to the model that was fitted"
        text = (merge, f" finds nobody: this model knows {others}, such as {some_of(ours.ids[:3])}; {advice}")
        warnings.warn(InputWarning(text), stacklevel=callers_level())
    if not len(old) or known == "replace":
        return new
    if known == "error":
        those = counted(len(old), f"{side[:-1]} is", f"{side} are")
        if not new.n_ratings:
            raise InvalidInputError(
                f"{those} known to this model, such as {some_of(old[:3])}, and there are no ratings of them",
                advice=f"give the features of new {side} alone",
            )
        whose = "its" if those == "1 item is" else "their"
        raise InvalidInputError(
            f"{those} known to this model, such as {some_of(old[:3])}: {whose} ratings there would be forgotten",
            advice=(merge, " adds the new ratings to them, ", replace, " lets the new ones alone count"),
        )
    kept: Any = model._require_ratings(("there is nothing to merge with; give ", replace, ", or "))
    wanted = {side: given}
    earlier = kept.among(**wanted) if isinstance(kept, ShardedRatings) else among(kept, **wanted)
    if join is not None:
        return join(earlier, new)
    warn_of_lost_times(earlier, new, (merge,), ("give times to both, or to none",))
    return merged(earlier, new)


def warn_of_lost_times(
    earlier: Ratings,
    new: Ratings,
    what: Sequence[str | Argument] = ("the update",),
    advice: Sequence[str | Argument] = ("give times to both, with ", Argument("time"), ", or to none"),
    those: str = "ratings",
) -> None:
    """Warn where only earlier ratings, or new ones, have times, so that `what` takes them together forgets all."""
    if (earlier.times is None) != (new.times is None) and earlier.n_ratings and new.n_ratings:
        lacking = f"{those} of training" if earlier.times is None else f"new {those}"
        text = (*what, f" forgets all times, since the {lacking} have none; ", *advice)
        warnings.warn(InputWarning(text), stacklevel=callers_level())


def new_ratings(model: RatingModel, X: Any, y: Any, time: Any = None) -> tuple[Ratings, Ratings]:
    """Return all ratings of a model that takes in new ones, and the new ones.

    Parameters
    ----------
    model : RatingModel
        Fitted, with its ratings.
    X, y
        New ratings as in `RatingModel.update`.
    time : array-like, optional
        Their times.
    """
    earlier = in_memory(model._require_ratings(("there is nothing to merge with; ",)), "update")
    ranges = all(ids == IdMap.of_range(len(ids)) for ids in (model.users_, model.items_))
    if sparse.issparse(X) and not ranges:
        raise InvalidInputError(
            "rows and columns of a sparse matrix are users and items 0, 1, 2, ..., but those of the model have other "
            f"ids, such as {some_of(model.users_.ids, 3)} and {some_of(model.items_.ids, 3)}",
            argument="X",
            advice="pass pairs of user id and item id",
        )
    with _advising():
        new = as_ratings(X, y, scale=model.scale_, duplicates=model.duplicates, times=time)  # type: ignore[arg-type]
    new.check_coding(model.coding_)
    for ours, given, word in ((model.users_, new.users, "user"), (model.items_, new.items, "item")):
        ours.warn_if_alike(given.ids[ours.index(given.ids) < 0], word, callers_level())
    if model._knows_time and new.times is None:
        raise InvalidInputError(
            f"this {type(model).__name__} was fitted with times, and the new ratings have none",
            argument="time",
            advice=("give the time of each rating with ", Argument("time")),
        )
    warn_of_lost_times(earlier, new)
    return merged(earlier, new), new
