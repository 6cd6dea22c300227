"""Markov chains: sweeps made of named steps over a state of named arrays."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.interrupts import propagates_interrupt
from cofactor.kernels.random import advance, fold, generator
from cofactor.solvers.result import Callback, Progress, asks_to_stop

State = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Key:
    """What random numbers of one step of one sweep depend on, and on nothing else.

    Attributes
    ----------
    seed, chain, sweep, step : int
        Seed of the fit, number of the chain, and of sweep and step within it.
    first : int, default=0
        Number of the first row among all, where a task has some of them.
    """

    seed: int
    chain: int
    sweep: int
    step: int
    first: int = 0

    def rows(self) -> np.uint64:
        """Return the key for kernels, which make a stream for each row of it."""
        return advance(fold(self.seed, self.chain, self.sweep, self.step), self.first)

    def generator(self) -> np.random.Generator:
        """Return a generator for draws that belong to no row."""
        return generator(self.seed, self.chain, self.sweep, self.step, -1)


Step = Callable[[State, Key], None]


class Posterior(Protocol):
    """A distribution over a state that can be drawn from step by step.

    Attributes
    ----------
    steps : mapping from str to callable
        Each changes part of the state in place, given the rest, with random numbers from its key. A sweep does all of
        them in this order.
    kept : tuple of str
        Names of the arrays of the state that make up a sample.
    """

    @property
    def steps(self) -> Mapping[str, Step]:
        """The steps of a sweep, by name."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the arrays of a sample."""

    def start(self, key: Key) -> State:
        """Return a state to begin with. It is quick: a chain that goes on compares shapes with it."""

    def initialize(self, state: State) -> None:
        """Bring the state of a start to where sweeps may begin, in place; done once, for a new chain."""

    def log_likelihood(self, state: State) -> float:
        """Return the log-likelihood of the data in the last sweep."""

    def tune(self, state: State, sweep: int) -> None:
        """Adapt what is not drawn, such as sizes of proposals; done after every sweep of burn-in only."""


class DivergedError(FloatingPointError):
    """A chain reached numbers that are not finite.

    Attributes
    ----------
    chain, sweep : int
        Where it happened.
    state : dict of str to ndarray
        The state after that sweep.
    """

    def __init__(self, chain: int, sweep: int, state: State) -> None:
        bad = sorted(name for name, array in state.items() if not np.isfinite(array).all())
        names = ", ".join(bad) or "the log-likelihood"
        super().__init__(
            f"chain {chain + 1} diverged at sweep {sweep}: {names} {'are' if len(bad) > 1 else 'is'} not finite; "
            "the error's `state` has all arrays. Look for extreme values in what the model was given, or take fewer "
            "factors"
        )
        self.chain, self.sweep, self.state = chain, sweep, state

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.chain, self.sweep, self.state)


@dataclass
class Chain:
    """One chain: its state, and the samples that were kept.

    Attributes
    ----------
    number : int
    seed : int
    state : dict of str to ndarray
        The current state, from which `run` goes on.
    samples : dict of str to ndarray
        Kept arrays in float32, samples along the first axis.
    kept_sweeps : list of int
        The sweep that each sample is the end of; the first sweep of a chain is number 1.
    log_likelihood : list of float
        After every sweep, those of burn-in too.
    seconds : list of float
        Time of every sweep, from the beginning.
    interrupted : bool
        Whether the last run was ended by an interrupt from the keyboard.
    """

    number: int
    seed: int
    state: State = field(default_factory=dict)
    samples: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    kept_sweeps: list[int] = field(default_factory=list)
    log_likelihood: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    interrupted: bool = False

    @property
    def n_sweeps(self) -> int:
        """Number of sweeps done."""
        return len(self.log_likelihood)

    @property
    def n_samples(self) -> int:
        """Number of samples kept."""
        return len(self.kept_sweeps)

    def thinned(self, burn_in: int, thin: int) -> Chain:
        """Return a chain which can go on without changing this one, with those samples that `run` would keep now."""
        keeps = [is_kept(sweep, burn_in, thin) for sweep in self.kept_sweeps]
        return replace(
            self,
            samples={name: array if all(keeps) else array[keeps] for name, array in self.samples.items()},
            kept_sweeps=[sweep for sweep, keep in zip(self.kept_sweeps, keeps, strict=True) if keep],
            log_likelihood=list(self.log_likelihood),
            seconds=list(self.seconds),
        )


def run(
    posterior: Posterior,
    chain: Chain,
    n_sweeps: int,
    *,
    burn_in: int = 0,
    thin: int = 1,
    max_seconds: float | None = None,
    callback: Callback | None = None,
) -> Chain:
    """Go on with a chain, and keep every `thin`-th state after burn-in.

    A chain that goes on is the same, to the bit, as one that was longer from the beginning. This holds after an
    interrupt too: a sweep that did not end is no part of the chain.

    Parameters
    ----------
    posterior : Posterior
    chain : Chain
        Changed in place, but for the arrays of its state. One without a state is started.
    n_sweeps : int
        Number of sweeps to do now.
    burn_in : int, default=0
        Sweeps of which nothing is kept, counted from the beginning of the chain.
    thin : int, default=1
        Distance between two kept sweeps.
    max_seconds : float, optional
        Stop after the first sweep that ends later than this; whatever has been kept stays.
    callback : callable, optional
        Called with a `Progress` after every sweep; its objective is minus the log-likelihood. If it returns True, that
        sweep is the last one.

    Returns
    -------
    Chain
        The same one. An interrupt from the keyboard ends the run and is not raised: `interrupted` says so. Within
        `cofactor.interrupts.propagate_interrupt` it is raised.

    Raises
    ------
    DivergedError
        If a state is not finite after a sweep.
    InvalidInputError
        If the chain has a state of another posterior: its arrays are not those that this one starts with.
    """
    began = time.perf_counter()
    earlier = chain.seconds[-1] if chain.seconds else 0.0
    chain.interrupted = False
    first = posterior.start(Key(chain.seed, chain.number, 0, 0))
    if chain.state:
        _check_state(chain.state, first)
    else:
        posterior.initialize(first)
        chain.state = first
    before, sweep = chain.state, chain.n_sweeps
    sweeps = range(sweep + 1, sweep + n_sweeps + 1)
    kept = _Kept(posterior.kept, chain, _n_kept(chain.n_sweeps, n_sweeps, burn_in, thin))
    try:
        for sweep in sweeps:
            before = chain.state
            state = {name: array.copy() for name, array in before.items()}
            for number, step in enumerate(posterior.steps.values(), 1):
                step(state, Key(chain.seed, chain.number, sweep, number))
            value = posterior.log_likelihood(state)
            if not math.isfinite(value) or not all(np.isfinite(state[name]).all() for name in posterior.kept):
                raise DivergedError(chain.number, sweep, state)
            if sweep <= burn_in:
                posterior.tune(state, sweep)
            elif is_kept(sweep, burn_in, thin):
                kept.add(sweep, state)
            elapsed = time.perf_counter() - began
            chain.state = state
            chain.seconds.append(earlier + elapsed)
            chain.log_likelihood.append(value)  # last: from here on the sweep counts as done
            if callback is not None and asks_to_stop(callback(Progress(sweep, sweeps[-1], -value, elapsed))):
                break
            if max_seconds is not None and elapsed > max_seconds:
                break
    except KeyboardInterrupt:
        chain.interrupted = True
        if propagates_interrupt():
            raise
    finally:
        if chain.n_sweeps < sweep:
            chain.state = before
        del chain.seconds[chain.n_sweeps :]
        kept.end()
    return chain


def _check_state(state: State, first: State) -> None:
    """Refuse a state to go on from unless its arrays are as those of a start: kernels do not check indices."""
    odd = sorted(state.keys() ^ first.keys())
    if not odd:
        odd = [name for name, one in first.items() if (state[name].shape, state[name].dtype) != (one.shape, one.dtype)]
    if odd:
        raise InvalidInputError(
            f"the chains of the last fit drew from another posterior: {', '.join(odd)} would have another shape",
            advice="give what that fit had, or fit a new model",
        )


def is_kept(sweep: int, burn_in: int, thin: int) -> bool:
    """Return whether a sample is kept after a sweep.

    Examples
    --------
    >>> [sweep for sweep in range(1, 10) if is_kept(sweep, 3, 2)]
    [5, 7, 9]
    """
    return sweep > burn_in and (sweep - burn_in) % thin == 0


def _n_kept(done: int, n_sweeps: int, burn_in: int, thin: int) -> int:
    """Return how many of the next sweeps are kept."""
    return max(done + n_sweeps - burn_in, 0) // thin - max(done - burn_in, 0) // thin


class _Kept:
    """Samples of one chain, in arrays with room for those to come."""

    def __init__(self, names: tuple[str, ...], chain: Chain, n_more: int) -> None:
        n = chain.n_samples
        self._chain = chain
        self._arrays = {name: np.empty((n + n_more, *chain.state[name].shape), dtype=np.float32) for name in names}
        for name, array in chain.samples.items():
            self._arrays[name][:n] = array

    def add(self, sweep: int, state: State) -> None:
        for name, array in self._arrays.items():
            array[self._chain.n_samples] = state[name]
        self._chain.kept_sweeps.append(sweep)

    def end(self) -> None:
        """Give the chain its samples: those of sweeps which it has done."""
        done = self._chain.n_sweeps
        self._chain.kept_sweeps = [sweep for sweep in self._chain.kept_sweeps if sweep <= done]
        self._chain.samples = {name: array[: self._chain.n_samples] for name, array in self._arrays.items()}
