"""The kept samples of a model: some of them, those of some users, and predictions by them.

In memory a sample of all users is contiguous, and kernels are compiled for that. In a folder of shards the samples of a
user are: a prediction reads one or two pages for them, and not one for each sample. So the samples of the users that a
block of predictions is about are copied, some at a time, and kernels see what they see in memory, with the same bits.
The copy stays in a cache of the core.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.gibbs import samples_of
from cofactor.ratings.scoring import Criterion, Expectation, ProbabilityScorer, of_all_pairs
from cofactor.ratings.shard_folder import copy_samples

#: Arrays of all samples, which are along the first axis; and those of one.
Samples = Mapping[str, NDArray[np.float32]]
Sample = dict[str, NDArray[np.float32]]

#: Samples with which a recommendation looks at all items, and at those that are the best by these; evenly spaced.
N_COARSE, N_RESCORED = 8, 50

#: Bytes of samples that are copied at a time.
_CHUNK = 1 << 20


def evenly_spaced(n_samples: int, n: int) -> NDArray[np.int64]:
    """Return the numbers of n samples, or of all if there are not so many, evenly spaced.

    Examples
    --------
    >>> evenly_spaced(9, 3), evenly_spaced(2, 3)
    (array([0, 4, 8]), array([0, 1]))
    """
    return np.unique(np.linspace(0, n_samples - 1, min(n, n_samples)).round().astype(np.int64))


class SampleSubset:
    """n samples, evenly spaced, or all if there are not so many; copies of them are made once, when they are asked for.

    Parameters
    ----------
    whole : dict of str to ndarray
        Samples along the first axis.
    n : int

    Attributes
    ----------
    whole : dict of str to ndarray
    where : ndarray of int
        The numbers of the chosen samples.

    Examples
    --------
    >>> subset = SampleSubset({"U": np.arange(5.0)}, 3)
    >>> subset["U"].tolist(), [float(sample["U"]) for sample in subset]
    ([0.0, 2.0, 4.0], [0.0, 2.0, 4.0])
    """

    def __init__(self, whole: dict[str, NDArray[np.float32]], n: int) -> None:
        self.whole, self.where = whole, evenly_spaced(len(whole["U"]), n)
        self._n, self._chosen = n, dict[str, NDArray[np.float32]]()

    def __len__(self) -> int:
        return len(self.where)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        """Return the chosen samples of an array, along the first axis, each of them contiguous."""
        whole = self.whole[name]
        if len(self) == len(whole) and whole.flags.c_contiguous:
            return whole
        if name not in self._chosen:
            self._chosen[name] = copy_samples(whole, self.where) if whole.ndim > 2 else whole[self.where]
        return self._chosen[name]

    def __iter__(self) -> Iterator[Sample]:
        """Return one sample after the other."""
        return ({name: array[s] for name, array in self.whole.items()} for s in self.where)

    def is_of(self, whole: dict[str, NDArray[np.float32]], n: int) -> bool:
        """Return whether these are n samples of such samples."""
        return self.whole is whole and self._n == n


# -------------------------------------------------------------------- samples of some users


def is_user_major(samples: Samples) -> bool:
    """Return whether the samples of a user lie together, and not those of all users."""
    return not samples["U"].flags.c_contiguous


def of_users(samples: Samples, names: Collection[str], users: NDArray[Any]) -> dict[str, NDArray[np.float32]]:
    """Return samples whose arrays with these names have some users alone, in this order.

    Examples
    --------
    >>> mapped = np.arange(24, dtype="f4").reshape(4, 3, 2)  # four users, three samples
    >>> found = of_users({"U": mapped.swapaxes(0, 1)}, ["U"], np.array([2, 0]))["U"]
    >>> found[0].tolist(), found.flags.c_contiguous
    ([[12.0, 13.0], [0.0, 1.0]], True)
    """
    return {**samples, **{name: _of_users(samples[name].swapaxes(0, 1), users) for name in names}}


def _of_users(table: NDArray[np.float32], users: NDArray[Any]) -> NDArray[np.float32]:
    """Return the samples of some users, (S, len(users), ...), of a table that has those of all user by user."""
    out = np.empty((table.shape[1], len(users), table.shape[2]), table.dtype)
    samples_of(table, users, out)
    return out


def in_groups(
    function: Callable[[Samples, NDArray[Any], NDArray[Any]], NDArray[Any]],
    samples: Samples,
    names: Collection[str],
    users: NDArray[Any],
    items: NDArray[Any],
) -> NDArray[Any]:
    """Return a function of pairs of users and items, by copies of the samples of some users after others.

    Parameters
    ----------
    function : callable
        Called with samples, users by their place in these, and items; returns a row for each pair.
    samples : mapping from str to ndarray
    names : collection of str
        Arrays of users, which lie user by user.
    users, items : ndarray of shape (n,)
    """
    order = np.argsort(users, kind="stable")
    some, first = np.unique(users[order], return_index=True)
    ends = np.append(first, len(users))
    size = max(1, _CHUNK // sum(samples[name][:, 0].nbytes for name in names))
    out = None
    for lo in range(0, max(len(some), 1), size):
        hi = min(lo + size, len(some))
        pairs = order[ends[lo] : ends[hi]]
        places = np.repeat(np.arange(hi - lo, dtype=users.dtype), np.diff(ends[lo : hi + 1]))
        found = function(of_users(samples, names, some[lo:hi]), places, items[pairs])
        if out is None:
            out = np.empty((len(users), *found.shape[1:]), found.dtype)
        out[pairs] = found
    assert out is not None
    return out


# -------------------------------------------------------------------- predictions


class Draws(ABC):
    """What predictions need of the samples of a model."""

    @abstractmethod
    def probabilities(
        self, users: NDArray[Any], items: NDArray[Any], samples: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the probability of every level for each pair, (n, R), by samples with these numbers."""

    def coarse_scores(
        self, users: Any, items: NDArray[Any], criterion: Criterion, samples: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return how good some items are for some users, or `TimedUsers`, by samples with these numbers.

        Items are those of all users, shape (m,), or of each, shape (len(users), m); the result is (len(users), m).
        """
        return of_all_pairs(lambda u, i: criterion(self.probabilities(u, i, samples)), users, items)


@dataclass(frozen=True, eq=False)
class SampledScorer(ProbabilityScorer):
    """Means over the samples of a model, which may lie sample by sample or user by user.

    Attributes
    ----------
    samples : mapping of str to ndarray
    of_users : list of str
        Those with a row for each user.
    draws : callable
        Returns what predictions need of samples.
    """

    samples: Samples
    of_users: list[str]
    draws: Callable[[Samples], Any]

    @property
    def rough(self) -> bool:
        """See `ProbabilityScorer`: blocks go by some of the samples."""
        return True

    def probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        chosen = np.arange(len(self.samples["U"]))
        return self.by_users(lambda draws, *pairs: draws.probabilities(*pairs, chosen), users, items)

    def criterion_block(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        return self._by_some(users, items, criterion, N_COARSE)

    def rescore(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion | None) -> NDArray[Any]:
        """See `ProbabilityScorer`."""
        return self._by_some(users, items, criterion or Expectation(self.scale), N_RESCORED)

    def _by_some(self, users: Any, items: NDArray[Any], criterion: Criterion, n_samples: int) -> NDArray[Any]:
        samples = self.samples
        if is_user_major(samples):
            samples, users = of_users(samples, self.of_users, users), np.arange(len(users), dtype=np.int32)
        some = evenly_spaced(len(samples["U"]), n_samples)
        return np.asarray(self.draws(samples).coarse_scores(users, items, criterion, some))

    def by_users(self, function: Callable[..., NDArray[Any]], users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return a function of `draws` and pairs."""
        if not is_user_major(self.samples):
            return function(self.draws(self.samples), users, items)

        def of_samples(samples: Samples, *pairs: NDArray[Any]) -> NDArray[Any]:
            return function(self.draws(samples), *pairs)

        return in_groups(of_samples, self.samples, self.of_users, users, items)
