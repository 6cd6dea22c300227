"""Who works on ratings in shards, and which models can learn from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.metrics.scale import as_scale
from cofactor.ratings.data import Ratings
from cofactor.ratings.entries import check_variety
from cofactor.solvers.journal import Journal
from cofactor.solvers.parts import OneByOne, Part, Rounds
from cofactor.solvers.workers import OnWorkers
from cofactor.text import some_of

if TYPE_CHECKING:
    from cofactor.ratings.sharded import ShardedRatings

__all__ = ["Work", "check_learns_in_shards", "check_shards", "in_memory", "key_of"]


#: Bytes of what a fit finds for users that it takes to memory, and a file of the model holds, if nothing else is asked.
MOST_IN_MEMORY = 1 << 30


@dataclass(frozen=True)
class Work:
    """How fits of ratings in shards are carried out, see `ShardedRatings.on`."""

    client: Any = None
    resume: bool = False
    every: float = 60.0
    users: str = "auto"

    def stores(self, n_bytes: int) -> bool:
        """Whether what a fit finds for users, so many bytes, is to stay in the folder."""
        return self.users == "folder" or (self.users == "auto" and n_bytes > MOST_IN_MEMORY)

    def place(self, folder: Path, data: str, key: str) -> Path:
        """Return the folder for what is done of a work, see `parts`; it is gone when all is done."""
        known = hashlib.sha256(f"{data} {key}".encode()).hexdigest()[:16]
        return folder / f".fit-{known}"

    def parts(
        self, make: Callable[[int], Part], n: int, folder: Path | None, data: str, key: str, n_ratings: int
    ) -> Rounds:
        """Return n objects that work on a shard each.

        Parameters
        ----------
        make : callable
            ``make(k)`` returns the one of shard k.
        n : int
        folder : Path or None
            Where the shards are. What is done is kept there too, so that it can go on after a kill.
        data, key : str
            What tells the ratings, and the work on them, from any others.
        n_ratings : int
            In all shards.
        """
        journal = None
        if folder is not None:
            journal = Journal(self.place(folder, data, key), self.resume, self.every)
        if self.client is None:
            return OneByOne(make, n, journal, n_ratings)
        return OnWorkers(self.client, make, n, journal, key.partition("(")[0], n_ratings)


def key_of(model: Any) -> str:
    """Return the class of a model and its parameters, but for those that change nothing of a fit."""
    told = {name: value for name, value in model.get_params().items() if name not in ("callback", "verbose")}
    return f"{type(model).__name__}({told})"


def check_shards(ratings: ShardedRatings, model: Any, y: Any, time: Any, sample_weight: Any) -> Any:
    """Return ratings in shards to learn from, or say why a model cannot."""
    check_learns_in_shards(model)
    for argument, given in (("y", y), ("time", time), ("sample_weight", sample_weight)):
        if given is not None:
            raise InvalidInputError(
                "ratings in shards hold all that there is", argument=argument, advice="leave it out"
            )
    if model.levels is not None and not np.array_equal(as_scale(model.levels), ratings.scale):
        raise InvalidInputError(
            f"the shards have the scale {some_of(ratings.scale, 10)}", argument="levels", found=model.levels
        )
    return check_variety(ratings)


def check_learns_in_shards(model: Any) -> None:
    """Refuse a model which cannot learn from ratings in shards."""
    if getattr(type(model), "_fit_shards", None) is None:
        raise InvalidInputError(
            f"{type(model).__name__} learns from ratings in memory alone",
            argument="X",
            advice="ALS, PMF, BinaryMMMF, MMMF, PMMMF, HMF, OrdinalProbit, BPMF and GibbsMMMF learn in shards; others "
            "from the files themselves, in Python from X.to_ratings()",
        )


def in_memory(ratings: Ratings | ShardedRatings, what: str) -> Ratings:
    """Return ratings for what needs them in memory, or refuse those in shards."""
    if isinstance(ratings, Ratings):
        return ratings
    raise InvalidInputError(
        f"{what} needs the ratings of the model in memory, and they are in shards",
        advice="where they fit, model.to_memory() takes them there in Python",
    )
