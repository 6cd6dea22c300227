"""Files of ratings into a folder of shards: in passes over the data, in bounded memory.

*Reading* turns files into records of numbers, and lists of ids; *routing* writes each record to the file of its shard;
*building* makes the arrays of one shard after another. A journal beside these files says how far that has come: from
there it goes on after a kill.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.coding import Coding
from cofactor.columns import Column
from cofactor.datasets.readers.pieces import Mark
from cofactor.datasets.readers.rating_batches import BatchOptions, RatingBatch, rating_batches
from cofactor.datasets.readers.ratings import Scale
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import PathLike, alone, is_full, naming_file, replacing
from cofactor.limits import MAX_LEVELS
from cofactor.metrics.scale import as_scale
from cofactor.model.state import plain
from cofactor.ratings import shard_folder
from cofactor.ratings.data import Duplicates, Ratings
from cofactor.ratings.entries import check_duplicates
from cofactor.ratings.ids import IdMap
from cofactor.ratings.shard_folder import StoredShard
from cofactor.ratings.sharded import ShardedRatings, shard_bounds
from cofactor.ratings.sharding.encoder import IdEncoder

__all__ = ["Listener", "Reading", "ShardingJournal", "first_repeated", "shard_files", "sources_of"]

READ_CHECKPOINT = 1 << 23  #: ratings between two states of the journal while files are read
ROUTE_CHECKPOINT = 1 << 25  #: likewise while records are routed
CHUNK = 1 << 21  #: records at a time
_USUAL = 1 << 22  # ratings of a shard, where their number is not given
_WORK = ".sharding"  # folder of the spills, the journal and what is built, which is there until all is
_JOURNAL = "journal.json"
_FORMAT = 2
_RATINGS = "ratings"  # the spill of all records
_SHARD = "shard-"  # beginning of the names of those of shards

#: Told what is done, how far, and how far it goes.
Listener: TypeAlias = Callable[[str, int, int], object]


def shard_files(
    files: PathLike | Sequence[PathLike],
    folder: PathLike,
    n_shards: int | None = None,
    *,
    duplicates: Duplicates = "error",
    restart: bool = False,
    user: Column | None = None,
    item: Column | None = None,
    rating: Column | None = None,
    timestamp: Column | None = None,
    sep: str | None = None,
    header: bool | None = None,
    encoding: str = "utf-8",
    scale: Scale | None = None,
    drop_rating: float | Sequence[float] | None = None,
    callback: Listener | None = None,
) -> ShardedRatings:
    r"""Make a folder of sharded ratings of files of any size.

    The files are read batch by batch, and written twice as numbers before the shards are built, one after another. On
    the disk this takes up to 18 bytes a rating besides the shards, which take 13; with times 34 and 21. In memory it
    takes about 400 MB, 90 bytes for each rating of a shard, and 90 bytes for each user and item, 200 where ids are text
    (measured with ``cofactor shard``, peak of the whole process).

    A call that was ended before it was done, by a kill, Ctrl-C or a full disk, leaves in the folder what it did. The
    same call goes on there; the result is the same to the bit.

    Parameters
    ----------
    files : path-like or sequence of path-like
        Text (plain or gzip) or Parquet, as for `cofactor.datasets.read_ratings`.
    folder : path-like
        Where the shards go. There must be no such folder, an empty one, or one that an earlier call did not finish.
    n_shards : int, optional
        How many. By default so many that each has at most four million ratings.
    duplicates : {"error", "last", "mean"}, default="error"
        What to do with several ratings of one user for one item: as in `Ratings.from_pairs`, in the order of the files
        and their rows.
    restart : bool, default=False
        Throw away what an earlier call left, and begin anew.
    user, item, rating, timestamp, sep, header, encoding, drop_rating
        As in `cofactor.datasets.read_ratings`, for all files.
    scale : array-like of shape (R,), sequence of str, or Coding, optional
        Likewise; ratings that are words need one. By default the distinct ratings of all files.
    callback : callable, optional
        Called as ``callback(phase, done, total)``: while "reading" with bytes, "routing" with ratings, and "building"
        with shards.

    Returns
    -------
    ShardedRatings
        Of the same ratings as `Ratings.from_pairs` makes of all rows.

    Raises
    ------
    InvalidInputError
        If a file is malformed, or holds what `Ratings` refuses; the message names file and line. If the folder has
        something else in it, or an earlier call had other files or options.
    OSError
        If the disk is full, or cannot be written; the message names a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cofactor.ratings import shard_files
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "stars.csv")
    >>> _ = path.write_text("user,movie,stars\nann,12,4\nbob,12,3\nann,7,5\n")
    >>> shard_files(path, pathlib.Path(folder.name, "big"), 2)
    ShardedRatings(2 users, 2 items, 3 ratings on 3, 4, 5, in 2 shards)
    >>> folder.cleanup()
    """
    check_duplicates(duplicates)
    coding, levels = _levels_of(scale)
    options = BatchOptions(user, item, rating, timestamp, sep, header, encoding, scale, drop_rating)
    target, listener = Path(folder).resolve(), callback or (lambda *_: None)
    work, sources = target / _WORK, sources_of(files)
    if not work.is_dir():
        shard_folder.new_folder(folder).mkdir(exist_ok=True)
    told = {**asdict(options), "scale": levels, "words": None if coding is None else coding.words}
    try:
        with alone(target):
            if (work / shard_folder.MANIFEST).exists():  # all was done but this
                shard_folder.publish(work, target)
            if (target / shard_folder.MANIFEST).exists():
                shutil.rmtree(work, ignore_errors=True)
                return ShardedRatings.open(target)
            journal = ShardingJournal.begin(target, sources, json.loads(json.dumps(plain(told))), restart=restart)
            reading = Reading(work, journal, options, listener)
            return _built(target, reading, levels, coding, {"n_shards": n_shards, "duplicates": duplicates})
    except KeyboardInterrupt:
        kept = f"interrupted: what was done is kept in {os.fspath(folder)}, and the same command goes on"
        raise KeyboardInterrupt(kept) from None
    except OSError as error:
        if is_full(error):
            error.strerror = f"{error.strerror}; what was done is kept, and the same command goes on when there is room"
        raise


def _built(
    target: Path,
    reading: Reading,
    levels: NDArray[np.float64] | None,
    coding: Coding | None,
    asked: dict[str, Any],
) -> ShardedRatings:
    """Do what is left to do, and return the result."""
    work, journal = reading.work, reading.journal
    try:
        reading.run()
        scale = _scale_of(journal, levels)
    except InvalidInputError:  # files or options must change, and then nothing of it is of use
        shutil.rmtree(work)
        with suppress(OSError):  # something else is in it
            target.rmdir()
        raise
    _keep_plan(work, journal, asked)
    with _telling_what_is_kept(target):
        plan = Plan.of(reading, scale, coding, asked["n_shards"])
        plan.route()
        shards = plan.build()
    counts = shard_folder.item_counts_of(work, shards, len(plan.items))
    shard_folder.write_common(work, plan.items, scale, coding, shards, counts)
    shard_folder.publish(work, target)
    shutil.rmtree(work)
    return ShardedRatings.open(target)


@contextmanager
def _telling_what_is_kept(target: Path) -> Iterator[None]:
    """Within the block, errors say that what was read is kept, and how to go on."""
    try:
        yield
    except InvalidInputError as error:
        goes_on = "and is not read again where these files are given again with another choice"
        kept = (f"what was read is kept in {target}, {goes_on}; for other files begin anew with ", Argument("restart"))
        raise InvalidInputError(
            error.problem,
            argument=error.argument,
            found=error.found,
            advice=(*error.advice, "; ", *kept) if error.advice else kept,
            place=error.place,
        ) from None


def _levels_of(scale: Any) -> tuple[Coding | None, NDArray[np.float64] | None]:
    """Return what levels stand for, and the levels, where a scale is given."""
    if scale is None:
        return None, None
    if isinstance(scale, Coding):
        if scale.edges:
            raise InvalidInputError("shards need ratings that are levels already, and no bins", argument="scale")
        return scale, as_scale(scale.scale)
    words = np.asarray(scale, dtype=object).ravel().tolist()
    if words and all(isinstance(word, str) for word in words):
        coding = Coding(tuple(range(1, len(words) + 1)), words=tuple(words))
        return coding, as_scale(coding.scale)
    return None, as_scale(scale)


def _scale_of(journal: ShardingJournal, levels: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return the scale that is given, or the distinct ratings; refuse no ratings, and ratings of one level."""
    if not journal.n_ratings:
        place = Place(", ".join(source.path for source in journal.sources))
        raise InvalidInputError("no ratings, expected lines of user, item and rating", place=place)
    if levels is not None:
        return levels
    if len(journal.values) == 1:
        raise InvalidInputError(
            f"all ratings are {journal.values[0]:g}, so that they say what users interacted with, and not how they "
            "liked it",
            advice="shards are of ratings, and interactions are learned from in memory: give the file itself to "
            "cofactor fit, or in Python read_interactions(file) to a Recommender; or add what users like less",
            place=Place(journal.sources[0].path),
        )
    return as_scale(np.unique(journal.values))


def _keep_plan(work: Path, journal: ShardingJournal, plan: dict[str, Any]) -> None:
    """Throw away what was done for another number of shards, or another choice among duplicates."""
    if journal.plan == plan:
        return
    journal.plan, journal.phase, journal.n_routed, journal.shards = plan, "routing", 0, []
    journal.lengths = {name: length for name, length in journal.lengths.items() if not name.startswith(_SHARD)}
    journal.write(work)
    shutil.rmtree(work / "shards", ignore_errors=True)


@dataclass(frozen=True)
class SourceFile:
    """A file of ratings, as it was when reading began."""

    path: str
    size: int
    modified: int

    @classmethod
    def of(cls, path: PathLike) -> SourceFile:
        """Return it as it is now."""
        if os.path.isdir(path):
            raise IsADirectoryError(f"{os.fspath(path)}: is a folder, expected a file")
        if not os.path.exists(path):
            raise FileNotFoundError(f"{os.fspath(path)}: no such file")
        status = os.stat(path)
        return cls(os.path.abspath(path), status.st_size, status.st_mtime_ns)


def sources_of(files: PathLike | Sequence[PathLike]) -> list[SourceFile]:
    """Return files as they are now; one, or several."""
    paths = [files] if not isinstance(files, Sequence) or isinstance(files, str) else list(files)
    if not paths:
        raise InvalidInputError("expected at least one file of ratings", argument="files")
    return [SourceFile.of(path) for path in paths]


@dataclass
class ShardingJournal:
    """What is done.

    Attributes
    ----------
    sources : tuple of SourceFile
        What is read.
    options : dict
        How it is read.
    phase : {"reading", "routing", "building"}
    lengths : dict of str to int
        Bytes that count of each file in the working folder.
    starts : list of int
        Ratings before each file that was begun.
    mark : Mark
        How far the last of these was read.
    n_ratings : int
        Ratings that were read.
    values : list of float
        Distinct ratings, in the order in which they came.
    timed : bool or None
        Whether ratings have times; None before the first one.
    plan : dict
        Number of shards, and what becomes of duplicates; empty while files are read.
    n_routed : int
        Ratings that are with their shards.
    shards : list of StoredShard
        Those which are built.
    """

    sources: tuple[SourceFile, ...]
    options: dict[str, Any]
    phase: Literal["reading", "routing", "building"] = "reading"
    lengths: dict[str, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    mark: Mark = field(default_factory=Mark)
    n_ratings: int = 0
    values: list[float] = field(default_factory=list)
    timed: bool | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    n_routed: int = 0
    shards: list[StoredShard] = field(default_factory=list)

    @property
    def record_type(self) -> np.dtype[Any]:
        """How a rating lies in a spill: its user, its item, its level, and its time if there are times."""
        fields: list[tuple[str, Any]] = [("user", "<i4"), ("item", "<i4"), ("level", "u1")]
        return np.dtype(fields + ([("time", "<f8")] if self.timed else []))

    def write(self, work: Path) -> None:
        """Put it on the disk, whole or not at all."""
        with replacing(work / _JOURNAL) as stream:
            stream.write(json.dumps({"format": _FORMAT, **asdict(self)}).encode())

    @classmethod
    def read(cls, work: Path) -> Self:
        """Read it."""
        try:
            state = json.loads((work / _JOURNAL).read_bytes())
            if state.pop("format") != _FORMAT:
                raise ValueError("another format")
            sources = tuple(SourceFile(**one) for one in state.pop("sources"))
            shards = [StoredShard.of_state(one) for one in state.pop("shards")]
            return cls(sources=sources, mark=Mark(**state.pop("mark")), shards=shards, **state)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"does not say how far sharding has come ({error})",
                advice=("begin anew with ", Argument("restart")),
                place=Place(str(work / _JOURNAL)),
            ) from None

    @classmethod
    def begin(cls, folder: Path, sources: Sequence[SourceFile], options: dict[str, Any], *, restart: bool) -> Self:
        """Return the journal of a folder: that of an earlier call, which was ended before it was done, or a new one.

        Parameters
        ----------
        folder : Path
            Where shards are to be.
        sources : sequence of SourceFile
        options : dict
            How they are read, in a form that JSON can hold.
        restart : bool
            Throw away what an earlier call did.
        """
        work = folder / _WORK
        if restart:
            shutil.rmtree(work, ignore_errors=True)
        if (work / _JOURNAL).exists():
            found = cls.read(work)
            if found.n_ratings:
                found._check_same(sources, options, folder)
                return found
        work.mkdir(parents=True, exist_ok=True)
        journal = cls(tuple(sources), options)
        journal.write(work)
        return journal

    def _check_same(self, sources: Sequence[SourceFile], options: dict[str, Any], folder: Path) -> None:
        """Refuse to go on with other files, or to read them otherwise."""
        changed = next(((new, old) for new, old in zip(sources, self.sources, strict=False) if new != old), None)
        if changed is not None:
            new, old = changed
            why = "which has changed since" if new.path == old.path else f"and not of {new.path}"
            what = f"holds the beginning of shards of {old.path}, {why}"
        elif len(sources) != len(self.sources):
            what = f"holds the beginning of shards of {len(self.sources)} files and not {len(sources)}"
        elif options != self.options:
            name = next(name for name in options if options[name] != self.options.get(name))
            what = (
                f"holds the beginning of shards of these files with {Argument(name, self.options.get(name))} and "
                f"not {Argument(name, options[name])}"
            )
        else:
            return
        advice = ("finish them with the same files and options, or begin anew with ", Argument("restart"))
        raise InvalidInputError(what, advice=advice, place=Place(str(folder)))


class Spill:
    """A file of records, which is open for writing at its end.

    Parameters
    ----------
    path : Path
        Made if there is none.
    length : int
        Bytes of it that count; the rest is cut off.
    """

    def __init__(self, path: Path, length: int = 0) -> None:
        self.path = path
        with naming_file(path):
            self._stream = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115
            self._stream.truncate(length)
            self._stream.seek(length)
        self.length = length

    def append(self, records: NDArray[Any]) -> None:
        """Write records to the end."""
        data = np.ascontiguousarray(records).view(np.uint8).data
        with naming_file(self.path):
            while len(data):
                written = self._stream.write(data)
                self.length += written or 0
                data = data[written:]

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        with naming_file(self.path):
            os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


class Reading:
    """The first pass: files become records of numbers, and lists of ids.

    Parameters
    ----------
    work : Path
        Folder of spills.
    journal : ShardingJournal
        Brought up to date, and written.
    options : BatchOptions
    listener : callable
    """

    def __init__(self, work: Path, journal: ShardingJournal, options: BatchOptions, listener: Listener) -> None:
        self.work, self.journal, self.options, self.listener = work, journal, options, listener
        self.users, self.items = (IdEncoder.read(role, work, journal.lengths) for role in ("user", "item"))

    def run(self) -> None:
        """Read what is not read yet of the files."""
        journal = self.journal
        if journal.phase != "reading":
            return
        total, last = sum(source.size for source in journal.sources), journal.n_ratings
        with Spill(self.work / _RATINGS, journal.lengths.get(_RATINGS, 0)) as spill:
            for k, source in enumerate(journal.sources):
                if k < len(journal.starts) - 1:
                    continue
                if k == len(journal.starts):
                    journal.starts.append(journal.n_ratings)
                    journal.mark = Mark()
                before = sum(one.size for one in journal.sources[:k])
                timed = journal.timed if journal.mark.bytes else None
                for batch in rating_batches(source.path, self.options, journal.mark, timed=timed):
                    spill.append(self._records(batch))
                    journal.n_ratings += len(batch.values)
                    journal.mark = batch.after
                    if journal.n_ratings - last >= READ_CHECKPOINT:
                        last = journal.n_ratings
                        self._checkpoint(spill)
                    self.listener("reading", before + min(batch.after.bytes, source.size), total)
            journal.phase = "routing"
            self._checkpoint(spill)

    def records(self) -> NDArray[Any]:
        """Return all records."""
        return np.fromfile(self.work / _RATINGS, self.journal.record_type)

    def chunks(self, first: int = 0) -> Iterator[NDArray[Any]]:
        """Yield the records from one on, some at a time."""
        dtype, n = self.journal.record_type, self.journal.n_ratings
        with (self.work / _RATINGS).open("rb") as stream:
            stream.seek(first * dtype.itemsize)
            for start in range(first, n, CHUNK):
                yield np.fromfile(stream, dtype, min(CHUNK, n - start))

    def place(self, number: int) -> Place:
        """Return where a rating stands, by its number among all that were read; its file is read again."""
        file = int(np.searchsorted(self.journal.starts, number, side="right")) - 1
        path, first = self.journal.sources[file].path, self.journal.starts[file]
        for batch in rating_batches(path, self.options):
            if number < first + len(batch.values):
                return batch.place(number - first)
            first += len(batch.values)
        return Place(path)

    def levels(self, scale: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Return the level of each distinct rating, by its number in records."""
        return (np.searchsorted(scale, self.journal.values) + 1).astype(np.uint8)

    def _checkpoint(self, spill: Spill) -> None:
        """Put everything on the disk, and then the journal which counts it."""
        spill.sync()
        self.journal.lengths[_RATINGS] = spill.length
        for encoder in (self.users, self.items):
            encoder.append_to(self.work, self.journal.lengths)
        self.journal.write(self.work)

    def _records(self, batch: RatingBatch) -> NDArray[np.void]:
        """Return ratings as numbers of users, of items, and of distinct ratings."""
        timed = batch.times is not None
        if self.journal.timed is None:
            self.journal.timed = timed
        if timed != self.journal.timed:
            what = "times" if timed else "no times"
            advice = (
                "ratings have times in all files or in none; say which column holds them with ",
                Argument("timestamp"),
            )
            raise InvalidInputError(f"has {what}, unlike what was read before", advice=advice, place=batch.place(0))
        records = np.empty(len(batch.values), dtype=self.journal.record_type)
        for encoder, column in ((self.users, batch.users), (self.items, batch.items)):
            records[encoder.role] = encoder.codes(column, _empty(batch, encoder.role))
        records["level"] = _level_codes(batch, self.journal.values)
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
    """Refuse more distinct ratings than a scale may have levels; they may be counts of interactions."""
    found = f"more than {MAX_LEVELS} distinct ones from {distinct.min():g} to {distinct.max():g}"
    levels = "shards need levels: cut them into levels before, with cofactor.datasets.bin_ratings or elsewhere"
    counts = "; or, if they say how often users interacted with something, give the file itself to cofactor fit, with "
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


@dataclass(frozen=True)
class Plan:
    """The second and third pass: records go to the shards of their users, and become the arrays of these.

    Attributes
    ----------
    reading : Reading
    scale : ndarray of shape (R,)
    coding : Coding or None
    users, items : IdMap
    user_index, item_index : ndarray of int32
        Index of each user and item, by its number in records.
    levels : ndarray of uint8
        Level of each distinct rating, likewise.
    bounds : ndarray of int64
        First user of each shard.
    """

    reading: Reading
    scale: NDArray[np.float64]
    coding: Coding | None
    users: IdMap
    items: IdMap
    user_index: NDArray[np.int32]
    item_index: NDArray[np.int32]
    levels: NDArray[np.uint8]
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, reading: Reading, scale: NDArray[np.float64], coding: Coding | None, n_shards: int | None) -> Self:
        """Return the plan of shards of about the same number of ratings."""
        users, user_index = reading.users.sorted()
        items, item_index = reading.items.sorted()
        counts = np.zeros(len(users), dtype=np.int64)
        for records in reading.chunks():
            counts += np.bincount(user_index[records["user"]], minlength=len(users))
        if n_shards is None:
            n_shards = min(len(users), -(-reading.journal.n_ratings // _USUAL))
        bounds = shard_bounds(np.append(0, np.cumsum(counts)), n_shards)
        levels = reading.levels(scale)
        return cls(reading, scale, coding, users, items, user_index, item_index, levels, bounds)

    def route(self) -> None:
        """Write each record that was not routed yet to the spill of its shard, in which users are counted from 0."""
        journal, work = self.reading.journal, self.reading.work
        if journal.phase != "routing":
            return
        last = journal.n_routed
        with ExitStack() as stack:
            paths = [self._spill(k) for k in range(len(self.bounds) - 1)]
            spills = [stack.enter_context(Spill(path, journal.lengths.get(path.name, 0))) for path in paths]

            def checkpoint() -> None:
                for spill in spills:
                    spill.sync()
                    journal.lengths[spill.path.name] = spill.length
                journal.write(work)

            for records in self.reading.chunks(journal.n_routed):
                for spill, part in zip(spills, self._parts(records), strict=True):
                    spill.append(part)
                journal.n_routed += len(records)
                if journal.n_routed - last >= ROUTE_CHECKPOINT:
                    last = journal.n_routed
                    checkpoint()
                self.reading.listener("routing", journal.n_routed, journal.n_ratings)
            journal.phase = "building"
            checkpoint()

    def build(self) -> list[StoredShard]:
        """Build the shards that are not there yet; the spill of each is removed then, and the journal has it."""
        journal, work, n_shards = self.reading.journal, self.reading.work, len(self.bounds) - 1
        for k in range(len(journal.shards), n_shards):
            self.reading.listener("building", k, n_shards)
            name = shard_folder.shard_name(k)
            shutil.rmtree(work / name, ignore_errors=True)
            journal.shards.append(shard_folder.write_shard(work, name, self._ratings(k)))
            journal.write(work)
            self._spill(k).unlink()
        self.reading.listener("building", n_shards, n_shards)
        return journal.shards

    def _spill(self, k: int) -> Path:
        """Return the file of the records of a shard."""
        return self.reading.work / f"{_SHARD}{k:04}"

    def _parts(self, records: NDArray[np.void]) -> list[NDArray[np.void]]:
        """Return the records of each shard, in their order."""
        users = self.user_index[records["user"]]
        narrow = np.uint16 if len(self.bounds) <= np.iinfo(np.uint16).max else np.int64  # NumPy sorts it by counting
        shard = (np.searchsorted(self.bounds, users, side="right") - 1).astype(narrow)
        order = np.argsort(shard, kind="stable")
        routed = records[order]
        routed["user"] = (users - self.bounds[shard])[order]
        routed["item"] = self.item_index[routed["item"]]
        routed["level"] = self.levels[routed["level"]]
        return np.split(routed, np.searchsorted(shard[order], np.arange(1, len(self.bounds) - 1)))

    def _ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        records = np.fromfile(self._spill(k), self.reading.journal.record_type)
        try:
            found = Ratings.from_entries(
                self.users.part(int(self.bounds[k]), int(self.bounds[k + 1])),
                self.items,
                records["user"],
                records["item"],
                self.scale[records["level"] - 1],
                self.scale,
                self.reading.journal.plan["duplicates"],
                records["time"] if self.reading.journal.timed else None,
            )
        except InvalidInputError as error:
            if error.argument != "duplicates":
                raise
            self._refuse_duplicates(records, k)
        return replace(found, coding=self.coding)

    def _refuse_duplicates(self, records: NDArray[np.void], k: int) -> NoReturn:
        """Refuse the first pair of the shard that is repeated, saying where in the files it stands."""
        _, second = first_repeated(records["user"], records["item"], len(self.items))
        user, item = self.bounds[k] + records["user"][second], records["item"][second]
        found: list[int] = []
        start = 0
        for chunk in self.reading.chunks():
            same = (self.user_index[chunk["user"]] == user) & (self.item_index[chunk["item"]] == item)
            found += (np.flatnonzero(same) + start).tolist()
            start += len(chunk)
        places = [self.reading.place(one) for one in found[:2]]
        raise InvalidInputError(
            f"user {self.users.ids[user]} has rated item {self.items.ids[item]} before, in {places[0]}",
            advice=("keep one of them, or choose with ", Argument("duplicates"), " last or mean"),
            place=places[1],
        )


def first_repeated(rows: NDArray[Any], columns: NDArray[Any], n_columns: int) -> tuple[int, int]:
    """Return where the first pair that is repeated stands for the first time, and where it comes again."""
    pairs = rows * np.int64(n_columns) + columns
    _, first, number = np.unique(pairs, return_index=True, return_inverse=True)
    again = int(np.flatnonzero(first[number] != np.arange(len(pairs)))[0])
    return int(first[number[again]]), again
