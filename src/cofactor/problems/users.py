"""Users of a posterior, wherever they are: with the chain in this process, or in shards.

The steps of a posterior ask its users for what they do and sum up, by the name of a method of `EntryUsers`. Users in
this process do it at once, with the arrays of the chain's state (`LocalUsers`). Those in shards (`ShardedUsers`) keep
their part of the state and of the samples where the shards are, in a `UsersPart` each, and their answers are added.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.problems.priors import RowPrior
from cofactor.problems.rows import EQUATIONS, Array, Rows, draw_by_equations
from cofactor.samplers import Kept, Key, State
from cofactor.solvers.parts import Answer, Executor, Part, Question, Then

#: Arrays of the state that hold the parameters of the prior of users' rows.
USER_PRIOR = ("user_mean", "user_precision", "user_weights", "user_weight_precision")


class EntryUsers(ABC):
    """Users with their entries, and what is drawn for them given all else.

    Parameters
    ----------
    opened : callable
        Returns the entries. It is called when they are needed, and again after `close`.
    prior : object
        Of their rows.
    """

    #: Their arrays in a sample; what they have for each entry, by attribute, from when it is drawn to `forget`.
    sampled: ClassVar[tuple[str, ...]]
    of_entries: ClassVar[tuple[str, ...]] = ()

    #: Attributes that follow from the entries, until `close`.
    opens: ClassVar[tuple[str, ...]] = ("data", "rows", "items")

    def __init__(self, opened: Callable[[], Any], prior: Any) -> None:
        self._opened, self.prior = opened, prior
        self.forget()

    @staticmethod
    def summed(n_levels: int) -> dict[str, tuple[int, ...]]:
        """Return shapes of arrays of the state which users in shards sum up: a chain needs nothing else of them."""
        return {"value": (1,)}

    @abstractmethod
    def begin(self, random: np.random.Generator, *start: Array) -> State:
        """Return their part of the state at the start."""

    @abstractmethod
    def sums(self, state: State) -> Answer:
        """Return what draws of parameters that are common to all users need of them at first."""

    @abstractmethod
    def item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array) -> Answer:
        """Return the "equations" of the items first..last-1, see `Rows.equations`."""

    @cached_property
    def data(self) -> Any:
        """The entries."""
        return self._opened()

    @cached_property
    def rows(self) -> Rows:
        """Rows of users."""
        return Rows.of_users(self.data)

    @cached_property
    def items(self) -> Rows:
        """Rows of items."""
        return Rows.of_items(self.data)

    @property
    def n(self) -> int:
        """Number of users."""
        return self.rows.n

    def close(self) -> None:
        """Let the entries go until they are needed again."""
        for name in self.opens:
            self.__dict__.pop(name, None)

    def forget(self) -> None:
        """Let go of what was drawn for entries."""
        for name in self.of_entries:
            setattr(self, name, None)


class Users(ABC):
    """Users as a posterior sees them.

    Attributes
    ----------
    prior : object
        Of their rows.
    elsewhere : tuple of str
        Arrays of a sample that are not in the state.
    """

    prior: Any
    elsewhere: tuple[str, ...] = ()

    @abstractmethod
    def begin(self, random: np.random.Generator, *start: Array) -> State:
        """Return what of the state is theirs at the start."""

    @abstractmethod
    def do(self, name: str, state: State, **given: Any) -> None:
        """Have all users do what has no answer, with a key, or a generator that draws a normal number for each."""

    @abstractmethod
    def ask(
        self, name: str, state: State, shared: Sequence[str] = (), then: Then | None = None, **given: Any
    ) -> Answer:
        """Return the sum of what users answer, or what `then` makes of it.

        Parameters
        ----------
        name : str
            Of the method.
        state : State
        shared : sequence of str
            Arrays that are not of users, and are needed for this and for all that was to be done before.
        then : callable, optional
        **given
            Arguments of the method.
        """

    def draw_items(self, state: State, key: Key, prior: RowPrior, shared: Sequence[str] = ()) -> None:
        """Draw the rows of items given all users, some after others."""
        V = state["V"]
        m, p = V.shape
        precision, shifts = prior.precision(state), prior.shifts(state, m)
        size = max(1, EQUATIONS // (4 * p * (p + 3)))
        for first in range(0, m, size):
            last = min(first + size, m)
            then = partial(draw_by_equations, replace(key, first=first).rows(), p)
            given = {"first": first, "last": last, "precision": precision, "shift": shifts[first:last]}
            V[first:last] = self.ask("item_equations", state, shared, then, **given)["rows"]


class LocalUsers(Users):
    """Users in this process, whose arrays are in the state.

    Parameters
    ----------
    own : EntryUsers
    """

    def __init__(self, own: Any) -> None:
        self.own, self.prior = own, own.prior

    def begin(self, random: np.random.Generator, *start: Array) -> State:
        """Return their part of the state at the start."""
        return self.own.begin(random, *start)

    def do(self, name: str, state: State, **given: Any) -> None:
        """Do it now."""
        getattr(self.own, name)(state, **given)

    def ask(
        self, name: str, state: State, shared: Sequence[str] = (), then: Then | None = None, **given: Any
    ) -> Answer:
        """Return what they answer, or what `then` makes of it."""
        found = getattr(self.own, name)(state, **given)
        return found if then is None else then(found)


class UsersPart(Part):
    """Users of one shard, with their part of the state and of the samples.

    Questions name an operation in ``op``, its arguments in ``given``, and in ``before`` others to be done first, in
    this order. ``shared`` holds arrays of the state that all shards share, as they are now.

    Parameters
    ----------
    make : callable
        ``make(k)`` returns the users of shard k.
    firsts : ndarray of int
        The first user of each shard.
    kept : Kept
    generators : list of Generator
        What draws the rows of each shard at the start.
    start : tuple of ndarray
        What they begin with besides.
    k : int
        Number of the shard.
    """

    def __init__(
        self,
        make: Callable[[int], EntryUsers],
        firsts: NDArray[np.int64],
        kept: Kept,
        generators: list[np.random.Generator],
        start: tuple[Array, ...],
        k: int,
    ) -> None:
        self.k, self.first, self.users = k, int(firsts[k]), make(k)
        self.arrays = self.users.begin(copy.deepcopy(generators[k]), *start)
        self.users.close()
        self.n_samples = 0
        self.samples = {name: kept.room(k, name, self.arrays[name].shape) for name in self.users.sampled}

    def state(self) -> dict[str, NDArray[Any]]:
        """Return their arrays, samples, and what was drawn for entries if it is needed."""
        to_save = {f"samples of {name}": room.to_save(self.n_samples) for name, room in self.samples.items()}
        samples = {name: array for name, array in to_save.items() if array is not None}
        drawn = {f"latent {name}": getattr(self.users, name) for name in self.users.of_entries}
        latent = {name: array for name, array in drawn.items() if array is not None}
        return self.arrays | samples | latent | {"number of samples": np.array([self.n_samples])}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take all that `state` returned."""
        self.arrays = {name: state[name] for name in self.arrays}
        for name in self.users.of_entries:
            setattr(self.users, name, state.get(f"latent {name}"))
        self.n_samples = int(state["number of samples"][0])
        for name, room in self.samples.items():
            room.restore(state.get(f"samples of {name}"))

    def answer(self, question: Question) -> Answer:
        """Do what was put off, then what the question asks."""
        state = self.arrays | dict(question.get("shared", {}))
        try:
            for name, given in question["before"]:
                self._do(name, state, given)
            return self._do(question["op"], state, question["given"])
        finally:
            self.users.close()

    def _do(self, name: str, state: State, given: Mapping[str, Any]) -> Any:
        """Do what only parts do, or what the users do."""
        given = dict(given)
        if "key" in given:
            given["key"] = replace(given["key"], first=self.first)
        if "random" in given:  # a generator for each shard
            given["random"] = copy.deepcopy(given["random"][self.k])
        own = getattr(self, f"_{name}", None)
        return getattr(self.users, name)(state, **given) if own is None else own(state, **given)

    def _item_equations(self, state: State, first: int, last: int, precision: Array, shift: Array) -> Answer:
        if self.k:  # the first shard counts what the prior says
            precision, shift = np.zeros_like(precision), np.zeros_like(shift)
        found = self.users.item_equations(state, first, last, precision, shift)
        if last == self.users.items.n:
            self.users.forget()
        return found

    def _keep(self, state: State) -> Answer:
        """Keep a sample."""
        for name, room in self.samples.items():
            room.keep(self.n_samples, state[name])
        self.n_samples += 1
        return {}

    def _end(self, state: State) -> Answer:
        return {}

    def _found(self, state: State, array: str, samples: bool) -> Answer:
        """Return one array: of the state, or its samples, where they are in memory."""
        found = self.samples[array].to_save(self.n_samples) if samples else self.arrays[array]
        assert found is not None
        return {"found": found}


class ShardedUsers(Users):
    """Users whose rows live with their shards.

    What has no answer is put off until the next question, so that few rounds make a sweep.

    Parameters
    ----------
    begin : callable
        Returns parts, given what makes each of them.
    kind : type of EntryUsers
    make : callable
        ``make(k)`` returns the users of shard k, which are of this kind.
    prior : object
        Of the rows, with totals of all features.
    sizes : ndarray of int
        Numbers of users of the shards.
    n_levels : int
    kept : Kept

    Attributes
    ----------
    parts : Executor
        `UsersPart` of all shards, from the start of a chain on.
    """

    parts: Executor

    def __init__(
        self,
        begin: Callable[[Callable[[int], Part]], Executor],
        kind: type[EntryUsers],
        make: Callable[[int], EntryUsers],
        prior: Any,
        sizes: NDArray[np.int64],
        n_levels: int,
        kept: Kept,
    ) -> None:
        self.prior, self.sizes, self.kept, self.elsewhere = prior, sizes, kept, kind.sampled
        self._begin, self._make, self._summed = begin, make, kind.summed(n_levels)
        self._before: list[tuple[str, dict[str, Any]]] = []
        self._sweep = 1

    def begin(self, random: np.random.Generator, *start: Array) -> State:
        """Make all parts; return what is summed over users here."""
        firsts, generators = np.cumsum(self.sizes) - self.sizes, self._generators(random, self.prior.n_columns)
        self.parts = self._begin(partial(UsersPart, self._make, firsts, self.kept, generators, start))
        return {name: np.zeros(shape) for name, shape in self._summed.items()}

    def do(self, name: str, state: State, **given: Any) -> None:
        """Put it off."""
        if "random" in given:
            given["random"] = self._generators(given["random"])
        if "key" in given:
            self._keep_before(given["key"].sweep)
        self._before.append((name, {key: copy.copy(value) for key, value in given.items()}))

    def ask(
        self, name: str, state: State, shared: Sequence[str] = (), then: Then | None = None, **given: Any
    ) -> Answer:
        """Ask all parts; return the sum of their answers, or what `then` makes of it."""
        arrays = {name: state[name].copy() for name in shared}
        question, self._before = {"op": name, "before": self._before, "given": given, "shared": arrays}, []
        found = self.parts.total(question, then)
        for array in self._summed.keys() & found.keys():
            state[array][:] = found[array]
        return found

    def query(self, name: str, make: Callable[[], Mapping[str, Any]]) -> Answer:
        """Ask all parts what changes nothing; its arguments are made only if it is asked."""
        assert not self._before, "what is put off changes the parts"
        return self.parts.query(lambda: {"op": name, "before": [], "given": make()})

    def end(self, sweep: int) -> None:
        """Do what was put off, after the last sweep."""
        self._keep_before(sweep + 1)
        self.ask("end", {})

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
        question = {"op": "found", "before": [], "given": {"array": name, "samples": samples}}
        return (answer["found"] for answer in self.parts.each(question))

    def _keep_before(self, sweep: int) -> None:
        """Keep a sample of what is there after the last sweep, before this one begins, if it is one of those."""
        if sweep > self._sweep:
            if self.kept.after(self._sweep):
                self._before.append(("keep", {}))
            self._sweep = sweep

    def _generators(self, random: np.random.Generator, *shape: int) -> list[np.random.Generator]:
        """Return what draws normal numbers of this shape for each user, a generator for each shard."""
        return generators_of_shards(random, self.sizes, *shape)


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
