"""Interactions held out from each user, by which penalties are chosen and shares are calibrated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.ranking import places
from cofactor.kernels.threads import parallel_for
from cofactor.model.progress import Monitor
from cofactor.problems.choice import ChoiceProblem, ChoiceWeights, at_knot, log_shares
from cofactor.ratings.data import Ratings, entries_of_rows
from cofactor.ratings.ids import IdMap

#: Weight of popularity that does no more than break ties.
TIES = 1e-9

#: Those that are tried.
_WEIGHTS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)

#: Users who are looked at if there are so many: of a shop's, each has one or two interactions held out.
_USERS = 1_000

#: Users times items up to which all users are looked at, and likelihoods computed: 16 MB for each model. On MovieLens
#: 100K these are all users, of MovieLens 1M one thousand.
_CELLS = 4 << 20

_MOST = 8 * _CELLS  # that are looked at for 1,000 users

#: Of what is held out at random: so little that what is learned from the others is what all say.
_SHARE = 0.1

_RANKED = 64  # interactions whose ranks a thread counts at a time

_LATEST = 0.2  # of what is held out as the latest

_SEEN = 100  # places of a list

_STEPS = 12  # to either side, of a search

_TRIALS = 2 * _STEPS + 1
_NO_KNOT = float(np.finfo(np.float32).max)

_SHARPEST = 1.25  # that utilities become by what was held out, in a few rounds

_ROUNDS = 10

_BEND = 1.0  # standard deviation beforehand of how much a slope changes at the median of what was held out


@dataclass(frozen=True)
class HeldOut:
    """A part of the interactions of users, a random tenth or the latest fifth, apart from all other interactions.

    Attributes
    ----------
    whole : Ratings
        All interactions.
    train : Ratings
        Those that were not held out: of users who are looked at nine tenths, or four fifths, of others all.
    users : ndarray of int
        Indices of the users looked at.
    seen : ndarray of shape (len(users), n_items), bool
        What they interacted with in `train`.
    chosen : tuple of two ndarray
        What was held out: places of users among `users`, and items.
    latest : bool
        Whether what was held out is the latest, not a random part.
    """

    whole: Ratings
    train: Ratings
    users: NDArray[np.intp]
    seen: NDArray[np.bool_]
    chosen: tuple[NDArray[np.intp], NDArray[np.intp]]
    latest: bool

    @classmethod
    def of(cls, interactions: Ratings, seed: int, latest: bool = False, share: float = _SHARE) -> Self:
        """Hold out a part of the interactions of users with two or more, or of as many such users as will do.

        A tenth of a user's interactions is rounded up or down by chance, so that most users with few interactions lose
        none, and are not looked at then. Of the latest, which needs times, it is a fifth, and one at least; ties of
        time are broken at random. Of interactions with weights below 1 so much fewer are held out.
        """
        generator = np.random.default_rng(seed)
        counts, m = interactions.user_counts, len(interactions.items)
        weights = None if interactions.weights is None else _shares(interactions.weights)
        latest = latest and interactions.times is not None
        if latest:
            n_out = np.clip(np.round(_LATEST * counts), 1, None)
        else:
            whole = (
                counts if weights is None else np.bincount(interactions.row_of_entry, weights, minlength=len(counts))
            )
            n_out = np.floor(share * whole + generator.random(len(counts)))
        n_out = np.minimum(n_out, counts - 1).astype(np.int64)
        able = np.flatnonzero(n_out > 0)
        most = max(_CELLS // max(m, 1), min(_USERS, max(1, _MOST // max(m, 1))))
        users = able if len(able) <= most else np.sort(generator.permutation(able)[:most])
        n_out = n_out[users]
        firsts, entries = entries_of_rows(interactions.indptr, users)
        owner = np.repeat(np.arange(len(users)), np.diff(firsts))
        chance = generator.random(interactions.n_ratings)[entries]
        if weights is not None and not latest:  # the first to happen, of events at these rates
            with np.errstate(divide="ignore"):
                chance = -np.log1p(-chance) / weights[entries]
        keys: list[NDArray[Any]] = [chance, owner]
        if latest:
            keys.insert(1, -cast(Any, interactions.times)[entries])
        order = np.lexsort(keys)
        rank = np.empty(len(entries), dtype=np.int64)
        rank[order] = np.arange(len(entries)) - firsts[owner]
        chosen = entries[rank < n_out[owner]]
        out = np.zeros(interactions.n_ratings, dtype=np.bool_)
        out[chosen] = True
        train = interactions.subset(~out)
        indptr, theirs = entries_of_rows(train.indptr, users)
        seen = np.zeros((len(users), m), dtype=np.bool_)
        seen[np.repeat(np.arange(len(users)), np.diff(indptr)), train.indices[theirs]] = True
        out_of = owner[rank < n_out[owner]], interactions.indices[chosen].astype(np.intp)
        return cls(interactions, train, users, seen, out_of, latest)

    def of_most_popular(self, n: int) -> Self:
        """Return what this says of the n most popular items."""
        items = np.sort(np.argsort(-self.train.item_counts, kind="stable")[:n])
        place = np.full(len(self.train.items), -1, dtype=np.int32)
        place[items] = np.arange(len(items))
        known = IdMap.of_range(len(items))

        def of_these(ratings: Ratings) -> Ratings:
            few = ratings.subset(place[ratings.indices] >= 0)
            rows = few.indptr, place[few.indices], few.levels
            return Ratings.from_csr(few.users, known, few.scale, *rows, few.times, few.weights)

        whole, train = of_these(self.whole), of_these(self.train)
        users, columns = self.chosen
        kept = place[columns] >= 0
        chosen = users[kept], place[columns[kept]].astype(np.intp)
        seen = np.take(self.seen, items, axis=1)  # by rows, as kernels were compiled for
        return replace(self, whole=whole, train=train, seen=seen, chosen=chosen)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many interactions each user looked at has in `train`."""
        return self.train.user_counts[self.users].astype(np.int64)

    @property
    def usual(self) -> float:
        """The geometric mean of how many interactions the users looked at have, 1 without any."""
        return float(np.exp(np.log(self.counts).mean())) if len(self.counts) else 1.0

    def problem(
        self, features: Sequence[NDArray[np.float32]], precisions: NDArray[np.float64] | None = None
    ) -> ChoiceProblem:
        """Return the likelihood of what was held out, of every k-th user if there are many, given features of items."""
        whole = ChoiceProblem(features, self.seen | ~self._known, self._can_come, self.counts / self.usual, precisions)
        return whole.subsample(max(1, self.seen.size // _CELLS))

    @cached_property
    def _known(self) -> NDArray[np.bool_]:
        """Which items have interactions in `train`: of others no model knows anything, and none is recommended."""
        known = self.train.item_counts > 0
        return known if known[self.chosen[1]].any() else np.ones_like(known)

    @property
    def _can_come(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which of `chosen` are of known items."""
        rows, columns = self.chosen
        known = self._known[columns]
        return rows[known], columns[known]

    def gains(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return 1 / log2(1 + rank) of each held-out interaction, among all items that its user had not seen."""
        rows, columns = self.chosen
        table, ranks = np.ascontiguousarray(scores, dtype=np.float32), np.empty(len(rows))
        parallel_for(
            lambda b: places(b * _RANKED, min((b + 1) * _RANKED, len(rows)), table, self.seen, rows, columns, ranks),
            -(-len(rows) // _RANKED),
        )
        return 1 / np.log2(1 + ranks)

    def gain(self, scores: NDArray[np.floating]) -> float:
        """Return the mean of `gains`, 0 where nothing was held out."""
        return float(self.gains(scores).mean()) if len(self.chosen[0]) else 0.0

    def _at_head(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return by how much `gains` exceed that of the hundredth place, 0 below it: hardly a user looks so far."""
        return np.maximum(self.gains(scores) - 1 / np.log2(1 + _SEEN), 0)

    def prior_weight(self, table: NDArray[np.float32], prior: NDArray[np.float64]) -> float:
        """Return how much of a prior is to be added to scores of all items: none where lists become hardly better.

        If no user has two items, no model learns who interacts with what, and the prior outweighs all scores.
        """
        if not len(self.users):
            return 0.0 if self.train.user_counts.max(initial=0) > 1 else _WEIGHTS[-1]
        added = prior.astype(np.float32)
        without, *found = (self._at_head(table + weight * added) for weight in map(np.float32, (TIES, *_WEIGHTS)))
        best = int(np.argmax([gains.sum() for gains in found]))
        risen = np.bincount(self.chosen[0], found[best] - without)
        return _WEIGHTS[best] if _is_sure(risen, 1.0) else 0.0

    def forward_select(self, tables: Sequence[NDArray[np.float32]]) -> list[int]:
        """Return which features make the best lists together, the best alone first.

        The next one joins while the gain of interactions rises by more than its standard error over users, or at all
        for one that alone is about as good as the best, and all features count for the better: their likelihood rises
        by almost any. What does not raise it is not tried again. The first, popularity, joins wherever it counts for
        the better: users with few interactions need it, and hardly any of their interactions are held out.
        """
        owner = self.chosen[0]
        alone = [self._at_head(table) for table in tables]
        chosen = [int(np.argmax([gains.sum() for gains in alone]))]
        gains, weights, others = alone[chosen[0]], np.ones(1), set(range(len(tables))) - set(chosen)
        good = {k for k in others if not _is_sure(np.bincount(owner, gains - alone[k]), 1.0)}
        while True:
            found = dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]()
            for k in sorted(others):
                features = [tables[j] for j in (*chosen, k)]
                c = self.problem(features).maximize(np.append(weights, 0.1)).weights
                risen = self._at_head(np.tensordot(c.astype(np.float32), features, 1)) - gains
                if c.min() > 0 and _is_sure(np.bincount(owner, risen), 0.0 if k in good else 1.0):
                    found[k] = gains + risen, c
            if not found:
                break
            best = max(found, key=lambda k: found[k][0].sum())
            chosen, (gains, weights), others = [*chosen, best], found[best], set(found) - {best}
        if 0 not in chosen:
            features = [tables[j] for j in (*chosen, 0)]
            if self.problem(features).maximize(np.append(weights, 0.1)).weights.min() > 0:
                chosen = [*chosen, 0]
        return chosen

    def best(
        self, features: Sequence[NDArray[np.float32]], straight: Collection[int] = ()
    ) -> tuple[ChoiceWeights, NDArray[np.float64]]:
        """Return the likeliest c and δ of features that are bent where what was held out has its median, and where.

        Some are straight, given by index, and those of which a slope would be below 0: their knot is above all.
        """
        bends = np.isin(np.arange(len(features)), [*straight], invert=True)
        medians = np.array([np.median(feature[self._can_come]) for feature in features], dtype=np.float64)
        start, precisions = np.tile([1 / len(features), 0.0], len(features)), np.tile([0, 1 / _BEND**2], len(features))
        while True:
            knots = np.where(bends, medians, _NO_KNOT)
            columns = [column for pair in zip(features, knots, strict=True) for column in at_knot(*pair)]
            found = self.problem(columns, precisions).maximize(start)
            slopes = found.weights.reshape(-1, 2).cumsum(axis=1)
            if not (bends & (slopes.min(axis=1) < 0)).any():
                return found, knots
            bends &= slopes.min(axis=1) >= 0

    def sharpening(self, before: NDArray[np.float32], after: NDArray[np.float32]) -> float:
        r"""Return γ, by which to multiply utilities of fits to all interactions.

        Utilities z, of fits without what was held out, have slopes that are right for them. The more is known the less
        noise is in features, and the steeper slopes ought to be: γ makes utilities z' of fits to all interactions
        expect what z expects,

        .. math:: \sum_u |H_u| \sum_j z_{uj} \big(P'_{uj}(\gamma) - P_{uj}\big) = 0, \quad
            P_{uj} = \frac{e^{z_{uj}}}{\sum_k e^{z_{uk}}}, \quad
            P'_{uj}(\gamma) = \frac{e^{\gamma z'_{uj}}}{\sum_k e^{\gamma z'_{uk}}}

        over items that are neither held out nor known before. So z is an instrument, which knows nothing of the noise
        in z'.

        Parameters
        ----------
        before, after : ndarray of shape (len(users), n_items)
            z and z'.
        """
        k = max(1, self.seen.size // _CELLS)
        closed = self.seen | ~self._known
        closed[self.chosen] = True
        closed, z, after = closed[::k], before[::k], after[::k]
        many = np.bincount(self.chosen[0], minlength=len(self.users))[::k].astype(np.float64)

        def mean(P: NDArray[np.floating], values: NDArray[np.floating]) -> NDArray[np.floating]:
            return np.einsum("ij,ij->i", P, values)

        expected, gamma = mean(np.exp(log_shares(z, closed)), z), 1.0
        for _ in range(_ROUNDS):
            P = np.exp(log_shares(np.float32(gamma) * after, closed))
            now = mean(P, z)
            slope = float(many @ (mean(P, z * after) - now * mean(P, after)))
            if not slope > 0:
                return 1.0
            step = float(many @ (expected - now)) / slope
            gamma = float(np.clip(gamma + step, 1 / _SHARPEST, _SHARPEST))
            if abs(step) < 1e-4:
                break
        return gamma


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return as how much of an interaction each one counts: those of weights below 1, and below the largest, as less.

    Examples
    --------
    >>> _shares(np.array([2.0, 1.0, 0.5])).tolist(), _shares(np.array([0.002, 0.001])).tolist()
    ([1.0, 1.0, 0.5], [1.0, 0.5])
    """
    return np.minimum(weights / min(weights.max(initial=1e-300), 1), 1)


def item_masses(interactions: Ratings) -> NDArray[np.float64]:
    """Return how many users interacted with each item, with little weight as a part of one."""
    if interactions.weights is None:
        return interactions.item_counts.astype(np.float64)
    return np.asarray(
        np.bincount(interactions.indices, _shares(interactions.weights), minlength=len(interactions.items)),
        dtype=np.float64,
    )


def popularity_prior(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Return log(1 + count) of items, 1 for the highest.

    Examples
    --------
    >>> popularity_prior(np.array([3, 0, 1])).tolist()
    [1.0, 0.0, 0.5]
    """
    found = np.log1p(counts.astype(np.float64))
    return np.asarray(found / max(found.max(initial=0.0), TIES))


def _is_sure(risen: NDArray[Any], n_errors: float) -> bool:
    """Whether a sum over users is above so many of its standard errors.

    Examples
    --------
    >>> _is_sure(np.array([0.2, 0.3, -0.1]), 1.0), _is_sure(np.array([0.2, -0.3, 0.2]), 1.0)
    (True, False)
    """
    return bool(risen.sum() > n_errors * np.sqrt((risen**2).sum()))


class Tuned(NamedTuple):
    """What `ImplicitModel.tune` returns.

    Attributes
    ----------
    settings : dict of str to object
        Parameters that were chosen.
    table : ndarray of shape (n_users, n_items), float32
        `log_interactions` of the users looked at, by a fit with them that does not know what was held out.
    solution : object
        What a fit to all interactions would find with them, if that was found on the way: see `FitInput`.
    """

    settings: dict[str, Any]
    table: NDArray[np.float32]
    solution: Any = None


class Trials:
    """Settings of a model, tried one after the other on held-out interactions.

    Parameters
    ----------
    held_out : HeldOut
    learn : callable
        Returns scores of all items for the users looked at, after a fit with settings given by name; None where such a
        fit says nothing.
    monitor : Monitor
        It is told of each. Once its callback has asked to stop, no more are tried.

    Attributes
    ----------
    best : dict
        The settings that gained most so far: see `HeldOut.gain`.
    highest : float
        What they gained.
    table : ndarray
        What `learn` returned for them.
    """

    def __init__(self, held_out: HeldOut, learn: Callable[..., NDArray[np.float32] | None], monitor: Monitor) -> None:
        self.best: dict[str, Any] = {}
        self.table = np.zeros(held_out.seen.shape, dtype=np.float32)
        self._held_out, self.learn, self._monitor = held_out, learn, monitor
        self._gains: dict[tuple[Any, ...], float] = {}
        self.highest = -np.inf

    def gain(self, **settings: Any) -> float:
        """Return what settings gain, -inf where they say nothing."""
        key = tuple(settings.items())
        if key in self._gains:
            return self._gains[key]
        if self.best and self._monitor.stopped:
            return -np.inf
        table = self.learn(**settings)
        self._gains[key] = gain = -np.inf if table is None else self._held_out.gain(table)
        if not self.best or gain > self.highest:
            self.best, self.highest = settings, gain
            self.table = self.table if table is None else table
        written = " and ".join(f"{name} {value:.3g}" for name, value in settings.items())
        self._monitor.note(f"trying {written}", len(self._gains), _TRIALS, -gain)
        return gain


def climb(value: Callable[[float], float], start: float, factor: float, n_steps: int = _STEPS) -> float:
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
