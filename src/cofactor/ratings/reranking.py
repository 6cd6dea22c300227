"""Lists by rules: supported, diverse, novel, with quotas of groups; the search goes as deep as rules ask for."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_number
from cofactor.columns import find_item_and_value
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError
from cofactor.frames import as_frame, collect
from cofactor.model.convergence import callers_level
from cofactor.ratings.ids import IdMap
from cofactor.ratings.similar import Embeddings, directions
from cofactor.text import plural, shorten

_QUOTAS = ("at_most", "at_least")


@dataclass(frozen=True, eq=False)
class Rules:
    r"""What a list of recommendations must be like, for ``recommend(..., rules=Rules(...))`` of all models.

    Lists are built item by item. The next one is that of the highest

    .. math:: s_{uj} + b_j - \nu \log_2 p_j - \delta \max_{k \in L} \max(\operatorname{sim}(j, k), 0)

    among those that the quotas leave open, with :math:`s_{uj}` the logarithmic score, :math:`b_j` the `boost` of the
    item, ν the `novelty`, :math:`p_j` the share of the users who interacted with j, δ the `diversity` and L what is in
    the list already: maximal marginal relevance, with :math:`\lambda = 1 / (1 + \delta)`. All items are candidates, not
    only a pool of the best: the search goes on until no other item could have been the next. Without diversity the list
    has the highest sum that quotas allow.

    Scores s are logarithms of probabilities in a `Recommender`, the :math:`\ell` of its features in an
    implicit-feedback model, and in a rating model its scores as they are, so that ν and δ are then in units of the
    rating (with `at_least` of ``recommend`` of a probability). The scores that are returned are these s, so that they
    show what rules cost.

    Parameters
    ----------
    min_support : int, default=0
        Items that fewer users interacted with, or rated, in training are not recommended: 1 leaves out those without an
        interaction, and so all `new_items` of a `Recommender`, which only features describe.
    diversity : float, default=0.0
        δ, at least 0: by how much the score of an item falls that is like another one in the list. With ``math.log(2)``
        an item with the same vector counts half.
    novelty : float, default=0.0
        ν, at least 0: what each halving of popularity adds to the score. An item without an interaction counts as if it
        had half of one. In a `Recommender`, ``math.log(2)`` makes up for popularity entirely.
    boost : mapping, pandas Series with item ids as its index, or frame of item id and number, optional
        b: what is added to the scores of items, 0 for others; below 0 what they lose. In a `Recommender`,
        ``math.log(2)`` makes an item count as if it were twice as likely. A frame, here and below, is whatever `fit`
        takes as one, such as a relation of DuckDB.
    groups : mapping, pandas Series with item ids as its index, or frame of item id and group, optional
        From item id to the name of its group, for quotas; items without one have none.
    at_most, at_least : int, or mapping from group to int, optional
        Most, and fewest, items of each group in a list. A user for whom fewer items of a group are left gets all of
        these; a list that quotas leave no more items for is shorter than n, and ends with None.
    vectors : Embeddings, optional
        Vectors of items, for `diversity`: sim is their cosine, and items without one are like no other. By default the
        correlation over users of the scores that factors give two items (see `similar_items`): of the first
        implicit-feedback model of a `Recommender` that has factors, or of a model's own. Where there are no factors, it
        is the correlation of interactions, by 64 singular vectors. A rating model, and one without factors, does not
        know it of new users after a fold-in, and says so: give ``vectors=model.item_vectors()`` of the model that was
        fitted.

    Raises
    ------
    InvalidInputError
        If something is out of its range, or quotas contradict each other; in ``recommend`` if they cannot be met.

    References
    ----------
    J. Carbonell and J. Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
    summaries", SIGIR 1998, doi:10.1145/290941.291025.

    Examples
    --------
    >>> from cofactor.ratings import Popularity, Rules
    >>> X = [(1, "Up"), (2, "Up"), (3, "Up"), (1, "Cars"), (2, "Cars"), (3, "Heat"), (4, "Solo")]
    >>> model = Popularity().fit(X)
    >>> genre = {"Up": "animation", "Cars": "animation", "Heat": "crime"}
    >>> def shown(rules=None):
    ...     return model.recommend([4], n=2, rules=rules)[0].tolist()
    >>> shown(), shown(Rules(groups=genre, at_most=1)), shown(Rules(groups=genre, at_least={"crime": 1}))
    ([['Up', 'Cars']], [['Up', 'Heat']], [['Up', 'Heat']])
    >>> shown(Rules(novelty=1)), shown(Rules(min_support=3)), shown(Rules(boost={"Solo": 9}))
    ([['Heat', 'Cars']], [['Up', None]], [['Up', 'Cars']])
    """

    min_support: int = 0
    diversity: float = 0.0
    novelty: float = 0.0
    groups: Mapping[Any, Any] | None = None
    at_most: int | Mapping[Any, int] | None = None
    at_least: int | Mapping[Any, int] | None = None
    vectors: Embeddings | None = None
    boost: Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        check_number("min_support", self.min_support, low=0, whole=True)
        check_number("diversity", self.diversity, low=0)
        check_number("novelty", self.novelty, low=0)
        if self.vectors is not None and not isinstance(self.vectors, Embeddings):
            raise InvalidTypeError("expected Embeddings, as item_vectors() returns", argument="vectors")
        if self.boost is not None:
            boost = _by_item(self.boost, "boost", "boost")
            for item, number in boost.items():
                check_number(f"boost of {item!r}", number, low=-np.inf)
            object.__setattr__(self, "boost", boost)
        if self.groups is None:
            for name in _QUOTAS:
                if getattr(self, name) is not None:
                    raise InvalidInputError((Argument(name), " needs groups of items"), argument="groups")
            return
        object.__setattr__(self, "groups", _by_item(self.groups, "groups", "group"))
        lists = [item for item, group in self.groups.items() if isinstance(group, list | set | tuple | dict)]
        if lists:
            raise InvalidTypeError(
                f"expected one group for each item, and item {lists[0]!r} has several",
                argument="groups",
                found=self.groups[lists[0]],
            )
        if self.at_most is None and self.at_least is None:
            raise InvalidInputError(
                (Argument("groups"), " say nothing without ", Argument("at_most"), " or ", Argument("at_least")),
                argument="groups",
            )
        for name in _QUOTAS:
            self._check_quota(name, getattr(self, name))

    def _check_quota(self, name: str, quota: Any) -> None:
        for group, number in quota.items() if isinstance(quota, Mapping) else [(None, quota)] * (quota is not None):
            check_number(name, number, low=0, whole=True)
            if group is not None and group not in self._names:
                raise InvalidInputError(
                    f"no item has the group {group!r}: there are {shorten(list(self._names))}", argument=name
                )

    @cached_property
    def _names(self) -> dict[Any, int]:
        """The groups, numbered in the order of the mapping."""
        return {group: k for k, group in enumerate(dict.fromkeys(self._of_item.values()))}

    @cached_property
    def _of_item(self) -> dict[Any, Any]:
        """The group of each item that has one: None and NaN are none."""
        return {item: group for item, group in (self.groups or {}).items() if group is not None and group == group}

    @property
    def weighs(self) -> bool:
        """Whether scores are weighed against something else, so that their unit matters."""
        return bool(self.diversity or self.novelty or self.boost)

    def bonus(self, items: IdMap) -> NDArray[np.float64]:
        """Return what `boost` adds to the score of each item."""
        return self._looked_up("boost", items, lambda: self._bonus(items)).copy()

    def _bonus(self, items: IdMap) -> NDArray[np.float64]:
        out = np.zeros(len(items))
        if self.boost:
            places = _places(items, list(self.boost), "boost")
            out[places[places >= 0]] = np.array(list(self.boost.values()), dtype=np.float64)[places >= 0]
        return out

    def _groups(self, items: IdMap) -> NDArray[np.intp]:
        """Return the number of the group of each item; of those without one the number of groups."""
        names, given = self._names, self._of_item
        out = np.full(len(items), len(names))
        if given:
            places = _places(items, list(given), "groups")
            out[places[places >= 0]] = np.array([names[group] for group in given.values()])[places >= 0]
        return out

    def _looked_up(self, what: str, items: IdMap, look_up: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """Return an array of the items of a model; it is kept for the next lists of the same model."""
        known = self._lookups.get(what)
        if known is None or known[0] is not items:
            known = self._lookups[what] = items, look_up()
        return known[1]

    @cached_property
    def _lookups(self) -> dict[str, tuple[IdMap, NDArray[Any]]]:
        return {}

    def quotas(self, items: IdMap, allowed: NDArray[np.bool_], n: int) -> Quotas:
        """Look the groups up; refuse what no list of n of these items can have.

        Parameters
        ----------
        items : IdMap
        allowed : ndarray of shape (n_items,)
            Which may be recommended to anybody.
        n : int
        """
        names = self._names
        none, of_item = len(names), self._looked_up("groups", items, lambda: self._groups(items))
        most, fewest = (
            np.array([_of_group(getattr(self, name), group, default) for group in names] + [default])
            for name, default in zip(_QUOTAS, (n, 0), strict=True)
        )
        there = np.bincount(of_item[allowed], minlength=none + 1)
        for group, k in names.items():
            if fewest[k] > most[k]:
                raise InvalidInputError(
                    f"expected no more than {plural(most[k], 'item')} of the group {group!r}, which is the most that "
                    "a list may have",
                    argument="at_least",
                    found=_plain(self.at_least),
                )
            if fewest[k] > there[k]:
                raise InvalidInputError(
                    f"only {plural(there[k], 'item')} of the group {group!r} may be recommended",
                    argument="at_least",
                    found=_plain(self.at_least),
                )
        if fewest.sum() > n:
            raise InvalidInputError(
                f"lists of {plural(n, 'item')} cannot have {fewest.sum()} of these groups",
                argument="at_least",
                found=_plain(self.at_least),
                advice=("raise ", Argument("n")),
            )
        return Quotas(of_item, most, fewest)


@dataclass(frozen=True, eq=False)
class Quotas:
    """Groups of items, and how many of each a list may have.

    Attributes
    ----------
    group : ndarray of shape (n_items,), int
        The last group is that of items without one.
    most, fewest : ndarray of shape (n_groups,), int
    """

    group: NDArray[np.intp]
    most: NDArray[np.intp]
    fewest: NDArray[np.intp]


def _by_item(given: Any, argument: str, what: str) -> Mapping[Any, Any]:
    """Return a mapping from item id to what a caller gives for it; refuse anything else, without printing all of it."""
    if isinstance(given, Mapping):
        return given
    frame = as_frame(collect(given, argument))
    if frame is not None and len(frame.columns) == 2:
        order = find_item_and_value(frame.columns, what) or (0, 1)
        ids, values = (frame[frame.columns[k]].to_list() for k in order)
    elif getattr(given, "ndim", None) == 1 and hasattr(given, "index") and hasattr(given, "to_dict"):
        ids, values = given.index.tolist(), given.tolist()
    else:
        expected = f"a mapping from item id to {what}, a pandas Series with item ids as its index, or a frame of both"
        columns = "" if frame is None else f" with the columns {', '.join(map(str, frame.columns))}"
        raise InvalidTypeError(f"expected {expected}, found {type(given).__name__}{columns}", argument=argument)
    found = dict(zip(ids, values, strict=True))
    if len(found) < len(ids):
        twice = [item for item, n in Counter(ids).items() if n > 1]
        raise InvalidInputError(
            (Argument(argument), f" has several {what}s for one item: {shorten(twice)}"), argument=argument
        )
    return found


def _places(items: IdMap, given: list[Any], argument: str) -> NDArray[np.int32]:
    """Return the indices of items, with a warning of those not in training: ids may be others than the model's."""
    places = items.index(given)
    unknown = [item for item, place in zip(given, places, strict=True) if place < 0]
    if len(unknown) == len(given):
        raise InvalidInputError(
            ("none of the items of ", Argument(argument), f" was in training: {shorten(given)}"), argument=argument
        )
    if unknown:
        text = f" holds {plural(len(unknown), 'item that was', 'items that were')} not in training: {shorten(unknown)}"
        warnings.warn(InputWarning((Argument(argument), text)), stacklevel=callers_level())
    return places


def _of_group(quota: Any, group: Any, default: int) -> int:
    number = quota.get(group, default) if isinstance(quota, Mapping) else default if quota is None else quota
    return int(number)


def _plain(quota: Any) -> Any:
    return int(quota) if isinstance(quota, Integral) else dict(quota)


#: What to do where a model does not know which items are alike, and lists are to be diverse.
_OF_FITTED = "ask the model that was fitted, or give Rules the vectors=model.item_vectors() of that one"

#: Finds the best items of some users: given places of users and a number of items, returns arrays of shape (users,
#: items), the first of which are items, -1 where there are no more, and scores. The order is that of the scores with
#: `RerankPlan.bonus` added.
Search: TypeAlias = Callable[[NDArray[np.intp], int], tuple[NDArray[Any], ...]]

#: Numbers that one block of users may take for the pool of their candidates, and its vectors.
_CELLS = 1 << 22

_DEEPER = 4  # times as many candidates, where those at hand do not decide


def check_rules(rules: Any) -> None:
    """Refuse what are no rules."""
    if rules is not None and not isinstance(rules, Rules):
        raise InvalidTypeError("expected Rules(...)", argument="rules", found=rules)


@dataclass(frozen=True, eq=False)
class RerankPlan:
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


def rerank(search: Search, plan: RerankPlan, n_users: int, n_items: int, n: int) -> list[NDArray[Any]]:
    """Return the lists of users: what `search` returns, at the n items that are chosen from it.

    Where a list is shorter, or its user has fewer items left, items are -1 and floats NaN, but scores -inf.

    Parameters
    ----------
    search : Search
    plan : RerankPlan
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
        step = max(1, _CELLS // (max(width, 1) * (8 + plan.vectors.shape[1])))
        for lo in range(0, max(len(left), 1), step):
            users = left[lo : lo + step]
            found = search(users, width)
            places, done = _choose(plan, found[0], found[1], n, whole=width >= n_items)
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
    rules: RerankPlan, items: NDArray[Any], scores: NDArray[Any], n: int, whole: bool
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


def _vectors_of(given: Embeddings, items: IdMap) -> NDArray[np.float64]:
    """Return the vectors of items, of length 1; 0 of those that have none."""
    place = items.index(given.ids, "ids")
    if not (place >= 0).any():
        raise InvalidInputError("are of no item of the model", argument="vectors")
    out = np.zeros((len(items), given.values.shape[1]))
    out[place[place >= 0]] = given.values[place >= 0]
    return directions(out, np.eye(out.shape[1]))
