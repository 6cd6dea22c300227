"""More ratings into a folder of shards, as of another day."""

from __future__ import annotations

import os
import shutil
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cofactor.columns import Column
from cofactor.datasets.readers.rating_batches import BatchOptions
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, alone
from cofactor.ratings import shard_folder
from cofactor.ratings.data import Duplicates, Ratings
from cofactor.ratings.entries import check_duplicates
from cofactor.ratings.ids import IdMap
from cofactor.ratings.merging import union
from cofactor.ratings.shard_folder import Manifest, StoredShard
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.sharding.build import Listener, Reading, ShardingJournal, first_repeated, sources_of

__all__ = ["append_files"]

_WORK = ".appending"
_FULL = 2  # times the mean size of a shard, from which new users behind the last one get a shard of their own


def append_files(
    files: PathLike | Sequence[PathLike],
    folder: PathLike,
    *,
    duplicates: Duplicates = "error",
    user: Column | None = None,
    item: Column | None = None,
    rating: Column | None = None,
    timestamp: Column | None = None,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    drop_rating: float | Sequence[float] | None = None,
    callback: Listener | None = None,
) -> ShardedRatings:
    r"""Append the ratings of files to a folder of sharded ratings.

    Ids stay sorted: a new user goes to the shard of the users whose ids stand around it, so that the folder holds what
    all ratings together make. Shards with new ratings are written anew, all shards where a new item comes before one
    that was there; items with ids above all others, as most numbers of new items are, leave the other shards as they
    are. New users behind the last one get a shard of their own where that is more than twice as large as the others
    otherwise.

    New shards are written beside the old ones, so that a call which is ended before the manifest names them changes
    nothing. Whoever has opened the folder keeps what was opened, also in the middle of a fit: old shards are removed by
    the first call that finds nobody who reads them, this one or a later one. Where a file system has no locks (some
    network file systems, Windows) they are removed at once, and a fit that needs them ends with an error that says so.
    Only what an earlier manifest named is removed. The new ratings, and a shard at a time, must fit into memory.

    Parameters
    ----------
    files : path-like or sequence of path-like
        As in `shard_files`.
    folder : path-like
        Of sharded ratings. Its scale holds; its ids are numbers or text, and new ones must be so too. Text that is
        written as a whole number is one among numbers; a file of numbers alone is text among text of which some is
        written so.
    duplicates : {"error", "last", "mean"}, default="error"
        What to do with several ratings of one user for one item, those which were there come first.
    user, item, rating, timestamp, sep, header, encoding, drop_rating, callback
        As in `shard_files`.

    Returns
    -------
    ShardedRatings
        All ratings.

    Raises
    ------
    InvalidInputError
        If a file is malformed, or holds what `Ratings` refuses, or ids of another kind; the message names file and
        line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cofactor.ratings import append_files, shard_files
    >>> place = tempfile.TemporaryDirectory()
    >>> path, folder = pathlib.Path(place.name, "stars.csv"), pathlib.Path(place.name, "big")
    >>> _ = path.write_text("user,movie,stars\nann,12,4\nbob,12,3\nann,7,5\n")
    >>> _ = shard_files(path, folder, 2)
    >>> _ = path.write_text("user,movie,stars\nbo,13,4\n")
    >>> append_files(path, folder).users
    IdMap('ann', 'bo', 'bob')
    >>> place.cleanup()
    """
    check_duplicates(duplicates)
    target = Path(os.path.realpath(folder))
    scale = _scale_of(ShardedRatings.open(target))  # which is not kept open: it would keep old shards
    options = BatchOptions(user, item, rating, timestamp, sep, header, encoding, scale, drop_rating)
    work = target / _WORK
    with alone(target):
        shutil.rmtree(work, ignore_errors=True)
        shard_folder.remove_old(target)
        try:
            work.mkdir()
            journal = ShardingJournal(tuple(sources_of(files)), {})
            _append(target, Reading(work, journal, options, callback or (lambda *_: None)), duplicates)
        finally:
            shutil.rmtree(work, ignore_errors=True)
            shard_folder.remove_old(target)
    return ShardedRatings.open(target)


def _scale_of(ratings: ShardedRatings) -> Any:
    """Return how files of more ratings are read."""
    return ratings.scale.tolist() if ratings.coding is None else ratings.coding


def _append(target: Path, reading: Reading, duplicates: Duplicates) -> None:
    """Append files to a folder that no other process changes.

    All is written in the folder of the spill, and moved once a manifest in the folder names it, which is that of its
    items: what a call leaves that is ended in between is removed by the next one.
    """
    old, manifest, work = ShardedRatings.open(target), Manifest.read(target), reading.work
    reading.run()
    new = _News.of(reading, old)
    shards = new.merged(manifest, shard_folder.next_number(target, "shards"), duplicates)
    made = [shard for shard in shards if (work / shard.folder).exists()]
    kept = [shard for shard in shards if not (work / shard.folder).exists()]
    counts, more = (
        shard_folder.item_counts_of(place, some, len(new.items)) for place, some in ((target, kept), (work, made))
    )
    counts += more
    name = shard_folder.items_name(shard_folder.next_number(target, "items"))
    shard_folder.write_common(work, new.items, old.scale, old.coding, shards, counts, name)
    shard_folder.publish(work, target)


@dataclass(frozen=True)
class _News:
    """Ratings to append.

    Attributes
    ----------
    old : ShardedRatings
        Those that are there.
    reading : Reading
        Which finds the place of a rating.
    users : IdMap
        Those who rated.
    items : IdMap
        All items, those that were there too.
    user_index, item_index, levels : ndarray
        Of each rating, in the order of the files.
    times : ndarray or None
    """

    old: ShardedRatings
    reading: Reading
    users: IdMap
    items: IdMap
    user_index: NDArray[np.int32]
    item_index: NDArray[np.int32]
    levels: NDArray[np.uint8]
    times: NDArray[np.float64] | None

    @classmethod
    def of(cls, reading: Reading, old: ShardedRatings) -> _News:
        """Return the ratings that were read, if they fit to those that are there."""
        journal = reading.journal
        file = Place(journal.sources[0].path)
        if old.shard(0).weights is not None:
            raise InvalidInputError("the ratings that are there have weights, so that none can be appended from files")
        if not journal.n_ratings:
            raise InvalidInputError("no ratings, expected lines of user, item and rating", place=file)
        if journal.timed != old.has_times:
            what = ("no times", "have times") if old.has_times else ("times", "have none")
            raise InvalidInputError(f"has {what[0]}, and the ratings in {old.folder} {what[1]}", place=file)
        records = reading.records()

        def place(role: str, number: int) -> Place:
            return reading.place(int(np.flatnonzero(records[role] == number)[0]))

        of_users = (old.source.users(k) for k in range(len(old)))
        users, user_index = reading.users.sorted_like(of_users, place)
        items, item_index = reading.items.sorted_like(iter([old.items]), place)
        everything = union(old.items, items)
        return cls(
            old,
            reading,
            users,
            everything,
            user_index[records["user"]],
            everything.index(items.ids)[item_index][records["item"]],
            reading.levels(old.scale)[records["level"]],
            records["time"] if old.has_times else None,
        )

    def merged(self, manifest: Manifest, number: int, duplicates: Duplicates) -> list[StoredShard]:
        """Write the shards that change beside the spill, from a number on; return all."""
        old = self.old
        where = self.items.index(old.items.ids)
        moved = bool((where != np.arange(len(where))).any())
        shard_of, behind = self._shards_of_users()
        sizes = np.bincount(shard_of[self.user_index], minlength=len(old))
        if manifest.shards[-1].n_ratings + sizes[-1] > _FULL * old.n_ratings / len(old) and behind.any():
            shard_of = np.where(behind, len(old), shard_of)
        found: list[StoredShard] = []
        for k in range(len(old) + int((shard_of == len(old)).any())):
            chosen = np.flatnonzero(shard_of[self.user_index] == k)
            if k < len(old) and not moved and not len(chosen):
                found.append(manifest.shards[k])
                continue
            before = old.shard(k) if k < len(old) else None
            ratings = self._with(before, where, chosen, shard_of == k, duplicates)
            found.append(shard_folder.write_shard(self.reading.work, shard_folder.shard_name(number), ratings))
            number += 1
        return found

    def _shards_of_users(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the shard to which each user belongs by its id, and whether it stands behind all that are there."""
        ids, n = self.users.ids.tolist(), len(self.old)
        firsts = [self.old.source.users(k).ids[0] for k in range(n)]
        last = self.old.source.users(n - 1).ids[-1]
        shards = [max(bisect_right(firsts, one) - 1, 0) for one in ids]
        return np.array(shards), np.array([one > last for one in ids])

    def _with(
        self,
        before: Ratings | None,
        where: NDArray[np.int32],
        chosen: NDArray[np.intp],
        here: NDArray[np.bool_],
        duplicates: Duplicates,
    ) -> Ratings:
        """Return the ratings of a shard with new ones.

        Parameters
        ----------
        before : Ratings or None
            Those that are there; None for a new shard.
        where : ndarray
            Index among all items of those that were there.
        chosen : ndarray of int
            Which of the new ratings belong here.
        here : ndarray of bool
            Which of the users with new ones do.
        duplicates : {"error", "last", "mean"}
        """
        scale, arriving = self.old.scale, IdMap.of_sorted(self.users.ids[here].copy())
        users = arriving if before is None else union(before.users, arriving)
        index = np.full(len(self.users), -1, dtype=np.int32)
        index[here] = users.index(arriving.ids)
        rows, columns, levels = index[self.user_index[chosen]], self.item_index[chosen], self.levels[chosen]
        times = None if self.times is None else self.times[chosen]
        if before is not None:
            rows = np.concatenate([users.index(before.users.ids)[before.row_of_entry], rows])
            columns = np.concatenate([where[before.indices], columns])
            levels = np.concatenate([before.levels, levels])
            if times is not None and before.times is not None:
                times = np.concatenate([before.times, times])
        try:
            found = Ratings.from_entries(users, self.items, rows, columns, scale[levels - 1], scale, duplicates, times)
        except InvalidInputError as error:
            if error.argument != "duplicates":
                raise
            self._refuse_duplicates(users, rows, columns, chosen)
        return replace(found, coding=self.old.coding)

    def _refuse_duplicates(
        self, users: IdMap, rows: NDArray[Any], columns: NDArray[Any], chosen: NDArray[np.intp]
    ) -> NoReturn:
        """Refuse the first new rating of a pair that was rated before: where it stands, and whether it was there."""
        first, again = first_repeated(rows, columns, len(self.items))
        n_before = len(rows) - len(chosen)
        where, advice = "", "leave it out"
        if first < n_before:
            where = ", among the ratings that are there"
            advice = "the file may have been appended already; if not, leave it out"
        raise InvalidInputError(
            f"user {users.ids[rows[again]]} has rated item {self.items.ids[columns[again]]} before{where}",
            advice=(f"{advice}, or choose with ", Argument("duplicates"), " last or mean"),
            place=self.reading.place(int(chosen[again - n_before])),
        )
