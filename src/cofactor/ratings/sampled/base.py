"""What all models drawn from a posterior share: chains, samples, continuing a fit, saving."""

from __future__ import annotations

import copy
import json
import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Never, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_flag, check_jobs, check_number, make_generator, number, one_of, whole
from cofactor.errors import Argument, InvalidInputError
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.model.parallel import n_parallel
from cofactor.model.state import to_plain
from cofactor.problems.users import EntryUsers, LocalUsers, ShardedUsers, Users
from cofactor.ratings.base import RatingModel
from cofactor.ratings.data import Ratings
from cofactor.ratings.interaction_model import FitInput, RowMerge, Tags
from cofactor.ratings.sampled.chains import (
    FitChains,
    SavedChain,
    check_samples,
    check_state,
    checksum,
    continue_chains,
    identified_of_chains,
    in_chunks,
    log_likelihoods,
    pool_samples,
    restore_samples,
    rows_of_users,
    run_chains,
    with_samples,
)
from cofactor.ratings.sampled.fold_in import ConditionalChains, padded_sizes
from cofactor.ratings.sampled.probit import PosteriorMeans
from cofactor.ratings.sampled.samples import (
    Draws,
    SampledScorer,
    Samples,
    SampleSubset,
)
from cofactor.ratings.scoring import PROBABILITY_DECISIONS
from cofactor.ratings.shard_folder import StoredUsers, UserArray
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.side_information import FeatureMap, SideInformation, decompose_mask
from cofactor.samplers import Chain, Diagnostics, Kept, Posterior, diagnose, run, to_inference_data
from cofactor.solvers.parts import Executor
from cofactor.solvers.result import Callback
from cofactor.text import plural
from cofactor.typing import SideName

#: Parameters that the posterior does not depend on.
_NOT_OF_TARGET = {
    "n_sweeps", "burn_in", "thin", "max_seconds", "warm_start", "n_jobs", "decision", "levels", "duplicates", "unknown",
    "random_state", "callback", "verbose",
}  # fmt: skip

_NO_CHAINS = (
    "this model has samples, but not the chains they come from: fold_in, update, and save with n_samples, leave chains "
    "out"
)


@dataclass(frozen=True)
class UserPlan:
    """What chains draw from: the posterior of users who are here, or in shards.

    Attributes
    ----------
    kind : type of EntryUsers
    make : callable
        Returns the users of a shard; those in memory are the only one.
    prior : object
        Of all users' rows, for those in shards.
    posterior : callable
        Returns the posterior of a chain, given its users.
    before : iterable of Executor
        What was done in shards for it.
    more : mapping from str to ndarray or None
        What else has a row for each user, by its name in the model.
    """

    kind: type[EntryUsers]
    make: Callable[[int], EntryUsers]
    prior: Any
    posterior: Callable[[Users], Posterior]
    before: Iterable[Executor] = ()
    more: Mapping[str, NDArray[Any] | None] = field(default_factory=dict)

    def __call__(self) -> Posterior:
        """Return the posterior of users in this process."""
        return self.posterior(LocalUsers(self.make(0)))


class SampledModel(RatingModel):
    """A rating model whose predictions are averages over draws from its posterior.

    Subclasses declare the arrays of a sample (`_sampled`, `_state_only`), and give the posterior (`_prepare`), what
    predictions need of samples (`_draws`), and new rows under each of some samples (`_fold_in`, `_fold_in_items`).

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
    U_, V_ : ndarray of shape (n_users, d) and (n_items, d)
        Factors, with mean zero over the users, and items, who have ratings, of models with the tag `vectors`: posterior
        means, see `PosteriorMeans`.
    user_bias_ : ndarray of shape (n_users,)
        Mean score of each user over the items who have ratings, likewise.
    item_bias_ : ndarray of shape (n_items,)
        How far the item's mean score over those users lies above the mean of all items. A model without biases has
        these two too: they are what its factors say of a user, or an item, alone.
    links_ : tuple of two FeatureMap
        What the features of users and of items are made of, in models whose priors are regressed on features.

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

    tags = Tags(probabilities=True)

    n_factors: Any = param(whole(), default=20, kw_only=False)
    n_sweeps: int = param(whole(), default=300)
    burn_in: int = param(whole(0), default=100)
    thin: int = param(whole(), default=1)
    n_chains: int = param(whole(), default=1)
    decision: str = param(one_of(PROBABILITY_DECISIONS), default="median")
    max_seconds: float | None = param(number(low=0, inclusive=False, also=[None]), default=None)
    warm_start: bool = param(check_flag, default=False)
    n_jobs: int | None = param(check_jobs, default=None)

    n_iter_: int = learned()
    seed_: int = learned()
    target_: dict[str, Any] = learned()
    samples_: dict[str, NDArray[np.float32]] = learned()
    chains_: list[Chain] = learned(kind=SavedChain, many=True)

    links_: tuple[FeatureMap | None, FeatureMap | None] = learned(
        kind=FeatureMap, many=True, saved=False, default=(None, None)
    )

    #: Means that were found last, or read from a file.
    _means: PosteriorMeans | None = None

    def _means_now(self) -> PosteriorMeans:
        """Return the means of the samples that the model has now."""
        check_is_fitted(self)
        if not self.can("vectors"):
            raise AttributeError(f"{type(self).__name__} has no vectors of users and items")
        known = self._means
        if known is None or (known.samples and known.samples is not self.samples_):
            known = PosteriorMeans(self.samples_, self._biased, getattr(self, "is_shadow_", None))
            self.means_ = known
        return known

    def _take_means(self, means: PosteriorMeans) -> None:
        self._means = means

    means_: PosteriorMeans = learned(kind=PosteriorMeans, saved=False, default=property(_means_now, _take_means))

    #: Arrays of a sample, and the names of their axes: "user" or "item" comes first where each has a row.
    _sampled: ClassVar[dict[str, str]]

    #: Arrays that the state of a chain has besides, likewise; users are those of "training", without shadow users.
    _state_only: ClassVar[dict[str, str]]

    #: Samples that a fold-in goes through, evenly spaced among those kept: each costs a chain of its own.
    _n_fold_in_samples: ClassVar[int] = 20

    #: The last fit, if it ended before its first sample: a warm start goes on from there.
    _unfinished: FitChains | None = None

    #: The samples that fold-ins go through.
    _subset: SampleSubset | None = None

    @property
    def U_(self) -> NDArray[np.float32]:
        """Factors of the users."""
        return self.means_.users[:, :-2]

    @property
    def V_(self) -> NDArray[np.float32]:
        """Factors of the items."""
        return self.means_.items[:, :-2]

    @property
    def user_bias_(self) -> NDArray[np.float32]:
        """Biases of the users."""
        return self.means_.users[:, -2]

    @property
    def item_bias_(self) -> NDArray[np.float32]:
        """Biases of the items."""
        return self.means_.items[:, -1]

    def _link(self, side: SideName, ratings: Ratings | None = None) -> FeatureMap:
        """Return the link of users or items, for rows with such ratings if any."""
        link = self.links_[0 if side == "user" else 1]
        assert link is not None
        return link

    @property
    def _biased(self) -> bool:
        """Whether the last columns of the rows of users and items are biases."""
        return False

    @property
    def _sample_axes(self) -> dict[str, str]:
        """The names of the axes of each array of a sample."""
        return self._sampled

    @property
    def _state_axes(self) -> dict[str, str]:
        """The same of arrays that the state of a chain has besides."""
        return self._state_only

    def _lengths(self) -> dict[str, int]:
        """Return the lengths of all axes; those of users and items have a cold one at the end."""
        R = len(self.scale_)
        rows = {"user": len(self.users_) + 1, "training": self._n_training + 1, "item": len(self.items_) + 1}
        tables = {side: self.samples_.get(f"{side}_weights") for side in ("user", "item")}
        features = {f"{side}_feature": 0 if w is None or w.ndim != 3 else w.shape[1] for side, w in tables.items()}
        return rows | features | {"factor": self._n_factors + self._biased, "level": R, "boundary": R - 1}

    @property
    def _n_factors(self) -> int:
        """Number of factors of a user or an item, without biases."""
        return int(self.n_factors)

    @property
    def _n_training(self) -> int:
        """Number of users that were learned from."""
        return len(self.users_)

    @property
    def _sides(self) -> dict[str, str]:
        """Arrays of a sample with a row for each user or item, and which of them."""
        firsts = ((name, axes.partition(" ")[0]) for name, axes in self._sample_axes.items())
        return {name: first for name, first in firsts if first in ("user", "item")}

    @property
    def _of_users(self) -> list[str]:
        """Arrays of a sample with a row for each user."""
        return [name for name, side in self._sides.items() if side == "user"]

    @abstractmethod
    def _prepare(self, given: FitInput) -> Callable[[], Posterior]:
        """Set what is learned before the chains start; return what makes the posterior of each chain."""

    @abstractmethod
    def _draws(self, samples: Samples) -> Draws:
        """Return what predictions need of samples."""

    @property
    def scorer_(self) -> SampledScorer:
        """See `RatingModel`."""
        decision = PROBABILITY_DECISIONS[self.decision]
        return SampledScorer(self.scale_, decision, self.samples_, self._of_users, self._draws)

    def _target(self, given: FitInput) -> dict[str, Any]:
        """Return what a posterior depends on: parameters, and checksums of what is given."""
        params = self.get_params(deep=False).items()
        target: dict[str, Any] = {name: to_plain(value) for name, value in params if name not in _NOT_OF_TARGET}
        tables = zip(("users", "items"), given.features, strict=True)
        features = {f"the features of {name}": None if table is None else table.checksum for name, table in tables}
        return target | {"the ratings": checksum(given.ratings)} | features

    def _rank(self, ratings: Ratings | ShardedRatings) -> int:
        """Return the number of factors for such ratings."""
        return int(self.n_factors)

    def _fit_bytes(self, ratings: Ratings) -> int:
        """Return what samples and the states of chains take at least."""
        n, m = ratings.shape
        n_rows = m if isinstance(ratings, ShardedRatings) and self._users_stay(ratings) else n + m
        return n_rows * self._rank(ratings) * self._bytes_of_number

    @property
    def _bytes_of_number(self) -> int:
        """What a number that is part of samples takes in all of them, and in the states of chains."""
        return self.n_chains * (4 * max((self.n_sweeps - self.burn_in) // self.thin, 1) + 8)

    def _check_together(self) -> None:
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

    def _fit(self, given: FitInput) -> None:
        if given.in_shards:
            self._refuse_in_shards(given)
        target = self._target(given)
        earlier = given.before if isinstance(given.before, SampledModel) else self
        chains, plan = self._first_chains(earlier, target), self._prepare(given)
        stored = None
        if given.in_shards:
            chains, stored = self._run_in_shards(given, plan, chains)
        else:
            n_sweeps = self.n_sweeps + max(chain.n_sweeps for chain in chains)
            n_turns = -(-len(chains) // n_parallel(len(chains), self.n_jobs))

            def go_on(chain: Chain, callback: Callback) -> Chain:
                return self._run(plan(), chain, n_sweeps - chain.n_sweeps, n_turns, callback)

            chains = run_chains(go_on, chains, self.n_jobs, given.monitor.stage)
        self._set_chains(given, FitChains(target, chains), stored)

    def _run(self, posterior: Posterior, chain: Chain, n_sweeps: int, n_turns: int, callback: Callback | None) -> Chain:
        """Run a chain, in its share of the time if so many come one after another."""
        return run(
            posterior,
            chain,
            n_sweeps,
            burn_in=self.burn_in,
            thin=self.thin,
            max_seconds=None if self.max_seconds is None else self.max_seconds / n_turns,
            callback=callback,
        )

    def _first_chains(self, before: SampledModel, target: Mapping[str, Any]) -> list[Chain]:
        """Return copies of the chains of the last fit, which left the model as it was before, or new ones."""
        if self.warm_start:
            fits = [FitChains(getattr(before, "target_", {}), getattr(before, "chains_", []))]
            if before._unfinished is not None:
                fits.insert(0, before._unfinished)
            if fits[0].chains:
                return continue_chains(fits, target, self.burn_in, self.thin)
            if hasattr(before, "samples_"):
                raise InvalidInputError(
                    f"warm_start=True goes on with chains, but {_NO_CHAINS}; go on with the model as it was fitted",
                    argument="warm_start",
                )
        seed = int(make_generator(self.random_state).integers(2**63))
        return [Chain(number, seed) for number in range(self.n_chains)]

    def _set_chains(self, given: FitInput, fit: FitChains, stored: StoredUsers | None = None) -> None:
        """Set what chains that drew from a posterior have found; samples of users may be in a folder."""
        if not any(chain.n_samples for chain in fit.chains):
            self._end_without_sample(given, fit)
        self._unfinished = self._subset = None
        self.target_, self.chains_ = dict(fit.target), fit.chains
        self.n_iter_ = min(chain.n_sweeps for chain in self.chains_)
        self.seed_ = self.chains_[0].seed
        self._warn_if_interrupted()
        described = {side for side, table in zip(("user", "item"), given.features, strict=True) if table is not None}
        alike = {name: side for name, side in self._sides.items() if side not in described}
        self.samples_ = pool_samples(self.chains_, alike, given.ratings)
        if stored is not None:
            self.stored_users_ = stored
            self.samples_ |= {name: stored.arrays[f"samples_.{name}"] for name in self._of_users}
            self.chains_ = with_samples(self.chains_, self.samples_)

    def _end_without_sample(self, given: FitInput, fit: FitChains) -> Never:
        """Say that no sample was kept; the model stays as it was, but for chains with which a warm start goes on."""
        before, n = given.before, min(chain.n_sweeps for chain in fit.chains)
        if isinstance(before, SampledModel):
            before._unfinished = fit
        if any(chain.interrupted for chain in fit.chains):
            raise KeyboardInterrupt(
                f"interrupted after {n} sweeps, none of which is kept yet: warm_start=True goes on from here"
            )
        stopped = given.monitor.stopped
        goes_on = () if given.in_shards else ("; in Python ", Argument("warm_start", True), " goes on from here")
        why = ", where the callback ended the fit" if stopped else ""
        how = "let it go on until a sample is kept" if stopped else "allow more time, or more sweeps"
        raise InvalidInputError(
            (f"no sample was kept in {plural(n, 'sweep')}, with ", Argument("burn_in", self.burn_in), why),
            argument="burn_in",
            advice=(how, *goes_on),
        )

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

    # ---------------------------------------------------------------- learning from shards

    def _refuse_in_shards(self, given: FitInput) -> None:
        """Refuse what a fit in shards cannot do."""
        if self.warm_start:
            raise InvalidInputError(
                (Argument("warm_start", True), " goes on with ratings in memory"),
                argument="warm_start",
                advice=("a fit of a folder that did not end goes on with ", Argument("resume", True)),
            )
        if getattr(self, "time", False):
            raise InvalidInputError(
                (Argument("time", True), " needs ratings in memory"), argument="time", advice="leave time out"
            )
        if getattr(self, "implicit", None) == "sparse":
            raise InvalidInputError(
                (Argument("implicit", "sparse"), " needs ratings in memory"),
                argument="implicit",
                advice=("take ", Argument("implicit", "low-rank")),
            )
        if given.shadow is not None or any(table is not None for table in given.features):
            raise InvalidInputError("ratings in shards take no features and no shadow users", argument="X")

    def _users_stay(self, ratings: ShardedRatings) -> bool:
        """Return whether samples of users are to stay in the folder of ratings."""
        lengths = {"factor": self._rank(ratings) + self._biased, "boundary": len(ratings.scale) - 1}
        of_users = [axes.split()[1:] for axes in self._sampled.values() if axes.startswith("user ")]
        n_numbers = sum(math.prod(lengths[axis] for axis in axes) for axes in of_users)
        n_samples = self.n_chains * self._kept().n_samples
        return ratings.folder is not None and ratings.work.stores(4 * n_samples * ratings.shape[0] * n_numbers)

    def _kept(self, folder: Path | None = None) -> Kept:
        """Return which samples of users are kept, and where."""
        return Kept(self.burn_in, self.thin, self.n_sweeps, folder)

    def _side_information(
        self, given: FitInput, implicit: str | None, n_columns: int
    ) -> tuple[SideInformation, list[Executor]]:
        """Return what is known of users and items, the mask of ratings among it, and the parts that found it."""
        ratings: Any = given.ratings
        if isinstance(ratings, Ratings):
            return SideInformation.of(ratings, implicit, n_columns, given.features), []
        if implicit is None:
            return SideInformation.of_nothing(), []
        sides, parts = decompose_mask(ratings, n_columns, self, self._users_stay(ratings))
        return sides, [parts]

    def _run_in_shards(self, given: FitInput, plan: Any, chains: list[Chain]) -> tuple[list[Chain], StoredUsers | None]:
        """Run chains, one after another; return them, and where samples of users stay, if that is not in memory."""
        ratings: Any = given.ratings
        done = list(plan.before)
        steps = [f"chain {chain.number + 1} of seed {chain.seed}" for chain in chains]
        in_folder = self._users_stay(ratings)
        kept = [self._kept(ratings.place(self, step) / "samples" if in_folder else None) for step in steps]

        def begin(step: str, folder: Path | None, make: Callable[[int], Any]) -> Executor:
            parts: Executor = ratings.parts(make, self, step)
            if folder is not None:
                folder.mkdir(exist_ok=True)
            return parts

        of_state = [name for name, axes in self._state_only.items() if axes.startswith("training")]
        for chain, step, where in zip(chains, steps, kept, strict=True):
            of_shards = plan.kind, plan.make, plan.prior, padded_sizes(ratings), ratings.n_levels, where
            users = ShardedUsers(partial(begin, step, where.folder), *of_shards)
            listener = given.monitor.stage(f"chain {chain.number + 1}")
            self._run(plan.posterior(users), chain, self.n_sweeps, len(chains), listener)
            if chain.interrupted:
                resume = ": ratings in a folder go on from here with resume=True, or --resume" if ratings.folder else ""
                raise KeyboardInterrupt(f"interrupted after {chain.n_sweeps} sweeps{resume}")
            users.end(chain.n_sweeps)
            if not in_folder:
                chain.samples = {name: users.samples(name) for name in users.elsewhere} | chain.samples
                chain.state = chain.state | {name: users.array(name) for name in (*users.elsewhere, *of_state)}
            done.append(users.parts)
        stored = None
        if in_folder:  # states would have a row for each user, and a fit in shards begins anew
            chains = [replace(chain, state={}) for chain in chains]
            if any(chain.n_samples for chain in chains):
                stored = self._stored(ratings, chains, kept, plan.more)
        for parts in done:
            parts.done()
        return chains, stored

    def _stored(
        self, ratings: Any, chains: list[Chain], kept: list[Kept], more: Mapping[str, NDArray[Any] | None]
    ) -> StoredUsers:
        """Join the samples of users that all chains left in files, user by user, and what else there is of users."""
        found = rows_of_users(chains, kept, self._of_users, len(ratings), ratings.user_counts)
        tables = {name: array for name, array in more.items() if array is not None}
        rows = {name: UserArray(array.dtype, array.shape, in_chunks(array)) for name, array in tables.items()}
        rows |= {f"samples_.{name}": one for name, one in found.items()}
        folder: Any = kept[0].folder
        return StoredUsers.join(ratings.folder, folder, type(self).__name__, self.users_, rows)

    # ---------------------------------------------------------------- new users and items

    def _chains_of(self, given: FitInput, side: SideName) -> ConditionalChains:
        """Return chains of the users, or items, that are given, under samples of the model as it was before them."""
        fitted = given.before
        assert isinstance(fitted, SampledModel)
        known = None
        if given.update:
            samples = SampleSubset(fitted.samples_, len(fitted.samples_["U"]))
            known = fitted.users_ if side == "user" else fitted.items_
        else:
            samples = fitted._fold_in_samples()
        return ConditionalChains.of(given.ratings, side, samples, self.seed_, known, given.update)

    def _fold_in_samples(self) -> SampleSubset:
        """Return the samples that all fold-ins go through."""
        if self._subset is None or not self._subset.is_of(self.samples_, self._n_fold_in_samples):
            self._subset = SampleSubset(self.samples_, self._n_fold_in_samples)
        return self._subset

    def _draw_rows(
        self,
        given: FitInput,
        chains: ConditionalChains,
        kernel: Callable[..., object],
        arguments: Iterable[tuple[Any, ...]],
        more: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    ) -> None:
        """Draw what belongs to the users, or items, that are given, and take it for the samples of the model.

        The cold row stays what it is: nothing new is known of it.

        Parameters
        ----------
        given : FitInput
        chains : ConditionalChains
        kernel, arguments
            See `ConditionalChains.draw`.
        more : mapping of str to tuple of int
            Arrays that are drawn too, though they have no row for each, and their shapes.
        """
        names, lengths = [name for name, side in self._sides.items() if side == chains.side], self._lengths()
        whole, chosen = chains.samples.whole, chains.samples.where
        shapes = {name: _shape(self._sample_axes[name], lengths) for name in names}
        new = chains.draw(kernel, arguments, {**shapes, **more})
        for name in names:
            new[name][:, -1] = whole[name][chosen, -1]
        self.samples_ = {name: new[name] if name in new else chains.samples[name] for name in whole}
        self.chains_, self._subset = [], None
        if not given.update:
            self._keep_frames(given.before, chosen)

    def _keep_frames(self, fitted: Any, chosen: NDArray[np.int64]) -> None:
        """Note that samples have the frames of those, of a fitted model, they are drawn under, or are.

        Frames are found when means are asked for, once for all that is folded in: a server never waits for them.
        """
        if self.can("vectors"):
            self.means_ = fitted.means_.under(chosen, self.samples_)

    def _merge_rows(self, part: Self, merge: RowMerge) -> None:
        """Join all samples, whose rows are along the second axis; chains end here."""
        joined = {
            name: merge.rows_of_samples(self.samples_[name], part.samples_[name])
            for name, side in self._sides.items()
            if side == merge.side
        }
        self.samples_, self.chains_, self._unfinished, self._subset = self.samples_ | joined, [], None, None

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
        return diagnose({"log-likelihood": log_likelihoods(chains)} | self._identified(chains))

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
        return to_inference_data(self._identified(chains), log_likelihoods(chains), warm)

    def _chains_kept(self) -> list[Chain]:
        """Return the chains with samples."""
        check_is_fitted(self)
        chains = [chain for chain in self.chains_ if chain.n_samples]
        if not chains:
            raise InvalidInputError(f"{_NO_CHAINS}; diagnose the model as it was fitted")
        return chains

    def _identified(self, chains: list[Chain]) -> dict[str, NDArray[np.float64]]:
        """Return what means the same in all chains, (n_chains, n_draws) or (n_chains, n_draws, k)."""
        return identified_of_chains(chains, self._sides, self._n_factors)

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
            subset, lean.chains_ = SampleSubset(self.samples_, n_samples), []
            lean.samples_ = {name: subset[name] for name in self.samples_}
            lean._keep_frames(self, subset.where)
        super(SampledModel, lean).save(path, ratings=ratings)

    def _samples_of_chains(self) -> dict[str, NDArray[Any]]:
        """Return the samples as chains have them."""
        return self.samples_

    def _check_learned(self) -> None:
        super()._check_learned()
        if type(self.seed_) is not int or not isinstance(self.target_, dict):
            raise InvalidInputError(f"seed_ must be a whole number and target_ a mapping, found {self.seed_!r}")
        try:
            json.dumps(self.target_)  # a warm start compares its values
        except TypeError as error:
            raise InvalidInputError(f"target_ holds what no parameter has ({error})") from error
        if not isinstance(self.samples_, dict):
            raise InvalidInputError("samples_ is not what a model has")
        check_samples(self.samples_, {name: _shape(axes, self._lengths()) for name, axes in self._sample_axes.items()})
        self.chains_ = restore_samples(self.chains_, self._samples_of_chains())
        shapes = {name: _shape(axes, self._lengths()) for name, axes in self._state_axes.items()}
        for chain in self.chains_:
            check_state(chain, shapes)
        if self.can("vectors"):
            self.means_.of_samples(self.samples_, self._biased)
        for side, link, n in zip(("user", "item"), self.links_, (len(self.items_), self._n_training), strict=True):
            if link is None:
                continue
            link.check(n)
            K = self.samples_[f"{side}_weights"].shape[1]
            if link.n_features != K:
                raise InvalidInputError(
                    f"there are weights of {K} features of {side}s, but the link makes {link.n_features}"
                )


def _shape(axes: str, lengths: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape of an array, given the names of its axes; a number is a length.

    Examples
    --------
    >>> _shape("user factor", {"user": 7, "factor": 3}), _shape("2", {})
    ((7, 3), (2,))
    """
    return tuple(int(axis) if axis.isdigit() else lengths[axis] for axis in axes.split())
