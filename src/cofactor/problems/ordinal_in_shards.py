"""Users of an ordinal probit factorization in shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.ordinal_probit import N_TRIES
from cofactor.problems.ordinal_users import LevelData, OrdinalRows, OrdinalUsers
from cofactor.problems.priors import Moments, squares_of_columns, sums_of_columns
from cofactor.problems.rows import Array
from cofactor.problems.samples_in_shards import Kept, SampledPart, UsersInShards
from cofactor.samplers import Key, State
from cofactor.solvers.parts import Answer, Question, Rounds, Then

__all__ = ["OrdinalPart", "OrdinalUsersInShards", "ShardOrdinal"]

_PRIOR = ("user_mean", "user_precision", "user_weights", "user_weight_precision")

#: What users are drawn given.
_SHARED = ("V", "gap_mean", "gap_precision", *_PRIOR)


@dataclass(frozen=True)
class ShardOrdinal:
    """What makes the users of any shard.

    Attributes
    ----------
    open : callable
        ``open(k)`` returns the levels of shard k.
    features : callable
        ``features(k)`` returns the features of its users, or None.
    n_columns : int
        Length of a row.
    bounds : ndarray of int
        The first user of each shard.
    kept : Kept
    """

    open: Callable[[int], LevelData]
    features: Callable[[int], Array | None]
    n_columns: int
    bounds: NDArray[np.int64]
    kept: Kept


class OrdinalPart(SampledPart):
    """Users of one shard, see `OrdinalUsers`.

    Parameters
    ----------
    problem : ShardOrdinal
    generators : list of Generator
        What draws the rows of each shard at the start.
    thresholds : ndarray
        Those of all users at the start.
    k : int
        Number of the shard.
    """

    sampled: ClassVar[tuple[str, ...]] = ("U", "thresholds")

    def __init__(self, problem: ShardOrdinal, generators: list[np.random.Generator], thresholds: Array, k: int) -> None:
        self.k, self.problem = k, problem
        self.prior = BiasedPrior("user", problem.n_columns, problem.features(k))
        self.rows = OrdinalRows(self.prior)
        #: Latent scores, from when thresholds are drawn to when items are.
        self.z: Array | None = None
        self._opened: OrdinalUsers | None = None
        arrays = self._users.begin(self._random(generators), thresholds)
        super().__init__(k, int(problem.bounds[k]), arrays, problem.kept)
        self._opened = None

    @property
    def _users(self) -> OrdinalUsers:
        """The users with their ratings, which are open while a question is answered."""
        if self._opened is None:
            self._opened = OrdinalUsers(self.problem.open(self.k), self.prior, N_TRIES, z=self.z)
        return self._opened

    def state(self) -> dict[str, NDArray[Any]]:
        """Return their arrays and samples, and latent scores if they are needed."""
        return super().state() | ({} if self.z is None else {"z": self.z})

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take arrays, samples and latent scores."""
        super().restore(state)
        self.z = state.get("z")

    def answer(self, question: Question) -> Answer:
        """Do what was put off, then what the question asks."""
        try:
            return super().answer(question)
        finally:
            self._opened = None

    def _of_shard(self, key: Key) -> Key:
        return replace(key, first=self.first)

    def _draw_thresholds(self, state: State, key: Key) -> None:
        users = self._users
        users.draw_thresholds(state, self._of_shard(key))
        self.z = users.z

    def _draw(self, state: State, question: Question) -> Answer:
        """Draw rows; return what the draws of the priors of rows and gaps need at first."""
        self._users.draw(state, self._of_shard(question["key"]))
        gaps, value = sums_of_columns(state["gaps"]), state["value"].sum()
        return self.prior.row_sums(state, state["U"]) | {"gap_sums": gaps, "value": np.array([value])}

    def _spreads(self, state: State, question: Question) -> Answer:
        squares = squares_of_columns(state["gaps"], question["gap_mean"])
        return self.prior.spreads(state["U"], question["mean"], question["weights"]) | {"gap_squares": squares}

    def _equations(self, state: State, question: Question) -> Answer:
        precision, shift = question["precision"], question["shift"]
        if self.k:  # the first shard counts what the prior says
            precision, shift = np.zeros_like(precision), np.zeros_like(shift)
        ends = question["first"], question["last"]
        return self._users.item_equations(state, *ends, precision, shift, lambda sums: sums)

    def _move(self, state: State, name: str, **given: Any) -> None:
        """Do what belongs to rows and thresholds alone, see `OrdinalRows`."""
        getattr(self.rows, name)(state, **given)

    def _draw_offsets(self, state: State, generators: list[np.random.Generator], **given: Any) -> None:
        self.rows.draw_offsets(state, self._random(generators), **given)

    def _rest_products(self, state: State, question: Question) -> Answer:
        self.z = None
        return {"products": self.rows.rest_products(state)}


class OrdinalUsersInShards(UsersInShards):
    """What `OrdinalUsers` is in this process, in shards.

    Four questions make a sweep: for rows, after thresholds and what was put off; for how they are spread about what is
    expected of them; for the equations of items (more, where these are many); for the rest of rows after their offsets.

    Parameters
    ----------
    begin : callable
        Returns `OrdinalPart` of all shards, given ``generators`` and ``thresholds``.
    prior : BiasedPrior
        Of the rows, with totals of all features.
    sizes : ndarray of int
        Numbers of users of the shards.
    counts : ndarray of int
        How many ratings there are of each level.
    kept : Kept
    """

    elsewhere: ClassVar[tuple[str, ...]] = OrdinalPart.sampled

    def __init__(
        self,
        begin: Callable[[list[np.random.Generator], Array], Rounds],
        prior: BiasedPrior,
        sizes: NDArray[np.int64],
        counts: NDArray[np.int64],
        kept: Kept,
    ) -> None:
        super().__init__(sizes, kept)
        self._make, self.prior, self.counts = begin, prior, counts
        #: Sums over all users, as the last draw of rows left them.
        self._sums: Answer = {}

    def level_counts(self, n_levels: int) -> NDArray[np.int64]:
        """Return how many ratings there are of each level."""
        return self.counts

    def begin(self, random: np.random.Generator, thresholds: Array) -> State:
        """Make all parts; return the likelihood alone, which is summed over users here."""
        self.parts = self._make(self.generators(random, self.prior.n_columns), thresholds)
        return {"value": np.zeros(1)}

    def tune(self, state: State, sweep: int) -> None:
        """Adapt the reach of proposals."""
        self.later("move", name="tune", sweep=sweep)

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw log-gaps, then z."""
        self.keep_after(key.sweep - 1)
        self.later("draw_thresholds", key=key)

    def draw(self, state: State, key: Key) -> None:
        """Draw rows."""
        self._sums = self.ask("draw", key=key, shared={name: state[name].copy() for name in _SHARED})
        state["value"][:] = self._sums["value"]

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""
        self.prior.draw_by(state, key, self._sums, self._spreads)

    def _spreads(self, mean: Array, weights: Array) -> Answer:
        gap_mean = self._sums["gap_sums"] / self._sums["n"]
        found = self.ask("spreads", mean=mean, weights=weights, gap_mean=gap_mean)
        self._sums["gap_squares"] = found["gap_squares"]
        return found

    def gap_moments(self, state: State) -> Moments:
        """Return the moments of log-gaps."""
        n = int(self._sums["n"])
        return Moments(n, self._sums["gap_sums"] / n, self._sums["gap_squares"] / n)

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of some items."""
        return self.ask("equations", then, first=first, last=last, precision=precision, shift=shift)

    def draw_offsets(
        self, state: State, random: np.random.Generator, precisions: tuple[float, float], mean: Array, weights: Array,
        gap_mean: float,
    ) -> None:  # fmt: skip
        """Draw how much of how high each rates is bias."""
        self.later(
            "draw_offsets", generators=self.generators(random), precisions=precisions, mean=mean, weights=weights,
            gap_mean=gap_mean,
        )  # fmt: skip

    def add_to_factors(self, state: State, delta: Array, t: float) -> None:
        """Add δ to factors and t to thresholds."""
        self.later("move", name="add_to_factors", delta=delta, t=t)

    def pay_for_factors(self, state: State, delta: Array, t: float) -> None:
        """Take from biases what δ adds to scores, and add t to them and to thresholds."""
        self.later("move", name="pay_for_factors", delta=delta, t=t)

    def stretch(self, state: State, root: Array) -> None:
        """Multiply factors."""
        self.later("move", name="stretch", root=root)

    def rest_products(self, state: State) -> Array:
        """Return the products of all columns of rows less their prior means."""
        return self.ask("rest_products", shared={name: state[name].copy() for name in _PRIOR})["products"]
