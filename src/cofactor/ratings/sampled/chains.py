"""The chains of one fit: begun or gone on with, run side by side, ended together by an interrupt, saved and read."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError
from cofactor.interrupts import propagates_interrupt
from cofactor.kernels.threads import thread_limit
from cofactor.model.parallel import run_parallel
from cofactor.model.state import check_array, member
from cofactor.ratings.data import Ratings
from cofactor.ratings.shard_folder import UserArray
from cofactor.ratings.sharded import ShardedRatings
from cofactor.samplers import Chain, Kept, SampleFile
from cofactor.solvers.result import Callback, Progress

#: Bytes of samples that are read at a time to be joined.
_CHUNK = 1 << 24


@dataclass(frozen=True)
class FitChains:
    """The chains of a fit.

    Attributes
    ----------
    target : mapping
        What their posterior depends on.
    chains : list of Chain
    """

    target: Mapping[str, Any]
    chains: list[Chain]


def continue_chains(fits: list[FitChains], target: Mapping[str, Any], burn_in: int, thin: int) -> list[Chain]:
    """Return copies of the latest chains that drew from the same posterior; there must be some.

    Parameters
    ----------
    fits : list of FitChains
        The latest first.
    target : mapping
        What the posterior of this fit depends on.
    burn_in, thin : int
        Which of the earlier samples are kept.
    """
    for fit in fits:
        if fit.target == target:
            _require_states(fit.chains)
            return [chain.thinned(burn_in, thin) for chain in fit.chains]
    earlier = fits[0].target
    changed = sorted(name for name in target.keys() | earlier.keys() if earlier.get(name) != target.get(name))
    raise InvalidInputError(
        (
            Argument("warm_start", True),
            f" goes on with the chains of the last fit, but since then {', '.join(changed)} changed",
        ),
        argument="warm_start",
        advice="give what that fit had, or fit a new model",
    )


def _require_states(chains: list[Chain]) -> None:
    """Refuse chains whose last state was not kept: they would begin anew."""
    if any(chain.n_sweeps and not chain.state for chain in chains):
        raise InvalidInputError(
            (
                Argument("warm_start", True),
                " goes on from the last state of chains, which is not kept where users stay in a folder of shards",
            ),
            argument="warm_start",
            advice="fit a new model, with users='memory' where they fit",
        )


def checksum(ratings: Ratings | ShardedRatings) -> int:
    """Return a number that is the same for the same ratings, whatever the ids are, and in shards or not."""
    check = zlib.crc32(ratings.scale.tobytes())
    parts = [ratings] if isinstance(ratings, Ratings) else ratings
    indptr = np.concatenate([[0], np.cumsum(ratings.user_counts)]).astype(np.int64)
    check = zlib.crc32(indptr.tobytes(), check)
    for name in ("indices", "levels", "weights"):
        for part in parts:
            array = getattr(part, name)
            check = check if array is None else zlib.crc32(np.ascontiguousarray(array).data, check)
    return check


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


def run_chains(
    go_on: Callable[[Chain, Callback], Chain],
    chains: list[Chain],
    n_jobs: int | None,
    callback_of: Callable[[str], Callback | None],
) -> list[Chain]:
    """Run chains through joblib. An interrupt from the keyboard ends all of them, each after its present sweep.

    It is raised again where it ends everything (`cofactor.interrupts.propagate_interrupt`).

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
        return run_parallel(task, [(chain,) for chain in chains], len(chains), n_jobs)
    except KeyboardInterrupt:
        interrupt.ask()
        if propagates_interrupt():
            raise
        for chain in chains:
            chain.interrupted = True
        return chains


class SavedChain:
    """How a file holds a chain: numbers, lists and its state; its samples are among those of all chains."""

    @staticmethod
    def to_state(chain: Chain) -> dict[str, Any]:
        """Return a chain as a dictionary of numbers, lists and arrays."""
        return {
            "number": chain.number,
            "seed": chain.seed,
            "kept_sweeps": list(chain.kept_sweeps),
            "log_likelihood": [float(value) for value in chain.log_likelihood],
            "state": chain.state,
        }

    @staticmethod
    def from_state(state: Any) -> Chain:
        """Rebuild a chain, without its samples: `restore_samples` has to follow."""
        kept = member(state, "kept_sweeps", list)
        values = [float(value) for value in member(state, "log_likelihood", list)]
        if not all(type(sweep) is int for sweep in kept) or sorted({0, *kept, len(values) + 1})[1:-1] != kept:
            raise InvalidInputError(f"the kept sweeps of a chain must be some of the {len(values)}, in order")
        number, seed, arrays = member(state, "number", int), member(state, "seed", int), member(state, "state", dict)
        return Chain(number, seed, arrays, {}, kept, values, [0.0] * len(values))


def restore_samples(chains: Sequence[Chain], samples: dict[str, NDArray[Any]]) -> list[Chain]:
    """Return chains read from a file with their samples, of which there must be as many as they have, or no chain."""
    found, n = sum(chain.n_samples for chain in chains), len(next(iter(samples.values())))
    if found not in (0, n):
        raise InvalidInputError(f"chains have {found} samples, but the model has {n}")
    return with_samples(list(chains), samples)


def with_samples(chains: list[Chain], samples: dict[str, NDArray[Any]]) -> list[Chain]:
    """Return chains whose samples are views of those of all, one chain after the other."""
    ends = np.cumsum([0, *(chain.n_samples for chain in chains)])
    return [
        replace(chain, samples={name: array[first:last] for name, array in samples.items()})
        for chain, first, last in zip(chains, ends, ends[1:], strict=False)
    ]


def pool_samples(chains: list[Chain], sides: Mapping[str, str], ratings: Ratings) -> dict[str, NDArray[np.float32]]:
    """Return the samples of all chains that are in memory, one chain after the other.

    Of users and items without ratings nothing is known: they are as cold ones, the last.

    Parameters
    ----------
    chains : list of Chain
    sides : mapping from str to str
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


def rows_of_users(
    chains: list[Chain], kept: list[Kept], names: list[str], n_shards: int, user_counts: NDArray[np.int64]
) -> dict[str, UserArray]:
    """Return the samples of users that all chains left in files, to be joined user by user.

    Parameters
    ----------
    chains : list of Chain
    kept : list of Kept
        Where each of them left its samples.
    names : list of str
        Arrays of users.
    n_shards : int
    user_counts : ndarray of shape (n_users,)
        Numbers of their ratings; the cold user follows the last of them.
    """
    found = [(chain.n_samples, one) for chain, one in zip(chains, kept, strict=True) if chain.n_samples]
    n_samples, rows = sum(n for n, _ in found), {}
    for name in names:
        *_, last = files = [[(n, SampleFile.open(one.file(k, name))) for n, one in found] for k in range(n_shards)]
        shape = (len(user_counts) + 1, n_samples, *last[0][1].shape[1:])
        rows[name] = UserArray(np.dtype(np.float32), shape, _by_user(files, user_counts), axis=1)
    return rows


def _by_user(files: list[list[tuple[int, SampleFile]]], counts: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
    """Yield the samples of some users after others, user by user; those without ratings get what the cold one has.

    Parameters
    ----------
    files : list of list of tuple
        Of each shard: how many samples each chain has, and where.
    counts : ndarray of shape (n_users,)
        Numbers of ratings.
    """

    def read(shard: list[tuple[int, SampleFile]], lo: int, hi: int) -> NDArray[np.float32]:
        return np.ascontiguousarray(np.concatenate([file.read(n, lo, hi) for n, file in shard]).swapaxes(0, 1))

    last, first = files[-1], 0
    [cold] = read(last, last[0][1].shape[0] - 1, last[0][1].shape[0])
    for shard in files:
        n = shard[0][1].shape[0]
        size = max(1, _CHUNK // max(cold.nbytes, 1))
        for lo in range(0, n, size):
            rows = read(shard, lo, min(lo + size, n))
            unrated = np.flatnonzero(counts[first + lo : first + lo + len(rows)] == 0)
            rows[unrated] = cold
            yield rows
        first += n


def in_chunks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Return some rows after others."""
    size = max(1, _CHUNK // max(array[:1].nbytes, 1))
    return (array[lo : lo + size] for lo in range(0, len(array), size))


def check_samples(samples: dict[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse samples that are not as many for every array, or whose arrays have other names, or shapes in a sample."""
    _check_names("samples", samples, shapes)
    S = len(samples["U"])
    if not S:
        raise InvalidInputError("there are no samples")
    for name, shape in shapes.items():
        check_array(f"samples of {name}", samples[name], (S, *shape), np.float32)


def check_state(chain: Chain, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a state whose arrays are not those that the next sweep of a warm start will use.

    Parameters
    ----------
    chain : Chain
        Where there is no state, a warm start is refused.
    shapes : mapping from str to tuple of int
        Of arrays that the state has besides those of a sample.
    """
    if not chain.state:
        return
    shapes = {name: array.shape[1:] for name, array in chain.samples.items()} | dict(shapes)
    _check_names("the state of a chain", chain.state, shapes)
    for name, shape in shapes.items():
        check_array(f"{name} in the state of a chain", chain.state[name], shape, np.float64)


def _check_names(what: str, arrays: Mapping[str, Any], needed: Mapping[str, Any]) -> None:
    if arrays.keys() != needed.keys():
        odd = sorted(arrays.keys() ^ needed.keys())
        raise InvalidInputError(f"{what} must have no more and no less than it needs: {odd}")


def log_likelihoods(chains: list[Chain]) -> NDArray[np.float64]:
    """Return (n_chains, n_draws): the log-likelihood in sweeps that were kept, as many of each chain."""
    n = min(chain.n_samples for chain in chains)
    return np.array([[chain.log_likelihood[sweep - 1] for sweep in chain.kept_sweeps[:n]] for chain in chains])


def identified_of_chains(
    chains: list[Chain], sides: Mapping[str, str], n_factors: int
) -> dict[str, NDArray[np.float64]]:
    """Return quantities that mean the same in all chains, as `identified`, of as many samples of each."""
    n = min(chain.n_samples for chain in chains)
    each = [
        identified({name: array[:n] for name, array in chain.samples.items()}, sides, n_factors) for chain in chains
    ]
    return {name: np.stack([quantities[name] for quantities in each]) for name in each[0]}


def identified(
    samples: dict[str, NDArray[np.float32]], sides: Mapping[str, str], n_factors: int
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
