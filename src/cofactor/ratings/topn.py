"""Top-N lists: what ranks items, what is hidden, the highest scores tile by tile, and what every `recommend` returns.

Items that callers leave out are left out for all users, or for each.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InputWarning, InvalidTypeError
from cofactor.files import PathLike
from cofactor.frames import frame_of
from cofactor.kernels.ranking import keep_best
from cofactor.kernels.threads import thread_limit
from cofactor.limits import CELLS
from cofactor.model.convergence import callers_level
from cofactor.ratings.blocks import Pairwise, each_block, tile_shape
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import ConcatIds, IdMap, IdSelection
from cofactor.ratings.lookup import Lookup, ids_given
from cofactor.text import plural, shorten
from cofactor.typing import Frame

if TYPE_CHECKING:
    from cofactor.ratings.reranking import RerankPlan, Rules


@dataclass(frozen=True, eq=False)
class Recommendations:
    """What is recommended to users, best first: ``items, scores = model.recommend(...)``, and more by name.

    Attributes
    ----------
    users : ndarray of shape (k,)
        User ids.
    items : ndarray of shape (k, n)
        Item ids. A user with fewer items left than n has None in the last columns; the dtype is then object.
    scores : ndarray of shape (k, n), float64
        What they are ranked by, of a `Recommender` a logarithm of a probability or of an expected gain; -inf where
        there is no item.
    p_interact : ndarray of shape (k, n), float64, or None
        Of a `Recommender` the probability p that the item is the next one that the user interacts with. Among the next
        k it is with a probability of about k p, or 1 if that is less: of held-out interactions of MovieLens 100K, .505
        were where this said .477, and .242, .138, .073, .035 where it said .243, .140, .071, .032.
    p_like : ndarray of shape (k, n), float64, or None
        The probability that the user likes it, given an interaction; None without a rating model.

    Examples
    --------
    >>> items, p = np.array([["Up", None]], dtype=object), np.array([[0.5, np.nan]])
    >>> found = Recommendations(np.array([7]), items, np.array([[-0.7, -np.inf]]), p)
    >>> found.to_frame("polars").columns, len(found.to_frame("polars"))
    (['user', 'rank', 'item', 'score', 'p_interact'], 1)
    >>> items, scores = found
    >>> found[0] is items
    True
    """

    users: NDArray[Any]
    items: NDArray[Any]
    scores: NDArray[np.float64]
    p_interact: NDArray[np.float64] | None = None
    p_like: NDArray[np.float64] | None = None

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Give items and scores."""
        return iter((self.items, self.scores))

    def __getitem__(self, k: int) -> NDArray[Any]:
        """Return items for 0, and scores for 1."""
        return (self.items, self.scores)[k]

    def __len__(self) -> int:
        return 2

    def __repr__(self) -> str:
        return f"Recommendations({plural(len(self.users), 'user', form=',')}, {self.items.shape[1]} items each)"

    def __str__(self) -> str:
        return self.text()

    def text(self, n: int | None = 20) -> str:
        """Return the first rows in aligned columns.

        Parameters
        ----------
        n : int or None, default=20
            How many recommendations to show; None for all.

        Examples
        --------
        >>> items, p = np.array([["Up", "Alien"]]), np.array([[0.25, 0.125]])
        >>> print(Recommendations(np.array([7]), items, np.log(p), p).text())
        user  rank   item   score  p_interact
        -------------------------------------
           7     1     Up  -1.386       0.250
           7     2  Alien  -2.079       0.125
        """
        columns = self._columns()
        shown = len(columns["user"]) if n is None else min(n, len(columns["user"]))
        cells = [[name, *map(_cell, column[:shown].tolist())] for name, column in columns.items()]
        widths = [max(map(len, column)) for column in cells]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in zip(*cells, strict=True)]
        more = len(columns["user"]) - shown
        below = [f"… and {more:,} more"] if more else []
        return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], *below])

    def to_frame(self, kind: str = "pandas") -> Frame:
        """Return a row for each recommendation: user, rank from 1, item, score; p_interact and p_like where known.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow"}, default="pandas"
            Whose frame, or table. Columns of polars and pyarrow have one type; where ids have several it is an error.
        """
        return frame_of(self._columns(), kind)

    def write(self, path: PathLike, *, safe_csv: bool = False) -> None:
        """Write the columns of `to_frame` to a file, which has its name only when it is whole.

        Parameters
        ----------
        path : str or path-like
            Its suffix says the format: ``.parquet``, ``.csv``, ``.tsv``, and of text also ``.gz`` after these.
        safe_csv : bool, default=False
            Write text so that no spreadsheet takes it for a formula, see `cofactor.datasets.write_table`.

        Raises
        ------
        InvalidInputError
            If the suffix is another one, or Parquet is to hold ids of several types.
        """
        from cofactor.datasets.write import write_table

        write_table(path, self._columns(), safe_csv=safe_csv)

    def _columns(self) -> dict[str, NDArray[Any]]:
        """Return a column for each thing that is known of a recommendation."""
        k, n = self.items.shape
        there = np.isfinite(self.scores).ravel()
        columns: dict[str, NDArray[Any]] = {
            "user": np.repeat(self.users, n),
            "rank": np.tile(np.arange(1, n + 1), k),
            "item": self.items.ravel(),
            "score": self.scores.ravel(),
        }
        chances = {"p_interact": self.p_interact, "p_like": self.p_like}
        columns |= {name: table.ravel() for name, table in chances.items() if table is not None}
        return {name: column[there] for name, column in columns.items()}


def _cell(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


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
        text = f" is for {plural(len(unknown), 'user who was', 'users who were')} not in training: {shorten(unknown)}"
        warnings.warn(InputWarning((Argument("exclude"), text)), stacklevel=callers_level())
    return found.astype(np.int64)


def _indices(known: IdMap, items: Any) -> NDArray[np.int64]:
    """Return the indices of items that are known."""
    if isinstance(items, IdSelection):
        return items.places_in(known, "exclude")
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
        text = f" holds {plural(len(unknown), 'item that was', 'items that were')} not in training: {shorten(unknown)}"
        warnings.warn(InputWarning((Argument("exclude"), text)), stacklevel=callers_level())
    return found[found >= 0].astype(np.int64)


@dataclass(frozen=True)
class Rescorer:
    """A closer look at items that are among the best by rough scores.

    Attributes
    ----------
    nearly : callable
        Returns scores nearer to the exact ones, shape (len(users), m) as that of `items`: some for each user.
    exact : callable
        Returns the exact scores of pairs, given users and items.
    """

    nearly: Pairwise
    exact: Pairwise

    def ranked(self, users: Any, items: NDArray[Any], n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return items and exact scores, (len(users), n_scored(n)) or less, of those where nearer scores are highest.

        Parameters
        ----------
        users : ndarray or TimedUsers
        items : ndarray of shape (len(users), m)
            Some for each user; -1 stands for none.
        n : int
            How many are asked for.
        """
        there = items >= 0
        near = np.where(there, self.nearly(users, np.where(there, items, 0).astype(np.int32)), -np.inf)
        items, _ = highest(items, near, n_scored(n))
        rows, columns = np.nonzero(items >= 0)
        scores = np.full(items.shape, -np.inf)
        scores[rows, columns] = self.exact(users[rows], items[rows, columns].astype(np.int32))
        return items, scores


@dataclass(frozen=True)
class Ranking:
    """The scores by which items are ranked for users.

    Attributes
    ----------
    block : callable
        Returns the scores (len(users), len(items)) of some items for some users, given their indices.
    n_pairs : int
        For how many pairs of a user and an item scores are computed at a time.
    rescorer : Rescorer, optional
        If those of `block` are rough.
    n_items : int, optional
        For how many items at least: all of them where they cost hardly more than some.
    """

    block: Pairwise
    n_pairs: int
    rescorer: Rescorer | None = None
    n_items: int = 0

    def beside(self, new: Ranking, n_known: int) -> Ranking:
        """Return the ranking of the items of both: from index `n_known` on those of another."""

        def of_pairs(known: Pairwise, fresh: Pairwise) -> Pairwise:
            def scores(users: Any, items: NDArray[Any]) -> NDArray[Any]:
                out, is_new = np.empty(len(items)), items >= n_known
                for of, here, shift in ((known, ~is_new, 0), (fresh, is_new, n_known)):
                    out[here] = of(users[np.flatnonzero(here)], items[here] - shift)
                return out

            return scores

        def of_each(known: Pairwise, fresh: Pairwise) -> Pairwise:
            def scores(users: Any, items: NDArray[Any]) -> NDArray[Any]:
                is_new = items >= n_known
                ours, theirs = np.where(is_new, 0, items), np.where(is_new, items - n_known, 0)
                return np.where(is_new, fresh(users, theirs), known(users, ours))

            return scores

        def block(users: Any, items: NDArray[Any]) -> NDArray[Any]:
            is_new = items >= n_known
            parts = (self.block, items[~is_new]), (new.block, items[is_new] - n_known)
            return np.hstack([scores(users, some) for scores, some in parts if len(some)])

        rescorer = None
        if self.rescorer is not None and new.rescorer is not None:
            nearly = of_each(self.rescorer.nearly, new.rescorer.nearly)
            rescorer = Rescorer(nearly, of_pairs(self.rescorer.exact, new.rescorer.exact))
        return replace(self, block=block, rescorer=rescorer)

    def raised(self, bonus: NDArray[np.float64]) -> Ranking:
        """Return the same scores with a bonus for each item."""

        def higher(scores: Pairwise) -> Pairwise:
            return lambda users, items: scores(users, items) + bonus[items]

        rescorer = self.rescorer and Rescorer(higher(self.rescorer.nearly), higher(self.rescorer.exact))
        return replace(self, block=higher(self.block), rescorer=rescorer)


@dataclass(frozen=True, eq=False)
class ExclusionMask:
    """What is not shown to users: what they rated or interacted with, and what the caller leaves out.

    Attributes
    ----------
    seen : Ratings or None
    excluded : Excluded
    """

    seen: Ratings | None
    excluded: Excluded

    def places(self, users: Any, items: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where items are hidden: places among `users` and places among `items`, which ascend.

        Examples
        --------
        >>> from cofactor.ratings.lookup import Lookup
        >>> known = Lookup(IdMap(["ann", "bob"]), IdMap(["Alien", "Heat", "Up"]))
        >>> hidden = ExclusionMask(None, Excluded.of(known, {"bob": ["Up", "Alien"]}))
        >>> [part.tolist() for part in hidden.places(np.array([0, 1]), np.array([1, 2]))]
        [[1], [1]]
        """
        rows, hidden = self.excluded.rows(np.asarray(users))
        if self.seen is not None:
            indptr, seen, _ = self.seen.rows(np.asarray(users))
            rows = np.concatenate([np.repeat(np.arange(len(users)), np.diff(indptr)), rows])
            hidden = np.concatenate([seen, hidden])
        if not len(items):
            return rows[:0], rows[:0]
        if items[-1] == len(items) - 1:  # all from the first on, as where nobody names candidates
            among = hidden < len(items)
            return rows[among], hidden[among]
        place = np.minimum(np.searchsorted(items, hidden), len(items) - 1)
        among = items[place] == hidden
        return rows[among], place[among]


def ids_of(items: IdMap, best: NDArray[Any]) -> NDArray[Any]:
    """Return the ids of items, None where an index is -1.

    Examples
    --------
    >>> ids_of(IdMap(["Alien", "Up"]), np.array([[1, -1]]))
    array([['Up', None]], dtype=object)
    """
    ids = items.ids[best]
    if (best < 0).any():
        ids = ids.astype(object)
        ids[best < 0] = None
    return ids


def best_items(
    ranking: Ranking, users: Any, items: NDArray[Any], n: int, hidden: ExclusionMask
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return items with the highest scores, best first, ties by index, and these scores, both (len(users), n).

    Scores are computed for tiles of a few users and items each, so that memory depends on neither number. If they are
    rough, a sixteenth of all items, and no less than eight times as many as are then scored exactly, get nearer scores.

    Parameters
    ----------
    ranking : Ranking
    users : ndarray or TimedUsers
        Indices, or users at times.
    items : ndarray
        Indices, ascending.
    n : int
        Number of items for each user; where fewer are left, the rest is -1, with scores of -inf. Far more than
        there are items are refused, where they would fill the memory (`cofactor.limits.CELLS`).
    hidden : ExclusionMask
        Which items to leave out.
    """
    n_best = min(n, len(items))
    cells = int(n) * len(users)
    what = (Argument("n", int(n)), f" for {plural(len(users), 'user', form=',')} asks for {cells:,} items")
    CELLS.check(cells, what, size=n_best * len(users))
    n_kept = n_best if ranking.rescorer is None else min(max(8 * n_scored(n_best), len(items) // 16), len(items))
    height, width = tile_shape(len(users), ranking.n_pairs, ranking.n_items)
    height = max(1, min(height, ranking.n_pairs // max(n_kept, 1)))
    found, scores = np.full((len(users), n), -1, dtype=np.int64), np.full((len(users), n), -np.inf)

    def search(lo: int, hi: int) -> None:
        best, where = np.full((hi - lo, n_kept), -np.inf), np.full((hi - lo, n_kept), -1, dtype=np.int64)
        rows, columns = hidden.places(users[lo:hi], items)
        for start in range(0, len(items), width):
            table = np.ascontiguousarray(ranking.block(users[lo:hi], items[start : start + width]))
            here = (columns >= start) & (columns < start + width)
            table[rows[here], columns[here] - start] = -np.inf
            keep_best(table, start, best, where)
        where[where >= 0] = items[where[where >= 0]]
        if ranking.rescorer is not None:
            with thread_limit(1):  # the other threads have blocks of their own
                where, best = ranking.rescorer.ranked(users[lo:hi], where, n_best)
        found[lo:hi, :n_best], scores[lo:hi, :n_best] = highest(where, best, n_best)

    each_block(search, len(users), height)
    return found, scores


def n_scored(n: int) -> int:
    """Return how many items are scored exactly to find the best n of them, where other scores are rough."""
    return 2 * n + 10


def highest(
    items: NDArray[np.int64], scores: NDArray[np.float64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the n items of each row with the highest scores, best first, ties by index, and their scores.

    Examples
    --------
    >>> highest(np.array([[3, 7, 2]]), np.array([[1.0, 4.0, 1.0]]), 2)
    (array([[7, 2]]), array([[4., 1.]]))
    """
    order = np.lexsort((items, -scores))[:, :n]
    rows = np.arange(len(items))[:, None]
    return items[rows, order], scores[rows, order]


@dataclass(frozen=True, eq=False)
class Catalog:
    """Users, items, who has seen what, and what is known of items: all that lists need besides scores.

    Attributes
    ----------
    users, items : IdMap
    seen : Ratings or None
        What users rated, or interacted with.
    support : callable
        Returns how many users interacted with each item, and how many users there were.
    directions : callable
        Returns vectors of items, of length 1 or 0, whose inner products say how alike items are.
    """

    users: IdMap
    items: Any
    seen: Any
    support: Callable[[], tuple[NDArray[Any], int]]
    directions: Callable[[], NDArray[np.float64]]

    @property
    def lookup(self) -> Lookup:
        """The users and items by their ids."""
        return Lookup(self.users, self.items)

    def with_items(self, new: IdMap) -> Self:
        """Return a catalog with new items after the known ones: without interactions, and like no other."""

        def support() -> tuple[NDArray[Any], int]:
            counts, n_users = self.support()
            return np.append(counts, np.zeros(len(new))), n_users

        def directions() -> NDArray[np.float64]:
            known = self.directions()
            return np.vstack([known, np.zeros((len(new), known.shape[1]))])

        return replace(self, items=ConcatIds(self.items, new), support=support, directions=directions)

    def allowed(self, candidates: Iterable[Any] | None, exclude: Exclusion) -> tuple[NDArray[np.bool_], Excluded]:
        """Return which items may be recommended to anybody, and what is left out."""
        known, out = self.lookup, np.zeros(len(self.items), dtype=np.bool_)
        excluded = Excluded.of(known, exclude)
        out[known.candidates(candidates)] = True
        out[excluded.everywhere] = False
        return out, excluded

    def rerank_plan(self, rules: Rules, allowed: NDArray[np.bool_], n: int) -> tuple[RerankPlan, NDArray[np.bool_]]:
        """Look up rules for lists of n of the allowed items; return also which of these they allow."""
        from cofactor.ratings.reranking import RerankPlan

        return RerankPlan.of(rules, self.items, allowed, n, self.support, self.directions)

    def best_lists(
        self,
        ranking: Ranking,
        users: Any,
        n: int,
        *,
        exclude_seen: bool,
        exclude: Exclusion,
        candidates: Iterable[Any] | None,
        rules: Rules | None,
    ) -> Recommendations:
        """Return the best items that may be recommended, re-ranked by rules if there are any.

        Parameters
        ----------
        ranking : Ranking
        users : ndarray of int, or TimedUsers
            By index.
        n, exclude_seen, exclude, candidates, rules
            As in `recommend`.
        """
        allowed, excluded = self.allowed(candidates, exclude)
        hidden = ExclusionMask(self.seen if exclude_seen else None, excluded)
        ids = self.users.ids[np.asarray(users)]
        if rules is None:
            best, scores = best_items(ranking, users, np.flatnonzero(allowed).astype(np.int32), n, hidden)
            return Recommendations(ids, ids_of(self.items, best), scores)
        from cofactor.ratings.reranking import rerank

        plan, allowed = self.rerank_plan(rules, allowed, n)
        left, bonus = np.flatnonzero(allowed).astype(np.int32), plan.bonus
        raised = ranking.raised(bonus) if bonus.any() else ranking

        def search(rows: NDArray[Any], width: int) -> tuple[NDArray[Any], ...]:
            found, values = best_items(raised, users[rows], left, width, hidden)
            return found, values - bonus[found]

        best, scores = rerank(search, plan, len(users), len(left), n)
        return Recommendations(ids, ids_of(self.items, best), scores)
