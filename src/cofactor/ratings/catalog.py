"""Top-N lists: what they are made of besides scores, and the search for the best by rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.ids import ConcatIds, IdMap
from cofactor.ratings.lookup import Lookup
from cofactor.ratings.recommendations import Recommendations
from cofactor.ratings.topn import Excluded, Exclusion, ExclusionMask, Ranking, best_items, ids_of

if TYPE_CHECKING:
    from cofactor.ratings.reranking import Arrangement, Rules

__all__ = ["Catalog"]


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

    def arrangement(self, rules: Rules, allowed: NDArray[np.bool_], n: int) -> tuple[Arrangement, NDArray[np.bool_]]:
        """Look up rules for lists of n of the allowed items; return also which of these they allow."""
        from cofactor.ratings.reranking import Arrangement

        return Arrangement.of(rules, self.items, allowed, n, self.support, self.directions)

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
        """Return the best items that may be recommended, arranged by rules if there are any.

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
        from cofactor.ratings.reranking import arranged

        arrangement, allowed = self.arrangement(rules, allowed, n)
        left, bonus = np.flatnonzero(allowed).astype(np.int32), arrangement.bonus
        raised = ranking.raised(bonus) if bonus.any() else ranking

        def search(rows: NDArray[Any], width: int) -> tuple[NDArray[Any], ...]:
            found, values = best_items(raised, users[rows], left, width, hidden)
            return found, values - bonus[found]

        best, scores = arranged(search, arrangement, len(users), len(left), n)
        return Recommendations(ids, ids_of(self.items, best), scores)
