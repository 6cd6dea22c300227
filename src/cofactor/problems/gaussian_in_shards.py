"""Users of a factorization with Gaussian noise, in shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.problems.gaussian_users import GaussianUsers
from cofactor.problems.least_squares_in_shards import (
    ColumnsInShards,
    LeastSquaresPart,
    OpenShards,
    ShardLeastSquares,
)
from cofactor.problems.priors import NormalWishartPrior, RowSums
from cofactor.problems.rows import Array
from cofactor.problems.samples_in_shards import USER_PRIOR, Kept, SampledPart, UsersInShards
from cofactor.samplers import Key, State
from cofactor.solvers.descent import descend
from cofactor.solvers.parts import Answer, Question, Rounds, Then
from cofactor.solvers.result import Trace

__all__ = ["GaussianPart", "GaussianUsersInShards", "ShardGaussians"]

_GIVEN = ("V", "noise_precision", *USER_PRIOR)


@dataclass(frozen=True)
class ShardGaussians:
    """What makes the users of any shard.

    Attributes
    ----------
    open : OpenShards
    values : ndarray of shape (n_levels + 1,)
        Targets of the levels; the first one is of no level.
    n_columns : int
        Length of a row.
    bounds : ndarray of int
        The first user of each shard.
    item_counts : ndarray of int
        Numbers of entries of the items.
    kept : Kept
    """

    open: OpenShards
    values: Array
    n_columns: int
    bounds: NDArray[np.int64]
    item_counts: NDArray[np.int64]
    kept: Kept

    def least_squares(self, ridge: float) -> ShardLeastSquares:
        """Return the problem that a chain begins with."""
        return ShardLeastSquares(self.open, self.values, self.bounds, self.item_counts, self.n_columns, ridge, None)


class GaussianPart(SampledPart):
    """Users of one shard, see `GaussianUsers`.

    Parameters
    ----------
    problem : ShardGaussians
    generators : list of Generator
        What draws the rows of each shard at the start.
    k : int
        Number of the shard.
    """

    sampled: ClassVar[tuple[str, ...]] = ("U",)

    def __init__(self, problem: ShardGaussians, generators: list[np.random.Generator], k: int) -> None:
        self.problem, self._generators = problem, generators
        self.prior = NormalWishartPrior("user", problem.n_columns)
        super().__init__(k, int(problem.bounds[k]), problem.kept)

    def _open(self) -> GaussianUsers:
        entries, levels = self.problem.open(self.k)
        return GaussianUsers(entries, levels, self.problem.values, self.prior)

    def _start(self) -> State:
        return self._open().begin(self._random(self._generators))

    def _sums(self, state: State) -> Answer:
        n, total, products = self.prior.row_sums(state, state["U"])
        return {"n": np.array(n), "total": total, "products": products}

    def _row_sums(self, state: State, question: Question) -> Answer:
        return self._sums(state)

    def _spread(self, state: State, question: Question) -> Answer:
        return {"spread": self.prior.spread(state["U"], question["mean"], question["weights"])}

    def _moments(self, state: State, question: Question) -> Answer:
        """Return the moments of scores by level, and what the next draw of the prior needs."""
        self.users.set_moments(state)
        return self._sums(state) | {"moments": state["moments"].copy()}

    def _least_squares(self, state: State, question: Question) -> Answer:
        """Answer a question of least squares."""
        start = {"U": state["U"], "b": np.zeros(len(state["U"]))}
        part = LeastSquaresPart(self.k, self.problem.least_squares(question["ridge"]), start)
        answer = part.answer(question["question"])
        state["U"][:] = part.arrays["U"]
        return answer


class GaussianUsersInShards(UsersInShards):
    """What `GaussianUsers` is in this process, in shards.

    Parameters
    ----------
    begin : callable
        Returns `GaussianPart` of all shards, given ``generators``.
    problem : ShardGaussians
    sizes : ndarray of int
        Numbers of users of the shards.
    """

    elsewhere: ClassVar[tuple[str, ...]] = GaussianPart.sampled
    shared_by_items: ClassVar[tuple[str, ...]] = _GIVEN

    def __init__(
        self,
        begin: Callable[[list[np.random.Generator]], Rounds],
        problem: ShardGaussians,
        sizes: NDArray[np.int64],
    ) -> None:
        super().__init__(sizes, problem.kept)
        self._make, self.problem = begin, problem
        self.prior, self.mass = NormalWishartPrior("user", problem.n_columns), float(problem.item_counts.sum())

    def begin(self, random: np.random.Generator) -> State:
        """Make all parts; return the moments of scores by level alone, which are summed over users here."""
        self.parts = self._make(self.generators(random, self.prior.n_columns))
        return {"moments": np.zeros((len(self.problem.values) - 1, 3))}

    def settle(self, state: State, ridge: float, n_rounds: int) -> None:
        """Improve rows of users and items by alternating least squares."""
        columns = ColumnsInShards(_Settling(self, ridge), self.problem.least_squares(ridge))
        result = descend(columns, columns.pack({"V": state["V"]}), columns.update, Trace(columns, n_rounds, 0, None))
        state["V"][:] = columns.arrays(result.x)["V"]

    def draw_prior(self, state: State, key: Key) -> None:
        """Draw the parameters of the prior of rows."""
        self.keep_after(key.sweep - 1)
        if not self._sums:  # later they come with the errors
            self._sums = self.ask("row_sums")
        sums = RowSums(int(self._sums["n"]), self._sums["total"], self._sums["products"])

        def spread(mean: Array, weights: Array) -> Array:
            return self.ask("spread", mean=mean, weights=weights)["spread"]

        self.prior.draw_from(key.generator(), state, sums, spread)

    def draw(self, state: State, key: Key) -> None:
        """Draw rows, when equations of items are asked for."""
        self.later("draw_rows", key=key)

    def set_moments(self, state: State) -> None:
        """Sum the scores of each level, and their squares."""
        self._sums = self.ask("moments", shared={"V": state["V"].copy()})
        state["moments"][:] = self._sums["moments"]


@dataclass(frozen=True)
class _Settling:
    """Parts that answer questions of least squares."""

    users: GaussianUsersInShards
    ridge: float

    def total(self, question: Question, then: Then | None = None) -> Answer:
        return self.users.ask("least_squares", then, question=question, ridge=self.ridge)

    def told(self, question: Callable[[], Question]) -> Answer:
        return self.users.told("least_squares", lambda: {"question": question(), "ridge": self.ridge})

    def each(self, question: Question) -> Iterator[Answer]:
        for U in self.users.arrays("U"):
            yield {"U": U, "b": np.zeros(len(U))}

    def done(self) -> None:
        """Keep all: a chain goes on with these parts."""
