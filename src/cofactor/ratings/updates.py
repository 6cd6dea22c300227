"""What comes after a fit: what was taken in since, what every fold-in and update checks, and how ratings and rows join.

Ratings that come after others are taken together with them, and the later one counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_choice
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.model.convergence import callers_level
from cofactor.model.state import member
from cofactor.ratings.data import Ratings, entries_of_rows
from cofactor.ratings.ids import IdMap
from cofactor.typing import SideName

#: Share of ratings that came since the last fit from which another fit is due. On MovieLens 100K daily updates by a
#: sixth of the ratings still cost nothing that could be measured: RMSE of `OrdinalProbit` .004 below that of a refit,
#: with a standard error of .003, of `ALS` .000 ± .003.
_DUE = 0.1

_REMEMBERED = 1000  # updates by which a repeated one is recognised: 17 bytes each


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
    keys : tuple of str
        What tells the last 1,000 updates from others.
    fitted_key : str
        What tells the ratings of the fit from others, once an update came; before it they are those of the model.

    Examples
    --------
    >>> fitted = Ratings.from_pairs([("ann", "Up"), ("bob", "Heat")], [1, 2])
    >>> new = Ratings.from_pairs([("ann", "Up"), ("bob", "Up")], [1, 2])
    >>> updates = Updates(2).after(new, fitted)
    >>> updates.due, updates.source(new, new), updates.source(fitted, new)
    (True, 'an earlier update', 'the fit')
    """

    n_fitted: int
    n_updates: int = 0
    n_new: int = 0
    keys: tuple[str, ...] = ()
    fitted_key: str = ""

    def after(self, new: Ratings, earlier: Ratings) -> Self:
        """Return what it is after an update by new ratings, given those that the model had before it."""
        keys, fitted = (*self.keys, new.key)[-_REMEMBERED:], self.fitted_key if self.n_updates else earlier.key
        n_new = self.n_new + new.n_ratings
        return replace(self, n_updates=self.n_updates + 1, n_new=n_new, keys=keys, fitted_key=fitted)

    def source(self, new: Ratings, earlier: Ratings) -> Literal["", "the fit", "an earlier update"]:
        """Return what took the same ratings in before, in any order, as when a job is run again; "" if nothing did.

        Parameters
        ----------
        new : Ratings
        earlier : Ratings
            All that the model has.
        """
        if self.keys and new.key in self.keys:
            return "an earlier update"
        if self.n_fitted != new.n_ratings:
            return ""
        return "the fit" if new.key == (self.fitted_key if self.n_updates else earlier.key) else ""

    @property
    def due(self) -> bool:
        """Whether a tenth or more of all ratings are new."""
        return self.n_new >= _DUE * (self.n_fitted + self.n_new)

    def to_state(self) -> dict[str, Any]:
        """Return the attributes as a dictionary."""
        numbers = {"n_fitted": self.n_fitted, "n_updates": self.n_updates, "n_new": self.n_new}
        keys = {"keys": list(self.keys), "fitted_key": self.fitted_key}
        return numbers | {name: value for name, value in keys.items() if value}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned; what is no number of ratings or updates is refused."""
        found = {name: member(dict(state), name, int) for name in ("n_fitted", "n_updates", "n_new")}
        if min(found.values()) < 0 or found["n_fitted"] < 1:
            raise InvalidInputError(f"numbers of ratings and updates must not be negative, found {found}")
        keys = member(dict(state), "keys", list) if "keys" in state else []
        fitted_key = member(dict(state), "fitted_key", str) if "fitted_key" in state else ""
        if not all(isinstance(key, str) for key in keys):
            raise InvalidInputError("keys of updates must be text")
        return cls(**found, keys=tuple(keys), fitted_key=fitted_key)


#: What may become of users, or items, that were in training.
KNOWN = ("error", "merge", "replace")

#: What to do about ratings that a model does not take, by the parameter which was set when it was made.
_ADVICE = {
    "scale": "correct them; a model that is to know other levels must be fitted with them",
    "duplicates": "remove them, or let the model choose: set_params(duplicates='last'), or 'mean'",
}


@contextmanager
def advising() -> Iterator[None]:
    """Within the block, advice about levels and repeated pairs is what a fold-in can follow: the model has them."""
    try:
        yield
    except InvalidInputError as error:
        if not error.advice or error.argument not in _ADVICE:
            raise
        raise InvalidInputError(error.problem, argument=error.argument, advice=_ADVICE[error.argument]) from None


def check_known(X: Any, known: str) -> None:
    """Refuse to merge or replace what has no ids."""
    check_choice("known", known, KNOWN)
    if sparse.issparse(X) and known != "error":
        raise InvalidInputError(
            ("a sparse matrix has no ids, so all it holds is new, and ", Argument("known", known), " finds nobody"),
            argument="known",
            advice="pass pairs of user id and item id",
        )


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


def merged(earlier: Ratings, later: Ratings) -> Ratings:
    """Return the ratings of both, by the users and of the items of both; a pair that both have gets the later rating.

    Parameters
    ----------
    earlier, later : Ratings
        On the same scale. The ratings in `later` count as later whatever their times are. The result has times where
        both have; ratings without weights weigh 1 where the others have some.

    Examples
    --------
    >>> a = Ratings.from_pairs([("ann", "Up"), ("ann", "Alien")], [1, 2], scale=[1, 2, 3])
    >>> b = Ratings.from_pairs([("ann", "Up"), ("bob", "Heat")], [3, 3], scale=[1, 2, 3])
    >>> both = merged(a, b)
    >>> both.items.ids.tolist(), both.shape, both.levels.tolist()
    (['Alien', 'Heat', 'Up'], (2, 3), [2, 3, 3])
    """
    users, items = union(earlier.users, later.users), union(earlier.items, later.items)
    parts = (earlier, later)
    rows = np.concatenate([users.index(part.users.ids)[part.row_of_entry] for part in parts])
    columns = np.concatenate([items.index(part.items.ids)[part.indices] for part in parts])
    values = np.concatenate([part.values for part in parts])
    pairs, n = rows.astype(np.int64) * len(items) + columns, earlier.n_ratings
    kept = np.append(~np.isin(pairs[:n], pairs[n:]), np.ones(later.n_ratings, dtype=np.bool_))
    timed = all(part.times is not None or not part.n_ratings for part in parts)
    known = [part.times for part in parts if part.times is not None]
    times = np.concatenate(known)[kept] if timed and known else None
    weights = None
    if any(part.weights is not None for part in parts):
        every = [np.ones(part.n_ratings) if part.weights is None else part.weights for part in parts]
        weights = np.concatenate(every)[kept]
    entries = rows[kept], columns[kept], values[kept]
    both = Ratings.from_entries(users, items, *entries, earlier.scale, times=times, weights=weights)
    return replace(both, coding=later.coding or earlier.coding)


def among(ratings: Ratings, users: IdMap | None = None, items: IdMap | None = None) -> Ratings:
    """Return the ratings by some users and of some items; those without ratings remain.

    Parameters
    ----------
    ratings : Ratings
    users, items : IdMap, optional
        Of whom; by default all. Ids that the ratings do not know are left out.

    Examples
    --------
    >>> a = Ratings.from_pairs([("ann", "Up"), ("bob", "Alien")], [1, 2], scale=[1, 2, 3])
    >>> among(a, users=IdMap(["bob", "eve"]))
    Ratings(1 user, 2 items, 1 rating on 1, 2, 3)
    """
    chosen_users, chosen_items = _both(ratings.users, users), _both(ratings.items, items)
    rows = chosen_users.index(ratings.users.ids)[ratings.row_of_entry]
    columns = chosen_items.index(ratings.items.ids)[ratings.indices]
    keep = (rows >= 0) & (columns >= 0)
    some = rows[keep], columns[keep], ratings.values[keep]
    times, weights = (None if one is None else one[keep] for one in (ratings.times, ratings.weights))
    found = Ratings.from_entries(chosen_users, chosen_items, *some, ratings.scale, times=times, weights=weights)
    return replace(found, coding=ratings.coding)


def without_ratings(users: IdMap, items: IdMap, scale: NDArray[np.float64]) -> Ratings:
    """Return no ratings of these users and items."""
    none = np.zeros(0, dtype=np.int32)
    return Ratings.from_entries(users, items, none, none, np.zeros(0), scale)


def union(first: IdMap, second: IdMap) -> IdMap:
    """Return the ids of both."""
    if (first.index(second.ids) >= 0).all():
        return first
    return IdMap([*first.ids.tolist(), *second.ids.tolist()])


def _both(known: IdMap, wanted: IdMap | None) -> IdMap:
    """Return those ids which are wanted."""
    return known if wanted is None else IdMap(known.ids[wanted.index(known.ids) >= 0])


@dataclass(frozen=True)
class RowMerge:
    """Where the users, or items, of a model and of a part stand among those of both.

    Attributes
    ----------
    side : {"user", "item"}
    ids : IdMap
        Those of both.
    old, new : ndarray of int
        Where those of the model stand, and those of the part.
    whole : Ratings or None
        All ratings of the model, if this is the last merge of an update.
    """

    side: SideName
    ids: IdMap
    old: NDArray[np.int32]
    new: NDArray[np.int32]
    whole: Ratings | None = None

    def rows(self, ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of both in a new array; those of the part in the place of the model's.

        Examples
        --------
        >>> merge = RowMerge("user", IdMap(["a", "b", "c"]), np.array([0, 2]), np.array([1, 2]))
        >>> merge.rows(np.array([1.0, 3.0]), np.array([20.0, 30.0]))
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
