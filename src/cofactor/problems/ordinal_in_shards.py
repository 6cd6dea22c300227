"""Users of an ordinal probit factorization in shards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.ordinal_probit import N_TRIES
from cofactor.problems.ordinal_users import LevelData, OrdinalRows, OrdinalUsers
from cofactor.problems.priors import Moments, squares_of_columns, sums_of_columns
from cofactor.problems.rows import Array
from cofactor.problems.samples_in_shards import USER_PRIOR, Kept, ThresholdPart, ThresholdUsersInShards, copies
from cofactor.samplers import Key, State
from cofactor.solvers.parts import Answer, Question, Rounds

__all__ = ["OrdinalPart", "OrdinalUsersInShards", "ShardOrdinal"]


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


class OrdinalPart(ThresholdPart):
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

    of_ratings: ClassVar[tuple[str, ...]] = ("z",)

    def __init__(self, problem: ShardOrdinal, generators: list[np.random.Generator], thresholds: Array, k: int) -> None:
        prior = BiasedPrior("user", problem.n_columns, problem.features(k))
        self.rows = OrdinalRows(prior)
        super().__init__(problem, prior, generators, thresholds, k)

    def _open(self) -> OrdinalUsers:
        return OrdinalUsers(self.problem.open(self.k), self.prior, N_TRIES, z=self.latent.get("z"))

    def _sums(self, state: State) -> Answer:
        return self.prior.row_sums(state, state["U"]) | {"gap_sums": sums_of_columns(state["gaps"])}

    def _spreads(self, state: State, question: Question) -> Answer:
        squares = squares_of_columns(state["gaps"], question["gap_mean"])
        return self.prior.spreads(state["U"], question["mean"], question["weights"]) | {"gap_squares": squares}

    def _move(self, state: State, name: str, **given: Any) -> None:
        """Do what belongs to rows and thresholds alone, see `OrdinalRows`."""
        getattr(self.rows, name)(state, **given)

    def _draw_offsets(self, state: State, generators: list[np.random.Generator], **given: Any) -> None:
        self.rows.draw_offsets(state, self._random(generators), **given)

    def _rest_products(self, state: State, question: Question) -> Answer:
        return {"products": self.rows.rest_products(state)}


class OrdinalUsersInShards(ThresholdUsersInShards):
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

    shared: ClassVar[tuple[str, ...]] = ("V", "gap_mean", "gap_precision", *USER_PRIOR)

    def __init__(
        self,
        begin: Callable[[list[np.random.Generator], Array], Rounds],
        prior: BiasedPrior,
        sizes: NDArray[np.int64],
        counts: NDArray[np.int64],
        kept: Kept,
    ) -> None:
        super().__init__(begin, prior, sizes, kept)
        self.counts = counts

    def level_counts(self, n_levels: int) -> NDArray[np.int64]:
        """Return how many ratings there are of each level."""
        return self.counts

    def tune(self, state: State, sweep: int) -> None:
        """Adapt the reach of proposals."""
        self.later("move", name="tune", sweep=sweep)

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
        return self.ask("rest_products", shared=copies(state, USER_PRIOR))["products"]
