"""Ids that callers give, looked up among the users and items of a model.

Where a model knows time, users at times stand in the place of users.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import as_list
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError
from cofactor.frames import as_array, as_frame, as_series, collect
from cofactor.model.convergence import callers_level
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import IdMap, IdSelection, read_otherwise
from cofactor.ratings.interactions import read_pairs
from cofactor.text import literal, plural, shorten, some_of
from cofactor.typing import Ids, Pairs, SideName


def ids_given(given: Any, argument: str, advice: str = "select the one of ids") -> Any:
    """Return the ids that a caller gave: also as a series, or as the only column of whatever models take as a frame.

    Examples
    --------
    >>> import polars as pl
    >>> ids_given(pl.LazyFrame({"user": ["ann", "bob"]}), "users").tolist(), ids_given(["ann"], "users")
    (['ann', 'bob'], ['ann'])
    """
    if isinstance(given, list | tuple | np.ndarray):
        return given
    given = collect(given, argument)
    frame = as_frame(given)
    if frame is not None and len(frame.columns) != 1:
        columns = ", ".join(map(str, frame.columns))
        raise InvalidInputError(
            (Argument(argument), f" has the columns {columns}, expected one of ids"),
            argument=argument,
            advice=advice,
        )
    column = as_series(given) if frame is None else frame[:, 0]
    return as_list(given, argument) if column is None else as_array(column)


@dataclass(frozen=True)
class Lookup:
    """The users and items of a model.

    Attributes
    ----------
    users, items : IdMap
    """

    users: IdMap
    items: IdMap

    def pairs(self, X: Pairs, unknown: str, time: Any = None) -> tuple[NDArray[np.int32], NDArray[np.int32], Any]:
        """Return user and item indices of pairs, -1 for ids that are not known, and their times.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each pair, perhaps with times in a third column.
        unknown : {"fallback", "error"}
            What to do where an id is not known.
        time : optional
            The times, where X does not hold them.
        """
        if sparse.issparse(X) or isinstance(X, Ratings):
            raise InvalidTypeError(
                f"X is a {type(X).__name__}, expected pairs of user id and item id; complete() predicts every entry",
                argument="X",
            )
        user_ids, item_ids, times = read_pairs(X, time)
        users, items = self.users.index(user_ids), self.items.index(item_ids)
        missing = (users < 0) | (items < 0)
        if not missing.any():
            return users, items, times
        nothing_known = bool((users < 0).all() and (items < 0).all())
        if nothing_known and self._swapped(user_ids, item_ids):
            raise InvalidInputError(
                "no user id and no item id of X is known, but with its columns exchanged all are: "
                "the first column must hold users and the second items",
                argument="X",
            )
        if unknown == "error":
            _refuse_missing(missing, users, user_ids, item_ids)
        self._warn_if_none_known(users, user_ids, items, item_ids, nothing_known)
        return users, items, times

    def _swapped(self, user_ids: NDArray[Any], item_ids: NDArray[Any]) -> bool:
        return bool((self.users.index(item_ids) >= 0).all() and (self.items.index(user_ids) >= 0).all())

    def _warn_if_none_known(
        self,
        users: NDArray[np.int32],
        user_ids: NDArray[Any],
        items: NDArray[np.int32],
        item_ids: NDArray[Any],
        nothing_known: bool,
    ) -> None:
        """Warn about a column of several ids none of which is known; a single one may well be new."""
        for known, found, ids, role in ((self.users, users, user_ids, "user"), (self.items, items, item_ids, "item")):
            if (found >= 0).any():
                continue
            n_distinct = len(set(ids.tolist()))
            if n_distinct < 2 and not nothing_known:
                continue
            if known.warn_if_other_kind(ids, role, stacklevel=callers_level()):
                continue
            if role == "user" and n_distinct > 1:
                warnings.warn(
                    f"none of the {n_distinct:,} users was in training, so each counts as the average one: "
                    "fold them in with fold_in, or evaluate with FoldInScorer",
                    UserWarning,
                    stacklevel=callers_level(),
                )

    def known(self, asked: Ids, side: SideName = "user", argument: str = "") -> NDArray[np.int32]:
        """Return the indices of users, or of items, all of which must be known; errors call them by their side."""
        argument = argument or f"{side}s"
        ids = ids_given(asked, argument)
        ids = np.atleast_1d(np.asarray(ids)) if not isinstance(ids, list | tuple) else ids
        rows = self._of(side).index(ids, argument)
        if (rows < 0).any():
            bad = np.asarray(ids, dtype=object)[rows < 0].tolist()[0]
            advice = "fold new users in with fold_in(X, y) first" if side == "user" else "leave it out"
            if (alike := read_otherwise(self._of(side), bad)) is not None:
                advice = f"it is of type {type(bad).__name__}, and {literal(alike)} was; convert the ids"
            raise InvalidInputError(f"{side} {literal(bad)} was not in training: {advice}", argument=argument)
        return rows

    def asked(self, users: Ids | None) -> NDArray[np.int32]:
        """Return the indices of users; of all where none are named."""
        return np.arange(len(self.users), dtype=np.int32) if users is None else self.known(users)

    def _of(self, side: SideName) -> IdMap:
        return self.users if side == "user" else self.items

    def candidates(self, candidates: Iterable[Any] | None, side: SideName = "item") -> NDArray[np.int64]:
        """Return the sorted indices of the items to choose from, by default all; warn of those that are not known."""
        known = self._of(side)
        if candidates is None:
            return np.arange(len(known))
        if isinstance(candidates, IdSelection):
            places = candidates.places_in(known, "candidates")
            if not len(places):
                raise _none_of_training(candidates.unknown, side)
            return places
        ids = list(candidates) if isinstance(candidates, set | frozenset) else ids_given(candidates, "candidates")
        columns = known.index(ids, "candidates")
        if len(columns) and all(isinstance(one, bool | np.bool_) for one in ids):
            raise InvalidTypeError(
                (Argument("candidates"), f" holds True and False, expected ids of {side}s"),
                argument="candidates",
                advice=f"pass the ids that a mask chooses, model.{side}s_.ids[mask]",
            )
        bad = [one for one, column in zip(ids, columns, strict=True) if column < 0]
        if len(bad) == len(columns):
            raise _none_of_training(bad, side)
        if bad:
            out = plural(len(bad), f"{side} that was", f"{side}s that were")
            warnings.warn(
                InputWarning((Argument("candidates"), f" holds {out} not in training, left out: {shorten(bad)}")),
                stacklevel=callers_level(),
            )
        return np.unique(columns[columns >= 0]).astype(np.int64)

    def check_columns(self, X: Any) -> None:
        """Refuse a sparse matrix whose columns are not the model's items."""
        m = len(self.items)
        if X.shape[1] != m:
            turned = ": the matrix seems to be transposed" if X.shape[0] == m else ""
            raise InvalidInputError(
                f"X has {X.shape[1]} columns but the model knows {m} items{turned}",
                argument="X",
                advice="rows are users and columns are items",
            )
        if self.items != IdMap.of_range(m):
            raise InvalidInputError(
                f"the columns of a sparse matrix are the items 0 to {m - 1}, but the model was fitted on items with "
                f"other ids, such as {some_of(self.items.ids, 3)}",
                argument="X",
                advice="pass pairs of user id and item id",
            )


def _none_of_training(unknown: Sequence[Any], side: SideName) -> InvalidInputError:
    """Return the error for candidates none of which is known."""
    found = f"{side}s of training: {shorten(unknown)}" if unknown else f"{side}s"
    return InvalidInputError((Argument("candidates"), f" holds no {found}"), argument="candidates")


def _refuse_missing(
    missing: NDArray[np.bool_], users: NDArray[np.int32], user_ids: NDArray[Any], item_ids: NDArray[Any]
) -> None:
    """Refuse pairs with unknown ids, naming the first of them."""
    k = int(np.flatnonzero(missing)[0])
    word, ids = ("user", user_ids) if users[k] < 0 else ("item", item_ids)
    bad = ids[k : k + 1].tolist()[0]
    pairs = plural(int(missing.sum()), "pair of X holds", "pairs of X hold")
    raise InvalidInputError(
        (
            f"{pairs} ids that were not in training, the first is {word} {bad!r}: ",
            "leave them out, fold new users in with fold_in, or set ",
            Argument("unknown", "fallback"),
        ),
        argument="X",
    )


@dataclass(frozen=True)
class TimedUsers:
    """Users, each at a time: to be cut and indexed as the array of users that it is to those who do not ask for times.

    Attributes
    ----------
    users : ndarray of shape (n,), int32
        Indices; -1 for a user who is not known.
    seconds : ndarray of shape (n,), float64
        Since 1970.

    Examples
    --------
    >>> visits = TimedUsers(np.array([3, 5, 3]), np.array([10.0, 20.0, 30.0]))
    >>> visits[1:].seconds.tolist(), np.asarray(visits).tolist(), len(visits)
    ([20.0, 30.0], [3, 5, 3], 3)
    """

    users: NDArray[np.int32]
    seconds: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, where: Any) -> Self:
        return type(self)(self.users[where], self.seconds[where])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.users, dtype=dtype) if copy else np.asarray(self.users, dtype=dtype)
