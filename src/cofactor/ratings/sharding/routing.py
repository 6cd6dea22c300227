"""The second pass: records go to the shards of their users."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.ids import IdMap
from cofactor.ratings.sharded import shard_bounds
from cofactor.ratings.sharding.encoder import IdEncoder
from cofactor.ratings.sharding.journal import Journal
from cofactor.ratings.sharding.reading import RATINGS, Listener
from cofactor.ratings.sharding.spill import Spill, record_type, records_in

__all__ = ["Plan", "is_shard", "plan_of", "route", "spill_of"]

CHUNK = 1 << 21  #: records at a time
CHECKPOINT = 1 << 25  #: records between two states of the journal
_SHARD = "shard-"  # beginning of the names of files
_USUAL = 1 << 22  # ratings of a shard, where their number is not given


@dataclass(frozen=True)
class Plan:
    """Which users are in which shard, and what becomes of the numbers in records.

    Attributes
    ----------
    users, items : IdMap
    user_index, item_index : ndarray of int32
        Index of each user and item, by its number in the spill.
    levels : ndarray of uint8
        Level of each distinct rating, likewise.
    bounds : ndarray of int64
        First user of each shard.
    """

    users: IdMap
    items: IdMap
    user_index: NDArray[np.int32]
    item_index: NDArray[np.int32]
    levels: NDArray[np.uint8]
    bounds: NDArray[np.int64]


def plan_of(
    work: Path,
    journal: Journal,
    encoders: tuple[IdEncoder, IdEncoder],
    scale: NDArray[np.float64],
    n_shards: int | None,
) -> Plan:
    """Return the plan of shards of about the same number of ratings."""
    users, user_index = encoders[0].sorted()
    items, item_index = encoders[1].sorted()
    counts = np.zeros(len(users), dtype=np.int64)
    for records in records_in(work / RATINGS, record_type(bool(journal.timed)), journal.n_ratings, 0, CHUNK):
        counts += np.bincount(user_index[records["user"]], minlength=len(users))
    if n_shards is None:
        n_shards = min(len(users), -(-journal.n_ratings // _USUAL))
    bounds = shard_bounds(np.append(0, np.cumsum(counts)), n_shards)
    levels = (np.searchsorted(scale, journal.values) + 1).astype(np.uint8)
    return Plan(users, items, user_index, item_index, levels, bounds)


def route(work: Path, journal: Journal, plan: Plan, listener: Listener) -> None:
    """Write each record that was not routed yet to the spill of its shard, in which users are counted from 0."""
    if journal.phase != "routing":
        return
    dtype, last = record_type(bool(journal.timed)), journal.n_routed
    with ExitStack() as stack:
        paths = [spill_of(work, k) for k in range(len(plan.bounds) - 1)]
        spills = [stack.enter_context(Spill(path, journal.lengths.get(path.name, 0))) for path in paths]
        for records in records_in(work / RATINGS, dtype, journal.n_ratings, journal.n_routed, CHUNK):
            for spill, part in zip(spills, _parts(records, plan), strict=True):
                spill.append(part)
            journal.n_routed += len(records)
            if journal.n_routed - last >= CHECKPOINT:
                last = journal.n_routed
                _checkpoint(work, journal, spills)
            listener("routing", journal.n_routed, journal.n_ratings)
        journal.phase = "building"
        _checkpoint(work, journal, spills)


def spill_of(work: Path, k: int) -> Path:
    """Return the file of the records of a shard."""
    return work / f"{_SHARD}{k:04}"


def is_shard(name: str) -> bool:
    """Return whether a file is that of the records of a shard."""
    return name.startswith(_SHARD)


def _parts(records: NDArray[np.void], plan: Plan) -> list[NDArray[np.void]]:
    """Return the records of each shard, in their order."""
    users = plan.user_index[records["user"]]
    narrow = np.uint16 if len(plan.bounds) <= np.iinfo(np.uint16).max else np.int64  # which NumPy sorts by counting
    shard = (np.searchsorted(plan.bounds, users, side="right") - 1).astype(narrow)
    order = np.argsort(shard, kind="stable")
    routed = records[order]
    routed["user"] = (users - plan.bounds[shard])[order]
    routed["item"] = plan.item_index[routed["item"]]
    routed["level"] = plan.levels[routed["level"]]
    return np.split(routed, np.searchsorted(shard[order], np.arange(1, len(plan.bounds) - 1)))


def _checkpoint(work: Path, journal: Journal, spills: list[Spill]) -> None:
    for spill in spills:
        spill.sync()
        journal.lengths[spill.path.name] = spill.length
    journal.write(work)
