"""Users of max-margin matrix factorization as a distribution, in shards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.problems.hinge_users import FixedPrior, HingeUsers
from cofactor.problems.ordinal_users import LevelData
from cofactor.problems.priors import LinkedPrior, Moments, squares_of_columns, sums_of_columns
from cofactor.problems.rows import Array
from cofactor.problems.samples_in_shards import USER_PRIOR, Kept, ThresholdPart, ThresholdUsersInShards, copies
from cofactor.samplers import Key, State
from cofactor.solvers.parts import Answer, Question

__all__ = ["HingePart", "HingeUsersInShards", "ShardHinges"]


@dataclass(frozen=True)
class ShardHinges:
    """What makes the users of any shard.

    Attributes
    ----------
    open : callable
        ``open(k)`` returns the levels of shard k.
    prior : callable
        ``prior(k)`` returns the prior of its users' rows.
    c, width, biased
        See `HingeUsers`.
    bounds : ndarray of int
        The first user of each shard.
    kept : Kept
    """

    open: Callable[[int], LevelData]
    prior: Callable[[int], LinkedPrior | FixedPrior]
    c: float
    width: float
    biased: bool
    bounds: NDArray[np.int64]
    kept: Kept


class HingePart(ThresholdPart):
    """Users of one shard, see `HingeUsers`.

    Parameters
    ----------
    problem : ShardHinges
    generators : list of Generator
        What draws the rows of each shard at the start.
    thresholds : ndarray
        Those of all users at the start.
    k : int
        Number of the shard.
    """

    of_ratings: ClassVar[tuple[str, ...]] = ("weights", "targets")

    def __init__(self, problem: ShardHinges, generators: list[np.random.Generator], thresholds: Array, k: int) -> None:
        super().__init__(problem, problem.prior(k), generators, thresholds, k)

    def _open(self) -> HingeUsers:
        given = self.problem
        weights, targets = (self.latent.get(name) for name in self.of_ratings)
        return HingeUsers(
            given.open(self.k), self.prior, c=given.c, width=given.width, biased=given.biased, weights=weights,
            targets=targets,
        )  # fmt: skip

    def _sums(self, state: State) -> Answer:
        of_thresholds = sums_of_columns(state["thresholds"])
        n = np.array(len(state["U"]))
        return self.prior.row_sums(state, state["U"]) | {"n": n, "threshold_sums": of_thresholds}

    def _squares(self, state: State, question: Question) -> Answer:
        rows = self.prior.row_squares(state, state["U"], question["mean"])
        return {"rows": rows, "thresholds": squares_of_columns(state["thresholds"], question["threshold_mean"])}


class HingeUsersInShards(ThresholdUsersInShards):
    """What `HingeUsers` is in this process, in shards.

    Parameters
    ----------
    begin : callable
        Returns `HingePart` of all shards, given ``generators`` and ``thresholds``.
    prior : LinkedPrior or FixedPrior
        Of the rows, with totals of all features.
    sizes : ndarray of int
        Numbers of users of the shards.
    kept : Kept
    """

    shared: ClassVar[tuple[str, ...]] = ("V", "threshold_mean", "threshold_precision", *USER_PRIOR)

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""

        def squares(mean: Array) -> Array:
            threshold_mean = self._sums["threshold_sums"] / self._sums["n"]
            shared = copies(state, USER_PRIOR)
            found = self.ask("squares", mean=mean, threshold_mean=threshold_mean, shared=shared)
            self._sums["threshold_squares"] = found["thresholds"]
            return found["rows"]

        self.prior.draw_by(state, key, self._sums, squares)

    def threshold_moments(self, state: State) -> Moments:
        """Return the moments of thresholds; the draw of the prior of rows has asked for their squares."""
        n, sums = int(self._sums["n"]), self._sums
        return Moments(n, sums["threshold_sums"] / n, sums["threshold_squares"] / n)
