"""Which chains a fit goes on with: those of the last fit if it drew from the same posterior, or new ones."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cofactor.checks import make_generator
from cofactor.errors import Argument, InvalidInputError
from cofactor.model.state import plain
from cofactor.ratings.data import Ratings
from cofactor.ratings.fit_input import FitInput
from cofactor.ratings.sharded import ShardedRatings
from cofactor.samplers import Chain

if TYPE_CHECKING:
    from cofactor.ratings.sampled.base import SampledModel

__all__ = ["NO_CHAINS", "Unfinished", "checksum", "first_chains", "target_of"]

NO_CHAINS = (
    "this model has samples, but not the chains they come from: fold_in, update, and save with n_samples, leave chains "
    "out"
)

#: Parameters that the posterior does not depend on.
_NOT_OF_TARGET = {
    "n_sweeps", "burn_in", "thin", "max_seconds", "warm_start", "n_jobs", "decision", "levels", "duplicates", "unknown",
    "random_state", "callback", "verbose",
}  # fmt: skip


@dataclass(frozen=True)
class Unfinished:
    """A fit that ended before its first sample.

    Attributes
    ----------
    target : dict
        What the posterior of its chains depends on.
    chains : list of Chain
    """

    target: Mapping[str, Any]
    chains: list[Chain]


def target_of(model: SampledModel, given: FitInput) -> dict[str, Any]:
    """Return what a posterior depends on: parameters, and checksums of what is given."""
    params = model.get_params(deep=False).items()
    target: dict[str, Any] = {name: plain(value) for name, value in params if name not in _NOT_OF_TARGET}
    return target | {"the ratings": checksum(given.ratings)} | model._target_of_features(given)


def first_chains(model: SampledModel, before: SampledModel, target: Mapping[str, Any]) -> list[Chain]:
    """Return copies of the chains of the last fit, or new ones.

    Parameters
    ----------
    model : SampledModel
        The model that is fitted now.
    before : SampledModel
        The model as its last fit left it.
    target : mapping
        What the posterior of this fit depends on.
    """
    if model.warm_start:
        last = [Unfinished(getattr(before, "target_", {}), getattr(before, "chains_", []))]
        if before._unfinished is not None:
            last.insert(0, before._unfinished)
        if last[0].chains:
            return _continued(model, last, target)
        if hasattr(before, "samples_"):
            raise InvalidInputError(
                f"warm_start=True goes on with chains, but {NO_CHAINS}; go on with the model as it was fitted",
                argument="warm_start",
            )
    seed = int(make_generator(model.random_state).integers(2**63))
    return [Chain(number, seed) for number in range(model.n_chains)]


def _continued(model: SampledModel, last: list[Unfinished], target: Mapping[str, Any]) -> list[Chain]:
    """Return copies of the latest chains that drew from the same posterior; there must be some."""
    for fit in last:
        if fit.target == target:
            _check_states(fit.chains)
            return [chain.thinned(model.burn_in, model.thin) for chain in fit.chains]
    earlier = last[0].target
    changed = sorted(name for name in target.keys() | earlier.keys() if earlier.get(name) != target.get(name))
    raise InvalidInputError(
        (
            Argument("warm_start", True),
            f" goes on with the chains of the last fit, but since then {', '.join(changed)} changed",
        ),
        argument="warm_start",
        advice="give what that fit had, or fit a new model",
    )


def _check_states(chains: list[Chain]) -> None:
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
