"""Who works on ratings in shards, and which models can learn from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cofactor.errors import InvalidInputError
from cofactor.progress import tell
from cofactor.ratings.data import Ratings
from cofactor.solvers.journal import Journal
from cofactor.solvers.parts import OneByOne, Part, Rounds
from cofactor.solvers.workers import OnWorkers

__all__ = ["Work", "in_memory"]


#: Bytes of what a fit finds for users that it takes to memory, and a file of the model holds, if nothing else is asked.
MOST_IN_MEMORY = 1 << 30


@dataclass(frozen=True)
class Work:
    """How fits of ratings in shards are carried out, see `ShardedRatings.on`.

    Attributes
    ----------
    client, resume, every, users
        See there.
    fit : str
        Which fit it is: class of the model, and what tells its parameters and the ratings from any others. The folders
        with what is done of it have its name.
    """

    client: Any = None
    resume: bool = False
    every: float = 60.0
    users: str = "auto"
    fit: str = ""

    def stores(self, n_bytes: int) -> bool:
        """Whether what a fit finds for users, so many bytes, is to stay in the folder."""
        return self.users == "folder" or (self.users == "auto" and n_bytes > MOST_IN_MEMORY)

    def of(self, model: Any, folder: Path, data: str) -> Work:
        """Return the same for the fit of a model; tell where it is to go on and there is nothing of it."""
        name = type(model).__name__
        fit = f"{name}-{_digest(data, _told(model))[:8]}"
        if self.resume and not any(folder.glob(f".fit-{fit}-*/**/round-*")):
            unfinished = sorted({path.name.split("-")[1] for path in folder.glob(".fit-*") if fit not in path.name})
            others = f"; unfinished there, with other settings or ratings: {', '.join(unfinished)}"
            tell(f"nothing to go on with in {folder}: {name} begins anew{others if unfinished else ''}")
        return replace(self, fit=fit)

    def place(self, folder: Path, data: str, model: Any, step: str) -> Path:
        """Return the folder for what is done of a step of the fit, see `parts`; it is gone when all is done."""
        return folder / f".fit-{self.fit or type(model).__name__}-{_digest(data, _told(model), step)[:16]}"

    def parts(
        self, make: Callable[[int], Part], n: int, folder: Path | None, data: str, model: Any, step: str, n_ratings: int
    ) -> Rounds:
        """Return n objects that work on a shard each.

        Parameters
        ----------
        make : callable
            ``make(k)`` returns the one of shard k.
        n : int
        folder : Path or None
            Where the shards are. What is done is kept there too, so that it can go on after a kill.
        data : str
            What tells the ratings from any others.
        model : estimator
            Whose parameters the work depends on.
        step : str
            What tells the work from any other for these ratings and this model.
        n_ratings : int
            In all shards.
        """
        name, journal = type(model).__name__, None
        if folder is not None:
            journal = Journal(self.place(folder, data, model, step), self.resume, self.every)
            if journal.last_round:
                tell(f"{name}, {step}: goes on after round {journal.last_round:,}")
        if self.client is None:
            return OneByOne(make, n, journal, n_ratings)
        return OnWorkers(self.client, make, n, journal, name, n_ratings)


def _told(model: Any) -> str:
    """Return the class of a model and its parameters, but for those that change nothing of a fit."""
    told = {name: value for name, value in model.get_params().items() if name not in ("callback", "verbose")}
    return f"{type(model).__name__}({told})"


def _digest(*texts: str) -> str:
    return hashlib.sha256(" ".join(texts).encode()).hexdigest()


def in_memory(ratings: Any, what: str) -> Ratings:
    """Return ratings for what needs them in memory, or refuse those in shards."""
    if isinstance(ratings, Ratings):
        return ratings
    raise InvalidInputError(
        f"{what} needs the ratings of the model in memory, and they are in shards",
        advice="where they fit, model.to_memory() takes them there in Python",
    )
