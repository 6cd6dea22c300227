"""The first pass: files become records of numbers, and lists of ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets.readers.pieces import Mark
from cofactor.datasets.readers.rating_batches import BatchOptions, RatingBatch, rating_batches
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.limits import MAX_LEVELS
from cofactor.ratings.sharding.encoder import IdEncoder
from cofactor.ratings.sharding.journal import Journal
from cofactor.ratings.sharding.spill import Spill, record_type

__all__ = ["RATINGS", "Listener", "place_of", "read_all"]

RATINGS = "ratings"  #: name of the spill
CHECKPOINT = 1 << 23  #: ratings between two states of the journal

#: Told what is done, how far, and how far it goes.
Listener: TypeAlias = Callable[[str, int, int], object]


def read_all(work: Path, journal: Journal, options: BatchOptions, listener: Listener) -> tuple[IdEncoder, IdEncoder]:
    """Read what is not read yet of the files; return the ids of users and items.

    Parameters
    ----------
    work : Path
        Folder of spills.
    journal : Journal
        Brought up to date, and written.
    options : BatchOptions
    listener : callable
    """
    users, items = (IdEncoder.read(role, work, journal.lengths) for role in ("user", "item"))
    if journal.phase != "reading":
        return users, items
    total, last = sum(source.size for source in journal.sources), journal.n_ratings
    with Spill(work / RATINGS, journal.lengths.get(RATINGS, 0)) as spill:
        for k, source in enumerate(journal.sources):
            if k < len(journal.starts) - 1:
                continue
            if k == len(journal.starts):
                journal.starts.append(journal.n_ratings)
                journal.mark = Mark()
            before = sum(one.size for one in journal.sources[:k])
            timed = journal.timed if journal.mark.bytes else None
            for batch in rating_batches(source.path, options, journal.mark, timed=timed):
                spill.append(_records(batch, users, items, journal))
                journal.n_ratings += len(batch.values)
                journal.mark = batch.after
                if journal.n_ratings - last >= CHECKPOINT:
                    last = journal.n_ratings
                    _checkpoint(work, journal, spill, users, items)
                listener("reading", before + min(batch.after.bytes, source.size), total)
        journal.phase = "routing"
        _checkpoint(work, journal, spill, users, items)
    return users, items


def place_of(number: int, journal: Journal, options: BatchOptions) -> Place:
    """Return where a rating stands, by its number among all that were read; its file is read again."""
    file = int(np.searchsorted(journal.starts, number, side="right")) - 1
    first = journal.starts[file]
    for batch in rating_batches(journal.sources[file].path, options):
        if number < first + len(batch.values):
            return batch.place(number - first)
        first += len(batch.values)
    return Place(journal.sources[file].path)


def _checkpoint(work: Path, journal: Journal, spill: Spill, users: IdEncoder, items: IdEncoder) -> None:
    """Put everything on the disk, and then the journal which counts it."""
    spill.sync()
    journal.lengths[RATINGS] = spill.length
    for encoder in (users, items):
        encoder.append_to(work, journal.lengths)
    journal.write(work)


def _records(batch: RatingBatch, users: IdEncoder, items: IdEncoder, journal: Journal) -> NDArray[np.void]:
    """Return ratings as numbers of users, of items, and of distinct ratings."""
    n, timed = len(batch.values), batch.times is not None
    if journal.timed is None:
        journal.timed = timed
    if timed != journal.timed:
        what = "times" if timed else "no times"
        advice = (
            "ratings have times in all files or in none; say which column holds them with ",
            Argument("timestamp"),
        )
        raise InvalidInputError(f"has {what}, unlike what was read before", advice=advice, place=batch.place(0))
    records = np.empty(n, dtype=record_type(timed))
    for encoder, column in ((users, batch.users), (items, batch.items)):
        records[encoder.role] = encoder.codes(column, _empty(batch, encoder.role))
    records["level"] = _level_codes(batch, journal.values)
    if timed:
        records["time"] = batch.times
    return records


def _empty(batch: RatingBatch, role: str) -> Callable[[int], NoReturn]:
    def refuse(row: int) -> NoReturn:
        raise InvalidInputError(f"the {role} id is empty", place=batch.place(row, role))

    return refuse


def _level_codes(batch: RatingBatch, known: list[float]) -> NDArray[np.uint8]:
    """Return the number of each rating among the distinct ones, which new ones are added to."""
    values = batch.values
    while True:
        order = np.argsort(known)
        distinct = np.append(np.array(known)[order], np.inf)
        found = np.searchsorted(distinct, values)
        new = distinct[found] != values
        if not new.any():
            return order.astype(np.uint8)[found]
        more = np.unique(values[new])
        if len(known) + len(more) > MAX_LEVELS:
            _refuse_continuous(batch, np.append(known, more), int(np.flatnonzero(new)[0]))
        known += more.tolist()


def _refuse_continuous(batch: RatingBatch, distinct: NDArray[np.float64], row: int) -> NoReturn:
    """Refuse more distinct ratings than a scale may have levels; they may be counts of takes."""
    found = f"more than {MAX_LEVELS} distinct ones from {distinct.min():g} to {distinct.max():g}"
    levels = "shards need levels: cut them into levels before, with cofactor.datasets.bin_ratings or elsewhere"
    counts = "; or, if they say how often something was taken, give the file itself to cofactor fit, with "
    maybe_counts = not (distinct % 1).any() and distinct.min() >= 0
    raise InvalidInputError(
        f"the ratings are continuous, {found}",
        advice=(levels, *((counts, Argument("count", _name_of(batch))) if maybe_counts else ())),
        place=batch.place(row, "rating"),
    )


def _name_of(batch: RatingBatch) -> str | int:
    """Return what the column of ratings is called, or where it stands."""
    position = batch.positions["rating"]
    return position if batch.table.names is None else batch.table.names[position]
