"""The last step: the records of each shard become its arrays."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from cofactor.coding import Coding
from cofactor.datasets.readers.rating_batches import BatchOptions
from cofactor.errors import Argument, InvalidInputError
from cofactor.ratings import shard_folder
from cofactor.ratings.data import Duplicates, Ratings
from cofactor.ratings.shard_folder import StoredShard
from cofactor.ratings.sharding.journal import Journal
from cofactor.ratings.sharding.reading import RATINGS, Listener, place_of
from cofactor.ratings.sharding.routing import CHUNK, Plan, spill_of
from cofactor.ratings.sharding.spill import record_type, records_in

__all__ = ["build_all"]


def build_all(
    work: Path,
    journal: Journal,
    plan: Plan,
    scale: NDArray[np.float64],
    coding: Coding | None,
    options: BatchOptions,
    listener: Listener,
) -> list[StoredShard]:
    """Build the shards that are not there yet.

    Parameters
    ----------
    work : Path
        Where they go. It has their spills, each of which is removed when its shard is built.
    journal : Journal
        Brought up to date after each shard, and written.
    plan : Plan
    scale : ndarray of shape (R,)
    coding : Coding or None
    options : BatchOptions
        With which files are read again, to say where a pair is repeated.
    listener : callable
    """
    n_shards, duplicates = len(plan.bounds) - 1, journal.plan["duplicates"]
    for k in range(len(journal.shards), n_shards):
        listener("building", k, n_shards)
        name, path = shard_folder.shard_name(k), spill_of(work, k)
        shutil.rmtree(work / name, ignore_errors=True)
        records = np.fromfile(path, record_type(bool(journal.timed)))
        try:
            ratings = _ratings_of(records, plan, k, scale, duplicates)
        except InvalidInputError as error:
            if error.argument != "duplicates":
                raise
            _refuse_duplicates(records, plan, k, work, journal, options)
        journal.shards.append(shard_folder.write_shard(work, name, replace(ratings, coding=coding)))
        journal.write(work)
        path.unlink()
    listener("building", n_shards, n_shards)
    return journal.shards


def _ratings_of(
    records: NDArray[np.void], plan: Plan, k: int, scale: NDArray[np.float64], duplicates: Duplicates
) -> Ratings:
    return Ratings.from_entries(
        plan.users.part(int(plan.bounds[k]), int(plan.bounds[k + 1])),
        plan.items,
        records["user"],
        records["item"],
        scale[records["level"] - 1],
        scale,
        duplicates,
        records["time"] if "time" in (records.dtype.names or ()) else None,
    )


def _refuse_duplicates(
    records: NDArray[np.void], plan: Plan, k: int, work: Path, journal: Journal, options: BatchOptions
) -> NoReturn:
    """Refuse the first pair of the shard that is repeated, saying where in the files it stands."""
    pairs = records["user"] * np.int64(len(plan.items)) + records["item"]
    _, first, number = np.unique(pairs, return_index=True, return_inverse=True)
    again = records[int(np.flatnonzero(first[number] != np.arange(len(pairs)))[0])]
    user, item = plan.bounds[k] + again["user"], again["item"]
    found: list[int] = []
    start = 0
    for chunk in records_in(work / RATINGS, record_type(bool(journal.timed)), journal.n_ratings, 0, CHUNK):
        same = (plan.user_index[chunk["user"]] == user) & (plan.item_index[chunk["item"]] == item)
        found += (np.flatnonzero(same) + start).tolist()
        start += len(chunk)
    places = [place_of(one, journal, options) for one in found[:2]]
    raise InvalidInputError(
        f"user {plan.users.ids[user]} has rated item {plan.items.ids[item]} before, in {places[0]}",
        advice=("keep one of them, or choose with ", Argument("duplicates"), " last or mean"),
        place=places[1],
    )
