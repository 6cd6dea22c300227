"""Ratings in shards by ranges of users: in memory, or in a folder from which one shard after another is read."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import check_choice
from cofactor.errors import InvalidInputError
from cofactor.files import PathLike
from cofactor.progress import log_line
from cofactor.rating_scale import RatingScale
from cofactor.ratings import shard_folder
from cofactor.ratings.data import ColumnEntries, Ratings, restrict, sides_of
from cofactor.ratings.ids import IdMap
from cofactor.ratings.shard_folder import InFolder, OfItems, OfRows
from cofactor.solvers.parts import Executor, Journal, Part, SerialExecutor
from cofactor.solvers.workers import DaskExecutor
from cofactor.text import plural, some_of

#: Bytes of what a fit finds for users that it takes to memory, and a file of the model holds, if nothing else is asked.
MOST_IN_MEMORY = 1 << 30


@dataclass(frozen=True)
class ExecutionConfig:
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


@dataclass(frozen=True, eq=False)
class InMemory:
    """Shards which are there."""

    shards: Sequence[Ratings]

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        return self.shards[k]

    def rows(self, k: int, users: NDArray[np.int64]) -> OfRows:
        """Return the entries of some users of a shard."""
        return self.shards[k].rows(users)

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return the entries of some items of a shard."""
        shard = self.shards[k]
        starts = shard.col_indptr[first : last + 1]
        part = slice(starts[0], starts[-1])
        return starts - starts[0], shard.col_indices[part], shard.levels[shard.to_csr[part]]

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""
        return self.shards[k].users


@dataclass(frozen=True, eq=False, repr=False)
class ShardedRatings:
    r"""Ratings of users for items, cut into shards by ranges of users.

    Build it with `from_ratings`, or `open` a folder that `save` or ``cofactor shard`` wrote. A shard is a `Ratings`
    of its own users, whose rows are counted from 0, and of all items, which have the same index everywhere. User 0 of
    shard k is user ``bounds[k]`` of the whole.

    Of a folder, the manifest, ids, and where the ratings of each item begin are read and checked when it is opened. The
    ratings of a shard are read when it is asked for: what is in memory then can be changed by nobody else, and is
    checked. A shard is not kept here, so that a pass over all shards holds one of them at a time. Times and weights are
    mapped into memory.

    Ratings may be appended to the folder meanwhile, also in the middle of a fit: the files of those that were opened
    stay there until nobody has them open any more (see `append_files`).

    Attributes
    ----------
    items : IdMap
        Ids of the columns.
    scale : ndarray of shape (R,), float64
        The increasing values a rating can take.
    rating_scale : RatingScale or None
        What the levels stand for, where a data set says so.
    bounds : ndarray of shape (n_shards + 1,), int64
        The users of shard k are ``bounds[k]`` to ``bounds[k + 1] - 1``.
    level_counts : ndarray of shape (R,), int64
        Number of ratings of each level.
    item_counts : ndarray of shape (n_items,), int64
        Number of ratings of each item.
    has_times : bool
        Whether ratings have times.
    source : InMemory or InFolder
        Where shards come from.
    boundary : int or None
        Which level is the last one that is -1, of bi-level ratings made from those of the source.
    work : ExecutionConfig
        How fits are carried out, see `on`.

    Examples
    --------
    >>> pairs = [("ann", "Up"), ("bob", "Up"), ("ann", "Alien"), ("eve", "Up")]
    >>> ratings = Ratings.from_pairs(pairs, [4, 2, 5, 1], scale=[1, 2, 3, 4, 5])
    >>> sharded = ShardedRatings.from_ratings(ratings, 2)
    >>> sharded
    ShardedRatings(3 users, 2 items, 4 ratings on 1, 2, 3, 4, 5, in 2 shards)
    >>> sharded.bounds.tolist(), sharded.shard(1).users, sharded.shard(1).indices.tolist()
    ([0, 1, 3], IdMap('bob', 'eve'), [1, 1])
    """

    items: IdMap
    scale: NDArray[np.float64]
    rating_scale: RatingScale | None
    bounds: NDArray[np.int64]
    level_counts: NDArray[np.int64]
    item_counts: NDArray[np.int64]
    has_times: bool
    source: InMemory | InFolder = field(repr=False)
    boundary: int | None = None
    work: ExecutionConfig = field(default_factory=ExecutionConfig, repr=False)

    @classmethod
    def from_ratings(cls, ratings: Ratings, n_shards: int) -> Self:
        """Cut ratings that are in memory.

        Parameters
        ----------
        ratings : Ratings
            Their rows are shared. With more than one shard, each makes its entries by column when it is first worked
            on: 8 bytes a rating in all, and 8 for each item and shard.
        n_shards : int
            How many, at most one for each user.

        Returns
        -------
        ShardedRatings
            Shards of about the same number of ratings; a single one is `ratings` itself.

        Raises
        ------
        InvalidInputError
            If there are fewer users than shards.
        """
        bounds = shard_bounds(ratings.indptr, n_shards)
        ends = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        shards = [ratings] if len(bounds) == 2 else [_rows_of(ratings, *users) for users in ends]
        return cls(
            ratings.items,
            ratings.scale,
            ratings.rating_scale,
            bounds,
            ratings.level_counts,
            ratings.item_counts,
            ratings.times is not None,
            InMemory(shards),
        )

    @classmethod
    def open(cls, folder: PathLike) -> Self:
        """Open a folder of sharded ratings.

        Parameters
        ----------
        folder : path-like
            Written by `save` or ``cofactor shard``.

        Returns
        -------
        ShardedRatings

        Raises
        ------
        InvalidInputError
            If the manifest is missing, of another version or edited; if a file is missing, a link, or has another size
            than the manifest says; if users do not increase from shard to shard, or counts are not those of all shards.
            The message names the file. A shard that is damaged otherwise is refused when it is first read, see
            `verify`.
        """
        return cls._of(InFolder.open(Path(os.path.realpath(folder))))

    @classmethod
    def _of(cls, source: InFolder) -> Self:
        manifest = source.manifest
        return cls(
            source.items,
            source.scale,
            source.rating_scale,
            np.cumsum([0, *(shard.n_users for shard in manifest.shards)], dtype=np.int64),
            np.array(manifest.level_counts, dtype=np.int64),
            source.item_counts,
            manifest.has_times,
            source,
        )

    def save(self, folder: PathLike) -> None:
        """Write all shards to a new folder, whole or not at all.

        Parameters
        ----------
        folder : path-like
            There must be no such folder, or an empty one.

        Raises
        ------
        InvalidInputError
            If something is there already.
        OSError
            If the disk is full, or cannot be written; the message names a file. Nothing is left behind then.
        """
        target = shard_folder.new_folder(folder)
        partial = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            partial.mkdir()
            shards = [
                shard_folder.write_shard(partial, shard_folder.shard_name(k), self.shard(k)) for k in range(len(self))
            ]
            common = self.items, self.scale, self.rating_scale, shards, self.item_counts
            shard_folder.write_common(partial, *common)
            os.replace(partial, target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the folder, and what its manifest says, instead of what was read."""
        if self.folder is None:
            raise InvalidInputError("only ratings in a folder can be sent to other processes", argument="X")
        return _reopened, (self.source, self.boundary)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __repr__(self) -> str:
        n, m = self.shape
        parts = plural(n, "user"), plural(m, "item"), plural(self.n_ratings, "rating")
        return f"ShardedRatings({', '.join(parts)} on {some_of(self.scale, 10)}, in {plural(len(self), 'shard')})"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of users and number of items."""
        return int(self.bounds[-1]), len(self.items)

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return int(self.level_counts.sum())

    @property
    def n_levels(self) -> int:
        """Number R of levels of the scale."""
        return self.scale.size

    @property
    def folder(self) -> Path | None:
        """Where they are; None if they are in memory."""
        return self.source.folder if isinstance(self.source, InFolder) else None

    @property
    def n_bytes(self) -> int:
        """Size of all files of the folder, 0 in memory."""
        return self.source.n_bytes() if isinstance(self.source, InFolder) else 0

    @cached_property
    def users(self) -> IdMap:
        """Ids of the rows, those of all shards."""
        return IdMap.of_parts([self.source.users(k) for k in range(len(self))])

    def mean_of(self, numbers: NDArray[Any]) -> float:
        """Return the mean over ratings of numbers that belong to the levels."""
        return float(self.level_counts @ numbers) / self.n_ratings

    def shard(self, k: int) -> Ratings:
        """Return the ratings of a shard.

        Parameters
        ----------
        k : int
            Which, counted from 0.

        Returns
        -------
        Ratings
            Of the users ``bounds[k]`` to ``bounds[k + 1] - 1`` and all items. Its arrays are read-only by agreement:
            what is written to one stays in this process.

        Raises
        ------
        InvalidInputError
            If there is no such shard, or a file of it is not as it was written; the message names it.
        """
        if not 0 <= k < len(self):
            raise InvalidInputError(f"expected 0 to {len(self) - 1}, a shard", argument="k", found=k)
        found = self.source.ratings(k)
        return found if self.boundary is None else found.at_boundary(self.boundary)

    def of_items(self, k: int, first: int, last: int) -> OfItems:
        """Return the entries of the items first..last-1 in shard k: offsets from 0 on, users there, and levels."""
        offsets, users, levels = self.source.of_items(k, first, last)
        return offsets, users, self._sides(levels)

    def rows(self, users: ArrayLike) -> OfRows:
        """Return the entries of some users, see `Ratings.rows`; only their shards are looked at."""
        wanted = np.asarray(users, dtype=np.int64)
        owners = np.searchsorted(self.bounds, wanted, side="right") - 1
        order = np.argsort(owners, kind="stable")
        found = [
            self.source.rows(int(k), wanted[order[owners[order] == k]] - self.bounds[k]) for k in np.unique(owners)
        ]
        counts = np.empty(len(wanted), dtype=np.int64)
        counts[order] = np.concatenate([np.diff(indptr) for indptr, _, _ in found] or [counts])
        starts = np.empty(len(wanted), dtype=np.int64)
        starts[order] = np.cumsum(counts[order]) - counts[order]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        entries = np.repeat(starts - indptr[:-1], counts) + np.arange(indptr[-1])
        indices = np.concatenate([np.zeros(0, np.int32), *(part for _, part, _ in found)])
        levels = np.concatenate([np.zeros(0, np.uint8), *(part for _, _, part in found)])
        return indptr, indices[entries], self._sides(levels[entries])

    def _sides(self, levels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return levels of the source, or on which sides of the boundary they are."""
        return levels if self.boundary is None else sides_of(levels, self.boundary)

    @cached_property
    def user_counts(self) -> NDArray[np.int64]:
        """Number of ratings of each user."""
        return np.concatenate([shard.user_counts for shard in self])

    def at_boundary(self, level: int) -> Self:
        """Return the bi-level ratings at a boundary, see `Ratings.at_boundary`."""
        if self.boundary is not None:
            return self
        low = int(self.level_counts[:level].sum())
        counts = np.array([low, self.n_ratings - low])
        return replace(self, scale=np.array([-1.0, 1.0]), rating_scale=None, level_counts=counts, boundary=level)

    def on(self, client: Any = None, *, resume: bool = False, every: float = 60.0, users: str = "auto") -> Self:
        """Return the same ratings, whose fits are carried out elsewhere, or go on from where one was killed.

        With a seed results are the same to the bit on all machines with the same processor and versions, and however
        often a fit was killed.

        Parameters
        ----------
        client : distributed.Client, optional
            The workers of this Dask cluster do the work; they must see the folder. By default this process does.
        resume : bool, default=False
            Go on with a fit of a model with the same parameters, among them a seed, that did not end: the folder keeps
            what it had done. Where it keeps nothing of that, a fit says so, and begins anew.
        every : float, default=60.0
            Seconds between two times that the rows' part of a fit is written to the folder.
        users : {"auto", "memory", "folder"}, default="auto"
            Where factors, biases and thresholds of users, or samples of these, go: at the end of a fit to memory, and
            with the model into its file; or into the folder, from where the model maps them into memory. Its file is
            small then, and needs the folder; predictions are the same to the bit. `RatingModel.to_memory` takes them to
            memory. "auto" leaves them in the folder from 1 GiB on.

        Returns
        -------
        ShardedRatings

        Raises
        ------
        InvalidInputError
            If there is a client, or something to resume or to leave there, and the ratings are not in a folder.
        """
        check_choice("users", users, ("auto", "memory", "folder"))
        asked = {"client": client is not None, "resume": resume, "users": users == "folder"}
        for argument in (name for name, given in asked.items() if given and self.folder is None):
            raise InvalidInputError(
                "only ratings in a folder can be worked on elsewhere, or later",
                argument=argument,
                advice="write them to one first, see ShardedRatings.save",
            )
        return replace(self, work=ExecutionConfig(client, resume, every, users))

    def of_fit(self, model: Any) -> Self:
        """Return the same for the fit of a model; tell where it is to go on and there is nothing of it."""
        if self.folder is None:
            return self
        name = type(model).__name__
        fit = f"{name}-{self._digest(model)[:8]}"
        if self.work.resume and not any(self.folder.glob(f".fit-{fit}-*/**/round-*")):
            unfinished = sorted(
                {path.name.split("-")[1] for path in self.folder.glob(".fit-*") if fit not in path.name}
            )
            others = f"; unfinished there, with other settings or ratings: {', '.join(unfinished)}"
            log_line(f"nothing to go on with in {self.folder}: {name} begins anew{others if unfinished else ''}")
        return replace(self, work=replace(self.work, fit=fit))

    def place(self, model: Any, step: str) -> Path:
        """Return the folder for what is done of a step of the fit, see `parts`; it is gone when all is done."""
        assert self.folder is not None
        return self.folder / f".fit-{self.work.fit or type(model).__name__}-{self._digest(model, step)[:16]}"

    def _digest(self, model: Any, *steps: str) -> str:
        """Return what tells these ratings and a model, but for parameters that change nothing of a fit, from others."""
        assert isinstance(self.source, InFolder)
        data = self.source.key if self.boundary is None else f"{self.source.key} at {self.boundary}"
        told = {name: value for name, value in model.get_params().items() if name not in ("callback", "verbose")}
        return hashlib.sha256(" ".join((data, f"{type(model).__name__}({told})", *steps)).encode()).hexdigest()

    def parts(self, make: Callable[[int], Part], model: Any, step: str) -> Executor:
        """Return objects that work on a shard each; what is done is kept in the folder, to go on after a kill.

        Parameters
        ----------
        make : callable
            ``make(k)`` returns the one of shard k.
        model : estimator
            Whose parameters the work depends on.
        step : str
            What tells the work from any other for these ratings and this model, in words.
        """
        name, journal = type(model).__name__, None
        if self.folder is not None:
            journal = Journal(self.place(model, step), self.work.resume, self.work.every)
            if journal.last_round:
                log_line(f"{name}, {step}: goes on after round {journal.last_round:,}")
        if self.work.client is None:
            return SerialExecutor(make, len(self), journal, self.n_ratings)
        return DaskExecutor(self.work.client, make, len(self), journal, name, self.n_ratings)

    def __iter__(self) -> Iterator[Ratings]:
        return (self.shard(k) for k in range(len(self)))

    def to_ratings(self, shards: Sequence[int] | None = None) -> Ratings:
        """Return ratings in memory, as one `Ratings`.

        Parameters
        ----------
        shards : sequence of int, optional
            Which shards, in any order, one at least; all by default.

        Examples
        --------
        >>> ratings = Ratings.from_pairs([("ann", "Up"), ("bob", "Up"), ("eve", "Up")], [4, 2, 2])
        >>> ShardedRatings.from_ratings(ratings, 3).to_ratings()
        Ratings(3 users, 1 item, 3 ratings on 2, 4)
        >>> ShardedRatings.from_ratings(ratings, 3).to_ratings([0, 2]).users
        IdMap('ann', 'eve')
        """
        chosen = list(self) if shards is None else [self.shard(k) for k in sorted(set(shards))]
        if not chosen:
            raise InvalidInputError("expected one shard at least", argument="shards", found=shards)
        return _joined(chosen, IdMap.of_parts([shard.users for shard in chosen]))

    def restrict(self, users: IdMap | None = None, items: IdMap | None = None) -> Ratings:
        """Return the ratings by some users and of some items, in memory; only the shards of these users are read.

        Parameters
        ----------
        users, items : IdMap, optional
            Of whom; by default all. Ids that the ratings do not know are left out.

        Examples
        --------
        >>> ratings = Ratings.from_pairs([("ann", "Up"), ("bob", "Up"), ("eve", "Heat")], [4, 2, 2])
        >>> ShardedRatings.from_ratings(ratings, 3).restrict(users=IdMap(["ann", "eve", "zoe"]))
        Ratings(2 users, 2 items, 2 ratings on 2, 4)
        """
        shards = np.arange(len(self))
        if users is not None:
            rows = self.users.index(users.ids)
            shards = np.unique(np.searchsorted(self.bounds, rows[rows >= 0], side="right") - 1)
        found = [restrict(self.shard(int(k)), users, items) for k in (shards if len(shards) else [0])]
        return _joined(found, IdMap.of_parts([part.users for part in found]))

    def verify(self) -> None:
        """Read all files of the folder, and refuse one that does not hold what was written.

        Raises
        ------
        InvalidInputError
            If a file has another checksum than the manifest says, or its arrays are none that `Ratings` can have; the
            message names the file. There is nothing to verify of ratings in memory.
        """
        if isinstance(self.source, InFolder):
            self.source.verify()


def shard_bounds(indptr: NDArray[np.int64], n_shards: int) -> NDArray[np.int64]:
    """Return the first user of each shard, and the number of users.

    Parameters
    ----------
    indptr : ndarray of shape (n_users + 1,)
        The ratings of user i are number ``indptr[i]`` to ``indptr[i + 1] - 1``.
    n_shards : int
        Each gets a user at least, and otherwise about as many ratings as the others.

    Examples
    --------
    >>> shard_bounds(np.array([0, 5, 6, 7, 12]), 2).tolist()
    [0, 2, 4]
    """
    n_users = len(indptr) - 1
    if not isinstance(n_shards, int | np.integer) or isinstance(n_shards, bool) or n_shards < 1:
        raise InvalidInputError("expected a whole number from 1", argument="n_shards", found=n_shards)
    if n_shards > n_users:
        there = f"expected at most one shard for each of the {plural(n_users, 'user')}"
        raise InvalidInputError(there, argument="n_shards", found=n_shards)
    wanted = indptr[-1] / n_shards * np.arange(1, n_shards)
    after = np.searchsorted(indptr, wanted).clip(1)
    nearest = np.where(wanted - indptr[after - 1] < indptr[after] - wanted, after - 1, after)
    # As far apart as a user, from the first one on and from the last one back.
    steps = np.arange(1, n_shards)
    forth = np.maximum.accumulate(np.maximum(nearest - steps, 0)) + steps
    inner = np.minimum(forth, n_users - n_shards + steps)
    return np.concatenate([[0], inner, [n_users]]).astype(np.int64)


def _rows_of(ratings: Ratings, start: int, stop: int) -> Ratings:
    """Return the ratings of some users next to each other, whose rows share memory with the others."""
    indptr = ratings.indptr[start : stop + 1] - ratings.indptr[start]
    here = slice(ratings.indptr[start], ratings.indptr[stop])
    indices = ratings.indices[here]
    return Ratings(
        ratings.users.part(start, stop),
        ratings.items,
        ratings.scale,
        indptr,
        indices,
        ratings.levels[here],
        ColumnEntries(indptr, indices, len(ratings.items)),
        rating_scale=ratings.rating_scale,
        times=None if ratings.times is None else ratings.times[here],
        weights=None if ratings.weights is None else ratings.weights[here],
    )


def _joined(shards: Sequence[Ratings], users: IdMap) -> Ratings:
    """Return the ratings of all shards."""
    first = shards[0]
    ends = np.cumsum([0, *(shard.n_ratings for shard in shards)])
    indptr = np.concatenate(
        [[0], *(shard.indptr[1:] + end for shard, end in zip(shards, ends, strict=False))], dtype=np.int64
    )
    indices = np.concatenate([shard.indices for shard in shards])
    times, weights = (
        None if getattr(first, name) is None else np.concatenate([getattr(shard, name) for shard in shards])
        for name in ("times", "weights")
    )
    return Ratings(
        users,
        first.items,
        first.scale,
        indptr,
        indices,
        np.concatenate([shard.levels for shard in shards]),
        ColumnEntries(indptr, indices, len(first.items)),
        rating_scale=first.rating_scale,
        times=times,
        weights=weights,
    )


def _reopened(source: InFolder, level: int | None) -> ShardedRatings:
    """Return the ratings in a folder, or on which side of a boundary they are."""
    ratings = ShardedRatings._of(source)
    return ratings if level is None else ratings.at_boundary(level)
