"""Factorizations learned from ratings in shards: rows of users live with the shards."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.random import advance, uniforms
from cofactor.model.progress import Monitor
from cofactor.model.selection.path import PATH_TOL, Tried, Validation, repeated, search_alpha
from cofactor.problems.least_squares import ColumnsInShards, LeastSquaresPart, Ridge, ShardLeastSquares
from cofactor.problems.observed import ShardProblem, ShardVectors, UserPart
from cofactor.problems.users import generators_of_shards
from cofactor.ratings import shard_folder
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.scoring import first_items, first_users, midpoints
from cofactor.ratings.shard_folder import MANIFEST, Finish, StoredShard, StoredUsers
from cofactor.ratings.sharded import InMemory, ShardedRatings
from cofactor.solvers.descent import descend
from cofactor.solvers.lbfgs import quasi_newton
from cofactor.solvers.parts import Answer, Executor, Part, Question
from cofactor.solvers.result import Callback, Result, Trace

Arrays = Mapping[str, NDArray[Any]]

#: Returns the errors of pairs of users and items of known levels, where some arrays are learned.
Errors = Callable[[Arrays, NDArray[Any], NDArray[Any], NDArray[Any]], NDArray[Any]]

#: Number of stored pairs: that of `lbfgs` where curvatures are known.
_MEMORY = 2

_REST = "rest"


#: Minimises the objective of a model over ratings in shards at an alpha, always from the same start.
Solve = Callable[..., "Solved"]


@dataclass(frozen=True)
class Start:
    """Where fits of a model begin.

    Attributes
    ----------
    items : mapping from str to ndarray
        Arrays of items.
    generators : list of Generator
        What draws the factors of the users of each shard.
    own : ndarray of shape (R - 1,)
        Thresholds of each user.
    """

    items: Arrays
    generators: list[np.random.Generator]
    own: NDArray[Any]

    @classmethod
    def of(cls, n_factors: int, ratings: ShardedRatings, generator: np.random.Generator) -> Self:
        """Return that of a fit to some ratings."""
        d, R = min(n_factors, *ratings.shape), ratings.n_levels
        generators = generators_of_shards(generator, np.diff(ratings.bounds), d)
        own = first_users(np.ones(1, np.int64), d, R, np.random.default_rng(0))["own"][0]
        return cls(first_items(ratings.item_counts, d, generator), generators, own)

    def make(self, kind: Callable[..., Part], problem: ShardProblem | ShardLeastSquares) -> Callable[[int], Part]:
        """Return what makes the parts, given their class."""
        return partial(_part, kind, problem, self.generators, self.items["V"].shape[1], len(self.own) + 1)


def _part(
    kind: Callable[..., Part],
    problem: ShardProblem | ShardLeastSquares,
    generators: list[np.random.Generator],
    n_factors: int,
    n_levels: int,
    k: int,
) -> Part:
    """Return the rows of shard k at the start."""
    counts = np.diff(problem.shards.shard(k).indptr)
    return kind(k, problem, first_users(counts, n_factors, n_levels, copy.deepcopy(generators[k])))


@dataclass(frozen=True)
class Solved:
    """What a minimisation over ratings in shards found: rows are with the parts still.

    Attributes
    ----------
    learned : mapping from str to array or number
        All attributes of the model that are not of users.
    finish : callable
        Makes the arrays of users.
    result : Result
    parts : Executor
    """

    learned: Mapping[str, Any]
    finish: Finish
    result: Result
    parts: Executor

    def users(self, ratings: ShardedRatings, kind: str) -> tuple[StoredUsers | None, Arrays]:
        """Return the arrays of all users, by attribute, in memory or where a model of a class leaves them."""

        def ask(then: Finish) -> Iterable[Answer]:
            return self.parts.each({"op": "arrays", "then": then})

        V, journal = self.learned["V_"], self.parts.journal
        if journal is None or not ratings.work.stores(ratings.shape[0] * V.shape[1] * V.itemsize):
            return None, _whole(ask(self.finish), ratings.bounds)
        assert ratings.folder is not None
        stored = StoredUsers.write(ratings.folder, journal.folder, kind, ratings.users, ask, self.finish)
        return stored, stored.arrays


def minimise_by_parts(
    problem: ShardProblem,
    model: Any,
    start: Start,
    ratings: ShardedRatings,
    alpha: float,
    tol: float | None,
    callback: Callback | None,
) -> tuple[Result, dict[str, NDArray[Any]], Executor]:
    """Minimise a loss and penalties by L-BFGS; return also the arrays of items, and the parts, which have the rows."""
    tol = model.tol if tol is None else tol
    parts = ratings.parts(start.make(partial(UserPart, memory=_MEMORY), problem), model, _step(alpha, tol))
    own = start.own if "own" in problem.penalties else np.zeros(0)
    n = ratings.shape[0]
    trace = partial(Trace, max_iter=model.max_iter, tol=tol, callback=callback)
    vectors = ShardVectors(parts, problem, start.items, n, ratings.item_counts, n * own, _MEMORY, trace)
    result = quasi_newton(vectors, vectors.trace)
    return result, vectors.arrays(), parts


def solve_least_squares(
    model: Any,
    start: Start,
    ratings: ShardedRatings,
    alpha: float,
    *,
    by_count: bool = False,
    tol: float | None = None,
    callback: Callback | None = None,
) -> Solved:
    """Minimise the objective of `ALS`, or of `PMF`, at `alpha`; to no finer tolerance than theirs.

    Parameters
    ----------
    model : ALS or PMF
        Only its parameters are looked at.
    start : Start
    ratings : ShardedRatings
    alpha : float
    by_count : bool, default=False
        Whether penalties of users and items count once for each rating.
    tol : float, optional
    callback : callable, optional
    """
    d, tol = start.items["V"].shape[1], max(tol or 0, model.tol)
    mean = ratings.mean_of(ratings.scale)
    values = np.append(0.0, ratings.scale - mean).astype(model.dtype)
    ridge = Ridge(d, alpha, model.alpha_bias, by_count)
    problem = ShardLeastSquares(ratings, values, ratings.bounds, ratings.item_counts, ridge)
    parts = ratings.parts(start.make(LeastSquaresPart, problem), model, _step(alpha, tol))
    columns = ColumnsInShards(parts, problem)
    trace = Trace(columns, model.max_iter, tol, callback)
    result = descend(columns, columns.pack(start.items), columns.update, trace)
    found = columns.arrays(result.x)
    learned: dict[str, Any] = {"V_": np.array(found["V"]), "item_bias_": np.array(found["c"])}
    learned |= {"boundaries_": midpoints(ratings.scale), "mean_": mean}
    return Solved(learned, _as_they_are, result, parts)


def _step(alpha: float, tol: float) -> str:
    """Return what tells a minimisation from others of a fit."""
    return f"alpha {alpha!r} to {tol!r}"


def _as_they_are(k: int, rows: Arrays) -> Answer:
    """Return the factors and biases of the users of a shard."""
    return {"U_": rows["U"], "user_bias_": rows["b"]}


def _whole(answers: Iterable[Answer], bounds: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the arrays of all users, those of a shard after those of another."""
    whole: dict[str, NDArray[Any]] = {}
    for k, arrays in enumerate(answers):
        for name, array in arrays.items():
            if k == 0:
                whole[name] = np.empty((int(bounds[-1]), *array.shape[1:]), array.dtype)
            whole[name][bounds[k] : bounds[k + 1]] = array
    return whole


def choose_alpha_in_shards(
    model: Any,
    ratings: ShardedRatings,
    solve: Solve,
    errors: Errors,
    generator: np.random.Generator,
    monitor: Monitor,
    unit: float = 1.0,
) -> Validation:
    """Choose alpha as `select_alpha` does, but that all candidates begin at the same start.

    One rating of each user is held out, which depends on the user's row among all, and on the seed, but not on the
    shards. What is left of a folder of shards is written into that folder for as long as the choice takes: some 14
    bytes a rating. Candidates that were tried are not tried again by a fit that is resumed.

    Parameters
    ----------
    model : estimator
        Whose parameters the work depends on.
    ratings : ShardedRatings
    solve : Solve
    errors : callable
    generator : Generator
        Source of the splits.
    monitor : Monitor
    unit : float, default=1.0
        What candidates are multiples of.
    """
    numbers = iter(range(1, 100))

    def split() -> _SplitOfShards:
        return _SplitOfShards.of(model, ratings, solve, errors, np.uint64(generator.integers(2**63)), next(numbers))

    splits = repeated(split)
    found = search_alpha(splits, None, monitor, unit)
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
    uniforms(advance(key, first), drawn)
    counts = np.diff(shard.indptr)
    users = np.flatnonzero(counts >= 2)
    picks = np.minimum((drawn[users] * counts[users]).astype(np.int64), counts[users] - 1)
    return users, shard.indptr[users] + picks


def rest_of(shard: Ratings, first: int, key: np.uint64) -> Ratings:
    """Return the ratings of a shard that are not held out; ids are numbers, and there are no times."""
    keep = np.ones(shard.n_ratings, dtype=np.bool_)
    keep[held_out_of(shard, first, key)[1]] = False
    rest = replace(shard, times=None, rating_scale=None).subset(keep)
    users = IdMap.of_sorted(np.arange(first, first + len(shard.users), dtype=np.int64))
    return replace(rest, users=users, items=IdMap.of_range(len(shard.items)))


class _HoldOut(Part):
    """One shard, of which some ratings are held out."""

    def __init__(self, ratings: ShardedRatings, key: np.uint64, k: int) -> None:
        self.ratings, self.key, self.k = ratings, key, k

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
    solved: Mapping[str, Any]
    finish: Finish
    errors: Errors

    def __call__(self, k: int, rows: Arrays) -> Answer:
        """Return the error of each rating that was held out, and the sum over users of mean squares of factors."""
        shard = self.ratings.shard(k)
        users, held_out = held_out_of(shard, int(self.ratings.bounds[k]), self.key)
        learned = {**self.solved, **self.finish(k, rows)}
        errors = self.errors(learned, users, shard.indices[held_out], shard.levels[held_out])
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
    errors : callable
    cut : Executor
        Parts that held ratings out; their journal keeps what came out of candidates.
    n_tried : int
        Candidates so far.
    """

    ratings: ShardedRatings
    rest: ShardedRatings
    key: np.uint64
    solve: Solve
    errors: Errors
    cut: Executor
    n_tried: int = 0

    @classmethod
    def of(cls, model: Any, ratings: ShardedRatings, solve: Solve, errors: Errors, key: np.uint64, number: int) -> Self:
        """Hold ratings out."""
        cut = ratings.parts(partial(_HoldOut, ratings, key), model, f"validation {number}")
        found = cls(ratings, _rest(ratings, key, cut), key, solve, errors, cut)
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
            then = _Errors(self.ratings, self.key, solved.learned, solved.finish, self.errors)
            answers = list(solved.parts.each({"op": "arrays", "then": then}))
            found = {
                "errors": np.concatenate([answer["errors"] for answer in answers]),
                "squares": np.sum([answer["squares"] for answer in answers]),
            }
            if journal is not None:
                journal.write(self.n_tried, found)
            solved.parts.done()
        return Tried(found["errors"], start, float(found["squares"]) / self.ratings.shape[0])


def _rest(ratings: ShardedRatings, key: np.uint64, cut: Executor) -> ShardedRatings:
    """Return the ratings that are not held out: in memory, or in a folder within that of all."""
    if cut.journal is None:
        firsts = ratings.bounds[:-1].tolist()
        shards = [rest_of(shard, first, key) for shard, first in zip(ratings, firsts, strict=True)]
        counts = {name: sum(getattr(shard, name) for shard in shards) for name in ("level_counts", "item_counts")}
        return replace(ratings, **counts, has_times=False, rating_scale=None, source=InMemory(shards), boundary=None)
    place = cut.journal.folder / _REST
    if not (place / MANIFEST).exists():
        place.mkdir(exist_ok=True)
        answers = cut.each({"op": "write", "folder": str(place)})
        written = [StoredShard.of_state(json.loads(str(answer["stored"]))) for answer in answers]
        items = IdMap.of_range(len(ratings.items))
        item_counts = shard_folder.item_counts_of(place, written, len(items))
        shard_folder.write_common(place, items, ratings.scale, None, written, item_counts)
    return replace(ShardedRatings.open(place), work=replace(ratings.work, users="memory"))
