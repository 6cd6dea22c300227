"""Takes held out from each user, by which penalties are chosen and shares are calibrated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from cofactor.problems.choice import Choice, ChoiceProblem, bent
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import entries_of_rows

__all__ = ["HeldOut", "climb"]

#: Users times items that are looked at, at most: 32 MB for each model. On MovieLens 100K all users, of MovieLens 1M two
#: thousand.
_CELLS = 8 << 20

#: Of what is held out at random: so little that what is learned from the others is what all say.
_SHARE = 0.1

_RANKED = 256  # takes whose ranks are counted at a time

_LATEST = 0.2  # of what is held out as the latest

_KNOTS = (0.1, 0.5)  # shares of what was held out below the knots at which slopes of features change

_BEND = 10.0  # standard deviation beforehand of such a change


@dataclass(frozen=True)
class HeldOut:
    """A part of the takes of users, a random tenth or the latest fifth, apart from all other takes.

    Attributes
    ----------
    train : Ratings
        The other takes: of users who are looked at nine tenths, or four fifths, of others all.
    users : ndarray of int
        Indices of the users looked at.
    seen : ndarray of shape (len(users), n_items), bool
        What they took in `train`.
    chosen : tuple of two ndarray
        What was held out: places of users among `users`, and items.
    latest : bool
        Whether what was held out is the latest, not a random part.
    """

    train: Ratings
    users: NDArray[np.intp]
    seen: NDArray[np.bool_]
    chosen: tuple[NDArray[np.intp], NDArray[np.intp]]
    latest: bool

    @classmethod
    def of(cls, takes: Ratings, seed: int, latest: bool = False) -> Self:
        """Hold out a part of the takes of users with two or more, or of as many such users as will do.

        A tenth of a user's takes is rounded up or down by chance, so that most users with few takes lose none, and are
        not looked at then. Of the latest, which needs times, it is a fifth, and one at least; ties of time are broken
        at random.
        """
        generator = np.random.default_rng(seed)
        counts, m = takes.user_counts, len(takes.items)
        latest = latest and takes.times is not None
        if latest:
            n_out = np.clip(np.round(_LATEST * counts), 1, None)
        else:
            n_out = np.floor(_SHARE * counts + generator.random(len(counts)))
        n_out = np.minimum(n_out, counts - 1).astype(np.int64)
        able = np.flatnonzero(n_out > 0)
        most = max(1, _CELLS // max(m, 1))
        users = able if len(able) <= most else np.sort(generator.permutation(able)[:most])
        n_out = n_out[users]
        firsts, entries = entries_of_rows(takes.indptr, users)
        owner = np.repeat(np.arange(len(users)), np.diff(firsts))
        keys: list[NDArray[Any]] = [generator.random(takes.n_ratings)[entries], owner]
        if latest:
            keys.insert(1, -cast(Any, takes.times)[entries])
        order = np.lexsort(keys)
        rank = np.empty(len(entries), dtype=np.int64)
        rank[order] = np.arange(len(entries)) - firsts[owner]
        chosen = entries[rank < n_out[owner]]
        out = np.zeros(takes.n_ratings, dtype=np.bool_)
        out[chosen] = True
        train = takes.subset(~out)
        indptr, theirs = entries_of_rows(train.indptr, users)
        seen = np.zeros((len(users), m), dtype=np.bool_)
        seen[np.repeat(np.arange(len(users)), np.diff(indptr)), train.indices[theirs]] = True
        out_of = owner[rank < n_out[owner]], takes.indices[chosen].astype(np.intp)
        return cls(train, users, seen, out_of, latest)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many each user looked at took in `train`."""
        return self.train.user_counts[self.users].astype(np.int64)

    @property
    def usual(self) -> float:
        """The geometric mean of how many the users looked at took, 1 without any."""
        return float(np.exp(np.log(self.counts).mean())) if len(self.counts) else 1.0

    def problem(
        self, features: Sequence[NDArray[np.float32]], precisions: NDArray[np.float64] | None = None
    ) -> ChoiceProblem:
        """Return the likelihood of what was held out, given features of all items for the users looked at."""
        return ChoiceProblem(features, self.seen, self.chosen, self.counts / self.usual, precisions)

    def judge(self) -> Callable[[NDArray[np.float32]], float]:
        """Return the likelihood of what was held out as a function of a feature, each search beginning at the last."""
        at = Choice(np.ones(1), 0.0, -np.inf)

        def likelihood(feature: NDArray[np.float32]) -> float:
            nonlocal at
            at = self.problem([feature]).maximize(at.weights, at.exponent)
            return at.value

        return likelihood

    def gain(self, scores: NDArray[np.floating]) -> float:
        """Return the mean of 1 / log2(1 + rank) of what was held out, among all that its user had not taken."""
        rows, columns = self.chosen
        total = 0.0
        for lo in range(0, len(rows), _RANKED):
            here = rows[lo : lo + _RANKED]
            others, own = np.where(self.seen[here], -np.inf, scores[here]), scores[here, columns[lo : lo + _RANKED]]
            above, equal = ((compared(others, own[:, None])).sum(axis=1) for compared in (np.greater, np.equal))
            rank = above + (1 + equal) / 2  # the mean one among equals
            total += float((1 / np.log2(1 + rank)).sum())
        return total / max(len(rows), 1)

    def best(self, features: Sequence[NDArray[np.float32]]) -> tuple[Choice, NDArray[np.float64]]:
        """Return the likeliest c and δ of features that are bent at knots, and these."""
        knots = np.array([np.quantile(feature[self.chosen], _KNOTS) for feature in features], dtype=np.float64)
        columns = [column for feature, at in zip(features, knots, strict=True) for column in bent(feature, at)]
        is_bend = np.tile(np.arange(1 + len(_KNOTS)) > 0, len(features))
        start = np.where(is_bend, 0.0, 1 / len(features))
        return self.problem(columns, is_bend / _BEND**2).maximize(start), knots


def climb(value: Callable[[float], float], start: float, factor: float, n_steps: int = 12) -> float:
    """Return the best of numbers start · factorᵏ, going from the start to whichever side is better until it is not.

    Examples
    --------
    >>> climb(lambda x: -abs(x - 30), 4, 2)
    32.0
    """
    best, highest = float(start), value(start)
    for direction in (factor, 1 / factor):
        moved = False
        for _ in range(n_steps):
            found = value(best * direction)
            if found <= highest:
                break
            best, highest, moved = best * direction, found, True
        if moved:
            break
    return best
