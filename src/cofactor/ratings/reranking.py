"""Lists by rules: the best items of a search that goes as deep as the rules ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.ratings.ids import IdMap
from cofactor.ratings.rules import Quotas, Rules
from cofactor.ratings.similar import Vectors, directions

__all__ = ["Arrangement", "Search", "arranged", "check_rules"]

#: What to do where a model does not know which items are alike, and lists are to be diverse.
_OF_FITTED = "ask the model that was fitted, or give Rules the vectors=model.item_vectors() of that one"

#: Finds the best items of some users: given places of users and a number of items, returns arrays of shape (users,
#: items), the first of which are items, -1 where there are no more, and scores. The order is that of the scores with
#: `Arrangement.bonus` added.
Search: TypeAlias = Callable[[NDArray[np.intp], int], tuple[NDArray[Any], ...]]

#: Numbers that one block of users may take for the pool of their candidates, and its vectors.
_CELLS = 1 << 22

_DEEPER = 4  # times as many candidates, where those at hand do not decide


def check_rules(rules: Any) -> None:
    """Refuse what are no rules."""
    if rules is not None and not isinstance(rules, Rules):
        raise InvalidTypeError("expected Rules(...)", argument="rules", found=rules)


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Rules, looked up for the items of a model.

    Attributes
    ----------
    bonus : ndarray of shape (n_items,), float64
        What the score of an item gains, whatever else is in the list.
    quotas : Quotas
    diversity : float
    vectors : ndarray of shape (n_items, d), float32
        Of length 1, or 0; without diversity d is 0.
    """

    bonus: NDArray[np.float64]
    quotas: Quotas
    diversity: float
    vectors: NDArray[np.float32]

    @classmethod
    def of(
        cls,
        rules: Rules,
        items: IdMap,
        allowed: NDArray[np.bool_],
        n: int,
        support: Callable[[], tuple[NDArray[Any], int]],
        item_directions: Callable[[], NDArray[np.float64]],
    ) -> tuple[Self, NDArray[np.bool_]]:
        """Look rules up; return also which items may be recommended to anybody.

        Parameters
        ----------
        rules : Rules
        items : IdMap
        allowed : ndarray of shape (n_items,), bool
        n : int
            Length of lists.
        support : callable
            Returns how many users interacted with, or rated, each item, and how many users there were.
        item_directions : callable
            Returns vectors of items, of length 1 or 0, whose inner products say how alike items are.
        """
        m = len(items)
        bonus, vectors = rules.bonus(items), np.zeros((m, 0), dtype=np.float32)
        if rules.min_support or rules.novelty:
            counts, n_users = support()
            allowed = allowed & (counts >= rules.min_support)
            bonus -= rules.novelty * np.log2(np.maximum(counts, 0.5) / max(n_users, 1))
        if rules.diversity:
            found = _directions(rules, items, item_directions)
            vectors = np.ascontiguousarray(found, dtype=np.float32)
        return cls(bonus, rules.quotas(items, allowed, n), float(rules.diversity), vectors), allowed


def arranged(search: Search, arrangement: Arrangement, n_users: int, n_items: int, n: int) -> list[NDArray[Any]]:
    """Return the lists of users: what `search` returns, at the n items that are chosen from it.

    Where a list is shorter, or its user has fewer items left, items are -1 and floats NaN, but scores -inf.

    Parameters
    ----------
    search : Search
    arrangement : Arrangement
    n_users : int
    n_items : int
        How many items a search can find at most.
    n : int
        Length of lists.
    """
    out: list[NDArray[Any]] = []
    left, width = np.arange(n_users), min(n_items, 4 * n + 20)
    while True:
        later = []
        step = max(1, _CELLS // (max(width, 1) * (8 + arrangement.vectors.shape[1])))
        for lo in range(0, max(len(left), 1), step):
            users = left[lo : lo + step]
            found = search(users, width)
            places, done = _choose(arrangement, found[0], found[1], n, whole=width >= n_items)
            if not out:
                out = [np.full((n_users, n), _nothing(array), dtype=array.dtype) for array in found]
                out[1][:] = -np.inf
            rows, columns = np.nonzero((places >= 0) & done[:, None])
            for whole, part in zip(out, found, strict=True):
                whole[users[rows], columns] = part[rows, places[rows, columns]]
            later.append(users[~done])
        left, width = np.concatenate(later), min(n_items, _DEEPER * width)
        if not len(left):
            return out


def _nothing(array: NDArray[Any]) -> Any:
    return -1 if array.dtype.kind == "i" else np.nan


def _choose(
    rules: Arrangement, items: NDArray[Any], scores: NDArray[Any], n: int, whole: bool
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the places of the chosen among the candidates, shape (k, n), -1 at the end, and which rows are decided.

    Greedy, step by step: without diversity this is the best list, as lists that keep to quotas of disjoint groups, and
    can still be filled up with what is owed to them, are the independent sets of a matroid. A row is not decided if an
    item beyond the candidates could have been chosen.
    """
    k, width = items.shape
    rows = np.arange(k)
    there = items >= 0
    value = np.where(there, scores + rules.bonus[items], -np.inf)
    beyond = np.full(k, -np.inf) if whole or not width else value[:, -1]  # no item beyond is worth more
    group, n_groups = rules.quotas.group[items], len(rules.quotas.most)
    at_hand = np.zeros((k, n_groups), dtype=np.intp)
    np.add.at(at_hand, (np.nonzero(there)[0], group[there]), 1)
    owed = np.minimum(rules.quotas.fewest, at_hand)
    done = np.isneginf(beyond) | (owed == rules.quotas.fewest).all(axis=1)
    room = np.tile(np.minimum(rules.quotas.most, n), (k, 1))
    alike, places = np.zeros((k, width)), np.full((k, n), -1)
    for place in range(min(n, width)):
        bound_to_owed = owed.sum(axis=1) >= n - place
        open_ = np.where(bound_to_owed[:, None], owed > 0, room > 0)
        worth = np.where(np.take_along_axis(open_, group, axis=1), value - rules.diversity * alike, -np.inf)
        best = worth.argmax(axis=1)
        chosen = worth[rows, best]
        done &= (chosen >= beyond) & ~(np.isneginf(chosen) & (beyond > -np.inf))
        taken = np.flatnonzero(chosen > -np.inf)
        if not len(taken):
            break
        at = best[taken]
        places[taken, place] = at
        value[taken, at] = -np.inf
        of = group[taken, at]
        room[taken, of] -= 1
        owed[taken, of] -= owed[taken, of] > 0
        if rules.diversity:
            pool, last = rules.vectors[items[taken]], rules.vectors[items[taken, at]]
            alike[taken] = np.maximum(alike[taken], np.einsum("kwd,kd->kw", pool, last))
    return places, done


def _directions(rules: Rules, items: IdMap, item_directions: Callable[[], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the vectors of items that rules bring, or those of a model."""
    if rules.vectors is not None:
        return _vectors_of(rules.vectors, items)
    try:
        return item_directions()
    except InvalidInputError as error:
        raise InvalidInputError(error.problem, advice=_OF_FITTED) from None


def _vectors_of(given: Vectors, items: IdMap) -> NDArray[np.float64]:
    """Return the vectors of items, of length 1; 0 of those that have none."""
    place = items.index(given.ids, "ids")
    if not (place >= 0).any():
        raise InvalidInputError("are of no item of the model", argument="vectors")
    out = np.zeros((len(items), given.values.shape[1]))
    out[place[place >= 0]] = given.values[place >= 0]
    return directions(out, np.eye(out.shape[1]))
