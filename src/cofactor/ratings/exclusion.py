"""Items that callers leave out: for all users, or for each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InputWarning, InvalidTypeError
from cofactor.model.callers import callers_level
from cofactor.ratings.ids import IdMap
from cofactor.ratings.lookup import Lookup, ids_given
from cofactor.text import counted, few

__all__ = ["Excluded", "Exclusion"]

#: What a caller may leave out: ids of items, or such for each user.
Exclusion: TypeAlias = Iterable[Any] | Mapping[Any, Iterable[Any]] | None


@dataclass(frozen=True, eq=False)
class Excluded:
    """Items that are left out.

    Attributes
    ----------
    everywhere : ndarray of int
        Items left out for all users.
    users : ndarray of int
        Users, ascending, who have items of their own left out.
    indptr, items : ndarray of int
        These, user by user, as rows of CSR.
    """

    everywhere: NDArray[np.int64]
    users: NDArray[np.int64]
    indptr: NDArray[np.int64]
    items: NDArray[np.int64]

    @classmethod
    def of(cls, known: Lookup, exclude: Exclusion) -> Self:
        """Look up what a caller gave; warn of users and items that are not known.

        Examples
        --------
        >>> known = Lookup(IdMap(["ann", "bob"]), IdMap(["Alien", "Heat", "Up"]))
        >>> Excluded.of(known, ["Up"]).everywhere.tolist()
        [2]
        >>> [part.tolist() for part in Excluded.of(known, {"bob": ["Up", "Alien"]}).rows(np.array([1, 0, 1]))]
        [[0, 0, 2, 2], [2, 0, 2, 0]]
        """
        none = np.zeros(0, dtype=np.int64)
        if not isinstance(exclude, Mapping):
            return cls(none if exclude is None else _indices(known.items, exclude), none, none[:1], none)
        users = _users(known.users, list(exclude))
        order = np.argsort(users)[(users < 0).sum() :]
        lists = [_indices(known.items, items) for items in exclude.values()]
        lists = [lists[k] for k in order.tolist()]
        indptr = np.cumsum([0, *map(len, lists)])
        return cls(none, users[order], indptr, np.concatenate([none, *lists]))

    def rows(self, users: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return places among `users`, given by index, and the items left out there, for each such pair."""
        if not len(self.users):
            return self.users, self.items
        own = np.minimum(np.searchsorted(self.users, users), len(self.users) - 1)
        among = np.flatnonzero(self.users[own] == users)
        starts, ends = self.indptr[own[among]], self.indptr[own[among] + 1]
        counts = ends - starts
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(among, counts), self.items[np.repeat(starts, counts) + within]


def _users(known: IdMap, ids: list[Any]) -> NDArray[np.int64]:
    """Return the indices of users, -1 for those who are not known; warn of them."""
    found = known.index(ids, "exclude") if ids else np.zeros(0, dtype=np.int32)
    unknown = [one for one, place in zip(ids, found, strict=True) if place < 0]
    if unknown:
        text = f" is for {counted(len(unknown), 'user who was', 'users who were')} not in training: {few(unknown)}"
        warnings.warn(InputWarning((Argument("exclude"), text)), stacklevel=callers_level())
    return found.astype(np.int64)


def _indices(known: IdMap, items: Any) -> NDArray[np.int64]:
    """Return the indices of items that are known."""
    plain = isinstance(items, str | bytes | Mapping | set | frozenset)
    given = items if plain else ids_given(items, "exclude", "for items of each user pass {user: [item, ...], ...}")
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidTypeError("expected ids of items, or such for each user", argument="exclude", found=items)
    ids = list(given)
    if any(isinstance(one, tuple | list) for one in ids):
        raise InvalidTypeError(
            "expected ids of items", argument="exclude", found=items, advice="of each user: {user: [item, ...], ...}"
        )
    if not ids:
        return np.zeros(0, dtype=np.int64)
    found = known.index(ids, "exclude")
    if (found < 0).any():
        unknown = [one for one, place in zip(ids, found, strict=True) if place < 0]
        text = f" holds {counted(len(unknown), 'item that was', 'items that were')} not in training: {few(unknown)}"
        warnings.warn(InputWarning((Argument("exclude"), text)), stacklevel=callers_level())
    return found[found >= 0].astype(np.int64)
