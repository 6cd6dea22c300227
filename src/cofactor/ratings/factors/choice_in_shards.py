"""The choice of alpha by validation where ratings are in shards: fits to a part of each shard, errors on the rest."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.random import moved_on, uniforms
from cofactor.model.progress import Monitor
from cofactor.model.selection.path import PATH_TOL, Arrays, Tried, Validation, repeated, search_alpha
from cofactor.ratings import shard_folder
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.shard_folder import MANIFEST, StoredShard
from cofactor.ratings.sharded import InMemory, ShardedRatings
from cofactor.solvers.parts import Answer, Question, Rounds
from cofactor.solvers.result import Callback, Result

__all__ = ["Finish", "Solve", "Solved", "choose_alpha_in_shards", "held_out_of"]

#: Makes the arrays of users, by attribute of the model, of the number of a part and its arrays of rows.
Finish = Callable[[int, Mapping[str, NDArray[Any]]], Answer]

_REST = "rest"


@dataclass(frozen=True)
class Solved:
    """What a minimisation over ratings in shards found: rows are with the parts still.

    Attributes
    ----------
    model : FactorModel
        A copy with all attributes that are not of users, and neither ids nor ratings.
    finish : callable
        Makes the arrays of users.
    result : Result
    parts : Rounds
    """

    model: Any
    finish: Finish
    result: Result
    parts: Rounds


class Solve(Protocol):
    """Minimises the objective of a model over ratings in shards at an alpha, always from the same start."""

    def __call__(
        self, ratings: ShardedRatings, alpha: float, *, tol: float | None = None, callback: Callback | None = None
    ) -> Solved:
        """Minimise."""


def choose_alpha_in_shards(
    model: Any, ratings: ShardedRatings, solve: Solve, generator: np.random.Generator, monitor: Monitor
) -> Validation:
    """Choose alpha as `select_alpha` does, but that all candidates begin at the same start.

    One rating of each user is held out, which depends on the user's row among all, and on the seed, but not on the
    shards. What is left of a folder of shards is written into that folder for as long as the choice takes: some 14
    bytes a rating. Candidates that were tried are not tried again by a fit that is resumed.

    Parameters
    ----------
    model : FactorModel
    ratings : ShardedRatings
    solve : Solve
    generator : Generator
        Source of the splits.
    monitor : Monitor
    """
    numbers = iter(range(1, 100))

    def split() -> _SplitOfShards:
        return _SplitOfShards.of(model, ratings, solve, np.uint64(generator.integers(2**63)), next(numbers))

    splits = repeated(split)
    found = search_alpha(splits, None, monitor, model._alpha_unit(ratings))
    for one in splits:
        one.cut.done()
    return found


def held_out_of(shard: Ratings, first: int, key: np.uint64) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return users of a shard with two ratings at least, and the position of a random one of each.

    Parameters
    ----------
    shard : Ratings
    first : int
        Number of its first user among all.
    key : uint64

    Examples
    --------
    >>> ratings = Ratings.from_pairs([(u, i) for u in range(9) for i in range(1 + u % 4)], [1, 2] * 10 + [1])
    >>> users, positions = held_out_of(ratings, 0, np.uint64(7))
    >>> users.tolist(), ratings.row_of_entry[positions].tolist()
    ([1, 2, 3, 5, 6, 7], [1, 2, 3, 5, 6, 7])
    """
    drawn = np.empty(len(shard.users))
    uniforms(moved_on(key, first), drawn)
    counts = np.diff(shard.indptr)
    users = np.flatnonzero(counts >= 2)
    picks = np.minimum((drawn[users] * counts[users]).astype(np.int64), counts[users] - 1)
    return users, shard.indptr[users] + picks


def rest_of(shard: Ratings, first: int, key: np.uint64) -> Ratings:
    """Return the ratings of a shard that are not held out; ids are numbers, and there are no times."""
    keep = np.ones(shard.n_ratings, dtype=np.bool_)
    keep[held_out_of(shard, first, key)[1]] = False
    rest = replace(shard, times=None, coding=None).subset(keep)
    users = IdMap.of_sorted(np.arange(first, first + len(shard.users), dtype=np.int64))
    return replace(rest, users=users, items=IdMap.of_range(len(shard.items)))


class _CutPart:
    """One shard, of which some ratings are held out."""

    def __init__(self, ratings: ShardedRatings, key: np.uint64, k: int) -> None:
        self.ratings, self.key, self.k = ratings, key, k

    def state(self) -> dict[str, NDArray[Any]]:
        """Return nothing: questions change nothing."""
        return {}

    def restore(self, state: Arrays) -> None:
        """Take nothing."""

    def answer(self, question: Question) -> Answer:
        """Write what is left of the shard; return what a manifest says of it."""
        rest = rest_of(self.ratings.shard(self.k), int(self.ratings.bounds[self.k]), self.key)
        # A name of its own: a worker that was given up may still write.
        name = f"{shard_folder.shard_name(self.k)}-{uuid.uuid4().hex[:8]}"
        stored = shard_folder.write_shard(Path(question["folder"]), name, rest)
        return {"stored": np.array(json.dumps(asdict(stored)))}


@dataclass(frozen=True)
class _Errors:
    """Measures, where a shard is, how a fit to the rest of its ratings does on those that were held out."""

    ratings: ShardedRatings
    key: np.uint64
    model: Any
    finish: Finish

    def __call__(self, k: int, rows: Arrays) -> Answer:
        """Return the error of each rating that was held out, and the sum over users of mean squares of factors."""
        model = copy.copy(self.model)
        for name, array in self.finish(k, rows).items():
            setattr(model, name, array)
        shard = self.ratings.shard(k)
        users, held_out = held_out_of(shard, int(self.ratings.bounds[k]), self.key)
        levels = model._decode(model._margins(users, shard.indices[held_out]))
        errors = model._validation_errors(levels, shard.levels[held_out])
        errors = errors if errors.dtype == np.bool_ else errors.astype(np.float32)  # all of them come together
        return {"errors": errors, "squares": np.array(np.square(rows["U"], dtype=np.float64).mean(axis=1).sum())}


@dataclass
class _SplitOfShards:
    """One validation split of ratings in shards.

    Attributes
    ----------
    ratings, rest : ShardedRatings
        All ratings, and those that are not held out.
    key : uint64
        Which are held out.
    solve : Solve
    cut : Rounds
        Parts that held ratings out; their journal keeps what came out of candidates.
    n_tried : int
        Candidates so far.
    """

    ratings: ShardedRatings
    rest: ShardedRatings
    key: np.uint64
    solve: Solve
    cut: Rounds
    n_tried: int = 0

    @classmethod
    def of(cls, model: Any, ratings: ShardedRatings, solve: Solve, key: np.uint64, number: int) -> _SplitOfShards:
        """Hold ratings out."""
        cut = ratings.parts(partial(_CutPart, ratings, key), model, f"validation {number}")
        found = cls(ratings, _rest(ratings, key, cut), key, solve, cut)
        if not found.n_held_out:
            cut.done()
        return found

    @property
    def n_held_out(self) -> int:
        """Number of ratings that are held out."""
        return self.ratings.n_ratings - self.rest.n_ratings

    def fit(self, alpha: float, start: None) -> Tried:
        """Return what comes out at `alpha`."""
        self.n_tried += 1
        journal = self.cut.journal
        found = None if journal is None else journal.read(self.n_tried)
        if found is None:
            solved = self.solve(self.rest, alpha, tol=PATH_TOL)
            then = _Errors(self.ratings, self.key, solved.model, solved.finish)
            answers = list(solved.parts.each({"op": "arrays", "then": then}))
            found = {
                "errors": np.concatenate([answer["errors"] for answer in answers]),
                "squares": np.sum([answer["squares"] for answer in answers]),
            }
            if journal is not None:
                journal.write(self.n_tried, found)
            solved.parts.done()
        return Tried(found["errors"], start, float(found["squares"]) / self.ratings.shape[0])


def _rest(ratings: ShardedRatings, key: np.uint64, cut: Rounds) -> ShardedRatings:
    """Return the ratings that are not held out: in memory, or in a folder within that of all."""
    if cut.journal is None:
        firsts = ratings.bounds[:-1].tolist()
        shards = [rest_of(shard, first, key) for shard, first in zip(ratings, firsts, strict=True)]
        counts = {name: sum(getattr(shard, name) for shard in shards) for name in ("level_counts", "item_counts")}
        return replace(ratings, **counts, has_times=False, coding=None, source=InMemory(shards), boundary=None)
    place = cut.journal.folder / _REST
    if not (place / MANIFEST).exists():
        place.mkdir(exist_ok=True)
        answers = cut.each({"op": "write", "folder": str(place)})
        written = [StoredShard.of_state(json.loads(str(answer["stored"]))) for answer in answers]
        items = IdMap.of_range(len(ratings.items))
        item_counts = shard_folder.item_counts_of(place, written, len(items))
        shard_folder.write_common(place, items, ratings.scale, None, written, item_counts).write(place)
    return replace(ShardedRatings.open(place), work=replace(ratings.work, users="memory"))
