"""What all models drawn from a posterior share: chains, samples, continuing a fit, saving."""

from __future__ import annotations

import copy
import warnings
import zlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import InvalidInputError
from cofactor.kernels.random import fold
from cofactor.kernels.threads import cut_rows, parallel_for
from cofactor.model.checks import check_flag, check_jobs, check_number, make_generator
from cofactor.model.parallel import n_side_by_side
from cofactor.model.progress import Monitor
from cofactor.model.state import check_array, member, plain
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.probability import ProbabilityModel
from cofactor.ratings.sampled.chains import (
    NothingKeptError,
    chains_from_state,
    chains_to_state,
    identified,
    kept_log_likelihood,
    run_side_by_side,
)
from cofactor.samplers import Chain, Diagnostics, Posterior, diagnose, run, to_inference_data
from cofactor.solvers.result import Callback
from cofactor.text import counted

#: Samples that a fold-in goes through, evenly spaced among those kept: each costs a chain of its own.
_FOLD_IN_SAMPLES = 20

#: Cycles of a new user's, or item's, own chain for each sample.
FOLD_IN_CYCLES = 20

#: Ratings of new users, or items, in one task of a thread.
_ENTRIES = 512

_NO_CHAINS = (
    "this model has samples, but not the chains they come from: fold_in, and save with n_samples, leave chains out"
)

#: Parameters that the posterior does not depend on.
_NOT_OF_TARGET = {
    "n_sweeps", "burn_in", "thin", "max_seconds", "warm_start", "n_jobs", "decision", "levels", "duplicates", "unknown",
    "random_state", "callback", "verbose",
}  # fmt: skip


class SampledModel(ProbabilityModel):
    """A rating model whose predictions are averages over draws from its posterior.

    Subclasses give the posterior, and what to predict from one block of pairs and the samples.

    Attributes
    ----------
    samples_ : dict of str to ndarray
        Kept draws of each quantity, float32, samples (of all chains) along the first axis. Users and items have one row
        more than there are ids: the last is a draw for somebody, or something, nobody knows.
    chains_ : list of Chain
        With the log-likelihood of every sweep, and which of them were kept; `fit` goes on from there with
        ``warm_start=True``. Empty after `fold_in`.
    n_iter_ : int
        Number of sweeps done by each chain, burn-in included.
    seed_ : int
        What all draws depend on, those of fold-in too.
    target_ : dict
        Parameters of the posterior and a checksum of the ratings: a warm start refuses others.
    """

    n_sweeps: int
    burn_in: int
    thin: int
    n_chains: int
    max_seconds: float | None
    warm_start: bool
    n_jobs: int | None
    random_state: Any

    samples_: dict[str, NDArray[np.float32]]
    chains_: list[Chain]
    n_iter_: int
    seed_: int
    target_: dict[str, Any]

    _learned: ClassVar[tuple[str, ...]] = ("n_iter_", "seed_", "target_")

    #: Quantities in `samples_` and the sides, "user" or "item", that their second axis runs over ("" for none).
    _sampled: ClassVar[dict[str, str]] = {"U": "user", "V": "item"}

    #: Sides, "user" or "item", of which something is known besides ratings.
    _described: tuple[str, ...] = ()

    #: Target and chains of a fit that ended before its first sample.
    _unfinished: tuple[dict[str, Any], list[Chain]] | None = None

    @abstractmethod
    def _prepare(self, ratings: Ratings) -> None:
        """Set what all chains share, before they start."""

    @abstractmethod
    def _posterior(self, ratings: Ratings) -> Posterior:
        """Return the posterior; each chain asks for its own."""

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("n_sweeps", "thin", "n_chains"):
            check_number(name, getattr(self, name), low=1, whole=True)
        check_number("burn_in", self.burn_in, low=0, whole=True)
        if self.max_seconds is not None:
            check_number("max_seconds", self.max_seconds, low=0, inclusive=False)
        check_flag("warm_start", self.warm_start)
        check_jobs(self.n_jobs)
        if self.n_sweeps - self.burn_in < self.thin and not self.warm_start:
            raise InvalidInputError(
                f"n_sweeps={self.n_sweeps} with burn_in={self.burn_in} and thin={self.thin} would keep no sample: "
                "n_sweeps must be at least burn_in + thin"
            )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ratings.

        An interrupt from the keyboard ends the fit: with the samples kept so far, and a warning that says how many. If
        there are none yet, it is raised, and the model stays as it was. In both cases the next ``fit`` with
        ``warm_start=True`` goes on from there, as it does after too short a time `max_seconds`.

        A warm start does `n_sweeps` more sweeps; chains that were ended before others catch up with them. Of earlier
        samples those are dropped that `burn_in` and `thin`, as they are now, would not keep. `random_state` does not
        matter any more.

        Parameters
        ----------
        X, y
            As in `RatingModel.fit`.

        Returns
        -------
        self
        """
        try:
            super().fit(X, y)
        except NothingKeptError as end:
            self._unfinished = (end.target, end.chains)
            n = min(chain.n_sweeps for chain in end.chains)
            if end.interrupted:
                raise KeyboardInterrupt(
                    f"interrupted after {n} sweeps, none of which is kept yet: warm_start=True goes on from here"
                ) from None
            raise InvalidInputError(
                f"no sample was kept in {counted(n, 'sweep')}, with burn_in={self.burn_in}: allow more time, or more "
                "sweeps; warm_start=True goes on from here"
            ) from None
        self._unfinished = None
        return self

    def _fit_ratings(self, ratings: Ratings, monitor: Monitor) -> None:
        self._prepare(ratings)
        before = self._chains_to_go_on_with(ratings)

        n_sweeps = self.n_sweeps + max(chain.n_sweeps for chain in before)
        n_turns = -(-len(before) // n_side_by_side(len(before), self.n_jobs))

        def go_on(chain: Chain, callback: Callback) -> Chain:
            return run(
                self._posterior(ratings),
                chain,
                n_sweeps - chain.n_sweeps,
                burn_in=self.burn_in,
                thin=self.thin,
                max_seconds=None if self.max_seconds is None else self.max_seconds / n_turns,
                callback=callback,
            )

        self.chains_ = run_side_by_side(go_on, before, self.n_jobs, monitor.stage)
        self.n_iter_ = min(chain.n_sweeps for chain in self.chains_)
        kept = [chain for chain in self.chains_ if chain.n_samples]
        if not kept:
            raise NothingKeptError(self.target_, self.chains_)
        if any(chain.interrupted for chain in self.chains_):
            n_kept = sum(chain.n_samples for chain in kept)
            warnings.warn(
                f"interrupted after {self._n_done()} sweeps: the {n_kept} samples kept so far are used; "
                "warm_start=True goes on from here",
                ConvergenceWarning,
                stacklevel=5,
            )
        self.samples_ = {name: np.concatenate([chain.samples[name] for chain in kept]) for name in kept[0].samples}
        self.seed_ = self.chains_[0].seed
        for name, side in self._sampled.items():  # of somebody without ratings nothing is known either, as a rule
            if side in self._described:
                continue
            counts = ratings.user_counts if side == "user" else ratings.item_counts
            lonely = np.flatnonzero(counts == 0)
            self.samples_[name][:, lonely] = self.samples_[name][:, -1:]

    def _n_done(self) -> str:
        """Return how many sweeps the chains have done, in words."""
        done = [chain.n_sweeps for chain in self.chains_]
        return str(done[0]) if len(set(done)) == 1 else f"{min(done)} to {max(done)}"

    def _chains_to_go_on_with(self, ratings: Ratings) -> list[Chain]:
        """Return copies of the chains of the last fit, or new ones."""
        last = [(getattr(self, "target_", {}), getattr(self, "chains_", []))]
        if self._unfinished is not None:
            last.insert(0, self._unfinished)
        self.target_ = self._target(ratings)
        if self.warm_start and last[0][1]:
            for target, chains in last:
                if target == self.target_:
                    return [chain.thinned(self.burn_in, self.thin) for chain in chains]
            before = last[0][0]
            names = self.target_.keys() | before.keys()
            changed = sorted(name for name in names if before.get(name) != self.target_.get(name))
            raise InvalidInputError(
                f"warm_start=True goes on with the chains of the last fit, but since then {', '.join(changed)} "
                "changed: give what that fit had, or fit a new model"
            )
        if self.warm_start and hasattr(self, "samples_"):
            raise InvalidInputError(
                f"warm_start=True goes on with chains, but {_NO_CHAINS}; go on with the model as it was fitted"
            )
        seed = int(make_generator(self.random_state).integers(2**63))
        return [Chain(number, seed) for number in range(self.n_chains)]

    def _target(self, ratings: Ratings) -> dict[str, Any]:
        """Return what a posterior depends on: parameters, and a checksum of the ratings."""
        target: dict[str, Any] = {
            k: plain(v) for k, v in self.get_params(deep=False).items() if k not in _NOT_OF_TARGET
        }
        return target | {"the ratings": checksum(ratings)}

    def _spaced_samples(self, n: int) -> dict[str, NDArray[np.float32]]:
        """Return n of the samples, or all if there are not so many, evenly spaced."""
        S = len(self.samples_["U"])
        where = np.unique(np.linspace(0, S - 1, min(n, S)).round().astype(int))
        return {name: array[where] for name, array in self.samples_.items()}

    def _fold_in_rows(
        self,
        kernel: Callable[..., object],
        indptr: NDArray[np.int64],
        given: Callable[[dict[str, NDArray[np.float32]]], tuple[Any, ...]],
        widths: Mapping[str, int],
        *,
        n_samples: int = _FOLD_IN_SAMPLES,
        part: int = -1,
    ) -> None:
        """Draw what belongs to new users, or items, under each of some samples; the model has these samples then.

        Parameters
        ----------
        kernel : callable
            Called as ``kernel(lo, hi, key, indptr, *given(sample), *new)`` for blocks of rows, to fill `new`.
        indptr : ndarray
            Offsets of the new rows among their ratings.
        given : callable
            Returns what the kernel needs of one sample.
        widths : mapping of str to int
            Quantities to draw, and how many numbers of each a row has.
        n_samples : int, default=20
            Number of samples to go through, evenly spaced.
        part : int, default=-1
            What the key depends on besides seed and sample.
        """
        samples = self._spaced_samples(n_samples)
        S, n = len(samples["U"]), len(indptr) - 1
        new = {name: np.zeros((S, n, width), dtype=np.float32) for name, width in widths.items()}
        arguments = [given({name: array[s] for name, array in samples.items()}) for s in range(S)]
        cuts = cut_rows(indptr, _ENTRIES)
        n_blocks = len(cuts) - 1

        def block(task: int) -> None:
            s, k = divmod(task, n_blocks)
            out = (array[s] for array in new.values())
            kernel(cuts[k], cuts[k + 1], fold(self.seed_, s, part), indptr, *arguments[s], *out)

        parallel_for(block, S * n_blocks)
        self.samples_, self.chains_ = samples | new, []

    # ---------------------------------------------------------------- diagnostics

    def diagnostics(self) -> Diagnostics:
        """Return whether the chains agree, and how many independent draws theirs are worth; print it to see a table.

        Measured are the log-likelihood and what `to_arviz` holds. R-hat needs two chains or more (``n_chains``). Above
        1.01 the chains have not met yet: more sweeps would make the samples truer, though predictions, averages over
        all samples, often are as good as they get long before.

        Returns
        -------
        Diagnostics

        Raises
        ------
        ImportError
            If ArviZ, the extra ``cofactor[bayes]``, is not installed.
        ValueError
            If the model has no chains: after `fold_in`, or saved with ``n_samples``.
        """
        chains = self._chains_kept()
        quantities = {"log-likelihood": self._log_likelihoods(chains)}
        return diagnose(quantities | self._quantities_by_chain(chains))

    def to_arviz(self) -> Any:
        r"""Return the draws of every chain as an ``InferenceData``, for the plots and measures of ArviZ.

        Returns
        -------
        arviz.InferenceData
            Group ``posterior``: quantities which mean the same in all chains (factors do not: chains may turn and swap
            them). ``interaction``, the root mean square over all pairs of :math:`U_i \cdot V_j` without biases;
            ``thresholds``, their means over users; geometric means of factors' precisions; and all parameters of priors
            and noise that belong to no factor. Groups ``sample_stats`` and ``warmup_sample_stats``: the log-likelihood
            of the data, ``total_log_likelihood``, in kept sweeps and in those of burn-in.

        Raises
        ------
        ImportError, ValueError
            As `diagnostics`.
        """
        chains = self._chains_kept()
        n_warm = min(self.burn_in, *(chain.kept_sweeps[0] - 1 for chain in chains))
        warm = np.array([chain.log_likelihood[:n_warm] for chain in chains])
        return to_inference_data(self._quantities_by_chain(chains), self._log_likelihoods(chains), warm)

    def _chains_kept(self) -> list[Chain]:
        """Return the chains with samples."""
        check_is_fitted(self)
        chains = [chain for chain in self.chains_ if chain.n_samples]
        if not chains:
            raise InvalidInputError(f"{_NO_CHAINS}; diagnose the model as it was fitted")
        return chains

    def _log_likelihoods(self, chains: list[Chain]) -> NDArray[np.float64]:
        """Return (n_chains, n_draws): the log-likelihood in kept sweeps, as many of each chain."""
        n = min(chain.n_samples for chain in chains)
        return np.array([kept_log_likelihood(chain)[:n] for chain in chains])

    def _quantities_by_chain(self, chains: list[Chain]) -> dict[str, NDArray[np.float64]]:
        n = min(chain.n_samples for chain in chains)
        each = [self._quantities({name: array[:n] for name, array in chain.samples.items()}) for chain in chains]
        return {name: np.stack([quantities[name] for quantities in each]) for name in each[0]}

    def _quantities(self, samples: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.float64]]:
        """Return, for each of S samples of a chain, what means the same in all chains: arrays (S,) or (S, k)."""
        return identified(samples, self._sampled, getattr(self, "n_factors", 0))

    # ---------------------------------------------------------------- saving

    def save(self, path: str | Path, *, ratings: bool = True, n_samples: int | None = None) -> None:
        """Write the model to a file, which `cofactor.load` reads; nothing in it is ever executed.

        Parameters
        ----------
        path, ratings
            As in `RatingModel.save`.
        n_samples : int, optional
            Number of samples to keep, evenly spaced; by default all. Predictions need at least one. A model with fewer
            samples is smaller and faster in the same proportion, and a little less accurate.
        """
        check_is_fitted(self)
        lean = copy.copy(self)
        if n_samples is not None:
            check_number("n_samples", n_samples, low=1, whole=True)
            lean.samples_, lean.chains_ = self._spaced_samples(n_samples), []
        super(SampledModel, lean).save(path, ratings=ratings)

    def _own_state(self, prefix: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = super()._own_state(prefix)
        arrays |= {f"{prefix}samples.{name}": array for name, array in self.samples_.items()}
        header["chains"], states = chains_to_state(self.chains_, prefix)
        arrays |= states
        return header, arrays

    @classmethod
    def _rebuild(
        cls,
        header: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        prefix: str,
        users: IdMap,
        items: IdMap,
        models: Mapping[str, Any],
    ) -> Self:
        samples = {
            name.removeprefix(f"{prefix}samples."): array
            for name, array in arrays.items()
            if name.startswith(f"{prefix}samples.")
        }
        _check_samples(samples, cls._sampled, len(users), len(items))
        chains = chains_from_state(member(header, "chains", list), arrays, prefix, samples)
        model = super()._rebuild(header, arrays, prefix, users, items, models)
        model.samples_, model.chains_ = samples, chains
        model._check_fit_together()
        return model

    def _check_fit_together(self) -> None:
        """Refuse samples read from a file if their shapes do not fit each other, or the rest of the model."""
        S = len(self.samples_["U"])
        rows = {"user": (len(self.users_) + 1,), "item": (len(self.items_) + 1,)}
        for name, shape in self._sample_shapes().items():
            whole = (S, *rows.get(self._sampled.get(name, ""), ()), *shape)
            check_array(f"samples of {name}", self.samples_.get(name), whole, np.float32)

    @abstractmethod
    def _sample_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape that each quantity has in a sample, or that a row of it has where there are many."""


def checksum(ratings: Ratings) -> int:
    """Return a number that tells ratings from others, whatever the ids are."""
    check = zlib.crc32(ratings.scale.tobytes())
    for array in (ratings.indptr, ratings.indices, ratings.levels):
        check = zlib.crc32(array.tobytes(), check)
    return check


def _check_samples(samples: dict[str, NDArray[Any]], sides: dict[str, str], n_users: int, n_items: int) -> None:
    """Refuse samples that are not as many for every quantity, or not of these users and items."""
    sizes = {"user": n_users + 1, "item": n_items + 1}
    missing = sorted(set(sides) - set(samples))
    if missing:
        raise InvalidInputError(f"samples of {', '.join(missing)} are missing")
    S = len(samples["U"])
    if not S:
        raise InvalidInputError("there are no samples")
    for name, array in samples.items():
        side = sides.get(name, "")
        shape = (S, sizes[side], *array.shape[2:]) if side else (S, *array.shape[1:])
        check_array(f"samples of {name}", array, shape, np.float32)


@dataclass(frozen=True)
class WithStrangers:
    """Ratings by rows and columns with one user and one item more, who have none: those that nobody knows."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    levels: NDArray[np.uint8]
    col_indptr: NDArray[np.int64]
    col_indices: NDArray[np.int32]
    to_csr: NDArray[np.int32] | NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.indptr) - 1, len(self.col_indptr) - 1

    @classmethod
    def of(cls, ratings: Ratings) -> WithStrangers:
        """Return the ratings so, without copying what is long."""
        indptr, col_indptr = (np.append(p, p[-1]) for p in (ratings.indptr, ratings.col_indptr))
        return cls(indptr, ratings.indices, ratings.levels, col_indptr, ratings.col_indices, ratings.to_csr)
