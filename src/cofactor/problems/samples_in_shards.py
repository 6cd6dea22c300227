"""Chains over users in shards: a shard keeps its users' part of the state and of the samples."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.problems.rows import Array
from cofactor.samplers import Key, Room, SampleFile, SamplesInMemory, State, is_kept
from cofactor.solvers.parts import Answer, Question, Rounds, Then

__all__ = [
    "USER_PRIOR",
    "Kept",
    "SampledPart",
    "ThresholdPart",
    "ThresholdUsersInShards",
    "UsersInShards",
    "generators_of_shards",
]

#: Arrays of the state that hold the parameters of the prior of users' rows.
USER_PRIOR = ("user_mean", "user_precision", "user_weights", "user_weight_precision")


@dataclass(frozen=True)
class Kept:
    """After which sweeps of a chain samples are kept, see `cofactor.samplers.run`, and where.

    Attributes
    ----------
    burn_in, thin, n_sweeps : int
    folder : Path or None
        Where those of users go, in a file for each shard and array; by default they stay in memory.
    """

    burn_in: int
    thin: int
    n_sweeps: int
    folder: Path | None = None

    def after(self, sweep: int) -> bool:
        """Return whether one is kept after this sweep."""
        return is_kept(sweep, self.burn_in, self.thin)

    @property
    def n_samples(self) -> int:
        """How many are kept in all."""
        return max(self.n_sweeps - self.burn_in, 0) // self.thin

    def file(self, k: int, name: str) -> Path:
        """Return the file of the samples of an array of shard k."""
        assert self.folder is not None
        return self.folder / f"{k:04}.{name}.npy"

    def room(self, k: int, name: str, shape: tuple[int, ...]) -> Room:
        """Return room for the samples of an array of shard k."""
        if self.folder is None:
            return SamplesInMemory(self.n_samples, shape)
        return SampleFile(self.file(k, name), self.n_samples, shape)


class UsersOfShard(Protocol):
    """Users with their ratings, as `OrdinalUsers`."""

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw thresholds, and what belongs to ratings."""

    def draw(self, state: State, key: Key) -> None:
        """Draw rows."""

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of some items."""


class SampledPart(ABC):
    """Users of one shard: what a chain has drawn for them.

    Questions name an operation in ``op``, and in ``before`` others to be done first, in this order, with their
    arguments. ``shared`` holds arrays of the state that all shards share, as they are now.

    Parameters
    ----------
    k : int
        Number of the shard.
    first : int
        Its first user among all.
    kept : Kept

    Attributes
    ----------
    arrays : State
        Their part of the state.
    latent : dict of str to ndarray
        What belongs to ratings, from when thresholds are drawn to when items are.
    """

    #: Arrays of which samples are kept, and what the users have that belongs to ratings.
    sampled: ClassVar[tuple[str, ...]]
    of_ratings: ClassVar[tuple[str, ...]] = ()

    def __init__(self, k: int, first: int, kept: Kept) -> None:
        self.k, self.first = k, first
        self.latent: dict[str, NDArray[Any]] = {}
        self._opened: Any = None
        self.arrays = self._start()
        self._opened, self.n_samples = None, 0
        self.samples = {name: kept.room(k, name, self.arrays[name].shape) for name in self.sampled}

    @abstractmethod
    def _open(self) -> Any:
        """Return the users with their ratings, and `latent`."""

    @abstractmethod
    def _start(self) -> State:
        """Return their part of the state at the start."""

    @abstractmethod
    def _sums(self, state: State) -> Answer:
        """Return what draws of the parameters of all users need at first."""

    @property
    def users(self) -> Any:
        """The users with their ratings, which are open while a question is answered."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def state(self) -> dict[str, NDArray[Any]]:
        """Return their arrays, samples, and what belongs to ratings if it is needed."""
        to_save = {f"samples of {name}": room.to_save(self.n_samples) for name, room in self.samples.items()}
        samples = {name: array for name, array in to_save.items() if array is not None}
        latent = {f"latent {name}": array for name, array in self.latent.items()}
        return self.arrays | samples | latent | {"number of samples": np.array([self.n_samples])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take all that `state` returned."""
        self.arrays = {name: state[name] for name in self.arrays}
        self.latent = {name: state[f"latent {name}"] for name in self.of_ratings if f"latent {name}" in state}
        self.n_samples = int(state["number of samples"][0])
        for name, room in self.samples.items():
            room.restore(state.get(f"samples of {name}"))

    def answer(self, question: Question) -> Answer:
        """Do what was put off, then what the question asks."""
        state = self.arrays | dict(question.get("shared", {}))
        try:
            for name, given in question.get("before", ()):
                getattr(self, "_" + name)(state, **given)
            return getattr(self, "_" + question["op"])(state, question)
        finally:
            self._opened = None

    def _of_shard(self, key: Key) -> Key:
        return replace(key, first=self.first)

    def _draw_thresholds(self, state: State, key: Key) -> None:
        users: UsersOfShard = self.users
        users.draw_thresholds(state, self._of_shard(key))
        self.latent = {name: getattr(users, name) for name in self.of_ratings}

    def _draw_rows(self, state: State, key: Key) -> None:
        users: UsersOfShard = self.users
        users.draw(state, self._of_shard(key))

    def _draw(self, state: State, question: Question) -> Answer:
        """Draw rows; return sums, and the likelihood."""
        self._draw_rows(state, question["key"])
        return self._sums(state) | {"value": np.array([state["value"].sum()])}

    def _equations(self, state: State, question: Question) -> Answer:
        users: UsersOfShard = self.users
        precision, shift = question["precision"], question["shift"]
        if self.k:  # the first shard counts what the prior says
            precision, shift = np.zeros_like(precision), np.zeros_like(shift)
        ends = question["first"], question["last"]
        found = users.item_equations(state, *ends, precision, shift, lambda sums: sums)
        if question["done"]:
            self.latent = {}
        return found

    def _keep(self, state: State) -> None:
        """Keep a sample."""
        for name, room in self.samples.items():
            room.keep(self.n_samples, state[name])
        self.n_samples += 1

    def _end(self, state: State, question: Question) -> Answer:
        return {}

    def _found(self, state: State, question: Question) -> Answer:
        """Return one array: of the state, or its samples, where they are in memory."""
        name = question["name"]
        found = self.samples[name].to_save(self.n_samples) if question["samples"] else self.arrays[name]
        assert found is not None
        return {"found": found}

    def _random(self, generators: list[np.random.Generator]) -> np.random.Generator:
        """Return the generator of this shard."""
        return copy.deepcopy(generators[self.k])


class ThresholdPart(SampledPart):
    """Users of one shard who have thresholds.

    Parameters
    ----------
    problem : object
        With `bounds`, the first user of each shard, and `kept`.
    prior : object
        Of their rows.
    generators : list of Generator
        What draws the rows of each shard at the start.
    thresholds : ndarray
        Those of all users at the start.
    k : int
        Number of the shard.
    """

    sampled: ClassVar[tuple[str, ...]] = ("U", "thresholds")

    def __init__(
        self, problem: Any, prior: Any, generators: list[np.random.Generator], thresholds: Array, k: int
    ) -> None:
        self.problem, self.prior, self._generators, self._thresholds = problem, prior, generators, thresholds
        super().__init__(k, int(problem.bounds[k]), problem.kept)

    def _start(self) -> State:
        return self._open().begin(self._random(self._generators), self._thresholds)


class UsersInShards:
    """Users of a posterior whose rows live with their shards.

    Parameters
    ----------
    sizes : ndarray of int
        Numbers of users of the shards.
    kept : Kept

    Attributes
    ----------
    parts : Rounds
        `SampledPart` of all shards, from the start of a chain on.
    """

    parts: Rounds

    #: Arrays of a sample that the parts have.
    elsewhere: ClassVar[tuple[str, ...]]

    #: Arrays of the state that users are drawn given, and those that equations of items need.
    shared: ClassVar[tuple[str, ...]]
    shared_by_items: ClassVar[tuple[str, ...]] = ()

    def __init__(self, sizes: NDArray[np.int64], kept: Kept) -> None:
        self.sizes, self.kept = sizes, kept
        self._before: list[tuple[str, dict[str, Any]]] = []
        #: Sums over all users, as the last draw of rows left them.
        self._sums: Answer = {}

    def later(self, op: str, **given: Any) -> None:
        """Put off what has no answer until the next question."""
        self._before.append((op, {key: copy.copy(value) for key, value in given.items()}))

    def keep_after(self, sweep: int) -> None:
        """Keep a sample of what is there after a sweep, if this is one of those."""
        if self.kept.after(sweep):
            self.later("keep")

    def ask(self, op: str, then: Then | None = None, **given: Any) -> Answer:
        """Ask all parts; return the sum of their answers, or what `then` makes of it."""
        question, self._before = {"op": op, "before": self._before, **given}, []
        return self.parts.total(question, then)

    def told(self, op: str, make: Callable[[], Mapping[str, Any]]) -> Answer:
        """Ask all parts what changes nothing; the rest of the question is made only if it is asked."""
        assert not self._before, "what is put off changes the parts"
        return self.parts.told(lambda: {"op": op, "before": [], **make()})

    def draw_thresholds(self, state: State, key: Key) -> None:
        """Draw thresholds, and what belongs to ratings."""
        self.keep_after(key.sweep - 1)
        self.later("draw_thresholds", key=key)

    def draw(self, state: State, key: Key) -> None:
        """Draw rows."""
        self._sums = self.ask("draw", key=key, shared=copies(state, self.shared))
        state["value"][:] = self._sums["value"]

    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array, then: Then) -> Answer:
        """Return `then` of the equations of some items."""
        given = {"first": first, "last": last, "precision": precision, "shift": shift}
        shared, done = copies(state, self.shared_by_items), last == len(state["V"])
        return self.ask("equations", then, **given, shared=shared, done=done)

    def generators(self, random: np.random.Generator, *shape: int) -> list[np.random.Generator]:
        """Return what draws normal numbers of this shape for each user, a generator for each shard."""
        return generators_of_shards(random, self.sizes, *shape)

    def end(self, sweep: int) -> None:
        """Do what was put off, after the last sweep."""
        self.keep_after(sweep)
        self.ask("end")

    def samples(self, name: str) -> NDArray[np.float32]:
        """Return the samples of an array of all users."""
        return np.concatenate(list(self._each(name, True)), axis=1)

    def array(self, name: str) -> NDArray[Any]:
        """Return an array of the state, of all users."""
        return np.concatenate(list(self.arrays(name)))

    def arrays(self, name: str) -> Iterator[NDArray[Any]]:
        """Return an array of the state, of the users of one shard after another."""
        return self._each(name, False)

    def _each(self, name: str, samples: bool) -> Iterator[NDArray[Any]]:
        return (answer["found"] for answer in self.parts.each({"op": "found", "name": name, "samples": samples}))


class ThresholdUsersInShards(UsersInShards):
    """Users in shards who have thresholds.

    Parameters
    ----------
    begin : callable
        Returns `ThresholdPart` of all shards, given ``generators`` and ``thresholds``.
    prior : object
        Of the rows, with totals of all features.
    sizes, kept
        As of `UsersInShards`.
    """

    elsewhere: ClassVar[tuple[str, ...]] = ThresholdPart.sampled

    def __init__(
        self,
        begin: Callable[[list[np.random.Generator], Array], Rounds],
        prior: Any,
        sizes: NDArray[np.int64],
        kept: Kept,
    ) -> None:
        super().__init__(sizes, kept)
        self._make, self.prior = begin, prior

    def begin(self, random: np.random.Generator, thresholds: Array) -> State:
        """Make all parts; return the likelihood, or loss, alone, which is summed over users here."""
        self.parts = self._make(self.generators(random, self.prior.n_columns), thresholds)
        return {"value": np.zeros(1)}


def copies(state: State, names: Sequence[str]) -> State:
    """Return copies of some arrays of a state, as they are now."""
    return {name: state[name].copy() for name in names}


def generators_of_shards(
    random: np.random.Generator, sizes: NDArray[np.int64], *shape: int
) -> list[np.random.Generator]:
    """Return for each shard the generator as it is when it draws for its users, after those of all before.

    Parameters
    ----------
    random : Generator
        It is moved on behind the last one.
    sizes : ndarray of int
        Numbers of users.
    *shape : int
        Shape of the normal numbers for each user.

    Examples
    --------
    >>> random, again = np.random.default_rng(0), np.random.default_rng(0)
    >>> first, second = generators_of_shards(random, np.array([2, 3]))
    >>> bool(np.all(np.append(first.normal(size=2), second.normal(size=3)) == again.normal(size=5)))
    True
    """
    generators = []
    for n in sizes:
        generators.append(copy.deepcopy(random))
        random.normal(size=(n, *shape))
    return generators
