"""The chains of one fit: run side by side, ended together by an interrupt, saved and read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.interrupts import ends_all
from cofactor.kernels.threads import thread_limit
from cofactor.model.parallel import side_by_side
from cofactor.model.state import check_array, member
from cofactor.ratings.data import Ratings
from cofactor.samplers import Chain
from cofactor.solvers.result import Callback, Progress


class NothingKeptError(Exception):
    """The chains of a fit have ended before their first sample.

    Attributes
    ----------
    target : dict
        What their posterior depends on.
    chains : list of Chain
    stopped : bool
        Whether the callback ended them.
    """

    def __init__(self, target: dict[str, Any], chains: list[Chain], stopped: bool) -> None:
        super().__init__("no sample was kept")
        self.target, self.chains, self.stopped = target, chains, stopped

    @property
    def interrupted(self) -> bool:
        """Whether it was by an interrupt from the keyboard."""
        return any(chain.interrupted for chain in self.chains)


class _Interrupt:
    """Tells chains in other threads that they are to end, and waits for them. It does nothing in other processes."""

    def __init__(self) -> None:
        self.asked = False
        self._n_running, self._changed = 0, threading.Condition()

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()

    def __enter__(self) -> None:
        with self._changed:
            self._n_running += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._n_running -= 1
            self._changed.notify_all()

    def ask(self) -> None:
        """Have all chains end after their present sweep, and wait until they have."""
        self.asked = True
        with self._changed:
            self._changed.wait_for(lambda: not self._n_running)

    def listening(self, callback: Callback | None) -> Callback:
        """Return a callback which ends the chain that calls it, if it is to end."""

        def note(progress: Progress) -> object:
            answer = None if callback is None else callback(progress)
            if self.asked:
                raise KeyboardInterrupt
            return answer

        return note


def run_side_by_side(
    go_on: Callable[[Chain, Callback], Chain],
    chains: list[Chain],
    n_jobs: int | None,
    callback_of: Callable[[str], Callback | None],
) -> list[Chain]:
    """Run chains through joblib. An interrupt from the keyboard ends all of them, each after its present sweep.

    It is raised again where it ends everything (`cofactor.interrupts.ending_all`).

    Parameters
    ----------
    go_on : callable
        Runs a chain, given a callback for its sweeps.
    chains : list of Chain
        Those to go on with; changed in place.
    n_jobs : int or None
    callback_of : callable
        Returns the callback of a stage of this name.
    """
    interrupt = _Interrupt()

    def task(chain: Chain, threads: int) -> Chain:
        with interrupt:
            chain.interrupted = interrupt.asked
            if not interrupt.asked:
                with thread_limit(threads):
                    chain = go_on(chain, interrupt.listening(callback_of(f"chain {chain.number + 1}")))
            interrupt.asked |= chain.interrupted
        return chain

    try:
        return side_by_side(task, [(chain,) for chain in chains], len(chains), n_jobs)
    except KeyboardInterrupt:
        interrupt.ask()
        if ends_all():
            raise
        for chain in chains:
            chain.interrupted = True
        return chains


def chains_to_plain(chains: list[Chain]) -> list[dict[str, Any]]:
    """Return chains as dictionaries of numbers, lists and arrays; samples are saved elsewhere."""
    return [
        {
            "number": chain.number,
            "seed": chain.seed,
            "kept_sweeps": list(chain.kept_sweeps),
            "log_likelihood": [float(value) for value in chain.log_likelihood],
            "state": chain.state,
        }
        for chain in chains
    ]


def chains_from_plain(entries: list[Any], samples: dict[str, NDArray[Any]]) -> list[Chain]:
    """Rebuild chains from what `chains_to_plain` returned, and all their samples, one chain after the other."""
    chains = []
    for entry in entries:
        kept = member(entry, "kept_sweeps", list)
        values = [float(value) for value in member(entry, "log_likelihood", list)]
        if not all(type(sweep) is int for sweep in kept) or sorted({0, *kept, len(values) + 1})[1:-1] != kept:
            raise InvalidInputError(f"the kept sweeps of a chain must be some of the {len(values)}, in order")
        number, seed, state = member(entry, "number", int), member(entry, "seed", int), member(entry, "state", dict)
        chains.append(Chain(number, seed, state, {}, kept, values, [0.0] * len(values)))
    found, n = sum(chain.n_samples for chain in chains), len(next(iter(samples.values())))
    if found not in (0, n):
        raise InvalidInputError(f"chains have {found} samples, but the model has {n}")
    return with_samples(chains, samples)


def with_samples(chains: list[Chain], samples: dict[str, NDArray[Any]]) -> list[Chain]:
    """Return chains whose samples are views of those of all, one chain after the other."""
    ends = np.cumsum([0, *(chain.n_samples for chain in chains)])
    return [
        replace(chain, samples={name: array[first:last] for name, array in samples.items()})
        for chain, first, last in zip(chains, ends, ends[1:], strict=False)
    ]


def pooled(chains: list[Chain], sides: dict[str, str], ratings: Ratings) -> dict[str, NDArray[np.float32]]:
    """Return the samples of all chains that are in memory, one chain after the other.

    Of users and items without ratings nothing is known: they are as cold ones, the last.

    Parameters
    ----------
    chains : list of Chain
    sides : dict from str to str
        Quantities of users, and of items, of whom nothing but ratings is known.
    ratings : Ratings
    """
    kept = [chain for chain in chains if chain.n_samples]
    samples = dict(kept[0].samples)
    names = [name for name in sides if name in samples]
    for name in samples.keys() if len(kept) > 1 else names:  # a copy of what is changed below
        samples[name] = np.concatenate([chain.samples[name] for chain in kept])
    for name in names:
        counts = ratings.user_counts if sides[name] == "user" else ratings.item_counts
        unrated = np.flatnonzero(counts == 0)
        samples[name][:, unrated] = samples[name][:, -1:]
    return samples


def check_samples(samples: dict[str, NDArray[Any]], sides: dict[str, str], n_users: int, n_items: int) -> None:
    """Refuse samples that are not as many for every quantity, or not of these users and items."""
    sizes = {"user": n_users + 1, "item": n_items + 1}
    missing = sorted(set(sides) - set(samples))
    if missing:
        raise InvalidInputError(f"samples of {', '.join(missing)} are missing")
    if not all(isinstance(array, np.ndarray) and array.ndim for array in samples.values()):
        raise InvalidInputError("samples must be arrays")
    S = len(samples["U"])
    if not S:
        raise InvalidInputError("there are no samples")
    for name, array in samples.items():
        side = sides.get(name, "")
        shape = (S, sizes[side], *array.shape[2:]) if side else (S, *array.shape[1:])
        check_array(f"samples of {name}", array, shape, np.float32)


def kept_log_likelihood(chain: Chain) -> NDArray[np.float64]:
    """Return the log-likelihood in the sweeps that were kept."""
    return np.array([chain.log_likelihood[sweep - 1] for sweep in chain.kept_sweeps])


def identified(
    samples: dict[str, NDArray[np.float32]], sides: dict[str, str], n_factors: int
) -> dict[str, NDArray[np.float64]]:
    """Return quantities made of samples of factors and priors which stay the same when factors are turned or swapped.

    Rows of cold users and items, the last ones, are left out; parameters of priors are named after their side.

    Examples
    --------
    >>> U, V = np.ones((1, 4, 2), dtype="f4"), np.full((1, 6, 2), 3, dtype="f4")
    >>> precision = np.array([[2, 8]], dtype="f4")
    >>> found = identified({"U": U, "V": V, "user_precision": precision}, {"U": "user", "V": "item"}, 2)
    >>> {name: float(value[0]) for name, value in found.items()}
    {'interaction': 6.0, 'user_precision': 4.0}
    """
    found: dict[str, NDArray[np.float64]] = {}
    if {"U", "V"} <= set(samples) and n_factors:
        found["interaction"] = np.array(
            [
                np.sqrt((_gram(U[:-1, :n_factors]) * _gram(V[:-1, :n_factors])).sum() / ((len(U) - 1) * (len(V) - 1)))
                for U, V in zip(samples["U"], samples["V"], strict=True)
            ]
        )
    for name, array in sorted(samples.items()):
        if name == "thresholds" and sides.get(name):
            found[name] = array[:, :-1].mean(axis=1, dtype=np.float64)
        elif name.startswith(("user_", "item_")) and name.endswith("_precision"):
            found[name] = _geometric_mean(array.astype(np.float64))
        elif not sides.get(name) and not name.startswith(("user_", "item_")) and array.ndim <= 2:
            whole = array.astype(np.float64)
            found[name] = whole[:, 0] if whole.shape[1:] == (1,) else whole
    return found


def _gram(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the products of all columns, (d, d); not by BLAS, whose bits depend on threads."""
    return np.einsum("nk,nl->kl", rows.astype(np.float64), rows.astype(np.float64))


def _geometric_mean(precisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the geometric mean of precisions (S, d), or of the eigenvalues of precision matrices (S, d, d)."""
    if precisions.ndim == 3:
        return np.exp(np.linalg.slogdet(precisions)[1] / precisions.shape[1])
    return np.exp(np.log(precisions).mean(axis=tuple(range(1, precisions.ndim))))
