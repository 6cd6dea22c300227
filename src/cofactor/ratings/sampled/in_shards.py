"""Models drawn from their posterior given ratings in shards: what is drawn for users stays with the shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cofactor.errors import Argument, InvalidInputError
from cofactor.problems.biased_prior import BiasedPrior
from cofactor.problems.bpmf import GaussianPosterior
from cofactor.problems.gaussian_in_shards import GaussianPart, GaussianUsersInShards, ShardGaussians
from cofactor.problems.hinge_in_shards import HingePart, HingeUsersInShards, ShardHinges
from cofactor.problems.hinge_posterior import HingePosterior
from cofactor.problems.ordinal_in_shards import OrdinalPart, OrdinalUsersInShards, ShardOrdinal
from cofactor.problems.ordinal_probit import OrdinalProbitPosterior
from cofactor.problems.samples_in_shards import Kept, UsersInShards
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.links_in_shards import NO_FEATURES, MaskInShards, decompose_mask
from cofactor.ratings.sampled.cold import WithCold
from cofactor.ratings.sampled.hinges import threshold_prior
from cofactor.ratings.sampled.warm_start import first_chains, target_of
from cofactor.ratings.shard_sources import OfItems
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.stored_users import Rows, StoredUsers
from cofactor.samplers import Chain, Posterior, SampleFile, run
from cofactor.solvers.parts import Rounds
from cofactor.text import counted

if TYPE_CHECKING:
    from cofactor.ratings.sampled.base import SampledModel
    from cofactor.ratings.sampled.bpmf import BPMF
    from cofactor.ratings.sampled.gibbs_mmmf import GibbsMMMF
    from cofactor.ratings.sampled.ordinal_probit import OrdinalProbit

__all__ = [
    "fit_bpmf_in_shards",
    "fit_gibbs_mmmf_in_shards",
    "fit_ordinal_probit_in_shards",
    "refuse_in_shards",
    "users_stay",
]

#: What a rating by each user says of an item, in the folder.
_PROJECTION = "links_.1.projection"

#: Bytes of samples that are read at a time to be joined.
_PIECE = 1 << 24

#: Returns parts for a chain, given how each of them is made.
Begin = Callable[[Callable[[int], Any]], Rounds]


def fit_ordinal_probit_in_shards(model: OrdinalProbit, given: FitInput) -> None:
    """Draw from the posterior of `OrdinalProbit` over ratings in shards; set all that a fit sets."""
    ratings: Any = given.ratings
    rank = model._rank(ratings)
    sides, passes = _sides(model, ratings, rank.implicit)
    model.n_factors_, model.n_implicit_, model.past_, model.links_ = rank.factors, rank.implicit, None, sides.links
    model.is_shadow_ = np.zeros(ratings.shape[0], dtype=np.bool_)
    p, sizes = rank.factors + 1, _sizes(ratings)

    def posterior(begin: Begin, kept: Kept) -> tuple[Posterior, UsersInShards]:
        problem = ShardOrdinal(Opened(ratings), sides.users, p, ratings.bounds, kept)
        users = OrdinalUsersInShards(
            lambda *start: begin(partial(OrdinalPart, problem, *start)),
            BiasedPrior("user", p, totals=sides.totals), sizes, ratings.level_counts, kept,
        )  # fmt: skip
        items = BiasedPrior("item", p, sides.items)
        return OrdinalProbitPosterior(users, ratings.shape[1] + 1, ratings.n_levels, items), users

    of_state = ("gaps", "reach", "accepted", "value")
    stored = fit_chains_in_shards(model, given, posterior, of_state, passes, {_PROJECTION: sides.links[1].projection})
    if _PROJECTION in stored:
        model.links_ = (sides.links[0], replace(sides.links[1], projection=stored[_PROJECTION]))


def fit_bpmf_in_shards(model: BPMF, given: FitInput) -> None:
    """Draw from the posterior of `BPMF` over ratings in shards; set all that a fit sets."""
    ratings: Any = given.ratings
    numbers = np.arange(1, ratings.n_levels + 1)
    model.mean_ = float(ratings.level_counts @ numbers) / ratings.n_ratings
    model.links_ = NO_FEATURES.links
    precision = None if model.precision == "learn" else float(model.precision)
    values = np.arange(ratings.n_levels + 1) - model.mean_
    counts = np.append(ratings.item_counts, 0)

    def posterior(begin: Begin, kept: Kept) -> tuple[Posterior, UsersInShards]:
        problem = ShardGaussians(OpenedWithLevels(ratings), values, model.n_factors, ratings.bounds, counts, kept)
        users = GaussianUsersInShards(
            lambda *start: begin(partial(GaussianPart, problem, *start)), problem, _sizes(ratings)
        )
        return GaussianPosterior(users, values, len(counts), model._prior("item", None), precision), users

    fit_chains_in_shards(model, given, posterior, ())


def fit_gibbs_mmmf_in_shards(model: GibbsMMMF, given: FitInput) -> None:
    """Draw from the pseudo-posterior of `GibbsMMMF` over ratings in shards; set all that a fit sets."""
    ratings: Any = given.ratings
    sides, passes = _sides(model, ratings, model.n_implicit)
    of_users, of_items = sides.links
    model.user_projection_, model.item_projection_ = of_users.projection, of_items.projection
    sizes, prior = _sizes(ratings), partial(_row_prior, clone(model).set_params(callback=None), sides.users)

    def posterior(begin: Begin, kept: Kept) -> tuple[Posterior, UsersInShards]:
        problem = ShardHinges(
            Opened(ratings), prior, model.hinge_weight / 2, float(model.width), model.biases, ratings.bounds, kept
        )
        users = HingeUsersInShards(
            lambda *start: begin(partial(HingePart, problem, *start)),
            model._row_prior("user", None, sides.totals), sizes, kept,
        )  # fmt: skip
        items = model._row_prior("item", sides.items)
        n_items = ratings.shape[1] + 1
        return HingePosterior(users, n_items, ratings.n_levels, items, threshold_prior(model)), users

    more = {"item_projection_": of_items.projection}
    stored = fit_chains_in_shards(model, given, posterior, ("value",), passes, more)
    model.item_projection_ = stored.get("item_projection_", of_items.projection)


def _row_prior(model: GibbsMMMF, features: Callable[[int], Any], k: int) -> Any:
    """Return the prior of the rows of a shard's users."""
    return model._row_prior("user", features(k))


def _sides(model: Any, ratings: ShardedRatings, n_columns: int) -> tuple[MaskInShards, list[Rounds]]:
    """Return what tells who rated what, as the model wants it, and the parts that found it."""
    if model.implicit is None:
        return NO_FEATURES, []
    sides, parts = decompose_mask(ratings, n_columns, model, users_stay(model, ratings))
    return sides, [parts]


def fit_chains_in_shards(
    model: SampledModel,
    given: FitInput,
    posterior: Callable[[Begin, Kept], tuple[Posterior, UsersInShards]],
    of_state: tuple[str, ...],
    before: Iterable[Rounds] = (),
    more: Mapping[str, NDArray[Any] | None] = MappingProxyType({}),
) -> Mapping[str, NDArray[Any]]:
    """Run chains, one after another; set what they found.

    Parameters
    ----------
    model : SampledModel
    given : FitInput
    posterior : callable
        Returns the posterior of a chain, and its users, given how parts begin and where they keep samples.
    of_state : tuple of str
        Arrays of users in the state besides those of samples.
    before : iterable of Rounds
        What was done for them before.
    more : mapping from str to ndarray or None
        What else has a row for each user, by its name in the model.

    Returns
    -------
    mapping from str to ndarray
        What stays in the folder, by name; nothing if users do not stay there.
    """
    ratings: Any = given.ratings
    target = target_of(model, given)
    chains, done = first_chains(model, model, target), list(before)
    in_folder = users_stay(model, ratings)
    kept = [_kept(model, ratings.place(model, _step(chain)) if in_folder else None) for chain in chains]
    for chain, where in zip(chains, kept, strict=True):
        drawn, users = posterior(partial(_begun, ratings, model, _step(chain), where), where)
        run(
            drawn,
            chain,
            model.n_sweeps,
            burn_in=model.burn_in,
            thin=model.thin,
            max_seconds=None if model.max_seconds is None else model.max_seconds / len(chains),
            callback=given.monitor.stage(f"chain {chain.number + 1}"),
        )
        if chain.interrupted:
            raise KeyboardInterrupt(_interrupted(chain, ratings))
        users.end(chain.n_sweeps)
        if not in_folder:
            _gather(chain, users, of_state)
        done.append(users.parts)
    stored = _stored(model, ratings, chains, kept, more) if in_folder else None
    for parts in done:
        parts.done()
    model._set_chains(given, target, chains, stored=stored)
    return {} if stored is None else stored.arrays


def users_stay(model: SampledModel, ratings: ShardedRatings) -> bool:
    """Return whether samples of users are to stay in the folder of ratings."""
    n_samples = model.n_chains * Kept(model.burn_in, model.thin, model.n_sweeps).n_samples
    n_bytes = 4 * n_samples * ratings.shape[0] * model._numbers_of_user(cast(Any, ratings))
    return ratings.folder is not None and ratings.work.stores(n_bytes)


def _step(chain: Chain) -> str:
    return f"chain {chain.number + 1} of seed {chain.seed}"


def _begun(ratings: ShardedRatings, model: SampledModel, step: str, kept: Kept, make: Callable[[int], Any]) -> Rounds:
    """Return parts for a chain, with a folder for its samples."""
    parts = ratings.parts(make, model, step)
    if kept.folder is not None:
        kept.folder.mkdir(exist_ok=True)
    return parts


def _gather(chain: Chain, users: UsersInShards, of_state: tuple[str, ...]) -> None:
    """Give a chain the arrays of all users."""
    sampled = {name: users.samples(name) for name in users.elsewhere}
    chain.samples = sampled | chain.samples
    chain.state = chain.state | {name: users.array(name) for name in (*users.elsewhere, *of_state)}


def _stored(
    model: SampledModel,
    ratings: ShardedRatings,
    chains: list[Chain],
    kept: list[Kept],
    more: Mapping[str, NDArray[Any] | None],
) -> StoredUsers:
    """Join the samples of users that all chains left in files, user by user, and what else there is of users."""
    found = [(chain.n_samples, one) for chain, one in zip(chains, kept, strict=True) if chain.n_samples]
    if not found:
        raise InvalidInputError(
            f"no sample was kept in {counted(min(chain.n_sweeps for chain in chains), 'sweep')}",
            argument="burn_in",
            found=model.burn_in,
            advice="allow more time, or more sweeps",
        )
    n_samples = sum(n for n, _ in found)
    rows = {name: Rows(array.dtype, array.shape, _cut(array)) for name, array in more.items() if array is not None}
    for name in model._of_users:
        *_, last = files = [[(n, SampleFile.open(one.file(k, name))) for n, one in found] for k in range(len(ratings))]
        shape = (len(model.users_) + 1, n_samples, *last[0][1].shape[1:])
        rows[f"samples_.{name}"] = Rows(np.dtype(np.float32), shape, _by_user(files, ratings.user_counts), axis=1)
    folder, work = ratings.folder, kept[0].folder
    assert folder is not None
    assert work is not None
    return StoredUsers.join(folder, work, type(model).__name__, model.users_, rows)


def _cut(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield some rows after others."""
    size = max(1, _PIECE // max(array[:1].nbytes, 1))
    return (array[lo : lo + size] for lo in range(0, len(array), size))


def _by_user(files: list[list[tuple[int, SampleFile]]], counts: NDArray[np.int64]) -> Iterator[NDArray[np.float32]]:
    """Yield the samples of some users after others, user by user; those without ratings get what the cold one has.

    Parameters
    ----------
    files : list of list of tuple
        Of each shard: how many samples each chain has, and where.
    counts : ndarray of shape (n_users,)
        Numbers of their ratings; the cold user follows the last of them.
    """

    def read(shard: list[tuple[int, SampleFile]], lo: int, hi: int) -> NDArray[np.float32]:
        return np.ascontiguousarray(np.concatenate([file.read(n, lo, hi) for n, file in shard]).swapaxes(0, 1))

    last, first = files[-1], 0
    [cold] = read(last, last[0][1].shape[0] - 1, last[0][1].shape[0])
    for shard in files:
        n = shard[0][1].shape[0]
        size = max(1, _PIECE // max(cold.nbytes, 1))
        for lo in range(0, n, size):
            rows = read(shard, lo, min(lo + size, n))
            unrated = np.flatnonzero(counts[first + lo : first + lo + len(rows)] == 0)
            rows[unrated] = cold
            yield rows
        first += n


def _interrupted(chain: Chain, ratings: ShardedRatings) -> str:
    how = ": ratings in a folder go on from here with resume=True, or --resume" if ratings.folder is not None else ""
    return f"interrupted after {chain.n_sweeps} sweeps{how}"


@dataclass(frozen=True)
class Opened:
    """The levels of any shard, with a cold item, and with a cold user after the last one."""

    ratings: ShardedRatings

    def __call__(self, k: int) -> WithCold:
        return WithCold.of(self.ratings.shard(k), user=k == len(self.ratings) - 1)


@dataclass(frozen=True)
class OpenedWithLevels:
    """The same, and the levels beside it."""

    ratings: ShardedRatings

    def __call__(self, k: int) -> tuple[WithCold, NDArray[Any]]:
        data = Opened(self.ratings)(k)
        return data, data.levels

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return entries and levels of the items first..last-1; the cold one behind all others has none."""
        m = len(self.ratings.items)
        offsets, users, levels = self.ratings.of_items(k, min(first, m), min(last, m))
        return np.pad(offsets, (0, last - first + 1 - len(offsets)), mode="edge"), users, levels


def _kept(model: SampledModel, work: Path | None) -> Kept:
    return Kept(model.burn_in, model.thin, model.n_sweeps, None if work is None else work / "samples")


def _sizes(ratings: ShardedRatings) -> NDArray[np.int64]:
    """Return the numbers of users of the shards, a cold one with those of the last."""
    sizes = np.diff(ratings.bounds)
    sizes[-1] += 1
    return sizes


def refuse_in_shards(model: Any, given: FitInput) -> None:
    """Refuse what a fit in shards cannot do."""
    if model.warm_start:
        raise InvalidInputError(
            (Argument("warm_start", True), " goes on with ratings in memory"),
            argument="warm_start",
            advice=("a fit of a folder that did not end goes on with ", Argument("resume", True)),
        )
    if getattr(model, "time", False):
        raise InvalidInputError(
            (Argument("time", True), " needs ratings in memory"), argument="time", advice="leave time out"
        )
    if getattr(model, "implicit", None) == "sparse":
        raise InvalidInputError(
            (Argument("implicit", "sparse"), " needs ratings in memory"),
            argument="implicit",
            advice=("take ", Argument("implicit", "low-rank")),
        )
    if given.shadow is not None or any(table is not None for table in given.features):
        raise InvalidInputError("ratings in shards take no features and no shadow users", argument="X")
