"""What all models drawn from a posterior share: chains, samples, continuing a fit, saving."""

from __future__ import annotations

import copy
import json
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_flag, check_jobs, check_number
from cofactor.errors import Argument, InvalidInputError
from cofactor.model.callers import callers_level
from cofactor.model.parallel import n_side_by_side
from cofactor.model.state import check_array
from cofactor.ratings.base import RatingModel
from cofactor.ratings.data import Ratings
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.merging import Joint
from cofactor.ratings.probability import Criterion, Expectation
from cofactor.ratings.sampled.by_user import Samples, in_groups, lie_by_user, of_users
from cofactor.ratings.sampled.chains import (
    NothingKeptError,
    chains_from_plain,
    chains_to_plain,
    check_samples,
    identified,
    kept_log_likelihood,
    pooled,
    run_side_by_side,
    with_samples,
)
from cofactor.ratings.sampled.draws import Draws, spaced
from cofactor.ratings.sampled.in_shards import refuse_in_shards, users_stay
from cofactor.ratings.sampled.thinned import Thinned
from cofactor.ratings.sampled.warm_start import NO_CHAINS, Unfinished, first_chains, target_of
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.stored_users import StoredUsers
from cofactor.samplers import Chain, Diagnostics, Posterior, diagnose, run, to_inference_data
from cofactor.solvers.result import Callback
from cofactor.text import counted
from cofactor.typing import RandomState

#: Samples with which a recommendation looks at all items, and at those that are the best by these; evenly spaced.
_FEW, _MORE = 8, 50


@dataclass(frozen=True)
class Plan:
    """What the chains of one fit share.

    Attributes
    ----------
    posterior : callable
        Returns the posterior to draw from; each chain asks for its own.
    described : tuple of str
        Sides, "user" or "item", of which something is known besides ratings.
    """

    posterior: Callable[[], Posterior]
    described: tuple[str, ...] = ()


class SampledModel(RatingModel):
    """A rating model whose predictions are averages over draws from its posterior.

    Subclasses give the posterior (`_plan`), and the samples that predictions need (`_draws`).

    Attributes
    ----------
    samples_ : dict of str to ndarray
        Kept draws of each quantity, float32, samples (of all chains) along the first axis. Users and items have one row
        more than there are ids: the last is a draw for a cold user, or item.
    chains_ : list of Chain
        With the log-likelihood of every sweep, and which of them were kept; `fit` goes on from there with
        ``warm_start=True``. Empty after `fold_in` and `update`.
    n_iter_ : int
        Number of sweeps done by each chain, burn-in included.
    seed_ : int
        What all draws depend on, those of fold-in too.
    target_ : dict
        Parameters of the posterior and checksums of the data: a warm start refuses others.

    Notes
    -----
    An interrupt from the keyboard ends a fit: with the samples kept so far, and a warning that says how many. If there
    are none yet, it is raised, and the model stays as it was. In both cases the next `fit` with ``warm_start=True``
    goes on from there, as it does after too short a time `max_seconds`. A warm start does `n_sweeps` more sweeps;
    chains that ended earlier than others first catch up with them. Earlier samples that `burn_in` and `thin`, as they
    are now, would not keep are dropped. `random_state` has no effect any more.

    Ratings in shards are drawn from where they are (see `ShardedRatings.on`), chains one after another. What was drawn
    for users stays with their shards until all sweeps are done. Then the samples of all users come here, 4 bytes a
    number, `thin` says how many there are; or, from 1 GiB on, they were written to the folder as they came, and are
    joined and stay there, those of a user together. Predictions, lists and fold-ins of users read what they need;
    posterior means and `diagnostics` read all, sample by sample, and `fold_in_items` takes those it goes through to
    memory. The last state of chains, which a warm start needs, is not kept then. One shard has the bits of a fit in
    memory, unless priors know who rated what: the mask of ratings is decomposed by passes over the shards, and agrees
    to a thousandth. An interrupt is raised; the same fit of a folder goes on with ``resume=True``, if `random_state` is
    a number.

    `recommend` looks at all items with 8 of the samples, evenly spaced, and at a sixteenth of them, those that are the
    best then, with 50; twice as many as it was asked for, and ten more, are then scored by all samples and ranked by
    that. So its scores are those of `decision_function`, to the bit, but an item is missed that is among the best by
    all samples and not by these. What that costs was measured by `OrdinalProbit` with 200 samples, fitted on 80 % of
    the ratings: ten items that a user did not rate in training, for all 943 users of MovieLens 100K and 1,000 of
    MovieLens 1M. "Same" is the share of the items which are those by all samples, "loss" how much lower their mean
    expected rating is, and NDCG@10 that of held-out ratings of 4 and 5, with gains of :math:`2^y - 1`.

    =========  =========  =======  =======  =======  =======  =======  =======
    samples    at a       ML-100K  loss     NDCG@10  ML-1M    loss     NDCG@10
    at all     sixteenth  same                       same
    =========  =========  =======  =======  =======  =======  =======  =======
    200        200        100 %    0        .1463    100 %    0        .1509
    4          50         99.77 %  .00006   .1465    99.58 %  .00025   .1507
    8          50         99.94 %  .00001   .1464    99.98 %  < 1e-5   .1509
    10         50         99.97 %  < 1e-5   .1464    99.95 %  .00002   .1509
    20         50         99.97 %  < 1e-5   .1464    99.98 %  < 1e-5   .1509
    50         50         99.97 %  < 1e-5   .1464    99.98 %  < 1e-5   .1509
    =========  =========  =======  =======  =======  =======  =======  =======

    Without scores by all samples for thirty, 20 samples find 84 % and 86 % of these items, and 50 find 91 % and 92 %.
    """

    n_sweeps: int
    burn_in: int
    thin: int
    n_chains: int
    max_seconds: float | None
    warm_start: bool
    n_jobs: int | None
    random_state: RandomState

    samples_: dict[str, NDArray[np.float32]]
    chains_: list[Chain]
    n_iter_: int
    seed_: int
    target_: dict[str, Any]

    _learned: ClassVar[tuple[str, ...]] = ("n_iter_", "seed_", "target_", "samples_", "means_", "chains_")

    #: Quantities in `samples_` of every such model, and the side, "user" or "item", that their second axis runs over.
    _sampled: ClassVar[dict[str, str]] = {"U": "user", "V": "item"}

    #: The last fit, if it ended before its first sample: a warm start goes on from there.
    _unfinished: Unfinished | None = None

    #: The samples that fold-ins go through.
    _some: Thinned | None = None

    @property
    def _sides(self) -> dict[str, str]:
        """Quantities of a sample that belong to users or items, and to which of them."""
        return self._sampled

    @property
    def _of_users(self) -> list[str]:
        """Quantities of a sample that belong to users."""
        return [name for name, side in self._sides.items() if side == "user"]

    @property
    def _n_columns(self) -> int:
        """Number of factors of a user or an item; 0 if they have none."""
        return getattr(self, "n_factors", 0)

    @abstractmethod
    def _plan(self, given: FitInput) -> Plan:
        """Return what all chains share; set what is learned before they start."""

    @abstractmethod
    def _draws(self, samples: Samples) -> Draws:
        """Return what predictions need of samples."""

    @abstractmethod
    def _sample_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape that each quantity has in a sample, or that a row of it has where there are many."""

    @abstractmethod
    def _state_shapes(self, chain: Chain) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays that the state of a chain has besides those of a sample."""

    def _probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        chosen = np.arange(len(self.samples_["U"]))
        return self._by_users(lambda draws, *pairs: draws.probabilities(*pairs, chosen), users, items)

    def _criterion_block(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion) -> NDArray[Any]:
        return self._roughly(users, items, criterion, _FEW)

    def _nearly(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion | None) -> NDArray[Any]:
        return self._roughly(users, items, criterion or Expectation(self.scale_), _MORE)

    def _roughly(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion, n_samples: int) -> NDArray[Any]:
        """Return how good items are for users, as `Draws.roughly`, by some of the samples."""
        samples, names = self.samples_, self._of_users
        if lie_by_user(samples, names):
            samples, users = of_users(samples, names, users), np.arange(len(users), dtype=np.int32)
        return self._draws(samples).roughly(users, items, criterion, spaced(len(samples["U"]), n_samples))

    def _by_users(
        self, function: Callable[..., NDArray[Any]], users: NDArray[Any], items: NDArray[Any]
    ) -> NDArray[Any]:
        """Return a function of `_draws` and pairs, by samples that may lie user by user."""
        if not lie_by_user(self.samples_, self._of_users):
            return function(self._draws(self.samples_), users, items)

        def of_samples(samples: Samples, *pairs: NDArray[Any]) -> NDArray[Any]:
            return function(self._draws(samples), *pairs)

        return in_groups(of_samples, self.samples_, self._of_users, users, items)

    def _ranks_roughly(self) -> bool:
        return True

    def _target_of_features(self, given: FitInput) -> dict[str, Any]:
        """Return what a posterior depends on besides parameters and ratings."""
        tables = zip(("users", "items"), given.features, strict=True)
        return {f"the features of {name}": None if table is None else table.checksum for name, table in tables}

    def _fit_bytes(self, ratings: Ratings) -> int:
        """Return what samples and the states of chains take at least."""
        return self._n_rows(ratings) * self._n_columns * self._bytes_of_number

    def _n_rows(self, ratings: Ratings) -> int:
        """Return how many users and items have samples in memory."""
        n, m = ratings.shape
        return m if isinstance(ratings, ShardedRatings) and users_stay(self, ratings) else n + m

    def _numbers_of_user(self, ratings: Ratings) -> int:
        """Return how many numbers a sample has of a user."""
        return self._n_columns

    @property
    def _bytes_of_number(self) -> int:
        """What a number that is part of samples takes in all of them, and in the states of chains."""
        return self.n_chains * (4 * max((self.n_sweeps - self.burn_in) // self.thin, 1) + 8)

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("n_sweeps", "thin", "n_chains"):
            check_number(name, getattr(self, name), low=1, whole=True)
        check_number("burn_in", self.burn_in, low=0, whole=True)
        check_number("max_seconds", self.max_seconds, low=0, inclusive=False, also=[None])
        check_flag("warm_start", self.warm_start)
        check_jobs(self.n_jobs)
        if self.n_sweeps - self.burn_in < self.thin and not self.warm_start:
            sweeps, burn_in, thin = (Argument(name, getattr(self, name)) for name in ("n_sweeps", "burn_in", "thin"))
            raise InvalidInputError(
                (
                    *(sweeps, " with ", burn_in, " and ", thin, " would keep no sample: "),
                    *(Argument("n_sweeps"), " must be at least ", Argument("burn_in"), " + ", Argument("thin")),
                ),
                argument="n_sweeps",
            )

    # ---------------------------------------------------------------- learning

    def _learn(self, given: FitInput, listener: Callback | None = None) -> Self:
        """Learn from checked ratings; a fit without a sample leaves the model as it was, but for its chains."""
        if isinstance(given.ratings, ShardedRatings):
            refuse_in_shards(self, given)
        try:
            super()._learn(given, listener)
        except NothingKeptError as end:
            self._unfinished = Unfinished(end.target, end.chains)
            n = min(chain.n_sweeps for chain in end.chains)
            if end.interrupted:
                raise KeyboardInterrupt(
                    f"interrupted after {n} sweeps, none of which is kept yet: warm_start=True goes on from here"
                ) from None
            in_shards = isinstance(given.ratings, ShardedRatings)
            goes_on = () if in_shards else ("; in Python ", Argument("warm_start", True), " goes on from here")
            why = ", where the callback ended the fit" if end.stopped else ""
            how = "let it go on until a sample is kept" if end.stopped else "allow more time, or more sweeps"
            raise InvalidInputError(
                (f"no sample was kept in {counted(n, 'sweep')}, with ", Argument("burn_in", self.burn_in), why),
                argument="burn_in",
                advice=(how, *goes_on),
            ) from None
        self._unfinished = self._some = None
        return self

    def _fit(self, given: FitInput) -> None:
        target = target_of(self, given)
        earlier = given.before if isinstance(given.before, SampledModel) else self
        before = first_chains(self, earlier, target)
        plan = self._plan(given)
        n_sweeps = self.n_sweeps + max(chain.n_sweeps for chain in before)
        n_turns = -(-len(before) // n_side_by_side(len(before), self.n_jobs))

        def go_on(chain: Chain, callback: Callback) -> Chain:
            return run(
                plan.posterior(),
                chain,
                n_sweeps - chain.n_sweeps,
                burn_in=self.burn_in,
                thin=self.thin,
                max_seconds=None if self.max_seconds is None else self.max_seconds / n_turns,
                callback=callback,
            )

        chains = run_side_by_side(go_on, before, self.n_jobs, given.monitor.stage)
        self._set_chains(given, target, chains, plan.described)

    def _set_chains(
        self,
        given: FitInput,
        target: dict[str, Any],
        chains: list[Chain],
        described: tuple[str, ...] = (),
        stored: StoredUsers | None = None,
    ) -> None:
        """Set what chains that drew from a posterior have found, with samples of users in a folder if they are there.

        The last state of chains is not kept then: it has a row for each user, and a fit in shards begins anew.
        """
        if not any(chain.n_samples for chain in chains):
            raise NothingKeptError(target, chains, given.monitor.stopped)
        self.target_, self.chains_ = target, chains
        self.n_iter_ = min(chain.n_sweeps for chain in chains)
        self.seed_ = chains[0].seed
        self._warn_if_interrupted()
        self.samples_ = pooled(
            chains, {name: side for name, side in self._sides.items() if side not in described}, given.ratings
        )
        if stored is not None:
            self.stored_users_ = stored
            self.samples_ |= {name: stored.arrays[f"samples_.{name}"] for name in self._of_users}
            self.chains_ = with_samples([replace(chain, state={}) for chain in chains], self.samples_)

    def _warn_if_interrupted(self) -> None:
        if any(chain.interrupted for chain in self.chains_):
            done = sorted({chain.n_sweeps for chain in self.chains_})
            sweeps = str(done[0]) if len(done) == 1 else f"{done[0]} to {done[-1]}"
            n_kept = sum(chain.n_samples for chain in self.chains_)
            warnings.warn(
                f"interrupted after {sweeps} sweeps: the {n_kept} samples kept so far are used; "
                "warm_start=True goes on from here",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )

    def _thinned(self, n: int) -> Thinned:
        """Return n samples, evenly spaced, the same for all fold-ins."""
        if self._some is None or not self._some.is_of(self.samples_, n):
            self._some = Thinned(self.samples_, n)
        return self._some

    def _keep_frames(self, fitted: Self, chosen: NDArray[np.int64]) -> None:
        """Note which samples of the fitted model those of a fold-in were drawn under, where their means need that."""

    @property
    def means_(self) -> dict[str, NDArray[np.float32]]:
        """What a file holds of means over the samples, which would take long to find again."""
        return {}

    def _restore_means(self, saved: dict[str, NDArray[np.float32]]) -> None:
        """Take what `means_` was."""

    def _join(self, part: Self, joint: Joint) -> None:
        """Join all samples, whose rows are along the second axis; chains end here."""
        joined = {
            name: joint.rows_of_samples(self.samples_[name], part.samples_[name])
            for name, side in self._sides.items()
            if side == joint.side
        }
        self.samples_, self.chains_, self._unfinished, self._some = self.samples_ | joined, [], None, None

    # ---------------------------------------------------------------- diagnostics

    def diagnostics(self) -> Diagnostics:
        """Return whether the chains agree, and how many independent draws theirs amount to; print it to see a table.

        Measured are the log-likelihood and what `to_arviz` holds. R-hat needs two chains or more (``n_chains``). Above
        1.01 the chains do not agree yet, and more sweeps would make the samples more accurate. Predictions are averages
        over all samples, and often stop improving long before.

        Returns
        -------
        Diagnostics

        Raises
        ------
        ImportError
            If ArviZ, the extra ``cofactor[bayes]``, is not installed.
        ValueError
            If the model has no chains: after `fold_in` or `update`, or saved with ``n_samples``.
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
            raise InvalidInputError(f"{NO_CHAINS}; diagnose the model as it was fitted")
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
        return identified(samples, self._sides, self._n_columns)

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
            whole, lean.chains_ = Thinned(self.samples_, n_samples), []
            lean.samples_ = {name: whole[name] for name in whole.whole}
            lean._keep_frames(self, whole.where)
        super(SampledModel, lean).save(path, ratings=ratings)

    def _saved(self) -> dict[str, Any]:
        return super()._saved() | {"chains_": chains_to_plain(self.chains_)}

    def _restore(self, saved: dict[str, Any]) -> None:
        saved = dict(saved)
        entries, samples, means = saved.pop("chains_"), saved["samples_"], saved.pop("means_")
        if not isinstance(entries, list) or not isinstance(samples, dict) or not isinstance(means, dict):
            raise InvalidInputError("samples_, means_ and chains_ are not what a model has")
        super()._restore(saved | {"chains_": []})
        check_samples(samples, self._sides, len(self.users_), len(self.items_))
        self.chains_ = chains_from_plain(entries, samples)
        self._restore_means(means)

    def _check_learned(self) -> None:
        super()._check_learned()
        if type(self.seed_) is not int or not isinstance(self.target_, dict):
            raise InvalidInputError(f"seed_ must be a whole number and target_ a mapping, found {self.seed_!r}")
        try:
            json.dumps(self.target_)  # a warm start compares its values
        except TypeError as error:
            raise InvalidInputError(f"target_ holds what no parameter has ({error})") from error
        S = len(self.samples_["U"])
        rows = {"user": (len(self.users_) + 1,), "item": (len(self.items_) + 1,)}
        for name, shape in self._sample_shapes().items():
            whole = (S, *rows.get(self._sides.get(name, ""), ()), *shape)
            check_array(f"samples of {name}", self.samples_.get(name), whole, np.float32)

    def _check_states(self) -> None:
        """Refuse states of chains whose arrays are not those that the next sweep of a warm start will use."""
        for chain in self.chains_:
            if not chain.state:  # it was not kept, and a warm start is refused
                continue
            kept = {name: array.shape[1:] for name, array in chain.samples.items()}
            shapes = kept | self._state_shapes(chain)
            if chain.state.keys() != shapes.keys():
                odd = sorted(chain.state.keys() ^ shapes.keys())
                raise InvalidInputError(f"the state of a chain must have no more and no less than it needs: {odd}")
            for name, shape in shapes.items():
                check_array(f"{name} in the state of a chain", chain.state[name], shape, np.float64)
